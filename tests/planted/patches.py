"""patches.py ROOT - the deliberate defects of tests/planted and tests/planted_order: what they are, and whether they
still apply.

Each is a file NAME.patch: four lines that say what it is, an empty line, and a
unified diff against the tree.  A test of the suite `house` runs this: who
changes what a defect is planted in plants it again, or finds that nobody can
make that mistake there any more.
"""
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

HEADING = ("wrong", "suffers", "kind", "needs")
KINDS = ("protocol", "connection", "memory", "failover", "durability")
COLUMNS = 140


@dataclass
class Planted:
    name: str
    path: Path
    wrong: str    # what is not right in the code
    suffers: str  # what a user has of it
    kind: str
    needs: str    # what a scenario has to do to meet it
    files: list   # that it changes


def read(path):
    heading, _, diff = path.read_text().partition("\n\n")
    lines = [line.partition(": ") for line in heading.splitlines()]
    if tuple(name for name, _, _ in lines) != HEADING or not all(text for _, _, text in lines):
        raise ValueError(f"{path.name}: its heading has not the lines {', '.join(HEADING)}")
    files = [line.removeprefix("+++ b/") for line in diff.splitlines() if line.startswith("+++ ")]
    return Planted(path.stem, path, *(text for _, _, text in lines), files)


HERE = Path(__file__).resolve().parent
ORDER = HERE.parent / "planted_order"


def read_all(folder=HERE):
    return [read(path) for path in sorted(folder.glob("*.patch"))]


def apply(tree, planted, *options):
    """git's complaint, or "".  The tree need not be git's."""
    git = subprocess.run(["git", "apply", *options, planted.path.resolve()], cwd=tree, capture_output=True, text=True,
                         env={**os.environ, "GIT_CEILING_DIRECTORIES": str(Path(tree).resolve().parent)})
    return git.stderr if git.returncode != 0 else ""


def complaints(root, planted):
    heading = planted.path.read_text().partition("\n\n")[0]
    if planted.kind not in KINDS:
        yield f"{planted.name}: its kind is none of {', '.join(KINDS)}"
    if any(len(line) > COLUMNS for line in heading.splitlines()):
        yield f"{planted.name}: a line of its heading is longer than {COLUMNS} columns"
    if not planted.files or not all(file.startswith("src/") for file in planted.files):
        yield f"{planted.name}: it does not change src/, or more than that"
    refused = apply(root, planted, "--check")
    if refused:
        yield f"{planted.name}: it does not apply any more:\n{refused.strip()}"


def main():
    found = [line for planted in read_all() + read_all(ORDER) for line in complaints(sys.argv[1], planted)]
    print("\n".join(found))
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
