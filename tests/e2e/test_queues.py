"""Queues in use: counters that go round, ids used again, many commands at once, and ends at any moment."""
import os
import random
import select

import pytest

import nvme
from nvmetcp import CAPSULE_RESP, PATIENCE

BLOCK = 4096
MIB = 1 << 20


# ---- what is agreed on, per connection ----

@pytest.mark.parametrize("admin, io", [(0, 3), (3, 0), (1, 2), (2, 1)])
@pytest.mark.line("W03")
def test_each_queue_has_digests_of_its_own(target, admin, io):
    with nvme.Controller(target.address, dgst=admin) as ctrl:
        ctrl.grant()
        data = os.urandom(3 * BLOCK)
        assert ctrl.io_queue(1, dgst=io).write(0, data).ok
        assert bytes(ctrl.io_queue(2, dgst=admin).read(0, 3).got) == data


@pytest.mark.parametrize("piece, blocks", [(4, 3), (12, 3), (4100, 16), (65536, 64)])
@pytest.mark.line("W06")
def test_h2cdata_in_pieces_with_digests(target, piece, blocks):
    """a digest for each piece, whatever its length"""
    with nvme.Controller(target.address, dgst=3) as ctrl:
        ctrl.grant()
        queue = ctrl.io_queue(dgst=3)
        data = os.urandom(blocks * BLOCK)
        queue.h2c_piece = piece
        assert queue.write(64, data).ok
        assert bytes(queue.read(64, blocks).got) == data


@pytest.mark.parametrize("sgl", [nvme.SGL_NONE, nvme.sgl(0, 0)], ids=["transport", "zeros"])
@pytest.mark.line("W10")
def test_commands_without_data_need_no_sgl(ctrl, queue, sgl):
    request = ctrl.admin.submit_raw(nvme.sqe(0x18, sgl1=sgl))
    assert ctrl.admin.wait(request).ok
    for opcode in (0x00, 0x08):
        request = queue.submit_raw(nvme.sqe(opcode, nsid=1, sgl1=sgl))
        assert queue.wait(request).ok


# ---- counters and ids ----

@pytest.mark.parametrize("sq_flow", [True, False])
@pytest.mark.line("W61")
def test_what_is_reserved_in_a_completion_is_zero(target, sq_flow):
    """SQID and the phase bit mean nothing on Fabrics"""
    with nvme.Controller(target.address, sq_flow=sq_flow) as ctrl:
        for queue in (ctrl.admin, ctrl.io_queue(3)):
            for opcode in (0x18, 0xEE):
                queue.submit(nvme.sqe(opcode, nsid=1))
                pdu = queue.conn.expect(CAPSULE_RESP)
                assert pdu.sqid == 0 and pdu.status & 1 == 0


@pytest.mark.parametrize("entries", [2, 3, 5, 7, 16])
@pytest.mark.line("W14", "X17", "W20")
def test_sqhd_goes_round(ctrl, entries):
    """one command at a time, then as many as fit; the last answer has seen all commands consumed"""
    queue = ctrl.io_queue(entries=entries)
    for _ in range(3 * entries):
        assert queue.read(0).sqhd == queue.sent % entries
    for _ in range(3 * entries):
        requests = [queue.submit_read(0, 1) for _ in range(entries - 1)]
        queue.wait(*requests)
        assert all(r.ok for r in requests)
        assert queue.sent % entries in [r.sqhd for r in requests]


@pytest.mark.parametrize("sq_flow", [True, False])
@pytest.mark.line("W16")
def test_a_command_id_is_free_with_its_answer(target, sq_flow):
    """all commands of a queue under one id, one after the other"""
    with nvme.Controller(target.address, sq_flow=sq_flow) as ctrl:
        ctrl.grant()
        queue = ctrl.io_queue()
        for n in range(60):
            data = os.urandom((1, 2, 16)[n % 3] * BLOCK)
            assert queue.write(n, data, cid=0x1111).ok
            assert bytes(queue.read(n, len(data) // BLOCK, cid=0x1111).got) == data
            assert queue.submit_read(1 << 50, 1, cid=0x1111) and not queue.drain()


def anything(queue, rng):
    """A command of any kind, right or wrong: (request, whether it can succeed)."""
    slba = rng.randrange(1000)
    kind = rng.randrange(8)
    if kind == 0:
        return queue.submit_write(slba, bytes(rng.choice((1, 2)) * BLOCK)), True
    if kind == 1:
        return queue.submit_write(slba, bytes(rng.choice((3, 16, 64)) * BLOCK)), True
    if kind == 2:
        return queue.submit(nvme.sqe(0x00, nsid=1)), True
    if kind == 3:
        return queue.submit(nvme.sqe(0x08, nsid=1, cdw10=slba, cdw12=rng.randrange(64))), True
    if kind == 4:
        return queue.submit(nvme.sqe(0xEE, nsid=1), bytes(rng.choice((0, 512, 8192)))), False
    if kind == 5:
        return queue.submit_read(1 << 50, 1), False
    return queue.submit_read(slba, rng.choice((1, 8, 64))), True


@pytest.mark.parametrize("sq_flow", [True, False])
@pytest.mark.line("W18")
def test_mixed_commands_are_answered_once_each(target, sq_flow):
    """the client knows which ids are in flight, and minds an answer to any other"""
    rng = random.Random(77)
    with nvme.Controller(target.address, sq_flow=sq_flow) as ctrl:
        ctrl.grant()
        queue = ctrl.io_queue(entries=128)
        for _ in range(5):
            sent = [anything(queue, rng) for _ in range(100)]
            queue.wait(*[request for request, _ in sent])
            assert all(request.ok == fine for request, fine in sent)
        assert not queue.requests and queue.read(0).ok


# ---- buffers ----

@pytest.mark.line("W30")
def test_more_writes_than_there_are_buffers_for(serve):
    """each queue is asked for a mebibyte at most, and all of them for what there is: the others wait for their turn"""
    target = serve()
    with nvme.Controller(target.address) as ctrl:
        queues = [ctrl.io_queue(qid, entries=8) for qid in range(1, 41)]
        data = [os.urandom(MIB) for _ in range(4)]
        writes = [queue.submit_write(256 * n, data[n]) for queue in queues for n in range(4)]
        while not all(w.done for w in writes):
            ready = select.select([q.conn.sock for q in queues], [], [], 5 * PATIENCE)[0]
            assert ready, "all queues wait"
            for queue in queues:
                if queue.conn.sock in ready:
                    queue.step()
        assert all(w.ok for w in writes)
        for n in range(4):
            assert bytes(queues[n].read(256 * n, 256).got) == data[n]


# ---- the end, at any moment ----

def life(address):
    """What a host does, cut into steps: yields its connections after each."""
    with nvme.Controller(address, enable=False) as ctrl:
        yield ctrl
        ctrl.enable()
        yield ctrl
        ctrl.grant(2)
        ctrl.aer()
        yield ctrl
        queue = ctrl.io_queue(1)
        queue.serve_r2ts = False
        yield ctrl
        queue.submit_write(0, bytes(BLOCK))
        yield ctrl
        write = queue.submit_write(8, bytes(64 * BLOCK))
        yield ctrl
        while not write.r2ts:
            queue.step()
        yield ctrl
        ttag, offset, length = write.r2ts.pop()
        queue.conn.send(queue.conn.h2cdata(write.cid, ttag, offset, bytes(BLOCK), last=False))
        yield ctrl
        queue.conn.send(queue.conn.h2cdata(write.cid, ttag, offset + BLOCK, bytes(length - BLOCK)))
        yield ctrl
        queue.submit_read(0, 256)
        yield ctrl
        queue.submit(nvme.sqe(0x00, nsid=1))
        yield ctrl
        queue.submit_raw(nvme.disconnect_sqe())
        yield ctrl
        ctrl.admin.submit_raw(nvme.property_set_sqe(nvme.CC, nvme.CC_READY | 1 | 1 << 14))
        yield ctrl


def cut(address, steps, how):
    """A host that ends after so many steps; false when its life was over before."""
    for n, ctrl in enumerate(life(address)):
        if n == steps:
            for queue in ctrl.queues:
                getattr(queue.conn, how)()
            return True
    return False


@pytest.mark.parametrize("how", ["reset", "close"])
@pytest.mark.line("W24", "W31")
def test_an_end_at_any_step_leaves_nothing_behind(serve, how):
    target = serve("--max-connections", "16")
    with nvme.Controller(target.address, hostid=b"\3" * 16) as other:
        queue = other.io_queue()
        files = None
        for _ in range(3):
            steps = 0
            while cut(target.address, steps, how):
                assert queue.write(4096, bytes(BLOCK)).ok
                steps += 1
            assert steps > 10
            target.until("the cut connections gone", lambda s: s["connections"] == 2)
            files = files or target.open_files()
            assert target.open_files() <= files
