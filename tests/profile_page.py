"""profile_page.py ROOT - holds weir-profile(5) to the table of numbers in src/flash/profile.c.

The page has every number and no other, in the same order; each ends with a line that says its bounds or its words, which
media have it, and whether they can do without.
"""
import re
import sys
from pathlib import Path

ROW = re.compile(r'^\tROW\("([a-z-]+)", +\w+, +"([^"]*)", +(\w+), +(\w+), +([^,]+), +([^,]+), +(?:true|false)\)', re.M)
WORD = re.compile(r'^\tWORD\("([a-z-]+)", +\w+, +(\w+), +(\w+), +(\w+)\)', re.M)
WORDS = re.compile(r'char \*const (\w+)\[\] = \{ ([^}]*) \};')
ITEM = re.compile(r"^\.It Cm ([a-z-]+)\n((?:(?!\.It |\.El)[^\n]*\n)+)", re.M)
CONSTANTS = {"KIB": 1024, "MIB": 1024**2, "TIME_MAX": 4 * 10**9}
UNITS = {
    "ns": [("ns", 1), ("us", 10**3), ("ms", 10**6), ("s", 10**9)],
    "bytes": [("bytes", 1), ("KiB", 1024), ("MiB", 1024**2), ("GiB", 1024**3)],
    "MiB": [("MiB", 1), ("GiB", 1024)],
    "MB": [("MB", 1), ("GB", 10**3), ("TB", 10**6)],
    "MB/s": [("MB/s", 1), ("GB/s", 10**3)],
    "permille": [("permille", 1), ("%", 10)],
    "": [("", 1)],
}
MEDIA = {"NAND": "NAND", "PLACE": "in place", "BOTH": "both"}


def number(text):
    product = 1
    for factor in text.replace("u", "").split(" * "):
        product *= CONSTANTS[factor] if factor in CONSTANTS else int(factor)
    return product


def amount(text, unit):
    value = number(text)
    name, size = [(name, size) for name, size in UNITS[unit] if size == 1 or (value >= size and value % size == 0)][-1]
    return f"{value // size} {name}".strip()


def rows(table):
    """Each number's name and last line, in the order of the table."""
    words = {name: ", ".join(re.findall(r'"([^"]+)"', text)) for name, text in WORDS.findall(table)}
    found = [(match.start(), match[1], f"From {amount(match[5], match[2])} to {amount(match[6], match[2])}", match[3],
              match[4]) for match in ROW.finditer(table)]
    found += [(match.start(), match[1], " or ".join(words[match[4]].split(", ")[:2]), match[2], match[3])
              for match in WORD.finditer(table)]
    return [(name, f"{bounds}; {MEDIA[of]}; {'optional' if needed == 'NONE' else 'needed'}.")
            for _, name, bounds, of, needed in sorted(found)]


def main():
    root = Path(sys.argv[1])
    table, page = (root / "src/flash/profile.c").read_text(), (root / "doc/man/weir-profile.5").read_text()
    numbers, items = rows(table), ITEM.findall(page)
    if len(numbers) != len(re.findall(r"^\t(?:ROW|WORD)\(", table, re.M)) or not numbers:
        sys.exit("not every row of the table was understood")
    names = [name for name, _ in numbers]
    if [name for name, _ in items] != names:
        sys.exit(f"the page and the table differ: {sorted(set(names) ^ {name for name, _ in items}) or 'in their order'}")
    wrong = [f"{name}: its last line is not: {line}" for (name, line), (_, text) in zip(numbers, items)
             if text.splitlines()[-1] != line]
    sys.exit("\n".join(wrong) or 0)


main()
