"""
Every allocation of the program fails in turn, once: it says so and ends, or goes on, and never crashes or hangs.

The run is that of test_failing_calls.py.  Which there are is counted in a run in which none fails; every day some of
them are tried (`DAILY`), WEIR_FAILING=all tries all.
"""
import concurrent.futures
import os
import signal
import subprocess

import pytest

import target as targets
from test_failing_calls import ALL, AT_ONCE, clean_run, conf, end, namespace, one_run, start

MIB = 1 << 20
DAILY = 40
HERE = os.path.dirname(os.path.abspath(__file__))


@pytest.fixture(scope="module")
def preload(tmp_path_factory):
    if targets.sanitized():
        pytest.skip("a sanitizer has an allocator of its own")
    path = str(tmp_path_factory.mktemp("preload") / "failing_malloc.so")
    subprocess.run(["cc", "-std=gnu17", "-O1", "-shared", "-fPIC", "-o", path, os.path.join(HERE, "failing_malloc.c")],
                   check=True)
    return path


def failing(preload, number=0, count_to=""):
    return ["env", "LD_PRELOAD=" + preload, "WEIR_FAIL_ALLOCATION=%d" % number, "WEIR_ALLOCATIONS=" + str(count_to)]


def chosen(count):
    """All, or some, from the first to the last."""
    if ALL or count <= DAILY:
        return range(1, count + 1)
    return sorted({1 + i * (count - 1) // (DAILY - 1) for i in range(DAILY)})


def serve_once(folder, preload, number):
    """That one fails; a host may be told at Connect that the target is busy."""
    return one_run(os.path.join(folder, str(number)), "uring", failing(preload, number), codes="12",
                   refused="Connect failed: .*1:81")


def all_of(numbers, perform):
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        wrong = list(pool.map(perform, numbers))
    wrong = ["allocation %d: %s" % (n, what) for n, what in zip(numbers, wrong) if what]
    assert not wrong, "\n".join(wrong)


def test_serve(preload, binary, tmp_path):
    """its start, two hosts and more, another configuration, and its end"""
    folder = tmp_path / "counted"
    folder.mkdir()
    daemon = start(folder, "uring", failing(preload, count_to=tmp_path / "count"))
    assert clean_run(daemon, str(folder)) == (0, 0)
    assert end(daemon) == 0
    count = int((tmp_path / "count").read_text())
    assert count > 100
    all_of(chosen(count), lambda n: serve_once(str(tmp_path), preload, n))


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
    daemon = serve("--control", control, config=str(path), prefix=failing(preload))
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


@pytest.mark.parametrize("words", [
    ("check", "weir.yaml"), ("check", "wrong.yaml"), ("diff", "weir.yaml", "other.yaml"),
], ids=["check", "check-wrong", "diff"])
def test_commands(preload, binary, tmp_path, words):
    """the exit code says trouble, and stderr what; or nothing is amiss"""
    (tmp_path / "weir.yaml").write_text(conf(namespace(1)))
    (tmp_path / "wrong.yaml").write_text(conf(namespace(0)))
    (tmp_path / "other.yaml").write_text(conf(namespace(1), namespace(2)))

    def run(number, count_to=""):
        return subprocess.run([*failing(preload, number, count_to), targets.WEIR, *words], cwd=tmp_path,
                              capture_output=True, text=True, timeout=targets.START_S)

    sound = run(0, tmp_path / "count")

    def once(number):
        done = run(number)
        if (done.returncode, done.stdout, done.stderr) == (sound.returncode, sound.stdout, sound.stderr):
            return None
        if done.returncode in (1, 2) and "memory" in done.stderr.lower():
            return None
        return "exit code %d, %s%s" % (done.returncode, done.stdout, done.stderr)
    all_of(range(1, int((tmp_path / "count").read_text()) + 1), once)
