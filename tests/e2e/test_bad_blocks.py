"""Write Uncorrectable: blocks that a host makes unreadable, what makes them good again, and what survives a kill."""
import os
import random
import threading

import pytest

import durable
import nvme
import target as targets
from nvme import INVALID_OPCODE, LBA_RANGE, READ_ERROR
from nvmetcp import Violation, tries

BLOCK = 4096
SMART_MEDIA = slice(160, 176)


def mark(queue, slba, blocks=1, nsid=1):
    return queue.call(nvme.sqe(0x04, nsid=nsid, cdw10=slba & 0xFFFFFFFF, cdw11=slba >> 32, cdw12=blocks - 1))


def unreadable(request):
    return request.status == READ_ERROR and request.dnr


@pytest.mark.line("W84", "I01", "I11")
def test_a_marked_block_is_unreadable_until_it_is_written(volume):
    """2:81 with DNR; by Write and by Write Zeroes, not by deallocating it"""
    queue, size, blocks, ctrl = volume
    assert int.from_bytes(ctrl.identified(1)[520:522], "little") & 2
    assert int.from_bytes(ctrl.logged(5, 4096)[1024 + 16:1024 + 20], "little") == 0x100003, "of a namespace"
    data = os.urandom(64 * size)
    assert queue.write(0, data, block_size=size).ok
    assert mark(queue, 8, 8).ok and mark(queue, blocks - 1).ok
    for slba, count in ((8, 1), (15, 1), (0, 64), (blocks - 1, 1)):
        assert unreadable(queue.read(slba, count, block_size=size))
    assert bytes(queue.read(0, 8, block_size=size).got) == data[:8 * size]
    assert bytes(queue.read(16, 48, block_size=size).got) == data[16 * size:]
    assert queue.deallocate([(8, 1)]).ok and unreadable(queue.read(8, 1, block_size=size))
    assert queue.write(8, data[:size], block_size=size).ok
    assert bytes(queue.read(8, 1, block_size=size).got) == data[:size]
    assert queue.write_zeroes(9, 3).ok and queue.write_zeroes(12, 3, deallocate=True).ok
    assert bytes(queue.read(9, 6, block_size=size).got) == bytes(6 * size)
    assert unreadable(queue.read(8, 8, block_size=size))
    assert queue.write(0, data, block_size=size).ok, "a long write"
    assert bytes(queue.read(0, 64, block_size=size).got) == data


@pytest.mark.line("W84", "O10", "O14", "O21")
def test_whatever_reads_a_marked_block_fails(volume):
    """Compare, Verify, the source of a Copy, a fused Compare; its destination may be marked"""
    queue, size, _, _ = volume
    data = bytes(size)
    assert mark(queue, 8, 2).ok
    read = [nvme.sqe(0x05, nsid=1, cdw10=9), nvme.sqe(0x0C, nsid=1, cdw10=0, cdw12=63)]
    assert unreadable(queue.call(read[0], data)) and unreadable(queue.call(read[1]))
    source = bytes(8) + (5).to_bytes(8, "little") + (3).to_bytes(2, "little") + bytes(14)
    assert unreadable(queue.call(nvme.sqe(0x19, nsid=1, cdw10=100), source))
    assert queue.call(nvme.sqe(0x19, nsid=1, cdw10=8), source[:8] + (20).to_bytes(8, "little") + bytes(16)).ok
    assert queue.read(8, 1, block_size=size).ok
    first = queue.submit(nvme.sqe(0x05, nsid=1, cdw10=9, flags=0x41), data)
    second = queue.submit(nvme.sqe(0x01, nsid=1, cdw10=9, flags=0x42), data)
    queue.wait(first, second)
    assert unreadable(first) and second.status == 0x09
    assert unreadable(queue.read(9, 1, block_size=size))


@pytest.mark.line("W84", "O02")
def test_its_range_is_checked_and_may_be_long(volume):
    """0:80; as many blocks as the command can say"""
    queue, size, blocks, _ = volume
    for slba, count in ((blocks, 1), (blocks - 1, 2), ((1 << 64) - 1, 2)):
        assert mark(queue, slba, count).status == LBA_RANGE
    count = min(blocks - 5, 65536)
    assert mark(queue, 5, count).ok
    assert unreadable(queue.read(5, 1, block_size=size)) and unreadable(queue.read(4 + count, 1, block_size=size))
    assert queue.read(4, 1, block_size=size).ok
    assert queue.write_zeroes(5, count).ok
    assert queue.read(5, 8, block_size=size).ok and queue.read(4 + count, 1, block_size=size).ok


@pytest.mark.line("W84", "I08", "I09")
def test_the_log_names_the_block_and_the_medium_is_not_blamed(target):
    """the first bad LBA of the range; no media error, no warning, no event"""
    with nvme.Controller(target.address) as ctrl:
        ctrl.grant()
        assert ctrl.set_feature(0x0B, 4).ok, "events of reliability"
        queue, event = ctrl.io_queue(), ctrl.aer()
        assert mark(queue, 1000, 3).ok
        assert unreadable(queue.read(990, 64))
        for _ in tries():
            log = ctrl.logged(1, 64)
            if any(log):
                break
        assert int.from_bytes(log[16:24], "little") == 1000 and log[31] == 2
        smart = ctrl.logged(2, 512)
        assert smart[0] == 0 and smart[SMART_MEDIA] == bytes(16)
        assert not event.done


@pytest.mark.line("W84", "O15")
def test_volumes_that_cannot_keep_it_refuse(serve):
    """what forgets writes: 0:01, and ONCS says so where there is no other"""
    target = serve(ns=["null:1G"])
    with nvme.Controller(target.address) as ctrl:
        assert int.from_bytes(ctrl.identified(1)[520:522], "little") & 2 == 0
        assert ctrl.logged(5, 4096)[1024 + 16:1024 + 20] == bytes(4)
        queue = ctrl.io_queue()
        request = mark(queue, 0)
        assert request.status == INVALID_OPCODE and request.dnr and queue.read(0).ok


@pytest.mark.parametrize("files", ["auto", "threads"])
@pytest.mark.line("W85")
def test_marks_survive(serve, tmp_path, files):
    """a stop, and a kill right after the answer; so does their end"""
    spec = "file:%s/v.img,size=16M" % tmp_path
    data = os.urandom(BLOCK)
    target = serve("--files", files, ns=[spec])
    with nvme.Controller(target.address) as ctrl:
        queue = ctrl.io_queue()
        assert not os.path.exists(tmp_path / "v.img.bad")
        assert queue.write(0, data * 64).ok and mark(queue, 8, 8).ok
        target.kill()
    target = serve("--files", files, ns=[spec])
    with nvme.Controller(target.address) as ctrl:
        queue = ctrl.io_queue()
        assert all(unreadable(queue.read(n)) for n in range(8, 16))
        assert bytes(queue.read(7).got) == data and bytes(queue.read(16).got) == data
        assert queue.write(8, data).ok
        target.kill()
    target = serve("--files", files, ns=[spec])
    with nvme.Controller(target.address) as ctrl:
        queue = ctrl.io_queue()
        assert bytes(queue.read(8).got) == data and unreadable(queue.read(9))
        assert queue.write_zeroes(9, 7).ok
        target.stop()
    target = serve("--files", files, ns=[spec])
    with nvme.Controller(target.address) as ctrl:
        assert bytes(ctrl.io_queue().read(0, 32).got) == data * 9 + bytes(7 * BLOCK) + data * 16


@pytest.mark.line("W85")
def test_a_list_of_other_blocks_stops_the_start(binary, tmp_path):
    """in plain words"""
    spec = "file:%s/v.img,size=16M" % tmp_path
    with targets.Daemon("--block-size", "512", ns=[spec]) as target:
        with nvme.Controller(target.address) as ctrl:
            assert mark(ctrl.io_queue(), 8).ok
    with pytest.raises(Exception, match="its .bad file lists blocks of 512 bytes, not of 4096"):
        targets.Daemon(ns=[spec])


# ---- kill -9 ----

BAD = object()


class Blocks(durable.Blocks):
    """Versions are numbers of deeds: some are writes, the others made the block unreadable."""

    def __init__(self):
        super().__init__()
        self.marks = [set() for _ in range(durable.BLOCKS)]

    def found(self, counts, lba, version):
        if version is not BAD:
            super().found(counts, lba, version)
            return
        possible = [n for n in self.marks[lba] if n >= self.durable[lba]]
        if not possible:
            counts["spoiled"] += 1
            possible = [self.sent[lba]]
        self.acked[lba] = self.durable[lba] = max(possible)
        self.sent[lba] = max(self.sent[lba], self.acked[lba])


class Host(durable.Host):
    """Writes and makes unreadable."""

    def write(self, queue):
        if self.rng.random() < 0.7:
            super().write(queue)
            return
        blocks, rng = self.blocks, self.rng
        lba = rng.randrange(durable.BLOCKS)
        lbas = range(lba, min(lba + rng.choice((1, 2, 8)), durable.BLOCKS))
        if blocks.busy & set(lbas):
            return
        blocks.busy |= set(lbas)
        for i in lbas:
            blocks.sent[i] += 1
            blocks.marks[i].add(blocks.sent[i])
        versions = [blocks.sent[i] for i in lbas]

        def done():
            blocks.busy -= set(lbas)
            for i, version in zip(lbas, versions):
                blocks.acked[i] = blocks.durable[i] = version
            self.counts["marks"] += 1

        self.deeds[queue.submit(nvme.sqe(0x04, nsid=1, cdw10=lba, cdw12=len(lbas) - 1))] = done


def read_back(address, blocks, counts):
    with nvme.Controller(address) as ctrl:
        queue = ctrl.io_queue()
        for first in range(0, durable.BLOCKS, 64):
            reads = [(lba, queue.submit_read(lba, 1)) for lba in range(first, first + 64)]
            for lba, read in reads:
                queue.wait(read)
                if not read.ok and not unreadable(read):
                    raise Violation("reading back: %r" % read)
                blocks.found(counts, lba, durable.version_of(lba, bytes(read.got)) if read.ok else BAD)


@pytest.mark.parametrize("files", ["uring", "threads"])
@pytest.mark.line("W85", "O05")
def test_kills_while_blocks_are_marked_and_written(binary, tmp_path, files):
    """no acknowledged mark is readable, no durable write is bad, and nothing from before a mark is seen again"""
    counts = dict.fromkeys(("lost", "torn", "forgotten", "spoiled", "writes", "durable writes", "flushes", "marks"), 0)
    rng, blocks = random.Random(5), Blocks()
    plain = "file:%s/v.img,size=%s" % (tmp_path, durable.SIZE)
    for n, spec in enumerate((plain, "volatile:keep=1M@" + plain, "volatile:seed=9@" + plain) * 3):
        daemon = targets.Daemon("--files", files, "--reactors", "2", ns=[spec])
        try:
            with nvme.Controller(daemon.address) as ctrl:
                host = Host(blocks, rng, ctrl, 2, counts)
                killer = threading.Timer(rng.uniform(0, durable.MOMENT_S), daemon.process.kill)
                host.run(killer.start, n < 3)
                killer.join()
        finally:
            daemon.kill()
        if spec == plain:  # the kernel keeps what a process wrote: nothing that was answered may be missing
            blocks.durable = list(blocks.acked)
        with targets.Daemon("--files", files, ns=[plain]) as daemon:
            read_back(daemon.address, blocks, counts)
    assert counts["lost"] == counts["torn"] == counts["spoiled"] == 0, counts
    assert counts["marks"] > 50 and counts["durable writes"] > 50 and counts["forgotten"] > 0, counts
