"""Header and data digests: wrong ones, missing ones, and that right ones cover what they should."""
import os

import pytest

import nvme
from nvmetcp import DDGST, HDGST, CAPSULE_RESP, Conn, capsule, crc32c, digest, h2cdata, patch

BLOCK = 4096


@pytest.fixture
def digested(target):
    """Controller and I/O queue with both digests."""
    with nvme.Controller(target.address, dgst=3) as ctrl:
        ctrl.grant()
        yield ctrl, ctrl.io_queue(dgst=3)


def flip(data, at, bit=0):
    return patch(data, at, data[at] ^ 1 << bit)


@pytest.mark.parametrize("at", [8, 12, 40, 71])
@pytest.mark.parametrize("dgst", [1, 3])
@pytest.mark.line("D02")
def test_a_flipped_header_bit_is_fatal(target, bystander, at, dgst):
    """FES 3, FEI the digest that was received"""
    with Conn(target.address) as conn:
        conn.handshake(dgst=dgst)
        good = conn.capsule(nvme.connect_sqe(), nvme.connect_data())
        conn.send(flip(good, at))
        conn.expect_term((3, crc32c(good[:72])), flip(good, at))


@pytest.mark.line("D02")
def test_a_flipped_header_digest_is_fatal(target, bystander):
    with Conn(target.address) as conn:
        conn.handshake(dgst=1)
        bad = flip(conn.capsule(nvme.connect_sqe(), nvme.connect_data()), 73, 5)
        conn.send(bad)
        conn.expect_term((3, int.from_bytes(bad[72:76], "little")), bad)


@pytest.mark.line("D02", "P15")
def test_a_flipped_header_of_h2cdata_is_fatal_to_its_queue_only(digested, bystander):
    ctrl, queue = digested
    queue.serve_r2ts = False
    request = queue.submit_write(0, bytes(4 * BLOCK))
    while not request.r2ts:
        queue.step()
    ttag, offset, length = request.r2ts[0]
    good = queue.conn.h2cdata(request.cid, ttag, offset, bytes(length))
    queue.conn.send(flip(good, 9))
    queue.conn.expect_term((3, crc32c(good[:24])), flip(good, 9))
    assert ctrl.keep_alive().ok


@pytest.mark.parametrize("at", [76, 76 + 2000, 76 + BLOCK - 1, 76 + BLOCK, 76 + BLOCK + 3])
@pytest.mark.line("D03")
def test_a_flipped_bit_of_capsule_data_fails_the_command_only(digested, at):
    """0:22, the connection lives, nothing is written"""
    _, queue = digested
    before = os.urandom(BLOCK)
    assert queue.write(3, before).ok
    request = queue.submit_write(3, os.urandom(BLOCK), send=False)
    queue.conn.send(flip(request.capsule, at))
    queue.wait(request)
    assert request.status == nvme.TRANSIENT and not request.dnr
    assert bytes(queue.read(3).got) == before
    assert queue.write(3, bytes(BLOCK)).ok


@pytest.mark.parametrize("which", ["first", "middle", "last", "all"])
@pytest.mark.line("D04")
def test_a_flipped_bit_of_h2cdata_fails_the_command_only(digested, which):
    """the data is taken to its end, 0:22 comes, nothing is written"""
    _, queue = digested
    queue.serve_r2ts = False
    before = os.urandom(16 * BLOCK)
    write = queue.submit_write(32, before)
    while not write.done:
        queue.step()
        while write.r2ts:
            queue.send_data(write)
    request = queue.submit_write(32, os.urandom(16 * BLOCK))
    sent = 0
    while not request.done:
        queue.step()
        for ttag, offset, length in request.r2ts:
            pieces = range(offset, offset + length, BLOCK)
            for at in pieces:
                final = at + BLOCK == 16 * BLOCK
                pdu = queue.conn.h2cdata(request.cid, ttag, at, request.data[at:at + BLOCK],
                                         at == pieces[-1])
                hit = {"first": at == 0, "middle": at == 8 * BLOCK, "last": final, "all": True}[which]
                queue.conn.send(flip(pdu, 28 + 100) if hit else pdu)
                sent += BLOCK
        request.r2ts.clear()
    assert sent == 16 * BLOCK
    assert request.status == nvme.TRANSIENT and not request.dnr
    read = queue.read(32, 16)
    assert bytes(read.got) == before


@pytest.mark.parametrize("dgst, flag", [(0, HDGST), (0, DDGST), (1, HDGST), (1, DDGST), (2, HDGST), (2, DDGST),
                                        (3, HDGST), (3, DDGST)])
@pytest.mark.line("D05")
def test_a_digest_flag_other_than_agreed_is_fatal(target, bystander, dgst, flag):
    """missing or extra; 1/1"""
    with Conn(target.address) as conn:
        conn.handshake(dgst=dgst)
        terms = {"hdgst": bool(dgst & 1) ^ (flag == HDGST), "ddgst": bool(dgst & 2) ^ (flag == DDGST)}
        bad = capsule(nvme.connect_sqe(), nvme.connect_data(), **terms)
        conn.send(bad)
        conn.expect_term((1, 1), bad)


@pytest.mark.parametrize("dgst, flag", [(0, HDGST), (0, DDGST), (3, HDGST), (3, DDGST)])
@pytest.mark.line("D05")
def test_a_digest_flag_of_h2cdata_other_than_agreed_is_fatal(target, bystander, dgst, flag):
    with nvme.Controller(target.address, dgst=dgst) as ctrl:
        queue = ctrl.io_queue(dgst=dgst)
        queue.serve_r2ts = False
        request = queue.submit_write(0, bytes(4 * BLOCK))
        while not request.r2ts:
            queue.step()
        ttag, offset, length = request.r2ts[0]
        terms = {"hdgst": bool(dgst & 1) ^ (flag == HDGST), "ddgst": bool(dgst & 2) ^ (flag == DDGST)}
        bad = h2cdata(request.cid, ttag, offset, bytes(length), **terms)
        queue.conn.send(bad)
        queue.conn.expect_term((1, 1), bad)


@pytest.mark.parametrize("pad", [b"", b"\0" * 8, b"\xff" * 8, bytes(range(52))])
@pytest.mark.line("D06")
def test_padding_changes_no_digest(target, digested, pad):
    _, queue = digested
    data = os.urandom(BLOCK)
    request = queue.submit_write(9, data, send=False)
    queue.conn.send(capsule(request.capsule[8:72], data, hdgst=True, ddgst=True, pad=pad))
    assert queue.wait(request).ok
    assert bytes(queue.read(9).got) == data


@pytest.mark.parametrize("ddgstf", [0, DDGST])
@pytest.mark.line("D07")
def test_a_capsule_without_data_has_no_data_digest(target, ddgstf):
    """the flag may be set or not"""
    with nvme.Controller(target.address, dgst=3) as ctrl:
        request = ctrl.admin.submit(nvme.sqe(0x18), send=False)
        header = patch(request.capsule[:72], 1, HDGST | ddgstf)
        ctrl.admin.conn.send(header + digest(header))
        assert ctrl.admin.wait(request).ok


@pytest.mark.parametrize("dgst", [1, 2, 3])
@pytest.mark.parametrize("blocks", [1, 2, 16, 256])
@pytest.mark.line("D08")
def test_digests_of_reads_are_right(target, dgst, blocks):
    """the reader checks each C2HData, however many there are"""
    with nvme.Controller(target.address, dgst=dgst) as ctrl:
        queue = ctrl.io_queue(dgst=dgst)
        data = os.urandom(blocks * BLOCK)
        assert queue.write(1000, data).ok
        request = queue.read(1000, blocks)
        assert request.ok and bytes(request.got) == data


@pytest.mark.parametrize("dgst", [1, 2, 3])
@pytest.mark.line("D08")
def test_digests_of_admin_data_are_right(target, dgst):
    with nvme.Controller(target.address, dgst=dgst) as ctrl:
        assert len(ctrl.identified(1)) == 4096 and len(ctrl.logged(2, 512)) == 512


@pytest.mark.parametrize("at", [76, 76 + 1024])
@pytest.mark.line("D03")
def test_a_flipped_bit_of_connect_data_fails_connect(target, bystander, at):
    """on Connect: no controller comes of it"""
    with Conn(target.address) as conn:
        conn.handshake(dgst=3)
        good = conn.capsule(nvme.connect_sqe(cid=5), nvme.connect_data())
        conn.send(flip(good, at))
        resp = conn.expect(CAPSULE_RESP)
        assert resp.cid == 5 and resp.status >> 1 & 0x7FF == nvme.TRANSIENT
