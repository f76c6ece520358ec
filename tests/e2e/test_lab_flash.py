"""`weir lab run flash-...`: the experiments with modelled drives, from the command line."""
import json
import subprocess

import pytest

import target as targets
from tools import SECONDS


def run(name):
    done = subprocess.run([targets.WEIR, "lab", "run", name, "--json"], stdout=subprocess.PIPE, text=True,
                          timeout=SECONDS, check=True)
    result, = json.loads(done.stdout)["results"]
    return result


def run_at_length(name):
    if targets.sanitized():
        pytest.skip("a sanitizer takes its time; it has other experiments, and the model's own tests")
    return run(name)


def test_drives_are_as_fast_as_what_is_published_of_them(binary):
    """each with the profile's hash, the source of each point, and no point far off; and again it is the same"""
    result = run("flash-published")
    checks = {check["name"]: check for check in result["checks"]}
    assert result["met"] and checks["flash_error_max_percent"]["expected"] == 15
    points, unheld = result["tables"]
    columns = [column["name"] for column in points["columns"]]
    drives = {row[0].split(",")[0] for row in points["rows"]}
    assert drives == {"tlc-plp", "tlc-consumer", "optane", "qlc"} and len(points["rows"]) > 20
    assert all(row[columns.index("source")] for row in points["rows"])
    assert all(row[-1] for row in unheld["rows"]), "why they are not"
    assert {given["text"].split()[0] for given in result["given"] if given["name"] == "profile"} == drives
    assert run("flash-published") == result


def test_amplification_is_what_theory_says(binary):
    result = run("flash-waf")
    checks = {check["name"]: check for check in result["checks"]}
    assert result["met"] and checks["waf_error_max_percent"]["expected"] == 5
    assert any(given["name"] == "profile" and given["text"].startswith("tlc-plp ") for given in result["given"])
    spares = [row[0] for row in result["tables"][0]["rows"]]
    assert len(spares) >= 4 and min(spares) < 8 and max(spares) > 28
    assert checks["profile_waf_error_max_percent"]["expected"] == 5
    assert [row[0] for row in result["tables"][1]["rows"]] == ["tlc-plp", "tlc-consumer", "qlc"]


@pytest.mark.parametrize("name, checks", [
    ("flash-depth", 2), ("flash-depth-mixed", 2), ("flash-depth-write", 2), ("flash-size", 1), ("flash-flush", 2),
    ("flash-flush-writers", 2), ("flash-interference", 4)])
def test_what_drives_do_under_load_is_what_is_known_of_it(binary, name, checks):
    result = run_at_length(name)
    assert result["met"] and len(result["checks"]) >= checks and result["figures"] and result["metrics"]
    measured = result["tables"][0]
    columns = [column["name"] for column in measured["columns"]]
    drives = {row[columns.index("series")].split(",")[0] for row in measured["rows"]}
    assert drives > {"tlc-plp"} and "I/Os that failed" in [check["name"] for check in result["checks"]]


def test_sequential_writes_save_what_the_regression_says(binary):
    """a plateau, and then a drop"""
    result = run_at_length("flash-waf-sequential")
    assert result["met"] and [check["name"].split(":")[0] for check in result["checks"]] == [
        "plateau", "drop", "regression"]
    shares = [row[0] for row in result["tables"][0]["rows"]]
    assert shares[0] == 0 and shares[-1] == 100 and len(result["tables"][1]["rows"]) == len(
        result["tables"][0]["columns"]) - 1
