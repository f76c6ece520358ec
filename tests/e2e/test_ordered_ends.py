"""Streams of ordered writes that nobody needs any more: what a log has of them, until it has nothing."""
import nvme
import ordered
import pytest
from ordered import BLOCK, IN_PLACE, Stream
from test_ordered import block, target_with

NUMBER, OTHER = 5, 6


@pytest.fixture
def log(tmp_path):
    return "memory:%s,slots=1024" % (tmp_path / "order.log")


def write(stream, count, **how):
    for i in range(count):
        assert stream.write(i, block(i), **how).ok
        stream.floor = stream.last


def end(ctrl, floor):
    assert ordered.floor(ctrl, NUMBER, floor).ok
    assert ordered.listed(ctrl, NUMBER, ordered.STOP).stopped
    assert ordered.floor(ctrl, NUMBER, floor, ordered.ENDS).ok
    assert NUMBER not in ordered.listed(ctrl, flags=ordered.STREAMS).streams()


@pytest.mark.parametrize("qid", [1, 2])
@pytest.mark.parametrize("behind", [0, 900, 1700, 1900, 2050, 2600])
def test_one_that_begins_again_goes_on_behind_what_it_was(serve, log, tmp_path, behind, qid):
    """whatever the log still has of it, on whatever reactor; and what it writes then is there when the target is killed"""
    volumes = ["file:%s,size=16M" % (tmp_path / "volume")]
    target = target_with(serve, log, "--reactors", "2", ns=volumes)
    ctrl, queue = ordered.host(target.address)
    with ctrl:
        queues = {1: queue, 2: ctrl.io_queue(2)}
        for turn in range(3):
            before = ordered.listed(ctrl, NUMBER, ordered.STOP)
            stream = Stream(ctrl, queue, NUMBER).begin(after=before.floor)
        write(stream, 30)
        end(ctrl, 30)
        write(Stream(ctrl, queue, OTHER).begin(), behind)
        there = ordered.listed(ctrl, NUMBER, ordered.STOP)
        assert there.stopped and there.count == 0
        assert (there.floor, there.term > 2) == ((0, False) if there.new else (30, True))
        again = Stream(ctrl, queues[qid], NUMBER).begin(qid, after=there.floor)
        again.floor = there.floor
        assert again.write(0, block(0), group=there.floor + 1).ok and again.write(1, block(1)).ok
        assert ordered.listed(ctrl, flags=ordered.STREAMS).streams().count(NUMBER) == 1
    target.kill()
    target = target_with(serve, log, "--reactors", "2", ns=volumes)
    ctrl, queue = ordered.host(target.address)
    with ctrl:
        there = ordered.listed(ctrl, NUMBER, ordered.STOP)
        assert not there.lost and not there.new and there.entries()[-1].last == again.last


def test_of_one_that_was_recovered_nothing_stays(serve, log):
    """of which something was taken back, and something in place was not: once round and a bit, and there is room for others"""
    target = target_with(serve, log)
    ctrl, queue = ordered.host(target.address)
    with ctrl:
        stream = Stream(ctrl, queue, NUMBER).begin()
        write(stream, 3)
        assert stream.write(7, block(7), num=0).ok and stream.write(8, block(8), group=5, num=0, flags=IN_PLACE).ok
        assert ordered.listed(ctrl, NUMBER, ordered.STOP).count > 0
        assert ordered.cut(ctrl, NUMBER, 3, flags=ordered.GONE).ok
        end(ctrl, 3)
        assert ordered.listed(ctrl, NUMBER, ordered.STOP).count == 0
        write(Stream(ctrl, queue, OTHER).begin(), 2600)
        assert ordered.listed(ctrl, NUMBER, ordered.STOP).new
