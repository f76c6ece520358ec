"""`weir recover`: what a host that is gone has left of its ordered writes is recovered by hand."""
import uuid

import pytest

import nvme
import ordered
from ordered import BLOCK, FLUSH, IN_PLACE, Stream
from tools import answer, uri, volume, weir

HOST = ("--hostnqn", nvme.HOSTNQN, "--hostid", uuid.UUID(bytes=nvme.HOSTID))
OTHER = ("--hostnqn", "nqn.2026-11.local:other")
LEFT = "later write%s in place may have been done, or in part, or not:"


def block(number):
    return bytes([number % 251 + 1]) * BLOCK


def recover(*args, **how):
    """As the host that is gone; what it says, in lines."""
    done = weir("recover", *HOST, *args, **how)
    done.lines = done.stdout.decode().splitlines()
    return done


def recovered(*args, **how):
    return answer("recover", *HOST, *args, **how)["streams"]


@pytest.fixture
def served(serve, tmp_path):
    """Targets that have a log each, or that of an earlier one: served(ns=[...], log=0)."""
    def start(ns=("mem:16M",), log=None, where="file"):
        if log is None:
            log = len(start.logs)
            start.logs.append(tmp_path / ("%d.log" % log))
        return serve("--order-log", "%s:%s,slots=1024" % (where, start.logs[log]), ns=list(ns))

    start.logs = []
    return start


class Written:
    """Streams of the host that will be gone, at a target: stream 5 is begun, and all ends with the block."""

    def __init__(self, target):
        self.ctrl, self.queue = ordered.host(target.address)
        self.stream = Stream(self.ctrl, self.queue).begin()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.ctrl.close()

    def write(self, lba, **how):
        assert self.stream.write(lba, block(lba), **how).ok

    def groups(self, count, number=None):
        """of one block each, of this or of another stream"""
        stream = self.stream if number is None else Stream(self.ctrl, self.queue, number=number).begin()
        for lba in range(count):
            assert stream.write(lba, block(lba), flags=FLUSH).ok


def holds(target, *numbers):
    """block by block, None is zeros"""
    data = b"".join(bytes(BLOCK) if number is None else block(number) for number in numbers)
    return volume(target, length=len(data)) == data


def test_a_group_that_has_not_ended_is_taken_back(served):
    """what was written in place after the last one is said, as often as it is asked; all others stay"""
    target = served()
    with Written(target) as written:
        written.groups(3)
        written.write(3, num=0)
        written.write(4, group=4, num=0, flags=IN_PLACE)
    assert holds(target, 0, 1, 2, 3, 4)
    for _ in range(2):
        done = recover(uri(target))
        assert done.lines == ["stream 5: all is there up to group 3; 1 " + LEFT % "", "  %s nsid 1, LBA 4, 1 block" %
                              uri(target)]
        assert done.words == "" and holds(target, 0, 1, 2, None, 4)
    assert recovered(uri(target)) == [{"stream": 5, "last": 3, "in_place": [
        {"target": uri(target), "nsid": 1, "lba": 4, "blocks": 1}]}]


def test_several_streams_one_after_the_other(served):
    """none of which has left anything; or some of them"""
    target = served()
    with Written(target) as written:
        written.write(9, num=0)
        written.groups(2, number=7)
        written.groups(4, number=65535)
    nothing, *rest = ("stream 5: none of its groups is there", "stream 7: all is there up to group 2",
                      "stream 65535: all is there up to group 4")
    assert recover("--stream", 65535, "--stream", 5, uri(target)).lines == [nothing, rest[1]]
    assert recover(uri(target)).lines == [nothing, *rest]
    assert recovered(uri(target), "--stream", 7) == [{"stream": 7, "last": 2, "in_place": []}]
    assert volume(target, length=10 * BLOCK)[9 * BLOCK:] == bytes(BLOCK)


@pytest.fixture
def split(served):
    """Groups of two targets: of the second both parts are there, of the third the other target lacks its own; and one
    of the fourth that is in place."""
    targets = served(), served()
    with Written(targets[0]) as one, Written(targets[1]) as other:
        one.write(0)
        one.write(1, num=0)
        other.write(0, group=2, num=2)
        one.write(2, num=0)
        other.write(1, group=4, flags=IN_PLACE)
        other.write(2, group=5)
    return targets


def test_a_group_that_lacks_a_part_is_taken_back(split):
    """and all after it, on both"""
    where = [uri(target) for target in split]
    assert holds(split[0], 0, 1, 2) and holds(split[1], 0, 1, 2)
    done = recover(*where)
    assert done.lines == ["stream 5: all is there up to group 2; 1 " + LEFT % "", "  %s nsid 1, LBA 1, 1 block" % where[1]]
    assert holds(split[0], 0, 1, None) and holds(split[1], 0, 1, None)
    left = [{"target": where[1], "nsid": 1, "lba": 1, "blocks": 1}]
    assert recovered(*reversed(where)) == [{"stream": 5, "last": 2, "in_place": left}]


def test_a_list_changes_nothing(split, served):
    where = [uri(target) for target in split]
    with Written(served()):
        pass
    with ordered.host(split[1].address)[0] as ctrl:
        assert Stream(ctrl, None, number=77).begin().last == 0
    done = recover("--list", *where)
    assert [line.split() for line in done.lines] == [["STREAM", "TARGET"], ["5", where[0]], ["5", where[1]],
                                                     ["77", where[1]]]
    assert recovered("--list", *where) == [{"stream": 5, "targets": where}, {"stream": 77, "targets": where[1:]}]
    assert recovered("--list", "--stream", 77, *where) == [{"stream": 77, "targets": where[1:]}]
    assert holds(split[0], 0, 1, 2) and holds(split[1], 0, 1, 2)


def test_a_host_that_has_written_nothing(split):
    where = [uri(target) for target in split]
    for options in [], ["--list"]:
        done = weir("recover", *OTHER, *options, *where)
        assert done.stdout == b"" and "no target knows a stream of this host, " + OTHER[1] in done.words
        assert answer("recover", *OTHER, *options, *where) == {"streams": []}
        done = weir("recover", *OTHER, *options, "--stream", 5, *where, code=1)
        assert done.stdout == b"" and "stream 5: no target knows of it" in done.words
    assert answer("recover", *OTHER, "--list", *where) == {"streams": []}  # none was begun
    assert holds(split[0], 0, 1, 2) and holds(split[1], 0, 1, 2)


def test_a_target_that_was_not_written_to(split, served):
    """would lack its part of each group"""
    stranger = served()
    where = [uri(target) for target in (*split, stranger)]
    words = "%s knows nothing of it" % where[2]
    assert words in recover(*where, code=1).words
    found, = recovered(*where, code=1)
    assert found["stream"] == 5 and words in found["error"] and "last" not in found
    assert recovered("--list", where[2]) == [] and holds(split[0], 0, 1, 2)
    assert recover("--force", *where).lines[0].startswith("stream 5: all is there up to group 2; ")
    assert holds(split[0], 0, 1, None)


@pytest.mark.parametrize("how", ["gone", "without a log"])
def test_a_target_that_cannot_say_what_it_has(split, serve, how):
    """nothing is changed at the others; what these have can be listed"""
    last = serve()
    where = [uri(target) for target in (*split, last)]
    if how == "gone":
        last.stop()
    done = recover("--connect-timeout", "1s", *where, code=1)
    assert done.lines == [] and "nothing has changed" in done.words
    assert (str(last.port) if how == "gone" else where[2] + ": it has no log of ordered writes") in done.words
    assert recovered("--list", "--connect-timeout", "1s", *where, code=1) == [{"stream": 5, "targets": where[:2]}]
    assert holds(split[0], 0, 1, 2) and holds(split[1], 0, 1, 2)


def test_two_names_of_one_target(served):
    """are found out, and nothing is changed"""
    target = served()
    with Written(target) as written:
        written.groups(1)
        written.write(1, num=0)
    again = uri(target).replace("127.0.0.1", "localhost")
    assert "the same log as another server" in recover(uri(target), again, code=1).words
    assert "is named twice" in recover(uri(target), uri(target), code=2).words
    assert holds(target, 0, 1)


def test_a_stream_that_does_not_stop_in_time(served, tmp_path):
    """what is at a drive cannot be called back, here of a host that is not gone; a later try goes on with it"""
    file = "file:%s,size=16M" % (tmp_path / "volume")
    target = served(ns=["fault:delay-write=3600000@" + file], where="memory")  # a write waits for no sync of its log
    with Written(target) as written:
        written.stream.submit(0, block(0))
        while ordered.listed(written.ctrl, 5).count == 0:
            pass
        done = recover("--loss-time", "2s", "--timeout", "4s", uri(target), code=1)
    assert "it has not stopped and cut the stream in time" in done.words and "when this is tried again" in done.words
    target.kill()
    target = served(ns=[file], log=0, where="memory")
    assert recover(uri(target)).lines == ["stream 5: none of its groups is there"] and holds(target, None)


def test_lost_entries(served, tmp_path):
    """of one stream: others are recovered all the same"""
    file = "file:%s,size=16M" % (tmp_path / "volume")
    target = served(ns=[file])
    with Written(target) as written:
        other = Stream(written.ctrl, written.queue, number=6).begin()
        for i in range(300):
            assert other.write(500 + i, block(i), flags=FLUSH).ok
            if i < 10:
                written.write(i)
            other.floor = other.last
    target.stop()
    with open(served.logs[0], "r+b") as raw:
        raw.seek(528384 + 64 * 9)
        raw.write(b"spoiled!" * 8)
    target = served(ns=[file], log=0)
    done = recover(uri(target), code=1)
    assert done.lines == ["stream 6: all is there up to group 300"]
    assert "entries of the stream are lost there" in done.words and "--force goes on with it" in done.words
    assert [("error" in found, found["stream"]) for found in recovered(uri(target), code=1)] == [(True, 5), (False, 6)]
    assert recover("--force", "--stream", 5, uri(target)).lines == ["stream 5: none of its groups is there"]


def test_the_operators_word(served, tmp_path):
    """where a target cannot take back what it wrote: the volume is another one"""
    one, other = ("file:%s,size=16M" % (tmp_path / name) for name in ("one", "other"))
    target = served(ns=[one])
    with Written(target) as written:
        written.groups(2)
    target.stop()
    target = served(ns=[other], log=0)
    done = recover(uri(target), code=1)
    assert done.lines == [] and "entries of the stream are lost there" in done.words
    assert "--force goes on with it" in done.words
    found, = recovered(uri(target), code=1)
    assert found["stream"] == 5 and "entries of the stream are lost" in found["error"]
    done = recover("--force", uri(target))
    assert done.words == "" and done.lines[0].startswith("stream 5: ")
    assert recover(uri(target)).lines == done.lines


@pytest.mark.parametrize("args, words", [
    ([], "where?"), (["127.0.0.1"], "names no subsystem"), (["--stream", "65536", "x"], "from 0 to 65535"),
    (["nvme+tcp://h/nqn.2026-11.local:x?ns=1"], "leave out ?ns="),
    (["--list", "--force", "nvme+tcp://h/nqn.2026-11.local:x"], "--list changes nothing")])
def test_words_that_are_not_understood(binary, args, words):
    assert words in weir("recover", *args, code=2).words


def test_streams_that_nobody_needs_any_more(served):
    """are recovered first, and what they wrote stays; then nobody lists them, and their numbers begin anew"""
    target = served()
    with Written(target) as written:
        written.groups(3)
        written.write(3, num=0)
        written.groups(1, number=7)
    assert recover("--forget", "--stream", 5, uri(target)).lines == [
        "stream 5, now forgotten: all is there up to group 3"]
    assert [one["stream"] for one in recovered("--list", uri(target))] == [7]
    assert holds(target, 0, 1, 2, None)
    assert recovered("--forget", uri(target)) == [{"stream": 7, "last": 1, "in_place": []}]
    assert "no target knows a stream" in recover(uri(target)).words
    with ordered.host(target.address)[0] as ctrl:
        there = ordered.listed(ctrl, 5)
        assert there.stopped and there.holder == 0 and ordered.cut(ctrl, 5, there.floor).ok
    assert [one["stream"] for one in recovered("--list", uri(target))] == [5]
    assert "--list changes nothing" in recover("--list", "--forget", uri(target), code=2).words


def test_streams_of_two_targets_are_forgotten_by_both(split):
    """and where one of them has forgotten it before, by the other alone"""
    both = [uri(one) for one in split]
    with ordered.host(split[1].address)[0] as ctrl:
        assert recover(*both).lines[0].startswith("stream 5: all is there up to group 2")
        there = ordered.listed(ctrl, 5, ordered.STOP | ordered.TAKE, holder=77)
        assert ordered.floor(ctrl, 5, there.floor, ordered.ENDS, holder=77).ok
    done = recover("--forget", *both, code=1)
    assert "it was to forget it" in done.words and "if it was being forgotten, those that know it" in done.words
    assert [one["targets"] for one in recovered("--list", *both)] == [both[:1]]
    assert recover("--forget", both[0]).lines == ["stream 5, now forgotten: all is there up to group 2"]
    assert recovered("--list", *both) == []
    assert holds(split[0], 0, 1, None) and holds(split[1], 0)
