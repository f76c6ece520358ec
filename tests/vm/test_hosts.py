"""Which hosts may connect: the kernel as several hosts of two subsystems."""
import pytest

from hosts import LOSS, REFUSED, nvme_json, verified_io
from target import NQN, conf, memory

HOSTNQN = "nqn.2014-08.org.nvmexpress:uuid:5ca1ab1e-0000-4000-8000-000000000000"
SECOND = "nqn.2026-11.local.weir:second"
CONNECTS = "until_true 60 controller_is"


@pytest.fixture
def target(live):
    """Host a may use the first subsystem, and b the second."""
    both = conf(memory("32M"), hosts=[f"{HOSTNQN}:a"])
    both["subsystems"] += conf(memory("128M"), nqn=SECOND, hosts=[f"{HOSTNQN}:b"])["subsystems"]
    return live(both)


def connect_as(guest, target, host, nqn, refused=""):
    """refused: what the kernel says then."""
    status, output = guest.script("connect_as", host, target.address, target.port, nqn, check=False)
    assert (status != 0) == bool(refused), output
    if refused:
        assert "Input/output error" in output
        guest.run(f"dmesg | tail -n 2 | grep -F '{refused}'")


def test_a_host_sees_and_reaches_only_what_it_may(target, guest, kernel_log):
    kernel_log.allow(*REFUSED)
    for host, seen in (("a", {NQN}), ("b", {SECOND}), ("c", set())):
        log = nvme_json(
            guest, "discover", "-t", "tcp", "-a", target.address, "-s", target.port, f"--hostnqn={HOSTNQN}:{host}",
            f"--hostid=5ca1ab1e-0000-4000-8000-00000000000{host}",
        )
        assert {r["subnqn"] for r in log["records"] if r["subtype"] == "nvme subsystem"} == seen
    connect_as(guest, target, "a", NQN)
    connect_as(guest, target, "b", SECOND)
    for host, nqn in (("a", SECOND), ("b", NQN), ("c", NQN)):
        connect_as(guest, target, host, nqn, f"Connect for subsystem {nqn} is not allowed, hostnqn: {HOSTNQN}:{host}")
    connect_as(guest, target, "a", f"{NQN}:absent", "Connect Invalid Data Parameter")
    assert guest.run("cat /sys/class/nvme/nvme*/subsysnqn").split() == [NQN, SECOND]


def test_a_host_that_is_taken_off_the_list_is_disconnected_and_stays_away(target, guest, kernel_log):
    """and the other one does not notice; back on the list, it is back"""
    kernel_log.allow(*REFUSED, *LOSS)
    connect_as(guest, target, "a", NQN)
    connect_as(guest, target, "b", SECOND)
    guest.run("until_true 30 test -b /dev/nvme0n1 && until_true 30 test -b /dev/nvme1n1")
    with verified_io(guest, "/dev/nvme1n1"):
        target.subsystem["hosts"] = []
        target.apply()
        guest.run(f"{CONNECTS} connecting && until_true 60 sh -c 'dmesg | grep -F \"is not allowed\"'", timeout=150)
        guest.run("until_true 60 sh -c 'dmesg | grep -F \"Failed reconnect attempt 2\"'", timeout=90)
        target.subsystem["hosts"] = [f"{HOSTNQN}:a"]
        target.apply()
        guest.run(f"{CONNECTS} live", timeout=90)
        guest.run("dd if=/dev/nvme0n1 of=/dev/null bs=4k count=8 iflag=direct")
    assert not any("nvme1: starting error recovery" in line for line in kernel_log.read())
