"""Ordered writes: what a target does with them and with what it knows of them (doc/ordered-writes.md)."""
import re

import nvme
import nvmetcp
import ordered
import pytest
import reservations
from nvme import INVALID_FIELD, INVALID_OPCODE, SEQUENCE
from ordered import BLOCK, FLUSH, IN_PLACE, Stream

DENIED, INTERRUPTED = 0x015, 0x021
OTHER = b"\2" * 16
OWNERS_AT, PARTS_AT = 4096, 4096 + 1024 * 512  # in the log


def block(number):
    return bytes([number % 251 + 1]) * BLOCK


@pytest.fixture
def log(tmp_path):
    return "file:%s,slots=1024" % (tmp_path / "order.log")


@pytest.fixture(params=["file", "memory"])
def each_log(tmp_path, request):
    return "%s:%s,slots=1024" % (request.param, tmp_path / "order.log")


def target_with(serve, log, *args, ns=("mem:16M",), **how):
    return serve("--order-log", log, *args, ns=list(ns), **how)


def read(queue, lba, nsid=1):
    request = queue.read(lba, nsid=nsid)
    assert request.ok
    return bytes(request.got)


def test_it_is_offered_where_there_is_a_log(serve, log):
    """and is there for who was granted it alone"""
    plain, target = serve(), target_with(serve, log)
    with nvme.Controller(plain.address) as ctrl:
        assert ctrl.set_feature(ordered.EXTENSION, ordered.ORDER_BIT).dw0 == 0
        assert int.from_bytes(ctrl.identified(1)[3080:3084], "little") & ordered.ORDER_BIT == 0
    with nvme.Controller(target.address) as ctrl:
        vendor = ctrl.identified(1)[3072:]
        assert int.from_bytes(vendor[8:12], "little") & ordered.ORDER_BIT
        assert int.from_bytes(vendor[16:20], "little") > 0 and int.from_bytes(vendor[20:24], "little") == 1024
        for opcode in ordered.LIST, ordered.CUT, ordered.FLOOR:
            assert ctrl.admin.call(nvme.sqe(opcode)).status == INVALID_OPCODE
        ctrl.grant()
        queue = ctrl.io_queue()
        write = ordered.attribute(nvme.sqe(0x01, nsid=1), 5, 1, num=1)
        assert queue.call(write, block(1)).status == INVALID_FIELD
        assert ctrl.set_feature(ordered.EXTENSION, ordered.ORDER_BIT).dw0 == ordered.ORDER_BIT
        assert queue.call(write, block(1)).status == INVALID_FIELD  # it was connected before
        assert ctrl.logged(0x05, 4096)[4 * ordered.LIST] & 1 == 1
        assert read(queue, 0) == bytes(BLOCK)


def test_writes_of_a_stream(serve, log):
    """it is begun by a cut; groups have several pieces; the list says what there is"""
    target = target_with(serve, log)
    ctrl, queue = ordered.host(target.address)
    with ctrl:
        stream = Stream(ctrl, queue)
        none = ordered.listed(ctrl, 5)
        assert none.new and none.stopped and none.count == 0 and none.guaranteed == 16
        request = stream.write(0, block(1))
        assert request.status == SEQUENCE and request.dnr
        stream.last = 0
        assert ordered.cut(ctrl, 5, qid=2).status == INVALID_FIELD
        stream.begin()
        requests = [stream.submit(i, block(i)) for i in range(8)]
        requests += [stream.submit(8, block(8), group=9, num=0), stream.submit(9, block(9), group=9, num=2)]
        queue.wait(*requests)
        assert all(request.ok for request in requests), requests
        assert all(request.dw1 >> 16 >= 1 for request in requests)
        assert [read(queue, i) for i in range(10)] == [block(i) for i in range(10)]
        there = ordered.listed(ctrl, 5)
        assert not there.stopped and not there.new and not there.lost and there.floor == 0 and there.count == 10
        entries = there.entries()
        assert [entry.first for entry in entries] == [1, 2, 3, 4, 5, 6, 7, 8, 9, 9]
        assert [entry.prev for entry in entries] == [0, 1, 2, 3, 4, 5, 6, 7, 8, 8]
        assert [entry.lba for entry in entries] == list(range(10))
        assert all(entry.counts and entry.nsid == 1 and entry.blocks == 1 for entry in entries)
        assert [entry.lba for entry in ordered.listed(ctrl, 5, skip=7).entries()[:3]] == [7, 8, 9]
        assert ordered.listed(ctrl, flags=ordered.STREAMS).streams() == [5]
        stream.floor = 9
        assert stream.write(20, block(20)).ok
        assert ordered.listed(ctrl, 5).floor == 9


@pytest.mark.parametrize("reactors", [1, 3])
@pytest.mark.parametrize("size", [BLOCK, 16 * BLOCK])
def test_pieces_are_answered_whatever_way_their_data_comes(serve, each_log, reactors, size):
    """in capsules and by R2T, many at a time"""
    target = target_with(serve, each_log, "--reactors", str(reactors))
    ctrl, queue = ordered.host(target.address)
    with ctrl:
        stream = Stream(ctrl, queue).begin()
        for first in range(0, 96, 32):
            stream.floor = stream.last
            requests = [stream.submit((first + i) * size // BLOCK, block(first + i) * (size // BLOCK),
                                      flags=FLUSH if i == 31 else 0) for i in range(32)]
            queue.wait(*requests)
            assert all(request.ok for request in requests)
        for i in range(96):
            assert read(queue, i * size // BLOCK) == block(i)


BAD = [dict(prev=7), dict(group=1, prev=0, num=1), dict(group=9, last=8), dict(group=0), dict(num=1, ends=False),
       dict(num=0, ends=True), dict(count=0), dict(num=1, count=2), dict(floor=99), dict(count=1 << 16)]


@pytest.mark.parametrize("said", BAD, ids=str)
def test_what_cannot_be_is_refused(serve, log, said):
    """Invalid Field, and nothing has changed: what could be goes on"""
    target = target_with(serve, log)
    ctrl, queue = ordered.host(target.address)
    with ctrl:
        stream = Stream(ctrl, queue).begin()
        assert stream.write(0, block(0)).ok and stream.write(1, block(1)).ok
        last, before = stream.last, stream.before
        request = stream.write(2, block(99), **said)
        assert request.status == INVALID_FIELD and request.dnr, request
        assert read(queue, 2) == bytes(BLOCK)
        stream.last, stream.before = last, before
        assert stream.write(2, block(2)).ok
        assert read(queue, 2) == block(2) and ordered.listed(ctrl, 5).count == 3


def test_blocks_that_are_not_there(serve, log):
    """a range beyond the namespace, one that there is not, all of them, another command"""
    target = target_with(serve, log)
    ctrl, queue = ordered.host(target.address)
    with ctrl:
        stream = Stream(ctrl, queue).begin()
        assert queue.call(stream.command(1 << 20, block(1)), block(1)).status == nvme.LBA_RANGE
        stream.last = 0
        for opcode, nsid, status in ((0x00, 0xFFFFFFFF, INVALID_FIELD), (0x08, 1, INVALID_FIELD),
                                     (0x00, 7, nvme.INVALID_NS)):
            wrong = ordered.attribute(nvme.sqe(opcode, nsid=nsid), 5, 1, num=1, flags=FLUSH)
            assert queue.call(wrong).status == status
        strange = bytearray(stream.command(0, block(1)))
        strange[1] |= 3 << 2
        assert queue.call(bytes(strange), block(1)).status == INVALID_FIELD
        stream.last = 0
        assert stream.write(0, block(1)).ok


def test_a_stream_is_its_hosts(serve, log):
    """another host has another one of that number, and neither hears of the other's"""
    target = target_with(serve, log)
    ctrl, queue = ordered.host(target.address)
    other, its = ordered.host(target.address, hostid=OTHER)
    with ctrl, other:
        assert Stream(ctrl, queue).begin().write(0, block(1)).ok
        assert ordered.listed(other, 5).new and ordered.listed(other, flags=ordered.STREAMS).streams() == []
        assert Stream(other, its).write(1, block(2)).status == SEQUENCE
        assert Stream(other, its).begin().write(1, block(2)).ok
        assert [entry.lba for entry in ordered.listed(other, 5).entries()] == [1]
        assert [entry.lba for entry in ordered.listed(ctrl, 5).entries()] == [0]


def test_a_stream_is_the_last_ones_that_took_it(serve, log):
    """which who had it before neither stops, cuts nor tells floors of; and it hears whose the stream is"""
    target = target_with(serve, log)
    ctrl, queue = ordered.host(target.address)
    other, its = ordered.host(target.address)
    with ctrl, other:
        assert ordered.cut(ctrl, 5, holder=7).ok
        first = Stream(ctrl, queue)
        assert first.write(0, block(1)).ok and ordered.listed(ctrl, 5).holder == 7
        assert ordered.listed(other, 5, ordered.STOP | ordered.TAKE, holder=8).stopped
        there = ordered.listed(ctrl, 5, ordered.STOP, holder=7)
        assert there.holder == 8 and there.stopped and first.write(1, block(2)).status == SEQUENCE
        assert ordered.cut(ctrl, 5, 1, holder=7).status == SEQUENCE
        assert ordered.floor(ctrl, 5, 1, holder=7).status == SEQUENCE
        assert ordered.cut(other, 5, 1, flags=ordered.GONE, holder=8).ok
        second = Stream(other, its)
        second.last = second.floor = 1
        assert not ordered.listed(ctrl, 5, ordered.STOP, holder=7).stopped
        assert second.write(1, block(3)).ok and ordered.floor(other, 5, 2, holder=8).ok
        assert ordered.floor(ctrl, 5, 2, holder=7).status == SEQUENCE
        # What was listed is what is cut: of two that take it the one before does not.
        for holder in 11, 12:
            assert ordered.listed(ctrl, 5, ordered.STOP | ordered.TAKE, holder=holder).holder == holder
        assert ordered.cut(ctrl, 5, 2, flags=ordered.GONE, holder=11).status == SEQUENCE
        cut = ordered.cut(other, 5, 2, flags=ordered.GONE, holder=12)
        assert cut.ok
        second.last, second.floor = cut.dw0, 2
        assert second.write(2, block(4), group=3).ok
        # And back: nobody is kept from taking it.
        assert ordered.listed(ctrl, 5, ordered.STOP | ordered.TAKE, holder=9).stopped
        assert ordered.cut(ctrl, 5, 3, flags=ordered.GONE, holder=9).ok
        assert second.write(3, block(5)).status == SEQUENCE


@pytest.mark.parametrize("reactors", [1, 3])
def test_a_cut_takes_back_what_comes_after_it(serve, log, reactors):
    """blocks read as zeros; but those that were written in place, which go on being listed"""
    target = target_with(serve, log, "--reactors", str(reactors))
    ctrl, queue = ordered.host(target.address)
    with ctrl:
        second = ctrl.io_queue(2)
        stream = Stream(ctrl, queue).begin()
        for i in range(6):
            assert stream.write(i, block(i), flags=IN_PLACE if i == 4 else 0).ok
        assert ordered.cut(ctrl, 5, 3).status == SEQUENCE  # it goes on
        stopped = ordered.listed(ctrl, 5, ordered.STOP)
        assert stopped.stopped and stopped.count == 6
        assert stream.write(9, block(9)).status == SEQUENCE
        assert stream.begin(qid=2, after=3).last == 3
        stream.queue = second
        assert [read(queue, i) for i in range(6)] == [block(0), block(1), block(2), bytes(BLOCK), block(4), bytes(BLOCK)]
        entries = ordered.listed(ctrl, 5).entries()
        assert [(entry.first, entry.counts, entry.state & ordered.LEFT) for entry in entries] == [
            (1, True, 0), (2, True, 0), (3, True, 0), (5, False, ordered.LEFT)]
        assert Stream(ctrl, queue).write(9, block(9)).status == SEQUENCE  # it goes on by the other queue
        for i in range(6, 9):
            assert stream.write(i, block(i)).ok
        assert [entry.first for entry in ordered.listed(ctrl, 5).entries() if entry.counts] == [1, 2, 3, 4, 5, 6]
        stream.floor = 6
        assert stream.write(10, block(10)).ok
        assert ordered.listed(ctrl, 5, ordered.STOP).floor == 6
        assert ordered.cut(ctrl, 5, 5).status == INVALID_FIELD  # that is durable


@pytest.mark.parametrize("reactors", [1, 3])
def test_it_is_known_after_a_kill(serve, each_log, tmp_path, reactors):
    """what was answered is listed, and the host that comes back cuts it; others are as they were"""
    log, again_with = each_log, reactors if each_log.startswith("memory") else 4 - reactors
    file = "file:%s,size=16M" % (tmp_path / "volume")
    target = target_with(serve, log, "--reactors", str(reactors), ns=[file])
    ctrl, queue = ordered.host(target.address)
    other, its = ordered.host(target.address, hostid=OTHER)
    stream = Stream(ctrl, queue).begin()
    assert Stream(other, its).begin().write(100, block(100), flags=FLUSH).ok
    for i in range(4):
        assert stream.write(i, block(i), flags=FLUSH if i == 2 else 0).ok
    uuid = ordered.listed(ctrl, 5).log
    ctrl.close()
    other.close()
    target.kill()
    target = target_with(serve, log, "--reactors", str(again_with), ns=[file])
    ctrl, queue = ordered.host(target.address)
    other, its = ordered.host(target.address, hostid=OTHER)
    with ctrl, other:
        there = ordered.listed(ctrl, 5, ordered.STOP)
        assert there.log == uuid and there.stopped and not there.lost
        assert [(entry.first, entry.valid) for entry in there.entries()] == [(1, True), (2, True), (3, True), (4, False)]
        assert ordered.listed(ctrl, flags=ordered.STREAMS).streams() == [5]
        again = Stream(ctrl, queue).begin(after=3, flags=ordered.GONE)
        assert again.last == 3
        again.floor = 3
        assert [read(queue, i) for i in range(4)] == [block(0), block(1), block(2), bytes(BLOCK)]
        there = ordered.listed(ctrl, 5)
        assert there.floor == 3 and there.count == 0
        assert again.write(3, block(33), flags=FLUSH).ok and read(queue, 3) == block(33)
        assert [entry.lba for entry in ordered.listed(other, 5).entries()] == [100]
    target.stop()
    target = target_with(serve, log, "--reactors", str(reactors), ns=[file])
    ctrl, queue = ordered.host(target.address)
    with ctrl:
        there = ordered.listed(ctrl, 5, ordered.STOP)
        assert there.floor == 3 and [(entry.first, entry.valid) for entry in there.entries()] == [(4, True)]


def test_a_namespace_that_is_another_one(serve, log, tmp_path):
    """what was written is not taken back there, without the operator's word"""
    files = ["file:%s,size=16M" % (tmp_path / name) for name in ("one", "two")]
    target = target_with(serve, log, ns=files[:1])
    ctrl, queue = ordered.host(target.address)
    with ctrl:
        assert Stream(ctrl, queue).begin().write(0, block(1)).ok
    target.stop()
    target = target_with(serve, log, ns=files[1:])
    ctrl, queue = ordered.host(target.address)
    with ctrl:
        assert queue.write(0, block(7)).ok
        assert ordered.listed(ctrl, 5, ordered.STOP).lost
        request = ordered.cut(ctrl, 5, flags=ordered.GONE)
        assert request.status == DENIED and request.dnr
        assert ordered.cut(ctrl, 5, flags=ordered.GONE | ordered.FORCE).ok
        assert read(queue, 0) == block(7)
    target.stop()


def test_a_failing_device_stops_its_stream(serve, log):
    """what failed says why, what came behind it is not done; the host cuts it and goes on"""
    target = target_with(serve, log, ns=["fault:write-error=3@mem:16M"])
    ctrl, queue = ordered.host(target.address)
    with ctrl:
        stream = Stream(ctrl, queue).begin()
        other = Stream(ctrl, queue, number=6).begin()
        requests = [stream.submit(i, block(i)) for i in range(6)]
        assert other.write(50, block(50)).ok
        queue.wait(*requests)
        assert [request.ok for request in requests[:3]] == [True] * 3
        assert requests[3].status == nvme.WRITE_FAULT
        assert all(request.ok or request.status == SEQUENCE for request in requests[4:])
        assert stream.write(9, block(9)).status == SEQUENCE
        assert ordered.listed(ctrl, 5, ordered.STOP).stopped
        assert ordered.cut(ctrl, 5, 3).status == nvme.INTERNAL  # its zeros fail, too
        stream.begin(after=3, flags=ordered.FORCE)
        assert stream.write(4, block(44)).ok and other.write(51, block(51)).ok
        assert [read(queue, i) for i in (4, 5)] == [block(44), bytes(BLOCK)]


def test_a_connection_that_is_gone(serve, log):
    """its streams stop; nothing of them happens after FENCE, or after LIST has stopped them"""
    target = target_with(serve, log, "--reactors", "2", ns=["fault:delay-write=300@mem:16M"])
    ctrl, queue = ordered.host(target.address)
    stream = Stream(ctrl, queue).begin()
    for i in range(20):
        stream.submit(i, block(i))
    stream.submit(30, block(30) * 16, group=21, incapsule=False)  # of which the data never comes
    ctrl.close()
    ctrl, queue = ordered.host(target.address)
    with ctrl:
        there = ordered.listed(ctrl, 5, ordered.STOP)
        assert there.stopped and there.count <= 20
        written = [read(queue, i) for i in range(20)]
        assert all(write in (block(i), bytes(BLOCK)) for i, write in enumerate(written))
        stream = Stream(ctrl, queue).begin()
        assert stream.last == 0
        assert [read(queue, i) for i in range(20)] == [bytes(BLOCK)] * 20


def test_room_in_the_log(serve, log):
    """as many streams as can be guaranteed some; and one that never tells a floor waits, but for a while"""
    target = target_with(serve, log)
    ctrl, queue = ordered.host(target.address)
    with ctrl:
        streams = []
        while True:
            request = ordered.cut(ctrl, 100 + len(streams))
            if not request.ok:
                break
            streams.append(Stream(ctrl, queue, 100 + len(streams)))
        assert request.status == INTERRUPTED and not request.dnr and len(streams) > 8
        left = [streams[0].write(i, block(i)).dw1 >> 16 for i in range(8)]
        assert left == list(range(15, 7, -1))
        greedy = streams[1]
        requests = [greedy.submit(i % 64, block(i)) for i in range(100)]
        for stream in streams[2:5]:
            assert stream.write(70, block(1)).ok
        queue.wait(*requests)
        done = [request.ok for request in requests]
        assert 16 <= sum(done) < 100 and done == sorted(done, reverse=True)
        assert all(request.status == SEQUENCE for request in requests if not request.ok)
        assert ordered.listed(ctrl, 101, ordered.STOP).stopped
        greedy.begin(after=sum(done))
        greedy.floor = greedy.last
        assert greedy.write(80, block(1)).ok


def test_a_stream_that_ends(serve, log):
    """it goes when nobody needs it, and leaves room for another one"""
    target = target_with(serve, log)
    ctrl, queue = ordered.host(target.address)
    with ctrl:
        stream = Stream(ctrl, queue).begin()
        assert stream.write(0, block(1)).ok
        assert ordered.floor(ctrl, 5, 1, ordered.ENDS).status == SEQUENCE  # it goes on
        assert ordered.floor(ctrl, 5, 1).ok
        assert ordered.listed(ctrl, 5, ordered.STOP).stopped
        assert ordered.floor(ctrl, 5, 1, ordered.ENDS).ok
        assert ordered.floor(ctrl, 77, 1).status == SEQUENCE
        again = Stream(ctrl, queue).begin(after=1)
        again.floor = 1
        assert again.write(1, block(2), group=2, prev=again.last).ok


def test_a_log_that_cannot_be_used(serve, tmp_path):
    """says why, in plain words, and nothing is served"""
    path = tmp_path / "order.log"
    path.write_bytes(b"")  # it was made, and nothing more
    target_with(serve, "file:%s,slots=1024" % path).stop()
    path.write_bytes(b"x" * (1 << 20))
    for place, why in (("file:%s" % path, "it is no log of ordered writes"),
                       ("file:%s/none/log" % tmp_path, "No such file or directory"),
                       ("persistent:%s" % (tmp_path / "other.log"), "Operation not supported")):
        with pytest.raises(nvmetcp.Violation, match=why):
            serve("--order-log", place)
    path.unlink()
    target = target_with(serve, "memory:%s,slots=1024" % path)
    ctrl, queue = ordered.host(target.address)
    with ctrl:
        Stream(ctrl, queue).begin()
    target.stop()
    with pytest.raises(nvmetcp.Violation, match="open it as memory:"):
        serve("--order-log", "file:%s" % path)
    with pytest.raises(nvmetcp.Violation, match="has 1 parts, and there are 3 reactors"):
        serve("--order-log", "memory:%s" % path, "--reactors", "3")


def test_a_log_and_a_volume_are_two_files(serve, tmp_path):
    """whatever names they have"""
    path, other = tmp_path / "volume", tmp_path / "other"
    path.write_bytes(bytes(1 << 24))
    other.symlink_to(path)
    with pytest.raises(nvmetcp.Violation, match="the log of ordered writes lies there"):
        target_with(serve, "file:%s,slots=1024" % other, ns=["file:%s" % path])


def test_a_log_in_memory_is_gone_with_the_machine(serve, tmp_path):
    """after another start of it there is none, and it says so"""
    path = tmp_path / "order.log"
    target = target_with(serve, "memory:%s,slots=1024" % path)
    ctrl, queue = ordered.host(target.address)
    with ctrl:
        assert Stream(ctrl, queue).begin().write(0, block(1)).ok
        before = ordered.listed(ctrl, 5).log
    target.stop()
    raw = bytearray(path.read_bytes())
    raw[40] ^= 1
    raw[4092:4096] = nvmetcp.crc32c(raw[:4092]).to_bytes(4, "little")
    path.write_bytes(raw)
    target = target_with(serve, "memory:%s,slots=1024" % path)
    assert "gone with an earlier start of the machine" in target.said
    ctrl, queue = ordered.host(target.address)
    with ctrl:
        there = ordered.listed(ctrl, 5)
        assert there.new and there.log != before
        assert Stream(ctrl, queue).begin().write(0, block(2)).ok


def test_a_corrupt_log_stops_what_it_concerns(serve, log, tmp_path):
    """a slot that was durable once is spoiled: its stream is quarantined, all others go on"""
    path, file = log[5:].partition(",")[0], "file:%s,size=16M" % (tmp_path / "volume")
    target = target_with(serve, log, ns=[file])
    ctrl, queue = ordered.host(target.address)
    with ctrl:
        stream, other = Stream(ctrl, queue).begin(), Stream(ctrl, queue, number=6).begin()
        for i in range(300):
            assert other.write(500 + i, block(i)).ok
            if i < 10:
                assert stream.write(i, block(i)).ok
            other.floor = other.last
    target.stop()
    with open(path, "r+b") as raw:
        raw.seek(PARTS_AT + 64 * 9)
        raw.write(b"spoiled!" * 8)
    target = target_with(serve, log, ns=[file])
    ctrl, queue = ordered.host(target.address)
    with ctrl:
        lists = {number: ordered.listed(ctrl, number, ordered.STOP) for number in (5, 6)}
        lost = [number for number in lists if lists[number].lost]
        assert lost == [5], lists
        assert ordered.cut(ctrl, 5, 2).status == DENIED
        again = Stream(ctrl, queue, number=6).begin(after=300)
        again.floor = lists[6].floor
        assert again.write(900, block(1)).ok
        assert ordered.cut(ctrl, 5, 2, flags=ordered.FORCE).ok
        assert "corrupt" in target.stderr()
        assert re.findall("of stream ([0-9]+) of (.*) something may be lost", target.stderr()) == [("5", nvme.HOSTNQN)]


def test_what_may_have_been_the_last_of_a_stream_is_missed(serve, log, tmp_path):
    """a slot is spoiled behind which a stream has nothing: nobody can say that nothing of it was there, nor that a stream
    that is not known never was; those that have something behind it go on"""
    path, file = log[5:].partition(",")[0], "file:%s,size=16M" % (tmp_path / "volume")
    target = target_with(serve, log, ns=[file])
    ctrl, queue = ordered.host(target.address)
    with ctrl:
        stream, other = Stream(ctrl, queue).begin(), Stream(ctrl, queue, number=6).begin()
        for i in range(10):
            assert stream.write(i, block(i)).ok
        for i in range(300):
            assert other.write(500 + i, block(i)).ok
            other.floor = other.last
    target.stop()
    with open(path, "r+b") as raw:
        raw.seek(PARTS_AT + 64 * (2 + 9))  # behind two marks
        raw.write(b"spoiled!" * 8)
    target = target_with(serve, log, ns=[file])
    ctrl, queue = ordered.host(target.address)
    with ctrl:
        lists = {number: ordered.listed(ctrl, number, ordered.STOP) for number in (5, 6, 7)}
        assert [number for number in lists if lists[number].lost] == [5, 7], lists
        assert lists[5].entries()[-1].last == 9 and lists[7].new
        for number, after in ((5, 9), (7, 0)):
            assert ordered.cut(ctrl, number, after).status == DENIED
            assert ordered.cut(ctrl, number, after, flags=ordered.FORCE).ok
        assert not ordered.listed(ctrl, 5, ordered.STOP).lost


def test_a_host_that_a_corrupt_log_does_not_know_any_more(serve, log, tmp_path):
    """who it was is spoiled: nobody takes its streams for ones that never were; one that no entry names was torn"""
    path, file = log[5:].partition(",")[0], "file:%s,size=16M" % (tmp_path / "volume")
    target = target_with(serve, log, ns=[file])
    ctrl, queue = ordered.host(target.address)
    with ctrl:
        assert Stream(ctrl, queue).begin().write(0, block(1)).ok
    target.stop()
    with open(path, "r+b") as raw:
        raw.seek(OWNERS_AT + 512 * 9)
        raw.write(b"torn")
    target = target_with(serve, log, ns=[file])
    ctrl, queue = ordered.host(target.address)
    with ctrl:
        assert not ordered.listed(ctrl, 6).lost and "corrupt" not in target.stderr()
    target.stop()
    with open(path, "r+b") as raw:
        raw.seek(OWNERS_AT + 20)
        raw.write(b"spoiled!")
    target = target_with(serve, log, ns=[file])
    assert "of 1 hosts nobody knows any more who they were" in target.stderr()
    ctrl, queue = ordered.host(target.address)
    with ctrl:
        there = ordered.listed(ctrl, 5, ordered.STOP)
        assert there.new and there.lost
        assert ordered.cut(ctrl, 5, 0).status == DENIED
        assert ordered.cut(ctrl, 5, 0, flags=ordered.FORCE).ok


def test_a_log_where_another_one_was(serve, log, tmp_path):
    """its beginning is emptied, and entries are left behind that: they are none of the log that begins there"""
    path, file = log[5:].partition(",")[0], "file:%s,size=16M" % (tmp_path / "volume")
    for count in (20, 3):
        target = target_with(serve, log, ns=[file])
        ctrl, queue = ordered.host(target.address)
        with ctrl:
            stream = Stream(ctrl, queue).begin()
            assert all(stream.write(i, block(i)).ok for i in range(count))
        target.stop()
        target = target_with(serve, log, ns=[file])
        ctrl, queue = ordered.host(target.address)
        with ctrl:
            there = ordered.listed(ctrl, 5, ordered.STOP)
            assert not there.lost and [entry.last for entry in there.entries()] == list(range(1, count + 1))
        target.stop()
        with open(path, "r+b") as raw:
            raw.write(bytes(PARTS_AT))


@pytest.mark.parametrize("how", ["reset", "admin"])
def test_a_piece_whose_data_never_comes(serve, log, how):
    """its connection goes with its controller, and its stream is there to be cut"""
    target = target_with(serve, log)
    ctrl, queue = ordered.host(target.address)
    stream = Stream(ctrl, queue).begin()
    queue.serve_r2ts = False
    request = stream.submit(0, block(1) * 16, incapsule=False)
    while not request.r2ts:
        queue.step()
    if how == "reset":
        ctrl.disable()
    else:
        ctrl.admin.close()
    target.until("it is gone", lambda stats: stats["connections"] <= (how == "reset"))
    ctrl.close()
    ctrl, queue = ordered.host(target.address)
    with ctrl:
        assert Stream(ctrl, queue).begin().write(0, block(3)).ok and read(queue, 0) == block(3)


def test_blocks_that_cannot_be_taken_back(serve, log, tmp_path):
    """a volume with other blocks, or fewer; one that is reserved: what is there is not touched, and it is said"""
    path = tmp_path / "volume"
    target = target_with(serve, log, ns=["file:%s,size=16M" % path])
    ctrl, queue = ordered.host(target.address)
    with ctrl:
        assert Stream(ctrl, queue).begin().write(10, block(1)).ok
    target.stop()
    target = target_with(serve, log, "--block-size", "512", ns=["file:%s" % path])
    ctrl, queue = ordered.host(target.address)
    with ctrl:
        assert queue.write(10, block(7)[:512], block_size=512).ok
        assert ordered.cut(ctrl, 5, flags=ordered.GONE).status == DENIED
        assert bytes(queue.read(10, block_size=512).got) == block(7)[:512]
    target.stop()
    target = target_with(serve, log, ns=["file:%s" % path])
    ctrl, queue = ordered.host(target.address)
    holder = reservations.Host(target.address, 1)
    with ctrl:
        assert holder.register(7) == 0 and holder.acquire(7, reservations.WE) == 0
        assert holder.queue.write(10, block(8)).ok
        assert ordered.cut(ctrl, 5, flags=ordered.GONE).status == nvme.INTERNAL
        assert read(holder.queue, 10) == block(8)
        assert holder.release(7, reservations.WE) == 0
        assert ordered.cut(ctrl, 5, flags=ordered.GONE).ok
        assert read(holder.queue, 10) == bytes(BLOCK)
    holder.close()


def test_a_floor_that_was_told_is_durable(serve, log, tmp_path):
    """when FLOOR was answered, though nothing is written any more"""
    file = "file:%s,size=16M" % (tmp_path / "volume")
    target = target_with(serve, log, ns=[file])
    ctrl, queue = ordered.host(target.address)
    stream = Stream(ctrl, queue).begin()
    for i in range(4):
        assert stream.write(i, block(i)).ok
    assert ordered.floor(ctrl, 5, 4).ok
    target.kill()
    target = target_with(serve, log, ns=[file])
    ctrl, queue = ordered.host(target.address)
    with ctrl:
        assert ordered.listed(ctrl, 5).floor == 4


def test_a_stream_that_has_moved_ends(serve, log):
    """also where another reactor had something of it"""
    target = target_with(serve, log, "--reactors", "2")
    ctrl, queue = ordered.host(target.address)
    with ctrl:
        queues = {1: queue, **{qid: ctrl.io_queue(qid) for qid in (2, 3)}}
        stream, last = Stream(ctrl, queue).begin(), 0
        for turn in range(6):
            qid = 1 + turn % 3
            assert ordered.listed(ctrl, 5, ordered.STOP).stopped
            stream.begin(qid=qid, after=last)
            stream.queue, stream.floor = queues[qid], last
            for i in range(20):
                assert stream.write(i, block(i)).ok
                stream.floor = stream.last
            last = stream.last
        assert ordered.floor(ctrl, 5, last).ok
        assert ordered.floor(ctrl, 5, last, ordered.ENDS).status == SEQUENCE
        assert ordered.listed(ctrl, 5, ordered.STOP).count == 0
        assert ordered.floor(ctrl, 5, last, ordered.ENDS).ok


def test_pieces_behind_one_whose_data_is_long(serve, log):
    """do not keep the buffers that it needs: whatever waits, a stream goes on or is stopped, and no connection is lost"""
    target = target_with(serve, log, ns=["mem:256M"])
    ctrl, first = ordered.host(target.address)
    with ctrl:
        queues = [first, ctrl.io_queue(2, entries=1024)]
        streams = [Stream(ctrl, queues[i], number=5 + i).begin(qid=1 + i) for i in range(2)]
        for stream in streams:
            stream.queue.serve_r2ts = False
        long = [stream.submit(0, block(1) * 16, incapsule=False) for stream in streams]
        behind = [streams[1].submit(16 + 2 * i, block(i) * 2) for i in range(900)]
        for stream in streams:
            stream.queue.serve_r2ts = True
        for request, stream in zip(long, streams):
            while not request.done and not request.r2ts:
                stream.queue.step()
            if request.r2ts:
                stream.queue.send_data(request)
        queues[0].wait(long[0])
        queues[1].wait(long[1], *behind)
        assert long[0].ok
        assert all(request.ok or request.status == SEQUENCE for request in [long[1], *behind])
