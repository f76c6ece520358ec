"""hosts.py - what several tests do with the guest as a host: connect, ask nvme-cli, judge a job of fio."""
import contextlib
import json

DIGESTS = ("--hdr-digest", "--data-digest")
MIB = 1 << 20

# What the kernel says of a lost connection, and of its return.
LOSS = (
    r"nvme\d+: starting error recovery",
    r"nvme\d+: queue \d+ socket state \d+",
    r"nvme\d+: failed to send request",
    r"nvme\d+: receive failed",
    r"nvme\d+: (Reconnecting in 1 seconds|Failed reconnect attempt \d+|failed to connect socket: -\d+)",
    r"nvme\d+: Successfully reconnected",
    r"block nvme0n1: no usable path - requeuing I/O",
    r"nvme_ns_head_submit_bio: \d+ callbacks suppressed",  # of the line above, which is rate-limited
)

# ... and of a return that is itself cut short: it may be at any of the questions that the kernel asks then.
CUT_SHORT = (
    r"nvme\d+: Connect command failed(, errno: -\d+|, error wo/DNR bit: \d+|: host path error)",
    r"nvme\d+: failed to connect queue: \d+ ret=-?\d+",
    r"nvme_tcp: queue \d+: bad (type|pdu length) returned 0",  # it looks at what it did not receive
    r"nvme\d+: Property (Get|Set) error: \d+, offset 0x\w+",
    r"nvme\d+: Reading (CAP|CRTO|VS) failed \(-?\d+\)",
    r"nvme\d+: Device not ready; aborting \w+, CSTS=0x\w+",
    r"nvme\d+: Identify (Controller|namespace|NS List|Descriptors) failed \(.*\)",
    r"nvme\d+: reading (non-mdts-limits|changed ns log) failed: -?\d+",
    r"nvme\d+: Failed to (get ANA log: -?\d+|configure AEN \(cfg \w+\)|read smart log \(error -?\d+\))",
    r"nvme\d+: failed nvme_keep_alive_end_io error=\d+",
)

# ... and of a Connect that the target refuses.
REFUSED = (
    r'nvme\d+: Connect Invalid Data Parameter, subsysnqn "',
    r"nvme\d+: Connect for subsystem \S+ is not allowed, hostnqn: \S+",
    r"nvme\d+: failed to connect queue: 0 ret=\d+",
)


def connect(guest, target, *options):
    guest.script("connect", target.address, target.port, target.nqn, *options)


def nvme_json(guest, *words):
    return json.loads(guest.script("nvme", *words, "--output-format=json"))


def fio_job(output):
    """The only job of fio's report, which may follow messages."""
    return json.loads(output[output.index("{\n") : output.rindex("}") + 1])["jobs"][0]


def check_fio(output, size):
    job = fio_job(output)
    assert job["error"] == 0, output
    assert job["write"]["io_bytes"] == size, "not everything was written"
    assert job["read"]["io_bytes"] == size, "not everything was verified"


@contextlib.contextmanager
def verified_io(guest, device):
    """Verified jobs run on the device as long as the block does, and none of them may fail."""
    guest.run(f"rm -f /tmp/enough; verified_until {device} /tmp/enough >/tmp/passes 2>&1 & job=$!")
    try:
        yield
    finally:
        status, _ = guest.run("touch /tmp/enough; wait $job", timeout=180, check=False) if guest.alive else (0, "")
    output = guest.run("cat /tmp/passes")
    assert status == 0, f"the verified job failed:\n{output}"
    assert int(output.split()[0]) > 0, "nothing was verified"
