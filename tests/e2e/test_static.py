"""Static controllers: ids that hosts choose, and that belong to one association at a time."""
import os
import random
import struct
import threading
import time

import pytest

import nvme
import target as targets
from namespaces import attach, controllers, created, detach, hosted, nsids
from nvme import CONNECT_BUSY, CONNECT_PARAMS
from nvmetcp import PATIENCE, Closed
from test_assoc import NEW, OFFERED, OLD, OTHER, begin_write, block, fence, grant, noticed
from test_discovery import entries
from test_live import DISCOVERY_NOTICE, NQN, conf, live, namespace

assert live  # a fixture

ANY, DYNAMIC = 0xFFFE, 0xFFFF
THIRD = b"\3" * 16
WRONG_ID = 16 | 1 << 16
SECOND = NQN + ":2"


def static(count=3, model="static"):
    return "    controllers: %s\n    limits: {controllers: %d}\n" % (model, count)


def fixed(*namespaces, count=3, **more):
    return conf(*namespaces or [namespace(1)], groups=static(count), **more)


def connect(live, cntlid=ANY, subnqn=NQN, **how):
    return nvme.Controller(live.address(), subnqn=subnqn, cntlid=cntlid, **how)


def refused(live, cntlid, subnqn=NQN, **how):
    queue, answer = nvme.open_queue(live.address(), subnqn=subnqn, cntlid=cntlid, **how)
    queue.close()
    assert not answer.ok, "%x" % cntlid
    return answer


def assert_busy(answer):
    assert answer.status == CONNECT_BUSY and not answer.dnr and answer.dw0 == 0


def assert_wrong_id(answer):
    assert answer.status == CONNECT_PARAMS and answer.dnr and answer.dw0 == WRONG_ID


def until_free(live, cntlid, **how):
    """As a host does that was told that it is busy."""
    deadline = time.monotonic() + 5 * PATIENCE
    while True:
        try:
            return connect(live, cntlid, **how)
        except nvme.Violation as why:
            assert "1:81" in str(why), why
            assert time.monotonic() < deadline, "it is still busy"


# ---- which id ----

@pytest.mark.parametrize("reactors", [1, 3])
@pytest.mark.line("F01", "W86")
def test_a_host_has_the_id_that_it_asks_for(live, reactors):
    """its queues find it from wherever they come, and nobody else"""
    target = live(fixed(count=7), "--reactors", str(reactors))
    ctrls = [connect(target, n, hostid=hostid) for n, hostid in ((7, nvme.HOSTID), (2, OTHER), (3, OTHER), (1, THIRD))]
    assert [ctrl.cntlid for ctrl in ctrls] == [7, 2, 3, 1]
    for n, ctrl in enumerate(ctrls):
        page = ctrl.identified(1)
        assert struct.unpack_from("<H", page, 78)[0] == ctrl.cntlid and page[1802] == 1
        ctrl.grant()
        queues = [ctrl.io_queue(qid) for qid in range(1, 6)]
        for k, queue in enumerate(queues):
            data = os.urandom(4096)
            assert queue.write(n * 5 + k, data).ok
            assert all(bytes(other.read(n * 5 + k).got) == data for other in queues)
    for ctrl in ctrls:
        ctrl.close()
    target.daemon.no_connections()


@pytest.mark.line("F02", "W86")
def test_ids_that_may_not_be_asked_for(live):
    """1:82, 16/1: of the other model, 0, above the limit, reserved; discovery is of the dynamic one"""
    text = fixed() + "  - nqn: %s\n    controllers: dynamic\n" % SECOND
    target = live(text)
    for cntlid in (0, 4, 0xFFEF, 0xFFF0, 0xFFFD, DYNAMIC):
        assert_wrong_id(refused(target, cntlid))
    for cntlid in (0, 1, 3, ANY, 0xFFF0):
        assert_wrong_id(refused(target, cntlid, SECOND))
        assert_wrong_id(refused(target, cntlid, nvme.DISCOVERY))
    with connect(target, DYNAMIC, SECOND) as ctrl:
        assert ctrl.identified(1)[1802] == 0


@pytest.mark.line("W86")
def test_any_is_the_one_that_was_used_longest_ago(live):
    """none free: 1:81 without DNR, and so for one that is in use; there is room again when one goes"""
    target = live(fixed())
    ctrls = {n: connect(target, hostid=bytes([n]) * 16) for n in (1, 2, 3)}
    assert [ctrl.cntlid for ctrl in ctrls.values()] == [1, 2, 3]
    for hostid in (bytes([1]) * 16, b"\7" * 16):
        for cntlid in (ANY, 1, 2, 3):
            assert_busy(refused(target, cntlid, hostid=hostid))
    for n, left in ((3, 2), (1, 1), (2, 0)):
        ctrls[n].close()
        noticed(target.daemon, left)
    for expected in (3, 1, 2, 3):
        with connect(target, hostid=b"\7" * 16) as ctrl:
            assert ctrl.cntlid == expected
        noticed(target.daemon, 0)


@pytest.mark.line("F05", "W86")
def test_a_queue_for_a_static_controller_is_held_to_all_rules(live):
    """the id of nobody; of another host; of another subsystem that has the same ids"""
    text = fixed(count=9) + "  - nqn: %s\n%s    namespaces:\n%s" % (SECOND, static(9), namespace(1, size="32M"))
    target = live(text, "--reactors", "3")
    ctrls = [connect(target, 5), connect(target, 5, SECOND), connect(target, 6, SECOND)]
    other = connect(target, 4, hostid=OTHER)
    for cntlid in (0, 3, 6, 10, ANY, DYNAMIC):
        _, answer = ctrls[0].try_io_queue(subnqn=NQN, cntlid=cntlid)
        assert_wrong_id(answer)
    _, answer = ctrls[0].try_io_queue(subnqn=NQN, cntlid=4)
    assert answer.status == CONNECT_PARAMS and answer.dw0 in (1 << 16, 512 | 1 << 16)
    for n, ctrl in enumerate(ctrls):
        queue = ctrl.io_queue()
        assert struct.unpack_from("<Q", ctrl.identified(0, 1))[0] == (4096 if n == 0 else 8192)
        assert queue.write(0, bytes([n]) * 4096).ok
    assert block(ctrls[0].io_queue(2))[0] == 0 and block(ctrls[1].io_queue(2))[0] == 2
    for ctrl in ctrls + [other]:
        ctrl.close()
    target.daemon.no_connections()


# ---- one after the other ----

@pytest.mark.parametrize("reactors", [1, 3])
@pytest.mark.line("W70", "W87")
def test_who_comes_back_for_its_id_meets_nothing_of_itself(live, reactors):
    """its Connect waits for the I/O of the last; another host's is told that it is busy"""
    target = live(fixed(namespace(1, "fault:delay-write=400@mem")), "--reactors", str(reactors))
    ctrl = connect(target, 2)
    queue = ctrl.io_queue()
    began = time.monotonic()
    begin_write(queue)
    ctrl.admin.conn.reset()
    noticed(target.daemon, 1)  # the queue with the write
    assert_busy(refused(target, 2, hostid=OTHER))
    with connect(target, hostid=OTHER) as other:
        assert other.cntlid == 1 and block(other.io_queue()) == bytes(4096)
    assert time.monotonic() - began < 0.35, "nobody else waits"
    again = connect(target, 2)
    assert time.monotonic() - began >= 0.35 and again.cntlid == 2
    queue = again.io_queue()
    assert block(queue) == OLD and queue.write(0, NEW).ok and block(queue) == NEW
    ctrl.close(), again.close()
    with until_free(target, 2, hostid=OTHER) as other:
        assert block(other.io_queue()) == NEW
    target.daemon.no_connections()


@pytest.mark.line("W87")
def test_who_waits_for_its_id_and_goes_does_not_keep_it(live):
    target = live("timeouts: {handshake: 300ms}\n" + fixed(namespace(1, "fault:delay-write=1200@mem"), count=1))
    ctrl = connect(target, 1)
    begin_write(ctrl.io_queue())
    ctrl.close()
    noticed(target.daemon, 1)
    for _ in range(2):
        with pytest.raises((Closed, ConnectionError)):
            nvme.open_queue(target.address(), subnqn=NQN, cntlid=1)
    until_free(target, 1, hostid=OTHER).close()
    target.daemon.no_connections()


@pytest.mark.line("F01", "W86")
def test_hosts_that_come_and_go_never_share_an_id(live):
    """in threads, on several reactors; whoever is let in has an id that nobody else has"""
    target = live(fixed(count=4), "--reactors", "4")
    lock, held, wrong, counts = threading.Lock(), set(), [], [0, 0]

    def host(n):
        rng = random.Random(n)
        for _ in range(60):
            try:
                ctrl = connect(target, rng.choice((ANY, ANY, 1, 2, 3, 4)), hostid=bytes([n + 1]) * 16)
            except nvme.Violation as why:
                if "1:81" not in str(why):
                    wrong.append(str(why))
                counts[1] += 1
                continue
            with lock:
                if ctrl.cntlid in held:
                    wrong.append(ctrl.cntlid)
                held.add(ctrl.cntlid)
                counts[0] += 1
            if not ctrl.io_queue().read(0).ok:
                wrong.append("read")
            with lock:
                held.remove(ctrl.cntlid)
            ctrl.close()

    threads = [threading.Thread(target=host, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == [] and counts[0] > 50 and counts[1] > 0
    target.daemon.no_connections()


# ---- where ids are named ----

@pytest.mark.line("W72", "W86")
def test_a_fence_names_a_static_id(live):
    """of this subsystem"""
    target = live(fixed() + "  - nqn: %s\n%s" % (SECOND, static()), "--reactors", "2")
    one, two, three = (connect(target, n) for n in (3, 2, 1))
    stranger = connect(target, 1, SECOND)
    assert grant(one) == OFFERED
    assert fence(one, 3).status == nvme.INVALID_FIELD, "itself"
    assert fence(one, 1).dw0 == 1
    three.admin.conn.expect_close()
    assert two.keep_alive().ok and stranger.keep_alive().ok
    again = connect(target, 1)
    assert grant(again) == OFFERED and fence(again).dw0 == 2, "all that are older"
    assert stranger.keep_alive().ok and again.keep_alive().ok
    for ctrl in one, two, three, stranger, again:
        ctrl.close()


@pytest.mark.line("W81", "W86")
def test_namespaces_are_attached_to_static_ids(live):
    """a shared one is its host's afterwards, whatever id it has; a private one is nobody's"""
    target = live(hosted(namespace(1), groups=static(9)), "--reactors", "3")
    one, other = connect(target, 9), connect(target, 4, hostid=OTHER)
    assert controllers(one) == [4, 9]
    shared, private = created(one), created(one, shared=False)
    assert attach(one, shared, 4).ok and attach(one, private, 9).ok
    assert controllers(one, shared) == [4] and controllers(one, private) == [9]
    assert nsids(one) == [1, private] and nsids(other) == [1, shared]
    assert attach(one, shared, 1).status == 0x11C, "there is no controller 1"
    one.close(), other.close()
    noticed(target.daemon, 0)
    with connect(target, 9, hostid=OTHER) as other, connect(target, 4) as one:
        assert nsids(other) == [1, shared] and nsids(one) == [1]
        assert detach(one, shared, 9).ok and nsids(other) == [1]


@pytest.mark.line("W86")
def test_a_reservation_report_names_static_ids(live):
    target = live(fixed(count=9), "--reactors", "3")
    with connect(target, 8) as a, connect(target, 5, hostid=OTHER) as b:
        for n, ctrl in enumerate((a, b)):
            ctrl.queue = ctrl.io_queue()
            assert ctrl.queue.call(nvme.sqe(0x0D, nsid=1), struct.pack("<QQ", 0, n + 1)).ok
        report = a.queue.wait(a.queue.submit(nvme.sqe(0x0E, nsid=1, cdw10=63, cdw11=1), want=256))
        page = bytes(report.got)
        assert [struct.unpack_from("<H", page, 64 * n)[0] for n in (1, 2)] == [8, 5]


@pytest.mark.line("V02", "W86")
def test_the_discovery_log_tells_the_model(live):
    """FFFEh; and that it is another now"""
    target = live(fixed() + "  - nqn: %s\n" % SECOND)
    with connect(target, DYNAMIC, nvme.DISCOVERY) as disco:
        def ids():
            return {e["subnqn"]: e["cntlid"] for e in entries(disco)[1]}
        assert ids() == {nvme.DISCOVERY: DYNAMIC, NQN: ANY, SECOND: DYNAMIC}
        assert disco.set_feature(0x0B, 1 << 31).ok
        held = disco.admin.submit(nvme.sqe(0x0C))
        target.applied(fixed() + "  - nqn: %s\n    controllers: static\n" % SECOND)
        assert disco.admin.wait(held).dw0 == DISCOVERY_NOTICE
        assert ids() == {nvme.DISCOVERY: DYNAMIC, NQN: ANY, SECOND: ANY}


# ---- another configuration ----

@pytest.mark.parametrize("reactors", [1, 3])
@pytest.mark.line("W88")
def test_another_model_disconnects_hosts(live, reactors):
    """and says so before; others of the target stay; there and back"""
    rest = "  - nqn: %s\n    namespaces:\n%s" % (SECOND, namespace(1))
    dynamic, other = conf(namespace(1), groups=static(3, "dynamic")) + rest, fixed() + rest
    target = live(dynamic, "--reactors", str(reactors))
    stays = connect(target, DYNAMIC, SECOND)
    for text, before, after in ((other, DYNAMIC, 3), (dynamic, 3, DYNAMIC), (other, DYNAMIC, ANY)):
        ctrl = connect(target, before)
        queue = ctrl.io_queue()
        said = target.applied(text)
        assert "~ controllers of %s: %s, hosts are disconnected" % (
            NQN, "dynamic -> static" if text is other else "static -> dynamic") in said
        ctrl.admin.conn.expect_close()
        queue.conn.expect_close()
        assert_wrong_id(refused(target, before))
        with until_free(target, after) as again:
            assert again.io_queue().read(0).ok
        ctrl.close()
        noticed(target.daemon, 1)
    assert stays.keep_alive().ok
    stays.close()


@pytest.mark.line("W88")
def test_nobody_is_let_in_before_the_last_of_the_other_model_has_gone(live):
    """whatever host: two controllers of one id there never are"""
    slow = namespace(1, "fault:delay-write=600@mem")
    target = live(conf(slow, groups=static(3, "dynamic")), "--reactors", "3")
    ctrl = connect(target, DYNAMIC)
    began = time.monotonic()
    begin_write(ctrl.io_queue())
    target.applied(fixed(slow))
    ctrl.admin.conn.expect_close()
    assert_busy(refused(target, ANY, hostid=OTHER))
    assert time.monotonic() - began < 0.55, "that took too long to tell"
    with until_free(target, 1, hostid=OTHER) as other:
        assert time.monotonic() - began >= 0.55 and block(other.io_queue()) == OLD
    ctrl.close()


@pytest.mark.line("W88")
def test_more_or_fewer_static_controllers(live):
    """while hosts are connected, who stay: those above the limit as long as they are"""
    target = live(fixed(count=2), "--reactors", "2")
    two = connect(target, 2)
    assert_wrong_id(refused(target, 5))
    target.applied(fixed(count=5))
    five = connect(target, 5)
    target.applied(fixed(count=1))
    assert two.io_queue().read(0).ok and five.io_queue().read(0).ok
    assert_wrong_id(refused(target, 2))
    with connect(target) as one:
        assert one.cntlid == 1
        assert_busy(refused(target, ANY))
    five.close(), two.close()
    noticed(target.daemon, 0)
    assert_wrong_id(refused(target, 5))


@pytest.mark.line("W88")
def test_a_subsystem_that_goes_and_comes_again_has_forgotten(live):
    """which ids were used last"""
    target = live(fixed() + "  - nqn: %s\n" % SECOND)
    for expected in (1, 2):
        with connect(target) as ctrl:
            assert ctrl.cntlid == expected
        noticed(target.daemon, 0)
    target.applied("listeners:\n  - {name: a, address: \"127.0.0.1:0\"}\nsubsystems:\n  - nqn: %s\n" % SECOND)
    target.applied(fixed())
    with connect(target) as ctrl:
        assert ctrl.cntlid == 1


def test_what_would_change_is_told_before(tmp_path):
    for name, text in (("a", conf(namespace(1))), ("b", fixed(count=1000))):
        (tmp_path / name).write_text(text)
    done = targets.run("diff", tmp_path / "a", tmp_path / "b")
    assert done.stdout.splitlines() == ["~ controllers of %s: dynamic -> static, hosts are disconnected" % NQN]
