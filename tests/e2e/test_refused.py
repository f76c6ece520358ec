"""A configuration that is refused leaves nothing behind: no file that was not there, none that is longer."""
import fcntl
import os
import resource
import socket
import struct
import time

import pytest

import target as targets
from test_live import active, conf, connect, live, namespace  # noqa: F401: `live` is a fixture

BLOCK = 4096
MIB = 1 << 20


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "v").mkdir()
    return str(tmp_path / "v")


def files(folder):
    return {name: os.path.getsize(os.path.join(folder, name)) // MIB for name in os.listdir(folder)}


def served(ctrl, nsid):
    return struct.unpack_from("<Q", ctrl.identified(0, nsid))[0]


def file(folder, name, kind="%s"):
    return kind % ("file:%s/%s" % (folder, name))


def grows(folder, second, *more, **how):
    """The second namespace becomes larger, the third is new; and what else is there."""
    return conf(namespace(1), namespace(2, second, "32M"), namespace(3, file(folder, "v3")), *more, **how)


def refused(target, text, why):
    done = target.apply(text)
    assert done.returncode == 1 and "nothing has changed" in done.stderr and why in done.stderr, done
    return done


def nothing_has_changed(target, ctrl, folder, second):
    """Not now, and not when the next configuration has the volume as large as it is."""
    assert files(folder) == {"v2": 16} and active(ctrl) == [1, 2] and served(ctrl, 2) == 16 * MIB // BLOCK
    target.applied(conf(namespace(1), namespace(2, second, "0").replace("        size: 0\n", "")))
    assert files(folder) == {"v2": 16} and served(ctrl, 2) == 16 * MIB // BLOCK


def then_it_grows(target, ctrl, folder, second):
    """And what was taken back can be done."""
    data = os.urandom(BLOCK)
    target.applied(grows(folder, second))
    assert files(folder) == {"v2": 32, "v3": 16} and active(ctrl) == [1, 2, 3]
    queue = ctrl.io_queue(2)
    for nsid, lba in ((2, 32 * MIB // BLOCK - 1), (3, 16 * MIB // BLOCK - 1)):
        assert queue.write(lba, data, nsid=nsid).ok and bytes(queue.read(lba, nsid=nsid).got) == data


@pytest.mark.parametrize("kind", ["%s", "volatile:@%s", "fault:delay=1@%s"])
def test_a_volume_that_cannot_be_opened(live, folder, kind):
    second = file(folder, "v2", kind)
    target = live(conf(namespace(1), namespace(2, second)))
    with connect(target) as ctrl:
        queue = ctrl.io_queue()
        data = os.urandom(BLOCK)
        last = 16 * MIB // BLOCK - 1
        assert queue.write(last, data, nsid=2).ok
        refused(target, grows(folder, second, namespace(4, "file:/nonexistent/v4")), "/nonexistent/v4")
        nothing_has_changed(target, ctrl, folder, second)
        assert bytes(queue.read(last, nsid=2).got) == data
        then_it_grows(target, ctrl, folder, second)


def test_an_address_that_another_one_has(live, folder):
    second = file(folder, "v2")
    target = live(conf(namespace(1), namespace(2, second)))
    with connect(target) as ctrl, socket.create_server(("127.0.0.1", 0)) as taken:
        text = grows(folder, second).replace(
            "subsystems:", "  - {name: b, address: \"127.0.0.1:%d\"}\nsubsystems:" % taken.getsockname()[1])
        refused(target, text, "cannot listen")
        nothing_has_changed(target, ctrl, folder, second)
        then_it_grows(target, ctrl, folder, second)


def test_a_file_that_another_process_has(live, folder):
    """at once: nobody's I/O waits whether it is given up"""
    second = file(folder, "v2")
    target = live(conf(namespace(1), namespace(2, second)))
    with connect(target) as ctrl, open(os.path.join(folder, "v4"), "wb") as taken:
        taken.truncate(16 * MIB)
        fcntl.flock(taken, fcntl.LOCK_EX)
        began = time.monotonic()
        refused(target, grows(folder, second, namespace(4, file(folder, "v4"))), "in use")
        assert time.monotonic() - began < 0.9  # a start looks for a second
        os.unlink(taken.name)
        nothing_has_changed(target, ctrl, folder, second)


def room_for(pid, more):
    """So many descriptors more may be opened."""
    there = {int(fd) for fd in os.listdir("/proc/%d/fd" % pid)}
    limit = 0
    while more > 0 or limit <= max(there):
        more -= limit not in there
        limit += 1
    return limit


def test_a_volume_that_finds_no_descriptor(live, folder):
    """when another one is open already"""
    second = file(folder, "v2")
    target = live(conf(namespace(1), namespace(2, second)))
    with connect(target) as ctrl:
        text = grows(folder, second, namespace(4, file(folder, "v4")), listeners=("a", "b"))
        pid = target.daemon.process.pid
        before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (room_for(pid, 3), before[1]))  # one is the question's
        refused(target, text, "Too many open files")
        resource.prlimit(pid, resource.RLIMIT_NOFILE, before)
        nothing_has_changed(target, ctrl, folder, second)
        then_it_grows(target, ctrl, folder, second)


def test_a_file_that_cannot_be_so_long(folder, tmp_path, serve):
    """it was made, and goes; what grew before it is as it was"""
    second = file(folder, "v2")
    text = conf(namespace(1), namespace(2, second))
    path = tmp_path / "small.yaml"
    path.write_text(text)
    control = str(tmp_path / "small")
    daemon = serve("--control", control, config=str(path), preexec=targets.small_files(40 * MIB))
    longer = tmp_path / "longer.yaml"
    longer.write_text(grows(folder, second, namespace(4, file(folder, "v4"), "64M")))
    done = targets.run("apply", "--control", control, str(longer))
    assert done.returncode == 1 and "File too large" in done.stderr, done
    assert files(folder) == {"v2": 16}
    assert daemon.alive()


def test_a_file_behind_a_link(folder, tmp_path, serve):
    """what was made goes, wherever it lies, and the link that led there stays"""
    elsewhere, path, control = tmp_path / "elsewhere", tmp_path / "weir.yaml", str(tmp_path / "control")
    elsewhere.mkdir()
    os.symlink("../elsewhere/v3", os.path.join(folder, "v3"))
    path.write_text(conf(namespace(1)))
    daemon = serve("--control", control, config=str(path), preexec=targets.small_files(40 * MIB))
    for size in "64M", "16M":  # what cannot be made so long, and what another one is in the way of
        path.write_text(conf(namespace(1), namespace(2, file(folder, "v3"), size), namespace(3, "file:/nonexistent/v")))
        done = targets.run("apply", "--control", control, str(path))
        assert done.returncode == 1 and ("File too large" if size == "64M" else "/nonexistent/v") in done.stderr, done
        assert os.path.islink(os.path.join(folder, "v3")) and os.listdir(elsewhere) == []
    assert daemon.alive()


def test_a_start_that_fails(folder, tmp_path):
    """leaves a file as long as it was, and none that was not there"""
    first, second = file(folder, "v1"), file(folder, "v2")
    with open(os.path.join(folder, "v2"), "wb") as made:
        made.truncate(16 * MIB)
    path = tmp_path / "taken.yaml"
    with socket.create_server(("127.0.0.1", 0)) as taken:
        path.write_text(conf(namespace(1, first), namespace(2, second, "32M")).replace(
            "127.0.0.1:0", "127.0.0.1:%d" % taken.getsockname()[1]))
        done = targets.run("serve", "--control", str(tmp_path / "control"), "--config", str(path))
    assert done.returncode == 1 and "cannot listen" in done.stderr, done
    assert files(folder) == {"v2": 16}
