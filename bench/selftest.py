"""Is the ceiling itself right, and is it still what it was?

The self test moves data through each engine and variant and looks whether what
is read is what was written.  The count of instructions is what the ceiling is
frozen by; the same count is a figure of the target.
"""

import json
import os
import re
import tempfile
import time

import ends
import nbd

SIZE = 64 << 20
FROZEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "frozen.json")
CALLGRIND_READS = 50000
VARIANTS = ((), ("--hdgst",), ("--ddgst",), ("--hdgst", "--ddgst"), ("--flow-control",),
            ("--hdgst", "--ddgst", "--flow-control"))
SHAPES = (("--qd", 128), ("--qd", 32, "--connections", 16), ("--qd", 1), ("--qd", 1, "--connections", 256))


def check_engine(machine, engine, copy):
    """Every variant and shape of 4 KiB: written with a pattern, read back; returns I/Os."""
    moved = 0
    with machine.ceiling(engine, copy, size=SIZE) as server:
        for variant in VARIANTS:
            common = ("--engine", engine, "--pattern", *variant)
            wrote = machine.client(server, *common, "--rw", "write", "--sequential", "--qd", 64,
                                   "--connections", 4, "--count", SIZE // 4096)
            if wrote["writes"] != SIZE // 4096:
                raise ends.Failed(f"{wrote['writes']} writes of {SIZE // 4096}: {engine} {variant}")
            moved += wrote["ios"]
            for shape in SHAPES:
                count = 1000 if shape == ("--qd", 1) else 5000
                read = machine.client(server, *common, *shape, "--count", count)
                if read["reads"] != count:
                    raise ends.Failed(f"{read['reads']} reads of {count}: {engine} {shape} {variant}")
                moved += count
        if server.counters()["ios"] != moved:
            raise ends.Failed(f"the server counts other I/Os than the client: {engine}")
    return moved


def check_large(machine, engine):
    """128 KiB reads have the length and, of a volume never written, the zeros they must have."""
    with machine.ceiling(engine, io_size=131072, size=SIZE) as server:
        read = machine.client(server, "--engine", engine, "--io-size", 131072, "--qd", 8, "--ddgst",
                              "--count", 2000)
        if read["reads"] != 2000:
            raise ends.Failed(f"{read['reads']} reads of 128 KiB: {engine}")
        machine.client(server, "--engine", engine, "--rw", "write", "--pattern", "--sequential",
                       "--count", SIZE // 4096, "--qd", 64)
        machine.client(server, "--engine", engine, "--io-size", 131072, "--qd", 8, "--pattern",
                       "--count", 1000)


def check_detection(machine):
    """The client does find what is wrong: a volume without the pattern."""
    with machine.ceiling("epoll", size=SIZE) as server:
        try:
            machine.client(server, "--pattern", "--count", 10)
        except ends.Failed as why:
            if "written was" in str(why):
                return
            raise
    raise ends.Failed("the client accepts data that was not written")


def check_sleep(machine):
    """A server without work leaves its processor to others."""
    for engine in ("poll", "epoll", "uring"):
        with machine.ceiling(engine, size=SIZE) as server, machine.idle(server, 1):
            time.sleep(0.2)
            before = server.ran_ns()
            time.sleep(0.5)
            busy = (server.ran_ns() - before) / 0.5e9
            if busy > 0.01:
                raise ends.Failed(f"{engine}: an idle server uses {100 * busy:.0f} % of its processor")


def check_host(machine):
    """The ceiling's server serves Weir's host too, and what that says of itself is what the server saw."""
    for engine in ("poll", "epoll", "uring"):
        with machine.ceiling(engine, size=SIZE) as server:
            machine.perf(server, "--rw", "randrw", "--qd", 32, "--queues", 2, "--verify", "--ios", 20000)
            before = server.counters()
            for rw in ("read", "write"):
                said = machine.perf(server, "--rw", "rand" + rw, "--qd", 128, "--ios", 10000)
                if said["ios"] != 10000 or said["batches"] > 10000 or said["syscalls"] < 2 * 10000 / 128:
                    raise ends.Failed(f"weir perf --ios 10000 --qd 128 says: {said}")
            after = server.counters()
            if [after[name] - before[name] for name in ("reads", "writes")] != [10000, 10000]:
                raise ends.Failed(f"the server saw other I/Os than weir perf: {before}, {after}")
    with machine.ceiling(size=SIZE) as server:
        machine.allocator_calls(server, 1)


def check_counters():
    """What failed is no measurement."""
    side = {"ios": 10, "latency_us": {"p50": 1.5, "p99": 2}}
    none = {"ios": 0, "latency_us": {"p50": 0, "p99": 0}}
    said = {"read": none, "write": side, "seconds": 0.5, "syscalls": 7, "busy_turns": 5, "busy_ns": 1000, "errors": 0,
            "verify": {"wrong": 0}, "waited_ns": 5e6}
    found = ends.perf_counters(said)
    if found != {"ios": 10, "iops": 20, "elapsed_ns": 5e8, "busy_ns": 1000, "syscalls": 7, "batches": 5,
                 "waited": 0.01, "p50_ns": 1500, "p99_ns": 2000}:
        raise ends.Failed(f"weir perf's counters: {found}")
    for wrong in ({"errors": 1}, {"verify": {"wrong": 1}}, {"write": none}):
        try:
            ends.perf_counters(said | wrong)
        except ends.Failed:
            continue
        raise ends.Failed(f"a measurement with {wrong}")


def check_nbd(machine):
    """What Weir's pair is compared with keeps what is written to it, if it is installed."""
    try:
        pair = nbd.NbdPair(machine)
    except ends.Failed as why:
        return f"not looked at: {why}"
    with pair.serve(nbd.NbdServing("sparse", 1), SIZE) as server:
        said = pair.drive(server, nbd.Way(2, nbd.PLACES[0], ("--spin", "--simple")), 1000)
        if said["ios"] != 1000 or said["iops"] <= 0:
            raise ends.Failed(f"weir-nbd-client --ios 1000 says: {said}")
    return "data as written"


def run(machine):
    for engine in ("poll", "epoll", "uring"):
        copy = "nt" if engine == "epoll" else "memcpy"
        print(f"ok {engine} {copy}: {check_engine(machine, engine, copy)} I/Os, data as written")
        check_large(machine, engine)
        print(f"ok {engine}: 128 KiB")
    check_detection(machine)
    print("ok wrong data is found")
    check_sleep(machine)
    print("ok idle servers sleep")
    check_counters()
    check_host(machine)
    print("ok weir perf on the ceiling's servers: data as written, I/Os as counted")
    print(f"ok nbdkit and libnbd: {check_nbd(machine)}")
    return 0


def callgrind(scratch):
    """What to put before a program so that its instructions are counted, and the file that will have the count."""
    log = os.path.join(scratch, "log")
    return ("valgrind", "--tool=callgrind", f"--callgrind-out-file={scratch}/out", f"--log-file={log}"), log


def collected_in(log):
    found = re.search(r"Collected\s*:\s*(\d+)", ends.file_of(log))
    if found is None:
        raise ends.Failed("callgrind printed no count:\n" + ends.file_of(log)[-1000:])
    return int(found.group(1))


def collected(machine, start, reads, client_args=()):
    """Instructions of a server under callgrind from start to end, and the I/Os of a busy turn."""
    with tempfile.TemporaryDirectory(prefix="weir-bench-") as scratch:
        prefix, log = callgrind(scratch)
        with start(size=SIZE, prefix=prefix) as server:
            before = server.counters()
            machine.client(server, "--engine", "poll", "--qd", 128, "--count", reads, *client_args)
            after = server.counters()
        count = collected_in(log)
    return count, reads / max(1, after["busy_turns"] - before["busy_turns"])


def ceiling_without_spinning(machine):
    """How to start a ceiling whose count does not hold the turns in which it waited for the client."""
    return lambda **options: machine.ceiling(more=("--spin-us", 0), **options)


def instructions_per_read(machine, start, client_args=()):
    """((Ir(2N) - Ir(N)) / N, batch, N) of a server that `start` starts; QD128, one connection."""
    once, _ = collected(machine, start, CALLGRIND_READS, client_args)
    twice, batch = collected(machine, start, 2 * CALLGRIND_READS, client_args)
    return (twice - once) / CALLGRIND_READS, batch, CALLGRIND_READS


def frozen_server(machine):
    """(instructions per read of the ceiling's server, turns per read)."""
    start = ceiling_without_spinning(machine)
    counts, turns = zip(*((count, reads / batch) for reads in (CALLGRIND_READS, 2 * CALLGRIND_READS)
                          for count, batch in [collected(machine, start, reads)]))
    return (counts[1] - counts[0]) / CALLGRIND_READS, (turns[1] - turns[0]) / CALLGRIND_READS


def frozen_client(machine):
    """(the same of the ceiling's client, which sleeps at once instead of spinning)."""
    counts, turns = [], []
    with machine.ceiling(size=SIZE) as server:
        for reads in (CALLGRIND_READS, 2 * CALLGRIND_READS):
            with tempfile.TemporaryDirectory(prefix="weir-bench-") as scratch:
                prefix, log = callgrind(scratch)
                said = machine.client(server, "--engine", "poll", "--qd", 128, "--spin-us", 0, "--count", reads,
                                      prefix=prefix)
                counts.append(collected_in(log))
                turns.append(said["busy_turns"])
    return (counts[1] - counts[0]) / CALLGRIND_READS, (turns[1] - turns[0]) / CALLGRIND_READS


def run_frozen(machine):
    """0 if the ceiling's instructions per read are those recorded when it was reviewed."""
    with open(FROZEN, encoding="ascii") as file:
        frozen = json.load(file)
    # The middle of three: how often one that waits is woken for nothing is chance, and not a turn that is counted.
    found = {"ceiling_instructions_per_read_4k": sorted(frozen_server(machine) for _ in range(3))[1],
             "ceiling_client_instructions_per_read_4k": sorted(frozen_client(machine) for _ in range(3))[1]}
    all_right = True
    for name, (value, turns) in found.items():
        recorded = frozen[name]["count"] + frozen[name]["per_turn"] * turns
        low, high = (recorded * (1 + sign * frozen[name]["tolerance"]) for sign in (-1, 1))
        right = low <= value <= high
        all_right &= right
        print(f"{'ok' if right else 'not ok'} {name} {value:.1f} (recorded {low:.1f} to {high:.1f}), {1000 * turns:.1f} turns for 1000")
    return 0 if all_right else 1
