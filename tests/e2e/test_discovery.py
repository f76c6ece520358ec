"""The discovery subsystem: the log that tells hosts where to connect."""
import struct

import pytest

import nvme

ENTRY = 1024


@pytest.fixture
def disco(target):
    with nvme.Controller(target.address, subnqn=nvme.DISCOVERY, kato=0) as ctrl:
        yield ctrl


def text(field):
    return field.rstrip(b"\0 ").decode("ascii")


def entries(ctrl):
    """Reads as hosts do: the header, then all, then the header again."""
    header = ctrl.logged(0x70, ENTRY, nsid=0)
    genctr, numrec, recfmt = struct.unpack_from("<QQH", header)
    assert recfmt == 0
    page = ctrl.logged(0x70, ENTRY * (1 + numrec), nsid=0)
    assert page[:18] == header[:18]
    out = []
    for n in range(numrec):
        e = page[ENTRY * (n + 1):ENTRY * (n + 2)]
        out.append(dict(
            trtype=e[0], adrfam=e[1], subtype=e[2], treq=e[3], portid=struct.unpack_from("<H", e, 4)[0],
            cntlid=struct.unpack_from("<H", e, 6)[0], asqsz=struct.unpack_from("<H", e, 8)[0],
            trsvcid=text(e[32:64]), subnqn=text(e[256:512]), traddr=text(e[512:768]), sectype=e[768]))
    return genctr, out


@pytest.mark.line("V01")
def test_the_log_lists_the_subsystem_and_itself(target, disco):
    _, found = entries(disco)
    assert [e["subnqn"] for e in found if e["subtype"] == 2] == [nvme.SUBNQN]
    assert [e["subnqn"] for e in found if e["subtype"] == 3] == [nvme.DISCOVERY]
    assert {e["subtype"] for e in found} == {2, 3}


@pytest.mark.line("V02")
def test_the_fields_of_an_entry(target, disco):
    _, found = entries(disco)
    for e in found:
        assert e["trtype"] == 3 and e["adrfam"] == 1
        assert e["traddr"] == "127.0.0.1" and e["trsvcid"] == str(target.port)
        assert e["cntlid"] == 0xFFFF and e["asqsz"] >= 32
        assert e["treq"] == 4 and e["sectype"] == 0, "no word of a secure channel; SQ flow control may be off"


@pytest.mark.line("V01", "V02", "W42")
def test_where_the_log_says_a_host_can_connect(target, disco):
    _, found = entries(disco)
    if {e["traddr"] for e in found} != {target.address[0]}:
        pytest.skip("it was reached by another address than it knows")
    for e in found:
        with nvme.Controller((e["traddr"], int(e["trsvcid"])), subnqn=e["subnqn"]) as ctrl:
            assert ctrl.identify(1).ok


@pytest.mark.line("V01", "W42")
def test_every_listener_is_listed(serve):
    """with the family of its address"""
    target = serve(listen=("127.0.0.1:0", "127.0.0.2:0", "[::1]:0"))
    with nvme.Controller(target.address, subnqn=nvme.DISCOVERY, kato=0) as ctrl:
        _, found = entries(ctrl)
        listed = {(e["traddr"], int(e["trsvcid"])) for e in found if e["subtype"] == 2}
        assert listed == set(target.addresses)
        assert all(e["adrfam"] == (2 if ":" in e["traddr"] else 1) for e in found)


@pytest.mark.line("V02", "W43")
def test_a_listener_on_every_address_is_listed_as_it_was_reached(serve):
    """the listener's own address as the host can reach it, never 0.0.0.0"""
    target = serve(listen=("0.0.0.0:0",))
    with nvme.Controller(("127.0.0.1", target.port), subnqn=nvme.DISCOVERY, kato=0) as ctrl:
        _, found = entries(ctrl)
        assert found and all(e["traddr"] == "127.0.0.1" for e in found)


@pytest.mark.line("V01", "V03")
def test_another_name_is_listed(serve):
    target = serve("--subnqn", "nqn.2026-11.local.weir:named")
    with nvme.Controller(target.address, subnqn=nvme.DISCOVERY, kato=0) as ctrl:
        _, found = entries(ctrl)
        assert {e["subnqn"] for e in found if e["subtype"] == 2} == {"nqn.2026-11.local.weir:named"}


@pytest.mark.line("V04")
def test_the_log_in_parts(disco):
    """header alone, by offset, short, and longer than it is"""
    genctr, found = entries(disco)
    size = ENTRY * (1 + len(found))
    whole = disco.logged(0x70, size, nsid=0)
    assert struct.unpack_from("<Q", whole, 8)[0] == len(found)
    assert disco.logged(0x70, 16, nsid=0) == whole[:16]
    for offset in (4, 512, ENTRY, ENTRY + 300, 2 * ENTRY - 4, 2 * ENTRY + 256, size - 4):
        assert disco.logged(0x70, size - offset, offset=offset, nsid=0) == whole[offset:]
        assert disco.logged(0x70, 4, offset=offset, nsid=0) == whole[offset:offset + 4]
    assert disco.logged(0x70, size + 4096, nsid=0) == whole + bytes(4096)
    assert disco.log(0x70, 16, offset=2, nsid=0).status == nvme.INVALID_FIELD


@pytest.mark.line("V05")
def test_nothing_changes_the_generation_but_a_change(disco):
    assert len({entries(disco)[0] for _ in range(5)}) == 1


@pytest.mark.line("V06")
def test_discovery_events_can_be_asked_for(disco):
    """OAES b31; an event request is held"""
    assert struct.unpack_from("<I", disco.identified(1), 92)[0] >> 31 & 1
    assert disco.set_feature(0x0B, 1 << 31).ok
    assert disco.get_feature(0x0B).dw0 >> 31 & 1
    aer = disco.aer()
    assert disco.keep_alive().ok and not aer.done


@pytest.mark.line("V07")
def test_io_queues_of_a_discovery_controller_are_refused(disco):
    _, connect = disco.try_io_queue(1, subnqn=nvme.DISCOVERY)
    assert connect.status in (nvme.CONNECT_PARAMS, nvme.SEQUENCE, nvme.QUEUE_TYPE) and connect.dnr


@pytest.mark.line("V08")
def test_what_a_discovery_controller_does_not_do(disco):
    for opcode in (0x01, 0x04, 0x05, 0x55, 0xEE):
        assert disco.admin.call(nvme.sqe(opcode, nsid=1)).status == nvme.INVALID_OPCODE
    assert disco.identify(0, 1).status in (nvme.INVALID_FIELD, nvme.INVALID_NS)
    for lid in (0x04, 0x05, 0x0C):
        request = disco.log(lid, 512, nsid=0)
        assert request.status in (nvme.LOG_PAGE, nvme.INVALID_FIELD)
    for lid in (0x01, 0x02, 0x03, 0x0D, 0x80):
        assert disco.log(lid, 512).status == nvme.LOG_PAGE or nvme.STRANGER


@pytest.mark.line("V08", "I01")
def test_identify_of_a_discovery_controller(disco):
    page = disco.identified(1)
    assert page[111] == 2, "CNTRLTYPE"
    assert text(page[768:1024]) == nvme.DISCOVERY
    assert struct.unpack_from("<H", page, 78)[0] == disco.cntlid
    assert page[261] >> 2 & 1, "LPA: long log pages"


@pytest.mark.line("V08")
def test_an_io_controller_has_no_discovery_log(ctrl):
    assert ctrl.log(0x70, 1024, nsid=0).status in (nvme.LOG_PAGE, nvme.INVALID_FIELD)


@pytest.mark.parametrize("dgst", [1, 2, 3])
@pytest.mark.line("V01", "C02")
def test_discovery_with_digests(target, dgst):
    with nvme.Controller(target.address, subnqn=nvme.DISCOVERY, kato=0, dgst=dgst) as ctrl:
        assert entries(ctrl)[1]


@pytest.mark.line("L09")
def test_shutdown_of_a_discovery_controller(disco):
    disco.set(nvme.CC, nvme.CC_READY | 1 | 1 << 14)
    disco.until(0x0C, nvme.SHST_DONE)


@pytest.mark.parametrize("host, family", [("127.0.0.1", 1), ("::1", 2)])
def test_a_listener_on_every_address_of_both_families_is_listed_by_that_of_the_host(serve, host, family):
    """::ffff:127.0.0.1 is an address of IPv4"""
    target = serve(listen=("[::]:0",))
    with nvme.Controller((host, target.port), subnqn=nvme.DISCOVERY, kato=0) as ctrl:
        _, found = entries(ctrl)
        assert len(found) == 2 and all((e["traddr"], e["adrfam"]) == (host, family) for e in found), found


@pytest.mark.parametrize("near, listed", [("[::1]:0", 1), ("127.0.0.2:0", 2)])
def test_where_nobody_listens_is_not_listed(serve, near, listed):
    """who came by IPv6 does not reach 0.0.0.0 by the address it came to"""
    target = serve(listen=(near, "0.0.0.0:0"))
    with nvme.Controller(target.address, subnqn=nvme.DISCOVERY, kato=0) as ctrl:
        _, found = entries(ctrl)
        assert len(found) == 2 * listed and {e["traddr"] for e in found} == {target.address[0]}, found
        for e in found:
            with nvme.Controller((e["traddr"], int(e["trsvcid"])), subnqn=e["subnqn"]):
                pass
