"""nvme-cli asks for all there is: what it prints is what the target was told, and the rest is refused by name."""
import json
import re

import pytest

from hosts import connect, nvme_json
from target import NQN, conf, memory

NGUID, UUID = "1234567890abcdef1234567890abcdef", "0f1e2d3c-4b5a-4678-9abc-def012345678"
FAILED = re.compile(r"NVMe status: ([\w -]+?):")

# Log pages, and how nvme-cli asks for them; where the target has one it must not fail.
LOGS = {
    0x01: "error-log", 0x02: "smart-log", 0x03: "fw-log", 0x04: "changed-ns-list-log", 0x05: "effects-log --csi=0",
    0x06: "self-test-log", 0x07: "telemetry-log --output-file=/tmp/log",
    0x08: "telemetry-log --controller-init --output-file=/tmp/log", 0x09: "endurance-log --group-id=1",
    0x0C: "ana-log", 0x0D: "persistent-event-log --action=1 --log_len=512", 0x0E: "lba-status-log",
    0x10: "media-unit-stat-log", 0x11: "supported-cap-config-log", 0x12: "fid-support-effects-log",
    0x13: "mi-cmd-support-effects-log", 0x15: "boot-part-log --output-file=/tmp/log", 0x80: "resv-notif-log",
    0x81: "sanitize-log",
}
# Admin commands by their bit in OACS.
OPTIONAL = {
    0: "security-recv --secp=0 --spsp=0 --size=512 --al=512", 1: "format --namespace-id=1 --force",
    2: "fw-commit --slot=1 --action=1", 3: "create-ns --nsze=1000 --ncap=1000 --flbas=0",
    4: "device-self-test --self-test-code=1", 5: "dir-receive --dir-type=0 --dir-oper=1 --namespace-id=1",
    7: "virt-mgmt --cntlid=0 --rt=0 --act=1 --nr=0",
    9: "get-lba-status --namespace-id=1 --start-lba=0 --max-dw=10 --action=0x10 --range-len=1",
    10: "lockdown --ofi=1 --ifc=0",
}
# Features a fabrics host can ask for, by number; those of a namespace are asked for namespace 1.
FEATURES = [*range(0x01, 0x14), 0x16, 0x19, 0x80, 0x81, 0x82, 0x83, 0x84]


@pytest.fixture
def target(live, guest, tmp_path):
    """Three namespaces in two groups; the last is of 512-byte blocks and write protected."""
    target = live({"state_dir": f"{tmp_path}/state", **conf(
        memory("32M", nguid=NGUID, uuid=UUID), memory("16M", ana_group=5),
        memory("8M", block_size=512, write_protected=True),
        serial="W0001", model="Weir of the test", ana_groups=[{"id": 1}, {"id": 5, "state": "non-optimized"}],
    )})
    connect(guest, target)
    guest.run("until_true 30 test -b /dev/nvme0n3")
    return target


def ask(guest, *commands):
    """[(status, what was printed)] of commands about nvme0: one trip for all of them."""
    words = "".join(
        "nvme {} /dev/nvme0 {} 2>&1; echo '==end' $?\n".format(*(command + " ").split(" ", 1)) for command in commands
    )
    parts = re.findall(r"(.*?)==end (\d+)\n", guest.run(words, timeout=120), re.S)
    assert len(parts) == len(commands)
    return [(int(status), text) for text, status in parts]


def check(answer, refused=""):
    """That nvme-cli was content, or printed the name of this status and nothing else about it."""
    status, text = answer
    if refused:
        assert status != 0 and FAILED.findall(text) == [refused], text
    else:
        assert status == 0 and text and not FAILED.search(text), text
    return text


def test_identify_is_what_was_configured(target, guest):
    controller = nvme_json(guest, "id-ctrl", "/dev/nvme0")
    assert controller["sn"].rstrip() == "W0001" and controller["mn"].rstrip() == "Weir of the test"
    assert controller["subnqn"] == NQN and controller["nanagrpid"] == 64 and controller["anatt"] == 10
    assert [n["nsid"] for n in nvme_json(guest, "list-ns", "/dev/nvme0")["nsid_list"]] == [1, 2, 3]
    for nsid, size, shift, group, protected in ((1, 32, 12, 1, 0), (2, 16, 12, 5, 0), (3, 8, 9, 1, 1)):
        ns = nvme_json(guest, "id-ns", "/dev/nvme0", "-n", nsid)
        assert ns["nsze"] == ns["ncap"] == ns["nuse"] == size << 20 >> shift
        assert (ns["lbafs"][ns["flbas"]]["ds"], ns["anagrpid"], ns["nsattr"]) == (shift, group, protected)
        any_set = nvme_json(guest, "cmdset-ind-id-ns", "/dev/nvme0", "-n", nsid)
        for name in ("nmic", "rescap", "anagrpid", "nsattr", "fpi"):
            assert any_set[name] == ns[name]
        assert any_set["nstat"] == 1
    assert nvme_json(guest, "id-ns", "/dev/nvme0", "-n", 1)["nguid"] == NGUID
    names = {d["type"]: d for d in nvme_json(guest, "ns-descs", "/dev/nvme0", "-n", 1)["ns-descs"]}
    assert names["nguid"]["nguid"] == NGUID and names["uuid"]["uuid"] == UUID and names["csi"]["csi"] == "0"
    assert nvme_json(guest, "nvm-id-ctrl", "/dev/nvme0")["vsl"] == 0
    assert nvme_json(guest, "nvm-id-ns", "/dev/nvme0", "-n", 1)["elbafs"][0] == {"sts": 0, "pif": 0}
    human = ask(guest, "id-ctrl -H", "id-ns -H -n 1", "id-iocs", "list-ns --all", "list-ctrl")
    assert "ANA supported" in check(human[0]) and "(in use)" in check(human[1])
    assert re.search(r"Combination\[0\]:1\n", check(human[2]))
    for answer in human[3:]:  # of namespaces that are allocated, and controllers, only who manages namespaces hears
        check(answer, "" if controller["oacs"] >> 3 & 1 else "Invalid Field in Command")


def test_lists_name_each_namespace_once(target, guest):
    (subsystem,) = json.loads(guest.run("nvme list -v -o json"))["Devices"][0]["Subsystems"]
    assert subsystem["SubsystemNQN"] == NQN
    assert {(n["NSID"], n["PhysicalSize"], n["SectorSize"]) for n in subsystem["Namespaces"]} == {
        (1, 32 << 20, 4096), (2, 16 << 20, 4096), (3, 8 << 20, 512)}
    (controller,) = subsystem["Controllers"]
    assert (controller["SerialNumber"], controller["ModelNumber"]) == ("W0001", "Weir of the test")
    assert {(p["Path"], p["ANAState"]) for p in controller["Paths"]} == {
        ("nvme0c0n1", "optimized"), ("nvme0c0n2", "non-optimized"), ("nvme0c0n3", "optimized")}
    assert "live" in guest.run("nvme list-subsys")
    properties = guest.run("for at in 0 8 0x14 0x1c; do nvme get-property /dev/nvme0 -o $at || exit 1; done")
    version, configuration, status = (int(v, 16) for v in re.findall(r"value: (\w+)", properties)[1:])
    assert (version, configuration, status) == (0x20000, 0x460001, 1)


def test_logs_are_there_or_refused_by_name(target, guest):
    supported = {int(lid, 16) for lid in re.findall(r"LID (0x\w+) \(", check(ask(guest, "supported-log-pages")[0]))}
    assert supported >= {0, 1, 2, 3, 4, 5, 0x0C, 0x12, 0x80}
    for lid, answer in zip(LOGS, ask(guest, *LOGS.values())):
        if lid == 0x04:
            assert answer == (0, ""), "nothing has changed"
        else:
            check(answer, "" if lid in supported else "Invalid Log Page")
    lpa = nvme_json(guest, "id-ctrl", "/dev/nvme0")["lpa"]
    assert (lpa >> 1 & 1, lpa >> 3 & 1, lpa >> 4 & 1, lpa >> 5 & 1) == (1, 0, 0x0D in supported, 1)


def test_logs_say_what_has_been(target, guest):
    def errors():
        return nvme_json(guest, "error-log", "/dev/nvme0", "--log-entries=2")["errors"]

    before, smart = errors()[0]["error_count"], nvme_json(guest, "smart-log", "/dev/nvme0")
    read = "io-passthru /dev/nvme0n1 -n 1 --opcode=2 --cdw10={} --cdw12={} --data-len=4096 --read --raw-binary"
    guest.run(f"! nvme {read.format(0x123456, 0)} && nvme {read.format(5, 0)} >/dev/null")
    guest.run(f"until_true 10 sh -c 'nvme error-log /dev/nvme0 -e 1 -o json | grep error_count.:{before + 1}'")
    newest = errors()[0]
    assert newest["status_field"] & 0x7FF == 0x80 and newest["sqid"] in (1, 2, 3, 4)
    assert (newest["lba"], newest["nsid"], newest["parm_error_location"], newest["trtype"]) == (0x123456, 1, 40, 0)
    after = nvme_json(guest, "smart-log", "/dev/nvme0")
    assert int(after["num_err_log_entries"]) == before + 1
    assert int(after["host_read_commands"]) == int(smart["host_read_commands"]) + 1
    assert (after["critical_warning"], after["media_errors"], after["temperature"]) == (0, "0", 303)

    firmware = nvme_json(guest, "fw-log", "/dev/nvme0")["nvme0"]
    revision = nvme_json(guest, "id-ctrl", "/dev/nvme0")["fr"].rstrip()
    assert firmware["Active Firmware Slot (afi)"] == 1 and revision in firmware["Firmware Rev Slot 1"]

    ana = nvme_json(guest, "ana-log", "/dev/nvme0")
    groups = [(g["grpid"], g["state"], [n["nsid"] for n in g["NSIDS"]]) for g in ana["ANA DESC LIST "]]
    assert groups == [(1, "optimized", [1, 3]), (5, "non-optimized", [2])]
    alone = nvme_json(guest, "ana-log", "/dev/nvme0", "--groups")["ANA DESC LIST "]
    assert [(g["grpid"], g["nnsids"]) for g in alone] == [(1, 0), (5, 0)]

    # what Identify offers is what the effects log does, and the other way round
    controller = nvme_json(guest, "id-ctrl", "/dev/nvme0")
    oncs = controller["oncs"]
    effects = check(ask(guest, "effects-log -H --csi=0")[0])
    found = {int(n) for n in re.findall(r"^IOCS(\d+) .*CSUPP\+", effects, re.M)}
    assert found >= {0, 1, 2}
    for bit, opcodes in ((0, {5}), (1, {4}), (2, {9}), (3, {8}), (5, {13, 14, 17, 21}), (7, {12}), (8, {25})):
        assert found & opcodes == (opcodes if oncs >> bit & 1 else set())
    assert {int(n) for n in re.findall(r"^ACS(\d+) .*CSUPP\+", effects, re.M)} >= {2, 6, 8, 9, 10, 12, 24}

    if controller["lpa"] >> 4 & 1:
        header = ("persistent-event-log", "/dev/nvme0", "--log_len=4096")
        events = nvme_json(guest, *header, "--action=1")
        assert events["subnqn"] == NQN and events["sn"].rstrip() == "W0001"
        assert events["total_num_of_events"] == len(events["list_of_event_entries"]) > 0
        check(ask(guest, "persistent-event-log --action=2")[0])
        check(ask(guest, "persistent-event-log --action=0 --log_len=512")[0], "Command Sequence Error")


def test_features_are_there_or_refused_by_name(target, guest):
    log = nvme_json(guest, "fid-support-effects-log", "/dev/nvme0")["fid_support"]
    supported = {int(name[4:]) for feature in log for name in feature}
    assert supported >= {0x01, 0x02, 0x04, 0x05, 0x07, 0x0A, 0x0B, 0x0E, 0x0F, 0x16, 0x81, 0x82, 0x83}
    of_host_id = "--cdw11=1 --data-len=16"
    answers = ask(guest, *(f"get-feature -H -n 1 -f {fid} {of_host_id if fid == 0x81 else ''}" for fid in FEATURES))
    for fid, answer in zip(FEATURES, answers):
        text = check(answer, "" if fid in supported else "Invalid Field in Command")
        if fid in supported:
            assert re.match(rf"get-feature:0x{fid:02x} \([\w /]+\), Current value:", text), text
    (queues,), (kato,) = (re.findall(r"Current value:(\w+)", answers[FEATURES.index(f)][1]) for f in (0x07, 0x0F))
    assert int(queues, 16) == 0x00030003 and int(kato, 16) == 5000
    hostid = ask(guest, f"get-feature -f 0x81 {of_host_id}")[0][1]
    assert "5c a1 ab 1e 00 00 40 00 80 00 00 00 00 00 00 0a" in hostid
    for what, answer in zip(("Default", "Saved", "Supported capabilities"),
                            ask(guest, *(f"get-feature -f 4 -s {select}" for select in (1, 2, 3)))):
        assert f"{what} value:" in check(answer)


def test_commands_that_there_are_not_are_refused_by_name(target, guest):
    oacs = nvme_json(guest, "id-ctrl", "/dev/nvme0")["oacs"]
    missing = [command for bit, command in OPTIONAL.items() if not oacs >> bit & 1] + ["sanitize --sanact=2"]
    for answer in ask(guest, *missing):
        check(answer, "Invalid Command Opcode")
    status, text = guest.run("nvme subsystem-reset /dev/nvme0", check=False)
    assert status != 0 and "not supported" in text


def test_io_commands_do_what_they_say(target, guest):
    """on namespace 1; Write Uncorrectable where it is offered"""
    guest.run("dd if=/dev/urandom of=/tmp/wanted bs=4k count=4 && dd if=/dev/zero of=/tmp/zeros bs=4k count=4")
    guest.run("rm -f /tmp/got")  # nvme read leaves what is behind its end
    device, data = "/dev/nvme0n1", "-z 16384 -d /tmp/wanted"
    guest.run(
        f"nvme write {device} -s 8 -c 3 {data} && nvme compare {device} -s 8 -c 3 {data} && nvme flush {device}"
        f" && nvme copy {device} -d 100 -s 8 -b 3 && nvme compare {device} -s 100 -c 3 {data}"
        f" && nvme verify {device} -s 100 -c 3 && nvme write-zeroes {device} -s 8 -c 3"
        f" && nvme compare {device} -s 8 -c 3 -z 16384 -d /tmp/zeros"
        f" && nvme dsm {device} -a 0 -b 4 -s 100 -d && nvme read {device} -s 100 -c 3 -z 16384 -d /tmp/got"
        " && cmp /tmp/zeros /tmp/got"
    )
    status, text = guest.run(f"nvme compare {device} -s 8 -c 3 {data}", check=False)
    assert status != 0 and "Compare Failure" in text
    for command in ("write", "write-zeroes"):
        status, text = guest.run(f"nvme {command} /dev/nvme0n3 -s 0 -c 0 -z 512 -d /tmp/wanted", check=False)
        assert status != 0, text
    status, text = guest.run(f"nvme write-uncor {device} -s 8 -c 0", check=False)
    if nvme_json(guest, "id-ctrl", "/dev/nvme0")["oncs"] >> 1 & 1:
        assert status == 0, text
        status, text = guest.run(f"nvme read {device} -s 8 -c 0 -z 4096 -d /tmp/got", check=False)
        assert status != 0 and "Unrecovered Read Error" in text
    else:
        assert status != 0 and "Invalid Command Opcode" in text
