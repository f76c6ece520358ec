"""Disks that fail, and disks that do not answer: what is said of them, and that others do not hear of it."""
import os

import pytest

import fuse_disk
import nvme
from nvme import HOSTNQN as NQN

BLOCK, STRIPE = 4096, 16  # those in one stripe wait for each other
engines = pytest.mark.parametrize("files", ["uring", "threads"])


@pytest.fixture
def disk(serve, tmp_path):
    """ends before the targets, which wait for it"""
    disks = []

    def start(kind):
        if not os.access("/dev/fuse", os.W_OK):
            pytest.skip("needs /dev/fuse")
        disks.append(fuse_disk.Disk(str(tmp_path), kind))
        if not disks[0].mounted:
            pytest.skip("cannot mount: %s" % disks[0].process.stderr.read())
        return disks[0]

    yield start
    for each in disks:
        each.end()


def healthy_beside(serve, bad, tmp_path, *args, volumes=1):
    spec = ["file:%s/healthy,size=16M" % tmp_path, "mem:16M"]
    return serve(*args, ns=spec + ["file:%s/v%d" % (bad.path, n) for n in range(volumes)])


def use_healthy(queue):
    """each way in which a file is used"""
    assert queue.read(0, nsid=2).ok
    assert queue.write(0, b"A" * BLOCK).ok and queue.flush().ok
    assert queue.write(0, b"B" * BLOCK, fua=True).ok
    assert queue.write_zeroes(0, 8, deallocate=True).ok and queue.deallocate([(8, 8)]).ok
    assert queue.read(1).ok


@engines
@pytest.mark.parametrize("what", ["flush", "deallocate", "read", "write"])
def test_one_that_does_not_answer_leaves_others_theirs(serve, disk, tmp_path, files, what):
    """what always takes a thread of the kernel has as many as it needs"""
    bad = disk("direct")
    target = healthy_beside(serve, bad, tmp_path, "--files", files)
    with nvme.Controller(target.address) as ctrl:
        healthy, hung = ctrl.io_queue(1), ctrl.io_queue(2, entries=128)
        use_healthy(healthy)
        bad.set("hangs")
        for n in range(40):
            if what == "flush":
                hung.submit(nvme.sqe(0x00, nsid=3))
            elif what == "read":
                hung.submit_read(n, 1, nsid=3)
            elif what == "write":
                hung.submit_write(n, bytes(BLOCK), nsid=3)
            else:
                hung.submit(nvme.sqe(0x08, nsid=3, cdw10=n * STRIPE, cdw12=7 | 1 << 25))
        for _ in range(30):  # it has turns enough to begin them
            assert ctrl.keep_alive().ok
        use_healthy(healthy)
        bad.end()
        hung.drain()


@engines
def test_a_disk_with_many_volumes_has_the_share_of_one(serve, disk, tmp_path, files):
    bad = disk("direct")
    volumes, each = (8, 20) if files == "threads" else (14, 260)
    target = healthy_beside(serve, bad, tmp_path, "--files", files, volumes=volumes)
    with nvme.Controller(target.address) as ctrl:
        healthy = ctrl.io_queue(1)
        bad.set("hangs")
        for n in range(volumes):
            hung = ctrl.io_queue(2 + n, entries=512)
            for i in range(each):
                hung.submit(nvme.sqe(0x08, nsid=3 + n, cdw10=i * STRIPE, cdw12=1 << 25))  # it holds no buffer
            for _ in range(10):
                assert ctrl.keep_alive().ok
        use_healthy(healthy)
        bad.end()


@engines
def test_after_a_flush_has_failed_none_succeeds(serve, disk, files):
    """the kernel tells of what it could not write once, and takes it for written then"""
    bad = disk("cached")
    target = serve("--files", files, "--reactors", "2", ns=["file:%s/v" % bad.path])
    with nvme.Controller(target.address, hostid=bytes(15) + b"\1", hostnqn=NQN + ":1") as one, \
            nvme.Controller(target.address, hostid=bytes(15) + b"\2", hostnqn=NQN + ":2") as other:
        queues = [one.io_queue(1), one.io_queue(2), other.io_queue(1), other.io_queue(2)]
        bad.set("fails")
        for slba, queue in enumerate(queues):
            assert queue.write(slba, b"A" * BLOCK).ok
        statuses = {queue.flush().status for queue in queues}
        assert statuses == {nvme.WRITE_FAULT}
        bad.set("fails", False)
        for queue in queues:
            assert queue.flush().status == nvme.WRITE_FAULT
            assert queue.write(9, b"C" * BLOCK, fua=True).status == nvme.WRITE_FAULT
            assert queue.write(9, b"C" * BLOCK).ok and queue.read(9).got == b"C" * BLOCK
    target.stop()
    assert target.stderr().count("may be lost") == 1
    again = serve("--files", files, ns=["file:%s/v" % bad.path])
    with nvme.Controller(again.address) as ctrl:
        queue = ctrl.io_queue()
        assert queue.write(9, b"D" * BLOCK, fua=True).ok and queue.flush().ok
