"""Where the control socket is: one target has it."""
import os
import shutil
import socket
import subprocess

import pytest

import target as targets
from test_live import conf, namespace


def is_new(path):
    """there, and not the one that was left; between the two it is neither"""
    try:
        return os.stat(path).st_mtime > 0
    except FileNotFoundError:
        return False


def test_a_socket_of_another_user_is_not_asked(tmp_path):
    """who may have made it before the target did"""
    if os.geteuid() != 0:
        pytest.skip("needs another user")
    path, control = tmp_path / "weir.yaml", str(tmp_path / "control")
    path.write_text(conf(namespace(1)))
    with socket.socket(socket.AF_UNIX) as theirs:
        theirs.bind(control)
        os.seteuid(65534)
        try:
            theirs.listen()
        finally:
            os.seteuid(0)
        said = "weir: the socket at %s is of another user (65534), who is told nothing\n" % control
        for word, status in (("apply", 1), ("diff", 2)):
            done = targets.run(word, "--control", control, path, timeout=targets.START_S)
            assert (done.returncode, done.stdout, done.stderr) == (status, "", said)
            with theirs.accept()[0] as asker:
                assert asker.recv(1) == b""


@pytest.mark.parametrize("left", [False, True])
def test_of_two_that_start_at_once_one_has_the_socket(serve, tmp_path, left):
    """the first is slow between bind() and listen(); or there is one that its target left behind, too"""
    if not shutil.which("strace"):
        pytest.skip("needs strace")
    if subprocess.run(["strace", "-o", tmp_path / "tried", "true"], stderr=subprocess.PIPE).returncode != 0:
        pytest.skip("strace may not trace here")
    path, control = tmp_path / "weir.yaml", str(tmp_path / "control")
    path.write_text(conf(namespace(1)))
    command = [targets.WEIR, "serve", "--control", control, "--config", str(path)]
    if left:
        serve("--control", control, config=str(path)).kill()
        os.utime(control, (0, 0))
    # The sanitizer looks for leaks as a tracer, and there is room for one.
    environment = dict(os.environ, ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0")
    first = subprocess.Popen(
        ["strace", "-D", "-f", "-qqq", "-o", "/dev/null", "-e", "signal=none", "-e", "trace=listen",
         "-e", "inject=listen:delay_enter=400000"] + command, env=environment, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True)
    try:
        targets.until("its socket", lambda: is_new(control))
        second = targets.run("serve", "--control", control, "--config", str(path), timeout=targets.START_S)
        assert second.returncode == 1
        assert "no control socket at %s: Address already in use" % control in second.stderr, second
        assert first.stdout.readline().startswith("weir: listening")
        assert first.stdout.readline() == "weir: ready\n"
        assert targets.run("diff", "--control", control, str(path)).returncode == 0
    finally:
        first.terminate()
        said = first.communicate(timeout=targets.START_S)
    assert first.returncode == 0, said
