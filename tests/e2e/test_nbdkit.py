"""A namespace through nbdkit and our plugin, to the clients of NBD that people have: qemu, libnbd, fio."""
import json
import os
import re
import signal
import socket
import subprocess

import pytest

import nvme
from installed import uri_of
from namespaces import NONE, PROTECT, protect
from nvmetcp import PATIENCE
from target import REPO, until
from test_live import NQN, conf, live, namespace  # noqa: F401 - live is a fixture

MIB = 1 << 20
SIZE = 64 * MIB
VERIFY = os.path.join(REPO, "plugins", "fio", "verify.fio")


class Nbdkit:
    """nbdkit with our plugin, until it is stopped; `uri` is for its clients."""

    def __init__(self, installed, folder, *args):
        self.socket, ready = folder / "nbd", folder / "nbdkit.pid"
        self.uri = "nbd+unix:///?socket=%s" % self.socket
        filters = [arg for arg in args if arg.startswith("--")]
        self.errors = open(folder / "nbdkit.err", "w+b")
        self.process = subprocess.Popen(
            ["nbdkit", "-f", "-U", self.socket, "-P", ready, *filters, installed.find("nbdkit-weir-plugin.so"),
             *(arg for arg in args if arg not in filters)],
            env=installed.stranger, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.errors)
        until("nbdkit listens", ready.exists, self.still_there)
        with socket.socket(socket.AF_UNIX) as client:  # and is ready when it greets
            client.settimeout(20 * PATIENCE)
            client.connect(str(self.socket))
            assert client.recv(8) == b"NBDMAGIC", self.stderr()

    def still_there(self):
        assert self.process.poll() is None, self.stderr()

    def stderr(self):
        return os.pread(self.errors.fileno(), MIB, 0).decode()

    def stop(self):
        self.still_there()
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(20 * PATIENCE) == 0, self.stderr()

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.errors.close()


@pytest.fixture
def nbdkit(installed, tmp_path):
    """Starts one of the test's own; it must end well."""
    started = []

    def start(*args):
        folder = tmp_path / ("nbdkit%d" % len(started))
        folder.mkdir()
        started.append(Nbdkit(installed, folder, *args))
        return started[-1]

    yield start
    try:
        for one in started:
            one.stop()
    finally:
        for one in started:
            one.kill()


def ran(*command, code=0, env=None):
    done = subprocess.run(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, env=dict(os.environ, **(env or {})),
                          timeout=120 * PATIENCE)
    assert done.returncode == code, (command, done.returncode, done.stdout)
    return done.stdout


def told(uri):
    """What a client is told of the export."""
    export, = json.loads(ran("nbdinfo", "--json", uri))["exports"]
    return export


def qemu_io(uri, *commands):
    return ran("qemu-io", "-f", "raw", *(word for command in commands for word in ("-c", command)), uri)


@pytest.fixture
def image(tmp_path):
    """As large as a volume; sparse, as images are."""
    path = tmp_path / "image"
    with open(path, "wb") as file:
        file.truncate(SIZE)
        for mib in 0, 5, 6, 40, 63:
            file.seek(mib * MIB)
            file.write(os.urandom(MIB))
    return path


@pytest.mark.parametrize("block", [512, 4096])
def test_an_image_goes_to_a_volume_and_back_by_qemu_img(serve, nbdkit, image, tmp_path, block):
    uri = nbdkit(uri_of(serve("--block-size", str(block)))).uri
    ran("qemu-img", "convert", "-f", "raw", "-O", "qcow2", image, tmp_path / "image.qcow2")
    qemu_io(uri, "write -P 0xee 1M 1M")  # which the image does not have
    ran("qemu-img", "convert", "-n", "-f", "qcow2", "-O", "raw", tmp_path / "image.qcow2", uri)
    ran("qemu-img", "compare", "-f", "raw", "-F", "raw", image, uri)
    ran("qemu-img", "convert", "-f", "raw", "-O", "raw", uri, tmp_path / "back")
    assert (tmp_path / "back").read_bytes() == image.read_bytes()
    qemu_io(uri, "write -P 0xee 1M 4k")
    ran("qemu-img", "compare", "-f", "raw", "-F", "raw", image, uri, code=1)


def test_an_image_goes_to_a_volume_and_back_by_nbdcopy(serve, nbdkit, image, tmp_path):
    """by several connections, to a volume that is a file"""
    volume = tmp_path / "volume"
    served = nbdkit(uri_of(serve(ns=["file:%s,size=%d" % (volume, SIZE)])))
    ran("nbdcopy", "--connections=4", "--flush", image, served.uri)
    assert volume.read_bytes() == image.read_bytes()
    ran("nbdcopy", "--connections=4", served.uri, tmp_path / "back")
    assert (tmp_path / "back").read_bytes() == image.read_bytes()


@pytest.mark.parametrize("block", [512, 4096])
def test_what_a_client_is_told(serve, nbdkit, block):
    uri = uri_of(serve("--block-size", str(block), ns=["mem:16M", "mem:20M"]), nsid=2)
    export = told(nbdkit(uri).uri)
    assert export["export-size"] == 20 * MIB and export["description"] == uri
    assert export["block_size_minimum"] == block and export["block_size_preferred"] == 4096
    assert not export["is_read_only"] and not export["is_rotational"]
    for able in "flush", "fua", "multi_conn", "trim", "zero", "fast_zero":
        assert export["can_" + able], able
    assert not export["can_cache"]


def test_each_kind_of_request_does_what_it_says(serve, nbdkit, tmp_path):
    volume = tmp_path / "volume"
    volume.write_bytes(b"\xff" * SIZE)
    uri = nbdkit(uri_of(serve(ns=["file:%s,size=%d" % (volume, SIZE)]))).uri
    qemu_io(uri, "write -P 0x11 0 1M", "write -f -P 0x22 1M 4k", "write -z 2M 1M", "write -z -u 4M 1M", "discard 8M 1M",
            "flush", "read -P 0x11 0 1M", "read -P 0x22 1M 4k", "read -P 0xff 1028k 4k", "read -P 0 2M 1M",
            "read -P 0 4M 1M")
    data = volume.read_bytes()
    assert data[:MIB] == b"\x11" * MIB and data[MIB:MIB + 4096] == b"\x22" * 4096
    assert data[MIB + 4096:2 * MIB] == b"\xff" * (MIB - 4096)
    assert data[2 * MIB:3 * MIB] == data[4 * MIB:5 * MIB] == bytes(MIB)
    assert data[3 * MIB:4 * MIB] == data[9 * MIB:10 * MIB] == b"\xff" * MIB
    assert SIZE - 2.1 * MIB < os.stat(volume).st_blocks * 512 < SIZE - 1.9 * MIB, "room was given back twice"


def test_what_is_durable_has_left_the_cache(serve, nbdkit, tmp_path):
    """by a write or zeros with FUA, which nbdkit makes of all, or a Flush; without either, which it can see to, not"""
    volume = tmp_path / "volume"
    volume.write_bytes(b"\xff" * MIB)
    where = uri_of(serve(ns=["volatile:@file:%s,size=1M" % volume]))
    plain, forgetful, durable = nbdkit(where), *(
        nbdkit(where, "--filter=fua", "fuamode=" + mode) for mode in ("discard", "force"))

    def kept(through, command):
        qemu_io(through.uri, command)
        return [volume.read_bytes()[block * 4096] for block in range(4)]
    assert kept(forgetful, "write -P 0x11 0 4k") == [0xff, 0xff, 0xff, 0xff]
    assert kept(durable, "write -P 0x22 4k 4k") == [0xff, 0x22, 0xff, 0xff]
    assert kept(durable, "write -z 8k 4k") == [0x11, 0x22, 0, 0xff], "libweir has no such zeros: all is flushed"
    assert kept(forgetful, "write -P 0x33 12k 4k") == [0x11, 0x22, 0, 0xff]
    assert kept(plain, "flush") == [0x11, 0x22, 0, 0x33]


def test_fio_verifies(serve, nbdkit):
    done = ran("fio", VERIFY, env={"uri": nbdkit(uri_of(serve())).uri})
    assert re.search(r"READ: .*io=64\.0MiB", done), done


def test_fio_finds_writes_that_were_not_done(serve, nbdkit):
    """the test of the test"""
    uri = nbdkit(uri_of(serve(ns=["fault:drop-write=100@mem:64M"]))).uri
    done = subprocess.run(["fio", VERIFY], env=dict(os.environ, uri=uri), stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=60 * PATIENCE)
    assert done.returncode != 0 and "verify" in done.stdout


def test_a_target_that_is_killed_and_comes_back_is_not_noticed_by_fio(serve, nbdkit, tmp_path):
    ns = ["file:%s/volume,size=64M" % tmp_path]
    target = serve(ns=ns)
    served = nbdkit(uri_of(target))
    with open(tmp_path / "fio.out", "w+b") as said:
        fio = subprocess.Popen(["fio", VERIFY], env=dict(os.environ, uri=served.uri), stdin=subprocess.DEVNULL,
                               stdout=said, stderr=said)

        def output():
            return os.pread(said.fileno(), MIB, 0).decode() + served.stderr()

        def busy(counter):
            assert fio.poll() is None, output()
            return target.stats()[counter] > 1000

        try:
            for counter in "writes", "reads":
                until("fio has %s in flight" % counter, lambda: busy(counter), seconds=60 * PATIENCE)
                target.kill()
                target = serve(ns=ns, listen=["127.0.0.1:%d" % target.port])
            assert fio.wait(120 * PATIENCE) == 0, output()
        finally:
            fio.kill()
            fio.wait()


def test_requests_fail_when_a_target_stays_away(serve, nbdkit, tmp_path):
    ns = ["file:%s/volume,size=64M" % tmp_path]
    target = serve(ns=ns)
    served = nbdkit(uri_of(target), "loss=1")
    target.kill()
    done = subprocess.run(["qemu-io", "-f", "raw", "-c", "read 0 4k", served.uri], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=60 * PATIENCE)
    assert "Input/output error" in done.stdout, done
    serve(ns=ns, listen=["127.0.0.1:%d" % target.port])
    until("it is served again", lambda: "4 KiB" in subprocess.run(
        ["qemu-io", "-f", "raw", "-c", "read 0 4k", served.uri], stdout=subprocess.PIPE, text=True,
        timeout=60 * PATIENCE).stdout)


def test_errors_of_the_medium_are_io_errors(serve, nbdkit):
    served = nbdkit(uri_of(serve(ns=["fault:read-error=8@mem:16M"])))
    done = subprocess.run(["qemu-io", "-f", "raw", "-c", "read 32k 4k", served.uri], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=60 * PATIENCE)
    assert "Input/output error" in done.stdout, done
    assert "nbdkit: weir" in served.stderr(), served.stderr()


def fio_reads_sectors(uri):
    return subprocess.run(["fio", "--name=x", "--ioengine=nbd", "--uri=" + uri, "--rw=randrw", "--bs=512", "--size=1m",
                           "--verify=crc32c", "--verify_fatal=1", "--verify_state_save=0"],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60 * PATIENCE)


def test_a_client_of_smaller_blocks_needs_the_filter(serve, nbdkit):
    uri = uri_of(serve("--block-size", "4096"))
    done = fio_reads_sectors(nbdkit(uri).uri)
    assert done.returncode != 0 and "Invalid argument" in done.stdout, done
    done = fio_reads_sectors(nbdkit(uri, "--filter=blocksize").uri)
    assert done.returncode == 0, done


def test_a_write_protected_namespace_is_read_only(serve, nbdkit, tmp_path):
    target = serve("--state-dir", str(tmp_path / "state"))
    served = nbdkit(uri_of(target))
    with nvme.Controller(target.address) as ctrl:
        for state in PROTECT, NONE:
            assert protect(ctrl, 1, state).ok
            until("it is read-only, or no longer", lambda: told(served.uri)["is_read_only"] == (state == PROTECT))


def test_a_volume_that_has_grown_is_as_large_to_the_next_client(live, nbdkit):  # noqa: F811
    target = live(conf(namespace(1, size="16M")))
    served = nbdkit("nvme+tcp://127.0.0.1:%d/%s?ns=1" % (target.address()[1], NQN))
    for mib in 16, 32, 8:
        target.applied(conf(namespace(1, size="%dM" % mib)))
        until("its size is known", lambda: told(served.uri)["export-size"] == mib * MIB)
        qemu_io(served.uri, "write -P 7 %dk 4k" % (mib * 1024 - 4), "read -P 7 %dk 4k" % (mib * 1024 - 4))


@pytest.mark.parametrize("args, words", [
    ([], "uri="), (["nvme"], "uri=nvme"), (["nvme+tcp://127.0.0.1:1"], "names no subsystem"),
    (["{uri}", "queues=0"], "queues=0"),
    (["{uri}", "queues=128"], "queues=128"), (["{uri}", "loss=0"], "loss=0"), (["{uri}", "hdgst=maybe"], "boolean"),
    (["{uri}", "colour=red"], "colour"), (["nvme+tcp://127.0.0.1:1/nqn.2026-11.example:nobody?ns=1"], "127.0.0.1")])
def test_what_cannot_be_served_is_said_at_once(installed, serve, args, words):
    uri = uri_of(serve()) if "{uri}" in args else ""
    done = installed.run("nbdkit", "-U", "-", installed.find("nbdkit-weir-plugin.so"),
                         *(arg.format(uri=uri) for arg in args), "--run", "true", stranger=True, text=True)
    assert done.returncode == 1 and words in done.stderr, done


def test_digests_and_few_queues_do_as_well(serve, nbdkit, image):
    target = serve()
    served = nbdkit(uri_of(target), "hdgst=true", "ddgst=true", "queues=2")
    ran("nbdcopy", "--connections=4", image, served.uri)
    assert target.stats()["connections"] <= 1 + 2
    ran("qemu-img", "compare", "-f", "raw", "-F", "raw", image, served.uri)
