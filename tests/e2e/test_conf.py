"""`weir check` and `weir diff`: what they print, where, and their exit codes."""
import pytest

import target as targets

NQN = "nqn.2026-11.local.weir:default"
RIGHT = """\
listeners:
  - address: 127.0.0.1
subsystems:
  - nqn: nqn.2026-11.example:store
    namespaces:
      - { nsid: 1, volume: mem, size: 16M }
"""


@pytest.fixture
def file(tmp_path):
    def write(name, text):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path
    return write


def test_a_right_file_is_summed_up_in_a_line(file):
    path = file("weir.yaml", RIGHT)
    done = targets.run("check", path)
    assert (done.returncode, done.stdout, done.stderr) == (
        0, "%s: 1 subsystem, 1 namespace, 1 listener\n" % path, "")


def test_each_mistake_is_a_line_with_file_and_line(file):
    path = file("weir.yaml", RIGHT.replace("size", "sice") + "    hostss: []\n")
    done = targets.run("check", path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines() == [
        "%s:6: a namespace has no key `sice`; `size` is meant?" % path,
        "%s:6: `mem` needs `size`" % path,
        "%s:7: a subsystem has no key `hostss`; `hosts` is meant?" % path]


def test_more_mistakes_than_are_shown(file):
    path = file("weir.yaml", RIGHT + "".join("wrong%d: 1\n" % n for n in range(30)))
    lines = targets.run("check", path).stderr.splitlines()
    assert len(lines) == 21 and lines[-1] == "%s: and more" % path


@pytest.mark.parametrize("name, words", [("missing.yaml", "No such file or directory"), (".", "Is a directory")])
def test_a_file_that_cannot_be_read(tmp_path, name, words):
    done = targets.run("check", tmp_path / name)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "weir: %s: %s\n" % (tmp_path / name, words)
    assert targets.run("diff", tmp_path / name, tmp_path / name).returncode == 2


def test_a_file_without_end():
    done = targets.run("check", "/dev/zero")
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "/dev/zero: longer than 32 MiB\n")


def test_standard_input(file):
    path = file("weir.yaml", RIGHT)
    with open(path) as stdin:
        done = targets.run("check", "-", stdin=stdin)
    assert (done.returncode, done.stdout) == (0, "standard input: 1 subsystem, 1 namespace, 1 listener\n")
    with open(path) as stdin:
        assert targets.run("diff", "-", path, stdin=stdin).returncode == 0
    done = targets.run("check", "-")
    assert (done.returncode, done.stderr) == (1, "standard input:1: there is nothing in it\n")


@pytest.mark.parametrize("word", ["serve", "perf", "check", "diff", "apply"])
def test_a_command_speaks_of_itself_as_it_was_called(binary, word):
    done = targets.run(word, "--no-such-option")
    assert done.returncode == 2 and done.stderr.startswith("weir %s: " % word), done
    assert "Try `weir %s --help'" % word in done.stderr, done


def test_what_differs_is_told_and_that_is_exit_code_1(file):
    old, new = file("old", RIGHT), file("new", RIGHT.replace("16M", "32M"))
    done = targets.run("diff", old, new)
    assert (done.returncode, done.stdout, done.stderr) == (
        1, "~ size of namespace 1 of nqn.2026-11.example:store: 16M -> 32M\n", "")
    done = targets.run("diff", old, old)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    text = RIGHT.replace("volume: mem", "volume: \"%sfile:/a\"")
    done = targets.run("diff", file("old", text % ""), file("new", text % "volatile:@"))
    assert done.returncode == 1 and "\n! this cannot be applied: namespace 1: /a: " in done.stdout, done
    done = targets.run("diff", old, file("wrong", "x"))
    assert (done.returncode, done.stdout) == (2, "") and "wrong:1: " in done.stderr


@pytest.mark.parametrize("words", [["check"], ["check", "a", "b"], ["diff"], ["diff", "a", "b", "c"],
                                   ["diff", "-", "-"], ["check", "--what"], ["diff", "--control", "/x", "a", "b"],
                                   ["apply"], ["apply", "a", "b"], ["serve", "--config", "a", "--ns", "mem:1M"]],
                         ids=" ".join)
def test_wrong_command_lines(words):
    done = targets.run(*words)
    assert done.returncode == 2 and done.stdout == "" and "--help" in done.stderr


@pytest.mark.parametrize("options, listeners", [
    ((), ["127.0.0.1:0"]),
    (("--state-dir", "kept/here"), ["127.0.0.1:0"]),
    ((), ["localhost:0", "127.1:0", "127.0.0.1:0"]),
    (("--ns", "fault:dead=1@volatile:@file:in a folder/b@c.img,size=1M", "--data-dir", "d"), ["127.0.0.1:0"])])
def test_a_target_of_options_is_one_that_a_file_could_say(serve, file, tmp_path, options, listeners):
    """whatever they say in few words: the folder they are meant from, names, any free port"""
    (tmp_path / "in a folder").mkdir()
    control = tmp_path / "control"
    serve("--control", control, *options, listen=listeners, ns=["mem:16M", "file:a.img,size=1M"], cwd=tmp_path)
    done = targets.run("diff", "--control", control, file("weir.yaml", "listeners: [ { address: 127.0.0.1:1 } ]\n"))
    assert done.returncode == 1 and done.stderr == "", done
    said = done.stdout.splitlines()
    assert [line.split()[-1] for line in said if line.startswith("- listener")] == ["127.0.0.1:0"] * len(listeners)
    volumes = [line.split(NQN + ": ")[1] for line in said if line.startswith("- namespace")]
    assert volumes[1] == "file:%s/a.img" % tmp_path
    assert volumes[2:] in ([], ["fault:dead=1@volatile:@file:%s/in a folder/b@c.img" % tmp_path])
    assert ["~ state_dir: %s/kept/here -> none (needs a restart)" % tmp_path] * ("--state-dir" in options) == [
        line for line in said if "state_dir" in line]


def test_a_name_that_stands_for_no_address_is_said(binary):
    """one that cannot be looked up: no question leaves the machine"""
    done = targets.run("serve", "--listen", "no..body:0", "--ns", "mem:16M")
    assert done.returncode == 1 and done.stderr.startswith("weir: --listen no..body: ")
    assert "requested address" not in done.stderr and len(done.stderr) > len("weir: --listen no..body: \n")


def test_memory_is_explained_for_what_the_file_says(file):
    """volumes of the operator and those that hosts may make; a wrong file is told"""
    path = file("weir.yaml", RIGHT + "      - { nsid: 2, volume: null, size: 16M }\n"
                "    host_namespaces: { volume: mem, size: 1G, count: 7 }\n")
    done = targets.run("serve", "--config", path, "--explain-memory")
    assert done.returncode == 0 and " + 9 volumes x " in done.stdout, done
    assert targets.run("serve", "--config", file("wrong.yaml", "x: 1\n"), "--explain-memory").returncode == 1
