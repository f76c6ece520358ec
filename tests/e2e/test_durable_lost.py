"""What was acknowledged as durable is there when the target was killed: over a cache that forgets all else."""
import fcntl
import os
import struct
import threading

import pytest

import durable
import nvme
import target as targets
from nvmetcp import Violation

BLOCK = 4096
# More of them: WEIR_KILLS, or durable.py itself.
KILLS = int(os.environ.get("WEIR_KILLS", "10"))


@pytest.mark.parametrize("reactors", [1, 2])
@pytest.mark.parametrize("files", ["uring", "threads"])
@pytest.mark.line("O05")
def test_a_kill_loses_nothing_that_was_durable(binary, tmp_path, files, reactors):
    counts = durable.measure(KILLS // 2, files, reactors, seed=reactors, folder=tmp_path)
    print("durable_lost:", counts["lost"], counts)
    assert counts["lost"] == 0 and counts["torn"] == 0, counts
    assert counts["durable writes"] > 0 and counts["flushes"] > 0, counts
    assert counts["forgotten"] > 0, "nothing was lost that may be: the test sees no losses: %s" % counts


@pytest.mark.parametrize("files", ["uring", "threads"])
def test_a_write_that_is_dropped_is_seen(binary, tmp_path, files):
    for seed in range(1, 6):  # one that nothing was written over afterwards
        counts = durable.measure(2, files, seed=seed, faulty=True, folder=tmp_path)
        if counts["lost"] > 0:
            break
    print("durable_lost with a fault:", counts["lost"], counts)
    assert counts["lost"] > 0 and counts["torn"] == 0, counts


def test_a_target_waits_for_the_one_that_was_killed(serve, tmp_path):
    """the kernel lets go of its files a moment after it is gone; but who does not go is an error"""
    spec = "file:%s/v.img,size=16M" % tmp_path
    with open(tmp_path / "v.img", "wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(Violation, match="in use already"):
            targets.Daemon(ns=[spec])
        threading.Timer(0.2, fcntl.flock, (file, fcntl.LOCK_UN)).start()
        serve(ns=[spec])


# ---- one command, and then a kill ----

OLD, NEW = b"\x55" * BLOCK, b"\x77" * BLOCK


def long_write(queue):
    """waits for its data"""
    queue.serve_r2ts = False
    request = queue.submit_write(8, NEW * 16)
    while not request.r2ts:
        queue.step()
    return [request]


def fused(queue):
    halves = [queue.submit(nvme.sqe(opcode, nsid=1, flags=nvme.PSDT_SGL | fuse, cdw10=8), data, send=False)
              for opcode, fuse, data in ((0x05, 1, OLD), (0x01, 2, NEW))]
    queue.conn.send(halves[0].capsule + halves[1].capsule)
    return halves


def copy(queue):
    return [queue.submit(nvme.sqe(0x19, nsid=1, cdw10=8), struct.pack("<QQH14x", 0, 2, 0))]


def at_the_device(begin):
    def begun(queue):
        requests = begin(queue)
        assert queue.read(100).ok  # which comes after it
        return requests
    return begun


@pytest.mark.parametrize("begin, there", [
    (at_the_device(lambda queue: [queue.submit_write(8, NEW)]), NEW), (long_write, NEW),
    (at_the_device(lambda queue: [queue.submit(nvme.sqe(0x08, nsid=1, cdw10=8))]), bytes(BLOCK)),
    (at_the_device(fused), NEW), (at_the_device(copy), NEW),
], ids=["write", "long write", "write zeroes", "fused", "copy"])
def test_what_was_under_way_when_the_cache_went_off(serve, tmp_path, begin, there):
    """is durable when it is answered: the cache is off"""
    plain = "file:%s/v.img,size=16M" % tmp_path
    target = serve(ns=["fault:delay-write=300@volatile:@" + plain])
    with nvme.Controller(target.address) as ctrl:
        queue = ctrl.io_queue()
        assert queue.write(2, NEW).ok and queue.write(8, OLD, fua=True).ok
        requests = begin(queue)
        assert ctrl.set_feature(0x06, 0).ok
        assert not any(request.done for request in requests), "done before: the test shows nothing"
        for request in requests:
            if request.r2ts:
                queue.send_data(request)
        queue.wait(*requests)
        assert all(request.ok for request in requests), requests
        target.kill()
    with nvme.Controller(serve(ns=[plain]).address) as ctrl:
        assert bytes(ctrl.io_queue().read(8).got) == there


@pytest.mark.parametrize("opcode, data", [(0x02, b""), (0x05, NEW), (0x0C, b"")], ids=["read", "compare", "verify"])
@pytest.mark.parametrize("fua", [True, False])
def test_what_is_read_with_fua_is_durable(serve, tmp_path, opcode, data, fua):
    """and what is read without is in the cache still"""
    plain = "file:%s/v.img,size=16M" % tmp_path
    target = serve(ns=["volatile:@" + plain])
    with nvme.Controller(target.address) as ctrl:
        queue = ctrl.io_queue()
        assert queue.write(8, NEW).ok
        done = queue.call(nvme.sqe(opcode, nsid=1, cdw10=8, cdw12=fua << 30), data, BLOCK if opcode == 0x02 else 0)
        assert done.ok and (opcode != 0x02 or bytes(done.got) == NEW)
        target.kill()
    with nvme.Controller(serve(ns=[plain]).address) as ctrl:
        assert bytes(ctrl.io_queue().read(8).got) == (NEW if fua else bytes(BLOCK))


def test_what_cannot_be_made_durable_is_not_read(serve):
    target = serve(ns=["fault:flush-error=1@mem:16M"])
    with nvme.Controller(target.address) as ctrl:
        queue = ctrl.io_queue()
        assert queue.read(0, flags12=1 << 30).status == 0x280
        assert queue.read(0, flags12=1 << 30).ok
