"""crash_matrix.py - the crash matrix of ordered writes, long, and the deliberate defects that it has to find.

It plays tests/unit/test_order_crash.c with as many histories as it is told (./dev crash-matrix [HISTORIES]; 6000 are a
million states and ten minutes), then plants each defect of tests/planted_order and plays until that is found, and
writes doc/crash-matrix.md.  The last lines are `crash_states`, `crash_violations`, `planted_found` and `planted_total`.
"""
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/planted"))
import patches  # noqa: E402

PLACE = ROOT / "build/crash"
PAGE = ROOT / "doc/crash-matrix.md"
TRIES = 2000  # histories for a defect
HEAD = """# The crash matrix of ordered writes

What `./dev crash-matrix` has found. Histories of one or two hosts, each with a stream, and of one or two servers with one or
two drives and a log of one or two parts are played at random (`tests/unit/order_model.h`); what hosts and servers do in them is `src/order`, of which
[ordered-writes.md](ordered-writes.md) is the page. At each of 120 steps of each history one to all of them are lost, with any
subset of what was in drives' caches and of the words of a commit to a log, some of them again while they recover; and what is
there then is held against what was promised: exactly the groups up to some point, none of them less than was told durable, what was
merged all or nothing, what was written in place reported. Where no host was lost everything has to become durable in the end.
A *state* is what drives and logs have and what hosts were told, after the crash and before recovery; those that are the same
count once.

No host here sends what it may not, so of a gate that takes it (`prev` ignored, say) nothing is seen here: `tests/unit/test_order_gate.c` has that.

"""


def sources(tree):
    return [*sorted((tree / "src/order").glob("*.c")), *sorted((tree / "src/base").glob("*.c")),
            tree / "src/wire/nvme.c", *sorted((tree / "tests/unit").glob("order_model*.c")), tree / "tests/unit/test_order_crash.c"]


def build(tree, program):
    subprocess.run([os.environ.get("CC", "gcc"), "-std=gnu17", "-O2", "-D_GNU_SOURCE", "-w", f"-I{tree}/src",
                    f"-I{tree}/tests/unit", *sources(tree), "-lcmocka", "-o", program], check=True)
    return program


def play(program, histories, first=1):
    done = subprocess.run([program], capture_output=True, text=True, errors="replace", timeout=7200,
                          env={**os.environ, "ORDER_CRASH_HISTORIES": str(histories), "ORDER_CRASH_SEED": str(first)})
    return done.returncode, done.stdout + done.stderr


def figures(said):
    line = re.search(r"^# (crash_states .*)$", said, re.MULTILINE)
    words = line.group(1).split() if line else []
    return dict(zip(words[::2], map(int, words[1::2])))


def tree_with(planted):
    tree = PLACE / planted.name
    shutil.rmtree(tree, ignore_errors=True)
    for folder in ("src/order", "src/base", "src/wire"):
        shutil.copytree(ROOT / folder, tree / folder)
    (tree / "tests").mkdir()
    (tree / "tests/unit").symlink_to(ROOT / "tests/unit")
    refused = patches.apply(tree, planted)
    if refused:
        sys.exit(f"{planted.name}: {refused}")
    return tree


def who_complained(returncode, said):
    found = re.search(r"^history (\d+), step (\d+), crash \d+: (.*)$", said, re.MULTILINE)
    if found:
        return int(found.group(1)), found.group(3)
    failed = re.search(r"Assertion `(.*)' failed", said)
    return None, f"`{failed.group(1)}` does not hold" if failed else f"exit status {returncode}"


def look_for(planted):
    program = build(tree_with(planted), PLACE / planted.name / "program")
    try:
        returncode, said = play(program, TRIES)
    except subprocess.TimeoutExpired:
        return None, "it hangs"
    return who_complained(returncode, said) if returncode != 0 else None


def page(numbers, found):
    rows = "".join(f"| {planted.name} | {planted.wrong} | {planted.suffers} | {result[0] or '-'} | {result[1]} |\n"
                   if result else f"| {planted.name} | {planted.wrong} | {planted.suffers} | | **not found** |\n"
                   for planted, result in found)
    PAGE.write_text(HEAD + "| | |\n|---|---|\n" +
                    "".join(f"| `{name}` | {value:,} |\n" for name, value in numbers.items()) +
                    "\n## Deliberate defects\n\nPatches in `tests/planted_order`, and in which history each was "
                    f"met first, of {TRIES} at most.\n\n"
                    "| defect | what is wrong | what a user has of it | history | who complained |\n"
                    "|---|---|---|---|---|\n" + rows)


def main():
    histories = int(sys.argv[1]) if len(sys.argv) > 1 else 6000
    shutil.rmtree(PLACE, ignore_errors=True)
    PLACE.mkdir(parents=True)
    program = build(ROOT, PLACE / "program")
    everything = patches.read_all(ROOT / "tests/planted_order")
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        whole = pool.submit(play, program, histories)
        found = list(zip(everything, pool.map(look_for, everything)))
        returncode, said = whole.result()
    numbers = figures(said)
    if returncode != 0:
        print(said)
    else:
        page(numbers, found)
    for planted, result in found:
        print(planted.name, *(result or ("not found",)))
    for name, value in numbers.items():
        print(name, value)
    print("planted_found", sum(result is not None for _, result in found))
    print("planted_total", len(everything))
    sys.exit(1 if returncode != 0 or not all(result for _, result in found) else 0)


if __name__ == "__main__":
    main()
