"""`weir copy`: images to volumes and back, volumes to volumes, sparse and compared."""
import os

import pytest

from tools import answer, random_file, uri, volume, weir

TARGET_NS = ("mem:8M", "mem:8M", "mem:4M")
SIZE = 8 << 20


def test_an_image_goes_there_and_back(target, tmp_path):
    data = random_file(tmp_path / "image", SIZE)
    assert "8 MiB copied in " in weir("copy", tmp_path / "image", uri(target, 1)).words
    assert volume(target) == data
    done = weir("copy", uri(target, 1), tmp_path / "back")
    assert done.words.endswith("; verified\n") and (tmp_path / "back").read_bytes() == data
    assert not answer("copy", uri(target, 1), tmp_path / "back", "--no-verify")["verified"]


def test_a_volume_to_another(target, tmp_path):
    data = random_file(tmp_path / "image", SIZE)
    weir("copy", tmp_path / "image", uri(target, 1))
    assert answer("copy", uri(target, 1), uri(target, 2))["verified"]
    assert volume(target, 2) == data
    assert answer("copy", uri(target, 1), uri(target, 3), "--from-offset", "2M", "--length", "1M",
                  "--to-offset", "64k")["bytes"] == 1 << 20
    assert volume(target, 3, offset="64k", length="1M") == data[2 << 20:3 << 20]


def test_within_a_volume_the_target_copies(target, tmp_path):
    data = random_file(tmp_path / "image", SIZE)
    weir("copy", tmp_path / "image", uri(target, 1))
    before = target.stats()
    assert answer("copy", uri(target, 1), uri(target, 1), "--to-offset", "4M", "--length", "4M",
                  "--no-verify")["bytes"] == 4 << 20
    after = target.stats()
    assert after["reads"] - before["reads"] == 4, "four times 1 MiB, as the target counts copies"
    assert volume(target) == data[:4 << 20] * 2
    assert answer("copy", uri(target, 1), uri(target, 1), "--to-offset", "12k", "--length", "12k")["verified"]
    assert volume(target, length="24k") == data[:12 << 10] * 2


def test_zeros_are_not_copied(serve, tmp_path):
    target = serve(ns=["file:%s,size=8M" % (tmp_path / "volume")])
    weir("write", uri(target, 1), stdin=b"x" * SIZE)
    with open(tmp_path / "image", "wb") as file:
        file.truncate(SIZE)
        file.seek(3 << 20)
        file.write(os.urandom(1 << 20))
    found = answer("copy", tmp_path / "image", uri(target, 1))
    assert found["zeros"] == 7 << 20 and found["verified"]
    assert (tmp_path / "volume").stat().st_blocks * 512 < 2 << 20
    assert answer("copy", uri(target, 1), tmp_path / "back")["zeros"] == 7 << 20
    assert (tmp_path / "back").read_bytes() == (tmp_path / "image").read_bytes()
    assert (tmp_path / "back").stat().st_blocks * 512 < 2 << 20
    assert answer("copy", uri(target, 1), tmp_path / "dense", "--no-sparse")["verified"]
    assert (tmp_path / "dense").stat().st_blocks * 512 >= SIZE


def test_a_flush_that_fails_is_said(serve, tmp_path):
    random_file(tmp_path / "image", SIZE)
    done = weir("copy", tmp_path / "image", uri(serve(ns=["fault:flush-error=1@mem:8M"]), 1), code=1)
    assert "flushing failed" in done.words


def test_what_does_not_fit_is_refused_before(target, tmp_path):
    random_file(tmp_path / "image", SIZE)
    before = volume(target, 3)
    done = weir("copy", tmp_path / "image", uri(target, 3), code=1)
    assert "it has room for 4194304 bytes, and 8388608 are to be copied; nothing was written" in done.words
    assert "room for" in weir("copy", uri(target, 1), uri(target, 3), code=1).words
    assert "room for" in weir("copy", tmp_path / "image", uri(target, 1), "--to-offset", "4k", code=1).words
    assert volume(target, 3) == before
    (tmp_path / "kept").write_bytes(b"kept")
    for wrong in (("--length", "16M"), ("--from-offset", "100"), ("--bs", "5000")):
        for name in ("kept", "new"):
            weir("copy", uri(target, 1), tmp_path / name, *wrong, code=1)
    assert (tmp_path / "kept").read_bytes() == b"kept" and not (tmp_path / "new").exists()


@pytest.mark.parametrize("options, words", [
    ((), "the same volume"), (("--to-offset", "4k", "--length", "8k"), "the same volume"),
    (("--from-offset", "100", "--to-offset", "4M", "--length", "4k"), "multiples of the blocks of 4096 bytes"),
    (("--from-offset", "8M",), "nothing to copy behind --from-offset"),
    (("--length", "9M",), "8388608 bytes are there to be copied")])
def test_what_cannot_be_copied(target, options, words):
    assert words in weir("copy", uri(target, 1), uri(target, 1), *options, code=1).words


def test_a_part_of_a_file_is_copied(target, tmp_path):
    data = random_file(tmp_path / "image", SIZE)
    assert answer("copy", tmp_path / "image", uri(target, 1), "--from-offset", "2M", "--length", "1M", "--to-offset",
                  "64k")["verified"]
    assert volume(target, offset="64k", length="1M") == data[2 << 20:3 << 20]


def test_a_part_of_a_file_is_written_and_the_rest_stays(target, tmp_path):
    data = random_file(tmp_path / "image", SIZE)
    weir("write", uri(target, 1), stdin=b"v" * SIZE)
    weir("copy", uri(target, 1), tmp_path / "image", "--to-offset", "4096", "--length", "8k")
    assert (tmp_path / "image").read_bytes() == data[:4096] + b"v" * 8192 + data[12288:]


def test_what_the_target_forgot_is_found(serve, tmp_path):
    target = serve(ns=["fault:drop-write=5@mem:8M"])
    random_file(tmp_path / "image", SIZE)
    done = weir("copy", tmp_path / "image", uri(target, 1), "--depth", "1", code=1)
    assert "VERIFICATION FAILED: 1 piece of 262144 bytes" in done.words and "at byte 1048576" in done.words


def test_files_have_cp(binary, tmp_path):
    random_file(tmp_path / "image", 4096)
    assert "cp" in weir("copy", tmp_path / "image", tmp_path / "other", code=2).words
    assert "from where to where" in weir("copy", tmp_path / "image", code=2).words


def test_no_such_file(target, tmp_path):
    assert "missing: No such file" in weir("copy", tmp_path / "missing", uri(target, 1), code=1).words
