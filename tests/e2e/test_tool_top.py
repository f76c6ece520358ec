"""`weir top`: what goes on at volumes that hosts share."""
import contextlib
import fcntl
import json
import os
import pty
import re
import signal
import socket
import struct
import subprocess
import termios
import threading

import pytest

import nvme
import target as targets
from test_abort import abort
from test_live import NQN, conf, live, namespace  # noqa: F401 - live is a fixture
from test_sharing import ALICE, BOB, load, shared, tenant
from tools import SECONDS, answer, start, weir


def where(target, nsid=None):
    return "nvme+tcp://%s:%d/%s%s" % (*target.address(), NQN, "" if nsid is None else "?ns=%d" % nsid)


def look(target, *args, nsid=None, **how):
    return json.loads(weir("top", "--once", "--json", where(target, nsid), *args, **how).stdout)["namespaces"]


@contextlib.contextmanager
def busy(target, host, kind):
    """somebody who goes on meanwhile: who has left is not known any more"""
    program = load(target, host, 10000000, kind=kind)
    try:
        yield
    finally:
        program.terminate()
        program.communicate(timeout=SECONDS)


def until_it_is_known(target, host):
    found = []
    targets.until("%s is known" % host, lambda: found.extend(one for one in look(target, "--hostnqn", host)
                                                             if "host" in one) or found)
    return found[0]


def test_a_host_sees_the_device_and_itself(live):  # noqa: F811
    target = live(shared("gimbal", tenants=tenant(ALICE, weight=3)))
    with busy(target, ALICE, "randread"), busy(target, BOB, "randwrite"):
        alice, bob = (until_it_is_known(target, host) for host in (ALICE, BOB))
        words = weir("top", "--once", "--hostnqn", ALICE, where(target)).stdout.decode()
    assert alice["namespace"].endswith("%s?ns=1" % NQN) and alice["shared"] and alice["paced"]
    assert alice["host"]["weight"] == 3 and alice["host"]["credits"] > 0
    assert alice["host"]["reads"]["ios"] > 0 and alice["host"]["writes"]["ios"] == 0
    assert bob["host"]["writes"]["ios"] > 0 and bob["writes"]["ios"] > 0 and bob["rate"] > 0
    assert re.search(r"^(underused|avoidance|congested|overloaded) ", words, re.M)
    assert len(re.findall(r"^this host ", words, re.M)) == 2 and "\033" not in words and BOB not in words


def ask(target, *args):
    return json.loads(weir("top", "--once", "--json", "--control", target.control, *args).stdout)["namespaces"]


def until_all_are_seen(target):
    """at work, of which a host that has to wait for a processor is not, just then"""
    seen = []
    targets.until("both are at work", lambda: seen.extend(one for one in ask(target) if len(one["tenants"]) >= 2 and
                                                          one["hosts"] >= 2) or seen)
    return seen[0]


@pytest.mark.parametrize("reactors", [1, 3])
def test_who_runs_the_target_sees_all_hosts(live, reactors):  # noqa: F811
    target = live(shared("gimbal", tenants=tenant(ALICE, group="gold", weight=3), groups="    - {name: gold}\n"),
                  "--reactors", str(reactors))
    with busy(target, ALICE, "randread"), busy(target, BOB, "randwrite"):
        only = until_all_are_seen(target)
        words = weir("top", "--once", "--control", target.control).stdout.decode()
    hosts = {one["host"]: one for one in only["tenants"]}
    assert only["namespace"] == "%s?ns=1" % NQN and only["shared"] and only["paced"]
    assert hosts[ALICE]["weight"] == 3 and hosts[ALICE]["reads"]["ios"] > 0 and hosts[ALICE]["writes"]["ios"] == 0
    assert hosts[ALICE]["group"] == "gold" and hosts[BOB]["group"] is None
    assert hosts[BOB]["weight"] == 1 and hosts[BOB]["writes"]["ios"] > 0 and hosts[BOB]["credits"] > 0
    for host in (ALICE, BOB):
        assert len(re.findall("^%s " % re.escape(host), words, re.M)) == 2
    assert re.search(r"^%s  +reads .* 3  +gold  +%s" % (re.escape(ALICE), re.escape(NQN)), words, re.M)


def rows(words):
    """of all tables, as lists of what stands in them; where nothing does there is nothing in the list"""
    return [re.split("  +", line) for line in words.splitlines() if line]


def test_what_waits_is_told_once_of_reads_and_writes_together(live):  # noqa: F811
    target = live(shared(tenants=tenant(ALICE, limits="{read_iops: 1}")))
    with nvme.Controller(target.address(), subnqn=NQN, hostnqn=ALICE) as ctrl:
        ctrl.grant()
        queue = ctrl.io_queue()
        reads = [queue.submit_read(n, 1) for n in range(30)]
        assert queue.wait(reads[0]).ok
        words = weir("top", "--once", "--control", target.control).stdout.decode()
    shown = {tuple(row[:2]): row[2:] for row in rows(words)}
    every, alice = (shown[whose, "reads"] for whose in ("all hosts", ALICE))
    assert int(every[6]) == int(alice[6]) > 20 and (every[7], alice[7]) == ("-", "any")
    assert every[8:10] == ["-", "-"] and alice[8:10] == ["1", "-"]
    assert [len(shown[whose, "writes"]) for whose in ("all hosts", ALICE)] == [len(every) - 4, len(alice) - 4]


def test_all_volumes_of_a_target_are_seen(live):  # noqa: F811
    spaces = [namespace(n, volume=volume, size="64M")
              for n, volume in enumerate(("mem", "mem", "flash:optane"), start=1)]
    target = live(conf(*spaces, top="qos: {mode: off}\n"))
    seen = ask(target)
    assert [(one["namespace"][-5:], one["shared"]) for one in seen] == [("?ns=%d" % n, False) for n in (1, 2, 3)]
    assert ["medium" in one for one in seen] == [False, False, True]
    target.applied(conf(spaces[2], top="qos: {mode: off}\n"))
    only, = ask(target)
    assert only["namespace"].endswith("?ns=3") and only["tenants"] == []


@pytest.mark.parametrize("reactors", [1, 2])
def test_a_device_that_stalls_is_seen_and_holds_up_no_other(live, reactors):  # noqa: F811
    """it does so until its I/O is aborted, which is when the other device has done all that it was asked for"""
    target = live(conf(namespace(1, volume="fault:hold=5@mem", size="64M", qos="{mode: gimbal, device: slow}"),
                       namespace(2, volume="mem", size="64M", qos="{mode: gimbal}"),
                       top="qos: {mode: caps, devices: [{name: slow, stall_us: 1000}]}\n"), "--reactors", str(reactors))
    with nvme.Controller(target.address(), subnqn=NQN, hostnqn=ALICE) as ctrl:
        ctrl.grant()
        queue = ctrl.io_queue()
        held = queue.submit_write(5, bytes(4096))
        targets.until("it has stalled", lambda: ask(target)[0]["stalled"])
        assert answer("perf", where(target, 2), "--ios", "2000")["errors"] == 0
        stalls, other = ask(target)
        assert stalls["stalled"] and stalls["in_flight"] == 1
        assert not other["stalled"] and other["reads"]["ios"] >= 2000
        assert abort(ctrl, 1, held) and not queue.wait(held).ok
        assert not ask(target)[0]["stalled"]


def test_what_is_not_shared_any_more_has_no_state(live):  # noqa: F811
    target = live(shared("gimbal"))
    assert ask(target)[0]["state"] == "underused"
    target.applied(shared("off"))
    only, = ask(target)
    assert not only["paced"] and only["state"] is only["reads"]["state"] is only["writes"]["state"] is None
    assert rows(weir("top", "--once", "--control", target.control).stdout.decode())[1][0] == "not paced"


# ---- while the target changes ----

MANY = [namespace(n, size="1M") for n in range(2, 34)]


class Asker(threading.Thread):
    """asks again and again, until it is not answered any more, or told that it is enough"""

    def __init__(self, target):
        super().__init__()
        self.target, self.answers, self.enough, self.words = target, [], threading.Event(), None
        self.answered = threading.Event()
        self.start()

    def run(self):
        while not self.enough.is_set():
            done = targets.run("top", "--once", "--json", "--control", self.target.control)
            if done.returncode != 0:
                self.words = (done.returncode, done.stdout, done.stderr)
                break
            self.answers.append(json.loads(done.stdout)["namespaces"])
            self.answered.set()
        self.answered.set()


def test_a_volume_that_goes_meanwhile_is_left_out(live):  # noqa: F811
    """it is there, and shared, or is not there at all"""
    first, top = namespace(1), "qos: {mode: gimbal}\n"
    target = live(conf(first, *MANY, top=top), "--reactors", "2")
    askers = [Asker(target) for _ in range(3)]
    for _ in range(15):
        target.applied(conf(first, top=top))
        target.applied(conf(first, *MANY, top=top))
    for one in askers:
        one.enough.set()
    for one in askers:
        one.join()
        assert one.words is None and one.answers
        for seen in one.answers:
            assert seen[0]["namespace"].endswith("?ns=1") and all(volume["shared"] for volume in seen), seen


def test_who_asks_while_the_target_stops_is_told_so(live):  # noqa: F811
    """whatever has become of the question by then"""
    target = live(conf(namespace(1), *MANY, top="qos: {mode: gimbal}\n"), "--reactors", "2")
    askers = [Asker(target) for _ in range(6)]
    for one in askers:
        assert one.answered.wait(SECONDS)
    target.daemon.stop()
    for one in askers:
        one.join()
        assert one.answers
        code, out, said = one.words
        assert (code, out) == (1, "") and re.search(
            "the target is stopping|ended before it answered|no target answers at", said), one.words


def test_a_signal_before_the_first_look(live):  # noqa: F811
    """who is told to end before there is anything to be shown ends"""
    target = live(shared())

    def told_already():
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
        os.kill(os.getpid(), signal.SIGTERM)
    for args in (["--control", target.control], [where(target)]):
        done = weir("top", *args, preexec_fn=told_already)
        assert (done.stdout, done.words) == (b"", "")


def answers_with(path, answer):
    """a target at this path that has one answer to one question"""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(1)

    def serve():
        asker, _ = listener.accept()
        with listener, asker:
            while asker.recv(4096):
                pass
            asker.sendall(answer)
    thread = threading.Thread(target=serve)
    thread.start()
    return thread


@pytest.mark.parametrize("answer, words", [
    (b"ok\n[]", 'is not understood: "[]"'), (b"ok\n", 'is not understood: ""'),
    (b"ok\nwhat there is to say is lost: out of memory\n", 'understood: "what there is to say is lost: out of memory"'),
    (b"error\nout of memory\n", "weir top: out of memory"), (b"ok\n\x1b[31m", r"\x1b"),
], ids=["other", "nothing", "lost", "memory", "screen"])
def test_an_answer_that_is_none(tmp_path, answer, words):
    path = str(tmp_path / "control")
    thread = answers_with(path, answer)
    assert words in weir("top", "--once", "--json", "--control", path, code=1).words
    thread.join()


def test_an_answer_that_had_no_room_for_all(tmp_path):
    """which is known to who asked for words, for JSON, and to who looks at the exit status alone"""
    path, more = str(tmp_path / "control"), b"ok\n+\0\0\0"
    thread = answers_with(path, more)
    done = weir("top", "--once", "--json", "--control", path, code=3)
    thread.join()
    assert json.loads(done.stdout)["more"] is True and "there is more" in done.words
    os.unlink(path)
    thread = answers_with(path, more)
    assert weir("top", "--once", "--control", path, code=3).stdout.startswith(b"There is more than is shown here.\n")
    thread.join()


def test_a_target_that_is_not_there(tmp_path):
    path = str(tmp_path / "none")
    assert "no target answers at %s" % path in weir("top", "--once", "--control", path, code=1).words


def test_each_namespace_of_what_is_not_shared(live):  # noqa: F811
    target = live(conf(namespace(1), namespace(2, volume="flash:optane", size="1G"), top="qos: {mode: off}\n"))
    memory, drive = look(target)
    assert memory["shared"] is False and "medium" not in memory and drive["medium"]["spare_percent"] == 100
    assert [one["namespace"][-5:] for one in look(target, nsid=2)] == ["?ns=2"]
    assert "not shared" in weir("top", "--once", where(target)).stdout.decode()


def test_what_has_no_bound(live):  # noqa: F811
    only, = look(live(shared("caps")))
    assert only["rate"] is None and only["reads"]["headroom"] is None and only["most"] is None


def test_looks_follow_one_another_until_it_is_told_to_end(live):  # noqa: F811
    target = live(shared())
    looks = weir("top", "-c", "3", "-i", "10ms", "--json", where(target)).stdout.splitlines()
    assert len(looks) == 3
    top = start("top", "-i", "50ms", "--json", where(target))
    for _ in range(2):
        assert json.loads(top.stdout.readline())["namespaces"]
    top.send_signal(signal.SIGINT)
    top.communicate(timeout=SECONDS)
    assert top.returncode == 0


def test_on_a_terminal_a_look_is_written_over_the_last_one(live):  # noqa: F811
    target = live(shared())
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("4H", 5, 60, 0, 0))
    before = termios.tcgetattr(theirs)
    top = subprocess.Popen([targets.WEIR, "top", "-c", "3", "-i", "10ms", where(target)], stdout=theirs)
    assert top.wait(SECONDS) == 0
    assert termios.tcgetattr(theirs) == before
    os.close(theirs)
    said = b""
    try:
        while piece := os.read(ours, 65536):
            said += piece
    except OSError:
        pass
    os.close(ours)
    screens = said.split(b"\033[H")[1:]
    assert len(screens) == 3 and screens[0].startswith(b"\033[2J")
    for screen in screens:
        rows = screen.removeprefix(b"\033[2J").removesuffix(b"\033[J").split(b"\033[K\r\n")
        assert len(rows) <= 5 and all(len(row) <= 60 for row in rows) and rows[0].startswith(b"STATE")


def test_a_namespace_that_goes(live):  # noqa: F811
    target = live(shared())
    top = start("top", "-i", "20ms", "--json", where(target, 1))
    assert "shared" in json.loads(top.stdout.readline())["namespaces"][0]
    target.applied(conf())
    while "error" not in json.loads(top.stdout.readline())["namespaces"][0]:
        pass
    top.send_signal(signal.SIGINT)
    assert "?ns=1: " in top.communicate(timeout=SECONDS)[1] and top.returncode == 3


@pytest.mark.parametrize("args, words", [
    (("--control", "/x", "10.0.0.1/nqn.2026-11.example:x"), "or of the target"),
    (("-c", "0", "10.0.0.1/nqn.2026-11.example:x"), "-c"),
    (("--hostnqn", ALICE), "options for URIs"), (("--verbose", "--control", "/x"), "options for URIs"),
    (["nvme+tcp://10.0.0.1/nqn.2026-11.example:x"] * 17, "16 URIs at most"),
])
def test_a_wrong_command_line(args, words):
    assert words in weir("top", *args, code=2).words
