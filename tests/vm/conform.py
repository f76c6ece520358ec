"""conform.py OUT - the conformance tests of tests/e2e against the Linux kernel's NVMe/TCP target.

Boots the guest with a port of this machine's loopback forwarded to it, sets the kernel's target up in it with
volumes in RAM, runs the tests, and writes doc/conformance-linux.md.  OUT: a folder for what was said.
WEIR_VM: where the guest is made and kept.  Not part of ./dev test: it judges another target, not ours.
"""
import os
import re
import socket
import subprocess
import sys

from guest import Guest
from target import NQN

HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PORT = 4420        # in the guest
LIMIT_S = 3000     # for everything

# Blocks of 4096 bytes; what the tests of Identify expect to find, in MiB.
SIZES = (64, 32, 1 << 20)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def serve(guest):
    """The kernel's target over RAM; as much data in a capsule as ours takes."""
    guest.run(
        f"""(
        set -e
        load_target
        cd /sys/kernel/config
        mkdir nvmet/subsystems/{NQN}
        echo 1 >nvmet/subsystems/{NQN}/attr_allow_any_host
        nsid=0
        for size in {' '.join(map(str, SIZES))}; do
            nsid=$((nsid + 1))
            mkdir nullb/ns$nsid nvmet/subsystems/{NQN}/namespaces/$nsid
            (cd nullb/ns$nsid; echo 1 >memory_backed; echo $size >size; echo 4096 >blocksize
            echo 1 >discard; echo 1 >power)
            echo /dev/ns$nsid >nvmet/subsystems/{NQN}/namespaces/$nsid/device_path
            echo 1 >nvmet/subsystems/{NQN}/namespaces/$nsid/enable
        done
        mkdir nvmet/ports/1
        cd nvmet/ports/1
        echo tcp >addr_trtype; echo ipv4 >addr_adrfam
        echo 0.0.0.0 >addr_traddr; echo {PORT} >addr_trsvcid
        echo 8192 >param_inline_data_size
        ln -s ../../subsystems/{NQN} subsystems/
        )"""
    )


def main():
    out = sys.argv[1]
    vm = os.environ.get("WEIR_VM", os.path.join(out, "vm"))
    subprocess.run([f"{HERE}/mkguest", vm], check=True)
    port = free_port()
    guest = Guest(vm, f"{out}/console", LIMIT_S, forward=[f"{port}:{PORT}"])
    try:
        serve(guest)
        release = guest.run("uname -r").strip()
        environment = dict(os.environ, WEIR_AGAINST=f"127.0.0.1:{port}", WEIR_AGAINST_NQN=NQN)
        command = [sys.executable, "-m", "pytest", "-q", "--tb=short", f"--junit-xml={out}/linux.xml", "tests/e2e"]
        with open(f"{out}/linux.log", "w") as log:
            subprocess.run(command, cwd=ROOT, env=environment, stdout=log, stderr=log, timeout=LIMIT_S)
        log = guest.run("dmesg")
    finally:
        guest.stop()
    with open(f"{out}/dmesg", "w") as file:
        file.write(log)
    if found := re.findall(r"^.*(?:BUG|WARNING|Oops|Call Trace).*$", log, re.M):
        print("the guest's kernel:", *found, sep="\n")
    print(f"asked the target of Linux {release}; what failed is in {out}/linux.log")
    compare = [sys.executable, f"{ROOT}/scripts/conformance.py", "compare", "--target", "linux", f"{out}/linux.xml"]
    sys.exit(subprocess.run(compare).returncode)


main()
