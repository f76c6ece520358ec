"""abi.py ROOT SO ARCHIVE CC CXX - what libweir promises to those who build on it.

 1. What include/weir/*.h declare is in src/lib/libweir.map, and is exported by
    the shared and by the static library; nothing else is.
 2. Each header compiles by itself as C11, C17 and C++17, and how options are
    written too, without a warning.
 3. Each header and each manual page is installed; each header has a page of
    its own (tests/examples.py holds the one to the other).
"""
import re
import subprocess
import sys
from pathlib import Path

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
STANDARDS = ("c11", "c17", "c++17")


def declared(header):
    text = re.sub(r"/\*.*?\*/|^#.*?$", "", header.read_text(), flags=re.S | re.M)
    return set(re.findall(r"\b(weir_\w+)\s*\(", text))


def exported(library, *options):
    said = subprocess.run(["nm", "--defined-only", *options, library], check=True, stdout=subprocess.PIPE, text=True)
    kinds = (line.split()[1:] for line in said.stdout.splitlines() if len(line.split()) == 3)
    # A sanitizer's build has names of the compiler's among ours.
    return {name.split("@")[0] for kind, name in kinds if kind != "A" and not name.startswith(("__asan", "__odr_asan"))}


def differences(what, found, wanted):
    yield from (f"{what}: {name} is missing" for name in sorted(wanted - found))
    yield from (f"{what}: {name} is too much" for name in sorted(found - wanted))


def compiled(root, compilers, headers):
    use = "struct weir_{0}_options {0} = WEIR_OPTIONS(weir_{0}_options);\n"
    options = [name for header in headers for name in re.findall(r"struct weir_(\w+)_options {", header.read_text())]
    sources = {header.name: f"#include <weir/{header.name}>\n" for header in headers}
    sources["options"] = "#include <weir/weir.h>\n" + "".join(use.format(name) for name in options)
    for name, source in sources.items():
        for standard in STANDARDS:
            language = "c++" if "++" in standard else "c"
            done = subprocess.run([*compilers[language], f"-std={standard}", *WARNINGS, "-x", language, "-fsyntax-only",
                                   f"-I{root}/include", "-"], input=source, stderr=subprocess.PIPE, text=True)
            if done.returncode != 0:
                yield f"{name} as {standard}:\n{done.stderr}"


def documented(root, headers):
    pages = {page.name for page in (root / "doc/man").iterdir()}
    installed = (root / "meson.build").read_text()
    yield from (f"doc/man/{name} is not installed" for name in sorted(pages) if f"doc/man/{name}'" not in installed)
    installed = (root / "src/meson.build").read_text()
    for header in headers:
        if f"weir/{header.name}'" not in installed:
            yield f"{header.name} is not installed"
        page = "libweir.3" if header.stem == "weir" else f"weir_{header.stem}.3"
        if page not in pages:
            yield f"{header.name} has no doc/man/{page}"


def main():
    root, shared, archive, cc, cxx = Path(sys.argv[1]), *sys.argv[2:]
    headers = sorted((root / "include/weir").glob("*.h"))
    wanted = set().union(*(declared(header) for header in headers))
    versions = (root / "src/lib/libweir.map").read_text()
    found = [
        *differences("libweir.map", set(re.findall(r"^\t(weir_\w+);$", versions, re.M)), wanted),
        *differences("libweir.so", exported(shared, "-D"), wanted),
        *differences("libweir.a", exported(archive, "-g"), wanted),
        *compiled(root, {"c": cc.split(), "c++": cxx.split()}, headers),
        *documented(root, headers),
    ]
    print("\n".join(found))
    sys.exit(1 if found else 0)


main()
