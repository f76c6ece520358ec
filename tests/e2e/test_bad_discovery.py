"""Discovery services that do not tell what they know."""
import contextlib
import socket
import struct
import threading

import pytest

import nvme
from nvmetcp import CAPSULE_CMD, CAPSULE_RESP
from target import until
from tools import start, weir

GET_LOG_PAGE, INTERNAL_ERROR = 0x02, 0x06


def exactly(sock, count):
    data = sock.recv(count, socket.MSG_WAITALL)
    if len(data) < count:
        raise ConnectionError
    return data


class Between:
    """A service that passes on all that another one is asked, but for these of its commands for the log: 1 is the
    first.  They are answered by an error, or by nothing."""

    def __init__(self, onward, fail=(), ignore=()):
        self.onward, self.fail, self.ignore, self.asked = onward, fail, ignore, 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.where = "127.0.0.1:%d" % self.listener.getsockname()[1]
        self.run(self.accept)

    def run(self, what, *args):
        threading.Thread(target=what, args=args, daemon=True).start()

    def accept(self):
        while True:
            try:
                host = self.listener.accept()[0]
            except OSError:
                return
            target = socket.create_connection(("127.0.0.1", self.onward))
            self.run(self.pass_on, host, target, self.command)
            self.run(self.pass_on, target, host, lambda pdu, _: pdu)

    def pass_on(self, source, sink, change):
        try:
            while True:
                head = exactly(source, 8)
                pdu = change(head + exactly(source, struct.unpack("<I", head[4:])[0] - 8), source)
                sink.sendall(pdu)
        except OSError:
            for end in source, sink:
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)

    def command(self, pdu, host):
        if pdu[0] != CAPSULE_CMD or pdu[8] != GET_LOG_PAGE:
            return pdu
        self.asked += 1
        if self.asked in self.fail:
            host.sendall(struct.pack("<BBBBIIIHHHH", CAPSULE_RESP, 0, 24, 0, 24, 0, 0, 0, 0,
                                     struct.unpack_from("<H", pdu, 10)[0], INTERNAL_ERROR << 1))
        return b"" if self.asked in (*self.fail, *self.ignore) else pdu


@pytest.fixture
def between(target):
    made = []

    def make(**how):
        made.append(Between(target.port, **how))
        return made[-1]

    yield make
    for one in made:
        one.listener.close()


def test_one_that_is_silent_is_not_waited_for(between):
    service = between(ignore=[1])
    done = weir("discover", service.where, "--connect-timeout", "1s", code=1)
    assert "did not answer in time: the discovery log" in done.words
    assert nvme.SUBNQN in weir("discover", service.where).stdout.decode()


def test_one_that_fails_is_asked_again_by_who_watches_it(between):
    """The log is read by three commands: its head, the entries, its head."""
    service = between(fail=[1, 5, 6])
    assert "internal error" in weir("discover", service.where, code=1).words
    watch = start("discover", "--watch", service.where)
    try:
        assert nvme.SUBNQN in watch.stdout.readline() + watch.stdout.readline() + watch.stdout.readline()
        until("the log is read whole", lambda: service.asked >= 9, lambda: watch.poll() is None)
    finally:
        watch.terminate()
        watch.wait()
