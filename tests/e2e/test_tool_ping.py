"""`weir ping`: how long answers take, and paths that come and go."""
import json
import re
import signal
import socket

import pytest

import nvme
import target as targets
from forward import Path
from tools import SECONDS, start, uri, weir

TARGET_NS = ("mem:8M",)


def objects(text):
    return [json.loads(line) for line in text.splitlines()]


def test_rounds_and_a_summary(target):
    rows = weir("ping", "-c", "3", "-i", "20ms", uri(target)).stdout.decode().splitlines()
    for number in range(3):
        assert re.fullmatch(r"%d: identify \d+\.\d{3} ms; read \d+\.\d{3} ms" % (number + 1), rows[number])
    assert rows[3] == "" and len(rows) == 6
    for row, name in zip(rows[4:], ("identify", "read")):
        assert re.fullmatch(name + r": 3 of 3 answered; min \S+, avg \S+, p99 \S+, max \S+ ms", row)


@pytest.mark.parametrize("options, admin, io", [
    (("--flush",), True, True), (("--no-io",), True, False), (("--no-admin",), False, True)])
def test_what_is_asked(target, options, admin, io):
    *rounds, summary = objects(weir("ping", "-c", "2", "-i", "0.01", "--json", *options, uri(target)).stdout)
    assert [each["seq"] for each in rounds] == [1, 2]
    for each in rounds:
        assert [path["us"] > 0 for path in each["admin"]] == [True] * admin
        assert ("us" in each["io"]) == io
    assert summary["admin"]["answered"] == 2 * admin and summary["io"]["answered"] == 2 * io
    for side, asked in (("admin", admin), ("io", io)):
        if asked:
            found = summary[side]
            assert 0 < found["min_us"] <= found["avg_us"] <= found["max_us"] and found["p99_us"] > 0


def test_a_subsystem_without_namespaces_is_asked_by_its_admin_queue(serve, tmp_path):
    path = tmp_path / "weir.yaml"
    path.write_text("listeners:\n  - {address: \"127.0.0.1:0\"}\nsubsystems:\n  - {nqn: \"nqn.2026-11.local:empty\"}\n")
    target = serve(config=str(path))
    where = uri(target, nqn="nqn.2026-11.local:empty")
    assert weir("ping", "-c", "1", "--no-io", where).stdout
    assert "no namespace" in weir("ping", "-c", "1", where, code=1).words


def test_each_path_is_asked(serve):
    target = serve(listen=("127.0.0.1:0", "127.0.0.1:0"))
    where = uri(target, more=target.addresses[1:])
    row = weir("ping", "-c", "1", where).stdout.decode().splitlines()[0]
    assert all("ms (127.0.0.1:%d)" % port in row for _, port in target.addresses)


def test_a_name_that_cannot_be_found_is_one_path_fewer(target):
    where = uri(target).replace("//", "//no.such.name.invalid:1,")
    done = weir("ping", "-c", "1", where)
    assert "no.such.name.invalid: " in done.words and "there is no path by that name" in done.words
    assert done.stdout.startswith(b"1: identify ")


def test_a_path_that_does_not_answer_is_told_from_the_others(serve):
    """each is asked by itself"""
    target, rows = serve(listen=("127.0.0.1:0", "127.0.0.1:0")), []
    with Path(target.addresses[1][1]) as path:
        ping = start("ping", "-i", "200ms", "--no-io", "--kato", "2s", uri(target, more=[("127.0.0.1", path.port)]))
        first, second = ("(127.0.0.1:%d)" % port for port in (target.port, path.port))
        assert re.search("ms %s, .* ms %s" % (re.escape(first), re.escape(second)), ping.stdout.readline())
        path.hold()
        for row in ping.stdout:
            rows.append(row)
            if "no answer " + second in row:
                break
        assert "ms %s, no answer %s" % (first, second) in row and sum("ms " + second in each for each in rows) < 5, rows
        ping.send_signal(signal.SIGINT)
        text, _ = ping.communicate(timeout=SECONDS)
    answered, asked = re.search(r"^identify: (\d+) of (\d+) answered", text, re.M).groups()
    assert ping.returncode == 0 and 2 <= int(answered) < int(asked)


@pytest.mark.parametrize("rounds, code", [(1, 1), (2, 0)])
def test_a_flush_is_one(serve, rounds, code):
    """and where nothing at all was answered, that is a failure"""
    target = serve(ns=["fault:flush-error=1@mem:8M"])
    done = weir("ping", "-c", rounds, "-i", "10ms", "--flush", "--no-admin", uri(target), code=code)
    words = done.stdout.decode()
    assert re.search("^1: flush failed: ", words, re.M) and "flush: %d of %d answered" % (rounds - 1, rounds) in words


def test_it_ends_when_it_is_told_to(target):
    ping = start("ping", "-i", "10ms", uri(target))
    assert ping.stdout.readline().startswith("1: ")
    ping.send_signal(signal.SIGINT)
    text, _ = ping.communicate(timeout=SECONDS)
    assert ping.returncode == 0 and " answered; min " in text.splitlines()[-1]


def test_a_path_that_is_lost_and_back(serve, tmp_path):
    """the same volume behind it afterwards"""
    spec = "file:%s,size=8M" % (tmp_path / "volume")
    target = serve(ns=[spec])
    ping = start("ping", "-i", "50ms", "--json", uri(target), "--loss-time", "forever")
    rounds = iter(lambda: json.loads(ping.stdout.readline()), None)
    assert next(rounds)["seq"] == 1
    target.kill()
    assert any(each.get("event") == "path_lost" for each in rounds)
    assert any("waiting_us" in each.get("io", ()) for each in rounds)
    assert any("refused" in each.get("admin", [{}])[0].get("error", "") for each in rounds)
    again = serve(ns=[spec], listen=("127.0.0.1:%d" % target.port,))
    assert any(each.get("event") == "path_up" for each in rounds)
    assert any("us" in each.get("io", ()) for each in rounds)
    ping.send_signal(signal.SIGTERM)
    assert ping.wait(SECONDS) == 0 and again.alive()
    ping.communicate()


def test_an_error_is_said_in_the_words_of_who_knows(serve):
    target = serve(ns=["fault:read-error=0@mem:8M"])
    assert "read failed: unrecovered read error" in weir("ping", "-c", "1", uri(target)).stdout.decode()
    found = objects(weir("ping", "-c", "1", "--json", uri(target)).stdout)
    assert [each["io"]["error"] for each in found if "seq" in each] == ["unrecovered read error"]


def test_who_says_nothing_is_no_target_perhaps(binary):
    with socket.create_server(("127.0.0.1", 0)) as server:
        where = "nvme+tcp://127.0.0.1:%d/%s" % (server.getsockname()[1], nvme.SUBNQN)
        words = weir("ping", "-c", "1", "--connect-timeout", "300ms", where, code=1).words
    assert "did not answer" in words and "is it an NVMe/TCP target?" in words


def test_nobody_answers(serve):
    target = serve()
    where = uri(target)
    target.stop()
    assert str(target.port) in weir("ping", "-c", "1", "--connect-timeout", "1s", where, code=1).words


@pytest.mark.parametrize("args, words", [
    ([], "whom?"), (["nvme+tcp://h"], "names no subsystem"), (["-c", "0", "x"], "from 1 to"), (["-i", "soon", "x"], "0.5"),
    (["--no-io", "--no-admin", "nvme+tcp://h/nqn.2026-11.local:x"], "nothing to ask")])
def test_words_that_are_not_understood(binary, args, words):
    assert words in weir("ping", *args, code=2).words


@pytest.mark.parametrize("command", ["discover", "list", "id", "read", "write", "copy", "ping", "top", "perf", "recover"])
def test_help_says_what_there_is(binary, command):
    text = targets.run(command, "--help").stdout
    assert "Usage: weir " + command in text and "--hostnqn" in text and "--json" in text and "How to connect:" in text
