"""Asymmetric namespace access: states and groups that change, page 0Ch, and what is told of them."""
import os
import struct

import pytest

import nvme
from namespaces import attach, created, detach, hosted
from test_live import (  # noqa: F401: `live` is a fixture
    ANA_NOTICE, BLOCK, NS_NOTICE, changed, conf, connect, event, live, namespace, watch)


@pytest.mark.line("R01", "R02", "R03", "R05")
def test_access_differs_by_listener_and_changes(live):
    """states by listener; 3:xx without DNR and without effect; the event and page 0Ch"""
    def groups(state, on=""):
        return "    ana_groups: [{id: 1, state: %s%s}]\n" % (state, ", on: {b: %s}" % on if on else "")
    target = live(conf(namespace(1), listeners="ab", groups=groups("optimized", "non-optimized")))
    with connect(target, 0) as a, connect(target, 1) as b:
        def state(ctrl):
            page = bytes(ctrl.log(0x0C, 4096, rae=False).got)
            changes, count = struct.unpack_from("<QH", page)
            group, members, group_changes, now = struct.unpack_from("<IIQB", page, 16)
            assert (count, group, members) == (1, 1, 1) and struct.unpack_from("<I", page, 48)[0] == 1
            return changes, group_changes, now
        first = state(a)
        assert first[2] == 1 and state(b)[2] == 2
        qa, qb = a.io_queue(), b.io_queue()
        data = os.urandom(BLOCK)
        assert qa.write(0, data).ok and bytes(qb.read(0).got) == data
        held = watch(a)
        for name, value, status in (("inaccessible", 3, 0x302), ("persistent-loss", 4, 0x301), ("change", 15, 0x303)):
            target.applied(conf(namespace(1), listeners="ab", groups=groups(name, "optimized")))
            assert event(a, held) == ANA_NOTICE, "ANA, and not namespace attributes"
            now = state(a)
            assert now[2] == value and now[0] > first[0] and now[1] > first[1]
            first = now
            held = watch(a)
            for request in (qa.read(0), qa.write(0, bytes(BLOCK)), qa.flush(), qa.flush(0xFFFFFFFF),
                            qa.write_zeroes(0, 1)):
                assert request.status == status and not request.dnr
            for fid in (0x05, 0x82, 0x83):
                requests = [a.get_feature(fid, nsid=1)] + [a.set_feature(fid, 0, nsid=n) for n in (1, 0xFFFFFFFF)]
                assert all(r.status == status and not r.dnr for r in requests), "features of the namespace"
                assert b.get_feature(fid, nsid=1).ok
            assert any(a.identified(0, 1)[48:64]) == (value == 15) and any(b.identified(0, 1)[48:64]), "NVMCAP"
            assert bytes(qb.read(0).got) == data
            assert a.identified(0, 1)[0:8] == b.identified(0, 1)[0:8], "Identify goes on"
        target.applied(conf(namespace(1), listeners="ab", groups=groups("optimized")))
        assert qa.read(0).ok and changed(a) == []


@pytest.mark.line("R03")
@pytest.mark.parametrize("state, status", [("inaccessible", 0x302), ("persistent-loss", 0x301), ("change", 0x303)])
def test_a_write_whose_data_comes_when_its_group_has_changed(live, state, status):
    """it was allowed when it was asked for it"""
    def groups(state):
        return conf(namespace(1), groups="    ana_groups: [{id: 1, state: %s}]\n" % state)
    target = live(groups("optimized"))
    with connect(target) as ctrl:
        queue = ctrl.io_queue()
        queue.serve_r2ts = False
        late = queue.submit_write(3, b"x" * BLOCK, incapsule=False)
        while not late.r2ts:
            queue.step()
        target.applied(groups(state))
        queue.send_data(late)
        assert queue.wait(late).status == status and not late.dnr
        target.applied(groups("optimized"))
        assert bytes(queue.read(3).got) == bytes(BLOCK)


@pytest.mark.line("R05")
def test_a_namespace_that_changes_its_group(live):
    """00h and page 04h, as Identify has changed, then 03h, also where both groups are in the same state"""
    groups = "    ana_groups: [{id: 4}, {id: 9}]\n"
    target = live(conf(namespace(1, ana_group=4), namespace(2, ana_group=4), groups=groups))
    with connect(target) as ctrl:
        held = watch(ctrl)
        target.applied(conf(namespace(1, ana_group=4), namespace(2, ana_group=9), groups=groups))
        assert event(ctrl, held) == NS_NOTICE and changed(ctrl) == [2]
        assert event(ctrl, watch(ctrl)) == ANA_NOTICE and ctrl.log(0x0C, 4096, rae=False).ok
        held = watch(ctrl)
        assert ctrl.identified(0, 2)[92] == 9 and not held.done


@pytest.mark.line("R01", "R05")
def test_page_0c_counts_what_is_attached(live):  # noqa: F811
    """the count of the group and of the page move with the namespaces that it names; 00h tells of it, not 03h"""
    target = live(hosted(groups="    ana_groups: [{id: 4}, {id: 9}]\n"))
    with connect(target) as a:
        def page():
            """The count, and of each group its own and its namespaces."""
            data = bytes(a.log(0x0C, 4096, rae=False).got)
            (changes, count), at, found = struct.unpack_from("<QH", data), 16, {}
            for _ in range(count):
                group, members, counted = struct.unpack_from("<IIQ", data, at)
                found[group] = counted, list(struct.unpack_from("<%dI" % members, data, at + 32))
                at += 32 + 4 * members
            return changes, found
        assert [created(a, group=group) for group in (4, 9)] == [1, 2]
        def groups():
            """With RGO: the groups are as they are in the whole page, but for their namespaces."""
            data = bytes(a.log(0x0C | 1 << 8, 4096, rae=False).got)
            (changes, count), entries = struct.unpack_from("<QH", data), struct.iter_unpack("<IIQ16x", data[16:80])
            assert count == 2 and not any(data[80:])
            return changes, {group: (counted, members) for group, members, counted in entries}
        before, were = page()
        assert [members for _, members in were.values()] == [[], []]
        held = watch(a)
        for change, members in ((attach, [1]), (detach, []), (attach, [1])):
            assert change(a, 1).ok and event(a, held) == NS_NOTICE and changed(a) == [1]
            held = watch(a)
            after, are = page()
            assert a.keep_alive().ok and not held.done, "no ANA event"
            assert groups() == (after, {group: (counted, 0) for group, (counted, _) in are.items()})
            assert are[4][1] == members and are[4][0] > were[4][0] and after > before and are[9] == were[9]
            before, were = after, are
