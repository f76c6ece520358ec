"""`weir write`: a file or a pipe to a volume, whole or not at all where that can be known, durable at the end."""
import os
import signal
import subprocess

import pytest

import target as targets
from forward import Path
from tools import SECONDS, answer, random_file, start, uri, volume, weir

TARGET_NS = ("mem:8M",)
SIZE = 8 << 20


def test_a_file_and_a_pipe(target, tmp_path):
    data = random_file(tmp_path / "in", SIZE)
    done = weir("write", uri(target, 1), tmp_path / "in")
    assert done.words.startswith("weir: 8 MiB written in ") and volume(target) == data
    data = data[::-1]
    weir("write", uri(target, 1), stdin=data)
    assert volume(target) == data
    with open(tmp_path / "in", "rb") as file:
        subprocess.run([targets.WEIR, "write", uri(target), "--quiet"], stdin=file, check=True)
    assert volume(target) == data[::-1]


@pytest.mark.parametrize("options", [("--bs", "4k", "--depth", "1"), ("--bs", "4k", "--depth", "256"), ("--bs", "1M"),
                                     ("--hdgst", "--ddgst"), ("--fua",), ("--verify",), ("--sparse", "--verify")],
                         ids=" ".join)
def test_any_way_it_is_written(target, tmp_path, options):
    data = random_file(tmp_path / "in", SIZE)
    done = weir("write", uri(target, 1), tmp_path / "in", *options)
    assert volume(target) == data and ("; verified" in done.words) == ("--verify" in options)


def test_where_the_input_is_shorter_the_rest_stays(target, tmp_path):
    data = random_file(tmp_path / "in", SIZE)
    weir("write", uri(target, 1), tmp_path / "in")
    assert "; verified" in weir("write", uri(target, 1), "--offset", "1M", "--verify", stdin=b"y" * 8192).words
    assert volume(target) == data[:1 << 20] + b"y" * 8192 + data[(1 << 20) + 8192:]
    weir("write", uri(target, 1), tmp_path / "in", "--offset", "4M", "--length", "4k")
    assert volume(target, offset="4M", length=8192) == data[:4096] + data[(4 << 20) + 4096:(4 << 20) + 8192]


def test_a_file_that_does_not_fit_is_refused_before(target, tmp_path):
    before = random_file(tmp_path / "before", SIZE)
    weir("write", uri(target, 1), tmp_path / "before")
    random_file(tmp_path / "in", SIZE + 4096)
    done = weir("write", uri(target, 1), tmp_path / "in", code=1)
    assert "8392704 bytes are more than the 8388608 that the volume has room for; nothing was written" in done.words
    done = weir("write", uri(target, 1), tmp_path / "before", "--offset", "4k", code=1)
    assert "nothing was written" in done.words
    random_file(tmp_path / "odd", 10000)
    done = weir("write", uri(target, 1), tmp_path / "odd", code=1)
    assert "10000 bytes end within a block of 4096; nothing was written" in done.words and "--pad" in done.words
    done = weir("write", uri(target, 1), tmp_path / "odd", "--length", "1M", "--pad", code=1)
    assert "has only 10000 bytes, not 1048576; nothing was written" in done.words
    assert volume(target) == before


def test_a_pipe_that_does_not_fit_is_said_at_the_end(target):
    data = os.urandom(SIZE)
    done = weir("write", uri(target, 1), stdin=data + b"x", code=1)
    assert "longer than the volume has room for" in done.words and "the first 8 MiB written" in done.words
    assert volume(target) == data
    done = weir("write", uri(target, 1), stdin=b"z" * 10000, code=1)
    assert "its last 1808 bytes were not written" in done.words and "the first 8 KiB written" in done.words
    assert volume(target) == b"z" * 8192 + data[8192:]
    done = weir("write", uri(target, 1), "--length", "64k", stdin=b"z" * 8192, code=1)
    assert "the input had only 8192 bytes, not 65536" in done.words
    assert weir("write", uri(target, 1), stdin=data).words.startswith("weir: 8 MiB written")


def test_pad_fills_up_the_last_block(target, tmp_path):
    random_file(tmp_path / "in", SIZE)
    weir("write", uri(target, 1), tmp_path / "in")
    rest = volume(target, offset=12288)
    assert answer("write", uri(target, 1), "--pad", "--verify", stdin=b"z" * 10000)["verified"]
    assert volume(target) == b"z" * 10000 + bytes(2288) + rest
    with open(tmp_path / "odd", "wb") as file:
        file.write(b"q" * 5000)
    assert answer("write", uri(target, 1), tmp_path / "odd", "--pad", "--verify")["bytes"] == 5000
    assert volume(target, length=8192) == b"q" * 5000 + bytes(3192)


def test_zeros_are_not_sent(serve, tmp_path):
    """a volume in a file is sparse afterwards, whatever was there"""
    target = serve(ns=["file:%s,size=8M" % (tmp_path / "volume")])
    weir("write", uri(target, 1), stdin=b"x" * SIZE)
    assert (tmp_path / "volume").stat().st_blocks * 512 >= SIZE
    data = bytes(4 << 20) + os.urandom(1 << 20) + bytes(3 << 20)
    found = answer("write", uri(target, 1), "--sparse", "--verify", stdin=data)
    assert found["zeros"] == 7 << 20 and found["verified"]
    assert (tmp_path / "volume").stat().st_blocks * 512 < 2 << 20
    assert volume(target) == data


def test_what_the_target_forgot_is_found(serve):
    """the test of --verify: a write that was acknowledged and not done"""
    target = serve(ns=["fault:drop-write=5@mem:8M"])
    done = weir("write", uri(target, 1), "--verify", "--bs", "64k", stdin=os.urandom(SIZE), code=1)
    assert "VERIFICATION FAILED: 1 piece of 65536 bytes" in done.words
    found = answer("write", uri(serve(ns=["fault:drop-write=5@mem:8M"]), 1), "--verify", "--bs", "64k", "--depth", "1",
                   stdin=os.urandom(SIZE), code=1)
    assert found["wrong_pieces"] == 1 and not found["verified"] and "at byte 262144" in found["error"]


@pytest.mark.parametrize("fault, words", [("write-error=300", "writing at offset 1179648 of namespace 1 failed"),
                                          ("flush-error=1", "flushing failed")])
def test_what_fails_is_said(serve, fault, words):
    target = serve(ns=["fault:%s@mem:8M" % fault])
    done = weir("write", uri(target, 1), "--bs", "64k", stdin=os.urandom(SIZE), code=1)
    assert words in done.words


def test_all_is_flushed(serve, tmp_path):
    """behind a cache that is lost with the target"""
    spec = "volatile:@file:%s,size=8M" % (tmp_path / "volume")
    target = serve(ns=[spec])
    data = os.urandom(SIZE)
    weir("write", uri(target, 1), stdin=data)
    target.kill()
    assert volume(serve(ns=[spec])) == data


@pytest.mark.parametrize("cache, code", [("", 0), ("volatile:@", 1)], ids=["kept", "lost"])
def test_a_target_that_is_killed_meanwhile(serve, tmp_path, cache, code):
    """has lost what was not flushed where its cache was its own, and not where it was the kernel's"""
    spec = "%sfile:%s,size=8M" % (cache, tmp_path / "volume")
    target = serve(ns=[spec])
    data = os.urandom(SIZE)
    write = subprocess.Popen([targets.WEIR, "write", uri(target, 1), "--bs", "64k", "--quiet"], stdin=subprocess.PIPE,
                             stderr=subprocess.PIPE)
    write.stdin.write(data[:SIZE // 2])
    write.stdin.flush()
    target.until("half of it is written", lambda stats: stats["writes"] >= 63)
    target.kill()
    target = serve(ns=[spec], listen=["127.0.0.1:%d" % target.port])
    _, words = write.communicate(data[SIZE // 2:], timeout=SECONDS)
    assert write.returncode == code, words
    if code == 0:
        assert volume(target) == data
    else:
        assert b"the target has lost its cache" in words


@pytest.mark.parametrize("options", [("--fua",), ()], ids=["fua", "plain"])
def test_each_piece_is_durable_where_that_is_wanted(serve, tmp_path, options):
    """also when nobody comes to the end, where all is flushed"""
    spec = "fault:delay-write=20@volatile:@file:%s,size=8M" % (tmp_path / "volume")
    target = serve(ns=[spec])
    data = random_file(tmp_path / "in", SIZE)
    write = start("write", uri(target, 1), tmp_path / "in", "--bs", "4k", "--depth", "1", "--loss-time", "100ms",
                  *options)
    target.until("a piece is written", lambda stats: stats["writes"] >= 3)
    target.kill()
    write.communicate(timeout=SECONDS)
    kept = volume(serve(ns=[spec]), length=8192)
    assert kept == (data[:8192] if options else bytes(8192))


def test_one_that_is_stopped_says_how_far_it_came(serve, tmp_path):
    target = serve(ns=["fault:delay-write=20@mem:8M"])
    data = random_file(tmp_path / "in", SIZE)
    write = start("write", uri(target, 1), tmp_path / "in", "--bs", "4k", "--depth", "2")
    target.until("something is written", lambda stats: stats["writes"] > 10)
    write.send_signal(signal.SIGINT)
    _, words = write.communicate(timeout=SECONDS)
    assert write.returncode == 1 and words.startswith("weir: stopped; the first ") and words.endswith(" KiB written\n")
    written = int(words.split()[4]) << 10
    assert 0 < written < SIZE and volume(target, length=written) == data[:written]


def test_a_path_that_is_lost_and_back_is_said(serve, tmp_path):
    target = serve(ns=["fault:delay-write=20@mem:8M"])
    random_file(tmp_path / "in", SIZE // 8)
    with Path(target.port) as path:
        where = uri(target, 1).replace(":%d/" % target.port, ":%d/" % path.port)
        write = start("write", where, tmp_path / "in", "--bs", "4k", "--depth", "4")
        target.until("something is written", lambda stats: stats["writes"] > 10)
        path.cut()
        path.open()
        _, words = write.communicate(timeout=SECONDS)
    assert write.returncode == 0, words
    assert words.index("is lost: ") < words.index("127.0.0.1:%d is back\n" % path.port), words


def test_a_pipe_that_gives_nothing_can_be_stopped(target):
    ours, theirs = os.pipe()
    write = subprocess.Popen([targets.WEIR, "write", uri(target, 1)], stdin=ours, stderr=subprocess.PIPE, text=True)
    os.close(ours)
    os.write(theirs, b"x" * 100)
    target.until("it is connected", lambda stats: stats["connections"] == 2)
    write.send_signal(signal.SIGTERM)
    _, words = write.communicate(timeout=SECONDS)
    os.close(theirs)
    assert write.returncode in (1, -signal.SIGTERM), words


def test_no_such_file(target, tmp_path):
    assert "missing: No such file" in weir("write", uri(target, 1), tmp_path / "missing", code=1).words
    assert "Is a directory" in weir("write", uri(target, 1), tmp_path, code=1).words
