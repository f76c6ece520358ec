"""The Error Information log: every command of a controller that failed, for whatever reason it did."""
import struct

import pytest

import nvme
from nvme import (
    CC, CC_READY, INVALID_FIELD, INVALID_OPCODE, LBA_RANGE, QUEUE_TYPE, SEQUENCE, SGL_LENGTH, SGL_TYPE, TRANSIENT,
    connect_data, connect_sqe, disconnect_sqe, property_get_sqe, property_set_sqe, sgl, sqe)
from nvmetcp import patch, tries

FABRICS, GET_LOG, SET_FEATURES = 0x7F, 0x02, 0x09
COMPARE_FAILURE = 0x285


def lines(ctrl):
    """(count, queue, command id, status, location, opcode) of each line, newest first."""
    page = ctrl.logged(1, 64 * 64)
    for at in range(0, len(page), 64):
        count, sqid, cid, status, location = struct.unpack_from("<QHHHH", page, at)
        if count:
            yield count, sqid, cid, status >> 1 & 0x7FF, location, page[at + 31]


def entries(ctrl):
    """The lines as they are."""
    page = ctrl.logged(1, 64 * 64)
    return [page[at:at + 64] for at in range(0, len(page), 64) if any(page[at:at + 8])]


def until(found):
    """What I/O queues failed comes by mail, after the completion."""
    for _ in tries():
        it = found()
        if it is not None:
            return it
    raise AssertionError("it did not come")


def spoiled(queue):
    """A Set Features whose data arrives with a wrong digest."""
    request = queue.submit(sqe(SET_FEATURES, cdw10=0x0E), bytes(8), send=False)
    queue.conn.send(patch(request.capsule, 80, request.capsule[80] ^ 1))
    return queue.wait(request)


# name: opcode, status, location, the command
FAIL = {
    "a property that there is not": (
        FABRICS, INVALID_FIELD, lambda q: q.call(property_get_sqe(0x1000))),
    "a property that is read-only": (
        FABRICS, INVALID_FIELD, lambda q: q.call(property_set_sqe(nvme.CSTS, 1))),
    "CC with what may not change": (
        FABRICS, INVALID_FIELD, lambda q: q.call(property_set_sqe(CC, CC_READY | 1 | 1 << 7))),
    "a second Connect": (
        FABRICS, SEQUENCE, lambda q: q.submit_raw(connect_sqe(), connect_data(), incapsule=True)),
    "Disconnect of the admin queue": (FABRICS, QUEUE_TYPE, lambda q: q.call(disconnect_sqe())),
    "a Fabrics command that there is not": (
        FABRICS, INVALID_OPCODE, lambda q: q.submit_raw(patch(disconnect_sqe(), 4, 0x55))),
    "PSDT": (GET_LOG, INVALID_FIELD, lambda q: q.call(sqe(GET_LOG, flags=0, cdw10=2))),
    "an SGL of another type": (
        GET_LOG, SGL_TYPE, lambda q: q.submit_raw(sqe(GET_LOG, cdw10=2 | 127 << 16, sgl1=sgl(0x40, 512)))),
    "more than MDTS": (
        GET_LOG, INVALID_FIELD, lambda q: q.submit_raw(sqe(GET_LOG, cdw10=2, sgl1=sgl(0x5A, 1 << 21)))),
    "an SGL longer than the answer": (
        GET_LOG, SGL_LENGTH, lambda q: q.submit_raw(sqe(GET_LOG, cdw10=2 | 127 << 16, sgl1=sgl(0x5A, 4096)))),
    "data that is too short": (
        SET_FEATURES, SGL_LENGTH, lambda q: q.call(sqe(SET_FEATURES, cdw10=0x0E), bytes(4))),
    "data with a wrong digest": (SET_FEATURES, TRANSIENT, spoiled),
}


@pytest.mark.parametrize("name", FAIL)
@pytest.mark.line("W94", "W95", "I08")
def test_a_command_that_failed_has_one_line(target, name):
    opcode, status, perform = FAIL[name]
    with nvme.Controller(target.address, dgst=3) as ctrl:
        assert list(lines(ctrl)) == []
        failed = perform(ctrl.admin)
        ctrl.admin.wait(failed)
        assert failed.status == status and failed.more
        found = list(lines(ctrl))
        assert [(line[:4], line[5]) for line in found] == [((1, 0, failed.cid, status), opcode)]


@pytest.mark.line("W95")
def test_the_bit_more_stands_for_a_line(target):
    """not where a command did well, nor where no log would have it: of a Connect, and on a discovery controller"""
    with nvme.Controller(target.address) as ctrl:
        ctrl.grant()
        queue = ctrl.io_queue()
        assert ctrl.identify(1).ok and not ctrl.identify(1).more and not queue.read(0).more
        failed = queue.read(1 << 60)
        assert failed.status == LBA_RANGE and failed.more
        page = until(lambda: next(iter(entries(ctrl)), None))
        assert struct.unpack_from("<QHH", page) == (1, 1, failed.cid) and page[31] == 0x02
        assert page[63] == 1, "the version: byte 31 is the opcode"
        with nvme.Controller(target.address, subnqn=nvme.DISCOVERY) as other:
            failed = other.identify(0xFF)
            assert failed.status == INVALID_FIELD and not failed.more
        stranger, connect = nvme.open_queue(target.address, subnqn=nvme.SUBNQN + "x")
        stranger.close()
        assert not connect.ok and not connect.more


@pytest.mark.parametrize("at", [0, 4095, 4096, 8191, 3 * 65536 + 4097, (1 << 20) - 1])
@pytest.mark.line("W95")
def test_the_first_block_that_differs(target, at):
    """of a Compare, wherever it lies"""
    with nvme.Controller(target.address) as ctrl:
        ctrl.grant()
        queue = ctrl.io_queue()
        data = bytearray(1 << 20)
        data[at] = data[-1] = 1
        for length, slba in ((8192, 0), (1 << 20, 7)):
            done = queue.call(sqe(0x05, nsid=1, cdw10=slba, cdw12=length // 4096 - 1), bytes(data[:length]))
            if at < length:
                assert done.status == COMPARE_FAILURE and done.more
                page = until(lambda: next((e for e in entries(ctrl) if e[10:12] == struct.pack("<H", done.cid)), None))
                assert struct.unpack_from("<Q", page, 16)[0] == slba + at // 4096


@pytest.mark.line("W94")
def test_what_fails_before_the_controller_is_enabled(target):
    with nvme.Controller(target.address, enable=False) as ctrl:
        assert ctrl.identify(1).status == SEQUENCE and ctrl.admin.call(property_get_sqe(4)).status == INVALID_FIELD
        ctrl.enable()
        assert [line[3] for line in lines(ctrl)] == [INVALID_FIELD, SEQUENCE]


@pytest.mark.line("W94")
def test_an_event_request_that_was_aborted(target):
    """0:07 is a failure too"""
    with nvme.Controller(target.address) as ctrl:
        held = ctrl.aer()
        assert ctrl.admin.call(sqe(0x08, cdw10=held.cid << 16)).dw0 == 0
        assert ctrl.admin.wait(held).status == nvme.ABORTED
        assert [line[1:4] for line in lines(ctrl)] == [(0, held.cid, nvme.ABORTED)]


@pytest.mark.line("W94", "W93")
def test_each_failure_counts_once_in_the_smart_log(target):
    """of its subsystem: of the other controllers too"""
    count = lambda ctrl: int.from_bytes(ctrl.logged(2, 512)[176:192], "little")
    with nvme.Controller(target.address, dgst=3) as ctrl, nvme.Controller(target.address) as other:
        before = count(other)
        for _, _, perform in FAIL.values():
            ctrl.admin.wait(perform(ctrl.admin))
        assert count(ctrl) == count(other) == before + len(FAIL)
        assert len(list(lines(ctrl))) == len(FAIL) and not list(lines(other))


def test_storage_that_fails_does_not_fill_the_log(serve):
    """each flush fails and is answered so; of the lines about that twenty a minute are there, and how many more"""
    target = serve(ns=["fault:dead=1@volatile:@mem:1M"])
    with nvme.Controller(target.address) as ctrl:
        for _ in range(25):
            assert not ctrl.set_feature(0x06, 0).ok
    target.stop()
    said = target.stderr().splitlines()
    assert len([line for line in said if "a volume could not be flushed" in line]) == 20
    assert [line for line in said if "5 more lines about storage were left out" in line]
