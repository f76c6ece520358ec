"""A disk that does not answer what an operator's change asks of it holds up nobody but that change."""
import os
import tempfile
import threading

import pytest

import target as targets
from disk import disk, ends_in_time  # noqa: F401: `disk` is a fixture
from namespaces import attach, created, delete, hosted
from nvme import sqe
from nvmetcp import PATIENCE, Stopwatch
from test_bad_blocks import mark
from test_live import active, conf, connect, live, namespace  # noqa: F401: `live` is a fixture

SURVEY_S = 5  # how long disks are waited for


def beside(act):
    done = []
    thread = threading.Thread(target=lambda: done.append(act()), daemon=True)
    thread.start()
    return thread, done


def diff(target, text, name="other"):
    path = "%s.%s" % (target.path, name)
    with open(path, "w") as f:
        f.write(text)
    return targets.run("diff", "--control", target.control, path)


def longest_read(queue, thread):
    longest = 0
    with Stopwatch() as clock:
        while thread.is_alive():
            began = clock.seconds
            assert queue.read(0).ok
            longest = max(longest, clock.seconds - began)
    return longest


SUBSYS = "  - nqn: nqn.2026-11.example:other\n"
MORE = {
    "sized": SUBSYS + "    namespaces: [{nsid: 9, volume: \"file:%s/v\", size: 16M}]\n",
    "unsized": SUBSYS + "    namespaces: [{nsid: 9, volume: \"file:%s/v\"}]\n",
    "pool": SUBSYS + "    host_namespaces: {volume: \"file:%s\", size: 64M}\n",
}


@pytest.mark.parametrize("word, what", [
    ("apply", "sized"), ("apply", "pool"), ("diff", "unsized"), ("diff", "pool")])
def test_who_asks_of_a_hung_disk_is_told_so_and_nobody_else_waits(live, tmp_path, disk, word, what):
    top = "state_dir: %s/state\n" % tmp_path
    text = hosted(namespace(1), top=top)
    more = text + MORE[what] % disk.folder
    target = live(text, env=disk.env)
    with connect(target) as ctrl:
        queue = ctrl.io_queue(1)
        disk.hang()
        thread, done = beside(lambda: target.apply(more) if word == "apply" else diff(target, more))
        created(ctrl)
        assert diff(target, text.replace("size: 16M", "size: 32M"), "third").returncode == 1
        assert thread.is_alive(), "hosts' wishes and other questions are not held up"
        assert longest_read(queue, thread) < 0.5 * PATIENCE
        said = done[0].stdout + done[0].stderr
        assert done[0].returncode == 1 and disk.folder in said and "has not answered for 5 seconds" in said, done
        assert target.apply(text).returncode == 0, "one that does not need the disk can be applied meanwhile"
        os.close(disk.answer())
        assert target.apply(more).returncode == (0 if what != "unsized" else 1)


def test_a_file_that_does_not_open_refuses_an_apply_and_no_diff(live, disk):
    """which needs to know no more than which file it is"""
    target = live(conf(namespace(1)), env=disk.hangs("open64 tries"))
    more = conf(namespace(1), namespace(2, "file:%s/v" % disk.folder))
    with open(disk.folder + "/v", "wb") as f:
        f.truncate(16 << 20)
    with connect(target) as ctrl:
        queue = ctrl.io_queue(1)
        disk.hang()
        thread, done = beside(lambda: target.apply(more))
        assert longest_read(queue, thread) < 0.5 * PATIENCE
        assert done[0].returncode == 1 and "has not answered for 5 seconds" in done[0].stderr, done
        assert diff(target, more).stdout.count("\n") == 1
        os.close(disk.answer())
        assert target.apply(more).returncode == 0


def test_hosts_are_served_while_a_disk_hangs_that_answered_when_it_was_asked_first(live, disk):
    """the apply waits for it"""
    target = live(conf(namespace(1)), env=disk.hangs("open64"))
    more = conf(namespace(1), *[namespace(n, "file:%s/%d" % (disk.folder, n), "0") for n in (2, 3)])
    more = more.replace("        size: 0\n", "")  # as long as they are
    for n in (2, 3):
        with open("%s/%d" % (disk.folder, n), "wb") as f:
            f.truncate(16 << 20)
    with connect(target) as ctrl:
        queue = ctrl.io_queue(1)
        disk.hang()
        thread, done = beside(lambda: target.apply(more))
        disk.waits()
        for _ in range(1000):
            assert queue.read(0).ok
        assert thread.is_alive() and ctrl.keep_alive().ok
        os.close(disk.answer())
        assert longest_read(queue, thread) < 0.5 * PATIENCE
        assert done[0].returncode == 0, done
        assert queue.read(0, nsid=3).ok


def begun(target, disk, text):
    """an apply that waits for a disk which answered when it was asked first"""
    disk.hang()
    thread, done = beside(lambda: target.apply(text))
    targets.until("the file", lambda: os.path.exists(disk.fifo + ".waits"))
    return thread, done


def test_what_hosts_wish_is_done_while_an_apply_waits_for_its_disk(live, disk):
    """and the apply after it, beside what they have made"""
    text = hosted(namespace(100))
    target = live(text, env=disk.hangs("open64"))
    with connect(target) as ctrl:
        gone = created(ctrl)
        thread, done = begun(target, disk, text + namespace(101, "file:%s/v" % disk.folder))
        made = created(ctrl)
        assert attach(ctrl, made).ok and delete(ctrl, gone).ok and active(ctrl) == [made, 100]
        queue = ctrl.io_queue()
        assert queue.write(0, b"\x5a" * 4096, nsid=made).ok and thread.is_alive()
        os.close(disk.answer())
        thread.join()
        assert done[0].returncode == 0, done
        assert active(ctrl) == [made, 100, 101] and queue.read(0, nsid=101).ok
        assert bytes(queue.read(0, nsid=made).got) == b"\x5a" * 4096


def test_an_apply_is_held_to_what_hosts_have_made_while_it_waited(live, disk):
    """whole or not at all"""
    def text(nsid):
        return hosted(namespace(100)) + namespace(nsid, "file:%s/v" % disk.folder)
    target = live(hosted(namespace(100)), env=disk.hangs("open64"))
    with connect(target) as ctrl:
        thread, done = begun(target, disk, text(1))
        assert created(ctrl) == 1
        os.close(disk.answer())
        thread.join()
        assert done[0].returncode == 1 and "namespace 1 of" in done[0].stderr, done
        assert "is one that a host has made" in done[0].stderr and not os.listdir(disk.folder), done
        target.applied(text(2))
        assert attach(ctrl, 1).ok and active(ctrl) == [1, 2, 100]


def steps(disk, thread):
    """how often who makes a change asks the disk for anything; each time it hangs, and answers when it is looked at"""
    def asked():
        return os.path.exists(disk.fifo + ".waits") or not thread.is_alive()

    def answered():
        """once for each question that was seen: another one may stand there as soon as it is"""
        try:
            os.close(os.open(disk.fifo, os.O_WRONLY | os.O_NONBLOCK))
        except OSError:  # nobody waits: not yet, or not any more
            return asked()
        return True
    while True:
        targets.until("a question, or the end", asked)
        if not thread.is_alive():
            return
        os.unlink(disk.fifo + ".waits")
        yield os.listdir(disk.folder)
        targets.until("who asked", answered)


def test_what_hosts_wish_is_done_while_files_are_made_and_taken_back(live, disk):
    text = hosted(namespace(100))
    target = live(text, env=disk.hangs("open64"))
    with connect(target) as ctrl:
        thread, done = begun(target, disk, text + namespace(1) + namespace(2, "file:%s/v" % disk.folder))
        seen = []
        for there in steps(disk, thread):
            seen.append(there)
            assert created(ctrl) == len(seen)
        assert done[0].returncode == 1 and "namespace 1 of" in done[0].stderr, done
        assert len(seen) > 1 and not os.listdir(disk.folder)


def test_a_block_that_a_hung_disk_does_not_mark_holds_up_no_mark_elsewhere(live, tmp_path, disk):
    sound = namespace(2, "file:%s/sound" % tmp_path)
    target = live(conf(namespace(1, "file:%s/hung" % disk.folder), sound), env=disk.env)
    with connect(target) as ctrl:
        queue = ctrl.io_queue(1)
        disk.hang()
        hung = queue.submit(sqe(0x04, nsid=1))
        disk.waits(lambda: ctrl.keep_alive())
        assert mark(queue, 0, nsid=2).ok and not hung.done
        os.close(disk.answer())
        assert queue.wait(hung).ok


def test_many_volumes_of_a_hung_disk_hold_up_no_other_disk(live, disk):
    """more than there are threads for what takes a disk's time"""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as elsewhere:
        many = [namespace(n, "file:%s/%d" % (disk.folder, n), "1M") for n in range(1, 25)]
        target = live(conf(*many, namespace(100, "file:%s/sound" % elsewhere)), env=disk.env)
        with connect(target) as ctrl:
            queue = ctrl.io_queue(1)
            disk.hang()
            hung = [queue.submit(sqe(0x04, nsid=n)) for n in range(1, 25)]
            disk.waits(lambda: ctrl.keep_alive())
            assert mark(queue, 0, nsid=100).ok and not any(request.done for request in hung)
            os.close(disk.answer())
            assert all(queue.wait(request).ok for request in hung)
        target.daemon.stop()


def test_what_is_asked_of_a_hung_disk_again_and_again_holds_up_no_other_disk(live, tmp_path, disk):
    """more often than there are threads for it; nor does what it is asked stay in memory"""
    text, took = conf(namespace(1)), []
    more = text + SUBSYS + "    namespaces:\n" + "".join(
        "      - {nsid: %d, volume: \"file:%s/%s%d\", size: 16M}\n" % (n, disk.folder, "v" * 100, n)
        for n in range(1, 1000))
    target = live(text, env=disk.env)
    disk.hang()
    for _ in range(3):
        asked = [beside(lambda n=n: diff(target, more, str(n))) for n in range(7)]
        for thread, done in asked:
            thread.join()
            assert done[0].returncode == 1 and "answer" in done[0].stdout + done[0].stderr, done
        took.append(target.daemon.rss_kib())
    assert took[2] - took[1] < 2048, took
    target.applied(conf(namespace(1), namespace(2, "file:%s/sound" % tmp_path)))
    os.close(disk.answer())


@pytest.mark.parametrize("word", ["apply", "diff"])
def test_a_target_ends_in_time_while_a_disk_does_not_answer(live, disk, word):
    target = live(conf(namespace(1)), env=disk.env)
    disk.hang()
    with connect(target) as ctrl:
        text = conf(namespace(1), namespace(2, "file:%s/v" % disk.folder))
        thread, _ = beside(lambda: target.apply(text) if word == "apply" else diff(target, text))
        disk.waits()
        assert ctrl.keep_alive().ok
    target.daemon.no_connections()
    ends_in_time(target)
    thread.join()
