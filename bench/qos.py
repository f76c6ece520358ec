"""The figures of the switch in front of a device.

Answers: what does it take to say whose I/O is next, with one tenant and with a
thousand; and how many instructions is that?  The program is weir-qos-bench
(qos.c).
"""

import os
import statistics
import tempfile

import ends
import figures
import selftest
from sharing import Sharing

IOS, ROUNDS = 2000000, 9
COUNTED = 200000        # I/Os, and twice as many
TENANTS = (1, 16, 1000)
BATCH = 4               # I/Os end in a turn: what the device does in 40 us

BARS = {
    "qos_instructions": ("<=", 250),
    "qos_ns_more": ("<=", 50),
}


class Qos(figures.Figures):
    """Rounds take turns, so that a slow moment of the machine is one of all."""

    bars = BARS

    def __init__(self, options):
        super().__init__(options)
        self.path = os.path.join(options.build, "bench", "weir-qos-bench")

    def play(self, tenants, ios, batch, prefix=()):
        with ends.Process([*prefix, self.path, "--tenants", tenants, "--ios", ios, "--batch", batch]) as process:
            said = process.json_line(600)
            process.end()
        return said

    def run_ns(self):
        rounds = [{tenants: self.play(tenants, IOS // 10 if self.quick else IOS, BATCH) for tenants in (1, 1000)}
                  for _ in range(1 if self.quick else ROUNDS)]
        ns = {tenants: [said[tenants]["cpu_ns"] / said[tenants]["ios"] for said in rounds] for tenants in (1, 1000)}
        for tenants, name in ((1, "qos_ns_1_tenant"), (1000, "qos_ns_1000_tenants")):
            self.add_median(name, ns[tenants], "ns", None)
        self.add_median("qos_ns_more", [many - one for one, many in zip(ns[1], ns[1000])], "ns", None)

    def count(self, tenants, batch, scratch):
        found = []
        for ios in (COUNTED, 2 * COUNTED):
            prefix, log = selftest.callgrind(scratch)
            self.play(tenants, ios, batch, prefix=prefix)
            found.append(selftest.collected_in(log))
        # An eighth comes before what is timed.
        return (found[1] - found[0]) / (COUNTED * 9 // 8)

    def run_instructions(self):
        for name, batch in (("qos_instructions", BATCH), ("qos_instructions_one_by_one", 1)):
            with tempfile.TemporaryDirectory(prefix="weir-bench-") as scratch:
                counts = {tenants: self.count(tenants, batch, scratch) for tenants in TENANTS}
            said = "; ".join(f"{count:.0f} with {tenants} tenant{'s' if tenants > 1 else ''}"
                             for tenants, count in counts.items())
            self.add(name, max(counts.values()), "instructions", n=COUNTED, reason=f"batches of {batch}: {said}")

    def run_real(self):
        sharing = Sharing(self.machine.weir_path, 1 if self.quick else 3)
        shares = sharing.shares()
        for mode, name in (("off", "real_spread_without"), ("gimbal", "real_spread")):
            f = shares[mode]
            self.add(name, max(f.values()) / min(f.values()), "", n=len(f),
                     reason="; ".join(f"{load} {value:.2f}" for load, value in f.items()))
        self.add("real_weights", sharing.weights(), "", n=1, reason="4 is what the weights say")

    def steps(self):
        """(the figures it gives, whether they are ratios, how) in the order they run."""
        yield ("qos_instructions", "qos_instructions_one_by_one"), False, self.run_instructions
        yield ("qos_ns_1_tenant", "qos_ns_1000_tenants", "qos_ns_more"), False, self.run_ns
        yield ("real_spread_without", "real_spread", "real_weights"), False, self.run_real
