"""nvmet.py - the Linux kernel's own NVMe/TCP target in a guest, which hosts of this machine reach.

Answers: how is it set up, changed and watched?  Each of its ports is a port of this machine's 127.0.0.1, forwarded
to the same port of the guest's own 127.0.0.1, so that its discovery log names addresses that are right here too.
It does not know what is tested.
"""
import socket

from guest import Guest

NAME = "testnqn"       # as in many an example for Linux: it is no NQN
MEMORY, FILE = 1, 2    # namespaces: a RAM disk, and a file that can grow
MEMORY_MIB, FILE_MIB = 64, 16
BLOCK = 4096


def free_ports(count):
    probes = [socket.socket() for _ in range(count)]
    for probe in probes:
        probe.bind(("127.0.0.1", 0))
    ports = [probe.getsockname()[1] for probe in probes]
    for probe in probes:
        probe.close()
    return ports


class LinuxTarget:
    def __init__(self, directory, console, ports=2):
        self.ports = free_ports(ports)
        self.guest = Guest(directory, console, forward=[f"{port}:127.0.0.1:{port}" for port in self.ports])

    def configure(self, commands):
        """Commands in its folder of configfs, all of which must succeed; what they print."""
        return self.guest.run(f"(set -e; cd /sys/kernel/config/nvmet\n{commands}\n)")

    def start(self):
        self.guest.run("load_target && echo 1 >/proc/sys/net/ipv4/conf/eth0/route_localnet")
        self.configure(
            f"""
            mkdir subsystems/{NAME} ../nullb/memory
            echo 1 >subsystems/{NAME}/attr_allow_any_host
            (cd ../nullb/memory; echo 1 >memory_backed; echo {MEMORY_MIB} >size; echo {BLOCK} >blocksize
            echo 1 >discard; echo 1 >power)
            truncate -s {FILE_MIB}M /tmp/file
            cd subsystems/{NAME}/namespaces
            mkdir {MEMORY} {FILE}
            echo /dev/memory >{MEMORY}/device_path
            echo /tmp/file >{FILE}/device_path; echo 1 >{FILE}/buffered_io
            echo 1 >{MEMORY}/enable; echo 1 >{FILE}/enable"""
        )
        for index, port in enumerate(self.ports, 1):
            self.configure(
                f"""
                mkdir ports/{index}
                cd ports/{index}
                echo tcp >addr_trtype; echo ipv4 >addr_adrfam
                echo 127.0.0.1 >addr_traddr; echo {port} >addr_trsvcid"""
            )
            self.link(index)

    def stop(self):
        self.guest.stop()

    def uri(self, *paths, nsid=MEMORY):
        """Of a namespace, by these ports; 1 is the first."""
        addresses = ",".join(f"127.0.0.1:{self.ports[path - 1]}" for path in paths or (1,))
        return f"nvme+tcp://{addresses}/{NAME}?ns={nsid}"

    def link(self, path):
        """The subsystem can be reached by this port, which is opened for it."""
        self.configure(f"ln -s $PWD/subsystems/{NAME} ports/{path}/subsystems/")

    def unlink(self, path):
        """All connections by this port are ended, and it is closed."""
        self.configure(f"rm ports/{path}/subsystems/{NAME}")

    def access(self, path, state):
        self.configure(f"echo {state} >ports/{path}/ana_groups/1/ana_state")

    def enable(self, nsid, on):
        self.configure(f"echo {int(on)} >subsystems/{NAME}/namespaces/{nsid}/enable")

    def resize_file(self, mib):
        self.configure(f"truncate -s {mib}M /tmp/file; echo 1 >subsystems/{NAME}/namespaces/{FILE}/revalidate_size")

    def connections(self, path=1):
        """How many it has by this port."""
        established = f"{self.ports[path - 1]:04X} [0-9A-F]*:[0-9A-F]* 01 "
        return int(self.guest.run(f"grep -c ': 0100007F:{established}' /proc/net/tcp || true"))

    def done(self):
        """How many reads and writes its RAM disk has seen."""
        return int(self.guest.run("awk '{ print $1 + $5 }' /sys/block/memory/stat"))

    def restore(self):
        """As start() left it."""
        present = self.configure("ls -d ports/*/subsystems/*")
        for path in range(1, len(self.ports) + 1):
            if f"ports/{path}/" not in present:
                self.link(path)
            self.access(path, "optimized")
        for nsid in (MEMORY, FILE):
            self.enable(nsid, True)
        self.resize_file(FILE_MIB)
