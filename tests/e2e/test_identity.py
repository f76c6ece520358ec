"""Who a volume is: the ids that hosts know it by belong to where its blocks are, however that is written."""
import os
import shutil
import stat
import subprocess

import pytest

import nvme
import target as targets

MIB = 1 << 20


def ids_of(target, nsid=1):
    """(NGUID, the list of identification descriptors with the UUID)"""
    with nvme.Controller(target.address) as ctrl:
        return ctrl.identified(0, nsid)[104:120], ctrl.identified(3, nsid)


def ids_after_start(serve, *specs):
    """those of each volume of a target that is started for this alone"""
    target = serve(ns=specs)
    ids = [ids_of(target, nsid) for nsid in range(1, len(specs) + 1)]
    target.stop()
    return ids


@pytest.mark.parametrize("name", ["a,b.img", "a,size=16M", "file:a.img", "mem:a", "a b.img", "fault:x@y"])
@pytest.mark.line("I07", "W55")
def test_any_name_of_a_file_keeps_its_ids(serve, tmp_path, name):
    """the name is cut where the volume's own parser cuts it"""
    spec = "file:%s,size=16M" % (tmp_path / name)
    assert ids_after_start(serve, spec) == ids_after_start(serve, spec)
    assert (tmp_path / name).exists()


@pytest.mark.line("I07", "W55")
def test_the_ids_belong_to_the_file_and_not_to_what_was_written(serve, tmp_path):
    """with a size, without, by another path, behind a filter, under a new name"""
    first, second = tmp_path / "a,b.img", tmp_path / "a"
    ids = ids_after_start(serve, "file:%s,size=16M" % first)
    assert ids_after_start(serve, "file:%s" % first) == ids
    assert ids_after_start(serve, "file:%s/../%s/%s" % (tmp_path, tmp_path.name, first.name)) == ids
    assert ids_after_start(serve, "fault:flush-error=9999,read-error=9@file:%s" % first) == ids
    other = ids_after_start(serve, "file:%s,size=16M" % second)
    assert other != ids, "what comes before the comma is another file"
    first.rename(tmp_path / "c.img")
    assert ids_after_start(serve, "file:%s" % (tmp_path / "c.img")) == ids


def knows_births(path):
    """whether the file system says when a file was made"""
    said = subprocess.run(["stat", "--format=%W", str(path)], stdout=subprocess.PIPE, text=True).stdout.strip()
    return said not in ("", "0", "-", "?")


def test_another_file_is_another_volume_whatever_number_it_gets(serve, tmp_path):
    """file systems give the number of a file that is removed to the next that is made"""
    path, seen, numbers = tmp_path / "a.img", [], set()
    for _ in range(4):
        seen += ids_after_start(serve, "file:%s,size=16M" % path)
        assert ids_after_start(serve, "file:%s" % path) == seen[-1:]
        if not knows_births(path) and path.stat().st_ino in numbers:
            pytest.skip("nothing tells the two apart on this file system")
        numbers.add(path.stat().st_ino)
        path.unlink()
    assert all(a[0] != b[0] and a[1] != b[1] for n, a in enumerate(seen) for b in seen[:n])


@pytest.fixture
def loop_device(tmp_path):
    """(the node of a loop device, another node of the same device)"""
    image, node = tmp_path / "loop.img", str(tmp_path / "node")
    with open(image, "wb") as f:
        f.truncate(16 * MIB)
    if os.getuid() != 0 or not shutil.which("losetup"):
        pytest.skip("needs root and losetup to have a block device")
    done = subprocess.run(["losetup", "--find", "--show", str(image)], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        pytest.skip("no loop device to be had: %s" % done.stderr.strip())
    device = done.stdout.strip()
    try:
        try:
            os.mknod(node, 0o600 | stat.S_IFBLK, os.stat(device).st_rdev)
            os.close(os.open(node, os.O_RDWR))
        except PermissionError:
            pytest.skip("no devices can be made, or none opened, in %s" % tmp_path)
        yield device, node
    finally:
        subprocess.run(["losetup", "--detach", device], check=True)


@pytest.mark.line("I07", "W55")
def test_a_block_device_is_the_same_by_any_node(serve, loop_device):
    """nodes in /dev are made anew at each boot"""
    device, node = loop_device
    ids = ids_after_start(serve, "file:" + device)
    assert ids_after_start(serve, "file:" + device) == ids
    assert ids_after_start(serve, "file:" + node) == ids


def test_a_block_device_that_somebody_else_uses_is_refused(serve, loop_device):
    """as a file system does that is mounted, and nobody else may use one of ours"""
    device, node = loop_device
    holder = os.open(device, os.O_RDWR | os.O_EXCL)
    done = targets.run("serve", "--listen", "127.0.0.1:0", "--ns", "file:" + device)
    os.close(holder)
    assert done.returncode == 1 and "in use" in done.stderr
    serve("--reactors", "2", ns=["file:" + device])
    with pytest.raises(OSError, match="busy"):
        os.open(node, os.O_RDWR | os.O_EXCL)


def test_a_block_device_is_one_volume_by_whatever_nodes(loop_device):
    specs = ["--ns=file:" + path for path in loop_device]
    done = targets.run("serve", "--listen", "127.0.0.1:0", *specs)
    assert done.returncode == 1 and "already served as namespace 1" in done.stderr
