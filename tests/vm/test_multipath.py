"""The kernel's native multipath: a subsystem over two listeners, whose states of access change under a verified job."""
import time

import pytest

from hosts import DIGESTS, LOSS, REFUSED, nvme_json, verified_io
from target import conf, memory

NOBODY = (
    r"block nvme0n1: no usable path - requeuing I/O",
    r"nvme_ns_head_submit_bio: \d+ callbacks suppressed",  # of the line above, which is rate-limited
)


@pytest.fixture
def paths(live, guest):
    """A target with two listeners: nvme0 is the host's way over a, nvme1 that over b, with digests."""
    target = live(conf(memory("128M"), listeners=("a", "b"), ana_groups=[{"id": 1}]))
    guest.script("connect", target.address, target.ports[0], target.nqn)
    guest.script("connect_path", target.address, target.ports[1], target.nqn, *DIGESTS)
    guest.run("until_true 30 test -e /sys/class/nvme/nvme1/nvme0c1n1")
    return target


def set_states(target, guest, a, b):
    """The states as they are now configured, and as the kernel then sees them: nobody tells it to look."""
    target.subsystem["ana_groups"][0]["on"] = {"a": a, "b": b}
    target.apply()
    guest.run(f"until_true 30 ana_state_is nvme0 {a} && until_true 30 ana_state_is nvme1 {b}")


@pytest.fixture
def job(paths, guest):
    with verified_io(guest, "/dev/nvme0n1"):
        yield


def goes_over(guest, used, unused):
    guest.run(f"kill -0 $job && goes_over {used} {unused}", timeout=90)


def test_io_goes_where_the_states_of_access_say(paths, guest, job, kernel_log):
    kernel_log.allow(*NOBODY)
    for a, b, used, unused in (
        ("optimized", "non-optimized", "nvme0", "nvme1"),
        ("non-optimized", "optimized", "nvme1", "nvme0"),
        ("inaccessible", "non-optimized", "nvme1", "nvme0"),
        ("optimized", "change", "nvme0", "nvme1"),
        ("persistent-loss", "optimized", "nvme1", "nvme0"),
    ):
        set_states(paths, guest, a, b)
        goes_over(guest, used, unused)
    # where there is no way, everything waits for one
    for a, b in (("inaccessible", "inaccessible"), ("change", "change")):
        set_states(paths, guest, a, b)
        guest.run("until_true 30 is_idle nvme0 && until_true 30 is_idle nvme1 && kill -0 $job")
        # the job may be between two passes: what waits for sure is somebody else's read
        guest.run("dd if=/dev/nvme0n1 of=/dev/null bs=4k count=1 iflag=direct & reader=$!")
        guest.run("until_true 30 is_waiting $reader && is_idle nvme0 && is_idle nvme1")
        set_states(paths, guest, "optimized", b)
        guest.run("wait $reader", timeout=90)
        goes_over(guest, "nvme0", "nvme1")
    assert any(NOBODY[0].split(": ")[1] in line for line in kernel_log.read()), "nothing had to wait"


def test_a_change_that_nobody_ends_does_not_cost_the_connection(paths, guest, job, kernel_log):
    """the target ends it after ANATT; the kernel resets a controller that has said it for twice as long"""
    kernel_log.allow(*NOBODY)
    anatt = nvme_json(guest, "id-ctrl", "/dev/nvme0")["anatt"]
    set_states(paths, guest, "change", "change")
    began = time.monotonic()
    for controller in ("nvme0", "nvme1"):
        guest.run(f"until_true {2 * anatt} ana_state_is {controller} inaccessible")
    assert anatt - 2 < time.monotonic() - began < 2 * anatt
    guest.run("is_idle nvme0 && is_idle nvme1 && kill -0 $job")
    set_states(paths, guest, "inaccessible", "optimized")
    goes_over(guest, "nvme1", "nvme0")


def test_a_namespace_that_changes_its_group(paths, guest, job, kernel_log):
    """the kernel takes up the state of the new one, also where no command of its own would fail"""
    kernel_log.allow(*NOBODY, r"nvme\d: rescanning namespaces")
    paths.subsystem["ana_groups"] = [{"id": 1, "on": {"b": "non-optimized"}}, {"id": 2, "on": {"a": "inaccessible"}}]
    paths.apply()
    guest.run("until_true 30 ana_state_is nvme1 non-optimized")
    for group, a, b, used, unused in (
        (2, "inaccessible", "optimized", "nvme1", "nvme0"),
        (1, "optimized", "non-optimized", "nvme0", "nvme1"),
    ):
        paths.namespaces[0]["ana_group"] = group
        paths.apply()
        guest.run(f"until_true 30 ana_state_is nvme0 {a} && until_true 30 ana_state_is nvme1 {b}")
        goes_over(guest, used, unused)


def test_both_ways_are_used_where_the_host_wants_it(paths, guest, job):
    guest.run("echo round-robin >/sys/class/nvme-subsystem/nvme-subsys0/iopolicy")
    for controller in ("nvme0", "nvme1"):
        guest.run(f"until_true 30 has_done {controller} $(($(requests {controller}) + 8))")


def test_a_listener_goes_and_comes_back(paths, guest, job, kernel_log):
    """its hosts lose their connections, go on over the other, and find it again"""
    kernel_log.allow(*LOSS)
    listener = paths.conf["listeners"].pop(0)
    paths.apply()
    guest.run("until_true 60 controller_is connecting", timeout=90)
    goes_over(guest, "nvme1", "nvme0")
    paths.conf["listeners"].insert(0, listener)
    paths.apply()
    guest.run("until_true 60 controller_is live", timeout=90)
    goes_over(guest, "nvme0", "nvme1")


def test_a_subsystem_leaves_a_listener_and_comes_back(paths, guest, job, kernel_log):
    """as above, but the listener goes on to serve others"""
    kernel_log.allow(*LOSS, *REFUSED)
    paths.subsystem["listeners"] = ["b"]
    paths.apply()
    guest.run("until_true 60 controller_is connecting", timeout=90)
    goes_over(guest, "nvme1", "nvme0")
    del paths.subsystem["listeners"]
    paths.apply()
    guest.run("until_true 60 controller_is live", timeout=90)
    goes_over(guest, "nvme0", "nvme1")
