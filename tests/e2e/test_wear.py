"""Volumes on modelled drives wear: what a host sees of it in the SMART log, page 02h."""
import json
import os
import re

import pytest

import nvme
import target as targets
from events import SMART, read

BLOCK, MIB = 4096, 1 << 20
READ, WRITTEN, READS, WRITES = 32, 48, 64, 80


def number(page, at, length=16):
    return int.from_bytes(page[at:at + length], "little")


@pytest.fixture
def profile(tmp_path):
    """A built-in profile, but of a drive that bears so little, in a file: what follows `flash:`."""
    def make(name, endurance):
        with open(os.path.join(targets.REPO, "profiles", name + ".yaml")) as built_in:
            text, count = re.subn(r"^endurance: \d+", "endurance: %d" % endurance, built_in.read(), flags=re.M)
        assert count == 1
        path = tmp_path / ("%s-%d.yaml" % (name, endurance))
        path.write_text(text)
        return str(path)
    return make


def health(ctrl):
    """(warnings, spare, threshold, used)"""
    page = ctrl.logged(2, 512)
    return page[0], page[3], page[4], page[5]


def write_all(queue, nsid, bytes_):
    for at in range(0, bytes_, MIB):
        assert queue.write(at // BLOCK, bytes(MIB), nsid=nsid).ok


def test_a_drive_that_is_written_wears(serve, profile):
    """as its endurance says; units are what hosts wrote; whichever reactor a host is on is told the same"""
    target = serve("--reactors", "3", ns=["mem:16M", "flash:%s,16M" % profile("optane", 4)])
    ctrls = [nvme.Controller(target.address, hostid=bytes(15) + bytes([n])) for n in range(1, 6)]
    queue = ctrls[0].io_queue()
    for lives in range(1, 13):
        write_all(queue, 2, 16 * MIB)
        pages = [ctrl.logged(2, 512) for ctrl in ctrls]
        assert {page[:6] for page in pages} == {pages[0][:6]}
        assert number(pages[0], WRITTEN) == -(-lives * 16 * MIB // 512000)
        assert (number(pages[0], WRITES), number(pages[0], READ), number(pages[0], READS)) == (lives * 16, 0, 0)
        # In percent, which may be beyond 100 but has one byte; that is no reason for a warning.
        assert health(ctrls[0]) == (0, 100, 10, min(25 * lives, 255))
    write_all(queue, 1, 16 * MIB)
    assert health(ctrls[0]) == (0, 100, 10, 255), "memory does not wear"
    for ctrl in ctrls:
        ctrl.close()


def test_the_worst_volume_of_a_subsystem_counts(serve, profile, tmp_path):
    """what it was prepared with, too; a filter before it does not hide it; and so it is kept when the target ends"""
    state = tmp_path / "state"
    state.mkdir()
    little, much = profile("tlc-plp", 500), profile("tlc-plp", 100)
    condition = json.loads(targets.run("flash", "condition", much, "--size", "513M", "--out", tmp_path / "kept",
                                       "--json").stdout)
    used = condition["used_percent"]
    assert 5 < used < 50 and condition["erases_least"] < condition["erases_most"]
    assert used == condition["erases_mean_permille"] // 10 // 100
    worn = "volatile:@flash:%s,513M,state=fragmented" % much
    less = "flash:%s,513M,state=sequential" % little
    target = serve("--state-dir", str(state), "--reactors", "2", ns=[less, worn, "mem:16M"])
    with nvme.Controller(target.address) as ctrl:
        assert health(ctrl) == (0, 100, 10, used)
    uri = "nvme+tcp://127.0.0.1:%d/%s" % (target.port, nvme.SUBNQN)
    said = json.loads(targets.run("id", uri, "--log", "smart", "--json").stdout)
    assert said["smart"]["used_percent"] == used
    target.stop()
    target = serve("--state-dir", str(state), ns=["mem:16M"])
    with nvme.Controller(target.address) as ctrl:
        snapshots = [event for event in read(ctrl).events if event.type == SMART]
        assert [event.data[5] for event in snapshots] == [used]
        assert health(ctrl) == (0, 100, 10, 0), "the drives are gone"
