"""`weir flash`: which modelled drives there are, what each is made of, and what is wrong with what is none."""
import json
import os
import re
import signal
import subprocess

import pytest

import target as targets
from tools import SECONDS

PROFILES = os.path.join(targets.REPO, "profiles")
NAMES = ["tlc-plp", "tlc-consumer", "optane", "qlc"]


def flash(*args, code=0, **how):
    done = targets.run("flash", *args, **how)
    assert done.returncode == code and (done.stderr == "") == (code == 0), done
    return done


def umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def answer(*args, **how):
    return json.loads(flash(*args, "--json", **how).stdout)


@pytest.fixture
def written(binary, tmp_path):
    """A file with a built-in profile's text, changed."""
    def write(name, *changes, file="mine.yaml"):
        with open(os.path.join(PROFILES, name + ".yaml")) as original:
            text = original.read()
        for old, new in changes:
            assert re.search(old, text, re.M), old
            text = re.sub(old, new, text, count=1, flags=re.M)
        path = tmp_path / file
        path.write_text(text)
        return path
    return write


def test_those_that_are_built_in(binary):
    heads, *rows = flash("list").stdout.splitlines()
    assert heads.split() == ["PROFILE", "HASH", "WHAT", "IT", "IS"]
    assert [row.split()[0] for row in rows] == NAMES
    listed = answer("list")["profiles"]
    assert [one["profile"] for one in listed] == NAMES
    for one, row in zip(listed, rows):
        assert re.fullmatch("[0-9a-f]{16}", one["hash"]) and one["hash"] == row.split()[1]
        assert row.endswith(one["says"]) and one["says"]
        assert answer("show", one["profile"])["hash"] == one["hash"]


def test_what_one_is_made_of(binary):
    shown = answer("show", "tlc-plp")
    assert shown["profile"] == "tlc-plp" and shown["numbers"]["media"] == "nand"
    assert shown["numbers"]["read_ns"] == 55000 and shown["numbers"]["power_loss_protection"] is True
    geometry = shown["geometry"]
    assert (geometry["bytes"], geometry["blocks"], geometry["block_pages"]) == (8 << 30, 198, 48)
    text = flash("show", "tlc-plp").stdout
    for line in (r"read +55 us", r"program +1\.7 ms", r"channel +533 MB/s", r"policy +greedy", r"unit +4 KiB",
                 r"power-loss-protection +yes", "hash +" + shown["hash"], r"blocks of a die +198",
                 r"pages of it on a plane +48", r"smallest there is +513 MiB \(537919488 bytes\)"):
        assert re.search("^  " + line + "$", text, re.M), line
    assert "slc" not in text and "journal" not in text


def test_what_is_left_of_it(binary):
    assert answer("show", "tlc-plp", "--size", "16G")["geometry"]["block_pages"] == 96
    large = answer("show", "qlc", "--size", "64G")["geometry"]
    assert (large["units"], large["unit_bytes"], large["blocks"]) == (1 << 20, 65536, 52)
    placed = answer("show", "optane")["geometry"]
    assert set(placed) == {"smallest_bytes", "bytes", "units", "unit_bytes"}
    for size, words in (("512M", "it has 513 MiB at least, so that each of 32 dies has blocks enough"),
                        ("1T", "it has 960 GB at most, with which the drive is sold")):
        assert flash("show", "tlc-plp", "--size", size, code=1).stderr == "weir flash: tlc-plp of %s: %s\n" % (size, words)


def test_where_8_gib_is_not_to_be_had_it_is_as_near_as_there_is(written):
    assert answer("show", written("tlc-plp", ("^capacity: 960 GB", "capacity: 4 GB")))["geometry"]["bytes"] == \
        4 * 10**9 // 4096 * 4096
    large = answer("show", written("qlc", ("^scale-blocks: 52", "scale-blocks: 202")))["geometry"]
    assert large["bytes"] == large["smallest_bytes"] > 8 << 30


def test_one_in_a_file(written):
    """Its name is the file's, and its hash is of the numbers alone."""
    same = answer("show", written("qlc", ("^says: .*", "says: mine # as it was"), file="my drive.yaml"))
    assert same["profile"] == "my-drive" and same["says"] == "mine"
    assert same["hash"] == answer("show", "qlc")["hash"]
    other = answer("show", written("qlc", ("^read: 90 us", "read: 91 us")))
    assert other["hash"] != same["hash"] and other["numbers"]["read_ns"] == 91000
    path = written("qlc", ("^says", "name: called\nsays"))
    assert answer("show", path)["profile"] == "called"
    with open(path) as file:
        assert answer("show", "-", stdin=file)["profile"] == "called"


@pytest.mark.parametrize("old, new, words", [
    ("^dies: 32", "dies: 0", "`dies` is a number from 1 to 4096, not `0`"),
    ("^read: 55 us", "read: -55 us", "`read` is from 1 ns to 4 s, not `-55 us`"),
    ("^capacity: 960 GB", "capacity: 2 TB", "`capacity` is 2 TB, and 32 dies of 32 GiB have no more than 1099.511 GB"),
    ("^policy: greedy", "polisy: greedy", "a profile has no key `polisy`; `policy` is meant?")])
def test_one_that_cannot_be(written, old, new, words):
    path = written("tlc-plp", (old, new))
    line = 1 + path.read_text().splitlines().index(next(one for one in path.read_text().splitlines()
                                                        if one.startswith(new)))
    assert flash("show", path, code=1).stderr == "%s:%d: %s\n" % (path, line, words)


def test_what_is_not_there(binary, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert flash("show", "tlc-plb", code=1).stderr == \
        "weir flash: there is neither a profile nor a file `tlc-plb'; `tlc-plp' is meant?\n"
    assert flash("show", "something", code=1).stderr == \
        "weir flash: there is neither a profile nor a file `something'; `weir flash list' says which profiles there are\n"
    assert flash("show", "./no.yaml", code=1).stderr == "weir: ./no.yaml: No such file or directory\n"


@pytest.mark.parametrize("args, words", [
    ([], "which command?"), (["shaw", "x"], "there is no command 'shaw'; 'show' is meant?"),
    (["nothing"], "there is no command 'nothing'; there is list, show, curve or condition"), (["--json", "list"], "unrecognized option"),
    (["show"], "which profile?"), (["show", "a", "b"], "one profile, please; what is 'b'?"),
    (["show", "qlc", "--size", "much"], "--size 'much': not a size"), (["list", "all"], "what is 'all'?"),
    (["curve"], "which profile?"), (["curve", "a", "b"], "one profile, please; what is 'b'?"),
    (["curve", "qlc", "--op", "read,trim"], "--op 'trim': there is read, write or mixed"),
    (["curve", "qlc", "--op", ""], "--op '': there is read, write or mixed"),
    (["curve", "qlc", "--state", "old"], "--state 'old': there is fresh, sequential or fragmented"),
    (["curve", "--from", "x", "--size", "1G"], "--from goes without --size and --state"),
    (["curve", "--from", "x", "--state", "fresh"], "--from goes without --size and --state"),
    (["condition"], "which profile?"), (["condition", "qlc", "--seed", "-1"], "--seed")])
def test_the_command_line(binary, args, words):
    assert words in flash(*args, code=2).stderr


def test_the_example_of_the_manual_page_is_a_drive(binary, tmp_path):
    with open(os.path.join(targets.REPO, "doc", "man", "weir-profile.5")) as page:
        example = re.search(r"^\.Bd -literal\n(.*?)^\.Ed", page.read(), re.M | re.S)[1]
    path = tmp_path / "example.yaml"
    path.write_text(example)
    shown, built_in = answer("show", path)["numbers"], answer("show", "optane")["numbers"]
    assert {key for key in shown if shown[key] != built_in[key]} == {"link_mb_s"}


# ---- measured ----

def points(*args, **how):
    """Of a curve, by operation, size, order and depth."""
    said = answer("curve", *args, **how)
    return {(one["operation"], one["bytes"], one["order"], one["depth"]): one for one in said["points"]}


def test_a_curve(binary):
    """A read that is alone takes what the profile's numbers say, and no drive gives more than its link moves."""
    curve = points("tlc-plp", "--size", "1G")
    depths = [1, 2, 4, 8, 16, 32, 64, 128, 256]
    assert list(curve) == [(op, size, order, depth) for op in ("read", "write", "mixed") for size in (4096, 131072)
                           for order in ("random", "sequential") for depth in depths]
    alone = curve["read", 4096, "random", 1]["reads"]
    assert 80000 < alone["p50_ns"] < 90000 and alone["iops"] == 10**9 // alone["mean_ns"]
    for (op, size, _, depth), one in curve.items():
        assert ("reads" in one, "writes" in one) == (op != "write", op != "read")
        for each in (one[key] for key in ("reads", "writes") if key in one):
            assert each["p50_ns"] <= each["p99_ns"] <= each["p999_ns"] and each["bytes_per_second"] < 3.2e9
            # What commands take together is what passed, so often as there are some under way.
            if op != "mixed":
                assert each["iops"] * each["mean_ns"] == pytest.approx(depth * 10**9, rel=0.1)
                assert each["commands"] >= (40000 if size == 4096 else 4000)
    for op in ("read", "write", "mixed"):
        assert ("write_amplification_permille" in curve[op, 4096, "random", 32]) == (op != "read")
    assert curve["read", 4096, "random", 256]["reads"]["iops"] > 30 * alone["iops"]


def test_what_a_drive_gives_depends_on_its_state(binary):
    by_state = {state: points("tlc-plp", "--size", size, "--state", state, "--op", "write")
                for state, size in (("fresh", "1G"), ("sequential", "4G"), ("fragmented", "1G"))}

    def amplified(state, order, size=4096):
        return by_state[state]["write", size, order, 32]["write_amplification_permille"]

    # What is written again while it is in the buffer is programmed once.
    assert 990 < amplified("fresh", "sequential") < 1010 and 950 < amplified("fresh", "random") < 1010
    assert 990 < amplified("sequential", "sequential", 131072) < 1010
    # Though what is measured is less than the spare space.
    assert amplified("sequential", "random") > 2000 and amplified("fragmented", "random") > 2000
    assert by_state["fresh"]["write", 4096, "random", 256]["writes"]["iops"] > \
        2 * by_state["fragmented"]["write", 4096, "random", 256]["writes"]["iops"]


def test_a_curve_for_people(binary):
    args = ("curve", "optane", "--op", "read,mixed", "--size", "64M")
    text = flash(*args).stdout
    assert text == flash(*args).stdout
    assert text[text.index("OPERATION"):] not in flash(*args, "--seed", "2").stdout
    for line in (r"  profile +optane", "  hash +" + answer("show", "optane")["hash"], r"  size +64 MiB \(67108864 bytes\)",
                 r"  state +fresh", r"  seed +1",
                 r"OPERATION +SIZE +ORDER +DEPTH +IOPS +MB/S +MEAN +P50 +P99 +P99.9 +AMPLIFIED",
                 r"read +4 KiB +random +1 +\d+ +\d+\.\d( +\d+\.\d){4} +-", r"70/30 write +128 KiB +sequential +256 .*"):
        assert re.search("^" + line + "$", text, re.M), line
    assert len(text[text.index("OPERATION"):].splitlines()) == 1 + 36 + 72


def test_what_cannot_be_measured(binary):
    for state in ("sequential", "fragmented"):
        assert flash("curve", "optane", "--state", state, code=1).stderr == \
            "weir flash: optane: it is written in place, and always as it is when it is fresh\n"
    assert "it has 513 MiB at least" in flash("curve", "tlc-plp", "--size", "1M", code=1).stderr
    assert flash("curve", "--from", "no.flash", code=1).stderr == "weir flash: no.flash: No such file or directory\n"


# ---- prepared ----

@pytest.fixture
def kept(binary, tmp_path, monkeypatch):
    """A file with a state, in the current folder."""
    monkeypatch.chdir(tmp_path)
    said = answer("condition", "tlc-plp", "--size", "600M")
    return said, tmp_path / said["file"]


def test_a_state_is_kept(kept):
    said, path = kept
    assert path.name == "tlc-plp-600M-fragmented-%s.flash" % answer("show", "tlc-plp")["hash"]
    assert (said["state"], said["seed"], said["was_there"]) == ("fragmented", 1, False)
    assert said["written_bytes"] == 4 * said["bytes"] == 4 * (600 << 20) and said["moved_bytes"] > 0
    assert said["write_amplification_permille"] == \
        pytest.approx(1000 * (1 + said["moved_bytes"] / said["written_bytes"]), rel=0.01)
    assert said["programmed_bytes"] >= said["written_bytes"] + said["moved_bytes"]
    worn = ("programmed_bytes", "erases", "erases_least", "erases_most", "erases_mean_permille", "used_percent")
    assert 0 < 1000 * said["erases_least"] < said["erases_mean_permille"] < 1000 * said["erases_most"]
    assert said["used_percent"] == 0 and said["erases"] > said["erases_most"]
    before = path.read_bytes(), path.stat().st_mtime_ns
    again = answer("condition", "tlc-plp", "--size", "600M")
    assert again["was_there"] and again["written_bytes"] == said["written_bytes"]
    assert [again[key] for key in worn] == [said[key] for key in worn]
    assert "  made before                  yes, and the same\n" in flash("condition", "tlc-plp", "--size", "600M").stdout
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
    assert re.search(r"^  took +\d+\.\d\d s$", flash("condition", "tlc-plp", "--size", "600M", "--out", "b").stdout, re.M)
    assert (path.parent / "b").read_bytes() == before[0]


def test_a_state_that_was_kept_is_the_one_that_is_made(kept):
    _, path = kept
    read = points("--from", path, "--op", "write")
    assert read == points("tlc-plp", "--size", "600M", "--op", "write") == points("--from", path, "tlc-plp", "--op", "write")
    assert "from                         %s\n" % path in flash("curve", "--from", path, "--op", "read").stdout


def test_half_a_state_has_not_its_name(binary, tmp_path, monkeypatch):
    """of one that is killed in the midst of it, here by a limit; and the next one makes it"""
    monkeypatch.chdir(tmp_path)
    make = ["flash", "condition", "tlc-plp", "--size", "600M", "--out", "state"]
    limit = "ulimit -f 64; exec \"$@\""
    killed = subprocess.run(["sh", "-c", limit, "sh", targets.WEIR, *make], capture_output=True, timeout=SECONDS)
    assert killed.returncode == -signal.SIGXFSZ
    left, = tmp_path.iterdir()
    assert re.fullmatch(r"state\.\w{6}", left.name) and left.stat().st_size > 0
    assert answer(*make[1:])["was_there"] is False
    assert answer(*make[1:])["was_there"] is True
    assert os.stat("state").st_mode & 0o777 == 0o666 & ~umask()
    left.unlink()
    refused = subprocess.run(["sh", "-c", "trap '' XFSZ; " + limit, "sh", targets.WEIR, *make[:-1], "other"],
                             capture_output=True, text=True, timeout=SECONDS)
    assert (refused.returncode, refused.stderr) == (1, "weir flash: other: File too large\n")
    assert os.listdir() == ["state"], "nothing is left of what could not be written"


def test_another_state_is_not_overwritten(kept):
    _, path = kept
    before = path.read_bytes()
    for more, words in ((["--seed", "2"], "fragmented, 629145600 bytes, seed 1"), (["--state", "fresh"], "seed 1")):
        said = flash("condition", "tlc-plp", "--size", "600M", "--out", path, *more, code=1).stderr
        assert said.startswith("weir flash: %s: it is there already, and another state: " % path) and words in said
    other = flash("condition", "tlc-consumer", "--out", path, code=1).stderr
    assert "it is of a drive with the hash" in other and "stays as it is; --out names another file" in other
    assert path.read_bytes() == before
    assert flash("condition", "tlc-plp", "--size", "600M", "--out", "no/such", code=1).stderr == \
        "weir flash: no/such: No such file or directory\n"


def test_bytes_that_are_no_state(kept, written):
    _, path = kept
    whole = path.read_bytes()
    for damaged, words in ((b"", "it is no state of a modelled SSD"), (b"x" * 200, "it is no state of a modelled SSD"),
                           (whole[:-5], "no drive can be made of its bytes: there are too few, or too many, of them"),
                           (whole[:5000] + b"?" + whole[5001:],
                            "no drive can be made of its bytes: they are damaged: their checksum does not match")):
        path.write_bytes(damaged)
        assert flash("curve", "--from", path, code=1).stderr == "weir flash: %s: %s\n" % (path, words)
        assert flash("condition", "tlc-plp", "--size", "600M", code=1).stderr.startswith("weir flash: %s: " % path.name)
    assert flash("curve", "--from", path.parent, code=1).stderr == "weir flash: %s: it is no file\n" % path.parent


def test_a_state_of_a_profile_in_a_file(kept, written):
    mine = written("tlc-plp", ("^read: 55 us", "read: 56 us"))
    said = answer("condition", mine, "--size", "600M", "--state", "sequential")
    assert said["file"].startswith("mine-600M-sequential-")
    assert "none with it is built in: its profile is to be named" in flash("curve", "--from", said["file"], code=1).stderr
    assert points(mine, "--from", said["file"], "--op", "read") == \
        points(mine, "--size", "600M", "--state", "sequential", "--op", "read")
    assert "and tlc-plp has " in flash("curve", "tlc-plp", "--from", said["file"], code=1).stderr


def test_what_cannot_be_prepared(binary):
    assert flash("condition", "optane", code=1).stderr == \
        "weir flash: optane is written in place: it is always as it is when it is fresh, and there is nothing to prepare\n"
