"""The tests' own client: digests and PDUs against the vectors of the specification's examples."""
import socket
import struct

import pytest

import nvme
from nvmetcp import (C2H_DATA, CAPSULE_RESP, DDGST, HDGST, LAST, SUCCESS, Closed, Conn, Violation, align,
                     capsule, ch, crc32c, digest, h2cdata, icreq, icresp, patch, r2t, termreq, with_data)


@pytest.mark.parametrize("data, crc, wire", [
    (b"123456789", 0xE3069283, "83 92 06 E3"),
    (bytes(32), 0x8A9136AA, "AA 36 91 8A"),
    (b"\xff" * 32, 0x62A8AB43, "43 AB A8 62"),
    (bytes(range(32)), 0x46DD794E, "4E 79 DD 46"),
    (bytes(range(31, -1, -1)), 0x113FDB5C, "5C DB 3F 11"),
    (bytes(4096), 0x98F94189, "89 41 F9 98"),
    (b"", 0, "00 00 00 00"),
])
@pytest.mark.line("D01")
def test_crc_vectors(data, crc, wire):
    assert crc32c(data) == crc
    assert digest(data) == bytes.fromhex(wire)


@pytest.mark.line("D01")
def test_r2t_vector():
    pdu = with_data(r2t(1, 2, 0, 4096), b"", hdgst=True)
    assert pdu.hex(" ") == ("09 01 18 00 1c 00 00 00 01 00 02 00 00 00 00 00 00 10 00 00 00 00 00 00 "
                            "d0 11 9e 6d")


@pytest.mark.line("D01")
def test_capsule_resp_vector():
    header = ch(CAPSULE_RESP, 0, 24, 0, 24) + bytes(8) + bytes.fromhex("03 00 00 00 07 00 00 00")
    assert with_data(header, b"", hdgst=True)[24:] == bytes.fromhex("38 2D 47 4B")


def test_layout_of_a_capsule():
    sqe = nvme.sqe(0x01, cid=0x1234, nsid=1)
    assert len(sqe) == 64
    plain = capsule(sqe, b"data")
    assert plain[:8] == bytes.fromhex("04 00 48 48 4c 00 00 00") and plain[72:] == b"data"
    both = capsule(sqe, b"data", hdgst=True, ddgst=True)
    assert both[:8] == bytes.fromhex("04 03 48 4c 54 00 00 00")
    assert both[72:76] == digest(both[:72]) and both[76:80] == b"data" and both[80:] == digest(b"data")
    bare = capsule(sqe, hdgst=True, ddgst=True)
    assert bare[:8] == bytes.fromhex("04 01 48 00 4c 00 00 00") and len(bare) == 76
    padded = capsule(sqe, b"data", pad=b"\xee" * 8)
    assert padded[3] == 80 and padded[72:80] == b"\xee" * 8 and padded[80:] == b"data"


def test_layout_of_commands():
    assert len(nvme.connect_sqe()) == len(nvme.property_get_sqe(0)) == len(nvme.property_set_sqe(0, 0)) == 64
    assert len(nvme.disconnect_sqe()) == 64 and len(nvme.connect_data()) == 1024
    connect = nvme.connect_sqe(cid=7, qid=3, sqsize=31, kato=5000, cattr=4)
    assert connect[0] == 0x7F and connect[1] == 0x40 and connect[4] == 1
    assert struct.unpack_from("<HHHBxI", connect, 40) == (0, 3, 31, 4, 5000)
    assert connect[39] == 1 and struct.unpack_from("<I", connect, 32) == (1024,)
    data = nvme.connect_data(cntlid=5, subnqn="s", hostnqn="h")
    assert data[16:18] == b"\5\0" and data[256:258] == b"s\0" and data[512:514] == b"h\0"
    assert struct.unpack_from("<BxxxIQ", nvme.property_set_sqe(0x14, 0x460001), 40) == (0, 0x14, 0x460001)
    assert nvme.property_get_sqe(0, 8)[40] == 1
    assert nvme.disconnect_sqe()[4] == 8
    read = nvme.sqe(0x02, nsid=1, sgl1=nvme.sgl(0x5A, 4096), cdw10=9, cdw15=7)
    assert read[39] == 0x5A and read[40] == 9 and read[60] == 7


def test_layout_of_the_others():
    assert len(icreq()) == len(icresp()) == 128
    request = icreq(pfv=1, hpda=31, dgst=3, maxr2t=2)
    assert request[8:16] == bytes.fromhex("01 00 1f 03 02 00 00 00")
    term = termreq(2, 1, 0x04030201, b"12345678")
    assert term[:8] == bytes.fromhex("02 00 18 00 20 00 00 00")
    assert term[8:14] == bytes.fromhex("01 00 01 02 03 04") and term[24:] == b"12345678"
    data = h2cdata(1, 2, 4096, b"abcd", last=True)
    assert data[:8] == bytes.fromhex("06 04 18 18 1c 00 00 00")
    assert struct.unpack_from("<HHII", data, 8) == (1, 2, 4096, 4)
    assert [align(24, p) for p in (0, 1, 31)] == [24, 24, 128] and align(28, 31) == 128 and align(28, 1) == 32
    assert patch(b"abcdef", 2, 0x5A) == b"abZdef" and patch(b"abcdef", 4, b"xy") == b"abcdxy"


# ---- the strict reader, against a peer that says what the test wants ----

@pytest.fixture
def puppet():
    """A Conn, and a function that sends bytes to it."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        with Conn(server.getsockname()) as conn:
            peer, _ = server.accept()
            with peer:
                yield conn, peer.sendall, peer


def c2h(cid, offset, data, flags=LAST, **terms):
    header = ch(C2H_DATA, flags, 24, 0, 0) + struct.pack("<HHII4x", cid, 0, offset, len(data))
    return with_data(header, data, **terms)


def resp(cid, status=0, sqhd=1, dw0=0, **terms):
    return with_data(ch(CAPSULE_RESP, 0, 24, 0, 0) + struct.pack("<IIHHHH", dw0, 0, sqhd, 0, cid, status),
                     b"", **terms)


def test_a_right_read_is_taken(puppet):
    conn, say, _ = puppet
    conn.hdgst = conn.ddgst = True
    conn.hpda = 31
    queue = nvme.Queue(conn)
    request = queue.submit_read(0, 1, block_size=512)
    say(c2h(request.cid, 0, b"a" * 500, 0, hdgst=True, ddgst=True, pda=31) +
        c2h(request.cid, 500, b"b" * 12, LAST, hdgst=True, ddgst=True, pda=31) +
        resp(request.cid, hdgst=True))
    assert queue.wait(request).ok and bytes(request.got) == b"a" * 500 + b"b" * 12


@pytest.mark.parametrize("bad", [
    ch(0x05, 0, 24, 0, 23), ch(0x05, 1, 24, 0, 24), ch(0x05, 0, 25, 0, 24), ch(0x04, 0, 72, 0, 72),
    ch(0x07, SUCCESS, 24, 24, 28), ch(0x07, 0, 24, 28, 32), ch(0x08, 0, 24, 0, 24), ch(0x05, 0, 24, 24, 24),
])
def test_a_wrong_header_is_seen(puppet, bad):
    conn, say, _ = puppet
    say(bad + bytes(64))
    with pytest.raises(Violation):
        conn.recv()


@pytest.mark.parametrize("answer", [
    c2h(0, 4, b"a" * 508) , c2h(0, 0, b"a" * 516), c2h(1, 0, b"a" * 512), resp(1), resp(0), resp(0, 1),
    resp(0, sqhd=2), c2h(0, 0, b"a" * 512, LAST | SUCCESS), c2h(0, 0, b"a" * 512, 0) + resp(0),
    c2h(0, 0, b"a" * 100) + c2h(0, 100, b"a" * 412), r2t(0, 0, 0, 512),
])
def test_a_wrong_answer_to_a_read_is_seen(puppet, answer):
    conn, say, peer = puppet
    queue = nvme.Queue(conn)
    request = queue.submit_read(0, 1, block_size=512, cid=0)
    say(answer)
    peer.shutdown(socket.SHUT_WR)
    with pytest.raises(Violation):
        queue.wait(request)


@pytest.mark.parametrize("answer", [
    r2t(0, 0, 4, 508), r2t(0, 0, 0, 0), r2t(0, 0, 0, 16388), r2t(1, 0, 0, 512),
    r2t(0, 0, 0, 512) + r2t(0, 1, 512, 512), c2h(0, 0, b"a" * 512),
    r2t(0, 0, 0, 512) + resp(0),
])
def test_a_wrong_answer_to_a_write_is_seen(puppet, answer):
    conn, say, peer = puppet
    conn.maxh2cdata = 4096
    queue = nvme.Queue(conn)
    queue.serve_r2ts = False
    request = queue.submit_write(0, bytes(16384), block_size=512, cid=0)
    say(answer)
    peer.shutdown(socket.SHUT_WR)
    with pytest.raises(Violation):
        queue.wait(request)


def test_r2ts_are_served_in_order_and_in_pieces(puppet):
    conn, say, peer = puppet
    conn.maxh2cdata = 4096
    queue = nvme.Queue(conn)
    request = queue.submit_write(0, bytes(range(256)) * 48, block_size=4096, incapsule=False, cid=9)
    say(r2t(9, 3, 0, 8192) + r2t(9, 4, 8192, 4096) + resp(9))
    assert queue.wait(request).ok
    sent = b""
    while len(sent) < 72 + 3 * (24 + 4096):
        sent += peer.recv(65536)
    sent = sent[72:]
    heads = [struct.unpack_from("<BBBBIHHII", sent, at * 4120) for at in range(3)]
    assert [(h[1], h[5], h[6], h[7], h[8]) for h in heads] == [
        (0, 9, 3, 0, 4096), (LAST, 9, 3, 4096, 4096), (LAST, 9, 4, 8192, 4096)]


@pytest.mark.parametrize("flaw", [HDGST, DDGST])
def test_a_wrong_digest_is_seen(puppet, flaw):
    conn, say, _ = puppet
    conn.hdgst = conn.ddgst = True
    pdu = c2h(0, 0, b"a" * 64, hdgst=True, ddgst=True)
    at = 20 if flaw == HDGST else 40
    say(patch(pdu, at, pdu[at] ^ 1))
    with pytest.raises(Violation):
        conn.recv()


def test_a_termreq_is_judged(puppet):
    conn, say, peer = puppet
    offender = icreq(pfv=1)
    say(termreq(3, 1, 8, offender))
    peer.close()
    conn.expect_term((1, 8), offender)


@pytest.mark.parametrize("said", [
    termreq(3, 1, 9, icreq(pfv=1)), termreq(3, 1, 8, icreq()), termreq(3, 2, 8, icreq(pfv=1)),
    termreq(3, 1, 8, icreq(pfv=1)) + b"x", patch(termreq(3, 1, 8, icreq(pfv=1)), 20, 1),
    termreq(3, 1, 8, icreq(pfv=1)[:32]),
])
def test_a_wrong_termreq_is_seen(puppet, said):
    conn, say, peer = puppet
    say(said)
    peer.shutdown(socket.SHUT_WR)
    with pytest.raises(Violation):
        conn.expect_term((1, 8), icreq(pfv=1))


def test_an_end_between_pdus_is_told_from_one_within(puppet):
    conn, say, peer = puppet
    say(resp(0))
    say(resp(0)[:20])
    peer.shutdown(socket.SHUT_WR)
    conn.recv()
    with pytest.raises(Violation):
        conn.recv()
    with pytest.raises(Closed):
        conn.recv()
