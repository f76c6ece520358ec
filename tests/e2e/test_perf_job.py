"""`weir perf --job`: several loads of one file, beside and after one another."""
import json
import os
import re

import pytest

import target as targets
from tools import answer, uri, weir

TARGET_NS = ("mem:64M", "mem:64M")
PAGE = os.path.join(targets.REPO, "doc", "man", "weir-perf.1")


def job_file(folder, text, **uris):
    path = folder / "jobs.yaml"
    path.write_text(text % uris)
    return path


def of_jobs(found):
    """The jobs by name; all ran, and no I/O was wrong."""
    assert found["errors"] == 0 and found["verify"]["wrong"] == 0, found
    assert all(job["ran"] for job in found["jobs"]), found
    return {job["name"]: job for job in found["jobs"]}


def ios(result):
    return result["read"]["ios"] + result["write"]["ios"]


def test_two_jobs_at_once(target, tmp_path):
    """each with its own size, count and seed, and the numbers of both in the sum"""
    path = job_file(tmp_path, """
defaults: { rw: randrw, verify: yes, qd: 4, time: 2 }
jobs:
  - { name: small, uri: "%(first)s", bs: 4k, queues: 2, threads: 2 }
  - { name: large, uri: ["%(second)s"], bs: 64k, mix: 20 }
""", first=uri(target, 1), second=uri(target, 2))
    found = answer("perf", "--job", path)
    jobs = of_jobs(found)
    assert list(jobs) == ["small", "large"]
    assert ios(found) == sum(map(ios, jobs.values())) and all(job["verify"]["checked"] > 0 for job in jobs.values())
    assert [job["uris"][0]["uri"] for job in jobs.values()] == [uri(target, 1), uri(target, 2)]
    assert jobs["large"]["write"]["ios"] > jobs["large"]["read"]["ios"], "mix"
    both = sum(job["seconds"] for job in jobs.values())
    assert found["seconds"] < 0.8 * both, "not one after the other"


def test_one_after_the_other(target, tmp_path):
    """in the order of `after`, not of the file; on one volume, so that nothing else may write while one verifies"""
    path = job_file(tmp_path, """
jobs:
  - { name: last, uri: "%(it)s", rw: randread, ios: 500, after: second }
  - { name: second, uri: "%(it)s", rw: randrw, verify: yes, ios: 3000, after: first }
  - { name: first, uri: "%(it)s", rw: write, bs: 64k, ios: 1000 }
""", it=uri(target, 1))
    found = answer("perf", "--job", path)
    jobs = of_jobs(found)
    assert {name: ios(job) for name, job in jobs.items()} == {"last": 500, "second": 3000, "first": 1000}
    assert jobs["second"]["verify"]["checked"] > 0
    assert found["seconds"] >= sum(job["seconds"] for job in jobs.values())
    words = weir("perf", "--job", path).stdout.decode()
    assert words.index("last: nvme") < words.index("second: nvme") < words.index("first: nvme") < words.index("total")
    assert "verified: " in words


def test_a_job_that_cannot_be_begun_holds_up_nobody(target, tmp_path):
    """what waits for it does not run, whatever the order of the file; the others do"""
    path = job_file(tmp_path, """
defaults: { ios: 100 }
jobs:
  - { name: third, uri: "%(there)s", after: second }
  - { name: second, uri: "%(there)s", after: first }
  - { name: first, uri: "%(there)s", bs: 3k }
  - { name: other, uri: "%(there)s" }
""", there=uri(target, 1))
    done = weir("perf", "--job", path, "--json", code=1)
    jobs = {job["name"]: (job["ran"], ios(job)) for job in json.loads(done.stdout)["jobs"]}
    assert jobs == {"third": (False, 0), "second": (False, 0), "first": (False, 0), "other": (True, 100)}
    assert "bs is no multiple of the block size" in done.words
    assert weir("perf", "--job", path, code=1).stdout.decode().count("did not run") == 3


def test_the_example_of_the_manual_page(target):
    with open(PAGE) as page:
        text = re.search(r"\.Sh EXAMPLES.*?\.Bd [^\n]*\n(.*?)\.Ed", page.read(), re.S).group(1)
    text, count = re.subn(r"nvme\+tcp://\S+\?ns=(\d)", lambda found: uri(target, int(found.group(1))), text)
    assert count == 3
    jobs = of_jobs(answer("perf", "--job", "-", stdin=text.encode()))
    assert {name: ios(job) for name, job in jobs.items() if name != "log"} == {"fill": 2000, "use": 2000}
    assert 500 < ios(jobs["log"]) <= 1000 * (jobs["log"]["seconds"] + 0.01) + 1
    assert jobs["use"]["verify"]["checked"] > 0


def test_mistakes_are_told_with_file_and_line(binary, tmp_path):
    path = job_file(tmp_path, "jobs:\n  - name: a\n    uri: nvme+tcp://127.0.0.1/nqn.2026-11.a\n    qd: 0\n    after: b\n")
    done = weir("perf", "--job", path, code=1)
    assert done.stdout == b"" and done.words.splitlines() == [
        "%s:4: `qd` cannot be `0`: not a number from 1 to 1023" % path,
        "%s:5: there is no job `b` for it to be after" % path]
    assert "standard input:1: the file needs `jobs`" in weir("perf", "--job", "-", code=1, stdin=b"{}").words
    assert "none.yaml: No such file" in weir("perf", "--job", tmp_path / "none.yaml", code=1).words


@pytest.mark.parametrize("more, words", [
    (["nvme+tcp://127.0.0.1/nqn.2026-11.a"], "either URIs or --job"), (["--qd", "3"], "either --qd or --job")], ids=str)
def test_what_a_file_says_is_not_said_beside_it(binary, tmp_path, more, words):
    assert words in weir("perf", "--job", tmp_path / "jobs.yaml", *more, code=2).words
