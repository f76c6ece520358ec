"""What a host sees of a volume that it shares: the log page of doc/extension.md, VIEW."""
import struct

import pytest

import nvme
import target as targets
from nvme import INVALID_FIELD, INVALID_NS
from test_live import NQN, conf, live, namespace  # noqa: F401 - live is a fixture
from test_sharing import ALICE, BOB, shared, tenant

FEATURE, VIEW, PAGE, BYTES, LOG_PAGE = 0xD7, 1 << 3, 0xD7, 512, 0x109
GUID = bytes.fromhex("2587434D2B24422D89E83AF99981C57A")
SHARED, PACED, STALLED, KNOWN, WEARS = (1 << n for n in range(5))
ENDLESS = (1 << 64) - 1
BLOCK = 4096


def done(page, at):
    names = "ios bytes failed lately_ios lately_bytes p50 p99 p999".split()
    return dict(zip(names, struct.unpack_from("<8Q", page, at)))


def decode(page):
    view = dict(zip("version length nsid flags state".split(), struct.unpack_from("<HHIIB", page, 16)))
    view.update(zip("rate occupied most cost tenants waiting inflight".split(), struct.unpack_from("<3Q4I", page, 32)))
    view["kinds"] = [dict(done(page, at + 32), **dict(zip("state ewma thresh headroom".split(),
                     struct.unpack_from("<B7x3Q", page, at)))) for at in (80, 176)]
    view["host"] = dict(zip("weight credits waiting inflight".split(), struct.unpack_from("<4I", page, 272)),
                        kinds=[done(page, 288), done(page, 352)])
    view["medium"] = dict(zip("written media used spare threshold".split(), struct.unpack_from("<2QI2B", page, 416)))
    assert page[:16] == GUID and view["version"] == 1 and view["length"] == BYTES
    assert not any(page[29:32] + page[72:80] + page[81:88] + page[177:184] + page[438:])
    return view


def look(ctrl, nsid=1):
    return decode(ctrl.logged(PAGE, BYTES, nsid=nsid))


class Host(nvme.Controller):
    """a host that was granted VIEW, with an I/O queue"""

    def __init__(self, target, name=ALICE):
        super().__init__(target.address(), subnqn=NQN, hostnqn=name, hostid=name.encode()[-16:])
        assert self.set_feature(FEATURE, VIEW).dw0 == VIEW
        self.grant()
        self.queue = self.io_queue()


def supported(ctrl):
    return struct.unpack_from("<I", ctrl.logged(0, 1024), 4 * PAGE)[0]


def test_it_is_there_for_whom_it_was_granted(live):  # noqa: F811
    target = live(shared())
    with nvme.Controller(target.address(), subnqn=NQN) as ctrl:
        refused = ctrl.log(PAGE, BYTES, nsid=1)
        assert refused.status == LOG_PAGE and refused.dnr and supported(ctrl) == 0
        assert ctrl.set_feature(FEATURE, VIEW).dw0 == VIEW
        assert look(ctrl)["nsid"] == 1 and supported(ctrl) & 1
        for nsid, status in ((0, INVALID_NS), (2, INVALID_NS), (0xFFFFFFFF, INVALID_FIELD)):
            refused = ctrl.log(PAGE, BYTES, nsid=nsid)
            assert refused.status == status and refused.dnr
        page = ctrl.logged(PAGE, BYTES, nsid=1)
        assert ctrl.logged(PAGE, 64, offset=16, nsid=1) == page[16:80]
        ctrl.disable()
        ctrl.enable()
        assert ctrl.log(PAGE, BYTES, nsid=1).status == LOG_PAGE


@pytest.mark.parametrize("reactors", [1, 3])
def test_a_host_sees_the_device_and_itself(live, reactors):  # noqa: F811
    target = live(shared(tenants=tenant(ALICE, weight=3)), "--reactors", str(reactors))
    with Host(target) as alice, Host(target, BOB) as bob:
        assert look(alice)["flags"] == SHARED
        for n in range(7):
            assert alice.queue.read(n).ok
        for n in range(5):
            assert bob.queue.write(n, bytes(2 * BLOCK)).ok
        view = look(alice)
        assert view["flags"] == SHARED | KNOWN and view["inflight"] == view["waiting"] == 0
        assert [(kind["ios"], kind["bytes"], kind["failed"]) for kind in view["kinds"]] == \
            [(7, 7 * BLOCK, 0), (5, 10 * BLOCK, 0)]
        assert [kind["ios"] for kind in view["host"]["kinds"]] == [7, 0]
        assert [kind["ios"] for kind in look(bob)["host"]["kinds"]] == [0, 5]
        assert view["rate"] == view["most"] == view["kinds"][0]["headroom"] == ENDLESS
        assert view["cost"] == 1024 and view["host"]["credits"] == 0
        page = alice.logged(PAGE, BYTES, nsid=1)
        assert BOB.encode() not in page and ALICE.encode() not in page


def test_what_a_paced_device_bears(live):  # noqa: F811
    target = live(shared("gimbal", tenants=tenant(ALICE, weight=3)))
    with Host(target) as host:
        assert host.queue.read(0).ok
        view = look(host)
        assert view["flags"] == SHARED | PACED | KNOWN
        assert 0 < view["rate"] < 1 << 40 and 0 < view["most"] < 1 << 40
        assert 0 < view["kinds"][0]["headroom"] < view["rate"] and view["kinds"][0]["thresh"] > 0
        assert view["host"]["weight"] == 3 and view["host"]["credits"] > 0


def test_percentiles_are_of_the_last_second_and_of_the_host_with_its_waiting(live):  # noqa: F811
    target = live(shared(tenants=tenant(ALICE, limits="{read_iops: 100}")))
    with Host(target) as host:
        reads = [host.queue.submit_read(n, 1) for n in range(30)]
        host.queue.wait(*reads)
        views = [look(host)]
        # the second in which the last ones ended, if they are of two
        targets.until("a second with those that waited", lambda: views[-1]["host"]["kinds"][0]["p99"] > 50_000_000,
                      lambda: views.append(look(host)))
        mine, device = views[-1]["host"]["kinds"][0], views[-1]["kinds"][0]
        assert 0 < mine["lately_ios"] <= 30 and mine["lately_bytes"] == BLOCK * mine["lately_ios"]
        assert mine["p50"] <= mine["p99"] <= mine["p999"] and device["p50"] <= device["p99"] <= device["p999"]
        assert mine["p99"] > 50_000_000 > device["p50"]


def test_what_waits_is_seen(live):  # noqa: F811
    target = live(shared(tenants=tenant(ALICE, limits="{read_iops: 1}")), "--reactors", "2")
    with Host(target) as alice, Host(target, BOB) as bob:
        reads = [alice.queue.submit_read(n, 1) for n in range(20)]
        assert alice.queue.wait(reads[0]).ok
        views = [look(alice)]
        # they come one by one, and one a second goes
        targets.until("most of them wait", lambda: views[-1]["host"]["waiting"] >= 10,
                      lambda: views.append(look(alice)))
        mine, theirs = views[-1], look(bob)
        assert mine["waiting"] == mine["host"]["waiting"]
        assert theirs["host"]["waiting"] == 0 and theirs["flags"] == SHARED and theirs["waiting"] > 0


def test_a_namespace_that_is_not_shared_says_so_and_how_its_medium_is(live):  # noqa: F811
    target = live(conf(namespace(1), namespace(2, volume="flash:tlc-plp", size="1G"), top="qos: {mode: off}\n"),
                  "--reactors", "2")
    with Host(target) as host:
        assert look(host, 1)["flags"] == 0
        for n in range(32):
            assert host.queue.write(n * 64, bytes(64 * BLOCK), nsid=2).ok
        view = look(host, 2)
        assert view["flags"] == WEARS and view["medium"]["written"] >= 32 * 64 * BLOCK
        assert view["medium"]["media"] > 0 and view["medium"]["spare"] > view["medium"]["threshold"]


def test_who_goes_while_he_looks_holds_up_nobody(live):  # noqa: F811
    target = live(shared(), "--reactors", "3")
    for _ in range(20):
        host = Host(target)
        for _ in range(16):
            host.admin.submit(nvme.sqe(0x02, nsid=1, cdw10=PAGE | (BYTES // 4 - 1) << 16), want=BYTES)
        host.close()
    target.daemon.no_connections()
    with Host(target) as host:
        assert look(host)["flags"] & SHARED
