"""Volumes whose devices do not answer: what their commands hold of the memory that all share, and who is served."""
import contextlib
import os
import struct
import time

import pytest

import nvme
from nvmetcp import PATIENCE, Stopwatch, capsule

BLOCK = 4096
MIB = 1 << 20
GOOD, HUNG = 1, 2


@pytest.fixture
def hung(serve, tmp_path):
    """Of all volumes but the first nothing that touches the first block is answered until its connection ends"""
    return serve("--stall-timeout", "60000", ns=["file:%s/good.img,size=64M" % tmp_path] + [
        "fault:hold=0@file:%s/%d.img,size=64M" % (tmp_path, n) for n in range(3)])


class Others:
    """A host that uses the first volume, by commands of every kind that take memory."""

    def __init__(self, target, number=99):
        self.ctrl = nvme.Controller(target.address, hostid=bytes([number]) * 16, timeout=30 * PATIENCE)
        self.queue = self.ctrl.io_queue()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.ctrl.close()

    def step(self):
        queue = self.queue
        for size in (BLOCK, 8 * BLOCK, 16 * BLOCK, MIB):
            data = os.urandom(size)
            assert queue.write(4096, data).ok
            assert bytes(queue.read(4096, size // BLOCK).got) == data
        assert queue.call(nvme.sqe(0x05, nsid=1, cdw10=4096), data[:BLOCK]).ok
        assert queue.call(nvme.sqe(0x19, nsid=1, cdw10=9000, cdw12=2), copy_list([(4096, 3)] * 3)).ok

    def soon(self):
        """The slowest of some steps, in seconds: all are done long before any limit of time"""
        slowest = 0
        for _ in range(5):
            with Stopwatch() as took:
                self.step()
            slowest = max(slowest, took.seconds)
        print("slowest step: %.3f s" % slowest)
        assert slowest < 1 * PATIENCE, "the others waited %.2f s" % slowest


def copy_list(ranges):
    return b"".join(struct.pack("<QQH14x", 0, slba, blocks - 1) for slba, blocks in ranges)


def copies(ranges, incapsule):
    """A Copy whose first range begins with the block that is never read"""
    data = copy_list([(0, 1)] * ranges)
    return nvme.sqe(0x19, nsid=HUNG, cdw10=9000, cdw12=ranges - 1), data, incapsule


def write(blocks, incapsule, nsid=HUNG):
    return nvme.sqe(0x01, nsid=nsid, cdw12=blocks - 1), bytes(blocks * BLOCK), incapsule


def read(blocks, nsid=HUNG):
    return nvme.sqe(0x02, nsid=nsid, cdw12=blocks - 1), blocks * BLOCK, False


class Hog:
    """Queues of one host, each full of one command; what was asked for is sent, and what is not taken is left."""

    def __init__(self, target, stack, number, queues, entries, command):
        sqe, data, incapsule = command
        ctrl = stack.enter_context(nvme.Controller(target.address, hostid=bytes([1 + number]) * 16))
        self.data = data
        self.count = queues * (entries - 1)
        self.answered = 0
        self.socks = []
        for _ in range(queues):
            queue = ctrl.io_queue(len(ctrl.queues), entries=entries, sq_flow=False)
            length = data if isinstance(data, int) else len(data)
            sqe = sqe[:24] + nvme.sgl(0x01 if incapsule else 0x5A, length) + sqe[40:]
            queue.conn.sock.setblocking(False)
            self.socks.append([queue, b"".join(
                capsule(sqe[:2] + struct.pack("<H", cid) + sqe[4:], data if incapsule else b"")
                for cid in range(entries - 1)), b""])

    def go_on(self):
        """True: something went either way"""
        moved = False
        for entry in self.socks:
            queue = entry[0]
            with contextlib.suppress(BlockingIOError):
                sent = queue.conn.sock.send(entry[1][:1 << 18]) if entry[1] else 0
                entry[1] = entry[1][sent:]
                moved |= sent > 0
            with contextlib.suppress(BlockingIOError):
                entry[2] += queue.conn.sock.recv(1 << 18)
                moved = True
            while len(entry[2]) >= 24:
                assert entry[2][0] in (0x05, 0x09)
                if entry[2][0] == 0x05:
                    assert entry[2][22:24] == bytes(2), "a command failed"
                    self.answered += 1
                    entry[2] = entry[2][24:]
                    continue
                cid, ttag, offset, length = struct.unpack_from("<HHII", entry[2], 8)
                entry[1] += queue.conn.h2cdata(cid, ttag, offset, self.data[offset:offset + length],
                                               offset + length == len(self.data))
                entry[2] = entry[2][24:]
        return moved

    def until_stuck(self, target):
        """Until nothing moves while the target has answered a question, twice"""
        quiet = 0
        while quiet < 3:
            moved = self.go_on()
            target.stats()
            quiet = 0 if moved else quiet + 1


KINDS = {
    "copies whose ranges lie in the capsule": [(0, 3, 1024, copies(4, True))],
    "copies whose ranges are asked for": [(0, 3, 1024, copies(100, False))],
    "long reads": [(0, 1, 128, read(256))],
    "short reads": [(0, 3, 1024, read(1))],
    "writes in the capsule": [(0, 3, 1024, write(1, True))],
    "short writes that are asked for": [(host, 1, 1024, write(8, False)) for host in range(4)],
    "long writes that are asked for": [(host, 1, 128, write(16, False)) for host in range(12)],
    "long reads of three volumes": [(0, 1, 128, read(256, nsid)) for nsid in (2, 3, 4)],
    "long writes to three volumes": [(host, 1, 128, write(16, False, 2 + host // 8)) for host in range(24)],
    "short reads of three volumes": [(0, 3, 1024, read(1, nsid)) for nsid in (2, 3, 4)],
}


@pytest.mark.parametrize("kind", KINDS)
def test_commands_at_a_volume_that_does_not_answer(hung, kind):
    """Each volume has half of what is left: hosts of others find something at once"""
    with contextlib.ExitStack() as stack:
        hogs = [Hog(hung, stack, number, queues, entries, command)
                for number, queues, entries, command in KINDS[kind]]
        for hog in hogs:
            hog.until_stuck(hung)
        with Others(hung) as others:
            others.soon()
        with Others(hung, 1) as others:
            others.soon()  # of the same host, on a connection of its own
        assert "closed" not in hung.stderr()


@pytest.mark.parametrize("delay, entries, command", [
    pytest.param(300, 1024, write(1, True), id="capsules"), pytest.param(5, 100, copies(4, True), id="copies"),
    # Data that was asked for has to come within five seconds, of all these hosts.
    pytest.param(300, 512, write(8, False), id="short", marks=pytest.mark.alone),
    pytest.param(300, 100, write(16, False), id="long", marks=pytest.mark.alone)])
def test_connections_that_paused_go_on_when_the_volume_answers(serve, tmp_path, delay, entries, command):
    """They had more than the share of their volume"""
    target = serve(ns=["file:%s/good.img,size=64M" % tmp_path,
                       "fault:delay=%d@file:%s/slow.img,size=64M" % (delay, tmp_path)])
    with contextlib.ExitStack() as stack:
        hogs = [Hog(target, stack, number, 3, entries, command) for number in range(2)]
        with Others(target) as others:
            deadline = time.monotonic() + 60 * PATIENCE
            while any([hog.go_on() or hog.answered < hog.count for hog in hogs]):
                others.step()
                assert time.monotonic() < deadline, [hog.answered for hog in hogs]
        assert "closed" not in target.stderr()
