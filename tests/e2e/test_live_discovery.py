"""Who may use what, and what the discovery log says of it, while the configuration changes."""
import struct

import pytest

import nvme
from test_live import DISCOVERY_NOTICE, NQN, conf, connect, event, live, namespace  # noqa: F401: `live` is a fixture

NOT_ALLOWED = 0x184


@pytest.mark.line("F02", "F11", "V03")
def test_hosts_that_are_listed_and_others(live):
    """others get 1:84 and see nothing in the discovery log; one taken off the list is disconnected"""
    mine, other = nvme.HOSTNQN, "nqn.2026-11.example:other"
    target = live(conf(namespace(1), hosts=[mine, other]))
    with connect(target) as ctrl, connect(target, hostnqn=other, hostid=bytes(15) + b"\2") as away:
        queue = away.io_queue()
        assert ctrl.keep_alive().ok and queue.read(0).ok
        target.applied(conf(namespace(1), hosts=[mine]))
        away.admin.conn.expect_close()
        queue.conn.expect_close()
        assert ctrl.keep_alive().ok
    queue, answer = nvme.open_queue(target.address(), subnqn=NQN, hostnqn=other)
    queue.close()
    assert answer.status == NOT_ALLOWED and answer.dnr and answer.dw0 == 512 | 1 << 16
    for host, lines in ((mine, 2), (other, 1)):
        with nvme.Controller(target.address(), subnqn=nvme.DISCOVERY, hostnqn=host) as ctrl:
            assert struct.unpack_from("<Q", ctrl.log(0x70, 1024).got, 8)[0] == lines
    target.applied(conf(namespace(1), hosts=[]))
    queue, answer = nvme.open_queue(target.address(), subnqn=NQN, hostnqn=mine)
    queue.close()
    assert answer.status == NOT_ALLOWED, "an empty list is nobody"


@pytest.mark.line("V05", "V06")
def test_the_discovery_log_follows(live):
    """F0h where it changed, GENCTR another; neither where it did not"""
    target = live(conf(namespace(1)))
    with nvme.Controller(target.address(), subnqn=nvme.DISCOVERY) as ctrl:
        def genctr():
            return struct.unpack_from("<Q", ctrl.log(0x70, 1024, rae=False).got)[0]
        assert ctrl.set_feature(0x0B, 0x80000000).ok
        first = genctr()
        held = ctrl.admin.submit(nvme.sqe(0x0C))
        target.applied(conf(namespace(1), namespace(2)))
        assert ctrl.keep_alive().ok and not held.done and genctr() == first
        target.applied(conf(namespace(1), hosts=[nvme.HOSTNQN]))
        assert event(ctrl, held) == DISCOVERY_NOTICE and genctr() != first


@pytest.mark.line("V01", "V05", "V06")
def test_others_that_know_more_are_referred_to(live):
    """subtype 1, with their own address, behind what is here; the event when there are more"""
    target = live(conf(namespace(1)))
    with nvme.Controller(target.address(), subnqn=nvme.DISCOVERY) as ctrl:
        def referrals():
            genctr, count = struct.unpack_from("<QQ", ctrl.log(0x70, 1024, rae=False).got)
            page = bytes(ctrl.log(0x70, 1024 * (1 + count)).got)
            found = [page[at:at + 1024] for at in range(1024, len(page), 1024)]
            assert [e[2] for e in found[:2]] == [3, 2] and {e[2] for e in found[2:]} <= {1}
            return genctr, [tuple(e[a:b].rstrip(b"\0 ") for a, b in ((256, 512), (512, 768), (32, 64)))
                            for e in found[2:]]
        assert ctrl.set_feature(0x0B, 0x80000000).ok
        before, found = referrals()
        assert found == []
        held = ctrl.aer()
        target.applied(conf(namespace(1), top="referrals: [{address: 192.0.2.9}, {address: \"192.0.2.8:4420\"}]\n"))
        assert event(ctrl, held) == DISCOVERY_NOTICE
        after, found = referrals()
        name = nvme.DISCOVERY.encode()
        assert after != before and found == [(name, b"192.0.2.9", b"8009"), (name, b"192.0.2.8", b"4420")]


@pytest.mark.line("V05")
def test_the_generation_goes_on_after_a_restart(live):
    """what a host knew of the last start is never the number of another log"""
    def genctr(target):
        with nvme.Controller(target.address(), subnqn=nvme.DISCOVERY) as ctrl:
            return struct.unpack_from("<Q", ctrl.log(0x70, 1024, rae=False).got)[0]
    known = 0
    for _ in range(3):
        target = live(conf(namespace(1)))
        for hosts in (None, [nvme.HOSTNQN], None):
            target.applied(conf(namespace(1), hosts=hosts))
            before, known = known, genctr(target)
            assert known >= before if hosts is None else known > before
        assert known > before
        target.daemon.stop()
