"""One file is one volume: not two, by whatever names, and not the list of bad blocks of another."""
import os

import pytest

import nvme
import target as targets
from namespaces import attach, created, hosted
from test_live import NQN, active, conf, connect, live, namespace  # noqa: F401: `live` is a fixture

BLOCK = 4096
MIB = 1 << 20
OTHER = "nqn.2026-11.example:other"


@pytest.fixture
def folder(tmp_path):
    """A file with more names than one."""
    folder = tmp_path / "volumes"
    folder.mkdir()
    with open(folder / "v", "wb") as made:
        made.truncate(16 * MIB)
    os.link(folder / "v", folder / "hard")
    os.symlink("v", folder / "soft")
    os.symlink(str(folder), tmp_path / "way")
    return str(folder)


def files_below(folder):
    return [os.path.join(at, name) for at, _, names in os.walk(folder) for name in names]


def sizes(folder):
    return {name: os.path.getsize(os.path.join(folder, name)) // MIB for name in os.listdir(folder)}


def file(folder, name, size="16M", nsid=2, kind="%s"):
    return namespace(nsid, kind % ("file:%s/%s" % (folder, name)), size)


NAMES = ["./v", "/v", "../way/v", "soft", "hard"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", ["%s", "volatile:@%s"])
def test_a_file_of_two_names_is_not_applied(live, folder, name, kind):
    """and not made larger on the way"""
    target = live(conf(file(folder, "v", nsid=1)))
    before = sizes(folder)
    with connect(target) as ctrl:
        done = target.apply(conf(file(folder, "v", nsid=1), file(folder, name, "32M", kind=kind)))
        assert done.returncode == 1 and "is already served as namespace 1 of %s" % NQN in done.stderr, done
        assert active(ctrl) == [1] and sizes(folder) == before


@pytest.mark.parametrize("first, second", [("v", name) for name in NAMES] + [("soft.bad", "v"), ("v", "soft.bad")])
def test_that_two_new_namespaces_are_one_file_is_said_before(live, folder, first, second):
    """`weir diff` says what apply will"""
    target = live(conf())
    before = sizes(folder)
    done = target.apply(conf(file(folder, first, nsid=1), file(folder, second, "32M")))
    said = targets.run("diff", "--control", target.control, target.path)
    words = "namespace 2: %s/%s: is already served as namespace 1 of %s\n" % (folder, second, NQN)
    assert done.returncode == 1 and done.stderr.endswith(words), done
    assert said.stdout.endswith("! this cannot be applied: " + words) and sizes(folder) == before, said
    target.applied(conf(file(folder, "v", nsid=1)))


@pytest.mark.parametrize("name", NAMES)
def test_a_file_of_two_names_is_not_served(folder, tmp_path, name):
    """nor by two subsystems, nor as options say"""
    first = file(folder, "v", nsid=1)
    path = tmp_path / "twice.yaml"
    other = conf(file(folder, name, nsid=1), nqn=OTHER).partition("subsystems:\n")[2]
    for text in conf(first, file(folder, name)), conf(first) + other:
        path.write_text(text)
        done = targets.run("serve", "--control", "none", "--config", str(path), timeout=targets.START_S)
        assert done.returncode == 1 and "is already served as namespace 1 of %s" % NQN in done.stderr, done
    twice = [word for one in ("v", name) for word in ("--ns", "file:%s/%s" % (folder, one))]
    done = targets.run("serve", "--listen", "127.0.0.1:0", *twice, timeout=targets.START_S)
    assert done.returncode == 1 and "is already served as namespace 1 of" in done.stderr, done


@pytest.mark.parametrize("first, second", [("v", "v.bad"), ("v.bad", "v")])
@pytest.mark.parametrize("marked", [False, True])
def test_a_list_of_bad_blocks_is_no_volume(live, folder, first, second, marked):
    """whichever comes first, and whether there is a list yet"""
    target = live(conf(file(folder, first, nsid=1)))
    with connect(target) as ctrl:
        if marked:
            assert ctrl.io_queue().call(nvme.sqe(0x04, nsid=1, cdw10=600)).ok
        before = sizes(folder)
        done = target.apply(conf(file(folder, first, nsid=1), file(folder, second)))
        assert done.returncode == 1 and "is already served as namespace 1 of" in done.stderr, done
        assert active(ctrl) == [1] and sizes(folder) == before
        if marked:
            assert not ctrl.io_queue(2).read(600).ok


@pytest.mark.parametrize("link, to, names", [
    ("w", "v.bad", ("v", "w")), ("w", "v.bad", ("w", "v")), ("v.bad", "w", ("v", "w")), ("v.bad", "w", ("w", "v"))])
@pytest.mark.parametrize("steps", [1, 2])
def test_a_link_makes_no_volume_of_what_would_be_a_list_of_bad_blocks(live, folder, link, to, names, steps):
    """while neither is there; in one change or in two, in either order, nor at the start"""
    os.symlink(to, os.path.join(folder, link))
    target = live(conf())
    many = [file(folder, name, nsid=2 + n) for n, name in enumerate(names)]
    with connect(target) as ctrl:
        if steps == 2:
            target.apply(conf(many[0]))
        before = active(ctrl), set(os.listdir(folder))
        done = target.apply(conf(*many))
        assert done.returncode == 1 and ("bad blocks" in done.stderr or "is already served" in done.stderr), done
        assert (active(ctrl), set(os.listdir(folder))) == before
    target.daemon.stop()
    done = targets.run("serve", "--control", "none", "--config", target.path, timeout=targets.START_S)
    assert done.returncode == 1 and set(os.listdir(folder)) == before[1], done


@pytest.mark.parametrize("name", ["namespaces", "events/%s", "new", "../link"])
def test_what_lies_in_the_state_folder_is_no_volume(live, tmp_path, name):
    """nothing is done to it, and the target starts again"""
    top = "state_dir: %s/state\n" % tmp_path
    (tmp_path / "pool").mkdir()

    def text(*more):
        return hosted(namespace(1), *more, volume="file:%s/pool" % tmp_path, top=top)
    target = live(text())
    state = str(tmp_path / "state")
    os.symlink("state/reservations/new", tmp_path / "link")
    if "%s" in name:
        name = name % os.listdir(state + "/events")[0]
    with connect(target) as ctrl:
        made = created(ctrl)
        before = {at: os.path.getsize(at) for at in files_below(state)}
        other = text(namespace(9, "file:%s/%s" % (state, name)))
        done = target.apply(other)
        assert done.returncode == 1 and "it lies in %s, where the target keeps" % state in done.stderr, done
        assert {at: os.path.getsize(at) for at in files_below(state)} == before
        assert active(ctrl) == [1] and attach(ctrl, made).ok
    target.daemon.stop()
    with open(target.path, "w") as f:
        f.write(other)
    done = targets.run("serve", "--control", "none", "--config", target.path, timeout=targets.START_S)
    assert done.returncode == 1 and "it lies in %s, where the target keeps" % state in done.stderr, done
    assert live(text()).daemon.alive()


WORDS = [("v", "fault:delay=1@%s", {}), ("v", "volatile:@%s", {}), ("v", "%s", {"block_size": 512}),
         ("hard", "%s", {}), ("soft", "%s", {})]


@pytest.mark.parametrize("name, kind, more", WORDS)
@pytest.mark.parametrize("keeps", [False, True])
def test_a_namespace_said_in_other_words_is_taken_away_first(live, folder, tmp_path, name, kind, more, keeps):
    """`weir diff` says so, nothing changes, and in two changes it is done; where reservations are kept, too"""
    top = "state_dir: %s/state\n" % tmp_path if keeps else ""
    target = live(conf(file(folder, "v", nsid=1), top=top))
    other = conf(namespace(1, kind % ("file:%s/%s" % (folder, name)), "32M", **more), namespace(2), top=top)
    size = more.get("block_size", BLOCK)
    data = os.urandom(BLOCK)
    before = sizes(folder)
    with connect(target) as ctrl:
        queue = ctrl.io_queue()
        assert queue.write(0, data, fua=True).ok
        done = target.apply(other)
        assert done.returncode == 1 and "take the namespace away in one change, and bring it back" in done.stderr, done
        assert active(ctrl) == [1] and bytes(queue.read(0).got) == data and sizes(folder) == before
        said = targets.run("diff", "--control", target.control, target.path)
        assert said.returncode == 1, said
        assert said.stdout.splitlines()[-1].startswith("! this cannot be applied: namespace 1: "), said
        target.applied(conf(namespace(2), top=top))
        target.applied(other)
        assert active(ctrl) == [1, 2]
        assert bytes(queue.read(0, BLOCK // size, block_size=size).got) == data


@pytest.mark.parametrize("name", ["v", "soft"])
def test_a_file_goes_from_one_namespace_to_another_in_two_changes(live, folder, name):
    target = live(conf(file(folder, "v", nsid=1)))
    other = conf(file(folder, name, nsid=2))
    with connect(target) as ctrl:
        done = target.apply(other)
        assert done.returncode == 1 and "is already served as namespace 1 of %s" % NQN in done.stderr, done
        said = targets.run("diff", "--control", target.control, target.path)
        assert "! this cannot be applied: namespace 2: " in said.stdout and active(ctrl) == [1]
        target.applied(conf())
        target.applied(other)
        assert active(ctrl) == [2]


def test_a_namespace_that_comes_back_waits_for_what_is_in_flight(live, folder):
    """what was written before it went is there, or never will be"""
    target = live(conf(file(folder, "v", nsid=1, kind="fault:delay-write=500@%s")))
    old, new = b"\x11" * BLOCK, b"\x22" * BLOCK
    with connect(target) as ctrl:
        queue = ctrl.io_queue()
        queue.submit_write(0, old)
        ctrl.keep_alive()  # it has arrived
        target.applied(conf())
        target.applied(conf(file(folder, "hard", nsid=1)))
        assert bytes(queue.read(0).got) == old
        assert queue.write(0, new, fua=True).ok and bytes(queue.read(0).got) == new
    target.daemon.stop()
    with open(os.path.join(folder, "v"), "rb") as kept:
        assert kept.read(BLOCK) == new


def test_a_namespace_that_comes_back_does_not_wait_for_ever(live, folder):
    text = conf(file(folder, "v", nsid=1, kind="fault:delay-write=8000@%s"))
    target = live(text)
    with connect(target) as ctrl:
        ctrl.io_queue().submit_write(0, bytes(BLOCK))
        ctrl.keep_alive()
        target.applied(conf())
        done = target.apply(text)
        assert done.returncode == 1 and "which is being given up, still uses it: try again" in done.stderr, done
        target.applied(conf(namespace(2)))  # and another change goes on
        assert active(ctrl) == [2]
    target.daemon.kill()


UUID = "11111111-2222-4333-8444-555555555555"


@pytest.mark.parametrize("nsid", [1, 3])
def test_a_uuid_that_things_are_kept_by_goes_to_another_file_in_two_changes(live, folder, tmp_path, nsid):
    """to the same namespace or another; it waits for what is in flight"""
    def text(nsid, name, kind="%s"):
        return conf(namespace(2), namespace(nsid, kind % ("file:%s/%s" % (folder, name)), uuid=UUID),
                    top="state_dir: %s/state\n" % tmp_path)
    target = live(text(1, "a", "fault:delay-write=500@%s"))
    words = "in another way: take the namespace away" if nsid == 1 else "is already served as namespace 1 of"
    with connect(target) as ctrl:
        queue = ctrl.io_queue()
        done = target.apply(text(nsid, "b"))
        assert done.returncode == 1 and "UUID %s: " % UUID in done.stderr and words in done.stderr, done
        said = targets.run("diff", "--control", target.control, target.path)
        assert "! this cannot be applied: namespace %d: UUID %s" % (nsid, UUID) in said.stdout, said
        assert active(ctrl) == [1, 2] and not os.path.exists(folder + "/b")
        write = queue.submit_write(0, os.urandom(BLOCK))
        ctrl.keep_alive()  # it has arrived
        target.applied(conf(namespace(2), top="state_dir: %s/state\n" % tmp_path))
        target.applied(text(nsid, "b"))
        assert queue.wait(write).ok and active(ctrl) == sorted([2, nsid])
        assert bytes(queue.read(0, nsid=nsid).got) == bytes(BLOCK)


def test_a_uuid_that_nothing_is_kept_by_goes_to_another_file_at_once(live, folder):
    target = live(conf(namespace(1, "file:%s/a" % folder, uuid=UUID)))
    with connect(target) as ctrl:
        target.applied(conf(namespace(1, "file:%s/b" % folder, uuid=UUID)))
        assert active(ctrl) == [1]


@pytest.mark.parametrize("volume", ["file:%s/v", "mem"])
@pytest.mark.parametrize("before", [{}, {"uuid": "11111111-2222-4333-8444-666666666666"}])
def test_the_uuid_that_things_are_kept_by_changes_in_two_changes(live, folder, tmp_path, volume, before):
    """`weir diff` says so"""
    def text(more):
        return conf(namespace(1, volume.replace("%s", folder), **more), top="state_dir: %s/state\n" % tmp_path)
    target = live(text(before))
    with connect(target) as ctrl:
        known = ctrl.identified(3, 1)
        done = target.apply(text({"uuid": UUID}))
        assert done.returncode == 1 and "its UUID cannot change while it is served" in done.stderr, done
        assert "take the namespace away in one change, and bring it back in the next" in done.stderr
        said = targets.run("diff", "--control", target.control, target.path)
        assert said.stdout.splitlines()[-1].startswith("! this cannot be applied: namespace 1 of "), said
        assert ctrl.identified(3, 1) == known
        target.applied(conf(top="state_dir: %s/state\n" % tmp_path))
        target.applied(text({"uuid": UUID}))
        assert ctrl.identified(3, 1) != known


def processor_s(pid):
    with open("/proc/%d/stat" % pid) as f:
        return sum(map(int, f.read().rpartition(")")[2].split()[11:13])) / os.sysconf("SC_CLK_TCK")


def test_who_waits_for_a_uuid_does_not_keep_the_processor_busy(live, tmp_path):
    """where as many are kept as there are, and as many come"""
    def text(count, *more):
        """that one last, so that all others are looked at"""
        before, heading, last = conf(namespace(2), *more, top="state_dir: %s/state\n" % tmp_path).partition("subsystems:\n")
        every = ["  - nqn: %s%d\n    namespaces:\n" % (OTHER, k) +
                 "".join(namespace(n, "\"null\"", "1M", uuid="%08x-0000-4000-8000-%012x" % (k, n)) for n in range(1, 1001))
                 for k in range(count)]
        return before + heading + "".join(every) + last
    held = namespace(1, "\"fault:hold=0@null\"", "1M", uuid=UUID)
    target = live(text(2, held))
    with connect(target) as ctrl:
        ctrl.io_queue().submit_read(0, 1, nsid=1)
        ctrl.keep_alive()
        target.applied(text(2))
        before = processor_s(target.daemon.pid)
        done = target.apply(text(4, held))
        assert done.returncode == 1 and "which is being given up: try again" in done.stderr, done
        assert processor_s(target.daemon.pid) - before < (4 if targets.sanitized() else 1.5)
    target.daemon.kill()


def test_a_uuid_that_comes_back_does_not_wait_for_ever(live, folder, tmp_path):
    top = "state_dir: %s/state\n" % tmp_path
    target = live(conf(namespace(1, "fault:delay-write=8000@file:%s/a" % folder, uuid=UUID), top=top))
    with connect(target) as ctrl:
        ctrl.io_queue().submit_write(0, bytes(BLOCK))
        ctrl.keep_alive()
        target.applied(conf(top=top))
        done = target.apply(conf(namespace(1, "file:%s/b" % folder, uuid=UUID), top=top))
        assert done.returncode == 1 and "which is being given up: try again" in done.stderr, done
        assert not os.path.exists(folder + "/b")
    target.daemon.kill()


@pytest.mark.parametrize("there", ["nothing", "a file", "the file of another"])
def test_a_file_that_is_not_at_its_path_any_more_is_not_made_larger(live, folder, there):
    """nor is whatever is there; where it is back, it is"""
    path = folder + "/v"

    def text(size):
        return conf(file(folder, "v", size, nsid=1), file(folder, "w"))
    target = live(text("16M"))
    with connect(target) as ctrl:
        queue = ctrl.io_queue()
        data = os.urandom(BLOCK)
        assert queue.write(0, data).ok
        os.rename(path, path + ".old")
        if there == "a file":
            open(path, "w").close()
        elif there != "nothing":
            os.symlink("w", path)
        before = sizes(folder) if there != "nothing" else None  # names lead nowhere
        done = target.apply(text("32M"))
        assert done.returncode == 1 and "%s is no longer the file that is served" % path in done.stderr, done
        assert os.path.lexists(path) == (there != "nothing")
        assert before is None or sizes(folder) == before
        if there != "nothing":
            os.unlink(path)
        os.rename(path + ".old", path)
        target.applied(text("32M"))
        assert queue.write(8191, data).ok and bytes(queue.read(0).got) == data
    assert sizes(folder)["v"] == 32 and sizes(folder)["w"] == 16
