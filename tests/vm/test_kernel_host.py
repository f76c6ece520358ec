"""The Linux kernel's own NVMe/TCP host, and nvme-cli, against a target.

Each test starts a target, connects to it from the guest, and ends with the
kernel having logged nothing but what it logs when all is well.
"""
import pytest

from hosts import DIGESTS, LOSS, MIB, check_fio, connect, nvme_json

DISCOVERY_NQN = "nqn.2014-08.org.nvmexpress.discovery"
PROCESSORS = 4  # of the guest


def test_discovery_lists_the_subsystem_and_itself(guest, serve):
    target = serve("mem:64M")
    log = nvme_json(guest, "discover", "-t", "tcp", "-a", target.address, "-s", target.port)
    found = {(r["subnqn"], r["trtype"], r["trsvcid"]) for r in log["records"]}
    assert found == {(nqn, "tcp", str(target.port)) for nqn in (target.nqn, DISCOVERY_NQN)}


def test_there_is_an_io_queue_for_each_processor(guest, serve):
    target = serve("mem:64M")
    connect(guest, target)
    assert guest.run("cat /sys/class/nvme/nvme0/state").strip() == "live"
    queues = int(guest.run("cat /sys/class/nvme/nvme0/queue_count"))
    assert queues == 1 + PROCESSORS, "the admin queue and the I/O queues"
    guest.run(
        f"for cpu in $(seq 0 {PROCESSORS - 1}); do"
        " taskset $((1 << cpu)) dd if=/dev/nvme0n1 of=/dev/null bs=4k count=8 iflag=direct || exit 1; done"
    )


def test_queues_of_each_kind_without_flow_control(guest, serve, kernel_log):
    """for reads, for writes and for polled requests; none of them is deep"""
    target = serve("mem:64M")
    kinds = ("--nr-io-queues=2", "--nr-write-queues=1", "--nr-poll-queues=1")
    connect(guest, target, *kinds, "--queue-size=16", "--disable-sqflow")
    assert int(guest.run("cat /sys/class/nvme/nvme0/queue_count")) == 1 + 4
    assert int(guest.run("cat /sys/class/nvme/nvme0/sqsize")) == 15
    assert any("mapped 1/2/1 default/read/poll queues" in line for line in kernel_log.read())
    check_fio(guest.run("verified_fio /dev/nvme0n1 8m", timeout=180), 8 * MIB)
    polled = "verified_fio /dev/nvme0n1 2m --offset=8m --ioengine=pvsync2 --hipri"
    check_fio(guest.run(polled, timeout=180), 2 * MIB)


def test_the_controller_identifies_itself(guest, serve):
    target = serve("mem:64M", "mem:32M")
    connect(guest, target)
    controller = nvme_json(guest, "id-ctrl", "/dev/nvme0")
    assert controller["subnqn"] == target.nqn
    assert controller["nn"] >= 2
    assert controller["kas"] > 0, "the kernel wants keep alive"
    assert controller["sgls"] & 3, "the kernel wants SGLs"
    assert controller["sgls"] >> 20 & 1, "in-capsule data is addressed by an offset"
    assert controller["ioccsz"] * 16 >= 64, "a capsule holds at least the command"
    assert controller["cntlid"] != 0xFFFF
    assert (controller["sqes"], controller["cqes"]) == (0x66, 0x44)
    if "10.0.2.2" == target.address:
        assert 4096 << controller["mdts"] == MIB
        assert controller["ioccsz"] * 16 == 64 + 8192


def test_the_namespaces_are_as_large_as_their_volumes(guest, serve):
    target = serve("mem:64M", "mem:32M")
    connect(guest, target)
    listed = nvme_json(guest, "list-ns", "/dev/nvme0")
    assert [ns["nsid"] for ns in listed["nsid_list"]] == [1, 2]
    for nsid, size in ((1, 64 * MIB), (2, 32 * MIB)):
        ns = nvme_json(guest, "id-ns", "/dev/nvme0", f"--namespace-id={nsid}")
        assert (ns["nsze"], ns["ncap"]) == (size // 4096, size // 4096)
        assert ns["lbafs"][ns["flbas"] & 15] == {"ms": 0, "ds": 12, "rp": 0}
        assert int(guest.run(f"blockdev --getsize64 /dev/nvme0n{nsid}")) == size
        assert guest.run(f"cat /sys/block/nvme0n{nsid}/wwid").startswith(("uuid.", "eui."))


def test_the_smart_log_counts_commands(guest, serve):
    target = serve("mem:64M")
    connect(guest, target)
    before = nvme_json(guest, "smart-log", "/dev/nvme0")
    guest.run("dd if=/dev/zero of=/dev/nvme0n1 bs=64k count=32 oflag=direct")
    after = nvme_json(guest, "smart-log", "/dev/nvme0")
    assert after["critical_warning"] == 0
    assert int(after["media_errors"]) == 0
    assert int(after["host_write_commands"]) == int(before["host_write_commands"]) + 32
    assert int(after["data_units_written"]) >= int(before["data_units_written"]) + 2 * MIB // 512_000


@pytest.mark.parametrize("options", [(), DIGESTS], ids=["without_digests", "with_both_digests"])
def test_a_file_system_holds_a_verified_job(guest, serve, options):
    target = serve("mem:128M")
    connect(guest, target, *options)
    guest.run("mkfs.ext4 -q /dev/nvme0n1 && mount /dev/nvme0n1 /mnt", timeout=120)
    check_fio(guest.run("verified_fio /mnt/file 32m", timeout=180), 32 * MIB)
    guest.run("umount /mnt && e2fsck -fn /dev/nvme0n1", timeout=120)
    guest.script("nvme", "disconnect", "-n", target.nqn)
    guest.run("until_true 30 no_controller_is_left")


def test_blocks_of_512_bytes_read_zeros_once_they_are_deallocated(guest, serve):
    target = serve("mem:64M", block_size=512)
    connect(guest, target)
    assert int(guest.run("blockdev --getss /dev/nvme0n1")) == 512
    check_fio(guest.run("verified_fio /dev/nvme0n1 8m", timeout=180), 8 * MIB)
    # 9 blocks of the first MiB by deallocation, and 5 others by Write Zeroes.  (The shell's
    # own blkdiscard knows only one of them.)
    guest.run(
        "dd if=/dev/urandom of=/tmp/wanted bs=1M count=1"
        " && dd if=/tmp/wanted of=/dev/nvme0n1 bs=1M oflag=direct"
        " && /bin/blkdiscard --offset $((3 * 512)) --length $((9 * 512)) /dev/nvme0n1"
        " && /bin/blkdiscard --zeroout --offset $((701 * 512)) --length $((5 * 512)) /dev/nvme0n1"
        " && dd if=/dev/zero of=/tmp/wanted bs=512 seek=3 count=9 conv=notrunc"
        " && dd if=/dev/zero of=/tmp/wanted bs=512 seek=701 count=5 conv=notrunc"
        " && dd if=/dev/nvme0n1 of=/tmp/got bs=1M count=1 iflag=direct"
        " && cmp /tmp/wanted /tmp/got"
    )


def test_two_hosts_share_a_namespace(guest, serve):
    target = serve("mem:64M")
    connect(guest, target)
    guest.script("connect_as", "b", target.address, target.port, target.nqn)
    guest.run("until_true 30 test -e /sys/class/nvme/nvme1/nvme0c1n1")
    assert len(set(guest.run("cat /sys/class/nvme/nvme[01]/cntlid").split())) == 2
    guest.run("echo round-robin >/sys/class/nvme-subsystem/nvme-subsys0/iopolicy")
    check_fio(guest.run("verified_fio /dev/nvme0n1 16m", timeout=180), 16 * MIB)
    for path in ("nvme0/nvme0c0n1", "nvme1/nvme0c1n1"):
        writes = int(guest.run(f"awk '{{ print $5 }}' /sys/class/nvme/{path}/stat"))
        assert writes > 0, f"nothing was written over {path}"
    # the second host lives on when the first goes
    guest.run("nvme disconnect -d nvme0 && dd if=/dev/nvme0n1 of=/dev/null bs=4k count=8 iflag=direct")


def run_job_over_a_kill(guest, serve, kernel_log, volume, size):
    """fio writes and verifies, the target is killed amid the writes and started again: fio's status and output."""
    target = serve(f"{volume},size={size // MIB}M")
    connect(guest, target)
    guest.run(f"verified_fio /dev/nvme0n1 {size} >/tmp/fio 2>&1 & job=$!")
    guest.run(f"until_true 60 has_written {size // MIB // 8}", timeout=90)
    target.kill()
    kernel_log.allow(*LOSS)
    guest.run("until_true 60 controller_is connecting", timeout=90)
    written = int(guest.run("written_mib"))
    assert written < size // MIB, "the kill came too late to interrupt the writes"
    guest.run("kill -0 $job")
    target.start()
    status, _ = guest.run("wait $job", timeout=300, check=False)
    return status, guest.run("cat /tmp/fio")


def test_a_verified_job_survives_a_killed_target(guest, serve, kernel_log, tmp_path):
    size = 128 * MIB
    status, output = run_job_over_a_kill(guest, serve, kernel_log, f"file:{tmp_path}/volume.img", size)
    assert status == 0, output
    check_fio(output, size)
    assert any("Successfully reconnected" in line for line in kernel_log.read())


def test_the_same_job_finds_one_dropped_write(guest, serve, kernel_log, tmp_path):
    """The test above is not blind: one acknowledged write was not done, in each life of the target."""
    volume = f"fault:drop-write=100@file:{tmp_path}/volume.img"
    status, output = run_job_over_a_kill(guest, serve, kernel_log, volume, 128 * MIB)
    assert status != 0, "fio verified data that was never written"
    assert "verify: " in output, f"fio failed, but not in its verification:\n{output}"
