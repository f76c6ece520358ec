"""Set Features and Get Features: what is kept, what is told, what is refused."""
import struct
import time

import pytest

import nvme
from nvme import INVALID_FIELD, SEQUENCE

BLOCK = 4096


@pytest.mark.line("I22")
def test_number_of_queues(target):
    with nvme.Controller(target.address) as ctrl:
        for nsq, ncq in ((0, 0), (7, 7), (3, 9), (999, 999)):
            request = ctrl.set_feature(0x07, ncq << 16 | nsq)
            given = request.dw0 & 0xFFFF, request.dw0 >> 16
            assert request.ok and all(n <= max(nsq, ncq) for n in given)
            assert given == (min(nsq, ncq, 127),) * 2 or nvme.STRANGER, "a queue pair takes one of each"
        for value in (0xFFFF, 0xFFFF << 16, 0xFFFFFFFF):
            assert ctrl.set_feature(0x07, value).status == INVALID_FIELD
        ctrl.grant(4)
        assert ctrl.get_feature(0x07).dw0 == 3 << 16 | 3
        queue = ctrl.io_queue(1)
        assert ctrl.set_feature(0x07, 0).status == SEQUENCE
        if ctrl.identified(1)[1804] & 1:
            assert queue.call(nvme.disconnect_sqe()).ok
        assert ctrl.set_feature(0x07, 0).status == SEQUENCE, "nor when they have left"
        ctrl.disable()
        ctrl.enable()
        assert ctrl.set_feature(0x07, 0).ok and ctrl.get_feature(0x07).dw0 == 0


@pytest.mark.parametrize("fid", [0x01, 0x02, 0x04, 0x05, 0x06, 0x07, 0x0A, 0x0B, 0x0F])
@pytest.mark.line("I23")
def test_features_by_selection(ctrl, fid):
    """current, default, saved, capabilities"""
    nsid = 1 if fid == 0x05 else 0
    current = ctrl.get_feature(fid, 0, nsid=nsid)
    if fid == 0x06: # none of these volumes has a cache that could be turned off
        assert current.status == INVALID_FIELD
        return
    assert current.ok
    for sel in (1, 2):
        request = ctrl.get_feature(fid, sel, nsid=nsid)
        assert request.ok or request.status == INVALID_FIELD
    capabilities = ctrl.get_feature(fid, 3, nsid=nsid)
    assert capabilities.ok or capabilities.status == INVALID_FIELD
    if capabilities.ok:
        assert capabilities.dw0 & 1 == 0, "nothing is saveable"
    assert ctrl.get_feature(fid, 5, nsid=nsid).status == INVALID_FIELD


@pytest.mark.line("I24")
def test_host_identifier(ctrl):
    """Set 0:0C; Get gives the 16 bytes of Connect, the short form 0:02"""
    assert ctrl.set_feature(0x81, 1, data=bytes(16)).status == SEQUENCE
    request = ctrl.get_feature(0x81, value=1, want=16)
    assert request.ok and bytes(request.got) == nvme.HOSTID
    assert ctrl.get_feature(0x81, value=0, want=8).status == INVALID_FIELD


@pytest.mark.line("I25")
def test_timestamp(ctrl):
    if not ctrl.identified(1)[520] >> 6 & 1:
        pytest.skip("no timestamp")
    for when in (1700000000000, 5, 1 << 47):
        for _ in range(100):
            assert ctrl.keep_alive().ok  # some time goes by, which is not the new one's
        began = time.monotonic()
        assert ctrl.set_feature(0x0E, data=struct.pack("<Q", when)).ok
        got = bytes(ctrl.get_feature(0x0E, want=8).got)
        past = int.from_bytes(got[:6], "little") - when
        assert 0 <= past <= (time.monotonic() - began) * 1000 + 1 and got[6] >> 1 & 7 == 1


@pytest.mark.line("I25")
def test_write_cache(ctrl, queue):
    """on and off where there is one, else 0:02"""
    vwc = ctrl.identified(1)[525] & 1
    request = ctrl.get_feature(0x06)
    if not vwc:
        assert request.status == INVALID_FIELD
        return
    for value in (0, 1):
        assert ctrl.set_feature(0x06, value).ok and ctrl.get_feature(0x06).dw0 == value
        assert queue.write(0, bytes(BLOCK)).ok


@pytest.mark.line("I26")
def test_unknown_features(ctrl):
    for fid in (0x00, 0x7F, 0x8F, 0xC0, 0xFF):
        assert ctrl.get_feature(fid).status == INVALID_FIELD
        assert ctrl.set_feature(fid).status == INVALID_FIELD
    request = ctrl.set_feature(0x0F, 60000, save=True)
    assert request.status == nvme.NOT_SAVEABLE or nvme.STRANGER and request.status == INVALID_FIELD


@pytest.mark.parametrize("opcode", [0x00, 0x01, 0x04, 0x05, 0x07, 0x55, 0xC0, 0xFF])
@pytest.mark.line("O15")
def test_unknown_admin_commands(ctrl, opcode):
    """on the admin queue: 0:01; queues are made by Connect, not by commands"""
    request = ctrl.admin.call(nvme.sqe(opcode))
    assert request.status == nvme.INVALID_OPCODE and request.dnr
