"""Identify, log pages and events: what a host needs to know."""
import struct
import uuid

import pytest

import nvme
from nvme import INVALID_FIELD, INVALID_NS, LOG_PAGE

TARGET_NS = ("mem:64M", "mem:32M", "null:1T")
BLOCK = 4096


def u(data, at, size):
    return int.from_bytes(data[at:at + size], "little")


# ---- controller ----

@pytest.mark.line("I01")
def test_identify_controller_has_what_hosts_insist_on(ctrl):
    page = ctrl.identified(1)
    assert u(page, 78, 2) == ctrl.cntlid
    for at, size in ((4, 20), (24, 40), (64, 8)):
        text = page[at:at + size]
        assert text.strip() and all(0x20 <= c < 0x7F for c in text), "ASCII, padded with spaces"
    assert page[76] >> 1 & 1, "CMIC: more than one controller"
    assert page[77] == 8, "MDTS 1 MiB"
    assert u(page, 80, 4) == ctrl.get(nvme.VS)
    assert page[111] == 1, "CNTRLTYPE: I/O"
    assert u(page, 320, 2) != 0, "KAS"
    assert page[512] == 0x66 and page[513] == 0x44
    assert u(page, 514, 2) == (ctrl.get(nvme.CAP, 8) & 0xFFFF) + 1, "MAXCMD: what a queue has room for"
    assert u(page, 516, 4) >= 3, "NN"
    assert u(page, 536, 4) & 3 in (1, 2), "SGLS"
    assert u(page, 536, 4) >> 20 & 1, "in-capsule data by offset"
    assert not page[76] >> 3 & 1 or 0 < u(page, 540, 4) <= u(page, 516, 4), "MNAN with ANA"
    assert page[768:1024].rstrip(b"\0").decode() == nvme.SUBNQN
    assert u(page, 1792, 4) * 16 == 64 + nvme.INCAPSULE, "IOCCSZ"
    assert u(page, 1796, 4) == 1, "IORCSZ"
    assert u(page, 1800, 2) == 0, "ICDOFF"
    assert page[1802] & 1 == 0, "dynamic controllers"
    assert page[1803] == 1, "MSDBD"
    assert u(page, 266, 2) and u(page, 268, 2), "WCTEMP, CCTEMP"
    assert page[261] >> 2 & 1, "LPA: long log pages"
    assert page[259] == 3, "AERL"


@pytest.mark.line("I01", "I11")
def test_what_is_announced_is_there(ctrl, queue):
    """ONCS bits and commands agree"""
    oncs = u(ctrl.identified(1), 520, 2)
    for bit, opcode in ((0, 0x05), (1, 0x04), (2, 0x09), (3, 0x08), (7, 0x0C), (8, 0x19)):
        if oncs >> bit & 1:
            continue
        request = queue.call(nvme.sqe(opcode, nsid=1), bytes(BLOCK) if opcode in (5, 9, 0x19) else b"")
        assert request.status == nvme.INVALID_OPCODE, "opcode %02x" % opcode
    assert oncs >> 2 & 1 and oncs >> 3 & 1, "deallocate and Write Zeroes"


# ---- namespaces ----

@pytest.mark.parametrize("nsid, bytes_", [(1, 64 << 20), (2, 32 << 20), (3, 1 << 40)])
@pytest.mark.line("I02")
def test_identify_namespace(ctrl, nsid, bytes_):
    page = ctrl.identified(0, nsid)
    format = page[26] & 0xF | (page[26] >> 5 & 3) << 4
    lbaf = u(page, 128 + 4 * format, 4)
    assert lbaf >> 16 & 0xFF == 12 and lbaf & 0xFFFF == 0
    assert u(page, 0, 8) == bytes_ // BLOCK
    assert 0 < u(page, 8, 8) <= u(page, 0, 8), "NCAP"
    assert page[27] == page[28] == page[29] == 0, "no metadata, no protection"
    assert page[30] & 1, "NMIC: shared"
    assert any(page[104:128]), "NGUID or EUI64"


@pytest.mark.parametrize("nsid", [0, 0xFFFFFFFF, 0xFFFFFFFE, 4000])
@pytest.mark.line("I02")
def test_identify_namespace_of_none(ctrl, nsid):
    """0:0B (beyond NN, without namespace management)"""
    request = ctrl.identify(0, nsid)
    assert request.status == INVALID_NS and request.dnr


@pytest.mark.line("I02")
def test_identify_an_inactive_namespace(ctrl):
    """zeros up to NN"""
    nn = u(ctrl.identified(1), 516, 4)
    assert nn == 1024, "room for namespaces that come later"
    assert ctrl.identified(0, nn) == bytes(4096)
    assert ctrl.identify(0, nn + 1).status == INVALID_NS


@pytest.mark.line("I03")
def test_the_namespace_list(ctrl):
    def ids(start):
        page = struct.unpack("<1024I", ctrl.identified(2, start))
        end = page.index(0)
        assert not any(page[end:])
        return list(page[:end])
    assert ids(0) == [1, 2, 3] and ids(1) == [2, 3] and ids(3) == []
    for start in (0xFFFFFFFE, 0xFFFFFFFF):
        assert ctrl.identify(2, start).status == INVALID_NS


def descriptors(page):
    at, out = 0, {}
    while page[at + 1]:
        kind, length = page[at], page[at + 1]
        assert page[at + 2:at + 4] == b"\0\0" and kind not in out
        assert length == {1: 8, 2: 16, 3: 16, 4: 1}[kind]
        out[kind] = page[at + 4:at + 4 + length]
        at += 4 + length
    assert not any(page[at:])
    return out


@pytest.mark.line("I04")
def test_namespace_descriptors(ctrl):
    """unique, and the same as Identify Namespace says"""
    seen = set()
    for nsid in (1, 2, 3):
        found = descriptors(ctrl.identified(3, nsid))
        assert set(found) & {1, 2, 3} and found.get(4) == b"\0", "an id, and the NVM command set"
        page = ctrl.identified(0, nsid)
        if 2 in found:
            assert found[2] == page[104:120] and any(found[2])
        if 1 in found:
            assert found[1] == page[120:128]
        if 3 in found:
            assert uuid.UUID(bytes=found[3]).int
        for value in (v for k, v in found.items() if k != 4):
            assert value not in seen
            seen.add(value)
    for nsid in (0, 0xFFFFFFFF, 4000):
        assert ctrl.identify(3, nsid).status == INVALID_NS


@pytest.mark.line("I04")
def test_two_targets_have_different_namespaces(ctrl, serve):
    """another subsystem's volumes are others"""
    other = serve("--subnqn", "nqn.2026-11.local.weir:second")
    with nvme.Controller(other.address, subnqn="nqn.2026-11.local.weir:second") as second:
        assert descriptors(second.identified(3, 1)) != descriptors(ctrl.identified(3, 1))
        assert second.identified(1)[4:24] != ctrl.identified(1)[4:24], "serial numbers"


@pytest.mark.parametrize("cns", [0x06, 0x1C, 0x05, 0x08])
@pytest.mark.line("I05")
def test_command_set_pages(ctrl, cns):
    """served, or 0:02 where they are optional"""
    request = ctrl.identify(cns, 1, cdw11=0)
    assert request.ok or request.status == INVALID_FIELD and cns != 0x06
    request = ctrl.identify(cns, 1, cdw11=0x7F << 24)
    if cns in (0x05, 0x06):
        assert request.status == INVALID_FIELD, "an unknown command set"


def test_pages_of_inactive_namespaces_and_of_other_controllers(ctrl, target):
    """05h and 08h: zeros; 1Ch: of any controller of the subsystem, else 0:02"""
    for cns in (0x05, 0x08):
        assert ctrl.identified(cns, 500) == bytes(4096) and ctrl.identify(cns, 0).status == INVALID_NS
    with nvme.Controller(target.address) as other:
        assert other.cntlid != ctrl.cntlid
        pages = [ctrl.identified(0x1C, cntid=cntid) for cntid in (ctrl.cntlid, other.cntlid, 0xFFFF)]
        assert pages == [b"\1".ljust(4096, b"\0")] * 3
    for cntid in (0, 0xFFEF):
        assert ctrl.identify(0x1C, cntid=cntid).status == INVALID_FIELD


@pytest.mark.parametrize("cns", [0x04, 0x09, 0x17, 0x20, 0x7F, 0xC0, 0xFF])
@pytest.mark.line("I05")
def test_unknown_pages(ctrl, cns):
    """0:02"""
    request = ctrl.identify(cns, 1)
    assert request.status == INVALID_FIELD and request.dnr


@pytest.mark.parametrize("size", [512, 4092, 8192])
@pytest.mark.line("I06")
def test_identify_with_another_length(ctrl, size):
    """0:0F or 0:02"""
    assert ctrl.identify(1, want=size).status in (nvme.SGL_LENGTH, INVALID_FIELD)


# ---- logs ----

@pytest.mark.line("I08")
def test_the_error_log_holds_what_failed(ctrl, queue):
    """newest first, the count rises"""
    size = 64 * (ctrl.identified(1)[262] + 1)
    first = u(ctrl.logged(1, size), 0, 8)
    assert queue.submit_read(1 << 40, 1, cid=0x1234) and not queue.drain()
    assert ctrl.get_feature(0x7F).status == INVALID_FIELD
    log = ctrl.logged(1, size)
    count, sqid, cid, status = struct.unpack_from("<QHHH", log, 0)
    assert count == first + 2 and sqid == 0 and status >> 1 & 0x7FF == INVALID_FIELD
    count, sqid, cid, status = struct.unpack_from("<QHHH", log, 64)
    assert (count, sqid, cid, status >> 1 & 0x7FF) == (first + 1, 1, 0x1234, nvme.LBA_RANGE)
    assert u(log, 64 + 16, 8) == 1 << 40 and u(log, 64 + 24, 4) == 1


@pytest.mark.line("I09")
def test_smart_counts_the_io_done(ctrl, queue):
    """units of 1000 x 512 bytes, rounded up"""
    def smart():
        page = ctrl.logged(2, 512)
        return {name: u(page, at, 16) for name, at in (
            ("read", 32), ("written", 48), ("reads", 64), ("writes", 80))}
    before = smart()
    for n in range(50):
        assert queue.write(n * 16, bytes(16 * BLOCK)).ok
    for n in range(30):
        assert queue.read(n * 256, 256).ok
    after = smart()
    assert after["writes"] - before["writes"] == 50 and after["reads"] - before["reads"] == 30
    assert abs((after["read"] - before["read"]) - 30 * 2048 / 1000) <= 1
    assert abs((after["written"] - before["written"]) - 50 * 128 / 1000) <= 1
    page = ctrl.logged(2, 512)
    assert page[0] == 0, "no critical warning"
    assert u(page, 1, 2) > 0 and page[3] == 100, "temperature, spare"


@pytest.mark.line("I09")
def test_smart_rounds_up(serve):
    """one block read or written is a unit, 1000 x 512 bytes too, a block more are two"""
    target = serve()
    with nvme.Controller(target.address) as ctrl:
        def units():
            page = ctrl.logged(2, 512)
            return u(page, 32, 16), u(page, 48, 16)
        queue = ctrl.io_queue()
        assert units() == (0, 0)
        for blocks, read in ((1, 1), (124, 1), (1, 2)):
            assert queue.read(0, blocks).ok
            assert units() == (read, 0)
        for blocks, written in ((1, 1), (124, 1), (1, 2)):
            assert queue.write(0, bytes(blocks * BLOCK)).ok
            assert units() == (2, written)


@pytest.mark.line("I10")
def test_smart_of_namespaces(ctrl):
    """0 and FFFFFFFFh are the controller; others by LPA b0"""
    assert ctrl.log(2, 512, nsid=0).ok and ctrl.log(2, 512, nsid=0xFFFFFFFF).ok
    request = ctrl.log(2, 512, nsid=1)
    assert request.ok == bool(ctrl.identified(1)[261] & 1)
    if not request.ok:
        assert request.status == INVALID_FIELD


@pytest.mark.line("I11")
def test_logs_a_host_reads(ctrl):
    """firmware slot, changed namespaces, commands effects"""
    firmware = ctrl.logged(3, 512)
    assert firmware[0] & 7 >= 1 and firmware[8:16] == ctrl.identified(1)[64:72]
    assert ctrl.logged(4, 4096, rae=False) == bytes(4096), "nothing changed"
    lpa = ctrl.identified(1)[261]
    if lpa >> 1 & 1:
        effects = struct.unpack("<1024I", ctrl.logged(5, 4096))
        for opcode in (0x02, 0x06, 0x09, 0x0A, 0x0C, 0x18):
            assert effects[opcode] & 1, "admin %02x" % opcode
        for opcode in (0x00, 0x01, 0x02, 0x08, 0x09):
            assert effects[256 + opcode] & 1, "I/O %02x" % opcode
        assert effects[0x80] == 0 and effects[256 + 0x83] == 0
        assert all(e >> 16 & 7 == 0 for e in effects), "CSE makes Linux freeze its queues"
    if lpa >> 5 & 1:
        supported = struct.unpack("<256I", ctrl.logged(0, 1024))
        for lid in range(256):
            request = ctrl.log(lid, 512)
            assert bool(supported[lid] & 1) == (request.status != LOG_PAGE), "log %02x" % lid
        assert all(supported[lid] & 1 for lid in (0x00, 0x05, 0x12, 0x13)), "what the bit of LPA promises"
        assert all(bool(e >> 20) == bool(e & 1) for e in effects), "the scope of each command"
        assert ctrl.logged(0x13, 4096) == bytes(4096)


@pytest.mark.line("I11")
def test_page_05_names_each_command_that_there_is(ctrl, queue):
    """no other one is known: 0:01, whichever of its fields may be wrong, too"""
    if not ctrl.identified(1)[261] >> 1 & 1:
        pytest.skip("no page 05h")
    effects = struct.unpack("<1024I", ctrl.logged(5, 4096))
    # Nothing is to be done to a namespace: an admin command is for none, one of I/O for blocks far behind its end.
    for at, asked, nsid in ((0, ctrl.admin, 0xFFFFFFF0), (256, queue, 1)):
        # Fabrics' are not in the page, and an event request is not answered.
        for opcode in set(range(256)) - {0x7F} - ({0x0C} if asked is ctrl.admin else set()):
            request = asked.call(nvme.sqe(opcode, nsid=nsid, cdw10=0xFFFFFFFF, cdw11=0xFFFF))
            assert bool(effects[at + opcode] & 1) == (request.status != nvme.INVALID_OPCODE), "%03x" % (at + opcode)
    assert not any(effects[512:])


@pytest.mark.line("I11")
def test_page_12_names_each_feature_that_there_is(ctrl):
    """no other one has capabilities to tell of: 0:02"""
    if not ctrl.identified(1)[261] >> 5 & 1:
        pytest.skip("no page 12h")
    effects = struct.unpack("<256I", ctrl.logged(0x12, 1024))
    for fid in range(256):
        request = ctrl.get_feature(fid, sel=3)
        assert request.ok if effects[fid] & 1 else request.status == INVALID_FIELD, "feature %02x" % fid


@pytest.mark.line("I14")
def test_logs_by_offset(ctrl):
    """what is read from an offset on is what the whole page has there"""
    assert not ctrl.get_feature(0x7F).ok and not ctrl.get_feature(0x7F).ok
    whole = ctrl.logged(2, 512)
    for offset in (4, 200, 508):
        assert ctrl.logged(2, 512 - offset, offset=offset)[8:32] == whole[offset + 8:offset + 32]
    for offset in (1, 2, 510):
        assert ctrl.log(2, 16, offset=offset).status == INVALID_FIELD
    for offset in (516, 4096, 1 << 40):
        assert ctrl.log(2, 16, offset=offset).status == INVALID_FIELD
    for lid, size in ((1, 64 * 64), (3, 512), (5, 4096)):  # of which some are put together piece by piece
        whole = ctrl.logged(lid, size)
        assert any(whole[4:])
        for offset in (4, 68, 124, 260, size - 4):
            assert ctrl.logged(lid, size - offset, offset=offset) == whole[offset:]
            assert ctrl.logged(lid, 4, offset=offset) == whole[offset:offset + 4]


@pytest.mark.line("I15")
def test_logs_shorter_and_longer_than_the_page(ctrl):
    """bytes behind the end are zero, those before it what they are in the whole page"""
    slots = ctrl.logged(3, 512)
    assert slots[0] and any(slots[8:16])
    for length in (4, 8, 12, 16, 20, 508):
        assert ctrl.logged(3, length) == slots[:length]
    assert len(ctrl.logged(2, 4)) == 4
    whole = ctrl.logged(2, 4096)
    assert not any(whole[512:])
    assert not any(ctrl.logged(2, 1 << 20)[512:]), "up to MDTS"


@pytest.mark.line("I15", "W41")
def test_a_log_longer_than_mdts_is_refused(ctrl):
    """0:02"""
    assert ctrl.log(2, (1 << 20) + 4).status == INVALID_FIELD
    assert ctrl.keep_alive().ok


@pytest.mark.line("I15", "X22")
def test_a_log_whose_sgl_does_not_fit(ctrl):
    command = nvme.sqe(2, nsid=0xFFFFFFFF, cdw10=2 | 127 << 16, sgl1=nvme.sgl(0x5A, 256))
    request = ctrl.admin.submit_raw(command, want=512)
    assert ctrl.admin.wait(request).status in (nvme.SGL_LENGTH, INVALID_FIELD)


@pytest.mark.parametrize("lid", [0x7F, 0x81, 0xC0, 0xFF])
@pytest.mark.line("I16")
def test_unknown_logs(ctrl, lid):
    """1:09"""
    request = ctrl.log(lid, 512)
    assert request.status == LOG_PAGE and request.dnr


# ---- events ----

@pytest.mark.line("I17")
def test_events_are_held_up_to_their_limit(ctrl):
    """AERL+1 are held, one more is 1:05"""
    limit = ctrl.identified(1)[259] + 1
    held = [ctrl.aer() for _ in range(limit)]
    more = ctrl.admin.wait(ctrl.aer())
    assert more.status == nvme.AER_LIMIT
    assert ctrl.keep_alive().ok and not any(r.done for r in held)


@pytest.mark.line("I20")
def test_event_configuration(ctrl):
    """supported bits are kept, others 0:02"""
    oaes = u(ctrl.identified(1), 92, 4)
    assert ctrl.set_feature(0x0B, oaes).ok
    assert ctrl.get_feature(0x0B).dw0 & ~0xFF == oaes & ~0xFF
    unsupported = next(1 << bit for bit in range(8, 31) if not oaes >> bit & 1)
    assert ctrl.set_feature(0x0B, unsupported).status == INVALID_FIELD


@pytest.mark.line("I21")
def test_events_vanish_at_reset(ctrl):
    """without a completion; as many can be held again"""
    limit = ctrl.identified(1)[259] + 1
    for _ in range(3):
        for _ in range(limit):
            ctrl.aer()
        ctrl.disable()
        ctrl.admin.requests.clear()
        ctrl.enable()
    assert ctrl.keep_alive().ok


@pytest.mark.line("I27")
def test_abort(ctrl):
    """an event request that is held ends 0:07; an unknown command is not aborted"""
    aer = ctrl.aer()
    request = ctrl.admin.call(nvme.sqe(8, cdw10=aer.cid << 16))
    assert request.ok
    if request.dw0 & 1 == 0:
        assert ctrl.admin.wait(aer).status == nvme.ABORTED
    request = ctrl.admin.call(nvme.sqe(8, cdw10=0x7777 << 16))
    assert request.ok and request.dw0 & 1 == 1
    request = ctrl.admin.call(nvme.sqe(8, cdw10=0x7777 << 16 | 99))
    assert request.ok and request.dw0 & 1 == 1 or request.status == INVALID_FIELD


@pytest.mark.line("I27")
def test_abort_of_a_write_that_waits_for_data(ctrl):
    """aborted with 0:07, or it is not and goes on"""
    queue = ctrl.io_queue()
    queue.serve_r2ts = False
    write = queue.submit_write(0, bytes(16 * BLOCK))
    while not write.r2ts:
        queue.step()
    request = ctrl.admin.call(nvme.sqe(8, cdw10=write.cid << 16 | 1))
    assert request.ok
    queue.send_data(write)  # its data is swallowed either way
    queue.wait(write)
    assert write.status == nvme.ABORTED if request.dw0 & 1 == 0 else write.ok
    assert queue.read(0).ok
