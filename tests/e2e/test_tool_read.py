"""`weir read`: a volume to a file or a pipe, all of it or a part, and what is said when that cannot be."""
import json
import os
import pty
import select
import signal
import subprocess

import pytest

import target as targets
from target import until
from tools import SECONDS, answer, random_file, start, uri, weir

TARGET_NS = ("mem:8M",)
SIZE = 8 << 20


@pytest.fixture
def filled(target, tmp_path):
    """(target, what its volume holds)"""
    data = random_file(tmp_path / "filled", SIZE)
    weir("write", uri(target, 1), tmp_path / "filled", "--quiet")
    return target, data


def test_to_a_file_and_to_a_pipe(filled, tmp_path):
    target, data = filled
    (tmp_path / "out").write_bytes(b"x" * (SIZE + 4096))  # of which nothing is left
    done = weir("read", uri(target, 1), tmp_path / "out")
    assert (tmp_path / "out").read_bytes() == data and done.stdout == b""
    assert done.words.startswith("weir: 8 MiB read in ") and done.words.endswith(" MB/s\n")
    assert weir("read", uri(target, 1)).stdout == data
    assert weir("read", uri(target), "-", "--quiet").words == "", "the first namespace, without a word"


@pytest.mark.parametrize("options", [("--bs", "4k", "--depth", "1"), ("--bs", "4k", "--depth", "256"), ("--bs", "1M"),
                                     ("--hdgst", "--ddgst"), ("--flow-control",)], ids=" ".join)
def test_any_way_it_is_read(filled, options):
    target, data = filled
    assert weir("read", uri(target, 1), *options).stdout == data


def test_a_part(filled, tmp_path):
    target, data = filled
    assert weir("read", uri(target, 1), "--offset", "1M", "--length", "12k").stdout == data[1 << 20:][:12 << 10]
    assert weir("read", uri(target, 1), "--offset", SIZE - 4096).stdout == data[-4096:]


@pytest.mark.parametrize("options, words", [
    (("--offset", "100"), "multiples of the volume's blocks of 4096 bytes"),
    (("--length", "100"), "multiples of the volume's blocks of 4096 bytes"),
    (("--offset", "8M"), "--offset 8388608: the volume has 8388608 bytes"),
    (("--offset", "4M", "--length", "5M"), "--length 5242880: behind the offset the volume has 4194304 bytes"),
    (("--bs", "1000"), "a multiple of the blocks"), (("--bs", "16M"), "no more than the target takes at once")])
def test_what_cannot_be_read(target, tmp_path, options, words):
    done = weir("read", uri(target, 1), tmp_path / "out", *options, code=1)
    assert words in done.words
    assert not (tmp_path / "out").exists(), "a file is not made before there is something for it"


def test_a_sparse_file_has_holes(target, tmp_path):
    with open(tmp_path / "zeros", "wb") as file:
        file.truncate(SIZE)
        file.seek(1 << 20)
        file.write(b"x" * 4096)
    weir("write", uri(target, 1), tmp_path / "zeros")
    found = answer("read", uri(target, 1), tmp_path / "out", "--sparse", "--bs", "64k")
    assert found["bytes"] == SIZE and found["zeros"] == SIZE - 65536
    assert (tmp_path / "out").read_bytes() == (tmp_path / "zeros").read_bytes()
    assert (tmp_path / "out").stat().st_blocks * 512 < 1 << 20
    with open(tmp_path / "out", "ab") as file:
        done = subprocess.run([targets.WEIR, "read", uri(target, 1), "--sparse"], stdout=file, stderr=subprocess.PIPE)
    assert done.returncode == 1 and b"--sparse: standard output is not a file that can have holes" in done.stderr


def test_behind_what_a_file_has(filled, tmp_path):
    target, data = filled
    for mode in "wb", "ab":
        with open(tmp_path / "out", mode) as file:
            file.write(b"head")
            file.flush()
            subprocess.run([targets.WEIR, "read", uri(target, 1), "--quiet"], stdout=file, check=True)
            os.write(file.fileno(), b"tail")
    assert (tmp_path / "out").read_bytes() == (b"head" + data + b"tail") * 2


def test_who_has_read_enough_hears_nothing(target):
    read = subprocess.Popen([targets.WEIR, "read", uri(target, 1)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert len(read.stdout.read(4096)) == 4096
    read.stdout.close()
    assert read.wait(SECONDS) == 1 and read.stderr.read() == b""


def test_json(filled, tmp_path):
    target, _ = filled
    found = answer("read", uri(target, 1), tmp_path / "out")
    assert found["bytes"] == SIZE and found["seconds"] > 0 and found["mb_s"] > 0
    assert found["error"] is None and not found["stopped"] and not found["verified"] and found["zeros"] == 0
    done = weir("read", uri(target, 1), "--json")
    assert len(done.stdout) == SIZE and json.loads(done.words)["bytes"] == SIZE


def test_a_block_that_cannot_be_read(serve):
    target = serve(ns=["fault:read-error=300@mem:8M"])
    done = weir("read", uri(target, 1), "--bs", "64k", code=1)
    assert "reading at offset 1179648 of namespace 1 failed" in done.words and "the target says: " in done.words
    assert " read\n" in done.words and len(done.stdout) <= 1179648


def test_nobody_is_there(serve):
    target = serve()
    where = uri(target, 1)
    target.stop()
    done = weir("read", where, "--connect-timeout", "2s", code=1)
    assert done.words.startswith("weir: ") and str(target.port) in done.words and "a target running there" in done.words


def test_no_such_namespace(target):
    assert "weir list" in weir("read", uri(target, 7), code=1).words


@pytest.mark.parametrize("args, words", [
    ([], "which volume?"), (["nvme+tcp://127.0.0.1"], "names no subsystem"), (["http://x"], "http://x"),
    (["nvme+tcp://127.0.0.1/nqn.2026-11.local:x", "a", "b"], "what is 'b'?"),
    (["--offset", "1x", "nvme+tcp://127.0.0.1/nqn.2026-11.local:x"], "not a size like 4k or 1G"),
    (["--depth", "0", "nvme+tcp://127.0.0.1/nqn.2026-11.local:x"], "from 1 to 256")])
def test_words_that_are_not_understood(binary, args, words):
    assert words in weir("read", *args, code=2).words


def in_terminal(*args, stdout=None):
    """(exit code, what was shown) of a command whose output or error is one"""
    ours, theirs = pty.openpty()
    done = subprocess.Popen([targets.WEIR, *map(str, args)], stdout=stdout or theirs, stderr=theirs)
    os.close(theirs)
    shown = b""
    while select.select([ours], [], [], SECONDS)[0]:
        try:
            piece = os.read(ours, 4096)
        except OSError:  # the other side is closed
            break
        shown += piece
    os.close(ours)
    return done.wait(SECONDS), shown.decode()


def test_a_terminal_gets_a_bar_and_no_bytes(serve, tmp_path):
    target = serve(ns=["fault:delay=100@mem:8M"])
    with open(tmp_path / "out", "wb") as out:
        code, shown = in_terminal("read", uri(target, 1), "--depth", "4", stdout=out)
        assert code == 0 and "\rreading: " in shown and " % " in shown and " left" in shown
        code, shown = in_terminal("read", uri(target, 1), "--quiet", stdout=out)
        assert code == 0 and shown == ""
    code, shown = in_terminal("read", uri(target, 1))
    assert code == 2 and "the output is a terminal" in shown


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_one_that_is_stopped_says_how_far_it_came(serve, tmp_path, signum):
    target = serve(ns=["fault:delay=20@mem:8M"])
    read = start("read", uri(target, 1), tmp_path / "out", "--bs", "4k", "--depth", "2")
    until("something is read", lambda: (tmp_path / "out").exists() and (tmp_path / "out").stat().st_size > 0)
    read.send_signal(signum)
    _, words = read.communicate(timeout=SECONDS)
    assert read.returncode == 1 and words.startswith("weir: stopped; the first ") and words.endswith(" read\n")
    assert 0 < (tmp_path / "out").stat().st_size < SIZE
