"""`weir perf --ordered`: loads by streams of ordered writes, and what they count."""
import signal

import pytest

import target as targets
from tools import SECONDS, answer, start, uri, weir

ORDERED = "--ordered", "--rw", "randwrite"


@pytest.fixture
def served(serve, tmp_path):
    """A target with a log, and a volume of which it keeps what it has answered."""
    return serve("--order-log", "memory:%s" % (tmp_path / "order.log"), ns=["mem:64M", "mem:64M"])


def check(found, ios, groups, streams=1):
    assert found["errors"] == 0 and found["unanswered"] == 0 and not found["stopped"], found
    assert found["write"]["ios"] == ios and found["read"]["ios"] == 0
    assert found["ordered"]["streams"] == streams and found["ordered"]["groups"] == groups
    assert found["write"]["latency_us"]["p50"] > 0
    return found["ordered"]


def test_each_write_is_a_group(served):
    before = served.stats()
    ordered = check(answer("perf", uri(served, 1), *ORDERED, "--ios", 2000), 2000, 2000)
    assert ordered["durable"] is None and 0 < ordered["commands"] <= 2000
    assert served.no_connections()["writes"] - before["writes"] == ordered["commands"]


@pytest.mark.parametrize("group, ios, groups", [(4, 2000, 500), (7, 2000, 286), (32, 31, 1)])
def test_groups(served, group, ios, groups):
    """the last one ends with what it has"""
    check(answer("perf", uri(served, 1), *ORDERED, "--ios", ios, "--group", group), ios, groups)


@pytest.mark.parametrize("volume", ["mem:64M", "file:%s,size=64M"])
@pytest.mark.parametrize("log", ["memory", "file"])
def test_groups_that_are_to_be_durable(serve, tmp_path, volume, log):
    """on what keeps what it has answered, and on what has to be flushed"""
    spec = volume % (tmp_path / "v.img") if "%s" in volume else volume
    target = serve("--order-log", "%s:%s" % (log, tmp_path / "order.log"), ns=[spec])
    load = "perf", uri(target, 1), *ORDERED, "--ios", 400, "--group", 2, "--qd", 8
    found = answer(*load, "--flush-every", 5)
    durable = check(found, 400, 200)["durable"]
    assert durable["ios"] == 400 and durable["latency_us"]["max"] >= found["write"]["latency_us"]["p50"]
    check(answer(*load), 400, 200)


def test_what_lies_behind_one_another_is_sent_as_one(served):
    ordered = check(answer("perf", uri(served, 1), "--ordered", "--rw", "write", "--ios", 2000, "--qd", 64), 2000, 2000)
    assert ordered["commands"] < 1000, ordered


def test_several_streams_and_threads_and_volumes(served):
    found = answer("perf", uri(served, 1), uri(served, 2), *ORDERED, "--ios", 3001, "--qd", 8, "--streams", 3,
                   "--threads", 2, "--bs", "8k")
    uris = found["jobs"][0]["uris"]
    assert [one["ordered"]["streams"] for one in uris] == [3, 3]
    assert sum(one["write"]["ios"] for one in uris) == 3001 and min(one["write"]["ios"] for one in uris) > 0
    check(found, 3001, 3001, streams=6)
    served.no_connections()


def test_jobs_of_a_file_have_streams_of_their_own(served, tmp_path):
    path = tmp_path / "jobs.yaml"
    path.write_text("""
defaults: { rw: randwrite, ordered: yes, ios: 500, qd: 8 }
jobs:
  - { name: one, uri: "%s", streams: 2 }
  - { name: other, uri: "%s", group: 2, flush-every: 1 }
  - { name: plain, uri: "%s", ordered: no }
""" % ((uri(served, 1),) * 3))
    jobs = {job["name"]: job for job in answer("perf", "--job", path)["jobs"]}
    check(jobs["one"], 500, 500, streams=2)
    assert check(jobs["other"], 500, 250)["durable"]["ios"] == 500
    assert jobs["plain"]["ordered"] is None and jobs["plain"]["write"]["ios"] == 500


def test_at_a_rate_for_a_while(served):
    """a group that waits for its turn ends all the same"""
    found = answer("perf", uri(served, 1), *ORDERED, "--time", 1, "--rate", 100, "--group", 8)
    assert 0 < found["write"]["ios"] <= 100 * (found["seconds"] + 0.02) + 1 and found["errors"] == 0
    assert found["ordered"]["groups"] == -(-found["write"]["ios"] // 8)


def test_the_table_for_people(served):
    done = weir("perf", uri(served, 1), *ORDERED, "--ios", 500, "--flush-every", 1)
    text = done.stdout.decode()
    assert "1 streams: 500 writes in 500 groups, by " in text and "\ndurable " in text and "\nwrite " in text, text


def test_one_that_is_stopped_says_what_it_has_measured(served):
    load = start("perf", uri(served, 1), *ORDERED, "--time", 1000, "--group", 3, "--json")
    served.until("writes flow", lambda stats: stats["writes"] > 1000)
    load.send_signal(signal.SIGINT)
    out, err = load.communicate(timeout=SECONDS)
    assert load.returncode == 1 and '"stopped":true,"unanswered":0' in out and '"errors":0' in out, (out, err)


def test_a_stream_that_somebody_else_takes_is_over(served):
    """and the other one goes on"""
    load = start("perf", uri(served, 1), *ORDERED, "--time", 1000, "--json")
    served.until("writes flow", lambda stats: stats["writes"] > 1000)
    check(answer("perf", uri(served, 1), *ORDERED, "--ios", 500), 500, 500)
    out, err = load.communicate(timeout=SECONDS)
    assert load.returncode == 1 and '"errors":1,"first_error":"ordered stream 65535: ' in out, (out, err)


def test_a_target_without_a_log_is_named(target):
    done = weir("perf", uri(target, 1), *ORDERED, "--ios", 10, code=1)
    assert "has no ordered writes" in done.words and "--order-log" in done.words and uri(target, 1) in done.words


def test_a_group_that_is_too_large_for_the_log_is_told(serve, tmp_path):
    target = serve("--order-log", "memory:%s,slots=1024" % (tmp_path / "order.log"), ns=["mem:64M"])
    done = weir("perf", uri(target, 1), *ORDERED, "--ios", 100, "--group", 30, code=1)
    assert b"than targets guarantee" in done.stdout, done.stdout
    check(answer("perf", uri(target, 1), *ORDERED, "--ios", 100, "--group", 4), 100, 25)


@pytest.mark.parametrize("args, words", [
    (["--rw", "randread"], "only writes have an order"), (["--rw", "randrw"], "only writes have an order"),
    ([], "only writes have an order"), (["--rw", "write", "--verify"], "--verify reads"),
    (["--rw", "write", "--queues", "2"], "--queues"), (["--rw", "write", "--group", "33"], "--group"),
    (["--rw", "write", "--streams", "0"], "--streams"), (["--rw", "write", "--flush-every", "x"], "--flush-every")])
def test_what_cannot_be_ordered_is_told(binary, args, words):
    done = targets.run("perf", "nvme+tcp://127.0.0.1:1/nqn.2026-11.local.weir:default?ns=1", "--ordered", *args)
    assert done.returncode == 2 and words in done.stderr, done


@pytest.mark.parametrize("args", [["--group", "2"], ["--flush-every", "1"], ["--streams", "2"]])
def test_what_says_something_of_ordered_writes_alone(binary, args):
    done = targets.run("perf", "nvme+tcp://127.0.0.1:1/nqn.2026-11.local.weir:default?ns=1", *args)
    assert done.returncode == 2 and "%s says something of ordered writes" % args[0] in done.stderr, done


def test_streams_are_forgotten_at_the_end(served):
    """a host has 64, and would find them taken some day"""
    for _ in range(2):
        check(answer("perf", uri(served, 1), *ORDERED, "--ios", 400, "--streams", 30), 400, 400, streams=30)
        assert answer("recover", "--list", uri(served))["streams"] == []
