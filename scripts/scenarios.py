"""scenarios.py OUT.c FILE.yaml ... - the scenarios that are built in (trial/scenario.h), as C that has their text."""
import sys
from pathlib import Path

ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "?": "\\?"})


def literal(text):
    return "\n".join(f'\t    "{line.translate(ESCAPES)}"' for line in text.splitlines(keepends=True))


def main():
    out, *files = map(Path, sys.argv[1:])
    rows = [f'\t{{ "{file.stem}",\n{literal(file.read_text())} }},\n' for file in files]
    out.write_text('#include "trial/scenario.h"\n\nconst struct scenario_text scenario_texts[] = {\n' + "".join(rows) +
                   f"}};\nconst unsigned scenario_count = {len(rows)};\n")


main()
