"""`weir list` and `weir discover`: what is served, where, and as what it may be used."""
import signal
import socket

import pytest

import nvme
from test_live import NQN, conf, live, namespace  # noqa: F401: `live` is a fixture
from tools import SECONDS, answer, start, uri, weir

TARGET_NS = ("mem:64M", "mem:1G")


def test_the_namespaces_of_a_subsystem(target):
    done = weir("list", uri(target)).stdout.decode().splitlines()
    assert done[0].split() == ["SIZE", "USED", "BLOCK", "PATHS", "UUID", "OR", "NGUID", "URI"]
    assert done[1].split()[:2] == ["64", "MiB"] and done[1].endswith(" " + uri(target, 1))
    assert done[2].split()[:2] == ["1", "GiB"] and done[2].endswith(" " + uri(target, 2))
    assert len(done) == 3 and "optimized" in done[1]
    assert weir("list", uri(target, 2)).stdout.decode().splitlines()[1].split() == done[2].split()


def test_all_that_a_service_knows(target):
    found = answer("list", "127.0.0.1:%d" % target.port)["namespaces"]
    assert [ns["uri"] for ns in found] == [uri(target, 1), uri(target, 2)]
    assert [ns["bytes"] for ns in found] == [64 << 20, 1 << 30]
    assert all(ns["block_size"] == 4096 and ns["metadata"] == 0 and ns["subnqn"] == nvme.SUBNQN for ns in found)
    assert all(ns["paths"] == [{"address": "127.0.0.1", "port": target.port, "state": "live", "ana": "optimized"}]
               for ns in found)
    assert found[0]["uuid"] != found[1]["uuid"] and len(found[0]["uuid"]) == 36


def test_what_is_listed_can_be_used(target):
    where = answer("list", "127.0.0.1:%d" % target.port)["namespaces"][0]["uri"]
    assert len(weir("read", where, "--length", "4k").stdout) == 4096


GROUPS = "    ana_groups:\n      - {id: 1, on: {b: non-optimized}}\n"


def test_each_path_is_worth_something(live):  # noqa: F811
    target = live(conf(namespace(1), listeners=("a", "b"), groups=GROUPS))
    found = answer("list", "127.0.0.1:%d" % target.address()[1])["namespaces"]
    assert len(found) == 1 and [path["ana"] for path in found[0]["paths"]] == ["optimized", "non-optimized"]
    assert [path["port"] for path in found[0]["paths"]] == [target.address(0)[1], target.address(1)[1]]
    row = weir("list", found[0]["uri"]).stdout.decode().splitlines()[1]
    assert "optimized, non-optimized" in row


def test_many_namespaces_are_all_there(live):  # noqa: F811
    target = live(conf(*[namespace(nsid, size="1M") for nsid in range(1, 131)]))
    found = answer("list", uri(target.daemon, nqn=NQN))["namespaces"]
    assert [ns["nsid"] for ns in found] == list(range(1, 131))
    assert [ns["nsid"] for ns in answer("id", uri(target.daemon, nqn=NQN), "--all")["namespaces"]] == list(range(1, 131))


def test_one_that_does_not_answer_does_not_hide_the_others(target, serve):
    gone = serve()
    where = uri(gone)
    gone.stop()
    done = weir("list", where, uri(target), "--connect-timeout", "1s", code=1)
    assert len(done.stdout.splitlines()) == 3 and str(gone.port) in done.words
    found = answer("list", where, uri(target), "--connect-timeout", "1s", code=1)["namespaces"]
    assert [ns["uri"] for ns in found] == [uri(target, 1), uri(target, 2)]


def test_a_host_that_may_not(live):  # noqa: F811
    target = live(conf(namespace(1), hosts=[nvme.HOSTNQN]))
    where = "nvme+tcp://127.0.0.1:%d/%s" % (target.address()[1], NQN)
    assert len(answer("list", where, "--hostnqn", nvme.HOSTNQN)["namespaces"]) == 1
    for asks, name in (["--hostnqn", "nqn.2026-11.local:me"], "nqn.2026-11.local:me"), ([], "nqn."):
        words = weir("list", where, *asks, code=1).words
        assert "this host may not use the subsystem" in words and "may this host use it? It is " + name in words
    words = weir("list", where + "?hostnqn=nqn.2026-11.local:me", code=1).words
    assert "may this host use it? It is nqn.2026-11.local:me\n" in words
    done = weir("list", "127.0.0.1:%d" % target.address()[1])
    assert done.stdout == b"" and "no namespace for this host" in done.words
    assert "no subsystem that this host" in weir("discover", "127.0.0.1:%d" % target.address()[1]).words


# ---- discover ----

def test_subsystems_with_their_uris(target):
    head, *rows = weir("discover", "127.0.0.1:%d" % target.port).stdout.decode().splitlines()
    assert head.split() == ["KIND", "TRANSPORT", "ADDRESS", "URI"]
    assert ["subsystem", "tcp", "127.0.0.1:%d" % target.port, uri(target)] in [row.split() for row in rows]


def test_what_is_discovered_by_a_name_can_be_used_by_it(live):  # noqa: F811
    target = live(conf(namespace(1), hosts=[nvme.HOSTNQN]))
    where = "127.0.0.1:%d?hostnqn=%s" % (target.address()[1], nvme.HOSTNQN)
    theirs, = [entry["uri"] for entry in answer("discover", where)["entries"] if entry["kind"] == "subsystem"]
    assert theirs.endswith("?hostnqn=" + nvme.HOSTNQN) and theirs in weir("discover", where).stdout.decode()
    assert len(answer("list", theirs)["namespaces"]) == 1


def test_discovered_as_json(target):
    found = answer("discover", "nvme+tcp://127.0.0.1:%d" % target.port)
    entry = next(entry for entry in found["entries"] if entry["kind"] == "subsystem")
    assert entry["uri"] == uri(target) and entry["subnqn"] == nvme.SUBNQN and entry["level"] == 0
    assert entry["transport"] == "tcp" and entry["address"] == "127.0.0.1" and entry["service"] == str(target.port)


def test_the_port_that_nobody_said(serve):
    """8009, and where nobody listens there 4420; another loopback address, so that nobody else is in the way"""
    target = serve(listen=("127.77.42.1:4420",))
    assert answer("discover", "127.77.42.1")["entries"]
    assert len(answer("list", "127.77.42.1")["namespaces"]) == 1
    target.stop()
    target = serve(listen=("127.77.42.1:8009",))
    assert answer("discover", "127.77.42.1")["entries"]
    assert answer("discover", "nvme+tcp://127.77.42.1")["entries"]


def test_others_are_followed(serve, live):  # noqa: F811
    other = serve(ns=["mem:16M"])
    text = conf(namespace(1)) + "referrals:\n  - {address: \"127.0.0.1:%d\"}\n" % other.port
    target = live(text)
    where = "127.0.0.1:%d" % target.address()[1]
    found = {(entry["subnqn"], entry["level"]) for entry in answer("discover", where)["entries"]
             if entry["kind"] == "subsystem"}
    assert found == {(NQN, 0), (nvme.SUBNQN, 1)}
    found = answer("discover", where, "--referrals", "0")["entries"]
    assert {entry["subnqn"] for entry in found if entry["kind"] == "subsystem"} == {NQN}
    assert "referral" in [entry["kind"] for entry in found]
    assert {ns["subnqn"] for ns in answer("list", where)["namespaces"]} == {NQN, nvme.SUBNQN}


def test_what_comes_and_goes_is_said(serve, live):  # noqa: F811
    """here; not of what other services know"""
    mine, other = nvme.HOSTNQN, serve()

    def text(*hosts):
        return conf(namespace(1), hosts=hosts) + "referrals:\n  - {address: \"127.0.0.1:%d\"}\n" % other.port
    target = live(text(mine))
    where = "127.0.0.1:%d" % target.address()[1]
    watch = start("discover", where, "--watch", "--hostnqn", mine)
    assert watch.stdout.readline().startswith("KIND")
    shown = {NQN, uri(other)}
    for row in watch.stdout:
        shown = {name for name in shown if name not in row}
        if not shown:
            break
    target.applied(text())
    _, sign, kind, gone = watch.stdout.readline().split()
    assert sign == "-" and kind == "subsystem" and gone.endswith("/" + NQN)
    target.applied(text(mine))
    assert watch.stdout.readline().split()[1:] == ["+", kind, gone]
    watch.send_signal(signal.SIGINT)
    assert watch.wait(SECONDS) == 0 and watch.communicate()[0] == ""


def test_a_service_that_is_lost_and_back_is_said_once(serve):
    target = serve()
    watch = start("discover", "127.0.0.1:%d" % target.port, "--watch")
    assert watch.stdout.readline().startswith("KIND")
    target.stop()
    with socket.create_server(("127.0.0.1", target.port)) as nobody:
        for _ in range(3):
            nobody.accept()[0].close()
    assert watch.stderr.readline().startswith("weir: discovery at 127.0.0.1:%d: " % target.port)
    serve(listen=("127.0.0.1:%d" % target.port,))
    assert watch.stderr.readline() == "weir: discovery at 127.0.0.1:%d: it answers now\n" % target.port
    watch.send_signal(signal.SIGINT)
    assert watch.wait(SECONDS) == 0 and watch.communicate()[1] == ""


def test_nobody_answers(serve):
    target = serve()
    target.stop()
    done = weir("discover", "127.0.0.1:%d" % target.port, "--connect-timeout", "1s", code=1)
    assert str(target.port) in done.words and done.stdout == b""


@pytest.mark.parametrize("command, args, words", [
    ("discover", ["nvme+tcp://127.0.0.1/" + nvme.SUBNQN], "`weir list` says"), ("discover", ["a", "b"], "what is 'b'?"),
    ("discover", ["--referrals", "9"], "from 0 to 8"), ("list", [], "of whom?")])
def test_words_that_are_not_understood(binary, command, args, words):
    assert words in weir(command, *args, code=2).words
