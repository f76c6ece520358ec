"""`weir trace`: what traces are like, traces that are made to order, and traces that are played."""
import csv
import gzip
import io
import json
import lzma
import os
import pty
import re
import select
import signal
import subprocess

import pytest

import target as targets
from target import until
from tools import SECONDS, answer, start, uri, volume, weir

TARGET_NS = ("mem:8M",)
SIZE = 8 << 20
FIRST_SIX = ["name", "seq_ratio_pct", "write_rate_gb_day", "peak_iops", "write_ratio_pct", "working_set_gb"]
TIME = 128166372003061629  # a FILETIME
DEMAND = {"--seq-ratio": 30, "--write-rate": 50, "--peak-iops": 40, "--write-ratio": 60, "--working-set": 0.5,
          "--duration": "1200s"}


def msr(seconds, disk, kind, offset, size, host="usr"):
    return "%d,%s,%d,%s,%d,%d,0\n" % (TIME + round(seconds * 10**7), host, disk, kind, offset, size)


def two_disks():
    """10 minutes: 512 writes of 4 KiB in order on disk 0, 256 reads of 8 KiB apart from one another on disk 1."""
    return "".join(msr(i * 600 / 512, 0, "Write", i * 4096, 4096) + (msr(i * 600 / 512, 1, "Read", i << 20, 8192)
                                                                       if i % 2 == 0 else "") for i in range(512))


@pytest.fixture
def trace(binary, tmp_path):
    """Its path: a trace of two disks."""
    path = tmp_path / "usr.csv"
    path.write_text(two_disks())
    return path


def rows(*args, **how):
    return list(csv.DictReader(io.StringIO(weir("trace", "stat", "--csv", *args, **how).stdout.decode())))


def zstd(data):
    """as one frame whose blocks are not compressed"""
    pieces = [data[i:i + 65536] for i in range(0, len(data), 65536)]
    blocks = [(len(piece) << 3 | (i == len(pieces) - 1)).to_bytes(3, "little") + piece for i, piece in enumerate(pieces)]
    return b"\x28\xb5\x2f\xfd\xa0" + len(data).to_bytes(4, "little") + b"".join(blocks)


# ---- what they are like ----

def test_the_row_of_a_trace(trace):
    heads, row = weir("trace", "stat", trace).stdout.decode().splitlines()
    assert re.split("  +", heads) == ["WORKLOAD", "SEQ %", "WRITE GB/DAY", "PEAK IOPS", "WRITE %", "WORKING SET GB",
                                      "REQUESTS", "DURATION"]
    # 2 MiB in 598.8 s; the first five minutes have 256 writes and 128 reads.
    assert row.split() == ["usr", "100.00", "0.30", "1.28", "66.67", "0.004", "768", "9:58"]


def test_a_row_for_each_volume(trace):
    disk0, disk1 = rows(trace, "--per-volume")
    assert (disk0["name"], disk1["name"]) == ("usr:usr.0", "usr:usr.1")
    assert (disk0["seq_ratio_pct"], disk0["write_ratio_pct"], disk0["working_set_gb"]) == ("100", "100", "0.002097152")
    assert (disk1["seq_ratio_pct"], disk1["write_ratio_pct"], disk1["write_rate_gb_day"]) == ("", "0", "0")
    assert (disk1["reads"], disk1["writes"], disk1["working_set_gb"]) == ("256", "0", "0.002097152")
    assert float(disk0["peak_iops"]) == pytest.approx(256 / 300, rel=1e-6)


def test_csv_is_what_a_planner_reads(trace, tmp_path):
    (tmp_path / "blk.txt").write_text("  8,0 0 1 0.000000000 1 Q W 0 + 8 [a]\n  8,0 0 2 9.000000000 1 Q R 0 + 8 [a]\n")
    text = weir("trace", "stat", "--csv", "--per-volume", trace, tmp_path / "blk.txt").stdout.decode()
    assert text.splitlines()[0].split(",")[:6] == FIRST_SIX
    assert [row[0] for row in csv.reader(io.StringIO(text))] == ["name", "usr:usr.0", "usr:usr.1", "blk:8,0"]
    assert len({len(row) for row in csv.reader(io.StringIO(text))}) == 1


def test_json_says_the_same_and_more(trace):
    said = answer("trace", "stat", trace)
    workload, = said["workloads"]
    row, = rows(trace)
    assert list(workload) == list(row)
    for name, value in row.items():
        assert workload[name] == (value if name == "name" else pytest.approx(float(value), rel=1e-8)), name
    assert (workload["writes_at_end"], workload["writes_elsewhere"], workload["sequential_streams"]) == (511, 1, 1)
    assert said["files"] == [{"file": str(trace), "format": "msr", "lines": 768, "headings": 0, "other": 0, "volumes": 2,
                              "bad": 0, "first_bad": []}]


def test_what_cannot_be_known_is_not_said(binary, tmp_path):
    (tmp_path / "short").write_text(msr(0, 0, "Read", 0, 4096) + msr(0.9, 0, "Read", 0, 4096))
    row, = weir("trace", "stat", tmp_path / "short").stdout.decode().splitlines()[1:]
    assert row.split() == ["short", "-", "-", "-", "0.00", "0.000", "2", "0.9", "s"]
    workload, = answer("trace", "stat", tmp_path / "short")["workloads"]
    assert [workload[name] for name in FIRST_SIX[1:4]] == [None, None, None]


def test_the_window_of_the_peak(binary, tmp_path):
    (tmp_path / "burst").write_text("".join(msr(0 if i < 30 else i, 0, "Read", 0, 4096) for i in range(600)))
    peaks = [float(rows(tmp_path / "burst", "--window", window)[0]["peak_iops"]) for window in ("10s", "1m", "5m")]
    assert peaks == [3, 1, 1]


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, zstd], ids=["gzip", "xz", "zstd"])
def test_packed_or_not_it_is_the_same(trace, pack, tmp_path):
    packed = tmp_path / "usr.packed"
    packed.write_bytes(pack(trace.read_bytes()))
    assert rows(packed) == rows(trace)
    assert rows("-", stdin=packed.read_bytes())[0] == {**rows(trace)[0], "name": "stdin"}


def test_lines_that_cannot_be_read_are_told_and_left_out(trace):
    wrong = [msr(600, 0, "Raed", 0, 4096)] * 20
    lines = trace.read_text().splitlines(keepends=True)
    before = rows(trace)
    trace.write_text("".join(lines[:100] + wrong[:1] + lines[100:] + wrong[1:]))
    done = weir("trace", "stat", "--csv", trace, code=3)
    assert list(csv.DictReader(io.StringIO(done.stdout.decode()))) == before
    told = done.words.splitlines()
    assert len(told) == 17 and told[0].startswith("%s:101: its type is not Read or Write" % trace)
    assert told[1].startswith("%s:770: " % trace) and "4 more" in told[16]
    file, = answer("trace", "stat", trace, code=3)["files"]
    assert (file["bad"], file["lines"], len(file["first_bad"])) == (20, 788, 16)
    assert file["first_bad"][0] == {"line": 101, "why": "its type is not Read or Write"}


def test_what_is_no_trace_keeps_no_other_from_being_told(trace, tmp_path):
    (tmp_path / "letter").write_text("Dear Sir or Madam,\n")
    for other in tmp_path / "letter", tmp_path / "nothing":
        done = weir("trace", "stat", other, trace, code=1)
        assert str(other) in done.words and done.stdout.decode().splitlines()[1].startswith("usr ")
    assert weir("trace", "stat", tmp_path / "letter", code=1).stdout == b""


def test_of_a_format_that_reads_no_line_there_is_no_row(trace, tmp_path):
    done = weir("trace", "stat", "--format", "spc", trace, code=1)
    assert done.words == "weir: %s: no line of it can be read as spc; line 1: its LBA is not a whole number\n" % trace
    assert done.stdout == b""
    (tmp_path / "empty").write_text("")
    (tmp_path / "heads").write_text("# nothing\n")
    for name, words in ("empty", "it is empty, and no trace"), ("heads", "it has no requests (read as spc)"):
        done = weir("trace", "stat", "--format", "spc", tmp_path / name, code=1)
        assert (done.words, done.stdout) == ("weir: %s: %s\n" % (tmp_path / name, words), b"")


def names_of(*paths, cwd=None):
    return [row["name"] for row in rows(*paths, cwd=cwd)]


@pytest.mark.parametrize("paths, names", [
    (["d1/a.msr", "d1/b.msr"], ["a", "b"]), (["d1/a.msr", "d2/a.msr"], ["d1/a", "d2/a"]),
    (["d1/a.msr", "d1/a.spc"], ["a.msr", "a.spc"]), (["d1/a.msr", "d2/a.msr", "d1/a.spc", "b"],
                                                     ["d1/a.msr", "d2/a.msr", "d1/a.spc", "b"]),
    (["d1/a.msr", "d1/a.msr", "d2/a.msr"], ["d1/a", "d1/a#2", "d2/a"]), (["d1/b.msr", "d1/b.msr"], ["b", "b#2"]),
    (["e1/d1/a.msr", "d1/a.msr"], ["e1/d1/a", "d1/a"]), (["#d/a.msr", "d2/a.msr"], ["-d/a", "d2/a"]),
    (["d1/" + "x" * 250, "d2/" + "x" * 250], ["d1/" + "x" * 112, "d2/" + "x" * 112]),
    (["d1/" + "x" * 250, "d1/" + "x" * 249 + "y"], ["x" * 115, "x" * 115 + "#2"])],
    ids=lambda words: " ".join(words)[:40])
def test_no_two_workloads_have_one_name(binary, tmp_path, paths, names):
    for path in paths:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(two_disks())
    assert names_of(*paths, cwd=tmp_path) == names
    each = names_of("--per-volume", *paths, cwd=tmp_path)
    assert each == [name + volume for name in names for volume in (":usr.0", ":usr.1")]


@pytest.mark.parametrize("args, words", [
    ([], "which command?"), (["synt"], "'synth' is meant?"), (["stat"], "of which trace?"),
    (["stat", "-", "x", "-"], "standard input is one file, and `-' is given 2 times"),
    (["stat", "--csv", "--json", "x"], "either --csv or --json"), (["stat", "--format", "cvs", "x"], "msr, spc, fiu"),
    (["stat", "--window", "1ms", "x"], "--window '1ms': it must be from 1s to 168h"),
    (["stat", "--window", "7d", "x"], "--window '7d': not a time like 200ms, 5s, 10m, 24h or 0.5"), (["synth"], "--write-rate is missing"),
    (["synth", "--seq-ratio", "101"], "100 percent at most"), (["synth", "--write-rate", "-1"], "a number of 0 or more"),
    (["synth", "--peak-iops", "nan"], "not a number"), (["synth", "x"], "what is 'x'?"),
    (["replay"], "which trace?"), (["replay", "x"], "against which volume?"),
    (["replay", "--speed", "2", "--as-fast-as-possible", "x", "nvme+tcp://h/nqn.2026-11.local:x"], "either --speed or"),
    (["replay", "--speed", "0", "x", "nvme+tcp://h/nqn.2026-11.local:x"], "--speed '0'")])
def test_words_that_are_not_understood(binary, args, words):
    assert words in weir("trace", *args, code=2).words


def shown_while_read(*options):
    """What is on the terminal while a trace comes in by a pipe, until there is a bar or 30000 lines were taken."""
    ours, theirs = pty.openpty()
    done = subprocess.Popen([targets.WEIR, "trace", "stat", "-", *options], stdin=subprocess.PIPE,
                            stdout=subprocess.DEVNULL, stderr=theirs)
    os.close(theirs)
    lines = two_disks().encode()
    for i in range(1000000):
        done.stdin.write(lines)
        if select.select([ours], [], [], 0)[0] or (options and i == 40):
            break
    done.stdin.close()
    shown = b""
    while select.select([ours], [], [], SECONDS)[0]:
        try:
            shown += os.read(ours, 4096)
        except OSError:  # it has ended
            break
    os.close(ours)
    assert done.wait(SECONDS) == 0
    return shown.decode()


def test_a_bar_on_a_terminal(binary):
    shown = shown_while_read()
    assert re.match(r"\rstandard input: [0-9.]+ [KMG]iB, [0-9]+ MB/s, ", shown), shown
    assert shown.endswith("\r\x1b[K")
    assert shown_while_read("--quiet") == ""


# ---- made to order ----

def synth(demand, *args, **how):
    return weir("trace", "synth", *[word for pair in demand.items() for word in pair], *args, **how)


@pytest.mark.parametrize("format", ["msr", "spc", "fiu", "ssdsim", "vscsi", "blkparse"])
def test_what_is_made_is_what_was_ordered(binary, tmp_path, format):
    synth(DEMAND, "--format", format, "-o", tmp_path / "made")
    file, = answer("trace", "stat", tmp_path / "made")["files"]
    assert (file["format"], file["bad"]) == (format, 0)
    row, = rows(tmp_path / "made")
    for name, option in zip(FIRST_SIX[1:], DEMAND):
        assert float(row[name]) == pytest.approx(DEMAND[option], rel=0.01), name
    assert float(row["duration_s"]) == 1200


def test_a_seed_is_a_trace(binary, tmp_path):
    synth(DEMAND, "--seed", 7, "-o", tmp_path / "seven")
    seven = (tmp_path / "seven").read_bytes()
    assert synth(DEMAND, "--seed", 7).stdout == seven != synth(DEMAND, "--seed", 8).stdout


def test_reads_alone_are_in_no_order(binary):
    demand = {**DEMAND, "--write-rate": 0, "--write-ratio": 0}
    del demand["--seq-ratio"]
    row, = rows("-", stdin=synth(demand).stdout)
    assert (row["seq_ratio_pct"], row["writes"]) == ("", "0") and float(row["peak_iops"]) == pytest.approx(40, rel=0.01)


def test_what_contradicts_itself_is_not_made(binary, tmp_path):
    done = synth({**DEMAND, "--working-set": 5000}, "-o", tmp_path / "made", code=1)
    assert "the working set is not touched" in done.words and not (tmp_path / "made").exists()
    assert "cannot write to standard output" in synth(DEMAND, code=1, preexec_fn=lambda: os.dup2(os.open("/dev/full", 1), 1)).words
    assert "No space left" in synth(DEMAND, "-o", "/dev/full", code=1).words


# ---- played ----

def where_written(target):
    """The blocks that are not zeros."""
    data = volume(target)
    return [i for i in range(SIZE // 4096) if data[i * 4096:(i + 1) * 4096].strip(b"\0")]


def played(target, trace, *options, **how):
    return answer("trace", "replay", trace, uri(target, 1), "--as-fast-as-possible", *options, **how)


def test_reads_alone_are_played_and_the_volume_stays_as_it_is(serve, trace):
    target = serve(ns=TARGET_NS)
    said = played(target, trace)
    assert (said["requests"], said["writes_left_out"], said["read"]["ios"], said["write"]["ios"]) == (256, 512, 256, 0)
    assert said["late_us"] is None and said["errors"] == 0 and not said["stopped"]
    assert said["trace_seconds"] == pytest.approx(510 * 600 / 512)
    assert where_written(target) == []
    words = weir("trace", "replay", trace, uri(target, 1), "--as-fast-as-possible").stdout.decode()
    assert re.search(r"^read +\d+ ", words, re.M) and "256 requests of 597.7 s, 512 writes left out" in words


def test_what_programs_are_told_of_playing_is_in_the_manual(serve, trace):
    said = played(serve(ns=TARGET_NS), trace)
    with open(targets.REPO + "/doc/man/weir-trace.1") as page:
        listed = re.search(r"\nOf\n\.Cm replay\nit has\n(.*?)\n\.El\n", page.read(), re.S).group(1)
    assert [name for line in re.findall(r"^\.It Cm (.*)$", listed, re.M) for name in line.split(" , ")] == list(said)


def test_a_request_lies_where_it_is_folded_to(serve, tmp_path):
    """modulo the volume's size, in whole blocks, and around its end"""
    target = serve(ns=TARGET_NS)
    (tmp_path / "w").write_text(msr(0, 0, "Write", 5 * SIZE + 3 * 4096 + 512, 4096) + msr(1, 0, "Write", 2 * SIZE - 512, 1024) +
                                msr(2, 0, "Write", 9 * SIZE + (4 << 20), 512))
    said = played(target, tmp_path / "w", "--overwrite")
    assert where_written(target) == [0, 3, 4, 1024, 2047]
    assert (said["requests"], said["write"]["ios"]) == (3, 4), "the one around the end is two commands"


def test_what_is_more_than_the_target_takes_at_once_is_several_commands(serve, tmp_path):
    target = serve(ns=TARGET_NS)
    (tmp_path / "w").write_text(msr(0, 0, "Write", 0, 5 << 19))
    said = played(target, tmp_path / "w", "--overwrite", "--depth", 2)
    assert said["write"]["ios"] == 3 and where_written(target) == list(range(640))


def test_one_volume_of_a_trace(serve, trace, tmp_path):
    target = serve(ns=TARGET_NS)
    said = played(target, trace, "--volume", "usr.1")
    assert (said["requests"], said["other_volumes"], said["writes_left_out"]) == (256, 512, 0)
    done = weir("trace", "replay", trace, uri(target, 1), "--volume", "usr.2", "--as-fast-as-possible", code=1)
    assert "%s: it has no volume 'usr.2'; its first is 'usr.0'" % trace in done.words and done.stdout == b""


def test_of_a_format_that_reads_no_line_nothing_is_played(serve, trace):
    done = weir("trace", "replay", trace, uri(serve(ns=TARGET_NS), 1), "--format", "spc", code=1)
    assert done.words == "weir: %s: no line of it can be read as spc; line 1: its LBA is not a whole number\n" % trace
    assert done.stdout == b""


def test_no_request_is_played_before_its_time(serve, tmp_path):
    target = serve(ns=TARGET_NS)
    (tmp_path / "r").write_text("".join(msr(i / 10, 0, "Read", 0, 4096) for i in range(5)))
    for speed, seconds in ("1", 0.4), ("0.5", 0.8):
        said = answer("trace", "replay", tmp_path / "r", uri(target, 1), "--speed", speed)
        assert said["seconds"] >= seconds and said["requests"] == 5 and said["late_us"]["max"] >= said["late_us"]["p50"]


def test_a_day_is_played_in_a_moment_if_it_is_to_be(serve, tmp_path):
    """at its own pace this would not end before the test does"""
    (tmp_path / "r").write_text(msr(0, 0, "Read", 0, 4096) + msr(86400, 0, "Read", 0, 4096))
    said = answer("trace", "replay", tmp_path / "r", uri(serve(ns=TARGET_NS), 1), "--speed", "864000")
    assert said["seconds"] >= 0.1 and (said["requests"], said["trace_seconds"]) == (2, 86400)


def test_lines_that_cannot_be_read_are_told_by_who_plays_too(serve, trace):
    trace.write_text(trace.read_text() + "rubbish\n")
    done = weir("trace", "replay", trace, uri(serve(ns=TARGET_NS), 1), "--as-fast-as-possible", "--json", code=3)
    assert json.loads(done.stdout)["bad_lines"] == 1 and done.words.startswith("%s:769: " % trace)


def test_an_io_that_fails_is_told(serve, trace):
    target = serve(ns=["fault:read-error=512@mem:8M"])
    said = played(target, trace, code=1)
    assert said["errors"] == 64 and said["first_error"].startswith("a read of 2 blocks at block 512: ")
    assert said["requests"] == 256 and said["read"]["ios"] == 256 - 64


def test_it_can_be_stopped(serve, tmp_path):
    target = serve(ns=TARGET_NS)
    (tmp_path / "w").write_text(msr(0, 0, "Write", 0, 4096) + msr(86400, 0, "Write", 4096, 4096))
    playing = start("trace", "replay", tmp_path / "w", uri(target, 1), "--overwrite", "--json")
    until("the first write", lambda: where_written(target) == [0])
    playing.send_signal(signal.SIGINT)
    out, error = playing.communicate(timeout=SECONDS)
    said = json.loads(out)
    assert playing.returncode == 1 and said["stopped"] and (said["requests"], said["unanswered"]) == (1, 0), error
    assert where_written(target) == [0]


def test_nobody_is_there(serve, trace):
    target = serve()
    where = uri(target, 1)
    target.stop()
    assert "a target running there" in weir("trace", "replay", trace, where, "--connect-timeout", "2s", code=1).words
