"""Serving what a configuration says, and another one while hosts are connected."""
import contextlib
import os
import signal
import socket
import struct
import threading

import pytest

import nvme
import target as targets
from nvme import INVALID_NS, LBA_RANGE
from nvmetcp import PATIENCE, Conn
from test_serve import handed

NQN = "nqn.2026-11.example:live"
BLOCK = 4096
WRITE_PROTECTED = 0x020
NS_NOTICE, ANA_NOTICE, DISCOVERY_NOTICE = 0x040002, 0x0C0302, 0x70F002  # DW0 of an event


class Live:
    """A target with a configuration that the test changes."""

    def __init__(self, daemon, path, control):
        self.daemon, self.path, self.control = daemon, path, control

    def address(self, n=0):
        return self.daemon.addresses[n]

    def apply(self, text):
        with open(self.path, "w") as f:
            f.write(text)
        return targets.run("apply", "--control", self.control, self.path)

    def applied(self, text):
        done = self.apply(text)
        assert done.returncode == 0, done.stderr
        return done.stdout


def namespace(nsid, volume="mem", size="16M", **more):
    lines = ["      - nsid: %d" % nsid, "        volume: %s" % volume, "        size: %s" % size]
    return "\n".join(lines + ["        %s: %s" % pair for pair in more.items()]) + "\n"


def conf(*namespaces, hosts=None, listeners=("a",), groups="", nqn=NQN, top=""):
    text = top + "listeners:\n"
    for name in listeners:
        text += "  - {name: %s, address: \"127.0.0.1:0\"}\n" % name
    text += "subsystems:\n  - nqn: %s\n" % nqn
    if hosts is not None:
        text += "    hosts: [%s]\n" % ", ".join(hosts)
    text += groups
    return text + "    namespaces:\n" + "".join(namespaces) if namespaces else text


@pytest.fixture
def live(serve, tmp_path):
    def start(text, *args, **how):
        path, control = str(tmp_path / "weir.yaml"), str(tmp_path / "control")
        with open(path, "w") as f:
            f.write(text)
        return Live(serve("--control", control, *args, config=path, **how), path, control)
    return start


def listening(*addresses, hosts=None):
    """a configuration with these listeners, each with its address for a name"""
    text = "listeners:\n" + "".join("  - address: \"%s:%d\"\n" % address for address in addresses)
    return text + "subsystems:" + conf(namespace(1), hosts=hosts).split("subsystems:")[1]


def connect(live, n=0, **how):
    return nvme.Controller(live.address(n), subnqn=NQN, **how)


def alive(ctrl):
    assert ctrl.keep_alive().ok


def active(ctrl):
    listed = ctrl.identified(2)
    return [v for v in struct.unpack("<1024I", listed) if v]


def changed(ctrl, rae=False):
    return [v for v in struct.unpack("<1024I", bytes(ctrl.log(4, 4096, rae=rae).got)) if v]


def watch(ctrl):
    """An event request, with namespace and ANA notices on."""
    assert ctrl.set_feature(0x0B, 0x900).ok
    return ctrl.admin.submit(nvme.sqe(0x0C))


def event(ctrl, held):
    return ctrl.admin.wait(held).dw0


@pytest.mark.line("I12")
def test_namespaces_come_and_go(live):
    """the event, page 04h, the list; the new one takes I/O, the old one none"""
    target = live(conf(namespace(1)))
    with connect(target) as ctrl:
        queue = ctrl.io_queue()
        assert active(ctrl) == [1]
        held = watch(ctrl)
        target.applied(conf(namespace(1), namespace(7, size="32M")))
        assert event(ctrl, held) == NS_NOTICE
        assert changed(ctrl, rae=True) == [7] and changed(ctrl) == [7] and changed(ctrl) == []
        assert active(ctrl) == [1, 7]
        data = os.urandom(BLOCK)
        assert queue.write(5, data, nsid=7).ok and bytes(queue.read(5, nsid=7).got) == data
        held = watch(ctrl)
        target.applied(conf(namespace(7, size="32M")))
        assert event(ctrl, held) == NS_NOTICE
        assert changed(ctrl) == [1] and active(ctrl) == [7]
        assert queue.read(0, nsid=1).status == INVALID_NS
        assert bytes(queue.read(5, nsid=7).got) == data, "its volume is the one it was"


@pytest.mark.line("I12", "O19")
@pytest.mark.parametrize("kind", ["file", "null", "mem", "volatile:@mem", "volatile:keep=64K@file"])
def test_namespaces_grow_and_shrink(live, tmp_path, kind):
    """the event, the new size; beyond it 0:80; what was there is there"""
    volume = kind.replace("file", "file:%s/v.img" % tmp_path)
    target = live(conf(namespace(1, volume, "16M")))
    with connect(target) as ctrl:
        queue = ctrl.io_queue()
        data = os.urandom(BLOCK)
        assert queue.write(0, data).ok
        for size, blocks in (("32M", 8192), ("8M", 2048), ("64M", 16384)):
            held = watch(ctrl)
            target.applied(conf(namespace(1, volume, size)))
            assert event(ctrl, held) == NS_NOTICE and changed(ctrl) == [1]
            assert struct.unpack_from("<Q", ctrl.identified(0, 1))[0] == blocks
            assert queue.write(blocks - 1, data).ok and queue.read(blocks - 1).ok
            assert queue.read(blocks).status == LBA_RANGE and queue.write(blocks, data).status == LBA_RANGE
        if kind != "null":
            assert all(bytes(queue.read(n).got) == data for n in (0, 8191)), "nothing was cut, only out of reach"


@pytest.mark.line("O19")
def test_a_write_that_was_asked_for_its_data_before_its_blocks_went(live):
    """0:80, and what is there when they come back is what was there"""
    target = live(conf(namespace(1)))
    with connect(target) as ctrl:
        queue = ctrl.io_queue()
        queue.serve_r2ts = False
        late = queue.submit_write(2047, b"x" * 2 * BLOCK, incapsule=False)
        while not late.r2ts:
            queue.step()
        target.applied(conf(namespace(1, size="8M")))
        queue.send_data(late)
        assert queue.wait(late).status == LBA_RANGE and late.dnr
        target.applied(conf(namespace(1)))
        assert bytes(queue.read(2047, 2).got) == bytes(2 * BLOCK)


@pytest.mark.line("O19")
@pytest.mark.parametrize("volume", ["mem", "volatile:@mem"])
def test_memory_grows_under_what_uses_it_on_every_core(live, volume):
    """reads and writes of eight queues on two threads go on, and those of the new blocks begin"""
    target = live(conf(namespace(1, volume, "1M")), "--reactors", "2")
    with connect(target) as ctrl:
        queues = [ctrl.io_queue(qid) for qid in range(1, 9)]
        owned = {queue: 16 * n for n, queue in enumerate(queues)}  # blocks that this one alone writes
        holds = {}
        for mib in (1, 2, 4, 8, 16):
            if mib > 1:
                held = [(q, q.submit_read(owned[q], 16), holds[q]) for q in queues for _ in range(8)]
                target.applied(conf(namespace(1, volume, "%dM" % mib)))
                for queue, request, data in held:
                    assert queue.wait(request).ok and bytes(request.got) == data
            end = mib * 256
            for queue in queues:
                data = holds[queue] = os.urandom(16 * BLOCK)
                at = end - 128 + owned[queue]
                writes = [queue.submit_write(lba, data) for lba in {owned[queue], at}]
                assert all(queue.wait(w).ok for w in writes) and bytes(queue.read(at, 16).got) == data
            assert all(bytes(q.read(owned[q], 16).got) == holds[q] for q in reversed(queues))
            assert queues[0].read(end).status == LBA_RANGE


@pytest.mark.parametrize("volume", ["mem", "volatile:@mem", "fault:delay=1@mem"])
def test_a_volume_that_cannot_grow_so_far_is_refused_and_nothing_changes(live, volume):
    target = live(conf(namespace(1, volume, "1M")))
    with connect(target) as ctrl:
        for size, blocks in (("17M", 256), ("16M", 4096), ("17M", 4096)):
            done = target.apply(conf(namespace(1, volume, size), namespace(2)))
            assert (done.returncode == 1 and "cannot grow so far" in done.stderr) == (size == "17M")
            assert active(ctrl) == ([1, 2] if blocks == 4096 else [1])
            assert struct.unpack_from("<Q", ctrl.identified(0, 1))[0] == blocks


@pytest.mark.line("O17")
def test_a_namespace_that_nobody_may_write(live):
    """0:20 for what changes blocks, and they stay; reads go on; the event"""
    target = live(conf(namespace(1)))
    with connect(target) as ctrl:
        queue = ctrl.io_queue()
        data = os.urandom(BLOCK)
        assert queue.write(3, data).ok
        held = watch(ctrl)
        target.applied(conf(namespace(1, write_protected="true")))
        assert event(ctrl, held) == NS_NOTICE
        assert ctrl.identified(0, 1)[99] & 1
        refused = queue.write(3, bytes(BLOCK))
        assert refused.status == WRITE_PROTECTED and refused.dnr
        assert queue.write_zeroes(3, 1).status == WRITE_PROTECTED
        assert queue.deallocate([(3, 1)]).status == WRITE_PROTECTED
        assert queue.call(nvme.sqe(0x19, nsid=1, cdw10=3), struct.pack("<QQH14x", 0, 9, 0)).status == WRITE_PROTECTED
        assert bytes(queue.read(3).got) == data and queue.flush().ok
        target.applied(conf(namespace(1)))
        assert queue.write(3, bytes(BLOCK)).ok


def test_listeners_come_and_go(live):
    """a new one is served at once; connections through one that went are closed, others live"""
    target = live(conf(namespace(1)))
    with connect(target) as ctrl:
        text = conf(namespace(1), listeners="ab")
        port = free_port()
        text = text.replace('name: b, address: "127.0.0.1:0"', 'name: b, address: "127.0.0.1:%d"' % port)
        target.applied(text)
        with nvme.Controller(("127.0.0.1", port), subnqn=NQN) as other:
            queue = other.io_queue()
            assert queue.read(0).ok
            target.applied(conf(namespace(1)))
            queue.conn.expect_close()
            other.admin.conn.expect_close()
        with pytest.raises(OSError):
            Conn(("127.0.0.1", port))
        assert ctrl.keep_alive().ok and ctrl.io_queue().read(0).ok


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def test_an_address_in_use_is_refused_and_nothing_changes(live):
    target = live(conf(namespace(1)))
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        s.listen()
        text = conf(namespace(1), namespace(2), listeners="ab").replace(
            'name: b, address: "127.0.0.1:0"', 'name: b, address: "127.0.0.1:%d"' % s.getsockname()[1])
        done = target.apply(text)
        assert done.returncode == 1 and "cannot listen on 127.0.0.1" in done.stderr
    with connect(target) as ctrl:
        assert active(ctrl) == [1]


def test_a_socket_that_was_handed_over_is_used_once(live):
    """its number is a connection's later, which is not taken for the listener: not even at that address"""
    with socket.create_server(("127.0.0.1", 0)) as sock, socket.create_server(("127.0.0.1", 0)) as free:
        one, other = sock.getsockname(), free.getsockname()
        free.close()
        target = live(listening(one, other), **handed(sock))
    target.applied(listening(other))
    target.applied(listening(other, ("0.0.0.0", one[1])))
    hosts = [nvme.Controller(one, subnqn=NQN) for _ in range(4)]
    assert os.readlink("/proc/%d/fd/3" % target.daemon.pid).startswith("socket:")
    done = target.apply(listening(other, one))
    assert done.returncode == 1 and "is listened on" in done.stderr, "the address of all is in the way"
    assert all(host.keep_alive().ok for host in hosts)
    target.applied(listening(other))
    target.applied(listening(other, one))
    with nvme.Controller(one, subnqn=NQN) as ctrl:
        assert active(ctrl) == [1]


@pytest.mark.parametrize("text, words", [
    (conf(namespace(1), namespace(1)), "weir.yaml:9: "),
    ("listeners: []\n", "weir.yaml:1: "),
    (conf(namespace(1, "file:/nowhere/at/all.img")), "/nowhere/at/all.img"),
    (conf(namespace(1), top="state_dir: /tmp/elsewhere\n"), "restart"),
])
def test_what_cannot_be_is_refused_in_words(live, text, words):
    target = live(conf(namespace(3)))
    done = target.apply(text)
    assert done.returncode == 1 and words in done.stderr and done.stdout == ""
    with connect(target) as ctrl:
        assert active(ctrl) == [3]


def test_what_opens_to_every_host_of_the_network_is_warned_of(live):
    """at the start and later, when it opens and not again"""
    here, everywhere = ("127.0.0.1", 0), ("0.0.0.0", 0)
    target = live(listening(here))
    for text, opens in ((listening(here, everywhere), 1), (listening(everywhere, ("127.0.0.2", 0)), 0),
                        (listening(everywhere, hosts=[nvme.HOSTNQN]), 0), (listening(everywhere), 1)):
        before = target.daemon.stderr().count("every host is allowed")
        target.applied(text)
        assert target.daemon.stderr().count("0.0.0.0 is reachable") == before + opens, text
    target.daemon.stop()
    assert "0.0.0.0 is reachable from the network, and every host is" in live(listening(everywhere)).daemon.stderr()


def test_sighup_reads_the_file_again(live):
    target = live(conf(namespace(1)))
    with connect(target) as ctrl:
        held = watch(ctrl)
        with open(target.path, "w") as f:
            f.write("nonsense")
        target.daemon.process.send_signal(signal.SIGHUP)
        with open(target.path + "2", "w") as f:
            f.write(conf(namespace(1), namespace(2)))
        targets.until("the refusal", lambda: "nothing has changed" in target.daemon.stderr(), lambda: alive(ctrl))
        os.rename(target.path + "2", target.path)
        target.daemon.process.send_signal(signal.SIGHUP)
        assert event(ctrl, held) == NS_NOTICE and active(ctrl) == [1, 2]
    assert "weir.yaml:1: " in target.daemon.stderr()


def test_a_file_is_not_read_again_while_the_target_stops(live):
    """as long as it waits for what is in flight; what was being applied is said in full"""
    slow = namespace(1, "fault:delay=%d@mem" % (800 * PATIENCE))  # of the 900 that it has to stop
    target = live(conf(slow))
    target.applied(conf(slow, namespace(2)))
    with connect(target) as ctrl:
        ctrl.io_queue().submit_read(0, 1)
        ctrl.io_queue(qid=2).submit_read(0, 1)
        target.daemon.until("all connected", lambda stats: stats["connections"] >= 3)
        with open(target.path, "w") as f:
            f.write(conf(slow, namespace(3)))
        target.daemon.process.send_signal(signal.SIGTERM)
        with contextlib.suppress(ConnectionResetError):  # half a second later, before the I/O is over
            while ctrl.admin.conn.sock.recv(65536):
                pass
        target.daemon.process.send_signal(signal.SIGHUP)
        assert target.daemon.process.wait(targets.STOP_S * 2) == 0
        target.daemon.stopped = True
    assert "SIGHUP: " in target.daemon.stderr() and "namespace 3" not in target.daemon.stderr()


def test_a_file_is_not_read_again_where_a_stop_is_asked_for_right_after_it(live):
    target = live(conf(namespace(1)))
    with open(target.path, "w") as f:
        f.write(conf(namespace(1), namespace(2)))
    for signum in (signal.SIGSTOP, signal.SIGHUP, signal.SIGTERM, signal.SIGCONT):
        target.daemon.process.send_signal(signum)
    assert target.daemon.process.wait(targets.STOP_S * 2) == 0
    target.daemon.stopped = True
    assert target.daemon.stderr() == "weir: SIGHUP: the configuration is not read again: the target is stopping\n"


def test_a_running_target_says_what_another_file_would_change(live, tmp_path):
    target = live(conf(namespace(1)))
    other = str(tmp_path / "other")
    with open(other, "w") as f:
        f.write(conf(namespace(1), namespace(2)))
    done = targets.run("diff", "--control", target.control, other)
    assert done.returncode == 1 and done.stdout.startswith("+ namespace 2 of " + NQN), done
    target.applied(conf(namespace(1), namespace(2)))
    done = targets.run("diff", "--control", target.control, other)
    assert (done.returncode, done.stdout) == (0, "")
    done = targets.run("diff", "--control", target.control + "x", other)
    assert done.returncode == 2 and "no target answers at" in done.stderr


def test_the_control_socket_is_for_its_owner(live):
    target = live(conf(namespace(1)))
    assert os.stat(target.control).st_mode & 0o777 == 0o600
    for question in (b"", b"what\n", b"x" * 100000, b"apply\n\0\0", b"apply"):
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(target.control)
            s.sendall(question)
            s.shutdown(socket.SHUT_WR)
            answer = b"".join(iter(lambda: s.recv(65536), b""))
            assert answer.startswith(b"error\n") and len(answer) > 7, question[:10]
    assert target.applied(conf(namespace(1))) == "nothing has changed\n"


def test_who_asks_while_eight_others_do_is_told_that_nothing_was_done(live):
    target = live(conf(namespace(1)))
    others = [socket.socket(socket.AF_UNIX) for _ in range(8)]
    for other in others:
        other.connect(target.control)
    # Small, and more than a socket takes before anybody reads it.
    for more in ("", "# %s\n" % ("x" * 4095) * 500):
        done = target.apply(conf(namespace(1), namespace(2)) + more)
        assert done.returncode == 1 and done.stderr.startswith("weir: the target at %s is busy: " % target.control), done
        assert done.stderr.endswith("weir: not applied, and nothing has changed\n")
    done = targets.run("diff", "--control", target.control, target.path)
    assert done.returncode == 2 and " is busy: " in done.stderr and done.stderr.count("\n") == 1, done
    for other in others:
        other.close()
    targets.until("a turn", lambda: target.apply(conf(namespace(1), namespace(2))).returncode == 0)


@pytest.mark.line("O18")
@pytest.mark.parametrize("kind", ["mem", "file"])
def test_namespaces_are_taken_away_under_load(live, tmp_path, kind):
    """every command is answered, with success or 0:0B; what stays is not disturbed; two threads serve"""
    def volume(n):
        return "mem" if kind == "mem" else "file:%s/%d.img" % (tmp_path, n)
    both = conf(namespace(1, volume(1)), namespace(2, volume(2)))
    target = live(both, "--reactors", "2")
    stop, wrong, counts = threading.Event(), [], {}

    def host(number):
        try:
            with connect(target, hostid=bytes(15) + bytes([number])) as ctrl:
                queues = [ctrl.io_queue(q) for q in (1, 2)]
                data = [os.urandom(n * BLOCK) for n in (1, 16)]
                while not stop.is_set():
                    requests = []
                    for queue in queues:
                        for n in range(8):
                            nsid = 1 + n % 2
                            some = data[n // 2 % 2]
                            requests.append((queue, nsid, queue.submit_write(number * 100 + n * 16, some, nsid=nsid)))
                            requests.append((queue, nsid, queue.submit_read(number * 100, 16, nsid=nsid)))
                    for queue, nsid, request in requests:
                        queue.wait(request)
                        counts[nsid, request.status] = counts.get((nsid, request.status), 0) + 1
                        if request.status not in ((0,) if nsid == 1 else (0, INVALID_NS)):
                            wrong.append(request)
        except Exception as e:  # noqa: BLE001 - told below
            wrong.append(e)

    threads = [threading.Thread(target=host, args=(n + 1,)) for n in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(10):
            target.applied(conf(namespace(1, volume(1))))
            target.applied(both)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert not wrong and counts[1, 0] and counts[2, 0] and counts[2, INVALID_NS], (wrong[:3], counts)
