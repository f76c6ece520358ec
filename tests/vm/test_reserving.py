"""Reservations, by nvme-cli, of two hosts that the guest is at once.

The kernel takes the two for ways to the same namespace, so each command goes to the controller of its host.
"""
import pytest

from hosts import LOSS, nvme_json
from target import conf

A, B = ("a", "nvme0", 0xA), ("b", "nvme1", 0xB)
WRITE_EXCLUSIVE, REGISTRANTS_ONLY = 1, 3
CONFLICT = "Reservation Conflict"


@pytest.fixture
def target(live, guest, kernel_log, tmp_path):
    """Both hosts are connected."""
    kernel_log.allow(r"nvme\d: using deprecated NVME_IOCTL_IO_CMD ioctl on the char device!")
    target = live({"state_dir": f"{tmp_path}/state", **conf({"volume": f"file:{tmp_path}/v.img", "size": "32M"})})
    for host in (A, B):
        guest.script("connect_as", host[0], target.address, target.port, target.nqn)
    guest.run("until_true 30 test -b /dev/nvme0n1 && until_true 30 test -e /sys/class/nvme/nvme1/nvme0c1n1")
    return target


def nvme(guest, command, host, *options, fails=""):
    """A command of a host about namespace 1; fails: what its status is called."""
    _, controller, _ = host
    status, output = guest.script("nvme", command, f"/dev/{controller}", "-n", 1, *options, check=False)
    assert (status != 0) == bool(fails) and fails in output, output
    return output


def register(guest, host, *options):
    nvme(guest, "resv-register", host, "--rrega=0", f"--nrkey={host[2]}", *options)


def acquire(guest, host, type, *options, **how):
    nvme(guest, "resv-acquire", host, f"--crkey={host[2]}", f"--rtype={type}", *options, **how)


def write(guest, host, **how):
    nvme(guest, "io-passthru", host, "--opcode=1", "--data-len=4096", "--write", "--input-file=/dev/zero", **how)


def report(guest, host=A):
    return nvme_json(guest, "resv-report", f"/dev/{host[1]}", "-n", 1, "--eds")


def registrants(report):
    """(the last digit of the host id, key, whether it holds the reservation) of each."""
    return [(r["hostid"][-1], r["rkey"], r["rcsts"]) for r in report["regctlext"]]


def test_two_hosts_register_acquire_preempt_and_release(target, guest):
    empty = report(guest)
    assert (empty["regctl"], empty["rtype"], empty["gen"]) == (0, 0, 0)
    for host in (A, B):
        register(guest, host)
    acquire(guest, A, WRITE_EXCLUSIVE, "--racqa=0")
    acquire(guest, B, WRITE_EXCLUSIVE, "--racqa=0", fails=CONFLICT)
    held = report(guest, B)
    assert (held["gen"], held["rtype"], held["regctl"], held["ptpls"]) == (2, WRITE_EXCLUSIVE, 2, 0)
    assert registrants(held) == [("a", 0xA, 1), ("b", 0xB, 0)]
    ids = [int(guest.run(f"cat /sys/class/nvme/{host[1]}/cntlid")) for host in (A, B)]
    assert [r["cntlid"] for r in held["regctlext"]] == ids
    assert "rtype     : 1" in nvme(guest, "resv-report", A, "--eds"), "as a table too"
    # 64-bit host ids there are none
    nvme(guest, "resv-report", A, fails="Host Identifier Inconsistent Format")

    write(guest, A)
    write(guest, B, fails=CONFLICT)
    # one that may not write may read
    nvme(guest, "io-passthru", B, "--opcode=2", "--data-len=4096", "--read", "--raw-binary")

    # the event reaches who was put out, and the log says of what
    guest.run(": >/tmp/events; uevent sh -c 'echo $DEVNAME $NVME_AEN >>/tmp/events' & listener=$!")
    guest.run("until_true 10 listens_for_events $listener")
    acquire(guest, B, REGISTRANTS_ONLY, "--racqa=1", f"--prkey={A[2]}")
    guest.run("until_true 30 grep -x 'nvme0 0x800006' /tmp/events && kill $listener")
    told = nvme_json(guest, "resv-notif-log", "/dev/nvme0")
    assert (told["rn_log_type"], told["nsid"], told["count"]) == (1, 1, 1), "registration preempted"
    assert nvme_json(guest, "resv-notif-log", "/dev/nvme0")["rn_log_type"] == 0, "it was read"
    assert nvme_json(guest, "resv-notif-log", "/dev/nvme1")["rn_log_type"] == 0, "who did it is not told"
    now = report(guest)
    assert (now["gen"], now["rtype"]) == (3, REGISTRANTS_ONLY) and registrants(now) == [("b", 0xB, 1)]
    write(guest, A, fails=CONFLICT)

    register(guest, A)
    write(guest, A)
    nvme(guest, "resv-release", A, f"--crkey={A[2]}", "--rtype=3", "--rrela=0")  # not the holder: nothing is done
    assert report(guest)["rtype"] == REGISTRANTS_ONLY
    nvme(guest, "resv-release", B, f"--crkey={B[2]}", "--rtype=1", "--rrela=0", fails="Invalid Field")
    nvme(guest, "resv-release", B, f"--crkey={B[2]}", "--rtype=3", "--rrela=0")
    assert report(guest)["rtype"] == 0
    assert nvme_json(guest, "resv-notif-log", "/dev/nvme0")["rn_log_type"] == 2, "reservation released"
    nvme(guest, "resv-release", B, f"--crkey={B[2]}", "--rrela=1")  # clear
    assert report(guest)["regctl"] == 0
    assert nvme_json(guest, "resv-notif-log", "/dev/nvme0")["rn_log_type"] == 3, "reservation preempted"


def test_a_reservation_outlives_the_target(target, guest, kernel_log):
    """killed, and started again: the other host is still kept out when the kernel has reconnected"""
    kernel_log.allow(*LOSS)
    register(guest, A, "--cptpl=3")
    register(guest, B)
    acquire(guest, A, WRITE_EXCLUSIVE, "--racqa=0")
    before = report(guest)
    assert before["ptpls"] == 1
    assert "value:0x00000001" in nvme(guest, "get-feature", B, "--feature-id=0x83")
    target.kill()
    guest.run("until_true 60 controller_is connecting && until_true 60 controller_is connecting nvme1", timeout=150)
    target.start()
    guest.run("until_true 60 controller_is live && until_true 60 controller_is live nvme1", timeout=150)
    after = report(guest)
    assert registrants(after) == registrants(before) == [("a", 0xA, 1), ("b", 0xB, 0)]
    assert (after["rtype"], after["ptpls"]) == (WRITE_EXCLUSIVE, 1)
    write(guest, B, fails=CONFLICT)
    write(guest, A)
