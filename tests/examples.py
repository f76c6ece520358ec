"""examples.py ROOT CC... - holds the manual pages of the library to its headers.

 1. Of a page doc/man/weir_NAME.3 with a header include/weir/NAME.h, each
    function of the header is in the page's synopsis, and none else.
 2. Each example that begins with an #include compiles, without a warning.
"""
import re
import subprocess
import sys
from pathlib import Path

FLAGS = ["-std=c99", "-D_POSIX_C_SOURCE=200809L", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-xc", "-"]


def functions(header):
    code = re.sub(r"/\*.*?\*/", "", header, flags=re.S)
    return set(re.findall(r"^[a-z][\w ]*[ *](weir_\w+)\([^*]", code, re.M))


def examples(page):
    section = page.split(".Sh EXAMPLES\n")[-1].split("\n.Sh ")[0] if ".Sh EXAMPLES\n" in page else ""
    blocks = re.findall(r"^\.Bd -literal[^\n]*\n(.*?)^\.Ed", section, re.M | re.S)
    return [block.replace("\\&", "").replace("\\e", "\\") for block in blocks if block.startswith("#include")]


def complaints(root, path, compiler):
    page, header = path.read_text(), root / "include/weir" / (path.stem.removeprefix("weir_") + ".h")
    if header.exists():
        there = functions(header.read_text())
        told = set(re.findall(r"^\.F[no] (weir_\w+)", page.split(".Sh DESCRIPTION")[0], re.M))
        yield from (f"{path.name}: {name} is not in its synopsis" for name in sorted(there - told))
        yield from (f"{path.name}: there is no {name}" for name in sorted(told - there))
    for code in examples(page):
        said = subprocess.run([*compiler, "-I", root / "include", *FLAGS], input=code, text=True, capture_output=True)
        if said.returncode != 0:
            yield f"{path.name}: its example does not compile:\n{said.stderr}"


def main():
    root = Path(sys.argv[1])
    found = [said for path in sorted(root.glob("doc/man/*.3")) for said in complaints(root, path, sys.argv[2:])]
    print("\n".join(found))
    sys.exit(1 if found else 0)


main()
