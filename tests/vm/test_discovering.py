"""nvme discover: listeners, subsystems and referrals, and a persistent controller that is told of changes."""
import pytest

from hosts import nvme_json
from target import NQN, conf, memory

DISCOVERY_NQN = "nqn.2014-08.org.nvmexpress.discovery"
SECOND = f"{NQN}:second"
SELF, SUBSYSTEM, REFERRAL = "current discovery subsystem", "nvme subsystem", "discovery subsystem referral"


def records(log):
    return [(r["subtype"], r["subnqn"], r["traddr"], int(r["trsvcid"])) for r in log["records"]]


@pytest.fixture
def target(live):
    """One listener serves both, one discovery alone; a referral leads elsewhere."""
    several = conf(memory("32M"), listeners=("a", "b"))
    several["listeners"][1]["discovery"] = "only"
    several["referrals"] = [{"address": "192.0.2.9"}]
    return live(several)


def expected(target):
    a, b = target.ports
    return [
        (SELF, DISCOVERY_NQN, "127.0.0.1", a), (SELF, DISCOVERY_NQN, "127.0.0.1", b),
        (SUBSYSTEM, NQN, "127.0.0.1", a), (REFERRAL, DISCOVERY_NQN, "192.0.2.9", 8009),
    ]


def test_every_way_to_the_subsystem_is_listed(target, guest):
    for port in target.ports:
        log = nvme_json(guest, "discover", "-t", "tcp", "-a", target.address, "-s", port)
        assert records(log) == expected(target)
        assert len({r["portid"] for r in log["records"]}) == 3, "two listeners, one referral"
        assert {r["treq"] for r in log["records"]} == {"not specified, sq flow control disable supported"}
        assert {r["eflags"] for r in log["records"] if r["subtype"] == SELF} == {"explicit discovery connections"}
    # as a table too
    table = guest.script("nvme", "discover", "-t", "tcp", "-a", target.address, "-s", target.port)
    assert f"subnqn:  {NQN}\n" in table and "unrecognized" not in table


def test_a_persistent_discovery_controller_is_told_of_changes(target, guest):
    guest.run(": >/tmp/events; uevent sh -c 'echo $DEVNAME $NVME_AEN >>/tmp/events' & listener=$!")
    guest.run("until_true 10 listens_for_events $listener")
    log = nvme_json(guest, "discover", "-t", "tcp", "-a", target.address, "-s", target.ports[1], "--persistent")
    assert records(log) == expected(target)
    assert guest.run("cat /sys/class/nvme/nvme0/cntrltype /sys/class/nvme/nvme0/kato").split() == ["discovery", "30"]
    for where, key in ((target.conf, "referrals"), (target.subsystem, "hosts")):
        where[key] = []
        guest.run(": >/tmp/events")
        target.apply()
        guest.run("until_true 30 grep -x 'nvme0 0x70f002' /tmp/events")
        before, log = log, nvme_json(guest, "discover", "-d", "nvme0")
        assert log["genctr"] != before["genctr"] and len(log["records"]) < len(before["records"])
    assert {r["subtype"] for r in log["records"]} == {SELF}, "no subsystem that this host may use, no referral"
    # it is a controller like others, which has what it has
    controller = nvme_json(guest, "id-ctrl", "/dev/nvme0")
    assert (controller["cntrltype"], controller["subnqn"]) == (2, DISCOVERY_NQN)
    assert controller["oaes"] & 0xFFFFFFFF == 1 << 31, "which nvme-cli takes for a negative number"
    assert "0x0000753" in guest.run("nvme get-feature /dev/nvme0 -f 0xf")
    status, text = guest.run("kill $listener; nvme smart-log /dev/nvme0", check=False)
    assert status != 0 and "Invalid Log Page" in text


@pytest.fixture
def under_one_address(guest, kernel_log):
    """The guest reaches the target at the address that its discovery log has."""
    guest.run("loopback_is host")
    yield
    if guest.alive:
        guest.run("loopback_is own")


def test_connect_all_connects_to_all_there_is(under_one_address, live, guest):
    """a subsystem at both listeners, another one at the second; who is connected already stays so"""
    several = conf(memory("32M"), listeners=("a", "b"))
    several["subsystems"] += conf(memory("16M"), nqn=SECOND)["subsystems"]
    several["subsystems"][1]["listeners"] = ["b"]
    target = live(several)
    a, b = target.ports
    for _ in range(2):
        guest.run(f"connect_all 127.0.0.1 {a}")
        lines = guest.run("cd /sys/class/nvme && for c in *; do echo $(cat $c/subsysnqn $c/address); done").splitlines()
        assert sorted(line.split(",src_addr")[0] for line in lines) == sorted(
            f"{nqn} traddr=127.0.0.1,trsvcid={port}" for nqn, port in ((NQN, a), (NQN, b), (SECOND, b)))
    guest.run("until_true 30 sh -c '[ $(ls /dev/nvme*n1 | wc -l) = 2 ]'")
    sizes = guest.run("for device in /dev/nvme*n1; do blockdev --getsize64 $device; done")
    assert sorted(int(size) >> 20 for size in sizes.split()) == [16, 32]
