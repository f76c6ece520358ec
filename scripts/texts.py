"""texts.py OUT.c HEADER THING FILE.yaml ... - files that are built in, as C that has their text.

HEADER declares `struct THING_text`, with a name and a text, `THING_texts[]` and `THING_count`.
"""
import sys
from pathlib import Path

ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "?": "\\?"})


def literal(text):
    return "\n".join(f'\t    "{line.translate(ESCAPES)}"' for line in text.splitlines(keepends=True))


def main():
    out, header, thing, *files = sys.argv[1:]
    rows = [f'\t{{ "{path.stem}",\n{literal(path.read_text())} }},\n' for path in map(Path, files)]
    Path(out).write_text(f'#include "{header}"\n\nconst struct {thing}_text {thing}_texts[] = {{\n' + "".join(rows) +
                         f"}};\nconst unsigned {thing}_count = {len(rows)};\n")


main()
