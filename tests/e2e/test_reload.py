"""The file of --config, read again: what else happens meanwhile, and files that cannot be."""
import os
import signal
import threading

import pytest

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


@pytest.mark.parametrize("first", ["signal", "apply"])
def test_a_signal_while_something_is_being_applied_is_not_lost(live, tmp_path, first):
    """the change waits for I/O of what was taken away; the file is read when it is done"""
    with open(tmp_path / "v", "wb") as f:
        f.truncate(16 << 20)
    slow = conf(namespace(1, "fault:delay-write=2000@file:%s/v" % tmp_path))
    target = live(slow)
    said = target.daemon.stderr

    def write(text):
        with open(target.path, "w") as f:
            f.write(text)

    def apply(text, name):
        (tmp_path / name).write_text(text)
        return targets.run("apply", "--control", target.control, tmp_path / name)

    def until_taken():
        """whoever asks whether something is being applied is in the way of it for a moment"""
        targets.until("slow", lambda: "being applied" not in apply(slow, "slow").stderr)

    def again():
        """what it says tells whether the file was read"""
        target.daemon.process.send_signal(signal.SIGHUP)
        target.daemon.stats()  # by a signal too: the first was taken when this is answered

    with connect(target) as ctrl:
        queue = ctrl.io_queue()
        queue.submit_write(0, bytes(4096))
        alive(ctrl)
        target.applied(conf(namespace(5)))
        write(slow)
        if first == "signal":
            target.daemon.process.send_signal(signal.SIGHUP)
            targets.until("the change", lambda: "when what is being applied is done" in said(), again)
        else:
            threading.Thread(target=until_taken, daemon=True).start()
            targets.until("the change", lambda: "being applied" in apply(conf(namespace(5)), "same").stderr)
        for nsid in (6, 7):
            words = said().count("is read again when")
            write(conf(namespace(5), namespace(nsid)))
            target.daemon.process.send_signal(signal.SIGHUP)
            targets.until("word of it", lambda: said().count("is read again when") > words, lambda: alive(ctrl))
        targets.until("the last one", lambda: active(ctrl) == [5, 7], lambda: alive(ctrl))
        targets.until("word of that", lambda: "+ namespace 7" in said())
        assert "+ namespace 6" not in said()
