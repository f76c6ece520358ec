#!/usr/bin/python3
"""read.py URI - writes the first MiB of a namespace to standard output."""
import ctypes
import sys

weir = ctypes.CDLL("libweir.so.0")
weir.weir_error.restype = ctypes.c_char_p


def check(result):
    if result < 0:
        sys.exit("read.py: " + weir.weir_error().decode())


if len(sys.argv) != 2:
    print("read.py: which namespace?  nvme+tcp://HOST:PORT/SUBNQN?ns=N; without ?ns= it is the first", file=sys.stderr)
    sys.exit(2)
volume = ctypes.c_void_p()
data = ctypes.create_string_buffer(1 << 20)
check(weir.weir_volume_open(sys.argv[1].encode(), None, ctypes.byref(volume)))
check(weir.weir_volume_read(volume, data, ctypes.c_size_t(len(data)), ctypes.c_uint64(0)))
sys.stdout.buffer.write(data)
weir.weir_volume_close(volume)
