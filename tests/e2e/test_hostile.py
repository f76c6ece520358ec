"""Peers that stall, trickle or never read: bounded memory, an end in time, and nobody else notices."""
import contextlib
import os
import random
import select
import signal
import socket
import threading
import time

import pytest

import nvme
import target as targets
from nvmetcp import PATIENCE, Conn, Stopwatch, capsule, h2cdata, icreq, patch

BLOCK = 4096
MIB = 1 << 20
CONNECT = capsule(nvme.connect_sqe(), nvme.connect_data())


class Others:
    """A host whose I/O goes on; each step proves that it is served."""

    def __init__(self, target):
        self.hostid = b"\1" * 16
        self.ctrl = nvme.Controller(target.address, hostid=self.hostid, timeout=30 * PATIENCE)
        self.queue = self.ctrl.io_queue()
        self.slowest = 0.0

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.ctrl.close()

    def step(self):
        data = os.urandom(16 * BLOCK)
        with Stopwatch() as took:
            assert self.queue.write(4096, data).ok
            assert bytes(self.queue.read(4096, 16).got) == data
        self.slowest = max(self.slowest, took.seconds)

    def until(self, condition, seconds=20 * PATIENCE):
        deadline = time.monotonic() + seconds
        while not condition():
            self.step()
            assert time.monotonic() < deadline, "not reached"
        assert self.slowest < 1 * PATIENCE, "the others waited %.2f s" % self.slowest


@pytest.fixture
def tried(serve):
    """A target with short limits, and its well-behaved host."""
    target = serve("--stall-timeout", "300", "--handshake-timeout", "300")
    with Others(target) as others:
        others.step()
        yield target, others
        others.step()
    target.no_connections()


def gone(conn):
    """Whether the target has closed it; takes what it sent on the way."""
    while select.select([conn.sock], [], [], 0)[0]:
        try:
            if not conn.sock.recv(1 << 20):
                return True
        except ConnectionError:
            return True
    return False


def stalled_writer(address):
    ctrl = nvme.Controller(address)
    queue = ctrl.io_queue()
    queue.serve_r2ts = False
    request = queue.submit_write(0, bytes(64 * BLOCK))
    while not request.r2ts:
        queue.step()
    return ctrl, queue, request


@pytest.mark.line("C11", "C12", "P09")
def test_a_peer_that_stalls_in_each_state(tried):
    """every one of them is closed in time"""
    target, others = tried
    conns = []
    for said in (b"", icreq()[:50], icreq(), icreq() + CONNECT[:30], icreq() + CONNECT[:500]):
        conn = Conn(target.address)
        conn.send(said[:128])
        if len(said) >= 128:
            conn.handshaken()
            conn.send(said[128:])
        conns.append(conn)
    ctrl, queue, request = stalled_writer(target.address)
    conns.append(queue.conn)  # never any data
    ctrl2, queue2, request2 = stalled_writer(target.address)
    ttag, _, length = request2.r2ts[0]
    queue2.conn.send(h2cdata(request2.cid, ttag, 0, bytes(length))[:5000])  # the middle of its data
    conns.append(queue2.conn)
    ctrl3 = nvme.Controller(target.address)
    ctrl3.admin.conn.send(capsule(nvme.sqe(0x06))[:40])
    conns.append(ctrl3.admin.conn)
    waiting = set(conns)
    others.until(lambda: not [waiting.discard(c) for c in list(waiting) if gone(c)] and not waiting)
    assert ctrl.keep_alive().ok and ctrl2.keep_alive().ok, "only the stalled queue went"
    for c in conns + [ctrl, ctrl2, ctrl3]:
        c.close()


def test_half_a_command_that_came_along_with_the_connect(tried):
    """it is the last that is heard of that queue, and of its controller's admin queue"""
    target, others = tried
    with nvme.Controller(target.address) as ctrl:
        conns = [Conn(target.address), Conn(target.address)]
        for qid, conn in enumerate(conns):
            conn.handshake()
            queue = nvme.Queue(conn, 32, True)
            connect = queue.submit_raw(nvme.connect_sqe(qid=qid), nvme.connect_data(
                ctrl.cntlid if qid else 0xFFFF, hostnqn=nvme.HOSTNQN), incapsule=True, send=False)
            conn.send(connect.capsule + capsule(nvme.sqe(0))[:40])
            assert queue.wait(connect).ok
        others.until(lambda: all([gone(conn) for conn in conns]))
        for conn in conns:
            conn.close()


@pytest.mark.line("C11", "W25")
def test_trickling_a_handshake_does_not_stretch_its_limit(tried):
    """a byte now and then is no progress"""
    target, others = tried
    with Conn(target.address) as conn:
        began = time.monotonic()
        sent = [0]

        def trickle():
            if gone(conn):
                return True
            if sent[0] < 100:
                try:
                    conn.send(icreq()[sent[0]:sent[0] + 1])
                except ConnectionError:
                    return True
                sent[0] += 1
                conn.sock.settimeout(5)
            return False
        others.until(trickle)
        assert time.monotonic() - began < 3 * PATIENCE


@pytest.mark.line("P09", "W25")
def test_trickling_a_capsule_is_timed_out(tried):
    """one byte per turn of the others; a PDU has to arrive whole in time"""
    target, others = tried
    with nvme.Controller(target.address) as ctrl:
        queue = ctrl.io_queue()
        request = queue.submit_write(0, bytes(8192), send=False)
        at = [0]

        def trickle():
            if gone(queue.conn):
                return True
            try:
                queue.conn.send(request.capsule[at[0]:at[0] + 1])
            except ConnectionError:
                return True
            at[0] += 1
            return False
        others.until(trickle)
        assert at[0] < len(request.capsule)


def until_gone(target, others, conns):
    """Others' I/O goes on until all of the connections are closed; the most memory taken meanwhile."""
    waiting, most = set(conns), 0
    deadline = time.monotonic() + 30 * PATIENCE
    while waiting:
        others.step()
        most = max(most, target.rss_kib())
        waiting = {c for c in waiting if not gone(c)}
        assert time.monotonic() < deadline, "%d are still there" % len(waiting)
    return most


@pytest.mark.line("W26")
def test_many_writers_that_never_send_their_data(tried):
    """An R2T is sent when its buffers are there; who holds them without use must not make others wait long"""
    target, others = tried
    before = target.rss_kib()
    with contextlib.ExitStack() as stack:
        hogs = []
        for _ in range(20):
            ctrl = stack.enter_context(nvme.Controller(target.address))
            queue = ctrl.io_queue()
            queue.serve_r2ts = False
            for _ in range(64):
                queue.submit_write(0, bytes(MIB))
            hogs.append(queue.conn)
        most = until_gone(target, others, hogs)
    assert most - before < 64 * 1024
    # Most buffers may be theirs for one stall limit (0.3 s), but not one limit for each of them.
    assert others.slowest < 1.2 * PATIENCE, "the others waited %.2f s" % others.slowest


@pytest.mark.parametrize("ns", ["mem:64M", "null:1T", "file:{dir}/v.img,size=64M"],
                         ids=["mem", "null", "file"])
@pytest.mark.line("W27")
def test_peers_that_never_read_their_answers(serve, tmp_path, ns):
    """Memory is bounded, they are closed in time, the others are served meanwhile"""
    target = serve("--stall-timeout", "300", ns=["mem:64M", ns.format(dir=tmp_path)])
    with Others(target) as others, contextlib.ExitStack() as stack:
        assert others.queue.write(0, bytes(MIB)).ok
        before = target.rss_kib()
        hogs, controllers = [], []
        for _ in range(10):
            ctrl = stack.enter_context(nvme.Controller(target.address))
            queue = ctrl.io_queue(rcvbuf=4096)
            with contextlib.suppress(ConnectionError):  # it is closed in time, though it has not asked for all yet
                for n in range(100):
                    queue.submit_read(0, 256, nsid=2)
            hogs.append(queue)
            controllers.append(ctrl)
        # Ten admin queues, ten I/O queues and the others' two: until the ten have gone.
        most, deadline = 0, time.monotonic() + 30 * PATIENCE
        while target.stats()["connections"] > 12:
            others.step()
            most = max(most, target.rss_kib())
            assert time.monotonic() < deadline
        assert max(most, target.rss_kib()) - before < 96 * 1024
        assert others.slowest < 1.2 * PATIENCE, "the others waited %.2f s" % others.slowest
        assert all(ctrl.keep_alive().ok for ctrl in controllers)


@pytest.mark.parametrize("ns", ["mem:64M", "file:{dir}/v.img,size=64M"], ids=["mem", "file"])
@pytest.mark.parametrize("takes, rude", [(0, False), (16384, False), (0, True)], ids=["nothing", "a little", "rude"])
@pytest.mark.line("W27")
def test_peers_that_take_a_read_in_part(serve, tmp_path, ns, takes, rude):
    """
    What it lies in comes back when others wait for it, long before the stall time, which they stretch by a little; also
    where a TermReq is to follow what is half sent.
    """
    target = serve("--stall-timeout", "30000", ns=[ns.format(dir=tmp_path)])
    with Others(target) as others, contextlib.ExitStack() as stack:
        others.step()
        hogs = []
        for _ in range(20):
            queue = stack.enter_context(nvme.Controller(target.address)).io_queue(rcvbuf=4096)
            for n in range(4):
                queue.submit_read(0, MIB // BLOCK, nsid=1)
            hogs.append(queue.conn.sock)
        stop = threading.Event()

        def sip():
            while not stop.wait(1):
                for sock in hogs if takes else ():
                    with contextlib.suppress(OSError):
                        sock.recv(takes, socket.MSG_DONTWAIT)

        stack.callback(stop.set)
        threading.Thread(target=sip, daemon=True).start()
        target.until("they have what there is", lambda s: s["reads"] >= 8)
        for sock in hogs if rude else ():
            sock.sendall(b"\xff\0\x08\0\x08\0\0\0")
        others.step()
        assert others.slowest < 16 * PATIENCE, "the others waited %.2f s" % others.slowest


@pytest.mark.line("W29")
def test_who_kept_blocks_from_a_writer_is_lent_none_on_other_connections(serve):
    """There is room to copy some of what they do not take: the others are closed, and when they return wait for room"""
    target = serve("--stall-timeout", "30000", ns=["mem:64M"])
    with Others(target) as others, nvme.Controller(target.address, hostid=b"\2" * 16) as ctrl:
        ctrl.grant(40)

        def deaf(qid):
            queue = ctrl.io_queue(qid, rcvbuf=4096)
            for _ in range(4):
                queue.submit_read(0, MIB // BLOCK, nsid=1)

        for qid in range(1, 21):
            deaf(qid)
        assert others.queue.write(0, bytes(MIB)).ok
        before = target.stats()["connections"]
        assert before < 23, "nobody was closed"
        for qid in range(21, 31):
            deaf(qid)
            assert others.queue.write(0, bytes(MIB)).ok
        assert target.stats()["connections"] == before + 10


@pytest.mark.parametrize("hosts, seconds", [(1, 2), (64, 8)], ids=["of one host", "each of a host of its own"])
@pytest.mark.line("W27")
def test_who_reads_is_not_kept_waiting_by_many_who_do_not(serve, tmp_path, hosts, seconds):
    """Eight of them have what there is for a volume, each for 5 s at most, and so would keep others waiting for 40 s"""
    target = serve("--stall-timeout", "60000", ns=["file:%s/v.img,size=64M" % tmp_path])
    with Others(target) as others, contextlib.ExitStack() as stack:
        for _ in range(100):
            others.step()
        others.slowest = 0.0
        for n in range(64):
            ctrl = stack.enter_context(nvme.Controller(target.address, hostid=b"\2%015d" % (n % hosts)))
            queue = ctrl.io_queue(rcvbuf=4096)
            for _ in range(4):
                queue.submit_read(0, MIB // BLOCK)
        target.until("they have what there is", lambda s: s["reads"] >= 100 + 3 * (4 if hosts == 1 else 8))
        for _ in range(50):
            others.step()
        assert others.slowest < seconds * PATIENCE, "the others waited %.2f s" % others.slowest


def deaf_reader(target, ctrl, reads, nsid=1, fill=40):
    """
    A queue that fills its socket with reads of 128 KiB, and then has 4 of 2304 small pieces for each of `reads`: a
    volume has half of those that are left, and a host half of that.  All is read when this returns.
    """
    deaf = ctrl.io_queue(len(ctrl.queues), 1024, rcvbuf=4096, sq_flow=False)
    before = target.stats()["reads"]
    for cids, blocks in ((range(fill), 32), (range(fill, fill + reads), 8)):
        deaf.conn.sock.sendall(b"".join(capsule(nvme.sqe(
            2, cid=cid, nsid=nsid, sgl1=nvme.sgl(0x5A, blocks * BLOCK), cdw12=blocks - 1)) for cid in cids))
        target.until("all is read", lambda s: s["reads"] == before + cids.stop)
    return deaf


def test_memory_of_answers_that_are_not_taken_is_there_when_others_need_it(serve, tmp_path):
    """though nothing had happened for a while when they asked for it"""
    target = serve("--stall-timeout", "30000", ns=["file:%s/v.img,size=64M" % tmp_path])
    with Others(target) as others, nvme.Controller(target.address, hostid=others.hostid) as ctrl:
        for _ in range(20):
            others.step()
        deaf = deaf_reader(target, ctrl, 144)
        for _ in range(100):
            assert ctrl.keep_alive().ok
        began = time.monotonic()
        assert others.queue.read(0, 8).ok
        others.step()
        assert time.monotonic() - began < 1 * PATIENCE
        deaf.close()


@pytest.mark.parametrize("pad", [4, 228])
def test_data_behind_padding_where_buffers_are_short(serve, tmp_path, pad):
    """Of a peer that does not read: then PDUs are received piece by piece, and the piece at hand may be 1 MiB"""
    target = serve("--stall-timeout", "30000", ns=["file:%s/%d.img,size=64M" % (tmp_path, n) for n in range(6)])
    with nvme.Controller(target.address) as ctrl:
        queue = ctrl.io_queue()
        for _ in range(40):  # the kernel's receive buffer grows with what comes
            assert queue.write(0, os.urandom(MIB)).ok
        deaf = [deaf_reader(target, ctrl, reads, nsid=nsid, fill=30)
                for nsid, reads in zip(range(2, 7), (144, 108, 81, 60, 45))]
        assert queue.read(0).ok
        queue.serve_r2ts = False
        request = queue.submit_write(0, os.urandom(MIB))
        while not request.r2ts:
            queue.step()
        ttag, at, length = request.r2ts.pop()
        assert (at, length) == (0, MIB)
        targets.hold(target.pid)  # so that much of it is there at once
        threading.Timer(0.3, os.kill, (target.pid, signal.SIGCONT)).start()
        queue.conn.send(h2cdata(request.cid, ttag, 0, request.data, pad=bytes(pad)))
        assert queue.wait(request).ok
        assert bytes(queue.read(0, 256).got) == request.data
        for each in deaf:
            each.close()


@pytest.mark.line("W28")
def test_a_peer_that_reads_slowly_gets_everything(serve):
    """A slow reader makes progress: it is not closed, and what was lent to it does not change"""
    target = serve("--stall-timeout", "1000")
    with Others(target) as others, nvme.Controller(target.address) as ctrl:
        queue = ctrl.io_queue()
        old = os.urandom(MIB)
        assert others.queue.write(0, old).ok
        requests = [queue.submit_read(0, 256) for _ in range(32)]
        while not all(request.done for request in requests):
            queue.step()
            others.step()
        assert all(request.ok and request.got == old for request in requests)


@pytest.mark.line("W29", "W44")
def test_a_write_over_a_lent_range_waits_a_bounded_time(serve):
    """House rule: one logical block is all old or all new, and a peer that does not read holds nobody up"""
    target = serve("--stall-timeout", "5000")
    with Others(target) as others, nvme.Controller(target.address) as ctrl:
        queue = ctrl.io_queue()
        old, new = b"\x11" * MIB, b"\x22" * MIB
        assert others.queue.write(0, old).ok
        requests = [queue.submit_read(0, 256) for _ in range(14)]
        began = time.monotonic()
        assert others.queue.write(0, new).ok
        assert time.monotonic() - began < 1 * PATIENCE
        queue.wait(*requests)
        for r in requests:
            for at in range(0, MIB, BLOCK):
                assert bytes(r.got[at:at + BLOCK]) in (old[:BLOCK], new[:BLOCK]), "a torn block"
        assert bytes(queue.read(0, 256).got) == new


@pytest.mark.line("W29")
def test_a_write_over_what_is_half_sent_waits_a_bounded_time_without_a_free_buffer(serve):
    """
    Of 256 large buffers 48 are kept for data that a host was asked for, and 13 deaf peers have the rest, 16 each: what
    the others took half of cannot be kept for them, and they are closed after a second.
    """
    target = serve("--stall-timeout", "60000")
    with contextlib.ExitStack() as stack:
        def queue(**how):
            return stack.enter_context(nvme.Controller(target.address)).io_queue(**how)

        writer = queue()
        assert writer.write(0, bytes(MIB)).ok
        for _ in range(3):
            hog = queue()
            hog.serve_r2ts = False
            hog.submit_write(1024, bytes(MIB))
        for _ in range(15):
            deaf = queue(rcvbuf=4096)
            for _ in range(4):
                deaf.submit_read(0, 256)
        deadline = time.monotonic() + 20 * PATIENCE
        while target.stats()["connections"] == 38: # the admin queues of all, and an I/O queue each
            assert writer.write(0, b"\x22" * BLOCK).ok
            assert time.monotonic() < deadline
        assert "takes too long over a read" in target.stderr()
        assert bytes(writer.read(0).got) == b"\x22" * BLOCK


@pytest.mark.line("W32")
def test_hundreds_of_idle_connections(serve):
    """Each costs bounded memory: at most 64 KiB with a queue of 128 entries"""
    target = serve()
    with nvme.Controller(target.address) as ctrl:
        granted = ctrl.grant(128)
        before = target.rss_kib()
        controllers, queues = [ctrl], []
        while len(queues) < 500:
            if len(controllers[-1].queues) > granted:
                controllers.append(nvme.Controller(target.address))
                granted = controllers[-1].grant(128)
            queues.append(controllers[-1].io_queue(len(controllers[-1].queues), entries=128))
        each = (target.rss_kib() - before) / len(queues)
        assert each < 64, "%.1f KiB" % each
        assert all(q.read(0).ok for q in queues[::50])
        for c in controllers[1:]:
            c.close()


@pytest.mark.line("W12")
def test_rubbish_of_every_kind(tried):
    """No byte sequence harms anyone else"""
    target, others = tried
    rng = random.Random(20260)
    good = [icreq(), CONNECT, capsule(nvme.sqe(0x06, sgl1=nvme.sgl(0x5A, 4096), cdw10=1)),
            capsule(nvme.sqe(0x01, nsid=1, sgl1=nvme.sgl(1, BLOCK)), bytes(BLOCK)), h2cdata(0, 0, 0, bytes(64))]
    for _ in range(300):
        with Conn(target.address) as conn:
            data = b""
            for part in rng.sample(good, rng.randint(1, 5)):
                at = rng.randrange(min(len(part), 80))
                data += patch(part, at, rng.randrange(256)) if rng.random() < 0.6 else part
            if rng.random() < 0.3:
                data = icreq() + rng.randbytes(rng.randint(1, 500))
            try:
                if rng.random() < 0.8:
                    conn.send(icreq())
                conn.send(data)
            except ConnectionError:
                pass
            if rng.random() < 0.3:
                conn.reset()
        if rng.random() < 0.1:
            others.step()


@pytest.mark.line("W13")
def test_rubbish_on_live_queues(tried):
    """Mutated commands on connected queues: any status, any TermReq, never a crash"""
    target, others = tried
    rng = random.Random(20261)
    for _ in range(60):
        with nvme.Controller(target.address) as ctrl:
            queue = ctrl.io_queue()
            q = queue if rng.random() < 0.7 else ctrl.admin
            for _ in range(20):
                sqe = bytearray(nvme.sqe(rng.choice((0, 1, 2, 8, 9, 6, 0x0A, 0x7F)), nsid=1,
                                         sgl1=nvme.sgl(0x5A, rng.choice((0, 512, 4096, MIB)))))
                for _ in range(rng.randint(0, 4)):
                    sqe[rng.randrange(64)] = rng.randrange(256)
                try:
                    q.conn.send(capsule(bytes(sqe)))
                except ConnectionError:
                    break
        others.step()
