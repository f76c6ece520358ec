"""Many connections and controllers of one host: what is done for others costs no more for it."""
import contextlib

import nvme
from nvmetcp import capsule



def busy_ns(target):
    return target.stats()["busy_ns"]


def cost_of_failures(target, ctrl, rounds=200, count=60):
    """Nanoseconds that a command takes which fails; so few at a time that its controller is told of each."""
    queue = ctrl.io_queue(len(ctrl.queues), 1024, sq_flow=False)
    sock, out = queue.conn.sock, b"".join(capsule(nvme.sqe(0x7D, cid=cid, nsid=1)) for cid in range(count))
    began = busy_ns(target)
    for _ in range(rounds):
        sock.sendall(out)
        left = 24 * count
        while left > 0:
            left -= len(sock.recv(left))
    return (busy_ns(target) - began) / rounds / count


def test_commands_that_fail_cost_the_same_beside_many_controllers(serve):
    """each is told to its controller, which is found by its key"""
    target = serve("--max-connections", "4096", "--reactors", "1")
    with contextlib.ExitStack() as stack:
        before = stack.enter_context(nvme.Controller(target.address, kato=0))
        few = min(cost_of_failures(target, before) for _ in range(12))
        for _ in range(900):
            stack.enter_context(nvme.open_queue(target.address, kato=0)[0])
        last = stack.enter_context(nvme.Controller(target.address, kato=0))
        many = min(cost_of_failures(target, last) for _ in range(12))
        assert many < 2 * few, "%.0f ns beside few, %.0f ns beside many" % (few, many)
