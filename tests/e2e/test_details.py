"""What the checklist leaves out and hosts still meet: fields that do not matter, defaults, padding, neighbours."""
import os

import pytest

import nvme
from nvme import CC, CC_READY, INVALID_FIELD
from nvmetcp import Closed, patch, tries

BLOCK = 4096


def u(data, at, size):
    return int.from_bytes(data[at:at + size], "little")


# ---- several controllers of one host ----

def reset(ctrl):
    ctrl.disable()


def shut_down(ctrl):
    assert ctrl.set(CC, CC_READY | 1 | 2 << 14).ok
    ctrl.until(0x0C, nvme.SHST_DONE)


def break_a_rule(ctrl):
    bad = patch(ctrl.admin.conn.capsule(nvme.sqe(0x18)), 0, 0x0B)
    ctrl.admin.conn.send(bad)
    ctrl.admin.conn.expect_term((1, 0), bad)


def leave(ctrl):
    ctrl.admin.conn.reset()


@pytest.mark.parametrize("end", [reset, shut_down, break_a_rule, leave])
@pytest.mark.line("W34", "F12")
def test_controllers_of_one_host_end_alone(target, end):
    """with I/O in flight on both"""
    with nvme.Controller(target.address) as one, nvme.Controller(target.address) as two:
        first, second = one.io_queue(), two.io_queue()
        second.serve_r2ts = False
        data = os.urandom(16 * BLOCK)
        write = second.submit_write(0, data)
        while not write.r2ts:
            second.step()
        for n in range(20):
            first.submit_read(n, 64)
        end(one)
        try:
            while True:
                first.conn.recv()
        except (Closed, AssertionError):
            pass
        second.send_data(write)
        assert second.wait(write).ok
        assert bytes(second.read(0, 16).got) == data and two.keep_alive().ok


@pytest.mark.line("F12", "I01", "I02")
def test_identify_says_that_there_may_be_others(target):
    """CMIC: of several ports and controllers, none of them a virtual function, ANA as page 0Ch; NMIC: shared"""
    with nvme.Controller(target.address) as one, nvme.Controller(target.address) as two:
        pages = [ctrl.identified(1) for ctrl in (one, two)]
        for ctrl, page in zip((one, two), pages):
            assert u(page, 78, 2) == ctrl.cntlid
            assert page[76] == 3 | ctrl.log(0x0C, 16).ok << 3
            assert ctrl.identified(0, 1)[30] == 1
        assert one.cntlid != two.cntlid
        for at, end in ((4, 24), (768, 1024)):
            assert pages[0][at:end] == pages[1][at:end] != bytes(end - at), "one subsystem"


# ---- a controller's fields ----

@pytest.mark.parametrize("change", [1 << 4, 1 << 7, 1 << 11], ids=["CSS", "MPS", "AMS"])
@pytest.mark.line("W38")
def test_what_may_not_change_while_enabled(ctrl, queue, change):
    """0:02, and the controller goes on as it was"""
    request = ctrl.set(CC, (CC_READY | 1) ^ change)
    assert request.status == INVALID_FIELD
    assert ctrl.get(CC) == CC_READY | 1 and ctrl.get(nvme.CSTS) & (nvme.RDY | nvme.CFS) == nvme.RDY
    assert queue.read(0).ok


@pytest.mark.line("W38")
def test_cc_set_again_as_it_is(ctrl, queue):
    for _ in range(3):
        assert ctrl.set(CC, CC_READY | 1).ok
        assert ctrl.get(nvme.CSTS) & nvme.RDY and queue.read(0).ok


# Feature, a value that is not its default, the bits of it that are kept.
WORDS = [(0x01, 0x03020107), (0x04, 0x0150), (0x0A, 1), (0x0B, 0x100), (0x0F, 240000)]


@pytest.mark.line("W35", "L11", "I23")
def test_each_feature_is_at_its_default_after_a_reset(ctrl):
    """and the default is told by SEL 1 and, as nothing is saved, by SEL 2; KATO is what Connect said"""
    before = {fid: ctrl.get_feature(fid).dw0 for fid, _ in WORDS}
    ctrl.disable()
    ctrl.enable()
    before[0x07] = ctrl.get_feature(0x07).dw0
    assert ctrl.grant(4) == 4 and ctrl.get_feature(0x07).dw0 == 3 << 16 | 3 != before[0x07]
    for fid, value in WORDS:
        assert ctrl.get_feature(fid, sel=1).dw0 == before[fid] or fid == 0x0F
        assert ctrl.set_feature(fid, value).ok
        assert ctrl.get_feature(fid).dw0 == value != before[fid]
        default = ctrl.get_feature(fid, sel=1).dw0
        assert ctrl.get_feature(fid, sel=2).dw0 == default == (120000 if fid == 0x0F else before[fid])
    assert ctrl.set_feature(0x16, data=b"\1" + bytes(511)).ok
    ctrl.disable()
    ctrl.enable()
    assert {fid: ctrl.get_feature(fid).dw0 for fid in before} == before
    assert bytes(ctrl.get_feature(0x16, want=512).got) == bytes(512)


@pytest.mark.line("W39", "I01")
def test_reserved_bytes_of_identify_controller_are_zero(ctrl):
    page = ctrl.identified(1)
    for first, end in ((102, 111), (134, 240), (388, 512), (548, 768), (1024, 1792), (1807, 2048)):
        assert not any(page[first:end]), "%d to %d" % (first, end)
    name = page[768:1024]
    assert not any(name[name.index(0):]), "zeros behind the NQN"
    for at, size in ((4, 20), (24, 40), (64, 8)):
        text = page[at:at + size]
        assert text[:1] != b" " and text == text.rstrip(b" ").ljust(size), "spaces behind, not before"


@pytest.mark.line("W39", "I02")
def test_reserved_bytes_of_identify_namespace_are_zero(ctrl):
    page = ctrl.identified(0, 1)
    assert not any(page[84:92]) and not any(page[93:99])
    formats = page[25] + 1
    assert not any(page[128 + 4 * formats:384]), "no formats but those counted"
    assert page[392:396] == b"WEIR" and not any(page[384:392]) and not any(page[408:4096]), "the extension's bytes"


@pytest.mark.line("W40", "I08")
def test_the_error_log_keeps_the_newest(ctrl):
    """64 of them; all are counted"""
    entries = ctrl.identified(1)[262] + 1
    first = u(ctrl.logged(1, 64), 0, 8)
    for _ in range(entries + 6):
        assert ctrl.get_feature(0x7F).status == INVALID_FIELD
    log = ctrl.logged(1, 64 * (entries + 1))
    counts = [u(log, 64 * n, 8) for n in range(entries)]
    assert counts == list(range(first + entries + 6, first + 6, -1))
    assert not any(log[64 * entries:]), "nothing behind the last"


@pytest.mark.line("W40", "I08", "W93")
def test_failures_that_come_all_at_once_are_all_counted(target):
    """in the log, which need not have a line for each, and by SMART"""
    with nvme.Controller(target.address) as ctrl:
        def errors():
            return u(ctrl.logged(2, 512), 176, 16)
        entries, before = ctrl.identified(1)[262] + 1, errors()
        queue = ctrl.io_queue(entries=1024)
        failing = [queue.submit_read(1 << 40, 1, send=False) for _ in range(1000)]
        queue.conn.send(*[request.capsule for request in failing])
        queue.wait(*failing)
        assert not any(request.ok for request in failing)
        assert nvme.STRANGER or not all(request.more for request in failing), "too slow to be told of one by one"
        for _ in tries():
            if errors() >= before + 1000:
                break
        assert errors() == before + 1000
        assert ctrl.get_feature(0x7F).status == INVALID_FIELD
        log = ctrl.logged(1, 64 * entries)
        counts = [u(log, 64 * n, 8) for n in range(entries)]
        assert counts[0] == 1001 and counts[-1] > 0 and counts == sorted(set(counts), reverse=True)
        assert [u(log, 64 * n + 8, 2) for n in range(entries)] == [0] + [1] * (entries - 1)


# ---- events ----

OVER, EVENT = 0x0001, 0x020101  # a threshold that any temperature is above; what is told of it


@pytest.fixture
def warned(ctrl):
    """A controller that is to tell of temperature"""
    assert ctrl.set_feature(0x0B, 1 << 1).ok
    return ctrl


@pytest.mark.line("I18")
def test_an_event_waits_for_a_request(warned):
    assert warned.set_feature(0x04, OVER).ok
    request = warned.admin.wait(warned.aer())
    assert request.ok and request.dw0 == EVENT


@pytest.mark.line("I19")
def test_an_event_is_told_once_until_its_page_is_read(warned):
    """with RAE 0; with RAE 1 it stays masked"""
    first, second = warned.aer(), warned.aer()
    assert warned.set_feature(0x04, OVER).ok
    warned.admin.wait(first)
    assert first.ok and first.dw0 == EVENT
    assert warned.set_feature(0x04, OVER + 1).ok and warned.logged(2, 512, rae=True)
    assert warned.set_feature(0x04, OVER + 2).ok and warned.keep_alive().ok
    assert not second.done
    assert warned.logged(2, 512, rae=False)[0] >> 1 & 1, "the page says what is wrong"
    assert warned.set_feature(0x04, OVER).ok
    assert warned.admin.wait(second).dw0 == EVENT


@pytest.mark.line("I20")
def test_an_event_that_was_not_asked_for_is_not_told(ctrl):
    assert ctrl.set_feature(0x0B, 0).ok
    aer = ctrl.aer()
    assert ctrl.set_feature(0x04, OVER).ok
    assert ctrl.keep_alive().ok and not aer.done


# ---- fields of I/O commands ----

@pytest.mark.line("W45")
def test_fields_that_do_not_matter(queue):
    """reserved dwords, a metadata pointer without metadata, limited retry, access hints, tags without protection"""
    data = os.urandom(2 * BLOCK)
    for opcode, how in ((0x01, dict(data=data)), (0x02, dict(want=len(data)))):
        command = nvme.sqe(opcode, nsid=1, cdw10=77, cdw12=1 | 1 << 31, cdw13=0xFFFF, cdw14=0xFFFFFFFF,
                           cdw15=0xFFFFFFFF)
        request = queue.call(patch(command, 8, b"\xff" * 16), **how)
        assert request.ok
    assert bytes(request.got) == data
    flush = nvme.sqe(0x00, nsid=1, cdw10=~0 & 0xFFFFFFFF, cdw11=~0 & 0xFFFFFFFF, cdw12=~0 & 0xFFFFFFFF)
    assert queue.call(patch(flush, 8, b"\xff" * 16)).ok


@pytest.mark.line("W46")
def test_fua_on_a_read_is_a_read(queue):
    data = os.urandom(BLOCK)
    assert queue.write(3, data).ok
    request = queue.read(3, flags12=1 << 30)
    assert request.ok and bytes(request.got) == data


@pytest.mark.line("W47", "O06")
def test_flush_of_all_namespaces_reaches_each(serve):
    """the first flush of one of them fails: that of all says so, whichever it is"""
    for specs in (["mem:16M", "fault:flush-error=1@mem:16M"], ["fault:flush-error=1@mem:16M", "mem:16M"]):
        target = serve(ns=specs)
        with nvme.Controller(target.address) as ctrl:
            queue = ctrl.io_queue()
            assert queue.flush(0xFFFFFFFF).status == nvme.WRITE_FAULT
            assert queue.flush(0xFFFFFFFF).ok and queue.flush(1).ok and queue.flush(2).ok


@pytest.mark.line("W50", "O08")
def test_ranges_of_no_blocks_deallocate_nothing(queue):
    data = os.urandom(3 * BLOCK)
    assert queue.write(10, data).ok
    assert queue.deallocate([(11, 0)]).ok and queue.deallocate([(10, 0), (12, 0)]).ok
    assert bytes(queue.read(10, 3).got) == data
    assert queue.deallocate([(11, 1), (12, 0)]).ok
    assert bytes(queue.read(10).got) == data[:BLOCK] and bytes(queue.read(12).got) == data[2 * BLOCK:]


@pytest.mark.parametrize("bit", [10, 11, 12, 13])
def test_what_is_reserved_beside_fuse_and_psdt_is_refused(ctrl, queue, bit):
    """in DW0, where the extension has priorities and ordered writes, once granted; half a pair does not wait for one"""
    flags = nvme.PSDT_SGL | 1 << bit - 8
    commands = ((queue, nvme.sqe(0x00, nsid=1, flags=flags)), (queue, nvme.sqe(0x05, nsid=1, flags=flags | 1)),
                (ctrl.admin, nvme.sqe(0x18, flags=flags)), (ctrl.admin, nvme.sqe(0xD8, flags=flags)),
                (ctrl.admin, nvme.property_get_sqe(0x1C)[:1] + bytes([flags]) + nvme.property_get_sqe(0x1C)[2:]))
    for asked, command in commands:
        answer = asked.call(command)
        assert answer.status == nvme.INVALID_FIELD and answer.dnr, command[:2]
    first = queue.submit(nvme.sqe(0x05, nsid=1, flags=nvme.PSDT_SGL | 1), bytes(4096))
    second = queue.submit(nvme.sqe(0x01, nsid=1, flags=flags | 2), bytes(4096))
    queue.wait(first, second)
    assert first.status == 0x00A and second.status == nvme.INVALID_FIELD
