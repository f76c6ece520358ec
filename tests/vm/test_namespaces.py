"""Namespaces that come, grow, shrink, go and are protected while the kernel is connected and writes to another one.

Nobody tells the kernel to look: what it knows, it was told by an event.
"""
import pytest

from hosts import LOSS, connect, nvme_json, verified_io
from target import conf, memory

MIB = 1 << 20


@pytest.fixture
def target(live, guest, kernel_log, tmp_path):
    """Namespace 1 has a verified job meanwhile; 2 is a file of 32 MiB."""
    kernel_log.allow(r"nvme0: rescanning namespaces", r"nvme0n2: detected capacity change from")
    target = live(conf(memory("128M"), {"volume": f"file:{tmp_path}/v.img", "size": "32M"}))
    connect(guest, target)
    guest.run("until_true 30 test -b /dev/nvme0n2")
    with verified_io(guest, "/dev/nvme0n1"):
        yield target


def size_becomes(guest, device, size):
    guest.run(f"until_true 30 sh -c '[ \"$(blockdev --getsize64 {device})\" = {size} ]'")


def test_namespaces_come_and_go(target, guest):
    for round in range(2):
        target.namespaces.extend([{"nsid": 3, **memory("16M", block_size=512)}, {"nsid": 1024, **memory("8M")}])
        target.apply()
        guest.run("until_true 30 test -b /dev/nvme0n3 && until_true 30 test -b /dev/nvme0n4")
        assert [ns["nsid"] for ns in nvme_json(guest, "list-ns", "/dev/nvme0")["nsid_list"]] == [1, 2, 3, 1024]
        devices = {3: (16, 512), 1024: (8, 4096)}
        for device in ("nvme0n3", "nvme0n4"):
            nsid = int(guest.run(f"cat /sys/class/nvme/nvme0/nvme0c0n{device[-1]}/nsid"))
            size, block = devices.pop(nsid)
            assert int(guest.run(f"blockdev --getsize64 /dev/{device}")) == size * MIB
            assert int(guest.run(f"blockdev --getss /dev/{device}")) == block
            guest.run(
                "dd if=/dev/urandom of=/tmp/wanted bs=64k count=1 && dd if=/tmp/wanted of=/dev/"
                f"{device} bs=64k oflag=direct && dd if=/dev/{device} of=/tmp/got bs=64k count=1 iflag=direct"
                " && cmp /tmp/wanted /tmp/got"
            )
        del target.namespaces[2:]
        target.apply()
        guest.run("until_true 30 is_gone /dev/nvme0n3 && until_true 30 is_gone /dev/nvme0n4")
    assert nvme_json(guest, "changed-ns-list-log", "/dev/nvme0")["nvme0"] == {}, "the kernel has read it"


def test_a_namespace_grows_and_shrinks(target, guest):
    guest.run("dd if=/dev/urandom of=/tmp/wanted bs=64k count=1")
    guest.run("dd if=/tmp/wanted of=/dev/nvme0n2 bs=64k oflag=direct")
    for size in (64, 8, 48):
        target.namespaces[1]["size"] = f"{size}M"
        target.apply()
        size_becomes(guest, "/dev/nvme0n2", size * MIB)
        last = f"bs=4k seek={size * 256 - 1} count=1 oflag=direct"
        guest.run(f"dd if=/tmp/wanted of=/dev/nvme0n2 {last}")
    guest.run("dd if=/dev/nvme0n2 of=/tmp/got bs=64k count=1 iflag=direct && cmp /tmp/wanted /tmp/got")


def test_a_namespace_goes_while_it_is_written_to(target, guest, kernel_log):
    """the job fails at once, and the one on the other namespace does not notice"""
    kernel_log.allow(  # the kernel prints the opcode of a command that it has forgotten
        r"nvme0c0n2: I/O Cmd\(0x\w+\) @ LBA \d+, 16 blocks, I/O Error \(sct 0x0 / sc 0xb\) MORE DNR",
        r"operation not supported error, dev nvme0c0n2, sector \d+ op 0x1:\(WRITE\)",
    )
    guest.run(
        "fio --name=writer --filename=/dev/nvme0n2 --size=16m --rw=randwrite --bs=64k --direct=1 --ioengine=libaio"
        " --iodepth=8 --time_based --runtime=120 >/tmp/writer 2>&1 & writer=$!"
    )
    guest.run("until_true 30 has_done nvme0 $(($(requests nvme0 2) + 32)) 2")
    del target.namespaces[1]
    target.apply()
    guest.run("until_true 30 is_gone /dev/nvme0n2")
    status, _ = guest.run("wait $writer", check=False)
    assert status != 0 and "error" in guest.run("cat /tmp/writer")


def test_write_protection_comes_and_goes(target, guest, kernel_log):
    def read_only():
        return f"until_true 30 sh -c '[ $(blockdev --getro /dev/nvme0n2) = {int(protected)} ]'"

    for protected in (True, False, True, False):
        target.namespaces[1]["write_protected"] = protected
        target.apply()
        guest.run(read_only())
        status, output = guest.run("dd if=/dev/zero of=/dev/nvme0n2 bs=4k count=1 oflag=direct", check=False)
        assert (status != 0) == protected, output
        guest.run("dd if=/dev/nvme0n2 of=/dev/null bs=4k count=1 iflag=direct")
        assert nvme_json(guest, "id-ns", "/dev/nvme0", "--namespace-id=2")["nsattr"] == int(protected)


def active(guest, controller):
    return [ns["nsid"] for ns in nvme_json(guest, "list-ns", f"/dev/{controller}").get("nsid_list", [])]


def test_a_namespace_of_a_hosts_own_making(live, guest, kernel_log):
    """nvme-cli creates, attaches, detaches and deletes; each host sees it from its own attachment on

    The kernel takes the two hosts for ways to the same namespace.
    """
    kernel_log.allow(r"nvme\d: rescanning namespaces", *LOSS)
    target = live(conf(memory("32M"), host_namespaces={"volume": "mem", "size": "256M"}))
    for host in "ab":
        guest.script("connect_as", host, target.address, target.port, target.nqn)
    guest.run("until_true 30 test -b /dev/nvme0n1 && until_true 30 test -e /sys/class/nvme/nvme1/nvme0c1n1")
    ids = [int(guest.run(f"cat /sys/class/nvme/nvme{n}/cntlid")) for n in range(2)]
    blocks = 16 * MIB // 4096
    guest.script("nvme", "create-ns", "/dev/nvme0", f"--nsze={blocks}", f"--ncap={blocks}", "--flbas=1", "--nmic=1")
    assert active(guest, "nvme0") == active(guest, "nvme1") == [1]
    guest.script("nvme", "attach-ns", "/dev/nvme0", "-n", 2, f"--controllers={ids[0]}")
    guest.run("until_true 30 test -b /dev/nvme0n2 && until_true 30 test -e /sys/class/nvme/nvme0/nvme0c0n2")
    assert (active(guest, "nvme0"), active(guest, "nvme1")) == ([1, 2], [1])
    assert int(guest.run("blockdev --getsize64 /dev/nvme0n2")) == 16 * MIB
    guest.run("test ! -e /sys/class/nvme/nvme1/nvme0c1n2")
    guest.script("nvme", "attach-ns", "/dev/nvme1", "-n", 2, f"--controllers={ids[1]}")
    guest.run("until_true 30 test -e /sys/class/nvme/nvme1/nvme0c1n2")
    assert active(guest, "nvme1") == [1, 2]
    with verified_io(guest, "/dev/nvme0n2"):
        guest.script("nvme", "detach-ns", "/dev/nvme0", "-n", 2, f"--controllers={ids[0]}")
        guest.run("until_true 30 is_gone /sys/class/nvme/nvme0/nvme0c0n2")
        assert (active(guest, "nvme0"), active(guest, "nvme1")) == ([1], [1, 2])
    guest.script("nvme", "detach-ns", "/dev/nvme1", "-n", 2, f"--controllers={ids[1]}")
    guest.run("until_true 30 is_gone /dev/nvme0n2")
    guest.script("nvme", "delete-ns", "/dev/nvme1", "-n", 2)
    allocated = nvme_json(guest, "list-ns", "/dev/nvme0", "--all")["nsid_list"]
    assert [ns["nsid"] for ns in allocated] == [1]
