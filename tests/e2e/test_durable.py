"""What Flush and FUA promise, seen from below: at the system calls, and at a disk that counts its flushes."""
import os
import re
import shutil
import subprocess

import pytest

import nvme

BLOCK = 4096
MIB = 1 << 20

# What a command may make of the disk: a write that the cache may keep, one that it may not, the cache written out.
WRITE, DURABLE_WRITE, SYNC = "write", "durable write", "sync"


def shut_down(ctrl):
    request = ctrl.set(nvme.CC, nvme.CC_READY | 1 | 1 << 14)
    ctrl.until(0x0C, nvme.SHST_DONE)
    return request


def steps(ctrl, queue):
    """(the command, how it is done, what the disk must have seen before it is answered; None: what it likes)"""
    short, long = os.urandom(BLOCK), os.urandom(64 * BLOCK)
    return [
        ("Write", lambda: queue.write(0, short), WRITE),
        ("Write with FUA", lambda: queue.write(8, short, fua=True), DURABLE_WRITE),
        ("Flush", queue.flush, SYNC),
        ("long Write", lambda: queue.write(64, long), WRITE),
        ("long Write with FUA", lambda: queue.write(128, long, fua=True), DURABLE_WRITE),
        ("Flush of all", lambda: queue.flush(0xFFFFFFFF), SYNC),
        ("Set Features, cache off", lambda: ctrl.set_feature(0x06, 0), SYNC),
        ("Write, cache off", lambda: queue.write(0, short), DURABLE_WRITE),
        ("Set Features, cache on", lambda: ctrl.set_feature(0x06, 1), None),
        ("Write, cache on again", lambda: queue.write(0, short), WRITE),
        ("shutdown", lambda: shut_down(ctrl), SYNC),  # the last: it ends the queue
    ]


# ---- what a shutdown promises ----

SHUT_DOWN = 1 << 14


def written_before(ctrl, cc):
    """what is on the medium when a shutdown is said to be done, of a block that was written before it"""
    data = os.urandom(BLOCK)
    assert ctrl.io_queue().write(3, data).ok
    assert ctrl.set(nvme.CC, cc).ok
    ctrl.until(0x0C, nvme.SHST_DONE)
    return data


def medium(path):
    with open(path, "rb") as file:
        file.seek(3 * BLOCK)
        return file.read(BLOCK)


@pytest.mark.line("W98")
def test_a_shutdown_that_comes_with_a_reset_is_done_too(serve, tmp_path):
    """and one with the write that enables the controller"""
    target = serve(ns=["volatile:@file:%s/v.img,size=16M" % tmp_path])
    with nvme.Controller(target.address) as ctrl:
        data = written_before(ctrl, nvme.CC_READY | SHUT_DOWN)
        assert ctrl.get(nvme.CSTS) == nvme.SHST_DONE, "not ready"
        assert medium(tmp_path / "v.img") == data
        ctrl.enable()
        assert ctrl.get(nvme.CSTS) == nvme.RDY
        ctrl.disable()
        assert ctrl.set(nvme.CC, nvme.CC_READY | 1 | SHUT_DOWN).ok
        ctrl.until(0x0C, nvme.SHST_DONE)


@pytest.mark.line("W98")
def test_a_shutdown_is_not_done_by_the_flush_of_another(serve, tmp_path):
    """which was asked for while the controller was disabled, and was under way when it was enabled"""
    target = serve(ns=["volatile:@fault:delay=500@file:%s/v.img,size=16M" % tmp_path])
    with nvme.Controller(target.address, enable=False) as ctrl:
        assert ctrl.set(nvme.CC, nvme.CC_READY | SHUT_DOWN).ok
        assert ctrl.get(nvme.CSTS) == 4, "it occurs"
        ctrl.enable()
        data = written_before(ctrl, nvme.CC_READY | 1 | SHUT_DOWN)
        target.kill()
        assert medium(tmp_path / "v.img") == data


# ---- at the system calls ----

class Trace:
    """What strace writes of the calls that write to one file or sync it."""
    CALL = re.compile(r"\d+ +(pwritev2?|pwrite64|fdatasync|fsync)\((.*)\) += (\d+)")

    def __init__(self, file, path):
        self.file, self.traced = file, str(path)
        self.prefix = ["strace", "-D", "-f", "-y", "-qqq", "-s", "0", "-e", "signal=none",
                       "-e", "trace=pwritev2,pwritev,pwrite64,fdatasync,fsync", "-o", self.traced]
        open(path, "w").close()
        self.output = open(path)

    def seen(self):
        """The calls since the last look.  A line is written before the caller's thread goes on."""
        kinds = []
        for line in self.output.read().splitlines():
            if str(self.file) not in line:
                continue
            call = self.CALL.fullmatch(line)
            assert call, "strace says: " + line
            if call[1].startswith("pwrite"):
                kinds.append(DURABLE_WRITE if re.search(r"\bRWF_DSYNC\b", call[2]) else WRITE)
            else:
                kinds.append(SYNC)
        return kinds


@pytest.fixture
def trace(tmp_path):
    """strace on the calls for tmp_path/v.img; the daemon remains our child (-D)"""
    if not shutil.which("strace"):
        pytest.skip("needs strace")
    tried = subprocess.run(["strace", "-f", "-o", tmp_path / "tried", "true"], stderr=subprocess.PIPE, text=True)
    if tried.returncode != 0:
        pytest.skip("strace may not trace here: %s" % tried.stderr.strip())
    trace = Trace(tmp_path / "v.img", tmp_path / "trace")
    yield trace
    trace.output.close()


@pytest.mark.line("O05", "W48")
def test_the_calls_say_what_must_be_durable(serve, trace):
    """RWF_DSYNC for FUA and for nothing else, a sync for Flush and for nothing else, before the answer"""
    target = serve("--files", "threads", ns=["file:%s,size=16M" % trace.file], prefix=trace.prefix)
    with nvme.Controller(target.address) as ctrl:
        queue = ctrl.io_queue()
        trace.seen()
        for what, perform, wanted in steps(ctrl, queue):
            assert perform().ok, what
            seen = trace.seen()
            assert wanted is None or seen == [wanted], what


def test_new_folders_of_the_state_are_durable_where_they_are_named(serve, trace, tmp_path):
    """each in the one above it; those that are there are left alone"""
    prefix = [word.replace("trace=", "trace=mkdir,") for word in trace.prefix]
    serve("--state-dir", str(tmp_path / "a" / "b"), prefix=prefix)
    lines, made, synced = trace.output.read().splitlines(), set(), set()
    for line in lines:
        call = re.match(r'\d+ +(mkdir\("([^"]*)"|fsync\(\d+<([^>]*)>)', line)
        if call and call[2] and line.endswith("= 0"):
            made.add(call[2])
        elif call and call[3]:
            synced.add(call[3])
    folders = {str(tmp_path / "a" / name).rstrip("/") for name in ("", "b", "b/reservations", "b/events")}
    assert made == folders, lines
    assert {os.path.dirname(folder) for folder in folders} <= synced, lines


# ---- at a disk ----

class Disk:
    """A loop device.  It goes with the last who has it open, so none is left behind by whatever ends the test."""

    def __init__(self, node):
        self.node = node
        self.sys = "/sys/block/" + os.path.basename(node)
        try:
            self.held = os.open(node, os.O_RDONLY)
        finally:
            subprocess.run(["losetup", "--detach", node], check=True)

    def cache(self):
        with open(self.sys + "/queue/write_cache") as cache:
            return cache.read().strip()

    def flushes(self):
        """How many have ended; a write with FUA is one and a flush where the device knows no FUA."""
        with open(self.sys + "/stat") as stat:
            return int(stat.read().split()[15])


@pytest.fixture
def disk(tmp_path):
    """A block device with a volatile cache, which counts its flushes"""
    if os.getuid() != 0 or not shutil.which("losetup"):
        pytest.skip("needs root and losetup to have a block device")
    with open(tmp_path / "disk.img", "wb") as image:
        image.truncate(16 * MIB)
    made = subprocess.run(["losetup", "--find", "--show", image.name], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True)
    if made.returncode != 0:
        pytest.skip("no loop device to be had: %s" % made.stderr.strip())
    disk = Disk(made.stdout.strip())
    try:
        if disk.cache() != "write back":
            pytest.skip("loop devices have no cache here: %s" % disk.cache())
        yield disk
    finally:
        os.close(disk.held)


@pytest.mark.parametrize("files", ["uring", "threads"])
@pytest.mark.line("O05", "W48")
def test_the_disk_has_what_must_be_durable(serve, disk, files):
    """it is flushed for FUA and for Flush and for nothing else, before the answer"""
    target = serve("--files", files, ns=["file:" + disk.node])
    with nvme.Controller(target.address) as ctrl:
        queue = ctrl.io_queue()
        zeroes = nvme.sqe(0x08, nsid=1, cdw10=256, cdw12=7)
        zeroes_fua = nvme.sqe(0x08, nsid=1, cdw10=256, cdw12=7 | 1 << 30)
        for what, perform, wanted in [
                ("Write Zeroes", lambda: queue.call(zeroes), WRITE),
                ("Write Zeroes with FUA", lambda: queue.call(zeroes_fua), SYNC),
                *steps(ctrl, queue)]:
            before = disk.flushes()
            assert perform().ok, what
            flushed = disk.flushes() > before
            assert wanted is None or flushed == (wanted != WRITE), what
