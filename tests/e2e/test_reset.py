"""Resets that last, because I/O is at a slow device: what was asked before them is not answered after them."""
import pytest

import nvme
from reservations import CLEAR, Host

OK = nvme.OK
BLOCK = 4096


def begin_reset(ctrl):
    """CC.EN 0; it lasts, since a write of its queue is at the device."""
    ctrl.admin.wait(ctrl.admin.submit_raw(nvme.property_set_sqe(nvme.CC, nvme.CC_READY)))
    assert ctrl.get(nvme.CSTS) & nvme.RDY


@pytest.mark.parametrize("reactors", [1, 3])
def test_an_event_while_a_reset_lasts(serve, reactors):
    """is told to nobody: the request for it went with the beginning of the reset"""
    target = serve("--reactors", str(reactors), ns=["fault:delay-write=600@mem:16M"])
    one, other = Host(target.address, 1), Host(target.address, 2)
    assert one.register(0xA) == OK and other.register(0xB) == OK
    event = one.ctrl.aer()
    writer = one.queues[0]
    write = writer.submit_write(0, bytes(BLOCK))
    assert writer.read(8).ok and not write.done
    begin_reset(one.ctrl)
    assert other.release(0xB, action=CLEAR) == OK
    assert one.ctrl.get(nvme.CSTS) & nvme.RDY and one.ctrl.until(nvme.RDY, 0) == 0
    one.ctrl.enable()
    assert one.ctrl.keep_alive().ok and not event.done
    one.close(), other.close()
    target.no_connections()
