"""How data travels: in the capsule, by R2T and H2CData, by C2HData; and the rules of each."""
import os

import pytest

import nvme
from nvmetcp import C2H_DATA, C2H_TERM, CAPSULE_RESP, R2T, Closed, capsule, h2cdata, patch, require, u32

BLOCK = 4096
MDTS = 1 << 20


@pytest.fixture
def paced(ctrl):
    """An I/O queue whose R2Ts the test serves itself."""
    queue = ctrl.io_queue()
    queue.serve_r2ts = False
    return queue


def asked(queue, slba=0, blocks=4, **how):
    """A write and its first R2T."""
    request = queue.submit_write(slba, os.urandom(blocks * BLOCK), **how)
    while not request.r2ts:
        queue.step()
    return request, request.r2ts[0]


def fatal(queue, pdu, faults):
    queue.conn.send(pdu)
    queue.conn.expect_term(faults, pdu)


# ---- in-capsule data ----

@pytest.mark.parametrize("size", [BLOCK, 2 * BLOCK])
@pytest.mark.line("X01")
def test_writes_in_the_capsule(queue, size):
    """one block to the limit"""
    data = os.urandom(size)
    request = queue.write(10, data, incapsule=True)
    assert request.ok and request.asked == 0
    assert bytes(queue.read(10, size // BLOCK).got) == data


@pytest.mark.parametrize("size", [512, 1024, 4608, 8192])
@pytest.mark.line("X01", "O16")
def test_writes_of_small_blocks_in_the_capsule(serve, size):
    target = serve("--block-size", "512")
    with nvme.Controller(target.address) as ctrl:
        queue = ctrl.io_queue()
        data = os.urandom(size)
        assert queue.write(3, data, block_size=512, incapsule=True).ok
        assert bytes(queue.read(3, size // 512, block_size=512).got) == data


@pytest.mark.line("X01")
def test_small_writes_by_r2t(queue):
    """a host may but need not use the capsule"""
    data = os.urandom(BLOCK)
    request = queue.write(10, data, incapsule=False)
    assert request.ok and request.asked == BLOCK
    assert bytes(queue.read(10).got) == data


@pytest.mark.parametrize("extra", [4, BLOCK])
@pytest.mark.line("X02")
def test_a_capsule_beyond_the_io_limit_is_fatal(queue, bystander, extra):
    """FES 5"""
    data = bytes(nvme.INCAPSULE + extra)
    bad = capsule(nvme.sqe(0x01, nsid=1, cid=4, sgl1=nvme.sgl(1, len(data)), cdw12=2), data)
    fatal(queue, bad, [(5, 0)])


@pytest.mark.line("X03")
def test_the_capsule_limit_of_admin_queues(target, ctrl, bystander):
    """8192 are taken, whatever the command makes of them; 8193 are FES 5"""
    request = ctrl.admin.submit_raw(nvme.sqe(0x09, sgl1=nvme.sgl(1, 8192), cdw10=0x0B), bytes(8192),
                                    incapsule=True)
    ctrl.admin.wait(request)
    assert ctrl.keep_alive().ok
    data = bytes(8193)
    bad = capsule(nvme.sqe(0x09, sgl1=nvme.sgl(1, 8193), cdw10=0x0B), data)
    fatal(ctrl.admin, bad, [(5, 0)])


@pytest.mark.parametrize("length", [0, 512, BLOCK - 4, BLOCK + 4, 0xFFFFFFFF])
@pytest.mark.line("X04")
def test_a_capsule_whose_sgl_has_another_length_is_fatal(queue, bystander, length):
    """1/4"""
    bad = capsule(nvme.sqe(0x01, nsid=1, cid=4, sgl1=nvme.sgl(1, length)), bytes(BLOCK))
    fatal(queue, bad, [(1, 4)])


@pytest.mark.line("X04")
def test_a_capsule_without_the_data_its_sgl_promises_is_fatal(queue, bystander):
    bad = capsule(nvme.sqe(0x01, nsid=1, cid=4, sgl1=nvme.sgl(1, BLOCK)))
    fatal(queue, bad, [(1, 4)])


@pytest.mark.parametrize("address", [1, 4096, 1 << 63])
@pytest.mark.line("X21")
def test_a_capsule_with_an_offset_is_fatal(queue, bystander, address):
    """6/32"""
    bad = capsule(nvme.sqe(0x01, nsid=1, cid=4, sgl1=nvme.sgl(1, BLOCK, address)), bytes(BLOCK))
    fatal(queue, bad, [(6, 32)])


# ---- R2T and H2CData ----

@pytest.mark.parametrize("blocks", [3, 16, 17, 255, 256])
@pytest.mark.line("X05", "X06", "X15")
def test_large_writes_and_reads(queue, blocks):
    """up to MDTS; the client checks order, bounds and one R2T at a time"""
    data = os.urandom(blocks * BLOCK)
    assert queue.write(64, data).ok
    request = queue.read(64, blocks)
    assert request.ok and bytes(request.got) == data


@pytest.mark.parametrize("piece", [4, 4096, 65536, 4100])
@pytest.mark.line("X05")
def test_h2cdata_in_pieces_of_any_size(queue, piece):
    size = 16 * BLOCK if piece == 4 else 64 * BLOCK
    data = os.urandom(size)
    queue.h2c_piece = piece
    assert queue.write(64, data).ok
    assert bytes(queue.read(64, size // BLOCK).got) == data


@pytest.mark.parametrize("maxr2t", [0, 1, 3, 0xFFFFFFFF])
@pytest.mark.line("X06", "X07")
def test_r2ts_never_exceed_maxr2t(target, maxr2t):
    """R2Ts are held back as long as possible; the client counts them"""
    with nvme.Controller(target.address, maxr2t=maxr2t) as ctrl:
        queue = ctrl.io_queue()
        queue.serve_r2ts = False
        data = os.urandom(MDTS)
        request = queue.submit_write(0, data)
        while not request.done:
            queue.step()
            ctrl.keep_alive()  # whatever else it wants to send, it has had the time
            while request.r2ts:
                queue.send_data(request)
        assert request.ok
        assert bytes(queue.read(0, 256).got) == data


@pytest.mark.line("X08")
def test_h2cdata_beyond_maxh2cdata_is_fatal(paced, bystander):
    """FES 5; another target's FES may be 4 where it is also more than was asked for"""
    request, (ttag, offset, length) = asked(paced, blocks=256)
    size = paced.conn.maxh2cdata + 4
    bad = h2cdata(request.cid, ttag, offset, bytes(size), last=False)
    fatal(paced, bad, [(5, 0), (4, 0)] if size > length and nvme.STRANGER else (5, 0))


@pytest.mark.parametrize("change", [1, 0x7FFF])
@pytest.mark.line("X09")
def test_an_unknown_ttag_is_fatal(paced, bystander, change):
    """1/10"""
    request, (ttag, offset, length) = asked(paced)
    bad = h2cdata(request.cid, ttag ^ change, offset, request.data[:length])
    fatal(paced, bad, (1, 10))


@pytest.mark.line("X09")
def test_a_stale_ttag_is_fatal(paced, bystander):
    """1/10 once its data has come"""
    request, (ttag, offset, length) = asked(paced)
    pdu = h2cdata(request.cid, ttag, offset, request.data[:length])
    paced.send_data(request)
    paced.wait(request)
    fatal(paced, pdu, (1, 10))


@pytest.mark.line("X09")
def test_h2cdata_nobody_asked_for_is_fatal(queue, bystander):
    fatal(queue, h2cdata(0, 0, 0, bytes(512)), [(1, 10), (1, 8)])


@pytest.mark.line("X10")
def test_another_commands_id_is_fatal(paced, bystander):
    """1/8"""
    first, (ttag, offset, length) = asked(paced, 0)
    second, _ = asked(paced, 100)
    bad = h2cdata(second.cid, ttag, offset, first.data[:length])
    fatal(paced, bad, [(1, 8), (1, 10)])


@pytest.mark.parametrize("offset, size", [
    (4, 64), (BLOCK, BLOCK), (4 * BLOCK, 64), (0, 4 * BLOCK + 4), (0xFFFFFFFC, 64), (4 * BLOCK - 4, 8)])
@pytest.mark.line("X11")
def test_a_gap_or_an_excess_is_fatal(paced, bystander, offset, size):
    """FES 2 or 4"""
    request, (ttag, start, length) = asked(paced)
    assert (start, length) == (0, 4 * BLOCK) or offset >= length
    fatal(paced, h2cdata(request.cid, ttag, offset, bytes(size), last=False), [(2, 0), (4, 0)])


@pytest.mark.parametrize("again", [0, 60, 68, BLOCK])
@pytest.mark.line("X11")
def test_an_overlap_or_a_gap_after_the_first_piece_is_fatal(paced, bystander, again):
    request, (ttag, start, _) = asked(paced)
    paced.conn.send(h2cdata(request.cid, ttag, start, bytes(64), last=False))
    fatal(paced, h2cdata(request.cid, ttag, again, bytes(64), last=False), [(2, 0), (4, 0)])


@pytest.mark.line("X12")
def test_last_too_early_is_fatal(paced, bystander):
    """FES 2"""
    request, (ttag, start, _) = asked(paced)
    fatal(paced, h2cdata(request.cid, ttag, start, bytes(BLOCK), last=True), [(2, 0)])


@pytest.mark.line("X12")
def test_last_missing_is_fatal(paced, bystander):
    """FES 2"""
    request, (ttag, start, length) = asked(paced)
    fatal(paced, h2cdata(request.cid, ttag, start, bytes(length), last=False), [(2, 0)])


@pytest.mark.parametrize("datal", [0, 60, 68, 0xFFFFFFFF])
@pytest.mark.line("X13")
def test_a_datal_other_than_the_data_is_fatal(paced, bystander, datal):
    """1/16"""
    request, (ttag, start, _) = asked(paced)
    bad = patch(h2cdata(request.cid, ttag, start, bytes(64), last=False), 16, u32(datal))
    fatal(paced, bad, (1, 16))


@pytest.mark.line("X13")
def test_h2cdata_without_data_is_fatal(paced, bystander):
    """1/16 (or a PDO or PLEN that says so)"""
    request, (ttag, start, _) = asked(paced)
    bad = patch(patch(h2cdata(request.cid, ttag, start, b"", last=False), 3, 24), 4, u32(24))
    fatal(paced, bad, [(1, 16), (1, 4), (1, 3)])


@pytest.mark.line("X14")
def test_h2cdata_of_two_commands_may_interleave(paced):
    requests = [asked(paced, 1000 * n, 16)[0] for n in range(3)]
    places = {r: r.r2ts.pop() for r in requests}
    done = {r: 0 for r in requests}
    turn = 0
    while not all(r.done for r in requests):
        for r in requests:
            if places[r] is None:
                continue
            ttag, offset, length = places[r]
            step = min(length - done[r], (4096, 8192, 12)[turn % 3])
            at = offset + done[r]
            done[r] += step
            paced.conn.send(h2cdata(r.cid, ttag, at, r.data[at:at + step], done[r] == length))
            if done[r] == length:
                places[r], done[r] = None, 0
            turn += 1
        if not any(places.values()):
            paced.step()
            for r in requests:
                if r.r2ts:
                    places[r] = r.r2ts.pop()
    for n, r in enumerate(requests):
        assert r.ok and bytes(paced.read(1000 * n, 16).got) == r.data


@pytest.mark.line("X14", "W09")
def test_other_commands_pass_a_write_that_waits(paced):
    """a capsule between two H2CData"""
    request, (ttag, start, length) = asked(paced, 0, 4)
    request.r2ts.clear()
    paced.conn.send(h2cdata(request.cid, ttag, 0, request.data[:BLOCK], last=False))
    assert paced.write(500, bytes(BLOCK)).ok
    assert paced.read(500).ok
    paced.conn.send(h2cdata(request.cid, ttag, BLOCK, request.data[BLOCK:], last=True))
    assert paced.wait(request).ok


@pytest.mark.line("P09", "W07")
def test_h2cdata_cut_at_every_byte_of_its_header(paced):
    """with data that goes straight to its place"""
    for cut in [*range(1, 26), 28, 100, 4000]:
        request, (ttag, start, length) = asked(paced, 0, 4)
        request.r2ts.clear()
        pdu = h2cdata(request.cid, ttag, start, request.data[:length])
        paced.conn.send(pdu[:cut])
        paced.conn.send(pdu[cut:])
        assert paced.wait(request).ok
        assert bytes(paced.read(0, 4).got) == request.data


# ---- C2HData ----

@pytest.mark.parametrize("sq_flow", [True, False])
@pytest.mark.parametrize("blocks", [1, 8, 256])
@pytest.mark.line("X15", "X16", "X17")
def test_reads_end_as_flow_control_says(target, sq_flow, blocks):
    """SUCCESS only with flow control off, else a CapsuleResp with its SQHD"""
    with nvme.Controller(target.address, sq_flow=sq_flow) as ctrl:
        queue = ctrl.io_queue()
        for _ in range(200 if blocks == 1 else 3):
            request = queue.read(0, blocks)
            assert request.ok
            assert not (sq_flow and request.by_success)
            if sq_flow:
                assert request.sqhd == queue.sent % queue.entries


@pytest.mark.line("X16")
def test_an_admin_queue_without_flow_control(target):
    """DW0 of an Identify is zero, so SUCCESS may stand; the client checks"""
    with nvme.Controller(target.address, sq_flow=False) as ctrl:
        assert ctrl.identify(1).ok
        request = ctrl.get_feature(0x07)
        assert not request.by_success
        assert ctrl.identify(0x55).status == nvme.INVALID_FIELD


@pytest.mark.line("X16", "F08", "W04")
def test_flow_control_may_differ_between_queues(target):
    with nvme.Controller(target.address, sq_flow=True) as ctrl:
        on, off = ctrl.io_queue(1, sq_flow=True), ctrl.io_queue(2, sq_flow=False)
        for _ in range(5):
            assert on.read(0).ok and off.read(0).ok
            assert on.write(0, bytes(BLOCK)).ok and off.write(0, bytes(BLOCK)).ok


@pytest.mark.parametrize("dgst", [0, 1, 2, 3])
@pytest.mark.parametrize("hpda", [0, 1, 2, 12, 31])
@pytest.mark.line("X18", "W05")
def test_padding_follows_hpda(target, hpda, dgst):
    """the client knows where the data must begin"""
    with nvme.Controller(target.address, hpda=hpda, dgst=dgst) as ctrl:
        assert ctrl.identified(1)[536:538] != b"\0\0"
        queue = ctrl.io_queue(dgst=dgst, hpda=hpda)
        data = os.urandom(3 * BLOCK)
        assert queue.write(0, data).ok
        assert bytes(queue.read(0, 3).got) == data
        queue.wait(*[queue.submit_read(n, 1 + n % 2) for n in range(20)])


@pytest.mark.line("X15")
def test_many_reads_in_flight_arrive_whole(queue):
    """C2HData of different commands may interleave, each is contiguous"""
    data = [os.urandom(8 * BLOCK) for _ in range(16)]
    queue.wait(*[queue.submit_write(8 * n, d) for n, d in enumerate(data)])
    reads = [queue.submit_read(8 * n, 8) for n in list(range(16)) * 4]
    queue.wait(*reads)
    for n, read in zip(list(range(16)) * 4, reads):
        assert read.ok and bytes(read.got) == data[n]


# ---- failing commands ----

@pytest.mark.line("X19")
def test_a_write_that_fails_early_gets_no_r2t(queue):
    for command in (nvme.sqe(0x01, nsid=99, cdw12=15), nvme.sqe(0x01, nsid=1, cdw10=0xFFFFFFFF, cdw12=15)):
        request = queue.submit(command, bytes(16 * BLOCK))
        queue.wait(request)
        assert request.status in (nvme.INVALID_NS, nvme.LBA_RANGE) and request.asked == 0


@pytest.mark.line("X19")
def test_a_failing_write_has_its_capsule_data_swallowed(queue):
    request = queue.call(nvme.sqe(0x01, nsid=99), bytes(BLOCK))
    assert request.status == nvme.INVALID_NS
    request = queue.call(nvme.sqe(0xEE, nsid=1), bytes(8192))
    assert request.status == nvme.INVALID_OPCODE
    assert queue.write(0, bytes(BLOCK)).ok


@pytest.mark.parametrize("sq_flow", [True, False])
@pytest.mark.line("X20", "O20")
def test_a_read_error_is_no_success(serve, sq_flow):
    target = serve(ns=["fault:read-error=5@mem:64M"])
    with nvme.Controller(target.address, sq_flow=sq_flow) as ctrl:
        queue = ctrl.io_queue()
        for slba, blocks in ((5, 1), (0, 64), (4, 2)):
            request = queue.read(slba, blocks)
            assert request.status == nvme.READ_ERROR and not request.by_success
        assert queue.read(0, 5).ok and queue.read(6).ok


# ---- SGLs ----

@pytest.mark.parametrize("id", [0x00, 0x40, 0x0F, 0x10, 0x20, 0x30, 0x50, 0x5F, 0xF0, 0x0A, 0x4A, 0x6A])
@pytest.mark.line("X21")
def test_sgls_of_other_kinds_are_refused(target, id):
    """0:11, or FES 6 with the SGL's byte"""
    with nvme.Controller(target.address) as ctrl:
        queue = ctrl.io_queue()
        request = queue.submit_raw(nvme.sqe(0x02, nsid=1, sgl1=nvme.sgl(id, BLOCK)), want=BLOCK)
        pdu = queue.conn.recv()
        if pdu.type == C2H_TERM:
            assert (pdu.fes, pdu.fei) == (6, 47)
        else:
            assert pdu.type == CAPSULE_RESP and pdu.status >> 1 & 0x7FF == nvme.SGL_TYPE, pdu


@pytest.mark.line("X21", "W11")
def test_a_read_with_an_in_capsule_sgl_is_refused(target):
    """reads never carry in-capsule data"""
    with nvme.Controller(target.address) as ctrl:
        queue = ctrl.io_queue()
        bad = capsule(nvme.sqe(0x02, nsid=1, cid=9, sgl1=nvme.sgl(1, BLOCK)), bytes(BLOCK))
        queue.conn.send(bad)
        pdu = queue.conn.recv()
        require(pdu.type == C2H_TERM or pdu.type == CAPSULE_RESP and pdu.status >> 1 & 0x7FF in (
            nvme.SGL_TYPE, nvme.INVALID_FIELD), "%r", pdu)


@pytest.mark.parametrize("length", [0, 512, BLOCK - 4, BLOCK + 4, 2 * BLOCK, 0xFFFFFFFF])
@pytest.mark.line("X22")
def test_an_sgl_that_does_not_fit_the_transfer_is_refused(queue, length):
    """0:0F; others may use a longer one in part"""
    request = queue.submit_raw(nvme.sqe(0x02, nsid=1, sgl1=nvme.sgl(0x5A, length)), want=BLOCK)
    queue.wait(request)
    assert request.status == nvme.SGL_LENGTH or nvme.STRANGER and request.ok and length > BLOCK
    request = queue.submit_raw(nvme.sqe(0x01, nsid=1, sgl1=nvme.sgl(0x5A, length)), bytes(BLOCK))
    queue.wait(request)
    assert request.status == nvme.SGL_LENGTH or nvme.STRANGER and request.ok and length > BLOCK
    assert queue.read(0).ok


@pytest.mark.parametrize("psdt", [0x00, 0x80, 0xC0])
@pytest.mark.line("X23")
def test_psdt_other_than_sgl_is_refused(ctrl, psdt):
    """0:02"""
    queue = ctrl.io_queue()
    request = queue.submit_raw(nvme.sqe(0x02, nsid=1, flags=psdt, sgl1=nvme.sgl(0x5A, BLOCK)), want=BLOCK)
    assert queue.wait(request).status == nvme.INVALID_FIELD
    request = ctrl.admin.submit_raw(nvme.sqe(0x06, flags=psdt, cdw10=1, sgl1=nvme.sgl(0x5A, 4096)), want=4096)
    assert ctrl.admin.wait(request).status == nvme.INVALID_FIELD


# ---- command ids and depth ----

@pytest.mark.line("X24")
def test_any_command_id_is_echoed(queue):
    """sparse, high, all at once"""
    ids = [0xFFFF, 0xF001, 0, 1, 0x8000, 0x1234, 0x7FFF, *range(0x4000, 0xC000, 0x777)]
    queue.wait(*[queue.submit_read(n, 1, cid=cid) for n, cid in enumerate(ids)])
    queue.wait(*[queue.submit_write(n, bytes(4 * BLOCK), cid=cid) for n, cid in enumerate(ids)])


@pytest.mark.parametrize("sq_flow", [True, False])
@pytest.mark.line("X25")
def test_a_queue_of_1024_entries_filled(target, sq_flow):
    """with SQ flow control 1023 may be in flight"""
    with nvme.Controller(target.address, sq_flow=sq_flow) as ctrl:
        queue = ctrl.io_queue(entries=1024)
        data = os.urandom(BLOCK)
        assert queue.write(0, data).ok
        for _ in range(3):
            requests = [queue.submit_read(0, 1, send=False) for _ in range(1023)]
            queue.conn.send(*[r.capsule for r in requests])
            queue.wait(*requests)
            assert all(r.ok and bytes(r.got) == data for r in requests)
        requests = [queue.submit_write(n, data, send=False) for n in range(1023)]
        for at in range(0, 1023, 64):
            queue.conn.send(*[r.capsule for r in requests[at:at + 64]])
        queue.wait(*requests)
        assert all(r.ok for r in requests)


@pytest.mark.line("X26")
def test_more_commands_than_the_queue_has_entries_are_bounded(ctrl, bystander):
    """refused (FES 2, or a status; by others as they like) or served; never unbounded memory"""
    queue = ctrl.io_queue(entries=8)
    queue.serve_r2ts = False
    # Writes that wait for their data stay in flight.
    requests = [queue.submit_write(n, bytes(4 * BLOCK)) for n in range(7)]
    for _ in requests:
        queue.step()
    for n in range(50):
        queue.submit_write(n, bytes(4 * BLOCK))
    try:
        pdu = queue.conn.recv()
        while pdu.type == R2T:
            pdu = queue.conn.recv()
    except Closed:
        assert nvme.STRANGER
        return
    require(pdu.type == C2H_TERM and pdu.fes == 2 or pdu.type == CAPSULE_RESP and pdu.status, "%r", pdu)
    assert ctrl.keep_alive().ok


@pytest.mark.line("W17")
def test_a_command_id_in_flight_used_again(ctrl, bystander):
    """0:03, or the end of the connection, or (it cannot be told) both are served; never a crash"""
    queue = ctrl.io_queue()
    queue.serve_r2ts = False
    request = queue.submit_write(0, bytes(4 * BLOCK), cid=7)
    while not request.r2ts:
        queue.step()
    queue.conn.send(capsule(nvme.sqe(0x02, nsid=1, cid=7, sgl1=nvme.sgl(0x5A, BLOCK))))
    pdu = queue.conn.recv()
    require(pdu.type in (C2H_TERM, CAPSULE_RESP, C2H_DATA), "%r", pdu)
    assert ctrl.keep_alive().ok
