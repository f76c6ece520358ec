"""scenario_page.py ROOT - holds weir-scenario(5) to the tables of knobs and faults in src/trial/plan.c.

The page has every row and no other, in the same order, with the same bounds
and the same calm value.
"""
import re
import sys
from pathlib import Path

KNOB = re.compile(r'\[KNOB_\w+\] = +\{ "([^"]+)", +"([^"]*)", +(\w+), +([^,]+?), +(\w+), +(true|false),')
FAULT = re.compile(r'\[FAULT_\w+\] = +\{ "([^"]+)", +(true|false),')
ITEM = re.compile(r"^\.It Cm ([a-z-]+)\n((?:[^.\n][^\n]*\n)+)", re.M)
LARGER = {"us": ("ms", 1000), "ns": ("ms", 10**6), "ms": ("s", 1000), "bytes": ("KiB", 1024), "KiB": ("MiB", 1024)}
CONSTANTS = {"HUNDRED": 100, "MILLION": 10**6, "SECOND_US": 10**6, "FAR_US": 10**5, "MINUTE_MS": 60000,
             "PLAN_SECONDS_MAX * 1000": 3600000}


def amount(text, unit):
    value = CONSTANTS[text] if text in CONSTANTS else int(text)
    while unit in LARGER and value > 0 and value % LARGER[unit][1] == 0:
        unit, size = LARGER[unit]
        value //= size
    return f"{value} {unit}".strip() if value else "0"


def knob_words(unit, least, most, calm, or_zero):
    span = f"rom {amount(least, unit)} to {amount(most, unit)}; calm: {amount(calm, unit)}."
    return f"0, or f{span}" if or_zero == "true" else f"F{span}"


def main():
    root = Path(sys.argv[1])
    table, page = (root / "src/trial/plan.c").read_text(), (root / "doc/man/weir-scenario.5").read_text()
    knobs, faults = KNOB.findall(table), FAULT.findall(table)
    items = ITEM.findall(page)
    rows = [name for name, *_ in knobs] + [name for name, _ in faults]
    if not knobs or not faults or [name for name, _ in items] != rows:
        sys.exit(f"the page and the tables differ: {sorted(set(rows) ^ {name for name, _ in items}) or 'in their order'}")
    wrong = [f"{name}: not on the page: {words}" for (name, *row), (_, text) in zip(knobs, items)
             if (words := knob_words(*row)) not in text]
    wrong += [f"{name}: the page says wrongly whether it lasts" for (name, lasts), (_, text) in
              zip(faults, items[len(knobs):]) if (lasts == "false") != ("Over at once." in text)]
    sys.exit("\n".join(wrong) or 0)


main()
