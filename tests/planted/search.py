"""search.py [NAME...] - does the simulation find the defects of tests/planted?

Copies the tree, and builds `weir` there once with each defect (patches.py).
Then `weir sim` looks for it: all built-in scenarios, the first seeds of each
before the later ones, until something is wrong.  The same seed must be right
without the defect.  A defect of memory that shows nothing by itself is looked
for once more under the address sanitizer.

The last lines are `planted_found N` and `planted_total N`.  When all are looked
for, the table goes to doc/planted.md; what is known of each, also of those of
calls before, is in build/planted/results.json.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import patches

ROOT = Path(__file__).resolve().parents[2]
PLACE = ROOT / "build/planted"
TREE = PLACE / "src"
RESULTS = PLACE / "results.json"
PAGE = ROOT / "doc/planted.md"
SLICES = (20, 100, 500, 2000)  # seeds of each scenario, up to these
BUILDS = {
    "plain": [],
    "asan": ["-Db_sanitize=address,undefined", "-Doptimization=1", "-Dwerror=false"],
}
HEAD = """# Planted defects

What `./dev planted` has found: deliberate defects in Weir's own code, each of the kind that a good engineer makes, and which
seed of which scenario of `weir sim` met it first. They are patches in `tests/planted`
([why](decisions/0016-planted-by-patches.md)), written by who did not write what complains. Without the defect the same seed
is right. Each scenario had its first {most} seeds tried, and some that had found nothing by then were looked for further in
the scenario that is nearest to them. Seconds are those of the search that found it, on {cpus} processors. The tests that fail
are of the last search that ran them; `?`: none has.
"""


def say(text):
    print(text, file=sys.stderr, flush=True)


# ---- the tree ----

def copy_tree(planted):
    """As it is now.  What a defect changes looks new: an object of it may be left from a call that was stopped."""
    names = subprocess.check_output(["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=ROOT, text=True)
    shutil.rmtree(TREE, ignore_errors=True)
    for name in names.split("\0"):
        if name and (ROOT / name).is_file():
            (TREE / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, TREE / name)
    for name in {file for one in planted for file in one.files}:
        os.utime(TREE / name)


def build(name):
    """The folder of that build of the tree as it is."""
    folder = PLACE / name
    if not (folder / "build.ninja").exists():
        shutil.rmtree(folder, ignore_errors=True)
        run = subprocess.run(["meson", "setup", folder, TREE, "--buildtype=debugoptimized", "-Db_lto=false", *BUILDS[name]],
                             env={**os.environ, "CC": "gcc"}, capture_output=True, text=True)
        if run.returncode != 0:
            sys.exit(run.stdout + run.stderr)
    run = subprocess.run(["ninja", "-C", folder, "cmd/weir"], capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(run.stdout + run.stderr)
    return folder


def weir_of(name, keep=None):
    weir = build(name) / "cmd/weir"
    return weir if keep is None else Path(shutil.copy2(weir, keep))


# ---- looking ----

def findings(node):
    """What `weir sim --json` says was wrong: objects with a seed and a complaint, wherever they stand."""
    if isinstance(node, dict):
        if "seed" in node and (node.get("oracle") or node.get("why")):
            yield node
        node = list(node.values())
    if isinstance(node, list):
        for inner in node:
            yield from findings(inner)


def sim(weir, *options):
    """What was wrong first, or None."""
    run = subprocess.run([weir, "sim", "--json", *options], cwd=PLACE, capture_output=True, text=True,
                         stdin=subprocess.DEVNULL)
    if run.returncode == 0:
        return None
    if run.returncode == 2:
        sys.exit(f"weir sim {' '.join(options)}:\n{run.stderr}")
    if run.returncode < 0:  # a trial of one seed has no process of its own to abort
        return {"why": run.stderr.strip()}
    return next(findings(json.loads(run.stdout)))


def look(weir, options):
    """{scenario, seed, seconds, oracle, why}, or None where there is nothing to be seen."""
    begin, first = time.monotonic(), 1
    for most in SLICES:
        last = min(most, options.seeds)
        if first > last:
            break
        found = sim(weir, "--scenario", options.scenario, "--seeds", f"{first}-{last}", "--jobs", str(options.jobs),
                    "--no-shorten")
        if found is not None:
            return {"scenario": found.get("scenario", options.scenario), "seed": found.get("seed"),
                    "oracle": found.get("oracle") or "ended", "why": found.get("why", ""),
                    "seconds": round(time.monotonic() - begin, 1)}
        first = last + 1
    return None


def tests_that_fail(folder):
    """Programs of the suites unit and sim that see it already."""
    subprocess.run(["meson", "test", "-C", folder, "--suite", "unit", "--suite", "sim", "--no-suite", "same"],
                   capture_output=True, stdin=subprocess.DEVNULL)
    lines = (folder / "meson-logs/testlog.json").read_text().splitlines()
    tests = [json.loads(line) for line in lines]
    return sorted({test["name"].split(" / ")[-1] for test in tests if test["result"] not in ("OK", "SKIP")})


def look_for(planted, clean, options):
    """What this call finds out of one defect."""
    weir, result = weir_of("plain"), {}
    if options.seeds > 0:
        result = {"found": look(weir, options), "build": "plain"}
        if result["found"] is None and planted.kind == "memory":
            result = {"found": look(weir_of("asan"), options), "build": "asan"}
    found = result.get("found")
    if found is not None and found["seed"] is not None:
        found["clean"] = sim(clean, "--scenario", found["scenario"], "--seed", str(found["seed"])) is None
    if options.tests:
        result["tests"] = tests_that_fail(PLACE / "plain")
    return result


def is_found(result):
    return bool(result.get("found")) and result["found"].get("clean", True)


def look_for_each(chosen, options, results):
    clean = weir_of("plain", keep=PLACE / "weir-clean")
    for planted in chosen:
        refused = patches.apply(TREE, planted)
        if refused:
            sys.exit(f"{planted.name}: {refused}")
        result = look_for(planted, clean, options)
        patches.apply(TREE, planted, "-R")
        results[planted.name] = {**results.get(planted.name, {}), **result}
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")
        say(f"{planted.name}: {in_words(result)}")


# ---- saying ----

def in_words(result):
    found, tests = result.get("found"), result.get("tests")
    words = ["built"] if "found" not in result else []
    if found:
        words.append(f"{found['scenario']} {found['seed']}, {found['seconds']} s, {found['oracle']} ({result['build']})")
    elif "found" in result:
        words.append("not found")
    if found and not found.get("clean", True):
        words.append("but that seed is wrong without it too")
    if tests is not None:
        words.append(f"tests that fail: {', '.join(tests) or 'none'}")
    return "; ".join(words)


def rows(all_planted, results):
    for planted in all_planted:
        result = results.get(planted.name, {})
        found = result.get("found") or {}
        sanitizer = " (address sanitizer)" if result.get("build") == "asan" and found else ""
        where = [found["scenario"], found["seed"], found["seconds"], found["oracle"] + sanitizer] if found else ["-"] * 4
        tests = ", ".join(result["tests"]) or "none" if "tests" in result else "?"
        yield [planted.name, planted.kind, planted.wrong, planted.suffers, *where, tests]


def page(all_planted, results, options):
    head = ["defect", "kind", "what is wrong", "what a user has of it", "scenario", "seed", "seconds", "who complained",
            "tests of the suites unit and sim that fail"]
    found = sum(is_found(results.get(planted.name, {})) for planted in all_planted)
    lines = [head, ["---"] * len(head), *rows(all_planted, results)]
    table = "\n".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |" for line in lines)
    text = HEAD.format(most=options.seeds, cpus=os.cpu_count())
    PAGE.write_text(f"{text}\n`planted_found` {found}, `planted_total` {len(all_planted)}.\n\n{table}\n")


def main():
    parser = argparse.ArgumentParser(description="look for planted defects with weir sim")
    parser.add_argument("names", nargs="*", metavar="NAME", help="of these defects, not of all")
    parser.add_argument("--scenario", default="all")
    parser.add_argument("--seeds", type=int, default=SLICES[-1], help="of each scenario; 0: only build them")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--tests", action="store_true", help="also which tests fail with each (minutes for each)")
    options = parser.parse_args()
    everything = patches.read_all()
    chosen = [planted for planted in everything if not options.names or planted.name in options.names]
    unknown = set(options.names) - {planted.name for planted in everything}
    if unknown:
        sys.exit(f"no such defect: {', '.join(sorted(unknown))}")
    PLACE.mkdir(parents=True, exist_ok=True)
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    copy_tree(everything)
    look_for_each(chosen, options, results)
    if options.seeds > 0 and not options.names:
        page(everything, results, options)
    print("planted_found", sum(is_found(results.get(planted.name, {})) for planted in chosen))
    print("planted_total", len(chosen))


if __name__ == "__main__":
    main()
