"""Lines that a host can cause, as often as it likes: they fill no log, and who does not read them holds up nobody."""
import os
import re
import subprocess

import nvme
import target as targets
from namespaces import connect, create, host, hosted
from nvme import name_of
from test_live import NQN, live, namespace  # noqa: F401

TOO_MUCH = (3000 << 40) // 4096  # for any file system, but not for the operator


def conf(tmp_path):
    os.mkdir(tmp_path / "pool")
    return hosted(namespace(1024), volume="file:%s/pool" % tmp_path, top="state_dir: %s/state\n" % tmp_path,
                  size="4000T")


def test_they_are_so_many_a_minute(live, tmp_path):  # noqa: F811
    target = live(conf(tmp_path))
    with connect(target) as ctrl:
        for _ in range(60):
            assert not create(ctrl, TOO_MUCH).ok
    said = target.daemon.stderr()
    assert said.count("its file cannot be made") == 20, said
    assert "cannot be recorded" not in said


def fill(pipe):
    os.set_blocking(pipe, False)
    try:
        while True:
            os.write(pipe, b"x" * 4096)
    except BlockingIOError:
        os.set_blocking(pipe, True)


def test_nobody_waits_for_who_does_not_read_them(tmp_path):
    path = tmp_path / "weir.yaml"
    path.write_text(conf(tmp_path))
    unread, end = os.pipe()
    daemon = subprocess.Popen([targets.WEIR, "serve", "--control", "none", "--config", str(path)],
                              stdout=subprocess.PIPE, stderr=end, text=True)
    try:
        port = int(re.search(r":(\d+)$", daemon.stdout.readline()).group(1))
        assert "ready" in daemon.stdout.readline()
        fill(end)
        address = ("127.0.0.1", port)
        with nvme.Controller(address, subnqn=NQN, hostid=host(1), hostnqn=name_of(host(1))) as one:
            with nvme.Controller(address, subnqn=NQN, hostid=host(2), hostnqn=name_of(host(2))) as other:
                for _ in range(3):
                    assert not create(one, TOO_MUCH).ok
                assert other.io_queue().read(0, nsid=1024).ok
    finally:
        daemon.kill()
        daemon.wait()
        os.close(unread)
        os.close(end)
