"""Weir's pair beside what a Debian user would take today: nbdkit's memory plugin and libnbd.

Answers: how many random reads of 4 KiB, 32 in flight in total, does each pair
do at its best?  Both serve a gibibyte of RAM that was written once, over TCP on
loopback with cubic.  For each pair all sensible settings are tried, and those
that are best then are compared, slice by slice.
"""

import itertools
import os
import shutil
import socket
import statistics
from dataclasses import dataclass

import ends
import figures
import pairs

DEPTH = 32
CONNECTIONS = (1, 2, 4)
THREADS = (1, 2, 4, 16)             # of nbdkit, for each connection; 16 is what it does by itself
ALLOCATORS = ("sparse", "malloc")   # sparse is what it does by itself
TRY_IOS, FINALISTS = 20000, 4
PLACES = ("pinned", "placed by the kernel")


@dataclass(frozen=True)
class NbdServing:
    """How nbdkit is started."""
    allocator: str
    threads: int

    def __str__(self):
        return f"{self.allocator}, -t {self.threads}"


@dataclass(frozen=True)
class Way:
    """How a client drives a server, and where both run.

    Pinned: the server on one processor, the client on the other, as in all other figures."""
    connections: int
    place: str
    more: tuple = ()

    def __str__(self):
        return ", ".join((f"{self.connections} connections", *self.more, self.place))


class Nbdkit(ends.Process):
    """nbdkit with a disk in RAM; it is handed a listening socket, whose congestion control its connections take over."""

    def __init__(self, serving, size):
        with socket.create_server(("127.0.0.1", 0)) as listening:
            listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
            self.port = listening.getsockname()[1]
            # It takes sockets from number 3 on, if they are for the process of this number.
            start = f'exec 3<&{listening.fileno()}; LISTEN_PID=$$ LISTEN_FDS=1 exec nbdkit "$@"'
            super().__init__(["sh", "-c", start, "sh", "--foreground", "--threads", serving.threads, "memory",
                              size, f"allocator={serving.allocator}"], pass_fds=(listening.fileno(),))


def place(machine, process, how):
    """Moves a server, all of its threads."""
    cpus = {machine.cpus[0]} if how == "pinned" else set(machine.cpus)
    for task in os.listdir(f"/proc/{process.pid}/task"):
        os.sched_setaffinity(int(task), cpus)


class NbdPair:
    """nbdkit and weir-nbd-client."""

    name = "nbdkit"

    def __init__(self, machine):
        self.machine = machine
        self.client_path = os.path.join(os.path.dirname(machine.ceiling_path), "weir-nbd-client")
        if not os.access(self.client_path, os.X_OK) or shutil.which("nbdkit") is None:
            raise ends.Failed("nbdkit, or libnbd when this was built, is not there")

    def servings(self):
        return [NbdServing(*one) for one in itertools.product(ALLOCATORS, THREADS)]

    def ways(self):
        more = [("--spin",), (), ("--spin", "--simple"), ("--simple",)]
        return [Way(*one) for one in itertools.product(CONNECTIONS, PLACES, more)]

    def serve(self, serving, size=ends.VOLUME):
        """A server whose disk was written and looked at; on one that was not the client must find that out."""
        server = Nbdkit(serving, size)
        try:
            try:
                self.run(server, "--pattern", "--ios", 1)
            except ends.Failed as why:
                if "is not what was written" not in str(why):
                    raise
            else:
                raise ends.Failed("weir-nbd-client accepts data that was not written")
            self.run(server, "--write", "--sequential", "--pattern", "--ios", size // 4096)
            self.run(server, "--connections", 4, "--pattern", "--ios", 4 * TRY_IOS)
        except BaseException:
            server.stop()
            raise
        return server

    def drive(self, server, way, ios):
        place(self.machine, server, way.place)
        pin = ("--cpu", self.machine.cpus[1]) if way.place == "pinned" else ()
        return self.run(server, "--connections", way.connections, *way.more, *pin, "--ios", ios)

    def run(self, server, *args):
        """One run of the client; what perf_counters() says of Weir's, as far as it is known."""
        with ends.Process([self.client_path, "--port", server.port, "--qd", DEPTH, "--congestion", "cubic",
                           *args]) as process:
            return client_counters(process.result())


def client_counters(said):
    return {"ios": said["ios"], "iops": said["ios"] / said["seconds"],
            "waited": said["waited_ns"] / (said["seconds"] * 1e9)}


class WeirPair:
    """`weir serve` and `weir perf`."""

    name = "weir"

    def __init__(self, machine):
        self.machine = machine

    def servings(self):
        return ["mem"]

    def ways(self):
        return [Way(*one) for one in itertools.product(CONNECTIONS, PLACES)]

    def serve(self, _):
        server = self.machine.weir("--ns", f"mem:{ends.VOLUME >> 20}M", "--tcp-congestion", "cubic", "--stats")
        try:
            self.machine.fill(server)
            self.machine.perf(server, "--rw", "randrw", "--qd", 8, "--queues", 4, "--verify", "--ios", 4 * TRY_IOS)
        except BaseException:
            server.stop()
            raise
        return server

    def drive(self, server, way, ios):
        place(self.machine, server, way.place)
        return self.machine.perf(server, "--rw", "randread", "--qd", DEPTH // way.connections, "--queues",
                                 way.connections, "--ios", ios, pinned=way.place == "pinned")


@dataclass
class Best:
    """A pair's best way: its server, which is left running, and its rate."""
    server: ends.Process
    way: Way
    iops: float
    words: str


def best(bench, pair):
    """Each way once, then the best of them in rounds."""
    tried = []
    ios = TRY_IOS // 10 if bench.quick else TRY_IOS
    for serving in pair.servings()[:2] if bench.quick else pair.servings():
        with pair.serve(serving) as server:
            tried += [(pair.drive(server, way, ios)["iops"], serving, way) for way in pair.ways()]
        bench.progress(f"{pair.name} {serving}: {max(one[0] for one in tried):.0f}/s is the best so far")
    finalists = sorted(tried, key=lambda one: one[0], reverse=True)[:FINALISTS]
    servers, rates = {}, {}
    try:
        for _, serving, _ in finalists:
            if serving not in servers:
                servers[serving] = pair.serve(serving)
        for _ in range(figures.CHOICE_ROUNDS):
            for _, serving, way in finalists:
                rates.setdefault((serving, way), []).append(pair.drive(servers[serving], way, 2 * ios)["iops"])
        serving, way = max(rates, key=lambda one: statistics.median(rates[one]))
    except BaseException:
        for server in servers.values():
            server.stop()
        raise
    for other, server in servers.items():
        if other != serving:
            server.stop()
    found = Best(servers[serving], way, statistics.median(rates[serving, way]), f"{pair.name}: {serving}; {way}")
    bench.progress(found.words)
    return found


def slices(bench, pair, found):
    """What runs a slice of a pair at its best.

    The servers are not asked whether they waited: threads of nbdkit's wait for each other.  Where the kernel places
    both, client and server may wait for each other too, and only the probes say whether a slice counts."""
    ios = max(1000, round(found.iops * bench.effort.slice_s))

    def one():
        client = pair.drive(found.server, found.way, ios)
        return client | {"disturbed": found.way.place == "pinned" and client["waited"] > pairs.WAITED_MAX}

    return one


def run(bench):
    """pair_vs_nbd_qd32, and the rates of both."""
    theirs, ours = NbdPair(bench.machine), WeirPair(bench.machine)
    nbd = best(bench, theirs)
    with nbd.server:
        weir = best(bench, ours)
        with weir.server:
            results = bench.compare("pair_vs_nbd_qd32", pairs.versus(
                bench.machine, slices(bench, theirs, nbd), slices(bench, ours, weir), bench.effort))
    words = f"{weir.words}; {nbd.words}"
    for mode, result in results.items():
        bench.add_ratio("pair_vs_nbd_qd32", result.ratio(), len(result.logs), mode, words)
        for side, name in (("ceiling", "nbd"), ("weir", "weir")):
            bench.add_median(f"pair_vs_nbd_qd32_iops_{name}", result.sides[side].iops, "1/s", mode)
