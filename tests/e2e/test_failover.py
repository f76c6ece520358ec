"""Paths that are lost under load, as a program sees it that uses libweir: each I/O ends once and well, and what is read
is what was written last."""
import contextlib
import time

import pytest

import failover
import forward
from nvmetcp import PATIENCE

QUEUES = 3                   # or more
SENT_AGAIN_S = 3 * PATIENCE  # longer than a target without FENCE is waited for, with KATO below
LISTEN = ("127.0.0.1:0", "127.0.0.1:0")
KATO = ("kato=400", "fence-margin=100", "connect=1000")
WAYS = pytest.mark.parametrize("options", [(), ("plain", *KATO)], ids=["fence", "plain"])


@contextlib.contextmanager
def running(target, *options):
    """(the load, its two paths) by a listener each."""
    with forward.Path(target.addresses[0][1]) as one, forward.Path(target.addresses[1][1]) as other:
        with failover.Load((one.port, other.port), *options) as load:
            fences = "plain" not in options
            assert [path["fences"] for path in load.ready["paths"]] == [fences, fences]
            load.goes_on()
            yield load, (one, other)


def lose(load, index, path, how="cut"):
    """Cuts it, and waits until what was sent by it is sent again.  Where nothing was just then, it is cut once more, when
    all I/O has come to stand behind it: each queue takes its paths in turn, once it has found to them."""
    for stands in (False, *[True] * 19):
        began = time.monotonic_ns()
        if stands:
            path.until_busy(QUEUES)
            path.hold()
            load.stands_still()
        getattr(path, how)()
        load.until("path_lost", began, path=index)
        load.goes_on()
        if load.comes("resent", began, SENT_AGAIN_S):
            return
        opened = time.monotonic_ns()
        path.open()
        load.until("path_up", opened, path=index)
    pytest.fail("nothing was ever under way: %s" % load.events[-40:])


@WAYS
def test_a_path_that_is_cut_and_comes_again(serve, options):
    with running(serve(listen=LISTEN), *options) as (load, paths):
        for i, path in enumerate(paths):
            lose(load, i, path)
            opened = time.monotonic_ns()
            path.open()
            load.until("path_up", opened, path=i)
            load.goes_on()
        account = load.end()
    assert account["resent"] > 0
    assert all(path["losses"] > 0 for path in account["paths"])
    assert not load.all_of("namespace"), "nothing about it has changed"


def test_a_path_that_is_cut_with_digests(serve):
    with running(serve(listen=LISTEN), "hdgst", "ddgst") as (load, paths):
        lose(load, 0, paths[0])
        assert load.end()["resent"] > 0


@WAYS
def test_both_paths_are_cut_and_come_again(serve, options):
    with running(serve(listen=LISTEN), *options) as (load, paths):
        began = time.monotonic_ns()
        for path in paths:
            path.cut()
        load.until("all_lost", began)
        opened = time.monotonic_ns()
        for path in paths:
            path.open()
        for i in (0, 1):
            load.until("path_up", opened, path=i)
        load.until("resent", opened)
        load.goes_on()
        load.end()


@WAYS
def test_what_a_silent_path_delivers_late_changes_nothing(serve, options):
    """It moves again when the host has long given it up, and the target, if FENCE has not told it, has not: what it
    delivers then are older selves of writes that are sent again."""
    late = ("io-timeout=300", "kato=1500", "fence-margin=100", *options[:1])
    with running(serve(listen=LISTEN), *late) as (load, paths):
        began = time.monotonic_ns()
        paths[0].hold()
        load.until("path_lost", began, path=0)
        load.goes_on(20000)
        opened = time.monotonic_ns()
        paths[0].let_go()
        load.until("resent", began)
        load.until("path_up", opened, path=0)
        load.goes_on()
        load.end()


def test_a_path_that_says_nothing_is_lost_by_keep_alive(serve):
    with running(serve(listen=LISTEN), *KATO) as (load, paths):
        lose(load, 0, paths[0], "hold")
        assert load.all_of("path_lost", path=0)[0]["text"] == "the target answers no Keep Alive"
        load.end()


@WAYS
def test_paths_that_stay_away_for_longer_than_io_waits(serve, options):
    """I/O fails, in words that say so, and goes on when they are back; what had failed may be done or not, but not later."""
    with running(serve(listen=LISTEN), "loss=300", *options) as (load, paths):
        began = time.monotonic_ns()
        for path in paths:
            path.cut()
        load.until("given_up", began)
        opened = time.monotonic_ns()
        for path in paths:
            path.open()
        load.until("path_up", opened)
        load.goes_on()
        account = load.end(never=("lost", "doubled", "wrong"))
    assert account["failed"] > 0 and account["error"] == "Connection timed out"


def test_the_target_is_killed_and_started_again(serve, tmp_path):
    volume = ["file:%s/volume.img,size=64M" % tmp_path]
    target = serve(listen=LISTEN, ns=volume)
    with running(target) as (load, _):
        for _ in range(2):
            began = time.monotonic_ns()
            target.kill()
            load.until("all_lost", began)
            listen = ["127.0.0.1:%d" % port for _, port in target.addresses]
            began = time.monotonic_ns()
            target = serve(listen=listen, ns=volume)
            for path in (0, 1):
                load.until("path_up", began, path=path)
            load.goes_on()
        assert load.end()["resent"] > 0
