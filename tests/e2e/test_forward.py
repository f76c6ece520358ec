"""weir-forward, the path that can be cut: bytes, ends and resets come through, and its death is a reset."""
import os
import socket
import struct
import threading

import pytest

import forward
import nvme
import target as targets
from nvmetcp import PATIENCE

WAIT_S = 10 * PATIENCE


@pytest.fixture
def server():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(WAIT_S)
        yield listening


@pytest.fixture
def path(server):
    with forward.Path(server.getsockname()[1]) as found:
        yield found


@pytest.fixture
def pair(path, server):
    """(host's socket, target's), with the path between them."""
    with socket.create_connection(("127.0.0.1", path.port), WAIT_S) as here:
        there, _ = server.accept()
        with there:
            there.settimeout(WAIT_S)
            yield here, there


def everything(sock):
    found = bytearray()
    while piece := sock.recv(1 << 20):
        found += piece
    return bytes(found)


def send_and_end(sock, data):
    sock.sendall(data)
    sock.shutdown(socket.SHUT_WR)


def test_what_is_sent_arrives_both_ways_at_once(pair):
    sent = [os.urandom(8 << 20), os.urandom(5 << 20)]
    found = [None, None]

    def read(i):
        found[1 - i] = everything(pair[i])

    threads = [threading.Thread(target=send_and_end, args=(sock, data)) for sock, data in zip(pair, sent)] + \
        [threading.Thread(target=read, args=(i,)) for i in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT_S)
    assert found == sent


def test_a_half_that_is_closed_leaves_the_other_open(pair):
    here, there = pair
    send_and_end(here, b"that was all")
    assert everything(there) == b"that was all"
    send_and_end(there, b"so was this")
    assert everything(here) == b"so was this"


def test_a_peer_that_does_not_read_is_waited_for(pair):
    """and what has been accepted is not lost when the sender ends"""
    here, there = pair
    data = os.urandom(32 << 20)
    thread = threading.Thread(target=send_and_end, args=(here, data))
    thread.start()
    thread.join(0.3)
    assert thread.is_alive(), "32 MiB fit nowhere"
    assert everything(there) == data
    thread.join(WAIT_S)


@pytest.mark.parametrize("unread", [0, 1, 100000])
def test_its_death_is_a_reset_for_both_peers(path, pair, unread):
    """with nothing under way, and with bytes that nobody has read"""
    here, there = pair
    here.sendall(bytes(unread))
    there.sendall(b"x")
    assert here.recv(1) == b"x"
    path.cut()
    for sock in pair:
        with pytest.raises(ConnectionResetError):
            everything(sock)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", path.port), WAIT_S)


def test_a_reset_comes_through(pair):
    here, there = pair
    there.sendall(b"x")
    assert here.recv(1) == b"x"
    there.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    there.close()
    with pytest.raises(ConnectionResetError):
        everything(here)


def test_what_came_before_a_reset_of_a_path_that_was_held_comes_late(path, pair):
    here, there = pair
    there.sendall(b"x")
    assert here.recv(1) == b"x"
    path.hold()
    here.sendall(b"too late")
    here.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    here.close()
    path.let_go()
    assert everything(there) == b"too late"


def test_nobody_there_is_a_reset(path, server):
    """maybe before the connection is seen to be there"""
    server.close()
    with pytest.raises(ConnectionResetError):
        with socket.create_connection(("127.0.0.1", path.port), WAIT_S) as here:
            everything(here)


def test_a_path_that_was_cut_is_there_again_at_the_same_port(path, server):
    for _ in range(3):
        with socket.create_connection(("127.0.0.1", path.port), WAIT_S) as here:
            there, _ = server.accept()
            with there:
                here.sendall(b"x")
                assert there.recv(1) == b"x"
                path.cut()
        path.open()


def test_a_host_works_through_it(target):
    with forward.Path(target.port) as path:
        done = targets.run("perf", "nvme+tcp://127.0.0.1:%d/%s?ns=1" % (path.port, nvme.SUBNQN), "--rw", "randrw",
                           "--queues", "4", "--verify", "--time", "1")
        assert done.returncode == 0 and "verified" in done.stdout, done
