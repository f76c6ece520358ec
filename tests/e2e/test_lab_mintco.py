"""`weir lab run mintco`: what placement costs, by the minTCO paper's experiments, and on workloads that somebody has."""
import json
import subprocess
import sys
from pathlib import Path

import pytest

import target as targets
from tools import SECONDS

SCRIPT = Path(__file__).parents[2] / "scripts" / "btf_workloads.py"
FEATURES = "block_req_count write_block_req_count iat_avg write_size_avg write_seq_count wss workload".split()


def lab(*args):
    return subprocess.run([targets.WEIR, "lab", "run", *map(str, args)], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=10 * SECONDS)


def run(*args):
    """what came of each experiment, by its name"""
    done = lab("mintco", "--quick", "--json", *args)
    assert done.returncode == 0, done
    return {result["experiment"]: result for result in json.loads(done.stdout)["results"]}


def table(result, name):
    return next(table for table in result["tables"] if table["name"] == name)


@pytest.fixture(autouse=True)
def at_length(binary):
    if targets.sanitized():
        pytest.skip("a sanitizer takes its time; what places has tests of its own")


def test_the_papers_experiments_come_out_as_they_must():
    """and side by side it is the same"""
    results = run("--jobs", "2")
    assert list(results) == ["mintco-rank", "mintco-lookahead", "mintco-perf", "mintco-raid",
                             "mintco-offline"]
    assert all(result["met"] and result["checks"] for result in results.values())
    costs = {row[0]: float(row[1]) for row in table(results["mintco-rank"], "ranking-stated")["rows"]}
    assert min(costs, key=costs.get) == "search, all known" and costs["minTCO-v3"] < costs["maxRemCycle"]
    assert len(table(results["mintco-rank"], "drives")["rows"]) == 9
    assert run("--jobs", "1") == results


@pytest.fixture
def features(tmp_path):
    """two disks that were traced for seven days, one that was so for longer, and one that nobody wrote"""
    rows = [[700000, 500000, 864000, 4096, 125000, 5 * 10**9, "a"],
            [7000000, 700000, 86400, 8192, 700000, 10**10, "b"],
            [7000, 700, 864000000, 512, 0, 10**8, "c"],
            [604800, 0, 10**6, "", 0, 10**9, "d"]]
    path = tmp_path / "features.csv"
    path.write_text("\n".join(",".join(map(str, row)) for row in [FEATURES, *rows]) + "\n")
    return path


def test_features_of_traces_become_workloads(features):
    done = subprocess.run([sys.executable, SCRIPT, features, "--peak-over-mean", "10"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=True)
    comment, heading, *rows = done.stdout.splitlines()
    assert comment.startswith("# Estimated") and heading.split(",")[0] == "name"
    assert [row.split(",") for row in rows] == [
        ["a", "0.292571", "0.25", "11.5741", "0.714286", "5"],
        ["b", "0.8192", "1", "115.741", "0.1", "10"],
        ["c", "5.12e-05", "0", "0.115741", "0.1", "0.1"],
        ["d", "0", "0", "10", "0", "1"]]
    assert done.stderr == "c: traced for 70.00 days by its gaps: taken as 7\n"


def test_workloads_that_somebody_has_are_taken_where_an_experiment_takes_any(features, tmp_path):
    path = tmp_path / "mine.csv"
    with open(path, "w", encoding="utf-8") as file:
        subprocess.run([sys.executable, SCRIPT, features], stdout=file, stderr=subprocess.PIPE, check=True)
    results = run("--workloads", path)
    said = [given["text"] for given in results["mintco-raid"]["given"] if given["name"] == "workloads"]
    assert said == [f"drawn from {path} (4)"]
    assert results["mintco-raid"]["metrics"] and not results["mintco-raid"]["checks"]
    shown = lab("mintco-raid", "--quick", "--workloads", path).stdout
    assert "\nMetrics\n" in shown and "Checks" not in shown, "there is nothing to hold them to"
    refused = lab("known-delay", "mintco-raid", "--workloads", path)
    assert refused.returncode == 2 and refused.stderr == "weir lab: --workloads: known-delay takes none\n"
    path.write_text("name,write_rate_gb_day\na,1\n")
    wrong = lab("mintco-raid", "--quick", "--workloads", path)
    assert wrong.returncode == 1 and f"{path}:1: " in wrong.stderr
