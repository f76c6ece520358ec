"""`flash:` volumes, as hosts see them."""
import fcntl
import mmap
import os
import shutil
import threading
import time

import pytest

import nvme
import target as targets
from disk import disk  # noqa: F401: a fixture
from test_live import active, conf, connect, live, namespace  # noqa: F401: `live` is a fixture
from tools import random_file, uri, volume, weir


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
        used = conf(namespace(1), namespace(2, '"flash:tlc-plp,state=fragmented,data=no"', "8G"))
        done, took, longest = meanwhile(queue, lambda: target.apply(used))
        assert done.returncode == 0 and active(ctrl) == [1, 2], done
        assert longest < took / 2, "%.2f s of %.2f" % (longest, took)
        assert queue.read(0, nsid=2).ok


def test_hosts_of_others_are_served_while_a_profile_is_not_read(live, disk):
    shutil.copy(os.path.join(targets.REPO, "profiles", "optane.yaml"), disk.folder)
    target, done = live(conf(namespace(1)), env=disk.hangs("tries")), []
    with connect(target) as ctrl:
        queue = ctrl.io_queue()
        disk.hang()
        more = conf(namespace(1), namespace(2, "flash:%s/optane.yaml" % disk.folder))
        thread = threading.Thread(target=lambda: done.append(target.apply(more)), daemon=True)
        thread.start()
        disk.waits(lambda: queue.read(0))
        assert queue.read(0).ok and thread.is_alive()
        os.close(disk.answer())
        thread.join(targets.SOON_S)
        assert done[0].returncode == 0 and active(ctrl) == [1, 2], done


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


def test_who_only_reads_a_file_needs_no_more(serve, tmp_path):
    """somebody else has it open, and locked"""
    profile = tmp_path / "mine.yaml"
    shutil.copy(os.path.join(targets.REPO, "profiles", "optane.yaml"), profile)
    with open(profile) as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        daemon = serve(ns=["flash:%s,64M" % profile])
    with nvme.Controller(daemon.addresses[0]) as ctrl:
        assert ctrl.io_queue().read(0).ok


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
        assert daemon.rss_kib() - before < 16 << 10
        for slba in range(0, 1 << 15, 256):
            assert queue.write(slba, b"x" * (256 * BLOCK)).ok
        assert targets.sanitized() or daemon.rss_kib() - before > 120 << 10
        assert queue.deallocate([(0, 1 << 15)]).ok
        targets.until("the memory that was given back", lambda: daemon.rss_kib() - before < 32 << 10)
        assert bytes(queue.read(77).got) == bytes(BLOCK)


def a_page_that_is_only_read_takes_memory():
    """where a kernel has no page of zeros that all share: we map some, and read"""
    pages, before = mmap.mmap(-1, 4 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS), targets.rss_kib("self")
    assert not any(pages[at] for at in range(0, 4 << 20, 4 << 10))
    return targets.rss_kib("self") - before > 2 << 10


@pytest.mark.parametrize("spec", ["flash:tlc-plp,1G,state=fragmented", "flash:optane,1G"])
def test_a_few_zeros_where_there_are_zeros_take_no_memory(serve, spec):
    if a_page_that_is_only_read_takes_memory():
        pytest.skip("this kernel has no page of zeros: what is only read takes memory")
    daemon = serve(ns=[spec])
    with nvme.Controller(daemon.addresses[0]) as ctrl:
        queue, before = ctrl.io_queue(), daemon.rss_kib()
        for slba in range(0, 1 << 14, 3):
            assert queue.deallocate([(slba, 1)]).ok
        assert daemon.rss_kib() - before < 16 << 10


@pytest.mark.parametrize("spec", ["flash:tlc-plp,600M", "flash:tlc-plp,600M,state=fragmented", "flash:tlc-consumer,600M",
                                  "flash:optane,64M", "flash:qlc,8G,state=sequential"])
def test_a_modelled_drive_is_a_volume_like_any_other(serve, tmp_path, spec):
    daemon = serve(ns=[spec])
    weir("perf", uri(daemon), "--rw", "randrw", "--ios", 2000, "--bs", "4k", "--qd", 16, "--size", "16M", "--verify")
    data = random_file(tmp_path / "in", 4 << 20)
    assert "; verified" in weir("write", uri(daemon), tmp_path / "in", "--offset", "1M", "--verify").words
    assert volume(daemon, offset="1M", length="4M") == data
    with nvme.Controller(daemon.address) as ctrl:
        queue = ctrl.io_queue()
        assert queue.deallocate([(256, 3), (260, 1)]).ok and queue.flush().ok
        assert bytes(queue.read(256, 5).got) == bytes(3 * BLOCK) + data[3 * BLOCK:4 * BLOCK] + bytes(BLOCK)
        assert queue.write(256, b"x" * BLOCK, fua=True).ok and queue.write_zeroes(259, 1).ok
        assert bytes(queue.read(256, 4).got) == b"x" * BLOCK + bytes(3 * BLOCK)


def test_a_drive_without_protection_over_a_file_loses_its_buffer_when_it_is_killed(serve, tmp_path):
    """and nothing that was flushed; one with protection loses nothing"""
    old, new, left = b"o" * BLOCK, b"n" * BLOCK, {}
    for profile in ("tlc-consumer", "tlc-plp", "optane"):
        spec = "flash:%s@file:%s/%s,size=600M" % (profile, tmp_path, profile)
        daemon = serve(ns=[spec])
        with nvme.Controller(daemon.address) as ctrl:
            queue = ctrl.io_queue()
            assert queue.write(0, old * 64).ok and queue.flush().ok and queue.write(100, new, fua=True).ok
            assert all(queue.write(slba, new).ok for slba in range(64))
            daemon.kill()
        with nvme.Controller(serve(ns=[spec]).address) as ctrl:
            queue = ctrl.io_queue()
            assert bytes(queue.read(100).got) == new
            left[profile] = [bytes(queue.read(slba).got) for slba in range(64)]
            assert set(left[profile]) <= {old, new}
    assert old in left["tlc-consumer"] and set(left["tlc-plp"]) == set(left["optane"]) == {new}
