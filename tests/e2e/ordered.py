"""
ordered - a host's streams of ordered writes, over nvme (doc/extension.md, ORDER).

A Stream numbers groups and makes commands of pieces; what a test wants wrong it says.  List reads what LIST answers.
"""
import struct

import nvme

BLOCK = 4096
EXTENSION, ORDER_BIT = 0xD7, 1 << 1
LIST, CUT, FLOOR = 0xDA, 0xDC, 0xE0
STOP, STREAMS, TAKE = 1 << 16, 1 << 17, 1 << 18
GONE, FORCE, ENDS = 1, 2, 1
STOPPED, NEW, LOST = 1, 2, 4
COUNTS, VALID, BACK, LEFT = 1, 2, 4, 8
SPLIT, IN_PLACE, FLUSH, MERGED = 1, 2, 4, 8


def host(address, **how):
    """A controller that was granted ORDER, and one queue of it."""
    ctrl = nvme.Controller(address, **how)
    ctrl.grant()
    request = ctrl.set_feature(EXTENSION, ORDER_BIT)
    assert request.ok and request.dw0 == ORDER_BIT, request
    return ctrl, ctrl.io_queue()


class Entry:
    def __init__(self, raw):
        (self.first, self.last, self.prev, self.num, self.count, self.flags, self.state, _, self.nsid, self.lba,
         self.blocks, _) = struct.unpack("<IIIHHHBBIQII", raw)
        self.counts, self.valid = bool(self.state & COUNTS), bool(self.state & VALID)

    def __repr__(self):
        return str(vars(self))


class List:
    def __init__(self, raw):
        (self.log, self.stream, self.term, self.floor, self.count, self.guaranteed,
         self.flags, self.holder) = struct.unpack_from("<16sHHIIIII", raw)
        self.raw = raw
        self.stopped, self.new, self.lost = (bool(self.flags & bit) for bit in (STOPPED, NEW, LOST))

    def entries(self):
        return [Entry(self.raw[at:at + 40]) for at in range(64, min(len(self.raw), 64 + 40 * self.count), 40)]

    def streams(self):
        return [number for number, in struct.iter_unpack("<H", self.raw[64:64 + 2 * self.count])]


def listed(ctrl, stream=0, flags=0, skip=0, size=4096, holder=0):
    request = ctrl.admin.call(nvme.sqe(LIST, cdw10=stream | flags, cdw11=skip, cdw12=size // 4 - 1, cdw13=holder),
                              want=size)
    assert request.ok, request
    return List(bytes(request.got))


def cut(ctrl, stream, after=0, qid=1, flags=0, holder=0):
    return ctrl.admin.call(nvme.sqe(CUT, cdw10=stream | qid << 16, cdw11=after, cdw12=flags, cdw13=holder))


def floor(ctrl, stream, group, flags=0, holder=0):
    return ctrl.admin.call(nvme.sqe(FLOOR, cdw10=stream, cdw11=group, cdw12=flags, cdw13=holder))


def attribute(command, stream, first, last=None, prev=0, num=0, flags=0, floor=0, count=1, ends=None):
    """Puts it into a Write or a Flush."""
    command = bytearray(command)
    ends = num > 0 if ends is None else ends
    command[1] |= (2 if ends else 1) << 2
    struct.pack_into("<IIIHH", command, 8, first, first if last is None else last, prev, num, stream)
    struct.pack_into("<I", command, 48, struct.unpack_from("<I", command, 48)[0] | flags << 16)
    struct.pack_into("<II", command, 56, floor, count)
    return bytes(command)


class Stream:
    """Of one queue, at one target: a group of one piece after the other, or as a test says."""

    def __init__(self, ctrl, queue, number=5, nsid=1):
        self.ctrl, self.queue, self.number, self.nsid = ctrl, queue, number, nsid
        self.last, self.floor = 0, 0

    def begin(self, qid=1, after=0, flags=0):
        request = cut(self.ctrl, self.number, after, qid, flags)
        assert request.ok, request
        self.last = request.dw0
        return self

    def command(self, lba, data, group=None, **said):
        """Of a group that is the next one, if none is named; `last` and `prev` follow."""
        group = self.last + 1 if group is None else group
        said.setdefault("prev", self.last if group != self.last else getattr(self, "before", 0))
        said.setdefault("floor", self.floor)
        said.setdefault("num", 1)
        if data:
            plain = nvme.sqe(0x01, nsid=self.nsid, cdw10=lba, cdw12=len(data) // BLOCK - 1)
        else:
            plain = nvme.sqe(0x00, nsid=self.nsid)
        command = attribute(plain, self.number, group, **said)
        if group != self.last:
            self.before = self.last
        self.last = said.get("last") or group
        return command

    def submit(self, lba, data=b"", group=None, incapsule=None, **said):
        return self.queue.submit(self.command(lba, data, group, **said), data, incapsule=incapsule)

    def write(self, lba, data=b"", group=None, **said):
        return self.queue.wait(self.submit(lba, data, group, **said))


def plain_write(lba, blocks, nsid=1):
    """A Write of so many blocks, or without any a Flush."""
    return nvme.sqe(0x01, nsid=nsid, cdw10=lba, cdw12=blocks - 1) if blocks else nvme.sqe(0x00, nsid=nsid)
