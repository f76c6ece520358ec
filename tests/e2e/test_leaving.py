"""What a controller wished of namespaces is over when its host, or the operator, is told that it is gone; and when the
target ends.  (doc/namespaces.md; in virtual time: tests/sim/test_leaving.c)"""
import os
import signal

import nvme
from namespaces import DELETE, attach, created, files, host, hosted, nsids, submit_create
from nvme import name_of, sqe
from test_live import NQN, live, namespace  # noqa: F401 - live is a fixture

FEATURE, FENCE, ALLOCATED = 0xD7, 0xD8, 0x10
LINE = 60


def configuration(tmp_path, **more):
    return hosted(namespace(1024), volume="file:%s/pool" % tmp_path, size="1G",
                  top="state_dir: %s/state\n" % tmp_path, **more)


def connect(target, number):
    return nvme.Controller(target.address(), subnqn=NQN, hostid=host(number), hostnqn=name_of(host(number)))


def submit_delete(ctrl, nsid):
    ctrl.admin.submit(sqe(0x0D, nsid=nsid, cdw10=DELETE))


def what_is_left(ctrl):
    """The namespaces there are, when a wish that came last of all has been answered, but for that one's."""
    mine = created(ctrl)
    return [nsid for nsid in nsids(ctrl, ALLOCATED) if nsid != mine]


def test_a_fenced_path_deletes_nothing_any_more(live, tmp_path):  # noqa: F811
    os.mkdir(tmp_path / "pool")
    target = live(configuration(tmp_path), "--reactors", "2")
    dead, survivor = connect(target, 1), connect(target, 1)
    crowd = [connect(target, 2) for _ in range(LINE)]
    nsid = created(survivor)
    assert attach(survivor, nsid).ok
    queue = survivor.io_queue()
    assert survivor.set_feature(FEATURE, 1 << 4).ok
    for ctrl in crowd:  # the line has a length
        submit_create(ctrl, 256)
    submit_delete(dead, nsid)
    assert dead.get_feature(0x07).ok  # it was heard
    answer = survivor.admin.call(sqe(FENCE, cdw10=dead.cntlid))
    assert answer.ok and answer.dw0 == 1
    there = nsid in nsids(survivor)
    assert queue.write(0, os.urandom(4096), nsid=nsid, fua=True).ok == there
    created(survivor)  # and all that stood in line before
    assert (nsid in nsids(survivor)) == there  # active: its number may be another's by now


def test_a_host_that_was_put_out_deletes_nothing_any_more(live, tmp_path):  # noqa: F811
    os.mkdir(tmp_path / "pool")
    target = live(configuration(tmp_path, hosts=[name_of(host(1)), name_of(host(2))]))
    stays = connect(target, 2)
    victims = [created(stays) for _ in range(LINE)]
    for ctrl, nsid in [(connect(target, 1), nsid) for nsid in victims]:
        submit_delete(ctrl, nsid)
    target.applied(configuration(tmp_path, hosts=[name_of(host(2))]))
    then = nsids(stays, ALLOCATED)
    assert what_is_left(stays) == then


def test_what_waits_when_the_target_ends_is_not_begun(live, tmp_path):  # noqa: F811
    os.mkdir(tmp_path / "pool")
    target = live(configuration(tmp_path))
    for ctrl in [connect(target, 1) for _ in range(4 * LINE)]:
        submit_create(ctrl, 256)
    target.daemon.process.send_signal(signal.SIGTERM)
    assert target.daemon.process.wait(60) == 0
    target.daemon.stopped = True
    assert target.daemon.stderr().count("the target is stopping") <= 1  # of the one that was at work
    target = live(configuration(tmp_path))
    with connect(target, 1) as ctrl:
        smart = ctrl.logged(2, 512)
        assert int.from_bytes(smart[144:160], "little") == 0  # unsafe shutdowns
        assert len(files(tmp_path / "pool")) == len(nsids(ctrl, ALLOCATED)) - 1
