"""README's commands work as they stand there."""
import hashlib
import os
import re
import subprocess

from installed import uri_of, written
from nvmetcp import PATIENCE
from target import REPO, sanitized

MIB = 1 << 20


def readme_commands():
    """The lines of README's section on hosts."""
    with open(os.path.join(REPO, "README.md")) as text:
        section = re.search(r"^## From a host\n(.*?)^## ", text.read(), re.S | re.M).group(1)
    return re.findall(r"^    (.*)$", section, re.M)


def test_the_commands_of_the_readme_work(installed, serve, tmp_path):
    spec, data = written(tmp_path / "volume", 64 * MIB)
    for folder in "examples", "plugins":
        (tmp_path / folder).symlink_to(os.path.join(REPO, folder))
    assert installed.find("man1/nbdkit-weir-plugin.1")
    plugin = str(installed.find("nbdkit-weir-plugin.so"))
    lines = ["volume='%s'" % uri_of(serve(ns=[spec])) if line.startswith("volume=") else
             line.replace("nbdkit -U - weir ", "nbdkit -U - %s " % plugin) for line in readme_commands()]
    assert lines[0].startswith("volume=") and len(lines) >= 6
    if sanitized():  # compilers must be told, and strangers do not bear a sanitizer in what they start
        preload = "LD_PRELOAD=%(LD_PRELOAD)s ASAN_OPTIONS=%(ASAN_OPTIONS)s python3 " % installed.stranger
        lines = [line.replace("cc ", "cc -fsanitize=address,undefined ").replace("python3 ", preload)
                 for line in lines if "nbdkit" not in line]
    done = subprocess.run(["bash", "-euc", "\n".join(lines)], env=installed.env, cwd=tmp_path, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120 * PATIENCE)
    assert done.returncode == 0, done.stdout
    assert done.stdout.count(hashlib.sha1(data[:MIB]).hexdigest()) == 2
    if not sanitized():
        assert (tmp_path / "copy.img").read_bytes() == data
