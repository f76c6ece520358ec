"""
forward - paths to a target that can be cut: weir-forward, of bench/, started and killed for a test.
"""
import os
import re
import select
import signal
import subprocess
import time

from nvmetcp import require
from target import BUILD, START_S, hold

FORWARD = os.path.join(BUILD, "bench", "weir-forward")


class Path:
    """Connections to `port` here go on to `onward` at 127.0.0.1."""

    def __init__(self, onward, port=0):
        self.onward, self.port, self.process, self.said = onward, port, None, b""
        self.open()

    def open(self):
        """Also again, after it was cut: at the same port."""
        self.process = subprocess.Popen([FORWARD, "127.0.0.1:%d" % self.port, "127.0.0.1:%d" % self.onward],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        self.said = b""
        self._until("ready", 1)
        self.port = int(re.search(rb"listening on [0-9.]+:(\d+)", self.said).group(1))

    def _until(self, word, times):
        deadline = time.monotonic() + START_S
        while self.said.count(b": %s\n" % word.encode()) < times:
            left = deadline - time.monotonic()
            require(left > 0 and select.select([self.process.stdout], [], [], left)[0], "weir-forward does not say '%s'",
                    word)
            piece = os.read(self.process.stdout.fileno(), 4096)
            require(piece, "weir-forward ended: %s", self.process.poll())
            self.said += piece

    def until_busy(self, connections):
        """Waits until much has come by so many of them, since it was opened last."""
        self._until("busy", connections)

    def cut(self):
        """Both peers of each connection see a reset, and whoever comes is refused."""
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def hold(self):
        """Nothing comes through, and nobody is told: not even that it ended."""
        hold(self.process.pid)

    def let_go(self):
        """What was held comes late."""
        self.process.send_signal(signal.SIGCONT)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.returncode is None:
            self.cut()
