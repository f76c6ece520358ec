"""Programs with ordered streams, and targets, that are killed while they write, a hundred times: the groups that are
there are those up to some point, and never less than was durable."""
import os
import random
import select
import subprocess
import time

import nvme
import pytest
from nvmetcp import PATIENCE

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "ordered_host.c")
ROUNDS = 50


@pytest.fixture(scope="session")
def program(installed):
    installed.compile(SOURCE, installed.root / "ordered_host")
    return installed.root / "ordered_host"


class Writer:
    """The program, and what it has said."""

    def __init__(self, program, installed, errors, verified, written, targets):
        self.errors, self.heard, self.rest = open(errors, "w+"), {}, b""
        uris = ["nvme+tcp://127.0.0.1:%d/%s" % (target.port, nvme.SUBNQN) for target in targets]
        self.process = subprocess.Popen([program, str(verified), str(written), *uris], stdout=subprocess.PIPE,
                                        stderr=self.errors, env=installed.env)

    def _hear(self):
        """What has come, of which the last numbers with each word count; false: nothing more will."""
        piece = os.read(self.process.stdout.fileno(), 65536)
        *lines, self.rest = (self.rest + piece).split(b"\n")
        for line in lines:
            word, *numbers = line.decode().split()
            self.heard[word] = int(numbers[0])
        return len(piece) > 0

    def until(self, word, beyond):
        """It has said it, of more than so many."""
        deadline = time.monotonic() + 30 * PATIENCE
        while self.heard.get(word, -1) <= beyond:
            left = deadline - time.monotonic()
            assert left > 0 and select.select([self.process.stdout], [], [], left)[0], "it does not go on"
            self.errors.seek(0)
            assert self._hear(), self.errors.read()

    def kill(self):
        self.process.kill()
        while self._hear():
            pass
        self.process.wait()


def begin(serve, tmp_path, number):
    return serve("--order-log", "file:%s,slots=4096" % (tmp_path / ("log%d" % number)), "--reactors", "2",
                 listen=["127.0.0.1:0"], ns=["volatile:seed=5@file:%s,size=1G" % (tmp_path / ("volume%d" % number))])


@pytest.mark.parametrize("count", [1, 2], ids=["one", "two"])
def test_hosts_and_targets_are_killed(serve, installed, program, tmp_path, count):
    """the host, targets, or both; each time another one recovers, and looks at what is there"""
    chance = random.Random(count)
    targets = [begin(serve, tmp_path, number) for number in range(count)]
    verified = written = durable = 0
    for turn in range(ROUNDS):
        writer = Writer(program, installed, tmp_path / "errors", verified, written, targets)
        writer.until("recovered", -1)
        there = writer.heard["recovered"]
        assert durable <= there and (turn == 0 or there <= written), (durable, there, written)
        writer.until("written", there)
        for _ in range(chance.randrange(3)):
            writer.until("durable", writer.heard.get("durable", there))
        killed = [number for number in range(count) if chance.random() < 0.4]
        for number in killed:
            targets[number].kill()
            targets[number].stopped = True
        if not killed and chance.random() < 0.5:
            writer.until("written", writer.heard["written"])
        writer.kill()
        for number in killed:
            targets[number] = begin(serve, tmp_path, number)
        verified, durable = there, max(there, writer.heard.get("durable", 0))
        written = max(written, writer.heard["written"])
