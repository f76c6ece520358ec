"""Two hosts that share a modelled drive, in real time, by sockets of this machine.

Answers: is what the switch does in virtual time what it does for two processes
that load a running target?  One writes 4 KiB, the other 128 KiB, at random, to a drive
that was written all over: first each alone, then both without a switch, then
both with it, with what `weir calibrate` has measured just before.  And two that
write 32 KiB, of which one has four times the weight of the other.
"""

import functools
import os
import tempfile

import ends

DRIVE = "flash:tlc-plp,8G,state=fragmented,data=no"
LOADS = {"small": ("--bs", "4k", "--qd", 32), "large": ("--bs", "128k", "--qd", 8)}
WEIGHTS = {"heavy": 4, "light": 1}
EQUAL_LOADS = {name: ("--bs", "32k", "--qd", 64) for name in WEIGHTS}
SUBNQN = "nqn.2026-11.local.weir:shared"


def hostnqn(name):
    return f"nqn.2026-11.local.weir:{name}"


def config(device, mode):
    volume, size, options = DRIVE.removeprefix("flash:").split(",", 2)
    tenants = "\n".join(f"    - {{host: {hostnqn(name)}, weight: {weight}}}" for name, weight in WEIGHTS.items())
    return f"""listeners:
  - address: "127.0.0.1:0"
qos:
  devices:
{device}
  tenants:
{tenants}
subsystems:
  - nqn: {SUBNQN}
    namespaces:
      - nsid: 1
        volume: "flash:{volume},{options}"
        size: {size}
        qos: {{mode: {mode}, device: drive}}
"""


class Sharing:
    def __init__(self, weir, seconds):
        self.weir, self.seconds = weir, seconds

    @functools.cached_property
    def device(self):
        """an entry of `devices`"""
        with tempfile.TemporaryDirectory(prefix="weir-bench-") as scratch:
            path = os.path.join(scratch, "device.yaml")
            with ends.Process([self.weir, "calibrate", "--destroy-data", "--time", f"{20 * self.seconds:.0f}s",
                               "--name", "drive", "--out", path, DRIVE]) as process:
                process.end()
            with open(path, encoding="ascii") as file:
                return file.read().rstrip("\n")

    def play(self, mode, loads):
        """bytes a second of each load, all at once, at a drive that is new"""
        with tempfile.TemporaryDirectory(prefix="weir-bench-") as scratch:
            path = os.path.join(scratch, "weir.yaml")
            with open(path, "w", encoding="ascii") as file:
                file.write(config(self.device, mode))
            with ends.Server([self.weir, "serve", "--control", "none", "--config", path]) as server:
                started = {name: ends.Process([
                    self.weir, "perf", f"nvme+tcp://{server.address}/{SUBNQN}?ns=1", "--json", "--rw", "randwrite",
                    "--hostnqn", hostnqn(name), "--time", self.seconds, *arguments])
                    for name, arguments in loads.items()}
                said = {name: process.result() for name, process in started.items()}
                for process in started.values():
                    process.stop()
        return {name: one["write"]["mb_s"] for name, one in said.items()}

    def shares(self):
        """f of each load without the switch and with it: what it has of half of what it has alone"""
        alone = {name: self.play("off", {name: arguments})[name] for name, arguments in LOADS.items()}
        return {mode: {name: rate / (alone[name] / len(LOADS)) for name, rate in self.play(mode, LOADS).items()}
                for mode in ("off", "gimbal")}

    def weights(self):
        """what the heavier one has over what the lighter one has"""
        rates = self.play("gimbal", EQUAL_LOADS)
        return rates["heavy"] / rates["light"]
