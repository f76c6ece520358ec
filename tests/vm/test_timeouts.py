"""A target that does not answer in time, or is reset: what the kernel does then, and that it recovers."""
import time

import pytest

from hosts import CUT_SHORT, LOSS, connect, verified_io
from target import conf, memory

LATE = (r"nvme0: queue \d+: timeout request 0x\w+ type \d", r"block nvme0n2: no usable path - requeuing I/O")
IO_TIMEOUT = "/sys/module/nvme_core/parameters/io_timeout"


@pytest.fixture
def impatient(guest):
    """The kernel waits for two seconds, not for 30, with queues that are made from here on."""
    before = guest.run(f"cat {IO_TIMEOUT}")
    guest.run(f"echo 2 >{IO_TIMEOUT}")
    yield
    if guest.alive:
        guest.run(f"echo {before.strip()} >{IO_TIMEOUT}")


def test_a_command_that_is_held_is_given_up_and_tried_again(live, guest, impatient, kernel_log, tmp_path):
    """the kernel resets the connection, a job on another namespace goes on, and all is done by a target that answers"""
    kernel_log.allow(*LOSS, *LATE, *CUT_SHORT)
    volume = {"volume": f"file:{tmp_path}/v.img", "size": "16M"}
    held = {**volume, "volume": "fault:hold=100@" + volume["volume"]}
    target = live(conf({"volume": f"file:{tmp_path}/other.img", "size": "128M"}, held))
    connect(guest, target)
    guest.run("until_true 30 test -b /dev/nvme0n2")
    guest.run("dd if=/dev/urandom of=/tmp/wanted bs=4k count=1")
    guest.run("dd if=/tmp/wanted of=/dev/nvme0n2 bs=4k count=1 seek=99 oflag=direct")
    with verified_io(guest, "/dev/nvme0n1"):
        guest.run("dd if=/tmp/wanted of=/dev/nvme0n2 bs=4k seek=100 oflag=direct & writer=$!")
        guest.run("until_true 60 sh -c 'dmesg | grep \"starting error recovery\"'", timeout=90)
        guest.run("until_true 60 controller_is live", timeout=90)
        guest.run("kill -0 $writer")
        target.kill()
        target.namespaces[1] = {"nsid": 2, **volume}
        target.start()
        guest.run("wait $writer", timeout=120)
    guest.run("dd if=/dev/nvme0n2 bs=4k skip=99 count=2 iflag=direct of=/tmp/got")
    guest.run("cat /tmp/wanted /tmp/wanted | cmp - /tmp/got")


def test_a_slow_volume_is_waited_for(live, guest, kernel_log):
    target = live(conf({"volume": "fault:delay=700@mem", "size": "16M"}))
    connect(guest, target)
    began = time.monotonic()
    guest.run("dd if=/dev/zero of=/dev/nvme0n1 bs=64k count=2 oflag=direct")
    assert time.monotonic() - began >= 1.4


def test_the_kernel_resets_the_controller_under_io(live, guest, kernel_log):
    kernel_log.allow(r"nvme0: resetting controller", *LOSS)
    target = live(conf(memory("128M")))
    connect(guest, target)
    with verified_io(guest, "/dev/nvme0n1"):
        for _ in range(2):
            guest.run("until_true 30 has_done nvme0 $(($(requests nvme0) + 16))")
            guest.script("nvme", "reset", "/dev/nvme0")
            guest.run("until_true 60 controller_is live", timeout=90)
