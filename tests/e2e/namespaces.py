"""Namespaces that hosts make: the commands, and a target that lets them."""
import os
import struct

import nvme
from nvme import sqe
from nvmetcp import Violation, tries
from test_live import NQN, conf

BLOCK = 4096
MIB = 1 << 20
DENIED, WRITE_PROTECTED, INVALID_FORMAT = 0x015, 0x020, 0x10A
NS_CAPACITY, NSID_UNAVAILABLE = 0x115, 0x116
ATTACHED, PRIVATE, NOT_ATTACHED, THIN, CTRL_LIST, NO_GROUP = 0x118, 0x119, 0x11A, 0x11B, 0x11C, 0x124
ALL = 0xFFFFFFFF
CREATE, DELETE, ATTACH, DETACH = 0, 1, 0, 1
PROTECTION = 0x84
NONE, PROTECT, UNTIL_POWER_CYCLE, PERMANENT = range(4)


def pool(volume="mem", size="64M", count=1024):
    return "    host_namespaces: { volume: \"%s\", size: %s, count: %d }\n" % (volume, size, count)


def hosted(*namespaces, volume="mem", size="64M", count=1024, top="", **more):
    return conf(*namespaces, groups=pool(volume, size, count) + more.pop("groups", ""), top=top, **more)


def like(blocks, flbas=1, shared=True, ncap=None, group=0):
    """Identify Namespace as Create takes it."""
    data = bytearray(4096)
    struct.pack_into("<QQ", data, 0, blocks, blocks if ncap is None else ncap)
    data[26], data[30] = flbas, 1 if shared else 0
    struct.pack_into("<I", data, 92, group)
    return bytes(data)


def submit_create(ctrl, blocks, **how):
    incapsule = how.pop("incapsule", None)
    return ctrl.admin.submit(sqe(0x0D, cdw10=CREATE), like(blocks, **how), incapsule=incapsule)


def create(ctrl, blocks=256, **how):
    return ctrl.admin.wait(submit_create(ctrl, blocks, **how))


def created(ctrl, blocks=256, **how):
    request = create(ctrl, blocks, **how)
    assert request.ok, request
    return request.dw0


def delete(ctrl, nsid):
    return ctrl.admin.call(sqe(0x0D, nsid=nsid, cdw10=DELETE))


def ids(cntlids):
    return struct.pack("<H", len(cntlids)) + struct.pack("<%dH" % len(cntlids), *cntlids)


def attach(ctrl, nsid, *to, select=ATTACH, incapsule=None):
    """To controllers, or ids of controllers; itself where none is named."""
    cntlids = sorted(c if isinstance(c, int) else c.cntlid for c in to or [ctrl])
    return ctrl.admin.call(sqe(0x15, nsid=nsid, cdw10=select), ids(cntlids).ljust(4096, b"\0"), incapsule=incapsule)


def detach(ctrl, nsid, *to):
    return attach(ctrl, nsid, *to, select=DETACH)


def nsids(ctrl, cns=2):
    """Active (02h) or allocated (10h) namespaces."""
    return [v for v in struct.unpack("<1024I", ctrl.identified(cns)) if v]


def controllers(ctrl, nsid=None):
    """Ids, of the subsystem or of those that have the namespace."""
    page = ctrl.identified(0x13) if nsid is None else ctrl.identified(0x12, nsid)
    count = struct.unpack_from("<H", page)[0]
    return list(struct.unpack_from("<%dH" % count, page, 2))


def capacity(ctrl):
    """(TNVMCAP, UNVMCAP)"""
    page = ctrl.identified(1)
    return struct.unpack_from("<Q", page, 280)[0], struct.unpack_from("<Q", page, 296)[0]


def protect(ctrl, nsid, state):
    return ctrl.set_feature(PROTECTION, state, nsid=nsid)


def protection(ctrl, nsid):
    request = ctrl.get_feature(PROTECTION, nsid=nsid)
    assert request.ok, request
    return request.dw0


def start_again(start):
    """The kernel ends what a killed process had in flight before it gives up the locks on its files."""
    for _ in tries():
        try:
            return start()
        except Violation as error:
            if "busy" not in str(error) and "in use" not in str(error):
                raise
    raise Violation("the files stay locked")


def files(folder):
    return sorted(name for name in os.listdir(folder) if name.endswith(".img"))


def host(number):
    return bytes(15) + bytes([number])


def connect(target, number=1, **how):
    return nvme.Controller(target.address(), subnqn=NQN, hostid=host(number), **how)
