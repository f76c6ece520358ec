"""The figures of the planner, and of the traces that it reads.

Answers: how long does it take to find disks for so many workloads, with which
memory, and how does that grow with the disks there are?  And how many megabytes
of a trace's text does a second of a processor read, in each format?  The
programs are weir-place-bench (place.c) and weir-trace-bench (trace.c).
"""

import os
import statistics

import ends
import figures

FORMATS = ("msr", "spc", "fiu", "ssdsim", "vscsi", "blkparse")
MIB, ROUNDS, SEEDS = 256, 3, range(1, 4)

SIZES = {"1e6_1e5": (1000000, 100000), "1e5_1e4": (100000, 10000), "1e4_1e3": (10000, 1000)}  # workloads, disks
POLICIES = {"": "minTCO-v3", "_perf": "minTCO-Perf", "_lookahead": "look-ahead"}
LARGEST = {"_perf": 10000, "_lookahead": 10000}    # disks; of those that take far longer

BARS = {f"trace_mb_per_s_{name}": (">=", 200) for name in FORMATS}
BARS |= {"place_1e6_1e5_seconds": ("<=", 60), "place_1e6_1e5_gib": ("<=", 4)}


class Place(figures.Figures):
    """Each seed is another trace."""

    bars = BARS

    def __init__(self, options):
        super().__init__(options)
        self.programs = os.path.join(options.build, "bench")

    def play(self, program, *args):
        with ends.Process([os.path.join(self.programs, program), *args]) as process:
            said = process.json_line(1800)
            process.end()
        return said

    def run_trace(self, name):
        """A seed's rate is the median of its rounds; the figure is that of all seeds together."""
        rounds, mib = (1, MIB // 8) if self.quick else (ROUNDS, MIB)
        plays = {seed: [self.play("weir-trace-bench", name, "--mib", mib, "--seed", seed) for _ in range(rounds)]
                 for seed in SEEDS}
        spent = {seed: statistics.median(one["cpu_ns"] for one in rounds) for seed, rounds in plays.items()}
        texts = {seed: rounds[0] for seed, rounds in plays.items()}
        rates = [said["bytes"] / spent[seed] * 1e3 for seed, said in texts.items()]
        text = sum(said["bytes"] for said in texts.values())
        requests = sum(said["requests"] for said in texts.values())
        self.add(f"trace_mb_per_s_{name}", text / sum(spent.values()) * 1e3, "MB", min(rates), max(rates), len(rates),
                 reason=f"{text / requests:.1f} bytes of text a request, "
                 f"{sum(spent.values()) / requests:.0f} ns of the processor")

    def run_place(self, size, suffix):
        """Each seed once: it is long enough.  The figure is the median of them."""
        workloads, disks = SIZES[size]
        seeds = range(1, 2) if self.quick else SEEDS
        plays = [self.play("weir-place-bench", "--disks", disks, "--workloads", workloads, "--policy", POLICIES[suffix],
                           "--seed", seed) for seed in seeds]
        seconds = [said["seconds"] for said in plays]
        first = plays[0]
        self.add(f"place{suffix}_{size}_seconds", statistics.median(seconds), "s", min(seconds), max(seconds), len(plays),
                 reason=f"{statistics.median(seconds) / workloads * 1e6:.1f} us a workload, "
                 f"{statistics.median(said['opened'] for said in plays):.0f} boxes; {first['placed']} placed, "
                 f"{first['refused']} refused, {first['again']} again")
        gib = [said["gib"] for said in plays]
        self.add(f"place{suffix}_{size}_gib", max(gib), "GiB", min(gib), max(gib), len(plays))

    def steps(self):
        """(the figures it gives, whether they are ratios, how) in the order they run."""
        for suffix in POLICIES:
            for size, (_, disks) in SIZES.items():
                if disks <= LARGEST.get(suffix, disks):
                    yield tuple(f"place{suffix}_{size}_{what}" for what in ("seconds", "gib")), False, \
                        lambda *, size=size, suffix=suffix: self.run_place(size, suffix)
        for name in FORMATS:
            yield (f"trace_mb_per_s_{name}",), False, lambda *, name=name: self.run_trace(name)
