"""
target - the real daemon, started and stopped for a test.

Waits for what the daemon says, never for a time to pass; a stop is a SIGTERM
that must end in exit code 0 within a second; what the daemon wrote to stderr
is shown whenever something is wrong.
"""
import ctypes
import errno
import json
import os
import platform
import re
import resource
import select
import signal
import struct
import subprocess
import tempfile
import time

from nvmetcp import PATIENCE, Stopwatch, require

REPO = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("WEIR_BUILD", os.path.join(REPO, "build"))
FILES = os.environ.get("WEIR_FILES")  # how targets read and write files where a test says nothing of it
WEIR = os.path.join(BUILD, "cmd", "weir")
START_S = 60 * PATIENCE  # to start, or to end at all: a disk that stands still for half a minute is no defect
SOON_S = 10 * PATIENCE  # to answer, and until what is waited for is so
STOP_S = 1 * PATIENCE


def rss_kib(pid):
    with open("/proc/%s/status" % pid) as status:
        return int(re.search(r"VmRSS:\s+(\d+) kB", status.read()).group(1))


def sanitized():
    with open(WEIR, "rb") as binary:
        code = binary.read()
    return b"__asan_init" in code or b"__tsan_init" in code  # other names may stand there, of what may be linked


def preload(name, folder):
    """Compiles one of the libraries here, NAME.c, into the folder; its path is what LD_PRELOAD is to be."""
    source, library = os.path.join(os.path.dirname(os.path.abspath(__file__)), name + ".c"), "%s/%s.so" % (folder, name)
    subprocess.run(["cc", "-std=gnu17", "-D_GNU_SOURCE", "-shared", "-fPIC", "-o", library, source], check=True)
    return library


def hold(pid):
    """A child of ours stands still when this returns, until SIGCONT; SIGSTOP alone might still be on its way."""
    os.kill(pid, signal.SIGSTOP)
    os.waitid(os.P_PID, pid, os.WSTOPPED)


def until(what, condition, meanwhile=lambda: None, seconds=SOON_S):
    """Waits for a condition, and does something each time that it does not hold yet; never without end."""
    deadline = time.monotonic() + seconds
    while not condition():
        require(time.monotonic() < deadline, "%s: not in %g s", what, seconds)
        meanwhile()


class Daemon:
    """`weir serve` with the arguments given; ready, with a port, when made."""

    def __init__(self, *args, ns=("mem:64M",), listen=("127.0.0.1:0",), prefix=(), preexec=None,
                 env=None, binary=None, cwd=None, pass_fds=(), config=None):
        self.command = [*prefix, binary or WEIR, "serve", "--stats"]
        if config is not None:
            self.command += ["--config", config]
            listen = ns = ()
        for address in listen:
            self.command += ["--listen", address]
        for spec in ns:
            self.command += ["--ns", spec]
        if PATIENCE > 1 and "--stop-timeout" not in args:
            args += ("--stop-timeout", str(int(900 * PATIENCE)))
        if FILES and "--files" not in args:
            args += ("--files", FILES)
        self.command += args
        self.errors = tempfile.TemporaryFile()
        environment = dict(os.environ, **(env or {}))
        if self.command[0] == "strace":  # the sanitizer looks for leaks as a tracer, and there is room for one
            environment["ASAN_OPTIONS"] = environment.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
        self.process = subprocess.Popen(
            self.command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.errors,
            preexec_fn=preexec, env=environment, cwd=cwd, pass_fds=pass_fds)
        self.pid = self.process.pid
        self.buffered = b""
        self.addresses = []
        self.said = ""  # before it was ready
        self.stopped = False
        try:
            self._wait_ready()
        except BaseException:
            self.process.kill()
            self.process.wait()
            raise
        self.address = self.addresses[0]
        self.port = self.address[1]

    def __enter__(self):
        return self

    def __exit__(self, kind, *exc):
        if kind is not None:
            self.kill()
        elif not self.stopped:
            self.stop()

    # -- what it says --

    def stderr(self):
        # The target writes where this file's offset is, too: it must not be moved.
        fd = self.errors.fileno()
        return os.pread(fd, os.fstat(fd).st_size, 0).decode(errors="replace")

    def _line(self, deadline):
        while b"\n" not in self.buffered:
            left = deadline - time.monotonic()
            ready = left > 0 and select.select([self.process.stdout], [], [], left)[0]
            require(ready, "the daemon said nothing in time; stderr:\n%s", self.stderr())
            piece = os.read(self.process.stdout.fileno(), 65536)
            if not piece:
                self.process.wait(START_S)  # its output is closed a moment before it is gone
            require(piece, "the daemon ended (%s); stderr:\n%s", self.process.poll(), self.stderr())
            self.buffered += piece
        line, self.buffered = self.buffered.split(b"\n", 1)
        return line.decode()

    def _wait_ready(self):
        deadline = time.monotonic() + START_S
        while True:
            line = self._line(deadline)
            self.said += line + "\n"
            match = re.fullmatch(r"weir: listening on \[?([^]]+?)\]?:(\d+)", line)
            if match:
                self.addresses.append((match.group(1), int(match.group(2))))
            elif line == "weir: ready":
                break
        require(self.addresses, "ready, but nowhere listening")

    # -- what can be asked of it --

    def stats(self):
        """The counters now."""
        self.process.send_signal(signal.SIGUSR1)
        return json.loads(self._line(time.monotonic() + SOON_S))

    def until(self, what, condition, seconds=SOON_S):
        """Asks for the counters until the condition on them holds."""
        deadline = time.monotonic() + seconds
        while True:
            stats = self.stats()
            if condition(stats):
                return stats
            require(time.monotonic() < deadline, "%s: not reached, counters %s\nstderr:\n%s", what,
                    stats, self.stderr())

    def no_connections(self, seconds=SOON_S):
        return self.until("all connections gone", lambda s: s["connections"] == 0, seconds)

    def alive(self):
        return self.process.poll() is None

    def rss_kib(self):
        """Resident memory; 0 where a sanitizer's own memory would hide it."""
        if sanitized():
            return 0
        return rss_kib(self.pid)

    def open_files(self):
        return len(os.listdir("/proc/%d/fd" % self.pid))

    # -- its end --

    def stop(self, signum=signal.SIGTERM, status=0):
        """Ends it properly, or as the status says; returns the counters it printed last."""
        require(self.alive(), "the daemon died (%s); stderr:\n%s", self.process.poll(), self.stderr())
        with Stopwatch() as took:
            self.process.send_signal(signum)
            try:
                rest, _ = self.process.communicate(timeout=START_S)
            except subprocess.TimeoutExpired:
                self.kill()
                raise AssertionError("%s is ignored; stderr:\n%s" % (signal.Signals(signum).name, self.stderr()))
        self.stopped = True
        require(self.process.returncode == status, "exit code %s; stderr:\n%s", self.process.returncode,
                self.stderr())
        require(took.seconds <= STOP_S, "took %.2f s to end", took.seconds)
        lines = (self.buffered + rest).decode().strip().splitlines()
        require(lines, "--stats printed nothing at the end")
        return json.loads(lines[-1])

    def kill(self):
        """Ends it the hard way."""
        if self.alive():
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.stopped = True


def run(*args, timeout=60 * PATIENCE, stdin=subprocess.DEVNULL, **how):
    """Runs `weir` to its end."""
    return subprocess.run([WEIR, *map(str, args)], stdin=stdin, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=timeout, **how)


# ---- things to take away from a daemon, as its preexec ----

_PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS, _PR_SET_THP_DISABLE, _SECCOMP_MODE_FILTER = 22, 38, 41, 2
_RET_ALLOW, _RET_ERRNO = 0x7FFF0000, 0x00050000
_IO_URING_SETUP, _IO_URING_REGISTER = 425, 427  # the same number on every common machine
_MADVISE = 28 if platform.machine() == "x86_64" else 233  # all newer machines share a table


class _Program(ctypes.Structure):
    _fields_ = [("len", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


def _prctl(what, *args):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(what, *args, *[0] * (4 - len(args))) != 0:
        raise OSError(ctypes.get_errno(), "prctl %d" % what)


def _forbid(first, last, error):
    """The system calls of these numbers fail from here on."""
    code = b"".join(struct.pack("<HBBI", *row) for row in (
        (0x20, 0, 0, 0),                # load the system call's number
        (0x35, 0, 2, first),            # below: allow
        (0x25, 1, 0, last),             # above: allow
        (0x06, 0, 0, _RET_ERRNO | error),
        (0x06, 0, 0, _RET_ALLOW),
    ))
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    _prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(_Program(5, code)))


def forbid_io_uring():
    """As in many containers."""
    _forbid(_IO_URING_SETUP, _IO_URING_REGISTER, errno.EPERM)


def forbid_madvise():
    """As a kernel without huge pages answers to who asks for them; here it answers so to everything."""
    _forbid(_MADVISE, _MADVISE, errno.EINVAL)


def no_huge_pages():
    """No transparent ones, asked for or not."""
    _prctl(_PR_SET_THP_DISABLE, 1)


def no_locked_memory():
    resource.setrlimit(resource.RLIMIT_MEMLOCK, (0, 0))


def small_files(limit):
    """No file may grow beyond `limit` bytes."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
