"""The figures of ordered writes, in real time, by sockets of this machine.

Answers: how many writes of 4 KiB in a second does a stream do for each one that
is done without an order, by the same tool to the same target?  Where the log is
a file in memory, and where it is one on a disk, whose syncs are in it.  What
recovering takes is in recovery.py.
"""

import contextlib
import os
import tempfile

import figures
import pairs
import recovery
import selftest

QD = 128
FIRST_IOS = 100000      # of the run that says how many a slice is to have
LOGS = {                # figure: (where the log is, a folder for it)
    "ordered_vs_orderless_real": ("memory", "/dev/shm"),
    "ordered_vs_orderless_real_file": ("file", None),
}
INSTRUCTIONS = tuple(f"instructions_per_write_{side}_{end}" for side in ("plain", "ordered") for end in ("client", "server"))
BARS = {"ordered_vs_orderless_real": (">=", 0.90)}


class Ordered(figures.Figures):
    """Plain writes are the ceiling: what they cost, the order is on top of."""

    bars = BARS

    @contextlib.contextmanager
    def target(self, name):
        """one with a log, and a volume of which each block was written"""
        kind, folder = LOGS[name]
        with tempfile.TemporaryDirectory(prefix="weir-bench-", dir=folder) as scratch, \
             self.machine.weir_ram(more=("--order-log", f"{kind}:{os.path.join(scratch, 'log')}")) as server:
            self.machine.fill(server)
            yield server

    def load(self, server, ios, *more):
        return self.machine.perf(server, "--rw", "randwrite", "--qd", QD, "--ios", ios, *more)

    def ios(self, server):
        """of a slice: as many as plain writes take about its time for"""
        return max(1000, round(self.load(server, FIRST_IOS)["iops"] * self.effort.slice_s))

    def slices(self, server, ios, *more, writes_files=False):
        return lambda: pairs.run_slice(self.machine, server, lambda: self.load(server, ios, *more), writes_files)

    def compare_two(self, one, other):
        """`other` by `one`: what runs a slice of each"""
        return pairs.Comparison(self.machine, {"plain": one, "other": other}, ("plain", "other", "other", "plain"),
                                lambda logs: logs["other"] - logs["plain"], self.effort)

    def measure_aa(self):
        with self.target("ordered_vs_orderless_real") as server:
            one = self.slices(server, self.ios(server))
            self.run_aa(self.compare_two(one, one), "plain writes with plain writes")

    def run_ratio(self, name):
        with self.target(name) as server:
            ios = self.ios(server)
            ordered = self.slices(server, ios, "--ordered", writes_files=LOGS[name][0] == "file")
            results = self.compare(name, self.compare_two(self.slices(server, ios), ordered))
        for mode, result in results.items():
            self.add_ratio(name, result.ratio(), len(result.logs), mode, f"{LOGS[name][0]} log, {QD} in flight")
            for side, of in (("plain", result.sides["plain"]), ("ordered", result.sides["other"])):
                self.add_median(f"{name}_iops_{side}", of.iops, "1/s", mode)
                self.add_median(f"{name}_busy_ns_per_io_{side}_client", of.client_busy_ns, "ns", mode)
                self.add_median(f"{name}_busy_ns_per_io_{side}_server", of.server_busy_ns, "ns", mode)
                self.add_median(f"{name}_batch_{side}_client", of.client_batch, "I/Os per busy turn", mode)
                self.add_median(f"{name}_batch_{side}_server", of.batch, "I/Os per busy turn", mode)
                self.add_median(f"{name}_syscalls_per_io_{side}_client", of.client_syscalls, "per I/O", mode)
                self.add_median(f"{name}_syscalls_per_io_{side}_server", of.syscalls, "per I/O", mode)

    # ---- counts that noise does not move ----

    def collected(self, ios, end, *more):
        """Instructions of the `end` under callgrind from start to end; and of the target, what it has counted."""
        with tempfile.TemporaryDirectory(prefix="weir-bench-", dir="/dev/shm") as scratch:
            prefix, log = selftest.callgrind(scratch)
            prefixes = {"server": (), "client": (), end: prefix}
            with self.machine.weir_ram(size=selftest.SIZE, prefix=prefixes["server"],
                                       more=("--order-log", f"memory:{os.path.join(scratch, 'orders')}")) as server:
                self.machine.perf(server, "--rw", "randwrite", "--qd", QD, "--ios", ios, *more,
                                  prefix=prefixes["client"])
            return selftest.collected_in(log)

    def run_instructions(self):
        n = selftest.CALLGRIND_READS
        for side, more in (("plain", ()), ("ordered", ("--ordered",))):
            for end in ("client", "server"):
                once, twice = (self.collected(ios, end, *more) for ios in (n, 2 * n))
                self.add(f"instructions_per_write_{side}_{end}", (twice - once) / n, "instructions", n=n)

    def steps(self):
        """(the figures it gives, whether they are ratios, how) in the order they run."""
        yield INSTRUCTIONS, False, self.run_instructions
        yield from recovery.steps(self)
        for name in LOGS:
            yield (name,), True, lambda *, name=name: self.run_ratio(name)
