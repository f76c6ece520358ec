"""`weir lab`: what there is, what is measured, and what is written of it."""
import json
import os
import pathlib
import pty
import re
import select
import signal
import subprocess
import xml.etree.ElementTree as xml

import pytest

import target as targets
from tools import SECONDS


def lab(*args, code=0):
    done = subprocess.run([targets.WEIR, "lab", *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, timeout=SECONDS)
    assert done.returncode == code, done
    return done


@pytest.fixture
def results(binary, tmp_path):
    """of the smallest experiment, in a folder that was not there"""
    folder = tmp_path / "results"
    said = json.loads(lab("run", "known-delay", "--out", folder, "--json").stdout)
    return folder, said


# ---- what there is ----

def test_what_there_is_is_listed(binary):
    listed = json.loads(lab("list", "--json").stdout)["experiments"]
    lines = lab("list").stdout.splitlines()[1:]
    assert [re.split("  +", line) for line in lines] == \
        [[one["experiment"], one["group"], one["question"]] for one in listed]
    names = [one["experiment"] for one in listed]
    assert "known-delay" in names and len(set(names)) == len(names)
    assert not set(names) & {one["group"] for one in listed}, "NAME may be either"
    assert all(one["question"].endswith("?") and one["known"] for one in listed)


# ---- runs ----

def test_a_result_is_one_object_and_a_file(results):
    folder, said = results
    result, = said["results"]
    assert said["met"] is True and result["met"] is True
    assert (result["experiment"], result["group"], result["seed"]) == ("known-delay", "house", 1)
    assert re.fullmatch("[0-9a-f]{16}", result["hash"]) and result["events"] > 0
    assert {check["met"] for check in result["checks"]} == {True}
    world, = (given["text"] for given in result["given"] if given["name"] == "world")
    assert world.startswith("a turn of a reactor takes 500 ns, ") and "; the network 10000 ns one way and " in world
    table = result["tables"][0]
    assert all(len(row) == len(table["columns"]) for row in table["rows"])
    latency = [column["name"] for column in table["columns"]].index("mean")
    assert [row[latency] for row in table["rows"] if row[:2] == ["direct", "4"]] == [pytest.approx(1000, rel=0.001)]
    text = (folder / "known-delay.json").read_text()
    assert json.loads(text) == result and '"1/s"' in text, "slashes need no escape"


def test_figures_stand_alone(results):
    """each is a picture that any viewer shows, with its axes, and what it was run with; it fetches nothing"""
    folder, said = results
    figures = said["results"][0]["figures"]
    assert sorted(os.listdir(folder)) == sorted(["known-delay.json"] + ["known-delay-%s.svg" % one["name"]
                                                                        for one in figures])
    for one in figures:
        text = (folder / ("known-delay-%s.svg" % one["name"])).read_text()
        words = [element.text for element in xml.fromstring(text).iter("{http://www.w3.org/2000/svg}text")]
        assert {one["title"], one["x"]["name"], "%s (%s)" % (one["y"]["name"], one["y"]["unit"])} <= set(words)
        assert {series["name"] for series in one["series"]} <= set(words)
        assert any("--seed 1" in word and said["results"][0]["hash"] in word for word in words)
        assert re.findall("href|url\\(|<image|<script|@import", text) == []


def test_the_same_seed_is_the_same_bytes(results, tmp_path):
    folder, _ = results
    lab("run", "known-delay", "--out", tmp_path / "again")
    for name in os.listdir(folder):
        assert (folder / name).read_bytes() == (tmp_path / "again" / name).read_bytes(), name
    other = json.loads(lab("run", "known-delay", "--seed", 2, "--json").stdout)["results"][0]
    assert other["seed"] == 2 and other["hash"] != json.loads((folder / "known-delay.json").read_text())["hash"]


def test_people_are_told_too(binary):
    said = lab("run", "known-delay").stdout
    assert said.startswith("known-delay: ") and "\nMeasured\n" in said
    assert "  met     I/Os that failed: 0 (at most 0)\n" in said and "NOT MET" not in said


def test_several_are_summed_up(binary):
    said = lab("run", "house").stdout
    assert said.endswith("\n\nAll 2\n  met     %d of %d checks\n" % ((said.count("\n  met     ") - 1,) * 2))
    assert "\nAll" not in lab("run", "known-delay").stdout


def test_a_group_is_all_of_it_and_each_runs_once(binary):
    group = [one["experiment"] for one in json.loads(lab("list", "--json").stdout)["experiments"]
             if one["group"] == "house"]
    said = json.loads(lab("run", "house", "known-delay", "--json").stdout)
    assert [one["experiment"] for one in said["results"]] == group


def test_what_it_depends_on_is_found(binary, tmp_path):
    said = json.loads(lab("run", "known-delay", "--sensitivity", "--json", "--out", tmp_path).stdout)["results"][0]
    table = next(one for one in said["tables"] if one["name"] == "sensitivity")
    changes = {tuple(row[:2]): row[2:] for row in table["rows"]}
    less, more = changes["what the fabric adds at depth 1", "world.latency_ns"]
    assert less == pytest.approx(-more, rel=0.05) and 15 < more < 30
    assert list(dict.fromkeys(metric for metric, _ in changes)) == [one["name"] for one in said["metrics"]]
    for metric in (one["name"] for one in said["metrics"]):
        reach = [max(map(abs, change)) for (of, _), change in changes.items() if of == metric]
        assert reach == sorted(reach, reverse=True) and reach[-1] >= 0.005, "what matters is on top, and nothing else there"
    assert (tmp_path / "known-delay-sensitivity-1.svg").read_text().count("world.latency_ns") == 1


def test_repetitions_side_by_side_find_the_same(binary, tmp_path):
    said = [lab("run", "known-delay", "--sensitivity", "--jobs", jobs, "--out", tmp_path / str(jobs)).stdout
            for jobs in (1, 2, 7, 64)]
    assert len(set(said)) == 1 and "world.latency_ns" in said[0]
    for name in os.listdir(tmp_path / "1"):
        assert len({(tmp_path / str(jobs) / name).read_bytes() for jobs in (1, 2, 7, 64)}) == 1, name


def test_a_repetition_that_dies_is_not_passed_over(binary):
    with subprocess.Popen([targets.WEIR, "lab", "run", "fabric-depth", "--sensitivity", "--jobs", "2"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        children = pathlib.Path("/proc/%d/task/%d/children" % (run.pid, run.pid))
        targets.until("repetitions have begun", lambda: children.read_text() != "", seconds=SECONDS)
        os.kill(int(children.read_text().split()[0]), signal.SIGKILL)
        said, words = run.communicate(timeout=SECONDS)
    assert (run.returncode, said) == (1, "")
    assert words == "weir lab: fabric-depth: a process of it ended before it was done: Killed\n"


# ---- how far it is ----

def in_terminal(*args):
    """(what was said, what was shown where standard error is a terminal)"""
    ours, theirs = pty.openpty()
    with subprocess.Popen([targets.WEIR, "lab", *args], stdout=subprocess.PIPE, stderr=theirs, text=True) as done:
        os.close(theirs)
        said, shown = done.stdout.read(), b""
        while select.select([ours], [], [], SECONDS)[0]:
            try:
                shown += os.read(ours, 4096)
            except OSError:  # the other side is closed
                break
        os.close(ours)
        assert done.wait(SECONDS) == 0
    return said, shown.decode()


def test_a_terminal_sees_how_far_it_is(binary):
    said, shown = in_terminal("run", "known-delay")
    assert re.search(r"\rknown-delay: \d+ of 12 measured.*, 0 s\x1b\[K", shown), shown
    assert shown.endswith("\r\x1b[K"), "and nothing of it stays"
    assert said == lab("run", "known-delay").stdout
    shown = in_terminal("run", "house", "--json")[1]
    assert "\r1/2 known-delay: " in shown
    assert re.search(r"\r2/2 fabric-depth: [1-9]\d* of 27 measured, \d+ s of virtual time, ", shown), shown


@pytest.mark.parametrize("jobs", ["1", "3"])
def test_repetitions_are_counted_too(binary, jobs):
    """two for each of six constants, of as many measurements as the first time"""
    said, shown = in_terminal("run", "known-delay", "--sensitivity", "--jobs", jobs, "--json")
    counted = [tuple(map(int, pair)) for pair in re.findall(r"\rknown-delay: (\d+) of (\d+) measured", shown)]
    assert {of for _, of in counted} <= {12, 12 * (1 + 2 * 6)} and counted == sorted(counted), shown
    assert json.loads(said)["met"]


def test_who_has_no_terminal_is_told_nothing(binary):
    assert lab("run", "known-delay").stderr == ""


# ---- bad input ----

@pytest.mark.parametrize("args, words", [
    (["run", "known-delya"], "there is no experiment or group 'known-delya'; is `known-delay' meant?"),
    (["run", "hause"], "there is no experiment or group 'hause'; is `house' meant?"),
    (["run", "nothing-like-it"], "there is no experiment or group 'nothing-like-it'; `weir lab list' says which"),
    (["run", "known-delay", "x"], "there is no experiment or group 'x'"),
    (["run"], "which experiment, or group?"), ([], "what is to be done?"), (["play"], "'play' is not `list' or `run'"),
    (["list", "house"], "what of 'house'?"), (["list", "--seed", "1"], "--seed is of `run'"),
    (["known-delay"], "what of 'known-delay'? `run known-delay' runs it"),
    (["house", "--json"], "what of 'house'? `run house' runs it"), (["run", "house", "--out", ""], "--out '': not a folder"),
    (["list", "--jobs", "2"], "--jobs is of `run'"), (["run", "house", "--jobs", "0"], "--jobs '0': not a number from 1 to 64"),
    (["list", "--out", "x"], "--out is of `run'"), (["list", "--sensitivity"], "--sensitivity is of `run'"),
    (["list", "--quick"], "--quick is of `run'"),
    (["run", "house", "--seed", "-1"], "--seed '-1': not a number"),
    (["run", "house", "--seed", "x"], "--seed 'x': not a number")], ids=lambda words: str(words)[:40])
def test_what_is_not_understood_says_why(binary, args, words):
    done = lab(*args, code=2)
    assert done.stdout == "" and "weir lab: " + words in done.stderr, done.stderr


def test_where_nothing_can_be_written_nothing_is_run(binary, tmp_path):
    """said at once, not after hours"""
    (tmp_path / "file").touch()
    for out, why in ((tmp_path / "file", "Not a directory"), (tmp_path / "no" / "such", "No such file or directory"),
                     (tmp_path / "file" / "in", "Not a directory")):
        done = lab("run", "known-delay", "--out", out, code=1)
        assert done.stdout == ""
        assert done.stderr == "weir lab: %s: results cannot be written there: %s\n" % (out, why)


def test_what_cannot_be_written_is_said(binary, tmp_path):
    (tmp_path / "known-delay.json").mkdir()
    done = lab("run", "known-delay", "--out", tmp_path, code=1)
    assert done.stderr == "weir lab: %s/known-delay.json: Is a directory\n" % tmp_path
    os.rmdir(tmp_path / "known-delay.json")
    os.symlink("/dev/full", tmp_path / "known-delay-latency.svg")
    done = lab("run", "known-delay", "--out", tmp_path, code=1)
    assert done.stderr == "weir lab: %s/known-delay-latency.svg: cannot be written: No space left on device\n" % tmp_path


def test_standard_output_that_is_full_is_an_error(binary):
    with open("/dev/full", "w") as full:
        done = subprocess.run([targets.WEIR, "lab", "run", "known-delay", "--json"], stdout=full,
                              stderr=subprocess.PIPE, text=True, timeout=SECONDS)
    assert done.returncode == 1 and "cannot write to standard output" in done.stderr
