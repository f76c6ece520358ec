"""
nvmetcp - NVMe/TCP to the byte, for tests.

Answers two questions: which bytes does a PDU have (the builders, which take
any value, also wrong ones), and did the target's PDU keep to the rules of its
header (`Conn.recv`, which raises Violation on the first that did not).  Knows
no commands, no daemon and no pytest.  (NVMe/TCP Transport 1.0, 3.6)
"""
import os
import socket
import struct
import threading
import time

ICREQ, ICRESP, H2C_TERM, C2H_TERM = 0x00, 0x01, 0x02, 0x03
CAPSULE_CMD, CAPSULE_RESP, H2C_DATA, C2H_DATA, R2T = 0x04, 0x05, 0x06, 0x07, 0x09
HDGST, DDGST, LAST, SUCCESS = 0x01, 0x02, 0x04, 0x08

NAMES = {ICREQ: "ICReq", ICRESP: "ICResp", H2C_TERM: "H2CTermReq", C2H_TERM: "C2HTermReq",
         CAPSULE_CMD: "CapsuleCmd", CAPSULE_RESP: "CapsuleResp", H2C_DATA: "H2CData",
         C2H_DATA: "C2HData", R2T: "R2T"}

# Slow builds (sanitizers, valgrind) may ask for more patience; no test waits for it to pass.
PATIENCE = float(os.environ.get("WEIR_PATIENCE", "1"))
TIMEOUT_S = 5 * PATIENCE


def tries():
    """Turns for a loop that asks until something is so; bounded by time, for a count says how fast a machine is."""
    deadline = time.monotonic() + 2 * TIMEOUT_S
    while time.monotonic() < deadline:
        yield


class Stopwatch:
    """Seconds, but for those in which the machine let nobody run: it looks at the time again and again, and where that
    is late it was not the target that took so long."""

    LOOK_S, LATE_S = 0.01, 0.05

    def __init__(self):
        self.seconds, self._over = 0, threading.Event()
        self._thread = threading.Thread(target=self._count, daemon=True)

    def _count(self):
        last, over = time.monotonic(), False
        while not over:
            over = self._over.wait(self.LOOK_S)
            now = time.monotonic()
            self.seconds += min(now - last, self.LATE_S)
            last = now

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *exc):
        self._over.set()
        self._thread.join()


class Violation(AssertionError):
    """The target did what it must not do."""


class Closed(Exception):
    """The target closed the connection, between two PDUs."""


def require(condition, text, *args):
    if not condition:
        raise Violation(text % args if args else text)


# ---- CRC-32C ----

def _table():
    rows = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        rows.append(byte)
    return tuple(rows)


_CRC = _table()


def crc32c(data):
    crc, table = 0xFFFFFFFF, _CRC
    for byte in bytes(data):
        crc = crc >> 8 ^ table[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def digest(data):
    return struct.pack("<I", crc32c(data))


# ---- builders ----

def u8(value):
    return struct.pack("<B", value)


def u16(value):
    return struct.pack("<H", value)


def u32(value):
    return struct.pack("<I", value)


def patch(data, offset, value):
    """The bytes with `value` (an int is one byte) put over those at `offset`."""
    value = u8(value) if isinstance(value, int) else value
    return data[:offset] + value + data[offset + len(value):]


def ch(type, flags, hlen, pdo, plen):
    return struct.pack("<BBBBI", type, flags, hlen, pdo, plen)


def icreq(pfv=0, hpda=0, dgst=0, maxr2t=0):
    return ch(ICREQ, 0, 128, 0, 128) + struct.pack("<HBBI", pfv, hpda, dgst, maxr2t) + bytes(112)


def icresp(cpda=0, dgst=0, maxh2cdata=131072):
    return ch(ICRESP, 0, 128, 0, 128) + struct.pack("<HBBI", 0, cpda, dgst, maxh2cdata) + bytes(112)


def termreq(type, fes, fei, quoted=b"\0" * 8):
    return ch(type, 0, 24, 0, 24 + len(quoted)) + struct.pack("<HI", fes, fei) + bytes(10) + quoted


def align(at, pda):
    step = (pda + 1) * 4
    return -(-at // step) * step


def with_data(header, data, hdgst=False, ddgst=False, pda=0, pad=b""):
    """Completes a header (whose PDO, PLEN and digest flags do not matter yet) with data and digests."""
    head = len(header) + (4 if hdgst else 0)
    pdo = (align(head, pda) + len(pad)) if data else 0
    plen = pdo + len(data) + (4 if ddgst else 0) if data else head
    flags = header[1] | (HDGST if hdgst else 0) | (DDGST if ddgst and data else 0)
    header = ch(header[0], flags, len(header), pdo, plen) + header[8:]
    out = header + (digest(header) if hdgst else b"")
    if data:
        gap = pdo - head
        out += (pad + bytes(gap))[:gap] + bytes(data) + (digest(data) if ddgst else b"")
    return out


def capsule(sqe, data=b"", **terms):
    return with_data(ch(CAPSULE_CMD, 0, 72, 0, 0) + sqe, data, **terms)


def h2cdata(cccid, ttag, offset, data, last=True, **terms):
    header = ch(H2C_DATA, LAST if last else 0, 24, 0, 0) + struct.pack(
        "<HHII4x", cccid, ttag, offset, len(data))
    return with_data(header, data, **terms)


def r2t(cccid, ttag, offset, length):
    return ch(R2T, 0, 24, 0, 24) + struct.pack("<HHII4x", cccid, ttag, offset, length)


# ---- what arrived ----

class Pdu:
    """A PDU in its parts."""

    def __init__(self, header, hdgst, data, ddgst):
        self.type, self.flags, self.hlen, self.pdo, self.plen = struct.unpack_from("<BBBBI", header)
        self.header, self.hdgst, self.data, self.ddgst = header, hdgst, data, ddgst
        if self.type in (R2T, C2H_DATA, H2C_DATA):
            self.cccid, self.ttag, self.offset, self.length = struct.unpack_from("<HHII", header, 8)
        elif self.type in (C2H_TERM, H2C_TERM):
            self.fes, self.fei = struct.unpack_from("<HI", header, 8)
        elif self.type == CAPSULE_RESP:
            self.dw0, self.dw1, self.sqhd, self.sqid, self.cid, self.status = struct.unpack_from(
                "<IIHHHH", header, 8)
        elif self.type == ICRESP:
            self.pfv, self.cpda, self.dgst, self.maxh2cdata = struct.unpack_from("<HBBI", header, 8)

    def __repr__(self):
        return "<%s flags %x plen %d %s>" % (
            NAMES.get(self.type, "type %02x" % self.type), self.flags, self.plen, self.header[8:24].hex())


# What the target may send: header length, flags that may be set, whether data follows.
_FROM_TARGET = {
    ICRESP: (128, 0, False),
    C2H_TERM: (24, 0, True),
    CAPSULE_RESP: (24, HDGST, False),
    C2H_DATA: (24, HDGST | DDGST | LAST | SUCCESS, True),
    R2T: (24, HDGST, False),
}
_PLEN_SANE = 16 << 20


class Conn:
    """One TCP connection to a target; checks every PDU it receives against the agreed terms."""

    def __init__(self, address, timeout=TIMEOUT_S, rcvbuf=None):
        self.sock = socket.socket(socket.AF_INET6 if ":" in address[0] else socket.AF_INET)
        if rcvbuf:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, rcvbuf)
        self.sock.settimeout(timeout)
        self.sock.connect(address)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.hdgst = self.ddgst = False
        self.hpda = 0
        self.maxr2t = 0
        self.maxh2cdata = 0

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()

    # -- ending --

    def close(self):
        self.sock.close()

    def reset(self):
        """Ends the connection by a TCP reset."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()

    def finish(self):
        """Says that nothing more will be sent."""
        try:
            self.sock.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # the target was faster

    # -- bytes --

    def send(self, *parts):
        self.sock.sendall(b"".join(parts))

    def send_slowly(self, data, pieces=1):
        """In segments of `pieces` bytes, each its own system call with Nagle off."""
        for at in range(0, len(data), pieces):
            self.sock.sendall(data[at:at + pieces])

    def terms(self):
        return {"hdgst": self.hdgst, "ddgst": self.ddgst}

    def capsule(self, sqe, data=b""):
        return capsule(sqe, data, **self.terms())

    def h2cdata(self, cccid, ttag, offset, data, last=True):
        return h2cdata(cccid, ttag, offset, data, last, **self.terms())

    def _exactly(self, count):
        out = bytearray()
        while len(out) < count:
            try:
                piece = self.sock.recv(min(count - len(out), 1 << 20))
            except ConnectionError:
                piece = b""
            if not piece:
                if out:
                    raise Violation("closed in the middle of a PDU, after %s" % bytes(out[:32]).hex())
                raise Closed()
            out += piece
        return bytes(out)

    # -- PDUs --

    def recv(self):
        """The next PDU, checked; raises Closed at the end of the stream."""
        common = self._exactly(8)
        type, flags, hlen, pdo, plen = struct.unpack("<BBBBI", common)
        try:
            return self._rest(common, type, flags, hlen, pdo, plen)
        except Closed:
            raise Violation("closed in the middle of a PDU, after its header %s" % common.hex())

    def _rest(self, common, type, flags, hlen, pdo, plen):
        require(type in _FROM_TARGET, "a target cannot send a PDU of type %02x", type)
        want_hlen, want_flags, has_data = _FROM_TARGET[type]
        name = NAMES[type]
        hdgst = self.hdgst and bool(want_flags & HDGST)
        ddgst = self.ddgst and bool(want_flags & DDGST)
        require(flags & ~want_flags == 0, "%s with flags %02x", name, flags)
        require(bool(flags & HDGST) == hdgst, "%s: HDGSTF is not as agreed", name)
        require(bool(flags & DDGST) == ddgst, "%s: DDGSTF is not as agreed", name)
        require(not flags & SUCCESS or flags & LAST, "%s: SUCCESS without LAST_PDU", name)
        require(hlen == want_hlen, "%s: HLEN %d", name, hlen)
        require(plen <= _PLEN_SANE, "%s: PLEN %d", name, plen)
        head = hlen + (4 if hdgst else 0)
        header = common + self._exactly(hlen - 8)
        received = struct.unpack("<I", self._exactly(4))[0] if hdgst else None
        require(received is None or received == crc32c(header), "%s: wrong header digest", name)
        if not has_data:
            require(pdo == 0, "%s: PDO %d", name, pdo)
            require(plen == head, "%s: PLEN %d", name, plen)
            return Pdu(header, received, b"", None)
        if type == C2H_TERM:
            require(pdo == 0, "TermReq: PDO %d", pdo)
            require(24 < plen <= 152, "TermReq: PLEN %d", plen)
            return Pdu(header, None, self._exactly(plen - 24), None)
        require(pdo == align(head, self.hpda), "C2HData: PDO %d with HPDA %d", pdo, self.hpda)
        length = plen - pdo - (4 if ddgst else 0)
        require(length > 0, "C2HData: PLEN %d", plen)
        pad = self._exactly(pdo - head) if pdo > head else b""
        require(pad == bytes(len(pad)), "C2HData: padding is not zero")
        data = self._exactly(length)
        data_digest = struct.unpack("<I", self._exactly(4))[0] if ddgst else None
        require(data_digest is None or data_digest == crc32c(data), "C2HData: wrong data digest")
        pdu = Pdu(header, received, data, data_digest)
        require(pdu.length == length, "C2HData: DATAL %d with %d bytes", pdu.length, length)
        require(header[10:12] == b"\0\0" and header[20:24] == bytes(4), "C2HData: reserved bytes set")
        return pdu

    def expect(self, type):
        pdu = self.recv()
        require(pdu.type == type, "%s expected, got %r", NAMES[type], pdu)
        return pdu

    def handshake(self, hpda=0, dgst=0, maxr2t=0):
        """ICReq, and an ICResp that is right to the byte."""
        self.send(icreq(hpda=hpda, dgst=dgst, maxr2t=maxr2t))
        return self.handshaken(hpda, dgst, maxr2t)

    def handshaken(self, hpda=0, dgst=0, maxr2t=0):
        resp = self.expect(ICRESP)
        require(resp.pfv == 0, "ICResp: PFV %d", resp.pfv)
        require(resp.cpda <= 31, "ICResp: CPDA %d", resp.cpda)
        require(resp.dgst == dgst, "ICResp: DGST %d where %d was asked", resp.dgst, dgst)
        require(resp.maxh2cdata >= 4096 and resp.maxh2cdata % 4 == 0,
                "ICResp: MAXH2CDATA %d", resp.maxh2cdata)
        require(resp.header[16:] == bytes(112), "ICResp: reserved bytes set")
        self.hdgst, self.ddgst = bool(dgst & 1), bool(dgst & 2)
        self.hpda, self.maxr2t, self.maxh2cdata = hpda, maxr2t, resp.maxh2cdata
        return resp

    def next_term(self):
        """The next TermReq; what was on its way before it is passed over."""
        while True:
            pdu = self.recv()
            if pdu.type == C2H_TERM:
                return pdu

    def expect_term(self, faults, offender=None, skip=False):
        """
        A C2HTermReq with one of `faults`, (fes, fei) pairs with fei None for any, that
        quotes `offender`; then nothing more, and the end.  `skip`: answers to what was
        sent before the offender may come first.
        """
        pdu = self.next_term() if skip else self.expect(C2H_TERM)
        faults = [faults] if isinstance(faults, tuple) else faults
        require(any(fes == pdu.fes and fei in (None, pdu.fei) for fes, fei in faults),
                "TermReq with FES %d FEI %d instead of %s", pdu.fes, pdu.fei, faults)
        require(pdu.header[14:24] == bytes(10), "TermReq: reserved bytes set")
        if pdu.fes in (2, 4, 5):
            require(pdu.fei == 0, "TermReq: FES %d has no FEI, it is %d", pdu.fes, pdu.fei)
        if offender is not None:
            self._check_quote(pdu, offender)
        self.finish()
        self.expect_close()
        return pdu

    @staticmethod
    def _check_quote(pdu, offender):
        hlen, plen = offender[2], struct.unpack_from("<I", offender, 4)[0]
        full = min(hlen, 128) if 8 <= hlen <= plen else 8
        require(pdu.data == offender[:len(pdu.data)], "TermReq quotes %s, not the offender's %s",
                pdu.data.hex(), offender[:len(pdu.data)].hex())
        # A fault within the first eight bytes may be judged before more of it was received.
        least = 8 if pdu.fes == 1 and pdu.fei < 8 else full
        require(min(least, full) <= len(pdu.data) <= 128, "TermReq quotes %d bytes of %d",
                len(pdu.data), full)

    def expect_close(self, within=None):
        """The end of the stream, and not a byte before it."""
        began = time.monotonic()
        if within is not None:
            self.sock.settimeout(within)
        try:
            got = self.sock.recv(256)
        except ConnectionError:
            got = b""
        except socket.timeout:
            raise Violation("not closed within %.1f s" % (time.monotonic() - began))
        require(got == b"", "%s came where the connection should have ended", got.hex())
        return time.monotonic() - began
