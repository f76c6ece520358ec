#!/usr/bin/env python3
"""
flood.py - what one host's reads take while others come in crowds.

    bench/flood.py [--build DIR] [--seconds S] [--reactors N] [--only PART_OF_A_NAME]

Prints the victim's p50, p99 and greatest latency (`weir perf`, random reads of
4 KiB, one at a time, or what VICTIMS says) under each flood, and just after it what the
same victim takes alone; the target's resident memory before, at most, and when all are
gone; and what became of the others, where a flood counts that.  Not a timed test: victim
and flood share the machine, so the figures say what is unbounded, not what is fast.
"""
import argparse
import collections
import contextlib
import functools
import json
import os
import re
import resource
import select
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "tests", "e2e"))
sys.dont_write_bytecode = True

OTHER = b"\5" * 16
ZEROS = memoryview(bytes(1 << 20))
IP_BIND_ADDRESS_NO_PORT = 24  # of Linux; not yet in the module socket
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
from nvmetcp import H2C_DATA, LAST, TIMEOUT_S, Closed, Conn, Violation, capsule, icreq


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


# ---- those who keep to their rules as far as one can stretch them, and go beyond ----

def ended(conn):
    """Has the target closed it?"""
    poll = select.poll()
    poll.register(conn.sock, select.POLLRDHUP)
    return bool(poll.poll(0))


def offer(conn, data):
    """How many bytes of it are taken at once; of one that is gone none."""
    try:
        return conn.sock.send(data, socket.MSG_DONTWAIT)
    except OSError:
        return 0


def place_of(daemon, state, number, begin):
    """What `begin` made for that place: made anew when the target has ended its connection."""
    place = state["places"].get(number)
    if place is None or ended(place["conn"]):
        if place is not None:
            state["became"]["ended"] += 1
            place["owner"].close()
        state["places"][number] = place = begin(daemon)
    return place


def begin_handshake(daemon):
    conn = Conn(daemon.address)
    return {"conn": conn, "owner": conn,
            "left": icreq() + capsule(nvme.connect_sqe(), nvme.connect_data(hostid=OTHER))[:-1]}


def handshakes_byte_by_byte(daemon, state):
    """300 connections send what leads to an admin queue, all but the last byte"""
    for number in range(300):
        place = place_of(daemon, state, number, begin_handshake)
        place["left"] = place["left"][offer(place["conn"], place["left"][:1]):]


def begin_queue(daemon):
    ctrl = nvme.Controller(daemon.address, hostid=OTHER)
    queue = ctrl.io_queue()
    queue.serve_r2ts = False
    return {"conn": queue.conn, "owner": ctrl, "queue": queue, "left": b"", "request": None,
            "answered": False}


def writes_byte_by_byte(daemon, state):
    """50 queues send capsules of 4 KiB"""
    for number in range(50):
        place = place_of(daemon, state, number, begin_queue)
        if not place["left"]:
            if place["request"]:
                state["became"]["written"] += place["queue"].wait(place["request"]).ok
            place["request"] = place["queue"].submit_write(0, bytes(4096), send=False)
            place["left"] = place["request"].capsule
        place["left"] = place["left"][offer(place["conn"], place["left"][:1]):]


@functools.lru_cache(maxsize=64)
def small_pieces(ttag, offset, length, asked):
    """Zeros for the write 0, in H2CData of 4 bytes each; the last one is that of the `asked` bytes."""
    header = struct.Struct("<BBBBIHHII4x4x")
    out = bytearray(header.size * (length // 4))
    for at in range(0, length, 4):
        header.pack_into(out, at // 4 * header.size, H2C_DATA, LAST if at + 4 == asked else 0, 24, 24, header.size,
                         0, ttag, offset + at, 4)
    return bytes(out)


def next_r2t(place):
    """(TTAG, offset, length) of an R2T that is there, or None; a write is begun where there is none."""
    queue = place["queue"]
    if place["request"] is None or place["request"].done:
        place["request"] = queue.submit_write(0, ZEROS, incapsule=False, cid=0)
    poll = select.poll()
    poll.register(queue.conn.sock, select.POLLIN)
    while not place["request"].r2ts and not place["request"].done and poll.poll(0):
        queue.step()
    return place["request"].r2ts.pop() if place["request"].r2ts else None


def answer(daemon, state, data, at_once=None, endless=False):
    """
    20 queues are asked for 1 MiB each; `data` makes, of an R2T, what they send: so much at once, or what is taken.
    Endless: then they send zeros, whatever they are told.
    """
    for number in range(20):
        place = place_of(daemon, state, number, begin_queue)
        if endless and place["answered"] and not place["left"]:
            place["left"] = ZEROS
        with contextlib.suppress(Closed, Violation, OSError):  # it is ended, and seen to be when its turn comes again
            r2t = next_r2t(place) if not place["left"] else None
            if r2t is not None:
                state["became"]["R2Ts answered"] += 1
                place["answered"] = True
                place["left"] = memoryview(data(*r2t))
            place["left"] = place["left"][offer(place["conn"], place["left"][:at_once]):]


def data_in_pieces_of_4_bytes(daemon, state):
    """as fast as they are taken, again and again"""
    answer(daemon, state, lambda ttag, offset, length: small_pieces(ttag, offset, length, length))


def data_that_trickles(daemon, state):
    """such a piece of each 20 times a second"""
    answer(daemon, state, lambda ttag, offset, length: small_pieces(ttag, offset, length, length), at_once=28)
    state["stop"].wait(0.05)


def data_that_does_not_end(daemon, state):
    """such pieces of twice what was asked for, without a last one, and on"""
    answer(daemon, state, lambda ttag, offset, length: small_pieces(ttag, offset, 2 * length, None), endless=True)


def data_of_4_gib(daemon, state):
    """in one PDU, where 128 KiB were asked for"""
    answer(daemon, state, lambda ttag, offset, length: struct.pack(
        "<BBBBIHHII4x", H2C_DATA, LAST, 24, 24, 0xFFFFFFFC, 0, ttag, offset, 0xFFFFFFFC - 24), endless=True)


def reservations_beyond_the_limit(daemon, state):
    """70 hosts where 64 may be: they register, take the namespace from one another, report, and read no notices"""
    n = len(state["kept"])
    if n < 70:
        state["kept"].append(nvme.Controller(daemon.address, hostid=b"R%015d" % n))
        state["kept"][-1].io_queue()
        return
    asked = []
    for n, ctrl in enumerate(state["kept"]):
        mine, before = n + 1, (n - 1) % 70 + 1
        for what, command, data, want in (
                ("register", nvme.sqe(0x0D, nsid=1, cdw10=1 << 3), struct.pack("<QQ", 0, mine), 0),
                ("acquire", nvme.sqe(0x11, nsid=1, cdw10=1 << 8), struct.pack("<QQ", mine, 0), 0),
                ("preempt", nvme.sqe(0x11, nsid=1, cdw10=1 | 1 << 8), struct.pack("<QQ", mine, before), 0),
                ("report", nvme.sqe(0x0E, nsid=1, cdw10=1023, cdw11=1), b"", 4096)):
            asked.append((what, ctrl.queues[1], ctrl.queues[1].submit(command, data, want)))
    for what, queue, request in asked:
        state["became"]["%s %03x" % (what, queue.wait(request).status)] += 1


def event_requests_beyond_the_limit(daemon, state):
    """27 at a time of each of 100 controllers that have the 4 that may be"""
    if len(state["kept"]) < 100:
        state["kept"].append(nvme.Controller(daemon.address, hostid=OTHER))
        for _ in range(4):
            state["kept"][-1].aer()
        return
    for ctrl in state["kept"]:
        for request in ctrl.admin.wait(*[ctrl.aer() for _ in range(27)]):
            state["became"]["answered %03x" % request.status] += 1


def dial(address, number):
    """A handshake begun; a close of it is a reset.  Each thousand has an address of its own, so no ports run out."""
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.setsockopt(socket.IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1)
    sock.bind(("127.0.1.%d" % (number // 1000 + 1), 0))
    sock.settimeout(TIMEOUT_S)
    with contextlib.suppress(ConnectionError):  # it may have been refused by now
        sock.connect(address)
        sock.send(icreq())
    return sock


def heard(sock):
    """What came of a handshake, or None: nothing yet."""
    try:
        return "accepted" if sock.recv(128, socket.MSG_DONTWAIT) else "refused"
    except BlockingIOError:
        return None
    except OSError:
        return "refused"


def ten_thousand_connections(daemon, state):
    """50 at a time, in turn, again and again, when the victim is there"""
    if not state["next"]:
        daemon.until("the victim reads", lambda stats: stats["reads"] > 0)
    for number in range(state["next"], state["next"] + 50):
        if number in state["places"]:
            state["places"][number]["owner"].close()
        state["places"][number] = {"owner": dial(daemon.address, number), "came": None}
    state["next"] = (state["next"] + 50) % 10000
    for place in state["places"].values():
        if place["came"] is None:
            place["came"] = heard(place["owner"])
            if place["came"] is not None:
                state["became"][place["came"]] += 1


def ten_thousand_where_4096_may_be(daemon, state):
    """the limit without an option"""
    ten_thousand_connections(daemon, state)


FLOODS = (nothing, hosts_that_come_and_go, refused_connects, half_open, a_thousand_controllers, admin_commands,
          logs_of_all_reactors, aborts, resets, data_that_never_comes, hosts_that_are_deaf,
          deaf_readers_of_one_host, deaf_readers_of_64_hosts, hosts_that_are_invented, half_sent_reads_beside_a_writer,
          handshakes_byte_by_byte, writes_byte_by_byte, data_in_pieces_of_4_bytes, data_that_trickles,
          data_that_does_not_end, data_of_4_gib, reservations_beyond_the_limit, event_requests_beyond_the_limit,
          ten_thousand_connections, ten_thousand_where_4096_may_be)


# Whose victim needs buffers too, or those for long transfers, or what they keep from being written.
OF_A_FILE = (data_that_never_comes, hosts_that_are_deaf, deaf_readers_of_one_host, deaf_readers_of_64_hosts,
             data_that_trickles)
LONG = ("--rw", "randwrite", "--bs", "64k")
LONG_READS = ("--rw", "randread", "--bs", "64k")
VICTIMS = {hosts_that_are_deaf: LONG, deaf_readers_of_one_host: LONG_READS, deaf_readers_of_64_hosts: LONG_READS,
           hosts_that_are_invented: LONG,
           half_sent_reads_beside_a_writer: ("--rw", "randread", "--size", "4M"), data_that_trickles: LONG}
ARGUMENTS = {ten_thousand_connections: ("--max-connections", "10100", "--handshake-timeout", "600000"),
             ten_thousand_where_4096_may_be: ("--handshake-timeout", "600000")}


def volumes(function, folder):
    return ["file:%s/volume.img,size=64M" % folder if function in OF_A_FILE else "mem:64M"]


def flood(function, daemon, state):
    while not state["stop"].is_set():
        try:
            function(daemon, state)
        except (OSError, Closed, Violation) as error:
            state["became"]["not answered: %s" % type(error).__name__] += 1
        state["count"] += 1


def resident_mib(daemon, what="VmRSS"):
    with open("/proc/%d/status" % daemon.pid) as status:
        return int(re.search(what + r":\s+(\d+) kB", status.read()).group(1)) / 1024


def least_mib(daemon):
    """What it still has soon after: what is freed is given back to the machine when there is nothing to do."""
    least, deadline = resident_mib(daemon), time.monotonic() + 3
    while time.monotonic() < deadline:
        least = min(least, resident_mib(daemon))
        time.sleep(0.05)
    return least


def measure(of, function):
    """What the victim of a flood took while `function` ran, and what became of the others and of memory."""
    state = {"stop": threading.Event(), "kept": [], "next": 0, "count": 0, "stands": {}, "places": {},
             "became": collections.Counter()}
    with tempfile.TemporaryDirectory() as folder, targets.Daemon(
            "--reactors", str(OPTIONS.reactors), *ARGUMENTS.get(of, ()), ns=volumes(of, folder)) as daemon:
        mib = [resident_mib(daemon)]
        thread = threading.Thread(target=flood, args=(function, daemon, state))
        thread.start()
        try:
            latency = victim(daemon, VICTIMS.get(of, ("--rw", "randread")))
            connections = daemon.stats()["connections"]
        finally:
            state["stop"].set()
            thread.join()
            for each in state["kept"] + [stands[0] for stands in state["stands"].values()] + [
                    place["owner"] for place in state["places"].values()]:
                each.close()
        daemon.no_connections()
        mib += [resident_mib(daemon, "VmHWM"), least_mib(daemon)]
    became = dict(state["became"], connections=connections)
    print("%-34s %8d %9.1f %10.1f %10.1f %8.1f %6.1f %6.1f  %s" % (
        "  and without" if function is not of else function.__name__.replace("_", " "), state["count"],
        latency["p50"], latency["p99"], latency["max"], *mib,
        ", ".join("%s: %d" % each for each in became.items())), flush=True)


def main():
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    print("load %s" % os.getloadavg()[0])
    print("%-34s %8s %9s %10s %10s %8s %6s %6s  %s" % ("flood", "times", "p50 us", "p99 us", "max us",
                                                      "MiB then", "most", "after", "the others"))
    for function in FLOODS:
        if OPTIONS.only in function.__name__:
            measure(function, function)
            if function is not nothing:
                measure(function, nothing)


if __name__ == "__main__":
    main()
