"""What is asked of the disks of volumes that come, grow and go is asked by no reactor: it may take any time."""
import os

import pytest

import target as targets
from disk import disk  # noqa: F401: a fixture
from namespaces import created, delete, hosted
from test_bad_blocks import mark
from test_live import active, conf, connect, live, namespace  # noqa: F401: `live` is a fixture


def test_at_the_start_reactors_ask_for_themselves(live, disk):
    """which shows that who asks is seen"""
    disk.watch()
    live(conf(*disk.volumes(1)), env=disk.env)
    assert any(line.startswith("open64 %s/1" % disk.folder) for line in disk.by_reactor())


@pytest.mark.parametrize("there", [False, True])
def test_volumes_are_opened_and_closed_beside_the_reactors(live, disk, there):
    """which are made, or were there before, one with a list of bad blocks"""
    alone, both = conf(namespace(1)), conf(namespace(1), *disk.volumes(2, 3))
    target = live(alone, env=disk.env)
    if there:
        target.applied(both)
        with connect(target) as ctrl:
            assert mark(ctrl.io_queue(1), 3, nsid=2).ok
        target.applied(alone)
        disk.closed(target)
        assert disk.files() == ["2", "2.bad", "3"]
    disk.watch()
    with connect(target) as ctrl:
        target.applied(both)
        assert len(disk.opened(target)) >= 2
        target.applied(alone)
        disk.closed(target)
        target.applied(both)
        queue = ctrl.io_queue(1)
        assert active(ctrl) == [1, 2, 3] and queue.read(4, nsid=2).ok
        assert queue.read(3, nsid=2).ok == (not there), "the list of bad blocks is read"
    assert disk.by_reactor() == []


@pytest.mark.parametrize("refused", [False, True])
def test_volumes_grow_beside_the_reactors(live, disk, refused):
    """and are put back there; one has a list of bad blocks, which is longer than it was"""
    target = live(conf(namespace(1), *disk.volumes(2, 3)), env=disk.env)
    end = 256 << 20
    with connect(target) as ctrl:
        target.applied(conf(namespace(1), *disk.volumes(2, size="256M"), *disk.volumes(3)))
        assert mark(ctrl.io_queue(1), end // 4096 - 1, nsid=2).ok
    target.applied(conf(namespace(1), *disk.volumes(3)))
    disk.closed(target, but=1)
    os.truncate(disk.folder + "/2", 16 << 20)
    target.applied(conf(namespace(1), *disk.volumes(2, 3)))
    bad = [namespace(9, "file:/nowhere/at/all")] if refused else []
    disk.watch()
    done = target.apply(conf(namespace(1), *disk.volumes(2, 3, size="256M"), *bad))
    assert (done.returncode == 1) == refused, done
    assert disk.by_reactor() == []
    assert [os.path.getsize("%s/%d" % (disk.folder, n)) for n in (2, 3)] == [16 << 20 if refused else end] * 2
    target.applied(conf(namespace(1), *disk.volumes(2, 3, size="256M")))
    with connect(target) as ctrl:
        queue = ctrl.io_queue(1)
        assert queue.read(end // 4096 - 1, nsid=3).ok and not queue.read(end // 4096 - 1, nsid=2).ok
    assert disk.by_reactor() == []


def test_what_was_opened_in_vain_is_given_back_beside_the_reactors(live, disk):
    target = live(conf(namespace(1)), env=disk.env)
    disk.watch()
    done = target.apply(conf(namespace(1), *disk.volumes(2, 3), namespace(9, "file:/nowhere/at/all")))
    assert done.returncode == 1 and "/nowhere/at/all" in done.stderr, done
    assert disk.files() == [] and disk.opened(target) == []
    target.applied(conf(namespace(1), *disk.volumes(2, 3)))
    assert disk.by_reactor() == []


def test_the_target_refuses_what_was_opened_and_it_is_given_back(live, disk):
    """one file by two names"""
    target = live(conf(namespace(1)), env=disk.env)
    os.symlink(disk.folder + "/2", disk.folder + "/3")
    disk.watch()
    done = target.apply(conf(namespace(1), *disk.volumes(2), *disk.volumes(3, size="32M")))
    assert done.returncode == 1 and "already served as namespace 2" in done.stderr, done
    assert disk.files() == ["3"] and disk.opened(target) == []
    assert disk.by_reactor() == []


def test_what_hosts_make_and_delete_is_opened_and_closed_beside_the_reactors(live, disk, tmp_path):
    text = hosted(namespace(1), volume="file:%s" % disk.folder, top="state_dir: %s/state\n" % tmp_path)
    target = live(text, env=disk.env)
    disk.watch()
    with connect(target) as ctrl:
        first, second = created(ctrl), created(ctrl)
        assert len(disk.files()) == 2 and len(disk.opened(target)) >= 2
        assert delete(ctrl, first).ok and delete(ctrl, second).ok
        disk.closed(target)
        targets.until("the end of their files", lambda: disk.files() == [])
    assert disk.by_reactor() == []


def test_blocks_are_marked_bad_beside_the_reactors(live, disk):
    """the first one, one for which the list is longer, and both by hosts of several reactors"""
    target = live(conf(*disk.volumes(1)), "--reactors", "2", env=disk.env)
    target.applied(conf(*disk.volumes(1, size="256M")))
    disk.watch()
    with connect(target) as ctrl:
        queues = [ctrl.io_queue(n) for n in (1, 2, 3, 4)]
        for n, queue in enumerate(queues):
            assert mark(queue, 3 + n).ok and mark(queue, (256 << 20) // 4096 - 1 - n).ok
        assert not any(queue.read(3 + n).ok for n, queue in enumerate(queues))
    assert disk.files() == ["1", "1.bad"] and disk.by_reactor() == []
