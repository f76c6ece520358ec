"""What an apply takes a disk's time for is done beside the hosts' I/O, and taken back there."""
import os
import shutil
import socket
import subprocess
import threading
import time
import uuid

import pytest

import target as targets
from disk import disk  # noqa: F401: a fixture
from namespaces import created, delete, hosted
from nvmetcp import PATIENCE
from test_live import active, conf, connect, live, namespace  # noqa: F401: `live` is a fixture

FILES = 4
SLOW_FILES = 2  # where each takes several times
SLOW_S = 0.4 * PATIENCE  # for each fsync()


@pytest.fixture
def slow(live, tmp_path):
    if not shutil.which("strace"):
        pytest.skip("needs strace")
    if subprocess.run(["strace", "-f", "-o", tmp_path / "tried", "true"], stderr=subprocess.PIPE).returncode != 0:
        pytest.skip("strace may not trace here")
    return lambda text, seconds=SLOW_S: live(text, prefix=[
        "strace", "-D", "-f", "-qqq", "-o", "/dev/null", "-e", "signal=none", "-e", "trace=fsync", "-e",
        "inject=fsync:delay_enter=%d" % (seconds * 1e6)])


def listens(target):
    try:
        socket.create_connection(target.address()).close()
    except OSError:
        return False
    return True


def longest_read_during(queue, act):
    """While another thread does something."""
    longest = 0
    actor = threading.Thread(target=act, daemon=True)
    actor.start()
    while actor.is_alive():
        began = time.monotonic()
        assert queue.read(0).ok
        longest = max(longest, time.monotonic() - began)
    actor.join()
    return longest


@pytest.mark.parametrize("refused", [False, True])
def test_hosts_are_served_while_files_are_made_and_made_longer(slow, tmp_path, refused):
    """and removed, and made as short as they were, where the rest is refused"""
    folder = tmp_path / "v"
    folder.mkdir()

    def text(size, *more):
        files = [namespace(n, "file:%s/%d" % (folder, n), size) for n in range(2, SLOW_FILES + 2)]
        return conf(namespace(1), *files, *more)

    target, done = slow(conf(namespace(1))), []
    bad = [namespace(100, "file:%s/none/v" % folder)] if refused else []
    with connect(target) as ctrl:
        queue, began = ctrl.io_queue(), time.monotonic()
        for size in ("16M", "32M"):
            assert longest_read_during(queue, lambda: done.append(target.apply(text(size, *bad)))) < SLOW_S
            assert (done[-1].returncode != 0) == refused and ("none/v" in done[-1].stderr) == refused, done[-1]
            assert sorted(os.listdir(folder)) == ([] if refused else [str(n) for n in range(2, SLOW_FILES + 2)])
            assert all(os.path.getsize(folder / name) >> 20 == int(size[:-1]) for name in os.listdir(folder))
            assert active(ctrl) == [1] + ([] if refused else list(range(2, SLOW_FILES + 2)))
        assert time.monotonic() - began > 2 * SLOW_FILES * SLOW_S, "nothing was synced"


def test_hosts_are_served_while_events_of_subsystems_get_their_files(slow, tmp_path):
    """which are removed where the rest is refused, before the target is asked or after"""
    top, events = "state_dir: %s/state\n" % tmp_path, "%s/state/events" % tmp_path
    text = conf(namespace(1), top=top)
    more = text + "".join("  - {nqn: nqn.2026-11.example:s%d}\n" % n for n in range(SLOW_FILES))
    target, done = slow(text), []
    with socket.create_server(("127.0.0.1", 0)) as taken, connect(target) as ctrl:
        queue = ctrl.io_queue()
        bad = more + "  - {nqn: nqn.2026-11.example:z, namespaces: [{nsid: 1, volume: \"file:/none/v\", size: 1M}]}\n"
        listener = "subsystems:", "  - {name: b, address: \"127.0.0.1:%d\"}\nsubsystems:" % taken.getsockname()[1]
        for refused in (bad, more.replace(*listener)):
            assert longest_read_during(queue, lambda: done.append(target.apply(refused))) < SLOW_S
            assert done[-1].returncode == 1 and len(os.listdir(events)) == 1, (done[-1], os.listdir(events))
        began = time.monotonic()
        assert longest_read_during(queue, lambda: done.append(target.apply(more))) < SLOW_S
        assert time.monotonic() - began > 2 * SLOW_FILES * SLOW_S, "nothing was synced"
        assert done[-1].returncode == 0 and len(os.listdir(events)) == 1 + SLOW_FILES


def test_files_of_an_apply_that_is_refused_are_as_short_as_they_were(slow, tmp_path):
    with open(tmp_path / "v", "wb") as f:
        f.truncate(16 << 20)
    target, done = slow(conf(namespace(1), namespace(2, "file:%s/v" % tmp_path))), []
    longer = conf(namespace(1), namespace(2, "file:%s/v" % tmp_path, "32M"), namespace(3, "file:/nowhere/at/all"))
    with connect(target) as ctrl:
        assert longest_read_during(ctrl.io_queue(), lambda: done.append(target.apply(longer))) < SLOW_S
        assert done[0].returncode == 1 and os.path.getsize(tmp_path / "v") == 16 << 20
        target.applied(conf(namespace(1), namespace(2, "file:%s/v" % tmp_path, "32M")))
        assert os.path.getsize(tmp_path / "v") == 32 << 20


def test_a_target_that_ends_while_files_are_made_leaves_none(slow, tmp_path):
    """what was made of the apply goes, and who asked for it is told"""
    folder = tmp_path / "v"
    folder.mkdir()
    target, done = slow(conf(namespace(1)), seconds=0.02), []
    text = conf(namespace(1), *[namespace(n, "file:%s/%d" % (folder, n)) for n in range(2, FILES + 2)])
    asker = threading.Thread(target=lambda: done.append(target.apply(text)), daemon=True)
    asker.start()
    targets.until("the second file", lambda: len(os.listdir(folder)) >= 2)
    target.daemon.stop()
    assert os.listdir(folder) == []
    asker.join(PATIENCE)
    assert done[0].returncode == 1
    assert done[0].stderr == "weir: not applied, and nothing has changed: the target is stopping\n"


@pytest.mark.parametrize("logs", range(2, FILES + 2))
def test_who_asks_is_told_what_became_of_it_when_the_target_ends(slow, tmp_path, logs):
    """at any moment of it: here, when so many logs of events are there"""
    events, top = tmp_path / "state" / "events", "state_dir: %s/state\n" % tmp_path
    target, done = slow(conf(namespace(1), top=top), seconds=0.01), []
    text = conf(namespace(1), top=top) + "".join("  - nqn: nqn.2026-11.example:s%d\n" % n for n in range(FILES))
    asker = threading.Thread(target=lambda: done.append(target.apply(text)), daemon=True)
    asker.start()
    targets.until("so many logs", lambda: len(os.listdir(events)) >= logs)
    target.daemon.stop()
    asker.join(PATIENCE)
    applied = "weir: a new configuration is applied" in target.daemon.stderr()
    assert done[0].returncode == (0 if applied else 1), done[0].stderr
    assert "+ subsystem" in done[0].stdout if applied else "nothing has changed" in done[0].stderr


def test_a_target_that_is_killed_leaves_it_unknown(slow, tmp_path):
    folder = tmp_path / "v"
    folder.mkdir()
    target, done = slow(conf(namespace(1))), []
    text = conf(namespace(1), *[namespace(n, "file:%s/%d" % (folder, n)) for n in range(2, FILES + 2)])
    asker = threading.Thread(target=lambda: done.append(target.apply(text)), daemon=True)
    asker.start()
    targets.until("the first file", lambda: len(os.listdir(folder)) >= 1)
    target.daemon.kill()
    asker.join(PATIENCE)
    assert done[0].returncode == 3 and "ended before it answered\n" in done[0].stderr
    assert done[0].stderr.endswith("weir: whether the configuration was applied before that is not known\n")


@pytest.mark.parametrize("signals", [1, 2])
def test_a_target_ends_in_time_while_a_file_is_removed(live, tmp_path, disk, signals):
    """within a second, and at once where it is asked twice; the file goes with the next start"""
    text = hosted(volume="file:%s" % disk.folder, top="state_dir: %s/state\n" % tmp_path)
    target = live(text, env=disk.hangs("unlink"))  # strace would keep the process until a delay is over
    disk.hang()
    with connect(target) as ctrl:
        assert delete(ctrl, created(ctrl)).ok
    target.daemon.no_connections()
    began = time.monotonic()
    target.daemon.process.terminate()
    if signals == 2:
        targets.until("the end of listening", lambda: not listens(target))
        target.daemon.process.terminate()
    assert target.daemon.process.wait(10 * PATIENCE) == 3
    took = time.monotonic() - began
    target.daemon.stopped = True
    assert took < (2 if signals == 1 else 0.8) * targets.STOP_S, took
    assert len(disk.files()) == 1
    assert live(text).daemon.alive() and disk.files() == []


def large(subsystems, **lists):
    """As long as a configuration can be: lists of what each of the other subsystems has."""
    text = conf(namespace(1))
    for n in range(subsystems):
        text += "  - nqn: nqn.2026-11.example:s%d\n" % n
        for key, lines in lists.items():
            text += "    %s:\n%s" % (key, "".join("      - %s\n" % line for line in lines))
    return text


def many_namespaces(first):
    return large(4, namespaces=["{nsid: %d, volume: null, size: 16M}" % n for n in range(first, 1021)])


def many_hosts(first):
    names = ["nqn.2014-08.org.nvmexpress:uuid:%s" % uuid.UUID(int=n) for n in range(first, 1025)]
    return large(16, hosts=names if first == 1 else names[::-1])


@pytest.mark.alone
@pytest.mark.parametrize("text", [many_namespaces, many_hosts])
def test_hosts_are_served_while_a_large_configuration_is_compared_and_applied(live, text):
    """in one of three tries: other programs may hold it up too"""
    if targets.sanitized():
        pytest.skip("a sanitizer takes its time too")
    target, done, asked, applied = live(text(1)), [], [], []
    other = target.path + ".other"
    with open(other, "w") as f:
        f.write(text(2))
    with connect(target) as ctrl:
        queue = ctrl.io_queue()
        for there in (text(2), text(1), text(2)):
            asked.append(longest_read_during(
                queue, lambda: done.append(targets.run("diff", "--control", target.control, other))))
            applied.append(longest_read_during(queue, lambda: done.append(target.apply(there))))
    assert min(asked) < 0.5 * PATIENCE and min(applied) < 0.5 * PATIENCE, (asked, applied)
    assert [one.returncode for one in done] == [1, 0, 0, 0, 1, 0], done
    assert done[0].stdout == done[1].stdout and len(done[0].stdout.splitlines()) == (16 if text == many_hosts else 4)
