"""Associations: who may have one, how many there may be, and that a dead one's I/O is over before its host goes on."""
import os
import resource
import time

import pytest

import nvme
from nvme import CC, CC_READY, CONNECT_BUSY, CONNECT_PARAMS, INVALID_FIELD, INVALID_OPCODE
from nvmetcp import PATIENCE, Closed, Conn
from reservations import EA, Host

BLOCK = 4096
OTHER = b"\2" * 16
OLD, NEW = b"o" * BLOCK, b"n" * BLOCK
EXTENSION, FENCE, ALL_OLDER = 0xD7, 0xD8, 0xFFFF
CREDITS_BIT, VIEW_BIT, FENCE_BIT = 1 << 0, 1 << 3, 1 << 4
OFFERED = CREDITS_BIT | VIEW_BIT | FENCE_BIT


def slow(serve, ms, *args):
    """A target whose writes begin late, and cannot be stopped then."""
    return serve(*args, ns=["fault:delay-write=%d@mem:16M" % ms])


def connected(address, **how):
    ctrl = nvme.Controller(address, **how)
    ctrl.grant()
    return ctrl, ctrl.io_queue()


def begin_write(queue, data=OLD):
    """A write that is at the device when this returns."""
    request = queue.submit_write(0, data)
    assert queue.read(8).ok
    assert not request.done
    return request


def noticed(target, left):
    target.until("the ends were noticed", lambda stats: stats["connections"] <= left)


def block(queue):
    request = queue.read(0)
    assert request.ok
    return bytes(request.got)


def connect_fails(address, **how):
    queue, connect = nvme.open_queue(address, **how)
    queue.close()
    assert not connect.ok
    return connect


# ---- a dead association's I/O ----

@pytest.mark.parametrize("reactors", [1, 3])
@pytest.mark.line("W70")
def test_the_next_association_meets_no_write_of_the_last(serve, reactors):
    """its Connect is answered when they are over"""
    target = slow(serve, 400, "--reactors", str(reactors))
    ctrl, queue = connected(target.address)
    began = time.monotonic()
    begin_write(queue)
    ctrl.close()
    noticed(target, 1)
    again, queue = connected(target.address)
    assert block(queue) == OLD, "the write of the dead association has yet to land"
    assert time.monotonic() - began >= 0.35
    assert queue.write(0, NEW).ok
    assert block(queue) == NEW
    again.close()


@pytest.mark.line("W70")
def test_another_host_does_not_wait(serve):
    """nor does discovery"""
    target = slow(serve, 2000)
    ctrl, queue = connected(target.address)
    began = time.monotonic()
    begin_write(queue)
    ctrl.close()
    noticed(target, 1)
    with nvme.Controller(target.address, hostid=OTHER) as other:
        assert block(other.io_queue()) == bytes(BLOCK)
    with nvme.Controller(target.address, subnqn=nvme.DISCOVERY):
        pass
    assert time.monotonic() - began < 1.5
    target.no_connections()


@pytest.mark.line("L08", "W70")
def test_ready_0_means_that_nothing_is_in_flight(serve):
    """after a reset"""
    target = slow(serve, 300)
    ctrl, queue = connected(target.address)
    other, look = connected(target.address, hostid=OTHER)
    begin_write(queue)
    ctrl.disable()
    assert block(look) == OLD
    ctrl.close(), other.close()


@pytest.mark.line("L10", "W70")
def test_shutdown_is_done_when_nothing_is_in_flight(serve):
    target = slow(serve, 300)
    ctrl, queue = connected(target.address)
    other, look = connected(target.address, hostid=OTHER)
    begin_write(queue)
    assert ctrl.set(CC, CC_READY | 1 | 2 << 14).ok
    ctrl.until(0x0C, nvme.SHST_DONE)
    assert block(look) == OLD
    ctrl.close(), other.close()


@pytest.mark.line("W70")
def test_who_waits_in_line_keeps_to_the_time_for_the_handshake(serve):
    """and nothing of him is left"""
    target = slow(serve, 1500, "--handshake-timeout", "300")
    ctrl, queue = connected(target.address)
    begin_write(queue)
    ctrl.close()
    noticed(target, 1)
    for _ in range(2):
        began = time.monotonic()
        with pytest.raises((Closed, ConnectionError)):
            nvme.open_queue(target.address)
        assert 0.25 <= time.monotonic() - began <= 1.0 * PATIENCE
    target.no_connections()
    ctrl, queue = connected(target.address)
    assert block(queue) == OLD
    ctrl.close()


@pytest.mark.line("W70")
def test_several_wait_in_line_and_are_let_in_together(serve):
    target = slow(serve, 500)
    ctrl, queue = connected(target.address)
    begin_write(queue)
    ctrl.close()
    noticed(target, 1)
    waiting = []
    for _ in range(8):
        conn = Conn(target.address)
        conn.handshake()
        conn.send(conn.capsule(nvme.connect_sqe(), nvme.connect_data()))
        waiting.append(conn)
    waiting.pop().reset()
    for conn in waiting:
        assert conn.recv().status == 0
    for conn in waiting:
        conn.close()


# ---- who may connect ----

@pytest.mark.line("F02", "F05")
def test_a_host_has_one_identifier(serve):
    """1:82, 0/1, while it is connected with another one; discovery does not mind"""
    target = serve()
    name = nvme.name_of(OTHER)
    with nvme.Controller(target.address, hostnqn=name, hostid=OTHER):
        connect = connect_fails(target.address, hostnqn=name, hostid=b"\3" * 16)
        assert connect.status == CONNECT_PARAMS and connect.dnr and connect.dw0 == 1 << 16
        with nvme.Controller(target.address, hostnqn=name, hostid=b"\3" * 16, subnqn=nvme.DISCOVERY):
            pass
        with nvme.Controller(target.address, hostnqn=name, hostid=OTHER):
            pass
    target.no_connections()
    with nvme.Controller(target.address, hostnqn=name, hostid=b"\3" * 16):
        pass


def test_an_identifier_is_one_hosts(serve):
    """1:82, 0/1, for another NQN while its host is connected; what that holds, and its association, are its own"""
    target = serve()
    stranger = nvme.name_of(b"\3" * 16)
    holder = Host(target.address, 1)
    assert holder.register(0xA) == 0 and holder.acquire(0xA, EA) == 0
    connect = connect_fails(target.address, hostnqn=stranger, hostid=holder.id)
    assert connect.status == CONNECT_PARAMS and connect.dnr and connect.dw0 == 1 << 16
    with nvme.Controller(target.address, hostnqn=stranger, hostid=holder.id, subnqn=nvme.DISCOVERY):
        pass
    assert holder.queues[0].write(0, NEW).ok
    holder.ctrl.close()
    target.no_connections()
    with nvme.Controller(target.address, hostnqn=stranger, hostid=holder.id):
        pass


@pytest.mark.line("W70")
def test_an_identifier_is_waited_for_whatever_name_comes_with_it(serve):
    """the I/O of the last one that had it is over before anybody with it may write"""
    target = slow(serve, 400)
    ctrl, queue = connected(target.address)
    began = time.monotonic()
    begin_write(queue)
    ctrl.close()
    noticed(target, 1)
    again, queue = connected(target.address, hostnqn=nvme.name_of(OTHER), hostid=nvme.HOSTID)
    assert block(queue) == OLD, "the write of the dead association has yet to land"
    assert time.monotonic() - began >= 0.35
    assert fence(again).dw0 == 0
    again.close()
    target.no_connections()


@pytest.mark.line("F05")
def test_a_dying_association_does_not_say_who_a_host_is(serve):
    """a machine that comes back with another identifier is let in as soon as its old connection is gone"""
    target = slow(serve, 800)
    ctrl, queue = connected(target.address)
    write = begin_write(queue)
    ctrl.close()
    noticed(target, 1)
    with nvme.Controller(target.address, hostnqn=nvme.HOSTNQN, hostid=OTHER) as again:
        assert again.io_queue().read(8).ok and not write.done
    target.no_connections()


def rlimit(files):
    """As many descriptors as that at least, or as there may be."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = max(soft, files if hard == resource.RLIM_INFINITY else min(files, hard))
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, hard))
    return files


@pytest.mark.alone
@pytest.mark.line("F12", "F13", "W71")
def test_a_thousand_controllers_of_one_host_and_no_more(serve):
    """1:81 without DNR; there is room again when one goes; the memory of each is bounded"""
    rlimit(4096)
    target = serve("--reactors", "2")
    before = target.rss_kib()
    controllers, began = [], time.monotonic()
    try:
        for _ in range(1000):
            queue, connect = nvme.open_queue(target.address)
            controllers.append(queue)
            assert connect.ok
        took, rss = time.monotonic() - began, target.rss_kib() - before
        print("1000 controllers in %.2f s, %.1f KiB each" % (took, rss / 1000))
        assert rss < 64 * 1000
        connect = connect_fails(target.address)
        assert connect.status == CONNECT_BUSY and not connect.dnr
        with nvme.Controller(target.address, subnqn=nvme.DISCOVERY):
            pass
        controllers.pop().close()
        noticed(target, 999)
        queue, connect = nvme.open_queue(target.address)
        controllers.append(queue)
        assert connect.ok
    finally:
        for queue in controllers:
            queue.close()
    target.no_connections()


@pytest.mark.alone
@pytest.mark.line("W71")
def test_discovery_controllers_have_a_limit_of_their_own(serve):
    rlimit(4096)
    target = serve()
    queues = []
    try:
        for _ in range(1024):
            queue, connect = nvme.open_queue(target.address, subnqn=nvme.DISCOVERY)
            queues.append(queue)
            assert connect.ok
        connect = connect_fails(target.address, subnqn=nvme.DISCOVERY)
        assert connect.status == CONNECT_BUSY and not connect.dnr
        with nvme.Controller(target.address) as ctrl:
            assert ctrl.io_queue().read(0).ok
    finally:
        for queue in queues:
            queue.close()
    target.no_connections()


@pytest.mark.alone
@pytest.mark.line("W32", "W71")
def test_as_many_connections_as_there_may_be(serve):
    """10,000, or what file limits allow: half of them half through the handshake; more are closed; others work"""
    count = min(10000, rlimit(10400) - 400)
    target = serve("--max-connections", str(count), "--reactors", "2", "--handshake-timeout", "60000",
                   preexec=lambda: rlimit(count + 400))
    ctrl, queue = connected(target.address)
    before = target.rss_kib()
    conns = []
    try:
        for n in range(count - 2):
            conn = Conn(target.address)
            conns.append(conn)
            if n % 2:
                conn.handshake()
        target.until("all are there", lambda stats: stats["connections"] == count)
        print("%d connections, %.1f KiB each" % (count, (target.rss_kib() - before) / count))
        assert target.rss_kib() - before < 24 * count
        for _ in range(20):
            with pytest.raises((Closed, ConnectionError)):
                with Conn(target.address) as conn:
                    conn.handshake()
        assert queue.write(0, NEW).ok and ctrl.keep_alive().ok
    finally:
        for conn in conns:
            conn.close()
    noticed(target, 2)
    assert ctrl.io_queue(2).read(0).ok
    ctrl.close()
    target.no_connections()


# ---- the fence of Weir's extension (doc/extension.md) ----

def grant(ctrl):
    request = ctrl.set_feature(EXTENSION, OFFERED | 1 << 31)
    assert request.ok
    return request.dw0


def fence(ctrl, which=ALL_OLDER):
    return ctrl.admin.call(nvme.sqe(FENCE, cdw10=which))


@pytest.mark.line("W72")
def test_the_extension_is_announced_granted_and_forgotten(serve):
    """Identify Controller from byte 3072; feature D7h; opcode D8h is there for who was granted it alone"""
    target = serve()
    with nvme.Controller(target.address) as ctrl:
        vendor = ctrl.identified(1)[3072:]
        assert vendor[:4] == b"WEIR"
        assert int.from_bytes(vendor[4:6], "little") == 1 and int.from_bytes(vendor[6:8], "little") == 64
        assert int.from_bytes(vendor[8:12], "little") == OFFERED
        assert not any(vendor[12:])
        for _ in range(2):
            assert ctrl.get_feature(EXTENSION).dw0 == 0
            request = fence(ctrl)
            assert request.status == INVALID_OPCODE and request.dnr
            assert ctrl.logged(0x05, 4096)[4 * FENCE] & 1 == 0
            assert grant(ctrl) == OFFERED
            assert ctrl.get_feature(EXTENSION).dw0 == OFFERED
            assert ctrl.logged(0x05, 4096)[4 * FENCE] & 1 == 1
            request = fence(ctrl)
            assert request.ok and request.dw0 == 0
            ctrl.disable()
            ctrl.enable()
        assert grant(ctrl) == OFFERED and ctrl.set_feature(EXTENSION, 0).dw0 == 0
        assert fence(ctrl).status == INVALID_OPCODE
    with nvme.Controller(target.address, subnqn=nvme.DISCOVERY) as ctrl:
        assert not any(ctrl.identified(1)[3072:])
        assert ctrl.set_feature(EXTENSION, FENCE_BIT).status == INVALID_FIELD


@pytest.mark.parametrize("reactors", [1, 3])
@pytest.mark.line("W72")
def test_a_fence_ends_the_older_ones_and_their_io(serve, reactors):
    """of this host in this subsystem; it is answered when none of their I/O is at a device"""
    target = slow(serve, 400, "--reactors", str(reactors))
    other, look = connected(target.address, hostid=OTHER)
    old = [connected(target.address) for _ in range(3)]
    ctrl, queue = connected(target.address)
    younger, young = connected(target.address)
    begin_write(old[1][1])
    began = time.monotonic()
    assert grant(ctrl) == OFFERED
    request = fence(ctrl)
    assert request.ok and request.dw0 == 3
    assert 0.3 <= time.monotonic() - began
    assert block(queue) == OLD
    for gone, its in old:
        gone.admin.conn.expect_close()
        its.conn.expect_close()
    assert block(look) == OLD and block(young) == OLD and younger.keep_alive().ok
    assert fence(ctrl).dw0 == 0
    for each in ctrl, younger, other:
        each.close()


@pytest.mark.line("W72")
def test_a_fence_waits_for_one_that_is_dying_already(serve):
    target = slow(serve, 400)
    ctrl, queue = connected(target.address)
    survivor, look = connected(target.address)
    begin_write(queue)
    ctrl.close()
    noticed(target, 3)
    assert grant(survivor) == OFFERED
    assert fence(survivor).dw0 == 1
    assert block(look) == OLD
    survivor.close()


@pytest.mark.line("W72")
def test_a_fence_of_one_that_is_named(serve):
    """older or younger; one that is not of this host is nobody; itself, and what is no id, 0:02"""
    target = serve("--reactors", "2")
    one, two, three = (nvme.Controller(target.address) for _ in range(3))
    stranger = nvme.Controller(target.address, hostid=OTHER)
    assert grant(two) == OFFERED
    for which in (two.cntlid, 0, 0xFFF0, 0x10000 | one.cntlid):
        request = fence(two, which)
        assert request.status == INVALID_FIELD and request.dnr
    for which in (stranger.cntlid, 0xFFEF):
        assert fence(two, which).dw0 == 0
    assert stranger.keep_alive().ok and one.keep_alive().ok
    assert fence(two, three.cntlid).dw0 == 1
    three.admin.conn.expect_close()
    assert one.keep_alive().ok
    requests = [two.admin.submit(nvme.sqe(FENCE, cdw10=which)) for which in (one.cntlid, one.cntlid, ALL_OLDER)]
    two.admin.wait(*requests)
    assert [request.dw0 for request in requests] == [1, 0, 0]
    for each in one, two, three, stranger:
        each.close()


@pytest.mark.line("W72")
def test_two_that_fence_each_other(serve):
    """both end"""
    target = serve()
    one, two = (nvme.Controller(target.address) for _ in range(2))
    grant(one), grant(two)
    ended, sent = 0, []
    for a, b in ((one, two), (two, one)):
        try:
            sent.append((a, a.admin.submit(nvme.sqe(FENCE, cdw10=b.cntlid))))
        except (Closed, ConnectionError):  # the first one was quick
            ended += 1
    for ctrl, request in sent:
        try:
            ctrl.admin.wait(request)
        except (Closed, ConnectionError):
            ended += 1
    assert ended >= 1
    one.close(), two.close()
    target.no_connections()
