"""`weir sim`: what it plays, what it says of it, and what it makes of what goes wrong."""
import contextlib
import json
import os
import re
import shlex
import signal
import subprocess

import pytest

import target as targets
from nvmetcp import PATIENCE
from tools import SECONDS

SMALL = """\
says: two hosts, a little while
knobs: { hosts: 2, read: 1, write: 1, until: 5 ms }
often:
  target-killed: { every: 1-2 ms, for: 1 ms }
"""
ENDLESS = ["--max-events", "300"]  # is soon reached by what is small
BEFALLEN = """\
says: whatever the world can do to processes, disks and networks
knobs: { hosts: 2, read: 1, write: 1, until: 30 ms, header-digest: 100 %, data-digest: 100 %, in-ram: 0 % }
often:
  target-paused: { every: 5 ms, for: 1 ms }
  parted: { every: 5 ms, for: 1 ms }
  network-slow: { every: 5 ms, for: 1 ms }
  network-flips: { every: 5 ms, for: 5 ms }
  disk-slow: { every: 5 ms, for: 1 ms }
  disk-lies: { every: 5 ms }
"""
FAR = """\
says: as far away as can be, and hosts that know it
knobs: { targets: 2, hosts: 2, listeners: 2, read: 1, write: 1, latency: 100 ms, jitter: 100 ms, until: 10 s,
         kato: 10 s, io-timeout: 10 s, claims: 100 % }
often:
  target-killed: { every: 3 s, for: 1 s }
  listener-resets: { every: 3 s, for: 1 s }
"""
LONG = """\
says: it takes hours, but for who goes wrong
knobs: { hosts: 8, lanes: 4, depth: 16, read: 1, write: 1, until: 3600 s }
"""


@pytest.fixture(autouse=True)
def somewhere(tmp_path, monkeypatch):
    """What a finding leaves behind is nobody's."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def small(binary, tmp_path):
    path = tmp_path / "small.yaml"
    path.write_text(SMALL)
    return path


@pytest.fixture
def long(binary, tmp_path):
    path = tmp_path / "long.yaml"
    path.write_text(LONG)
    return path


def sim(*args, code=0, stdin="", **how):
    done = subprocess.run([targets.WEIR, "sim", *map(str, args)], input=stdin, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=SECONDS, **how)
    assert done.returncode == code, done
    return done


def answer(*args, **how):
    done = sim(*args, "--json", **how)
    assert done.stderr == "", done
    return json.loads(done.stdout)


def test_the_first_hundred_seeds_of_each_scenario_are_right(binary):
    """a minute; `./dev sim` goes on from there"""
    if targets.sanitized():
        pytest.skip("a sanitizer takes its time; it has the seeds of tests/sim/test_trial.c")
    done = subprocess.run([binary, "sim", "--scenario", "all", "--seeds", "1-100", "--jobs", "1", "--json"],
                          stdout=subprocess.PIPE, text=True, timeout=60 * PATIENCE * SECONDS)
    said = json.loads(done.stdout)
    assert done.returncode == 0, said
    assert said["all"]["seeds"] >= 1100, said



def untimed(said):
    return [line for line in said.splitlines() if not line.startswith("  took ")]


# ---- what there is ----

def test_what_is_built_in_is_listed(binary):
    listed = json.loads(sim("--list", "--json").stdout)["scenarios"]
    lines = sim("--list").stdout.splitlines()[1:]
    assert listed and [re.split("  +", line) for line in lines] == [[one["scenario"], one["says"]] for one in listed]


def test_what_a_scenario_can_have_is_explained(binary):
    said = sim("--explain").stdout
    for word in ("hosts", "listeners", "until", "target-killed", "listener-silent"):
        assert re.search(r"^  %s +\S" % word, said, re.M), word


def test_a_plan_is_a_scenario_of_which_the_same_seed_makes_it(binary, tmp_path):
    for one in json.loads(sim("--list", "--json").stdout)["scenarios"]:
        plan = sim("--scenario", one["scenario"], "--seed", 7, "--show").stdout
        path = tmp_path / "plan.yaml"
        path.write_text(plan)
        assert sim("--scenario", path, "--seed", 7, "--show").stdout == plan


# ---- one trial ----

def test_one_seed_is_one_history(small):
    """said for people and for programs, of a file or of standard input; another seed is another one"""
    done = sim("--scenario", small, "--seed", 3)
    assert done.stderr == "" and done.stdout.startswith("small, seed 3: right\n")
    found = answer("--scenario", small, "--seed", 3)
    assert (found["scenario"], found["seed"], found["outcome"]) == ("small", 3, "right")
    assert found["hash"] in done.stdout and found["events"] > 0 and found["virtual_ns"] >= 5_000_000
    assert found["tried"]["ios"] == sum(found["tried"]["ops"].values()) > 0
    assert found["tried"]["faults"]["target-killed"] > 0
    assert answer("--scenario", "-", "--seed", 3, stdin=SMALL)["hash"] == found["hash"]
    assert "\nFaults\n  target-killed" in done.stdout
    assert answer("--scenario", small, "--seed", 4)["hash"] != found["hash"]
    assert answer("--scenario", small, "--seed", 3, "--until", "10ms")["virtual_ns"] >= 10_000_000


def test_people_are_not_told_of_what_there_was_none_of(binary):
    calm = "says: no fault\nknobs: { read: 1, until: 5 ms }\n"
    said = sim("--scenario", "-", "--seed", 1, stdin=calm).stdout
    assert "\nKinds of I/O\n  read " in said and "Faults" not in said and "losses" not in said
    assert set(answer("--scenario", "-", "--seed", 1, stdin=calm)["tried"]["faults"].values()) == {0}


ENTRY = re.compile(
    r"\d+\.\d{9} ([a-z]+) (reactor \d+\.\d+|link \d+|process \d+|file [0-9a-f]{16})( [a-z]+=-?[0-9a-f]+)*$")


def test_hosts_wait_as_long_as_their_network_takes():
    found = answer("--scenario", "-", "--seed", 1, stdin=FAR)
    assert found["outcome"] == "right" and found["tried"]["ios"] > 100, found


def test_the_trace_is_all_that_happens(small, tmp_path):
    path = tmp_path / "trace"
    log = sim("--scenario", small, "--seed", 3, "--trace", path, "--log").stderr.splitlines()
    lines = path.read_text().splitlines()
    assert log and [line for line in lines if " # " in line] == log
    kinds = {ENTRY.match(line).group(1) for line in lines if " # " not in line}
    assert {"turn", "mail", "syn", "connected", "bytes", "read", "write", "start", "crash"} <= kinds
    times = [float(line.split()[0]) for line in lines]
    assert times[-1] >= 0.005 and len(lines) > answer("--scenario", small, "--seed", 3)["events"]
    done = sim("--scenario", small, "--seed", 3, "--trace", "-")
    assert done.stdout.splitlines()[:len(lines)] == lines


def test_whatever_befalls_the_world_is_in_the_trace(tmp_path):
    path = tmp_path / "trace"
    sim("--scenario", "-", "--seed", 1, "--trace", path, stdin=BEFALLEN)
    kinds = {ENTRY.match(line).group(1) for line in path.read_text().splitlines() if " # " not in line}
    assert {"pause", "part", "slow", "faults", "spoil", "flips", "flip"} - kinds == set()


def test_a_trace_that_cannot_be_written_is_said(small, tmp_path):
    done = sim("--scenario", small, "--seed", 3, "--trace", tmp_path / "no" / "trace", code=1)
    assert done.stderr == "weir sim: %s: No such file or directory\n" % (tmp_path / "no" / "trace")
    done = sim("--scenario", small, "--seed", 3, "--trace", "/dev/full", code=1)
    assert done.stderr == "weir sim: /dev/full: No space left on device\n"


@pytest.mark.parametrize("how", [
    ["--list"], ["--list", "--json"], ["--explain"], ["--scenario", "steady", "--seed", 1, "--show"],
    ["--scenario", "-", "--seed", 1], ["--scenario", "-", "--seed", 1, "--json"],
    ["--scenario", "-", "--seed", 1, "--trace", "-"], ["--scenario", "-", "--seeds", "1-2", "--json"]],
    ids=lambda how: " ".join(map(str, how)))
def test_what_cannot_be_said_is_no_success(binary, how):
    with open("/dev/full", "w") as full:
        done = subprocess.run([binary, "sim", *map(str, how)], input=SMALL, stdout=full, stderr=subprocess.PIPE,
                              text=True, timeout=SECONDS)
    assert done.returncode == 1 and done.stderr.startswith("weir: cannot write to standard output"), done
    assert done.stderr.count("\n") == 1, done


def test_what_would_not_end_is_ended_and_that_is_said(small):
    done = sim("--scenario", small, "--seed", 3, *ENDLESS, code=1)
    assert done.stdout.startswith("small, seed 3: endless\n")
    found = answer("--scenario", small, "--seed", 3, *ENDLESS, code=1)
    assert found["outcome"] == "endless" and " events" in found["why"]


@pytest.mark.parametrize("name", ["_x", "a b$c", "", "-", "x" * 60, "\u00e9t\u00e9"])
def test_whatever_a_file_is_called_its_plan_can_be_read(binary, tmp_path, name):
    """it gives a name to a scenario that has none, and to what is made shorter"""
    path = "-" if name == "-" else tmp_path / (name + ".yaml")
    if path != "-":
        path.write_text(SMALL)
    plan = sim("--scenario", path, "--seed", 7, "--show", stdin=SMALL).stdout
    assert sim("--scenario", "-", "--seed", 7, "--show", stdin=plan).stdout == plan


# ---- what is refused ----

@pytest.mark.parametrize("words", [
    [], ["--scenario", "x"], ["--scenario", "x", "--seed", "1", "--seeds", "1-2"], ["--scenario", "x", "--seed", "-1"],
    ["--scenario", "x", "--seeds", "2-1"], ["--scenario", "x", "--seeds", "1-2-3"], ["--scenario", "x", "--seeds", "-"],
    ["--scenario", "all", "--seed", "1"], ["--scenario", "x", "--seed", "1", "--jobs", "2"],
    ["--scenario", "x", "--seeds", "1", "--trace", "t"], ["--scenario", "x", "--seeds", "1", "--jobs", "0"],
    ["--scenario", "x", "--seeds", "1", "--time", "0"], ["--scenario", "x", "--seed", "1", "--until", "soon"],
    ["--scenario", "x", "--seed", "1", "--json", "--trace", "-"], ["--scenario", "x", "--seed", "1", "--show", "--log"],
    ["--list", "x"], ["--scenario", "x", "--seeds", "18446744073709551615"]], ids=" ".join)
def test_wrong_command_lines(binary, words):
    done = sim(*words, code=2)
    assert done.stdout == "" and "Try `weir sim --help'" in done.stderr


@pytest.mark.parametrize("line, text", [
    (2, SMALL.replace("hosts: 2", "hots: 2")), (2, SMALL.replace("until: 5 ms", "until: 5 parsecs")),
    (4, SMALL.replace("target-killed", "target-kissed")), (4, SMALL.replace("1-2 ms", "2-1 ms")),
    (1, "[]\n"), (1, "")], ids=["key", "unit", "fault", "span", "kind", "nothing"])
@pytest.mark.parametrize("how", [["--seed", "1"], ["--seeds", "1-10"], ["--seed", "1", "--show"]], ids=" ".join)
def test_a_file_with_mistakes_is_refused_with_line_and_reason(binary, tmp_path, line, text, how):
    path = tmp_path / "wrong.yaml"
    path.write_text(text)
    done = sim("--scenario", path, *how, code=1)
    assert done.stdout == "" and re.match(r"%s:%d: \S" % (re.escape(str(path)), line), done.stderr), done


def test_time_that_a_scenario_cannot_have_is_refused(small, tmp_path):
    """every scenario that is built in can have a minute"""
    path = tmp_path / "late.yaml"
    path.write_text("faults: [ { at: 5 ms, what: disk-lies } ]\n")
    done = sim("--scenario", path, "--seed", 1, "--until", "5ms", code=1)
    assert done.stderr == "weir sim: --until: late: a fault that is to happen comes later\n"
    assert "disk-lies" in sim("--scenario", path, "--seed", 1, "--until", "6ms", "--show").stdout
    done = sim("--scenario", small, "--seeds", "1-2", "--until", "60s", code=1)
    assert done.stderr == "weir sim: --until: small: in so much time there can be more faults than a plan can have\n"
    for one in json.loads(sim("--list", "--json").stdout)["scenarios"]:
        assert "until: 60000 ms" in sim("--scenario", one["scenario"], "--seed", 1, "--until", "60s", "--show").stdout


def test_what_is_not_there(binary, tmp_path):
    assert sim("--scenario", "nosuch", "--seed", 1, code=1).stderr == (
        "weir sim: there is neither a scenario nor a file `nosuch'; --list says which there are\n")
    path = tmp_path / "nosuch.yaml"
    assert sim("--scenario", path, "--seed", 1, code=1).stderr == "weir: %s: No such file or directory\n" % path


# ---- a search ----

def test_a_search_says_what_was_played(small):
    found = answer("--scenario", small, "--seeds", "5-24")
    mine, = found["scenarios"]
    assert (found["findings"], found["stopped"], mine["next_seed"]) == ([], False, 25)
    assert found["all"]["seeds"] == mine["seeds"] == 20 and found["all"]["wrong"] == 0
    each = [answer("--scenario", small, "--seed", seed) for seed in range(5, 25)]
    for what in "virtual_ns", "events":
        assert found["all"][what] == sum(one[what] for one in each)
    assert found["tried"]["ios"] == sum(one["tried"]["ios"] for one in each)


def test_what_a_search_has_tried_is_what_its_seeds_have(binary, tmp_path):
    """all of it, whatever there is to count"""
    path = tmp_path / "claims.yaml"
    path.write_text("knobs: { hosts: 3, read: 1, write: 1, claims: 100 %, until: 50 ms }\n")
    tried = answer("--scenario", path, "--seeds", "1-3")["tried"]
    each = [answer("--scenario", path, "--seed", seed)["tried"] for seed in range(1, 4)]
    assert tried["claims"] > 0 and tried["conflicts"] > 0
    for part in (lambda one: one), (lambda one: one["ops"]), (lambda one: one["faults"]):
        counts = {key: value for key, value in part(tried).items() if isinstance(value, int)}
        assert counts == {key: sum(part(one)[key] for one in each) for key in counts}


def test_what_is_built_in_is_right(binary):
    """a few short seeds; how many there are is not known here"""
    names = [one["scenario"] for one in json.loads(sim("--list", "--json").stdout)["scenarios"]]
    found = answer("--scenario", "all", "--seeds", "1-2", "--until", "20ms", "--patience", 60 * PATIENCE)
    assert [one["scenario"] for one in found["scenarios"]] == names
    assert all(one["seeds"] == 2 for one in found["scenarios"]) and found["all"]["seeds"] == 2 * len(names)


def test_how_many_at_a_time_makes_no_difference(small):
    said = [untimed(sim("--scenario", small, "--seeds", "1-20", "--findings", 3, "--no-shorten", *ENDLESS, "--jobs", jobs,
                        code=1).stdout) for jobs in (1, 2, 7)]
    assert said[0] == said[1] == said[2]
    assert sum(": endless" in line for line in said[0]) == 3


def test_a_search_goes_on_if_it_is_to(small):
    found = answer("--scenario", small, "--seeds", "1-9", "--keep-going", "--no-shorten", *ENDLESS, code=1)
    assert [one["seed"] for one in found["findings"]] == list(range(1, 10)) and found["all"]["wrong"] == 9


def again(command, folder, code=1):
    """What the command that a finding gives says."""
    words = shlex.split(command)
    assert words.pop(0) == "weir"
    done = subprocess.run([targets.WEIR, *words, "--json"], stdout=subprocess.PIPE, text=True, cwd=folder,
                          timeout=SECONDS)
    assert done.returncode == code, done
    return json.loads(done.stdout)


def test_what_goes_wrong_is_made_shorter(small, tmp_path):
    """once for all seeds that go wrong in the same way; both commands play what they say"""
    folder = tmp_path / "it's here"
    folder.mkdir()
    path = small.rename(folder / "small.yaml")
    found = answer("--scenario", path, "--seeds", "8-10", "--findings", 2, "--until", "8ms", "--out", folder, *ENDLESS,
                   code=1)
    first, second = found["findings"]
    assert "shortened" in first and "shortened" not in second
    assert again(first["replay"], tmp_path)["why"] == first["why"]
    shortened = first["shortened"]
    assert shortened["file"] == str(folder / "weir-sim-small-8.yaml") and shortened["tries"] > 0
    whole, less = (again(one["replay"], tmp_path) for one in (first, shortened))
    assert (less["seed"], less["outcome"]) == (8, "endless")
    heading = (folder / "weir-sim-small-8.yaml").read_text().splitlines()[0]
    assert heading.endswith("which is endless: " + less["why"]) and less["why"] != first["why"], heading
    assert sum(less["tried"]["faults"].values()) <= shortened["faults"] == 0, whole


def test_a_file_that_cannot_be_written_is_said(small, tmp_path):
    done = sim("--scenario", small, "--seeds", 1, "--out", tmp_path / "no", *ENDLESS, code=1)
    assert done.stderr == "weir sim: %s/no/weir-sim-small-1.yaml: No such file or directory\n" % tmp_path
    assert "what is left of it" in done.stdout and "again, shortened" not in done.stdout


def test_who_takes_too_long_is_a_finding(long):
    found = answer("--scenario", long, "--seeds", "1-3", "--patience", "100ms", code=1)
    one, = found["findings"]
    assert (one["seed"], one["outcome"], one["oracle"]) == (1, "late", "patience") and "shortened" not in one


def children(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid)) as file:
        return [int(word) for word in file.read().split()]


@contextlib.contextmanager
def searching(*args):
    """A search that plays its first seed."""
    with subprocess.Popen([targets.WEIR, "sim", *map(str, args)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as process:
        try:
            targets.until("a child", lambda: children(process.pid))
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("sig, about", [(signal.SIGABRT, "SIGABRT"), (signal.SIGKILL, "SIGKILL")])
def test_who_dies_is_a_finding(long, sig, about):
    with searching("--scenario", long, "--seeds", "1-2", "--jobs", 1, "--no-shorten", "--json") as process:
        os.kill(children(process.pid)[0], sig)
        out, _ = process.communicate(timeout=SECONDS)
    one, = json.loads(out)["findings"]
    assert process.returncode == 1 and (one["seed"], one["outcome"], one["oracle"]) == (1, "dead", about)


@pytest.mark.parametrize("seeds, code", [("1-", 0), ("1-1000000", 3)])
def test_interrupted_it_says_how_far_it_was(small, seeds, code):
    with searching("--scenario", small, "--seeds", seeds) as process:
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=SECONDS)
    assert (process.returncode, err) == (code, "") and re.search(r"^  seeds +\d+$", out, re.M), out


def test_a_search_ends_when_its_time_is_over(small):
    found = answer("--scenario", small, "--seeds", "1-1000000", "--time", "300ms", code=3)
    assert found["stopped"] and found["all"]["elapsed_ms"] >= 300
    assert answer("--scenario", small, "--seeds", "1-", "--time", "300ms")["findings"] == []
