"""`flash:` volumes, as hosts see them."""
import threading
import time

import pytest

import nvme
import target as targets
from test_live import active, conf, connect, live, namespace  # noqa: F401: `live` is a fixture


BLOCK = 4096


def meanwhile(queue, act):
    """What it answered, how long it took, and how long the longest read took that another namespace was asked for."""
    done, longest, began = [], 0, time.monotonic()
    actor = threading.Thread(target=lambda: done.append(act()), daemon=True)
    actor.start()
    while actor.is_alive():
        asked = time.monotonic()
        assert queue.read(0).ok
        longest = max(longest, time.monotonic() - asked)
    actor.join()
    return done[0], time.monotonic() - began, longest


def test_hosts_of_others_are_served_while_a_drive_is_written_all_over(live):
    """which takes a processor seconds"""
    target = live(conf(namespace(1)))
    with connect(target) as ctrl:
        queue = ctrl.io_queue()
        used = conf(namespace(1), namespace(2, '"flash:tlc-plp,state=fragmented,data=no"', "4G"))
        done, took, longest = meanwhile(queue, lambda: target.apply(used))
        assert done.returncode == 0 and active(ctrl) == [1, 2], done
        assert longest < took / 2, "%.2f s of %.2f" % (longest, took)
        assert queue.read(0, nsid=2).ok


def test_a_state_that_was_kept_is_served(serve, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    kept = "kept.flash"
    done = targets.run("flash", "condition", "tlc-plp", "--size", "600M", "--state", "sequential", "--out", kept)
    assert done.returncode == 0, done
    daemon = serve(ns=["flash:tlc-plp,600M,from=%s" % kept])
    with nvme.Controller(daemon.addresses[0]) as ctrl:
        assert bytes(ctrl.io_queue().read(0).got) == bytes(4096)
    refused = targets.run("serve", "--listen", "127.0.0.1:0", "--ns", "flash:tlc-plp,1G,from=%s" % kept)
    assert refused.returncode == 1 and "they are of a drive of another size" in refused.stderr, refused


def test_what_hosts_write_here_and_there_takes_no_more_memory_than_that(serve):
    """though it is programmed in rows of what was written anywhere"""
    daemon = serve(ns=["flash:tlc-consumer,1G"])
    with nvme.Controller(daemon.addresses[0]) as ctrl:
        queue, before = ctrl.io_queue(), daemon.rss_kib()
        for n in range(255):
            assert queue.write(n * 1021, bytes([n + 1]) * BLOCK).ok
        assert queue.flush().ok
        assert daemon.rss_kib() - before < 32 << 10
        assert all(bytes(queue.read(n * 1021).got) == bytes([n + 1]) * BLOCK for n in range(255))


@pytest.mark.parametrize("spec", ["flash:tlc-plp,1G,state=fragmented", "flash:optane,1G"])
def test_zeros_of_what_holds_zeros_take_no_memory(serve, spec):
    """and what is deallocated takes none any more"""
    daemon = serve(ns=[spec])
    with nvme.Controller(daemon.addresses[0]) as ctrl:
        queue, before = ctrl.io_queue(), daemon.rss_kib()
        for slba in range(0, 1 << 18, 1 << 14):
            assert queue.write_zeroes(slba, 1 << 14).ok
        for slba in range(0, 1 << 14, 3):
            assert queue.deallocate([(slba, 1)]).ok
        assert daemon.rss_kib() - before < 16 << 10
        for slba in range(0, 1 << 15, 256):
            assert queue.write(slba, b"x" * (256 * BLOCK)).ok
        assert targets.sanitized() or daemon.rss_kib() - before > 120 << 10
        assert queue.deallocate([(0, 1 << 15)]).ok
        targets.until("the memory that was given back", lambda: daemon.rss_kib() - before < 32 << 10)
        assert bytes(queue.read(77).got) == bytes(BLOCK)
