"""layers.py ROOT - holds every #include of src/ and cmd/ to the rules of the house.

 1. A folder of src/ includes headers of itself and of the folders that
    layers.txt names for it; cmd/ may see everything.
 2. Atomics are in the few modules that reactors share, and in rt's waker.
 3. Headers of system calls are included only by sys/ and rt/, and by cmd/; those
    of a library that makes none, by the one folder that needs it, and those of
    threads and of waiting for them by lib/ too, which has threads of its own.
 4. The public headers of libweir are included only by lib/, and by cmd/.
"""
import re
import sys
from pathlib import Path

ATOMICS = {"base/ring.c", "base/ring.h", "blk/bad.c", "blk/range.c", "blk/range.h", "host/cache.c", "host/cache.h", "rt/wake.c",
           "rt/wake.h"}
PURE = set("""
    assert ctype errno inttypes limits stdalign stdarg stdbool stddef stdint stdio stdlib stdnoreturn
    string strings cpuid arm_acle sys/types sys/uio
    """.split())  # what any folder may include; whatever is not here talks to the system
KERNEL = {"sys", "rt", "cmd"}
PUBLIC = {"lib", "cmd"}  # who sees include/weir
LIBRARIES = {  # for one folder
    "conf": {"yaml", "arpa/inet"},  # of bytes and text alone
    "lab": {"math"},  # for what is made of figures; not for what is measured
    "place": {"float", "math"},
    "trace": {"math"},
    "lib": {"fcntl", "poll", "pthread", "semaphore", "signal", "sys/eventfd", "unistd"},
}


def rules(text):
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return {folder: set(seen.split()) | {folder} for folder, seen in (line.split(":") for line in lines)}


def complaints(name, text, layers):
    folder = "cmd" if name.startswith("cmd/") else name.split("/")[0]
    code = re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.S)
    for header in re.findall(r'^\s*#\s*include\s+"([^"]+)"', code, re.M):
        target = header.split("/")[0] if "/" in header else folder
        if folder != "cmd" and target not in layers[folder]:
            yield f"{name}: {folder} may not include {header}"
    for header in re.findall(r"^\s*#\s*include\s+<([^>]+)\.h>", code, re.M):
        if header == "stdatomic" or (header.startswith("weir/") and folder in PUBLIC):
            continue
        known = PURE | LIBRARIES.get(folder, set())
        if folder not in KERNEL and header not in known and not header.endswith("intrin"):
            yield f"{name}: <{header}.h> belongs to sys and rt"
    if name not in ATOMICS and re.search(r"stdatomic|\b_Atomic\b|\b__atomic_|\b__sync_|\batomic_\w+\(", code):
        yield f"{name}: atomics are for {', '.join(sorted(ATOMICS))} alone"


def main():
    root = Path(sys.argv[1])
    layers = rules((root / "layers.txt").read_text())
    found = []
    for path in sorted([*root.glob("src/*/*.[ch]"), *root.glob("cmd/**/*.[ch]")]):
        name = str(path.relative_to(root)).removeprefix("src/")
        if not name.startswith("cmd/") and name.split("/")[0] not in layers:
            found.append(f"src/{name}: its folder is not in layers.txt")
            continue
        found += complaints(name, path.read_text(), layers)
    print("\n".join(found))
    sys.exit(1 if found else 0)


main()
