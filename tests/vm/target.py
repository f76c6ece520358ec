"""target.py - the targets that the guest connects to.

Weir serves this machine's loopback, which the guest sees as 10.0.2.2.  The
kernel's own target stands in for it under --against-kernel, inside the guest:
what fails against both is the fault of the test, not of Weir.
"""
import json
import os
import re
import select
import signal
import subprocess
import time

NQN = "nqn.2026-11.local.weir:vm"


class Weir:
    """`weir serve` as a process of its own, on a port that stays the same when it is restarted."""

    address = "10.0.2.2"
    nqn = NQN

    def __init__(self, build, log, volumes, block_size=4096):
        self.program = os.path.join(build, "cmd", "weir")
        self.log = open(log, "w+")
        self.volumes = volumes
        self.block_size = block_size
        self.port = 0
        self.process = None

    def arguments(self):
        """What it is to serve, and where."""
        words = ["--listen", f"127.0.0.1:{self.port}", "--subnqn", self.nqn, "--block-size", str(self.block_size)]
        for volume in self.volumes:
            words += ["--ns", volume]
        return words

    def start(self):
        command = [self.program, "serve", "--reactors", "2", *self.arguments()]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self.log)
        printed = self.read_until(b"weir: ready\n", time.monotonic() + 30)
        self.listens_on([int(port) for port in re.findall(rb"weir: listening on \S+:(\d+)\n", printed)])

    def listens_on(self, ports):
        """It keeps them when it is started again."""
        self.port = ports[0]

    def read_until(self, words, deadline):
        printed = b""
        stdout = self.process.stdout.fileno()
        while words not in printed:
            ready, _, _ = select.select([stdout], [], [], max(0, deadline - time.monotonic()))
            more = os.read(stdout, 4096) if ready else b""
            if not more:
                self.kill()
                raise AssertionError(f"weir serve did not become ready: {printed}\n{self.messages()}")
            printed += more
        return printed

    def kill(self):
        """What a power cut of the process alone is: no drain, no goodbye."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self):
        """SIGTERM; it must end by itself and be content."""
        if self.process.poll() is None:
            self.process.terminate()
        try:
            status = self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"weir serve did not end at SIGTERM\n{self.messages()}") from None
        assert status == 0, f"weir serve ended with {status}\n{self.messages()}"

    def messages(self):
        self.log.seek(0)
        return self.log.read()


class Live(Weir):
    """`weir serve` of a configuration: a dictionary, which the test changes and applies."""

    def __init__(self, build, folder, conf):
        super().__init__(build, f"{folder}/weir.log", ())
        self.conf = conf
        self.path, self.control = f"{folder}/weir.yaml", f"{folder}/control"

    @property
    def ports(self):
        return [int(listener["address"].rpartition(":")[2]) for listener in self.conf["listeners"]]

    @property
    def subsystem(self):
        return self.conf["subsystems"][0]

    @property
    def namespaces(self):
        return self.subsystem["namespaces"]

    def write(self):
        with open(self.path, "w") as file:
            json.dump(self.conf, file)  # which is YAML

    def arguments(self):
        self.write()
        return ["--config", self.path, "--control", self.control]

    def listens_on(self, ports):
        for listener, port in zip(self.conf["listeners"], ports):
            listener["address"] = f"127.0.0.1:{port}"
        self.port = ports[0]

    def apply(self):
        """The target serves what the dictionary says now; what has changed."""
        self.write()
        done = subprocess.run([self.program, "apply", "--control", self.control, self.path], capture_output=True,
                              text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return done.stdout


def conf(*namespaces, listeners=("a",), nqn=NQN, **subsystem):
    """A configuration of one subsystem, its namespaces numbered from 1."""
    return {
        "listeners": [{"name": name, "address": "127.0.0.1:0"} for name in listeners],
        "subsystems": [{
            "nqn": nqn, **subsystem,
            "namespaces": [{"nsid": nsid, **namespace} for nsid, namespace in enumerate(namespaces, 1)],
        }],
    }


def memory(size="32M", **more):
    """A namespace in memory."""
    return {"volume": "mem", "size": size, **more}


class Kernel:
    """The kernel's own NVMe/TCP target inside the guest, over RAM."""

    address = "127.0.0.1"
    nqn = NQN
    port = 4420

    def __init__(self, guest, volumes, block_size):
        self.guest = guest
        self.sizes = [int(re.search(r"(\d+)M$", v)[1]) for v in volumes]
        self.block_size = block_size

    def start(self):
        self.guest.run(
            f"""(
            set -e
            load_target
            cd /sys/kernel/config/nvmet
            mkdir subsystems/{NQN} ports/1
            echo 1 >subsystems/{NQN}/attr_allow_any_host
            cd ports/1
            echo tcp >addr_trtype; echo ipv4 >addr_adrfam
            echo {self.address} >addr_traddr; echo {self.port} >addr_trsvcid
            ln -s ../../subsystems/{NQN} subsystems/
            )"""
        )
        for nsid, size in enumerate(self.sizes, 1):
            self.guest.run(
                f"""(
                set -e
                cd /sys/kernel/config/nullb; mkdir ns{nsid}; cd ns{nsid}
                echo 1 >memory_backed; echo {size} >size; echo {self.block_size} >blocksize
                echo 1 >discard; echo 1 >power
                cd /sys/kernel/config/nvmet/subsystems/{NQN}/namespaces; mkdir {nsid}; cd {nsid}
                echo /dev/ns{nsid} >device_path; echo 1 >enable
                )"""
            )

    def stop(self):
        self.guest.run(
            f"""(
            set -e
            cd /sys/kernel/config/nvmet
            rm ports/1/subsystems/*
            rmdir ports/1 subsystems/{NQN}/namespaces/* subsystems/{NQN} /sys/kernel/config/nullb/ns*
            )"""
        )

    def messages(self):
        return ""
