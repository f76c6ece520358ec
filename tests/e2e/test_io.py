"""I/O commands and their limits; disks that are full or broken."""
import os
import subprocess
import tempfile

import pytest

import nvme
import target as targets
from nvme import CAPACITY, INVALID_FIELD, INVALID_NS, INVALID_OPCODE, LBA_RANGE, READ_ERROR, WRITE_FAULT

BLOCK = 4096
MIB = 1 << 20


@pytest.mark.line("O01", "O16")
def test_blocks_come_back_as_written(volume):
    """one block, the most, the first and the last"""
    queue, size, blocks, _ = volume
    most = MIB // size
    for slba, count in ((0, 1), (blocks - 1, 1), (0, most), (blocks - most, most), (7, 3), (1, most - 1)):
        data = os.urandom(count * size)
        assert queue.write(slba, data, block_size=size).ok
        read = queue.read(slba, count, block_size=size)
        assert read.ok and bytes(read.got) == data


@pytest.mark.line("O01")
def test_neighbours_stay_as_they_were(volume):
    queue, size, _, _ = volume
    whole = bytearray(os.urandom(64 * size))
    assert queue.write(128, bytes(whole), block_size=size).ok
    for slba, count in ((128, 1), (191, 1), (150, 7), (135, 2)):
        data = os.urandom(count * size)
        assert queue.write(slba, data, block_size=size).ok
        whole[(slba - 128) * size:(slba - 128 + count) * size] = data
    assert bytes(queue.read(128, 64, block_size=size).got) == bytes(whole)


@pytest.mark.parametrize("opcode", [0x01, 0x02, 0x08])
@pytest.mark.line("O02")
def test_ranges_that_are_not_in_the_volume(volume, opcode):
    """0:80, computed without overflow"""
    queue, size, blocks, _ = volume
    for slba, count in ((blocks, 1), (blocks - 1, 2), ((1 << 64) - 1, 1), ((1 << 64) - 1, 2), (1 << 63, 8),
                        ((1 << 64) - 8, 16), (1 << 32, 1), (blocks + (1 << 32), 1)):
        command = nvme.sqe(opcode, nsid=1, cdw10=slba & 0xFFFFFFFF, cdw11=slba >> 32, cdw12=count - 1)
        data = bytes(count * size) if opcode == 1 else b""
        request = queue.call(command, data, want=count * size if opcode == 2 else 0)
        assert request.status == LBA_RANGE and request.dnr, hex(slba)


@pytest.mark.parametrize("opcode", [0x01, 0x02])
@pytest.mark.line("O03")
def test_transfers_beyond_mdts(volume, opcode):
    """0:02, and no R2T for it"""
    queue, size, _, _ = volume
    for count in (MIB // size + 1, 2 * MIB // size):
        data = bytes(count * size) if opcode == 1 else b""
        request = queue.call(nvme.sqe(opcode, nsid=1, cdw12=count - 1), data,
                             want=count * size if opcode == 2 else 0)
        assert request.status == INVALID_FIELD and request.asked == 0
    # As many blocks as the field can say: more than any transfer.
    request = queue.submit_raw(nvme.sqe(opcode, nsid=1, sgl1=nvme.sgl(0x5A, 65536 * size & 0xFFFFFFFF),
                                        cdw12=0xFFFF), want=65536 * size if opcode == 2 else 0)
    assert queue.wait(request).status in (INVALID_FIELD, nvme.SGL_LENGTH)


@pytest.mark.parametrize("opcode, nsid", [
    (opcode, nsid) for opcode in (0x00, 0x01, 0x02, 0x08, 0x09) for nsid in (0, 4, 0xFFFFFFFF, 0xFFFFFFFE, 0x80000001)
    if (opcode, nsid) != (0x00, 0xFFFFFFFF)])  # Flush of all is another test's
@pytest.mark.line("O04")
def test_namespaces_that_are_not_there(target, queue, opcode, nsid):
    """0:0B"""
    data = bytes(BLOCK) if opcode in (1, 9) else b""
    request = queue.call(nvme.sqe(opcode, nsid=nsid), data, want=BLOCK if opcode == 2 else 0)
    assert request.status == INVALID_NS and request.dnr


@pytest.mark.line("O06")
def test_flush_of_all_as_vwc_says(ctrl, queue):
    vwc = ctrl.identified(1)[525] >> 1 & 3
    assert vwc == 3 or nvme.STRANGER
    request = queue.flush(0xFFFFFFFF)
    assert request.ok if vwc == 3 else request.status == INVALID_NS if vwc == 2 else request.done


@pytest.mark.line("O05")
def test_durable_writes_survive_the_daemon(serve, tmp_path):
    """FUA and Flush; the daemon is killed"""
    spec = "file:%s/v.img,size=16M" % tmp_path
    first, second = os.urandom(BLOCK), os.urandom(64 * BLOCK)
    target = serve(ns=[spec])
    with nvme.Controller(target.address) as ctrl:
        queue = ctrl.io_queue()
        assert queue.write(0, first, fua=True).ok
        assert queue.write(100, second).ok and queue.flush().ok
        target.kill()
    target = serve(ns=[spec])
    with nvme.Controller(target.address) as ctrl:
        queue = ctrl.io_queue()
        assert bytes(queue.read(0).got) == first and bytes(queue.read(100, 64).got) == second


@pytest.mark.line("O07", "O08", "O09")
def test_zeroes_and_deallocated_blocks_read_as_zeros(volume):
    """and their neighbours do not"""
    queue, size, _, ctrl = volume
    assert ctrl.identified(0, 1)[33] & 7 == 1, "DLFEAT: zeros"
    data = os.urandom(64 * size)
    assert queue.write(0, data, block_size=size).ok
    assert queue.write_zeroes(8, 8).ok
    assert queue.write_zeroes(24, 8, deallocate=True).ok
    assert queue.deallocate([(40, 8)]).ok
    got = bytes(queue.read(0, 64, block_size=size).got)
    wanted = bytearray(data)
    for start in (8, 24, 40):
        wanted[start * size:(start + 8) * size] = bytes(8 * size)
    assert got == bytes(wanted)


@pytest.mark.line("O07")
def test_write_zeroes_frees_what_it_may(serve, tmp_path):
    """with DEAC; without it the blocks stay allocated"""
    path = tmp_path / "v.img"
    target = serve(ns=["file:%s,size=16M" % path])
    held = lambda: os.stat(path).st_blocks * 512
    with nvme.Controller(target.address) as ctrl:
        queue = ctrl.io_queue()
        assert ctrl.identified(0, 1)[33] >> 3 & 1, "DLFEAT: DEAC"
        assert queue.write(0, os.urandom(MIB)).ok and queue.write(256, os.urandom(MIB)).ok and queue.flush().ok
        full = held()
        assert queue.write_zeroes(0, 256).ok and queue.flush().ok and held() >= full >= 2 * MIB
        assert queue.write_zeroes(256, 256, deallocate=True).ok and held() <= full - MIB
        assert bytes(queue.read(256, 256).got) == bytes(queue.read(0, 256).got) == bytes(MIB)


@pytest.mark.line("O07", "W49")
def test_write_zeroes_is_not_bound_by_mdts(volume):
    queue, size, _, _ = volume
    data = os.urandom(size)
    assert queue.write(65536 - 1, data, block_size=size).ok if 65536 * size <= 64 * MIB else True
    count = min(65536, 64 * MIB // size)
    assert queue.write_zeroes(0, count).ok
    assert bytes(queue.read(count - 1, 1, block_size=size).got) == bytes(size)


@pytest.mark.parametrize("incapsule", [True, False])
@pytest.mark.line("O08")
def test_256_ranges(volume, incapsule):
    queue, size, _, ctrl = volume
    data = os.urandom(512 * size)
    most = MIB // size
    for at in range(0, 512, most):
        part = data[at * size:(at + most) * size]
        assert queue.write(at, part, block_size=size).ok
    assert queue.deallocate([(2 * n, 1) for n in range(256)], incapsule=incapsule).ok
    if ctrl.identified(0, 1)[33] & 7 == 1:
        for n in (0, 1, 254, 255, 510, 511):
            wanted = bytes(size) if n % 2 == 0 else data[n * size:(n + 1) * size]
            assert bytes(queue.read(n, 1, block_size=size).got) == wanted


@pytest.mark.line("O08")
def test_a_range_beyond_the_end_deallocates_nothing(volume):
    """0:80"""
    queue, size, blocks, _ = volume
    data = os.urandom(size)
    assert queue.write(0, data, block_size=size).ok
    for bad in ((blocks, 1), (blocks - 1, 2), ((1 << 64) - 1, 1), (0, 0xFFFFFFFF)):
        for before in (0, 1, 2, 100, 255):
            request = queue.deallocate([(0, 1)] * before + [bad] + [(0, 1)] * min(255 - before, 1))
            assert request.status == LBA_RANGE and request.dnr, (bad, before)
            assert bytes(queue.read(0, 1, block_size=size).got) == data


@pytest.mark.line("O08", "W50")
def test_hints_of_dataset_management_do_nothing(queue):
    """without AD"""
    data = os.urandom(BLOCK)
    assert queue.write(0, data).ok
    command = nvme.sqe(0x09, nsid=1, cdw11=3)
    assert queue.call(command, (0).to_bytes(4, "little") + (1).to_bytes(4, "little") + bytes(8)).ok
    assert bytes(queue.read(0).got) == data


@pytest.mark.line("O08")
def test_ranges_shorter_than_announced(queue):
    """256 ranges in 16 bytes: 0:0F or 0:02"""
    request = queue.call(nvme.sqe(0x09, nsid=1, cdw10=255, cdw11=4), bytes(16))
    assert request.status in (nvme.SGL_LENGTH, INVALID_FIELD)
    assert queue.read(0).ok


@pytest.mark.parametrize("opcode", [0x03, 0x06, 0x0A, 0x1D, 0x7E, 0x80, 0x83, 0xC1, 0xFF])
@pytest.mark.line("O15")
def test_unknown_opcodes(queue, opcode):
    """0:01"""
    request = queue.call(nvme.sqe(opcode, nsid=1))
    assert request.status == INVALID_OPCODE and request.dnr


@pytest.mark.line("O01", "I03", "W51")
def test_several_namespaces_are_several_volumes(serve, tmp_path):
    target = serve(ns=["mem:16M", "file:%s/a.img,size=8M" % tmp_path, "null:1T", "mem:1M"])
    with nvme.Controller(target.address) as ctrl:
        queue = ctrl.io_queue()
        data = {nsid: os.urandom(BLOCK) for nsid in (1, 2, 3, 4)}
        for nsid, d in data.items():
            assert queue.write(0, d, nsid=nsid).ok
        for nsid, d in data.items():
            got = bytes(queue.read(0, nsid=nsid).got)
            assert got == (bytes(BLOCK) if nsid == 3 else d)
        assert queue.read((1 << 40) // BLOCK - 1, nsid=3).ok
        assert queue.read(256, nsid=4).status == LBA_RANGE


@pytest.mark.line("O01", "W52")
def test_two_hosts_see_the_same_blocks(target):
    with nvme.Controller(target.address) as one, nvme.Controller(target.address, hostid=b"\7" * 16) as two:
        first, second = one.io_queue(), two.io_queue()
        for n in range(50):
            data = os.urandom(BLOCK)
            assert first.write(n, data).ok
            assert bytes(second.read(n).got) == data


# ---- broken and full disks ----

@pytest.mark.line("O20")
def test_a_read_error_is_a_status(serve):
    """2:81; counted by SMART; everything else goes on"""
    target = serve(ns=["fault:read-error=100@mem:64M"])
    with nvme.Controller(target.address) as ctrl:
        queue = ctrl.io_queue()
        assert queue.write(100, bytes(BLOCK)).ok
        for slba, blocks in ((100, 1), (90, 16), (100, 256)):
            request = queue.read(slba, blocks)
            assert request.status == READ_ERROR
        assert queue.read(101).ok and queue.read(84, 16).ok
        assert int.from_bytes(ctrl.logged(2, 512)[160:176], "little") == 3


@pytest.mark.line("O20")
def test_a_write_error_is_a_status(serve):
    """2:80, in the capsule and by R2T"""
    target = serve(ns=["fault:write-error=100@mem:64M"])
    with nvme.Controller(target.address) as ctrl:
        queue = ctrl.io_queue()
        assert queue.write(100, bytes(BLOCK)).status == WRITE_FAULT
        assert queue.write(90, bytes(16 * BLOCK)).status == WRITE_FAULT
        assert queue.write(101, bytes(BLOCK)).ok and queue.read(100).ok


@pytest.mark.line("O20", "W51")
def test_one_broken_volume_leaves_the_others_alone(serve):
    target = serve(ns=["fault:read-error=0@mem:16M", "mem:16M"])
    with nvme.Controller(target.address) as ctrl:
        queue = ctrl.io_queue()
        requests = [queue.submit_read(0, 1, nsid=1 + n % 2) for n in range(60)]
        queue.wait(*requests)
        assert all(r.status == READ_ERROR for r in requests[::2]) and all(r.ok for r in requests[1::2])


@pytest.fixture
def small_disk():
    """A file system of 4 MiB."""
    where = tempfile.mkdtemp()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4M", "tmpfs", where],
                             stderr=subprocess.PIPE, text=True)
    if mounted.returncode != 0:
        os.rmdir(where)
        pytest.skip("cannot mount a tmpfs: %s" % mounted.stderr.strip())
    yield where
    subprocess.run(["umount", where], check=True)
    os.rmdir(where)


@pytest.mark.parametrize("files", ["auto", "threads"])
@pytest.mark.line("O20")
def test_a_full_disk_is_a_status(serve, small_disk, files):
    """0:81; reads go on, and after deallocating so do writes"""
    target = serve("--files", files, ns=["file:%s/v.img,size=64M" % small_disk])
    with nvme.Controller(target.address) as ctrl:
        queue = ctrl.io_queue()
        data = os.urandom(MIB)
        results = [queue.write(256 * n, data) for n in range(8)]
        good = [r for r in results if r.ok]
        assert 2 <= len(good) <= 4
        assert all(r.status == CAPACITY for r in results if not r.ok)
        assert all(bytes(queue.read(256 * n, 256).got) == data for n in range(len(good)))
        assert queue.read(256 * 20, 256).ok
        assert queue.deallocate([(0, 512)]).ok
        assert queue.write(256 * 10, data[:BLOCK]).ok
        assert queue.flush().ok
        target.stop()


@pytest.mark.parametrize("files", ["auto", "threads"])
@pytest.mark.line("O20", "W53", "W54")
def test_a_file_that_may_not_grow_is_a_status(serve, tmp_path, files):
    """a limit on the process instead of the disk; 0:81 or a write fault, and the target lives"""
    path = tmp_path / "v.img"
    with open(path, "wb") as f:
        f.truncate(64 * MIB)
    target = serve("--files", files, ns=["file:%s" % path], preexec=targets.small_files(8 * MIB))
    with nvme.Controller(target.address) as ctrl:
        queue = ctrl.io_queue()
        assert queue.write(0, bytes(MIB)).ok
        request = queue.write(16 * MIB // BLOCK, os.urandom(MIB))
        assert request.status in (CAPACITY, WRITE_FAULT)
        straddling = queue.write(8 * MIB // BLOCK - 1, os.urandom(2 * BLOCK))
        assert straddling.status in (CAPACITY, WRITE_FAULT), "a short write is a failed write"
        assert queue.read(16 * MIB // BLOCK).ok and queue.write(1, bytes(BLOCK)).ok


@pytest.mark.line("O20", "W53")
def test_a_file_that_was_cut_short_behind_our_back(serve, tmp_path):
    """a short read is an error or zeros, never old memory; the target lives"""
    path = tmp_path / "v.img"
    target = serve(ns=["file:%s,size=16M" % path])
    with nvme.Controller(target.address) as ctrl:
        queue = ctrl.io_queue()
        data = os.urandom(16 * BLOCK)
        assert queue.write(0, data).ok and queue.write(2048, data).ok
        os.truncate(path, 8 * MIB)
        for slba in (2048, 2048 - 4, 3000):
            request = queue.read(slba, 8)
            assert request.status == READ_ERROR or request.ok and bytes(request.got[4 * BLOCK:]) == bytes(
                4 * BLOCK)
        assert bytes(queue.read(0, 16).got) == data
