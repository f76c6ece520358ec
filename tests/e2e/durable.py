#!/usr/bin/python3
"""
durable - is what was acknowledged as durable there, when the target was killed?

A host writes numbered versions of blocks, plainly and with FUA, and flushes, over two queues; at some moment the
target is killed (kill -9).  Another target is started over the same file, every block is read, and three things
are counted: `lost`, blocks that are older than what an acknowledged FUA write or Flush covers; `torn`, blocks that
are no version that was written; `forgotten`, blocks that are older than what was acknowledged and not covered. The
last is allowed, and shows that the test can see a loss.

    durable.py [--kills N] [--files uring|threads|both] [--reactors N] [--seed N] [--faulty]

--faulty puts a fault under the cache that drops a write in each life of the target: `lost` must then be more than none.
"""
import argparse
import os
import random
import struct
import sys
import tempfile
import threading

sys.dont_write_bytecode = True

import nvme
import target as targets
from nvmetcp import Closed, Violation

BLOCK, SECTOR = 4096, 512
BLOCKS = 2048              # used ones
SIZE = "16M"               # of the volume
DEPTH = 16                 # commands in flight per queue
READ = 128                 # blocks
LIFE = (30, 200)           # commands done when it is killed, and then some
MOMENT_S = 0.004           # so much later at most
UNFLUSHED = 4 * DEPTH      # commands before that, among which a quiet life has no Flush
DROPPED = 4                # which write of each life --faulty drops


def content(lba, version):
    """Every sector says what it is; nothing but zeros is version 0."""
    return struct.pack("<QQ", lba, version) * (BLOCK // 16) if version else bytes(BLOCK)


def version_of(lba, data):
    """None: it is torn, or another block's."""
    version = struct.unpack_from("<Q", data, 8)[0]
    return version if data == content(lba, version) else None


class Blocks:
    """What the host knows of each: versions sent, acknowledged, and acknowledged as durable."""

    def __init__(self):
        self.sent = [0] * BLOCKS
        self.acked = [0] * BLOCKS
        self.durable = [0] * BLOCKS
        self.busy = set()  # one write at a time of each block: so versions are in order

    def found(self, counts, lba, version):
        if version is None or version > self.sent[lba]:
            counts["torn"] += 1
        elif version < self.durable[lba]:
            counts["lost"] += 1
        elif version < self.acked[lba]:
            counts["forgotten"] += 1
        # From here on it is the truth: it was read from the medium, by a target that had written nothing.
        version = version or 0
        self.sent[lba] = max(self.sent[lba], version)
        self.acked[lba] = self.durable[lba] = version


class Host:
    """Keeps commands in flight on some queues until the target is gone."""

    def __init__(self, blocks, rng, ctrl, queues, counts):
        self.blocks, self.rng, self.counts = blocks, rng, counts
        self.ctrl = ctrl
        self.queues = [ctrl.io_queue(qid=n + 1, entries=64) for n in range(queues)]
        self.deeds = {}  # request: what its success means
        self.done = 0

    def write(self, queue):
        blocks, rng = self.blocks, self.rng
        lba, count = rng.randrange(BLOCKS), rng.choice((1, 1, 1, 2, 8))
        lbas = range(lba, min(lba + count, BLOCKS))
        if blocks.busy & set(lbas):
            return
        fua = rng.random() < 0.25
        versions = [blocks.sent[i] + 1 for i in lbas]
        blocks.busy |= set(lbas)
        for i, version in zip(lbas, versions):
            blocks.sent[i] = version

        def done():
            blocks.busy -= set(lbas)
            for i, version in zip(lbas, versions):
                blocks.acked[i] = version
                if fua:
                    blocks.durable[i] = version
            self.counts["durable writes" if fua else "writes"] += 1

        data = b"".join(content(i, version) for i, version in zip(lbas, versions))
        self.deeds[queue.submit_write(lba, data, fua=fua)] = done

    def flush(self, queue):
        covered = list(self.blocks.acked)  # writes that were acknowledged before it was sent, on any queue

        def done():
            self.blocks.durable = [max(pair) for pair in zip(self.blocks.durable, covered)]
            self.counts["flushes"] += 1

        self.deeds[queue.submit(nvme.sqe(0x00, nsid=1))] = done

    def step(self, queue):
        request = queue.step()
        if request.done:
            if not request.ok:
                raise Violation("%r" % request)
            self.deeds.pop(request)()
            self.done += 1

    def run(self, kill, quiet):
        """
        Until the target is gone; what it had sent before counts.  Calls kill() when enough was done.

        A host that is slow has all of its last answers before it in the socket when the target is killed, and loses
        them: so what it knows of may all be older than a Flush.  Where it is quiet before, that is not so.
        """
        life = self.rng.randint(*LIFE)
        try:
            while True:
                if self.done >= life and kill:
                    kill = kill()
                for queue in self.queues:
                    while len(queue.requests) < DEPTH:
                        flushes = not quiet or self.done < life - UNFLUSHED
                        self.flush(queue) if flushes and self.rng.random() < 0.06 else self.write(queue)
                    self.step(queue)
        except (Closed, OSError):
            pass
        for queue in self.queues:
            try:
                while True:
                    self.step(queue)
            except (Closed, OSError):
                pass
        self.blocks.busy.clear()


def read_back(address, blocks, counts):
    with nvme.Controller(address) as ctrl:
        queue = ctrl.io_queue()
        for first in range(0, BLOCKS, READ):
            request = queue.read(first, READ)
            if not request.ok:
                raise Violation("reading back: %r" % request)
            for i in range(READ):
                data = bytes(request.got[i * BLOCK:(i + 1) * BLOCK])
                blocks.found(counts, first + i, version_of(first + i, data))


def life(spec, args, blocks, rng, counts, quiet):
    """One target from its start to its violent end."""
    daemon = targets.Daemon(*args, ns=[spec])
    try:
        with nvme.Controller(daemon.address) as ctrl:
            host = Host(blocks, rng, ctrl, 2, counts)
            killer = threading.Timer(rng.uniform(0, MOMENT_S), daemon.process.kill)
            host.run(killer.start, quiet)
            killer.join()
    finally:
        daemon.kill()


def measure(kills, files, reactors=1, seed=1, faulty=False, folder=None):
    """The counts after so many kills of targets over one file."""
    names = ("lost", "torn", "forgotten", "writes", "durable writes", "flushes")
    counts = dict.fromkeys(names, 0)
    rng, blocks = random.Random(seed), Blocks()
    with tempfile.TemporaryDirectory(dir=folder) as folder:
        plain = "file:%s/v.img,size=%s" % (folder, SIZE)
        below = "fault:drop-write=%d@%s" % (DROPPED, plain) if faulty else plain
        for n in range(kills):
            cache = "volatile:keep=1M@" if n % 2 == 0 else "volatile:seed=%d@" % (n + seed)
            life(cache + below, ("--files", files, "--reactors", str(reactors)), blocks, rng, counts, n % 3 == 0)
            with targets.Daemon("--files", files, ns=[plain]) as daemon:
                read_back(daemon.address, blocks, counts)
    return counts


def main():
    options = argparse.ArgumentParser(usage=__doc__.strip())
    options.add_argument("--kills", type=int, default=50)
    options.add_argument("--files", default="both")
    options.add_argument("--reactors", type=int, default=2)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--faulty", action="store_true")
    args = options.parse_args()
    bad = False
    for files in ("uring", "threads") if args.files == "both" else (args.files,):
        counts = measure(args.kills, files, args.reactors, args.seed, args.faulty)
        print("durable_%s: %d  (%s, %d kills, %d reactors; %s)" % (
            "lost", counts["lost"], files, args.kills, args.reactors,
            ", ".join("%s %d" % item for item in counts.items() if item[0] != "lost")), flush=True)
        bad = bad or counts["torn"] > 0 or (counts["lost"] > 0) != args.faulty or counts["forgotten"] == 0
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
