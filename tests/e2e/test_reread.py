"""SIGHUP, where the disk that has the configuration does not answer: only that change waits."""
import os
import signal

import pytest

import target as targets
from disk import disk, ends_in_time  # noqa: F401: `disk` is a fixture
from nvmetcp import PATIENCE
from test_hung_disks import beside, longest_read
from test_live import Live, active, conf, connect, namespace


@pytest.fixture
def hung(serve, disk, tmp_path):
    """a target whose configuration lies where nothing is answered"""
    path, control = disk.folder + "/weir.yaml", str(tmp_path / "control")
    with open(path, "w") as f:
        f.write(conf(namespace(1)))
    target = Live(serve("--control", control, config=path, env=disk.env), path, control)
    disk.hang()
    return target


def hup(target):
    target.daemon.process.send_signal(signal.SIGHUP)


def test_it_holds_up_nobody_and_is_read_when_the_disk_answers(hung, disk, tmp_path):
    other = tmp_path / "other"
    other.write_text(conf(namespace(1), namespace(3)))
    with open(hung.path, "w") as f:
        f.write(conf(namespace(1), namespace(2)))
    with connect(hung) as ctrl:
        queue = ctrl.io_queue(1)

        def served_until(words):
            thread, _ = beside(lambda: targets.until(words, lambda: words in hung.daemon.stderr()))
            assert longest_read(queue, thread) < 0.5 * PATIENCE and words in hung.daemon.stderr()

        hup(hung)
        targets.until("the question", lambda: os.path.exists(disk.fifo + ".waits"), lambda: ctrl.keep_alive())
        done = targets.run("apply", "--control", hung.control, other)
        assert done.returncode == 1 and "another configuration is being applied" in done.stderr
        served_until("the disk has not answered for 5 seconds\n")
        hup(hung)
        served_until("read again when what is being read is done\n")
        assert targets.run("apply", "--control", hung.control, other).returncode == 0
        assert active(ctrl) == [1, 3]
        os.close(disk.answer())
        served_until("+ namespace 2 ")
        assert active(ctrl) == [1, 2]


def test_a_target_ends_in_time_meanwhile(hung, disk):
    hup(hung)
    targets.until("the question", lambda: os.path.exists(disk.fifo + ".waits"))
    ends_in_time(hung)
    assert hung.daemon.stderr().endswith("weir: a disk did not answer in time; leaving it\n")
