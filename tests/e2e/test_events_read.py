"""Page 0Dh, the persistent events, as hosts read it: contexts, how many there are, and how they end."""
import struct
import time

import pytest

import nvme
from events import ESTABLISH, HEADER, READ, RESET, SMART, ask, establish, read, release, rest
from nvme import CC, CC_READY, INTERNAL, INVALID_FIELD, SEQUENCE, SGL_LENGTH
from nvmetcp import PATIENCE
from test_events import named, start, until  # noqa: F401: `start` is a fixture
from test_live import NQN, conf, live  # noqa: F401: `live` is one too

COPIES, OF_SUBSYS, OF_HOST = 32, 8, 2  # that may be read at the same time


@pytest.mark.line("W91")
def test_a_context_stands_still_until_it_is_released(serve):
    target = serve("--reactors", "2")
    with nvme.Controller(target.address) as ctrl, nvme.Controller(target.address) as other:
        assert ask(ctrl, READ).status == SEQUENCE and release(ctrl).ok
        for n in range(200):
            assert other.set_feature(0x0E, data=struct.pack("<Q", n)).ok
            if n % 4 == 3:  # so few are heard of, whoever is slow
                until(ctrl, lambda page: page.count == n + 2)
        head = establish(ctrl)
        assert establish(ctrl).status == SEQUENCE and ask(ctrl, HEADER).status == SEQUENCE
        assert ask(ctrl, 4).status == INVALID_FIELD
        for n in range(48):
            assert other.set_feature(0x0E, data=struct.pack("<Q", n)).ok
            if n % 4 == 3:
                until(other, lambda page: page.count == 201 + n + 1)
        pages = [rest(ctrl, head.got, piece) for piece in (4, 512, 4096)]
        assert len({page.bytes for page in pages}) == 1 and pages[0].count == 201
        assert ask(ctrl, READ, 4, (len(pages[0].bytes) + 3) // 4 * 4 + 4).status == INVALID_FIELD
        assert not any(release(ctrl).got) and ask(ctrl, READ).status == SEQUENCE
        head = ask(ctrl, HEADER)
        page = rest(ctrl, head.got)
        assert head.ok and release(ctrl).ok
        assert page.count == 249 and page.generation > pages[0].generation and page.context >> 16 == 5


@pytest.mark.line("W91")
def test_a_reset_ends_a_context(serve):
    target = serve()
    with nvme.Controller(target.address) as ctrl:
        assert establish(ctrl).ok
        ctrl.disable()
        ctrl.enable()
        assert ask(ctrl, READ).status == SEQUENCE and establish(ctrl).ok


@pytest.mark.line("W91")
def test_an_answer_that_does_not_fit_begins_nothing(serve):
    """an SGL that is not the page's: 0:0F, and there is no context, of which there are only so many"""
    target = serve("--reactors", "2")
    with nvme.Controller(target.address) as ctrl:
        for _ in range(COPIES + 5):
            assert ask(ctrl, ESTABLISH, 512, sgl=4096).status == SGL_LENGTH
            assert ask(ctrl, ESTABLISH, 4096, sgl=512).status == SGL_LENGTH
            assert ask(ctrl, ESTABLISH, 512, 1 << 20).status == INVALID_FIELD
        assert ask(ctrl, READ).status == SEQUENCE
        assert establish(ctrl).ok
        assert ask(ctrl, 2, 4, sgl=512).status == SGL_LENGTH
        assert ask(ctrl, READ).ok, "nor does such a one end it"
        assert ask(ctrl, 2, 4).ok
        assert ask(ctrl, READ).status == SEQUENCE


@pytest.mark.line("W91")
def test_contexts_are_bounded_and_come_back(serve):
    """2 of a host, 8 of a subsystem; the next is told to try again; with its connection a context ends"""
    target = serve("--reactors", "2")
    hosts = [nvme.Controller(target.address, hostid=named(n // OF_HOST)) for n in range(OF_SUBSYS + 1)]
    third = nvme.Controller(target.address, hostid=named(0))
    try:
        assert all(establish(host).ok for host in hosts[:OF_HOST])
        for _ in range(20):
            late = establish(third)
            assert late.status == INTERNAL and not late.dnr
        assert all(establish(host).ok for host in hosts[OF_HOST:OF_SUBSYS])
        late = establish(hosts[OF_SUBSYS])
        assert late.status == INTERNAL and not late.dnr
        hosts[1].close()
        end = time.monotonic() + 5 * PATIENCE
        while not establish(hosts[OF_SUBSYS]).ok:
            assert time.monotonic() < end
        assert not establish(third).ok
        assert target.stderr().count("may not read the events") == 1, "said once a minute"
    finally:
        for host in hosts + [third]:
            host.close()
    target.no_connections()
    with nvme.Controller(target.address) as ctrl:
        for _ in range(3 * COPIES):
            assert establish(ctrl).ok and release(ctrl).ok


@pytest.mark.line("W91")
def test_contexts_of_all_subsystems_are_bounded(live):  # noqa: F811
    """32; one more of a subsystem that has none is refused"""
    names = ["%s%d" % (NQN, n) for n in range(COPIES // OF_SUBSYS + 1)]
    target = live(conf(nqn=names[0]) + "".join("  - nqn: %s\n" % name for name in names[1:]))
    hosts = [nvme.Controller(target.address(), subnqn=name, hostid=named(n))
             for name in names for n in range(OF_SUBSYS)]
    assert all(establish(host).ok for host in hosts[:COPIES])
    assert not any(establish(host).ok for host in hosts[COPIES:])
    assert release(hosts[0]).ok
    end = time.monotonic() + 5 * PATIENCE
    while not establish(hosts[COPIES]).ok:
        assert time.monotonic() < end
    for host in hosts:
        host.close()


@pytest.mark.line("W91")
def test_hosts_that_go_while_they_are_given_a_copy(serve):
    target = serve("--reactors", "3")
    for n in range(6 * COPIES):
        ctrl = nvme.Controller(target.address)
        ctrl.admin.submit(nvme.sqe(0x02, nsid=0xFFFFFFFF, cdw10=0x0D | ESTABLISH << 8 | 127 << 16), want=512)
        if n % 2:
            ctrl.admin.submit(nvme.property_set_sqe(CC, CC_READY))
        ctrl.close()
    target.no_connections()
    hosts = [nvme.Controller(target.address, hostid=named(n)) for n in range(OF_SUBSYS)]
    assert all(establish(host).ok for host in hosts)
    for host in hosts:
        host.close()


def test_a_target_that_ends_with_contexts_open(start):  # noqa: F811
    target = start(reactors=3)
    hosts = [nvme.Controller(target.address, hostid=named(n)) for n in range(6)]
    assert all(establish(host).ok for host in hosts)
    target.stop()
    with nvme.Controller(start().address) as ctrl:
        assert [event.type for event in read(ctrl).events] == [RESET, SMART, RESET]
