"""The two servers, the client and the probe as processes.

Answers: how is each end started, asked for its counters and ended?  It does
not know what is compared with what.
"""

import ctypes
import glob
import json
import os
import re
import resource
import select
import signal
import subprocess
import tempfile
import time

SERVER_CPU, CLIENT_CPU = 0, 1
VOLUME = 1 << 30
SUBNQN = "nqn.2026-11.local.weir:default"
START_S = 60
PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None)


class Failed(Exception):
    """An end did not do what was asked; the message says which and what it said."""


def raise_file_limit():
    """Connections by the thousand, for us and what we start."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def perf_counters(said):
    """What `weir perf --json` said, in the words of the ceiling's client."""
    ios = said["read"]["ios"] + said["write"]["ios"]
    if said["errors"] > 0 or said["verify"]["wrong"] > 0 or ios == 0:
        raise Failed(f"weir perf: {said['errors']} errors, {said['verify']['wrong']} wrong, {ios} I/Os")
    elapsed_ns = said["seconds"] * 1e9
    side = max((said["read"], said["write"]), key=lambda one: one["ios"])
    return {"ios": ios, "iops": ios / said["seconds"], "elapsed_ns": elapsed_ns, "busy_ns": said["busy_ns"],
            "syscalls": said["syscalls"], "batches": said["busy_turns"], "waited": said["waited_ns"] / elapsed_ns,
            "p50_ns": side["latency_us"]["p50"] * 1000, "p99_ns": side["latency_us"]["p99"] * 1000}


def file_of(path):
    with open(path, encoding="ascii", errors="replace") as file:
        return file.read()


def end_with_us():
    """In a child: it is killed when we end, in whatever way.  A server that polls would take a processor for good."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Process:
    """A child with lines on its stdout; what it says on stderr is kept for messages."""

    def __init__(self, args, **how):
        self.args = [str(arg) for arg in args]
        self.log = tempfile.TemporaryFile(mode="w+")
        self.buffer = b""
        self.started = time.perf_counter()
        how.setdefault("stdin", subprocess.DEVNULL)
        self.child = subprocess.Popen(self.args, stdout=subprocess.PIPE, stderr=self.log, preexec_fn=end_with_us, **how)
        self.pid = self.child.pid

    def line(self, timeout=START_S):
        """The next line of stdout."""
        end = time.monotonic() + timeout
        while b"\n" not in self.buffer:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.child.stdout], [], [], left)[0]:
                raise Failed(f"no answer within {timeout} s from: {' '.join(self.args)}\n{self.said()}")
            some = os.read(self.child.stdout.fileno(), 65536)
            if not some:
                raise Failed(f"ended early ({self.child.wait()}): {' '.join(self.args)}\n{self.said()}")
            self.buffer += some
        line, self.buffer = self.buffer.split(b"\n", 1)
        return line.decode()

    def said(self):
        self.log.seek(0)
        return self.log.read()[-2000:]

    def json_line(self, timeout=START_S):
        while True:
            line = self.line(timeout)
            if line.startswith("{"):
                return json.loads(line)

    def result(self, timeout=600):
        """The JSON object of a child that ends by itself, and for how long its first thread waited for a processor."""
        result = self.json_line(timeout)
        os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)  # it is kept until it is asked for its status
        result["waited_ns"] = int(file_of(f"/proc/{self.pid}/schedstat").split()[1])
        self.end()
        return result

    def end(self):
        """Waits for a child that ends by itself; what it says until then is dropped."""
        while os.read(self.child.stdout.fileno(), 65536):
            pass
        if self.child.wait() != 0:
            raise Failed(f"ended with {self.child.returncode}: {' '.join(self.args)}\n{self.said()}")

    def stop(self):
        """Ends the child in the ordinary way, and otherwise if it does not."""
        if self.child.poll() is None:
            self.child.send_signal(signal.SIGTERM)
            try:
                self.child.wait(START_S)
            except subprocess.TimeoutExpired:
                self.child.kill()
                self.child.wait()
        self.child.stdout.close()
        self.log.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def ran_ns(self):
        """What all threads ran, in ns."""
        return sum(int(file_of(path).split()[0]) for path in glob.glob(f"/proc/{self.pid}/task/*/schedstat"))

    def memory_kib(self, which):
        """Rss or Pss of the child."""
        return int(re.search(rf"^{which}:\s+(\d+) kB", file_of(f"/proc/{self.pid}/smaps_rollup"),
                             re.MULTILINE).group(1))


class Server(Process):
    """A server that has said where it listens; `listening_s` after it was started."""

    def __init__(self, args):
        super().__init__(args)
        self.addresses = []
        try:
            while True:
                line = self.line()
                if " listening on " in line:
                    self.listening_s = time.perf_counter() - self.started
                    self.address = line.split()[-1]
                    self.addresses.append(self.address)
                if line.endswith(": ready"):
                    return
        except Failed:
            self.stop()
            raise

    def counters(self):
        """What it has done so far: ios, busy_ns, busy_turns, syscalls, waited_ns."""
        self.child.send_signal(signal.SIGUSR1)
        counters = self.json_line()
        counters["ios"] = counters["reads"] + counters["writes"]
        # Of the thread that serves: helpers of its own wait for it, and for nobody else.
        counters["waited_ns"] = int(file_of(f"/proc/{self.pid}/schedstat").split()[1])
        return counters


class Machine:
    """Where the programs are, and how they are started for a measurement."""

    def __init__(self, build, needs_weir=True, cpus=(SERVER_CPU, CLIENT_CPU)):
        self.weir_path = os.path.join(build, "cmd", "weir")
        self.ceiling_path = os.path.join(build, "bench", "weir-ceiling")
        self.cpus = cpus
        self.awake = None
        self.softirq_pids = None
        for path in (self.ceiling_path, *([self.weir_path] if needs_weir else [])):
            if not os.access(path, os.X_OK):
                raise Failed(f"{path} is not there: build first, or say --build DIR")

    def weir(self, *more, prefix=()):
        return Server([*prefix, self.weir_path, "serve", "--listen", "127.0.0.1:0", *more])

    def weir_ram(self, size=VOLUME, prefix=(), more=()):
        return self.weir("--ns", f"mem:{size >> 20}M", "--cpus", self.cpus[0], "--tcp-congestion", "cubic",
                         "--stats", *more, prefix=prefix)

    def ceiling(self, engine="poll", copy="memcpy", io_size=4096, size=VOLUME, prefix=(), more=()):
        server = Server([*prefix, self.ceiling_path, "server", "--cpu", self.cpus[0], "--engine", engine,
                         "--copy", copy, "--io-size", io_size, "--size", size, "--congestion", "cubic", *more])
        server.engine = engine
        return server

    def client(self, server, *args, prefix=()):
        """One run of the ceiling's client; its counters, and the part of the time that it waited for its processor."""
        with Process([*prefix, self.ceiling_path, "client", "--connect", server.address, "--cpu", self.cpus[1],
                      "--congestion", "cubic", *args]) as process:
            try:
                client = process.json_line(600)
                process.end()
            except Failed as why:
                raise Failed(f"{why}\nthe server said: {server.said()}") from None
        return client | {"waited": 1 - client["cpu_ns"] / client["elapsed_ns"], "batches": client["sends"]}

    @staticmethod
    def uri(server):
        return f"nvme+tcp://{server.address}/{SUBNQN}?ns=1"

    def perf(self, server, *args, prefix=(), pinned=True):
        """One run of `weir perf`: what client() returns of the ceiling's."""
        place = ("--cpus", self.cpus[1]) if pinned else ()
        with Process([*prefix, self.weir_path, "perf", self.uri(server), "--json", "--tcp-congestion", "cubic", *place,
                      *args]) as process:
            try:
                return perf_counters(process.result())
            except Failed as why:
                raise Failed(f"{why}\nthe server said: {server.said()}") from None

    def allocator_calls(self, server, ios):
        """How often a run of `weir perf` with so many I/Os calls the allocator, or maps memory."""
        library = os.path.join(os.path.dirname(self.ceiling_path), "weir-allocations.so")
        with tempfile.TemporaryDirectory(prefix="weir-bench-") as scratch:
            record = os.path.join(scratch, "calls")
            # Not as JSON: what that takes depends on how long its numbers are.
            with Process([self.weir_path, "perf", self.uri(server), "--qd", 128, "--ios", ios],
                         env=os.environ | {"LD_PRELOAD": library, "WEIR_ALLOCATIONS": record}) as process:
                process.end()
            calls = int(file_of(record)) if os.path.exists(record) else 0
        if calls == 0:
            raise Failed(f"{library} counted nothing")
        return calls

    def idle(self, server, connections):
        """Idle I/O connections of queue size 128, held until the process is stopped."""
        process = Process([self.ceiling_path, "idle", "--connect", server.address, "--connections",
                           connections, "--queue-size", 128])
        try:
            process.json_line()
        except Failed:
            process.stop()
            raise
        return process

    def stay_awake(self):
        """Keeps both processors busy with what gives way to everything: asleep, they would move about."""
        if self.awake is None:
            self.awake = Process([self.ceiling_path, "awake", "--cpus", f"{self.cpus[0]},{self.cpus[1]}"])
            self.awake.json_line()

    def may_sleep(self):
        """Ends stay_awake()."""
        if self.awake is not None:
            self.awake.stop()
            self.awake = None

    def move(self):
        """Lets the processors sleep for a moment: woken, they may be elsewhere."""
        self.may_sleep()
        time.sleep(0.3)
        self.stay_awake()

    def probe(self):
        """Round trip of a cache line between the two processors, in ns, and the mode that it means."""
        with Process([self.ceiling_path, "probe", "--cpus", f"{self.cpus[0]},{self.cpus[1]}"]) as process:
            answer = process.json_line()
        return answer["round_trip_ns"], answer["mode"]

    def softirq_ns(self):
        """(server's processor, client's): what the kernel's thread for deferred network work ran there, in ns.

        It is the work of the connections that are measured: who waits for it waits for itself."""
        if self.softirq_pids is None:
            names = [f"ksoftirqd/{cpu}" for cpu in self.cpus]
            pids = {}
            for path in glob.glob("/proc/[0-9]*/comm"):
                try:
                    pids[file_of(path).strip()] = path.split("/")[2]
                except OSError:
                    pass  # it has ended
            self.softirq_pids = [pids.get(name) for name in names]
        return [int(file_of(f"/proc/{pid}/schedstat").split()[0]) if pid else 0 for pid in self.softirq_pids]

    def fill(self, server, size=VOLUME):
        """Writes every block of the volume once, so that no page of it is missing."""
        self.client(server, "--rw", "write", "--sequential", "--count", size // 4096, "--qd", 128,
                    "--engine", "poll")

    @staticmethod
    def describe():
        """The machine in words."""
        model = re.search(r"^model name\s*:\s*(.*)$", file_of("/proc/cpuinfo"), re.MULTILINE)
        return f"{model.group(1) if model else os.uname().machine}, {os.cpu_count()} processors, " \
               f"Linux {os.uname().release}, loopback TCP"
