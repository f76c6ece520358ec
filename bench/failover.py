"""How long I/O stands still when a path is lost.

Answers: from the moment that a path is cut, or a target killed and started
again, until something that had to be sent again is done; and was every I/O done
once, and is what was written there?  The path is weir-forward, the host is
weir-failover.
"""

import json
import os
import select
import signal
import statistics
import subprocess
import tempfile
import time

import ends

WAIT_S = 60
# What a host may be asked for that wants to know sooner: Keep Alive each 40 ms, lost when one is 40 ms late.
TUNED = ("kato=80", "reconnect=10")
BARS = {"failover_ms": ("<", 1000), "failover_tuned_ms": ("<", 100), "failover_silent_tuned_ms": ("<", 100)}
KILLS = {  # figure: (the host's options, how a path is lost, how often)
    "failover_ms": ((), signal.SIGKILL, 20),
    "failover_tuned_ms": (TUNED, signal.SIGKILL, 20),
    "failover_silent_ms": ((), signal.SIGSTOP, 5),
    "failover_silent_tuned_ms": (TUNED, signal.SIGSTOP, 10),
    "failover_plain_ms": (("plain",), signal.SIGKILL, 3),
    "failover_plain_tuned_ms": (("plain", "kato=500", "fence-margin=100"), signal.SIGKILL, 5),
}
RESTARTS = {"reconnect_ms": (0, 10), "reconnect_after_2s_ms": (2, 3)}  # figure: (seconds that it is away, how often)


class Load(ends.Process):
    """weir-failover over these paths, and what it has said so far."""

    def __init__(self, folder, addresses, options):
        super().__init__([os.path.join(folder, "weir-failover"), *options,
                          f"nvme+tcp://{','.join(addresses)}/{ends.SUBNQN}?ns=1"], stdin=subprocess.PIPE)
        self.events = []

    def until(self, kind, since=0, seconds=WAIT_S, begun=0, **what):
        """The first such event since then, and of an I/O begun since `begun`; None: there is none in time."""
        deadline, at = time.monotonic() + seconds, 0
        while True:
            for event in self.events[at:]:
                if event["event"] == kind and event.get("ns", 0) >= since and event.get("since_ns", 0) >= begun and \
                   what.items() <= event.items():
                    return event
            at = len(self.events)
            left = deadline - time.monotonic()
            if b"\n" not in self.buffer and (left <= 0 or not select.select([self.child.stdout], [], [], left)[0]):
                return None
            self.events.append(json.loads(self.line()))

    def must(self, kind, since=0, **what):
        found = self.until(kind, since, **what)
        if found is None:
            raise ends.Failed(f"no '{kind}' of {what} within {WAIT_S} s; before that {self.events[-5:]}")
        return found

    def so_far(self):
        asked = time.monotonic_ns()
        self.child.stdin.write(b"\n")
        self.child.stdin.flush()
        return self.must("so_far", asked)

    def settle(self):
        """A moment since when a few hundred I/Os were done: what is sent again and was submitted later is of a loss that
        is to come, and not of the one before."""
        calm, first = time.monotonic_ns(), self.so_far()["ios"]
        deadline = time.monotonic() + WAIT_S
        while self.so_far()["ios"] < first + 400:
            if time.monotonic() > deadline:
                raise ends.Failed(f"I/O has stopped: {self.events[-5:]}")
        return calm

    def account(self):
        """Reads all back; a figure is one only if nothing is wrong with it."""
        self.child.stdin.close()
        account = self.must("account")
        self.end()
        for name in ("wrong", "doubled", "lost", "failed"):
            if account[name] != 0:
                raise ends.Failed(f"{name}: {account}")
        return account


class Path:
    """A forwarder to `onward` that can be lost and be there again."""

    def __init__(self, folder, onward):
        self.command, self.onward = os.path.join(folder, "weir-forward"), onward
        self.process = ends.Server([self.command, "127.0.0.1:0", onward])
        self.address = self.process.address

    def lose(self, how):
        """The moment it was lost."""
        began = time.monotonic_ns()
        self.process.child.send_signal(how)
        return began

    def mend(self, how):
        if how == signal.SIGSTOP:
            self.process.child.send_signal(signal.SIGCONT)
        else:
            self.process.stop()
            self.process = ends.Server([self.command, self.address, self.onward])

    def stop(self):
        self.process.child.send_signal(signal.SIGCONT)
        self.process.stop()


class Scene:
    """One target with two listeners, a path to each, and the load."""

    def __init__(self, bench, volume, options):
        self.machine, self.volume = bench.machine, volume
        folder = os.path.dirname(self.machine.ceiling_path)
        self.target = self.start_target(["127.0.0.1:0"] * 2)
        self.paths = [Path(folder, address) for address in self.target.addresses]
        self.load = Load(folder, [path.address for path in self.paths], options)
        self.load.must("ready")
        self.load.so_far()

    def start_target(self, addresses):
        listen = [word for address in addresses for word in ("--listen", address)]
        return ends.Server([self.machine.weir_path, "serve", *listen, "--ns", self.volume])

    def lose_path(self, index, how):
        """Milliseconds until a write that was sent again is done, None if none of the probes' was under way there; and
        the longest that any I/O took."""
        calm = self.load.settle()
        began = self.paths[index].lose(how)
        self.load.must("path_lost", began, path=index)
        resent = self.load.until("resent", began, 20, calm, text="write")
        longest = self.load.so_far()["longest_ms"]
        mended = time.monotonic_ns()
        self.paths[index].mend(how)
        self.load.must("path_up", mended, path=index)
        return resent and (resent["ns"] - began) / 1e6, longest

    def restart_target(self, away_s):
        """Milliseconds from where it is started again until the first of the I/Os that wait is done: where it listens
        cannot be seen at once."""
        calm, killed = self.load.settle(), time.monotonic_ns()
        self.target.child.kill()
        self.load.must("all_lost", killed)
        self.target.stop()
        time.sleep(away_s)
        started = time.monotonic_ns()
        self.target = self.start_target(self.target.addresses)
        resent = self.load.must("resent", started, begun=calm)
        for index in range(2):
            self.load.must("path_up", killed, path=index)
        return (resent["ns"] - started) / 1e6

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.load.stop()
        for path in self.paths:
            path.stop()
        self.target.stop()


def words(options, account):
    return f"{' '.join(options) or 'default options'}; {account['ios']} I/Os, {account['resent']} sent again"


def run_kills(bench, name):
    options, how, kills = KILLS[name]
    took, longest = [], 0
    kills = 2 if bench.quick else kills
    with Scene(bench, "mem:64M", options) as scene:
        for attempt in range(2 * kills):
            ms, pause = scene.lose_path(attempt % 2, how)
            if ms is not None:
                took.append(ms)
                longest = max(longest, pause)
            if len(took) == kills:
                break
        account = scene.load.account()
    if len(took) < kills:
        raise ends.Failed(f"{len(took)} of {2 * kills} lost paths had a write under way")
    bench.add(name, statistics.median(took), "ms", min(took), max(took), len(took),
              reason=f"{words(options, account)}; the longest I/O {longest:.0f} ms")


def run_restarts(bench, name):
    away_s, restarts = RESTARTS[name]
    with tempfile.TemporaryDirectory(prefix="weir-bench-") as data, \
         Scene(bench, f"file:{data}/volume.img,size=64M", ()) as scene:
        took = [scene.restart_target(away_s) for _ in range(2 if bench.quick else restarts)]
        account = scene.load.account()
    bench.add(name, statistics.median(took), "ms", min(took), max(took), len(took), reason=words((), account))


def steps(bench):
    for name in KILLS:
        yield (name,), False, lambda name=name: run_kills(bench, name)
    for name in RESTARTS:
        yield (name,), False, lambda name=name: run_restarts(bench, name)
