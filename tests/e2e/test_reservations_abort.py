"""Preempt and abort: what the hosts that were put out had in flight ends before it is answered."""
import struct
import time

import pytest

import nvme
from nvme import OK
from nvmetcp import PATIENCE
from reservations import CONFLICT, EA, EA_AR, EA_RO, PREEMPT, PREEMPT_ABORT, PREEMPT_ABORTED, WE, WE_AR, Host

A, B, C = 0xAAAA, 0xBBBB, 0xCCCC
DELAY_MS = 700


def three(target):
    """a and b are registered; c is not"""
    hosts = [Host(target.address, n) for n in range(3)]
    for host, key in zip(hosts[:2], (A, B)):
        assert host.register(key) == OK
    return hosts


@pytest.mark.line("R12")
@pytest.mark.parametrize("reactors", [1, 2, 3])
def test_commands_held_at_the_device_end(serve, reactors):
    """of the victim, on all its queues, of this namespace; nobody else's"""
    target = serve("--reactors", str(reactors), ns=["fault:hold=5@mem:16M", "fault:hold=5@mem:16M"])
    a, b, c = three(target)
    victims = [(q, q.submit_write(4, b"x" * 8192)) for q in b.queues]
    victims += [(q, q.submit_read(5, 1)) for q in b.queues]
    victims += [(q, q.submit(nvme.sqe(0x0C, nsid=1, cdw10=0, cdw12=15))) for q in b.queues]
    victims += [(q, q.submit(nvme.sqe(0x08, nsid=1, cdw10=5))) for q in b.queues]
    others = [(q, q.submit_write(5, b"y" * 4096)) for q in c.queues]
    others += [(q, q.submit_write(5, b"y" * 4096, nsid=2)) for q in b.queues]
    for queue in a.queues + b.queues + c.queues:
        assert queue.read(9).ok  # what was sent before is at the device now
    assert a.acquire(A, WE, B, PREEMPT_ABORT) == OK
    for queue, request in victims:
        assert queue.wait(request).status == PREEMPT_ABORTED and request.dnr
    assert b.notices() == [1]
    for queue, request in others:
        assert queue.read(9).ok and not request.done
    assert c.register(C) == OK
    assert a.acquire(A, WE, C, PREEMPT_ABORT) == OK
    for queue, request in others[:2]:
        assert queue.wait(request).status == PREEMPT_ABORTED


@pytest.mark.line("R12")
@pytest.mark.parametrize("held", [WE, EA, WE_AR, EA_AR])
def test_commands_of_who_held_it_end(serve, held):
    """the key of the one that holds it, or 0 where all do"""
    target = serve("--reactors", "2", ns=["fault:hold=5@mem:16M"])
    a, b, _ = three(target)
    assert b.acquire(B, held) == OK
    victims = [(q, q.submit_write(5, b"x" * 4096)) for q in b.queues]
    for queue in b.queues:
        assert queue.read(9).ok
    assert a.acquire(A, WE, 0 if held >= WE_AR else B, PREEMPT_ABORT) == OK
    for queue, request in victims:
        assert queue.wait(request).status == PREEMPT_ABORTED
    assert a.report().holders == {a.id}


@pytest.mark.line("R12")
def test_a_preempt_without_abort_ends_nothing(serve):
    target = serve("--reactors", "2", ns=["fault:hold=5@mem:16M"])
    a, b, _ = three(target)
    held = [(q, q.submit_write(5, b"x" * 4096)) for q in b.queues]
    for queue in b.queues:
        assert queue.read(9).ok
    assert a.acquire(A, EA, B, PREEMPT) == OK
    for queue, request in held:
        assert queue.read(9).ok and not request.done


@pytest.mark.line("W99")
@pytest.mark.parametrize("preempted", [False, True])
def test_what_has_begun_is_not_ended_by_a_later_reservation(serve, preempted):
    """commands of many pieces; what waits for its data has not begun"""
    target = serve("--reactors", "2", ns=["fault:delay=200@mem:16M"])
    a, b, _ = three(target)
    queue = b.queues[0]
    assert not preempted or a.acquire(A, EA_RO) == OK
    assert queue.write(8, b"x" * 8192).ok
    begun = [queue.submit(nvme.sqe(0x0C, nsid=1, cdw10=512, cdw12=63 | fua << 30)) for fua in (0, 1)]
    begun += [queue.submit(nvme.sqe(0x19, nsid=1, cdw10=256, cdw12=1 | fua << 30),
                           struct.pack("<8xQH14x8xQH14x", 8, 31, 512, 31)) for fua in (0, 1)]
    assert queue.call(nvme.sqe(0x0E, nsid=1, cdw10=63, cdw11=1), want=256).ok, "they are at the device"
    queue.serve_r2ts = False
    waits = queue.submit_write(5, b"x" * 4096, incapsule=False)
    while not waits.r2ts:
        queue.step()
    assert not any(request.done for request in begun)
    assert (a.acquire(A, EA_RO, B, PREEMPT) if preempted else a.acquire(A, EA)) == OK
    queue.send_data(waits)
    assert queue.wait(waits).status == CONFLICT and queue.read(9).status == CONFLICT
    queue.wait(*begun)
    assert all(request.ok for request in begun), begun
    assert bytes(a.queue.read(256, blocks=2).got) == b"x" * 8192


@pytest.mark.line("R12")
def test_the_answer_waits_for_what_cannot_be_taken_back(serve):
    """after it no write of the victim reaches the medium"""
    target = serve("--reactors", "2", ns=["fault:delay=%d@mem:16M" % DELAY_MS])
    a, b, _ = three(target)
    assert a.acquire(A, WE) == OK and a.release(A, WE) == OK
    began = time.monotonic()
    writes = [(q, q.submit_write(n, bytes([n + 1]) * 4096)) for n, q in enumerate(b.queues)]
    copies = [(q, q.submit(nvme.sqe(0x05, nsid=1, cdw10=64, cdw12=1), bytes(8192))) for q in b.queues]
    for queue in b.queues:
        assert queue.call(nvme.sqe(0x0E, nsid=1, cdw10=63, cdw11=1), want=256).ok
    assert a.acquire(A, EA, B, PREEMPT_ABORT) == OK
    assert time.monotonic() - began >= DELAY_MS / 1000
    for queue, request in writes + copies:
        assert queue.wait(request).ok  # it was too late for them
    for n in range(2):
        assert bytes(a.queue.read(n).got) == bytes([n + 1]) * 4096


@pytest.mark.line("R12")
def test_a_long_command_goes_no_further(serve):
    """a Verify of many pieces, each of which takes its time: it ends with the piece that is at the device"""
    target = serve("--reactors", "2", ns=["fault:delay=%d@mem:64M" % DELAY_MS])
    a, b, _ = three(target)
    queue = b.queues[0]
    long = queue.submit(nvme.sqe(0x0C, nsid=1, cdw12=8191))  # 512 pieces
    assert queue.call(nvme.sqe(0x0E, nsid=1, cdw10=63, cdw11=1), want=256).ok
    assert a.acquire(A, EA, B, PREEMPT_ABORT) == OK
    assert queue.wait(long).status == PREEMPT_ABORTED


@pytest.mark.line("R12")
@pytest.mark.parametrize("opcode,size", [(0x01, 16384), (0x05, 16384), (0x09, 4096), (0x19, 4096), (0x0D, 16)])
def test_commands_that_wait_for_their_data_end_when_it_comes(serve, opcode, size):
    """the preempt does not wait for the victim's host"""
    target = serve("--reactors", "2", ns=["mem:16M"])
    a, b, _ = three(target)
    waiting = []
    for queue in b.queues:
        queue.serve_r2ts = False
        cdw12 = {0x01: 3, 0x05: 3}.get(opcode, 0)
        request = queue.submit(nvme.sqe(opcode, nsid=1, cdw11=4 if opcode == 9 else 0, cdw12=cdw12), b"\1" * size,
                               incapsule=False)
        while not request.r2ts:
            queue.step()
        waiting.append((queue, request))
    # Nobody holds it: what is not ended would be done.
    assert a.acquire(A, WE, B, PREEMPT_ABORT) == OK
    for queue, request in waiting:
        queue.send_data(request)
        assert queue.wait(request).status == PREEMPT_ABORTED
    assert bytes(a.queue.read(0).got) == bytes(4096)


@pytest.mark.line("R12")
def test_a_fused_pair_ends_whole(serve):
    target = serve("--reactors", "2", ns=["fault:hold=5@mem:16M"])
    a, b, _ = three(target)
    pairs = []
    for queue in b.queues:
        first = queue.submit(nvme.sqe(0x05, nsid=1, cdw10=5, flags=0x41), bytes(4096))
        pairs.append((queue, first, queue.submit(nvme.sqe(0x01, nsid=1, cdw10=5, flags=0x42), b"x" * 4096)))
        assert queue.read(9).ok
    assert a.acquire(A, WE, B, PREEMPT_ABORT) == OK
    for queue, first, second in pairs:
        queue.wait(first, second)
        assert {first.status, second.status} == {PREEMPT_ABORTED, 0x009}


@pytest.mark.line("R12")
def test_a_connection_that_died_is_waited_for(serve):
    """its write is still at the device"""
    target = serve("--reactors", "2", ns=["fault:delay=%d@mem:16M" % DELAY_MS])
    a, b, _ = three(target)
    began = time.monotonic()
    for n, queue in enumerate(b.queues):
        queue.submit_write(n, b"x" * 4096)
        assert queue.call(nvme.sqe(0x0E, nsid=1, cdw10=63, cdw11=1), want=256).ok
    b.close()
    assert a.acquire(A, EA, B, PREEMPT_ABORT) == OK
    assert time.monotonic() - began >= DELAY_MS / 1000
    for n in range(2):
        assert bytes(a.queue.read(n).got) == b"x" * 4096


@pytest.mark.line("R12")
def test_hosts_that_die_with_commands_in_flight_leave_nothing(serve):
    target = serve("--reactors", "2", ns=["mem:16M"])
    for round in range(20):
        host = Host(target.address, round % 3)
        for queue in host.queues:
            for n in range(10):
                queue.submit(nvme.sqe(0x0D, nsid=1, cdw10=2 | 8), bytes(8) + bytes([n + 1] * 8), incapsule=True)
                queue.submit(nvme.sqe(0x0E, nsid=1, cdw10=1023, cdw11=1), want=4096)
        host.close()
    target.no_connections(10 * PATIENCE)
    last = Host(target.address, 3)
    assert last.register(A) == OK and last.io("write") == OK
    assert CONFLICT != last.acquire(A, WE)
