"""Several reactors: queues of one controller on different threads act as one."""
import os

import pytest

import nvme
from nvmetcp import capsule, patch
from test_life import ended

TARGET_ARGS = ("--reactors", "2")
BLOCK = 4096
QUEUES = 8  # enough to be spread over the reactors


@pytest.fixture
def queues(ctrl):
    return [ctrl.io_queue(qid) for qid in range(1, QUEUES + 1)]


def test_the_queues_really_are_on_several_threads(target, ctrl):
    """the daemon has as many threads as reactors, and each of them works"""
    def ran():
        out = {}
        for task in os.listdir("/proc/%d/task" % target.pid):
            with open("/proc/%d/task/%s/schedstat" % (target.pid, task)) as f:
                out[task] = int(f.read().split()[0])
        return out
    queues = [ctrl.io_queue(qid) for qid in range(1, QUEUES + 1)]
    before = ran()
    assert len(before) >= 2
    for _ in range(100):
        for queue in queues:
            assert queue.read(0).ok
    after = ran()
    busy = [t for t in before if after.get(t, 0) - before[t] > 1000000]
    assert len(busy) >= 2


def test_the_id_of_a_queue_is_free_when_its_disconnect_is_answered(target, ctrl):
    """a Connect of the same id is sent the moment that the answer has come, on a connection that is there already"""
    queue = ctrl.io_queue(1)
    for _ in range(500):
        conn = nvme.Conn(target.address)
        conn.handshake()
        again = nvme.Queue(conn, 32, True)
        connect = again.submit_raw(nvme.connect_sqe(qid=1), nvme.connect_data(
            ctrl.cntlid, hostnqn=nvme.HOSTNQN), incapsule=True, send=False)
        assert queue.call(nvme.disconnect_sqe()).ok
        conn.send(connect.capsule)
        assert again.wait(connect).status == 0
        queue.close()
        queue = again
    queue.close()


@pytest.mark.line("F06", "O01", "W23")
def test_every_queue_sees_what_any_wrote(queues):
    for n in range(64):
        data = os.urandom(BLOCK * (1 + n % 5))
        assert queues[n % QUEUES].write(10 * n, data).ok
        for queue in queues:
            assert bytes(queue.read(10 * n, 1 + n % 5).got) == data


@pytest.mark.line("W57")
def test_all_queues_at_once(queues):
    data = {q: os.urandom(64 * BLOCK) for q in queues}
    for round in range(5):
        requests = [(q, q.submit_write(100 * n + 1000, data[q])) for n, q in enumerate(queues)]
        for q, r in requests:
            assert q.wait(r).ok
        requests = [(q, q.submit_read(100 * n + 1000, 64)) for n, q in enumerate(queues) for _ in range(8)]
        for q, r in requests:
            q.wait(r)
            assert r.ok and bytes(r.got) == data[q]


@pytest.mark.line("W44")
def test_blocks_written_from_two_threads_are_never_torn(queues):
    """one logical block is all old or all new, also across reactors"""
    patterns = [bytes([n + 1]) * 16 * BLOCK for n in range(QUEUES)]
    assert queues[0].write(0, patterns[0]).ok
    for _ in range(20):
        writes = [(q, q.submit_write(0, patterns[n])) for n, q in enumerate(queues)]
        reads = [(q, q.submit_read(0, 16)) for q in queues for _ in range(4)]
        for q, r in writes + reads:
            q.wait(r)
            assert r.ok
        for _, r in reads:
            for at in range(0, 16 * BLOCK, BLOCK):
                block = bytes(r.got[at:at + BLOCK])
                assert block == block[:1] * BLOCK and 1 <= block[0] <= QUEUES, "a torn block"


@pytest.mark.line("I09")
def test_smart_counters_sum_over_the_reactors(ctrl, queues):
    def smart():
        page = ctrl.logged(2, 512)
        return int.from_bytes(page[64:80], "little"), int.from_bytes(page[80:96], "little")
    reads, writes = smart()
    for queue in queues:
        for n in range(5):
            assert queue.write(n, bytes(BLOCK)).ok and queue.read(n).ok and queue.read(n).ok
    assert smart() == (reads + 10 * QUEUES, writes + 5 * QUEUES)


def test_stats_sum_over_the_reactors(target, ctrl, queues):
    before = target.stats()
    assert before["connections"] == 1 + QUEUES
    for queue in queues:
        assert queue.read(0).ok
    assert target.stats()["reads"] == before["reads"] + QUEUES


@pytest.mark.parametrize("how", ["close", "reset"])
@pytest.mark.line("L17")
def test_the_loss_of_the_admin_queue_closes_all(ctrl, queues, bystander, how):
    for queue in queues:
        queue.serve_r2ts = False
        queue.submit_write(0, bytes(16 * BLOCK))
    getattr(ctrl.admin.conn, how)()
    for queue in queues:
        ended(queue)


@pytest.mark.line("P16")
def test_a_fault_on_the_admin_queue_closes_all(ctrl, queues, bystander):
    bad = patch(capsule(nvme.sqe(0x18)), 0, 0x0B)
    ctrl.admin.conn.send(bad)
    ctrl.admin.conn.expect_term((1, 0), bad)
    for queue in queues:
        ended(queue)


@pytest.mark.line("P15")
def test_a_fault_on_one_queue_leaves_the_others(ctrl, queues):
    bad = patch(capsule(nvme.sqe(0x02)), 0, 0x0B)
    for victim in (1, 4):
        queues[victim].conn.send(bad)
        queues[victim].conn.expect_term((1, 0), bad)
    for n, queue in enumerate(queues):
        assert n in (1, 4) or queue.read(0).ok
    assert ctrl.keep_alive().ok


@pytest.mark.line("L08")
def test_reset_closes_all_queues(ctrl, queues, bystander):
    for queue in queues:
        queue.serve_r2ts = False
        queue.submit_write(0, bytes(16 * BLOCK))
    ctrl.disable()
    for queue in queues:
        ended(queue)
    ctrl.enable()
    ctrl.grant()
    for qid in range(1, QUEUES + 1):
        assert ctrl.io_queue(qid).read(0).ok


@pytest.mark.line("L09")
def test_shutdown_with_io_on_all_queues(ctrl, queues):
    """what was acknowledged before is flushed; no queue holds it up"""
    for queue in queues:
        assert queue.write(0, bytes(BLOCK)).ok
    ctrl.set(nvme.CC, nvme.CC_READY | 1 | 1 << 14)
    ctrl.until(0x0C, nvme.SHST_DONE)


@pytest.mark.line("L14", "W36")
def test_traffic_on_any_reactor_keeps_alive(serve):
    """CTRATT b6"""
    import time
    target = serve("--reactors", "2")
    with nvme.Controller(target.address, kato=600) as ctrl:
        if not ctrl.identified(1)[96] >> 6 & 1:
            pytest.skip("no traffic based keep alive")
        queues = [ctrl.io_queue(qid) for qid in range(1, 5)]
        for queue in queues:
            end = time.monotonic() + 0.9
            while time.monotonic() < end:
                assert queue.read(0).ok
        assert ctrl.keep_alive().ok


def test_queues_come_and_go(target, ctrl):
    """nothing is left on either reactor"""
    for n in range(40):
        queue, connect = ctrl.try_io_queue(1 + n % 8)
        if connect.ok:
            assert queue.write(n, bytes(BLOCK)).ok
        queue.close()
    target.until("only the admin queue", lambda s: s["connections"] == 1)
    assert ctrl.keep_alive().ok


@pytest.mark.line("I27", "W57")
def test_abort_reaches_the_other_reactor(ctrl, queues):
    for qid, queue in enumerate(queues, 1):
        queue.serve_r2ts = False
        write = queue.submit_write(0, bytes(16 * BLOCK))
        while not write.r2ts:
            queue.step()
        request = ctrl.admin.call(nvme.sqe(8, cdw10=write.cid << 16 | qid))
        assert request.ok
        queue.send_data(write)
        queue.wait(write)
        assert write.status == nvme.ABORTED if request.dw0 & 1 == 0 else write.ok


@pytest.mark.parametrize("reactors", ["2", "3", "8"])
@pytest.mark.line("W57")
def test_more_reactors_than_processors(serve, tmp_path, reactors):
    """each with its own channel to a file; the end comes within a second"""
    target = serve("--reactors", reactors, ns=["file:%s/v.img,size=16M" % tmp_path, "mem:16M"])
    with nvme.Controller(target.address) as ctrl:
        ctrl.grant()
        queues = [ctrl.io_queue(qid) for qid in range(1, 9)]
        data = os.urandom(BLOCK)
        requests = [(q, q.submit_write(n, data, nsid=1 + n % 2)) for n, q in enumerate(queues)]
        for q, r in requests:
            assert q.wait(r).ok
        for q in queues:
            for n in range(8):
                assert bytes(q.read(n, nsid=1 + n % 2).got) == data
        for q in queues:
            q.submit_read(0, 256)
        target.stop()
