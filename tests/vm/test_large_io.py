"""Requests of 1 MiB, as large as the target takes them: each is one command, and all of it arrives."""
import pytest

from hosts import DIGESTS, MIB, check_fio, connect, nvme_json

COUNT = 12


def commands(guest):
    smart = nvme_json(guest, "smart-log", "/dev/nvme0")
    return [int(smart[name]) for name in ("host_write_commands", "host_read_commands")]


@pytest.mark.parametrize("options", [(), DIGESTS], ids=["without_digests", "with_both_digests"])
def test_a_request_of_1_mib_is_one_command(guest, serve, options):
    target = serve("mem:64M")
    connect(guest, target, *options)
    for device in ("/sys/block/nvme0n1", "/sys/class/nvme/nvme0/nvme0c0n1"):
        assert int(guest.run(f"cat {device}/queue/max_hw_sectors_kb")) == 1024
        assert int(guest.run(f"cat {device}/queue/max_sectors_kb")) == 1024
    # 3/4 of the requests are in flight at once, and each is larger than what one read of a socket takes
    writes, reads = commands(guest)
    output = guest.run(f"verified_fio /dev/nvme0n1 {COUNT}m --bsrange=1m-1m --iodepth={COUNT * 3 // 4}", timeout=180)
    check_fio(output, COUNT * MIB)
    assert commands(guest) == [writes + COUNT, reads + COUNT]
