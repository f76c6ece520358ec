"""Feature 84h: hosts that protect namespaces against writes."""
import os
import struct
import subprocess
import uuid

import pytest

import nvme
import reservations
from namespaces import (
    ALL, BLOCK, NONE, PERMANENT, PROTECT, UNTIL_POWER_CYCLE, WRITE_PROTECTED, attach, connect, created, delete, detach,
    hosted, nsids, protect, protection, start_again)
from nvme import INVALID_FIELD, INVALID_NS, NOT_CHANGEABLE, NOT_SAVEABLE, OK, sqe
from nvmetcp import crc32c
from test_live import NQN, NS_NOTICE, changed, conf, event, live, namespace, watch  # noqa: F401 - live is a fixture

UNCORRECTABLE, DATASET, COPY = 0x04, 0x09, 0x19


def kept(tmp_path):
    return "state_dir: %s/state\n" % tmp_path


def assert_protected(queue, nsid, yes):
    """what changes blocks is refused, and has no effect; what does not, is not"""
    status = WRITE_PROTECTED if yes else OK
    before = bytes(queue.read(0, nsid=nsid).got)
    data = os.urandom(BLOCK)
    for request in (queue.write(0, data, nsid=nsid), queue.write(8, data * 4, nsid=nsid, incapsule=False),
                    queue.write_zeroes(1, 1, nsid=nsid), queue.deallocate([(2, 1)], nsid=nsid),
                    queue.call(sqe(UNCORRECTABLE, nsid=nsid, cdw10=3)),
                    queue.call(sqe(COPY, nsid=nsid, cdw10=12), struct.pack("<8xQH14x", 4, 0))):
        assert request.status == status
    assert queue.call(sqe(DATASET, nsid=nsid, cdw11=1), struct.pack("<IIQ", 0, 1, 0)).ok, "a hint"
    assert bytes(queue.read(0, nsid=nsid).got) == (before if yes else data)
    assert queue.flush(nsid).ok


@pytest.mark.line("O17", "W83")
@pytest.mark.parametrize("reactors", [1, 2])
def test_protected_and_no_longer(live, tmp_path, reactors):  # noqa: F811
    """every controller sees it, hears of it, and is held to it, as soon as the command is answered"""
    target = live(conf(namespace(1), namespace(2), top=kept(tmp_path)), "--reactors", str(reactors))
    with connect(target) as a, connect(target, 2) as b:
        assert a.identified(1)[531] == 3, "protect, and until power cycle"
        queues = [ctrl.io_queue(qid) for ctrl in (a, b) for qid in (1, 2)]
        for _ in range(2):
            for state in (PROTECT, NONE):
                held = [watch(a), watch(b)]
                assert protect(a, 1, state).ok
                for queue in queues:
                    assert_protected(queue, 1, state == PROTECT)
                    assert_protected(queue, 2, False)
                for ctrl, request in zip((a, b), held):
                    assert event(ctrl, request) == NS_NOTICE and changed(ctrl) == [1]
                    assert protection(ctrl, 1) == state and protection(ctrl, 2) == NONE
                    assert bool(ctrl.identified(0, 1)[99]) == (state == PROTECT)
        held = watch(a)
        assert protect(b, 2, NONE).ok and a.keep_alive().ok and not held.done, "nothing has changed"


@pytest.mark.line("R09", "W83")
@pytest.mark.parametrize("kind", reservations.TYPES)
def test_a_reservation_does_not_hold_it_back(live, tmp_path, kind):  # noqa: F811
    """whoever holds the namespace: Set Features is of the other commands, which the matrix allows"""
    target = live(conf(namespace(1), namespace(2), top=kept(tmp_path)))
    holder, stranger = [reservations.Host(target.address(), n, subnqn=NQN) for n in range(2)]
    assert holder.register(new=1) == holder.acquire(1, reservations.TYPES[kind]) == OK
    assert stranger.queue.write(0, bytes(BLOCK)).status == reservations.CONFLICT
    for nsid in (1, ALL):
        assert protect(stranger.ctrl, nsid, PROTECT).ok
        assert holder.queue.write(0, bytes(BLOCK)).status == WRITE_PROTECTED
        assert stranger.queue.write(0, bytes(BLOCK)).status == reservations.CONFLICT, "which comes first"
        assert protect(stranger.ctrl, nsid, NONE).ok and holder.queue.write(0, bytes(BLOCK)).ok
    holder.close()
    stranger.close()


@pytest.mark.line("W97")
@pytest.mark.parametrize("nsid, state", [(1, PROTECT), (ALL, PROTECT), (1, UNTIL_POWER_CYCLE)])
@pytest.mark.parametrize("reactors", [1, 2])
def test_what_was_written_is_durable_once_it_is_protected(serve, tmp_path, reactors, nsid, state):
    """what was answered before, and what was under way: it has ended, or is refused"""
    plain = "file:%s/v.img,size=16M" % tmp_path
    args = ["--state-dir", str(tmp_path / "state"), "--reactors", str(reactors)]
    target = serve(*args, ns=["fault:delay-write=300@volatile:@" + plain])
    old, new = os.urandom(BLOCK), os.urandom(BLOCK)
    with nvme.Controller(target.address) as a:
        queues = [a.io_queue(qid) for qid in (1, 2)]
        assert queues[0].write(1, old).ok
        under_way = [queue.submit_write(8 + n, new) for n, queue in enumerate(queues)]
        for queue in queues:
            assert queue.read(100).ok, "which comes behind it"
        queues[0].serve_r2ts = False
        late = queues[0].submit_write(16, new, incapsule=False)
        while not late.r2ts:
            queues[0].step()
        assert protect(a, nsid, state).ok
        queues[0].send_data(late)
        for queue, request in zip(queues, under_way):
            queue.wait(request)
            assert request.ok
        queues[0].wait(late)
        assert late.status == WRITE_PROTECTED
        target.kill()
    target = start_again(lambda: serve(*args, ns=[plain]))
    with nvme.Controller(target.address) as a:
        queue = a.io_queue()
        found = [bytes(queue.read(lba).got) for lba in (1, 8, 9, 16)]
        assert found == [old, new, new, bytes(BLOCK)]
        assert protection(a, 1) == (PROTECT if state == PROTECT else NONE)


@pytest.mark.line("W97")
def test_what_cannot_be_flushed_is_not_protected(serve, tmp_path):
    """nor is the other one, where all were to be"""
    target = serve("--state-dir", str(tmp_path / "state"), "--reactors", "1",
                   ns=["mem:16M", "fault:flush-error=1@mem:16M", "fault:flush-error=2@mem:16M"])
    with nvme.Controller(target.address) as a:
        queue = a.io_queue()
        assert not protect(a, ALL, PROTECT).ok and [protection(a, n) for n in (1, 2, 3)] == 3 * [NONE]
        assert_protected(queue, 1, False)
        assert protect(a, 2, PROTECT).ok, "once it can be"
        assert_protected(queue, 2, True)
        assert not protect(a, 3, PROTECT).ok, "what came between the two flushes may be lost"
        assert protection(a, 3) == PROTECT and protect(a, 3, PROTECT).ok


@pytest.mark.line("O17", "W83")
def test_what_is_offered_and_what_is_not(live, tmp_path):  # noqa: F811
    target = live(conf(namespace(1), top=kept(tmp_path)))
    with connect(target) as a:
        assert protect(a, 1, PERMANENT).status == INVALID_FIELD and protect(a, 1, 4).status == INVALID_FIELD
        assert protect(a, 2, PROTECT).status == INVALID_NS and protect(a, 0, PROTECT).status == INVALID_NS
        assert a.set_feature(0x84, PROTECT, save=True, nsid=1).status == NOT_SAVEABLE
        assert protection(a, 1) == NONE


def test_without_a_state_dir_it_is_not_offered(live):  # noqa: F811
    target = live(conf(namespace(1)))
    with connect(target) as a:
        assert a.identified(1)[531] == 0
        assert protect(a, 1, PROTECT).status == INVALID_FIELD
        assert a.get_feature(0x84, nsid=1).status == INVALID_FIELD


@pytest.mark.line("O17", "W83")
def test_of_all_at_once(live, tmp_path):  # noqa: F811
    """those that are active at the asker; all of them or none"""
    text = hosted(namespace(1), namespace(2), top=kept(tmp_path))
    target = live(text)
    with connect(target) as a, connect(target, 2) as b:
        assert [created(a) for _ in range(2)] == [3, 4]
        assert attach(a, 3, a, b).ok and attach(a, 4, b).ok
        assert protect(a, ALL, PROTECT).ok
        assert [protection(b, n) for n in nsids(b)] == [PROTECT, PROTECT, PROTECT, NONE]
        assert delete(a, 3).status == WRITE_PROTECTED and delete(a, 4).ok
        assert detach(a, 3, b).ok, "that is no write"
        assert protect(b, ALL, NONE).ok and [protection(a, n) for n in (1, 2, 3)] == [NONE, NONE, PROTECT]
        assert protect(a, 2, UNTIL_POWER_CYCLE).ok
        assert protect(a, ALL, NONE).status == NOT_CHANGEABLE and protection(a, 3) == PROTECT
        assert protect(a, 3, NONE).ok and delete(b, 3).ok


@pytest.mark.line("O17", "W83")
def test_until_power_cycle(serve, tmp_path):
    """no command ends it, nor a reset, nor a change of the configuration; a restart does, and "protect" stays"""
    def start():
        return serve("--state-dir", str(tmp_path / "state"),
                     ns=["file:%s/%d.img,size=16M" % (tmp_path, n) for n in (1, 2, 3, 4)])
    target = start()
    with nvme.Controller(target.address) as a:
        assert protect(a, 4, PROTECT).ok and protect(a, 1, PROTECT).ok and protect(a, 2, PROTECT).ok
        assert protect(a, 2, UNTIL_POWER_CYCLE).ok
        assert protect(a, 3, UNTIL_POWER_CYCLE).ok
        for state in (NONE, PROTECT):
            assert protect(a, 2, state).status == NOT_CHANGEABLE
        assert protect(a, 2, UNTIL_POWER_CYCLE).ok
        assert protect(a, 3, NONE).status == NOT_CHANGEABLE
        both = [a.admin.submit(nvme.sqe(0x09, nsid=1, cdw10=0x84, cdw11=state)) for state in (UNTIL_POWER_CYCLE, NONE)]
        a.admin.wait(*both)
        assert [request.status for request in both] == [OK, NOT_CHANGEABLE], "which was right when it came"
        a.disable()
        a.enable()
        assert [protection(a, n) for n in (1, 2, 3, 4)] == 3 * [UNTIL_POWER_CYCLE] + [PROTECT]
        assert_protected(a.io_queue(), 2, True)
    target.kill()
    target = start_again(start)
    with nvme.Controller(target.address) as a:
        assert [protection(a, n) for n in (1, 2, 3, 4)] == [NONE, NONE, NONE, PROTECT]
        queue = a.io_queue()
        assert_protected(queue, 4, True)
        assert_protected(queue, 2, False)
        assert protect(a, 4, NONE).ok
    target.kill()
    target = start_again(start)
    with nvme.Controller(target.address) as a:
        assert protection(a, 4) == NONE
        assert_protected(a.io_queue(), 4, False)


@pytest.mark.line("O17", "W83")
def test_beside_the_configuration(live, tmp_path):  # noqa: F811
    """what it protects stays so; what a host protects stays so when it does not any more, and with the volume"""
    def text(*protected, volume="a"):
        return conf(*[namespace(n, "file:%s/%s%d.img" % (tmp_path, volume, n),
                                write_protected="yes" if n in protected else "no") for n in (1, 2)],
                    top=kept(tmp_path))
    target = live(text(1))
    with connect(target) as a:
        queue = a.io_queue()
        assert protection(a, 1) == PROTECT and protect(a, 1, NONE).status == NOT_CHANGEABLE
        assert protect(a, ALL, NONE).status == NOT_CHANGEABLE
        assert protect(a, ALL, PROTECT).ok and protection(a, 2) == PROTECT
        assert protect(a, 1, UNTIL_POWER_CYCLE).ok and protection(a, 1) == UNTIL_POWER_CYCLE
        target.applied(text())
        assert protection(a, 1) == UNTIL_POWER_CYCLE and protection(a, 2) == PROTECT
        target.applied(text(1, 2))
        assert protection(a, 2) == PROTECT and protect(a, 2, NONE).status == NOT_CHANGEABLE
        target.applied(text(volume="b"))
        assert protection(a, 1) == protection(a, 2) == NONE, "other volumes"
        assert_protected(queue, 2, False)
        target.applied(text())
        assert protection(a, 1) == UNTIL_POWER_CYCLE and protection(a, 2) == PROTECT, "the same again"
        assert_protected(queue, 2, True)


def test_what_the_configuration_protects_a_host_may_protect_too(live, tmp_path):  # noqa: F811
    """though nothing seems to change: it is the host's from then on, until it ends that itself"""
    def text(protected):
        return conf(namespace(1, "file:%s/1.img" % tmp_path, write_protected=protected), top=kept(tmp_path))
    target = live(text("yes"))
    with connect(target) as a:
        target.applied(text("no"))
        assert protection(a, 1) == NONE
        target.applied(text("yes"))
        assert protect(a, 1, PROTECT).ok
        target.applied(text("no"))
        assert protection(a, 1) == PROTECT
        assert_protected(a.io_queue(), 1, True)
        assert protect(a, 1, NONE).ok and protection(a, 1) == NONE


def test_to_end_a_protection_that_is_not_there_forgets_no_other(live, tmp_path):  # noqa: F811
    """of the volumes under one NSID the last four that were protected are known"""
    def text(name):
        return conf(namespace(1, "file:%s/%s.img" % (tmp_path, name)), top=kept(tmp_path))
    target = live(text("e"))
    with connect(target) as a:
        for name in "abcd":
            target.applied(text(name))
            assert protect(a, 1, PROTECT).ok
        target.applied(text("e"))
        assert protect(a, 1, NONE).ok and protection(a, 1) == NONE
        for name in "abcd":
            target.applied(text(name))
            assert protection(a, 1) == PROTECT


def told(ctrl, nsid=1):
    """the UUID of a namespace, as the configuration takes it"""
    page, at = ctrl.identified(3, nsid), 0
    while page[at] != 3:
        at += 4 + page[at + 1]
    return str(uuid.UUID(bytes=bytes(page[at + 4:at + 20])))


def test_a_uuid_that_is_written_down_as_it_is_lifts_no_protection(live, tmp_path):  # noqa: F811
    """while it is served, after a restart, and when it is not written there any more; another one is another volume"""
    def text(**more):
        return conf(namespace(1, "file:%s/1.img" % tmp_path, **more), top=kept(tmp_path))
    target = live(text())
    with connect(target) as a:
        given = {"uuid": told(a)}
        assert protect(a, 1, PROTECT).ok
        target.applied(text(**given))
        assert told(a) == given["uuid"] and protection(a, 1) == PROTECT
        assert_protected(a.io_queue(), 1, True)
    target.daemon.stop()
    for more in given, {}:
        target = live(text(**more))
        with connect(target) as a:
            assert protection(a, 1) == PROTECT
            assert_protected(a.io_queue(), 1, True)
        target.daemon.stop()
    target = live(text(uuid=str(uuid.uuid4())))
    with connect(target) as a:
        assert protection(a, 1) == NONE
    target.daemon.stop()
    target = live(text(**given))
    with connect(target) as a:
        assert protect(a, 1, NONE).ok and protection(a, 1) == NONE
        target.applied(text())
        assert protection(a, 1) == NONE


def derived_from(path):
    """what the UUID of a file's namespace is derived from, which earlier versions recorded"""
    try:
        with open("/etc/machine-id", "rb") as f:
            whose = f.read(63)
    except OSError:
        whose = b""
    born = subprocess.run(["stat", "--format=%.9W", path], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    seconds, _, ns = born.partition(".")
    birth = "/%d.%d" % (int(seconds), int(ns)) if seconds.isdigit() and int(seconds) else ""
    file = os.stat(path)
    text = whose + ("/%s/%d/%d%s" % (NQN, file.st_dev, file.st_ino, birth)).encode()
    halves = []
    for start, way in (0xcbf29ce484222325, text), (0x84222325cbf29ce4, text[::-1]):
        for byte in way:
            start = (start ^ byte) * 0x100000001b3 % (1 << 64)
        halves.append(start)
    return uuid.UUID(bytes=struct.pack("<QQ", *halves))


@pytest.mark.parametrize("given", [False, True])
def test_a_protection_that_an_earlier_version_recorded_holds(live, tmp_path, given):  # noqa: F811
    """also once the UUID is written down; it can be lifted"""
    record = tmp_path / "state" / "namespaces"

    def text(**more):
        return conf(namespace(1, "file:%s/1.img" % tmp_path, **more), top=kept(tmp_path))
    target = live(text())
    with connect(target) as a:
        more = {"uuid": told(a)} if given else {}
    target.daemon.stop()
    lines = "weir-namespaces 1\ntarget 0123456789abcdef\n"
    lines += "protected 1 1 %s %s\n" % (derived_from(str(tmp_path / "1.img")), NQN)
    record.write_text(lines + "end %08x\n" % crc32c(lines.encode()))
    target = live(text(**more))
    with connect(target) as a:
        assert protection(a, 1) == PROTECT
        assert_protected(a.io_queue(), 1, True)
        assert protect(a, 1, PROTECT).ok and told(a) in record.read_text()
        assert protect(a, 1, UNTIL_POWER_CYCLE).ok and protect(a, 1, NONE).status == NOT_CHANGEABLE
    target.daemon.stop()
    target = live(text(**more))
    with connect(target) as a:
        assert protection(a, 1) == NONE
        assert_protected(a.io_queue(), 1, False)


def test_protections_of_what_is_gone_make_room_for_others(live, tmp_path):  # noqa: F811
    """the oldest first; not those of what is configured"""
    record = tmp_path / "state" / "namespaces"
    (tmp_path / "pool").mkdir()
    record.parent.mkdir()
    served = uuid.UUID(int=1 << 100)

    def line(n):
        return "protected 1 1 %s nqn.2026-11.example:gone%d\n" % (uuid.UUID(int=n + 1), n)
    lines = "weir-namespaces 1\ntarget 0123456789abcdef\nprotected 1 1 %s %s\n" % (served, NQN)
    lines += "".join(line(n) for n in range(4095))
    record.write_text(lines + "end %08x\n" % crc32c(lines.encode()))
    target = live(hosted(*[namespace(n, "file:%s/%d.img" % (tmp_path, n), **({"uuid": str(served)} if n == 1 else {}))
                           for n in range(1, 9)], volume="file:%s/pool" % tmp_path, top=kept(tmp_path)))
    with connect(target) as a:
        assert protection(a, 1) == PROTECT and protect(a, 2, NONE).ok and line(0) in record.read_text()
        assert protect(a, 2, PROTECT).ok and protection(a, 2) == PROTECT
        created(a)
        text = record.read_text()
        assert line(0) not in text and line(1) not in text and line(2) in text and line(4094) in text
        assert protect(a, ALL, PROTECT).ok
        text = record.read_text()
        assert line(7) not in text and line(8) in text, "six more"
        assert [protection(a, n) for n in range(1, 9)] == 8 * [PROTECT]
        assert protect(a, ALL, PROTECT).ok and record.read_text() == text
    target.daemon.stop()
    assert len(text.splitlines()) == 4096 + 3
