"""Ordered writes whose targets are killed in the middle of them, again and again (doc/ordered-writes.md, Recovery)."""
import random

import ordered
import pytest
from ordered import BLOCK, FLUSH, IN_PLACE

KILLS = 25     # of each test
STREAM = 5
AREA = 4096    # blocks of a volume that are used


def prefix(lists):
    """The last group of which all is there on all servers, as the page says."""
    base = max(there.floor for there in lists)
    entries = [entry for there in lists for entry in there.entries() if entry.counts]
    group = base
    while True:
        of = [entry for entry in entries if entry.first <= group + 1 <= entry.last]
        ends = [entry for entry in of if entry.num]
        if not of or not all(entry.valid for entry in of) or len(ends) != 1:
            return group
        if ends[0].first == ends[0].last and sum(entry.count for entry in of) != ends[0].num:
            return group
        group = ends[0].last


class Server:
    """A target with a volume, its queue, and what it was sent."""

    def __init__(self, serve, tmp_path, number, spec, log):
        self.serve = serve
        self.ns = spec % (tmp_path / ("volume%d" % number))
        self.log = log % (tmp_path / ("log%d" % number))
        self.last = self.before = 0
        self.start()

    def start(self):
        self.target = self.serve("--order-log", self.log, "--reactors", "2", ns=[self.ns])
        self.connect()

    def connect(self):
        self.ctrl, self.queue = ordered.host(self.target.address)

    def kill(self):
        self.ctrl.close()
        self.target.kill()
        self.target.stopped = True

    def read(self, lba, blocks):
        request = self.queue.read(lba, blocks)
        assert request.ok
        return bytes(request.got)


class Host:
    """Groups of pieces at random servers; what it wrote, and what it was told."""

    def __init__(self, servers, chance):
        self.servers, self.chance = servers, chance
        self.group = self.durable = 0
        self.free = [list(range(AREA)) for _ in servers]
        self.pieces = []  # (group, server, lba, blocks, in place, data, request)
        self.flushed = []

    def submit(self):
        self.group += 1
        count = self.chance.choice((1, 1, 1, 2, 3))
        flush = self.chance.random() < 0.15
        chosen = [self.chance.randrange(len(self.servers)) for _ in range(count)]
        if flush:  # each server that may have had a piece has one
            chosen = list(range(len(self.servers))) + chosen
        for i, at in enumerate(chosen):
            self.piece(at, len(chosen) if i == len(chosen) - 1 else 0, flush and at not in chosen[i + 1:],
                       flush and i < len(self.servers))
        if flush:
            self.flushed.append(self.group)

    def piece(self, at, num, flush, alone):
        server = self.servers[at]
        blocks = 0 if alone and flush else self.chance.choice((1, 1, 2, 8, 16))
        in_place = blocks > 0 and self.chance.random() < 0.05
        lba = self.take(at, blocks)
        data = bytes(self.chance.randrange(1, 256) for _ in range(8)) * (BLOCK // 8 * blocks)
        flags = (FLUSH if flush or blocks == 0 else 0) | (IN_PLACE if in_place else 0)
        plain = ordered.plain_write(lba, blocks)
        prev = server.last if server.last != self.group else server.before
        command = ordered.attribute(plain, STREAM, self.group, prev=prev, num=num, flags=flags, floor=self.durable)
        if server.last != self.group:
            server.before, server.last = server.last, self.group
        request = server.queue.submit(command, data)
        self.pieces.append((self.group, at, lba, blocks, in_place, data, request))

    def take(self, at, blocks):
        """Blocks behind one another that are free."""
        lba = self.free[at][0]
        del self.free[at][:blocks]
        return lba

    def heard(self):
        """What is durable: the last flush of which all pieces, and all before it, were answered."""
        for group in self.flushed:
            if all(request.ok for of, *_, request in self.pieces if of <= group):
                self.durable = max(self.durable, group)

    def unanswered(self):
        return sum(not request.done for *_, request in self.pieces)

    def recovered(self, there):
        """All up to `there` is on the medium and nothing after it; but in place it may be."""
        assert self.durable <= there <= self.group, (self.durable, there, self.group)
        for group, at, lba, blocks, in_place, data, _ in self.pieces:
            if blocks == 0:
                continue
            got = self.servers[at].read(lba, blocks)
            if group <= there:
                assert got == data, "group %d of %d is not there" % (group, there)
            elif not in_place:
                assert got == bytes(len(data)), "group %d is there, after %d" % (group, there)
        self.pieces = []
        self.flushed = []
        self.group = self.durable = there


def recover(servers, host):
    lists = [ordered.listed(server.ctrl, STREAM, ordered.STOP, size=1 << 18) for server in servers]
    assert all(there.stopped and not there.lost for there in lists)
    there = prefix(lists)
    for server in servers:
        request = ordered.cut(server.ctrl, STREAM, there, flags=ordered.GONE)
        assert request.ok, request
        server.last, server.before = request.dw0, 0
    host.recovered(there)


def run(host, servers, chance):
    for _ in range(chance.randrange(5, 60)):
        host.submit()
        while host.unanswered() > 40 or (chance.random() < 0.2 and host.unanswered() > 0):
            busy = [server for server in servers if server.queue.requests]
            chance.choice(busy).queue.step()
        host.heard()


# Each of what may be in a place, and of what it may survive.
PLACES = [
    ("file:%s,size=64M", "file:%s,slots=1024"),
    ("volatile:seed=3@file:%s,size=64M", "file:%s,slots=1024"),
    ("volatile:seed=7,keep=64K@file:%s,size=64M", "memory:%s,slots=1024"),
]


@pytest.mark.parametrize("spec, log", PLACES, ids=["file", "volatile", "volatile-memory"])
@pytest.mark.parametrize("count", [1, 2], ids=["one", "two"])
def test_targets_are_killed(serve, tmp_path, spec, log, count):
    """any of them, or none and the host is gone: what is there is exactly the groups up to some point"""
    chance = random.Random(count * 100 + len(log))
    servers = [Server(serve, tmp_path, number, spec, log) for number in range(count)]
    host = Host(servers, chance)
    for server in servers:
        assert ordered.cut(server.ctrl, STREAM).ok
    for _ in range(KILLS):
        run(host, servers, chance)
        killed = [server for server in servers if chance.random() < 0.7]
        for server in servers:
            server.kill() if server in killed else server.ctrl.close()
        for server in servers:
            server.start() if server in killed else server.connect()
        recover(servers, host)
        if min(len(free) for free in host.free) < 1200:
            begin_again(servers, host)
    for server in servers:
        server.ctrl.close()


def begin_again(servers, host):
    """What is durable may be written again: all is trimmed."""
    for at, server in enumerate(servers):
        assert server.queue.write_zeroes(0, AREA // 2).ok and server.queue.write_zeroes(AREA // 2, AREA // 2).ok
        assert server.queue.flush().ok
        host.free[at] = list(range(AREA))
