"""
Fixtures: a target for a whole file, targets of one's own, and a host that watches.

WEIR_AGAINST=HOST:PORT, with WEIR_AGAINST_NQN: the tests that name a line and need no daemon of their own run
against that target, which somebody else has started; the others are left out.
"""
import os
import socket
import sys

sys.dont_write_bytecode = True

import pytest

import nvme
import target as targets
from installed import Installed
from nvmetcp import PATIENCE, Closed, Conn


AGAINST = os.environ.get("WEIR_AGAINST")


def pytest_collection_modifyitems(config, items):
    if AGAINST:
        left_out = [item for item in items if {"serve", "binary"} & set(item.fixturenames) or
                    "target" not in item.fixturenames or not item.get_closest_marker("line")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


@pytest.fixture(scope="session")
def binary():
    if not os.path.exists(targets.WEIR):
        pytest.fail("there is no %s: build first, or set WEIR_BUILD" % targets.WEIR)
    return targets.WEIR


@pytest.fixture(scope="session")
def installed(binary, tmp_path_factory):
    return Installed(tmp_path_factory.mktemp("installed"))


@pytest.fixture
def serve(binary):
    """Starts targets of the test's own: serve(*args, ns=[...]).  All must end well."""
    daemons = []

    def start(*args, **how):
        daemons.append(targets.Daemon(*args, **how))
        return daemons[-1]

    yield start
    try:
        for daemon in daemons:
            if not daemon.stopped:
                daemon.stop()
    finally:
        for daemon in daemons:
            daemon.kill()


class Stranger:
    """A target that others have started: it can be connected to, and nothing else be asked of it."""

    def __init__(self, where):
        host, _, port = where.rpartition(":")
        self.address, self.port = (host.strip("[]"), int(port)), int(port)

    def get(self):
        return self

    def alive(self):
        try:
            socket.create_connection(self.address, 5 * PATIENCE).close()
        except OSError:
            return False
        return True

    def stderr(self):
        return ""

    def rss_kib(self):
        return 0  # nobody can tell

    process = property(lambda self: self)

    def poll(self):
        return "not ours"

    def __getattr__(self, name):
        pytest.skip("needs %s() of a daemon of our own" % name)


SPECS = ["mem:64M", "file:{dir}/volume.img,size=64M"]


@pytest.fixture(params=[(spec, size) for spec in SPECS for size in (512, 4096)],
                ids=lambda p: "%s-%d" % (p[0].split(":")[0], p[1]))
def volume(request, serve, tmp_path):
    """(queue, block size, blocks, controller) of RAM and file volumes of either block size."""
    spec, size = request.param
    target = serve("--block-size", str(size), ns=[spec.format(dir=tmp_path)])
    with nvme.Controller(target.address) as ctrl:
        ctrl.grant()
        yield ctrl.io_queue(), size, (64 << 20) // size, ctrl


class _Shared:
    """The target of a test file; made anew when a test has killed it."""

    def __init__(self, args, ns):
        self.args, self.ns = args, ns
        self.daemon = None

    def get(self):
        if self.daemon is None:
            self.daemon = targets.Daemon(*self.args, ns=self.ns)
        return self.daemon


@pytest.fixture(scope="module")
def _shared(request):
    if AGAINST:
        yield Stranger(AGAINST)
        return
    request.getfixturevalue("binary")
    shared = _Shared(getattr(request.module, "TARGET_ARGS", ()), getattr(request.module, "TARGET_NS", ("mem:64M",)))
    yield shared
    if shared.daemon is not None:
        with shared.daemon as daemon:
            stats = daemon.no_connections()
            assert stats["connections"] == 0
            assert daemon.stop()["connections"] == 0


@pytest.fixture
def target(_shared):
    """The file's target (TARGET_ARGS, TARGET_NS); the test must leave it alive."""
    daemon = _shared.get()
    yield daemon
    if not daemon.alive():
        _shared.daemon = None
        pytest.fail("the target died (%s); stderr:\n%s" % (daemon.process.poll(), daemon.stderr()))


@pytest.fixture
def conn(target):
    """A TCP connection on which nothing was said yet."""
    with Conn(target.address) as conn:
        yield conn


@pytest.fixture
def open_conn(conn):
    """A connection after ICReq and ICResp, without digests."""
    conn.handshake()
    yield conn


@pytest.fixture
def ctrl(target):
    """An enabled controller with I/O queues granted."""
    with nvme.Controller(target.address) as ctrl:
        ctrl.grant()
        yield ctrl


@pytest.fixture
def queue(ctrl):
    """An I/O queue of it, SQ flow control on."""
    yield ctrl.io_queue()


@pytest.fixture
def bystander(target):
    """Another host, whose I/O must go on whatever the test does."""
    with nvme.Controller(target.address, hostid=bytes(range(16))) as ctrl:
        ctrl.grant()
        queue = ctrl.io_queue()

        def look():
            data = os.urandom(4096)
            try:
                assert queue.write(100, data).ok
                assert bytes(queue.read(100).got) == data
            except (Closed, OSError, AssertionError) as error:
                pytest.fail("another host is not served any more: %r; stderr of the target (%s):\n%s" % (
                    error, target.process.poll(), target.stderr()))

        look()
        yield look
        look()
