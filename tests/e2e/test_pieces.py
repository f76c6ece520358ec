"""What is long goes in pieces: several R2Ts of a write, several C2HData of a read, and what is short in between."""
import os

import pytest

import nvme
from nvmetcp import C2H_DATA, LAST, SUCCESS, h2cdata

BLOCK = 4096
MDTS = 1 << 20
PIECE = 128 << 10
BLOCKS = MDTS // BLOCK


def opened(target, maxr2t=3, **how):
    ctrl = nvme.Controller(target.address, maxr2t=maxr2t, **how)
    queue = ctrl.io_queue()
    queue.serve_r2ts = False
    return ctrl, queue


def r2ts(queue, request, count):
    """Until so many R2Ts are there; then nothing comes but the answer to what is sent now."""
    while len(request.r2ts) < count:
        queue.step()
    assert queue.read(0, 1, nsid=1).ok
    return list(request.r2ts)


# ---- R2Ts ----

@pytest.mark.parametrize("maxr2t, most", [(0, 1), (1, 2), (2, 3), (3, 4), (0xFFFFFFFF, 4)])
@pytest.mark.line("X05", "X06", "X07")
def test_as_many_r2ts_as_the_host_takes(target, maxr2t, most):
    """each of 128 KiB, with a TTAG of its own; four at most, and one for all where the host takes one alone"""
    ctrl, queue = opened(target, maxr2t)
    with ctrl:
        data = os.urandom(MDTS - 3 * BLOCK)
        request = queue.submit_write(0, data)
        asked = r2ts(queue, request, most)
        assert len(asked) == most and len({ttag for ttag, _, _ in asked}) == most
        size = PIECE if most > 1 else len(data)
        assert [(at, length) for _, at, length in asked] == [(n * size, size) for n in range(most)]
        while not request.done:
            queue.send_data(request)
            if not request.done and not request.r2ts:
                queue.step()
        assert request.ok and bytes(queue.read(0, BLOCKS - 3).got) == data


@pytest.mark.line("X05", "X07")
def test_each_r2t_that_is_served_is_followed_by_one(target):
    ctrl, queue = opened(target)
    with ctrl:
        data = os.urandom(MDTS)
        request = queue.submit_write(0, data)
        asked = r2ts(queue, request, 4)
        for n in range(8):
            ttag, at, length = asked[n]
            assert (at, length) == (n * PIECE, PIECE)
            request.r2ts.pop(0)
            half = length // 2
            queue.conn.send(queue.conn.h2cdata(request.cid, ttag, at, data[at:at + half], last=False))
            assert len(r2ts(queue, request, 0)) == min(3, 7 - n), "half of it is not served"
            queue.conn.send(queue.conn.h2cdata(request.cid, ttag, at + half, data[at + half:at + length]))
            asked += r2ts(queue, request, min(4, 7 - n))[len(asked) - n - 1:]
        assert queue.wait(request).ok
        assert bytes(queue.read(0, BLOCKS).got) == data


@pytest.mark.line("X05")
def test_a_write_of_one_piece_has_one_r2t(target):
    ctrl, queue = opened(target)
    with ctrl:
        for blocks, lengths in ((32, [PIECE]), (33, [PIECE, BLOCK]), (3, [3 * BLOCK])):
            request = queue.submit_write(0, os.urandom(blocks * BLOCK))
            assert [length for _, _, length in r2ts(queue, request, len(lengths))] == lengths
            while not request.done:
                queue.send_data(request) if request.r2ts else queue.step()
            assert request.ok


@pytest.mark.parametrize("dgst", [0, 3])
@pytest.mark.line("X07", "X14", "D04")
def test_writes_in_pieces_interleave(target, dgst):
    """of several commands, a PDU of each in turn"""
    ctrl, queue = opened(target, dgst=dgst)
    with ctrl:
        size = 2 * PIECE + 3 * BLOCK
        requests = [queue.submit_write(200 * n, os.urandom(size)) for n in range(3)]
        sent = dict.fromkeys(requests, 0)
        while not all(r.done for r in requests):
            for r in requests:
                if not r.r2ts or r.done:
                    continue
                ttag, at, length = r.r2ts[0]
                begin = max(sent[r], at)
                step = min(5000 * 4, at + length - begin)
                last = begin + step == at + length
                if last:
                    r.r2ts.pop(0)
                queue.conn.send(queue.conn.h2cdata(r.cid, ttag, begin, r.data[begin:begin + step], last))
                sent[r] = begin + step
            if not any(r.r2ts for r in requests):
                queue.step()
        for n, r in enumerate(requests):
            assert r.ok and bytes(queue.read(200 * n, size // BLOCK).got) == r.data


def served(queue):
    """A long write of whose four R2Ts the first was answered."""
    request = queue.submit_write(0, bytes(MDTS))
    asked = r2ts(queue, request, 4)
    ttag, at, length = asked[0]
    queue.conn.send(h2cdata(request.cid, ttag, at, bytes(length)))
    request.r2ts.pop(0)
    asked += r2ts(queue, request, 4)[3:]
    return request, asked


@pytest.mark.parametrize("ttag, at, size, last, faults", [
    (0, 0, BLOCK, False, (1, 10)),                      # answered already
    (0, PIECE, BLOCK, False, (1, 10)),
    (2, 2 * PIECE, BLOCK, False, (4, 0)),               # not its turn
    (2, PIECE, BLOCK, False, (4, 0)),                   # the bytes of another
    (1, PIECE, PIECE + 4, False, (4, 0)),               # more than it asked for
    (1, PIECE, PIECE, False, (2, 0)),                   # LAST_PDU missing
    (1, PIECE, BLOCK, True, (2, 0)),                    # too early
    (1, 2 * PIECE, BLOCK, False, (4, 0))])
@pytest.mark.line("X09", "X11", "X12")
def test_data_for_another_r2t_than_the_next_is_fatal(target, bystander, ttag, at, size, last, faults):
    ctrl, queue = opened(target)
    with ctrl:
        request, asked = served(queue)
        bad = h2cdata(request.cid, asked[ttag][0], at, bytes(size), last=last)
        queue.conn.send(bad)
        queue.conn.expect_term(faults, bad)


@pytest.mark.line("X09")
def test_a_ttag_of_an_r2t_to_come_is_fatal(target, bystander):
    """1/10, also where it is easy to guess"""
    ctrl, queue = opened(target)
    with ctrl:
        request = queue.submit_write(0, bytes(MDTS))
        asked = r2ts(queue, request, 4)
        bad = h2cdata(request.cid, asked[3][0] + asked[1][0] - asked[0][0], 0, bytes(BLOCK), last=False)
        queue.conn.send(bad)
        queue.conn.expect_term((1, 10), bad)


@pytest.mark.line("X10")
def test_each_ttag_is_of_one_command(target, bystander):
    """1/8"""
    ctrl, queue = opened(target)
    with ctrl:
        first, second = queue.submit_write(0, bytes(2 * PIECE)), queue.submit_write(100, bytes(2 * PIECE))
        asked = r2ts(queue, first, 2) + r2ts(queue, second, 2)
        assert len({ttag for ttag, _, _ in asked}) == 4
        bad = h2cdata(second.cid, asked[0][0], 0, bytes(BLOCK), last=False)
        queue.conn.send(bad)
        queue.conn.expect_term((1, 8), bad)


@pytest.mark.line("W25", "W26")
def test_who_answers_some_r2ts_and_not_the_next_is_ended(serve):
    """all of a command's data has the time of one R2T"""
    target = serve("--stall-timeout", "1000")
    ctrl, queue = opened(target)
    with ctrl:
        request, asked = served(queue)
        assert 0.2 < queue.conn.expect_close(within=10) < 8
    target.no_connections()


@pytest.mark.line("D04", "W06")
def test_a_wrong_digest_in_any_piece_fails_the_write_alone(target):
    """0:22; all of it is asked for and dropped, and nothing is written"""
    ctrl, queue = opened(target, dgst=2)
    with ctrl:
        assert queue.write_zeroes(0, BLOCKS).ok
        for wrong in (0, 1, 7):
            request = queue.submit_write(0, b"x" * MDTS)
            for n in range(8):
                while not request.r2ts:
                    queue.step()
                ttag, at, length = request.r2ts.pop(0)
                pdu = bytearray(queue.conn.h2cdata(request.cid, ttag, at, request.data[at:at + length]))
                pdu[-1] ^= n == wrong
                queue.conn.send(bytes(pdu))
            assert queue.wait(request).status == 0x22
        assert bytes(queue.read(0, BLOCKS).got) == bytes(MDTS)


# ---- C2HData ----

def pdus_of(queue, request):
    """(DATAO, DATAL, LAST_PDU, SUCCESS) of each C2HData until it is done; the client checks that they join."""
    seen = []
    recv = queue.conn.recv

    def look():
        pdu = recv()
        if pdu.type == C2H_DATA and pdu.cccid == request.cid:
            seen.append((pdu.offset, pdu.length, bool(pdu.flags & LAST), bool(pdu.flags & SUCCESS)))
        return pdu

    queue.conn.recv = look
    queue.wait(request)
    queue.conn.recv = recv
    return seen


@pytest.mark.parametrize("sq_flow", [True, False])
@pytest.mark.parametrize("dgst, hpda", [(0, 0), (3, 0), (3, 31), (2, 1)])
@pytest.mark.line("X15", "X16", "X17", "X18", "D08")
def test_a_long_read_comes_in_pieces(target, sq_flow, dgst, hpda):
    """128 KiB each, LAST_PDU on the last alone, SUCCESS there and only without flow control; each with its digest"""
    with nvme.Controller(target.address, sq_flow=sq_flow, dgst=dgst, hpda=hpda) as ctrl:
        queue = ctrl.io_queue()
        data = os.urandom(MDTS)
        assert queue.write(0, data).ok
        for size in (PIECE, PIECE + BLOCK, 2 * PIECE, MDTS - BLOCK, MDTS):
            request = queue.submit_read(0, size // BLOCK)
            starts = range(0, size, PIECE)
            assert pdus_of(queue, request) == [
                (at, min(PIECE, size - at), at + PIECE >= size, at + PIECE >= size and not sq_flow) for at in starts]
            assert request.ok and bytes(request.got) == data[:size]


@pytest.mark.parametrize("dgst", [0, 2])
@pytest.mark.line("X15", "D08")
def test_what_is_short_passes_between_the_pieces(serve, dgst):
    """with the socket full of long reads it is not the last to come"""
    target = serve()
    with nvme.Controller(target.address, sq_flow=False, dgst=dgst, rcvbuf=64 << 10) as ctrl:
        queue = ctrl.io_queue(rcvbuf=64 << 10)
        data = os.urandom(MDTS)
        assert queue.write(0, data).ok
        long = [queue.submit_read(0, BLOCKS) for _ in range(24)]
        while len(long[0].got) < PIECE:
            queue.step()
        short = queue.submit_read(5, 1)
        queue.wait(short)
        behind = [r for r in long if not r.done]
        queue.wait(*long)
        assert len(behind) > 1, "answers to long reads that were asked for before came after it"
        assert all(r.ok and bytes(r.got) == data for r in long)
        assert bytes(short.got) == data[5 * BLOCK:6 * BLOCK]


@pytest.mark.parametrize("ns", ["mem:64M", "file:{dir}/v.img,size=64M"])
@pytest.mark.line("W28", "W29", "X15")
def test_a_slow_host_gets_its_pieces_while_others_write(serve, tmp_path, ns):
    """what was not sent is read again, block by block as it is then"""
    target = serve(ns=[ns.format(dir=tmp_path)])
    with nvme.Controller(target.address) as ctrl, nvme.Controller(target.address, hostid=b"\5" * 16) as other:
        slow, fast = ctrl.io_queue(rcvbuf=16 << 10), other.io_queue()
        versions = [bytes([n]) * BLOCK for n in range(20)]
        assert fast.write(0, versions[0] * BLOCKS).ok
        reads = [slow.submit_read(0, BLOCKS) for _ in range(8)]
        for n in range(1, 20):
            assert fast.write(0, versions[n] * BLOCKS).ok
            if n % 4 == 0:
                slow.step()
        for read in reads:
            slow.wait(read)
            assert read.ok
            for at in range(0, MDTS, BLOCK):
                block = bytes(read.got[at:at + BLOCK])
                assert block == versions[block[0]], "a block of two versions"
