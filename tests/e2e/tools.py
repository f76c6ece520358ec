"""tools - the commands that are hosts, run to their end against a target."""
import json
import os
import subprocess

import nvme
import target as targets
from nvmetcp import PATIENCE

SECONDS = int(60 * PATIENCE)


def uri(target, ns=None, nqn=nvme.SUBNQN, more=()):
    """of a daemon's first address, and of others as further paths"""
    where = ",".join("%s:%d" % address for address in (target.address, *more))
    return "nvme+tcp://%s/%s%s" % (where, nqn, "" if ns is None else "?ns=%d" % ns)


def weir(*args, code=0, stdin=b"", **how):
    """Bytes in, bytes out; the exit code is part of what is promised."""
    done = subprocess.run([targets.WEIR, *map(str, args)], input=stdin, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=SECONDS, **how)
    done.words = done.stderr.decode()
    assert done.returncode == code, (done.returncode, done.stdout[:2000], done.words)
    return done


def answer(*args, code=0, **how):
    """of --json"""
    return json.loads(weir(*args, "--json", code=code, **how).stdout)


def volume(target, ns=1, offset=0, length=None):
    """what it holds"""
    options = [] if length is None else ["--length", length]
    return weir("read", uri(target, ns), "-", "--offset", offset, "--quiet", *options).stdout


def start(*args, **how):
    """One that stays, though not for ever.  In the foreground: else timeout(1) sends each of our signals twice, and the
    second may come while a sanitizer looks for leaks, which then never ends."""
    return subprocess.Popen(["timeout", "--foreground", "-s", "KILL", str(SECONDS), targets.WEIR, *map(str, args)],
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **how)


def random_file(path, size):
    """Its bytes."""
    data = os.urandom(size)
    with open(path, "wb") as file:
        file.write(data)
    return data
