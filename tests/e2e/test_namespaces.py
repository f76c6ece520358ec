"""Namespaces that hosts create, attach and delete, and protect against writes."""
import contextlib
import os
import struct
import threading

import pytest

import nvme
import target as targets
from namespaces import (
    ALL, ATTACHED, BLOCK, CTRL_LIST, DENIED, MIB, NO_GROUP, NOT_ATTACHED, NS_CAPACITY, NSID_UNAVAILABLE, PRIVATE,
    attach, capacity,
    connect, controllers, create, created, delete, detach, files, hosted, ids, like, nsids, protect, submit_create)
from nvme import INVALID_FIELD, INVALID_NS, INVALID_OPCODE, LBA_RANGE, sqe
from reservations import CONFLICT, WE, WE_RO, Host
from test_live import NQN, NS_NOTICE, changed, conf, event, live, namespace, watch  # noqa: F401 - live is a fixture

INTERRUPTED = 0x021


def works(queue, nsid, slba=0):
    data = os.urandom(BLOCK)
    assert queue.write(slba, data, nsid=nsid).ok and bytes(queue.read(slba, nsid=nsid).got) == data
    return data


def absent(queue, nsid):
    assert queue.read(0, nsid=nsid).status == INVALID_NS
    assert queue.write(0, bytes(BLOCK), nsid=nsid).status == INVALID_NS
    assert queue.write(0, bytes(4 * BLOCK), nsid=nsid, incapsule=False).status == INVALID_NS
    assert queue.flush(nsid).status == INVALID_NS


@pytest.mark.line("W80", "W81")
@pytest.mark.parametrize("reactors", [1, 3])
def test_from_creation_to_the_end(live, reactors):  # noqa: F811
    target = live(hosted(namespace(2)), "--reactors", str(reactors))
    with connect(target) as a, connect(target) as b, connect(target, 2) as c:
        ctrls = [a, b, c]
        queues = [ctrl.io_queue(qid) for ctrl in ctrls for qid in (1, 2)]
        assert controllers(a) == sorted(x.cntlid for x in ctrls)
        assert capacity(a) == (80 * MIB, 64 * MIB), "16 MiB are the operator's"
        nsid = created(a, 2048)
        assert nsid == 1 and capacity(b) == (80 * MIB, 56 * MIB)
        for ctrl in ctrls:
            assert nsids(ctrl) == [2] and nsids(ctrl, 0x10) == [1, 2] and changed(ctrl) == []
            assert not any(ctrl.identified(0, 1)) and any(ctrl.identified(0x11, 1))
        for queue in queues:
            absent(queue, 1)
        assert controllers(a, 1) == [] and controllers(a, 2) == controllers(a)
        held = [watch(ctrl) for ctrl in ctrls]
        assert attach(b, 1, a, c, incapsule=False).ok
        assert event(a, held[0]) == NS_NOTICE and event(c, held[2]) == NS_NOTICE
        assert changed(a) == [1] and changed(b) == [] and changed(c) == [1] and not held[1].done
        assert nsids(a) == [1, 2] and nsids(b) == [2] and nsids(c) == [1, 2]
        assert controllers(b, 1) == sorted([a.cntlid, c.cntlid])
        data = works(queues[0], 1)
        assert bytes(queues[5].read(0, nsid=1).got) == data
        absent(queues[2], 1)
        works(queues[2], 2)
        with connect(target) as later:
            assert nsids(later) == [1, 2], "what a host has, its next controllers have"
            works(later.io_queue(), 1, 5)
        with connect(target, 3) as stranger:
            assert nsids(stranger) == [2]
            absent(stranger.io_queue(), 1)
        held = [watch(a), held[1], watch(c)]
        assert detach(c, 1, a).ok
        assert event(a, held[0]) == NS_NOTICE and nsids(a) == [2] and nsids(c) == [1, 2]
        absent(queues[1], 1)
        works(queues[4], 1)
        held[0] = watch(a)
        assert delete(b, 1).ok
        assert event(c, held[2]) == NS_NOTICE and changed(c) == [1] and changed(a) == [1]
        assert not held[0].done and not held[1].done, "it was not theirs"
        for ctrl in ctrls:
            assert nsids(ctrl) == nsids(ctrl, 0x10) == [2]
        absent(queues[4], 1)
        assert capacity(c) == (80 * MIB, 64 * MIB)


@pytest.mark.line("W80", "W81")
def test_statuses_of_attachment(live):  # noqa: F811
    target = live(hosted(namespace(1)))
    with connect(target) as a, connect(target) as b, connect(target, 2) as c:
        nsid = created(a)
        for _ in range(2):
            assert detach(a, nsid).status == NOT_ATTACHED
            assert attach(a, nsid, a, b).ok
            assert attach(a, nsid, a).status == ATTACHED and attach(c, nsid, b, c).status == ATTACHED
            assert nsids(c) == [1], "all or none"
            assert detach(a, nsid, b, c).status == NOT_ATTACHED and nsids(b) == [1, 2]
            assert attach(a, nsid, 60000).status == CTRL_LIST and attach(a, nsid, c, 60000).status == CTRL_LIST
            for wrong in ([c.cntlid, c.cntlid], [max(a.cntlid, c.cntlid), min(a.cntlid, c.cntlid)]):
                for select in (0, 1):
                    listed = a.admin.call(sqe(0x15, nsid=nsid, cdw10=select), ids(wrong).ljust(4096, b"\0"))
                    assert listed.status == CTRL_LIST, "ascending"
            assert detach(c, nsid, a, b).ok
        for command in (attach, detach):
            assert command(a, 77).status == INVALID_NS and command(a, 0).status == INVALID_NS
            assert command(a, ALL).status == INVALID_NS


@pytest.mark.line("W81")
def test_a_private_namespace_is_of_one_controller(live):  # noqa: F811
    target = live(hosted(namespace(1)))
    with connect(target) as a, connect(target) as b, connect(target, 2) as c:
        nsid = created(a, shared=False)
        assert attach(a, nsid, a, b).status == PRIVATE
        assert attach(a, nsid, b).ok and a.identified(0x11, nsid)[30] == 0
        assert attach(a, nsid, a).status == PRIVATE and attach(c, nsid).status == PRIVATE
        works(b.io_queue(), nsid)
        with connect(target) as later:
            assert nsids(later) == [1]
        b.close()
        targets.until("the controller is gone", lambda: not controllers(a, nsid))
        with connect(target) as again:
            assert nsids(again) == [1], "it went with its controller"
            assert attach(c, nsid, again).ok and nsids(again) == [1, 2]
            assert detach(c, nsid, again).ok and attach(c, nsid).ok and nsids(c) == [1, 2]


@pytest.mark.line("W80")
def test_what_the_operator_named_is_his(live):  # noqa: F811
    target = live(hosted(namespace(1), namespace(3)))
    with connect(target) as a:
        nsid = created(a)
        assert nsid == 2 and attach(a, nsid).ok
        for other in (1, 3):
            assert delete(a, other).status == DENIED and detach(a, other).status == DENIED
            assert attach(a, other).status == ATTACHED
        assert delete(a, ALL).status == DENIED and nsids(a) == [1, 2, 3]
        queue = a.io_queue()
        for n in nsids(a):
            works(queue, n)
        assert delete(a, 0).status == INVALID_NS and delete(a, 4).status == INVALID_NS


@pytest.mark.line("W80")
def test_all_are_deleted_at_once(live):  # noqa: F811
    target = live(hosted())
    with connect(target) as a, connect(target, 2) as b:
        for n in range(1, 6):
            assert created(a) == n and (n % 2 == 0 or attach(a, n).ok)
        assert nsids(a) == [1, 3, 5] and nsids(b, 0x10) == [1, 2, 3, 4, 5]
        assert delete(b, ALL).ok and nsids(a) == nsids(a, 0x10) == [] and changed(a) == [1, 3, 5]
        assert delete(b, ALL).ok, "nothing is left to be deleted"
        assert capacity(a)[1] == 64 * MIB


@pytest.mark.line("W80")
def test_numbers_are_the_lowest_that_are_free(live):  # noqa: F811
    target = live(hosted(namespace(2), namespace(4)))
    with connect(target) as a:
        assert [created(a) for _ in range(4)] == [1, 3, 5, 6]
        assert delete(a, 3).ok and delete(a, 5).ok
        assert [created(a) for _ in range(3)] == [3, 5, 7]
        target.applied(hosted(namespace(2)))
        assert created(a) == 4 and nsids(a, 0x10) == [1, 2, 3, 4, 5, 6, 7]


def missing(ctrl):
    """How many bytes the last command that failed would have needed: its command specific information."""
    return struct.unpack_from("<Q", ctrl.logged(1, 64), 32)[0]


@pytest.mark.line("W80", "W95")
@pytest.mark.parametrize("volume", ["mem", "file"])
def test_capacity(live, tmp_path, volume):  # noqa: F811
    """of blocks of either size; the least and the most; what is deleted can be had again"""
    where = volume if volume == "mem" else "file:%s" % tmp_path
    target = live(hosted(volume=where, size="10M", top="state_dir: %s/state\n" % tmp_path))
    with connect(target) as a:
        queue = a.io_queue()
        assert create(a, 0).status == INVALID_FIELD and create(a, 0, ncap=256).status == INVALID_FIELD
        assert create(a, 256, ncap=257).status == INVALID_FIELD, "more capacity than size"
        assert create(a, 2561).status == NS_CAPACITY and missing(a) == 2561 * BLOCK
        assert create(a, 20481, flbas=0).status == NS_CAPACITY and missing(a) == 20481 * 512
        assert create(a, (1 << 64) - 1).status == NS_CAPACITY and capacity(a) == (10 * MIB, 10 * MIB)
        assert missing(a) == (1 << 64) - 1, "more cannot be said"
        whole = created(a, 20480, flbas=0)
        assert capacity(a) == (10 * MIB, 0) and create(a, 1).status == NS_CAPACITY
        assert attach(a, whole).ok
        data = os.urandom(512)
        assert queue.write(20479, data, nsid=whole, block_size=512).ok
        assert bytes(queue.read(20479, nsid=whole, block_size=512).got) == data
        assert delete(a, whole).ok and capacity(a)[1] == 10 * MIB
        small = created(a, 3)
        assert attach(a, small).ok and capacity(a)[1] == 10 * MIB - 3 * BLOCK
        works(queue, small, 2)
        assert queue.read(3, nsid=small).status == LBA_RANGE
        assert bytes(queue.read(0, nsid=small).got) == bytes(BLOCK), "nothing of who had it before"
        assert created(a, 2557) == 2 and create(a, 1).status == NS_CAPACITY


@pytest.mark.line("W80")
def test_without_a_place_there_is_none_of_it(live):  # noqa: F811
    target = live(conf(namespace(1)))
    with connect(target) as a:
        assert create(a).status == INVALID_OPCODE and delete(a, 1).status == INVALID_OPCODE
        assert attach(a, 1).status == INVALID_OPCODE and a.identify(0x13).status == INVALID_FIELD
        target.applied(hosted(namespace(1)))
        nsid = created(a)
        assert attach(a, nsid).ok and nsids(a) == [1, 2], "as soon as there is one"


@pytest.mark.line("W80")
def test_groups(live):  # noqa: F811
    """of the group that was asked for, or the first; an unknown one 1:24; a group in use is not taken away"""
    two = "    ana_groups: [{id: 4}, {id: 9, state: inaccessible}]\n"
    target = live(hosted(groups=two))
    with connect(target) as a:
        assert [created(a, group=group) for group in (0, 9, 4)] == [1, 2, 3]
        assert create(a, group=5).status == NO_GROUP
        assert all(attach(a, n).ok for n in (1, 2, 3))
        assert [a.identified(0, n)[92] for n in (1, 2, 3)] == [4, 9, 4]
        queue = a.io_queue()
        assert queue.read(0, nsid=2).status == 0x302 and queue.read(0, nsid=3).ok
        done = target.apply(hosted(groups="    ana_groups: [{id: 4}]\n"))
        assert done.returncode == 1 and "group" in done.stderr


# ---- with the operator ----

@pytest.mark.parametrize("change, words", [
    (lambda: hosted(namespace(1), namespace(2)), "namespace 2 of " + NQN + " is one that a host has made"),
    (lambda: conf(namespace(1)), "has no place"),
    (lambda: hosted(namespace(1), size="1M"), "more than `host_namespaces` allows"),
    (lambda: hosted(namespace(1), nqn="nqn.2026-11.other"), "does not have"),
    (lambda: hosted(namespace(1), volume="file:/tmp", top="state_dir: %s\n"), "has no place"),
    (lambda: hosted(namespace(1), volume="file:/nowhere/at/all", top="state_dir: %s\n"), ""),
    (lambda: hosted(namespace(1, ana_group=4), groups="    ana_groups: [{id: 4}]\n"), "is in ANA group 1"),
])
def test_a_file_that_leaves_no_place_is_refused(live, tmp_path, change, words):  # noqa: F811
    top = "state_dir: %s/state\n" % tmp_path
    target = live(hosted(namespace(1), top=top))
    with connect(target) as a:
        nsid = created(a, 512)
        assert attach(a, nsid).ok
        text = change()
        done = target.apply(text % (str(tmp_path) + "/state") if "%s" in text else top + text)
        assert done.returncode == 1 and words in done.stderr, done
        told = targets.run("diff", "--control", target.control, target.path)
        assert told.returncode == 1 and "\n! this cannot be applied: " in told.stdout and words in told.stdout, told
        assert nsids(a) == [1, 2]
        works(a.io_queue(), 2)
        target.applied(hosted(namespace(1), size="2M", top=top))
        assert capacity(a) == (18 * MIB, 0)
        with open(target.path, "w") as f:
            f.write(hosted(namespace(1), size="3M", top=top))
        told = targets.run("diff", "--control", target.control, target.path)
        assert told.returncode == 1 and "!" not in told.stdout, told


@pytest.mark.line("W80")
def test_wishes_and_applies_at_once(live, tmp_path):  # noqa: F811
    """hosts and the operator at the same time: one after the other, and neither is lost"""
    def text(number):
        return hosted(*[namespace(n) for n in range(900, 900 + number)], size="1G")
    target = live(text(1), "--reactors", "3")
    made, wrong = [[], [], []], []

    def go(number):
        try:
            with connect(target, number + 1) as ctrl:
                for n in range(40):
                    held = [submit_create(ctrl, 256 + number) for _ in range(3)]
                    new = [request.dw0 for request in ctrl.admin.wait(*held)]
                    assert all(request.ok for request in held), held
                    assert attach(ctrl, new[0]).ok and new[0] in nsids(ctrl)
                    assert delete(ctrl, new[1]).ok
                    made[number] += [new[0], new[2]]
                    if n % 4 == 3:
                        assert delete(ctrl, made[number].pop()).ok
        except Exception as e:  # noqa: BLE001 - told below
            wrong.append(e)

    threads = [threading.Thread(target=go, args=(n,)) for n in range(3)]
    for thread in threads:
        thread.start()
    applied = 0
    with connect(target, 9) as ctrl:
        while any(thread.is_alive() for thread in threads):
            applied += 1
            target.applied(text(1 + applied % 5))
            assert [n for n in nsids(ctrl) if n >= 900] == list(range(900, 901 + applied % 5))
    for thread in threads:
        thread.join()
    target.applied(text(2))
    assert not wrong and applied > 3, (wrong[:2], applied)
    every = sum(made, [])
    with connect(target) as ctrl:
        assert nsids(ctrl, 0x10) == sorted(every) + [900, 901] and len(set(every)) == len(every)
        for number, some in enumerate(made):
            for nsid in some:
                assert struct.unpack_from("<Q", ctrl.identified(0x11, nsid))[0] == 256 + number
        assert capacity(ctrl)[1] == (1 << 30) - sum((256 + n) * BLOCK * len(some) for n, some in enumerate(made))


@pytest.mark.line("W80")
@pytest.mark.parametrize("volume", ["mem", "file"])
def test_deleted_and_detached_under_load(live, tmp_path, volume):  # noqa: F811
    """every command is answered, with success or 0:0B; nothing of a namespace before is found in the next"""
    where = volume if volume == "mem" else "file:%s" % tmp_path
    target = live(hosted(namespace(9), volume=where, top="state_dir: %s/state\n" % tmp_path), "--reactors", "3")
    stop, wrong, counts = threading.Event(), [], {}

    def load(number):
        try:
            with connect(target) as ctrl:
                queues = [ctrl.io_queue(q) for q in (1, 2)]
                while not stop.is_set():
                    requests = []
                    for queue in queues:
                        for n in range(12):
                            requests.append((queue, queue.submit_write(n * 16, bytes(1) * 16 * BLOCK, nsid=1)))
                            requests.append((queue, queue.submit_read(n * 16, 16, nsid=1)))
                            requests.append((queue, queue.submit(sqe(0x00, nsid=ALL if n % 2 else 1))))
                            requests.append((queue, queue.submit_read(n, 1, nsid=9)))
                    for queue, request in requests:
                        queue.wait(request)
                        counts[request.status] = counts.get(request.status, 0) + 1
                        if request.status not in (0, INVALID_NS):
                            wrong.append(request)
        except Exception as e:  # noqa: BLE001 - told below
            wrong.append(e)

    threads = [threading.Thread(target=load, args=(n,)) for n in range(3)]
    for thread in threads:
        thread.start()
    try:
        with connect(target, 2) as ctrl:
            for n in range(20):
                others = [c for c in controllers(ctrl) if c != ctrl.cntlid]
                assert created(ctrl, 1024) == 1
                assert attach(ctrl, 1, *others).ok
                if n % 2:
                    assert detach(ctrl, 1, *others[:2]).ok
                assert delete(ctrl, 1).ok
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert not wrong and counts[0] and counts[INVALID_NS], (wrong[:3], counts)
    target.daemon.stop()
    assert files(tmp_path) == []


@pytest.mark.line("W80")
def test_wishes_at_once_are_judged_one_after_the_other(live):  # noqa: F811
    """each was right when it came: the first of them is done, and the others are not right any more"""
    def all_at_once(command, data):
        requests = [ctrl.admin.submit(command, data) for ctrl in ctrls for _ in range(3)]
        for ctrl in ctrls:
            ctrl.admin.drain()
        return sorted(request.status for request in requests)
    target = live(hosted(size="4M"), "--reactors", "2")
    with connect(target) as a, connect(target, 2) as b:
        ctrls = [a, b]
        assert all_at_once(sqe(0x0D), like(1024)) == [0] + 5 * [NS_CAPACITY] and capacity(b)[1] == 0
        assert [missing(ctrl) for ctrl in ctrls] == 2 * [4 * MIB]
        lists = ids([a.cntlid]).ljust(4096, b"\0")
        assert all_at_once(sqe(0x15, nsid=1), lists) == [0] + 5 * [ATTACHED] and nsids(a) == [1] and nsids(b) == []
        assert all_at_once(sqe(0x15, nsid=1, cdw10=1), lists) == [0] + 5 * [NOT_ATTACHED] and nsids(a) == []
        assert all_at_once(sqe(0x0D, nsid=1, cdw10=1), b"") == [0] + 5 * [INVALID_NS]
        assert capacity(a)[1] == 4 * MIB


@pytest.mark.line("W80")
def test_what_waits_for_its_data_is_looked_at_again(live):  # noqa: F811
    """a command that was asked for its data before the namespace was detached ends 0:0B after"""
    target = live(hosted())
    with connect(target) as a, connect(target, 2) as b:
        nsid = created(a)
        assert attach(a, nsid, a, b).ok
        queue = a.io_queue()
        queue.serve_r2ts = False
        waiting = [queue.submit_write(0, bytes(4 * BLOCK), nsid=nsid, incapsule=False),
                   queue.submit(sqe(0x09, nsid=nsid, cdw10=0, cdw11=4), bytes(16), incapsule=False),
                   queue.submit(sqe(0x0D, nsid=nsid), struct.pack("<QQ", 0, 7), incapsule=False)]
        while not all(request.r2ts for request in waiting):
            queue.step()
        assert detach(a, nsid).ok
        for request in waiting:
            queue.send_data(request)
            assert queue.wait(request).status == INVALID_NS
        assert bytes(b.io_queue().read(0, nsid=nsid).got) == bytes(BLOCK)


@pytest.mark.line("W80")
@pytest.mark.parametrize("end", ["socket", "sigterm"])
def test_who_asks_may_go(live, tmp_path, end):  # noqa: F811
    """the host before its answer comes, or the target: nothing is left half done"""
    top = "state_dir: %s/state\n" % tmp_path
    target = live(hosted(namespace(1), volume="file:%s" % tmp_path, top=top, size="1G"), "--reactors", "3")
    with connect(target, 2) as watcher:
        for _ in range(1 if end == "sigterm" else 20):
            ctrls = [connect(target) for _ in range(3)]
            for ctrl in ctrls:
                for n in range(8):
                    submit_create(ctrl, 256, incapsule=n % 2 == 0)
                    ctrl.admin.submit(sqe(0x06, cdw10=0x13), want=4096)
            if end == "sigterm":
                break
            for ctrl in ctrls:
                ctrl.close()
        if end == "socket":
            targets.until("the others are gone", lambda: controllers(watcher) == [watcher.cntlid])
            assert delete(watcher, created(watcher)).ok, "what waited before is done"
            targets.until("the file of a namespace goes when nothing uses it any more",
                          lambda: len(files(tmp_path)) == len(nsids(watcher, 0x10)) - 1)
    if end == "sigterm":
        target.daemon.stop()
        before = files(tmp_path)
        target = live(hosted(namespace(1), volume="file:%s" % tmp_path, top=top, size="1G"))
        with connect(target) as ctrl:
            assert len(nsids(ctrl, 0x10)) - 1 == len(files(tmp_path)) <= len(before)


@pytest.mark.line("W80")
def test_a_controller_has_a_few_wishes_under_way(live, tmp_path):  # noqa: F811
    """what comes beside them is to be tried again; others are served, and all that is answered is so"""
    other = NQN + "-other"
    more = "  - nqn: %s\n    namespaces:\n%s" % (other, namespace(1))
    target = live(conf(namespace(1), top="state_dir: %s/state\n" % tmp_path) + more, "--reactors", "2")
    with contextlib.ExitStack() as stack:
        hosts = [stack.enter_context(connect(target, n + 1)) for n in range(12)]
        stranger = stack.enter_context(nvme.Controller(target.address(), subnqn=other, hostid=bytes(15) + b"c"))
        pending = [(host, [host.admin.submit(sqe(0x09, nsid=1, cdw10=0x84, cdw11=(i + k) % 2)) for k in range(25)])
                   for i, host in enumerate(hosts)]
        assert protect(stranger, 1, 1).ok and stranger.identified(0, 1)[99] == 1
        for host, flood in pending:
            host.admin.wait(*flood)
            assert all(request.status in (0, INTERRUPTED) for request in flood) and all(r.ok for r in flood[:8]), flood
            assert not any(request.dnr for request in flood)
        assert any(not request.ok for _, flood in pending for request in flood)
        assert protect(hosts[0], 1, 0).ok and hosts[1].identified(0, 1)[99] == 0
        assert protect(hosts[0], 1, 0).ok, "what is so already"


@pytest.mark.line("W80", "W81")
def test_who_may_not_write_may_not_delete_or_detach_either(live):  # noqa: F811
    """a namespace of hosts: 0:83 as for a write; of all at once none"""
    target = live(hosted(), "--reactors", "2")
    with connect(target, 70) as maker:
        one, other = created(maker), created(maker)
        a, b = [Host(target.address(), n, nsid=one, subnqn=NQN) for n in (0, 1)]
        with contextlib.closing(a), contextlib.closing(b):
            assert attach(maker, one, a.ctrl, b.ctrl).ok and attach(maker, other, b.ctrl).ok
            assert b.register(2) == 0 and a.register(1) == 0 and a.acquire(1, WE) == 0
            for ctrl in (b.ctrl, maker):
                assert delete(ctrl, one).status == CONFLICT and delete(ctrl, ALL).status == CONFLICT
                assert detach(ctrl, one, a.ctrl).status == CONFLICT
                assert attach(ctrl, one, maker).status == CONFLICT
            assert nsids(maker, 0x10) == [one, other] and nsids(a.ctrl) == [one] and nsids(b.ctrl) == [one, other]
            assert a.release(1, WE) == 0 and a.acquire(1, WE_RO) == 0
            assert delete(maker, one).status == CONFLICT
            assert detach(b.ctrl, one, b.ctrl).ok, "a registrant may write now"
            assert attach(a.ctrl, one, maker).ok and delete(a.ctrl, ALL).ok and nsids(maker, 0x10) == []


@pytest.mark.line("W80")
def test_how_many_there_may_be(live):  # noqa: F811
    """`count`, 1:16 beyond; a configuration that allows less than there are is refused"""
    target = live(hosted(namespace(1), count=3))
    with connect(target) as a:
        assert [created(a, 1) for _ in range(3)] == [2, 3, 4] and create(a, 1).status == NSID_UNAVAILABLE
        done = target.apply(hosted(namespace(1), count=2))
        assert done.returncode == 1 and "more than the `count`" in done.stderr
        target.applied(hosted(namespace(1), count=4))
        assert created(a, 1) == 5 and create(a, 1).status == NSID_UNAVAILABLE
        assert delete(a, 3).ok and created(a, 1) == 3
