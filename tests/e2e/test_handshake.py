"""From TCP connect to the first capsule: ICReq, ICResp, Connect, and what may go wrong between them."""
import pytest

import nvme
from nvmetcp import (C2H_TERM, CAPSULE_RESP, ICRESP, PATIENCE, Closed, Conn, capsule, h2cdata, icreq, patch, require,
                     u32)

CONNECT = capsule(nvme.connect_sqe(cid=0x77), nvme.connect_data())


def assert_connected(conn):
    resp = conn.expect(CAPSULE_RESP)
    assert resp.cid == 0x77 and resp.status == 0 and 1 <= resp.dw0 & 0xFFFF <= 0xFFEF


@pytest.mark.line("C01", "C03")
def test_icresp_is_right_to_the_byte(conn):
    resp = conn.handshake()
    assert resp.cpda == 0


@pytest.mark.parametrize("dgst", [0, 1, 2, 3])
@pytest.mark.line("C02")
def test_digests_are_echoed_exactly(target, conn, dgst):
    """and the connection works with what was agreed"""
    conn.handshake(dgst=dgst)
    conn.send(conn.capsule(nvme.connect_sqe(cid=0x77), nvme.connect_data()))
    assert_connected(conn)


@pytest.mark.line("C02", "W01")
def test_reserved_dgst_bits_and_bytes_do_not_matter(conn):
    """reserved fields are ignored on receipt"""
    conn.send(patch(patch(icreq(), 11, 0xFC), 16, b"\xff" * 112))
    conn.handshaken()


@pytest.mark.parametrize("maxr2t", [0, 1, 0xFFFF, 0xFFFFFFFF])
@pytest.mark.line("C01", "W02")
def test_any_maxr2t_is_taken(conn, maxr2t):
    conn.handshake(maxr2t=maxr2t)


@pytest.mark.parametrize("hpda", [0, 1, 31])
@pytest.mark.line("C01", "X18")
def test_any_legal_hpda_is_taken(conn, hpda):
    resp = conn.handshake(hpda=hpda)
    assert resp.cpda == 0


@pytest.mark.parametrize("pfv", [1, 0x100, 0xFFFF])
@pytest.mark.line("C04")
def test_an_unknown_version_is_refused(conn, bystander, pfv):
    bad = icreq(pfv=pfv)
    conn.send(bad)
    conn.expect_term([(1, 8), (6, 8)], bad)


@pytest.mark.parametrize("hpda", [32, 33, 255])
@pytest.mark.line("C05")
def test_too_large_an_alignment_is_refused(conn, bystander, hpda):
    bad = icreq(hpda=hpda)
    conn.send(bad)
    conn.expect_term((1, 10), bad)


@pytest.mark.parametrize("offset, value, fei", [
    (4, u32(127), 4), (4, u32(129), 4), (4, u32(0), 4), (4, u32(0xFFFFFFFF), 4),
    (2, 127, 2), (2, 129, 2), (2, 0, 2), (1, 1, 1), (1, 2, 1), (1, 4, 1), (1, 0x80, 1), (3, 128, 3),
])
@pytest.mark.line("C06", "P03", "P04")
def test_a_wrong_common_header_of_icreq_is_refused(conn, bystander, offset, value, fei):
    bad = patch(icreq(), offset, value)
    conn.send(bad)
    conn.expect_term((1, fei), bad)


@pytest.mark.parametrize("first", [CONNECT, capsule(nvme.sqe(0x06)), h2cdata(0, 0, 0, bytes(512))],
                         ids=["connect", "identify", "data"])
@pytest.mark.line("C07")
def test_the_first_pdu_must_be_icreq(conn, bystander, first):
    """FES 2"""
    conn.send(first)
    conn.expect_term((2, 0), first)


@pytest.mark.parametrize("zeros", [8, 128, 4096])
@pytest.mark.line("C06")
def test_zeros_are_no_icreq(conn, bystander, zeros):
    """TYPE 00h with an HLEN of 0 is a wrong HLEN, however much follows"""
    conn.send(bytes(zeros))
    conn.expect_term((1, 2))


@pytest.mark.parametrize("zeros", [8, 128, 4096])
@pytest.mark.line("C08", "P04")
def test_zeros_after_the_handshake_are_fatal(open_conn, bystander, zeros):
    open_conn.send(bytes(zeros))
    open_conn.expect_term([(1, 2), (2, 0)])


@pytest.mark.line("C08")
def test_a_second_icreq_is_fatal(open_conn, bystander):
    open_conn.send(icreq())
    open_conn.expect_term([(2, 0), (1, 0)], icreq())


@pytest.mark.line("C08")
def test_a_second_icreq_after_connect_is_fatal(open_conn, bystander):
    open_conn.send(CONNECT)
    assert_connected(open_conn)
    open_conn.send(icreq())
    open_conn.expect_term([(2, 0), (1, 0)], icreq())


@pytest.mark.line("C08", "C10")
def test_two_icreqs_in_one_segment_are_fatal(conn, bystander):
    """the first may be answered or not"""
    conn.send(icreq() + icreq())
    first = conn.recv()
    if first.type == ICRESP:
        first = conn.expect(C2H_TERM)
    require(first.type == C2H_TERM and first.fes in (1, 2), "%r", first)
    conn.finish()
    conn.expect_close()


@pytest.mark.line("C09")
def test_icreq_a_byte_at_a_time_works(conn):
    conn.send_slowly(icreq())
    conn.handshaken()
    conn.send_slowly(CONNECT)
    assert_connected(conn)


@pytest.mark.line("C10")
def test_icreq_and_connect_in_one_segment_are_served_or_refused(conn, bystander):
    """never a hang"""
    conn.send(icreq() + CONNECT)
    first = conn.recv()
    if first.type == ICRESP:
        second = conn.recv()
        require(second.type == CAPSULE_RESP and second.status == 0 or second.type == C2H_TERM and
                second.fes == 2, "%r", second)
    else:
        require(first.type == C2H_TERM and first.fes == 2, "%r", first)


@pytest.mark.parametrize("said", [b"", icreq()[:1], icreq()[:8], icreq()[:127]])
@pytest.mark.line("C11", "P09")
def test_no_icreq_in_time_is_the_end(serve, said):
    target = serve("--handshake-timeout", "150")
    with Conn(target.address) as conn:
        conn.send(said)
        conn.expect_close()
    assert target.no_connections()["connections"] == 0


@pytest.mark.parametrize("said", [0, 1, 8, 72, 100, len(CONNECT) - 1])
@pytest.mark.line("C12", "P09")
def test_no_connect_in_time_is_the_end(serve, said):
    target = serve("--handshake-timeout", "150")
    with Conn(target.address) as conn:
        conn.handshake()
        conn.send(CONNECT[:said])
        assert conn.expect_close() < PATIENCE
    assert target.no_connections()["connections"] == 0


@pytest.mark.line("C12")
def test_the_time_limit_is_for_the_handshake_only(serve):
    """who is connected may be silent (keep alive has its own clock)"""
    target = serve("--handshake-timeout", "100", "--stall-timeout", "100")
    with nvme.Controller(target.address) as ctrl, Conn(target.address) as late:
        late.expect_close()  # a whole handshake limit later
        with Conn(target.address) as later:
            later.expect_close()
        assert ctrl.keep_alive().ok


@pytest.mark.line("C13")
def test_a_reset_at_each_byte_of_the_handshake_leaks_nothing(serve):
    target = serve()
    with nvme.Controller(target.address):
        files, connections = None, target.stats()["connections"]
        for cut in [*range(0, 129), *range(130, 128 + len(CONNECT) + 1, 7), 128 + len(CONNECT)]:
            with Conn(target.address) as conn:
                conn.send(icreq()[:cut])
                if cut > 128:
                    conn.handshaken()
                    conn.send(CONNECT[:cut - 128])
                conn.reset()
        target.until("the cut connections gone", lambda s: s["connections"] == connections)
        files = target.open_files()
        with Conn(target.address) as conn:
            conn.handshake()
        target.until("the last one gone", lambda s: s["connections"] == connections)
        assert target.open_files() <= files
        assert files < 64


@pytest.mark.line("C13", "W31")
def test_many_cut_handshakes_cost_no_memory(serve):
    """what a peer opens and drops is freed"""
    target = serve()

    def rounds(count):
        for _ in range(count):
            with Conn(target.address) as conn:
                conn.send(icreq() + CONNECT[:200])
                conn.reset()
        target.no_connections()
        return target.rss_kib()

    first = rounds(100)
    assert rounds(600) - first < 512


@pytest.mark.line("C13")
def test_an_orderly_end_after_each_step(target):
    """closing without a reset frees as well"""
    before = target.stats()["connections"]
    for steps in range(3):
        with Conn(target.address) as conn:
            if steps > 0:
                conn.handshake()
            if steps > 1:
                conn.send(CONNECT)
                assert_connected(conn)
            conn.finish()
            conn.expect_close()
    target.until("all gone", lambda s: s["connections"] == before)


@pytest.mark.line("C14")
def test_the_connection_limit_refuses_and_the_others_live(serve):
    """closed at accept, or Connect 1:81"""
    target = serve("--max-connections", "3")
    with nvme.Controller(target.address) as ctrl:
        queue = ctrl.io_queue(1)
        ctrl.io_queue(2)
        try:
            with Conn(target.address) as conn:
                conn.send(icreq())
                conn.handshaken()
                conn.send(CONNECT)
                resp = conn.expect(CAPSULE_RESP)
                assert resp.status >> 1 & 0x7FF == nvme.CONNECT_BUSY
        except (Closed, ConnectionError):
            pass
        assert queue.write(0, bytes(4096)).ok and ctrl.keep_alive().ok
    target.no_connections()
    with nvme.Controller(target.address) as ctrl:
        assert ctrl.keep_alive().ok


@pytest.mark.line("C01", "W42")
def test_ipv6_is_served(serve):
    """over ::1"""
    target = serve(listen=("[::1]:0", "127.0.0.1:0"))
    assert [a[0] for a in target.addresses] == ["::1", "127.0.0.1"]
    for address in target.addresses:
        with nvme.Controller(address) as ctrl:
            assert ctrl.keep_alive().ok
