"""
Every allocation of the program fails in turn, once: it says so and ends, or goes on, and never crashes or hangs.

The run is that of failing.py.  Which there are is counted in a run in which none fails; every day some of
them are tried (`DAILY`), WEIR_FAILING=all tries all.
"""
import concurrent.futures
import json
import os
import re
import signal
import subprocess

import pytest

import failing
import target as targets
from failing import AT_ONCE
from test_live import conf, namespace

MIB = 1 << 20
DAILY = 10
OF_A_THREAD = 3  # blocks at most, and one more time for all: they are made when they are needed, and stay
STACKS = 5  # of ended threads, which the C library keeps with a block each: who fails to get io_uring makes threads
ROOM = 2  # that a wish which came to nothing leaves for the next one: no more of it, however many fail
CLEAN = 3  # runs, of which the one that keeps most is taken: not all do the same


@pytest.fixture(scope="module")
def preload(tmp_path_factory):
    if targets.sanitized():
        pytest.skip("a sanitizer has an allocator of its own")
    return targets.preload("failing_malloc", tmp_path_factory.mktemp("preload"))


def failing_at(preload, number=0, told=""):
    return ["env", "LD_PRELOAD=" + preload, "WEIR_FAIL_ALLOCATION=%d" % number, "WEIR_ALLOCATIONS=%s" % told]


def telling_places(preload, told):
    return [*failing_at(preload, 0, told), "WEIR_PLACES=%s.places" % told]


def told(path):
    """how many allocations there were, how many failed, and how many blocks were kept"""
    try:
        with open(path) as f:
            return [int(word) for word in f.read().split()]
    except FileNotFoundError:
        return []


def kept_now(daemon, path):
    """blocks, in this moment; None: it has ended"""
    path += ".now"
    if os.path.exists(path):
        os.unlink(path)
    daemon.process.send_signal(signal.SIGWINCH)
    targets.until("the blocks are counted", lambda: told(path) or not daemon.alive())
    return told(path)[2] if daemon.alive() else 0


def threads_of(daemon):
    return len(os.listdir("/proc/%d/task" % daemon.pid))


def places_of(path):
    """of each place, which is what calls it, up to main(): the number of the first allocation there"""
    first = {}
    with open(path + ".places") as f:
        for number, line in enumerate(f, 1):
            first.setdefault(line, number)
    return sorted(first.values())


def all_of(numbers, perform):
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        wrong = list(pool.map(perform, numbers))
    wrong = ["allocation %d: %s" % (n, what) for n, what in zip(numbers, wrong) if what]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("setting", failing.SETTINGS)
def test_serve(preload, binary, tmp_path, setting):
    """its start, hosts, other configurations, and its end; nothing is kept that a run without a failure does not"""
    counts, most, threads, at_the_end = [], 0, 0, 0
    for n in range(CLEAN):
        folder, path = tmp_path / ("clean%d" % n), str(tmp_path / "told")
        folder.mkdir()
        open_files, (kept, running) = failing.clean_run(folder, setting, telling_places(preload, path),
                                                        lambda daemon: (kept_now(daemon, path), threads_of(daemon)))
        counts.append(told(path)[0])
        most, threads, at_the_end = max(most, kept), max(threads, running), max(at_the_end, told(path)[2])
    assert max(counts) > 100

    def serve_once(number):
        folder, path = str(tmp_path / str(number)), str(tmp_path / ("told%d" % number))

        def quiet(daemon):
            more = threads_of(daemon) - threads
            failing.sinks_to("blocks", most + ROOM + (more + 1) * OF_A_THREAD * (more > 0), lambda: kept_now(daemon, path),
                             lambda: not daemon.alive())

        def ended():
            left = told(path)[2] - STACKS * (setting in failing.AUTO)
            assert left <= at_the_end, "%d blocks are left at the end, and not %d" % (left, at_the_end)

        def tell(run, code, said):
            failing.record(folder, run, code, said, setting=setting, call="allocation", error="ENOMEM", n=number,
                           struck=told(path)[1] if told(path) else 0)
        return failing.one_run(folder, setting, failing_at(preload, number, path), open_files, quiet, ended, "12", tell)
    places = places_of(path)
    failing.record_counts(setting, {"allocation": [len(places), max(counts)]})
    all_of(failing.chosen(places, range(1, max(counts) + 1), DAILY), serve_once)


def test_apply_leaves_files_as_they_were(preload, serve, tmp_path):
    """whichever allocation of it fails: what the change before made, or made larger, stays; what it made itself goes"""
    folder, path, control = tmp_path / "volumes", tmp_path / "weir.yaml", str(tmp_path / "control")
    folder.mkdir()

    def text(step, *more):
        return conf(namespace(1, "file:%s/v" % folder, "%dM" % (16 + step)),
                    namespace(2, "file:%s/u%d" % (folder, step)), *more)

    def apply(text):
        path.write_text(text)
        return targets.run("apply", "--control", control, str(path))

    def sizes():
        return {name: os.path.getsize(folder / name) // MIB for name in os.listdir(folder)}

    path.write_text(text(0))
    daemon = serve("--control", control, config=str(path), prefix=failing_at(preload))
    step = refused = spared = 0
    while spared < 3:  # it has no more allocations
        step += 1
        while apply(text(step)).returncode != 0:  # the one that was to fail before may be of this
            pass
        before = sizes()
        assert before["v"] == 16 + step and before["u%d" % step] == 16
        daemon.process.send_signal(signal.SIGUSR2)
        done = apply(text(step, namespace(3, "file:%s/w" % folder)))
        assert daemon.alive(), daemon.stderr()
        spared = spared + 1 if done.returncode == 0 else 0
        if "nothing has changed" in done.stderr:
            refused += 1
            assert sizes() == before, done.stderr
        elif done.returncode == 0 or sizes() != before:  # or it is done, and the answer is what could not be made
            assert sizes() == {**before, "w": 16}, done.stderr
            os.unlink(folder / "w")
    assert refused > 20


def test_a_look_says_that_there_was_no_memory_for_it(preload, serve, tmp_path):
    """whichever allocation of it fails, and the next one sees all"""
    path, control, volumes = tmp_path / "weir.yaml", str(tmp_path / "control"), 40
    path.write_text(conf(*(namespace(n, size="1M") for n in range(1, volumes + 1)), top="qos: {mode: gimbal}\n"))
    daemon = serve("--control", control, config=str(path), prefix=failing_at(preload))

    def look():
        return targets.run("top", "--once", "--json", "--control", control)
    refused = spared = 0
    while spared < 3:  # it has no more allocations
        daemon.process.send_signal(signal.SIGUSR2)
        done = look()
        assert daemon.alive(), daemon.stderr()
        if done.returncode == 0:
            spared += 1
        else:
            refused, spared = refused + 1, 0
            assert done.returncode == 1
            assert re.search("out of memory|ended before it answered", done.stderr), done.stderr
            done = look()
        assert len(json.loads(done.stdout)["namespaces"]) == volumes
    assert refused > 6  # who asks, what he asks, what is looked at, and records, for which room is made five times


@pytest.mark.parametrize("words", [
    ("check", "weir.yaml"), ("check", "wrong.yaml"), ("diff", "weir.yaml", "other.yaml"),
], ids=["check", "check-wrong", "diff"])
def test_commands(preload, binary, tmp_path, words):
    """the exit code says trouble, and stderr what; or nothing is amiss"""
    (tmp_path / "weir.yaml").write_text(conf(namespace(1)))
    (tmp_path / "wrong.yaml").write_text(conf(namespace(0)))
    (tmp_path / "other.yaml").write_text(conf(namespace(1), namespace(2)))

    def run(number, count_to=""):
        return subprocess.run([*failing_at(preload, number, count_to), targets.WEIR, *words], cwd=tmp_path,
                              capture_output=True, text=True, timeout=targets.START_S)

    sound = run(0, tmp_path / "count")

    def once(number):
        done = run(number)
        if (done.returncode, done.stdout, done.stderr) == (sound.returncode, sound.stdout, sound.stderr):
            return None
        if done.returncode in (1, 2) and "memory" in done.stderr.lower():
            return None
        return "exit code %d, %s%s" % (done.returncode, done.stdout, done.stderr)
    all_of(range(1, told(tmp_path / "count")[0] + 1), once)
