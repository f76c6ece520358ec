"""`weir lab run rio`: ordered writes beside others, the ends of each axis."""
import json
import subprocess

import pytest

import target as targets
from tools import SECONDS


def run(*args):
    """what came of it: a result, and the rows of its cells"""
    done = subprocess.run([targets.WEIR, "lab", "run", "rio", "--quick", "--json", *args], stdout=subprocess.PIPE,
                          text=True, timeout=10 * SECONDS)
    assert done.returncode == 0, done.stdout
    result, = json.loads(done.stdout)["results"]
    return result, next(table for table in result["tables"] if table["name"] == "cells")


@pytest.fixture(autouse=True)
def at_length(binary):
    if targets.sanitized():
        pytest.skip("a sanitizer takes its time; the rig has tests of its own")


def test_ordered_writes_are_held_against_others_and_against_what_they_must_be():
    """and what is done side by side finds the same"""
    result, cells = run("--jobs", "2")
    assert result["met"] and {check["name"] for check in result["checks"]} >= {
        "ordered_vs_orderless_min", "vs_sync_flash", "vs_sync_optane", "closed_form_off_max"}
    ways = {(row[0], row[2]): row[3] for row in cells["rows"] if row[1] == "barred"}
    assert len(ways) == 8
    for drive in "tlc-consumer", "optane":
        assert ways[drive, "ordered"] > ways[drive, "Horae"] > ways[drive, "wait and flush"]
    assert run("--jobs", "1") == (result, cells)
