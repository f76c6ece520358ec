"""Many connections and controllers of one host: what is done for others costs no more for it."""
import contextlib
import os
import signal
import socket

import pytest

import nvme
import target as targets
from namespaces import attach, connect, created, detach, hosted
from nvmetcp import capsule
from test_live import live, namespace  # noqa: F401: `live` is a fixture


def busy_ns(target):
    return target.stats()["busy_ns"]


def cost_of_failures(target, ctrl, rounds=40, count=60):
    """
    Nanoseconds that a command takes which fails; so few at a time that its controller is told of each, and the target
    is held until all of them lie there, so that it reads them at once however the two share the machine.
    """
    queue = ctrl.io_queue(len(ctrl.queues), 1024, sq_flow=False)
    sock, out = queue.conn.sock, b"".join(capsule(nvme.sqe(0x7D, cid=cid, nsid=1)) for cid in range(count))
    began = busy_ns(target)
    for _ in range(rounds):
        targets.hold(target.pid)
        try:
            sock.sendall(out)
        finally:
            os.kill(target.pid, signal.SIGCONT)
        left = 24 * count
        while left > 0:
            left -= len(sock.recv(left))
    return (busy_ns(target) - began) / rounds / count


def beside(cost, others, rounds):
    """
    The least that something costs without others and beside them, of whom `others` returns one to look at, or None.
    By turns, so that a time in which the machine is busy with something else is not one side's alone.
    """
    few, many = [], []
    for _ in range(rounds):
        few += [cost(None) for _ in range(6)]
        with contextlib.ExitStack() as stack:
            last = others(stack)
            many += [cost(last) for _ in range(6)]
    return min(few), min(many)


@pytest.mark.alone
def test_commands_that_fail_cost_the_same_beside_many_controllers(serve):
    """each is told to its controller, which is found by its key"""
    target = serve("--max-connections", "4096", "--reactors", "1")

    def others(stack):
        for _ in range(900):
            stack.enter_context(nvme.open_queue(target.address, kato=0)[0])
        return stack.enter_context(nvme.Controller(target.address, kato=0))

    with nvme.Controller(target.address, kato=0) as first:
        few, many = beside(lambda last: cost_of_failures(target, last or first), others, rounds=3)
        assert many < 2 * few, "%.0f ns beside few, %.0f ns beside many" % (few, many)


@pytest.mark.alone
def test_a_wish_is_not_paid_for_by_each_connection_with_each_namespace(live):  # noqa: F811
    """what another view changes is found out once, and each controller and queue looks at that alone"""
    target = live(hosted(namespace(1), volume="mem", size="2G"), "--reactors", "1")
    with contextlib.ExitStack() as stack:
        ctrl = stack.enter_context(connect(target))
        made = [created(ctrl) for _ in range(1000)]
        assert all(attach(ctrl, nsid).ok for nsid in made)

        def cost(_):
            began = busy_ns(target.daemon)
            assert detach(ctrl, made[0]).ok and attach(ctrl, made[0]).ok
            return busy_ns(target.daemon) - began

        def others(stack):
            for number in range(150):
                stack.enter_context(connect(target, number + 2)).io_queue(1, 2)

        few, many = beside(cost, others, rounds=4)
        assert many < 2 * few, "%d ns beside few, %d ns beside many" % (few, many)


def test_who_sends_many_small_pieces_is_read_a_little_at_a_time(serve):
    """9,000 of them take as long as 10 MiB of others' data, so a turn does not take them all"""
    target = serve("--reactors", "1")
    with nvme.Controller(target.address) as ctrl:
        queue = ctrl.io_queue()
        queue.serve_r2ts = False

        def turns_for_a_write():
            """Of 128 KiB in H2CData of 4 bytes; as much as a socket takes of them lies there when it is read."""
            request = queue.submit_write(0, bytes(128 << 10))
            while not request.r2ts:
                queue.step()
            ttag, offset, length = request.r2ts.pop()
            out = b"".join(queue.conn.h2cdata(request.cid, ttag, at, bytes(4), at + 4 == offset + length)
                           for at in range(offset, offset + length, 4))
            before = target.stats()["busy_turns"]
            targets.hold(target.pid)
            try:
                taken = queue.conn.sock.send(out, socket.MSG_DONTWAIT)
            finally:
                os.kill(target.pid, signal.SIGCONT)
            queue.conn.send(out[taken:])
            assert queue.wait(request).ok
            return target.stats()["busy_turns"] - before, taken

        turns_for_a_write()
        turns, taken = turns_for_a_write()
        assert taken > 128 << 10 and turns >= taken // (32 << 10), "%d turns for %d bytes" % (turns, taken)
