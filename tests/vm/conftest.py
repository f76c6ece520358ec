"""Fixtures: a booted guest, a target that it can reach, and a kernel that must not complain.

WEIR_BUILD: the build directory whose cmd/weir is tested.
WEIR_VM: where the guest is made and kept (default: vm in the build directory).
"""
import os
import re
import subprocess

import pytest

from guest import Guest
from target import Kernel, Live, Weir

HERE = os.path.dirname(os.path.realpath(__file__))

# What the kernel says when all is well, of what it says about NVMe and the file system at all.
SUBJECTS = re.compile(r"nvme|blk_|I/O|EXT4|JBD2|BUG|WARNING|Call Trace|hung|oops", re.IGNORECASE)
NORMAL = (
    r'nvme\d+: new ctrl: NQN "',
    r"nvme\d+: Removing ctrl: NQN \"",
    r"nvme\d+: Shutdown timeout set to \d+ seconds",
    r"nvme\d+: creating \d+ I/O queues",
    r"nvme\d+: mapped \d+/\d+/\d+ default/read/poll queues",
    r"EXT4-fs \(nvme0n1\): (mounted filesystem with ordered data mode|unmounting filesystem)",
    r"nvmet: (creating (nvm|discovery) controller|adding nsid)",
    r"nvmet_tcp: enabling port",
    # of lines that the test before was allowed: the count comes with the next one
    r"(nvme_log_error|blk_print_req_error): \d+ callbacks suppressed",
    r"IO command:\w\w has unusual effects:0010000[13]",  # the scope, which it does not know here
)


def pytest_addoption(parser):
    parser.addoption(
        "--against-kernel",
        action="store_true",
        help="connect to the kernel's own target in the guest: a test that fails there too is at fault itself",
    )


class Booted:
    """The guest: booted when it is first wanted, and again after it was lost."""

    def __init__(self, directory, logs):
        self.directory, self.logs = directory, logs
        self.boots = 0
        self.guest = None

    def take(self):
        if not (self.guest and self.guest.alive):
            self.boots += 1
            self.guest = Guest(self.directory, str(self.logs / f"console-{self.boots}"))
        return self.guest

    def stop(self):
        if self.guest:
            self.guest.stop()


@pytest.fixture(scope="session")
def build():
    directory = os.environ.get("WEIR_BUILD")
    if not directory:
        pytest.exit("WEIR_BUILD must name the build directory", 4)
    return directory


@pytest.fixture(scope="session")
def made(build):
    """The folder in which there is a guest to boot."""
    directory = os.environ.get("WEIR_VM", os.path.join(build, "vm"))
    made = subprocess.run([f"{HERE}/mkguest", directory], stderr=subprocess.PIPE, text=True)
    if made.returncode == 77:
        pytest.skip(made.stderr.strip())
    assert made.returncode == 0, made.stderr
    return directory


@pytest.fixture(scope="session")
def booted(made, tmp_path_factory):
    booted = Booted(made, tmp_path_factory.mktemp("guest"))
    yield booted
    booted.stop()


@pytest.fixture
def guest(booted):
    return booted.take()


class KernelLog:
    """What the guest's kernel has said since the test began."""

    def __init__(self, guest):
        self.guest = guest
        self.allowed = list(NORMAL)
        self.lines = []
        self.guest.run("dmesg -c >/dev/null")

    def allow(self, *patterns):
        self.allowed += patterns

    def read(self):
        """All of its lines so far about anything that matters here."""
        lines = self.guest.run("dmesg -c").splitlines()
        self.lines += [line for line in lines if SUBJECTS.search(line)]
        return self.lines

    def complaints(self):
        normal = re.compile("|".join(self.allowed))
        return [line for line in self.read() if not normal.search(line)]


@pytest.fixture
def kernel_log(guest):
    log = KernelLog(guest)
    yield log
    if guest.alive:
        complaints = log.complaints()
        print("the guest's kernel:", *log.lines, sep="\n")
        assert not complaints, "the kernel complained: " + "; ".join(complaints)  # one line: a tally shows the first


@pytest.fixture
def targets(guest, kernel_log):
    """The targets of this test, which are stopped after it, when the guest has let go of them."""
    started = []
    yield started
    try:
        if guest.alive:
            guest.run("disconnect_all", timeout=120)
    finally:
        for target in started:
            print("the target's log:", target.messages(), sep="\n")
            target.stop()


@pytest.fixture
def serve(guest, targets, build, tmp_path, request):
    """serve(VOLUME..., block_size=4096): a target that serves them."""

    def start(*volumes, block_size=4096):
        if not request.config.getoption("--against-kernel"):
            target = Weir(build, str(tmp_path / "weir.log"), volumes, block_size)
        elif all(v.startswith("mem:") for v in volumes):
            target = Kernel(guest, volumes, block_size)
        else:
            pytest.skip("the kernel's target is not killed and does not lie")
        targets.append(target)
        target.start()
        return target

    return start


@pytest.fixture
def live(targets, build, tmp_path, request):
    """live(CONF): a target that serves a configuration, and another one when it is told to."""
    if request.config.getoption("--against-kernel"):
        pytest.skip("the kernel's target is not configured by a file")

    def start(conf):
        target = Live(build, str(tmp_path), conf)
        targets.append(target)
        target.start()
        return target

    return start
