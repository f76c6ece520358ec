"""The folder where a target keeps what must outlive it, on a disk that does not answer, costs those who need it alone.

What is kept there is opened and closed beside the reactors."""
import os
import time

import pytest

import target as targets
from disk import disk, ends_in_time  # noqa: F401: `disk` is a fixture
from namespaces import attach, created, delete, hosted, nsids, submit_create
from nvme import sqe
from nvmetcp import PATIENCE
from test_hung_disks import beside, longest_read
from test_live import active, conf, connect, live, namespace  # noqa: F401: `live` is a fixture

OTHER = "  - nqn: nqn.2026-11.example:other\n    namespaces: [{nsid: 9, volume: mem, size: 1M}]\n"
KEYS = bytes(8) + bytes([1] * 8)


def files(tmp_path, *numbers):
    return [namespace(n, "file:%s/%d" % (tmp_path, n)) for n in numbers]


def register(queue, nsid=1):
    """which is to survive a loss of power"""
    return queue.submit(sqe(0x0D, nsid=nsid, cdw10=3 << 30), KEYS)


def served(target, ctrl, queue):
    """I/O, Identify, and a host that comes"""
    began = time.monotonic()
    assert queue.read(0).ok and queue.write(0, bytes(4096)).ok and active(ctrl) and ctrl.keep_alive().ok
    with connect(target) as another:
        assert another.io_queue(1).read(0).ok
    assert time.monotonic() - began < 2 * PATIENCE


@pytest.mark.parametrize("what", ["a namespace", "a subsystem"])
def test_an_apply_that_needs_a_state_folder_that_hangs_is_refused_in_time(live, tmp_path, disk, what):
    """and one that does not need it goes on"""
    text = conf(*files(tmp_path, 1), top="state_dir: %s\n" % disk.folder)
    target = live(text, env=disk.env)
    with connect(target) as ctrl:
        queue = ctrl.io_queue(1)
        disk.hang()
        more = text + ("".join(files(tmp_path, 2)) if what == "a namespace" else OTHER)
        thread, done = beside(lambda: target.apply(more))
        assert longest_read(queue, thread) < 0.5 * PATIENCE
        assert done[0].returncode == 1 and "%s: the disk has not answered" % disk.folder in done[0].stderr, done
        target.applied(text.replace("size: 16M", "size: 32M"))
        served(target, ctrl, queue)
        os.close(disk.answer())
        target.applied(more)


@pytest.mark.parametrize("what", ["a namespace", "a subsystem"])
def test_hosts_are_served_while_the_file_of_a_state_does_not_open(live, tmp_path, disk, what):
    """of a disk that answered when it was asked first: the apply waits for it"""
    text = conf(*files(tmp_path, 1), top="state_dir: %s\n" % disk.folder)
    more = text + ("".join(files(tmp_path, 2)) if what == "a namespace" else OTHER)
    target = live(text, env=disk.hangs("open64 tries"))
    with connect(target) as ctrl:
        queue = ctrl.io_queue(1)
        disk.hang()
        thread, done = beside(lambda: target.apply(more))
        disk.waits()
        served(target, ctrl, queue)
        assert thread.is_alive()
        os.close(disk.answer())
        assert longest_read(queue, thread) < 0.5 * PATIENCE
        assert done[0].returncode == 0, done


def test_hosts_are_served_while_one_registers_and_another_makes_a_namespace(live, tmp_path, disk):
    """These wait"""
    pool = tmp_path / "pool"
    pool.mkdir()
    text = hosted(*files(tmp_path, 1), volume="file:%s" % pool, top="state_dir: %s\n" % disk.folder)
    target = live(text, env=disk.hangs("open64 tries"))
    with connect(target) as ctrl, connect(target) as wishing, connect(target) as registering:
        queue, reserving = ctrl.io_queue(1), registering.io_queue(1)
        assert attach(ctrl, created(ctrl), ctrl).ok
        disk.hang()
        registered = register(reserving)
        disk.waits()
        wished = submit_create(wishing, 256)
        served(target, ctrl, queue)
        assert not registered.done and not wished.done
        os.close(disk.answer())
        assert reserving.wait(registered).ok and wishing.admin.wait(wished).ok
        assert len(nsids(ctrl, 0x10)) == 3


def test_an_apply_behind_a_wish_that_waits_for_its_state_is_refused_in_time(live, tmp_path, disk):
    """and is not, once the disk answers"""
    pool = tmp_path / "pool"
    pool.mkdir()
    text = hosted(*files(tmp_path, 1), volume="file:%s" % pool, top="state_dir: %s\n" % disk.folder)
    target = live(text, env=disk.env)
    with connect(target) as ctrl, connect(target) as wishing:
        queue = ctrl.io_queue(1)
        disk.hang()
        wished = submit_create(wishing, 256)
        disk.waits()
        larger = text.replace("size: 16M", "size: 32M")
        thread, done = beside(lambda: target.apply(larger))
        assert longest_read(queue, thread) < 0.5 * PATIENCE
        assert done[0].returncode == 1 and "%s: the disk has not answered" % disk.folder in done[0].stderr, done
        assert not wished.done
        os.close(disk.answer())
        assert wishing.admin.wait(wished).ok
        target.applied(larger)


def test_a_target_ends_in_time_while_its_state_does_not_open(live, tmp_path, disk):
    text = conf(*files(tmp_path, 1), top="state_dir: %s\n" % disk.folder)
    target = live(text, env=disk.hangs("open64 tries"))
    disk.hang()
    thread, _ = beside(lambda: target.apply(text + "".join(files(tmp_path, 2))))
    disk.waits()
    ends_in_time(target)
    thread.join()


def test_what_is_kept_is_opened_and_closed_beside_the_reactors(live, tmp_path, disk):
    """reservations that are made, found, and left; events of a subsystem that comes and goes; what hosts make"""
    pool = tmp_path / "pool"
    pool.mkdir()
    text = hosted(*files(tmp_path, 1), volume="file:%s" % pool, top="state_dir: %s\n" % disk.folder)
    target = live(text, env=disk.env)
    disk.watch()
    both = text + "".join(files(tmp_path, 2))
    with connect(target) as ctrl:
        target.applied(both)
        queue = ctrl.io_queue(1)
        assert queue.wait(register(queue, 2)).ok
        assert [name for name in disk.opened(target) if "/reservations/" in name]
        target.applied(text)
        targets.until("the end of it", lambda: not [n for n in disk.opened(target) if "/reservations/" in n])
        target.applied(both + OTHER)
        assert queue.call(sqe(0x0E, nsid=2, cdw10=15, cdw11=1), want=64).got[5] == 1, "who was registered is back"
        target.applied(both)
        targets.until("the end of its events", lambda: len(
            {name for name in disk.opened(target) if "/events/" in name}) == 1)
        nsid = created(ctrl)
        assert attach(ctrl, nsid).ok and queue.wait(register(queue, nsid)).ok and delete(ctrl, nsid).ok
        targets.until("the end of its file", lambda: not os.listdir(pool))
    assert disk.by_reactor() == []
