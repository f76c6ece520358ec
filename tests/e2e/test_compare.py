"""Compare; Compare and Write fused: who is told what, and that nobody comes between the two."""
import os
import struct
import threading

import pytest

import nvme
from nvme import INVALID_FIELD, INVALID_NS, LBA_RANGE
from nvmetcp import capsule, patch

BLOCK = 4096
MIB = 1 << 20
COMPARE_FAILURE, FUSED_FAILED, FUSED_MISSING, ATOMIC_UNIT, TRANSIENT = 0x285, 0x009, 0x00A, 0x014, 0x022
FIRST, SECOND = 1, 2
SPECS = ["mem:64M", "file:{dir}/volume.img,size=64M"]
TARGET_NS = ("mem:64M", "mem:64M")


def rw(opcode, slba, blocks, fuse=0, nsid=1):
    return nvme.sqe(opcode, nsid=nsid, flags=nvme.PSDT_SGL | fuse, cdw10=slba & 0xFFFFFFFF, cdw11=slba >> 32,
                    cdw12=blocks - 1)


def compare(queue, slba, data, size=BLOCK, **how):
    return queue.call(rw(0x05, slba, len(data) // size), data, **how)


def fused(queue, slba, expected, data, size=BLOCK, **how):
    """Both halves at once, in one segment; returns them when both are answered."""
    first = queue.submit(rw(0x05, slba, len(expected) // size, FIRST), expected, send=False, **how)
    second = queue.submit(rw(0x01, slba, len(data) // size, SECOND), data, send=False, **how)
    queue.conn.send(first.capsule + second.capsule)
    return queue.wait(first, second)


# ---- Compare ----

@pytest.mark.line("O10")
def test_compare_of_what_is_there(volume):
    """in the capsule, by R2T, of the most that a transfer may have"""
    queue, size, _, _ = volume
    data = os.urandom(MIB)
    assert queue.write(0, data, block_size=size).ok
    for at, length in ((0, size), (size, 8192), (3 * size, 65536), (0, MIB), (5 * size, 65536 + 7 * size)):
        assert compare(queue, at // size, data[at:at + length], size).ok
        if length <= 8192:
            assert compare(queue, at // size, data[at:at + length], size, incapsule=False).ok


@pytest.mark.parametrize("at", [0, 4095, 65535, 65536, 70000, 131071])
@pytest.mark.line("O10")
def test_compare_of_what_is_not_there(volume, at):
    """2:85, wherever the byte is that differs"""
    queue, size, _, _ = volume
    data = os.urandom(131072)
    assert queue.write(0, data, block_size=size).ok
    request = compare(queue, 0, patch(data, at, data[at] ^ 1), size)
    assert request.status == COMPARE_FAILURE and request.dnr
    assert bytes(queue.read(0, 131072 // size, block_size=size).got) == data


@pytest.mark.line("O02", "O03", "O04")
def test_compare_is_held_to_the_limits(volume):
    """for Compare"""
    queue, size, _, _ = volume
    blocks = 64 * MIB // size
    assert compare(queue, blocks, bytes(size), size).status == LBA_RANGE
    assert compare(queue, blocks - 1, bytes(2 * size), size).status == LBA_RANGE
    assert compare(queue, 0, bytes(MIB + size), size).status == INVALID_FIELD
    assert queue.call(rw(0x05, 0, 1, nsid=2), bytes(size)).status == INVALID_NS


def test_many_compares_at_once(volume):
    """more than there is memory for at a time: each has its turn"""
    queue, size, _, _ = volume
    data = os.urandom(MIB)
    assert queue.write(0, data, block_size=size).ok
    requests = [queue.submit(rw(0x05, 0, MIB // size), data) for _ in range(20)]
    queue.wait(*requests)
    assert all(r.ok for r in requests)


# ---- fused ----

@pytest.mark.parametrize("incapsule", [(True, True), (False, False), (True, False), (False, True)],
                         ids=lambda p: "-".join("capsule" if i else "r2t" for i in p))
@pytest.mark.line("O11")
def test_fused_swaps_what_is_expected(volume, incapsule):
    """each half's data in its capsule or asked for"""
    queue, size, _, _ = volume
    old, new = os.urandom(8192), os.urandom(8192)
    assert queue.write(7, old, block_size=size).ok
    first = queue.submit(rw(0x05, 7, 8192 // size, FIRST), old, incapsule=incapsule[0], send=False)
    second = queue.submit(rw(0x01, 7, 8192 // size, SECOND), new, incapsule=incapsule[1], send=False)
    queue.conn.send(first.capsule + second.capsule)
    queue.wait(first, second)
    assert first.ok and second.ok
    assert bytes(queue.read(7, 8192 // size, block_size=size).got) == new


@pytest.mark.line("O11")
def test_fused_of_the_longest_that_is_announced(volume):
    """NACWU, and 0:14 beyond it"""
    queue, size, _, ctrl = volume
    namespace = ctrl.identified(0, 1)
    assert namespace[24] & 2, "NSFEAT: NACWU counts"
    blocks = struct.unpack_from("<H", namespace, 38)[0] + 1
    assert ctrl.identified(1)[522] & 1, "FUSES"
    old, new = os.urandom(blocks * size), os.urandom(blocks * size)
    assert queue.write(0, old, block_size=size).ok
    assert all(r.ok for r in fused(queue, 0, old, new, size))
    assert bytes(queue.read(0, blocks, block_size=size).got) == new
    longer = bytes((blocks + 1) * size)
    first, second = fused(queue, 0, longer, longer, size)
    assert first.status == ATOMIC_UNIT and second.status == FUSED_FAILED
    assert bytes(queue.read(0, blocks, block_size=size).got) == new


@pytest.mark.parametrize("incapsule", [True, False])
@pytest.mark.line("O11")
def test_fused_with_something_else_there(volume, incapsule):
    """2:85 and 0:09, and nothing is written"""
    queue, size, _, _ = volume
    old = os.urandom(2 * size)
    assert queue.write(3, old, block_size=size).ok
    first, second = fused(queue, 3, patch(old, 2 * size - 1, old[-1] ^ 1), bytes(2 * size), size, incapsule=incapsule)
    assert (first.status, second.status) == (COMPARE_FAILURE, FUSED_FAILED)
    assert first.dnr and not second.dnr, "the write itself was not what failed"
    assert bytes(queue.read(3, 2, block_size=size).got) == old


@pytest.mark.line("O12")
def test_halves_alone(target, queue):
    """0:0A, whatever follows the first half; a second half without a first"""
    assert queue.write(0, bytes(BLOCK)).ok
    for follower in (lambda: queue.submit_read(0, 1), lambda: queue.submit(nvme.sqe(0x00, nsid=1)),
                     lambda: queue.submit(rw(0x01, 0, 1), bytes(BLOCK))):
        for incapsule in (True, False):
            first = queue.submit(rw(0x05, 0, 1, FIRST), bytes(BLOCK), incapsule=incapsule)
            other = follower()
            queue.wait(first, other)
            assert first.status == FUSED_MISSING and other.ok
    assert queue.call(rw(0x01, 0, 1, SECOND), bytes(BLOCK)).status == FUSED_MISSING
    firsts = [queue.submit(rw(0x05, 0, 1, FIRST), bytes(BLOCK)) for _ in range(3)]
    second = queue.submit(rw(0x01, 0, 1, SECOND), bytes(BLOCK))
    queue.wait(second, *firsts)
    assert [r.status for r in firsts] == [FUSED_MISSING, FUSED_MISSING, 0] and second.ok


@pytest.mark.line("O12")
def test_halves_that_do_not_fit(target, queue):
    """other blocks, another namespace, another opcode: 0:02"""
    assert queue.write(0, bytes(4 * BLOCK)).ok
    for slba, blocks, nsid in ((1, 1, 1), (0, 2, 1), (0, 1, 2)):
        first = queue.submit(rw(0x05, 0, 1, FIRST), bytes(BLOCK))
        second = queue.submit(rw(0x01, slba, blocks, SECOND, nsid), b"x" * blocks * BLOCK)
        queue.wait(first, second)
        assert first.status == second.status == INVALID_FIELD
    first = queue.submit(rw(0x05, 0, 1, FIRST), bytes(BLOCK))
    second = queue.submit(nvme.sqe(0x08, nsid=1, flags=nvme.PSDT_SGL | SECOND))
    queue.wait(first, second)
    assert first.status == FUSED_MISSING and second.status == INVALID_FIELD
    for opcode, fuse in ((0x01, FIRST), (0x02, FIRST), (0x05, SECOND), (0x05, 3), (0x01, 3), (0x00, 3)):
        data = bytes(BLOCK) if opcode in (1, 5) else b""
        status = queue.call(rw(opcode, 0, 1, fuse), data, want=BLOCK if opcode == 2 else 0).status
        assert status in ((INVALID_FIELD,) if fuse != SECOND else (FUSED_MISSING,)), (opcode, fuse)
    assert bytes(queue.read(0, 4).got) == bytes(4 * BLOCK) and bytes(queue.read(0, nsid=2).got) == bytes(BLOCK)


@pytest.mark.line("O12")
def test_a_fault_of_either_half_ends_both(target, queue):
    """the status of the one that is wrong, 0:09 for the other"""
    first, second = fused(queue, 1 << 40, bytes(BLOCK), bytes(BLOCK))
    assert (first.status, second.status) == (LBA_RANGE, FUSED_FAILED)
    first = queue.submit(rw(0x05, 0, 1, FIRST), bytes(BLOCK))
    # The second half's SGL does not fit its blocks.
    second = queue.submit(rw(0x01, 0, 1, SECOND), bytes(512), incapsule=True)
    queue.wait(first, second)
    assert (first.status, second.status) == (FUSED_FAILED, nvme.SGL_LENGTH)
    first = queue.submit(rw(0x05, 0, 1, FIRST), bytes(16), incapsule=True)
    second = queue.submit(rw(0x01, 0, 1, SECOND), bytes(BLOCK))
    queue.wait(first, second)
    assert (first.status, second.status) == (nvme.SGL_LENGTH, FUSED_FAILED)


@pytest.mark.line("O12")
def test_fused_is_for_io_queues(ctrl):
    """on the admin queue 0:02"""
    for fuse in (FIRST, SECOND):
        request = ctrl.admin.call(nvme.sqe(0x18, flags=nvme.PSDT_SGL | fuse))
        assert request.status == INVALID_FIELD


@pytest.mark.line("D03")
def test_a_wrong_digest_in_either_half(target):
    """for fused commands: nothing is written, the connection lives"""
    with nvme.Controller(target.address, dgst=3) as ctrl:
        queue = ctrl.io_queue(dgst=3)
        old = os.urandom(BLOCK)
        assert queue.write(0, old).ok
        for bad in (0, 1):
            halves = [queue.submit(rw(0x05, 0, 1, FIRST), old, send=False),
                      queue.submit(rw(0x01, 0, 1, SECOND), bytes(BLOCK), send=False)]
            capsules = [h.capsule for h in halves]
            capsules[bad] = patch(capsules[bad], len(capsules[bad]) - 1, capsules[bad][-1] ^ 1)
            queue.conn.send(b"".join(capsules))
            queue.wait(*halves)
            assert halves[bad].status == TRANSIENT and halves[1 - bad].status == FUSED_MISSING
            assert bytes(queue.read(0).got) == old


@pytest.mark.line("O20")
def test_read_and_write_errors_of_fused(serve):
    """the half that failed says so"""
    target = serve(ns=["fault:read-error=3,write-error=5@mem:16M"])
    with nvme.Controller(target.address) as ctrl:
        queue = ctrl.io_queue()
        first, second = fused(queue, 3, bytes(BLOCK), bytes(BLOCK))
        assert (first.status, second.status) == (nvme.READ_ERROR, FUSED_FAILED)
        first, second = fused(queue, 5, bytes(BLOCK), bytes(BLOCK))
        assert first.ok and second.status == nvme.WRITE_FAULT


def test_a_first_half_is_not_waited_for_for_ever(serve):
    """the second half does not come: closed after the stall time-out; a shutdown does not wait for it"""
    target = serve("--stall-timeout", "300")
    with nvme.Controller(target.address) as ctrl:
        queue = ctrl.io_queue()
        queue.submit(rw(0x05, 0, 1, FIRST), bytes(BLOCK))
        queue.conn.expect_close()
        assert ctrl.keep_alive().ok
        other = ctrl.io_queue(qid=2)
        first = other.submit(rw(0x05, 0, 1, FIRST), bytes(BLOCK))
        left = other.submit(nvme.disconnect_sqe())
        other.wait(first, left)
        assert first.status == FUSED_MISSING and left.ok


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.line("O13")
def test_fused_counts_right_with_many_hosts(serve, tmp_path, spec):
    """counters raised by compare and swap, by eight queues on two threads: none is lost"""
    target = serve("--reactors", "2", ns=[spec.format(dir=tmp_path)])
    rounds, done = 60, []

    def host(number):
        with nvme.Controller(target.address, hostid=bytes(15) + bytes([number + 1])) as ctrl:
            queue = ctrl.io_queue()
            swaps = 0
            while swaps < rounds:
                old = bytes(queue.read(9).got)
                value = struct.unpack_from("<Q", old)[0]
                new = struct.pack("<Q", value + 1) * (BLOCK // 8)
                first, second = fused(queue, 9, old, new, incapsule=bool(number & 1))
                assert (first.status, second.status) in ((0, 0), (COMPARE_FAILURE, FUSED_FAILED))
                swaps += first.ok
            done.append(swaps)

    threads = [threading.Thread(target=host, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(done) == 8
    with nvme.Controller(target.address) as ctrl:
        assert bytes(ctrl.io_queue().read(9).got) == struct.pack("<Q", 8 * rounds) * (BLOCK // 8)
