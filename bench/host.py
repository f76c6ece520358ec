"""The figures of the host.

Answers: how near does Weir's host come to what this machine can do, what does
an I/O cost it, and how does Weir's pair of host and target compare with what is
there already?  Both hosts, `weir perf` and the ceiling's client, are driven by
a number of I/Os and have the ceiling's server opposite; nbd.py has the pair, and
failover.py what becomes of I/O when a path is lost.
"""

import tempfile

import failover
import figures
import nbd
import pairs
import selftest

CELLS = {
    "host_read_4k_qd128": figures.Cell(0.90, qd=128),
    "host_write_4k_qd128": figures.Cell(0.90, rw="write", qd=128),
    "host_read_4k_qd1": figures.Cell(0.85),
}
FEW, MANY = 1000, 1000000

BARS = {f"{name}_vs_ceiling": (">=", cell.bar) for name, cell in CELLS.items()} | {
    "host_syscalls_per_io_qd128": ("<=", 0.15),
    "host_allocations": ("<=", 0),
    "pair_vs_nbd_qd32": (">=", 2.0),
} | failover.BARS


class Host(figures.Figures):
    """The figures of Weir's host."""

    bars = BARS

    # ---- ratios ----

    def ceiling_slices(self, server, cell, choice):
        args = (*cell.args, "--engine", choice.engine, "--count", self.ios(choice))
        return lambda: pairs.run_slice(self.machine, server, lambda: self.machine.client(server, *args))

    def weir_slices(self, server, cell, choice):
        args = ("--rw", "rand" + cell.rw, "--qd", cell.qd, "--ios", self.ios(choice))
        return lambda: pairs.run_slice(self.machine, server, lambda: self.machine.perf(server, *args))

    def slices(self, server, cell, choice):
        return self.ceiling_slices(server, cell, choice), self.weir_slices(server, cell, choice)

    def ios(self, choice):
        """Of a slice: as many as take about its time."""
        return max(1000, round(choice.iops * self.effort.slice_s))

    def measure_aa(self):
        cell = CELLS["host_read_4k_qd128"]
        choice = self.choose("A/A", cell)
        with choice.server as server:
            one = self.ceiling_slices(server, cell, choice)
            self.run_aa(pairs.versus(self.machine, one, one, self.effort), choice.words)

    def run_cell(self, name):
        _, results = self.compare_cell(name, CELLS[name])
        if not results and name == "host_read_4k_qd128":
            # How often it looks in vain depends on how fast both ends are.
            self.add("host_syscalls_per_io_qd128", None, "per I/O", reason="not measured: no valid pair")

    def add_sides(self, name, mode, result):
        for side, of in result.sides.items():
            self.add_median(f"{name}_iops_{side}", of.iops, "1/s", mode)
            self.add_median(f"{name}_busy_ns_per_io_{side}_client", of.client_busy_ns, "ns", mode)
            self.add_median(f"{name}_busy_ns_per_io_{side}_server", of.server_busy_ns, "ns", mode)
            self.add_median(f"{name}_batch_{side}_client", of.client_batch, "I/Os per busy turn", mode)
            self.add_median(f"{name}_batch_{side}_server", of.batch, "I/Os per send", mode)
            self.add_median(f"{name}_syscalls_per_io_{side}", of.client_syscalls, "per I/O", mode)
            if name == "host_read_4k_qd1":
                self.add_median(f"{name}_p50_{side}", of.p50_ns, "ns", mode)
                self.add_median(f"{name}_p99_{side}", of.p99_ns, "ns", mode)
        if name == "host_read_4k_qd128":
            self.add_median("host_syscalls_per_io_qd128", result.sides["weir"].client_syscalls, "per I/O", mode)

    def run_pair(self):
        nbd.run(self)

    # ---- counts that noise does not move ----

    def run_instructions(self):
        with self.machine.ceiling() as server:
            once, _ = self.collected(server, selftest.CALLGRIND_READS)
            twice, batch = self.collected(server, 2 * selftest.CALLGRIND_READS)
        self.add("host_instructions_per_read_4k", (twice - once) / selftest.CALLGRIND_READS, "instructions",
                 n=selftest.CALLGRIND_READS, reason=f"batch {batch:.1f}")

    def collected(self, server, reads):
        """Instructions of `weir perf` under callgrind from start to end, and the I/Os of a busy turn."""
        with tempfile.TemporaryDirectory(prefix="weir-bench-") as scratch:
            prefix, log = selftest.callgrind(scratch)
            said = self.machine.perf(server, "--qd", 128, "--ios", reads, prefix=prefix)
            return selftest.collected_in(log), reads / max(1, said["batches"])

    def run_allocations(self):
        with self.machine.ceiling(size=selftest.SIZE) as server:
            few, many = (self.machine.allocator_calls(server, ios) for ios in (FEW, MANY))
        self.add("host_allocations", many - few, "calls", n=MANY - FEW,
                 reason=f"of malloc(), free() and their like, and mmap(); {few} for the first {FEW} I/Os, all before and after")

    def steps(self):
        """(the figures it gives, whether they are ratios, how) in the order they run."""
        yield ("host_instructions_per_read_4k",), False, self.run_instructions
        yield ("host_allocations",), False, self.run_allocations
        yield from failover.steps(self)
        for name in CELLS:
            extra = ("host_syscalls_per_io_qd128",) if name == "host_read_4k_qd128" else ()
            yield (f"{name}_vs_ceiling", *extra), True, lambda name=name: self.run_cell(name)
        yield ("pair_vs_nbd_qd32",), True, self.run_pair
