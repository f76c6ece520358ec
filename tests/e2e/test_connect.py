"""Connect, of admin and I/O queues: who is let in, and where a refusal points."""
import pytest

import nvme
from nvme import CONNECT_FORMAT, CONNECT_PARAMS, INVALID_FIELD, SEQUENCE, SGL_LENGTH
from nvmetcp import C2H_TERM, CAPSULE_RESP, R2T, Closed, Conn, capsule, patch, require

IN_SQE, IN_DATA = 0, 1


def connect(target, sqe=None, data=None, incapsule=True, **handshake):
    """A Connect with parts of one's own; returns (conn, CapsuleResp)."""
    conn = Conn(target.address)
    conn.handshake(**handshake)
    sqe = nvme.connect_sqe() if sqe is None else sqe
    data = nvme.connect_data() if data is None else data
    conn.send(capsule(sqe, data if incapsule else b""))
    return conn, conn.expect(CAPSULE_RESP)


def assert_refused(resp, status, ipo=None, iattr=None):
    assert resp.status >> 1 & 0x7FF == status, "%x" % (resp.status >> 1 & 0x7FF)
    if status != nvme.CONNECT_BUSY:
        assert resp.status >> 15, "without DNR a host tries again"
    if ipo is not None:
        assert (resp.dw0 & 0xFFFF, resp.dw0 >> 16 & 1) == (ipo, iattr)


def refused(target, status, ipo=None, iattr=None, **parts):
    conn, resp = connect(target, **parts)
    with conn:
        assert_refused(resp, status, ipo, iattr)


# ---- admin queues ----

@pytest.mark.line("F01", "F12")
def test_controller_ids_are_unique_and_legal(target):
    """also many of one host"""
    controllers = [nvme.Controller(target.address, enable=False) for _ in range(40)]
    try:
        ids = [c.cntlid for c in controllers]
        assert len(set(ids)) == len(ids) and all(1 <= i <= 0xFFEF for i in ids)
        for c in controllers:
            assert c.get(nvme.CSTS) & nvme.RDY == 0
    finally:
        for c in controllers:
            c.close()


@pytest.mark.line("F14")
def test_authentication_is_not_asked_for_without_keys(target):
    with nvme.Controller(target.address, enable=False) as ctrl:
        assert ctrl.authreq == 0


@pytest.mark.line("F13")
def test_a_controller_id_is_not_reused_at_once(target):
    seen = []
    for _ in range(10):
        with nvme.Controller(target.address, enable=False) as ctrl:
            seen.append(ctrl.cntlid)
        target.no_connections()
    assert len(set(seen)) == len(seen)


@pytest.mark.parametrize("parts, status, ipo, iattr", [
    (dict(sqe=nvme.connect_sqe(recfmt=1)), CONNECT_FORMAT, None, None),
    (dict(sqe=nvme.connect_sqe(recfmt=0xFFFF)), CONNECT_FORMAT, None, None),
    (dict(data=nvme.connect_data(subnqn="nqn.2026-11.local.weir:other")), CONNECT_PARAMS, 256, IN_DATA),
    (dict(data=nvme.connect_data(subnqn="")), CONNECT_PARAMS, 256, IN_DATA),
    (dict(data=nvme.connect_data(subnqn=b"n" * 256)), CONNECT_PARAMS, 256, IN_DATA),
    (dict(data=nvme.connect_data(hostnqn="")), CONNECT_PARAMS, 512, IN_DATA),
    (dict(data=nvme.connect_data(hostnqn=b"n" * 256)), CONNECT_PARAMS, 512, IN_DATA),
    (dict(data=nvme.connect_data(hostnqn="x")), CONNECT_PARAMS, 512, IN_DATA),
    (dict(data=nvme.connect_data(hostnqn="nqn.")), CONNECT_PARAMS, 512, IN_DATA),
    (dict(data=nvme.connect_data(hostnqn="nqn.2014-08.org:h\nweir: ready\x1b[31m")), CONNECT_PARAMS, 512, IN_DATA),
    (dict(data=nvme.connect_data(hostnqn=nvme.DISCOVERY)), CONNECT_PARAMS, 512, IN_DATA),
    (dict(data=nvme.connect_data(hostid=bytes(16))), CONNECT_PARAMS, 0, IN_DATA),
    (dict(data=nvme.connect_data(cntlid=1)), CONNECT_PARAMS, 16, IN_DATA),
    (dict(data=nvme.connect_data(cntlid=0)), CONNECT_PARAMS, 16, IN_DATA),
    (dict(sqe=nvme.connect_sqe(sqsize=0)), CONNECT_PARAMS, 44, IN_SQE),
    (dict(sqe=nvme.connect_sqe(sqsize=0xFFFF)), CONNECT_PARAMS, 44, IN_SQE),
])
@pytest.mark.line("F02")
def test_each_reason_to_refuse_an_admin_connect(target, bystander, parts, status, ipo, iattr):
    """status, IPO, IATTR, DNR"""
    refused(target, status, ipo, iattr, **parts)


@pytest.mark.line("F07")
def test_an_admin_queue_of_one_entry_is_refused(target):
    refused(target, CONNECT_PARAMS, 44, IN_SQE, sqe=nvme.connect_sqe(sqsize=0))


@pytest.mark.line("F02")
def test_a_refused_connect_may_be_tried_again(target):
    """on the same connection, or it is closed; no controller was made"""
    conn, resp = connect(target, data=nvme.connect_data(subnqn="nqn.2026-11.local.weir:other"))
    with conn:
        assert_refused(resp, CONNECT_PARAMS, 256, IN_DATA)
        try:
            conn.send(capsule(nvme.connect_sqe(cid=2), nvme.connect_data()))
            again = conn.recv()
            require(again.type == C2H_TERM or again.type == CAPSULE_RESP and again.cid == 2, "%r", again)
        except (Closed, ConnectionError):
            pass


@pytest.mark.parametrize("size", [0, 512, 1020, 1023])
@pytest.mark.line("F02")
def test_connect_with_less_data_is_refused(target, bystander, size):
    """0:02 or 0:0F"""
    conn, resp = connect(target, sqe=nvme.connect_sqe(sgl1=nvme.sgl(1, size)), data=nvme.connect_data()[:size])
    with conn:
        assert resp.status >> 1 & 0x7FF in (INVALID_FIELD, SGL_LENGTH, nvme.SGL_TYPE)


@pytest.mark.line("F02")
def test_the_size_a_target_must_offer(target):
    """32 entries at least, for admin queues"""
    for sqsize in (1, 15, 31):
        conn, resp = connect(target, sqe=nvme.connect_sqe(sqsize=sqsize))
        with conn:
            assert resp.status == 0


@pytest.mark.parametrize("command", [
    nvme.sqe(0x06, cid=3, sgl1=nvme.sgl(0x5A, 4096), cdw10=1), nvme.sqe(0x18, cid=3), nvme.sqe(0x02, cid=3, nsid=1),
    nvme.property_get_sqe(nvme.CAP, 8, cid=3), nvme.disconnect_sqe(cid=3), nvme.sqe(0xEE, cid=3)],
    ids=["identify", "keep-alive", "read", "property", "disconnect", "unknown"])
@pytest.mark.line("F03")
def test_any_command_before_connect_is_refused(open_conn, bystander, command):
    """0:0C, or FES 2"""
    open_conn.send(capsule(command))
    pdu = open_conn.recv()
    require(pdu.type == C2H_TERM and pdu.fes == 2 or pdu.type == CAPSULE_RESP and pdu.cid == 3 and
            pdu.status >> 1 & 0x7FF == SEQUENCE, "%r", pdu)


@pytest.mark.line("F04")
def test_connect_twice_is_refused(target, bystander):
    """0:0C"""
    with nvme.Controller(target.address) as ctrl:
        again = ctrl.admin.submit_raw(nvme.connect_sqe(), nvme.connect_data(), incapsule=True)
        ctrl.admin.wait(again)
        assert again.status == SEQUENCE and again.dnr
        assert ctrl.keep_alive().ok
        queue = ctrl.io_queue()
        again = queue.submit_raw(nvme.connect_sqe(qid=1), nvme.connect_data(ctrl.cntlid), incapsule=True)
        queue.wait(again)
        assert again.status == SEQUENCE and again.dnr
        assert queue.read(0).ok


@pytest.mark.line("F09")
def test_names_of_the_greatest_length(serve, target):
    """223 bytes are an NQN, 224 are none"""
    longest = "nqn.2026-11.local.weir:".ljust(223, "n")
    with nvme.Controller(target.address, enable=False, hostnqn=longest):
        pass
    refused(target, CONNECT_PARAMS, 512, IN_DATA, data=nvme.connect_data(hostnqn=longest + "n"))
    refused(target, CONNECT_PARAMS, 256, IN_DATA, data=nvme.connect_data(subnqn=longest + "n"))
    named = serve("--subnqn", longest)
    with nvme.Controller(named.address, subnqn=longest) as ctrl:
        assert ctrl.identified(1)[768:768 + 224] == longest.encode() + b"\0"


@pytest.mark.line("F10")
def test_reserved_fields_do_not_matter(target):
    sqe = patch(patch(nvme.connect_sqe(), 5, b"\xff" * 19), 52, b"\xff" * 12)
    data = patch(patch(nvme.connect_data(), 18, b"\xff" * 238), 768, b"\xff" * 256)
    conn, resp = connect(target, sqe=sqe, data=data)
    with conn:
        assert resp.status == 0


@pytest.mark.line("W08")
@pytest.mark.parametrize("dgst", [0, 3])
def test_connect_data_by_r2t(target, dgst):
    """in two pieces; what it says is judged as ever, and a controller comes of it"""
    with Conn(target.address) as conn:
        conn.handshake(dgst=dgst)
        for data, status in (nvme.connect_data(hostid=bytes(16)), CONNECT_PARAMS), (nvme.connect_data(), 0):
            conn.send(conn.capsule(nvme.connect_sqe(cid=1, sgl1=nvme.sgl(0x5A, 1024))))
            pdu = conn.expect(R2T)
            assert (pdu.cccid, pdu.offset, pdu.length) == (1, 0, 1024)
            conn.send(conn.h2cdata(1, pdu.ttag, 0, data[:512], last=False))
            conn.send(conn.h2cdata(1, pdu.ttag, 512, data[512:]))
            pdu = conn.expect(CAPSULE_RESP)
            assert pdu.status >> 1 & 0x7FF == status, pdu
        conn.send(conn.capsule(nvme.property_get_sqe(nvme.CSTS, cid=2)))
        assert conn.expect(CAPSULE_RESP).status == 0


@pytest.mark.line("W08")
def test_connect_data_of_an_io_queue_by_r2t(target):
    with nvme.Controller(target.address) as ctrl, Conn(target.address) as conn:
        conn.handshake()
        conn.send(conn.capsule(nvme.connect_sqe(cid=1, qid=1, sgl1=nvme.sgl(0x5A, 1024))))
        pdu = conn.expect(R2T)
        conn.send(conn.h2cdata(1, pdu.ttag, 0, nvme.connect_data(cntlid=ctrl.cntlid)))
        assert conn.expect(CAPSULE_RESP).status == 0
        for length in (0, 1023, 1025):
            refused(target, SGL_LENGTH, sqe=nvme.connect_sqe(sgl1=nvme.sgl(0x5A, length)), incapsule=False)


@pytest.mark.line("W08")
@pytest.mark.parametrize("some", [0, 512])
def test_connect_data_that_does_not_come(serve, some):
    """the time for the handshake is that of its data, too; nothing of the connection is left"""
    target = serve("--handshake-timeout", "300")
    with Conn(target.address) as conn:
        conn.handshake()
        conn.send(capsule(nvme.connect_sqe(cid=1, sgl1=nvme.sgl(0x5A, 1024))))
        pdu = conn.expect(R2T)
        if some:
            conn.send(conn.h2cdata(1, pdu.ttag, 0, nvme.connect_data()[:some], last=False))
        with pytest.raises(Closed):
            conn.recv()
        target.until("it is gone", lambda stats: stats["connections"] == 0)


@pytest.mark.line("F08", "X17", "W15")
def test_sqhd_counts_connect_itself(target):
    """Connect is the first entry consumed, so its SQHD is 1"""
    conn, resp = connect(target)
    with conn:
        assert resp.status == 0 and resp.sqhd == 1


@pytest.mark.line("F08")
def test_flow_control_off_says_so(target):
    """SQHD FFFFh in every response"""
    conn, resp = connect(target, sqe=nvme.connect_sqe(cattr=4))
    with conn:
        assert resp.status == 0 and resp.sqhd == 0xFFFF
        conn.send(capsule(nvme.property_get_sqe(nvme.VS)))
        assert conn.expect(CAPSULE_RESP).sqhd == 0xFFFF


@pytest.mark.parametrize("how", [
    dict(cntlid=5), dict(hostid=bytes(16)), dict(recfmt=1), dict(subnqn="nqn.2026-11.x:y")])
@pytest.mark.line("F08", "X17")
def test_a_refusal_says_which_flow_control_was_asked_for(target, how):
    """SQHD is 1 with it and FFFFh without, whatever came before on the connection"""
    data = nvme.connect_data(**{name: value for name, value in how.items() if name != "recfmt"})
    with Conn(target.address) as conn:
        conn.handshake()
        for cattr, sqhd in ((0, 1), (4, 0xFFFF), (0, 1), (0, 1)):
            conn.send(capsule(nvme.connect_sqe(cattr=cattr, recfmt=how.get("recfmt", 0)), data))
            resp = conn.expect(CAPSULE_RESP)
            assert resp.status != 0 and resp.sqhd == sqhd


# ---- I/O queues ----

@pytest.mark.parametrize("how, ipo", [
    (dict(hostid=b"\x55" * 16), 0), (dict(hostid=nvme.HOSTID[:15] + b"\x55", hostnqn=nvme.HOSTNQN), 0),
    (dict(hostnqn="nqn.2014-08.org.example:someone"), 512),
    (dict(cntlid=0xFFFF), 16), (dict(cntlid=0), 16), (dict(cntlid=0xFFEF), 16)])
@pytest.mark.line("F05", "F02")
def test_each_reason_to_refuse_an_io_connect(ctrl, bystander, how, ipo):
    """another host's id or name, no such controller"""
    _, connect = ctrl.try_io_queue(1, **how)
    assert connect.status == CONNECT_PARAMS and connect.dnr
    assert (connect.dw0 & 0xFFFF, connect.dw0 >> 16 & 1) == (ipo, IN_DATA)
    assert ctrl.io_queue(1).read(0).ok


@pytest.mark.line("F02")
def test_an_io_connect_to_another_subsystem_is_refused(ctrl):
    """the subsystem must be the admin queue's"""
    for nqn in (nvme.DISCOVERY, "nqn.2026-11.local.weir:other"):
        _, connect = ctrl.try_io_queue(1, subnqn=nqn)
        assert connect.status == CONNECT_PARAMS and connect.dnr
        assert (connect.dw0 & 0xFFFF, connect.dw0 >> 16 & 1) == (256, IN_DATA)


@pytest.mark.line("F06", "W21")
def test_a_queue_id_in_use_is_refused(ctrl):
    """0:0C (or 1:01)"""
    queue = ctrl.io_queue(1)
    _, connect = ctrl.try_io_queue(1)
    assert connect.status in (SEQUENCE, nvme.QUEUE_ID) and connect.dnr
    assert queue.read(0).ok
    queue.close()
    for _ in range(100):  # the end of a connection is noticed when it is
        _, connect = ctrl.try_io_queue(1)
        if connect.ok:
            break
    assert connect.ok


@pytest.mark.line("F02", "F06")
def test_queue_ids_up_to_what_was_granted(target):
    """max is served, max+1 is 1:82 at byte 42"""
    with nvme.Controller(target.address) as ctrl:
        granted = ctrl.grant(4)
        assert granted == 4
        assert ctrl.io_queue(4).read(0).ok
        for qid in (5, 0xFFFF):
            _, connect = ctrl.try_io_queue(qid)
            assert connect.status in (CONNECT_PARAMS, nvme.QUEUE_ID) and connect.dnr
            if connect.status == CONNECT_PARAMS:
                assert (connect.dw0 & 0xFFFF, connect.dw0 >> 16 & 1) == (42, IN_SQE)


@pytest.mark.line("F06", "W19")
def test_as_many_queues_as_can_be_granted(target):
    """all of them work at the same time"""
    with nvme.Controller(target.address) as ctrl:
        granted = ctrl.grant(1024)
        assert 64 <= granted <= 1024
        queues = [ctrl.io_queue(qid, entries=16) for qid in range(1, granted + 1)]
        requests = [(q, q.submit_read(0, 1)) for q in queues]
        for q, r in requests:
            assert q.wait(r).ok


@pytest.mark.parametrize("entries, fine", [(1, False), (2, True), (1024, True), (1025, False), (65536, False)])
@pytest.mark.line("F02", "F07", "W20")
def test_queue_sizes(ctrl, entries, fine):
    """SQSIZE 0, 1, MQES, MQES+1"""
    mqes = ctrl.get(nvme.CAP, 8) & 0xFFFF
    assert mqes == 1023
    queue, connect = ctrl.try_io_queue(1, entries=entries)
    assert connect.ok == fine
    if fine:
        for _ in range(5):
            assert queue.read(0).ok
    else:
        assert connect.status == CONNECT_PARAMS and connect.dnr
        assert (connect.dw0 & 0xFFFF, connect.dw0 >> 16 & 1) == (44, IN_SQE)


@pytest.mark.line("F02")
def test_an_io_connect_before_enabling_is_refused(target):
    """0:0C or 1:82"""
    with nvme.Controller(target.address, enable=False) as ctrl:
        _, connect = ctrl.try_io_queue(1)
        assert connect.status in (SEQUENCE, CONNECT_PARAMS) and connect.dnr
        ctrl.enable()
        assert ctrl.io_queue(1).read(0).ok


@pytest.mark.line("F02")
def test_an_io_connect_after_a_shutdown_is_refused(ctrl):
    """0:0C"""
    assert ctrl.set(nvme.CC, nvme.CC_READY | 1 | 1 << 14).ok
    ctrl.until(0x0C, nvme.SHST_DONE)
    _, connect = ctrl.try_io_queue(1)
    assert connect.status == SEQUENCE and connect.dnr


@pytest.mark.line("F02")
def test_an_io_connect_after_the_association_is_gone_is_refused(target):
    """1:82 at byte 16 of the data"""
    with nvme.Controller(target.address) as ctrl:
        ctrl.admin.close()
        target.no_connections()
        _, connect = ctrl.try_io_queue(1)
        assert connect.status == CONNECT_PARAMS and connect.dnr
        assert (connect.dw0 & 0xFFFF, connect.dw0 >> 16 & 1) == (16, IN_DATA)


@pytest.mark.line("W22")
def test_fabrics_commands_of_admin_queues_are_refused_on_io_queues(queue):
    """Property Get and Set belong to the admin queue"""
    for command in (nvme.property_get_sqe(nvme.CAP, 8), nvme.property_set_sqe(nvme.CC, 0)):
        request = queue.submit_raw(command)
        assert queue.wait(request).status in (INVALID_FIELD, nvme.INVALID_OPCODE, nvme.QUEUE_TYPE)
    assert queue.read(0).ok


@pytest.mark.line("W22")
def test_an_unknown_fabrics_command_is_refused(ctrl, queue):
    """0:01 or 0:02; the queue lives"""
    for q in (ctrl.admin, queue):
        request = q.submit_raw(patch(nvme.disconnect_sqe(), 4, 0x55))
        assert q.wait(request).status in (nvme.INVALID_OPCODE, INVALID_FIELD)
    assert ctrl.keep_alive().ok and queue.read(0).ok
