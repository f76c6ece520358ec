"""
failover - I/O that goes on while paths are cut: weir-failover, of bench/, started and listened to for a test.
"""
import json
import os
import select
import subprocess
import time

import nvme
from nvmetcp import PATIENCE, require
from target import BUILD, START_S

FAILOVER = os.path.join(BUILD, "bench", "weir-failover")
WAIT_S = 20 * PATIENCE


class Load:
    """Verified I/O to the target behind these ports of 127.0.0.1; what it says is kept in `events`."""

    def __init__(self, ports, *options):
        uri = "nvme+tcp://%s/%s?ns=1" % (",".join("127.0.0.1:%d" % port for port in ports), nvme.SUBNQN)
        self.events, self.buffered = [], b""
        self.process = subprocess.Popen([FAILOVER, *options, uri], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.ready = self.until("ready", seconds=START_S)
        while len(self.all_of("path_up")) < len(ports):
            self._hear(time.monotonic() + START_S)

    def _hear(self, deadline):
        left = deadline - time.monotonic()
        require(left > 0 and select.select([self.process.stdout], [], [], left)[0], "nothing is said; before that: %s",
                self.events[-20:])
        piece = os.read(self.process.stdout.fileno(), 65536)
        if not piece:
            self.process.wait(WAIT_S)  # its output is closed a moment before it is gone
        require(piece, "weir-failover ended (%s); before that: %s", self.process.poll(), self.events[-20:])
        *lines, self.buffered = (self.buffered + piece).split(b"\n")
        self.events += map(json.loads, lines)

    def all_of(self, kind, since=0, **what):
        """The events of this kind that happened since then, all members of which are as `what` says."""
        return [event for event in self.events if event["event"] == kind and event.get("ns", 0) >= since and
                what.items() <= event.items()]

    def until(self, kind, since=0, seconds=WAIT_S, **what):
        """Waits for one."""
        deadline = time.monotonic() + seconds
        while not (found := self.all_of(kind, since, **what)):
            self._hear(deadline)
        return found[0]

    def comes(self, kind, since, seconds):
        """Whether one comes in that time."""
        deadline = time.monotonic() + seconds
        while not self.all_of(kind, since):
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                return False
            self._hear(deadline + WAIT_S)
        return True

    def so_far(self):
        asked = time.monotonic_ns()
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()
        return self.until("so_far", asked)

    def goes_on(self, ios=100):
        """Waits for so many I/Os more."""
        first, deadline = self.so_far()["ios"], time.monotonic() + WAIT_S
        while (found := self.so_far()["ios"]) < first + ios:
            require(time.monotonic() < deadline, "I/O has stopped at %d, %d; %s", first, found, self.events[-20:])

    def stands_still(self, looks=5):
        """Waits until no I/O ends any more, as where all have come to one that nobody answers."""
        deadline, found, same = time.monotonic() + WAIT_S, None, 0
        while same < looks:
            before, found = found, self.so_far()["ios"]
            same = same + 1 if found == before else 0
            require(time.monotonic() < deadline, "I/O goes on, with %d; %s", found, self.events[-20:])

    def end(self, never=("lost", "doubled", "wrong", "failed")):
        """Reads all back; the account, in which these are 0."""
        self.process.stdin.close()
        account = self.until("account", seconds=100 * PATIENCE)
        require(self.process.wait(WAIT_S) == 0, "weir-failover ended with %s", self.process.returncode)
        for name in never:
            require(account[name] == 0, "%s: %s; %s", name, account, self.all_of("wrong"))
        return account

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.returncode is None:
            self.process.kill()
            self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
