"""What is installed, and what is built with it as its users would build it: the examples, and those of manual pages."""
import os
import re

import pytest

import nvme
from installed import uri_of, written
from target import REPO

MIB = 1 << 20
PAGES = os.path.join(REPO, "doc", "man")


def examples(page):
    """The programs in a manual page."""
    with open(os.path.join(PAGES, page)) as text:
        blocks = re.findall(r"^\.Bd -literal[^\n]*\n(.*?)^\.Ed$", text.read(), re.S | re.M)
    return [re.sub(r"\\&|\\e", lambda m: "\\" if m.group() == "\\e" else "", block) for block in blocks
            if block.startswith("#include") and re.search(r"\bmain\(", block)]


PROGRAMS = [(page, number) for page in sorted(os.listdir(PAGES)) if page.endswith(".3")
            for number in range(len(examples(page)))]


def test_all_that_belongs_to_the_library_is_installed(installed):
    for name in ("libweir.so", "libweir.so.0", "libweir.a", "weir.pc", "weir/weir.h", "man3/libweir.3",
                 "bash-completion/completions/weir", "bin/weir"):
        installed.find(name)
    assert installed.lib.joinpath("libweir.so").resolve().name.startswith("libweir.so.0.")
    said = installed.run("pkg-config", "--modversion", "weir").stdout.decode().strip()
    assert installed.run(installed.find("bin/weir"), "--version").stdout.decode().split() == ["weir", said]


EXAMPLES = pytest.mark.parametrize("name", ["read", "depth"])


@EXAMPLES
@pytest.mark.parametrize("static", [False, True], ids=["shared", "static"])
def test_the_example_in_c_reads(installed, serve, tmp_path, name, static):
    spec, data = written(tmp_path / "volume", 4 * MIB)
    program = tmp_path / "read"
    installed.compile(os.path.join(REPO, "examples", name + ".c"), program, static)
    needed = installed.run("objdump", "-p", program).stdout
    assert (b"libweir.so.0" in needed) != static
    done = installed.run(program, uri_of(serve(ns=[spec])))
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == data[:MIB]


@EXAMPLES
def test_the_example_in_c_takes_the_first_namespace(installed, serve, tmp_path, name):
    spec, data = written(tmp_path / "volume", 4 * MIB)
    program = tmp_path / "read"
    installed.compile(os.path.join(REPO, "examples", name + ".c"), program)
    done = installed.run(program, uri_of(serve(ns=[spec])).split("?")[0])
    assert (done.returncode, done.stderr) == (0, b"") and done.stdout == data[:MIB]


@EXAMPLES
def test_the_example_in_c_says_what_is_wrong(installed, serve, tmp_path, name):
    program = tmp_path / "read"
    installed.compile(os.path.join(REPO, "examples", name + ".c"), program)
    done = installed.run(program)
    assert done.returncode == 2 and b"nvme+tcp://HOST:PORT/SUBNQN?ns=N" in done.stderr
    target = serve(ns=["fault:read-error=1@mem:4M"])
    nobody = uri_of(target).replace(nvme.SUBNQN, "nqn.2026-11.example:nobody")
    for uri in uri_of(target, nsid=9), nobody, uri_of(target):
        done = installed.run(program, uri)
        assert done.returncode == 1 and done.stderr.strip() and not done.stdout, (uri, done)


def test_the_example_in_python_reads(installed, serve, tmp_path):
    spec, data = written(tmp_path / "volume", 4 * MIB)
    done = installed.run("/usr/bin/python3", os.path.join(REPO, "examples", "read.py"), uri_of(serve(ns=[spec])),
                         stranger=True)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == data[:MIB]


def test_the_example_in_python_says_what_is_wrong(installed):
    done = installed.run("/usr/bin/python3", os.path.join(REPO, "examples", "read.py"), "nvme", stranger=True)
    assert done.returncode == 1 and done.stderr.startswith(b"read.py: ") and len(done.stderr) > 12, done


@pytest.mark.parametrize("static", [False, True], ids=["shared", "static"])
@pytest.mark.parametrize("page, number", PROGRAMS)
def test_the_examples_of_the_manual_pages_run(installed, serve, tmp_path, page, number, static):
    source, program = tmp_path / "example.c", tmp_path / "example"
    source.write_text(examples(page)[number])
    installed.compile(source, program, static)
    done = installed.run(program, uri_of(serve(ns=["mem:4M"])))
    assert done.returncode == 0, done.stderr.decode()


def test_the_example_of_libweir_3_changes_the_first_byte(installed, serve, tmp_path):
    spec, data = written(tmp_path / "volume", 4 * MIB)
    source, program = tmp_path / "example.c", tmp_path / "example"
    source.write_text(examples("libweir.3")[0])
    installed.compile(source, program)
    done = installed.run(program, uri_of(serve(ns=[spec])))
    assert done.returncode == 0, done.stderr.decode()
    assert (tmp_path / "volume").read_bytes() == bytes([(data[0] + 1) % 256]) + data[1:]
