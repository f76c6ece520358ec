"""
failing - the run in which something fails, and what must hold of it whatever that is.

A run is: start; two hosts that use RAM and a file; a third one afterwards, which makes a namespace of a file, marks a
block bad, reserves, and reads the events; one that breaks a rule; the operator looks at what goes on, asks what another
configuration would change, applies it, and has the file read again, by which it is taken back; and then what was there
at first has to be there: an operator who is heeded, a host that is served, no memory and no descriptor that a run
without a failure has not; the end.  Of what failed there is a word.

A setting is how the target is started, and of what: `again` is one that has been served before.
"""
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import threading
import time

import events
import namespaces
import nvme
import target as targets
from nvmetcp import PATIENCE, Closed, Conn, Violation, tries
from test_live import conf, namespace

BLOCK = 4096
BUSY = "1:81"
FAR = 40000  # block of a volume of 256 MiB; in a page of the list of bad blocks are 32768
MIB = 1 << 20
HOW_MANY = os.environ.get("WEIR_FAILING", "some")  # "some"; "places": each once; "all": each as often as it comes
RECORD = os.environ.get("WEIR_FAILING_RECORD")  # a file: a line of JSON for each run
AT_ONCE = 3  # runs side by side: they mostly wait
FAILED_MAX = 34  # commands: a call fails in each thread once, of which 32 serve files; others may need what failed
EVERY_TIME = re.compile("no such PDU type|a new configuration is applied|is applied that changes nothing")
SECOND = nvme.SUBNQN + ":second"
SETTINGS = {
    "uring": ("--files", "uring", "--sockets", "uring"),
    "threads": ("--files", "threads", "--sockets", "calls"),
    "again": ("--reactors", "2"),
    "options": (),
}
AUTO = {"again", "options"}  # who cannot have io_uring makes threads
REACTORS = {"uring": 1, "threads": 1, "again": 2, "options": 1}
STAY = {"uring": {1, 2}, "threads": {1, 2}, "again": {1, 2, 3}}  # namespaces that were there before


def spread(numbers, most):
    """So many of them, from the first to the last."""
    if len(numbers) <= most:
        return list(numbers)
    if most == 1:
        return [numbers[len(numbers) // 2]]
    return sorted({numbers[i * (len(numbers) - 1) // (most - 1)] for i in range(most)})


def chosen(places, numbers, some):
    """Of the places, each a number of a call that is made from there, and of all numbers: those that are to fail."""
    return list(numbers) if HOW_MANY == "all" else places if HOW_MANY == "places" else spread(places, some)


class Host:
    """Writes and reads; its connection may break, and commands may fail."""

    def __init__(self, address):
        self.address, self.ctrl, self.queue = address, None, None
        self.broken, self.busy, self.failed = False, False, 0

    def step(self, perform):
        try:
            return None if self.broken else perform()
        except (Closed, OSError) as error:
            assert not isinstance(error, TimeoutError), "it hangs"
            self.broken = True
            return None

    def connect(self, **how):
        self.step(lambda: self.control(**how))
        self.step(lambda: self.open_queue(**how))

    def control(self, **how):
        try:
            self.ctrl = nvme.Controller(self.address, **how)
        except Violation as refused:  # a host may be told that the target is busy, and to come again
            self.busy = re.match("Connect failed: .*%s" % BUSY, str(refused)) is not None
            if not self.busy:
                raise
            raise Closed(str(refused))

    def open_queue(self, **how):
        self.queue, connect = self.ctrl.try_io_queue(**how)
        self.broken = not connect.ok  # as it is once its admin queue is gone

    def discover(self):
        """Who asks what there is."""
        self.step(lambda: self.control(subnqn=nvme.DISCOVERY, kato=0))
        self.step(lambda: self.note([self.ctrl.log(0x70, 1024)]))
        self.close()

    def mark_far(self):
        """A block that the list had no place for before the volume grew."""
        self.connect()
        self.step(lambda: self.note([self.queue.call(nvme.sqe(0x04, nsid=2, cdw10=FAR))]))
        self.close()

    def io(self, base, nsids=(1, 2)):
        for nsid in nsids:
            for data in (os.urandom(BLOCK), os.urandom(16 * BLOCK)):
                self.step(lambda: self.round(base, nsid, data))

    def round(self, base, nsid, data):
        queue, blocks = self.queue, len(data) // BLOCK
        made = [queue.write(base, data, nsid=nsid), queue.write(base + 32, data, nsid=nsid, fua=True),
                queue.flush(nsid)]
        if all(request.ok for request in made):
            found = queue.read(base, blocks, nsid=nsid)
            made.append(found)
            assert not found.ok or bytes(found.got) == data, "it reads what was not written"
        made += [queue.deallocate([(base, 2)], nsid=nsid), queue.write_zeroes(base + 8, 2, nsid=nsid)]
        zeros = queue.read(base + 8, 2, nsid=nsid)
        assert not (made[-1].ok and zeros.ok) or not any(zeros.got), "zeroes that are none"
        self.failed += sum(not request.ok for request in made + [zeros])

    def manage(self, namespaces_too):
        """What hosts may do besides reading and writing; what is built on something that failed is left out."""
        for perform in [self.own_namespace] * namespaces_too + [self.bad_block, self.reservation, self.events]:
            self.step(lambda: self.note(perform()))

    def note(self, made):
        self.failed += sum(not request.ok for request in made)

    def own_namespace(self):
        made = [namespaces.create(self.ctrl, 256)]
        nsid = made[0].dw0
        if not made[0].ok:
            return made
        made.append(namespaces.attach(self.ctrl, nsid))
        if made[-1].ok:
            data = os.urandom(BLOCK)
            made += [self.queue.write(3, data, nsid=nsid), self.queue.read(3, nsid=nsid)]
            assert not all(request.ok for request in made) or bytes(made[-1].got) == data
            made += [namespaces.protect(self.ctrl, nsid, state) for state in (namespaces.PROTECT, namespaces.NONE)]
        if made[-1].ok:
            made.append(namespaces.delete(self.ctrl, nsid))
        return made

    def tidy(self, stay):
        """What hosts made and could not delete."""
        for nsid in namespaces.nsids(self.ctrl, 0x10):
            if nsid not in stay:
                namespaces.protect(self.ctrl, nsid, namespaces.NONE)  # where it is attached and protected
                self.note([namespaces.delete(self.ctrl, nsid)])

    def bad_block(self):
        marked = self.queue.call(nvme.sqe(0x04, nsid=2, cdw10=600))
        read = self.queue.read(600, nsid=2)
        assert not marked.ok or not read.ok, "what was made unreadable is read"
        return [marked, self.queue.write(600, bytes(BLOCK), nsid=2), self.queue.read(600, nsid=2)]

    def reservation(self):
        keys = struct.pack("<QQ", 7, 7)
        made = [self.queue.call(nvme.sqe(0x0D, nsid=2, cdw10=3 << 30), struct.pack("<QQ", 0, 7))]
        if made[0].ok:  # acquired, released, and nobody is registered any more
            made += [self.queue.call(nvme.sqe(0x11, nsid=2, cdw10=1 << 8), keys),
                     self.queue.call(nvme.sqe(0x15, nsid=2, cdw10=1 << 8), keys[:8])]
            made.append(self.queue.call(nvme.sqe(0x0D, nsid=2, cdw10=1 | 2 << 30), struct.pack("<QQ", 7, 0)))
        return made

    def events(self):
        made = [events.establish(self.ctrl)]
        if made[0].ok:
            assert events.rest(self.ctrl, made[0].got).count > 0
            made.append(events.release(self.ctrl))
        return made

    def close(self):
        if self.ctrl:
            self.ctrl.close()


# ---- what is served ----

def configuration(folder, setting, changed=False):
    """What is served at first; or what the operator makes of it."""
    size = "32M" if changed else "16M"
    own = [namespace(1, size=size), namespace(2, "file:%s/v.img" % folder, "256M" if changed else "16M")]
    how = dict(nqn=nvme.SUBNQN, size="64M", volume="file:%s" % folder, top="state_dir: %s/state\n" % folder)
    if changed:
        own.append(namespace(5, "file:%s/w.img" % folder))
    if setting != "again":
        return namespaces.hosted(*own, **how)
    how["groups"] = "    listeners: [a]\n    ana_groups: [{id: 1}, {id: 2, state: %s}]\n" % (
        "inaccessible" if changed else "optimized")
    more = [namespace(1, "volatile:@mem", "&size 16M"), namespace(2, "fault:delay=1@mem", "*size"),
            namespace(3, "null")]
    text = namespaces.hosted(*own, listeners="abc" if changed else "ab", **how)
    return (text + "  - nqn: %s\n    listeners: [a]\n    controllers: static\n    limits: {controllers: 3}\n"
            "    namespaces:\n" % SECOND + "".join(more[:2] if changed else more))


def write(path, text):
    with open(path, "w") as f:
        f.write(text)


def files(folder):
    """Of the operator's namespaces, with their sizes."""
    return {name: os.path.getsize(os.path.join(folder, name)) // MIB for name in ("v.img", "w.img")
            if os.path.exists(os.path.join(folder, name))}


def start(folder, setting, prefix):
    folder = str(folder)
    if setting == "options":
        return targets.Daemon("--state-dir", folder + "/state", "--control", folder + "/control", prefix=prefix,
                              ns=["mem:16M", "file:%s/v.img,size=16M" % folder])
    if setting == "again" and not os.path.exists(os.path.join(folder, "state")):
        serve_before(folder)
    write(os.path.join(folder, "weir.yaml"), configuration(folder, setting))
    return targets.Daemon(*SETTINGS[setting], "--control", os.path.join(folder, "control"), prefix=prefix,
                          config=os.path.join(folder, "weir.yaml"))


def serve_before(folder):
    """What a target that is started again finds: a host's namespace, a bad block, a registrant."""
    write(os.path.join(folder, "weir.yaml"), configuration(folder, "again"))
    with targets.Daemon(config=os.path.join(folder, "weir.yaml")) as daemon:
        with nvme.Controller(daemon.address, hostid=b"who was here 1st") as ctrl:
            queue = ctrl.io_queue()
            assert namespaces.attach(ctrl, namespaces.created(ctrl, 256)).ok
            assert queue.call(nvme.sqe(0x04, nsid=2, cdw10=700)).ok
            assert queue.call(nvme.sqe(0x0D, nsid=2, cdw10=3 << 30), struct.pack("<QQ", 0, 7)).ok


# ---- the run ----

class Run:
    """One run: what it has lost, and what was said."""

    def __init__(self, daemon, folder, setting):
        self.daemon, self.folder, self.setting = daemon, str(folder), setting
        self.hosts, self.refused, self.told = [], 0, ""
        self.configured = setting != "options"

    broken = property(lambda self: sum(host.broken and not host.busy for host in self.hosts))
    busy = property(lambda self: sum(host.busy for host in self.hosts))
    failed = property(lambda self: sum(host.failed for host in self.hosts))

    def host(self):
        self.hosts.append(Host(self.daemon.address))
        return self.hosts[-1]

    def perform(self):
        first = [self.host() for _ in range(2)]
        try:
            for host in first:
                host.connect()
            for n in range(2):
                for i, host in enumerate(first):
                    host.io(64 * (2 * n + i))
        finally:
            for host in first:
                host.close()
        last = self.host()
        last.connect()
        last.io(512)
        last.manage(self.configured)
        last.close()
        if self.setting == "again":
            other = self.host()
            other.connect(subnqn=SECOND, cntlid=2)
            other.io(0)
            other.close()
        self.host().discover()
        self.break_a_rule()
        if self.configured:
            self.operate()
        self.be_as_before()

    def break_a_rule(self):
        """Who says what nobody may say is told so."""
        try:
            with Conn(self.daemon.address) as conn:
                conn.handshake()
                conn.send(b"\xff" * 64)
                conn.recv()
        except (Closed, OSError) as error:
            assert not isinstance(error, TimeoutError), "it hangs"

    def weir(self, *words):
        done = targets.run(words[0], "--control", os.path.join(self.folder, "control"), *words[1:])
        assert done.returncode == 0 or done.stdout.strip() or done.stderr.strip(), (
            "`weir %s` ends with %d and does not say why" % (words[0], done.returncode))
        self.told += done.stderr
        return done

    def operate(self):
        """Larger namespaces, one more, and back; what fails is said."""
        path = os.path.join(self.folder, "weir.yaml")
        write(path + ".more", configuration(self.folder, self.setting, True))
        before = files(self.folder)
        self.look()
        self.weir("diff", path + ".more")
        done = self.weir("apply", path + ".more")
        self.refused += done.returncode != 0
        made = files(self.folder)
        if done.returncode == 0:
            self.host().mark_far()
        if "in use already" in done.stderr:  # who has locked it since it was made is not robbed of it
            before["w.img"] = 0
        assert made == before or made == {"v.img": 256, "w.img": 16}, "files %s became %s" % (before, made)
        said = len(self.daemon.stderr())
        self.daemon.process.send_signal(signal.SIGHUP)
        self.heeded(said)
        assert files(self.folder) == made, "files %s became %s" % (made, files(self.folder))

    def look(self):
        """Of all volumes, or it is said why not."""
        done = self.weir("top", "--once", "--json")
        self.refused += done.returncode != 0
        if done.returncode == 0:
            said = json.loads(done.stdout)
            assert said["namespaces"] and not said["more"], done.stdout

    def heeded(self, said):
        until = time.monotonic() + 2 * PATIENCE
        while time.monotonic() < until:
            if re.search(r"applied|nothing has changed", self.daemon.stderr()[said:]):
                self.refused += "not applied" in self.daemon.stderr()[said:]
                return
            try:
                self.daemon.process.wait(0.005)
                return
            except subprocess.TimeoutExpired:
                pass
        # What it says may be what cannot be written.
        left = self.weir("diff", os.path.join(self.folder, "weir.yaml"))
        assert left.returncode == 0, "SIGHUP is not heeded; stderr:\n%s" % self.daemon.stderr()

    def be_as_before(self):
        """Once it has failed it works: the operator is heeded, and a host served."""
        if self.configured:
            self.apply_until_it_is_done()
        self.host_until_it_is_served()

    def apply_until_it_is_done(self):
        for _ in tries():
            done = self.weir("apply", os.path.join(self.folder, "weir.yaml"))
            if done.returncode == 0:
                return
            self.refused += 1
        raise AssertionError("the operator is not heeded any more: %s" % done.stderr)

    def host_until_it_is_served(self):
        for _ in tries():
            host = self.host()
            host.connect()
            host.io(256, (1,) if lost(self.daemon) else (1, 2))
            if self.configured:
                host.step(lambda: host.tidy(STAY[self.setting]))
            host.close()
            if not host.broken and not host.failed:
                return
        raise AssertionError("a host is not served any more; stderr:\n%s" % self.daemon.stderr())


def lost(daemon):
    """After a durable write has failed nothing of its volume can be flushed, and that is said."""
    return "may be lost" in daemon.stderr()


def end(daemon):
    """By SIGTERM; what it ended with."""
    if daemon.alive():
        daemon.process.terminate()
    try:
        daemon.process.communicate(timeout=10 * PATIENCE)
    except subprocess.TimeoutExpired:
        raise AssertionError("SIGTERM does not end it; stderr:\n%s" % daemon.stderr())
    daemon.stopped = True
    return daemon.process.returncode


def sinks_to(what, most, now, ended):
    """It takes a moment until what a host had is given back."""
    has = now()
    for _ in tries():
        if has <= most or ended():
            return
        has = now()
    raise AssertionError("%d %s are left, where a run in which nothing fails leaves %d" % (has, what, most))


def clean_run(folder, setting, prefix, quiet=lambda daemon: None):
    """A run in which nothing fails; what it has open when all is done, and what `quiet` says then."""
    daemon = start(folder, setting, prefix)
    try:
        run = Run(daemon, folder, setting)
        run.perform()
        assert (run.broken, run.busy, run.failed, run.refused) == (0, 0, 0, 0), daemon.stderr()
        daemon.no_connections()
        found = daemon.open_files(), quiet(daemon)
        assert end(daemon) == 0
        return found
    finally:
        daemon.kill()


def words(run, said):
    """Of what was said: what is not said in each run."""
    return [line for line in (said + (run.told if run else "")).splitlines()
            if re.match("weir( top)?: |! ", line) and not EVERY_TIME.search(line)]


def one_run(folder, setting, prefix, open_files, quiet=lambda daemon: None, ended=lambda: None, codes="1", tell=None,
            by_peers=False):
    """
    One run in which something fails; what is wrong about it, or None.  It may end with one of `codes` before it
    serves, and say why.  `quiet` and `ended` look for what is left when nothing is to be done, and at the end.
    What failed has a word, but for a connection where that is how it fails when peers go away.
    """
    os.mkdir(folder)
    daemon = run = code = None
    said = ""
    try:
        daemon = start(folder, setting, prefix)
        run = Run(daemon, folder, setting)
        run.perform()
        sinks_to("descriptors", open_files, daemon.open_files, lambda: not daemon.alive())
        quiet(daemon)
        code = end(daemon)
        said = daemon.stderr()
        # The connection that is struck, of each reactor; where it is the listener's or all sockets' call, none.
        if run.broken + run.busy > REACTORS[setting] or (run.failed > FAILED_MAX and not lost(daemon)):
            return "%d hosts lost their connection, %d commands failed, it ended with %d; stderr:\n%s" % (
                run.broken, run.failed, code, said)
        if code != 0:
            return "it ended with %d after it had served; stderr:\n%s" % (code, said)
        lacks = run.failed + run.refused + run.busy + (0 if by_peers else run.broken)
        if lacks and not words(run, said):
            return "it fails without a word: %d connections, %d commands, %d wishes of the operator; stderr:\n%s" % (
                run.broken + run.busy, run.failed, run.refused, said)
        ended()
    except AssertionError as wrong:
        match = re.search(r"the daemon ended \((-?\w+)\); stderr:\n(.*)", str(wrong), re.S)
        if daemon is not None or not match or match[1] not in codes or not re.match(r"weir: .*\S", match[2]):
            return str(wrong)
        code, said = int(match[1]), match[2]
        ended()
    finally:
        if daemon is not None:
            daemon.kill()
        shutil.rmtree(folder)
        if tell:
            tell(run, code, said)
    return None


recording = threading.Lock()


def record_line(**what):
    if RECORD:
        with recording, open(RECORD, "a") as out:
            out.write(json.dumps(what) + "\n")


def record_counts(setting, counts):
    """Of each call, in a run in which nothing fails: how many places make it, and how often it is made."""
    record_line(setting=setting, counts=counts)


def record(folder, run, code, said, **what):
    """A line for this run: what was struck, what came of it, and what was said of it."""
    came = ("did not start" if run is None else "ended with %s" % code if code else
            "a host lost its connection" if run.broken else "a host was told to come again" if run.busy else
            "an operator's wish was refused" if run.refused else "commands failed" if run.failed else
            "nothing was amiss")
    lines = [line.replace(folder, "FOLDER") for line in words(run, said)]
    record_line(came=came, said=lines, **what)
