"""Namespaces of hosts over a restart, a crash, and what a disk may do."""
import itertools
import os
import random
import re
import shutil
import subprocess
import time

import pytest

import target as targets
from namespaces import (
    ALL, BLOCK, DELETE, MIB, NS_CAPACITY, PROTECT, UNTIL_POWER_CYCLE, attach, capacity, connect, create, created,
    delete, detach, files, hosted, nsids, protect, protection, start_again, submit_create)
from nvme import INTERNAL, sqe
from nvmetcp import Violation
from reservations import EA, PERSIST, Host
from test_live import Live, alive, conf, namespace

FIRST = "file:%s/first.img"


@pytest.fixture
def start(serve, tmp_path):
    """start(): a target with a pool of files and a state directory, always the same."""
    os.mkdir(tmp_path / "pool")
    path, control = str(tmp_path / "weir.yaml"), str(tmp_path / "control")

    def start(*args, text=None, pool="pool", **how):
        with open(path, "w") as f:
            f.write(text or hosted(namespace(2, FIRST % tmp_path), volume="file:%s/%s" % (tmp_path, pool),
                                   top="state_dir: %s/state\n" % tmp_path, size="1G"))
        return Live(serve("--control", control, "--reactors", "2", *args, config=path, **how), path, control)
    return start


def test_a_number_that_an_apply_freed_and_a_host_took_is_not_given_back(start, tmp_path):
    """nothing of either is lost: a file that has it still does not start, and says what to do"""
    def text(*namespaces):
        return hosted(*namespaces, volume="file:%s/pool" % tmp_path, top="state_dir: %s/state\n" % tmp_path)
    target = start(text=text(namespace(1), namespace(2)))
    target.applied(text(namespace(2)))
    with connect(target) as ctrl:
        assert created(ctrl) == 1
    target.daemon.stop()
    with open(target.path, "w") as f:
        f.write(text(namespace(1), namespace(2)))
    done = targets.run("serve", "--control", "none", "--config", target.path, timeout=targets.START_S)
    assert done.returncode == 1 and len(files(tmp_path / "pool")) == 1, done
    assert "namespace 1 of" in done.stderr and "the configuration's needs another number, or its host deletes it " \
        "first\n" in done.stderr, done
    target = start(text=text(namespace(2), namespace(3)))
    with connect(target) as ctrl:
        assert nsids(ctrl, 0x10) == [1, 2, 3]


def record(tmp_path):
    return tmp_path / "state" / "namespaces"


@pytest.mark.line("W82")
@pytest.mark.parametrize("hard", [False, True], ids=["stopped", "killed"])
def test_over_a_restart(start, tmp_path, hard):
    """NSIDs, ids, blocks, and which hosts they are attached to; not what was attached to some controllers alone"""
    target = start()
    with connect(target, 1) as a, connect(target, 1) as b, connect(target, 2) as c:
        assert [created(a, 512), created(a, 1024, flbas=0), created(a, 300, shared=False)] == [1, 3, 4]
        assert attach(a, 1, a, c).ok and attach(a, 3, a, b).ok and detach(a, 3, a).ok and attach(a, 4, a).ok
        data = os.urandom(BLOCK)
        queue = a.io_queue()
        assert queue.write(7, data, nsid=1, fua=True).ok
        before = [a.identified(0x11, n) for n in (1, 3, 4)], bytes(a.identify(3, 1).got), capacity(a)
        assert nsids(a) == [1, 2, 4] and nsids(b) == [2, 3] and nsids(c) == [1, 2]
    target.daemon.kill() if hard else target.daemon.stop()
    target = start_again(start)
    with connect(target, 1) as a, connect(target, 2) as c, connect(target, 3) as d:
        assert nsids(a) == [1, 2] and nsids(c) == [1, 2] and nsids(d) == [2] and nsids(d, 0x10) == [1, 2, 3, 4]
        assert before == ([a.identified(0x11, n) for n in (1, 3, 4)], bytes(a.identify(3, 1).got), capacity(a))
        assert bytes(a.io_queue().read(7, nsid=1).got) == data
        assert delete(c, 1).ok and created(d) == 1
        targets.until("the file goes too", lambda: len(files(tmp_path / "pool")) == 3, lambda: alive(a))


def test_a_folder_may_be_moved(start, tmp_path):
    target = start()
    with connect(target) as a:
        assert attach(a, created(a)).ok
        data = os.urandom(BLOCK)
        assert a.io_queue().write(3, data, nsid=1, fua=True).ok
    target.daemon.stop()
    os.rename(tmp_path / "pool", tmp_path / "elsewhere")
    target = start(pool="elsewhere")
    with connect(target) as a:
        assert bytes(a.io_queue().read(3, nsid=1).got) == data


def test_a_record_that_cannot_take_the_others_place(start, tmp_path):
    """what the target serves, but does not keep, is refused until it is kept, also to who wishes the same"""
    target = start()
    record(tmp_path).mkdir()
    with connect(target) as a:
        for _ in range(3):
            assert protect(a, 2, PROTECT).status == INTERNAL and protection(a, 2) == PROTECT
        record(tmp_path).rmdir()
        assert protect(a, 2, PROTECT).ok and record(tmp_path).is_file()
    target.daemon.kill()
    target = start_again(start)
    with connect(target) as a:
        assert protection(a, 2) == PROTECT


@pytest.mark.parametrize("call", ["fsync", "unlink,unlinkat"])
def test_a_slow_disk_does_not_hold_up_the_reactor(start, tmp_path, call):
    """each call takes 200 ms: reads are answered meanwhile, as many as at other times in a quarter of that, however
    slow the machine is"""
    pool = tmp_path / "pool"
    if not shutil.which("strace"):
        pytest.skip("needs strace")
    target = start("--reactors", "1", prefix=["strace", "-D", "-f", "-qqq", "-o", "/dev/null", "-e", "signal=none",
                   "-e", "trace=" + call, "-e", "inject=%s:delay_enter=200000" % call])
    with connect(target) as a:
        queue = a.io_queue()

        def reads_until(ended):
            count = itertools.count()

            def read():
                assert queue.read(0, nsid=2).ok
                assert next(count) % 10 or a.keep_alive().ok
            targets.until("it is done", ended, read)
            return next(count)

        began = time.monotonic()
        reads_until(lambda count=itertools.count(): next(count) == 100)
        each = (time.monotonic() - began) / 100
        create = submit_create(a, 256)
        reads = [reads_until(lambda: create.done)]
        delete = a.admin.submit(sqe(0x0D, nsid=create.dw0, cdw10=DELETE))
        reads += [reads_until(lambda: delete.done), reads_until(lambda: not files(pool))]
    assert create.ok and delete.ok and max(reads) >= 10 and max(reads) * each >= 0.05, (reads, each)


def test_files_that_another_target_serves_stay(start, serve, tmp_path):
    """it has a copy of the record, from before they were made"""
    target = start()
    with connect(target) as a:
        assert delete(a, created(a)).ok
        shutil.copytree(tmp_path / "state", tmp_path / "copy")
        nsid = created(a)
        assert attach(a, nsid).ok
        queue, data = a.io_queue(), os.urandom(BLOCK)
        assert queue.call(sqe(0x04, nsid=nsid, cdw10=9)).ok and queue.write(3, data, nsid=nsid).ok  # one is bad
        path = tmp_path / "copy.yaml"
        path.write_text(hosted(namespace(2), volume="file:%s/pool" % tmp_path, size="1G",
                               top="state_dir: %s/copy\n" % tmp_path))
        second = serve("--control", str(tmp_path / "second"), config=str(path))
        assert second.stderr().count("left alone: somebody else uses it") == 2 and len(files(tmp_path / "pool")) == 1
        second.stop()
        assert bytes(queue.read(3, nsid=nsid).got) == data
    target.daemon.kill()
    target = start_again(start)
    with connect(target) as a:
        queue = a.io_queue()
        assert bytes(queue.read(3, nsid=nsid).got) == data and queue.read(9, nsid=nsid).status == 0x281


@pytest.mark.line("W82")
def test_files_that_nobody_names_go_and_others_stay(start, tmp_path):
    target = start()
    with connect(target) as a:
        assert created(a) == 1
    target.daemon.kill()
    pool = tmp_path / "pool"
    own = files(pool)[0]
    uuid = "8c8d1cb0-1ed2-4b0f-9b2e-4a5a7a3f5a10"
    stray = own[:22] + uuid + ".img"
    strangers = ["weir-0123456789abcdef-%s.img" % uuid, own[:22] + "x.img", own[:22] + uuid + "x.img", "a.img",
                 own[:22] + uuid.upper() + ".img"]
    for name in [stray, *strangers]:
        (pool / name).write_bytes(b"")
    (tmp_path / "state" / "namespaces.new").write_text("half")
    (pool / (stray + ".bad")).write_bytes(b"")
    alone = own[:22] + "11111111-1ed2-4b0f-9b2e-4a5a7a3f5a10.img.bad"
    others = [own + ".bad.x", "weir-0123456789abcdef-%s.img.bad" % uuid]
    for name in [alone, *others]:
        (pool / name).write_bytes(b"")
    reservations = tmp_path / "state" / "reservations"
    (reservations / uuid).write_bytes(b"")
    (reservations / "22222222-1ed2-4b0f-9b2e-4a5a7a3f5a10").write_bytes(b"")
    target = start_again(start)
    assert sorted(name for name in os.listdir(pool) if not name.endswith(".img")) == sorted(others)
    assert os.listdir(reservations) == ["22222222-1ed2-4b0f-9b2e-4a5a7a3f5a10"]
    for name in (stray, alone):
        assert "%s/%s is removed" % (pool, name) in target.daemon.stderr()
    assert files(pool) == sorted([own, *strangers])
    with connect(target) as a:
        assert delete(a, 1).ok and created(a) == 1 and delete(a, 1).ok
    target.daemon.stop()
    assert files(pool) == sorted(strangers)


def refused(start, words, **how):
    with pytest.raises(Violation) as failed:
        start(**how)
    assert "ended (1)" in str(failed.value) and re.search(words, str(failed.value)), failed.value


def serves_without(start, tmp_path, words):
    """namespace 1 is there, and its I/O fails; all else works"""
    before, had = record(tmp_path).read_bytes(), files(tmp_path / "pool")
    target = start()
    assert re.search(words, target.daemon.stderr())
    with connect(target) as a:
        assert nsids(a, 0x10) == [1, 2] and attach(a, 1).ok
        queue = a.io_queue()
        assert queue.read(0, nsid=1).status == 0x281 and queue.write(0, bytes(BLOCK), nsid=1).status == 0x280
        assert queue.flush(1).status == 0x280 and queue.write(0, bytes(BLOCK), nsid=2).ok
        assert created(a) == 3 and delete(a, 3).ok and detach(a, 1).ok
        targets.until("the file goes too", lambda: files(tmp_path / "pool") == had, lambda: alive(a))
    target.daemon.stop()
    assert record(tmp_path).read_bytes() == before


def test_what_cannot_be_served_is_refused_in_words(start, tmp_path):
    target = start()
    with connect(target) as a:
        assert created(a, 512) == 1
    target.daemon.stop()
    text = hosted(volume="file:%s/pool" % tmp_path, top="state_dir: %s/state\n" % tmp_path, size="1G")
    refused(start, "does not have", text=text.replace("example:live", "example:other"))
    refused(start, "has no place", text=re.sub(".*host_namespaces.*\n", "", text))
    refused(start, "has no place", text=re.sub("file:[^\"]*/pool", "mem", text))
    refused(start, "one that a host has made", text=text + "    namespaces:\n" + namespace(1))
    refused(start, "more than `host_namespaces` allows", text=text.replace("1G", "1M"))
    refused(start, "No such file", pool="nowhere")
    name = files(tmp_path / "pool")[0]
    os.rename(tmp_path / "pool" / name, tmp_path / "away")
    serves_without(start, tmp_path, "is lost, and its I/O fails: .*no such file")
    assert files(tmp_path / "pool") == [], "no empty one in its place"
    os.rename(tmp_path / "away", tmp_path / "pool" / name)
    with open(tmp_path / "pool" / name, "r+b") as f:
        f.truncate(MIB)
    serves_without(start, tmp_path, "is lost, and its I/O fails: .*smaller than it was")
    with open(tmp_path / "pool" / name, "r+b") as f:
        f.truncate(2 * MIB)
    right = record(tmp_path).read_bytes()
    for wrong in (right[:-1], right.replace(b"512 shared", b"513 shared"), b"", right + b"\n"):
        record(tmp_path).write_bytes(wrong)
        refused(start, "damaged")
        assert files(tmp_path / "pool") == [name]
    record(tmp_path).write_bytes(right)
    target = start()
    with connect(target) as a:
        assert nsids(a, 0x10) == [1, 2]


@pytest.mark.line("W82")
@pytest.mark.parametrize("seed", range(4))
def test_killed_between_wishes(start, tmp_path, seed):
    """what was answered is there after the restart; of what was not, all or nothing; and no file is left over"""
    rng = random.Random(seed)
    model = {}  # NSID: (blocks, hosts that have it, protected)
    target = start()
    for _ in range(5):
        pending = None
        with connect(target, 1) as a, connect(target, 2) as b:
            hosts = {1: a, 2: b}
            for n in range(rng.randrange(12)):
                nsid = rng.choice(sorted(model)) if model else None
                kind = rng.choice(["create", "create", "delete", "attach", "detach", "protect"])
                ctrl, number = rng.choice([a, b]), rng.choice([1, 2])
                if kind == "create" or nsid is None:
                    blocks = rng.randrange(1, 2000)
                    nsid = created(ctrl, blocks)
                    assert nsid == min(set(range(1, 99)) - set(model) - {2})
                    model[nsid] = (blocks, set(), False)
                    continue
                blocks, had, protected = model[nsid]
                if kind == "delete":
                    assert delete(ctrl, nsid).ok == (not protected)
                    if not protected:
                        del model[nsid]
                elif kind == "attach":
                    assert attach(ctrl, nsid, hosts[number]).ok == (number not in had)
                    model[nsid] = blocks, had | {number}, protected
                elif kind == "detach":
                    assert detach(ctrl, nsid, hosts[number]).ok == (number in had)
                    model[nsid] = blocks, had - {number}, protected
                elif had:
                    number = rng.choice(sorted(had))
                    assert protect(hosts[number], nsid, 0 if protected else PROTECT).ok
                    model[nsid] = blocks, had, not protected
            if rng.random() < 0.7:
                pending = rng.choice(["create", "delete"])
                if pending == "create":
                    submit_create(a, 777)
                else:
                    a.admin.submit(sqe(0x0D, nsid=max(model, default=ALL), cdw10=1))
            target.daemon.kill()
        target = start_again(start)
        with connect(target, 1) as a, connect(target, 2) as b:
            found = set(nsids(a, 0x10)) - {2}
            lost, more = set(model) - found, found - set(model)
            assert not lost or (pending == "delete" and lost == {max(model)}), (lost, pending)
            assert not more or (pending == "create" and len(more) == 1), (more, pending)
            for nsid in lost:
                del model[nsid]
            for nsid in more:
                model[nsid] = (777, set(), False)
            for nsid, (blocks, had, protected) in model.items():
                page = a.identified(0x11, nsid)
                assert int.from_bytes(page[:8], "little") == blocks and bool(page[99]) == protected
                assert (nsid in nsids(a)) == (1 in had) and (nsid in nsids(b)) == (2 in had)
            assert len(files(tmp_path / "pool")) == len(model)


# ---- what the disk may say ----

def test_no_room_for_a_file(start, tmp_path):
    """1:15, and nothing is left of it"""
    target = start(preexec=targets.small_files(32 * MIB))
    with connect(target) as a:
        for _ in range(3):
            assert create(a, 16384).status == NS_CAPACITY
        assert files(tmp_path / "pool") == [] and capacity(a)[1] == 1 << 30 and nsids(a, 0x10) == [2]
        assert record(tmp_path).exists(), "it says whose files they are, before there is one"
        assert created(a, 4096) == 1


@pytest.mark.line("W82")
def test_a_record_that_cannot_be_written(start, tmp_path):
    """0:06, and nothing has changed; or if it cannot take its place, it is said"""
    target = start()
    with connect(target) as a:
        assert created(a) == 1 and attach(a, 1).ok
        os.remove(tmp_path / "state" / "namespaces.new")  # the room that is kept for it
        os.mkdir(tmp_path / "state" / "namespaces.new")
        for request in (create(a), delete(a, 1), detach(a, 1), protect(a, 1, PROTECT)):
            assert request.status == INTERNAL and not request.dnr
        assert nsids(a) == nsids(a, 0x10) == [1, 2] and protection(a, 1) == 0
        assert len(files(tmp_path / "pool")) == 1
        assert protect(a, 1, UNTIL_POWER_CYCLE).ok, "which is not to be written"
        os.rmdir(tmp_path / "state" / "namespaces.new")
        os.rename(record(tmp_path), tmp_path / "kept")
        os.makedirs(record(tmp_path) / "in the way")
        assert create(a).status == INTERNAL and "is not kept" in target.daemon.stderr()
        os.rmdir(record(tmp_path) / "in the way")
        os.rmdir(record(tmp_path))
        assert created(a) == 4, "it is there all the same"
        assert nsids(a, 0x10) == [1, 2, 3, 4]
    target.daemon.kill()
    target = start_again(start)
    with connect(target) as a:
        assert nsids(a, 0x10) == [1, 2, 3, 4] and protection(a, 1) == 0


def test_reservations_go_with_their_namespace(start, tmp_path):
    target = start()
    folder = tmp_path / "state" / "reservations"
    with connect(target) as ctrl:
        nsid = created(ctrl)
    a = Host(target.address(), 0, nsid=nsid, subnqn=ctrl.how["subnqn"])
    assert attach(a.ctrl, nsid).ok
    assert a.register(1, cptpl=3) == 0 and a.acquire(1, EA) == 0
    assert a.ctrl.get_feature(PERSIST, nsid=nsid).dw0 == 1 and len(os.listdir(folder)) == 1
    assert a.queue.call(sqe(0x04, nsid=nsid, cdw10=3, cdw12=0)).ok, "a bad block, of which there is a file, too"
    assert any(name.endswith(".bad") for name in os.listdir(tmp_path / "pool"))
    assert delete(a.ctrl, nsid).ok
    targets.until("all is gone", lambda: not os.listdir(folder) + os.listdir(tmp_path / "pool"), lambda: alive(a.ctrl))
    assert created(a.ctrl) == nsid and attach(a.ctrl, nsid).ok and a.io("write") == 0


def test_memory_goes_with_the_process(start, tmp_path):
    text = hosted(namespace(2), volume="mem", top="state_dir: %s/state\n" % tmp_path)
    target = start(text=text)
    with connect(target) as a:
        assert attach(a, created(a)).ok and protect(a, 1, PROTECT).ok and protect(a, 2, PROTECT).ok
        assert not record(tmp_path).exists(), "there is nothing to keep"
    target.daemon.stop()
    target = start(text=text)
    with connect(target) as a:
        assert nsids(a, 0x10) == [2] and protection(a, 2) == 0


def test_a_file_without_a_state_dir_is_an_error(tmp_path):
    path = tmp_path / "weir.yaml"
    path.write_text(conf(namespace(1), groups="    host_namespaces: { volume: file:/srv, size: 1G }\n"))
    done = targets.run("check", path)
    assert done.returncode == 1 and "weir.yaml:5: namespaces in files need a `state_dir`" in done.stderr


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 4 MiB."""
    where = tmp_path / "small"
    where.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4M", "tmpfs", where], stderr=subprocess.PIPE)
    if mounted.returncode != 0:
        pytest.skip("cannot mount a tmpfs: %s" % mounted.stderr.decode().strip())
    yield where
    subprocess.run(["umount", where], check=True)


@pytest.mark.parametrize("again", [False, True], ids=["running", "started again"])
def test_on_a_full_disk_hosts_can_delete_what_fills_it(small_disk, serve, again):
    """and detach, and protect and not protect any more"""
    (small_disk / "pool").mkdir()
    path, control = str(small_disk / "weir.yaml"), str(small_disk / "control")
    with open(path, "w") as f:
        f.write(hosted(volume="file:%s/pool" % small_disk, top="state_dir: %s/state\n" % small_disk, size="1G"))

    def start():
        return Live(serve("--control", control, config=path), path, control)

    def fill():
        with pytest.raises(OSError), open(small_disk / "filler", "wb", buffering=0) as f:
            while True:
                f.write(bytes(BLOCK))

    target = start()
    with connect(target) as a:
        for nsid in (1, 2, 3):
            assert created(a, 4096) == nsid and attach(a, nsid).ok
    fill()
    if again:
        target.daemon.stop()
        target = start()
    with connect(target) as a:
        assert detach(a, 3).ok and protect(a, 2, PROTECT).ok
        fill()
        assert protect(a, 2, 0).ok and delete(a, 2).ok
        fill()
        assert delete(a, 3).ok and nsids(a, 0x10) == [1]
        targets.until("the files go", lambda: len(files(small_disk / "pool")) == 1, lambda: alive(a))
    target.daemon.stop()
    target = start()
    with connect(target) as a:
        assert nsids(a, 0x10) == [1]
    target.daemon.stop()
