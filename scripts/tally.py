"""tally.py RESULTS - adds up what the test runs of ./dev test left in a folder.

A group NAME left NAME.status (its exit status) and NAME.log; NAME.xml, a JUnit
file, where it got so far; meson's also NAME.json, because meson's JUnit file
does not show a test program that crashed after its last test case.  Prints the
failures, why something was skipped, and a last line with the sums.
"""
import json
import re
import sys
import xml.etree.ElementTree as xml
from pathlib import Path


class Tally:
    def __init__(self):
        self.passed, self.failed, self.skipped = 0, [], []

    def add(self, result, name, why=""):
        if result == "passed":
            self.passed += 1
        else:
            getattr(self, result).append((name, why.strip()))


def first_line(text):
    return next((line.strip() for line in (text or "").splitlines() if line.strip()), "")


def cases(root):
    """(result, suite, name, why) of each test case of a JUnit file."""
    for suite in root.iter("testsuite"):
        for case in suite.findall("testcase"):
            bad = [case.find(tag) for tag in ("failure", "error") if case.find(tag) is not None]
            skipped = case.find("skipped")
            note = first_line(case.findtext("system-out"))
            if bad:
                yield "failed", suite, case, bad[0].get("message") or note
            elif skipped is not None:
                yield "skipped", suite, case, skipped.get("message") or note
            else:
                yield "passed", suite, case, ""


def add_pytest(tally, group, root):
    for result, _, case, why in cases(root):
        tally.add(result, f"{group}: {case.get('classname')}.{case.get('name')}", first_line(why))


def tap_name(text):
    """meson writes 'ok 3 - name' or 'not ok 3 - name # note'."""
    match = re.match(r"(?:not )?ok \d+ ?-? ?(.*)", text)
    return match.group(1) if match else text


def add_meson(tally, group, root, programs):
    """The program's own result decides where its test cases do not tell."""
    suites = {}
    for result, suite, case, why in cases(root):
        suites.setdefault(suite.get("name").partition(".")[2], []).append((result, case, why))
    for program in programs:
        found, ended, bad = suites.get(program["name"], []), program["result"], False
        name = f"{group}: {program['name'].rpartition(' / ')[2]}"  # without the suites
        for result, case, why in found:
            tally.add(result, f"{name}: {tap_name(case.get('name'))}", why)
            bad |= result == "failed"
        if not found and ended in ("OK", "EXPECTEDFAIL"):
            tally.add("passed", name)
        elif not found and ended == "SKIP":
            said = program.get("stdout", "").partition("SKIP")[2] or program.get("stdout", "")
            tally.add("skipped", name, first_line(said))
        elif ended not in ("OK", "EXPECTEDFAIL", "SKIP") and not bad:
            tally.add("failed", name, f"{ended}, exit status {program.get('returncode')}")


def add_group(tally, folder, group):
    status = int((folder / f"{group}.status").read_text())
    before = len(tally.failed)
    if (folder / f"{group}.xml").exists():
        root = xml.parse(folder / f"{group}.xml").getroot()
        log = folder / f"{group}.json"
        if log.exists():
            add_meson(tally, group, root, [json.loads(line) for line in log.read_text().splitlines()])
        else:
            add_pytest(tally, group, root)
    elif status == 0:
        tally.add("passed", group)
    if status != 0 and len(tally.failed) == before:
        tally.add("failed", group, f"ended with status {status}; see {folder}/{group}.log")


def reasons(skipped):
    """((file of tests, why), names) in order: one line for many tests, so that the failures are not lost below."""
    found = {}
    for name, why in skipped:
        found.setdefault((re.split(r"[.\[]", name)[0], why), []).append(name)
    return found.items()


def main():
    folder, tally = Path(sys.argv[1]), Tally()
    for path in sorted(folder.glob("*.status")):
        add_group(tally, folder, path.stem)
    for (place, why), names in reasons(tally.skipped):
        print(f"skipped  {names[0] if len(names) == 1 else f'{len(names)} of {place}'}: {why or 'no reason given'}")
    for name, why in tally.failed:
        print(f"FAILED   {name}" + (f": {why}" if why else ""))
    if tally.passed == 0 and not tally.failed:
        tally.add("failed", "nothing was run")
    print(f"{tally.passed} passed, {len(tally.failed)} failed, {len(tally.skipped)} skipped")
    sys.exit(1 if tally.failed else 0)


main()
