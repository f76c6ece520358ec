"""Reservations: who may read and write, on every reactor and queue."""
import contextlib
import os
import random
import struct

import pytest

import nvme
from nvme import INVALID_FIELD, INVALID_NS, OK
from nvmetcp import tries
from reservations import (
    ACQUIRE, BLOCK, CLEAR, CONFLICT, EA, EA_AR, EA_RO, ID_FORMAT, MASK, PERSIST, PREEMPT, PREEMPTED, READS,
    REGISTER, REGISTRATION_PREEMPTED, RELEASED, REPLACE, TYPES, UNREGISTER, WE, WE_AR, WE_RO, WRITES,
    Host, Model, Report, hostid)

TARGET_ARGS = ("--reactors", "2")
TARGET_NS = ("mem:64M", "mem:32M")
A, B, C = 0xAAAA, 0xBBBB, 0xCCCC


@pytest.fixture
def hosts(target):
    """Three hosts; nobody is registered before and after."""
    hosts = [Host(target.address, n) for n in range(3)]
    hosts[0].wipe()
    for host in hosts:
        host.notices()
    yield hosts
    hosts[0].wipe()
    for host in hosts:
        host.close()


def key_of(n):
    return (A, B, C)[n]


# ---- the matrix ----

@pytest.mark.line("R09")
@pytest.mark.parametrize("type", TYPES.values(), ids=TYPES.keys())
def test_each_cell_of_the_matrix(hosts, type):
    """host 0 holds, 1 is registered, 2 is not: each command of each, through both of its queues"""
    model = Model(3)
    for n in (0, 1):
        assert hosts[n].register(key_of(n)) == model.register(n, REGISTER, 0, key_of(n), False, 0) == OK
    assert hosts[0].acquire(A, type) == model.acquire(0, ACQUIRE, type, A, 0, False) == OK
    for n, host in enumerate(hosts):
        reads, writes = model.may(n)
        for _ in range(2):
            for opcode in READS:
                assert host.io(opcode) == (OK if reads else CONFLICT), (n, opcode)
            for opcode in WRITES:
                assert host.io(opcode) == (OK if writes else CONFLICT), (n, opcode)
    for n, host in enumerate(hosts):
        assert host.report().holders == ({hostid(0)} if type < WE_AR else {hostid(0), hostid(1)})
        if n != 0 and type < WE_AR:
            assert host.acquire(key_of(n), type) == CONFLICT
    assert hosts[2].release(C, type) == CONFLICT
    assert hosts[1].release(A, type) == CONFLICT
    assert hosts[2].register(C) == OK


@pytest.mark.line("R09")
def test_a_conflict_is_not_to_be_repeated_and_the_other_namespace_is_free(target, hosts):
    other = Host(target.address, 2, nsid=2)
    assert hosts[0].register(A) == OK and hosts[0].acquire(A, EA) == OK
    for _ in range(2):
        request = hosts[2].queue.read(0)
        assert request.status == CONFLICT and request.dnr
        assert other.io("read") == OK and other.io("write") == OK
    other.close()


@pytest.mark.line("R09")
def test_fused_commands_are_held_to_it_too(hosts):
    """a write exclusive reservation: the Compare may, the Write may not; exclusive access: neither"""
    def pair(host):
        queue = host.queue
        first = queue.submit(nvme.sqe(0x05, nsid=1, flags=0x41), bytes(4096))
        second = queue.submit(nvme.sqe(0x01, nsid=1, flags=0x42), bytes(4096))
        queue.wait(first, second)
        return first.status, second.status
    assert hosts[0].register(A) == OK and hosts[0].acquire(A, WE) == OK
    assert pair(hosts[1]) == (0x009, CONFLICT)
    assert pair(hosts[0]) == (OK, OK)
    assert hosts[0].release(A, WE) == OK and hosts[0].acquire(A, EA) == OK
    assert pair(hosts[1]) == (CONFLICT, 0x009)


@pytest.mark.line("R09")
def test_a_write_whose_data_comes_after_the_reservation_is_held_back(hosts):
    """it was allowed when it was asked for its data"""
    queue = hosts[1].queue
    queue.serve_r2ts = False
    late = queue.submit_write(3, b"x" * 4096, incapsule=False)
    while not late.r2ts:
        queue.step()
    assert hosts[0].register(A) == OK and hosts[0].acquire(A, WE) == OK
    queue.send_data(late)
    assert queue.wait(late).status == CONFLICT
    queue.serve_r2ts = True
    assert bytes(hosts[0].queue.read(3).got) == bytes(4096)


# ---- Register, Acquire, Release ----

@pytest.mark.line("R10")
def test_register(hosts):
    host = hosts[0]
    assert host.register(0) == INVALID_FIELD
    assert host.register(A) == OK
    assert host.register(A) == OK
    assert host.register(B) == CONFLICT
    assert host.register(B, A, action=3) == INVALID_FIELD
    assert host.report().keys == {hostid(0): A}


@pytest.mark.line("R10")
def test_replace_and_unregister(hosts):
    a, b, _ = hosts
    assert a.register(B, A, action=REPLACE) == CONFLICT, "not registered"
    assert a.register(A) == OK
    assert a.register(B, C, action=REPLACE) == CONFLICT
    assert a.register(B, A, action=REPLACE) == OK
    assert a.register(A, C, action=REPLACE, iekey=True) == OK
    assert a.register(0, A, action=REPLACE) == INVALID_FIELD
    assert b.register(B, C, action=REPLACE, iekey=True) == OK, "and so it is registered"
    assert b.report().keys == {hostid(0): A, hostid(1): B}
    assert a.register(0, B, action=UNREGISTER) == CONFLICT
    assert a.register(0, A, action=UNREGISTER) == OK
    assert a.register(0, A, action=UNREGISTER) == CONFLICT
    assert b.register(0, A, action=UNREGISTER, iekey=True) == OK
    assert b.report().keys == {}


@pytest.mark.line("R10")
def test_data_by_r2t_and_wrong_sgls(hosts):
    host = hosts[0]
    assert host.register(A, incapsule=False) == OK
    assert host.acquire(A, WE, incapsule=False) == OK
    assert host.release(A, WE, incapsule=False) == OK
    assert host.call(0x0D, 0, struct.pack("<Q", 0)) == nvme.SGL_LENGTH
    assert host.call(0x15, 0, struct.pack("<I", 0)) == nvme.SGL_LENGTH
    assert host.queue.call(nvme.sqe(0x0D, nsid=3), bytes(16)).status == INVALID_NS
    assert host.queue.call(nvme.sqe(0x0D, nsid=0xFFFFFFFF), bytes(16)).status == INVALID_NS
    assert host.queue.call(nvme.sqe(0x11, nsid=1)).status == nvme.SGL_LENGTH


@pytest.mark.line("R10")
def test_cptpl_where_nothing_is_kept(hosts):
    """a volume in memory says that it cannot, and refuses"""
    host = hosts[0]
    assert host.ctrl.identified(0x00, 1)[31] == 0xFE, "RESCAP: all types, no PTPL"
    assert host.register(A, cptpl=3) == INVALID_FIELD
    assert host.register(A, cptpl=1) == INVALID_FIELD
    assert host.register(A, cptpl=2) == OK
    assert host.ctrl.set_feature(PERSIST, 1, nsid=1).status == INVALID_FIELD
    assert host.ctrl.set_feature(PERSIST, 0, nsid=1).ok
    assert host.ctrl.set_feature(PERSIST, 0, nsid=0xFFFFFFFF).ok
    assert host.ctrl.get_feature(PERSIST, nsid=1).dw0 == 0


@pytest.mark.line("R11")
def test_acquire(hosts):
    a, b, c = hosts
    assert a.acquire(A, WE) == CONFLICT, "not registered"
    assert a.register(A) == OK and b.register(B) == OK
    for type in (0, 7, 255):
        assert a.acquire(A, type) == INVALID_FIELD
    assert a.acquire(B, WE) == CONFLICT
    assert a.acquire(A, WE, iekey=True) == INVALID_FIELD
    assert a.acquire(A, WE, action=3) == INVALID_FIELD
    assert a.acquire(A, WE) == OK
    assert a.acquire(A, WE) == OK
    assert a.acquire(A, EA) == CONFLICT
    assert b.acquire(B, WE) == CONFLICT
    assert c.acquire(C, WE) == CONFLICT
    assert b.report().holders == {hostid(0)}


@pytest.mark.line("R13")
def test_release_and_clear(hosts):
    a, b, c = hosts
    for n in range(3):
        assert hosts[n].register(key_of(n)) == OK
    assert a.acquire(A, WE_RO) == OK
    assert b.release(B, WE_RO) == OK, "not the holder: nothing"
    assert a.release(A, WE) == INVALID_FIELD, "another type than is held"
    assert a.release(B, WE_RO) == CONFLICT
    assert a.release(A, WE_RO, iekey=True) == INVALID_FIELD
    assert a.release(A, action=2) == INVALID_FIELD
    assert c.report().type == WE_RO
    assert a.release(A, WE_RO) == OK
    report = c.report()
    assert report.type == 0 and len(report.keys) == 3
    assert b.release(B, action=CLEAR) == OK
    assert c.report().keys == {}


@pytest.mark.line("R13")
@pytest.mark.parametrize("type", TYPES.values(), ids=TYPES.keys())
def test_who_is_notified_of_a_release(hosts, type):
    a, b, c = hosts
    assert a.register(A) == OK and b.register(B) == OK
    assert a.acquire(A, type) == OK and a.release(A, type) == OK
    assert a.notices() == [] and c.notices() == []
    assert b.notices() == ([RELEASED] if type >= WE_RO else [])
    assert a.acquire(A, type) == OK and a.register(0, A, action=UNREGISTER) == OK
    assert b.notices() == ([RELEASED] if type in (WE_RO, EA_RO) else [])
    assert a.notices() == [] and c.notices() == []
    assert a.register(A) == OK and b.release(B, action=CLEAR) == OK
    assert a.notices() == [PREEMPTED] and b.notices() == [] and c.notices() == []


@pytest.mark.line("R13")
def test_the_event_comes_unasked_and_feature_82h_masks_it(hosts):
    a, b, _ = hosts
    assert a.register(A) == OK and b.register(B) == OK and a.acquire(A, WE_RO) == OK
    aer = b.ctrl.aer()
    assert a.release(A, WE_RO) == OK
    assert b.ctrl.admin.wait(aer).dw0 == 0x800006
    assert b.notices() == [RELEASED]
    assert b.ctrl.set_feature(MASK, 1 << RELEASED, nsid=1).ok
    assert b.ctrl.get_feature(MASK, nsid=1).dw0 == 1 << RELEASED
    assert a.acquire(A, WE_RO) == OK and a.release(A, WE_RO) == OK
    assert b.notices() == []


# ---- as any command ----

@pytest.mark.line("R09")
def test_a_flush_of_all_namespaces_needs_each_of_them(hosts):
    a, b, _ = hosts
    assert a.register(A) == OK and a.acquire(A, EA) == OK
    assert b.queue.flush(1).status == b.queue.flush(0xFFFFFFFF).status == CONFLICT
    assert a.queue.flush(0xFFFFFFFF).ok
    assert a.release(A, EA) == OK and b.queue.flush(0xFFFFFFFF).ok


def test_reports_that_were_not_taken_in_time_are_made_anew(serve):
    """their buffers are another host's meanwhile; what comes is a report, and no blocks of the volume"""
    data, mib = os.urandom(2 * BLOCK), 1 << 20
    with contextlib.ExitStack() as stack:
        target = serve(ns=["mem:64M"])
        a, b = (stack.enter_context(contextlib.closing(Host(target.address, n))) for n in range(2))
        slow, _ = a.ctrl.try_io_queue(3, entries=64, rcvbuf=16384, hostid=a.id)
        slow.wait(*[slow.submit_read(4, 2) for _ in range(40)])
        assert b.queue.write(4, data).ok and b.register(B) == OK and b.acquire(B, EA) == OK
        reports = [a.submit_report(mib, queue=slow)[1] for _ in range(40)]
        assert all(b.queue.write(100, os.urandom(16 * BLOCK), incapsule=False).ok for _ in range(4))
        assert b.register(0, B, action=UNREGISTER) == OK
        slow.wait(*reports)
        assert slow.read(4, 2).got == data
        assert all(report.ok and not any(report.got[64 + 64:]) for report in reports)
        assert Report(bytes(reports[0].got)).holders == {b.id}


# ---- Preempt ----

@pytest.mark.line("R12")
def test_preempt_with_each_kind_of_key(hosts):
    a, b, c = hosts
    for n in range(3):
        assert hosts[n].register(key_of(n)) == OK
    assert a.acquire(A, WE, 0, PREEMPT) == INVALID_FIELD
    assert a.acquire(A, WE, 0x123, PREEMPT) == CONFLICT
    assert a.acquire(A, WE, C, PREEMPT) == OK, "nobody holds it"
    report = b.report()
    assert report.type == 0 and report.keys == {hostid(0): A, hostid(1): B}
    assert c.notices() == [REGISTRATION_PREEMPTED] and b.notices() == []
    assert c.register(C) == OK and a.acquire(A, EA_RO) == OK
    assert b.acquire(B, WE, 0, PREEMPT) == INVALID_FIELD
    assert b.acquire(B, WE, C, PREEMPT) == OK, "not the holder's"
    report = a.report()
    assert report.type == EA_RO and report.holders == {hostid(0)} and len(report.keys) == 2
    assert c.notices() == [REGISTRATION_PREEMPTED] and a.notices() == []
    assert c.register(C) == OK and b.acquire(B, WE_AR, A, PREEMPT) == OK, "the holder's"
    report = a.report()
    assert report.type == WE_AR and report.keys == {hostid(1): B, hostid(2): C}
    assert a.notices() == [REGISTRATION_PREEMPTED] and c.notices() == [RELEASED]
    assert a.io("read") == OK and a.io("write") == CONFLICT and c.io("write") == OK
    assert c.acquire(C, EA, 0, PREEMPT) == OK, "all others of a type that all hold"
    assert a.report().keys == {hostid(2): C} and b.notices() == [REGISTRATION_PREEMPTED]
    assert b.io("read") == CONFLICT and c.io("write") == OK


@pytest.mark.line("R12")
@pytest.mark.parametrize("type", [WE, WE_AR])
def test_all_who_have_the_key_are_put_out_and_told(hosts, type):
    """or, where all of them hold it, all others"""
    a, b, c = hosts
    assert a.register(A) == OK and b.register(B) == OK and c.register(B) == OK
    assert (b if type == WE else a).acquire(B if type == WE else A, type) == OK
    assert a.acquire(A, EA, B if type == WE else 0, PREEMPT) == OK
    assert a.report().keys == {a.id: A}
    assert b.notices() == c.notices() == [REGISTRATION_PREEMPTED] and a.notices() == []


# ---- Report ----

@pytest.mark.line("R14")
def test_report(hosts):
    a, b, c = hosts
    generation = a.report().generation
    assert a.register(A) == OK and b.register(B) == OK and b.acquire(B, EA) == OK
    queue, request = c.submit_report(eds=0)
    assert queue.wait(request).status == ID_FORMAT
    report = c.report()
    assert (report.generation, report.type, report.count, report.ptpl) == (generation + 2, EA, 2, 0)
    assert report.entries == [(hostid(0), A, 0, a.ctrl.cntlid), (hostid(1), B, 1, b.ctrl.cntlid)]
    assert b.release(B, EA) == OK
    assert c.report().generation == generation + 2
    assert b.release(B, action=CLEAR) == OK
    assert c.report().generation == generation + 3


@pytest.mark.line("R14")
def test_a_report_is_cut_where_the_host_says_and_padded_with_zeros(hosts):
    a, b, c = hosts
    assert a.register(A) == OK and b.register(B) == OK
    whole = None
    for want in (1 << 20, 1 << 18, 8192 + 4, 4160, 192, 188, 128, 68, 64, 8, 4):
        queue, request = c.submit_report(want=want)
        assert queue.wait(request).ok, want
        whole = whole or bytes(request.got)
        assert bytes(request.got) == whole[:want]
    assert Report(whole).count == 2 and whole[192:] == bytes(len(whole) - 192)
    assert Report(whole[:64]).count == 2
    assert c.queue.call(nvme.sqe(0x0E, nsid=1, cdw10=(1 << 18), cdw11=1), want=(1 << 20) + 4).status == INVALID_FIELD
    assert c.queue.call(nvme.sqe(0x0E, nsid=1, cdw10=1023, cdw11=1), want=4092).status == nvme.SGL_LENGTH


@pytest.mark.line("R14")
def test_a_host_that_is_gone_has_no_controller(target, hosts):
    guest = Host(target.address, 7)
    assert guest.register(0x77) == OK
    assert hosts[0].report().entries == [(hostid(7), 0x77, 0, guest.ctrl.cntlid)]
    guest.close()
    for _ in tries():
        entry = hosts[0].report().entries[0]
        if entry[3] == 0xFFFF:
            break
    assert entry == (hostid(7), 0x77, 0, 0xFFFF)


# ---- one host on several controllers ----

@pytest.mark.line("R16")
def test_one_host_on_two_controllers_is_one_registrant(target, hosts):
    a, b, _ = hosts
    again = Host(target.address, 0)
    assert a.register(A) == OK and again.register(A) == OK and again.register(B) == CONFLICT
    assert a.acquire(A, EA) == OK and again.acquire(A, EA) == OK
    report = b.report()
    assert report.count == 1 and report.entries[0][3] == min(a.ctrl.cntlid, again.ctrl.cntlid)
    for _ in range(2):
        assert again.io("write") == OK and a.io("write") == OK and b.io("read") == CONFLICT
    assert b.register(B) == OK and b.acquire(B, EA, A, PREEMPT) == OK
    assert a.notices() == [REGISTRATION_PREEMPTED] and again.notices() == [REGISTRATION_PREEMPTED]
    for _ in range(2):
        assert again.io("read") == CONFLICT and a.io("read") == CONFLICT
    again.close()


# ---- the model ----

def random_step(rng, model, hosts):
    """One command of any host, most of them sensible; what the target and the model say of it."""
    n = rng.randrange(len(hosts))
    mine = model.keys.get(n, 0)
    key = rng.choice([mine] * 4 + [0, 1, 2, 3])
    kind, iekey = rng.choice(["register"] * 3 + ["acquire"] * 4 + ["release"] * 2), rng.random() < 0.1
    if kind == "register":
        action, new = rng.choice([0, 0, 0, 1, 2, 3]), rng.choice([1, 2, 3, 0])
        cptpl = rng.choice([0, 0, 0, 1, 2, 3])
        return (n, kind, action, key, new, iekey, cptpl), \
            hosts[n].register(new, key, action, iekey, cptpl), model.register(n, action, key, new, iekey, cptpl)
    if kind == "acquire":
        action, type, prkey = rng.choice([0, 0, 1, 2, 2, 3]), rng.choice(range(8)), rng.choice([0, 1, 2, 3])
        return (n, kind, action, type, key, prkey, iekey), \
            hosts[n].acquire(key, type, prkey, action, iekey), model.acquire(n, action, type, key, prkey, iekey)
    action, type = rng.choice([0, 0, 0, 0, 1, 2]), rng.choice([model.type, model.type, 1, 5])
    return (n, kind, action, type, key, iekey), \
        hosts[n].release(key, type, action, iekey), model.release(n, action, type, key, iekey)


def check_model(model, hosts, rng, base):
    report = rng.choice(hosts).report()
    assert report.keys == {hostid(n): key for n, key in model.keys.items()}
    assert report.holders == {hostid(n) for n in model.keys if model.holds(n)}
    assert (report.type, report.generation - base, report.ptpl) == (model.type, model.generation, model.ptpl)
    for n, host in enumerate(hosts):
        reads, writes = model.may(n)
        assert host.io(rng.choice(READS)) == (OK if reads else CONFLICT)
        assert host.io(rng.choice(WRITES)) == (OK if writes else CONFLICT)
        assert host.notices() == model.heard[n], n
        model.heard[n] = []


@pytest.mark.line("R09", "R10", "R11", "R12", "R13", "R14")
@pytest.mark.parametrize("seed", range(4))
def test_random_commands_of_three_hosts_do_what_the_model_does(hosts, seed):
    rng, model = random.Random(seed), Model(3, can_persist=False)
    base = hosts[0].report().generation
    for _ in range(100):
        step, got, expected = random_step(rng, model, hosts)
        assert got == expected, step
        check_model(model, hosts, rng, base)


@pytest.mark.line("R16")
def test_many_at_once_are_done_one_after_the_other(hosts):
    """registers, replaces and reports of three hosts in flight together: the generation counts each"""
    base = hosts[0].report().generation
    requests = []
    for round in range(40):
        for n, host in enumerate(hosts):
            requests.append(host.submit(0x0D, REPLACE | 8, struct.pack("<QQ", 0, 1 + round)))
            requests.append(host.submit_report(want=256))
    reports = []
    for queue, request in requests:
        assert queue.wait(request).ok
        if request.want:
            reports.append(Report(bytes(request.got)))
    assert hosts[1].report().generation == base + 120
    assert hosts[1].report().keys == {hostid(n): 40 for n in range(3)}
    assert all(base <= report.generation <= base + 120 for report in reports)
