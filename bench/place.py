"""The figures of the planner, and of the traces that it reads.

Answers: how many megabytes of a trace's text does a second of a processor
read, in each format?  The program is weir-trace-bench (trace.c).
"""

import os
import statistics

import ends
import figures

FORMATS = ("msr", "spc", "fiu", "ssdsim", "vscsi", "blkparse")
MIB, ROUNDS, SEEDS = 256, 3, range(1, 4)

BARS = {f"trace_mb_per_s_{name}": (">=", 200) for name in FORMATS}


class Place(figures.Figures):
    """Each seed is another trace."""

    bars = BARS

    def __init__(self, options):
        super().__init__(options)
        self.programs = os.path.join(options.build, "bench")

    def play(self, program, *args):
        with ends.Process([os.path.join(self.programs, program), *args]) as process:
            said = process.json_line(600)
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

    def steps(self):
        """(the figures it gives, whether they are ratios, how) in the order they run."""
        for name in FORMATS:
            yield (f"trace_mb_per_s_{name}",), False, lambda *, name=name: self.run_trace(name)
