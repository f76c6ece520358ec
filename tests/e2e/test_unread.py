"""What the target says and nobody reads: hosts are served all the same."""
import fcntl
import os
import signal

from nvmetcp import PATIENCE
from test_live import conf, connect, live, namespace  # noqa: F401: `live` is a fixture

SMALL = 16384  # four pages
OTHER = "  - nqn: nqn.2026-11.example:other\n    namespaces:\n"


def fill(n):
    return "".join("      - {nsid: %d, volume: null, size: 16M}\n" % nsid for nsid in range(1, n + 1))


def test_an_apply_that_says_more_than_is_read_of_standard_error(live):
    ours, its = os.pipe()
    fcntl.fcntl(ours, fcntl.F_SETPIPE_SZ, SMALL)
    target = live(conf(namespace(1)), preexec=lambda: os.dup2(its, 2))
    os.close(its)
    with connect(target, timeout=5 * PATIENCE) as ctrl:
        queue = ctrl.io_queue()
        said = target.applied(conf(namespace(1)) + OTHER + fill(800))
        assert len(said) > SMALL and queue.read(0).ok
        assert os.read(ours, SMALL).startswith(b"weir: a new configuration is applied\n")
        target.applied(conf(namespace(1)))
        assert b" lines before this one could not be written\nweir: a new conf" in os.read(ours, SMALL)
        assert queue.read(0).ok
    target.daemon.stop()
    os.close(ours)


def test_counters_that_are_asked_for_and_not_read(live):
    target = live(conf(namespace(1)))
    fcntl.fcntl(target.daemon.process.stdout, fcntl.F_SETPIPE_SZ, SMALL)
    with connect(target, timeout=5 * PATIENCE) as ctrl:
        for _ in range(2 * SMALL // 100):
            target.daemon.process.send_signal(signal.SIGUSR1)
            assert ctrl.keep_alive().ok
