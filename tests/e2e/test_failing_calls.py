"""
Every system call of the target fails in turn, once: it says so and ends, or goes on, and never crashes or hangs.

strace makes the N-th call of a name fail, in each thread.  A run is: start, two hosts that use a RAM volume and a
file, a third one afterwards, which makes a namespace of a file, marks a block bad, reserves, and reads the events; the
operator applies another configuration, and has the file read again; the end; the events of all that are kept
meanwhile.  What fails at the start is an exit code of 1 and a line that says
what; what fails later may cost one host its connection or some commands their success, and nothing else.

Which N there are is taken from a run in which nothing fails.  Every day a few of each are tried (`PER_CALL`);
WEIR_FAILING=all tries all of them, with more than one error.
"""
import collections
import concurrent.futures
import os
import re
import resource
import shutil
import signal
import struct
import subprocess
import time

import pytest

import events
import namespaces
import nvme
import target as targets
from nvmetcp import PATIENCE, Closed
from test_live import conf, namespace

BLOCK = 4096
MIB = 1 << 20
ALL = os.environ.get("WEIR_FAILING") == "all"
PER_CALL = None if ALL else 4
AT_ONCE = 3  # runs side by side: they mostly wait
FAILED_MAX = 34  # commands: a call fails in each thread once, of which 32 serve files; others may need what failed

# What each may say, the likeliest first.
ERRORS = {
    "accept4": ("EMFILE", "ECONNABORTED", "ENOMEM", "EPERM"),
    "access": ("EACCES", "EIO"),
    "bind": ("EADDRINUSE", "EACCES"),
    "clone3": ("EAGAIN", "ENOMEM"),
    "epoll_create1": ("EMFILE",),
    "epoll_ctl": ("ENOSPC", "ENOMEM"),
    "epoll_wait": ("EINTR",),
    "eventfd2": ("EMFILE",),
    "fallocate": ("EIO", "EOPNOTSUPP", "ENOSPC"),
    "fchmod": ("EPERM",),
    "fcntl": ("EINVAL",),
    "fdatasync": ("EIO", "ENOSPC"),
    "flock": ("ENOLCK", "EAGAIN", "EINTR"),
    "fsync": ("EIO", "EINVAL"),
    "ftruncate": ("ENOSPC", "EFBIG", "EINVAL"),
    "getdents64": ("EIO", "ENOENT"),
    "getrandom": ("ENOSYS", "EINTR"),
    "getsockname": ("ENOBUFS",),
    "io_uring_enter": ("EAGAIN", "EINTR", "ENOMEM", "EBUSY"),
    "io_uring_register": ("EINVAL", "ENOMEM"),
    "io_uring_setup": ("ENOMEM", "EPERM", "EMFILE"),
    "listen": ("EADDRINUSE",),
    "lseek": ("EINVAL",),
    "madvise": ("EINVAL", "ENOMEM"),
    "mkdir": ("EACCES", "ENOSPC"),
    "mmap": ("ENOMEM",),
    "mprotect": ("ENOMEM",),
    "munmap": ("ENOMEM",),
    "newfstatat": ("EIO", "EACCES"),
    "openat": ("EMFILE", "EACCES"),
    "pread64": ("EIO",),
    "preadv": ("EIO", "EINTR", "EAGAIN"),
    "preadv2": ("EOPNOTSUPP", "EIO"),
    "pwritev2": ("EIO", "ENOSPC", "EINTR"),
    "read": ("EINTR", "EIO"),
    "readlink": ("EIO", "EACCES"),
    "recvfrom": ("ECONNRESET", "ETIMEDOUT", "EINTR"),
    "recvmsg": ("ECONNRESET", "EINTR"),
    "renameat": ("EIO", "ENOSPC"),
    "sched_getaffinity": ("EINVAL",),
    "sendmsg": ("ECONNRESET", "ENOBUFS", "EINTR"),
    "sendto": ("EPIPE", "ENOBUFS", "EINTR"),
    "setsockopt": ("ENOPROTOOPT", "ENOMEM"),
    "shutdown": ("ENOTCONN",),
    "signalfd4": ("EMFILE",),
    "socket": ("EMFILE", "EAFNOSUPPORT"),
    "statx": ("ENOSYS", "EIO"),
    "unlink": ("EIO", "EACCES"),
    "unlinkat": ("EIO", "EACCES"),
    "write": ("ENOSPC", "EINTR"),
}
# Those that cannot fail, or only where they are passed nonsense; brk() says no errno, close() always closes.  Nor
# does it fail that a descriptor is taken from an epoll.
SURE = {"arch_prctl", "brk", "clock_nanosleep", "close", "execve", "exit", "exit_group", "futex", "getpid", "prlimit64",
        "restart_syscall", "rseq", "rt_sigaction", "rt_sigprocmask", "set_robust_list", "set_tid_address"}
# The C library ends a process that it cannot take the stack of an ended thread back from.
STACK = resource.getrlimit(resource.RLIMIT_STACK)[0] + resource.getpagesize()
SURE_LINE = re.compile(r"EPOLL_CTL_DEL|\bmunmap\(\w+, %d\b" % STACK)
ENGINES = {
    "uring": ("--files", "uring", "--sockets", "uring"),
    "threads": ("--files", "threads", "--sockets", "calls"),
}


class Host:
    """Writes and reads; its connection may break, and commands may fail."""

    def __init__(self, address):
        self.address, self.ctrl, self.queue = address, None, None
        self.broken, self.failed = False, 0

    def step(self, perform):
        try:
            return None if self.broken else perform()
        except (Closed, OSError) as error:
            assert not isinstance(error, TimeoutError), "it hangs"
            self.broken = True
            return None

    def connect(self):
        def perform():
            self.ctrl = nvme.Controller(self.address)
            self.queue, connect = self.ctrl.try_io_queue()
            self.broken = not connect.ok  # as it is once its admin queue is gone
        self.step(perform)

    def io(self, base):
        for nsid in (1, 2):
            for data in (os.urandom(BLOCK), os.urandom(16 * BLOCK)):
                self.step(lambda: self.round(base, nsid, data))

    def round(self, base, nsid, data):
        queue, blocks = self.queue, len(data) // BLOCK
        made = [queue.write(base, data, nsid=nsid), queue.write(base + 32, data, nsid=nsid, fua=True),
                queue.flush(nsid)]
        if all(request.ok for request in made):
            found = queue.read(base, blocks, nsid=nsid)
            made.append(found)
            assert not found.ok or bytes(found.got) == data, "it reads what was not written"
        made += [queue.deallocate([(base, 2)], nsid=nsid), queue.write_zeroes(base + 8, 2, nsid=nsid)]
        zeros = queue.read(base + 8, 2, nsid=nsid)
        assert not (made[-1].ok and zeros.ok) or not any(zeros.got), "zeroes that are none"
        self.failed += sum(not request.ok for request in made + [zeros])

    def manage(self):
        """What hosts may do besides reading and writing; what is built on something that failed is left out."""
        for perform in (self.own_namespace, self.bad_block, self.reservation, self.events):
            self.step(lambda: self.note(perform()))

    def note(self, made):
        self.failed += sum(not request.ok for request in made)

    def own_namespace(self):
        made = [namespaces.create(self.ctrl, 256)]
        nsid = made[0].dw0
        if not made[0].ok:
            return made
        made.append(namespaces.attach(self.ctrl, nsid))
        if made[-1].ok:
            data = os.urandom(BLOCK)
            made += [self.queue.write(3, data, nsid=nsid), self.queue.read(3, nsid=nsid)]
            assert not all(request.ok for request in made) or bytes(made[-1].got) == data
            made += [namespaces.protect(self.ctrl, nsid, state) for state in (namespaces.PROTECT, namespaces.NONE)]
        if made[-1].ok:
            made.append(namespaces.delete(self.ctrl, nsid))
        return made

    def bad_block(self):
        marked = self.queue.call(nvme.sqe(0x04, nsid=2, cdw10=600))
        read = self.queue.read(600, nsid=2)
        assert not marked.ok or not read.ok, "what was made unreadable is read"
        return [marked, self.queue.write(600, bytes(BLOCK), nsid=2), self.queue.read(600, nsid=2)]

    def reservation(self):
        keys = struct.pack("<QQ", 7, 7)
        made = [self.queue.call(nvme.sqe(0x0D, nsid=2, cdw10=3 << 30), struct.pack("<QQ", 0, 7))]
        if made[0].ok:  # acquired, released, and nobody is registered any more
            made += [self.queue.call(nvme.sqe(0x11, nsid=2, cdw10=1 << 8), keys),
                     self.queue.call(nvme.sqe(0x15, nsid=2, cdw10=1 << 8), keys[:8])]
            made.append(self.queue.call(nvme.sqe(0x0D, nsid=2, cdw10=1 | 2 << 30), struct.pack("<QQ", 7, 0)))
        return made

    def events(self):
        made = [events.establish(self.ctrl)]
        if made[0].ok:
            assert events.rest(self.ctrl, made[0].got).count > 0
            made.append(events.release(self.ctrl))
        return made

    def close(self):
        if self.ctrl:
            self.ctrl.close()


def configuration(folder, *more):
    return namespaces.hosted(
        namespace(1), namespace(2, "file:%s/v.img" % folder), *more, nqn=nvme.SUBNQN, size="64M",
        volume="file:%s" % folder, top="state_dir: %s/state\n" % folder)


def write(path, text):
    with open(path, "w") as f:
        f.write(text)


def files(folder):
    """Of the operator's namespaces, with their sizes."""
    return {name: os.path.getsize(os.path.join(folder, name)) // MIB for name in ("v.img", "w.img")
            if os.path.exists(os.path.join(folder, name))}


def operate(daemon, folder):
    """One more namespace, and back; what fails is said.  How much failed."""
    path = os.path.join(folder, "weir.yaml")
    more = [namespace(5, "file:%s/w.img" % folder)]
    write(path + ".more", configuration(folder, *more))
    before = files(folder)
    done = targets.run("apply", "--control", os.path.join(folder, "control"), path + ".more")
    assert done.returncode == 0 or done.stderr.strip(), "it fails and does not say why"
    made = files(folder)
    if "in use already" in done.stderr:  # who has locked it since it was made is not robbed of it
        before["w.img"] = 0
    assert made == before or made == {**before, "w.img": 16}, "files %s became %s" % (before, made)
    said = len(daemon.stderr())
    daemon.process.send_signal(signal.SIGHUP)
    until = time.monotonic() + 2 * PATIENCE
    while not re.search(r"applied|nothing has changed", daemon.stderr()[said:]) and time.monotonic() < until:
        try:
            daemon.process.wait(0.005)
            break
        except subprocess.TimeoutExpired:
            pass
    else:
        # What it says may be what cannot be written.  Asked only now: calls are counted.
        if time.monotonic() >= until:
            left = targets.run("diff", "--control", os.path.join(folder, "control"), path)
            assert left.returncode == 0, "SIGHUP is not heeded; stderr:\n%s" % daemon.stderr()
    assert files(folder) == made, "files %s became %s" % (made, files(folder))
    return int(done.returncode != 0) + ("not applied" in daemon.stderr()[said:])


def clean_run(daemon, folder):
    """Two hosts side by side, one that follows, and the operator; how many lost connections, and commands that failed."""
    hosts = [Host(daemon.address) for _ in range(2)]
    try:
        for host in hosts:
            host.connect()
        for n in range(2):
            for i, host in enumerate(hosts):
                host.io(64 * (2 * n + i))
    finally:
        for host in hosts:
            host.close()
    last = Host(daemon.address)
    last.connect()
    last.io(512)
    last.manage()
    last.close()
    failed = operate(daemon, folder)
    return sum(host.broken for host in hosts + [last]), failed + sum(host.failed for host in hosts + [last])


def strace(*options):
    return ["strace", "-D", "-f", "-qqq", "-e", "signal=none", *options]


def start(folder, engine, prefix):
    folder = str(folder)
    write(os.path.join(folder, "weir.yaml"), configuration(folder))
    return targets.Daemon(*ENGINES[engine], "--control", os.path.join(folder, "control"), prefix=prefix,
                          config=os.path.join(folder, "weir.yaml"))


def end(daemon):
    """By SIGTERM; what it ended with."""
    if daemon.alive():
        daemon.process.terminate()
    try:
        daemon.process.communicate(timeout=10 * PATIENCE)
    except subprocess.TimeoutExpired:
        raise AssertionError("SIGTERM does not end it; stderr:\n%s" % daemon.stderr())
    daemon.stopped = True
    return daemon.process.returncode


def one_run(folder, engine, injection, codes="1", refused=None):
    """
    One run in which something fails; what is wrong about it, or None.  It may end with one of `codes` before it
    serves, and say why; or fail as the pattern `refused` has it.
    """
    os.mkdir(folder)
    daemon = None
    try:
        daemon = start(folder, engine, injection)
        broken, failed = clean_run(daemon, folder)
        code = end(daemon)
        # The connection that is struck; where it is the listener's or all sockets' call, none.
        # After a durable write has failed nothing of its volume can be flushed, and that is said.
        lost = "may be lost" in daemon.stderr()
        if broken > 1 or (failed > FAILED_MAX and not lost):
            return "%d hosts lost their connection, %d commands failed, it ended with %d; stderr:\n%s" % (
                broken, failed, code, daemon.stderr())
        if code != 0:
            return "it ended with %d after it had served; stderr:\n%s" % (code, daemon.stderr())
    except AssertionError as wrong:
        said = re.search(r"the daemon ended \((-?\w+)\); stderr:\n(.*)", str(wrong), re.S)
        ended = daemon is None and said and said[1] in codes and re.match(r"weir: .*\S", said[2])
        if not ended and not (daemon and refused and re.match(refused, str(wrong)) and end(daemon) == 0):
            return str(wrong)
    finally:
        if daemon is not None:
            daemon.kill()
        shutil.rmtree(folder)
    return None


def try_one(folder, engine, call, error, n):
    """The n-th call of that name fails.  In another run that may be one that cannot."""
    folder = os.path.join(folder, "%s-%s-%s-%d" % (engine, call, error, n))
    injection = strace("-o", folder + ".trace", "-e", "trace=%s" % call,
                       "-e", "inject=%s:error=%s:when=%d" % (call, error, n))
    wrong = one_run(folder, engine, injection)
    return None if wrong and struck_a_sure_one(folder + ".trace") else wrong


def struck_a_sure_one(path):
    began = {}
    with open(path) as trace:
        for line in trace:
            thread = line.partition(" ")[0]
            began[thread] = began.get(thread, "") + line if "resumed>" in line else line
            if "(INJECTED)" in line and SURE_LINE.search(began[thread]):
                return True
    return False


@pytest.fixture(scope="module")
def tracing():
    if not shutil.which("strace"):
        pytest.skip("needs strace")
    if targets.sanitized():
        pytest.skip("a sanitizer's own calls are not to fail")
    tried = subprocess.run(strace("-o", "/dev/null", "true"), stderr=subprocess.PIPE, text=True)
    if tried.returncode != 0:
        pytest.skip("strace may not trace here: %s" % tried.stderr.strip())


@pytest.fixture(scope="module")
def counted(tracing, tmp_path_factory):
    """engine: call: the numbers, among all calls of that name in a thread, of those after the loader's"""
    calls = {}
    for engine in ENGINES:
        folder = tmp_path_factory.mktemp(engine)
        daemon = start(folder, engine, strace("-o", str(folder / "trace")))
        assert clean_run(daemon, str(folder)) == (0, 0)
        assert end(daemon) == 0
        calls[engine] = count(open(folder / "trace"))
    return calls


def count(lines):
    """What fails has a number, in every thread: one that the loader has is of no use, whoever else has it."""
    seen, ours, sure = (collections.defaultdict(of) for of in (collections.Counter, set, set))
    loaded = False
    for line in lines:
        match = re.match(r"(\d+) +(\w+)\((.*)", line)
        if not match:
            continue
        thread, call = match[1], match[2]
        seen[thread][call] += 1
        loaded = loaded or call == "prlimit64"  # the loader's last call but one
        (ours if loaded and not SURE_LINE.search(line) else sure)[call].add(seen[thread][call])
    return {call: sorted(numbers - sure[call]) for call, numbers in ours.items()}


def chosen(numbers):
    """All, or a few from the first to the last."""
    if PER_CALL is None or len(numbers) <= PER_CALL:
        return numbers
    return sorted({numbers[i * (len(numbers) - 1) // (PER_CALL - 1)] for i in range(PER_CALL)})


@pytest.mark.parametrize("engine", ENGINES)
def test_no_call_is_forgotten(counted, engine):
    """each that it makes is in the table above, or cannot fail"""
    assert sorted(set(counted[engine]) - SURE - set(ERRORS)) == []


@pytest.mark.parametrize("call", ERRORS)
@pytest.mark.parametrize("engine", ENGINES)
def test_a_call_that_fails_once_is_survived_or_said(counted, binary, tmp_path, engine, call):
    numbers = chosen(counted[engine].get(call, []))
    if not numbers:
        return  # this engine does without it
    errors = ERRORS[call] if ALL else ERRORS[call][:1]
    runs = [(error, n) for error in errors for n in numbers]
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        wrong = list(pool.map(lambda run: try_one(str(tmp_path), engine, call, *run), runs))
    wrong = ["%s, number %d, says %s: %s" % (call, n, error, what) for (error, n), what in zip(runs, wrong) if what]
    assert not wrong, "\n".join(wrong)


def test_who_cannot_make_its_threads_was_never_ready(tracing, binary):
    prefix = strace("-o", "/dev/null", "-e", "trace=clone,clone3", "-e", "inject=clone,clone3:error=EAGAIN")
    with pytest.raises(AssertionError, match=r"the daemon ended \(1\); stderr:\nweir: cannot run: .*unavailable"):
        targets.Daemon("--reactors", "2", prefix=prefix)
