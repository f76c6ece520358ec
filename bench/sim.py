"""The figures of the simulation.

Answers: how many 4 KiB I/Os does a second of a processor play through the real
host, the simulated network, the real target and a volume in RAM, one thread in
all; and how much happens for each?  The program is weir-sim-bench (sim.c).
"""

import os
import statistics
import tempfile

import ends
import figures
import selftest

MIXES = {"ios": 70, "reads": 100, "writes": 0}     # of a hundred
CLUSTERS = {                                       # and what is played
    "": ("one host, one reactor", ()),
    "_4_hosts": ("4 hosts, 2 reactors", ("--hosts", 4, "--reactors", 2)),
    "_file": ("one host, one reactor, in a file", ("--file",)),
}
DEPTHS = (32, 1, 128)                              # of each host
THE_ONE = ("ios", 32, "")                          # whose bar counts
IOS, ROUNDS, SEEDS = 50000, 3, range(1, 9)
KINDS = ("turn", "mail", "bytes", "space", "again", "read", "write")

BARS = {"sim_ios_per_cpu_second": (">=", 300000)}


def name_of(mix, depth, cluster):
    place = "" if (mix, depth, cluster) == THE_ONE else f"_qd{depth}{cluster}"
    return f"sim_{mix}_per_cpu_second{place}"


class Sim(figures.Figures):
    """The simulation as it is by default, each seed another network."""

    bars = BARS

    def __init__(self, options):
        super().__init__(options)
        self.path = os.path.join(options.build, "bench", "weir-sim-bench")

    def play(self, mix, depth, cluster, seed, ios, *more, prefix=()):
        _, cluster_args = CLUSTERS[cluster]
        with ends.Process([*prefix, self.path, "--reads", MIXES[mix], "--depth", depth, *cluster_args, "--seed", seed,
                           "--ios", ios, *more]) as process:
            said = process.json_line(600)
            process.end()
        if said["wrong"] > 0 or said["failed"] > 0:
            raise ends.Failed(f"seed {seed}: {said['wrong']} wrong, {said['failed']} failed")
        return said

    def run_cell(self, mix, depth, cluster):
        """A seed's rate is the median of its rounds; the figure is that of all seeds together."""
        rounds = 1 if self.quick else ROUNDS
        plays = {seed: [self.play(mix, depth, cluster, seed, IOS) for _ in range(rounds)] for seed in SEEDS}
        seeds = [min(one, key=lambda said: abs(said["cpu_ns"] - statistics.median(each["cpu_ns"] for each in one)))
                 for one in plays.values()]
        rates = [said["ios"] / said["cpu_ns"] * 1e9 for said in seeds]
        spent = sum(said["cpu_ns"] for said in seeds)
        words, _ = CLUSTERS[cluster]
        self.add(name_of(mix, depth, cluster), sum(said["ios"] for said in seeds) / spent * 1e9, "I/Os", min(rates),
                 max(rates), len(rates), reason=f"{MIXES[mix]} % reads, {depth} in flight of each host; {words}; virtual time passes "
                 f"{sum(said['virtual_ns'] for said in seeds) / spent:.2f} times as fast as the processor's")

    def run_events(self):
        """What there is of each kind for one I/O."""
        for depth in DEPTHS:
            plays = [self.play("ios", depth, "", seed, IOS // 5, "--kinds") for seed in SEEDS]
            ios = sum(said["ios"] for said in plays)
            kinds = ", ".join(f"{kind} {sum(said[kind] for said in plays) / ios:.2f}" for kind in KINDS)
            self.add(f"sim_events_per_io_qd{depth}", sum(said["events"] for said in plays) / ios, "events",
                     n=len(plays), reason=kinds)

    def run_instructions(self):
        with tempfile.TemporaryDirectory(prefix="weir-bench-") as scratch:
            counts = []
            for ios in (IOS // 5, 2 * IOS // 5):
                prefix, log = selftest.callgrind(scratch)
                self.play(*THE_ONE, 1, ios, prefix=prefix)
                counts.append(selftest.collected_in(log))
        # A tenth comes before what is counted.
        played = IOS // 5 * 11 // 10
        self.add("sim_instructions_per_io", (counts[1] - counts[0]) / played, "instructions", n=played)

    def steps(self):
        """(the figures it gives, whether they are ratios, how) in the order they run."""
        yield ("sim_instructions_per_io",), False, self.run_instructions
        yield tuple(f"sim_events_per_io_qd{depth}" for depth in DEPTHS), False, self.run_events
        for cluster in CLUSTERS:
            for depth in DEPTHS:
                for mix in MIXES:
                    yield (name_of(mix, depth, cluster),), False, \
                        lambda *, cell=(mix, depth, cluster): self.run_cell(*cell)
