"""A folder on a disk of which a test knows what is asked (disk.c), and who answers, or does not."""
import os

import pytest

import target as targets
from nvmetcp import PATIENCE, Stopwatch
from test_live import namespace

ALL = "access stat64 unlink open64 tries"


def ends_in_time(target):
    """though a disk does not answer, which its status says"""
    with Stopwatch() as took:
        target.daemon.process.terminate()
        assert target.daemon.process.wait(10 * PATIENCE) == 3
    target.daemon.stopped = True
    assert took.seconds < 2 * targets.STOP_S


class Disk:
    def __init__(self, tmp_path):
        self.folder, self.asked, self.fifo = (str(tmp_path / name) for name in ("disk", "asked", "fifo"))
        os.mkdir(self.folder)
        self.library = targets.preload("disk", tmp_path)
        self.env = self.hangs(ALL)

    def hangs(self, calls):
        """The environment of a target for which these do not return while the disk hangs."""
        return {"LD_PRELOAD": self.library, "WEIR_DISK": self.folder, "WEIR_DISK_ASKED": self.asked,
                "WEIR_DISK_FIFO": self.fifo, "WEIR_DISK_HANGS": calls}

    # -- whether it answers --

    def hang(self):
        os.mkfifo(self.fifo)

    def answer(self):
        """from now on, and whoever waits: until what this answers is closed"""
        fd = os.open(self.fifo, os.O_RDWR)
        os.unlink(self.fifo)
        return fd

    def waits(self, meanwhile=lambda: None):
        """until somebody waits for it"""
        targets.until("the question", lambda: os.path.exists(self.fifo + ".waits"), meanwhile)

    # -- what the first reactor has asked of it --

    def watch(self):
        open(self.asked, "w").close()

    def by_reactor(self):
        with open(self.asked) as f:
            return f.read().splitlines()

    # -- what lies there --

    def files(self):
        return sorted(os.listdir(self.folder))

    def opened(self, target):
        """paths of its descriptors"""
        fds, links = "/proc/%d/fd" % target.daemon.process.pid, []
        for fd in os.listdir(fds):
            try:
                links.append(os.readlink("%s/%s" % (fds, fd)))
            except OSError:
                pass  # closed meanwhile
        return [link for link in links if link.startswith(self.folder)]

    def closed(self, target, but=0):
        """files, by whatever descriptors"""
        targets.until("the end of what is open", lambda: len(set(self.opened(target))) == but)

    def volumes(self, *numbers, size="16M"):
        return [namespace(n, "file:%s/%d" % (self.folder, n), size) for n in numbers]


@pytest.fixture
def disk(tmp_path):
    if targets.sanitized():
        pytest.skip("a sanitizer is preloaded itself")
    disk = Disk(tmp_path)
    yield disk
    if os.path.exists(disk.fifo):
        os.close(disk.answer())
