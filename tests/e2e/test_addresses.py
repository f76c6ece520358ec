"""Where a target listens, and what it is told then: zones of IPv6, every address of a port."""
import socket

import pytest

import nvme
import target as targets
from test_live import NQN, alive, connect, free_port, listening, live  # noqa: F401: `live` is a fixture


def told(target, tmp_path, text):
    """What diff says of it."""
    (tmp_path / "other").write_text(text)
    return targets.run("diff", "--control", target.control, tmp_path / "other").stdout


def test_an_address_with_a_zone_stays_while_it_is_said_so(live, tmp_path):
    """the system says it in another way; it is told hosts without"""
    port = free_port()
    zone = ("[::1%%%d]" % socket.if_nametoindex("lo"), port)
    target = live(listening(zone))
    for others in ([("127.0.0.1", 0)], []):
        target.applied(listening(zone, *others))
        with nvme.Controller(("::1", port), subnqn=NQN) as ctrl:
            alive(ctrl)
        assert told(target, tmp_path, listening(zone, *others)) == ""
    target.applied(listening(("127.0.0.1", 0)))
    with pytest.raises(OSError):
        socket.create_connection(("::1", port))


@pytest.mark.parametrize("one, other", [("127.0.0.1", "0.0.0.0"), ("0.0.0.0", "127.0.0.1"), ("[::1]", "[::]"),
                                        ("127.0.0.1", "[::]"), ("[::]", "0.0.0.0")])
def test_from_one_address_to_every_one_goes_in_two_changes(live, tmp_path, one, other):
    """diff and apply say so"""
    port, aside = free_port(), ("127.0.0.2", free_port())
    old, new = listening((one, port), aside), listening((other, port), aside)
    words = "cannot listen on %s:%d while %s:%d is listened on" % (other, port, one, port)
    target = live(old)
    assert "! this cannot be applied: " + words in told(target, tmp_path, new)
    refused = target.apply(new)
    assert refused.returncode == 1 and words in refused.stderr, refused
    with connect(target) as ctrl:
        alive(ctrl)
    target.applied(listening(aside))
    assert "!" not in told(target, tmp_path, new)
    target.applied(new)
    host = "::1" if other == "[::]" else "127.0.0.1"
    with nvme.Controller((host, port), subnqn=NQN) as ctrl:
        alive(ctrl)
