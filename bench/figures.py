"""What every run of figures has in common.

Answers: which of the ceiling's variants is a workload compared with, does the
ceiling against itself vouch for a mode, and when is a ratio a figure?  It does
not know which figures there are.
"""

import statistics
import sys
from dataclasses import dataclass

import ends
import pairs

AA_MAX = 0.02
CHOICE_ROUNDS = 5     # a single run says how the machine was just then


class Cell:
    """One workload: the ceiling's client's arguments and the bar of its ratio."""

    def __init__(self, bar, rw="read", qd=1, connections=1, io_size=4096, variant=()):
        self.bar, self.rw, self.qd, self.io_size, self.connections = bar, rw, qd, io_size, connections
        self.args = ("--rw", rw, "--qd", qd, "--connections", connections, "--io-size", io_size, *variant)
        # Asking epoll about a single connection only costs a system call: polling stands for it there.
        self.engines = ("poll", "uring") if connections == 1 else ("epoll", "uring")
        self.copies = ("memcpy", "nt") if rw == "write" else ("memcpy",)


@dataclass
class Choice:
    """The ceiling that a workload is compared with: its server, its client's engine and rate, and both in words."""
    server: ends.Server
    engine: str
    iops: float
    words: str


class Figures:
    """One run: the machine, the effort, and the figures so far."""

    def __init__(self, options):
        self.machine = ends.Machine(options.build)
        self.quick = options.quick
        self.effort = pairs.QUICK if options.quick else pairs.Effort(slice_s=options.slice, patience_s=options.patience)
        self.figures = []
        self.aa = {}        # mode -> A/A ratio with its interval

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

    def close(self):
        self.machine.may_sleep()

    def choose(self, name, cell):
        """The better of the ceiling's variants by short runs of each.

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
        return Choice(servers[key], engine, statistics.median(rates[key, engine]), words)

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

    def compare(self, name, comparison):
        """Runs it, and adds the nulls of `name`; {mode: Result} of what was measured."""
        results = comparison.run(lambda text: self.progress(f"{name} {text}"))
        self.add_unmeasured(name, comparison, results)
        return results

    def compare_cell(self, name, cell):
        """A workload against the ceiling: its ratio, and what both sides did.  The choice, and {mode: Result}.

        A subclass has slices(), how both are run, and add_sides()."""
        choice = self.choose(name, cell)
        with choice.server as server:
            results = self.compare(f"{name}_vs_ceiling", pairs.versus(
                self.machine, *self.slices(server, cell, choice), self.effort))
        for mode, result in results.items():
            self.add_ratio(f"{name}_vs_ceiling", result.ratio(), len(result.logs), mode, choice.words)
            self.add_sides(name, mode, result)
        return choice, results

    def run_aa(self, comparison, words):
        """Ceiling against ceiling must be 1."""
        for mode, result in self.compare("a_a_ratio", comparison).items():
            value, low, high = result.ratio()
            self.aa[mode] = (value, low, high)
            self.add("a_a_ratio", value, "ratio", low, high, len(result.logs), mode, words)
            self.add_median("probe_round_trip", result.probes_ns, "ns", mode)
