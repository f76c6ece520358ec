"""How long a stream of ordered writes takes to recover, against the requests that were in flight.

Answers: from when a target that was killed is ready again until all that its
host had not durable is; and how long does opening take somebody whose
forerunner was killed?  Each time it is read what is there.  The host is
weir-recovery.

Rio (EuroSys 2023) says 55 ms for building its order anew and 125 ms for taking
back what is after it: 36 threads that write 4 KiB, two targets, four drives.
"""

import os
import statistics
import struct
import tempfile
import time

import ends

IN_FLIGHT = (1, 16, 128, 512)
LOGS = {"memory": "/dev/shm", "file": None}     # where log and volume are: a folder for them
ROUNDS, QUICK_ROUNDS = 15, 3
LOOKED_AT = 256         # of the groups that are known durable: the last ones
PAPER = "Rio: 55 ms + 125 ms with 36 threads, two targets, four drives"


class Host(ends.Process):
    """weir-recovery, and the board that outlives it."""

    def __init__(self, scene, found=0, until=0):
        self.board = os.path.join(scene.folder, "board")
        super().__init__([scene.program, scene.in_flight, found, until, self.board, scene.machine.uri(scene.target)])

    def hear(self, word):
        """The numbers of its next line, which begins with this word."""
        first, *numbers = self.line().split()
        if first != word:
            raise ends.Failed(f"'{first}' in place of '{word}'")
        return [int(number) for number in numbers]

    def kill(self):
        """(groups that were taken on, those of them that were durable)"""
        self.child.kill()
        self.stop()
        with open(self.board, "rb") as file:
            return struct.unpack("=QQ", file.read())


class Scene:
    """A target whose volume and log are in files, so that they are there when it is started again."""

    def __init__(self, bench, log, in_flight, folder):
        self.machine, self.folder, self.in_flight = bench.machine, folder, in_flight
        self.program = os.path.join(os.path.dirname(self.machine.ceiling_path), "weir-recovery")
        self.more = ("--ns", f"file:{folder}/volume,size=4G", "--order-log", f"{log}:{folder}/log")
        self.target = self.machine.weir(*self.more)

    def start_again(self):
        """Kills the target; (when it was started, when it was ready), in ns."""
        address = self.target.address
        self.target.child.kill()
        self.target.stop()
        started = time.monotonic_ns()
        self.target = ends.Server([self.machine.weir_path, "serve", "--listen", address, *self.more])
        return started, time.monotonic_ns()


def add(bench, name, values, reason=None):
    bench.add(name, statistics.median(values), "ms", min(values), max(values), len(values), reason=reason)


def run_target(bench, scene, name, rounds):
    """The target is killed while the host writes, and started again at once."""
    took, connected, start, kept, sent = [], [], [], [], []
    with Host(scene) as host:
        host.hear("opened")
        for _ in range(rounds):
            host.hear("writing")
            started, ready = scene.start_again()
            kept += host.hear("lost")
            up, complete, durable, commands = host.hear("back")
            if not started < up < complete <= durable:
                raise ends.Failed(f"started {started}, up {up}, complete {complete}, durable {durable}")
            took.append((durable - ready) / 1e6)
            connected.append((durable - up) / 1e6)
            start.append((ready - started) / 1e6)
            sent.append(commands)
    add(bench, name, took, f"{statistics.median(kept):g} groups were not durable, {statistics.median(sent):g} commands "
        f"sent; the target was ready {statistics.median(start):.1f} ms after its start; {PAPER}")
    add(bench, name.replace("_ms", "_connected_ms"), connected)


def run_host(bench, scene, name, rounds):
    """The host is killed while it writes, and another one opens the stream."""
    took, kept, back, there = [], [], [], 0
    host = Host(scene)
    try:
        host.hear("opened")
        for _ in range(rounds):
            host.hear("writing")
            written, durable = host.kill()
            host = Host(scene, max(there, durable - LOOKED_AT), written)
            ns, there = host.hear("opened")
            if there < durable:
                raise ends.Failed(f"{durable} groups were durable, and {there} are there")
            took.append(ns / 1e6)
            kept.append(written - durable)
            back.append(written - there)
    finally:
        host.stop()
    add(bench, name, took, f"{statistics.median(kept):g} groups were not known durable, {statistics.median(back):g} of "
        f"them are not there after it; {PAPER}")


CASES = {"target": run_target, "host": run_host}


def run_case(bench, case, log, in_flight, name):
    rounds = QUICK_ROUNDS if bench.quick else ROUNDS
    with tempfile.TemporaryDirectory(prefix="weir-bench-", dir=LOGS[log]) as folder:
        scene = Scene(bench, log, in_flight, folder)
        try:
            CASES[case](bench, scene, name, rounds)
        finally:
            scene.target.stop()


def steps(bench):
    for case in CASES:
        for log in LOGS:
            for in_flight in IN_FLIGHT:
                name = f"recovery_{case}_{log}_{in_flight}_ms"
                yield (name,), False, lambda case=case, log=log, in_flight=in_flight, name=name: \
                    run_case(bench, case, log, in_flight, name)
