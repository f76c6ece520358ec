#!/usr/bin/python3
"""The benchmarks of the target: bench/run.py target [--json] [--only FIGURE] [--quick].

Answers: how near does Weir's target come to what this machine can do, and what
does it cost when it does nothing?  How a ratio is made is in pairs.py, the
processes are in ends.py, and README.md says what each figure means.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import ends
import pairs
import selftest

HERE = os.path.dirname(os.path.abspath(__file__))


class Cell:
    """One workload: the client's arguments and the bar of its ratio."""

    def __init__(self, bar, rw="read", qd=1, connections=1, io_size=4096, variant=()):
        self.bar, self.rw, self.io_size, self.connections = bar, rw, io_size, connections
        self.args = ("--rw", rw, "--qd", qd, "--connections", connections, "--io-size", io_size, *variant)
        # Asking epoll about a single connection only costs a system call: polling stands for it there.
        self.engines = ("poll", "uring") if connections == 1 else ("epoll", "uring")
        self.copies = ("memcpy", "nt") if rw == "write" else ("memcpy",)


CELLS = {
    "read_4k_qd128_c1": Cell(0.90, qd=128),
    "write_4k_qd128_c1": Cell(0.90, rw="write", qd=128),
    "read_4k_qd32_c16": Cell(0.90, qd=32, connections=16),
    "read_4k_qd1_c1": Cell(0.85),
    "read_4k_qd1_c256": Cell(0.90, connections=256),
    "read_128k_qd8": Cell(0.90, qd=8, io_size=131072),
    "read_4k_qd128_c1_flow_control": Cell(0.90, qd=128, variant=("--flow-control",)),
}
DIGESTS = ("--hdgst", "--ddgst")
IDLE_CONNECTIONS = 1000
STARTS = 11
AA_MAX = 0.02
CHOICE_ROUNDS = 5     # a single run says how the machine was just then

# Figure -> (">=" or "<=", bar); the rest are for orientation.
BARS = {f"{name}_vs_ceiling": (">=", cell.bar) for name, cell in CELLS.items()} | {
    "syscalls_per_io_qd128": ("<=", 0.15),
    "instructions_per_read_4k": ("<=", 600),
    "digest_cost_qd128": ("<=", 0.05),
    "idle_cpu_percent": ("<", 1),
    "rss_idle_mib": ("<=", 32),
    "kib_per_idle_connection": ("<=", 64),
    "start_ms": ("<", 50),
}


def meets(name, value):
    kind, bar = BARS[name]
    return {">=": value >= bar, "<=": value <= bar, "<": value < bar}[kind]


class Bench:
    """One run: the machine, the effort, and the figures so far."""

    def __init__(self, options):
        self.machine = ends.Machine(options.build)
        self.quick = options.quick
        self.effort = pairs.QUICK if options.quick else pairs.Effort(slice_s=options.slice, patience_s=options.patience)
        self.figures = []
        self.aa = {}        # mode -> A/A ratio with its interval
        self.weir_ram = None

    def add(self, name, value, unit, low=None, high=None, n=1, mode=None, reason=None):
        def rounded(number):
            return None if number is None else float(f"{number:.4g}") if abs(number) < 1000 else round(number)

        self.figures.append({"name": name, "value": rounded(value), "unit": unit, "low": rounded(low),
                             "high": rounded(high), "n": n, "mode": mode, "reason": reason})

    def add_median(self, name, values, unit, mode):
        if values:
            low, high = (min(values), max(values)) if len(values) < 3 else pairs.bootstrap(values)[1:]
            self.add(name, statistics.median(values), unit, low, high, len(values), mode)

    def progress(self, text):
        print(text, file=sys.stderr, flush=True)

    def weir(self):
        """The one target over RAM that all ratios use, its volume written once."""
        if self.weir_ram is None:
            self.weir_ram = self.machine.weir_ram()
            self.machine.fill(self.weir_ram)
        return self.weir_ram

    def close(self):
        self.machine.may_sleep()
        if self.weir_ram is not None:
            self.weir_ram.stop()

    # ---- ratios ----

    def choose(self, name, cell):
        """The better of the ceiling's variants by short runs of each: (server, engine of the client, words).

        The client's engine is chosen too, and is then the same for both servers."""
        servers, rates = {}, {}
        try:
            for engine in cell.engines:
                for copy in cell.copies:
                    servers[engine, copy] = self.machine.ceiling(engine, copy, cell.io_size)
                    if cell.rw == "write":
                        self.machine.fill(servers[engine, copy])
            for _ in range(CHOICE_ROUNDS):
                for key, server in servers.items():
                    for engine in cell.engines:
                        client = self.machine.client(server, *cell.args, "--engine", engine, "--time", 0.3,
                                                     "--warm-up", 0.1)
                        rates.setdefault((key, engine), []).append(client["iops"])
        except BaseException:
            for server in servers.values():
                server.stop()
            raise
        key, engine = max(rates, key=lambda one: statistics.median(rates[one]))
        for other, server in servers.items():
            if other != key:
                server.stop()
        words = f"ceiling: server {key[0]}" + (f" {key[1]}" if cell.rw == "write" else "") + f", client {engine}"
        self.progress(f"{name}: {words}")
        return servers[key], engine, words

    def add_ratio(self, name, interval, n, mode, words):
        """A ratio is a figure only if the A/A run was right and the interval is narrow."""
        value, low, high = interval
        wide = pairs.half_width(interval) > pairs.HALF_WIDTH_MAX
        why = self.why_no_aa(mode) or (f"half-width {pairs.half_width(interval):.3f}" if wide else None)
        if why:
            self.add(name, None, "ratio", low, high, n, mode, f"not measured: {why}; median {value:.3f}; {words}")
        else:
            self.add(name, value, "ratio", low, high, n, mode, words)

    def why_no_aa(self, mode):
        """Why the ceiling against itself does not vouch for this mode; None: it does."""
        if mode not in self.aa:
            return f"no A/A run in mode {mode}"
        if abs(self.aa[mode][0] - 1) > AA_MAX or pairs.half_width(self.aa[mode]) > pairs.HALF_WIDTH_MAX:
            return f"A/A gave {self.aa[mode][0]:.3f} +- {pairs.half_width(self.aa[mode]):.3f}"
        return None

    def add_unmeasured(self, name, comparison, results):
        """A null for each mode in which too few pairs were valid."""
        for mode in pairs.MODES:
            if mode not in results:
                self.add(name, None, "ratio", mode=mode, reason=comparison.why_nothing())

    def run_aa(self):
        """Ceiling against ceiling must be 1."""
        cell = CELLS["read_4k_qd128_c1"]
        first, engine, words = self.choose("A/A", cell)
        with first, self.machine.ceiling(first.engine) as second:
            args = (*cell.args, "--engine", engine)
            comparison = pairs.versus(self.machine, (first, args), (second, args), self.effort)
            results = comparison.run(lambda text: self.progress(f"A/A {text}"))
        for mode, result in results.items():
            value, low, high = result.ratio()
            self.aa[mode] = (value, low, high)
            self.add("a_a_ratio", value, "ratio", low, high, len(result.logs), mode, words)
            self.add_median("probe_round_trip", result.probes_ns, "ns", mode)
        self.add_unmeasured("a_a_ratio", comparison, results)

    def run_cell(self, name):
        cell = CELLS[name]
        server, engine, words = self.choose(name, cell)
        with server:
            args = (*cell.args, "--engine", engine)
            comparison = pairs.versus(self.machine, (server, args), (self.weir(), args), self.effort)
            results = comparison.run(lambda text: self.progress(f"{name} {text}"))
        self.add_unmeasured(f"{name}_vs_ceiling", comparison, results)
        if not results and name == "read_4k_qd128_c1":
            # A count does not depend on how fast the machine is at the moment.
            one = pairs.run_slice(self.machine, self.weir(), args, self.effort)
            self.add("syscalls_per_io_qd128", one["syscalls"], "per I/O", reason=f"batch {one['batch']:.0f}")
        for mode, result in results.items():
            self.add_ratio(f"{name}_vs_ceiling", result.ratio(), len(result.logs), mode, words)
            self.add_sides(name, mode, result)

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
        server, engine, words = self.choose("digest_cost_qd128", cell)
        off = (*cell.args, "--engine", engine)
        on = (*off, *DIGESTS)
        with server:
            ways = {"ceiling_off": (server, off), "ceiling_on": (server, on),
                    "weir_off": (self.weir(), off), "weir_on": (self.weir(), on)}
            order = ("ceiling_off", "ceiling_on", "weir_on", "weir_off")
            comparison = pairs.Comparison(
                self.machine, ways, order + order[::-1],
                lambda logs: logs["weir_on"] - logs["weir_off"] - logs["ceiling_on"] + logs["ceiling_off"],
                self.effort)
            results = comparison.run(lambda text: self.progress(f"digest_cost_qd128 {text}"))
        self.add_unmeasured("digest_cost_qd128", comparison, results)
        for mode, result in results.items():
            self.add_ratio("digest_cost_qd128", result.ratio(), len(result.logs), mode, words)
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


def commit():
    """What was measured, if the build is of the tree that this file lies in; None outside a repository."""
    said = subprocess.run(["git", "-C", HERE, "describe", "--always", "--dirty", "--abbrev=12"],
                          capture_output=True, text=True)
    return said.stdout.strip() or None


def steps(bench):
    """(the figures it gives, how) in the order they run."""
    yield ("start_ms",), bench.run_start
    yield ("idle_cpu_percent", "rss_idle_mib", "kib_per_idle_connection"), bench.run_idle
    yield ("instructions_per_read_4k", "ceiling_instructions_per_read_4k"), bench.run_instructions
    for name in CELLS:
        extra = ("syscalls_per_io_qd128",) if name == "read_4k_qd128_c1" else ()
        yield (f"{name}_vs_ceiling", *extra), lambda name=name: bench.run_cell(name)
    yield ("digest_cost_qd128",), bench.run_digests


def is_ratio(name):
    return name.endswith("_vs_ceiling") or name in ("digest_cost_qd128", "syscalls_per_io_qd128")


def run_target(options):
    bench = Bench(options)
    every = list(steps(bench))
    known = [name for names, _ in every for name in names]
    for name in options.only:
        if name not in known:
            raise ends.Failed(f"--only {name}: not one of {', '.join(known)}")
    wanted = [(names, step) for names, step in every if not options.only or set(names) & set(options.only)]
    try:
        for names, step in wanted:
            if is_ratio(names[0]) and not any(figure["name"] == "a_a_ratio" for figure in bench.figures):
                bench.run_aa()
            bench.progress(f"-- {names[0]}")
            try:
                step()
            except ends.Failed as why:
                for name in names:
                    bench.add(name, None, "", reason=f"failed: {why}")
    finally:
        bench.close()
    return {"name": "target", "commit": commit(), "machine": bench.machine.describe(), "figures": bench.figures}


def print_table(result):
    print(f"{result['name']} on {result['machine']}\n")
    print(f"{'figure':52} {'mode':4} {'value':>12} {'low':>10} {'high':>10} {'n':>5}  {'unit':18} bar")
    for figure in sorted(result["figures"], key=lambda one: one["name"] not in BARS):
        shown = ["-" if figure[key] is None else f"{figure[key]:g}" for key in ("value", "low", "high")]
        verdict = ""
        if figure["name"] in BARS:
            verdict = " ".join(str(part) for part in BARS[figure["name"]])
            if figure["value"] is None:
                verdict += ": not measured"
            else:
                verdict += ": met" if meets(figure["name"], figure["value"]) else ": NOT MET"
        print(f"{figure['name']:52} {figure['mode'] or '':4} {shown[0]:>12} {shown[1]:>10} {shown[2]:>10} "
              f"{figure['n']:5}  {figure['unit']:18} {verdict}" +
              (f"  ({figure['reason']})" if figure["reason"] else ""))


def main():
    parser = argparse.ArgumentParser(prog="bench/run.py", description=__doc__.split("\n", 1)[0])
    parser.add_argument("what", choices=("target", "selftest", "frozen"),
                        help="target: the benchmark; selftest: the ceiling against itself, seconds; "
                             "frozen: the ceiling's instructions per I/O are those recorded")
    parser.add_argument("--build", default=os.path.join(HERE, "..", "build"), help="the build directory")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--only", action="append", default=[], metavar="FIGURE", help="may be repeated")
    parser.add_argument("--quick", action="store_true", help="short slices and few pairs, to try it out")
    parser.add_argument("--slice", type=float, default=pairs.Effort.slice_s, metavar="S",
                        help=f"seconds of a slice ({pairs.Effort.slice_s})")
    parser.add_argument("--patience", type=float, default=pairs.Effort.patience_s, metavar="S",
                        help=f"seconds to spend on a ratio at most ({pairs.Effort.patience_s})")
    options = parser.parse_args()
    ends.raise_file_limit()
    try:
        if options.what == "selftest":
            return selftest.run(ends.Machine(options.build, needs_weir=False))
        if options.what == "frozen":
            return selftest.run_frozen(ends.Machine(options.build, needs_weir=False))
        result = run_target(options)
    except ends.Failed as why:
        print(f"bench: {why}", file=sys.stderr)
        return 1
    if options.json:
        print(json.dumps(result, indent=1))
    else:
        print_table(result)
    return 0


if __name__ == "__main__":
    sys.exit(main())
