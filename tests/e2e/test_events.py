"""The persistent events of a subsystem, page 0Dh: each kind provoked and read back, contexts, and what is kept."""
import os
import random
import signal
import struct
import time
import uuid

import pytest

import nvme
import target as targets
from events import (
    ESTABLISH, FATAL, FEATURE, HARDWARE, MEDIA, NAMESPACE, READ, RESET, SMART, TIMESTAMP, UNSAFE_SHUTDOWN, VENDOR,
    ask, establish, of, read, release, rest)
from namespaces import created, delete, hosted
from nvme import CC, CC_READY, CFS, INTERNAL, INVALID_FIELD, SEQUENCE, SGL_LENGTH
from nvmetcp import PATIENCE, Violation
from test_live import NQN, conf, connect, live, namespace  # noqa: F401: `live` is a fixture
from test_reservations_kept import start_again

MIB = 1 << 20


def named(number):
    return bytes(14) + bytes([1, number])


@pytest.fixture
def start(serve, tmp_path):
    """start(): a target that keeps its state, always the same; `volume=None`: of RAM alone."""
    def start(*args, reactors=2, volume="volume", state="state", **how):
        ns = ["mem:16M"] + (["file:%s,size=16M" % (tmp_path / volume)] if volume else [])
        return serve("--reactors", str(reactors), "--state-dir", str(tmp_path / state), *args, ns=ns, **how)
    return start


def kept_file(tmp_path):
    files = os.listdir(tmp_path / "state" / "events")
    assert len(files) == 1
    return tmp_path / "state" / "events" / files[0]


def until(ctrl, condition, seconds=5 * PATIENCE):
    """Reads the events until the condition on them holds: what happens is told in the background."""
    end = time.monotonic() + seconds
    while True:
        page = read(ctrl)
        if condition(page):
            return page
        assert time.monotonic() < end, page.events


# ---- each kind ----

@pytest.mark.line("W90")
def test_a_start_is_the_first_event(serve):
    before = time.time()
    target = serve("--reactors", "2")
    with nvme.Controller(target.address) as ctrl:
        page = read(ctrl)
        assert [event.type for event in page.events] == [RESET]
        event, ident = page.events[0], ctrl.identified(1)
        assert event.cntlid == 0 and event.data[:8] == ident[64:72] and event.u(8, 2) == 0
        assert event.u(24, 4) == 1 and event.u(28, 8) < 60000 * PATIENCE and event.u(36, 8) == event.ms
        assert before - 1 <= event.ms / 1000 <= page.ms / 1000 <= time.time() + 1
        assert page.cycles == 1 and page.hours == 0
        assert page.bytes[56:76] == ident[4:24] and page.bytes[76:116] == ident[24:64]
        assert page.bytes[116:372].rstrip(b"\0").decode() == nvme.SUBNQN


@pytest.mark.line("W90")
def test_a_reset_and_what_made_it_necessary(serve):
    """04h with the controller's id; before it 05h, where it was enabled as it cannot be"""
    target = serve("--reactors", "2")
    with nvme.Controller(target.address) as ctrl, nvme.Controller(target.address) as other:
        ctrl.disable()
        assert ctrl.set(CC, 1).ok and ctrl.get(nvme.CSTS) & CFS  # entry sizes of 1 byte
        ctrl.disable()
        ctrl.enable()
        page = until(other, lambda page: len(of(page, RESET)) == 3)
        made = page.events[1:]
        assert [(event.type, event.cntlid) for event in made] == [
            (RESET, ctrl.cntlid), (HARDWARE, ctrl.cntlid), (RESET, ctrl.cntlid)]
        assert made[0].u(8, 2) == ctrl.cntlid and made[0].u(24, 4) == 1
        assert made[1].data == struct.pack("<HH", FATAL, 0)
        assert read(ctrl).events == page.events


@pytest.mark.line("W90")
def test_a_timestamp_that_was_set(serve):
    """03h: what the time was before, and how long ago the controller was reset or came"""
    target = serve()
    with nvme.Controller(target.address) as ctrl:
        for ms in (1 << 40, 5):
            assert ctrl.set_feature(0x0E, data=struct.pack("<Q", ms)).ok
        first, second = of(until(ctrl, lambda page: len(of(page, TIMESTAMP)) == 2), TIMESTAMP)
        assert first.cntlid == ctrl.cntlid and first.u(0, 8) < 10000 * PATIENCE
        assert 1 << 40 <= second.u(0, 8) < (1 << 40) + 10000 * PATIENCE
        assert first.u(8, 8) <= second.u(8, 8) < 60000 * PATIENCE
        assert ctrl.set_feature(0x0E, data=bytes(4)).status == SGL_LENGTH
        assert len(of(read(ctrl), TIMESTAMP)) == 2, "one that failed is none"


@pytest.mark.line("W90")
def test_features_that_matter_later(start):
    """0Bh of 06h and 83h, carried out; not of others, nor of those that failed"""
    target = start()
    with nvme.Controller(target.address) as ctrl:
        queue = ctrl.io_queue()
        assert ctrl.set_feature(0x06, 0).ok and ctrl.set_feature(0x06, 1).ok
        assert ctrl.set_feature(0x83, 1, nsid=1).status == INVALID_FIELD and ctrl.set_feature(0x83, 1, nsid=2).ok
        assert ctrl.set_feature(0x02, 0).ok and ctrl.set_feature(0x06, 2).status == INVALID_FIELD
        assert queue.read(0).ok
        found = of(until(ctrl, lambda page: len(of(page, FEATURE)) >= 3), FEATURE)
        assert [struct.unpack("<4I", event.data) for event in found] == [
            (10, 0x06, 0, 0), (10, 0x06, 1, 0), (10, 0x83, 1, 0)]
        assert {event.cntlid for event in found} == {ctrl.cntlid}


@pytest.mark.line("W90")
def test_a_medium_that_fails_is_told_once(serve):
    """05h with its NSID, not again within ten minutes, however many commands fail; each namespace for itself"""
    target = serve("--reactors", "2", ns=["mem:16M", "fault:read-error=7@mem:16M", "fault:write-error=7@mem:16M"])
    with nvme.Controller(target.address) as ctrl:
        queues = [ctrl.io_queue(qid=n) for n in (1, 2)]
        for queue in queues:
            for _ in range(100):
                assert queue.read(7, nsid=2).status == nvme.READ_ERROR and queue.read(7, nsid=1).ok
            assert queue.write(7, bytes(4096), nsid=3).status == nvme.WRITE_FAULT
            assert queue.call(nvme.sqe(0x05, nsid=1, cdw10=9), os.urandom(4096)).status == 0x285  # they differ
        page = until(ctrl, lambda page: len(of(page, HARDWARE)) == 2)
        assert sorted(event.data for event in of(page, HARDWARE)) == [
            struct.pack("<HHI", MEDIA, 0, nsid) for nsid in (2, 3)]
        assert of(page, HARDWARE)[0].cntlid == ctrl.cntlid
        smart = ctrl.logged(2, 512)
        assert smart[0] == 4 and int.from_bytes(smart[160:176], "little") == 202


@pytest.mark.line("W90")
def test_a_host_that_fell_silent(serve):
    """DEh with its name"""
    target = serve("--reactors", "2")
    other = nvme.Controller(target.address, hostid=bytes(15) + b"\1")
    with nvme.Controller(target.address, kato=200) as ctrl, other:
        ctrl.admin.conn.expect_close(within=5 * PATIENCE)
        event, = of(until(other, lambda page: of(page, VENDOR)), VENDOR)
        text = b"keep-alive time expired: " + nvme.HOSTNQN.encode()
        assert event.cntlid == ctrl.cntlid and event.data == struct.pack("<HBBH", 1, 2, 0, len(text)) + text
        assert not of(read(other), HARDWARE)


@pytest.mark.line("W90", "I12")
def test_namespaces_that_come_and_go(live):  # noqa: F811
    """06h, as the command that would have done it; not of one that has another size"""
    target = live(conf(namespace(1)))
    with connect(target) as ctrl:
        target.applied(conf(namespace(1), namespace(9, size="32M")))
        target.applied(conf(namespace(1, size="8M"), namespace(9, size="32M")))
        target.applied(conf(namespace(9, size="32M")))
        target.applied(conf(namespace(9, size="32M", block_size=512)))
        made = of(read(ctrl), NAMESPACE)
        assert [(event.u(0, 4), event.u(44, 4), event.u(8, 8), event.u(24, 8)) for event in made] == [
            (0, 9, 8192, 8192), (1, 1, 2048, 2048), (1, 9, 8192, 8192), (0, 9, 65536, 65536)]
        assert all(event.cntlid == 0 and event.data[34] == 1 and event.u(36, 4) == 1 for event in made)


@pytest.mark.line("W90")
def test_namespaces_that_hosts_make(live):  # noqa: F811
    """06h of the controller that asked, of the format that it chose; what the operator does is the subsystem's"""
    target = live(hosted(namespace(7)))
    with connect(target) as ctrl, connect(target) as other:
        small, large = created(other, flbas=0), created(ctrl, flbas=1)
        assert delete(other, large).ok
        target.applied(hosted(namespace(7), namespace(8)))
        made = of(until(ctrl, lambda page: len(of(page, NAMESPACE)) == 4), NAMESPACE)
        assert [(event.cntlid, event.u(0, 4), event.u(44, 4), event.data[32]) for event in made] == [
            (other.cntlid, 0, small, 0), (ctrl.cntlid, 0, large, 1), (other.cntlid, 1, large, 1), (0, 0, 8, 1)]


@pytest.mark.line("W90")
def test_the_oldest_make_room(serve):
    """64 KiB of them, and the newest are there, with the subsystem's own: the start, a medium that failed"""
    target = serve("--reactors", "2", ns=["fault:read-error=7@mem:16M"])
    with nvme.Controller(target.address) as ctrl:
        assert not ctrl.io_queue().read(7).ok
        until(ctrl, lambda page: of(page, HARDWARE))
        for n in range(2000):
            assert ctrl.set_feature(0x0E, data=struct.pack("<Q", n << 20)).ok
        page = until(ctrl, lambda page: page.events[-1].u(0, 8) >> 20 == 1998)
        assert 65536 - 40 < len(page.bytes) <= 65536
        own, mine = page.events[:2], page.events[2:]
        assert [event.type for event in own] == [RESET, HARDWARE]
        assert [event.u(0, 8) >> 20 for event in mine] == list(range(1999 - len(mine), 1999))


@pytest.mark.line("W90")
def test_a_flood_of_some_hosts_does_not_keep_others_from_being_heard(start):
    """and what was not kept is said once a minute"""
    target = start()
    loud = [nvme.Controller(target.address, hostid=named(n)) for n in range(12)]
    with nvme.Controller(target.address, hostid=named(100)) as quiet:
        for n in range(4):
            targets.hold(target.pid)  # so that all of it comes at once
            sent = [(host, [host.admin.submit(nvme.sqe(0x09, cdw10=0x06)) for _ in range(30)]) for host in loud]
            mine = quiet.admin.submit(nvme.sqe(0x09, cdw10=0x06, cdw11=n % 2))
            target.process.send_signal(signal.SIGCONT)
            assert quiet.admin.wait(mine).ok
            for host, requests in sent:
                host.admin.wait(*requests)
        mine = lambda page: [event.u(8, 4) for event in of(page, FEATURE) if event.cntlid == quiet.cntlid]
        assert mine(until(quiet, lambda page: len(mine(page)) >= 4)) == [0, 1, 0, 1]
    for host in loud:
        host.close()
    assert target.stderr().count("faster than they could be kept") <= 2, "a line of each reactor"


# ---- kept ----

@pytest.mark.line("W92")
def test_a_restart_goes_on(start, tmp_path):
    """after a stop the values of the SMART log, and nothing unsafe"""
    target = start()
    with nvme.Controller(target.address) as ctrl:
        queue = ctrl.io_queue()
        for n in range(5):
            assert queue.write(n, bytes(4096)).ok and queue.read(n, 2).ok
        assert not ctrl.set_feature(0x02, 0xFF).ok
        ctrl.disable()
        ctrl.enable()
        before = until(ctrl, lambda page: page.count == 2)
        smart = ctrl.logged(2, 512)
    target.stop()
    target = start(reactors=3)
    with nvme.Controller(target.address) as ctrl:
        page = read(ctrl)
        assert page.events[:2] == before.events and [event.type for event in page.events[2:]] == [SMART, RESET]
        assert page.cycles == 2 and page.events[3].u(24, 4) == 2 and page.generation > before.generation
        assert page.events[3].u(28, 8) >= before.events[1].u(28, 8)
        snapshot = page.events[2].data
        assert snapshot[32:96] == smart[32:96] and snapshot[112:] == smart[112:] and len(snapshot) == 512
        assert kept_file(tmp_path).stat().st_size == 2 * 65536


@pytest.mark.line("W92")
def test_a_kill_is_an_unsafe_shutdown(start, tmp_path):
    """what was read before is there, then 05h, then the start"""
    target = start()
    for cycles in (2, 3):
        with nvme.Controller(target.address) as ctrl:
            ctrl.disable()
            ctrl.enable()
            before = until(ctrl, lambda page: page.events[-1].cntlid == ctrl.cntlid)
            until_kept(tmp_path, before)
        target.kill()
        target = start_again(start)
        with nvme.Controller(target.address) as ctrl:
            page = read(ctrl)
            assert page.events[:before.count] == before.events
            assert [event.type for event in page.events[before.count:]] == [HARDWARE, RESET]
            assert page.events[before.count].data == struct.pack("<HH", UNSAFE_SHUTDOWN, 0)
            assert page.cycles == cycles
            smart = ctrl.logged(2, 512)
            assert int.from_bytes(smart[112:128], "little") == cycles
            assert int.from_bytes(smart[144:160], "little") == cycles - 1


def until_kept(tmp_path, page):
    """Until an image has these events: they are written in the background, within a tenth of a second or two."""
    end = time.monotonic() + 5 * PATIENCE
    while b"".join(event.raw for event in page.events) not in kept_file(tmp_path).read_bytes():
        assert time.monotonic() < end


@pytest.mark.line("W92")
@pytest.mark.parametrize("seed", range(2))
def test_killed_while_events_are_written(start, seed):
    """at any moment; the log is whole, in order, and has all that was kept before"""
    rng, number, kept = random.Random(seed), 0, []
    for cycle in range(8):
        target = start_again(start)
        with nvme.Controller(target.address) as ctrl:
            page = read(ctrl)
            assert page.cycles == cycle + 1 and len(of(page, HARDWARE)) == cycle
            assert page.events[:len(kept)] == kept
            kept = page.events
            numbers = [event.u(0, 8) >> 20 for event in of(page, TIMESTAMP)]
            numbers = [n for n in numbers if n]  # a controller begins without a time
            assert numbers == sorted(numbers) and len(set(numbers)) == len(numbers)
            end = time.monotonic() + rng.random() * 0.4
            for n in range(100):
                number += 1
                assert ctrl.set_feature(0x0E, data=struct.pack("<Q", number << 20)).ok
                while time.monotonic() < end - 0.004 * (100 - n):
                    ctrl.keep_alive()
            target.kill()


@pytest.mark.line("W93")
def test_smart_counts_over_restarts(start):
    """after a stop everything; the power-on hours are not less"""
    counts = lambda page: [int.from_bytes(page[at:at + 16], "little") for at in (32, 48, 64, 80, 160, 176)]
    total = [0] * 6
    for cycle in range(3):
        target = start(reactors=cycle + 1)
        with nvme.Controller(target.address) as ctrl:
            smart = ctrl.logged(2, 512)
            assert counts(smart) == total
            assert int.from_bytes(smart[112:128], "little") == cycle + 1 and not any(smart[144:160])
            assert (smart[0], smart[3], smart[5]) == (0, 100, 0)
            queue = ctrl.io_queue()
            for n in range(250):
                assert queue.write(0, bytes(2 * 4096), nsid=2).ok and queue.read(0, nsid=1).ok
            assert not queue.read(1 << 40).ok and not ctrl.set_feature(0x02, 0xFF).ok
            ctrl.disable()
            ctrl.enable()
            total = counts(ctrl.logged(2, 512))
            blocks = 250 * (cycle + 1) * 8
            assert total == [-(-blocks // 1000), -(-2 * blocks // 1000), 250 * (cycle + 1), 250 * (cycle + 1), 0,
                             2 * (cycle + 1)]
        target.stop()


@pytest.mark.line("W93")
def test_smart_is_of_one_subsystem(live, tmp_path):  # noqa: F811
    """what is done on another one does not count; one that comes again goes on where it was"""
    state = "state_dir: %s\n" % (tmp_path / "state")
    second = "  - nqn: %s2\n    namespaces:\n%s" % (NQN, namespace(1))
    one, both = (conf(namespace(1), top=state) + more for more in ("", second))
    target = live(both, "--reactors", "2")
    reads = lambda ctrl: int.from_bytes(ctrl.logged(2, 512)[64:80], "little")
    with connect(target) as ctrl:
        with nvme.Controller(target.address(), subnqn=NQN + "2") as other:
            queue, busy = ctrl.io_queue(), other.io_queue()
            assert all(busy.read(0).ok for _ in range(10)) and queue.read(0).ok
            assert (reads(ctrl), reads(other)) == (1, 10)
            target.applied(one)
        again(target, both)
        with nvme.Controller(target.address(), subnqn=NQN + "2") as other:
            page = read(other)
            assert [event.type for event in page.events] == [RESET, SMART, RESET] and page.cycles == 2
            assert reads(other) == 10 and other.io_queue().read(0).ok and reads(other) == 11
        assert queue.read(0).ok and reads(ctrl) == 2 and read(ctrl).cycles == 1
    assert target.daemon.stats()["reads"] == 13
    assert len(os.listdir(tmp_path / "state" / "events")) == 2


def again(target, text):
    """While the events of what was given up are still being written it cannot come back."""
    end = time.monotonic() + 5 * PATIENCE
    while True:
        done = target.apply(text)
        if done.returncode == 0:
            return
        assert "still being kept" in done.stderr and time.monotonic() < end, done.stderr


def serve_once(tmp_path, *args):
    return targets.run("serve", "--listen", "127.0.0.1:0", "--state-dir", tmp_path / "state", "--ns", "mem:1M", *args)


@pytest.mark.line("W92")
def test_a_damaged_file_is_told_and_begun_anew(start, tmp_path):
    """events are no reason not to serve"""
    target = start()
    with nvme.Controller(target.address) as ctrl:
        ctrl.disable()
        ctrl.enable()
        until(ctrl, lambda page: page.count == 2)
    target.stop()
    path = kept_file(tmp_path)
    good = path.read_bytes()
    broken = bytearray(good)
    for at in (520, 65536 + 520):
        broken[at] ^= 1
    path.write_bytes(broken)
    target = start()
    assert "damaged" in target.stderr() and str(path) in target.stderr()
    with nvme.Controller(target.address) as ctrl:
        page = read(ctrl)
        assert [event.type for event in page.events] == [RESET] and page.cycles == 1
    target.stop()
    newer = max((0, 65536), key=lambda at: good[at + 8:at + 16][::-1])
    broken = bytearray(good)
    broken[newer + 520] ^= 1
    path.write_bytes(broken)
    target = start()
    assert "damaged" not in target.stderr()
    with nvme.Controller(target.address) as ctrl:
        assert read(ctrl).events[-1].type == RESET and read(ctrl).cycles == 2, "the image before is there"


@pytest.mark.line("W92")
def test_another_ones_file_is_refused(start, tmp_path):
    start().stop()
    path = kept_file(tmp_path)
    os.rename(path, path.with_name("kept"))
    start("--subnqn", NQN).stop()
    other, = {path.with_name(name) for name in os.listdir(path.parent)} - {path.with_name("kept")}
    os.rename(path.with_name("kept"), other)
    result = serve_once(tmp_path, "--subnqn", NQN)
    assert result.returncode == 1 and "another subsystem" in result.stderr


@pytest.mark.line("W92")
def test_a_file_that_cannot_be_had_is_said(tmp_path):
    os.makedirs(tmp_path / "state")
    (tmp_path / "state" / "events").write_text("in the way")
    result = serve_once(tmp_path)
    assert result.returncode == 1 and "Not a directory" in result.stderr
    os.unlink(tmp_path / "state" / "events")
    result = targets.run("serve", "--listen", "127.0.0.1:0", "--state-dir", tmp_path / "state", "--ns", "mem:1M",
                         preexec_fn=targets.small_files(65536))
    assert result.returncode == 1 and "events cannot be kept" in result.stderr


@pytest.mark.line("W90")
def test_without_a_state_dir_they_live_in_memory(serve, tmp_path):
    target = serve(cwd=str(tmp_path))
    with nvme.Controller(target.address) as ctrl:
        assert read(ctrl).cycles == 1
    target.stop()
    assert os.listdir(tmp_path) == []
    with nvme.Controller(serve().address) as ctrl:
        assert read(ctrl).cycles == 1 and read(ctrl).count == 1


@pytest.mark.line("W90")
def test_hosts_on_all_reactors(start):
    """each event is of its controller, in the order of each"""
    target = start(reactors=4)
    hosts = [nvme.Controller(target.address) for _ in range(8)]
    sent = {}
    for n in range(40):
        for host in hosts:
            sent[host] = host.admin.submit(nvme.sqe(0x09, cdw10=0x0E), struct.pack("<Q", n << 20))
        for host in hosts:
            assert host.admin.wait(sent[host]).ok
    page = until(hosts[0], lambda page: len(of(page, TIMESTAMP)) == 8 * 40)
    for host in hosts:
        mine = [event for event in of(page, TIMESTAMP) if event.cntlid == host.cntlid]
        assert [event.u(0, 8) >> 20 for event in mine[1:]] == list(range(39))
        host.close()


def test_a_subsystem_that_comes_back_at_once_waits_for_what_is_kept_of_it(live, tmp_path):  # noqa: F811
    """and has all its events again"""
    text = conf(namespace(1), top="state_dir: %s/state\n" % tmp_path)
    target = live(text)
    for _ in range(20):
        target.applied(text.partition("subsystems:")[0])
        target.applied(text)
    with connect(target) as ctrl:
        page = read(ctrl)
        assert page.cycles == 21 and len([event for event in of(page, RESET) if event.cntlid == 0]) == 21


def test_of_subsystems_that_are_gone_the_newest_files_stay(start, tmp_path):
    """and all that is not such a file"""
    start().stop()
    own, folder = kept_file(tmp_path), tmp_path / "state" / "events"
    names = [str(uuid.UUID(int=(n * 7919 % 300) << 64 | 1)) for n in range(300)]
    for n, name in enumerate(names):
        (folder / name).write_bytes(b"")
        os.utime(folder / name, (0, 1000 + n // 2 * 2))
    os.utime(own, (0, 0))
    others = ["notes", names[0] + ".old", names[0].upper()[:-1] + "X"]
    for name in others:
        (folder / name).write_bytes(b"")
        os.utime(folder / name, (0, 0))
    (folder / str(uuid.UUID(int=5))).mkdir()
    target = start()
    assert sorted(os.listdir(folder)) == sorted([own.name, str(uuid.UUID(int=5))] + others + names[300 - 256:])
    assert "events of 44 subsystems that are gone are removed from %s" % folder in target.stderr()
    target.stop()
    assert "are removed" not in start().stderr() and len(os.listdir(folder)) == 256 + 2 + len(others)
