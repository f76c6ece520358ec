"""Hosts that share a volume: limits and weights of a configuration, and other ones while I/O waits."""
import contextlib
import json

import pytest

import nvme
from nvme import ABORTED
from test_abort import abort
from test_live import NQN, conf, live, namespace  # noqa: F401
from tools import SECONDS, start, weir

ALICE, BOB = "nqn.2026-11.example:alice", "nqn.2026-11.example:bob"


def shared(mode="caps", limits="", tenants="", groups=""):
    """a configuration with one namespace"""
    top = "qos:\n  mode: %s\n" % mode
    if groups:
        top += "  groups:\n" + groups
    if tenants:
        top += "  tenants:\n" + tenants
    return conf(namespace(1, **({"qos": "{limits: {%s}}" % limits} if limits else {})), top=top)


def tenant(host, **what):
    return "    - {host: %s, %s}\n" % (host, ", ".join("%s: %s" % pair for pair in what.items()))


def load(target, host, ios, *args, kind="randread"):
    return start("perf", "nvme+tcp://%s:%d/%s?ns=1" % (*target.address(), NQN), "--hostnqn", host, "--rw", kind,
                 "--ios", str(ios), "--json", *map(str, args))


def end(program):
    out, err = program.communicate(timeout=SECONDS)
    assert program.returncode == 0, err
    report = json.loads(out)
    assert report["errors"] == 0
    return report


def together(target, tmp_path, kind, ios):
    """the report of both hosts, which begin at once, however slowly programs start here"""
    jobs = tmp_path / ("%s.yaml" % kind)
    jobs.write_text("defaults: {ios: %d, rw: %s}\njobs:\n" % (ios, kind) + "".join(
        "  - {name: %s, uri: \"nvme+tcp://%s:%d/%s?ns=1&hostnqn=%s\"}\n" % (host[-3:], *target.address(), NQN, host)
        for host in (ALICE, BOB)))
    report = json.loads(weir("perf", "--job", jobs, "--json").stdout)
    assert report["errors"] == 0
    return report


@pytest.mark.parametrize("reactors", [1, 3])
def test_a_host_has_no_more_than_its_limit(live, reactors):
    limited = shared(tenants=tenant(ALICE, limits="{read_iops: 1000, write_bandwidth: 4M}"))
    target = live(limited, "--reactors", str(reactors))
    reads, writes, others = (load(target, ALICE, 500), load(target, ALICE, 500, "--qd", 8, kind="randwrite"),
                             load(target, BOB, 3000, kind="randrw"))
    assert end(reads)["seconds"] >= 0.45
    assert end(writes)["seconds"] >= 0.45
    end(others)


def test_a_group_has_a_limit_together_and_the_volume_one_of_all(live, tmp_path):
    target = live(shared(groups="    - {name: both, limits: {read_iops: 1000}}\n", limits="write_iops: 1000",
                         tenants=tenant(ALICE, group="both") + tenant(BOB, group="both")))
    for kind in ("randread", "randwrite"):
        assert together(target, tmp_path, kind, 300)["seconds"] >= 0.55


def test_a_host_says_what_it_wants_first(live, tmp_path):
    """16 of one for each of the other: it is done in little more than half of the time that both take"""
    target = live(shared("gimbal", tenants=tenant(ALICE, limits="{read_iops: 2000}")))
    jobs = tmp_path / "jobs.yaml"
    where = "nvme+tcp://%s:%d/%s?ns=1" % (*target.address(), NQN)
    jobs.write_text("defaults: {ios: 1000}\njobs:\n" + "".join(
        "  - {name: %s, priority: %d, uri: \"%s\"}\n" % (*job, where) for job in (("first", 0), ("later", 3))))
    found = json.loads(weir("perf", "--job", jobs, "--hostnqn", ALICE, "--json").stdout)
    first, later = found["jobs"]
    assert found["errors"] == 0 and first["read"]["ios"] == later["read"]["ios"] == 1000
    assert first["seconds"] < 0.75 * later["seconds"]


def test_other_limits_hold_for_what_waits(live):
    """of one I/O a second nothing is left, and nobody hears of an error"""
    slow = shared(tenants=tenant(ALICE, limits="{read_iops: 1}"), limits="read_iops: 2")
    target = live(slow, "--reactors", "2")
    waiting = [load(target, host, 20000) for host in (ALICE, BOB)]
    with nvme.Controller(target.address(), subnqn=NQN, hostnqn=nvme.HOSTNQN) as ctrl:
        ctrl.grant()
        queue = ctrl.io_queue()
        assert queue.read(0).ok and queue.read(0).ok
    for mode in ("caps", "gimbal", "caps", "off"):
        target.applied(shared(mode, tenants=tenant(ALICE, weight=7)))
    for one in waiting:
        end(one)


def test_what_waits_for_its_turn_can_be_aborted(live):
    target = live(shared(limits="write_iops: 1"))
    with nvme.Controller(target.address(), subnqn=NQN) as ctrl:
        ctrl.grant()
        queue = ctrl.io_queue()
        assert queue.write(0, bytes(4096)).ok
        writes = [queue.submit_write(n, bytes(4096)) for n in range(3)]
        assert abort(ctrl, 1, writes[1])
        assert queue.wait(writes[1]).status == ABORTED
        assert queue.wait(writes[0]).ok and queue.wait(writes[2]).ok


@pytest.mark.parametrize("mode", ["caps", "gimbal"])
def test_who_keeps_to_credits_has_nothing_grow_old_at_a_limit(live, mode):
    """all sixteen at once would take four times as long as an I/O may"""
    target = live(shared(mode, tenants=tenant(ALICE, limits="{read_iops: 4}")))
    report = end(load(target, ALICE, 12, "--timeout", "1s", "--qd", 16))
    assert report["read"]["ios"] == 12


def test_who_leaves_while_he_waits_holds_up_nobody(live):
    target = live(shared(tenants=tenant(ALICE, limits="{read_iops: 1}")), "--reactors", "2")
    for _ in range(3):
        with nvme.Controller(target.address(), subnqn=NQN, hostnqn=ALICE) as ctrl:
            ctrl.grant()
            queue = ctrl.io_queue()
            reads = [queue.submit_read(n, 1) for n in range(30)]
            assert queue.wait(reads[0]).ok
    target.daemon.no_connections()
    assert end(load(target, BOB, 3000))["read"]["ios"] == 3000


def test_a_namespace_that_was_off_is_shared_from_when_it_is_opened(live):
    """and may be off in between"""
    target = live(shared("off"))
    done = target.apply(shared("caps"))
    assert done.returncode != 0 and "from when it is opened" in done.stdout + done.stderr
    target.applied(conf())
    for mode in ("gimbal", "off", "caps"):
        target.applied(shared(mode))
        assert end(load(target, ALICE, 3000, "--verify", kind="randrw"))["verify"]["wrong"] == 0


def test_memory_of_what_is_shared_is_explained(tmp_path):
    path = tmp_path / "weir.yaml"
    path.write_text(shared("gimbal"))
    assert b"+ 1 that are shared x" in weir("serve", "--config", path, "--explain-memory").stdout


def test_it_is_said_that_a_drive_is_not_known(live, tmp_path):
    unknown, known = tmp_path / "unknown.yaml", tmp_path / "known.yaml"
    unknown.write_text(shared("gimbal"))
    known.write_text(conf(namespace(1, qos="{device: mine}"), top="qos: {mode: gimbal, devices: [{name: mine}]}\n"))
    words = "namespace 1 of %s is shared by what some TLC drive can do" % NQN
    assert words in weir("check", unknown).words and words in live(unknown.read_text()).daemon.stderr()
    assert words not in weir("check", known).words


@pytest.mark.parametrize("what, said", [
    (dict(tenants=tenant(ALICE, weight=2)), "groups and tenants does not hold"),
    (dict(limits="read_iops: 5"), "the limits of namespace 1 of %s do not hold" % NQN),
])
def test_it_is_said_that_nothing_holds_where_it_is_off(tmp_path, what, said):
    path = tmp_path / "weir.yaml"
    path.write_text(shared("off", **what))
    assert said in weir("check", path).words
    path.write_text(shared("caps", **what))
    assert "hold" not in weir("check", path).words


# ---- CREDITS of Weir's extension (doc/extension.md) ----

EXTENSION, CREDITS = 0xD7, 1
FLASH = conf("      - nsid: 1\n        volume: flash:optane,data=no\n        size: 64M\n        qos: {mode: gimbal}\n")


@contextlib.contextmanager
def credited(target, **who):
    with nvme.Controller(target.address(), subnqn=NQN, **who) as ctrl:
        ctrl.grant()
        answer = ctrl.set_feature(EXTENSION, CREDITS)
        assert answer.ok and answer.dw0 == CREDITS
        yield ctrl


def with_priority(command, priority):
    return command[:1] + bytes([command[1] | priority << 4]) + command[2:]


def test_who_was_granted_credits_is_told_how_many_there_may_be(live):
    target = live(FLASH, "--reactors", "2")
    with credited(target) as ctrl:
        first, second = ctrl.io_queue(1), ctrl.io_queue(2)
        alone = first.write(0, bytes(4096)).dw1
        assert alone > 1
        beside = [queue.write(0, bytes(4096)).dw1 for queue in (second, first)]
        assert all(0 < told <= alone // 2 + 1 for told in beside), (alone, beside)
        assert first.call(nvme.sqe(0x00, nsid=1)).dw1 > 0, "a Flush"
        assert first.read(0).ok
        failed = first.read(1 << 40)
        assert not failed.ok and failed.dw1 == 0


def test_who_does_not_care_what_was_granted_has_his_io_wait(live):
    """nothing of it fails, it is not cut off, and others are served meanwhile"""
    target = live(FLASH)
    with credited(target, hostnqn=ALICE) as alice, credited(target, hostnqn=BOB, hostid=b"somebody else, 1") as bob:
        many, one = alice.io_queue(entries=1024), bob.io_queue()
        granted = many.write(0, bytes(4096)).dw1
        assert one.read(0).ok
        writes = [many.submit(nvme.sqe(0x01, nsid=1, cdw10=n), bytes(4096)) for n in range(1000)]
        assert 0 < granted < len(writes)
        assert all(one.read(0).ok for _ in range(10))
        many.wait(*writes)
        assert all(write.ok for write in writes)
        assert many.read(0).ok


def test_who_was_not_granted_credits_hears_of_none(live):
    target = live(FLASH)
    with nvme.Controller(target.address(), subnqn=NQN) as ctrl:
        ctrl.grant()
        queue = ctrl.io_queue()
        assert queue.write(0, bytes(4096)).dw1 == 0 and queue.read(0).dw1 == 0
        refused = queue.call(with_priority(nvme.sqe(0x00, nsid=1), 1))
        assert refused.status == nvme.INVALID_FIELD and refused.dnr


def test_of_what_waits_priorities_are_served_by_their_parts(live):
    """16 of the first while 1 of the last goes"""
    target = live(shared(limits="write_iops: 200"))
    with credited(target) as ctrl:
        queue = ctrl.io_queue(entries=256)
        writes = [queue.submit(with_priority(nvme.sqe(0x01, nsid=1, cdw10=n), 0 if n % 2 else 3), bytes(4096))
                  for n in range(68)]
        order = []
        while len(order) < 34:
            queue.step()
            order += [n for n, write in enumerate(writes) if write.done and n not in order]
        assert sum(n % 2 for n in order) >= 30, order
        queue.wait(*writes)
        assert all(write.ok for write in writes)


def logged(tmp_path, *args, **how):
    """and with a log of ordered writes"""
    return "order_log: {place: \"memory:%s\"}\n" % (tmp_path / "order.log") + shared(*args, **how)


def ordered(target, host, ios, *args):
    return load(target, host, ios, "--ordered", *args, kind="randwrite")


def test_ordered_writes_keep_to_limits(live, tmp_path):
    """as any others do; and those of another host do not wait for them"""
    target = live(logged(tmp_path, tenants=tenant(ALICE, limits="{write_iops: 1000}")))
    writes, others = ordered(target, ALICE, 500, "--group", 2), ordered(target, BOB, 3000)
    found, free = end(writes), end(others)
    assert found["seconds"] >= 0.45 and found["ordered"]["groups"] == 250
    assert free["ordered"]["groups"] == 3000


def test_ordered_writes_share_a_device_with_others(live, tmp_path):
    """each group has both its writes, and flushes, while modes change under what waits and another host reads"""
    def by_turns(mode, weight):
        return logged(tmp_path, mode, tenants=tenant(ALICE, weight=weight, limits="{write_iops: 4000}"))
    target = live(by_turns("gimbal", 3), "--reactors", "2")
    writes = ordered(target, ALICE, 3000, "--group", 2, "--flush-every", 16, "--streams", 3, "--qd", 32)
    others = load(target, BOB, 3000, kind="randrw")
    for mode, weight in (("caps", 1), ("gimbal", 7), ("off", 1), ("gimbal", 1)):
        target.applied(by_turns(mode, weight))
    found = end(writes)
    end(others)
    assert found["ordered"]["durable"]["ios"] == found["write"]["ios"] == 3000
