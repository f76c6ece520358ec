"""full.py - the counts that are too large for every day: ./dev test --full.

Each job is cut into slices.  A slice that passed is noted in
full-state.json under the commit, so that a run that was stopped goes on
where it was; one that failed is run again.  When all are through, a line for
each job is added to doc/full-runs.md.  With changes that are not committed
nothing is noted: nobody could say later what was run.
"""
import datetime
import json
import os
import subprocess
import sys
from pathlib import Path

FUZZ_MINUTES = int(os.environ.get("WEIR_FUZZ_MINUTES", 60))  # per fuzzer
SEEDS = int(os.environ.get("WEIR_SEEDS", 1000))  # of the simulation
KILLS = int(os.environ.get("WEIR_KILLS", 200))  # of targets with each engine for files

# Experiments of the laboratory that show what the switch cannot yet: their bars are not met (doc/lab-qos.md).
NOT_MET = {"qos-fabric", "qos-matrix-fabric", "qos-g2", "qos-sizes", "qos-crowds"}

STATE = Path("full-state.json")  # not in build/, which is made anew when a package changes
RECORD = Path("doc/full-runs.md")
HEAD = """# Full runs

What `./dev test --full` ran to the end, and on which commit. A failure is not recorded here: it is fixed first.

| date | commit | what | count |
|---|---|---|---|
"""


def commit():
    """The commit that the tree is, or None where it has changes."""
    changed = subprocess.check_output(["git", "status", "--porcelain", "--", ".", f":!{RECORD}"], text=True)
    if changed.strip():
        return None
    return subprocess.check_output(["git", "rev-parse", "--short=12", "HEAD"], text=True).strip()


def fuzz_slice(name):
    return lambda first, count: ["./dev", "fuzz", name, str(60 * count)]


def seeds_slice(first, count):
    """Tests of the suite sim take their range of seeds from the environment."""
    return ["env", f"WEIR_SEED_FIRST={first}", f"WEIR_SEEDS={count}",
            "meson", "test", "-C", "build", "--suite", "sim", "--timeout-multiplier", "0", "--print-errorlogs"]


def kills_slice(first, count):
    return ["tests/e2e/durable.py", "--kills", str(count), "--seed", str(first + 1)]


def experiments():
    said = json.loads(subprocess.check_output(["build/cmd/weir", "lab", "list", "--json"]))
    return [one["experiment"] for one in said["experiments"] if one["experiment"] not in NOT_MET]


def lab_slice(first, count):
    return ["build/cmd/weir", "lab", "run", *experiments()[first:first + count]]


def jobs():
    """(what, unit, how many in all, how many in a slice, command of a slice)."""
    for source in sorted(Path("tests/fuzz").glob("fuzz_*.c")):
        name = source.stem.removeprefix("fuzz_")
        yield f"fuzz {name}", "minutes", FUZZ_MINUTES, 5, fuzz_slice(name)
    if any("WEIR_SEEDS" in source.read_text() for source in Path("tests/sim").glob("*.c")):
        yield "sim", "seeds", SEEDS, 100, seeds_slice
    yield "durable", "kills", KILLS, 50, kills_slice
    yield "lab", "experiments", len(experiments()), 1, lab_slice


def run_job(done, save, what, total, size, command_of):
    while done.get(what, 0) < total:
        first = done.get(what, 0)
        count = min(size, total - first)
        print(f"{what}: {first} to {first + count} of {total}", flush=True)
        command = command_of(first, count)
        if subprocess.run(command, stdin=subprocess.DEVNULL).returncode != 0:
            sys.exit(f"{what} failed in {first} to {first + count}: {' '.join(command)}")
        done[what] = first + count
        save()


def main():
    name = commit()
    state = json.loads(STATE.read_text()) if STATE.exists() else {}
    done = state.setdefault(name, {}) if name else {}
    rows = []
    for what, unit, total, size, command_of in jobs():
        run_job(done, lambda: STATE.write_text(json.dumps(state, indent=1)), what, total, size, command_of)
        rows.append(f"| {datetime.date.today()} | {name} | {what} | {total} {unit} |\n")
    if name is None:
        print("all done; not recorded, because the tree has changes that are not committed")
        return
    with RECORD.open("a") as record:
        record.write((HEAD if RECORD.stat().st_size == 0 else "") + "".join(rows))
    print(f"all done; recorded in {RECORD}")


main()
