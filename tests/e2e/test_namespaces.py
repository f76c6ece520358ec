"""Namespaces that hosts create, attach and delete, and protect against writes."""
import os

import pytest

from namespaces import (
    ALL, ATTACHED, BLOCK, CTRL_LIST, DENIED, MIB, NOT_ATTACHED, NS_CAPACITY, PRIVATE, attach, capacity, connect,
    controllers, create, created, delete, detach, hosted, nsids)
from nvme import INVALID_NS
from test_live import NS_NOTICE, changed, conf, event, live, namespace, watch  # noqa: F401 - live is a fixture


def works(queue, nsid, slba=0):
    data = os.urandom(BLOCK)
    assert queue.write(slba, data, nsid=nsid).ok and bytes(queue.read(slba, nsid=nsid).got) == data
    return data


def absent(queue, nsid):
    assert queue.read(0, nsid=nsid).status == INVALID_NS
    assert queue.write(0, bytes(BLOCK), nsid=nsid).status == INVALID_NS
    assert queue.write(0, bytes(4 * BLOCK), nsid=nsid, incapsule=False).status == INVALID_NS
    assert queue.flush(nsid).status == INVALID_NS


@pytest.mark.parametrize("reactors", [1, 3])
def test_from_creation_to_the_end(live, reactors):  # noqa: F811
    target = live(hosted(namespace(2)), "--reactors", str(reactors))
    with connect(target) as a, connect(target) as b, connect(target, 2) as c:
        ctrls = [a, b, c]
        queues = [ctrl.io_queue(qid) for ctrl in ctrls for qid in (1, 2)]
        assert controllers(a) == sorted(x.cntlid for x in ctrls)
        assert capacity(a) == (64 * MIB, 64 * MIB)
        nsid = created(a, 2048)
        assert nsid == 1 and capacity(b) == (64 * MIB, 56 * MIB)
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
        assert capacity(c) == (64 * MIB, 64 * MIB)
