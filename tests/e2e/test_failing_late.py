"""A write of what is kept that fails may have landed: what is answered as done afterwards outlives a restart all the same."""
import os

import pytest

import nvme
import target as targets
from test_bad_blocks import mark


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
        assert bytes(queue.read(8).got) == bytes(4096)
        assert not queue.write(8, b"a" * 4096).ok, "nobody knows what stands in the list"
        failing.mend()
        assert queue.write(8, b"a" * 4096, fua=True).ok and queue.flush().ok
    target.stop()
    with nvme.Controller(serve(ns=[volume]).address) as ctrl:
        ctrl.grant()
        queue = ctrl.io_queue()
        assert bytes(queue.read(8).got) == b"a" * 4096
        assert queue.read(100).status == nvme.READ_ERROR
