"""The file of --config, read again: what else happens meanwhile, and files that cannot be."""
import os
import signal
import threading

import nvme
import target as targets
from test_live import NQN, active, alive, conf, connect, live, namespace  # noqa: F401: `live` is a fixture


def test_a_pipe_is_read_at_the_start_and_not_again(serve, tmp_path):
    """nobody writes to it any more, and hosts are served as before"""
    pipe = str(tmp_path / "pipe")
    os.mkfifo(pipe)

    def feed():
        with open(pipe, "w") as f:
            f.write(conf(namespace(1)))

    feeder = threading.Thread(target=feed, daemon=True)
    feeder.start()
    daemon = serve("--control", "none", config=pipe)
    feeder.join()
    with nvme.Controller(daemon.address, subnqn=NQN) as ctrl:
        daemon.process.send_signal(signal.SIGHUP)
        targets.until("the word", lambda: "is no regular file" in daemon.stderr(), lambda: alive(ctrl))
        assert active(ctrl) == [1]
