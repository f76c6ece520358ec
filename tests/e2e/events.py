"""
events - page 0Dh, the persistent events of a subsystem, as a host reads it.

Every read is held to the page's own rules: lengths that add up, a count that is
right, types that the header announces.
"""
import struct

import nvme
from nvmetcp import require

READ, ESTABLISH, RELEASE, HEADER = 0, 1, 2, 3
SMART, TIMESTAMP, RESET, HARDWARE, NAMESPACE, FEATURE, VENDOR = 0x01, 0x03, 0x04, 0x05, 0x06, 0x0B, 0xDE
UNSAFE_SHUTDOWN, FATAL, MEDIA = 0x08, 0x09, 0x0A


class Event:
    def __init__(self, head, data):
        self.type, self.cntlid, self.ms, self.data = head[0], head[3], head[4], data
        self.raw = struct.pack("<BBBxHQH4xHH", *head) + data

    def u(self, at, bytes_):
        return int.from_bytes(self.data[at:at + bytes_], "little")

    def __repr__(self):
        return "<%02x of %d: %s>" % (self.type, self.cntlid, self.data[:48].hex())

    def __eq__(self, other):
        return (self.type, self.cntlid, self.ms, self.data) == (other.type, other.cntlid, other.ms, other.data)


class Page:
    """What a host has read: the newest event comes first, and last in `events`."""

    def __init__(self, page):
        self.bytes = page
        self.count, self.length = struct.unpack_from("<IQ", page, 4)
        self.ms, = struct.unpack_from("<Q", page, 20)
        self.hours, self.cycles = int.from_bytes(page[28:44], "little"), int.from_bytes(page[44:52], "little")
        self.generation, self.context = struct.unpack_from("<HI", page, 372)
        require(page[0] == 0x0D and self.length == len(page), "page %02x, %d bytes of %d", page[0], len(page),
                self.length)
        self.events = list(self._events(page, 512))[::-1]
        require(len(self.events) == self.count, "%d events, not %d", len(self.events), self.count)

    def _events(self, page, at):
        while at < len(page):
            head = struct.unpack_from("<BBBxHQH4xHH", page, at)
            kind, header, vendor, length = head[0], head[2], head[6], head[7]
            data_at = at + 3 + header
            require(header == 21 and vendor == 0 and data_at + length <= len(page), "an event at %d: %r", at, head)
            require(page[480 + kind // 8] >> kind % 8 & 1, "a type that was not announced: %02x", kind)
            yield Event(head, page[data_at:data_at + length])
            at = data_at + length


def ask(ctrl, lsp, bytes_=512, offset=0, sgl=None):
    """One Get Log Page; its data SGL is for `sgl` bytes."""
    dwords = bytes_ // 4 - 1
    return ctrl.admin.call(nvme.sqe(0x02, nsid=0xFFFFFFFF, cdw10=0x0D | lsp << 8 | (dwords & 0xFFFF) << 16,
                                    cdw11=dwords >> 16, cdw12=offset), want=bytes_ if sgl is None else sgl)


def establish(ctrl):
    return ask(ctrl, ESTABLISH)


def release(ctrl):
    return ask(ctrl, RELEASE, 4)


def rest(ctrl, head, piece=4096):
    """The page of the context that `head` has begun."""
    length, = struct.unpack_from("<Q", head, 8)
    page = bytes(head)
    while len(page) < length:
        request = ask(ctrl, READ, min(piece, (length - len(page) + 3) // 4 * 4), len(page))
        require(request.ok, "reading at %d: %r", len(page), request)
        page += bytes(request.got)
    return Page(page[:length])


def read(ctrl, piece=4096):
    """All there is, in a context of its own."""
    head = establish(ctrl)
    require(head.ok, "establishing a context: %r", head)
    page = rest(ctrl, head.got, piece)
    require(release(ctrl).ok, "releasing it")
    return page


def of(page, *types):
    return [event for event in page.events if event.type in types]
