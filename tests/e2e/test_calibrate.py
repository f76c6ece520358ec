"""`weir calibrate`: what it prints is what a configuration reads, and nobody's data is lost who has not said so."""
import re
import signal
import subprocess

import pytest

import target as targets

LISTEN = "listeners: [ { address: 127.0.0.1:0 } ]\n"
MEASURED = ["name", "read_cost", "write_cost", "write_cost_worst", "read_rate", "write_rate", "read_extra_us",
            "write_extra_us", "latency_min_us", "latency_max_us", "slots", "slots_least", "inflight", "rate_first",
            "rate_least", "rate_most"]


def calibrate(*args, code=0):
    done = targets.run("calibrate", "--time=2", *args)
    assert done.returncode == code and (done.stdout == "" or code == 0), done
    return done


def device(entry, folder):
    """The keys of an entry, which a configuration with it is right to have."""
    path = folder / "devices.yaml"
    path.write_text(LISTEN + "qos:\n  devices:\n" + entry)
    checked = targets.run("check", path)
    assert (checked.returncode, checked.stderr) == (0, ""), (checked, entry)
    return dict(re.findall(r"^ {4}[ -] (\w+): (.*)$", entry, re.M))


@pytest.mark.alone
def test_a_modelled_drive(binary, tmp_path):
    done = calibrate("flash:optane,1G,data=no")
    said = device(done.stdout, tmp_path)
    assert list(said) == MEASURED and said["name"] == "optane"
    assert re.search(r"^reads, MB/s( +\d+){6}$", done.stderr, re.M), done.stderr
    assert re.search(r"^saturated by \d+ reads of 128 KiB", done.stderr, re.M), done.stderr
    small, large = (float(said["read_extra_us"].strip("[]").split(", ")[at]) for at in (0, 5))
    assert small == 0 and 40 < large < 300  # 92 in virtual time


def test_a_file_is_overwritten_only_where_that_is_said(binary, tmp_path):
    path = tmp_path / "v.img"
    path.write_bytes(bytes(range(256)) * 65536)
    before = path.read_bytes()
    done = calibrate("file:%s" % path, code=1)
    assert "%s would be written all over" % path in done.stderr and "--destroy-data" in done.stderr
    assert path.read_bytes() == before
    assert device(calibrate("--destroy-data", "file:%s" % path).stdout, tmp_path)["name"] == "v"
    assert len(path.read_bytes()) == len(before) and path.read_bytes() != before


def test_all_of_it_is_written_before_where_that_is_asked_for(binary, tmp_path):
    spec = "file:%s/v.img,size=8M" % tmp_path
    device(calibrate("--destroy-data", "--prepare", "--name=v", spec).stdout, tmp_path)
    data = (tmp_path / "v.img").read_bytes()
    assert len(data) == 8 << 20 and all(any(data[at:at + 4096]) for at in range(0, len(data), 4096))


def test_a_file_that_is_not_there_is_not_made(binary, tmp_path):
    calibrate("file:%s/v.img,size=16M" % tmp_path, code=1)
    assert not (tmp_path / "v.img").exists()


def test_a_namespace_of_a_configuration(binary, tmp_path):
    path, out = tmp_path / "weir.yaml", tmp_path / "out"
    path.write_text(LISTEN + "subsystems:\n  - nqn: nqn.2026-11.a/b\n    namespaces:\n"
                    "      - { nsid: 3, volume: mem, size: 16M, block_size: 512 }\n")
    done = calibrate("--config", path, "nqn.2026-11.a/b/3", "--name=mine", "--out", out)
    assert done.stdout == "" and device(out.read_text(), tmp_path)["name"] == "mine"
    done = calibrate("--config", path, "nqn.2026-11.a/b/4", code=1)
    assert done.stderr == "weir calibrate: %s has no nqn.2026-11.a/b/4\n" % path
    done = calibrate("--config", path, "nqn.2026-11.a", code=1)
    assert done.stderr == "weir calibrate: 'nqn.2026-11.a' is not SUBNQN/NSID\n"


def test_a_volume_that_is_served(serve, tmp_path):
    spec = "file:%s/v.img,size=16M" % tmp_path
    serve(ns=[spec])
    assert "the file is in use already" in calibrate("--destroy-data", spec, code=1).stderr


@pytest.mark.parametrize("spec, words", [
    ("fault:read-error=0@mem:1M", r"a read of \d+ bytes at block 0 failed: unrecovered read error"),
    ("fault:write-error=0@mem:1M", r"a write of \d+ bytes at block 0 failed: write fault"),
    ("disk:/a", "disk:/a: not a volume"),
    ("file:", "no path"),
    ("x" * 300, "a volume's text has 255 bytes at most")], ids=["read", "write", "kind", "path", "long"])
def test_what_cannot_be_measured(binary, spec, words):
    done = calibrate("--destroy-data", spec, code=1)
    assert re.search(words, done.stderr) and len(done.stderr.splitlines()) == 1, done


@pytest.mark.parametrize("args", [[], ["mem:1M", "mem:2M"], ["mem:1M", "--time=0.5"], ["mem:1M", "--name=-a"],
                                  ["mem:1M", "--name=" + "a" * 64], ["mem:1M", "--block-size=1024"]],
                         ids=lambda args: " ".join(args)[:20])
def test_command_lines_that_are_wrong(binary, args):
    done = targets.run("calibrate", *args)
    assert (done.returncode, done.stdout) == (2, "") and done.stderr.startswith("weir calibrate: "), done


def takes_signals(pid):
    """whether it looks at SIGINT itself, and not the kernel"""
    blocked = re.search(r"^SigBlk:\s*(\w+)", open("/proc/%d/status" % pid).read(), re.M).group(1)
    return int(blocked, 16) >> (signal.SIGINT - 1) & 1


@pytest.mark.parametrize("spec", ["mem:16M", "fault:hold=0@mem:1M"], ids=["once", "twice"])
def test_it_can_be_stopped(binary, spec):
    """what is in flight is waited for, unless it is asked twice"""
    with subprocess.Popen([binary, "calibrate", "--time=600", spec], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True) as running:
        targets.until("takes signals", lambda: takes_signals(running.pid))
        running.send_signal(signal.SIGINT)
        assert running.stderr.readline() == "weir calibrate: stopped before its end\n"
        if "hold" in spec:
            running.send_signal(signal.SIGINT)
        out, said = running.communicate(timeout=20 * targets.PATIENCE)
    assert (running.returncode, out, said) == (1, "", "")


def test_parameters_that_cannot_be_written(binary, tmp_path):
    """is known before anything is measured"""
    done = calibrate("mem:1M", "--out", tmp_path / "no" / "file", code=1)
    assert done.stderr.splitlines() == ["weir calibrate: %s/no/file: No such file or directory" % tmp_path]
    done = calibrate("mem:16M", "--time=1", "--out", "/dev/full", code=1)
    assert done.stderr.splitlines()[-1] == "weir calibrate: /dev/full: No space left on device"
