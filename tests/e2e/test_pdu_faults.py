"""PDUs that break a rule: the TermReq that names it, and that only the offender goes."""
import os

import pytest

import nvme
from nvmetcp import (C2H_DATA, C2H_TERM, CAPSULE_RESP, DDGST, H2C_TERM, HDGST, ICRESP, LAST, R2T, Closed,
                     Conn, Violation, capsule, ch, h2cdata, icreq, patch, require, termreq, u32, with_data)

IDENTIFY = capsule(nvme.sqe(0x06, cid=1, sgl1=nvme.sgl(0x5A, 4096), cdw10=1))
CONNECT = capsule(nvme.connect_sqe(), nvme.connect_data())
WRITE = capsule(nvme.sqe(0x01, cid=3, nsid=1, sgl1=nvme.sgl(0x01, 4096)), bytes(4096))
DATA = h2cdata(0, 0, 0, bytes(64))


def opened(target, **how):
    conn = Conn(target.address)
    conn.handshake(**how)
    return conn


def refuse(target, offender, faults, **how):
    """A connection of its own says it and is judged for it."""
    with opened(target, **how) as conn:
        conn.send(offender)
        try:
            conn.expect_term(faults, offender)
        except (Violation, Closed) as violation:
            raise AssertionError("%s...: %r" % (offender[:24].hex(" "), violation))


@pytest.mark.line("P01")
def test_every_reserved_type_is_refused(target, bystander):
    """1/0"""
    for type in [0x08, *range(0x0A, 0x100)]:
        refuse(target, ch(type, 0, 24, 0, 24) + bytes(16), (1, 0))


@pytest.mark.parametrize("type, hlen", [
    (ICRESP, 128), (C2H_TERM, 24), (CAPSULE_RESP, 24), (C2H_DATA, 24), (R2T, 24)])
@pytest.mark.line("P02")
def test_every_type_of_the_other_direction_is_refused(target, bystander, type, hlen):
    """1/0"""
    refuse(target, ch(type, 0, hlen, 0, hlen) + bytes(hlen - 8), (1, 0))


@pytest.mark.line("P01", "C07")
def test_a_reserved_type_before_icreq_is_refused(target, conn):
    bad = ch(0x55, 0, 24, 0, 24) + bytes(16)
    conn.send(bad)
    conn.expect_term([(1, 0), (2, 0)], bad)


@pytest.mark.parametrize("pdu, legal", [(CONNECT, HDGST | DDGST), (IDENTIFY, HDGST | DDGST),
                                        (DATA, HDGST | DDGST | LAST)],
                         ids=["connect", "identify", "data"])
@pytest.mark.line("P03")
def test_every_illegal_flag_is_refused(target, bystander, pdu, legal):
    """1/1"""
    for bit in range(8):
        if not 1 << bit & legal:
            refuse(target, patch(pdu, 1, pdu[1] | 1 << bit), (1, 1))


@pytest.mark.parametrize("pdu", [CONNECT, IDENTIFY, DATA], ids=["connect", "identify", "data"])
@pytest.mark.line("P04")
def test_every_wrong_hlen_is_refused(target, bystander, pdu):
    """1/2"""
    for hlen in (pdu[2] - 1, pdu[2] + 1, 0, 7, 8, 255):
        refuse(target, patch(pdu, 2, hlen), (1, 2))


@pytest.mark.parametrize("pdo", [1, 4, 20, 23, 24, 68, 71, 255])
@pytest.mark.line("P05")
def test_data_inside_the_header_is_refused(target, bystander, pdo):
    """1/3"""
    if pdo < 72:
        refuse(target, patch(CONNECT, 3, pdo), (1, 3))
    if pdo < 24:
        refuse(target, patch(DATA, 3, pdo), (1, 3))
    refuse(target, patch(DATA, 3, 0), (1, 3))
    refuse(target, patch(with_data(CONNECT[:72], CONNECT[72:], hdgst=True), 3, 72), (1, 3), dgst=1)


@pytest.mark.line("P05")
def test_pdo_of_a_capsule_without_data_is_tolerated_or_refused(target, bystander):
    with nvme.Controller(target.address) as ctrl:
        bad = patch(IDENTIFY, 3, 72)
        ctrl.admin.conn.send(bad)
        pdu = ctrl.admin.conn.recv()
        require(pdu.type == C2H_DATA or pdu.type == C2H_TERM and (pdu.fes, pdu.fei) == (1, 3), "%r", pdu)


@pytest.mark.line("P06")
def test_misaligned_data_is_refused(target, bystander):
    """CPDA 0 means four bytes; 1/3"""
    for pdo in (73, 74, 75):
        refuse(target, patch(patch(CONNECT, 3, pdo), 4, u32(pdo + 1024)) + bytes(pdo - 72), (1, 3))
    for pdo in (25, 26, 27):
        refuse(target, patch(patch(DATA, 3, pdo), 4, u32(pdo + 64)) + bytes(pdo - 24), (1, 3))


@pytest.mark.line("P05")
def test_data_behind_the_pdu_is_refused(target, bystander):
    """PDO > PLEN"""
    refuse(target, patch(DATA, 3, 92), [(1, 3), (1, 4)])
    refuse(target, patch(patch(CONNECT, 3, 92), 4, u32(80)), [(1, 3), (1, 4)])


@pytest.mark.line("P05", "D06")
def test_padding_before_the_data_is_taken(target):
    """PDO may be larger than the header, if aligned"""
    with opened(target) as conn:
        conn.send(capsule(nvme.connect_sqe(), nvme.connect_data(), pad=b"\xa5" * 24))
        assert conn.expect(CAPSULE_RESP).status == 0


@pytest.mark.parametrize("pdu", [CONNECT, IDENTIFY, DATA, termreq(H2C_TERM, 1, 0)],
                         ids=["connect", "identify", "data", "term"])
@pytest.mark.line("P07")
def test_plen_that_cannot_be_is_refused_without_taking_memory(target, bystander, pdu):
    """1/4 and no allocation of that size"""
    before = target.rss_kib()
    hlen = pdu[2]
    for plen in (0, 8, hlen - 1, 0xFFFFFFFF, 0x80000000):
        bad = patch(pdu, 4, u32(plen))
        if pdu[0] == H2C_TERM:
            with opened(target) as conn:
                conn.send(bad)
                conn.expect_close()
        else:
            # With that PLEN, a PDO outside of it or in the header is the lower wrong field.
            pdo_wrong = plen < pdu[3] or pdu[3] == 0 and plen > hlen
            refuse(target, bad, [(1, 4), (1, 3)] if pdo_wrong else (1, 4))
    assert target.rss_kib() - before < 4096


@pytest.mark.line("P07", "X03")
def test_plen_just_too_large_for_a_capsule_is_refused(target, bystander):
    """8 KiB is what a capsule may bring"""
    big = capsule(nvme.connect_sqe(sgl1=nvme.sgl(0x01, 8196)), bytes(8196))
    with opened(target) as conn:
        conn.send(big)
        conn.expect_term([(5, 0), (1, 4)], big)


@pytest.mark.line("P08")
def test_of_two_wrong_fields_the_lower_is_named(target, bystander):
    refuse(target, patch(patch(CONNECT, 1, 0x80), 2, 71), (1, 1))
    refuse(target, patch(patch(CONNECT, 2, 71), 3, 1), (1, 2))
    refuse(target, patch(patch(CONNECT, 2, 73), 4, u32(0xFFFFFFFF)), (1, 2))
    refuse(target, patch(patch(DATA, 3, 1), 4, u32(0xFFFFFFFF)), (1, 3))
    refuse(target, patch(patch(CONNECT, 0, 0x0B), 1, 0xFF), (1, 0))
    with Conn(target.address) as conn:
        bad = icreq(pfv=1, hpda=32)
        conn.send(bad)
        conn.expect_term([(1, 8), (6, 8)], bad)


@pytest.mark.line("P09", "W07")
def test_a_capsule_cut_at_every_byte_is_served(target):
    """in two segments"""
    with nvme.Controller(target.address) as ctrl:
        ctrl.grant()
        queue = ctrl.io_queue()
        data = os.urandom(512 * 8)
        for cut in [*range(1, 73), 100, 1000, 4167]:
            request = queue.submit_write(5, data, send=False)
            queue.conn.send(request.capsule[:cut])
            ctrl.keep_alive()  # the target has turned meanwhile
            queue.conn.send(request.capsule[cut:])
            assert queue.wait(request).ok
        assert bytes(queue.read(5).got) == data


@pytest.mark.line("P09")
def test_a_capsule_that_never_ends_is_timed_out(serve):
    target = serve("--stall-timeout", "150")
    for cut in (1, 7, 8, 40, 71, 72, 73, 2000):
        with nvme.Controller(target.address) as ctrl:
            queue = ctrl.io_queue()
            request = queue.submit_write(5, bytes(4096), send=False)
            queue.conn.send(request.capsule[:cut])
            queue.conn.expect_close()
            assert ctrl.keep_alive().ok


@pytest.mark.parametrize("dgst", [0, 1, 2, 3])
@pytest.mark.line("P10")
def test_a_termreq_has_no_digest(target, dgst):
    with opened(target, dgst=dgst) as conn:
        bad = patch(conn.capsule(nvme.connect_sqe(), nvme.connect_data()), 0, 0x0B)
        conn.send(bad)
        conn.expect_term((1, 0), bad)


@pytest.mark.parametrize("bad, fault", [(icreq(), (2, 0)), (patch(CONNECT, 40, u32(1020)), (1, 4)), (DATA, (1, 10))],
                         ids=["icreq", "connect", "data"])
@pytest.mark.line("P10")
def test_a_header_is_quoted_whole(target, bad, fault):
    """where more of it was looked at than its first eight bytes"""
    with opened(target) as conn:
        conn.send(bad)
        assert conn.expect_term(fault, bad).data == bad[:bad[2]]


@pytest.mark.parametrize("hlen, plen", [(0, 72), (7, 72), (128, 72), (255, 8)])
@pytest.mark.line("P10")
def test_a_nonsensical_hlen_is_not_quoted_by(target, hlen, plen):
    """the common header then, and never more than 128 bytes"""
    refuse(target, patch(patch(IDENTIFY, 2, hlen), 4, u32(plen)), (1, 2))


@pytest.mark.line("P11")
def test_nothing_follows_a_termreq(target, bystander):
    """commands sent before and after the fault"""
    with nvme.Controller(target.address) as ctrl:
        conn = ctrl.admin.conn
        conn.send(IDENTIFY + patch(IDENTIFY, 0, 0x0B) + IDENTIFY * 3)
        conn.next_term()
        try:
            conn.send(IDENTIFY * 3)
        except ConnectionError:
            pass
        conn.finish()
        conn.expect_close()


@pytest.mark.line("P11")
def test_writes_behind_a_fault_do_not_happen(target, queue):
    before = os.urandom(4096)
    assert queue.write(50, before).ok
    first = queue.submit_write(51, before, send=False)
    later = queue.submit_write(50, os.urandom(4096), send=False)
    queue.conn.send(first.capsule + patch(IDENTIFY, 0, 0x0B) + later.capsule)
    queue.conn.next_term()
    with nvme.Controller(target.address) as ctrl:
        ctrl.grant()
        assert bytes(ctrl.io_queue().read(50).got) == before


@pytest.mark.line("P12")
def test_who_never_closes_after_a_termreq_is_closed(serve):
    """at the latest after the stall limit"""
    target = serve("--stall-timeout", "200", "--handshake-timeout", "200")
    with Conn(target.address) as conn:
        conn.handshake()
        conn.send(patch(IDENTIFY, 0, 0x0B))
        conn.expect(C2H_TERM)
        conn.expect_close()
    with Conn(target.address) as conn:
        conn.handshake()
        conn.send(patch(IDENTIFY, 0, 0x0B))  # and never read
        assert target.no_connections()["connections"] == 0
    with nvme.Controller(target.address) as ctrl:  # for a queue the time for the handshake is over
        ctrl.admin.conn.send(patch(IDENTIFY, 0, 0x0B))
        ctrl.admin.conn.expect(C2H_TERM)
        ctrl.admin.conn.expect_close()


@pytest.mark.parametrize("quoted", [0, 1, 8, 128, 129])
@pytest.mark.line("P13", "P14")
def test_a_termreq_is_answered_by_closing(target, bystander, quoted):
    """whether right or malformed"""
    with opened(target) as conn:
        conn.send(termreq(H2C_TERM, 2, 0, bytes(quoted)))
        conn.expect_close()


@pytest.mark.line("P14")
def test_a_termreq_that_is_too_short_is_answered_by_closing(target, bystander):
    with opened(target) as conn:
        conn.send(patch(termreq(H2C_TERM, 2, 0, b""), 4, u32(23)))
        conn.expect_close()


@pytest.mark.line("P13", "C07")
def test_a_termreq_before_icreq_is_answered_by_closing(target, bystander, conn):
    """a TermReq is never answered by one"""
    conn.send(termreq(H2C_TERM, 2, 0))
    try:
        pdu = conn.recv()
        require(pdu.type == C2H_TERM and pdu.fes == 2, "%r", pdu)
    except Closed:
        pass


@pytest.mark.line("P13", "P15")
def test_a_termreq_ends_an_io_queue_only(target, ctrl):
    first, second = ctrl.io_queue(1), ctrl.io_queue(2)
    first.conn.send(termreq(H2C_TERM, 1, 0))
    first.conn.expect_close()
    assert second.write(0, bytes(4096)).ok and ctrl.keep_alive().ok


@pytest.mark.line("P15")
def test_only_the_faulty_queue_dies(target, ctrl, bystander):
    queues = [ctrl.io_queue(qid) for qid in range(1, 5)]
    bad = patch(WRITE, 0, 0x0B)
    queues[1].conn.send(bad)
    queues[1].conn.expect_term((1, 0), bad)
    for queue in (queues[0], queues[2], queues[3]):
        assert queue.write(7, bytes(4096)).ok
    assert ctrl.keep_alive().ok
    again = ctrl.io_queue(2)  # its id is free again
    assert again.read(7).ok


@pytest.mark.line("P16")
def test_a_fault_on_the_admin_queue_ends_the_association(target, ctrl, bystander):
    """the I/O queues close too"""
    queues = [ctrl.io_queue(qid) for qid in range(1, 4)]
    bad = patch(IDENTIFY, 0, 0x0B)
    ctrl.admin.conn.send(bad)
    for queue in queues:
        queue.conn.expect_close()  # whether its host closes the admin queue or not
    ctrl.admin.conn.expect_term((1, 0), bad)
    _, connect = ctrl.try_io_queue(4)
    assert connect.status == nvme.CONNECT_PARAMS and connect.dnr
    assert connect.dw0 & 0xFFFF == 16 and connect.dw0 >> 16 & 1


@pytest.mark.line("P10")
def test_the_log_names_the_broken_rule(serve):
    """in plain words for the operator"""
    target = serve()
    with opened(target) as conn:
        conn.send(patch(IDENTIFY, 2, 71))
        conn.expect_term((1, 2))
    target.no_connections()
    assert "HLEN" in target.stderr()


@pytest.mark.line("P15", "W31")
def test_thousands_of_faults_leak_nothing(serve):
    target = serve()
    bad = patch(IDENTIFY, 0, 0x0B)

    def rounds(count):
        for _ in range(count):
            with opened(target) as conn:
                conn.send(bad)
                conn.expect(C2H_TERM)
        target.no_connections()
        return target.rss_kib()

    first = rounds(100)
    assert rounds(600) - first < 512
