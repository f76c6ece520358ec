"""Reservations by the kernel's block layer (IOC_PR_*), which cluster software uses, of two hosts and over two paths."""
import pytest

from hosts import nvme_json, verified_io
from target import conf, memory

A, B = ("/dev/nvme0n1", 0xA), ("/dev/nvme1n1", 0xB)  # of each host its block device and key
IN_MEMORY = "/dev/nvme1n2"
WRITE_EXCLUSIVE, REGISTRANTS_ONLY = 1, 3

# What the kernel says of writes that are refused or aborted; it prints the opcode of some that it has forgotten.
CONFLICT = (
    r"nvme\w+n1: I/O Cmd\(0x\w+\) @ LBA \d+, \d+ blocks, I/O Error \(sct 0x0 / sc 0x(83|1b)\) MORE DNR",
    r"(critical nexus|I/O) error, dev nvme\w+n1, sector \d+ op 0x1:\(WRITE\)",
)


def pr(guest, device, *words, answer="done"):
    """A command, see pr.c."""
    status, output = guest.script("pr", device, *words, check=False)
    assert output.strip() == answer and (status == 0) == (answer == "done"), (words, output)


def write(guest, device, conflict=False):
    status, output = guest.run(f"dd if=/tmp/wanted of={device} bs=4k oflag=direct", check=False)
    assert (status != 0) == conflict and ("Invalid exchange" in output) == conflict, output


def state(guest, device="/dev/nvme0n1"):
    """The type, and of each registrant the key and whether it holds the reservation."""
    report = nvme_json(guest, "resv-report", device, "--eds")
    return report["rtype"], [(r["rkey"], r["rcsts"]) for r in report["regctlext"]]


@pytest.fixture
def volume(tmp_path):
    """One whose reservations are kept: the kernel registers with CPTPL set, always."""
    return {"volume": f"file:{tmp_path}/v.img", "size": "128M"}


@pytest.fixture
def serve_kept(live, tmp_path):
    return lambda *namespaces, **more: live({"state_dir": f"{tmp_path}/state", **conf(*namespaces, **more)})


@pytest.fixture
def apart(guest, kernel_log):
    """Without multipath each of two hosts in one kernel has a block device of its own."""
    kernel_log.allow(
        r"nvme\d: Found shared namespace \d, but multipathing not supported",
        r"nvme\d: Support for shared namespaces without CONFIG_NVME_MULTIPATH is deprecated",
    )
    guest.run("reload_nvme multipath=0")
    yield
    if guest.alive:
        guest.run("reload_nvme")


@pytest.fixture
def two_hosts(apart, serve_kept, guest, volume):
    """Registered both; the second namespace is in memory."""
    target = serve_kept(volume, memory("8M"))
    for host in "ab":
        guest.script("connect_as", host, target.address, target.port, target.nqn)
    guest.run(f"until_true 30 test -b {A[0]} && until_true 30 test -b {B[0]} && until_true 30 test -b {IN_MEMORY}")
    guest.run("dd if=/dev/urandom of=/tmp/wanted bs=64k count=1")
    for device, key in (A, B):
        pr(guest, device, "register", 0, key)
    return target


def test_what_one_host_reserved_another_one_does_not_write(two_hosts, guest, kernel_log):
    kernel_log.allow(*CONFLICT)
    pr(guest, IN_MEMORY, "register", 0, B[1], answer="invalid field")  # nowhere to keep it
    pr(guest, A[0], "reserve", A[1], WRITE_EXCLUSIVE)
    pr(guest, B[0], "reserve", B[1], WRITE_EXCLUSIVE, answer="conflict")
    assert state(guest) == (WRITE_EXCLUSIVE, [(0xA, 1), (0xB, 0)])
    write(guest, A[0])
    write(guest, B[0], conflict=True)
    guest.run(f"dd if={B[0]} of=/tmp/got bs=64k count=1 iflag=direct && cmp /tmp/wanted /tmp/got")
    pr(guest, A[0], "release", A[1], REGISTRANTS_ONLY, answer="invalid field")
    pr(guest, A[0], "release", A[1], WRITE_EXCLUSIVE)
    write(guest, B[0])
    # who is not registered any more writes neither, until nobody holds anything
    pr(guest, A[0], "reserve", A[1], REGISTRANTS_ONLY)
    write(guest, B[0])
    pr(guest, B[0], "preempt", B[1], A[1], REGISTRANTS_ONLY)
    assert state(guest) == (REGISTRANTS_ONLY, [(0xB, 1)])
    write(guest, A[0], conflict=True)
    pr(guest, A[0], "clear", A[1], answer="conflict")
    pr(guest, A[0], "register", 0, A[1])
    pr(guest, A[0], "register", A[1], 0, answer="invalid field")  # how the kernel would unregister
    pr(guest, A[0], "register", A[1], 0xAA)
    write(guest, A[0])
    pr(guest, A[0], "clear", 0xAA)
    assert state(guest) == (0, [])
    for device, _ in (A, B):
        write(guest, device)


def test_preempt_and_abort_keeps_out_a_host_that_is_writing(two_hosts, guest, kernel_log):
    """what it had in flight is over when the command is, and it goes on in vain: nothing lands on what comes next"""
    kernel_log.allow(*CONFLICT)
    pr(guest, A[0], "reserve", A[1], WRITE_EXCLUSIVE)
    # EIO and EBADE, which is a conflict, do not end it
    guest.run(
        f"fio --name=writer --filename={A[0]} --size=1m --rw=randwrite --bs=64k --direct=1 --ioengine=libaio"
        " --iodepth=16 --time_based --runtime=120 --ignore_error=,5:52 >/tmp/writer 2>&1 & writer=$!"
    )
    guest.run("dd if=/dev/urandom of=/tmp/mib bs=1M count=1 && until_true 30 in_flight nvme0n1 8")
    pr(guest, B[0], "preempt-abort", B[1], A[1], WRITE_EXCLUSIVE)
    guest.run(f"dd if=/tmp/mib of={B[0]} bs=1M oflag=direct")
    guest.run("until_true 30 has_tried nvme0n1 $(($(tried nvme0n1) + 64))")
    guest.run("kill -INT $writer; wait $writer", check=False)
    write(guest, A[0], conflict=True)
    guest.run(f"dd if={B[0]} of=/tmp/got bs=1M count=1 iflag=direct && cmp /tmp/mib /tmp/got")
    assert state(guest) == (WRITE_EXCLUSIVE, [(0xB, 1)])


def test_a_host_reserves_over_one_path_and_writes_over_the_other(serve_kept, guest, volume, kernel_log):
    """of the multipath device, which here has the paths of another host, too"""
    kernel_log.allow(*CONFLICT)
    target = serve_kept(volume, listeners=("a", "b", "c"), ana_groups=[{"id": 1}])

    def set_states(**states):
        target.subsystem["ana_groups"][0]["on"] = states
        target.apply()
        for path, state in enumerate(states.values()):
            guest.run(f"until_true 30 ana_state_is nvme{path} {state}")

    guest.script("connect", target.address, target.ports[0], target.nqn)
    guest.script("connect_path", target.address, target.ports[1], target.nqn)
    guest.script("connect_as", "b", target.address, target.ports[2], target.nqn)
    guest.run("until_true 30 test -e /sys/class/nvme/nvme1/nvme0c1n1")
    guest.run("until_true 30 test -e /sys/class/nvme/nvme2/nvme0c2n1")
    set_states(a="optimized", b="non-optimized", c="inaccessible")
    pr(guest, A[0], "register", 0, A[1])
    pr(guest, A[0], "reserve", A[1], WRITE_EXCLUSIVE)
    with verified_io(guest, A[0]):
        guest.run("kill -0 $job && goes_over nvme0 nvme1", timeout=90)
        set_states(a="inaccessible", b="optimized", c="non-optimized")
        guest.run("kill -0 $job && goes_over nvme1 nvme0", timeout=90)
    guest.run("dd if=/dev/zero of=/tmp/wanted bs=64k count=1")
    set_states(a="inaccessible", b="inaccessible", c="optimized")
    write(guest, A[0], conflict=True)
    pr(guest, A[0], "reserve", B[1], WRITE_EXCLUSIVE, answer="conflict")
    set_states(a="inaccessible", b="inaccessible", c="inaccessible")
    pr(guest, A[0], "release", A[1], WRITE_EXCLUSIVE, answer="Resource temporarily unavailable")
    set_states(a="inaccessible", b="non-optimized", c="inaccessible")
    pr(guest, A[0], "release", A[1], WRITE_EXCLUSIVE)
    set_states(a="inaccessible", b="inaccessible", c="optimized")
    write(guest, A[0])
