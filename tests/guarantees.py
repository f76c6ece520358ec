"""guarantees.py ROOT - holds doc/guarantees.md to the tests, scenarios and faults that there are.

What is said to hold names tests: `where: NAME, NAME; where: NAME`, each NAME in
backquotes.  Where is a test program in C, "blk_conform" for a property of all block devices,
a file of tests in Python, "fuzz" or "scenario".  Each of them exists; and each fault that a scenario can have, and
each scenario that is built in, is on the page.
"""
import re
import sys
from pathlib import Path

SHOWN = re.compile(r"([\w.]+): ((?:`[\w-]+`(?:, )?)+)")
HEAD = ["what holds", "what does not, and why", "shown by"]
FAULT = re.compile(r'\[FAULT_\w+\] = +\{ "([^"]+)"')


def tests_of(root, where):
    """The names of the tests that are there; None: there is no such place."""
    if where == "scenario":
        return {path.stem for path in (root / "scenarios").glob("*.yaml")}
    if where == "fuzz":
        return {path.stem.removeprefix("fuzz_") for path in (root / "tests/fuzz").glob("fuzz_*.c")}
    if where.endswith(".py"):
        paths, name = [root / "tests" / folder / where for folder in ("e2e", "vm")], r"^def (test_\w+)\("
    else:
        paths, name = (root / "tests").glob(f"*/test_{where}.c"), r"^(\w+)\(void \*\*state\)"
    if where == "blk_conform":
        paths, name = (root / "tests/unit").glob("conform_*.c"), r"^(\w+)\(struct conform \*c\)"
    texts = [path.read_text() for path in paths if path.exists()]
    return {found for text in texts for found in re.findall(name, text, re.M)} if texts else None


def not_shown(root, what, shown):
    for part in shown.split("; "):
        match = SHOWN.fullmatch(part)
        if not match:
            yield f"{what}: not shown by anything that can be found: {part!r}"
            continue
        there = tests_of(root, match[1])
        for name in re.findall(r"`([\w-]+)`", match[2]):
            if there is None or name not in there:
                yield f"{what}: there is no {match[1]}: {name}"


def complaints(root, page):
    rows = [[cell.strip() for cell in line[1:-1].split("|")] for line in page.splitlines() if line.startswith("| ")]
    rows = [row for row in rows if row != HEAD]
    if not rows:
        yield "nothing is said to hold"
    for row in rows:
        if len(row) != len(HEAD) or not row[0]:
            yield f"{row[0]}: a row has three cells, and the first one says something"
        else:
            yield from not_shown(root, row[0], row[2])
    names = FAULT.findall((root / "src/trial/plan.c").read_text()) + sorted(tests_of(root, "scenario"))
    yield from (f"{name} is not on the page" for name in names if f"`{name}`" not in page)


def main():
    root = Path(sys.argv[1])
    found = list(complaints(root, (root / "doc/guarantees.md").read_text()))
    print("\n".join(found))
    sys.exit(1 if found else 0)


main()
