"""Reservations that survive a loss of power: --state-dir."""
import os
import random
import shutil
import struct
import time

import pytest

import nvme
from nvme import INVALID_FIELD, OK
from nvmetcp import Violation, tries
from reservations import (
    CONFLICT, EA, PERSIST, REPLACE, WE, Host, Model, hostid)
from target import run, small_files
from test_reservations import check_model, random_step

A, B = 0xAAAA, 0xBBBB
KEEP, CLEAR_PTPL, SET_PTPL = 0, 2, 3


@pytest.fixture
def start(serve, tmp_path):
    """start(): a target with one file volume and a state directory, always the same."""
    def start(*args, reactors=2, **how):
        return serve("--reactors", str(reactors), "--state-dir", str(tmp_path / "state" / "dir"), *args,
                     ns=["file:%s,size=16M" % (tmp_path / "volume"), "mem:16M"], **how)
    return start


def start_again(start):
    """The kernel ends what a killed process had in flight before it gives up the locks on its files."""
    for _ in tries():
        try:
            return start()
        except Violation as error:
            if "busy" not in str(error):
                raise
    raise Violation("the files stay locked")


def state_file(tmp_path):
    files = os.listdir(tmp_path / "state" / "dir" / "reservations")
    assert len(files) == 1
    return tmp_path / "state" / "dir" / "reservations" / files[0]


@pytest.mark.line("R10", "R15")
@pytest.mark.parametrize("hard", [False, True], ids=["stopped", "killed"])
def test_ptpl_survives_a_restart(start, tmp_path, hard):
    target = start()
    a, b = Host(target.address, 0), Host(target.address, 1)
    assert a.ctrl.identified(0x00, 1)[31] == 0xFF and a.ctrl.identified(0x00, 2)[31] == 0xFE
    assert b.register(B, cptpl=SET_PTPL) == OK and a.register(A) == OK and a.acquire(A, EA) == OK
    for host in (a, b):
        assert host.report().ptpl and host.ctrl.get_feature(PERSIST, nsid=1).dw0 == 1
    generation = a.report().generation
    uuid = bytes(a.ctrl.identified(0x03, 1))
    target.kill() if hard else target.stop()
    target = start(reactors=3)
    hosts = [Host(target.address, n) for n in range(3)]
    for host in hosts:
        report = host.report()
        assert (report.generation, report.type, report.ptpl) == (generation, EA, 1)
        assert report.keys == {hostid(0): A, hostid(1): B} and report.holders == {hostid(0)}
        assert host.ctrl.get_feature(PERSIST, nsid=1).dw0 == 1
    for _ in range(2):
        assert hosts[0].io("write") == OK and hosts[1].io("read") == CONFLICT and hosts[2].io("read") == CONFLICT
    assert state_file(tmp_path).name.replace("-", "") in uuid.hex()


@pytest.mark.line("R15", "R10")
def test_without_ptpl_nothing_survives_and_nothing_is_written(start, tmp_path):
    target = start()
    a = Host(target.address, 0)
    assert a.register(A) == OK and a.acquire(A, EA) == OK
    target.kill()
    assert os.listdir(tmp_path / "state" / "dir" / "reservations") == []
    target = start()
    b = Host(target.address, 1)
    report = b.report()
    assert report.keys == {} and report.generation == 0 and b.io("write") == OK


@pytest.mark.line("R15", "R10")
def test_ptpl_that_was_cleared_does_not_come_back(start):
    target = start()
    a = Host(target.address, 0)
    assert a.register(A, cptpl=SET_PTPL) == OK and a.acquire(A, WE) == OK
    assert a.register(A, cptpl=CLEAR_PTPL) == OK and not a.report().ptpl
    target.kill()
    target = start()
    b = Host(target.address, 1)
    assert b.report().keys == {} and b.io("write") == OK


@pytest.mark.line("R15")
def test_feature_83h(start):
    """of one namespace and of all; every controller says what holds"""
    target = start()
    a, b, other = Host(target.address, 0), Host(target.address, 1), Host(target.address, 0, nsid=2)
    assert a.register(A) == OK and a.acquire(A, WE) == OK
    assert a.ctrl.set_feature(PERSIST, 2, nsid=1).status == INVALID_FIELD
    assert a.ctrl.set_feature(PERSIST, 1, nsid=2).status == INVALID_FIELD
    for nsid in (1, 0xFFFFFFFF):
        assert a.ctrl.set_feature(PERSIST, 1, nsid=nsid).ok
        for host in (a, b):
            assert host.ctrl.get_feature(PERSIST, nsid=1).dw0 == 1
            assert host.ctrl.get_feature(PERSIST, nsid=2).dw0 == 0
        assert a.report().ptpl and not other.report().ptpl
        assert a.ctrl.set_feature(PERSIST, 0, nsid=nsid).ok
        assert not b.report().ptpl and b.ctrl.get_feature(PERSIST, nsid=1).dw0 == 0
    assert a.ctrl.set_feature(PERSIST, 1, nsid=0xFFFFFFFF).ok
    target.kill()
    target = start()
    b = Host(target.address, 1)
    assert b.io("write") == CONFLICT and b.report().ptpl


def test_a_slow_disk_does_not_hold_up_the_reactor(start, tmp_path):
    """what the state is kept in is made beside it, in two syncs: reads, and reservations of others, go on meanwhile"""
    if not shutil.which("strace"):
        pytest.skip("needs strace")
    target = start(reactors=1, prefix=["strace", "-D", "-f", "-qqq", "-o", "/dev/null", "-e", "signal=none",
                   "-e", "trace=fsync", "-e", "inject=fsync:delay_enter=1000000"])
    a, b = Host(target.address, 0), Host(target.address, 1, nsid=2)
    queue, slow = a.submit(0x0D, SET_PTPL << 30, struct.pack("<QQ", 0, A))
    worst = 0
    while not slow.done:
        began = time.monotonic()
        assert queue.read(0, nsid=2).ok and b.register(B, action=REPLACE, iekey=True) == OK
        worst = max(worst, time.monotonic() - began)
    assert slow.ok and worst < 1.5, worst
    assert a.report().ptpl and state_file(tmp_path).stat().st_size > 0


@pytest.mark.parametrize("reactors", [1, 3])
def test_a_host_does_not_wait_behind_all_that_another_one_wants(start, reactors):
    """hosts take turns, however many queues they have: each command of one meets a few of the other"""
    target = start(reactors=reactors)
    victim, host = Host(target.address, 1), Host(target.address, 2)
    assert victim.register(B, cptpl=SET_PTPL) == OK and host.register(A) == OK
    queues = [host.ctrl.io_queue(3 + n, entries=1024) for n in range(6)]
    before, wanted = victim.report().generation, 1000 * len(queues)
    flood = [b"".join(queue.submit(nvme.sqe(0x0D, nsid=1, cdw10=REPLACE | 1 << 3), struct.pack("<QQ", 0, 1 + n),
                                   incapsule=True, send=False).capsule for n in range(1000)) for queue in queues]
    for queue, capsules in zip(queues, flood):
        queue.conn.send(capsules)
    first = victim.report().generation - before
    assert first < wanted / 2, "%d commands of the other host came before the victim's first" % first
    mine = [victim.submit(0x0D, REPLACE | 1 << 3, struct.pack("<QQ", 0, B + n)) for n in range(20)]
    for queue, request in mine:
        assert queue.wait(request).ok
    between = victim.report().generation - before - first - len(mine)
    assert between < wanted / 4, "%d commands of the other host came between" % between
    host.close(), [queue.close() for queue in queues]
    assert victim.register(A, action=REPLACE, iekey=True) == OK


@pytest.mark.line("R15")
@pytest.mark.parametrize("seed", range(3))
def test_killed_between_random_commands(start, seed):
    """what was answered is there after the restart; without PTPL nothing is"""
    rng, model = random.Random(seed), Model(3)
    base = 0
    for _ in range(5):
        target = start()
        hosts = [Host(target.address, n) for n in range(3)]
        check_model(model, hosts, rng, base)
        for _ in range(rng.randrange(5, 20)):
            step, got, expected = random_step(rng, model, hosts)
            assert got == expected, step
            check_model(model, hosts, rng, base)
        if not model.ptpl:
            model.register(0, 2, 0, 1, True, SET_PTPL)
            assert hosts[0].register(1, action=2, iekey=True, cptpl=SET_PTPL) == OK
        if rng.random() < 0.2:
            assert hosts[0].ctrl.set_feature(PERSIST, 0, nsid=1).ok
            model = Model(3)
        target.kill()


@pytest.mark.line("R15")
def test_killed_while_commands_are_in_flight(start):
    """the key is one of those that were under way, and not older than the last that was answered"""
    answered = 0
    target = start()
    a = Host(target.address, 0)
    assert a.register(1, cptpl=SET_PTPL) == OK
    for round in range(8):
        key = 1 + round * 100
        requests = [a.submit(0x0D, 2 | 8, bytes(8) + (key + n).to_bytes(8, "little"), queue=a.queues[0])
                    for n in range(1, 40)]
        for queue, request in requests[:round * 4]:
            assert queue.wait(request).ok
            answered = key + 1 + requests.index((queue, request))
        target.kill()
        target = start_again(start)
        a = Host(target.address, 0)
        found = a.report().keys[hostid(0)]
        assert answered <= found <= key + 39
        assert a.register(key + 99, found, action=2) == OK
        answered = key + 99


@pytest.mark.line("R15")
def test_what_cannot_be_written_is_not_so(start, tmp_path):
    """0:06, and the state is what it was; a way out is another command"""
    target = start(preexec=small_files(16 << 20))
    a, b = Host(target.address, 0), Host(target.address, 1)
    directory = tmp_path / "state" / "dir" / "reservations"
    if os.geteuid() == 0:
        directory.rmdir()
    else:
        directory.chmod(0)
    assert a.register(A, cptpl=SET_PTPL) == nvme.INTERNAL
    assert a.report().keys == {} and a.report().generation == 0 and not b.report().ptpl
    assert a.register(A) == OK and a.acquire(A, WE) == OK
    assert b.io("write") == CONFLICT
    assert not a.ctrl.set_feature(PERSIST, 1, nsid=1).ok
    assert a.ctrl.get_feature(PERSIST, nsid=1).dw0 == 0
    assert "cannot be kept" in target.stderr()
    directory.mkdir() if os.geteuid() == 0 else directory.chmod(0o755)
    assert a.ctrl.set_feature(PERSIST, 1, nsid=1).ok and b.report().ptpl


@pytest.mark.line("R15")
def test_a_damaged_state_keeps_the_target_from_starting(start, tmp_path):
    target = start()
    a = Host(target.address, 0)
    assert a.register(A, cptpl=SET_PTPL) == OK
    target.stop()
    path = state_file(tmp_path)
    good = path.read_bytes()

    def refused(text):
        result = run("serve", "--listen", "127.0.0.1:0", "--state-dir", tmp_path / "state" / "dir",
                     "--ns", "file:%s" % (tmp_path / "volume"))
        assert result.returncode == 1 and text in result.stderr and str(path)[:60] in result.stderr
    path.write_bytes(good[:100] + b"X" + good[101:4096 + 100] + b"X" + good[4096 + 101:])
    refused("damaged")
    path.write_bytes(good[:5000])
    refused("too short")
    path.write_bytes(bytes(good[4096:]) + good[:4096])
    refused("damaged")
    path.write_bytes(good)
    target = start()
    assert Host(target.address, 0).report().keys == {hostid(0): A}
    target.stop()
    path.unlink()
    target = start()
    assert Host(target.address, 0).report().keys == {}


@pytest.mark.line("R15")
def test_a_state_is_of_one_target_at_a_time(start, tmp_path):
    """even where the two have no volume in common, nor a name"""
    state = tmp_path / "state" / "dir"

    def other():
        return run("serve", "--listen", "127.0.0.1:0", "--state-dir", state, "--subnqn", "nqn.2026-11.example:other",
                   "--ns", "file:%s,size=16M" % (tmp_path / "another"))
    target = start()
    assert Host(target.address, 0).register(A, cptpl=SET_PTPL) == OK
    before = sorted(state.rglob("*"))
    result = other()
    assert result.returncode == 1 and "%s is busy: it belongs to another weir" % state in result.stderr
    assert not (tmp_path / "another").exists() and sorted(state.rglob("*")) == before
    target.kill()
    start_again(start)


def test_two_volumes_of_one_file_are_refused(tmp_path):
    """the same file twice would have one state"""
    volume = "file:%s,size=16M" % (tmp_path / "volume")
    result = run("serve", "--listen", "127.0.0.1:0", "--state-dir", tmp_path / "s", "--ns", volume, "--ns", volume)
    assert result.returncode == 1 and "already served as namespace 1 of" in result.stderr
