"""The life of a controller: properties, enabling, reset, shutdown, keep alive, and how it ends."""
import os
import select
import time

import pytest

import nvme
from nvme import CAP, CC, CC_READY, CSTS, INVALID_FIELD, SEQUENCE, VS
from nvmetcp import CAPSULE_RESP, PATIENCE, R2T, Closed, Violation, require

BLOCK = 4096


def stays_open(conn, seconds):
    """Watches for that long; the end or any byte is a failure."""
    assert not select.select([conn.sock], [], [], seconds)[0], "something came where nothing should"


def ended(queue):
    """Reads to the end of the connection; what was in flight may be answered, but not with success."""
    while True:
        try:
            pdu = queue.conn.recv()
        except Closed:
            return
        require(pdu.type in (R2T, CAPSULE_RESP), "%r", pdu)
        if pdu.type == CAPSULE_RESP:
            require(pdu.status >> 1 & 0x7FF != 0, "%r", pdu)


@pytest.fixture
def fresh(target):
    """A controller that was not enabled."""
    with nvme.Controller(target.address, enable=False) as ctrl:
        yield ctrl


# ---- properties ----

@pytest.mark.line("L01")
def test_the_properties_of_a_fresh_controller(fresh):
    assert fresh.get(VS) >> 16 >= 1
    assert fresh.get(CC) & 1 == 0
    assert fresh.get(CSTS) & (nvme.RDY | nvme.CFS) == 0


@pytest.mark.line("L02")
def test_capabilities(fresh):
    cap = fresh.get(CAP, 8)
    assert cap >> 16 & 1 == 1, "CQR"
    assert cap >> 24 & 0xFF > 0, "TO"
    assert cap >> 32 & 0xF == 0, "DSTRD"
    assert cap >> 37 & 1 == 1, "CSS: NVM command set"
    assert cap >> 48 & 0xF == 0, "MPSMIN"
    assert cap >> 56 & 3 == 0, "no PMR, no CMB on Fabrics"
    assert cap & 0xFFFF == 1023, "MQES"


@pytest.mark.parametrize("offset, size", [
    (CAP, 4), (VS, 8), (CC, 8), (CSTS, 8), (0x0C, 4), (0x10, 4), (0x24, 4), (0x28, 8), (0x30, 8), (0x01, 4),
    (0x15, 4), (0x1000, 4), (0xFFFFFFFF, 4)])
@pytest.mark.line("L03")
def test_what_is_no_property_cannot_be_read(fresh, offset, size):
    """0:02"""
    request = fresh.admin.call(nvme.property_get_sqe(offset, size))
    assert request.status == INVALID_FIELD and request.dnr


@pytest.mark.parametrize("offset, size", [(CAP, 8), (CAP, 4), (VS, 4), (0x0C, 4), (0x24, 4), (CC, 8), (0x15, 4)])
@pytest.mark.line("L04")
def test_what_cannot_be_set(fresh, offset, size):
    """0:02, and nothing changes"""
    before = fresh.get(CAP, 8), fresh.get(VS), fresh.get(CC)
    request = fresh.set(offset, 0x460001, size)
    assert request.status == INVALID_FIELD and request.dnr
    assert (fresh.get(CAP, 8), fresh.get(VS), fresh.get(CC)) == before


# ---- enabling ----

@pytest.mark.parametrize("opcode", [0x06, 0x18, 0x0C, 0x02, 0x09, 0x0A])
@pytest.mark.line("L05")
def test_only_fabrics_commands_before_enabling(fresh, opcode):
    """0:0C"""
    request = fresh.admin.call(nvme.sqe(opcode, cdw10=1, sgl1=nvme.sgl(0x5A, 4096 if opcode in (6, 2) else 0)))
    assert request.status == SEQUENCE


@pytest.mark.line("L06")
def test_enabling_in_two_steps_as_linux_does(fresh):
    assert fresh.set(CC, CC_READY).ok
    assert fresh.get(CC) == CC_READY and fresh.get(CSTS) & nvme.RDY == 0
    began, limit = time.monotonic(), (fresh.get(CAP, 8) >> 24 & 0xFF) * 0.5
    assert fresh.set(CC, CC_READY | 1).ok
    assert fresh.until(nvme.RDY, nvme.RDY) & nvme.CFS == 0
    assert time.monotonic() - began <= limit, "TO is %.1f s" % limit
    assert fresh.get(CC) == CC_READY | 1
    assert fresh.identify(1).ok


@pytest.mark.parametrize("cc", [
    5 << 16 | 4 << 20 | 1, 6 << 16 | 5 << 20 | 1, 1, CC_READY | 1 << 7 | 1, CC_READY | 1 << 11 | 1,
    CC_READY | 3 << 4 | 1])
@pytest.mark.line("L07")
def test_settings_it_cannot_work_with_do_not_enable(fresh, cc):
    """entry sizes, page size, arbitration, command set; CFS or an error, never RDY"""
    request = fresh.set(CC, cc)
    csts = fresh.get(CSTS)
    assert csts & nvme.RDY == 0
    assert csts & nvme.CFS or request.status == INVALID_FIELD


# ---- reset ----

@pytest.mark.line("L08")
def test_reset_with_io_in_flight(target, ctrl, bystander):
    """aborted, RDY 0, I/O queues gone, the admin queue lives; unfinished writes did not happen"""
    before = os.urandom(16 * BLOCK)
    queues = [ctrl.io_queue(qid) for qid in (1, 2, 3)]
    assert queues[0].write(0, before).ok
    for n, queue in enumerate(queues):
        queue.serve_r2ts = False
        for k in range(12):
            request = queue.submit_write(0, os.urandom(16 * BLOCK))
        while not request.r2ts:
            queue.step()
    ctrl.aer()
    assert ctrl.set(CC, CC_READY).ok
    ctrl.until(nvme.RDY, 0)
    for queue in queues:
        ended(queue)
    ctrl.admin.requests.clear()  # L08, I21: AERs vanish
    assert ctrl.get(CC) & 1 == 0
    assert ctrl.identify(1).status == SEQUENCE
    ctrl.enable()
    ctrl.grant()
    queue = ctrl.io_queue(1)
    assert bytes(queue.read(0, 16).got) == before


@pytest.mark.line("L08")
def test_reset_with_reads_in_flight(ctrl, bystander):
    """whatever was answered is whole"""
    queue, before = ctrl.io_queue(), os.urandom(256 * BLOCK)
    assert queue.write(0, before).ok
    requests = [queue.submit_read(0, 256) for _ in range(64)]
    assert queue.wait(requests[0]).ok
    assert ctrl.set(CC, CC_READY).ok
    ctrl.until(nvme.RDY, 0)
    try:
        while True:
            queue.step()
    except Closed:
        pass
    except Violation as violation:  # a reset may cut a PDU, nothing else
        assert "closed in the middle" in str(violation)
    answered = [bytes(r.got) == before for r in requests if r.ok]
    assert 1 <= len(answered) < 64 and all(answered) and all(before.startswith(bytes(r.got)) for r in requests)
    ctrl.enable()
    ctrl.grant()
    assert ctrl.io_queue().read(0).ok


@pytest.mark.line("L11", "W35")
def test_reset_again_and_again(ctrl, bystander):
    """works each time, features are at their defaults"""
    default = ctrl.get_feature(0x0B).dw0
    for _ in range(20):
        assert ctrl.set_feature(0x0B, 1 << 8).ok
        queue = ctrl.io_queue(1)
        assert queue.write(0, bytes(BLOCK)).ok
        ctrl.disable()
        ended(queue)
        ctrl.enable()
        assert ctrl.get_feature(0x0B).dw0 == default
        ctrl.grant()


# ---- shutdown ----

@pytest.mark.parametrize("shn", [1, 2])
@pytest.mark.line("L09", "L10")
def test_shutdown(target, ctrl, bystander, shn):
    """SHST 2; the properties stay readable"""
    queue = ctrl.io_queue()
    assert queue.write(0, bytes(BLOCK)).ok
    assert ctrl.set(CC, CC_READY | 1 | shn << 14).ok
    ctrl.until(0x0C, nvme.SHST_DONE)
    assert ctrl.get(CC) >> 14 & 3 == shn


@pytest.mark.parametrize("broken", [1, 2])
@pytest.mark.line("L09")
def test_a_shutdown_flushes_each_volume(serve, broken):
    """the first flush of one of them fails: it is the shutdown's, and the next one is good"""
    specs = ["mem:16M", "mem:16M"]
    specs[broken - 1] = "fault:flush-error=1@" + specs[broken - 1]
    target = serve(ns=specs)
    with nvme.Controller(target.address) as ctrl:
        assert ctrl.set(CC, CC_READY | 1 | 1 << 14).ok
        ctrl.until(0x0C, nvme.SHST_DONE)
    with nvme.Controller(target.address) as ctrl:
        assert ctrl.io_queue().flush(broken).ok


@pytest.mark.line("L09")
def test_io_after_shutdown_is_not_done(target, ctrl):
    """refused or the queue is closed"""
    queue = ctrl.io_queue()
    before = os.urandom(BLOCK)
    assert queue.write(0, before).ok
    ctrl.set(CC, CC_READY | 1 | 1 << 14)
    ctrl.until(0x0C, nvme.SHST_DONE)
    try:
        request = queue.write(0, bytes(BLOCK))
        assert request.status
    except (Closed, ConnectionError):
        pass
    with nvme.Controller(target.address) as other:
        assert bytes(other.io_queue().read(0).got) == before


@pytest.mark.line("L11")
def test_a_shut_down_controller_can_be_started_again(ctrl):
    """by a reset"""
    ctrl.set(CC, CC_READY | 1 | 1 << 14)
    ctrl.until(0x0C, nvme.SHST_DONE)
    ctrl.disable()
    assert ctrl.get(CSTS) & 0x0C == 0
    ctrl.enable()
    ctrl.grant()
    assert ctrl.io_queue().read(0).ok


@pytest.mark.line("L10")
def test_shutdown_with_writes_waiting_for_data(target, ctrl, bystander):
    """it does not wait for a host that says nothing"""
    queue = ctrl.io_queue()
    queue.serve_r2ts = False
    request = queue.submit_write(0, bytes(16 * BLOCK))
    while not request.r2ts:
        queue.step()
    ctrl.set(CC, CC_READY | 1 | 2 << 14)
    ctrl.until(0x0C, nvme.SHST_DONE)


# ---- keep alive ----

@pytest.mark.line("L13")
def test_silence_ends_the_association(serve):
    """within KATO and its granularity; the I/O queues too"""
    target = serve()
    with nvme.Controller(target.address, kato=500) as ctrl:
        queue = ctrl.io_queue()
        began = time.monotonic()
        ctrl.keep_alive()
        ctrl.admin.conn.expect_close(within=5 * PATIENCE)
        took = time.monotonic() - began
        assert took >= 0.49, "too early: %.3f s" % took
        assert took <= (0.5 + 0.1) * 2 * PATIENCE, "too late: %.3f s" % took
        queue.conn.expect_close()
    target.no_connections()


@pytest.mark.line("L14")
def test_keep_alive_keeps_alive(serve):
    target = serve()
    with nvme.Controller(target.address, kato=600) as ctrl:
        end = time.monotonic() + 1.5
        while time.monotonic() < end:
            stays_open(ctrl.admin.conn, 0.1)
            assert ctrl.keep_alive().ok


@pytest.mark.parametrize("where", ["io", "admin"])
@pytest.mark.line("L14", "W36")
def test_traffic_keeps_alive_if_ctratt_says_so(serve, where):
    """CTRATT b6, on any queue"""
    target = serve()
    with nvme.Controller(target.address, kato=600) as ctrl:
        if not ctrl.identified(1)[96] >> 6 & 1:
            pytest.skip("no traffic based keep alive")
        queue = ctrl.io_queue()
        end = time.monotonic() + 1.5
        while time.monotonic() < end:
            stays_open(ctrl.admin.conn, 0.1)
            assert (queue.read(0) if where == "io" else ctrl.get_feature(7)).ok


@pytest.mark.parametrize("reactors", [1, 3])
def test_what_a_queue_heard_counts_when_it_has_left(serve, reactors):
    """the whole time runs from its last command, though nobody can ask it any more"""
    target = serve("--reactors", str(reactors))
    with nvme.Controller(target.address, kato=600) as ctrl:
        queue = ctrl.io_queue()
        end = time.monotonic() + 1.0
        while time.monotonic() < end:
            assert queue.read(0).ok
        last = time.monotonic()
        assert queue.call(nvme.disconnect_sqe()).ok
        queue.close()
        ctrl.admin.conn.expect_close(within=5 * PATIENCE)
        took = time.monotonic() - last
        assert took >= 0.59, "too early: %.3f s" % took


@pytest.mark.line("L13", "W37")
def test_the_end_of_one_host_is_not_the_end_of_another(serve):
    target = serve()
    with nvme.Controller(target.address, kato=300) as ctrl, nvme.Controller(target.address) as other:
        queue = other.io_queue()
        ctrl.admin.conn.expect_close()
        assert queue.read(0).ok and other.keep_alive().ok


@pytest.mark.line("L15")
def test_no_keep_alive_timer_where_none_was_asked(serve):
    """KATO 0 is fine for discovery; a keep alive is still answered"""
    target = serve()
    with nvme.Controller(target.address, kato=0, subnqn=nvme.DISCOVERY) as ctrl:
        stays_open(ctrl.admin.conn, 0.5)
        assert ctrl.keep_alive().ok and ctrl.get_feature(0x0F).dw0 == 0


@pytest.mark.parametrize("subnqn", [nvme.SUBNQN, nvme.DISCOVERY])
@pytest.mark.line("L15", "L16")
def test_the_keep_alive_timer_ends_with_kato_0(serve, subnqn):
    """and another time begins it anew"""
    target = serve()
    with nvme.Controller(target.address, kato=400, subnqn=subnqn) as ctrl:
        assert ctrl.set_feature(0x0F, 0).ok and ctrl.get_feature(0x0F).dw0 == 0
        stays_open(ctrl.admin.conn, 1)
        assert ctrl.set_feature(0x0F, 400).ok
        ctrl.admin.conn.expect_close()


@pytest.mark.line("L16")
def test_kato_can_be_set_and_read(serve):
    """rounded up by KAS"""
    target = serve()
    with nvme.Controller(target.address, kato=60000) as ctrl:
        kas = int.from_bytes(ctrl.identified(1)[320:322], "little") * 100
        assert kas > 0
        assert ctrl.get_feature(0x0F).dw0 == 60000
        for wanted in (120000, 90001, kas * 7, 500):
            assert ctrl.set_feature(0x0F, wanted).ok
            got = ctrl.get_feature(0x0F).dw0
            assert got == -(-wanted // kas) * kas or nvme.STRANGER and got == wanted
        ctrl.admin.conn.expect_close()  # the last one counts at once


# ---- the end ----

@pytest.mark.parametrize("how", ["close", "reset", "finish"])
@pytest.mark.line("L17")
def test_the_io_queues_go_with_the_admin_queue(target, ctrl, bystander, how):
    queues = [ctrl.io_queue(qid) for qid in range(1, 4)]
    queues[0].serve_r2ts = False
    request = queues[0].submit_write(0, bytes(16 * BLOCK))
    while not request.r2ts:
        queues[0].step()
    getattr(ctrl.admin.conn, how)()
    for queue in queues:
        ended(queue)


@pytest.mark.line("L17", "W21")
def test_an_io_queue_goes_alone(target, ctrl):
    """the other way round; its id can be used again"""
    for how in ("close", "reset", "finish"):
        queue = ctrl.io_queue(1)
        assert queue.read(0).ok
        getattr(queue.conn, how)()
        assert ctrl.keep_alive().ok
        for _ in range(200):
            queue, connect = ctrl.try_io_queue(1)
            if connect.ok:
                break
        assert connect.ok
        queue.conn.finish()
        queue.conn.expect_close()
    assert ctrl.keep_alive().ok


@pytest.mark.line("L17")
def test_an_io_queue_cut_with_io_in_flight_leaves_others_alone(target, ctrl, bystander):
    for _ in range(20):
        with nvme.Controller(target.address) as other:
            queue = other.io_queue()
            for n in range(30):
                queue.submit_read(n, 64)
            queue.conn.reset()
    assert ctrl.keep_alive().ok


@pytest.mark.line("L18")
def test_disconnect_of_an_io_queue(target, ctrl):
    """outstanding commands end first, then success, then nothing; or 0:01 with OFCS 0"""
    ofcs = ctrl.identified(1)[1804] & 1
    queue = ctrl.io_queue(1)
    assert queue.write(0, bytes(BLOCK)).ok
    reads = [queue.submit_read(n, 4) for n in range(20)]
    request = queue.submit_raw(nvme.disconnect_sqe())
    queue.wait(request)
    if not ofcs:
        assert request.status == nvme.INVALID_OPCODE
        return
    assert request.ok and all(r.done for r in reads)
    queue.conn.finish()
    queue.conn.expect_close()
    assert ctrl.keep_alive().ok
    for _ in range(200):
        again, connect = ctrl.try_io_queue(1)
        if connect.ok:
            break
    assert again.read(0).ok


def test_nothing_is_done_behind_a_disconnect(ctrl):
    """not another one, nor a write; and what came before it still gets its data"""
    queue = ctrl.io_queue(1)
    queue.serve_r2ts = False
    first = queue.submit_write(0, bytes(BLOCK), incapsule=False)
    while not first.r2ts:
        queue.step()
    commands = nvme.disconnect_sqe(), nvme.disconnect_sqe(), nvme.sqe(0x01, nsid=1, cdw10=8)
    sent = [queue.submit(command, data, send=False) for command, data in zip(commands, (b"", b"", bytes(BLOCK)))]
    queue.conn.send(b"".join(request.capsule for request in sent))
    queue.wait(*sent[1:])
    assert [request.status for request in sent[1:]] == [SEQUENCE, SEQUENCE]
    queue.send_data(first)
    queue.wait(sent[0])
    assert first.ok and sent[0].ok
    queue.conn.expect_close()


@pytest.mark.line("L18")
def test_disconnect_of_the_admin_queue_is_refused(ctrl):
    """1:85, or 0:01 with OFCS 0"""
    ofcs = ctrl.identified(1)[1804] & 1
    request = ctrl.admin.submit_raw(nvme.disconnect_sqe())
    ctrl.admin.wait(request)
    assert request.status == (nvme.QUEUE_TYPE if ofcs else nvme.INVALID_OPCODE)
    assert ctrl.keep_alive().ok


@pytest.mark.line("L18")
def test_disconnect_in_an_unknown_format_is_refused(ctrl):
    """1:80"""
    if not ctrl.identified(1)[1804] & 1:
        pytest.skip("no Disconnect")
    queue = ctrl.io_queue(1)
    request = queue.submit_raw(nvme.disconnect_sqe(recfmt=1))
    assert queue.wait(request).status == nvme.CONNECT_FORMAT
    assert queue.read(0).ok


@pytest.mark.line("F12", "L17", "W31")
def test_hosts_come_and_go(serve):
    """nothing is left of two hundred of them"""
    target = serve()

    def rounds(count):
        for n in range(count):
            with nvme.Controller(target.address) as ctrl:
                queue = ctrl.io_queue()
                assert queue.write(n, bytes(BLOCK)).ok
        target.no_connections()
        return target.rss_kib(), target.open_files()

    rss, files = rounds(50)
    later_rss, later_files = rounds(200)
    assert later_rss - rss < 2048 and later_files <= files
