"""A write of what is kept that fails may have landed: what is answered as done afterwards outlives a restart all the same."""
import os

import pytest

import nvme
import target as targets
from nvme import OK
from reservations import EA, PERSIST, UNREGISTER, Host
from test_bad_blocks import mark

A = 0xAAAA


class Failing:
    """Writes of files with `part` in their path fail, late, from fail() to mend()."""

    def __init__(self, folder):
        self.library, self.flag = targets.preload("failing_late", folder), str(folder / "failing")

    def env(self, part):
        return {"LD_PRELOAD": self.library, "WEIR_FAILING": self.flag, "WEIR_FAILING_PART": part}

    def fail(self):
        open(self.flag, "w").close()

    def mend(self):
        os.unlink(self.flag)


@pytest.fixture
def failing(tmp_path):
    if targets.sanitized():
        pytest.skip("a sanitizer is preloaded itself")
    return Failing(tmp_path)


def test_what_is_written_after_a_mark_that_failed(serve, tmp_path, failing):
    """the list of bad blocks may say that the block is bad, until it is written again"""
    volume = "file:%s/volume,size=16M" % tmp_path
    target = serve("--files", "threads", ns=[volume], env=failing.env(".bad"))
    with nvme.Controller(target.address) as ctrl:
        ctrl.grant()
        queue = ctrl.io_queue()
        assert mark(queue, 100).ok
        failing.fail()
        assert mark(queue, 8).status == nvme.WRITE_FAULT
        assert not queue.write(8, b"a" * 4096).ok, "nobody knows what stands in the list"
        failing.mend()
        assert queue.write(8, b"a" * 4096, fua=True).ok and queue.flush().ok
    target.stop()
    with nvme.Controller(serve(ns=[volume]).address) as ctrl:
        ctrl.grant()
        queue = ctrl.io_queue()
        assert bytes(queue.read(8).got) == b"a" * 4096
        assert queue.read(100).status == nvme.READ_ERROR


def test_what_is_read_after_a_mark_that_failed(serve, tmp_path, failing):
    """a block whose mark may be in the list is read only once the list says for certain that it is not"""
    volume = "file:%s/volume,size=16M" % tmp_path
    target = serve("--files", "threads", ns=[volume], env=failing.env(".bad"))
    with nvme.Controller(target.address) as ctrl:
        ctrl.grant()
        queue = ctrl.io_queue()
        assert mark(queue, 100).ok
        failing.fail()
        assert mark(queue, 8).status == nvme.WRITE_FAULT
        assert queue.read(8).status == nvme.READ_ERROR, "after a restart it might not be readable"
        failing.mend()
        assert bytes(queue.read(8).got) == bytes(4096)
    target.stop()
    with nvme.Controller(serve(ns=[volume]).address) as ctrl:
        ctrl.grant()
        queue = ctrl.io_queue()
        assert bytes(queue.read(8).got) == bytes(4096)
        assert queue.read(100).status == nvme.READ_ERROR


def set_persist(host, value):
    return host.ctrl.set_feature(PERSIST, value, nsid=1).status


def let_go(host):
    assert host.release(A, EA) == OK and host.register(0, A, action=UNREGISTER) == OK


def clear_what_is_clear(host):
    assert set_persist(host, 0) == OK


@pytest.mark.parametrize("after", [let_go, clear_what_is_clear])
def test_what_is_done_after_reservations_that_could_not_be_kept(serve, tmp_path, failing, after):
    """what is kept may say that they are to be kept, until it is written again"""
    how = {"ns": ["file:%s/volume,size=16M" % tmp_path]}
    target = serve("--files", "threads", "--state-dir", str(tmp_path / "state"), env=failing.env("/reservations/"), **how)
    host = Host(target.address, 0)
    assert set_persist(host, 1) == OK and set_persist(host, 0) == OK
    assert host.register(A) == OK and host.acquire(A, EA) == OK
    failing.fail()
    assert set_persist(host, 1) == nvme.INTERNAL and not host.report().ptpl
    failing.mend()
    after(host)
    host.close()
    target.stop()
    other = Host(serve("--state-dir", str(tmp_path / "state"), **how).address, 1)
    assert other.report().count == 0 and not other.report().ptpl and other.io("write") == OK
    other.close()


def test_what_is_kept_is_in_doubt_only_where_a_state_may_have_landed(serve, tmp_path, failing):
    """not where the file could not be formatted, and not once a write has succeeded"""
    target = serve("--files", "threads", "--state-dir", str(tmp_path / "state"),
                   ns=["file:%s/volume,size=16M" % tmp_path], env=failing.env("/reservations/"))
    host = Host(target.address, 0)
    failing.fail()
    assert set_persist(host, 1) == nvme.INTERNAL
    assert host.register(A) == OK and host.acquire(A, EA) == OK
    let_go(host)
    failing.mend()
    assert set_persist(host, 1) == OK
    failing.fail()
    assert set_persist(host, 0) == nvme.INTERNAL
    failing.mend()
    assert set_persist(host, 0) == OK
    failing.fail()
    assert host.register(A) == OK, "of what is not kept nothing is written"
    assert set_persist(host, 1) == nvme.INTERNAL
    assert host.acquire(A, EA) == nvme.INTERNAL and host.report().type == 0, "nobody knows what is kept"
    host.close()


def test_a_folder_whose_name_could_not_be_made_durable_is_not_left(tmp_path, failing):
    """the next start would take it for durable, were it there"""
    (tmp_path / "above").mkdir()
    state = tmp_path / "above" / "state"
    failing.fail()
    result = targets.run("serve", "--ns", "mem:1M", "--listen", "127.0.0.1:0", "--state-dir", state,
                         env=dict(os.environ, **failing.env("/above")))
    assert result.returncode == 1 and "cannot make the state directory" in result.stderr
    assert not state.exists()
