"""bash completion: what `weir --help` and `weir COMMAND --help` know is offered."""
import os
import re
import shlex
import subprocess

import pytest

import target as targets

COMPLETION = os.path.join(targets.REPO, "completions", "bash", "weir")


def completed(*words, cwd=None):
    """What is offered for the last of these words, as bash cuts them."""
    script = """
        compopt() { :; }
        source %s
        COMP_WORDS=(weir %s) COMP_CWORD=%d
        _weir %s
        printf '%%s\\n' "${COMPREPLY[@]}"
        """ % (COMPLETION, " ".join(map(shlex.quote, words)), len(words), targets.WEIR)
    done = subprocess.run(["bash", "-uc", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=cwd)
    assert done.stderr == "" and done.returncode == 0, done
    return done.stdout.split()


def commands():
    return re.findall(r"^  (\S+)", targets.run("--help").stdout, re.M)


def test_commands(binary):
    assert len(commands()) >= 5 and set(commands()) <= set(completed(""))
    assert completed("ser") == ["serve"]
    assert completed("--v") == ["--version"]
    assert completed("nosuch", "--") == []


def test_each_option_of_each_command(binary):
    for command in commands():
        options = re.findall(r"^ {2,6}(?:-., )?(--[^ =]+=?)", targets.run(command, "--help").stdout, re.M)
        assert {"--help", "--usage"} <= set(options), command
        assert sorted(completed(command, "--")) == sorted(options), command


@pytest.mark.parametrize("words, offered", [
    (["perf", "--rw", "="], ["read", "write", "randread", "randwrite", "randrw"]),
    (["perf", "--rw", "=", "randr"], ["randread", "randrw"]),
    (["perf", "--rw", "wr"], ["write"]),
    (["serve", "--files", "=", ""], ["auto", "uring", "threads"]),
    (["serve", "--block-size", "=", ""], ["512", "4096"]),
    (["id", "--log", "=", ""], ["smart", "error", "firmware", "ana", "changed", "effects", "pages"]),
    (["id", "--log", "e"], ["error", "effects"]),
    (["serve", "--reactors", "=", ""], []),
    (["perf", ""], ["nvme+tcp://"]), (["perf", "nv"], ["nvme+tcp://"]), (["perf", "--json", "n"], ["nvme+tcp://"])],
    ids=lambda words: " ".join(words))
def test_values_and_arguments(binary, words, offered):
    assert completed(*words) == offered


def test_files_and_folders(binary, tmp_path):
    (tmp_path / "weir.yaml").touch()
    (tmp_path / "where").mkdir()
    for words in (["serve", "--config", "=", "w"], ["serve", "--config", "w"], ["check", "w"], ["diff", "w"],
                  ["apply", ""]):
        assert sorted(completed(*words, cwd=tmp_path)) == ["weir.yaml", "where"], words
    assert completed("serve", "--state-dir", "=", "w", cwd=tmp_path) == ["where"]
    for option in "-o", "--output":
        assert sorted(completed("trace", "synth", option, "", cwd=tmp_path)) == ["weir.yaml", "where"]
        assert completed("trace", "synth", option, "we", cwd=tmp_path) == ["weir.yaml"]
    assert completed("ping", "-i", "w", cwd=tmp_path) == [], "a time, and no file"
    assert completed("trace", "synth", "-x", "w", cwd=tmp_path) == [], "no option"


def test_commands_of_a_command(binary, tmp_path):
    assert sorted(completed("flash", "")) == ["condition", "curve", "list", "show"]
    assert completed("flash", "sh") == ["show"]
    assert sorted(completed("flash", "show", "--")) == ["--help", "--json", "--size=", "--usage"]
    assert completed("flash", "nosuch", "--") == []
    assert sorted(completed("trace", "")) == ["replay", "stat", "synth"]
    assert completed("trace", "stat", "--format", "=", "s") == ["spc", "ssdsim"]
    assert completed("trace", "replay", "nv", cwd=tmp_path) == ["nvme+tcp://"]


def test_profiles(binary, tmp_path):
    """those that are built in, and files"""
    (tmp_path / "mine.yaml").touch()
    names = [line.split()[0] for line in targets.run("flash", "list").stdout.splitlines()[1:]]
    assert sorted(completed("flash", "show", "", cwd=tmp_path)) == sorted(["mine.yaml", *names])
    assert completed("flash", "show", "m", cwd=tmp_path) == ["mine.yaml"]
    assert completed("flash", "show", "--size", "=", "", cwd=tmp_path) == []
    assert completed("flash", "curve", "m", cwd=tmp_path) == ["mine.yaml"]
    assert completed("flash", "curve", "--from", "m", cwd=tmp_path) == ["mine.yaml"]
    assert completed("flash", "condition", "--state", "fr", cwd=tmp_path) == ["fresh", "fragmented"]

def test_experiments(binary, tmp_path):
    """and their groups, behind what is to be done with them"""
    listed = [line.split()[:2] for line in targets.run("lab", "list").stdout.splitlines()[1:]]
    names = {word for words in listed for word in words}
    assert sorted(completed("lab", "")) == sorted(completed("lab", "run", "")) == sorted({"list", "run"} | names)
    assert completed("lab", "run", "known-d") == ["known-delay"]
    assert completed("lab", "run", "--out", "=", "", cwd=tmp_path) == []


def test_scenarios(binary, tmp_path):
    """those that are built in, and files"""
    (tmp_path / "mine.yaml").touch()
    names = [line.split()[0] for line in targets.run("sim", "--list").stdout.splitlines()[1:]]
    assert sorted(completed("sim", "--scenario", "=", "", cwd=tmp_path)) == sorted(["all", "mine.yaml", *names])
    assert completed("sim", "--scenario", "m", cwd=tmp_path) == ["mine.yaml"]
