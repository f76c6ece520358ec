"""conformance.py - which test shows which line of the checklist, and what it said.

    check                    fails where lines, markers and doc/conformance.md do not fit together
    programs                 the test programs in C that lines name
    page FILE...             writes doc/conformance.md from JUnit files of pytest and of meson
    compare FILE...          the same for another target: writes doc/conformance-NAME.md (--target NAME), with the
                             differences that tests/conformance/expected-NAME.txt explains

tests/conformance/lines.txt has the lines, and says how it is written.  A test of tests/e2e names its lines by
the marker `line`.  A line has a test or a reason, never both.  The result of a line is that of its worst test.
"""
import argparse
import ast
import re
import sys
import xml.etree.ElementTree as xml
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LINES = ROOT / "tests/conformance/lines.txt"
PAGE = ROOT / "doc/conformance.md"
REASONS = re.compile(r"not yet: \S|cannot be: \S")
ID = re.compile(r"[A-Z]\d\d\d?")

HEAD = """# Conformance

What an NVMe/TCP target (T) and host (H) must do, line by line, and the test that shows it. The lines are those of
`tests/conformance/lines.txt`; tests of `tests/e2e` name theirs by a marker. `./dev conformance` runs them and writes
this page; a test holds its first four columns to the tests that there are.

{sum}
"""

COMPARED = """# Conformance of another target: {name}

The tests of [conformance.md](conformance.md) that are about the target and need no option of `weir serve`, against
{name}. A difference is one from what our tests hold to be right; each is explained, and an unexplained one fails the run.

{sum}
"""


class Line:
    def __init__(self, id, who, what, section):
        self.id, self.who, self.what, self.section = id, who, what, section
        self.tests = []      # (file or program, test)
        self.reason = ""

    def columns(self):
        """The four that do not depend on a run."""
        names = [f"`{file.removeprefix('test_')}`: {test.removeprefix('test_').replace('_', ' ')}"
                 for file, test in self.tests]
        return self.id, self.who, self.what, "<br>".join(names) or "-"


def read_lines(text):
    """(the lines, complaints)"""
    lines, section, wrong = {}, "", []
    for number, row in enumerate(text.splitlines(), 1):
        line = list(lines.values())[-1] if lines else None
        if row.startswith("## "):
            section = row[3:]
        elif match := re.fullmatch(r"([A-Z]\d\d\d?) (T|H|TH) (\S.*)", row):
            if match[1] in lines:
                wrong.append(f"lines.txt:{number}: {match[1]} is there twice")
            lines[match[1]] = Line(*match.groups(), section)
        elif line and (match := re.fullmatch(r"\t= (test_\w+) (\w+)", row)):
            line.tests.append((match[1], match[2]))
        elif line and row.startswith("\t- ") and REASONS.match(row[3:]):
            line.reason = row[3:]
        elif row and not row.startswith("#"):
            wrong.append(f"lines.txt:{number}: not a line, a test or a known reason: {row}")
    return lines, wrong


def ids_of(function):
    """What the markers of a test name."""
    for mark in function.decorator_list:
        if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.line":
            yield from (arg.value for arg in mark.args)


def read_markers(folder, lines):
    """Adds the tests of pytest to their lines; complaints."""
    for path in sorted(folder.glob("test_*.py")):
        for function in ast.parse(path.read_text()).body:
            if not isinstance(function, ast.FunctionDef):
                continue
            for id in ids_of(function):
                if id in lines:
                    lines[id].tests.append((path.stem, function.name))
                else:
                    yield f"{path.name}: {function.name}: there is no line {id}"
            if function.name.startswith("test_") and ID.match(ast.get_docstring(function) or ""):
                yield f"{path.name}: {function.name}: an id belongs in the marker, not in the words"


def in_c(root, program, test):
    """Whether a cmocka test of this name is in a program's source."""
    return any(re.search(rf"cmocka_unit_test\w*\({test}\b", path.read_text())
               for path in root.glob(f"tests/*/{program}.c"))


def read_all():
    lines, wrong = read_lines(LINES.read_text())
    for line in lines.values():
        wrong += [f"{line.id}: there is no {test} in {program}" for program, test in line.tests
                  if not in_c(ROOT, program, test)]
    wrong += read_markers(ROOT / "tests/e2e", lines)
    for line in lines.values():
        if line.tests and line.reason:
            wrong.append(f"{line.id}: has a test, and a reason why it has none")
        if not line.tests and not line.reason:
            wrong.append(f"{line.id}: has neither a test nor a reason")
    return lines, wrong


# ---- results ----

def result_of(case):
    if case.find("failure") is not None or case.find("error") is not None:
        return "FAIL"
    return "skipped" if case.find("skipped") is not None else "pass"


def read_results(paths):
    """{(file or program, test): results of its cases}"""
    found = {}
    for path in paths:
        for suite in xml.parse(path).getroot().iter("testsuite"):
            for case in suite.findall("testcase"):
                file = (case.get("classname") or "").rpartition(".")[2]
                test = case.get("name").partition("[")[0]
                if match := re.match(r"((?:not )?ok )?\d+ ?-? ?(\w+)", case.get("name")):  # TAP, as meson passes it on
                    file, test = "test_" + suite.get("name").rpartition(" / ")[2].rpartition(".")[2], match[2]
                found.setdefault((file, test), set()).add(result_of(case))
    return found


def result(line, found):
    """The worst of its tests; "not run" where one is missing, or skipped throughout."""
    each = [found.get(test, {"not run"}) for test in line.tests]
    if any("FAIL" in results for results in each):
        return "FAIL"
    if any(results & {"not run"} for results in each):
        return "not run"
    return "pass" if any("pass" in results for results in each) else "skipped"


def table(rows, title):
    out, section = [], None
    for line, last in rows:
        if line.section != section:
            section = line.section
            out += [f"\n## {section}\n", "| " + " | ".join(title) + " |", "|---" * len(title) + "|"]
        out.append("| " + " | ".join((*line.columns()[:len(title) - len(last)], *last)) + " |")
    return "\n".join(out) + "\n"


def counted(results):
    return ", ".join(f"{results.count(kind)} {kind}" for kind in dict.fromkeys(results))


def page(lines, found):
    rows = [(line, (line.reason or result(line, found),)) for line in lines.values()]
    tested = [last for line, (last,) in rows if line.tests]
    text = f"{len(lines)} lines, {len(tested)} of them tested: {counted(tested)}. The others say why not."
    PAGE.write_text(HEAD.format(sum=text) + table(rows, ("id", "who", "what", "test", "result")))
    return [f"{line.id}: {last}" for line, (last,) in rows if line.tests and last != "pass"]


def compare(lines, found, name):
    """Against another target: what was run, and which explained differences it has."""
    source = ROOT / f"tests/conformance/expected-{name}.txt"
    expected = dict(row.split(": ", 1) for row in source.read_text().splitlines() if row and row[0] != "#")
    wrong = [f"{source.name}: there is no line {id}" for id in expected if id not in lines]
    rows = []
    for line in lines.values():
        line.tests = [test for test in line.tests if test in found]
        if not line.tests:
            continue
        last, why = result(line, found), ""
        if last == "FAIL" and line.id in expected:
            failed = [test for file, test in line.tests if "FAIL" in found[file, test]]
            last, why = "differs", f"{expected[line.id]} ({', '.join(t[5:].replace('_', ' ') for t in failed)})"
        elif last == "FAIL":
            wrong.append(f"{line.id}: differs, and nobody says why")
        elif line.id in expected and last == "pass":
            wrong.append(f"{line.id}: is explained in {source.name}, and does not differ")
        rows.append((line, (last, why)))
    text = f"{len(rows)} lines could be asked: {counted([last for _, (last, _) in rows])}."
    out = ROOT / f"doc/conformance-{name}.md"
    out.write_text(COMPARED.format(name=name, sum=text) + table(rows, ("id", "who", "what", "result", "why")))
    return wrong


def check(lines):
    """Holds the first four columns of the page to what there is."""
    text = PAGE.read_text() if PAGE.exists() else ""
    there = [tuple(row.split(" | ")[:4]) for row in re.findall(r"^\| ([A-Z]\d\d\d? \| .*)", text, re.M)]
    wanted = [line.columns() for line in lines.values()]
    if there != wanted:
        which = ", ".join(sorted({row[0] for row in set(there) ^ set(wanted)})[:8]) or "their order"
        yield f"doc/conformance.md is not up to date ({which}): ./dev conformance"


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("action", choices=("check", "programs", "page", "compare"))
    parser.add_argument("files", nargs="*", help="JUnit files")
    parser.add_argument("--target", help="who was compared")
    options = parser.parse_intermixed_args()
    lines, wrong = read_all()
    if options.action == "check":
        wrong += check(lines)
    elif options.action == "programs":
        named = {program for line in lines.values() for program, test in line.tests if in_c(ROOT, program, test)}
        print(*sorted(program.removeprefix("test_") for program in named), sep="\n")
    elif options.action == "page":
        wrong += page(lines, read_results(options.files))
    else:
        wrong += compare(lines, read_results(options.files), options.target)
    print(*wrong, sep="\n", file=sys.stderr)
    sys.exit(1 if wrong else 0)


main()
