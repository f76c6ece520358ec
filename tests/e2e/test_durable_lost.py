"""What was acknowledged as durable is there when the target was killed: over a cache that forgets all else."""
import fcntl
import os
import threading

import pytest

import durable
import target as targets
from nvmetcp import Violation

# More of them: WEIR_KILLS, or durable.py itself.
KILLS = int(os.environ.get("WEIR_KILLS", "10"))


@pytest.mark.parametrize("reactors", [1, 2])
@pytest.mark.parametrize("files", ["uring", "threads"])
@pytest.mark.line("O05")
def test_a_kill_loses_nothing_that_was_durable(binary, tmp_path, files, reactors):
    counts = durable.measure(KILLS // 2, files, reactors, seed=reactors, folder=tmp_path)
    print("durable_lost:", counts["lost"], counts)
    assert counts["lost"] == 0 and counts["torn"] == 0, counts
    assert counts["durable writes"] > 0 and counts["flushes"] > 0, counts
    assert counts["forgotten"] > 0, "nothing was lost that may be: the test sees no losses: %s" % counts


@pytest.mark.parametrize("files", ["uring", "threads"])
def test_a_write_that_is_dropped_is_seen(binary, tmp_path, files):
    for seed in range(1, 6):  # one that nothing was written over afterwards
        counts = durable.measure(2, files, seed=seed, faulty=True, folder=tmp_path)
        if counts["lost"] > 0:
            break
    print("durable_lost with a fault:", counts["lost"], counts)
    assert counts["lost"] > 0 and counts["torn"] == 0, counts


def test_a_target_waits_for_the_one_that_was_killed(serve, tmp_path):
    """the kernel lets go of its files a moment after it is gone; but who does not go is an error"""
    spec = "file:%s/v.img,size=16M" % tmp_path
    with open(tmp_path / "v.img", "wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(Violation, match="in use already"):
            targets.Daemon(ns=[spec])
        threading.Timer(0.2, fcntl.flock, (file, fcntl.LOCK_UN)).start()
        serve(ns=[spec])
