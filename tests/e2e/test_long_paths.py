"""How long what an operator says may be: the same limit wherever it comes to, and what is longer is refused at the start."""
import os

import pytest

import nvme
import target as targets
from namespaces import PROTECT, protect, protection
from nvmetcp import PATIENCE
from test_live import conf, namespace

VOLUME_MAX, STATE_DIR_MAX = 220, 255
DEFAULT_NQN = "nqn.2026-11.local.weir:default"


def folder_of(path, bytes):
    """A folder below the path whose name in full is so long."""
    path = str(path)
    while len(path) < bytes:
        left = bytes - len(path) - 1
        path += "/" + "d" * (left if left <= 100 else 100 if left - 100 != 1 else 99)
    os.makedirs(path)
    return path


def spec_of(tmp_path, bytes, filters=""):
    """A specification of so many bytes, of a file that is there."""
    folder = folder_of(tmp_path, bytes - len(filters) - len("file:/v"))
    with open(folder + "/v", "wb") as f:
        f.truncate(16 << 20)
    return filters + "file:" + folder + "/v", folder


def control_of(tmp_path):
    return str(tmp_path / "control")


@pytest.mark.parametrize("relative", [False, True])
@pytest.mark.parametrize("filters", ["", "fault:delay=1@"])
def test_the_longest_volume_is_served_and_can_be_changed(serve, tmp_path, relative, filters):
    """protected by a host, told by diff, taken away by apply"""
    spec, folder = spec_of(tmp_path, VOLUME_MAX, filters)
    daemon = serve("--control", control_of(tmp_path), "--state-dir", str(tmp_path / "state"), cwd=folder,
                   ns=[(filters + "file:v" if relative else spec) + ",size=16M"])
    path = tmp_path / "next.yaml"
    with nvme.Controller(daemon.address) as ctrl:
        assert protect(ctrl, 1, PROTECT).ok and protection(ctrl, 1) == PROTECT
        top = "state_dir: %s/state\n" % tmp_path
        path.write_text(conf(namespace(2), nqn=DEFAULT_NQN, top=top))
        told = targets.run("diff", "--control", control_of(tmp_path), path)
        assert told.returncode == 1 and "- namespace 1 of %s: %s\n" % (DEFAULT_NQN, spec) in told.stdout, told
        applied = targets.run("apply", "--control", control_of(tmp_path), path)
        assert applied.returncode == 0, applied.stderr


@pytest.mark.parametrize("bytes", [VOLUME_MAX + 1, 240, 252, 300, 1000, 2000])
@pytest.mark.parametrize("relative", [False, True])
def test_a_longer_one_is_refused_at_the_start(tmp_path, relative, bytes):
    spec, folder = spec_of(tmp_path, bytes)
    done = targets.run("serve", "--listen", "127.0.0.1:0", "--control", "none", "--ns",
                       "file:v" if relative else spec, cwd=folder, timeout=5 * PATIENCE)
    assert done.returncode == 1 and "ready" not in done.stdout
    assert "--ns file:" in done.stderr and "has %d bytes, and %d at most" % (bytes, VOLUME_MAX) in done.stderr, done


@pytest.mark.parametrize("relative", [False, True])
def test_the_state_has_a_limit_too(serve, tmp_path, relative):
    folder = folder_of(tmp_path, STATE_DIR_MAX - len("/s"))
    for name, fits in (("s", True), ("ss", False)):
        said = name if relative else folder + "/" + name
        if fits:
            daemon = serve("--control", control_of(tmp_path), "--state-dir", said, ns=["null:1G"], cwd=folder)
            path = tmp_path / "next.yaml"
            path.write_text(conf(namespace(1)))
            assert targets.run("diff", "--control", control_of(tmp_path), path).returncode == 1
            daemon.stop()
            continue
        done = targets.run("serve", "--listen", "127.0.0.1:0", "--ns", "null:1G", "--state-dir", said, cwd=folder,
                           timeout=5 * PATIENCE)
        assert done.returncode == 1 and "--state-dir" in done.stderr, done
        assert "has %d bytes, and %d at most" % (STATE_DIR_MAX + 1, STATE_DIR_MAX) in done.stderr, done
