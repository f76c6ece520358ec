"""target.py - the targets that the guest connects to.

Weir serves this machine's loopback, which the guest sees as 10.0.2.2.  The
kernel's own target stands in for it under --against-kernel, inside the guest:
what fails against both is the fault of the test, not of Weir.
"""
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

    def start(self):
        command = [self.program, "serve", "--listen", f"127.0.0.1:{self.port}", "--subnqn", self.nqn]
        command += ["--reactors", "2", "--block-size", str(self.block_size)]
        for volume in self.volumes:
            command += ["--ns", volume]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self.log)
        printed = self.read_until(b"weir: ready\n", time.monotonic() + 30)
        self.port = int(re.search(rb"weir: listening on \S+:(\d+)\n", printed)[1])

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
            for module in $(cat /modules/target); do
                insmod /modules/$module 2>/dev/null || true # it may be there already
            done
            mount -t configfs none /sys/kernel/config 2>/dev/null || true
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
