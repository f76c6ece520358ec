"""
reservations - hosts that take reservations, over nvme, and a model of what must come of it.

A Hosts() has controllers with two I/O queues each; which of them a command goes through changes from
command to command, so with several reactors each state is asked for on all of them.
"""
import itertools
import struct

import nvme
from nvmetcp import PATIENCE, require

CONFLICT, PREEMPT_ABORTED, ID_FORMAT, PROTECTED = 0x083, 0x01B, 0x018, 0x020
REGISTER, UNREGISTER, REPLACE = 0, 1, 2
ACQUIRE, PREEMPT, PREEMPT_ABORT = 0, 1, 2
RELEASE, CLEAR = 0, 1
WE, EA, WE_RO, EA_RO, WE_AR, EA_AR = range(1, 7)
TYPES = {"WE": WE, "EA": EA, "WE-RO": WE_RO, "EA-RO": EA_RO, "WE-AR": WE_AR, "EA-AR": EA_AR}
REGISTRATION_PREEMPTED, RELEASED, PREEMPTED = 1, 2, 3
RESV_LOG, MASK, PERSIST = 0x80, 0x82, 0x83
BLOCK = 4096


def hostid(n):
    """All of an identifier counts, to its last byte."""
    return b"reservations-of" + bytes([n + 1])


class Report:
    def __init__(self, data):
        self.generation, self.type, self.count, self.ptpl = struct.unpack_from("<IBHxxB", data)
        self.entries = []
        for at in range(64, min(len(data), 64 + 64 * self.count) - 63, 64):
            cntlid, holds, key = struct.unpack_from("<HB5xQ", data, at)
            self.entries.append((data[at + 16:at + 32], key, holds, cntlid))
        self.keys = {host: key for host, key, _, _ in self.entries}
        self.holders = {host for host, _, holds, _ in self.entries if holds}


class Host:
    """Host number n, with one controller."""

    def __init__(self, address, n, nsid=1, **how):
        self.id, self.nsid = hostid(n), nsid
        self.ctrl = nvme.Controller(address, hostid=self.id, timeout=10 * PATIENCE, **how)
        self.ctrl.grant()
        self.queues = [self.ctrl.io_queue(1), self.ctrl.io_queue(2)]
        self._turns = itertools.cycle(self.queues)

    @property
    def queue(self):
        return next(self._turns)

    def close(self):
        self.ctrl.close()

    # -- commands of reservations: the status --

    def submit(self, opcode, cdw10, data, queue=None, incapsule=True):
        queue = queue or self.queue
        return queue, queue.submit(nvme.sqe(opcode, nsid=self.nsid, cdw10=cdw10), data, incapsule=incapsule)

    def call(self, *args, **how):
        queue, request = self.submit(*args, **how)
        return queue.wait(request).status

    def register(self, new=0, current=0, action=REGISTER, iekey=False, cptpl=0, **how):
        return self.call(0x0D, action | iekey << 3 | cptpl << 30, struct.pack("<QQ", current, new), **how)

    def acquire(self, key, type, prkey=0, action=ACQUIRE, iekey=False, **how):
        return self.call(0x11, action | iekey << 3 | type << 8, struct.pack("<QQ", key, prkey), **how)

    def submit_preempt(self, key, type, prkey, action=PREEMPT_ABORT):
        return self.submit(0x11, action | type << 8, struct.pack("<QQ", key, prkey))

    def release(self, key, type=0, action=RELEASE, iekey=False, **how):
        return self.call(0x15, action | iekey << 3 | type << 8, struct.pack("<Q", key), **how)

    def submit_report(self, want=4160, eds=1, queue=None):
        queue = queue or self.queue
        return queue, queue.submit(nvme.sqe(0x0E, nsid=self.nsid, cdw10=want // 4 - 1, cdw11=eds), want=want)

    def report(self, **how):
        queue, request = self.submit_report(**how)
        require(queue.wait(request).ok, "report: %r", request)
        return Report(bytes(request.got))

    def wipe(self):
        """Nobody holds anything, nobody is registered, and nothing is kept."""
        assert self.register(0x99, action=REPLACE, iekey=True, cptpl=2 if self.report().ptpl else 0) == nvme.OK
        assert self.release(0x99, action=CLEAR) == nvme.OK

    # -- I/O: the status --

    def io(self, opcode):
        """A command on block 0 that leaves zeros there."""
        queue, zeros = self.queue, bytes(BLOCK)
        request = {
            "read": lambda: queue.read(0, nsid=self.nsid),
            "compare": lambda: queue.call(nvme.sqe(0x05, nsid=self.nsid), zeros),
            "verify": lambda: queue.call(nvme.sqe(0x0C, nsid=self.nsid)),
            "write": lambda: queue.write(0, zeros, nsid=self.nsid),
            "write by R2T": lambda: queue.write(0, zeros, nsid=self.nsid, incapsule=False),
            "write zeroes": lambda: queue.write_zeroes(0, 1, nsid=self.nsid),
            "deallocate": lambda: queue.deallocate([(0, 1)], nsid=self.nsid),
            "copy": lambda: queue.call(nvme.sqe(0x19, nsid=self.nsid, cdw10=8), struct.pack("<QQH14x", 0, 0, 0)),
            "flush": lambda: queue.flush(self.nsid),
            "write uncorrectable": lambda: queue.call(nvme.sqe(0x04, nsid=self.nsid)),
        }[opcode]()
        if opcode == "write uncorrectable" and request.ok:
            assert queue.write(0, zeros, nsid=self.nsid).ok
        return request.status

    # -- what it hears --

    def notices(self):
        """The kinds of all notifications, from page 80h; none is left."""
        kinds = []
        while True:
            page = self.ctrl.logged(RESV_LOG, 64)
            if page[8] == 0:
                return kinds
            assert struct.unpack_from("<I", page, 12)[0] == self.nsid
            kinds.append(page[8])


READS = ("read", "compare", "verify")
WRITES = ("write", "write by R2T", "write zeroes", "deallocate", "copy", "flush", "write uncorrectable")


class Model:
    """One namespace as the specification tells it, without regard for speed."""

    def __init__(self, hosts, can_persist=True):
        self.hosts, self.can_persist = hosts, can_persist
        self.keys, self.holder, self.type, self.generation, self.ptpl = {}, None, 0, 0, False
        self.heard = {h: [] for h in range(hosts)}

    def holds(self, h):
        return h in self.keys and self.type != 0 and (self.type >= WE_AR or h == self.holder)

    def may(self, h):
        """(read, write)"""
        if self.type == 0 or self.holds(h):
            return True, True
        member = h in self.keys and self.type >= WE_RO
        return member or self.type in (WE, WE_RO, WE_AR), member

    def _tell(self, caller, others, kind):
        for h in others:
            if h != caller:
                self.heard[h].append(kind)

    def _drop(self, h):
        del self.keys[h]
        if h == self.holder or not self.keys:
            self.holder, self.type = None, 0

    def register(self, h, action, current, new, iekey, cptpl):
        if action > 2 or cptpl == 1 or (new == 0 and action != UNREGISTER) or (cptpl == 3 and not self.can_persist):
            return nvme.INVALID_FIELD
        mine = self.keys.get(h)
        if action == REGISTER:
            if mine not in (None, new):
                return CONFLICT
            self.keys[h] = new
        elif action == UNREGISTER:
            if mine is None or (mine != current and not iekey):
                return CONFLICT
            was = self.type if self.holder == h else 0
            self._drop(h)
            if was in (WE_RO, EA_RO):
                self._tell(h, self.keys, RELEASED)
        else:
            if (mine is None and not iekey) or (mine is not None and mine != current and not iekey):
                return CONFLICT
            self.keys[h] = new
        self.ptpl = self.ptpl if cptpl == 0 else cptpl == 3
        self.generation += 1
        return nvme.OK

    def acquire(self, h, action, type, current, prkey, iekey):
        if iekey or action > 2 or not 1 <= type <= 6:
            return nvme.INVALID_FIELD
        if self.keys.get(h) is None or self.keys[h] != current:
            return CONFLICT
        if action == ACQUIRE:
            if self.type == 0:
                self._hold(h, type)
            elif not self.holds(h) or self.type != type:
                return CONFLICT
            return nvme.OK
        if prkey == 0 and self.type < WE_AR:
            return nvme.INVALID_FIELD
        if prkey == 0:
            out, takes = [v for v in self.keys if v != h], True
        else:
            takes = self.holder is not None and self.keys[self.holder] == prkey
            out = [v for v in self.keys if self.keys[v] == prkey and not (takes and v == h)]
            if not out and not takes:
                return CONFLICT
        before = self.type
        for v in out:
            self._drop(v)
        self._tell(h, out, REGISTRATION_PREEMPTED)
        if takes:
            self._hold(h, type)
            if type != before:
                self._tell(h, self.keys, RELEASED)
        self.generation += 1
        return nvme.OK

    def _hold(self, h, type):
        self.type, self.holder = type, h if type < WE_AR else None

    def release(self, h, action, type, current, iekey):
        if iekey or action > 1:
            return nvme.INVALID_FIELD
        if self.keys.get(h) is None or self.keys[h] != current:
            return CONFLICT
        if action == CLEAR:
            self._tell(h, self.keys, PREEMPTED)
            self.keys, self.holder, self.type = {}, None, 0
            self.generation += 1
            return nvme.OK
        if not self.holds(h):
            return nvme.OK
        if type != self.type:
            return nvme.INVALID_FIELD
        if self.type not in (WE, EA):
            self._tell(h, self.keys, RELEASED)
        self.holder, self.type = None, 0
        return nvme.OK
