"""Ratios of two servers, measured in pairs.

Answers: how much does B do for each one that A does, and how sure is that?
Virtual processors move about and other work disturbs, so a pair is four slices
A B B A between probes; it counts only if nothing changed meanwhile.  Each way
that the processors can lie to each other, a mode, is measured by itself.  It
does not know what A and B are.
"""

import math
import random
import statistics
import time
from dataclasses import dataclass, field

PROBE_SPREAD = 1.15   # the probes of a pair: largest by smallest
WAITED_MAX = 0.02     # of a slice, that an end may wait for its processor while others' work is done there
HALF_WIDTH_MAX = 0.03
HALF_WIDTH_ENOUGH = 0.015
RESAMPLES = 4000
MODES = ("L", "X")    # what is looked for; weir-ceiling probe says which it is
MOVES_MAX = 100       # in a row that did not lead to one that is still looked for: it does not occur now


@dataclass
class Effort:
    """How long to measure: seconds of a slice, valid pairs of a mode, and seconds for a figure."""
    slice_s: float = 0.4
    warm_up_s: float = 0.1
    pairs_min: int = 15
    pairs_max: int = 150
    patience_s: float = 300


QUICK = Effort(pairs_min=3, pairs_max=3, patience_s=15)


@dataclass
class Side:
    """What one server's slices of one mode say beside the ratio."""
    iops: list = field(default_factory=list)
    server_busy_ns: list = field(default_factory=list)
    client_busy_ns: list = field(default_factory=list)
    syscalls: list = field(default_factory=list)
    batch: list = field(default_factory=list)
    client_syscalls: list = field(default_factory=list)
    client_batch: list = field(default_factory=list)
    p50_ns: list = field(default_factory=list)
    p99_ns: list = field(default_factory=list)

    def add(self, one):
        for name, values in vars(self).items():
            if name in one:
                values.append(one[name])


@dataclass
class Result:
    """The valid pairs of one mode: log ratios, and the sides by name."""
    logs: list = field(default_factory=list)
    sides: dict = field(default_factory=dict)
    probes_ns: list = field(default_factory=list)

    def ratio(self):
        """(median, low, high) of B by A, the interval by bootstrap."""
        return tuple(math.exp(value) for value in bootstrap(self.logs))


def bootstrap(values):
    """The median and its 95 % interval; the same values give the same interval."""
    chance = random.Random(1)
    medians = sorted(statistics.median(chance.choices(values, k=len(values))) for _ in range(RESAMPLES))
    return statistics.median(values), medians[int(RESAMPLES * 0.025)], medians[int(RESAMPLES * 0.975)]


def half_width(interval):
    """Of a ratio above 1 it is in proportion to it."""
    return (interval[2] - interval[1]) / 2 / max(1, interval[0])


def run_slice(machine, server, drive, writes_files=False):
    """One slice: rates and busy time of both ends, and whether something else ran on their processors.

    `drive()` runs the client, and returns what it said (ends.Machine.client(), .perf()).  Where the server
    `writes_files` it waits for kernel threads that do so for it: that is its own work."""
    begin, softirq_before = time.perf_counter_ns(), machine.softirq_ns()
    before = server.counters()
    client = drive()
    after = server.counters()
    softirq = [end - start for start, end in zip(softirq_before, machine.softirq_ns())]
    all_ns = time.perf_counter_ns() - begin
    did = {name: after[name] - before[name] for name in ("ios", "busy_ns", "busy_turns", "syscalls", "waited_ns")}
    # With io_uring the end of a send makes a turn of its own, which is no batch; Weir counts no sends.
    batches = after["sends"] - before["sends"] if "sends" in after else did["busy_turns"]
    waited = client["waited"] - softirq[1] / all_ns
    if not writes_files:
        waited = max(waited, (did["waited_ns"] - softirq[0]) / all_ns)
    ios = max(1, did["ios"])
    one = {
        "iops": client["iops"],
        "client_busy_ns": client["busy_ns"] / max(1, client["ios"]),
        "server_busy_ns": did["busy_ns"] / ios,
        "syscalls": did["syscalls"] / ios,
        "batch": did["ios"] / max(1, batches),
        "client_syscalls": client["syscalls"] / max(1, client["ios"]),
        "client_batch": client["ios"] / max(1, client["batches"]),
        "disturbed": waited > WAITED_MAX,
        "waited": waited,
    }
    if "p50_ns" in client:
        one["p50_ns"], one["p99_ns"] = client["p50_ns"], client["p99_ns"]
    return one


class Comparison:
    """Slices of several servers in a fixed order that is its own mirror; the ratio is `value` of their rates.

    `ends`: name -> what runs one slice and returns its "iops", whether it was "disturbed", and
    what else of Side it knows.  `order`: names.  `value`: from the mean log rate by name to the
    pair's log ratio.
    """

    def __init__(self, machine, ends, order, value, effort):
        self.machine, self.ends, self.order, self.value, self.effort = machine, ends, order, value, effort
        self.modes = {}
        self.refused = {"mode changed": 0, "disturbed": 0, "not in a mode that is still looked for": 0}
        self.moves = 0  # in a row

    def pair(self):
        """One try; a pair that cannot become valid is given up at once."""
        probes = [self.machine.probe()]
        if probes[0][1] not in MODES or self.enough(probes[0][1]):
            self.refused["not in a mode that is still looked for"] += 1
            self.moves += 1
            self.machine.move()
            return
        self.moves = 0
        slices = []
        for name in self.order:
            one = self.ends[name]()
            probes.append(self.machine.probe())
            times = [probe[0] for probe in probes]
            if len({probe[1] for probe in probes}) > 1 or max(times) > PROBE_SPREAD * min(times):
                self.refused["mode changed"] += 1
                return
            if one["disturbed"]:
                self.refused["disturbed"] += 1
                return
            slices.append((name, one))
        result = self.modes.setdefault(probes[0][1], Result())
        logs = {name: statistics.mean(math.log(one["iops"]) for other, one in slices if other == name)
                for name in self.ends}
        result.logs.append(self.value(logs))
        result.probes_ns += [probe[0] for probe in probes]
        for name, one in slices:
            result.sides.setdefault(name, Side()).add(one)

    def enough(self, mode):
        """Nothing is left to find out in this mode."""
        result = self.modes.get(mode, Result())
        if len(result.logs) < self.effort.pairs_min:
            return False
        return len(result.logs) >= self.effort.pairs_max or half_width(result.ratio()) <= HALF_WIDTH_ENOUGH

    def run(self, progress):
        """Pairs until they are enough or patience ends; {mode: Result} of those with enough pairs."""
        end = time.monotonic() + self.effort.patience_s
        self.machine.stay_awake()
        while time.monotonic() < end and self.moves < MOVES_MAX and not all(self.enough(mode) for mode in MODES):
            self.pair()
            progress((self.found() or "no valid pair") + f" (refused: {self.why_refused()})")
        self.machine.may_sleep()
        return {mode: result for mode, result in self.modes.items()
                if len(result.logs) >= self.effort.pairs_min}

    def found(self):
        return ", ".join(
            f"{mode} {len(result.logs)} pairs {result.ratio()[0]:.3f} +- {half_width(result.ratio()):.3f}"
            for mode, result in sorted(self.modes.items()))

    def why_refused(self):
        return ", ".join(f"{count} {why}" for why, count in self.refused.items())

    def why_nothing(self):
        return f"not measured: {self.found() or 'no valid pair'}; refused: {self.why_refused()}"


def timed(machine, server, client_args, effort):
    """What runs a slice of the ceiling's client on a server."""
    args = (*client_args, "--time", effort.slice_s, "--warm-up", effort.warm_up_s)
    return lambda: run_slice(machine, server, lambda: machine.client(server, *args))


def versus(machine, a, b, effort):
    """B by A in the order A B B A; each is what runs a slice."""
    return Comparison(machine, {"ceiling": a, "weir": b}, ("ceiling", "weir", "weir", "ceiling"),
                      lambda logs: logs["weir"] - logs["ceiling"], effort)
