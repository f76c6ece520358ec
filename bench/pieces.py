#!/usr/bin/env python3
"""
pieces.py - what a short read takes while long ones go out on the same connection.

    bench/pieces.py --build DIR --against DIR [--rounds N] [--seconds S] [--depth N] [--rcvbuf B] [--json]

One client keeps reads of 1 MiB in flight (--depth, 4) and beside them one read
of 4 KiB, on one queue without SQ flow control.  Both targets live; the slices
of a round are build, against, against, build, so what the machine does
meanwhile meets both.  To see what it is worth that long answers go in pieces,
--against is a build of the same commit in which TARGET_PIECE (target/target.h)
is 1024 * 1024: there each answer is one C2HData.  Two builds whose longest
C2HData are as long as each other are refused: there is nothing to compare.

Prints p50 and p99 of the short reads, MiB/s of the long ones, and the ratios
against / build: the median over the rounds, with the least and the greatest.
"""
import argparse
import json
import os
import socket
import statistics
import struct
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "tests", "e2e"))
sys.dont_write_bytecode = True


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(HERE, "..", "build"))
    parser.add_argument("--against", required=True, help="a build whose long answers go in one C2HData")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=3.0, help="of each slice")
    parser.add_argument("--depth", type=int, default=4, help="long reads in flight")
    parser.add_argument("--rcvbuf", type=int, help="bytes of the client's receive buffer; without, the kernel's choice")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


OPTIONS = options()
os.environ["WEIR_BUILD"] = os.path.abspath(OPTIONS.build)

import nvme
import target as targets
from nvmetcp import C2H_DATA, SUCCESS, require

SHORT, LONG = 4096, 1 << 20
SHORT_CID = 0x100
BLOCKS = 16 * LONG // 4096


class Client:
    """Prebuilt capsules and one buffer: what was read is dropped where it was received."""

    def __init__(self, daemon):
        self.ctrl = nvme.Controller(daemon.address, sq_flow=False)
        queue = self.ctrl.io_queue(rcvbuf=OPTIONS.rcvbuf)
        for at in range(0, BLOCKS, LONG // 4096):
            require(queue.write(at, os.urandom(LONG)).ok, "a write failed")
        self.conn = queue.conn
        self.buffer = memoryview(bytearray(LONG))
        self.header = memoryview(bytearray(24))
        self.sent_at = self.at = 0
        self.largest = 0

    def close(self):
        self.conn.close()
        self.ctrl.close()

    def submit(self, cid, size):
        self.at = (self.at + 37) % (BLOCKS - LONG // 4096)
        command = nvme.sqe(0x02, cid, 1, nvme.sgl(0x5A, size), cdw10=self.at, cdw12=size // 4096 - 1)
        self.conn.send(self.conn.capsule(command))

    def take(self, into):
        taken = 0
        while taken < len(into):
            step = self.conn.sock.recv_into(into[taken:], 0, socket.MSG_WAITALL)
            require(step > 0, "the target closed the connection")
            taken += step

    def answer(self):
        """The command that is done by what comes next, or None, and the bytes that came."""
        self.take(self.header)
        kind, flags, _, pdo, plen, cid = struct.unpack_from("<BBBBIH", self.header)
        require(kind == C2H_DATA and pdo == 24, "no C2HData, or padded: type %d", kind)
        self.largest = max(self.largest, plen - 24)
        self.take(self.buffer[:plen - 24])
        return cid if flags & SUCCESS else None, plen - 24

    def slice(self, seconds):
        """Latencies of the short reads in microseconds, sorted, and MiB/s of all."""
        latencies, moved, left = [], 0, OPTIONS.depth + 1
        for cid in range(OPTIONS.depth):
            self.submit(cid, LONG)
        start = short = time.perf_counter()
        self.submit(SHORT_CID, SHORT)
        while left > 0:
            cid, step = self.answer()
            now = time.perf_counter()
            over = now - start >= seconds
            moved += 0 if over else step
            left -= cid is not None and over
            if cid == SHORT_CID:
                latencies.append((now - short) * 1e6)
                if not over:
                    short = time.perf_counter()
                    self.submit(SHORT_CID, SHORT)
            elif cid is not None and not over:
                self.submit(cid, LONG)
        latencies.sort()
        return {"p50": quantile(latencies, 0.5), "p99": quantile(latencies, 0.99), "count": len(latencies),
                "mib_s": moved / seconds / (1 << 20)}


def quantile(values, q):
    return values[min(len(values) - 1, int(q * len(values)))]


def spread(values):
    return {"median": statistics.median(values), "least": min(values), "greatest": max(values)}


def measure(build, against):
    slices = {"build": [], "against": []}
    ratios = {"p50": [], "p99": [], "mib_s": []}
    for client in (build, against):
        client.slice(OPTIONS.seconds / 4)
    require(build.largest != against.largest, "both answer in C2HData of %d bytes at most", build.largest)
    for _ in range(OPTIONS.rounds):
        taken = [client.slice(OPTIONS.seconds) for client in (build, against, against, build)]
        slices["build"] += taken[::3]
        slices["against"] += taken[1:3]
        for name, values in ratios.items():
            values.append((taken[1][name] + taken[2][name]) / (taken[0][name] + taken[3][name]))
    result = {"ratio_" + name: spread(values) for name, values in ratios.items()}
    for side, client in (("build", build), ("against", against)):
        result[side] = {name: statistics.median(s[name] for s in slices[side])
                        for name in ("p50", "p99", "mib_s", "count")}
        result[side]["largest_c2hdata"] = client.largest
    return result


def main():
    with targets.Daemon() as first, \
            targets.Daemon(binary=os.path.join(os.path.abspath(OPTIONS.against), "cmd", "weir")) as second:
        build, against = Client(first), Client(second)
        try:
            result = measure(build, against)
        finally:
            build.close()
            against.close()
    if OPTIONS.json:
        print(json.dumps(result, indent=1))
        return
    print("%-9s %10s %10s %10s %10s %10s" % ("", "C2HData", "p50 us", "p99 us", "a slice", "MiB/s"))
    for side in ("build", "against"):
        s = result[side]
        print("%-9s %10d %10.1f %10.1f %10d %10.0f" % (side, s["largest_c2hdata"], s["p50"], s["p99"], s["count"],
                                                       s["mib_s"]))
    for name in ("p50", "p99", "mib_s"):
        r = result["ratio_" + name]
        print("against / build, %-6s %6.2f (%.2f to %.2f)" % (name, r["median"], r["least"], r["greatest"]))


if __name__ == "__main__":
    main()
