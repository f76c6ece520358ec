"""failing.py RECORD - writes doc/failing.md: what failed in a run of ./dev failing, and what came of it.

RECORD is what tests/e2e/failing.py has written: a line of JSON for each run, and for each setting how often a call is
made, and from how many places.
"""
import collections
import datetime
import json
import os
import platform
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "e2e"))

import test_failing_calls as calls

PAGE = Path("doc/failing.md")
CAME = ["did not start", "an operator's wish was refused", "commands failed", "a host lost its connection",
        "a host was told to come again", "nothing was amiss"]
WHY_NOT = {
    "arch_prctl": "sets a register", "brk": "answers no errno; malloc() then takes mmap(), which is struck",
    "clock_nanosleep": "a pause that is cut short", "close": "closes the descriptor whatever it answers",
    "exit": "does not return", "exit_group": "does not return", "execve": "before main()",
    "futex": "of glibc's locks, which take no answer but those of locks",
    "getpid": "cannot fail", "prlimit64": "of glibc's stacks, and a warning (`ulimit -n`)",
    "rseq": "of glibc, at a thread's start", "rt_sigaction": "fails for a wrong number alone",
    "rt_sigprocmask": "fails for a wrong number alone", "set_robust_list": "of glibc, at a thread's start",
    "set_tid_address": "of glibc, at the start",
}
HEAD = """# What fails, and what comes of it

Every allocation and every system call of the target is made to fail, one at a time, each in a run of its own
(`tests/e2e/test_failing_allocations.py`, `test_failing_calls.py`; the run is `tests/e2e/failing.py`). This page is written by

    ./dev failing            # each place, and of each call one with further errors: the table below
    ./dev failing all        # each allocation and each call, as often as it comes, and each place with further errors

`./dev test` tries a few of each every day.

A run is a target of RAM and files: start, hosts that read, write, flush, deallocate, create namespaces, mark blocks as bad,
reserve, read events and ask for discovery, one that breaks a rule, an operator who asks what would change, applies a
configuration by which namespaces grow, come and go (and listeners and ANA states change), and goes back by SIGHUP, and the
end. There are four *settings*: io_uring, threads and plain system calls, a target with two reactors that was served before
(it reads what was kept), and one of options instead of a configuration. A *place* is where a call comes from: all that calls
it, up to `main()` or the thread's start.

After each failure these hold, or the test fails:

* The target did not crash. It did not start, with an exit code of 1 (2 for the command line) and a line that says why; or
  it went on, and SIGTERM ends it with 0.
* At most one host for each reactor lost its connection, and no host read what was not written.
* What failed has a line: on the target's standard error or, of an operator's wish, in the answer to him. Of a connection
  that breaks because a socket's call says so there is none: that is how peers go.
* Files are as large as the configuration that holds has them, and what a refused one had made is gone.
* Afterwards the operator is heeded and a new host served, with every command. (After a write that was to be durable has
  failed, a file is not flushed any more until it is opened anew; that is said, and the RAM volume is served.)
* Nothing is left over: as soon as nothing is to be done the target has as many descriptors open, and, where an allocation
  failed, as many blocks of memory (two more at most, however many fail), as after a run in which nothing fails; at its end
  it has given all memory back.

"""
TAIL = """
## What is not struck

| call | why |
|---|---|
%s
Of `munmap()` the one of a dead thread's stack is left out, since the C library ends the process where it fails, and of
`epoll_ctl()` that a descriptor is taken away, which cannot fail while it is open.

No name is looked up in these runs (`--listen localhost:4420`): where an allocation fails in that, glibc 2.36 itself ends the
process, in nss_database.c.

What these runs do not reach is made to fail elsewhere where an ANA group has been in change for too long
(`tests/sim/test_anatt.c`), and where mail waits because a ring is full (`tests/unit/test_rt.c`). It is nowhere for descriptors of
files without direct I/O that several reactors share, listening sockets that are handed over, and block devices.
Allocations are also made to fail one by one, and what is left over counted in the arena, in the simulation (`test_reconfigure.c`,
`test_kept_events.c`, `test_reserved.c`), the fuzzer of whole targets (`tests/fuzz/script.c`), and the unit tests of `conf`,
`made`, `blk`, `bufs` and `world`.
"""


def commit():
    name = subprocess.check_output(["git", "rev-parse", "--short=12", "HEAD"], text=True).strip()
    changed = subprocess.check_output(["git", "status", "--porcelain", "--", ".", f":!{PAGE}"], text=True).strip()
    return name + (", with changes that are not committed" if changed else "")


def row(name, *cells):
    return "| " + " | ".join([name, *map(str, cells)]) + " |\n"


def main():
    made, runs = collections.defaultdict(lambda: [0, 0]), collections.defaultdict(list)
    for line in map(json.loads, open(sys.argv[1])):
        for call, counts in line.get("counts", {}).items():
            made[call] = [sum(pair) for pair in zip(made[call], counts)]
        if "came" in line:
            runs[line["call"]].append(line)
    text = HEAD + "Commit %s, %s, Linux %s on %s. Places and calls are the sum of the settings; where a run struck nothing, "\
        "the call was not made in it: the order of events is not always the same.\n\n" % (
            commit(), datetime.date.today(), platform.release(), platform.machine())
    heads = ["the rest: all went on" if what == CAME[-1] else what for what in CAME]
    text += row("call", "places", "calls", "errors", "runs", "struck", *heads) + "|---" * (6 + len(CAME)) + "|\n"
    total = collections.Counter()
    for call in ["allocation", *sorted(set(runs) - {"allocation"})]:
        came = collections.Counter(run["came"] for run in runs[call])
        errors = sorted({run["error"] for run in runs[call]})
        assert set(came) <= set(CAME), came
        struck = sum(run["struck"] > 0 for run in runs[call])
        cells = [made[call][0], made[call][1], len(errors), len(runs[call]), struck, *(came[what] for what in CAME)]
        total.update(dict(enumerate(cells)))
        text += row("`%s`" % call if call != "allocation" else call, *cells)
    text += row("**all**", *(total[n] if n != 2 else "" for n in range(5 + len(CAME))))
    sure = sorted(call for call in set(made) & calls.SURE)
    assert set(sure) <= set(WHY_NOT) | {"readv", "restart_syscall"}, sure
    text += TAIL % "".join(row("`%s`" % call, WHY_NOT[call]) for call in sure if call in WHY_NOT)
    PAGE.write_text(text)


main()
