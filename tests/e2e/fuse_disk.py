"""A disk of FUSE: a folder of volumes of 32 MiB whose server fails, or does not answer, while it is told to.

As a program: fuse_disk.py FOLDER CONTROL cached|direct.  While CONTROL/fails is there writes fail, while
CONTROL/hangs is there nothing is answered any more.  cached: what is written stays in the kernel's cache until it is
synced.
"""
import ctypes
import errno
import os
import stat
import struct
import subprocess
import sys

SIZE = 32 << 20
WRITEBACK_CACHE, BIG_WRITES = 1 << 16, 1 << 5
LOOKUP, FORGET, GETATTR, SETATTR, OPEN, READ, WRITE, STATFS, INIT, OPENDIR = 1, 2, 3, 4, 14, 15, 16, 17, 26, 27
INTERRUPT, BATCH_FORGET = 36, 42
DONE = (18, 20, 25, 29, 30)  # RELEASE, FSYNC, FLUSH, RELEASEDIR, FSYNCDIR
DIRECTORY, REGULAR = stat.S_IFDIR | 0o755, stat.S_IFREG | 0o644


def attributes(node):
    size, mode = (0, DIRECTORY) if node == 1 else (SIZE, REGULAR)
    return struct.pack("<6Q10I", node, size, size // 512, 1, 1, 1, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)


class Server:
    def __init__(self, folder, control, cached):
        self.control, self.cached, self.names, self.data = control, cached, {}, {}
        self.fd = os.open("/dev/fuse", os.O_RDWR)
        libc = ctypes.CDLL(None, use_errno=True)
        options = "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other" % self.fd
        if libc.mount(b"weir-test", folder.encode(), b"fuse.weir", 0, options.encode()) != 0:
            sys.exit(os.strerror(ctypes.get_errno()))

    def has(self, what):
        return os.path.exists(os.path.join(self.control, what))

    def lookup(self, name):
        if name.endswith(".bad"):
            return errno.ENOENT, b""
        node = self.names.setdefault(name, len(self.names) + 2)
        self.data.setdefault(node, bytearray(SIZE))
        return 0, struct.pack("<4Q2I", node, 0, 60, 60, 0, 0) + attributes(node)

    def answer(self, op, node, arg):
        if op == INIT:
            flags = WRITEBACK_CACHE if self.cached else 0
            return 0, struct.pack("<IIIIHHIIHHI", 7, 31, 65536, flags | BIG_WRITES, 16, 16, 131072, 1, 0, 0, 0) + \
                bytes(28)
        if op == LOOKUP:
            return self.lookup(arg.split(b"\0")[0].decode())
        if op in (GETATTR, SETATTR):
            return 0, struct.pack("<QII", 60, 0, 0) + attributes(node)
        if op == OPEN and self.cached and struct.unpack("<I", arg[:4])[0] & os.O_DIRECT:
            return errno.EINVAL, b""
        if op in (OPEN, OPENDIR):
            return 0, struct.pack("<QII", 1, op == OPEN and not self.cached, 0)
        if op == READ:
            _, offset, size = struct.unpack("<QQI", arg[:20])
            return 0, bytes(self.data[node][offset:offset + size])
        if op == WRITE:
            _, offset, size = struct.unpack("<QQI", arg[:20])
            if self.has("fails"):
                return errno.EIO, b""
            self.data[node][offset:offset + size] = arg[40:40 + size]
            return 0, struct.pack("<II", size, 0)
        if op == STATFS:
            return 0, struct.pack("<5Q4I", 1, 1, 1, 1, 1, 4096, 255, 4096, 0) + bytes(24)
        return (0 if op in DONE else errno.ENOSYS), b""

    def run(self):
        print("mounted", flush=True)
        while True:
            try:
                request = os.read(self.fd, 1 << 21)
            except OSError as error:
                if error.errno == errno.ENODEV:
                    return
                continue
            _, op, unique, node = struct.unpack("<IIQQ", request[:24])
            if op in (FORGET, INTERRUPT, BATCH_FORGET) or (op != INIT and self.has("hangs")):
                continue
            error, data = self.answer(op, node, request[40:])
            os.write(self.fd, struct.pack("<IiQ", 16 + len(data), -error, unique) + data)


class Disk:
    """One that runs; `path` is its folder."""

    def __init__(self, folder, kind):
        self.path, self.control = os.path.join(folder, "disk"), os.path.join(folder, "control")
        os.mkdir(self.path)
        os.mkdir(self.control)
        self.process = subprocess.Popen([sys.executable, os.path.abspath(__file__), self.path, self.control, kind],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.mounted = self.process.stdout.readline() == "mounted\n"

    def set(self, what, on=True):
        path = os.path.join(self.control, what)
        if on:
            open(path, "w").close()
        elif os.path.exists(path):
            os.remove(path)

    def end(self):
        """what waits for it is answered with an error"""
        self.process.kill()
        self.process.communicate()
        if self.mounted:
            subprocess.run(["umount", "-l", self.path], check=False)


if __name__ == "__main__":
    Server(sys.argv[1], sys.argv[2], sys.argv[3] == "cached").run()
