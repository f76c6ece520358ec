"""
A namespace that is another one when its command goes on.

With as many volumes as a target serves, the next one has the place that the last one to go had.
"""
import struct

import pytest

import namespaces
from namespaces import ATTACH, DELETE, PROTECT, PROTECTION, controllers, created, delete, hosted, ids, nsids
from nvme import INVALID_NS, sqe
from nvmetcp import tries
from test_live import NQN, connect, conf, live, namespace  # noqa: F401: a fixture

SUBSYSTEMS, NAMESPACES = 4, 1024  # all that there can be
BLOCKS = 8192  # of the old one


def full(*namespaces):
    """These, and so many others that there is room for one in all"""
    others = [namespace(nsid, volume="\"null\"", size="1M") for nsid in range(1, NAMESPACES + 1)]
    text = conf(*namespaces, *others[1:])
    for n in range(1, SUBSYSTEMS):
        text += "  - nqn: %s%d\n    namespaces:\n" % (NQN, n) + "".join(others)
    return text


def becomes(target, namespace):
    target.applied(full())
    for _ in tries():
        done = target.apply(full(namespace))
        if done.returncode == 0:
            return
        assert "being given up" in done.stderr, done.stderr
    raise AssertionError("the first one is not given up")


@pytest.mark.parametrize("size", [4096, 512])
def test_data_that_comes_when_the_namespace_is_another(live, size):  # noqa: F811
    """of whatever command, it does nothing, least of all where the new one has no such blocks"""
    target = live(full(namespace(1, size="32M")))
    with connect(target) as ctrl:
        ctrl.grant()
        queues = [ctrl.io_queue(1), ctrl.io_queue(2)]
        for queue in queues:
            queue.serve_r2ts = False
        owing = [queues[0].submit_write(BLOCKS - 256, b"x" * (1 << 20), incapsule=False)]
        owing += [queues[1].submit(command, data, incapsule=False) for command, data in [
            (sqe(0x01, nsid=1), b"x" * 4096),
            (sqe(0x05, nsid=1), bytes(4096)),
            (sqe(0x09, nsid=1, cdw11=4), struct.pack("<IIQ", 0, 1, 0)),
            (sqe(0x19, nsid=1, cdw10=100), struct.pack("<QQH14x", 0, 8, 0)),
            (sqe(0x0D, nsid=1), struct.pack("<QQ", 0, 1)),
        ]]
        for queue in queues:
            while not all(request.r2ts for request in queue.requests.values()):
                queue.step()
        becomes(target, namespace(1, size="32M" if size == 4096 else "4M", block_size=size))
        for queue in queues:
            queue.serve_r2ts = True
            for request in list(queue.requests.values()):
                while request.r2ts:
                    queue.send_data(request)
                queue.wait(request)
        assert [request.status for request in owing] == [INVALID_NS] * len(owing)
        for slba in (0, 8, 100):
            assert bytes(queues[0].read(slba, 1, block_size=size).got) == bytes(size)


def test_a_wish_that_waits_while_its_nsid_becomes_another_ones(live, tmp_path):  # noqa: F811
    """is not done to the new namespace, whoever has made that"""
    target = live(hosted(namespace(100, "fault:delay=600@mem"), top="state_dir: %s\n" % tmp_path))
    with namespaces.connect(target) as ctrl, namespaces.connect(target, 2) as other:
        nsid = created(ctrl)
        slow = ctrl.admin.submit(sqe(0x09, nsid=100, cdw10=PROTECTION, cdw11=PROTECT))
        late = [ctrl.admin.submit(command, data) for command, data in [
            (sqe(0x15, nsid=nsid, cdw10=ATTACH), ids([ctrl.cntlid]).ljust(4096, b"\0")),
            (sqe(0x0D, nsid=nsid, cdw10=DELETE), b""),
        ]]
        assert ctrl.identify(1).ok and controllers(ctrl) and not slow.done
        assert delete(other, nsid).ok and created(other) == nsid and not slow.done
        ctrl.admin.wait(slow, *late)
        assert slow.ok and [request.status for request in late] == [INVALID_NS] * len(late)
        assert nsids(other, 0x10) == [nsid, 100] and nsids(ctrl) == [100]
