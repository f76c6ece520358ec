"""A folder where hosts have their namespaces, on a disk that does not answer, costs the hosts of others nothing."""
import os
import time

import pytest

import nvme
import target as targets
import test_live
from disk import disk, ends_in_time  # noqa: F401: `disk` is a fixture
from namespaces import ATTACH, CREATE, CTRL_LIST, attach, controllers, create, created, delete, detach, files, ids, like
from namespaces import nsids, protect
from nvme import sqe
from nvmetcp import PATIENCE, Stopwatch, tries
from test_hung_disks import beside
from test_static import until_free
from test_live import live, namespace  # noqa: F401: `live` is a fixture

PATIENCE_S = 15  # how long a pool is waited for
OTHER = "nqn.2026-11.example:other"
INTERRUPTED = 0x021  # without DNR
ABORTED = 0x007


def pools(tmp_path, hung, sound, more=""):
    """Two subsystems: hosts of the first have theirs in one folder, those of the second in the other."""
    text = "state_dir: %s/state\nlisteners:\n  - {name: a, address: \"127.0.0.1:0\"}\nsubsystems:\n" % tmp_path
    for nqn, folder in (("nqn.2026-11.example:live", hung), (OTHER, sound)):
        text += "  - nqn: %s\n    host_namespaces: {volume: \"file:%s\", size: 64M}\n" % (nqn, folder)
        text += "    namespaces:\n" + namespace(100)
    return text + more


@pytest.fixture
def two(live, tmp_path, disk):
    """A target, and what it is configured to be."""
    sound = tmp_path / "sound"
    sound.mkdir()
    text = pools(tmp_path, disk.folder, sound)
    return live(text, env=disk.env), text, str(sound)


def connect(target, **how):
    return test_live.connect(target, timeout=PATIENCE_S + 10 * PATIENCE, **how)


def other(target):
    return nvme.Controller(target.address(), subnqn=OTHER)


def ask(ctrl, blocks=256):
    """To create a namespace, which may take long."""
    return ctrl.admin.submit(sqe(0x0D, cdw10=CREATE), like(blocks))


def given_up(target, disk):
    """The target has said that it waits for the pool no longer"""
    return "%s, where hosts make namespaces of" % disk.folder in target.daemon.stderr()


def aborted(ctrl, request):
    abort = ctrl.admin.call(sqe(0x08, cdw10=request.cid << 16))
    assert abort.ok and abort.dw0 == 0 and request.done and request.status == ABORTED, (abort, request)


def test_hosts_of_others_and_the_operator_do_not_wait_for_a_pool_that_hangs(two, tmp_path, disk):
    target, text, sound = two
    with connect(target) as ctrl, other(target) as away:
        queue = ctrl.io_queue()
        disk.hang()
        asked = ask(ctrl)
        disk.waits()
        nsid = created(away)
        assert files(sound) and attach(away, nsid).ok and protect(away, nsid, 1).ok and protect(away, nsid, 0).ok
        assert detach(away, nsid).ok and delete(away, nsid).ok
        target.applied(text + "  - {nqn: nqn.2026-11.example:third}\n")
        assert not given_up(target, disk), "nobody waited until it was"
        assert queue.read(0, nsid=100).ok and not asked.done
        os.close(disk.answer())
        assert ctrl.admin.wait(asked).ok
        assert len(files(disk.folder)) == 1 and nsids(ctrl, 0x10) == [asked.dw0, 100]
        assert attach(ctrl, asked.dw0).ok and queue.write(0, b"x" * 4096, nsid=asked.dw0).ok


def test_hosts_of_the_pool_are_told_in_time_and_can_do_what_needs_no_disk(two, disk):
    """and what was made in vain is gone once the disk answers"""
    target, _, _ = two
    with connect(target, hostid=bytes(15) + b"\7") as ctrl, connect(target, hostid=bytes(15) + b"\10") as second:
        nsid = created(ctrl)
        disk.hang()
        with Stopwatch() as took:
            asked, began = ask(ctrl), time.monotonic()
            disk.waits()
            later = second.admin.submit(sqe(0x09, nsid=100, cdw10=0x84, cdw11=1))
            assert second.admin.wait(later).ok and time.monotonic() - began > PATIENCE_S - 1
            assert ctrl.admin.wait(asked).status == INTERRUPTED and PATIENCE_S - 1 < time.monotonic() - began
            assert create(ctrl).status == INTERRUPTED and attach(ctrl, nsid).ok and detach(ctrl, nsid).ok
        assert took.seconds < PATIENCE_S + 2 * PATIENCE
        assert given_up(target, disk)
    target.daemon.no_connections()
    with connect(target, hostid=bytes(15) + b"\7") as ctrl:
        os.close(disk.answer())
        for _ in tries():
            again = create(ctrl)
            if again.status != INTERRUPTED:
                break
        assert again.ok and again.dw0 == 2 and len(files(disk.folder)) == 2
        assert delete(ctrl, 2).ok and delete(ctrl, nsid).ok
    targets.until("both to go", lambda: not files(disk.folder))


@pytest.mark.line("I27")
def test_what_waits_for_a_pool_that_hangs_ends_at_an_abort_or_a_reset(two, disk):
    """whether it waits for its turn, or for its file: and nothing comes of it"""
    target, _, _ = two
    with connect(target, hostid=bytes(15) + b"\7") as first, connect(target, hostid=bytes(15) + b"\10") as second:
        disk.hang()
        asked = ask(first)
        disk.waits()
        for request in reversed([ask(second), ask(second)]):
            aborted(second, request)
        ask(second)
        second.disable()
        second.enable()
        aborted(first, asked)
        ask(first)
        first.disable()
        first.enable()
        assert not given_up(target, disk)
        os.close(disk.answer())
        targets.until("the file to go", lambda: not files(disk.folder))
        assert created(second) == 1 and len(files(disk.folder)) == 1


def test_an_attach_that_waits_means_the_controller_that_had_the_id_when_it_came(live, tmp_path, disk):  # noqa: F811
    """not one of another host that has it since, as the few ids of static controllers are used again at once"""
    text = pools(tmp_path, disk.folder, tmp_path).replace(
        "    namespaces:", "    controllers: static\n    limits: {controllers: 3}\n    namespaces:", 1)
    target = live(text, env=disk.env)
    with connect(target, cntlid=1) as ctrl:
        nsid = created(ctrl)
        meant = connect(target, cntlid=2, hostid=bytes(15) + b"\7")
        disk.hang()
        ask(ctrl)
        disk.waits()
        late = ctrl.admin.submit(sqe(0x15, nsid=nsid, cdw10=ATTACH), ids([2]).ljust(4096, b"\0"))
        assert controllers(ctrl) == [1, 2]
        meant.close()
        with until_free(target, 2, hostid=bytes(15) + b"\10") as another:
            os.close(disk.answer())
            assert ctrl.admin.wait(late).status == CTRL_LIST and nsids(another) == [100]
            assert attach(ctrl, nsid, 2).ok and nsids(another) == [nsid, 100]


def test_a_file_that_was_made_where_the_pool_is_no_more_goes(two, tmp_path, disk):
    target, text, sound = two
    with connect(target) as ctrl:
        disk.hang()
        asked = ask(ctrl)
        disk.waits()
        target.applied(pools(tmp_path, sound, sound))
        os.close(disk.answer())
        assert ctrl.admin.wait(asked).status == INTERRUPTED
        assert files(disk.folder) == [] and created(ctrl) == 1 and len(files(sound)) == 1


def test_a_pool_elsewhere_is_used_while_the_one_before_hangs(two, tmp_path, disk):
    target, text, sound = two
    with connect(target) as ctrl:
        disk.hang()
        asked = ask(ctrl)
        assert ctrl.admin.wait(asked).status == INTERRUPTED
        target.applied(pools(tmp_path, sound, sound))
        assert created(ctrl) == 1 and len(files(sound)) == 1


def test_what_is_deleted_in_a_pool_that_hangs_holds_up_no_files_of_others(two, disk):
    """neither those that are made, as of reservations, nor those that go"""
    target, _, sound = two
    with connect(target) as ctrl, other(target) as away:
        nsid, gone = created(away), created(ctrl)
        kept = created(away)
        assert attach(away, kept).ok
        disk.hang()
        assert delete(ctrl, gone).ok
        disk.waits()
        queue, keys = away.io_queue(), bytes(8) + bytes([1] * 8)
        assert queue.call(sqe(0x0D, nsid=kept, cdw10=0), keys).ok, "to register takes a file"
        assert delete(away, nsid).ok
        targets.until("what another host deleted to go", lambda: len(files(sound)) == 1)
        assert len(files(disk.folder)) == 1
        os.close(disk.answer())
        targets.until("what was deleted to go", lambda: not files(disk.folder))


def test_a_host_that_goes_away_meanwhile_comes_back(two, disk):
    target, _, _ = two
    ctrl = connect(target)
    disk.hang()
    ask(ctrl)
    disk.waits()
    ctrl.close()
    thread, done = beside(lambda: connect(target))
    thread.join(PATIENCE_S + 10 * PATIENCE)
    with done[0] as ctrl:
        assert nsids(ctrl, 0x10) == [100] and create(ctrl).status == INTERRUPTED


def test_a_target_ends_in_time_while_a_pool_hangs(two, live, tmp_path, disk):
    """and nothing is left of what the host was not told of"""
    target, text, sound = two
    with connect(target) as ctrl, other(target) as away:
        disk.hang()
        ask(ctrl)
        disk.waits()
        nsid = created(away)
        ends_in_time(target)
    os.close(disk.answer())
    again = live(text)
    with connect(again) as ctrl, other(again) as away:
        assert nsids(ctrl, 0x10) == [100] and nsids(away, 0x10) == [nsid, 100]
        assert files(disk.folder) == [] and len(files(sound)) == 1
