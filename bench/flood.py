#!/usr/bin/env python3
"""
flood.py - what one host's reads take while others come in crowds.

    bench/flood.py [--build DIR] [--seconds S] [--reactors N] [--only PART_OF_A_NAME]

Prints the victim's p50, p99 and greatest latency (`weir perf`, random reads of
4 KiB, one at a time, or what VICTIMS says) alone and under each flood.  Not a timed test: victim and
flood share the machine, so the figures say what is unbounded, not what is fast.
"""
import argparse
import contextlib
import json
import os
import resource
import select
import socket
import subprocess
import sys
import tempfile
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "tests", "e2e"))
sys.dont_write_bytecode = True

OTHER = b"\5" * 16
KNOWN_READS = 100  # of 64 KiB: who has read so much is no stranger


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(HERE, "..", "build"))
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--reactors", type=int, default=1)
    parser.add_argument("--only", default="", help="the floods whose name has this in it")
    return parser.parse_args()


OPTIONS = options()
os.environ["WEIR_BUILD"] = os.path.abspath(OPTIONS.build)

import nvme
import target as targets
from nvmetcp import Conn


def victim(daemon, what):
    done = subprocess.run([targets.WEIR, "perf", "nvme+tcp://127.0.0.1:%d/%s?ns=1" % (daemon.port, nvme.SUBNQN),
                           *what, "--qd", "1", "--time", str(OPTIONS.seconds), "--json"],
                          stdout=subprocess.PIPE, check=True, text=True)
    said = json.loads(done.stdout)
    return said["read" if said["read"]["ios"] > 0 else "write"]["latency_us"]


# ---- the floods: each is called again and again until the victim is done ----

def nothing(daemon, state):
    state["stop"].wait(0.1)


def hosts_that_come_and_go(daemon, state):
    """a whole association each time, without a good-bye"""
    nvme.Controller(daemon.address, hostid=OTHER).close()


def refused_connects(daemon, state):
    queue, _ = nvme.open_queue(daemon.address, hostid=OTHER, subnqn="nqn.2026-11.local.weir:nobody")
    queue.close()


def half_open(daemon, state):
    """to as many as there may be"""
    if len(state["kept"]) < 3000:
        state["kept"].append(Conn(daemon.address))
        state["kept"][-1].handshake()
    else:
        state["stop"].wait(0.1)


def a_thousand_controllers(daemon, state):
    """of one host, one keep alive after the other"""
    if len(state["kept"]) < 990:
        state["kept"].append(nvme.Controller(daemon.address, hostid=OTHER))
    else:
        state["next"] = (state["next"] + 1) % len(state["kept"])
        state["kept"][state["next"]].keep_alive()


def controller(daemon, state):
    if not state["kept"]:
        state["kept"].append(nvme.Controller(daemon.address, hostid=OTHER))
        state["kept"][0].grant()
        state["queue"] = state["kept"][0].io_queue()
    return state["kept"][0]


def admin_commands(daemon, state):
    """31 Identifies at a time"""
    admin = controller(daemon, state).admin
    admin.wait(*[admin.submit(nvme.sqe(0x06, cdw10=1), want=4096) for _ in range(30)])


def logs_of_all_reactors(daemon, state):
    """31 SMART pages at a time"""
    admin = controller(daemon, state).admin
    admin.wait(*[admin.submit(nvme.sqe(0x02, nsid=0xFFFFFFFF, cdw10=0x02 | 127 << 16), want=512) for _ in range(30)])


def aborts(daemon, state):
    """31 at a time, most of them too many"""
    admin = controller(daemon, state).admin
    admin.wait(*[admin.submit(nvme.sqe(0x08, cdw10=7 << 16 | 1)) for _ in range(30)])


def resets(daemon, state):
    ctrl = controller(daemon, state)
    ctrl.disable()
    ctrl.enable()


def data_that_never_comes(daemon, state):
    """20 queues that are asked for 1 MiB each; the volume is one whose reads need buffers too"""
    if len(state["kept"]) == 20:
        state["stop"].wait(0.1)
        return
    state["kept"].append(nvme.Controller(daemon.address, hostid=OTHER))
    queue = state["kept"][-1].io_queue(entries=128)
    queue.serve_r2ts = False
    for _ in range(32):
        queue.submit_write(0, bytes(32768), incapsule=False)


def stand(daemon, state, place, hostid, begin, **how):
    """An I/O queue at that place, of a controller of its own; a new one when it was closed."""
    stands = state["stands"].setdefault(place, [])
    if stands:
        poll = select.poll()
        poll.register(stands[1].conn.sock, 0)
        if not poll.poll(0):
            return stands[1]
        stands[0].close()
    stands[:] = [nvme.Controller(daemon.address, hostid=hostid), None]
    stands[1] = stands[0].io_queue(**how)
    begin(stands[1])
    return stands[1]


def hosts_that_are_deaf(daemon, state):
    """20 of them take a little of 4 reads of 1 MiB each"""
    for n in range(20):
        queue = stand(daemon, state, n, b"\6%015d" % n,
                      lambda queue: [queue.submit_read(0, 256) for _ in range(4)], rcvbuf=4096)
        with contextlib.suppress(OSError):
            queue.conn.sock.recv(4096, socket.MSG_DONTWAIT)
    state["stop"].wait(0.3)


def deaf_readers(daemon, state, hosts):
    """64 queues of so many hosts take nothing of 4 reads of 1 MiB each; the victim has read some MiB before they come"""
    if daemon.stats()["reads"] < KNOWN_READS:
        state["stop"].wait(0.01)
        return
    for n in range(64):
        stand(daemon, state, n, b"\6%015d" % (n % hosts),
              lambda queue: [queue.submit_read(0, 256) for _ in range(4)], rcvbuf=4096)
    state["stop"].wait(0.05)


def deaf_readers_of_one_host(daemon, state):
    deaf_readers(daemon, state, 1)


def deaf_readers_of_64_hosts(daemon, state):
    deaf_readers(daemon, state, 64)


def owe(queue):
    queue.serve_r2ts = False
    for _ in range(16):
        queue.submit_write(0, bytes(1 << 20), incapsule=False)


def hosts_that_are_invented(daemon, state):
    """each of 40 queues is another host's each time; it writes 1 MiB, and sends no data"""
    for n in range(40):
        stand(daemon, state, n, os.urandom(16), owe)
    state["stop"].wait(0.01)


def half_sent_reads_beside_a_writer(daemon, state):
    """30 queues of two hosts, that take none of their reads of 1 MiB; the blocks are written all the time"""
    for n in range(30):
        stand(daemon, state, n, b"\6%015d" % (n % 2),
              lambda queue: [queue.submit_read(0, 256) for _ in range(4)], rcvbuf=2304)
    stand(daemon, state, "writer", b"\7" * 16, lambda queue: None).write_zeroes(0, 1024)
    state["stop"].wait(0.05)


FLOODS = (nothing, hosts_that_come_and_go, refused_connects, half_open, a_thousand_controllers, admin_commands,
          logs_of_all_reactors, aborts, resets, data_that_never_comes, hosts_that_are_deaf,
          deaf_readers_of_one_host, deaf_readers_of_64_hosts, hosts_that_are_invented, half_sent_reads_beside_a_writer)


# Whose victim needs buffers too, or those for long transfers, or what they keep from being written.
OF_A_FILE = (data_that_never_comes, hosts_that_are_deaf, deaf_readers_of_one_host, deaf_readers_of_64_hosts)
LONG = ("--rw", "randwrite", "--bs", "64k")
LONG_READS = ("--rw", "randread", "--bs", "64k")
VICTIMS = {hosts_that_are_deaf: LONG, deaf_readers_of_one_host: LONG_READS, deaf_readers_of_64_hosts: LONG_READS,
           hosts_that_are_invented: LONG,
           half_sent_reads_beside_a_writer: ("--rw", "randread", "--size", "4M")}


def volumes(function, folder):
    return ["file:%s/volume.img,size=64M" % folder if function in OF_A_FILE else "mem:64M"]


def flood(function, daemon, state):
    while not state["stop"].is_set():
        function(daemon, state)
        state["count"] += 1


def main():
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    print("%-26s %9s %9s %9s %9s" % ("flood", "times", "p50 us", "p99 us", "max us"))
    for function in FLOODS:
        if OPTIONS.only not in function.__name__:
            continue
        state = {"stop": threading.Event(), "kept": [], "next": 0, "count": 0, "stands": {}}
        with tempfile.TemporaryDirectory() as folder, targets.Daemon(
                "--reactors", str(OPTIONS.reactors), ns=volumes(function, folder)) as daemon:
            thread = threading.Thread(target=flood, args=(function, daemon, state))
            thread.start()
            try:
                latency = victim(daemon, VICTIMS.get(function, ("--rw", "randread")))
            finally:
                state["stop"].set()
                thread.join()
                for each in state["kept"] + [stands[0] for stands in state["stands"].values()]:
                    each.close()
            daemon.no_connections()
        print("%-26s %9d %9.1f %9.1f %9.1f" % (function.__name__.replace("_", " "), state["count"], latency["p50"],
                                               latency["p99"], latency["max"]), flush=True)


if __name__ == "__main__":
    main()
