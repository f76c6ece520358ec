"""Abort of commands of I/O queues: what has not begun ends at once, the rest goes on."""
import contextlib
import os

import pytest

import nvme
from nvme import ABORTED, SEQUENCE
from nvmetcp import tries

BLOCK = 4096
MIB = 1 << 20
ABORT_LIMIT = 0x103


def abort_sqe(queue_id, request):
    return nvme.sqe(0x08, cdw10=request.cid << 16 | queue_id)


def abort(ctrl, queue_id, request):
    """Whether it was aborted."""
    answer = ctrl.admin.call(abort_sqe(queue_id, request))
    assert answer.ok and answer.dw0 in (0, 1)
    return answer.dw0 == 0


def until_asked(queue, request):
    while not request.r2ts:
        queue.step()


@pytest.fixture
def ctrl(serve):
    """Of a target of our own: when a command has begun is not for the standard to say."""
    with nvme.Controller(serve().address) as ctrl:
        ctrl.grant()
        yield ctrl


@pytest.fixture
def waiting(ctrl):
    """A queue with three writes of 1 MiB, of which the first was asked for its data."""
    queue = ctrl.io_queue()
    queue.serve_r2ts = False
    writes = [queue.submit_write(256 * n, os.urandom(MIB)) for n in range(3)]
    until_asked(queue, writes[0])
    yield ctrl, queue, writes


@pytest.mark.line("I27")
def test_a_write_whose_turn_has_not_come_is_aborted(waiting):
    """0:07, and those behind it go on"""
    ctrl, queue, (first, second, third) = waiting
    assert abort(ctrl, 1, second)
    assert queue.wait(second).status == ABORTED
    queue.serve_r2ts = True
    queue.send_data(first)
    queue.wait(first, third)
    assert first.ok and third.ok
    assert bytes(queue.read(512, 256).got) == third.data


@pytest.mark.line("I27")
def test_the_turn_of_a_write_that_was_aborted_is_the_next_ones(ctrl):
    """for which there is room, where there was none for it"""
    queue = ctrl.io_queue()
    queue.serve_r2ts = False
    first, second, third = [queue.submit_write(256 * n, os.urandom(MIB >> shift)) for n, shift in enumerate((1, 0, 2))]
    until_asked(queue, first)
    assert not third.r2ts
    assert abort(ctrl, 1, second)
    assert queue.wait(second).status == ABORTED
    until_asked(queue, third)
    for write in (third, first):
        while not write.done:
            queue.send_data(write) if write.r2ts else queue.step()
        assert write.ok


@pytest.mark.line("I27")
def test_a_write_whose_data_is_asked_for_is_not(waiting):
    """its R2T stands: it ends as if nothing had been said"""
    ctrl, queue, (first, second, third) = waiting
    assert not abort(ctrl, 1, first)
    queue.serve_r2ts = True
    queue.send_data(first)
    queue.wait(first, second, third)
    assert first.ok and second.ok and third.ok
    assert bytes(queue.read(0, 256).got) == first.data


@pytest.mark.line("I27")
def test_writes_of_a_queue_that_leaves_are_aborted(waiting):
    """Disconnect is answered when the others are"""
    ctrl, queue, (first, *later) = waiting
    leaving = queue.submit_raw(nvme.disconnect_sqe())
    assert all(abort(ctrl, 1, write) for write in later)
    queue.send_data(first)
    queue.wait(first, leaving, *later)
    assert first.ok and leaving.ok and all(write.status == ABORTED for write in later)
    queue.conn.expect_close()


@pytest.mark.line("I27")
def test_a_write_that_waits_for_buffers_is_aborted(serve):
    """what it would have asked for can be asked for by others"""
    target = serve()
    with contextlib.ExitStack() as stack:
        ctrl = stack.enter_context(nvme.Controller(target.address))
        ctrl.grant(64)
        holders = []
        for n in range(32):  # more than all buffers there are
            queue = ctrl.io_queue(n + 1)
            queue.serve_r2ts = False
            holders.append((queue, queue.submit_write(0, bytes(MIB))))
        held = 0
        while held < 3:  # 48 of 256; one host may be asked for 56 at a time
            queue, request = holders[held]
            until_asked(queue, request)
            held += 1
        queue, request = holders[31]
        behind = queue.submit_write(512, os.urandom(MIB))
        assert abort(ctrl, 32, request)
        assert queue.wait(request).status == ABORTED
        for holder, request in holders[:31]:
            until_asked(holder, request)
            holder.send_data(request)
            assert holder.wait(request).ok
        queue.serve_r2ts = True
        assert queue.wait(behind).ok


@pytest.mark.line("I27")
def test_a_read_that_waits_for_buffers_is_aborted(serve, tmp_path):
    """what it would have taken, the next one in line takes"""
    target = serve(ns=["fault:hold=0@file:%s/v.img,size=16M" % tmp_path])
    with nvme.Controller(target.address) as ctrl:
        queue = ctrl.io_queue()
        held = [queue.submit_read(0, 256) for _ in range(12)]  # more than a volume has buffers for
        first, second = queue.submit_read(256, 256), queue.submit_read(512, 256)
        assert queue.read(8).ok and not first.done
        assert abort(ctrl, 1, first)
        assert queue.wait(first).status == ABORTED
        assert not second.done
        for read in held:
            assert abort(ctrl, 1, read)
            assert queue.wait(read).status == ABORTED
        assert queue.wait(second).ok and bytes(second.got) == bytes(MIB)
        assert queue.read(256, 256).ok


@pytest.mark.line("I27")
def test_a_write_whose_capsule_waits_for_a_buffer_is_not_aborted(serve, tmp_path):
    """it is half received: it ends as if nothing had been said"""
    target = serve(ns=["fault:hold=0@file:%s/v.img,size=16M" % tmp_path])
    with nvme.Controller(target.address) as ctrl:
        others = [ctrl.io_queue(qid, entries=1024) for qid in (1, 2)]
        for _ in range(600):  # together more than a volume has buffers for
            for other in others:
                other.submit_write(0, bytes(2 * BLOCK))
        queue = ctrl.io_queue(3)
        # One goes to what its connection was promised, one to its reserve; for the third there is nothing.
        first, second, third = [queue.submit_write(at, b"x" * 2 * BLOCK) for at in (0, 0, 8)]
        assert not any(abort(ctrl, 3, third) for _ in range(50))
        for write in (first, second):
            assert abort(ctrl, 3, write)
            assert queue.wait(write).status == ABORTED
        assert queue.wait(third).ok
        assert bytes(queue.read(8, 16).got) == b"x" * 2 * BLOCK + bytes(14 * BLOCK), "long reads have buffers of their own"


@pytest.mark.line("I27")
def test_half_of_a_whole_fused_pair_is_not_aborted(waiting):
    """also where it has not begun: both end together"""
    ctrl, queue, (first, *_) = waiting
    pair = [queue.submit(nvme.sqe(opcode, nsid=1, flags=nvme.PSDT_SGL | half, cdw10=1024), bytes(BLOCK),
                         incapsule=False) for opcode, half in ((0x05, 1), (0x01, 2))]
    assert not abort(ctrl, 1, pair[0]) and not abort(ctrl, 1, pair[1])
    queue.serve_r2ts = True
    queue.send_data(first)
    assert all(half.ok for half in queue.wait(*pair))


@pytest.mark.line("I27")
def test_half_of_a_fused_pair_is_aborted(ctrl):
    """the other half, when it comes, is alone: 0:0A"""
    queue = ctrl.io_queue()
    compare = queue.submit(nvme.sqe(0x05, nsid=1, flags=nvme.PSDT_SGL | 1), bytes(BLOCK))
    assert abort(ctrl, 1, compare)
    assert queue.wait(compare).status == ABORTED
    write = queue.submit(nvme.sqe(0x01, nsid=1, flags=nvme.PSDT_SGL | 2), bytes(BLOCK))
    assert queue.wait(write).status == 0x00A
    assert queue.read(0).ok


@pytest.mark.line("I27")
def test_a_command_that_waits_for_its_turn_to_look_at_blocks_is_aborted(serve):
    """four Copies at a slow device hold the memory for that; a fifth command waits"""
    target = serve(ns=["fault:delay-write=300@mem:16M"])
    with nvme.Controller(target.address) as ctrl:
        queue = ctrl.io_queue()
        source = bytes(8) + (0).to_bytes(8, "little") + (0).to_bytes(16, "little")
        copies = [queue.submit(nvme.sqe(0x19, nsid=1, cdw10=64 + 8 * n), source) for n in range(4)]
        verify = queue.submit(nvme.sqe(0x0C, nsid=1))
        assert queue.read(0).ok
        assert abort(ctrl, 1, verify)
        assert queue.wait(verify).status == ABORTED
        assert not abort(ctrl, 1, copies[0])
        queue.wait(*copies)
        assert all(copy.ok for copy in copies)


@pytest.mark.line("I27")
def test_a_read_that_was_given_back_is_aborted(ctrl):
    """its answer was not taken in time"""
    queue, _ = ctrl.try_io_queue(1, rcvbuf=16384)
    reads = [queue.submit_read(0, 256) for _ in range(16)]
    answers = [ctrl.admin.call(abort_sqe(1, reads[-1])) for _ in range(200)]
    for _ in tries():
        if any(answer.dw0 == 0 for answer in answers):
            break
        answers = [ctrl.admin.call(abort_sqe(1, reads[-1]))]
    assert any(answer.dw0 == 0 for answer in answers)
    queue.drain()
    assert reads[-1].status == ABORTED and all(read.ok for read in reads[:-1])


@pytest.mark.line("I27")
def test_a_command_at_a_device_that_does_not_let_go_is_not_aborted(serve):
    target = serve(ns=["fault:delay-write=300@mem:16M"])
    with nvme.Controller(target.address) as ctrl:
        queue = ctrl.io_queue()
        write = queue.submit_write(0, os.urandom(BLOCK))
        assert queue.read(8).ok
        assert not abort(ctrl, 1, write)
        assert queue.wait(write).ok


@pytest.mark.line("I27")
def test_a_command_at_a_device_that_lets_go_is_aborted(serve):
    """0:07, and it is not done"""
    target = serve(ns=["fault:hold=5@mem:16M"])
    with nvme.Controller(target.address) as ctrl:
        queue = ctrl.io_queue()
        write = queue.submit_write(4, b"x" * 2 * BLOCK)
        assert queue.read(8).ok
        assert abort(ctrl, 1, write)
        assert queue.wait(write).status == ABORTED
        assert bytes(queue.read(4).got) == bytes(BLOCK)


@pytest.mark.line("I27")
def test_an_abort_of_nothing(ctrl):
    """an unknown command, a queue that is not there, one that is done: success, and DW0 bit 0"""
    queue, event = ctrl.io_queue(), ctrl.aer()
    read = queue.read(0)
    assert not abort(ctrl, 1, read)
    for queue_id in (2, 128, 129, 0xFFFF):
        assert not abort(ctrl, queue_id, read) and not abort(ctrl, queue_id, event), "of another queue"
    assert queue.read(0).ok and not event.done


@pytest.mark.line("I27")
def test_more_aborts_than_acl_says(ctrl):
    """1:03 for each that is too many"""
    acl = ctrl.identified(1)[258]
    queue = ctrl.io_queue()
    read = queue.read(0)
    aborts = [ctrl.admin.submit(abort_sqe(1, read), send=False) for _ in range(acl + 5)]
    ctrl.admin.conn.send(*[request.capsule for request in aborts])
    ctrl.admin.wait(*aborts)
    assert [request.status for request in aborts] .count(ABORT_LIMIT) == 4
    assert sum(request.ok for request in aborts) == acl + 1
    assert not abort(ctrl, 1, read)


@pytest.mark.line("L05")
def test_an_abort_before_enabling(target):
    """0:0C, as anything else"""
    with nvme.Controller(target.address, enable=False) as ctrl:
        request = ctrl.admin.call(nvme.sqe(0x08, cdw10=1))
        assert request.status == SEQUENCE


@pytest.mark.line("I27", "W31")
def test_aborts_at_the_end_of_everything(serve):
    """of queues and of controllers that go meanwhile"""
    target = serve("--reactors", "3")
    for n in range(60):
        ctrl = nvme.Controller(target.address)
        ctrl.grant()
        queue = ctrl.io_queue()
        queue.serve_r2ts = False
        writes = [queue.submit_write(0, bytes(64 * BLOCK)) for _ in range(8)]
        aborts = [ctrl.admin.submit(abort_sqe(1, write), send=False) for write in writes[-4:]]
        ctrl.admin.conn.send(*[request.capsule for request in aborts])
        (queue if n % 2 else ctrl).close()
        ctrl.close()
    target.no_connections()
