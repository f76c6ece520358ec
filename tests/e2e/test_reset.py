"""Resets that last, because I/O is at a slow device: what was asked before them is not answered after them."""
import struct
import time

import pytest

import nvme
from namespaces import ALL, ATTACHED, connect, hosted
from nvmetcp import Closed
from reservations import CLEAR, Host
from test_assoc import ALL_OLDER, FENCE, fence, grant
from test_live import live, namespace  # noqa: F401: `live` is a fixture

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


# ---- what waits ----

@pytest.mark.parametrize("reactors", [1, 3])
def test_a_fence_ends_unanswered(serve, reactors):
    """and the next one neither waits for it nor takes its answer"""
    target = serve("--reactors", str(reactors), ns=["fault:delay-write=1500@mem:16M"])
    dead, ctrl = nvme.Controller(target.address), nvme.Controller(target.address)
    writer = dead.io_queue()
    began, write = time.monotonic(), writer.submit_write(0, b"o" * BLOCK)
    assert writer.read(8).ok and not write.done
    late = []
    for _ in range(2):
        assert grant(ctrl)
        late += [ctrl.admin.submit(nvme.sqe(FENCE, cdw10=ALL_OLDER)) for _ in range(2)]
        assert ctrl.keep_alive().ok
        ctrl.disable()
        ctrl.enable()
    assert grant(ctrl)
    assert fence(ctrl, 0xFFEF).dw0 == 0, "of nobody"
    assert time.monotonic() - began < 1.4 and not any(request.done for request in late)
    assert fence(ctrl).dw0 == 1 and time.monotonic() - began > 1.4
    assert ctrl.keep_alive().ok and not any(request.done for request in late)
    ctrl.close()
    target.no_connections()


def of_each_kind(ctrl, queue):
    """Commands that wait for another core, for a flush, for memory, for data, or for an event."""
    def ask(command, data=b"", want=0, incapsule=None):
        return ctrl.admin.submit(command, data, want, incapsule, send=False)

    read = queue.submit_read(0, 1)
    own = struct.pack("<HH", 1, ctrl.cntlid).ljust(4096, b"\0")
    return [
        ask(nvme.sqe(0x02, nsid=ALL, cdw10=0x02 | 127 << 16), want=512),
        ask(nvme.sqe(0x02, nsid=ALL, cdw10=0x0D | 1 << 8 | 127 << 16), want=512),
        ask(nvme.sqe(0x06, cdw10=0x13), want=4096),
        ask(nvme.sqe(0x15, nsid=1, cdw10=0), own, incapsule=True),
        ask(nvme.sqe(0x15, nsid=1, cdw10=0), own, incapsule=False),
        ask(nvme.sqe(0x08, cdw10=read.cid << 16 | 1)),
        *[ask(nvme.sqe(0x09, nsid=ALL, cdw10=0x83, cdw11=n)) for n in range(2)],
        *[ask(nvme.sqe(0x09, nsid=1, cdw10=0x84, cdw11=n)) for n in (1, 0, 1, 0)],
        *[ask(nvme.sqe(0x09, cdw10=0x06, cdw11=n)) for n in (0, 1, 0)],
        ask(nvme.sqe(0x02, nsid=ALL, cdw10=0x02 | 127 << 16), want=512),
    ]


@pytest.mark.parametrize("reactors", [1, 3])
def test_what_waits_ends_unanswered(live, tmp_path, reactors):  # noqa: F811
    """each kind of command comes with the reset in one piece; asked again, it is answered, and only then"""
    volumes = [namespace(nsid, "file:%s/%d" % (tmp_path, nsid)) for nsid in (1, 2)]
    target = live(hosted(*volumes, top="state_dir: %s/state\n" % tmp_path), "--reactors", str(reactors))
    late = []
    with connect(target) as ctrl:
        for first in range(16):
            ctrl.grant()
            asked = of_each_kind(ctrl, ctrl.io_queue())
            asked = asked[first:] + asked[:first]
            reset = ctrl.admin.submit_raw(nvme.property_set_sqe(nvme.CC, nvme.CC_READY), send=False)
            ctrl.admin.conn.send(b"".join(request.capsule for request in asked + [reset]))
            ctrl.admin.wait(reset)
            late += [request for request in asked if not request.done]
            ctrl.until(nvme.RDY, 0)
            ctrl.enable()
            assert ctrl.keep_alive().ok and not any(request.done for request in late)
        assert len(late) > 16
        ctrl.grant()
        asked = of_each_kind(ctrl, ctrl.io_queue())
        ctrl.admin.conn.send(b"".join(request.capsule for request in asked))
        ctrl.admin.wait(*asked)
        assert ctrl.keep_alive().ok and not any(request.done for request in late)


def test_wishes_that_the_keeper_has_not_begun_are_not_done(live, tmp_path):  # noqa: F811
    target = live(hosted(namespace(1), namespace(2), top="state_dir: %s/state\n" % tmp_path))
    with connect(target) as ctrl:
        assert ctrl.set_feature(0x84, 1, nsid=1).ok
        asked = [ctrl.admin.submit(nvme.sqe(0x09, nsid=nsid, cdw10=0x84, cdw11=n), send=False)
                 for nsid, n in ((1, 0), (2, 1), (2, 1))]
        reset = ctrl.admin.submit_raw(nvme.property_set_sqe(nvme.CC, nvme.CC_READY), send=False)
        ctrl.admin.conn.send(b"".join(request.capsule for request in asked + [reset]))
        ctrl.admin.wait(reset)
        ctrl.until(nvme.RDY, 0)
        ctrl.enable()
        assert ctrl.identified(0, 2)[99] == 0 and not any(request.done for request in asked)


@pytest.mark.parametrize("dgst", [0, 3])
def test_what_goes_out_in_pieces_is_out_before_the_reset_is_over(serve, dgst):
    """or a host that uses a command's id again takes the old answer for the new one"""
    target = serve()
    with nvme.Controller(target.address, dgst=dgst) as ctrl:
        admin, dwords = ctrl.admin, (1 << 20) // 4 - 1
        log = nvme.sqe(0x02, nsid=ALL, cdw10=1 | 1 << 15 | (dwords & 0xFFFF) << 16, cdw11=dwords >> 16)
        first, second = [admin.submit(log, want=1 << 20, send=False) for _ in range(2)]
        reset = admin.submit_raw(nvme.property_set_sqe(nvme.CC, nvme.CC_READY), send=False)
        looks = [admin.submit_raw(nvme.property_get_sqe(nvme.CSTS), send=False) for _ in range(8)]
        admin.conn.send(b"".join(request.capsule for request in [first, second, reset] + looks))
        assert admin.wait(reset).ok and not first.done
        for look in looks:
            assert admin.wait(look).dw0 & nvme.RDY or first.done
        ctrl.until(nvme.RDY, 0)
        assert first.ok and not second.done and not second.got
        del admin.requests[second.cid]
        ctrl.enable()
        again = admin.submit(nvme.sqe(0x06, cdw10=1), want=4096, cid=second.cid)
        assert admin.wait(again).ok and ctrl.keep_alive().ok


# ---- what is owed ----

def owing(ctrl, data=bytes(4096)):
    """A Namespace Attachment whose data was asked for"""
    ctrl.admin.serve_r2ts = False
    request = ctrl.admin.submit(nvme.sqe(0x15, nsid=1), data, incapsule=False)
    while not request.r2ts:
        ctrl.admin.step()
    ctrl.admin.serve_r2ts = True
    return request


def halves(ctrl, request):
    """Its data, in two PDUs"""
    (ttag, _, length), = request.r2ts
    return [ctrl.admin.conn.h2cdata(request.cid, ttag, at, request.data[at:end], end == length)
            for at, end in ((0, 1000), (1000, length))]


@pytest.mark.parametrize("dgst, begun", [(0, False), (0, True), (3, True)])
def test_data_owed_for_a_command_of_before_a_reset(live, dgst, begun):  # noqa: F811
    """keeps nothing from what comes after it, and goes nowhere when it comes, be it between that of another command"""
    target = live(hosted(namespace(1)))
    with connect(target, dgst=dgst) as ctrl:
        late, pdus = [], []
        for _ in range(2):
            late.append(owing(ctrl, b"\xff" * 4096))
            first, second = halves(ctrl, late[-1])
            if begun:
                ctrl.admin.conn.send(first)
            pdus.append(second if begun else first + second)
            ctrl.disable()
            ctrl.enable()
            assert ctrl.identify(1).ok
        now = owing(ctrl, struct.pack("<HH", 1, ctrl.cntlid).ljust(4096, b"\0"))
        first, second = halves(ctrl, now)
        ctrl.admin.conn.send(first + b"".join(pdus) + second)
        assert ctrl.admin.wait(now).status == ATTACHED, "its own data was looked at"
        assert ctrl.identify(1).ok and not any(request.done for request in late)


def test_data_that_never_comes_after_a_reset(live):  # noqa: F811
    """of the old life's nobody is held to it; of the new one's as ever"""
    target = live(hosted(namespace(1), top="timeouts: { stall: 300ms }\n"))
    with connect(target) as ctrl, connect(target) as other:
        owing(ctrl)
        ctrl.disable()
        ctrl.enable()
        owing(other)
        with pytest.raises(Closed):
            while True:
                other.admin.step()
        assert ctrl.identify(1).ok
        owing(ctrl)
        with pytest.raises(Closed):
            while True:
                ctrl.admin.step()
