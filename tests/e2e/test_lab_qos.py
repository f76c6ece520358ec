"""`weir lab run qos-...`: the experiments with the switch, a small part of each."""
import json
import subprocess

import pytest

import target as targets
from tools import SECONDS


def run(name, *args):
    """what came of it, whether or not all checks are met: in so short a time not all can be"""
    done = subprocess.run([targets.WEIR, "lab", "run", name, "--quick", "--json", *args], stdout=subprocess.PIPE,
                          text=True, timeout=5 * SECONDS)
    assert done.returncode in (0, 1)
    result, = json.loads(done.stdout)["results"]
    return result


def rows(result, table):
    one, = (one for one in result["tables"] if one["name"] == table)
    names = [column["name"] for column in one["columns"]]
    return [dict(zip(names, row)) for row in one["rows"]]


def metric(result, name):
    value, = (one["value"] for one in result["metrics"] if one["name"] == name)
    return value


@pytest.fixture(autouse=True)
def at_length(binary):
    if targets.sanitized():
        pytest.skip("a sanitizer takes its time; it has the policies' own tests")


def test_weights_are_parts_of_a_drive_that_its_link_bounds():
    parts = [row for row in rows(run("qos-weights"), "weights") if row["drive"] == "optane"]
    assert {row["behind"] for row in parts} == {"switch", "switch with credits"}
    assert len(parts) == 8 and max(row["error"] for row in parts) < 5


def test_caps_let_as_much_through_as_they_say():
    result = run("qos-caps")
    assert result["met"] and {check["expected"] for check in result["checks"]} == {1}
    capped = rows(result, "caps")
    assert {row["cap"] for row in capped} >= {1, 10, 100, 1000, 10000, 100000} and len(capped) == 28


def test_priorities_are_served_in_their_ratio():
    result = run("qos-priorities")
    assert result["met"] and metric(result, "I/Os of priority 0 for each of priority 1") > 3


def test_writing_costs_what_it_costs():
    """and what is done side by side finds the same"""
    result = run("qos-cost", "--jobs", "1")
    assert result["met"] and metric(result, "write cost, clean and written a little") == 1
    assert run("qos-cost", "--jobs", "3") == result


def test_what_the_switch_is_compared_with_is_tried_with_less_and_more():
    """so a policy that was told a quarter of the drive's rate gives a quarter of what it gives"""
    tried = rows(run("qos-tuning"), "tuning")
    assert {row["times"] for row in tried} == {0.25, 0.5, 1, 2, 4} and len({row["behind"] for row in tried}) == 4
    rates = {row["times"]: row["all"] for row in tried if row["its"] == "rate" and row["mix"] == "4k + 128k reads"}
    assert rates[0.25] < 0.3 * rates[1] and rates[0.5] < 0.6 * rates[1]
