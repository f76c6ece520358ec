"""The figures of the target.

Answers: how near does Weir's target come to what this machine can do, and what
does it cost when it does nothing?  How a ratio is made is in pairs.py, the
processes are in ends.py, and README.md says what each figure means.
"""

import statistics
import tempfile
import time

import figures
import pairs
import selftest

CELLS = {
    "read_4k_qd128_c1": figures.Cell(0.90, qd=128),
    "write_4k_qd128_c1": figures.Cell(0.90, rw="write", qd=128),
    "read_4k_qd32_c16": figures.Cell(0.90, qd=32, connections=16),
    "read_4k_qd1_c1": figures.Cell(0.85),
    "read_4k_qd1_c256": figures.Cell(0.90, connections=256),
    "read_128k_qd8": figures.Cell(0.90, qd=8, io_size=131072),
    "read_4k_qd128_c1_flow_control": figures.Cell(0.90, qd=128, variant=("--flow-control",)),
}
DIGESTS = ("--hdgst", "--ddgst")
IDLE_CONNECTIONS = 1000
STARTS = 11

BARS = {f"{name}_vs_ceiling": (">=", cell.bar) for name, cell in CELLS.items()} | {
    "syscalls_per_io_qd128": ("<=", 0.15),
    "instructions_per_read_4k": ("<=", 600),
    "digest_cost_qd128": ("<=", 0.05),
    "idle_cpu_percent": ("<", 1),
    "rss_idle_mib": ("<=", 32),
    "kib_per_idle_connection": ("<=", 64),
    "start_ms": ("<", 50),
}


class Target(figures.Figures):
    """The figures of Weir's target, and the one over RAM that all ratios use."""

    bars = BARS

    def __init__(self, options):
        super().__init__(options)
        self.weir_ram = None

    def weir(self):
        """That target, its volume written once."""
        if self.weir_ram is None:
            self.weir_ram = self.machine.weir_ram()
            self.machine.fill(self.weir_ram)
        return self.weir_ram

    def close(self):
        super().close()
        if self.weir_ram is not None:
            self.weir_ram.stop()

    # ---- ratios ----

    def timed(self, server, args):
        return pairs.timed(self.machine, server, args, self.effort)

    def slices(self, server, cell, choice):
        args = (*cell.args, "--engine", choice.engine)
        return self.timed(server, args), self.timed(self.weir(), args)

    def measure_aa(self):
        cell = CELLS["read_4k_qd128_c1"]
        choice = self.choose("A/A", cell)
        with choice.server as first, self.machine.ceiling(first.engine) as second:
            args = (*cell.args, "--engine", choice.engine)
            self.run_aa(pairs.versus(self.machine, self.timed(first, args), self.timed(second, args), self.effort),
                        choice.words)

    def run_cell(self, name):
        cell = CELLS[name]
        choice, results = self.compare_cell(name, cell)
        if not results and name == "read_4k_qd128_c1":
            # A count does not depend on how fast the machine is at the moment.
            one = self.timed(self.weir(), (*cell.args, "--engine", choice.engine))()
            self.add("syscalls_per_io_qd128", one["syscalls"], "per I/O", reason=f"batch {one['batch']:.0f}")

    def add_sides(self, name, mode, result):
        for side, of in result.sides.items():
            self.add_median(f"{name}_iops_{side}", of.iops, "1/s", mode)
            self.add_median(f"{name}_busy_ns_per_io_{side}_server", of.server_busy_ns, "ns", mode)
            self.add_median(f"{name}_busy_ns_per_io_{side}_client", of.client_busy_ns, "ns", mode)
            self.add_median(f"{name}_batch_{side}", of.batch, "I/Os per busy turn", mode)
            self.add_median(f"{name}_syscalls_per_io_{side}", of.syscalls, "per I/O", mode)
            self.add_median(f"{name}_p50_{side}", of.p50_ns, "ns", mode)
            self.add_median(f"{name}_p99_{side}", of.p99_ns, "ns", mode)
        if name == "read_4k_qd128_c1":
            self.add_median("syscalls_per_io_qd128", result.sides["weir"].syscalls, "per I/O", mode)

    def run_digests(self):
        """1 - (Weir on/off) / (ceiling on/off): eight slices, off and on of each, and back."""
        cell = CELLS["read_4k_qd128_c1"]
        choice = self.choose("digest_cost_qd128", cell)
        off = (*cell.args, "--engine", choice.engine)
        on = (*off, *DIGESTS)
        with choice.server as server:
            ways = {"ceiling_off": self.timed(server, off), "ceiling_on": self.timed(server, on),
                    "weir_off": self.timed(self.weir(), off), "weir_on": self.timed(self.weir(), on)}
            order = ("ceiling_off", "ceiling_on", "weir_on", "weir_off")
            results = self.compare("digest_cost_qd128", pairs.Comparison(
                self.machine, ways, order + order[::-1],
                lambda logs: logs["weir_on"] - logs["weir_off"] - logs["ceiling_on"] + logs["ceiling_off"],
                self.effort))
        for mode, result in results.items():
            self.add_ratio("digest_cost_qd128", result.ratio(), len(result.logs), mode, choice.words)
            figure = self.figures[-1]
            low, high = figure["low"], figure["high"]
            figure |= {"unit": "fraction", "low": round(1 - high, 4), "high": round(1 - low, 4)}
            if figure["value"] is not None:
                figure["value"] = round(1 - figure["value"], 4)
            for side, of in result.sides.items():
                self.add_median(f"digest_cost_qd128_iops_{side}", of.iops, "1/s", mode)

    # ---- counts that noise does not move ----

    def run_instructions(self):
        for name, start in (("instructions_per_read_4k", self.machine.weir_ram),
                            ("ceiling_instructions_per_read_4k",
                             selftest.ceiling_without_spinning(self.machine))):
            for suffix, client_args in (("", ()), ("_digests", DIGESTS)):
                value, batch, n = selftest.instructions_per_read(self.machine, start, client_args)
                self.add(name + suffix, value, "instructions", n=n, reason=f"batch {batch:.1f}")

    def run_idle(self):
        """The default file volume: CPU and memory of doing nothing."""
        seconds = 2 if self.quick else 10
        with tempfile.TemporaryDirectory(prefix="weir-bench-") as data, \
             self.machine.weir("--data-dir", data) as server:
            self.add("idle_cpu_percent", self.cpu_percent(server, seconds), "%", reason=f"over {seconds} s")
            self.add("rss_idle_mib", server.memory_kib("Rss") / 1024, "MiB")
            before = server.memory_kib("Pss")
            with self.machine.idle(server, IDLE_CONNECTIONS):
                time.sleep(1)
                per = (server.memory_kib("Pss") - before) / IDLE_CONNECTIONS
                self.add("kib_per_idle_connection", per, "KiB", n=IDLE_CONNECTIONS)
                self.add(f"idle_cpu_percent_{IDLE_CONNECTIONS}_connections",
                         self.cpu_percent(server, seconds), "%", reason=f"over {seconds} s")

    @staticmethod
    def cpu_percent(server, seconds):
        time.sleep(1)  # what was started last is allowed to settle
        before, begin = server.ran_ns(), time.monotonic()
        time.sleep(seconds)
        return (server.ran_ns() - before) / 1e7 / (time.monotonic() - begin)

    def run_start(self):
        """From before fork and exec to the line that says it listens, each time with a new data directory."""
        times = []
        for _ in range(3 if self.quick else STARTS):
            with tempfile.TemporaryDirectory(prefix="weir-bench-") as data, \
                 self.machine.weir("--data-dir", data) as server:
                times.append(server.listening_s * 1000)
        self.add("start_ms", statistics.median(times), "ms", min(times), max(times), len(times))

    def steps(self):
        """(the figures it gives, whether they are ratios, how) in the order they run."""
        yield ("start_ms",), False, self.run_start
        yield ("idle_cpu_percent", "rss_idle_mib", "kib_per_idle_connection"), False, self.run_idle
        yield ("instructions_per_read_4k", "ceiling_instructions_per_read_4k"), False, self.run_instructions
        for name in CELLS:
            extra = ("syscalls_per_io_qd128",) if name == "read_4k_qd128_c1" else ()
            yield (f"{name}_vs_ceiling", *extra), True, lambda name=name: self.run_cell(name)
        yield ("digest_cost_qd128",), True, self.run_digests
