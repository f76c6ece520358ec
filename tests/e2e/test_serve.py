"""The daemon itself: options, start, end, and what it leaves behind."""
import contextlib
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import time

import pytest

import nvme
import target as targets
from nvmetcp import PATIENCE, Closed, Conn, Violation

BLOCK = 4096
MIB = 1 << 20


# ---- the end ----

@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.line("L19")
def test_a_signal_ends_it_well(serve, signum):
    """exit 0 within a second"""
    assert serve().stop(signum)["connections"] == 0


@pytest.mark.line("L19")
def test_a_signal_with_connections_in_every_state(serve):
    """silent, half-way, idle and waiting ones do not hold it up"""
    target = serve()
    conns = [Conn(target.address)]
    conns.append(Conn(target.address))
    conns[-1].handshake()
    controllers = [nvme.Controller(target.address) for _ in range(3)]
    queue = controllers[0].io_queue()
    queue.serve_r2ts = False
    request = queue.submit_write(0, bytes(64 * BLOCK))
    while not request.r2ts:
        queue.step()
    controllers[1].aer()
    deaf = controllers[2].io_queue(rcvbuf=4096)
    for _ in range(50):
        deaf.submit_read(0, 256)
    stats = target.stop()
    assert stats["connections"] == 0
    for conn in conns:
        conn.expect_close()
        conn.close()
    for ctrl in controllers:
        ctrl.close()


@pytest.mark.parametrize("spec", ["mem:64M", "file:{dir}/v.img,size=64M"])
@pytest.mark.line("L19")
def test_what_is_in_flight_at_the_end_is_answered_or_not_but_right(serve, tmp_path, spec):
    """responses are drained; an acknowledged write is there after a restart"""
    spec = spec.format(dir=tmp_path)
    target = serve(ns=[spec])
    with nvme.Controller(target.address) as ctrl:
        queue = ctrl.io_queue()
        requests = [queue.submit_write(8 * n, bytes([n]) * 8 * BLOCK) for n in range(100)]
        requests += [queue.submit_read(0, 64) for _ in range(20)]
        os.kill(target.pid, signal.SIGTERM)
        try:
            queue.wait(*requests)
        except (Closed, ConnectionError, Violation):
            pass
        assert target.process.wait(targets.STOP_S * 2) == 0
        target.stopped = True
    if spec.startswith("file"):
        target = serve(ns=[spec])
        with nvme.Controller(target.address) as ctrl:
            queue = ctrl.io_queue()
            for n, request in enumerate(requests[:100]):
                if request.ok:
                    assert bytes(queue.read(8 * n, 8).got) == bytes([n]) * 8 * BLOCK


@pytest.mark.line("L19")
@pytest.mark.parametrize("reactors", [1, 3])
def test_what_a_device_has_at_the_signal_is_answered(serve, reactors):
    """each command, before its queue is closed: an admin queue that has nothing to do does not take the others along"""
    target = serve("--reactors", str(reactors), ns=["fault:delay=100@mem:16M"])
    with nvme.Controller(target.address) as ctrl:
        queues = [ctrl.io_queue(qid) for qid in (1, 2, 3)]
        sent = [(queue, queue.submit_write(8 * n, bytes(2 * BLOCK))) for n in range(8) for queue in queues]
        sent += [(queue, queue.submit_read(0, 8)) for queue in queues]
        for queue in queues:
            assert not queue.read(1 << 40).ok  # the target has heard of all that was sent before
        os.kill(target.pid, signal.SIGTERM)
        for queue, request in sent:
            assert queue.wait(request).ok
        for queue in [*queues, ctrl.admin]:
            queue.conn.expect_close()
        assert target.process.wait(targets.STOP_S * 2) == 0
        target.stopped = True


@pytest.mark.parametrize("files", ["auto", "threads"])
@pytest.mark.parametrize("going", ["close", "reset", "stay"])
@pytest.mark.line("L19")
def test_a_signal_while_files_are_busy(serve, tmp_path, files, going):
    """hosts have just left, or have not, and their I/O is still with the disk"""
    for _ in range(5):
        target = serve("--block-size", "512", "--files", files, ns=["file:%s/v.img,size=64M" % tmp_path])
        with nvme.Controller(target.address) as ctrl:
            queue = ctrl.io_queue()
            writes = [queue.submit_write(8 * n, bytes(BLOCK), block_size=512, fua=n % 4 == 0, send=False)
                      for n in range(100)]
            queue.conn.send(*[w.capsule for w in writes])
            queue.wait(writes[0])
            if going != "stay":
                getattr(queue.conn, going)()
                getattr(ctrl.admin.conn, going)()
            target.stop()


@pytest.mark.parametrize("going", ["close", "stay"])
@pytest.mark.line("L09", "L19")
def test_a_signal_while_a_shutdown_is_flushing(serve, tmp_path, going):
    """the volumes are still being flushed for a controller when the daemon is told to end"""
    for _ in range(3):
        target = serve(ns=["file:%s/v.img,size=64M" % tmp_path])
        with nvme.Controller(target.address) as ctrl:
            queue = ctrl.io_queue()
            queue.wait(*[queue.submit_write(64 * n, os.urandom(64 * BLOCK)) for n in range(16)])
            shutdown = ctrl.admin.submit_raw(nvme.property_set_sqe(nvme.CC, nvme.CC_READY | 1 | 1 << 14))
            if going == "close":
                ctrl.admin.wait(shutdown)
                ctrl.close()
            target.stop()


@pytest.mark.line("L19")
@pytest.mark.parametrize("signals", [1, 2])
def test_a_signal_while_a_volume_is_too_slow(serve, signals):
    """it is left within the second, or at once by a second signal: not as if all were done, and counted all the same"""
    target = serve(ns=["fault:delay=%d@volatile:seed=1@mem:64M" % (3000 * PATIENCE)])
    with nvme.Controller(target.address) as ctrl:
        ctrl.admin.submit(nvme.sqe(0x09, cdw10=6))  # no write cache: the volume is flushed
        ctrl.get(nvme.CSTS)
        if signals == 2:
            target.process.send_signal(signal.SIGTERM)
            with pytest.raises(ConnectionError):
                while True:
                    Conn(target.address).close()
        assert target.stop(status=3)["writes"] == 0
        assert ("did not finish" in target.stderr()) == (signals == 1)


def test_a_volume_has_as_long_as_the_operator_says(serve):
    target = serve("--stop-timeout", "60000", ns=["fault:delay=1200@volatile:seed=1@mem:64M"])
    with nvme.Controller(target.address) as ctrl:
        ctrl.admin.submit(nvme.sqe(0x09, cdw10=6))
        ctrl.get(nvme.CSTS)
        target.process.send_signal(signal.SIGTERM)
        assert target.process.wait(60) == 0
    target.kill()


@pytest.mark.line("L19")
def test_nothing_new_is_accepted_while_it_ends(serve):
    target = serve()
    address = target.address
    target.stop()
    with pytest.raises(ConnectionRefusedError):
        Conn(address)


@pytest.mark.line("W58")
def test_the_port_can_be_had_again_at_once(serve):
    """A restart finds its address free although connections were open"""
    target = serve()
    with nvme.Controller(target.address) as ctrl:
        ctrl.keep_alive()
        target.stop()
    again = serve(listen=("127.0.0.1:%d" % target.port,))
    assert again.port == target.port


def test_counters_are_printed_when_asked_for(serve):
    """--stats: at SIGUSR1 and at the end"""
    target = serve()
    with nvme.Controller(target.address) as ctrl:
        queue = ctrl.io_queue()
        before = target.stats()
        for n in range(10):
            assert queue.write(n, bytes(BLOCK)).ok and queue.read(n).ok and queue.read(n).ok
        after = target.stats()
        assert after["connections"] == 2
        assert after["writes"] - before["writes"] == 10 and after["reads"] - before["reads"] == 20
        for key in ("now_ns", "turns", "busy_turns", "syscalls"):
            assert after[key] >= before[key]
        assert after["now_ns"] > before["now_ns"]
    last = target.stop()
    assert last["reads"] == after["reads"] and last["connections"] == 0


@pytest.mark.line("W59")
def test_an_idle_daemon_sleeps(serve):
    """No turns while nothing happens: under 1 % of a core"""
    target = serve()

    def ticks():
        with open("/proc/%d/stat" % target.pid) as f:
            fields = f.read().rsplit(")", 1)[1].split()
        return int(fields[11]) + int(fields[12])
    with nvme.Controller(target.address) as ctrl:
        ctrl.keep_alive()
        time.sleep(0.3)  # what it may spin
        began, at = ticks(), time.monotonic()
        time.sleep(1.5)  # the measure is of a time in which nothing happens
        used = (ticks() - began) / os.sysconf("SC_CLK_TCK")
        assert used / (time.monotonic() - at) < 0.02 * PATIENCE


# ---- refusals: exit 2 for what was said wrongly, 1 for what the machine refuses ----

@pytest.mark.parametrize("args, words", [
    (["--listen", "127.0.0.1:70000"], "70000"),
    (["--listen", "127.0.0.1:x"], "127.0.0.1:x"),
    (["--listen", ""], "--listen"),
    (["--block-size", "1024"], "512|4096"),
    (["--block-size", "x"], "--block-size"),
    (["--reactors", "0"], "--reactors"),
    (["--reactors", "-1"], "--reactors"),
    (["--reactors", "two"], "two"),
    (["--cpus", "a"], "--cpus"),
    (["--cpus", "4294967296"], "not a list"),
    (["--cpus", "1023"], "--cpus '1023': there is no processor 1023"),
    (["--cpus", "70000"], "no processor 70000"),
    (["--files", "aio"], "auto.*uring.*threads"),
    (["--sockets", "threads"], "auto.*uring.*calls"),
    (["--handshake-timeout", "0"], "--handshake-timeout"),
    (["--stall-timeout", "soon"], "soon"),
    (["--max-connections", "0"], "--max-connections"),
    (["--no-such-option"], "no-such-option"),
    (["stray"], "stray"),
    (["--ns"], "ns"),
])
def test_a_wrong_option_is_named(binary, args, words):
    """exit code 2, and the message says which rule was broken"""
    done = targets.run("serve", *args)
    assert done.returncode == 2 and done.stdout == ""
    assert re.search(words, done.stderr), done.stderr


@pytest.mark.parametrize("spec, words", [
    ("", "."), ("mem", "mem"), ("mem:", "size|SIZE"), ("mem:0", "small"), ("mem:x", "x"), ("mem:1Q", "1Q"),
    ("mem:-1", "-1"), ("mem:1000", "multiple|block|small"), ("mem:99999999T", "large|size|memory"),
    ("disk:1G", "disk"), ("null:", "size|SIZE"), ("file:", "path|PATH|file"),
    ("file:/nonexistent/dir/v.img,size=1M", "No such file"), ("file:/tmp,size=1M", "directory"),
    ("file:/tmp/nothing-here.img", "No such file|size"), ("file:/tmp/x.img,size=x", "size"),
    ("file:/tmp/x.img,depth=3", "depth"), ("fault:@mem:1M", "fault"), ("fault:x=1@mem:1M", "x"),
    ("fault:read-error=1", "@|volume|device|SPEC"), ("fault:read-error=y@mem:1M", "y|read-error"),
    ("fault:read-error=1@disk:1M", "disk"), ("fault:drop-write=0@mem:1M", "drop-write|0"),
])
def test_a_wrong_volume_is_named(binary, spec, words):
    """the message names the volume and the broken rule"""
    try:
        done = targets.run("serve", "--listen", "127.0.0.1:0", "--ns", spec, timeout=3 * PATIENCE)
    except subprocess.TimeoutExpired:
        pytest.fail("%s is served" % spec)
    assert done.returncode in (1, 2) and "ready" not in done.stdout
    assert spec in done.stderr and re.search(words, done.stderr.replace(spec, "", 1) if words not in spec
                                             else done.stderr), done.stderr


@pytest.mark.parametrize("spec, reason", [
    ("flash:no-such,8G", "`no-such` is not a profile"),
    ("flash:/nonexistent/%s.yaml,8G,seed=17" % ("x" * 64), "No such file"), # what is long leaves room for the reason
])
def test_a_wrong_volume_is_named_once(binary, spec, reason):
    done = targets.run("serve", "--listen", "127.0.0.1:0", "--ns", spec)
    assert done.returncode in (1, 2) and done.stderr.count(spec[:90]) == 1 and reason in done.stderr, done.stderr


@pytest.mark.parametrize("nqn", ["", "x" * 224, nvme.DISCOVERY])
@pytest.mark.line("F09")
def test_a_subsystem_name_that_is_none(binary, nqn):
    done = targets.run("serve", "--listen", "127.0.0.1:0", "--ns", "mem:1M", "--subnqn", nqn, timeout=5)
    assert done.returncode in (1, 2) and re.search("NQN|name|subnqn", done.stderr), done.stderr


def test_a_port_in_use_is_a_clear_error(serve):
    """with the address, and the system's word for it"""
    target = serve()
    done = targets.run("serve", "--listen", "127.0.0.1:%d" % target.port, "--ns", "mem:1M")
    assert done.returncode == 1
    assert "127.0.0.1:%d" % target.port in done.stderr and "in use" in done.stderr.lower(), done.stderr


def test_an_address_that_is_not_ours_is_a_clear_error(binary):
    done = targets.run("serve", "--listen", "192.0.2.1:0", "--ns", "mem:1M")
    assert done.returncode == 1 and "192.0.2.1" in done.stderr, done.stderr


def test_who_cannot_say_that_it_is_ready_ends(binary):
    """who waits for that line would wait for ever"""
    with open("/dev/full", "w") as full:
        done = subprocess.run([binary, "serve", "--listen", "127.0.0.1:0", "--ns", "mem:64M"], stdout=full,
                              stderr=subprocess.PIPE, text=True, timeout=targets.START_S)
    assert done.returncode == 1 and "cannot write to standard output" in done.stderr, done


def test_too_many_volumes_are_refused(binary):
    done = targets.run("serve", "--listen", "127.0.0.1:0", *["--ns=null:1G"] * 2000)
    assert done.returncode == 2 and "--ns" in done.stderr


def test_listening_for_everyone_is_warned_of(serve):
    target = serve(listen=("0.0.0.0:0",))
    target.stop()
    assert "warning" in target.stderr().lower()


def test_help_and_version(binary):
    for args in (["--help"], ["serve", "--help"], ["perf", "--help"], ["--version"]):
        done = targets.run(*args)
        assert done.returncode == 0 and done.stdout, args
    for args in ([], ["nothing"]):
        done = targets.run(*args)
        assert done.returncode == 2 and done.stderr


def test_explain_memory(binary):
    """prints the formula and ends"""
    done = targets.run("serve", "--explain-memory", "--ns", "mem:1M", "--reactors", "2", "--max-connections", "77")
    assert done.returncode == 0 and "with all 77 connections" in done.stdout
    assert "connection" in done.stdout and "reactor" in done.stdout and "KiB" in done.stdout


def anonymous_kib(pid):
    with open("/proc/%d/smaps_rollup" % pid) as rollup:
        return int(re.search(r"^Anonymous:\s+(\d+) kB", rollup.read(), re.MULTILINE).group(1))


def explained(text, what):
    return float(re.search(r"%ss x ([\d.]+) KiB" % what, text).group(1))


def test_silent_connections_take_the_memory_that_is_explained(serve):
    """what their memory is aligned with and found by is counted"""
    if targets.sanitized():
        pytest.skip("a sanitizer's own memory would hide it")
    each = explained(targets.run("serve", "--explain-memory", "--ns", "mem:16M").stdout, "connection")
    target = serve("--handshake-timeout", "60000")
    before = anonymous_kib(target.pid)
    with contextlib.ExitStack() as stack:
        for _ in range(500):
            stack.enter_context(socket.create_connection(target.address))
        target.until("all are there", lambda stats: stats["connections"] == 500)
        grown = anonymous_kib(target.pid) - before
    assert 0.9 * 500 * each <= grown <= 500 * each + 256  # what malloc() takes in advance


def test_connections_take_no_more_memory_than_explained(serve):
    """controllers, connections and queue entries, by the formula that --explain-memory prints"""
    text = targets.run("serve", "--explain-memory", "--ns", "mem:16M").stdout
    controller, connection = (explained(text, what) for what in ("controller", "connection"))
    entry = int(re.search(r"queue entries x (\d+) bytes", text).group(1))
    target = serve(ns=["mem:16M"])
    with nvme.Controller(target.address) as ctrl:
        ctrl.io_queue().write(0, bytes(BLOCK))
    before = anonymous_kib(target.pid)
    with nvme.Controller(target.address) as ctrl:
        for qid in range(1, 65):
            ctrl.io_queue(qid=qid, entries=1024)
        grown = anonymous_kib(target.pid) - before
    assert grown <= controller + 66 * connection + (64 * 1024 + 128) * entry / 1024


@pytest.mark.parametrize("ns", ["flash:tlc-plp,1G,state=fragmented", "flash:qlc,64G,state=sequential,data=no",
                                "flash:optane,1G", "flash:tlc-plp,state=fragmented@mem:1G"])
def test_a_modelled_drive_takes_the_memory_that_is_explained(serve, ns):
    """whose translation is all there from the beginning; an 8 GiB one has twenty times what other volumes take"""
    if targets.sanitized():
        pytest.skip("a sanitizer's own memory would hide it")
    text = targets.run("serve", "--explain-memory", "--reactors", "2", "--ns", ns).stdout
    explained_kib = int(re.search(r"^  %s +(\d+) KiB" % ns, text, re.M).group(1))
    volume = int(re.search(r"volumes x (\d+) KiB", text).group(1))
    assert ("1G, as it is written" in text) == (ns in ("flash:tlc-plp,1G,state=fragmented", "flash:optane,1G"))
    assert "    + %.1f MiB of modelled drives + their contents\n" % (explained_kib / 1024) in text
    taken = anonymous_kib(serve("--reactors", "2", ns=[ns]).pid) - anonymous_kib(serve("--reactors", "2", ns=["null:1G"]).pid)
    assert taken <= explained_kib + volume + 256  # what malloc() takes in advance
    assert taken >= 0.7 * explained_kib or explained_kib < 2048, "of a small one much is for what is under way"


def test_drives_that_are_explained_behind_filters_and_in_a_file(binary, tmp_path):
    def drives(*args, code=0):
        done = targets.run("serve", "--explain-memory", *map(str, args))
        assert done.returncode == code and (done.stdout == "") == (code != 0), done
        return done.stderr if code else re.findall(r"^  (\S*flash:\S+) +(.*)$", done.stdout, re.M)

    assert drives("--ns", "mem:1G", "--ns", "file:/no,size=1G") == []
    (_, plain), (_, delayed) = drives("--ns", "flash:qlc,64G,data=no", "--ns", "fault:delay=1@flash:qlc,64G,data=no")
    assert plain == delayed and plain.endswith(" KiB")
    with open(tmp_path / "v", "wb") as file:
        file.truncate(1 << 30)
    sized, found = drives("--ns", "flash:tlc-plp@file:/none,size=1G", "--ns", "flash:tlc-plp@file:%s/v" % tmp_path)
    assert sized[1] == found[1]
    assert drives("--ns", "flash:./mine.yaml,1G", "--ns", "flash:optane@file:/none") == [
        ("flash:./mine.yaml,1G", "not counted: its profile is in a file"),
        ("flash:optane@file:/none", "not counted: it is as large as what is behind the @")]
    conf = tmp_path / "weir.yaml"
    conf.write_text("listeners: [{address: \"127.0.0.1:0\"}]\nsubsystems: [{nqn: \"nqn.2026-11.local:x\", namespaces: "
                    "[{nsid: 1, volume: \"flash:tlc-plp\", size: 1G}, {nsid: 2, volume: \"mem\", size: 1G}]}]\n")
    (spec, took), = drives("--config", conf)
    assert spec == "flash:tlc-plp,size=1073741824" and took == sized[1] + "   and its 1G, as it is written"
    assert "weir: flash:optan,8G: `optan` is not a profile" in drives("--ns", "flash:optan,8G", code=1)
    assert "weir: flash:tlc-plp,1M: it has 513 MiB at least" in drives("--ns", "flash:tlc-plp,1M", code=1)


# ---- volumes that stay ----

@pytest.mark.parametrize("how", ["--data-dir", "HOME"])
def test_the_default_volume_stays(serve, tmp_path, how):
    """1 GiB, sparse, in the data directory; what was written is there after a restart"""
    if how == "HOME":
        args, env, where = [], {"HOME": str(tmp_path), "XDG_DATA_HOME": ""}, tmp_path / ".local/share/weir"
    else:
        args, env, where = ["--data-dir", str(tmp_path / "a/b")], {}, tmp_path / "a/b"
    data = os.urandom(BLOCK)
    ids = []
    for run in range(2):
        target = serve(*args, ns=[], env=env)
        with nvme.Controller(target.address) as ctrl:
            queue = ctrl.io_queue()
            if run == 0:
                assert queue.write(1000, data).ok
            else:
                assert bytes(queue.read(1000).got) == data
            ids.append(ctrl.identified(3, 1))
        target.stop()
    image = os.stat(where / "volume.img")
    assert image.st_size == 1 << 30 and image.st_blocks * 512 < 16 * MIB
    assert ids[0] == ids[1]


def ids_of(target, nsid):
    with nvme.Controller(target.address) as ctrl:
        serial = ctrl.identified(1)[4:24]
        return serial, ctrl.identified(3, nsid), ctrl.identified(0, nsid)[104:128]


@pytest.mark.line("I07")
def test_ids_of_a_file_are_stable_over_a_restart(serve, tmp_path):
    """NGUID, UUID, serial number; wherever in the list the file stands"""
    image = "file:%s,size=16M" % (tmp_path / "volume.img")
    first = serve(ns=[image])
    before = ids_of(first, 1)
    first.stop()
    second = serve(ns=["mem:16M", image])
    assert ids_of(second, 2) == before
    second.stop()


@pytest.mark.line("I04")
def test_no_two_volumes_have_the_same_ids(serve, tmp_path):
    """neither two in one target nor those of two targets on one machine; RAM is new each time"""
    seen = []
    for n in range(2):
        target = serve(ns=["mem:16M", "mem:16M", "file:%s,size=16M" % (tmp_path / ("%d.img" % n))])
        seen += [ids_of(target, nsid)[1:] for nsid in (1, 2, 3)]
    assert len({ids[0] for ids in seen}) == len({ids[1] for ids in seen}) == 6


def test_a_second_daemon_on_the_same_file(serve, binary, tmp_path):
    """Two would overwrite each other: refused, or at least not silently (a warning)"""
    spec = "file:%s/v.img,size=16M" % tmp_path
    serve(ns=[spec])
    process = None
    try:
        process = targets.Daemon(ns=[spec])
    except Violation:
        return
    try:
        assert "warning" in process.stderr().lower()
    finally:
        process.kill()


def test_a_file_is_extended_never_cut(serve, tmp_path):
    path = tmp_path / "v.img"
    path.write_bytes(b"\x77" * 2 * MIB)
    for size, wanted in (("1M", 2 * MIB), ("4M", 4 * MIB)):
        target = serve(ns=["file:%s,size=%s" % (path, size)])
        with nvme.Controller(target.address) as ctrl:
            assert bytes(ctrl.io_queue().read(0).got) == b"\x77" * BLOCK
            assert int.from_bytes(ctrl.identified(0, 1)[:8], "little") * BLOCK == wanted
        target.stop()
        assert os.stat(path).st_size == wanted


# ---- sockets that are handed over ----

HAND_OVER = """
import os, sys
times = int(sys.argv[2])
for n in range(times):
    os.dup2(int(sys.argv[1]), 100 + n)
for n in range(times):
    os.dup2(100 + n, 3 + n)
os.closerange(3 + times, 100 + times)
os.environ.update(LISTEN_FDS=str(times), LISTEN_PID=str(os.getpid()))
os.execv(sys.argv[3], sys.argv[3:])
"""


def handed(sock, times=1):
    """How to start a daemon that is handed this socket as sd_listen_fds(3) says"""
    return {"prefix": [sys.executable, "-c", HAND_OVER, str(sock.fileno()), str(times)], "pass_fds": [sock.fileno()]}


def answers(address):
    with nvme.Controller(address) as ctrl:
        queue, data = ctrl.io_queue(), os.urandom(BLOCK)
        assert queue.write(0, data).ok and bytes(queue.read(0).got) == data


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.line("W58")
def test_a_successor_takes_over_the_socket_and_who_waits_in_it(serve, named):
    with socket.create_server(("127.0.0.1", 0)) as sock:
        how = handed(sock) | {"listen": ["127.0.0.1:%d" % sock.getsockname()[1]] if named else []}
        first = serve(**how)
        assert first.addresses == [sock.getsockname()]
        answers(first.address)
        first.stop()
        between = Conn(sock.getsockname())
        second = serve(**how)
        between.handshake()
        answers(second.address)


def test_a_handed_socket_is_served_beside_the_named_ones(serve):
    with socket.create_server(("127.0.0.1", 0)) as sock:
        target = serve(**handed(sock))
        assert sock.getsockname() in target.addresses and len(target.addresses) == 2
        for address in target.addresses:
            answers(address)


def test_a_handed_socket_that_does_not_listen_is_a_clear_error(binary):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        with pytest.raises(Violation) as failed:
            targets.Daemon(**handed(sock))
    assert re.search("LISTEN_FDS.*not listening TCP sockets", str(failed.value))


def test_a_socket_handed_twice_is_a_clear_error(binary):
    """of the two only one would be accepted from"""
    with socket.create_server(("127.0.0.1", 0)) as sock:
        with pytest.raises(Violation) as failed:
            targets.Daemon(**handed(sock, times=2))
    assert re.search("hands over 127.0.0.1:[0-9]+ twice", str(failed.value))


@pytest.mark.parametrize("fds", ["1", "5000", "x"])
def test_sockets_handed_to_another_process_are_not_ours(serve, fds):
    target = serve(env={"LISTEN_FDS": fds, "LISTEN_PID": "1"})
    assert len(target.addresses) == 1


def test_it_starts_quickly(serve):
    """under 50 ms from exec to listening is the aim; ten times that is a fault"""
    began = time.monotonic()
    serve()
    assert time.monotonic() - began < 0.5 * PATIENCE


def test_as_many_files_as_the_system_allows(serve):
    """the soft limit is raised; where the hard one is too low, it is said"""
    def few(most):
        return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (256, most))
    daemon = serve(ns=["mem:1M"], preexec=few(10000))
    assert resource.prlimit(daemon.pid, resource.RLIMIT_NOFILE) == (10000, 10000) and "ulimit" not in daemon.stderr()
    said = serve(ns=["mem:1M"], preexec=few(900)).stderr()
    assert "4291 connections and files may be needed, and 900 are allowed" in said
