"""lines.py ROOT - holds the lines of every C file to the house's style.

No line is longer than 120 columns, with tabs of eight; none ends in blanks;
what is indented is so by tabs, and by at most four spaces where a line goes
on.  No file has more than 500 lines, but those of tests/ and bench/.
"""
import re
import sys
from pathlib import Path

COLUMNS, LINES = 120, 500
BLANKS = re.compile(r"[ \t]$|^ {5,}[^ *]|^\t* +\t")


def complaints(name, text):
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        if len(line.expandtabs(8)) > COLUMNS:
            yield f"{name}:{number}: longer than {COLUMNS} columns"
        if BLANKS.search(line):
            yield f"{name}:{number}: blanks at its end, or not as lines are indented here"
    if not name.startswith(("tests/", "bench/")) and len(lines) > LINES + 1:
        yield f"{name}: {len(lines) - 1} lines, {LINES} at most"


def main():
    root = Path(sys.argv[1])
    found = []
    for folder in "src", "cmd", "include", "lab", "plugins", "examples", "tests", "bench":
        for path in sorted((root / folder).glob("**/*.[ch]")):
            found += complaints(str(path.relative_to(root)), path.read_text())
    print("\n".join(found))
    sys.exit(1 if found else 0)


main()
