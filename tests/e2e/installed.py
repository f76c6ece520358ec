"""
installed - what `meson install` installs, below a folder of its own, and programs that are built with it.
"""
import os
import subprocess

import nvme
from nvmetcp import PATIENCE
from target import BUILD, preload, sanitized

SANITIZERS = ["-fsanitize=address,undefined"]


def uri_of(target, nsid=1):
    return "nvme+tcp://127.0.0.1:%d/%s?ns=%d" % (target.port, nvme.SUBNQN, nsid)


def written(path, size):
    """A volume of random bytes, and these."""
    data = os.urandom(size)
    path.write_bytes(data)
    return "file:%s,size=%d" % (path, size), data


class Installed:
    def __init__(self, root):
        self.root = root
        subprocess.run(["/usr/bin/meson", "install", "-C", BUILD, "--no-rebuild", "--destdir", root], check=True,
                       stdout=subprocess.DEVNULL, timeout=60 * PATIENCE)
        self.lib = self.find("libweir.so").parent
        # For what is built with it, and finds it where it is not to stay.
        self.env = dict(os.environ, PKG_CONFIG_SYSROOT_DIR=str(root), PKG_CONFIG_PATH=str(self.lib / "pkgconfig"),
                        LD_LIBRARY_PATH=str(self.lib))
        # A sanitizer in a library wants to be the first in the process, whose own leaks are not ours.
        self.stranger = dict(self.env)
        if sanitized():
            library = subprocess.run(["gcc", "-print-file-name=libasan.so"], check=True, stdout=subprocess.PIPE,
                                     text=True).stdout.strip()
            library += ":" + preload("freelocale", root)
            self.stranger.update(LD_PRELOAD=library, ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") +
                                 ":detect_leaks=0")

    def find(self, name):
        found = sorted(self.root.glob("**/" + name))
        assert found, "%s is not installed" % name
        return found[0]

    def flags(self, *options):
        """What pkg-config says."""
        done = subprocess.run(["pkg-config", *options, "--cflags", "--libs", "weir"], env=self.env, check=True,
                              stdout=subprocess.PIPE, text=True)
        return done.stdout.split()

    def compile(self, source, program, static=False):
        """Builds a program as its user would, with our warnings; what it is linked to it takes with it if static."""
        if not static:
            how = self.flags()
        elif sanitized():  # which cannot be linked statically
            how = [flag if flag != "-lweir" else str(self.lib / "libweir.a") for flag in self.flags("--static")]
        else:
            how = ["-static", *self.flags("--static")]
        subprocess.run(["gcc", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror", source, "-o", program, *how,
                        *(SANITIZERS if sanitized() else [])], env=self.env, check=True, timeout=60 * PATIENCE)

    def run(self, *command, stranger=False, **how):
        """Runs one to its end; `stranger`: it is not compiled by us."""
        return subprocess.run(list(map(str, command)), env=self.stranger if stranger else self.env,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=60 * PATIENCE, **how)
