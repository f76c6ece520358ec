"""`weir id`: what a controller, its namespaces and its log pages say, in words, as JSON and as they come."""
import re

import pytest

import nvme
from test_live import conf, live, namespace  # noqa: F401: `live` is a fixture
from tools import answer, uri, weir

TARGET_NS = ("mem:64M", "mem:128M")


def lines(done):
    """label: what stands behind it"""
    rows = [line.strip().split("  ", 1) for line in done.stdout.decode().splitlines() if line.startswith("  ")]
    return {row[0]: row[1].strip() for row in rows if len(row) == 2}


def test_a_controller(target, ctrl):
    done = weir("id", uri(target))
    assert done.stdout.decode().startswith("Controller ") and nvme.SUBNQN in done.stdout.decode().splitlines()[0]
    found = lines(done)
    assert found["Largest transfer"] == "1 MiB (1048576 bytes)" and found["Kind"] == "io"
    assert found["NVMe"].startswith("2.") and "write zeroes" in found["I/O commands"]
    raw = ctrl.identified(1)
    assert found["Serial number"] == bytes(raw[4:24]).decode().strip()
    assert found["Model"] == bytes(raw[24:64]).decode().strip()
    assert "Namespace 1" not in done.stdout.decode()


def test_namespaces(target):
    text = weir("id", uri(target, 2)).stdout.decode()
    assert "Namespace 2\n" in text and "Namespace 1\n" not in text
    assert "128 MiB (134217728 bytes)" in text
    found = answer("id", uri(target), "--all")
    assert [ns["nsid"] for ns in found["namespaces"]] == [1, 2]
    ns = found["namespaces"][0]
    assert ns["bytes"] == 64 << 20 and ns["blocks"] == 16384 and ns["block_size"] == 4096 and len(ns["uuid"]) == 36
    assert [form for form in ns["formats"] if form["in_use"]][0]["block_size"] == 4096
    assert found["controller"]["subnqn"] == nvme.SUBNQN and found["controller"]["transfer_max"] == 1 << 20
    assert "compare and write" in found["controller"]["fused"] and "copy" in found["controller"]["io_commands"]


def test_as_it_comes(target, ctrl):
    assert weir("id", uri(target, 2), "--raw").stdout == bytes(ctrl.identified(0, 2))
    raw, theirs = weir("id", uri(target), "--raw").stdout, bytes(ctrl.identified(1))
    assert len(raw) == 4096 and raw[:78] == theirs[:78] and raw[80:] == theirs[80:], "but for the controller's id"
    assert len(weir("id", uri(target), "--log", "smart", "--raw").stdout) == 512


def test_no_such_namespace(target):
    assert "no" in weir("id", uri(target, 9), code=1).words


def test_smart(target, ctrl):
    before = answer("id", uri(target), "--log", "smart")["smart"]
    queue = ctrl.io_queue()
    assert queue.read(0).ok and queue.read(0).ok
    after = answer("id", uri(target), "--log", "smart")["smart"]
    assert after["reads"] == before["reads"] + 2 and after["critical_warnings"] == []
    assert "\u00b0C" in lines(weir("id", uri(target), "--log", "smart")).get("Temperature", "\u00b0C")


def test_errors(target, ctrl):
    queue = ctrl.io_queue()
    assert not queue.read(1 << 40).ok
    found = answer("id", uri(target), "--log", "error")
    assert isinstance(found["errors"], list)
    weir("id", uri(target), "--log", "error")


def test_ana(live):  # noqa: F811
    groups = "    ana_groups:\n      - {id: 1, on: {b: non-optimized}}\n"
    target = live(conf(namespace(1), namespace(2), listeners=("a", "b"), groups=groups))
    where = "nvme+tcp://127.0.0.1:%d,127.0.0.1:%d/%s" % (target.address(0)[1], target.address(1)[1],
                                                        "nqn.2026-11.example:live")
    for path, state in enumerate(("optimized", "non-optimized")):
        found = answer("id", where, "--log", "ana", "--path", path)["ana"]["groups"]
        group = next(group for group in found if group["group"] == 1)
        assert group["state"] == state and group["namespaces"] == [1, 2]
    assert "the URI has 2 addresses" in weir("id", where, "--path", "2", code=2).words


def test_changed_firmware_effects_and_pages(target):
    assert answer("id", uri(target), "--log", "changed")["changed_namespaces"] == []
    assert b"No namespace has changed" in weir("id", uri(target), "--log", "changed").stdout
    firmware = answer("id", uri(target), "--log", "firmware")["firmware"]
    assert firmware["slots"][0]["slot"] == 1 and firmware["active"] == 1
    commands = answer("id", uri(target), "--log", "effects")["commands"]
    assert {"queue": "io", "opcode": 2}.items() <= next(c for c in commands if c["opcode"] == 2
                                                       and c["queue"] == "io").items()
    assert "changes blocks" in next(c for c in commands if c["opcode"] == 1 and c["queue"] == "io")["effects"]
    pages = answer("id", uri(target), "--log", "pages")["log_pages"]
    assert {0x01, 0x02, 0x0c} <= {page["id"] for page in pages}
    assert len(weir("id", uri(target), "--log", "effects").stdout.splitlines()) > 10


def test_a_page_by_its_number(target):
    rows = weir("id", uri(target), "--log", "0x12").stdout.decode().splitlines()
    assert len(rows) == 32 and all(re.fullmatch("[0-9a-f]{4}:( [0-9a-f]{2}){16}", row) for row in rows)
    found = answer("id", uri(target), "--log", "18")
    assert found["log_page"] == 18 and found["bytes"] == "".join(row.split(": ")[1].replace(" ", "") for row in rows)
    assert "log page 0xc0" in weir("id", uri(target), "--log", "0xc0", code=1).words


def test_persistent_events_as_they_come(target):
    page = weir("id", uri(target), "--log", "0x0d", "--raw").stdout
    assert len(page) == 512 and page[0] == 0x0d


@pytest.mark.parametrize("args, words", [
    ([], "of whom?"), (["nvme+tcp://h"], "names no subsystem"),
    (["nvme+tcp://h/nqn.2026-11.local:x", "--log", "logs"], "smart, error"),
    (["nvme+tcp://h/nqn.2026-11.local:x", "--raw", "--json"], "not both"),
    (["nvme+tcp://h/nqn.2026-11.local:x", "--raw", "--all"], "of one page")])
def test_words_that_are_not_understood(binary, args, words):
    assert words in weir("id", *args, code=2).words


@pytest.mark.parametrize("command", ["discover", "list", "id", "read", "write", "copy", "ping", "top", "perf", "recover"])
def test_who_this_host_cannot_be_is_said_before_anybody_is_asked(binary, command):
    for option, wrong in ("--hostnqn", "no name"), ("--hostnqn", ""), ("--hostid", "7"):
        assert "%s '%s': not a " % (option, wrong) in weir(command, option, wrong, "x", "y", code=2).words
