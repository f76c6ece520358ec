"""The figures of the modelled SSD.

Answers: how many 4 KiB I/Os does a second of a processor play on a modelled
drive, one thread in all, with contents and without; how long is a fragmented
drive in the making; and how many instructions is a read?  The program is
weir-flash-bench (flash.c).
"""

import os
import statistics
import tempfile

import ends
import figures
import selftest

DEPTH, ROUNDS, SEEDS = 128, 3, range(1, 6)
# name: (mode, profile, GiB, reads of a hundred, I/Os)
DRIVES = {
    "flash_ios_per_cpu_second": ("drive", "tlc-plp", 8, 100, 4000000),
    "flash_data_ios_per_cpu_second": ("data", "tlc-plp", 8, 100, 2000000),
    "flash_writes_per_cpu_second": ("drive", "tlc-plp", 8, 0, 1000000),
    "flash_mixed_per_cpu_second": ("drive", "tlc-plp", 8, 70, 1000000),
    "flash_consumer_ios_per_cpu_second": ("drive", "tlc-consumer", 8, 100, 4000000),
    "flash_optane_ios_per_cpu_second": ("drive", "optane", 8, 100, 4000000),
    "flash_qlc_ios_per_cpu_second": ("drive", "qlc", 64, 100, 4000000),
}
INSTRUCTIONS = 200000   # reads, and twice as many

BARS = {
    "flash_ios_per_cpu_second": (">=", 2000000),
    "flash_data_ios_per_cpu_second": (">=", 700000),
    "flash_condition_seconds": ("<=", 30),
}


class Flash(figures.Figures):
    """Each seed is another drive: written all over in another order."""

    bars = BARS

    def __init__(self, options):
        super().__init__(options)
        self.path = os.path.join(options.build, "bench", "weir-flash-bench")

    def play(self, mode, profile, gib, *more, prefix=()):
        with ends.Process([*prefix, self.path, mode, "--profile", profile, "--size", gib, "--depth", DEPTH,
                           *more]) as process:
            said = process.json_line(600)
            process.end()
        return said

    def middle(self, *args):
        """Of several rounds, for each seed the one that took the median time."""
        rounds = 1 if self.quick else ROUNDS
        for seed in SEEDS:
            plays = [self.play(*args, "--seed", seed) for _ in range(rounds)]
            yield min(plays, key=lambda said: abs(said["cpu_ns"] - statistics.median(one["cpu_ns"] for one in plays)))

    def run_drive(self, name):
        mode, profile, gib, reads, jobs = DRIVES[name]
        seeds = list(self.middle(mode, profile, gib, "--reads", reads, "--jobs", jobs // 10 if self.quick else jobs))
        rates = [said["jobs"] / said["cpu_ns"] * 1e9 for said in seeds]
        spent = sum(said["cpu_ns"] for said in seeds)
        written = sum(said["jobs"] - said["reads"] for said in seeds) * 4096
        amplified = f", amplified {sum(said['programmed_bytes'] for said in seeds) / written:.2f} times" if written else ""
        self.add(name, sum(said["jobs"] for said in seeds) / spent * 1e9, "I/Os", min(rates), max(rates), len(rates),
                 reason=f"{reads} % reads, {DEPTH} in flight, {profile} of {gib} GiB{amplified}; virtual "
                 f"time passes {sum(said['virtual_ns'] for said in seeds) / spent:.2f} times as fast as the processor's")

    def run_condition(self):
        seeds = list(self.middle("condition", "tlc-plp", 8))
        seconds = [said["cpu_ns"] / 1e9 for said in seeds]
        self.add("flash_condition_seconds", statistics.median(seconds), "s", min(seconds), max(seconds), len(seconds),
                 reason=f"{seeds[0]['host_units']} units written, and {seeds[0]['moved_units']} moved, of the first seed")

    def run_instructions(self):
        with tempfile.TemporaryDirectory(prefix="weir-bench-") as scratch:
            counts = []
            for jobs in (INSTRUCTIONS, 2 * INSTRUCTIONS):
                prefix, log = selftest.callgrind(scratch)
                self.play("drive", "tlc-plp", 1, "--jobs", jobs, prefix=prefix)
                counts.append(selftest.collected_in(log))
        # A tenth comes before what is counted.
        played = INSTRUCTIONS * 11 // 10
        self.add("flash_instructions_per_read", (counts[1] - counts[0]) / played, "instructions", n=played,
                 reason="of 1 GiB")

    def steps(self):
        """(the figures it gives, whether they are ratios, how) in the order they run."""
        yield ("flash_instructions_per_read",), False, self.run_instructions
        yield ("flash_condition_seconds",), False, self.run_condition
        for name in DRIVES:
            yield (name,), False, lambda *, name=name: self.run_drive(name)
