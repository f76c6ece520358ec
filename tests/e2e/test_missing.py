"""What a machine may not have or not allow: the daemon serves without it, or says clearly why not."""
import os
import re
import resource
import shutil
import tempfile

import pytest

import nvme
import target as targets
from nvmetcp import Conn, Violation

BLOCK = 4096
MIB = 1 << 20


def works(target):
    with nvme.Controller(target.address) as ctrl:
        queue = ctrl.io_queue()
        data = os.urandom(64 * BLOCK)
        assert queue.write(0, data).ok and queue.flush().ok
        assert bytes(queue.read(0, 64).got) == data
        assert queue.write(70, data[:BLOCK], fua=True).ok
        assert queue.deallocate([(0, 16)]).ok and queue.write_zeroes(16, 16).ok
        assert bytes(queue.read(0, 64).got)[:32 * BLOCK] in (bytes(32 * BLOCK), )
        writes = [queue.submit_write(100 + n, data[:BLOCK]) for n in range(100)]
        queue.wait(*writes)
        assert all(w.ok for w in writes)


@pytest.mark.parametrize("files", ["auto", "uring", "threads"])
def test_each_engine_for_files(serve, tmp_path, files):
    works(serve("--files", files, ns=["file:%s/v.img,size=16M" % tmp_path]))


def many_work_at_once(target):
    """queues that all have something to say at the same time: little and much"""
    with nvme.Controller(target.address) as ctrl:
        queues = [(n, ctrl.io_queue(qid=n + 1), os.urandom(BLOCK)) for n in range(16)]
        for burst in (1, 3, 30):
            writes = [queue.submit_write(32 * n + i, data) for n, queue, data in queues for i in range(burst)]
            for n, queue, _ in queues:
                queue.wait(*writes[n * burst:(n + 1) * burst])
            reads = [queue.submit_read(32 * n + i, 1) for n, queue, _ in queues for i in range(burst)]
            for n, queue, data in queues:
                queue.wait(*reads[n * burst:(n + 1) * burst])
                assert all(bytes(read.got) == data for read in reads[n * burst:(n + 1) * burst])
            assert all(command.ok for command in writes + reads)


@pytest.mark.parametrize("sockets", ["auto", "uring", "calls"])
def test_each_engine_for_sockets(serve, sockets):
    many_work_at_once(serve("--sockets", sockets, ns=["mem:16M"]))


@pytest.mark.line("W56")
def test_without_io_uring(serve, tmp_path):
    """forbidden by a seccomp filter: falls back to threads, and to a system call for each socket"""
    target = serve(ns=["file:%s/v.img,size=16M" % tmp_path], preexec=targets.forbid_io_uring)
    works(target)
    many_work_at_once(target)


@pytest.mark.parametrize("option", ["--files", "--sockets"])
def test_io_uring_asked_for_and_forbidden_is_a_clear_error(binary, tmp_path, option):
    with pytest.raises(Violation) as failed:
        targets.Daemon(option, "uring", ns=["file:%s/v.img,size=16M" % tmp_path],
                       preexec=targets.forbid_io_uring)
    assert re.search("uring", str(failed.value))


@pytest.mark.parametrize("files", ["auto", "uring"])
@pytest.mark.line("W56")
def test_without_locked_memory(serve, tmp_path, files):
    """registered buffers are optional"""
    works(serve("--files", files, ns=["file:%s/v.img,size=16M" % tmp_path], preexec=targets.no_locked_memory))


@pytest.mark.line("W56")
def test_without_root(binary):
    """with a file of its own: as nobody where the tests are root's, otherwise as who runs them"""
    user, prefix = os.getuid(), []
    if user == 0:
        if not shutil.which("setpriv"):
            pytest.skip("needs setpriv to become nobody")
        user = 65534
        prefix = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs",
                  "--bounding-set=-all"]
    where = tempfile.mkdtemp()
    try:
        os.chmod(where, 0o777)
        copy = shutil.copy(binary, where)
        with targets.Daemon(ns=["file:%s/v.img,size=16M" % where, "mem:16M"], binary=copy, cwd="/", prefix=prefix,
                            preexec=lambda: os.umask(0o022)) as target:
            with open("/proc/%d/status" % target.pid) as status:
                assert re.search(r"Uid:\s+%d\s+%d\s" % (user, user), status.read())
            works(target)
    finally:
        shutil.rmtree(where)


def huge_kib(target, *fields):
    """what it has in huge pages"""
    with open("/proc/%d/smaps_rollup" % target.pid) as rollup:
        lines = dict(line.split(":", 1) for line in rollup.readlines()[1:])
    return {field: int(lines[field].split()[0]) for field in fields}


@pytest.mark.line("W56")
def test_without_huge_pages(serve):
    """the process is given none, although it asks for them"""
    target = serve(ns=["mem:64M"], preexec=targets.no_huge_pages)
    works(target)
    with nvme.Controller(target.address) as ctrl:
        queue = ctrl.io_queue()
        for n in range(8):  # a stretch that would be huge pages: what works() has discarded of is not
            assert queue.write(4096 + 256 * n, bytes(MIB)).ok
    huge = huge_kib(target, "AnonHugePages", "Private_Hugetlb", "Shared_Hugetlb")
    assert not any(huge.values()), huge


@pytest.mark.line("W56")
def test_where_the_kernel_knows_no_huge_pages(serve):
    """madvise() says EINVAL to who asks for them; what was discarded is zeros without it too"""
    works(serve(ns=["mem:64M"], preexec=targets.forbid_madvise))


@pytest.mark.line("W33")
def test_with_few_files_allowed(serve):
    """EMFILE at accept: those who are there go on, and when some leave others get in"""
    target = serve(preexec=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (32, 32)))
    with nvme.Controller(target.address) as ctrl:
        queue = ctrl.io_queue()
        crowd = [Conn(target.address) for _ in range(50)]
        for _ in range(20):
            assert queue.read(0).ok
        for conn in crowd:
            conn.close()
        target.until("the crowd gone", lambda s: s["connections"] == 2)
        with nvme.Controller(target.address) as other:
            assert other.keep_alive().ok
