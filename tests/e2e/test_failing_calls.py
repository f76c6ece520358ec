"""
Every system call of the target fails in turn, once: it says so and ends, or goes on, and never crashes or hangs.

strace makes the N-th call of a name fail, in each thread; the run is that of failing.py.  What fails at the start is an
exit code of 1 and a line that says what; what fails later may cost one host its connection or some commands their
success, and nothing else.

Which N there are is taken from a run in which nothing fails, and from which places: what calls it, up to main().  Every
day some places are tried, WEIR_FAILING=places tries each, and one of each call with further errors; WEIR_FAILING=all
tries every single call, and each place with further errors.
"""
import collections
import concurrent.futures
import os
import re
import resource
import shutil
import subprocess

import pytest

import failing
import target as targets
from failing import AT_ONCE, SETTINGS

PER_CALL = 2

# What each may say, the likeliest first.
ERRORS = {
    "accept4": ("EMFILE", "ECONNABORTED", "ENOMEM", "EPERM"),
    "access": ("EACCES", "EIO"),
    "bind": ("EADDRINUSE", "EACCES"),
    "clone3": ("EAGAIN", "ENOMEM"),
    "connect": ("EOPNOTSUPP",),
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
    "getpeername": ("ENOTCONN", "ENOBUFS"),
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
    "poll": ("EINTR", "ENOMEM"),
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
SURE = {"arch_prctl", "brk", "clock_nanosleep", "close", "execve", "exit", "exit_group", "futex", "getpid",
        "prlimit64", "readv", "restart_syscall", "rseq", "rt_sigaction", "rt_sigprocmask", "set_robust_list",
        "set_tid_address"}
# To fail is how they say that a peer is gone, which needs no words; nor does a connection that is ended in another way
# where connect() does not undo it.
BY_PEERS = {"connect", "recvfrom", "recvmsg", "sendmsg", "sendto", "shutdown"}
# The C library ends a process that it cannot take the stack of an ended thread back from.
STACK = resource.getrlimit(resource.RLIMIT_STACK)[0] + resource.getpagesize()
SURE_LINE = re.compile(r"EPOLL_CTL_DEL|\bmunmap\(\w+, %d\b" % STACK)


def traced(library, *options):
    """What makes strace look at the program from its main() on."""
    words = ["-f", "--quiet=exit,path-resolution,personality,superseded,thread-execve", "-e", "signal=none", *options]
    return ["env", "LD_PRELOAD=" + library, "WEIR_STRACE=" + "\n".join(words)]


def try_one(library, folder, setting, open_files, call, error, n):
    """The n-th call of that name fails.  In another run that may be one that cannot."""
    folder = os.path.join(folder, "%s-%s-%s-%d" % (setting, call, error, n))
    trace = folder + ".trace"

    def tell(run, code, said):
        failing.record(folder, run, code, said, setting=setting, call=call, error=error, n=n, struck=struck(trace)[0])

    injection = traced(library, "-o", trace, "-e", "trace=%s" % call,
                       "-e", "inject=%s:error=%s:when=%d" % (call, error, n))
    wrong = failing.one_run(folder, setting, injection, open_files, tell=tell, by_peers=call in BY_PEERS)
    sure = struck(trace)[1]
    os.unlink(trace)
    return None if wrong and sure else wrong


def struck(path):
    """How many calls failed, and whether one of them cannot."""
    began, count, sure = {}, 0, False
    with open(path) as trace:
        for line in trace:
            thread = line.partition(" ")[0]
            began[thread] = began.get(thread, "") + line if "resumed>" in line else line
            if "(INJECTED)" in line:
                count, sure = count + 1, sure or SURE_LINE.search(began[thread]) is not None
    return count, sure


@pytest.fixture(scope="module")
def tracer(binary, tmp_path_factory):
    if not shutil.which("strace"):
        pytest.skip("needs strace")
    if targets.sanitized():
        pytest.skip("a sanitizer's own calls are not to fail")
    folder = tmp_path_factory.mktemp("traced")
    library = targets.preload("traced", folder)
    tried = subprocess.run([*traced(library, "-o", str(folder / "trace")), targets.WEIR, "--version"],
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if tried.returncode != 0:
        pytest.skip("strace may not trace here: %s" % tried.stderr.strip())
    return library


@pytest.fixture(scope="module")
def counted(tracer, tmp_path_factory):
    """setting: what a run has open at its end, and of each call the places and all numbers in some thread"""
    found = {}
    for setting in SETTINGS:
        folder = tmp_path_factory.mktemp(setting)
        open_files, _ = failing.clean_run(folder, setting, traced(tracer, "-k", "-o", str(folder / "trace")))
        with open(folder / "trace") as trace:
            found[setting] = open_files, count(trace)
        failing.record_counts(setting, {call: [len(places), len(numbers)]
                                        for call, (places, numbers) in found[setting][1].items()})
    return found


def count(lines):
    """
    Of each call: a number for each place that it is made from, and all numbers.  Those that cannot fail are left
    out, unless another thread's has the number, too.
    """
    seen, places, numbers = collections.defaultdict(collections.Counter), {}, collections.defaultdict(set)
    began = re.compile(r"(\d+) +(\w+)\(")
    call, n, stack = None, 0, []

    def note():
        if call:
            places.setdefault((call, tuple(stack)), n)
            numbers[call].add(n)
    for line in lines:
        match = began.match(line)
        if match:
            note()
            seen[match[1]][match[2]] += 1
            call, n, stack = None if SURE_LINE.search(line) else match[2], seen[match[1]][match[2]], []
        elif line.startswith(" >"):
            stack.append(re.sub(r" \[.*", "", line))
    note()
    return {name: (sorted({n for (of, _), n in places.items() if of == name}), sorted(of_name))
            for name, of_name in numbers.items()}


def chosen(call, places, numbers):
    """Which fail, and with which error."""
    some = failing.chosen(places, numbers, PER_CALL)
    first, *others = ERRORS[call]
    again = {"some": [], "places": failing.spread(places, 1), "all": places}[failing.HOW_MANY]
    return [(first, n) for n in some] + [(error, n) for error in others for n in again]


def turn(counted, call):
    """Every day a call fails in one setting of those that make it."""
    makers = [setting for setting in SETTINGS if call in counted[setting][1]]
    return makers[list(ERRORS).index(call) % len(makers)] if makers else None


@pytest.mark.parametrize("setting", SETTINGS)
def test_no_call_is_forgotten(counted, setting):
    """each that it makes is in the table above, or cannot fail"""
    assert sorted(set(counted[setting][1]) - SURE - set(ERRORS)) == []


@pytest.mark.parametrize("call", ERRORS)
@pytest.mark.parametrize("setting", SETTINGS)
def test_a_call_that_fails_once_is_survived_or_said(tracer, counted, tmp_path, setting, call):
    open_files, calls = counted[setting]
    if failing.HOW_MANY == "some" and setting != turn(counted, call):
        return
    runs = chosen(call, *calls.get(call, ([], [])))  # there may be none: this setting does without it
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        wrong = list(pool.map(lambda run: try_one(tracer, str(tmp_path), setting, open_files, call, *run), runs))
    wrong = ["%s, number %d, says %s: %s" % (call, n, error, what) for (error, n), what in zip(runs, wrong) if what]
    assert not wrong, "\n".join(wrong)


def test_who_cannot_make_its_threads_was_never_ready(tracer, binary):
    prefix = traced(tracer, "-o", "/dev/null", "-e", "trace=clone,clone3", "-e", "inject=clone,clone3:error=EAGAIN")
    with pytest.raises(AssertionError, match=r"the daemon ended \(1\); stderr:\nweir: cannot run: .*unavailable"):
        targets.Daemon("--reactors", "2", prefix=prefix)
