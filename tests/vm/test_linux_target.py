"""Our host, libweir and its tools, at the Linux kernel's own NVMe/TCP target.

One guest serves all of them (nvmet.py); each test leaves the target as it was.
"""
import json
import random
import re
import subprocess

import pytest

from load import PATIENCE, Load
from nvmet import FILE, FILE_MIB, MEMORY, MEMORY_MIB, NAME, LinuxTarget


@pytest.fixture(scope="module")
def linux(made, tmp_path_factory, request):
    linux = LinuxTarget(made, str(tmp_path_factory.mktemp("linux") / "console"))
    request.addfinalizer(linux.stop)
    linux.start()
    yield linux
    log = linux.guest.run("dmesg")
    assert not re.search(r"BUG|WARNING|Oops|Call Trace|hung", log), log


@pytest.fixture
def target(linux):
    """The target, as it was set up."""
    yield linux
    linux.restore()


@pytest.fixture
def load(build, target):
    """load(URI, OPTION...): a verified load by libweir."""
    started = []

    def start(*words):
        started.append(Load(build, *words))
        return started[-1]

    yield start
    for one in started:
        one.kill()


def test_a_load_notices_blocks_that_it_did_not_write(target, load):
    """Else it would show nothing of all that follows."""
    one = load(target.uri())
    one.more()
    target.guest.run("dd if=/dev/zero of=/dev/memory bs=1M count=4 conv=fsync 2>&1")
    with pytest.raises(AssertionError, match="is not what write"):
        one.end()


# ---- connecting ----


@pytest.mark.parametrize("digests", [(), ("--hdgst",), ("--ddgst",), ("--hdgst", "--ddgst")], ids="-".join)
def test_all_that_is_read_is_what_was_written(target, load, digests):
    one = load(target.uri(), "--zeroes", "--trim", "--depth=16", *digests)
    one.more(600)
    assert one.clean()["verified"] > 1000


def test_what_is_larger_than_a_capsule_is_sent_when_it_is_asked_for(target, load):
    """1 MiB in one command: the target says when to send it (R2T)."""
    one = load(target.uri(), "--blocks=256", "--depth=4", "--ddgst")
    one.more(60)
    one.clean()


def test_eight_queues_are_eight_connections(target, load):
    one = load(target.uri(), "--queues=8", "--depth=4")
    one.more(600)
    assert target.connections() == 8 + 1
    one.clean()


# ---- staying connected ----


def test_io_waits_while_there_is_no_access(target, load):
    one = load(target.uri(), "--queues=2")
    one.more()
    one.forget()
    target.access(1, "inaccessible")
    one.event("ana 0")
    one.rest(target.done)
    target.access(1, "optimized")
    one.more()
    assert one.clean()["losses"] == [0]


def test_io_goes_by_the_port_that_gives_access(target, load):
    one = load(target.uri(1, 2), "--queues=2")
    one.event("up 0")
    one.event("up 1")
    for state in "inaccessible", "non-optimized", "persistent-loss", "change", "optimized":
        one.more()
        target.access(2, state)
    one.more()
    assert one.clean()["losses"] == [0, 0]


def test_a_target_that_is_taken_away_and_brought_back_loses_nothing(target, load):
    one = load(target.uri(), "--queues=2", "--kato=3000", "--margin=1000", "--zeroes", "--trim")
    one.more()
    one.forget()
    target.unlink(1)
    one.event("all-lost")
    one.rest(target.done)
    target.link(1)
    one.event("up 0")
    one.more()
    result = one.clean()
    assert result["losses"][0] > 0
    assert result["resent"] > 0


def test_writes_of_a_path_that_is_lost_wait_until_its_target_has_let_go(target, load):
    """It knows no FENCE: twice its keep-alive time, since any command counts (TBKAS), and the margin."""
    one = load(target.uri(1, 2), "--queues=2", "--depth=16", "--kato=3000", "--margin=1000")
    one.event("up 0")
    one.event("up 1")
    one.more()
    target.unlink(2)
    one.event("lost 1")
    one.more()
    result = one.clean()
    assert result["losses"][1] > 0
    assert result["resent"] > 0
    assert result["slowest_write_ms"] >= 2 * 3000 + 1000


# ---- namespaces that change ----


def test_a_namespace_that_grows_is_told_of(target, load):
    one = load(target.uri(nsid=FILE))
    one.more()
    one.forget()
    target.resize_file(2 * FILE_MIB)
    one.event(f"namespace {FILE}")
    one.more()
    one.clean()


def test_a_namespace_that_goes_ends_its_own_io(target, load):
    other = load(target.uri(nsid=MEMORY))
    one = load(target.uri(nsid=FILE), "--stop-on-error")
    one.more()
    one.forget()
    target.enable(FILE, False)
    one.event(f"namespace {FILE}")
    result = one.end()
    assert result["failed"] > 0
    assert result["error"].startswith("ENODEV")
    other.more()
    assert other.clean()["losses"] == [0]
    target.enable(FILE, True)
    again = load(target.uri(nsid=FILE))
    again.more()
    again.clean()


# ---- what it does not know ----


def test_what_the_target_does_not_know_is_told_in_words(build, target):
    done = subprocess.run([f"{build}/tests/vm/weir-each-op", target.uri()], text=True, capture_output=True, check=True)
    assert dict(line.split(": ", 1) for line in done.stdout.splitlines()) == {
        "read": "ok", "write": "ok", "flush": "ok", "write zeroes": "ok", "deallocate": "ok",
        "compare": "EOPNOTSUPP: invalid command opcode",
        "compare and write": "EOPNOTSUPP: the target has no Compare and Write",
        "verify": "EOPNOTSUPP: invalid command opcode",
        "copy": "EOPNOTSUPP: invalid command opcode",
        "write uncorrectable": "EOPNOTSUPP: invalid command opcode",
    }


# ---- the tools ----


def weir(build, *words, **options):
    """What a tool prints; it must be content."""
    done = subprocess.run([f"{build}/cmd/weir", *words], capture_output=True, timeout=60 * PATIENCE, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_what_discovery_names_can_be_pasted(build, target):
    found = json.loads(weir(build, "discover", "--json", f"127.0.0.1:{target.ports[0]}"))["entries"]
    uris = {entry["subnqn"]: entry["uri"] for entry in found if entry["kind"] == "subsystem"}
    assert uris == {NAME: target.uri().removesuffix(f"?ns={MEMORY}")}
    namespaces = json.loads(weir(build, "list", "--json", uris[NAME]))["namespaces"]
    assert [(n["uri"], n["bytes"]) for n in namespaces] == [
        (f"{uris[NAME]}?ns={MEMORY}", MEMORY_MIB << 20), (f"{uris[NAME]}?ns={FILE}", FILE_MIB << 20)]
    assert [path["ana"] for n in namespaces for path in n["paths"]] == ["optimized", "optimized"]
    assert json.loads(weir(build, "list", "--json", f"127.0.0.1:{target.ports[0]}"))["namespaces"] == namespaces


@pytest.fixture
def another(target):
    """The second port has another subsystem, so that it is open whatever becomes of the first one."""
    target.configure("mkdir subsystems/another; ln -s $PWD/subsystems/another ports/2/subsystems/")
    yield
    target.configure("rm ports/2/subsystems/another; rmdir subsystems/another")


def test_a_subsystem_that_comes_is_heard_of(build, target, another):
    """The target tells who watches its discovery log, and that is read again."""
    target.unlink(2)
    words = ["discover", "--watch", "--json", f"127.0.0.1:{target.ports[1]}"]
    watch = subprocess.Popen(["timeout", "60", f"{build}/cmd/weir", *words], stdout=subprocess.PIPE, text=True)
    try:
        assert NAME not in watch.stdout.readline()
        target.link(2)
        change = json.loads(watch.stdout.readline())
    finally:
        watch.terminate()
        watch.wait()
    assert (change["event"], change["entry"]["subnqn"]) == ("added", NAME)


def test_identify_says_what_it_is(build, target):
    told = json.loads(weir(build, "id", "--json", target.uri()))
    assert told["controller"]["model"] == "Linux"
    assert told["controller"]["subnqn"] == NAME
    assert told["controller"]["ana"] and told["controller"]["fused"] == []
    assert [n["bytes"] for n in told["namespaces"]] == [MEMORY_MIB << 20]
    target.access(1, "non-optimized")
    assert b"non-optimized" in weir(build, "id", "--log=ana", target.uri())


def test_an_image_is_written_in_pieces_of_1_mib_and_read_by_two_ports(build, target):
    image = random.Random(1).randbytes(4 << 20)
    weir(build, "write", "--quiet", "--bs=1m", "--verify", "--ddgst", target.uri(), input=image)
    assert weir(build, "read", "--quiet", "--length=4M", target.uri(1, 2)) == image


def test_both_ports_are_pinged(build, target):
    *_, summary = weir(build, "ping", "--json", "--count=3", "--interval=1ms", target.uri(1, 2)).splitlines()
    assert {kind: told["answered"] for kind, told in json.loads(summary).items()} == {"admin": 6, "io": 3}
