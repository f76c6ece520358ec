"""guest.py - a running guest, and commands in it.

Answers: what did this shell command print in the guest, and how did it end?
One boot serves many commands; they run one after the other in one shell, so
`&` and `wait` work across them.  It does not know what is tested.
"""
import os
import re
import secrets
import select
import shlex
import subprocess
import time

HERE = os.path.dirname(os.path.realpath(__file__))


class GuestError(Exception):
    """The guest died, or a command took too long: this guest is of no more use."""


class CommandFailed(AssertionError):
    pass


class Guest:
    def __init__(self, directory, console, limit=1800, forward=()):
        self.console = console
        self.errors = open(console + ".errors", "w+")
        forwarded = [word for one in forward for word in ("-f", one)]
        self.process = subprocess.Popen(
            [f"{HERE}/run-guest", "-t", str(limit), "-l", console, *forwarded, directory],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
        )
        self.unread = b""
        self.alive = True
        with open(f"{HERE}/guest.sh") as prelude:
            self.run(prelude.read(), timeout=180)  # the boot, on a busy machine

    def run(self, command, timeout=60, check=True):
        """Run a command, which gets no input; its output, both streams together.

        check: a status other than 0 is a failure; else the answer is (status, output).
        GuestError where it does not end in time, or the guest does not live.
        """
        mark = f"end-{secrets.token_hex(8)}"
        text = f"{{ {command}\n}} </dev/null\necho {mark} $?\n"
        try:
            self.process.stdin.write(text.encode())
            self.process.stdin.flush()
        except BrokenPipeError:
            raise self.lost("is dead", command) from None
        output, status = self.read_until(mark, time.monotonic() + timeout, command)
        if not check:
            return status, output
        if status:
            raise CommandFailed(f"status {status} of: {command}\n{output}")
        return output

    def script(self, *words, **options):
        """run() of one command given as separate words."""
        return self.run(shlex.join(str(w) for w in words), **options)

    def read_until(self, mark, deadline, command):
        end = re.compile(rf"{mark} (\d+)\n".encode())
        stdout = self.process.stdout.fileno()
        while not (found := end.search(self.unread)):
            ready, _, _ = select.select([stdout], [], [], max(0, deadline - time.monotonic()))
            if not ready:
                raise self.lost("has no end of", command)
            more = os.read(stdout, 65536)
            if not more:
                raise self.lost("died in", command)
            self.unread += more
        output, self.unread = self.unread[: found.start()], self.unread[found.end() :]
        return output.decode(errors="replace"), int(found[1])

    def lost(self, how, command):
        self.stop()
        self.errors.seek(0)
        with open(self.console, errors="replace") as console:
            log = "".join(console.readlines()[-30:])
        return GuestError(
            f"the guest {how}: {command}\n{self.unread.decode(errors='replace')}"
            f"{self.errors.read()}\nits console:\n{log}"
        )

    def stop(self):
        self.alive = False
        self.process.terminate()
        self.process.wait()
