"""Verify and Copy."""
import os
import struct

import pytest

import nvme
from nvme import INVALID_FIELD, INVALID_NS, LBA_RANGE

MIB = 1 << 20
SIZE_LIMIT = 0x183


def verify(queue, slba, blocks, nsid=1):
    return queue.call(nvme.sqe(0x0C, nsid=nsid, cdw10=slba & 0xFFFFFFFF, cdw11=slba >> 32, cdw12=blocks - 1))


def copy(queue, ranges, dest, format=0, fua=False, count=None, nsid=1, **how):
    data = b"".join(struct.pack("<QQH14x", 0, slba, blocks - 1) for slba, blocks in ranges)
    return queue.call(nvme.sqe(0x19, nsid=nsid, cdw10=dest & 0xFFFFFFFF, cdw11=dest >> 32,
                               cdw12=(count or len(ranges)) - 1 | format << 8 | (1 << 30 if fua else 0)), data, **how)


@pytest.mark.line("O14")
def test_verify_of_good_blocks(volume):
    """one block, all that a command can name, the end"""
    queue, size, _, _ = volume
    blocks = 64 * MIB // size
    assert verify(queue, 0, 1).ok
    assert verify(queue, 0, min(blocks, 65536)).ok
    assert verify(queue, blocks - 1, 1).ok
    assert verify(queue, blocks - 1, 2).status == LBA_RANGE
    assert verify(queue, (1 << 64) - 1, 2).status == LBA_RANGE
    assert verify(queue, 0, 1, nsid=2).status == INVALID_NS


@pytest.mark.line("O14")
def test_verify_of_a_bad_block(serve):
    """2:81"""
    target = serve(ns=["fault:read-error=777@mem:16M"])
    with nvme.Controller(target.address) as ctrl:
        queue = ctrl.io_queue()
        assert verify(queue, 0, 777).ok and verify(queue, 778, 100).ok
        assert verify(queue, 0, 778).status == nvme.READ_ERROR
        assert verify(queue, 777, 1).status == nvme.READ_ERROR
        assert copy(queue, [(770, 10)], 0).status == nvme.READ_ERROR
        smart = ctrl.log(2, 512).got
        assert int.from_bytes(smart[160:176], "little") == 3, "media errors"


@pytest.mark.line("O14")
def test_verify_knows_no_protection_information(volume):
    """PRACT: 0:02; what else of it there is does not matter"""
    queue, _, _, _ = volume
    for bit in range(26, 30):
        done = queue.call(nvme.sqe(0x0C, nsid=1, cdw12=1 << bit))
        assert (done.status, done.dnr) == ((INVALID_FIELD, True) if bit == 29 else (nvme.OK, False))


@pytest.mark.line("O21", "W96")
def test_a_copy_that_fails_half_way_says_how_far_it_came(serve):
    """DW0: the first range that was not copied wholly; what is before it was"""
    target = serve(ns=["fault:read-error=10@mem:16M"])
    with nvme.Controller(target.address) as ctrl:
        queue = ctrl.io_queue()
        data = os.urandom(8 * 4096)
        assert queue.write(0, data).ok
        for ranges, left in (([(0, 1), (1, 1), (10, 1), (0, 1)], 2), ([(10, 1), (0, 1)], 0), ([(0, 3), (3, 8)], 1),
                             ([(0, 1)] * 127 + [(10, 1)], 127), ([(20, 500), (0, 11)], 1)):
            assert queue.write_zeroes(1000, 2000).ok
            failed = copy(queue, ranges, 1000)
            assert (failed.status, failed.dw0) == (nvme.READ_ERROR, left), ranges
            want = b"".join(bytes(queue.read(s, n).got) for s, n in ranges[:left] if n <= 8)
            assert bytes(queue.read(1000, max(1, len(want) // 4096)).got)[:len(want)] == want
        assert copy(queue, [(0, 1), (9000, 1)], 1000).dw0 == 0, "nothing was copied"
        assert copy(queue, [(0, 1), (1, 1)], 1000).dw0 == 0


@pytest.mark.line("I09")
def test_what_smart_counts_of_them(serve):
    """a Copy is a read and a write, a Compare a read; a Verify moves no data to the host"""
    target = serve(ns=["mem:16M"])
    with nvme.Controller(target.address) as ctrl:
        def counts():
            page = ctrl.logged(2, 512)
            return [int.from_bytes(page[at:at + 16], "little") for at in (64, 80)]
        queue = ctrl.io_queue()
        before = counts()
        assert all(copy(queue, [(0, 100), (200, 1)], 1000).ok for _ in range(5))
        assert counts() == [before[0] + 5, before[1] + 5]
        assert all(verify(queue, 0, 300).ok for _ in range(7)) and counts() == [before[0] + 5, before[1] + 5]
        assert queue.call(nvme.sqe(0x05, nsid=1, cdw12=1), bytes(8192)).ok
        assert counts() == [before[0] + 6, before[1] + 5]


@pytest.mark.line("O21")
def test_copy_gathers_its_ranges(volume):
    """the ranges lie one behind the other at the destination, and nothing beside them changes"""
    queue, size, _, _ = volume
    data = os.urandom(MIB)
    assert queue.write(0, data, block_size=size).ok
    block = [data[i:i + size] for i in range(0, MIB, size)]
    for n, ranges in enumerate(([(0, 1)], [(5, 3), (1, 1), (40, 2)], [(0, 255)], [(3, 100), (3, 100), (250, 6)],
                                [(i, 1) for i in range(128)])):
        dest, want = 5000 + 1000 * n, b"".join(b"".join(block[s:s + c]) for s, c in ranges)
        blocks = len(want) // size
        for incapsule in (True, False):
            assert queue.write_zeroes(dest - 1, blocks + 2).ok
            assert copy(queue, ranges, dest, incapsule=incapsule).ok
            got = b"".join(bytes(queue.read(dest - 1 + i, 1, block_size=size).got) for i in (0, blocks + 1))
            assert got == bytes(2 * size)
            assert bytes(queue.read(dest, blocks, block_size=size).got) == want


@pytest.mark.line("O21")
def test_copy_of_as_much_as_is_announced(volume):
    """MSSRL, MCL, MSRC, and 1:83 beyond them"""
    queue, size, _, ctrl = volume
    namespace = ctrl.identified(0, 1)
    assert struct.unpack_from("<H", ctrl.identified(1), 520)[0] >> 8 & 1 and ctrl.identified(1)[534] & 1
    mssrl, mcl, msrc = struct.unpack_from("<HIB", namespace, 74)
    blocks = 64 * MIB // size
    assert mssrl and mcl >= mssrl
    most = min(mssrl, blocks // 2)
    data = os.urandom(MIB)
    for at in range(0, most * size, MIB):
        assert queue.write(at // size, data, block_size=size).ok
    assert copy(queue, [(0, most)], blocks // 2, fua=True).ok
    for at in range(0, most * size, MIB):
        assert bytes(queue.read(blocks // 2 + at // size, MIB // size, block_size=size).got) == data
    assert copy(queue, [(0, 1)] * (msrc + 1), blocks // 2).ok
    assert copy(queue, [(0, 1)] * min(msrc + 2, 128), blocks // 2, count=msrc + 2).status == SIZE_LIMIT
    if mssrl < 65536:
        assert copy(queue, [(0, mssrl + 1)], blocks // 2).status == SIZE_LIMIT
    over = [(0, mssrl)] * (mcl // mssrl) + [(0, mcl % mssrl + 1)]
    assert copy(queue, over, blocks // 2).status in (SIZE_LIMIT, LBA_RANGE)


@pytest.mark.line("O21", "I02")
def test_copy_of_more_than_is_announced(serve):
    """all that MCL says is copied; 1:83 for one block more, of the whole or of a range, and for one range more"""
    for size in (512, 4096):
        target = serve("--block-size", str(size), ns=["null:1T"])
        with nvme.Controller(target.address) as ctrl:
            queue = ctrl.io_queue()
            mssrl, mcl, msrc = struct.unpack_from("<HIB", ctrl.identified(0, 1), 74)
            most = [(0, mssrl)] * (mcl // mssrl) + ([(0, mcl % mssrl)] if mcl % mssrl else [])
            assert len(most) <= msrc < 128
            assert copy(queue, most, 2 * mcl).ok
            for ranges in (most + [(0, 1)], [(0, mssrl + 1)], [(0, 1)] * (msrc + 2)):
                done = copy(queue, ranges, 2 * mcl)
                assert done.status == SIZE_LIMIT and done.dnr, ranges[-1]


@pytest.mark.line("O21")
def test_copy_that_cannot_be(volume):
    """outside the volume, onto itself, in a format that there is not, too short a list"""
    queue, size, _, _ = volume
    blocks = 64 * MIB // size
    assert queue.write(0, b"a" * 16 * size, block_size=size).ok
    for ranges, dest, status in (([(blocks, 1)], 0, LBA_RANGE), ([(blocks - 1, 2)], 0, LBA_RANGE),
                                 ([((1 << 64) - 1, 2)], 0, LBA_RANGE), ([(0, 2)], blocks - 1, LBA_RANGE),
                                 ([(0, 2)], (1 << 64) - 1, LBA_RANGE), ([(0, 4)], 3, INVALID_FIELD),
                                 ([(100, 4), (3, 4)], 0, INVALID_FIELD), ([(0, 1)], 0, INVALID_FIELD)):
        request = copy(queue, ranges, dest)
        assert request.status == status and request.dnr, (ranges, dest)
    assert copy(queue, [(0, 1), (1, 1)], blocks - 1).status == LBA_RANGE, "all of it must find room"
    assert bytes(queue.read(blocks - 1, 1, block_size=size).got) == bytes(size)
    assert copy(queue, [(0, 1)], 100, format=1).status == INVALID_FIELD
    assert copy(queue, [(0, 1)], 100, count=2).status == nvme.SGL_LENGTH
    assert bytes(queue.read(0, 16, block_size=size).got) == b"a" * 16 * size


def test_connections_of_a_volume_take_turns(serve, tmp_path):
    """who has very much to be looked at waits behind his own"""
    target = serve(ns=["fault:delay=5@file:%s/v.img,size=64M" % tmp_path])
    with nvme.Controller(target.address) as ctrl, nvme.Controller(target.address) as other:
        much, little = ctrl.try_io_queue(1, 512)[0], other.io_queue()
        command = nvme.sqe(0x0C, nsid=1, cdw12=15)
        requests = [much.submit(command) for _ in range(500)]
        much.wait(requests[0])
        began = sum(request.done for request in requests)
        assert verify(little, 0, 16).ok
        much.wait(much.submit(nvme.sqe(0x00, nsid=1)))  # a Flush: what was done before it was answered before
        assert sum(request.done for request in requests) - began < 100
        much.drain()
