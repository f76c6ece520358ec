"""
nvme - a small NVMe host for tests, over nvmetcp.

Builds commands, follows each to its end and holds the target to the rules of
data transfer while doing so: R2Ts and C2HData in order, LAST_PDU once,
SUCCESS only where it may stand, SQHD as consumed.  A Controller goes the way
of a usual host; every step can be taken alone and wrongly.
"""
import os
import struct
import uuid

from nvmetcp import (CAPSULE_RESP, C2H_DATA, LAST, R2T, SUCCESS, Conn, Violation, require,
                     tries)

STRANGER = "WEIR_AGAINST" in os.environ  # another's target: one habit of its own must not fail every test
SUBNQN = os.environ.get("WEIR_AGAINST_NQN", "nqn.2026-11.local.weir:default")
DISCOVERY = "nqn.2014-08.org.nvmexpress.discovery"
HOSTNQN = "nqn.2014-08.org.nvmexpress:uuid:%s" % uuid.UUID(int=0x77656972)
HOSTID = uuid.UUID(int=0x77656972).bytes


def name_of(hostid):
    """A host has one identifier and one name."""
    return "nqn.2014-08.org.nvmexpress:uuid:%s" % uuid.UUID(bytes=hostid)

CAP, VS, CC, CSTS = 0x00, 0x08, 0x14, 0x1C
CC_READY = 6 << 16 | 4 << 20  # entry sizes; EN is bit 0
RDY, CFS, SHST_DONE = 1, 2, 8

# SCT << 8 | SC
OK, INVALID_OPCODE, INVALID_FIELD, INTERNAL, ABORTED = 0x000, 0x001, 0x002, 0x006, 0x007
SQ_DELETED, INVALID_NS, SEQUENCE, SGL_LENGTH, SGL_TYPE = 0x008, 0x00B, 0x00C, 0x00F, 0x011
TRANSIENT, LBA_RANGE, CAPACITY = 0x022, 0x080, 0x081
QUEUE_ID, AER_LIMIT, LOG_PAGE, NOT_SAVEABLE, NOT_CHANGEABLE = 0x101, 0x105, 0x109, 0x10D, 0x10E
CONNECT_FORMAT, CONNECT_BUSY, CONNECT_PARAMS, CONNECT_HOST, QUEUE_TYPE = 0x180, 0x181, 0x182, 0x184, 0x185
WRITE_FAULT, READ_ERROR = 0x280, 0x281

INCAPSULE = 8192
PSDT_SGL = 0x40


def sgl(id, length, address=0):
    return struct.pack("<QI3xB", address, length, id)


SGL_NONE = sgl(0x5A, 0)


def sqe(opcode, cid=0, nsid=0, sgl1=SGL_NONE, flags=PSDT_SGL, cdw10=0, cdw11=0, cdw12=0,
        cdw13=0, cdw14=0, cdw15=0):
    return struct.pack("<BBHI16x16sIIIIII", opcode, flags, cid, nsid, sgl1,
                       cdw10, cdw11, cdw12, cdw13, cdw14, cdw15)


def connect_sqe(cid=0, qid=0, sqsize=31, kato=120000, cattr=0, recfmt=0, sgl1=sgl(0x01, 1024)):
    return struct.pack("<BBHB19x16sHHHBxI12x", 0x7F, PSDT_SGL, cid, 0x01, sgl1,
                       recfmt, qid, sqsize, cattr, kato)


def nqn_field(nqn):
    return nqn if isinstance(nqn, bytes) else nqn.encode().ljust(256, b"\0")


def connect_data(cntlid=0xFFFF, subnqn=SUBNQN, hostnqn=HOSTNQN, hostid=HOSTID):
    return struct.pack("<16sH238x256s256s256x", hostid, cntlid, nqn_field(subnqn), nqn_field(hostnqn))


def property_get_sqe(offset, size=4, cid=0):
    return struct.pack("<BBHB19x16sB3xI16x", 0x7F, PSDT_SGL, cid, 0x04, SGL_NONE,
                       1 if size == 8 else 0, offset)


def property_set_sqe(offset, value, size=4, cid=0):
    return struct.pack("<BBHB19x16sB3xIQ8x", 0x7F, PSDT_SGL, cid, 0x00, SGL_NONE,
                       1 if size == 8 else 0, offset, value)


def disconnect_sqe(recfmt=0, cid=0):
    return struct.pack("<BBHB19x16sH22x", 0x7F, PSDT_SGL, cid, 0x08, SGL_NONE, recfmt)


class Request:
    """A command from its capsule to its completion."""

    def __init__(self, cid, data, want):
        self.cid = cid
        self.data, self.want = data, want  # bytes to the target; bytes wanted from it
        self.got = bytearray()
        self.asked = 0        # bytes the target has asked for by R2T
        self.r2ts = []        # R2Ts not served yet: (ttag, offset, length)
        self.c2h_pdus = 0
        self.last_seen = False
        self.done = False
        self.by_success = False  # ended by the SUCCESS flag, without a CapsuleResp
        self.status = self.dw0 = self.dw1 = self.sqhd = None
        self.dnr = self.more = False

    @property
    def ok(self):
        return self.done and self.status == OK

    def __repr__(self):
        return "<command %04x %s>" % (
            self.cid, "%d:%02x%s" % (self.status >> 8, self.status & 0xFF, " DNR" if self.dnr else "")
            if self.done else "in flight")


class Queue:
    """A queue pair: requests by command id, each held to the rules."""

    def __init__(self, conn, entries=32, sq_flow=True):
        self.conn, self.entries, self.sq_flow = conn, entries, sq_flow
        self.requests = {}
        self.next_cid = 0
        self.sent = self.head = 0  # SQEs sent; SQEs known to be consumed
        self.serve_r2ts = True     # answer R2Ts at once
        self.h2c_piece = None      # at most so many bytes per H2CData

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.conn.close()

    def close(self):
        self.conn.close()

    def _cid(self):
        while self.next_cid in self.requests:
            self.next_cid = (self.next_cid + 1) & 0xFFFF
        cid = self.next_cid
        self.next_cid = (cid + 1) & 0xFFFF
        return cid

    # -- sending --

    def submit(self, command, data=b"", want=0, incapsule=None, cid=None, send=True):
        """
        Sends the SQE with a free command id (or `cid`) and an SGL that fits; returns the
        Request.  `incapsule`: whether `data` goes in the capsule; default: where it fits.
        """
        cid = self._cid() if cid is None else cid
        if incapsule is None:
            incapsule = 0 < len(data) <= INCAPSULE
        if data or want:
            command = command[:24] + sgl(0x01 if incapsule else 0x5A, len(data) or want) + command[40:]
        return self.submit_raw(command, data, want, incapsule, cid, send)

    def submit_raw(self, command, data=b"", want=0, incapsule=False, cid=None, send=True):
        """The SQE as it is but for the command id."""
        cid = self._cid() if cid is None else cid
        require(cid not in self.requests, "the test uses command id %04x twice", cid)
        command = command[:2] + struct.pack("<H", cid) + command[4:]
        request = Request(cid, data, want)
        self.requests[cid] = request
        self.sent += 1
        request.capsule = self.conn.capsule(command, data if incapsule else b"")
        if send:
            self.conn.send(request.capsule)
        return request

    def send_data(self, request, r2t_index=0, piece=None):
        """Serves one R2T whole."""
        ttag, offset, length = request.r2ts.pop(r2t_index)
        piece = min(piece or self.h2c_piece or length, self.conn.maxh2cdata)
        end = offset + length
        while offset < end:
            step = min(piece, end - offset)
            self.conn.send(self.conn.h2cdata(request.cid, ttag, offset,
                                             request.data[offset:offset + step], offset + step == end))
            offset += step

    # -- receiving --

    def step(self):
        """Takes one PDU and acts on it; returns the request it belongs to."""
        pdu = self.conn.recv()
        if pdu.type == R2T:
            return self._on_r2t(pdu)
        if pdu.type == C2H_DATA:
            return self._on_data(pdu)
        require(pdu.type == CAPSULE_RESP, "unexpected %r", pdu)
        return self._on_response(pdu)

    def _request(self, pdu, cid):
        require(cid in self.requests, "%r for a command that is not in flight", pdu)
        return self.requests[cid]

    def _on_r2t(self, pdu):
        request = self._request(pdu, pdu.cccid)
        require(request.data, "R2T for a command without data to the target: %r", pdu)
        require(pdu.length > 0, "R2T of no bytes")
        require(pdu.offset == request.asked, "R2TO %d where %d is next", pdu.offset, request.asked)
        require(pdu.offset + pdu.length <= len(request.data), "R2T beyond the command's data: %r", pdu)
        require(len(request.r2ts) <= self.conn.maxr2t, "%d R2Ts outstanding with MAXR2T %d",
                len(request.r2ts) + 1, self.conn.maxr2t)
        for other in self.requests.values():
            require(all(t != pdu.ttag for t, _, _ in other.r2ts), "TTAG %04x is in use", pdu.ttag)
        request.asked += pdu.length
        request.r2ts.append((pdu.ttag, pdu.offset, pdu.length))
        if self.serve_r2ts:
            self.send_data(request)
        return request

    def _on_data(self, pdu):
        request = self._request(pdu, pdu.cccid)
        require(request.want, "C2HData for a command that reads nothing: %r", pdu)
        require(not request.last_seen, "C2HData after LAST_PDU")
        require(pdu.offset == len(request.got), "DATAO %d where %d is next", pdu.offset, len(request.got))
        require(pdu.offset + pdu.length <= request.want, "C2HData beyond what was asked for")
        request.got += pdu.data
        request.c2h_pdus += 1
        request.last_seen = bool(pdu.flags & LAST)
        if pdu.flags & SUCCESS:
            require(not self.sq_flow, "SUCCESS although SQ flow control is on")
            request.by_success = True
            self._finish(request, 0, 0, 0, None)
        return request

    def _on_response(self, pdu):
        request = self._request(pdu, pdu.cid)
        require(pdu.sqid == 0 or STRANGER, "CQE with SQID %d", pdu.sqid)
        require(pdu.status & 1 == 0, "CQE with the phase bit set")
        if not self.sq_flow:
            require(pdu.sqhd == 0xFFFF or STRANGER, "SQHD %04x although SQ flow control is off", pdu.sqhd)
        else:
            behind = (pdu.sqhd - self.head) % self.entries
            require(pdu.sqhd < self.entries and self.head + behind <= self.sent,
                    "SQHD %d with %d to %d consumed of %d entries",
                    pdu.sqhd, self.head, self.sent, self.entries)
            self.head += behind
        self._finish(request, pdu.status, pdu.dw0, pdu.dw1, pdu.sqhd)
        return request

    def _finish(self, request, status, dw0, dw1, sqhd):
        request.done = True
        request.status, request.dnr, request.more = status >> 1 & 0x7FF, bool(status >> 15), bool(status >> 14 & 1)
        request.dw0, request.dw1, request.sqhd = dw0, dw1, sqhd
        if request.ok and request.want:
            require(request.last_seen and len(request.got) == request.want,
                    "success with %d of %d bytes, LAST_PDU %s", len(request.got), request.want,
                    request.last_seen)
        if request.ok and not request.want and request.asked:
            require(not request.r2ts, "success with data still asked for")
        del self.requests[request.cid]

    def wait(self, *requests):
        """Until all of them have completed; others may complete meanwhile."""
        while not all(r.done for r in requests):
            self.step()
        return requests[0] if len(requests) == 1 else requests

    def drain(self):
        self.wait(*list(self.requests.values()))

    def call(self, command, data=b"", want=0, **how):
        return self.wait(self.submit(command, data, want, **how))

    # -- I/O commands --

    def submit_read(self, slba, blocks, nsid=1, block_size=4096, flags12=0, **how):
        return self.submit(sqe(0x02, nsid=nsid, cdw10=slba & 0xFFFFFFFF, cdw11=slba >> 32,
                               cdw12=(blocks - 1) | flags12), want=blocks * block_size, **how)

    def submit_write(self, slba, data, nsid=1, block_size=4096, fua=False, **how):
        return self.submit(sqe(0x01, nsid=nsid, cdw10=slba & 0xFFFFFFFF, cdw11=slba >> 32,
                               cdw12=(len(data) // block_size - 1) | (1 << 30 if fua else 0)), data, **how)

    def read(self, slba, blocks=1, **how):
        return self.wait(self.submit_read(slba, blocks, **how))

    def write(self, slba, data, **how):
        return self.wait(self.submit_write(slba, data, **how))

    def flush(self, nsid=1):
        return self.call(sqe(0x00, nsid=nsid))

    def write_zeroes(self, slba, blocks, nsid=1, deallocate=False):
        return self.call(sqe(0x08, nsid=nsid, cdw10=slba & 0xFFFFFFFF, cdw11=slba >> 32,
                             cdw12=(blocks - 1) | (1 << 25 if deallocate else 0)))

    def deallocate(self, ranges, nsid=1, **how):
        data = b"".join(struct.pack("<IIQ", 0, blocks, slba) for slba, blocks in ranges)
        return self.call(sqe(0x09, nsid=nsid, cdw10=len(ranges) - 1, cdw11=4), data, **how)


def open_queue(address, qid=0, entries=32, sq_flow=True, kato=120000, cntlid=0xFFFF, subnqn=SUBNQN,
               hostnqn=None, hostid=HOSTID, dgst=0, hpda=0, maxr2t=0, **conn_args):
    """Connects and returns (queue, the completed Connect), whatever its status."""
    conn = Conn(address, **conn_args)
    try:
        conn.handshake(hpda, dgst, maxr2t)
        queue = Queue(conn, entries, sq_flow)
        connect = queue.submit_raw(
            connect_sqe(qid=qid, sqsize=entries - 1, kato=kato if qid == 0 else 0,
                        cattr=0 if sq_flow else 4),
            connect_data(cntlid, subnqn, name_of(hostid) if hostnqn is None else hostnqn, hostid), incapsule=True)
        # Whether Connect itself counts is settled by its own response, see Queue.head.
        _wait_connect(queue, connect)
        return queue, connect
    except BaseException:
        conn.close()
        raise


def _wait_connect(queue, connect):
    pdu = queue.conn.expect(CAPSULE_RESP)
    require(pdu.cid == connect.cid, "the first response is not Connect's")
    queue._finish(connect, pdu.status, pdu.dw0, pdu.dw1, pdu.sqhd)
    if connect.ok and not queue.sq_flow:
        require(pdu.sqhd == 0xFFFF or STRANGER, "Connect with SQ flow control off: SQHD %04x", pdu.sqhd)
    elif connect.ok:
        require(pdu.sqhd in (0, 1), "Connect's SQHD %04x", pdu.sqhd)
        queue.sent = queue.head = pdu.sqhd


class Controller:
    """An association: the admin queue, and the I/O queues opened through it."""

    def __init__(self, address, enable=True, **how):
        self.address = address
        self.how = how
        self.queues = []
        self.admin, connect = open_queue(address, **how)
        self.queues.append(self.admin)
        if not connect.ok:
            self.close()
            raise Violation("Connect failed: %r" % connect)
        self.cntlid = connect.dw0 & 0xFFFF
        self.authreq = connect.dw0 >> 16
        if enable:
            try:
                self.enable()
            except BaseException:
                self.close()
                raise

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()

    def close(self):
        for queue in self.queues:
            queue.close()

    # -- properties --

    def get(self, offset, size=4):
        request = self.admin.call(property_get_sqe(offset, size))
        require(request.ok, "Property Get %02x: %r", offset, request)
        return request.dw0 | request.dw1 << 32

    def set(self, offset, value, size=4):
        return self.admin.call(property_set_sqe(offset, value, size))

    def until(self, mask, value):
        """Polls CSTS."""
        for _ in tries():
            csts = self.get(CSTS)
            if csts & mask == value:
                return csts
        raise Violation("CSTS stays %08x, wanted %x of %x" % (csts, value, mask))

    def enable(self, cc=CC_READY | 1):
        request = self.set(CC, cc)
        require(request.ok, "setting CC.EN: %r", request)
        return self.until(RDY, RDY)

    def disable(self):
        request = self.set(CC, CC_READY)
        require(request.ok, "clearing CC.EN: %r", request)
        return self.until(RDY, 0)

    # -- queues --

    def io_queue(self, qid=1, entries=128, **how):
        """An I/O queue with the admin queue's terms but for those named."""
        terms = {k: v for k, v in self.how.items()
                 if k in ("dgst", "hpda", "maxr2t", "sq_flow", "hostid", "hostnqn", "subnqn", "timeout")}
        terms.update(how)
        queue, connect = self.try_io_queue(qid, entries, **terms)
        require(connect.ok, "Connect of I/O queue %d: %r", qid, connect)
        return queue

    def try_io_queue(self, qid=1, entries=128, **how):
        how.setdefault("cntlid", self.cntlid)
        queue, connect = open_queue(self.address, qid=qid, entries=entries, **how)
        self.queues.append(queue)
        return queue, connect

    def grant(self, queues=8):
        """Feature 07h, as a host asks before its first I/O queue."""
        request = self.set_feature(0x07, (queues - 1) << 16 | (queues - 1))
        require(request.ok, "Number of Queues: %r", request)
        return (request.dw0 & 0xFFFF) + 1

    # -- admin commands --

    def identify(self, cns, nsid=0, cntid=0, cdw11=0, want=4096):
        return self.admin.call(sqe(0x06, nsid=nsid, cdw10=cns | cntid << 16, cdw11=cdw11), want=want)

    def identified(self, cns, nsid=0, **how):
        request = self.identify(cns, nsid, **how)
        require(request.ok, "Identify CNS %02x NSID %x: %r", cns, nsid, request)
        return bytes(request.got)

    def log(self, lid, bytes_, offset=0, nsid=0xFFFFFFFF, rae=True):
        dwords = bytes_ // 4 - 1
        return self.admin.call(sqe(0x02, nsid=nsid, cdw10=lid | (1 << 15 if rae else 0) |
                                   (dwords & 0xFFFF) << 16, cdw11=dwords >> 16,
                                   cdw12=offset & 0xFFFFFFFF, cdw13=offset >> 32), want=bytes_)

    def logged(self, lid, bytes_, **how):
        request = self.log(lid, bytes_, **how)
        require(request.ok, "Get Log Page %02x: %r", lid, request)
        return bytes(request.got)

    def set_feature(self, fid, value=0, save=False, nsid=0, data=b""):
        return self.admin.call(sqe(0x09, nsid=nsid, cdw10=fid | (1 << 31 if save else 0), cdw11=value), data)

    def get_feature(self, fid, sel=0, value=0, nsid=0, want=0):
        return self.admin.call(sqe(0x0A, nsid=nsid, cdw10=fid | sel << 8, cdw11=value), want=want)

    def keep_alive(self):
        return self.admin.call(sqe(0x18))

    def aer(self):
        return self.admin.submit(sqe(0x0C))
