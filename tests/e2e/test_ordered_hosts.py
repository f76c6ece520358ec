"""Programs with ordered streams, and targets, that are killed while they write, a hundred times: the groups that are
there are those up to some point, and never less than was durable."""
import os
import random
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
    """The program, with what it has said in its file."""

    def __init__(self, program, installed, said, verified, written, targets):
        self.said, self.errors = said, open(str(said) + ".errors", "w+")
        uris = ["nvme+tcp://127.0.0.1:%d/%s" % (target.port, nvme.SUBNQN) for target in targets]
        with open(said, "wb") as out:
            self.process = subprocess.Popen([program, str(verified), str(written), *uris], stdout=out,
                                            stderr=self.errors, env=installed.env)

    def last(self, word):
        """The last numbers that it said with that word, or None."""
        lines = [line.split() for line in self.said.read_text().splitlines()]
        lines = [[int(number) for number in rest] for first, *rest in lines if first == word]
        return lines[-1] if lines else None

    def until(self, word, beyond):
        """It has said it, of more than so many."""
        deadline = time.monotonic() + 30 * PATIENCE
        while (self.last(word) or [-1])[0] <= beyond:
            self.errors.seek(0)
            assert self.process.poll() is None, self.errors.read()
            assert time.monotonic() < deadline, "it does not go on"
            time.sleep(0.002)

    def kill(self):
        self.process.kill()
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
        writer = Writer(program, installed, tmp_path / ("said%d" % turn), verified, written, targets)
        writer.until("recovered", -1)
        there = writer.last("recovered")[0]
        assert durable <= there <= max(written, there if turn == 0 else written), (durable, there, written)
        writer.until("written", there)
        for _ in range(chance.randrange(3)):
            writer.until("durable", (writer.last("durable") or [there])[0])
        killed = [number for number in range(count) if chance.random() < 0.4]
        for number in killed:
            targets[number].kill()
            targets[number].stopped = True
        if chance.random() < 0.5:
            time.sleep(chance.random() * 0.02)
        writer.kill()
        for number in killed:
            targets[number] = begin(serve, tmp_path, number)
        verified, durable = there, max(there, (writer.last("durable") or [0])[0])
        written = max(written, writer.last("written")[0])
