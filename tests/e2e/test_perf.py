"""`weir perf`: a verified load through our own host, its report and its exit codes."""
import json
import re
import signal
import socket
from xml.etree import ElementTree

import pytest

import nvme
import target as targets
from forward import Path
from nvmetcp import PATIENCE
from tools import SECONDS, start, uri


def perf(target, *args, nqn=nvme.SUBNQN, query="?ns=1"):
    return targets.run("perf", "nvme+tcp://127.0.0.1:%d/%s%s" % (target.port, nqn, query), *args)


def report(done, code=0):
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found


def check_side(side):
    assert side["ios"] > 0 and side["iops"] > 0 and side["mb_s"] > 0
    latency = side["latency_us"]
    assert 0 < latency["p50"] <= latency["p90"] <= latency["p99"] <= latency["p99.9"] <= latency["p99.99"]
    assert latency["p99.99"] <= latency["max"] * 1.1 and 0 < latency["mean"] <= latency["max"]


@pytest.mark.parametrize("ios, options", [
    (20000, []), (20000, ["--queues", "4", "--qd", "16"]), (20000, ["--hdgst", "--ddgst"]), (20000, ["--flow-control"]),
    (4000, ["--bs", "64k", "--qd", "8"]), (500, ["--bs", "1m", "--qd", "4", "--ddgst"]), (5000, ["--qd", "1"]),
    (20000, ["--mix", "30", "--qd", "128"])], ids=lambda value: " ".join(value) if isinstance(value, list) else "")
def test_a_verified_load(target, ios, options):
    found = report(perf(target, "--rw", "randrw", *options, "--verify", "--json", "--ios", str(ios)))
    check_side(found["read"])
    check_side(found["write"])
    assert found["errors"] == 0 and found["read"]["ios"] + found["write"]["ios"] == ios
    assert found["verify"]["enabled"] and found["verify"]["checked"] > 0 and found["verify"]["wrong"] == 0


def test_a_load_of_a_second(target):
    found = report(perf(target, "--rw", "randrw", "--verify", "--json", "--time", "1"))
    assert found["errors"] == 0 and 0.9 <= found["seconds"] < 1 + 10 * PATIENCE
    assert found["verify"]["checked"] > 0 and found["verify"]["wrong"] == 0


@pytest.mark.parametrize("rw, sides", [("read", ["read"]), ("randread", ["read"]), ("write", ["write"]),
                                       ("randwrite", ["write"])])
def test_each_kind_of_load(target, rw, sides):
    found = report(perf(target, "--rw", rw, "--json", "--ios", "5000"))
    for name in ("read", "write"):
        if name in sides:
            check_side(found[name])
        else:
            assert found[name]["ios"] == 0
    assert found["errors"] == 0


@pytest.mark.parametrize("ios, options", [
    (1, ["--qd", "1"]), (1, ["--qd", "32", "--queues", "2"]), (1000, ["--qd", "128"]),
    (5000, ["--rw", "randrw", "--verify"])], ids=str)
def test_as_many_ios_as_were_asked_for(serve, ios, options):
    target = serve()
    found = report(perf(target, "--ios", str(ios), "--json", *options))
    assert found["read"]["ios"] + found["write"]["ios"] == ios and found["errors"] == 0
    if "--verify" not in options:
        assert target.no_connections()["reads"] == ios


def test_the_congestion_control_is_the_one_that_was_named(target):
    found = report(perf(target, "--ios", "1000", "--tcp-congestion", "reno", "--json"))
    assert found["read"]["ios"] == 1000
    done = perf(target, "--ios", "1000", "--tcp-congestion", "nonesuch")
    assert done.returncode == 1 and "nonesuch" in done.stderr, done


def test_what_the_io_thread_did_is_said(target):
    found = report(perf(target, "--ios", "20000", "--qd", "32", "--json"))
    assert found["busy_turns"] >= 20000 / 32
    assert found["syscalls"] >= 2 * 20000 / 32, "each turn receives and sends"
    assert 0 < found["busy_ns"] <= found["seconds"] * 1e9
    assert 0 <= found["waited_ns"] <= found["seconds"] * 1e9


def test_several_uris_are_told_apart_and_summed_up(serve):
    target = serve(ns=["mem:64M", "mem:64M"])
    first, second = ("nvme+tcp://127.0.0.1:%d/%s?ns=%d" % (target.port, nvme.SUBNQN, ns) for ns in (1, 2))
    args = ["--rw", "randrw", "--verify", "--ios", "3001", "--queues", "3", "--threads", "2", "--qd", "4"]
    found = report(targets.run("perf", first, second, *args, "--json"))
    uris = found["jobs"][0]["uris"]
    assert [uri["uri"] for uri in uris] == [first, second]
    for side in ("read", "write"):
        assert sum(uri[side]["ios"] for uri in uris) == found[side]["ios"] and uris[0][side]["ios"] > 300
    assert found["read"]["ios"] + found["write"]["ios"] == 3001
    assert found["verify"]["checked"] == sum(uri["verify"]["checked"] for uri in uris) > 300
    assert found["verify"]["wrong"] == found["errors"] == 0
    done = targets.run("perf", first, second, *args)
    assert done.returncode == 0 and done.stdout.count("nvme+tcp://") == 2 and "total" in done.stdout, done
    done = targets.run("perf", first, first, *args)
    assert done.returncode == 2 and "twice" in done.stderr, done


@pytest.mark.parametrize("rate, iops", [("2000", 2000), ("0,2M", 512), ("1000,1G", 1000)])
def test_a_rate_is_not_exceeded(target, rate, iops):
    found = report(perf(target, "--rate", rate, "--time", "1", "--json"))
    assert found["read"]["ios"] <= iops * (found["seconds"] + 0.01) + 1
    assert found["read"]["ios"] > iops / 4, "a busy machine catches up on little"


def test_a_line_for_each_interval(target):
    load = "--rate", "1000", "--interval", "1", "--time", "3"
    done = perf(target, *load, "--json")
    *lines, last = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0 and 1 <= len(lines) <= 3 and lines[0]["interval"] == pytest.approx(1, abs=0.5 * PATIENCE)
    assert 0 < sum(line["read"]["ios"] for line in lines) <= last["read"]["ios"]
    done = perf(target, *load)
    assert done.returncode == 0 and re.search(r"^ +[12]\.\d s +\d+ IOPS .* p99", done.stdout, re.M), done


def test_the_distribution_as_bars_and_as_a_picture(target, tmp_path):
    picture = tmp_path / "it.svg"
    done = perf(target, "--rw", "randrw", "--ios", "2000", "--histogram", "--svg", str(picture))
    assert done.returncode == 0, done
    rows = re.findall(r"^ *\d+ [mu]?s - \d+ [mu]?s +(\d+) +[\d.]+ % #*$", done.stdout, re.M)
    assert sum(map(int, rows)) == 2000, done.stdout
    texts = [one.text for one in ElementTree.parse(picture).iter("{http://www.w3.org/2000/svg}text")]
    assert any("weir perf nvme+tcp://" in text and "--svg" in text for text in texts), texts
    assert any(text.startswith("read: median") for text in texts) and "latency" in texts, texts
    done = perf(target, "--ios", "10", "--svg", str(tmp_path / "none" / "it.svg"))
    assert done.returncode == 1 and "none/it.svg: No such file" in done.stderr, done


def test_what_perf_counts_the_target_counts(serve):
    target = serve()
    before = target.stats()
    found = report(perf(target, "--rw", "randrw", "--json", "--time", "1"))
    after = target.stats()
    assert after["reads"] - before["reads"] >= found["read"]["ios"]
    assert after["writes"] - before["writes"] >= found["write"]["ios"]
    assert target.no_connections()["connections"] == 0


def test_a_file_volume_with_small_blocks(serve, tmp_path):
    target = serve("--block-size", "512", ns=["file:%s/v.img,size=64M" % tmp_path])
    found = report(perf(target, "--rw", "randrw", "--bs", "512", "--verify", "--json", "--ios", "5000"))
    assert found["verify"]["checked"] > 0 and found["verify"]["wrong"] == 0


@pytest.mark.parametrize("drop", [1, 10])
def test_a_dropped_write_is_found(serve, drop):
    """the test of the test: an acknowledged write that was not done (and hardly was done over again)"""
    spec = "fault:drop-write=%d@mem:4G" % drop
    load = ["--rw", "randrw", "--qd", "1", "--verify", "--ios", "400"]
    found = report(perf(serve(ns=[spec]), *load, "--json"), 1)
    assert found["verify"]["wrong"] > 0
    done = perf(serve(ns=[spec]), *load)
    assert done.returncode == 1 and "VERIFICATION FAILED" in done.stdout


def test_io_errors_are_counted(serve):
    target = serve(ns=["fault:read-error=7@mem:1M"])
    found = report(perf(target, "--rw", "randread", "--json", "--ios", "5000"), 1)
    assert found["errors"] > 0 and found["read"]["ios"] > 0


def test_the_table_for_people(target):
    done = perf(target, "--rw", "randrw", "--verify", "--ios", "5000")
    assert done.returncode == 0 and "IOPS" in done.stdout and "p99" in done.stdout and "verified" in done.stdout


def test_who_takes_a_wrong_name_is_told_which(serve):
    target = serve(ns=["mem:16M"])
    done = targets.run("perf", "nvme+tcp://%s:%d/nqn.2026-11.example:nobody?ns=1" % target.addresses[0], "--time", "1")
    assert done.returncode == 1 and "(1:82, do not retry): the NQN of the subsystem" in done.stderr, done


@pytest.mark.parametrize("uri", [
    "", "nvme", "http://127.0.0.1:4420/nqn?ns=1", "nvme+tcp://", "nvme+tcp://127.0.0.1", "nvme+tcp://:4420/nqn?ns=1",
    "nvme+tcp://127.0.0.1:x/nqn?ns=1", "nvme+tcp://127.0.0.1:99999/nqn?ns=1", "nvme+tcp://127.0.0.1:4420/?ns=1",
    "nvme+tcp://127.0.0.1:4420/nqn?ns=0", "nvme+tcp://127.0.0.1:4420/nqn?ns=x", "nvme+tcp://127.0.0.1:4420/nqn?x=1"])
def test_a_wrong_uri_is_named(binary, uri):
    done = targets.run("perf", uri, "--time", "1")
    assert done.returncode == 2 and done.stdout == "" and uri in done.stderr, done


@pytest.mark.parametrize("args, words", [
    (["--rw", "sideways"], "sideways"), (["--mix", "101"], "101"), (["--bs", "0"], "--bs"), (["--bs", "x"], "--bs"),
    (["--qd", "0"], "--qd"), (["--queues", "0"], "--queues"), (["--time", "0"], "--time"), (["--ios", "0"], "--ios"),
    (["--threads", "0"], "--threads"), (["--rate", "0"], "--rate"), (["--rate", "x"], "--rate"),
    (["--rate", "1,x"], "--rate"), (["--interval", "0"], "--interval"), (["--cpus", "x"], "--cpus"),
    (["--nope"], "nope"), (["--rw", "randread", "--verify"], "--verify"),
    (["--rw", "randrw", "--mix", "100", "--verify"], "--verify")])
def test_a_wrong_option_is_named(binary, args, words):
    done = targets.run("perf", "nvme+tcp://127.0.0.1:1/nqn.2026-11.local.weir:default?ns=1", *args)
    assert done.returncode == 2 and words in done.stderr, done


def test_an_unreachable_port_is_said_in_plain_words(binary):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    done = targets.run("perf", "nvme+tcp://127.0.0.1:%d/%s?ns=1" % (port, nvme.SUBNQN), "--time", "1")
    assert done.returncode == 1 and re.search("refused|connect", done.stderr) and str(port) in done.stderr, done


@pytest.mark.line("C15")
def test_a_peer_that_says_nothing_is_given_up(binary):
    """within 10 s"""
    with socket.create_server(("127.0.0.1", 0)) as server:
        done = targets.run("perf", "nvme+tcp://127.0.0.1:%d/%s?ns=1" % (server.getsockname()[1], nvme.SUBNQN),
                           "--time", "1", timeout=20 * PATIENCE)
        assert done.returncode == 1 and done.stderr.strip(), done


def test_another_name_and_another_namespace_are_said_in_plain_words(target):
    done = perf(target, "--time", "1", nqn="nqn.2026-11.local.weir:other")
    assert done.returncode == 1 and done.stderr.strip(), done
    done = perf(target, "--time", "1", query="?ns=9")
    assert done.returncode == 1 and "namespace" in done.stderr, done


@pytest.mark.parametrize("bs", ["512", "3k", "2m"])
def test_a_block_size_that_does_not_fit_is_said_in_plain_words(target, bs):
    """less than a block, no multiple of it, beyond what the target transfers"""
    done = perf(target, "--bs", bs, "--time", "1")
    assert done.returncode in (1, 2) and re.search("bs|block|size|large", done.stderr), done


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_one_that_is_stopped_says_what_it_has_measured(serve, how):
    target = serve()
    load = start("perf", uri(target, 1), "--time", "1000", "--rw", "randrw", "--verify", "--threads", "2", "--queues",
                 "2", "--json")
    target.until("I/O flows", lambda stats: stats["reads"] > 1000)
    load.send_signal(how)
    out, err = load.communicate(timeout=SECONDS)
    assert load.returncode == 1, (out, err)
    found = json.loads(out)
    check_side(found["read"])
    assert found["stopped"] and found["unanswered"] == 0 and found["errors"] == 0 and found["first_error"] is None
    assert found["seconds"] < 900 and found["verify"]["wrong"] == 0


def test_one_that_is_stopped_does_not_wait_for_answers(serve):
    """of a device that has none"""
    where = uri(serve(ns=["fault:hold=0@mem:64M"]), 1)
    load = start("perf", where, "--rw", "read", "--time", "1000", "--qd", "1", "--interval", "1")
    assert " 0 IOPS" in load.stdout.readline()
    load.send_signal(signal.SIGINT)
    out, err = load.communicate(timeout=SECONDS)
    assert load.returncode == 1 and "stopped, 1 I/Os had no answer" in out, (out, err)


def test_a_picture_that_cannot_be_written_is_said_before(binary, tmp_path):
    where = "nvme+tcp://127.0.0.1:1/%s?ns=1" % nvme.SUBNQN
    done = targets.run("perf", where, "--svg", str(tmp_path / "none" / "x.svg"))
    assert done.returncode == 1 and "No such file" in done.stderr and "127.0.0.1" not in done.stderr, done
    done = targets.run("perf", where, "--svg", str(tmp_path / "x.svg"))
    assert done.returncode == 1 and not (tmp_path / "x.svg").exists(), done
    (tmp_path / "x.svg").write_text("an older one")
    targets.run("perf", where, "--svg", str(tmp_path / "x.svg"))
    assert (tmp_path / "x.svg").read_text() == "an older one"


def test_a_target_that_dies_is_noticed(serve):
    import subprocess
    target = serve()
    process = subprocess.Popen([targets.WEIR, "perf", "nvme+tcp://127.0.0.1:%d/%s?ns=1" % (
        target.port, nvme.SUBNQN), "--time", "30", "--loss-time", "1500ms"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        target.until("I/O flows", lambda s: s["reads"] > 1000)
        target.kill()
        out, err = process.communicate(timeout=20 * PATIENCE)
        assert process.returncode == 1 and (out + err).strip(), (process.returncode, out, err)
    finally:
        process.kill()
        process.communicate()


def test_a_path_that_is_lost_and_back_costs_no_io(serve):
    """what was in flight is sent again"""
    target = serve(ns=["mem:64M"])
    with Path(target.port) as path:
        load = start("perf", uri(target, 1).replace(":%d/" % target.port, ":%d/" % path.port), "--rw", "randrw",
                     "--verify", "--time", "3", "--qd", "16", "--json")
        try:
            target.until("I/O flows", lambda s: s["writes"] > 1000)
            path.cut()
            path.open()
            out, err = load.communicate()
        finally:
            load.kill()
            load.communicate()
    assert load.returncode == 0, (load.returncode, out, err)
    found = json.loads(out)
    assert found["errors"] == 0 and found["resent"] > 0 and found["paths_lost"] == 1, found
    assert found["verify"]["checked"] > 0 and found["verify"]["wrong"] == 0
    assert found["longest_pause_us"] > 1000
