"""`weir plan`: what to buy and what goes where, as a table, JSON and a page; and bad input, by file and line."""
import html.parser
import json
import re
import shlex
import subprocess

import pytest

from target import REPO, WEIR
from tools import SECONDS, answer, weir

HEADING = "name,seq_ratio_pct,write_rate_gb_day,peak_iops,write_ratio_pct,working_set_gb\n"
MODELS = "model,usd,setup_usd,capacity_gb,read_iops,write_iops,endurance_gb,active_w,idle_w,duty_pct\n"


def said(*args, code=0, **how):
    return weir("plan", *args, code=code, **how).stdout.decode()


def plan(*args, code=0, **how):
    return answer("plan", *args, code=code, **how)


@pytest.fixture(scope="module")
def example(binary, tmp_path_factory):
    """workloads in a file, and their names"""
    path = tmp_path_factory.mktemp("plan") / "workloads.csv"
    path.write_text(said("--example"))
    return path, [line.split(",")[0] for line in path.read_text().splitlines()[1:]]


@pytest.fixture
def files(tmp_path):
    """of texts, by name"""
    def write(**texts):
        for name, text in texts.items():
            (tmp_path / (name + ".csv")).write_text(text)
        return [str(tmp_path / (name + ".csv")) for name in texts]
    return write


# ---- plans ----

def test_the_example_is_the_same_each_time_and_of_a_seed(example):
    path, names = example
    assert said("--example") == path.read_text() != said("--example", "--seed", 2)
    assert len(set(names)) == len(names) >= 20


def test_people_are_told_what_to_buy_and_why(example):
    path, names = example
    text = said("--workloads", path, "--why")
    assert re.search(r"\nBuy:\n +\d+ x \S.*, \d+\.\d\d USD", text)
    assert re.search(r"\nCost: (\d+\.\d\d) USD, of these [\d.]+ to buy, [\d.]+ to replace", text)
    places = text.split("\nWhat goes where\n")[1].splitlines()[1:]
    assert [line.split()[0] for line in places] == names
    assert all(re.search(r"  cost(s nothing more|s \d+\.\d\d USD) there \(\d+ % of a disk's life\)", line) for line in places)


def test_programs_are_told_all_of_it(example):
    path, names = example
    said = plan("--workloads", path)
    assert [place["workload"] for place in said["places"]] == names and said["workloads"] == len(names)
    assert sorted(name for disk in said["disks"] for name in disk["workloads"]) == sorted(names)
    on = {place["workload"]: place["disk"] for place in said["places"]}
    assert all(on[name] == disk["disk"] for disk in said["disks"] for name in disk["workloads"])
    assert sum(drive["disks"] for drive in said["drives"]) == len(said["disks"]) == said["ways"][0]["disks"]
    assert said["usd"] == said["ways"][0]["usd"] == min(way["usd"] for way in said["ways"] if way["more_pct"] is not None)
    assert sum(disk["usd"] for disk in said["disks"]) == pytest.approx(said["usd"], rel=1e-6)
    parts = ("bought_usd", "replaced_usd", "power_usd", "labour_usd")
    assert sum(said[part] for part in parts) == pytest.approx(said["usd"], rel=1e-6)
    assert {way["placed_by"] for way in said["ways"]} == \
        {"first fit", "least used", "offline, greedy", "offline, grouped", "minTCO-v3", "minTCO-Perf", "searched"}
    online = [way for way in said["ways"] if way["placed_by"].startswith("minTCO")]
    assert len(online) == 2 and all(way["disks"] <= len(said["disks"]) for way in online), "on the drives of the best"
    assert all(disk["room_pct"] <= 80 and disk["iops_pct"] <= 70 and disk["waf"] >= 1 for disk in said["disks"])
    assert said["assumed"] == {"years": 5, "room_max_pct": 80, "iops_max_pct": 70, "usd_per_kwh": 0.1, "pue": 1.58,
                               "labour_usd_per_day": 0.14, "setup_usd": 25, "raid": None, "set": 1, "seed": 1}
    assert said["without_a_place"] == said["warnings"] == []
    assert said == plan("--workloads", path), "the same each time"


def test_one_model_by_hand(files):
    """4.2 W on average for 365 days, two workloads whose writes are 20 GB a day as many physical ones"""
    workloads, disks = files(workloads=HEADING + "a,0,2,100,50,400\nb,0,3,100,50,300\n",
                             disks=MODELS + "one,900,100,1000,100000,50000,1e5,9,3,20\n")
    said = plan("--workloads", workloads, "--disks", disks, "--years", 1, "--kwh", 0.2, "--pue", 2, "--labour", 0.5)
    assert (said["drives"], said["disks"][0]["workloads"]) == (
        [{"model": "one", "owned": False, "disks": 1, "drives": 1, "usd": 1000, "estimated": ""}], ["b", "a"])
    assert (said["bought_usd"], said["replaced_usd"]) == (1000, 0)
    assert said["power_usd"] == pytest.approx(4.2 * 0.024 * 0.2 * 2 * 365)
    assert said["labour_usd"] == pytest.approx(0.5 * 365)
    assert said["disks"][0]["wear_pct"] == pytest.approx(100 * 5 * 4 * 365 / 1e5)
    assert said["disks"][0]["worn_out_years"] == pytest.approx(1e5 / 20 / 365)
    ten = plan("--workloads", workloads, "--disks", disks, "--years", 20)
    assert ten["replaced_usd"] == pytest.approx(1000 * (5 * 4 * 365 * 20 / 1e5 - 1))
    mirrored = plan("--workloads", workloads, "--disks", disks, "--raid", 1, "--set", 4)
    assert mirrored["drives"][0]["drives"] == 4 and mirrored["bought_usd"] == 4000
    assert mirrored["disks"][0]["room_pct"] == pytest.approx(35) and mirrored["assumed"]["raid"] == "RAID 1"


def test_a_price_that_is_estimated_is_marked(files):
    workloads, disks = files(workloads=HEADING + "a,0,2,100,50,700\nb,0,3,100,50,1500\n",
                             disks=MODELS.replace("\n", ",estimated\n") + "one,900,100,1000,100000,50000,1e5,9,3,20,idle_w\n"
                             "two,1800,100,2000,100000,50000,1e5,9,3,20,active_w USD\n")
    text = said("--workloads", workloads, "--disks", disks)
    assert "\n    1 x one, 1000.00 USD\n" in text and "\n    1 x two, 1900.00 USD (price estimated)\n" in text, text


def test_what_is_soon_worn_out_is_said_in_days(files):
    workloads, disks = files(workloads=HEADING + "a,0,2000,1000,50,400\n",
                             disks=MODELS + "one,900,100,1000,100000,50000,1e5,9,3,20\n")
    text = said("--workloads", workloads, "--disks", disks, "--years", 1)
    assert re.search(r"^ +1 +one .* 12 days +\d+$", text, re.M) and "0.0 years" not in text, "1e5 GB, 8000 a day"


def test_models_are_chosen_limited_and_left_out(example):
    path, _ = example
    models = {way["model"] for way in plan("--workloads", path)["ways"]}
    assert len(models) > 12 and None in models
    only = plan("--workloads", path, "--model", "7450 MAX", "--model", "Samsung PM9A3 960GB=2")
    assert {way["model"] for way in only["ways"]} == {"Micron 7450 MAX 800GB", "Samsung PM9A3 960GB", None}
    assert sum(drive["disks"] for drive in only["drives"] if drive["model"] == "Samsung PM9A3 960GB") <= 2
    assert {way["model"] for way in plan("--workloads", path, "--model", "660p=0")["ways"]} == models - {"Intel 660p 1TB"}


def test_drives_that_are_there_are_filled_and_those_worn_out_are_not(example, files):
    path, names = example
    pool, = files(pool="model,count,worn_pct\nSamsung PM9A3 960GB,9,30\nMicron 7450 MAX 800GB,4,\n"
                  "Intel D7-P5500 3.84TB,1,100\n")
    done = weir("plan", "--workloads", path, "--pool", pool, "--json")
    said = json.loads(done.stdout)
    assert done.words == "%s:4: warning: Intel D7-P5500 3.84TB: it is worn out, and takes nothing\n" % pool
    assert said["warnings"] == [done.words.replace("warning: ", "").rstrip("\n")]
    assert all(drive["owned"] for drive in said["drives"]) and said["bought_usd"] == 0
    assert {drive["model"] for drive in said["drives"]} <= {"Samsung PM9A3 960GB", "Micron 7450 MAX 800GB"}
    assert all(disk["wear_pct"] >= 30 for disk in said["disks"] if disk["model"] == "Samsung PM9A3 960GB")
    assert len(said["places"]) == len(names)
    few, = files(few="model,count\nSamsung PM9A3 960GB,2\n")
    short = plan("--workloads", path, "--pool", few, code=3)
    assert len(short["places"]) + len(short["without_a_place"]) == len(names) and short["without_a_place"]
    assert {one["constraint"] for one in short["without_a_place"]} <= {"room", "iops"}
    more = plan("--workloads", path, "--pool", few, "--model", "7450 PRO")
    assert more["bought_usd"] > 0 and not more["without_a_place"]


def test_of_very_many_workloads_all_have_a_place_and_only_the_search_is_made(files):
    workloads, = files(workloads=HEADING + "".join("w%d,%d,%d,100,50,%d\n" % (i, i % 100, 1 + i % 7, 1 + i % 9)
                                                   for i in range(10001)))
    said = plan("--workloads", workloads, "--model", "PM9A3")
    assert sorted(way["placed_by"] for way in said["ways"]) == ["minTCO-Perf", "minTCO-v3", "searched"]
    assert said["ways"][0]["placed_by"] == "searched"
    assert len(said["places"]) == 10001 and "why" not in said["places"][0], "of so many nobody asks why"
    assert "... and 9941 more: --json and --html have all of them\n" in \
        weir("plan", "--workloads", workloads, "--model", "PM9A3", "--why").stdout.decode()


SYNTH = ["--seq-ratio", 50, "--write-rate", 40, "--write-ratio", 60, "--peak-iops", 60, "--working-set", 0.5]


def test_traces_are_workloads_as_their_statistics_are(tmp_path, files):
    """a trace that is told and planned, and the same by way of a file"""
    traces = []
    for name, seed in (("one", 1), ("two", 2)):
        traces.append(str(tmp_path / (name + ".msr")))
        made = weir("trace", "synth", "--seed", seed, "--duration", "1h", "--format", "msr", *SYNTH)
        (tmp_path / (name + ".msr")).write_bytes(made.stdout)
    (tmp_path / "told.csv").write_bytes(weir("trace", "stat", "--csv", *traces).stdout)
    said, told = plan(*traces), plan("--workloads", tmp_path / "told.csv")
    assert [place["workload"] for place in said["places"]] == ["one", "two"]
    assert said["usd"] == pytest.approx(told["usd"], rel=1e-3)
    assert said["disks"][0]["write_gb_day"] == pytest.approx(told["disks"][0]["write_gb_day"], rel=1e-3)
    assert [place["workload"] for place in plan(traces[0], traces[0])["places"]] == ["one", "one#2"]
    done = weir("plan", "--workloads", tmp_path / "told.csv", traces[0], code=1)
    assert done.words == "weir plan: %s: the file of workloads has one that is called one\n" % traces[0]
    with open(traces[0], "ab") as trace:
        trace.write(b"nonsense\n")
    assert "one.msr:" in weir("plan", traces[0], code=3).words


def test_what_is_told_of_traces_is_planned_without_a_word(tmp_path):
    """also of traces that are called alike, and each volume of its own"""
    for folder in "d1", "d2":
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.msr").write_bytes(weir("trace", "synth", "--duration", "1h", *SYNTH).stdout)
    told = weir("trace", "stat", "--csv", "--per-volume", "d1/a.msr", "d2/a.msr", cwd=tmp_path).stdout
    done = weir("plan", "--workloads", "-", "--json", stdin=told)
    assert done.words == "" and len(json.loads(done.stdout)["places"]) == 2
    names = [place["workload"] for place in plan("d1/a.msr", "d2/a.msr", cwd=tmp_path)["places"]]
    assert names == ["d1/a", "d2/a"]


def test_a_trace_that_says_too_little_is_named(tmp_path):
    (tmp_path / "short.csv").write_text("128166372003061629,usr,0,Read,0,4096,0\n")
    done = weir("plan", tmp_path / "short.csv", code=1)
    assert done.words == "weir plan: %s/short.csv: it is too short to say how much is written a day\n" % tmp_path


# ---- what has no place ----

def test_what_fits_nowhere_is_told_why_and_the_rest_is_planned(files):
    workloads, = files(workloads=HEADING + "big,50,10,100,50,70000\nfast,50,10,5000000,50,10\ngood,50,10,100,50,10\n")
    said = plan("--workloads", workloads, code=3)
    assert [place["workload"] for place in said["places"]] == ["good"]
    big, fast = said["without_a_place"]
    assert (big["workload"], big["constraint"], big["needs"]) == ("big", "room", 70000) and big["has"] < 70000
    assert (fast["workload"], fast["constraint"]) == ("fast", "iops") and fast["needs"] > fast["has"]
    words = weir("plan", "--workloads", workloads, code=3).stdout.decode()
    assert "\nWithout a place: 2\n  big: room: it takes 70000 GB, and " in words and "\n  fast: IOPS: " in words
    pool, = files(pool="model,worn_pct\nSamsung PM9A3 960GB,100\n")
    assert {one["constraint"] for one in plan("--workloads", workloads, "--pool", pool, code=3)["without_a_place"]} == {"worn"}


# ---- the page ----

class Page(html.parser.HTMLParser):
    """what is open, what is said, and what would be fetched or run"""
    VOID = {"meta", "rect", "path", "br"}

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.words, self.fetched = [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        if tag not in self.VOID:
            self.open.append(tag)
        self.fetched += [(tag, name) for name, _ in attributes if name in ("src", "href", "action", "srcset") or
                         name.startswith("on")]

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def test_the_page_stands_alone_and_has_all_of_it(example, tmp_path):
    path, names = example
    said = plan("--workloads", path, "--html", tmp_path / "plan.html")
    text = (tmp_path / "plan.html").read_text()
    page = Page(text)
    assert page.open == [] and page.fetched == [] and not {"script", "link", "img", "iframe"} & set(page.tags)
    assert not re.search(r"url\(|@import|https?:", text)
    words = "\n".join(page.words)
    assert all(re.search(r"\b%s\b" % name, words) for name in names)
    assert all(place["why"] in words for place in said["places"])
    assert all(way["why"] in words for way in said["ways"] if way["placed_by"] == "searched")
    assert page.tags.count("svg") == 6 and "prefers-color-scheme: dark" in text and "@media print" in text
    for title in ("What each way costs", "Until it is worn out", "Room that is taken", "I/Os that peaks take",
                  "Sequential writes", "How worn disks are, over the years", "What is assumed"):
        assert title in words


def test_names_are_text_and_nothing_else(files, tmp_path):
    workloads, disks = files(workloads=HEADING + "\"<b>\"\"&'</b>\",0,2,100,50,400\n\u00e9t\u00e9,0,2,100,50,99999\n",
                             disks=MODELS + "<i>disk</i>,900,100,1000,100000,50000,1e5,9,3,20\n")
    plan("--workloads", workloads, "--disks", disks, "--html", tmp_path / "plan.html", code=3)
    page = Page((tmp_path / "plan.html").read_text())
    assert "<b>\"&'</b>" in page.words and "<i>disk</i>" in page.words and "\u00e9t\u00e9" in page.words
    assert not {"b", "i"} & (set(page.tags) - {"b"}) and page.tags.count("b") == 4


def test_a_page_that_cannot_be_written_is_said(example, tmp_path):
    path, _ = example
    done = weir("plan", "--workloads", path, "--html", tmp_path / "no" / "plan.html", code=1)
    assert done.words == "weir plan: %s/no/plan.html: No such file or directory\n" % tmp_path


# ---- bad input ----

def test_all_that_is_wrong_is_said_by_file_and_line(files):
    workloads, disks = files(workloads=HEADING + "a,nan,-2,100,50,400\n# fine\na,0,3,100,150,300\nb,1,2\n",
                             disks=MODELS + "one,900,100,0,100000,50000,1e5,9,3,20\n")
    done = weir("plan", "--workloads", workloads, "--disks", disks, code=1)
    assert done.stdout == b"" and done.words.splitlines() == [
        workloads + ":2: write_rate_gb_day: -2 is less than 0",
        workloads + ":2: seq_ratio_pct: 'nan' is not a number",
        workloads + ":4: write_ratio_pct: 150 is not from 0 to 100 %",
        workloads + ":5: it has 3 cells, and the heading has 6",
        disks + ":2: capacity_gb: 0 is not from 0.001 to 1e+07 GB"]


def test_what_may_not_be_meant_is_warned_of(files):
    workloads, = files(workloads=HEADING.replace("\n", ",colour\n") + "a,50,600000,100000,50,10,red\n")
    done = weir("plan", "--workloads", workloads, code=0)
    assert done.words.splitlines() == [
        workloads + ":1: warning: column 'colour' is not known, and not used",
        workloads + ":2: warning: a: its write rate is more than 500 TB a day: is it in MB?"]


def test_standard_input_and_what_comes_too_late(binary):
    text = (HEADING.replace("\n", ",arrival_days\n") + "a,50,20,1000,50,10,400\n").encode()
    assert json.loads(weir("plan", "--workloads", "-", "--json", stdin=text).stdout)["workloads"] == 1
    done = weir("plan", "--workloads", "-", "--years", 1, code=1, stdin=text)
    assert done.words == "standard input:2: arrival_days: a comes after 400 days, and 1 years are over by then: --years\n"


@pytest.mark.parametrize("args, words", [
    ([], "which workloads?"), (["--years", "0"], "--years '0': not a number from 0.01 to 100"),
    (["--years", "nan"], "--years 'nan': not a number"), (["--room", "101"], "--room '101': not a number"),
    (["--raid", "6"], "--raid '6': not 0, 1 or 5"), (["--set", "4"], "--set is of --raid"),
    (["--workloads", "x"], "--workloads is given twice: '"), (["--disks", "x", "--disks", "y"], "--disks is given twice: 'x' "),
    (["--pool", "x", "--pool", "x"], "--pool is given twice: "), (["--html", "x", "--html", "y"], "--html is given twice: "),
    (["--pool", "-", "--disks", "-"], "standard input is one file, and `-' is given 2 times"),
    (["-", "a", "-", "--pool", "-"], "standard input is one file, and `-' is given 3 times"),
    (["--html", "-"], "--html '-': a page is written to a file"), (["--example"], "--example prints workloads and plans nothing"),
    (["--raid", "1", "--set", "3"], "--set 3: RAID 1 takes an even number of disks, 2 at least"),
    (["--set", "2", "--raid", "5"], "--set 2: RAID 5 takes 3 disks at least"),
    (["--model", "x=y"], "--model 'y': not a number"), (["--pue", "0.5"], "--pue '0.5': not a number from 1 to 10")],
    ids=lambda words: str(words)[:30])
def test_what_is_not_understood_says_why(example, args, words):
    done = weir("plan", *(["--workloads", example[0]] if args else []), *args, code=2)
    assert done.stdout == b"" and "weir plan: " + words in done.words


@pytest.mark.parametrize("args", [["--json"], ["x.csv"], ["--years", "2"], ["--pool", "x"], ["--setup", "1"]], ids=str)
def test_an_example_plans_nothing(binary, args):
    done = weir("plan", "--example", "--seed", 2, *args, code=2)
    assert done.stdout == b"" and "weir plan: --example prints workloads and plans nothing" in done.words


def test_what_cannot_be_planned_says_why(example, tmp_path):
    path, _ = example
    with open(REPO + "/catalogue/ssds.csv") as text:
        intel = [line.split(",")[0] for line in text if line.startswith("Intel ")]
    for args, words in (["--model", "PM9A4"], "--model 'PM9A4': the catalogue has none that is called so; "), \
            (["--model", "intel"], "--model 'intel' fits %d models: %s\n" % (len(intel), ", ".join(intel))), \
            (["--model", "PM9A3=0", "--model", "Samsung PM9A3 960GB=2"], "--model 'PM9A3=0' and --model 'Samsung PM9A3 960GB=2' "
             "contradict each other: both are Samsung PM9A3 960GB\n"), \
            (["--model", "PM9A3=3", "--model", "PM9A3"], "--model 'PM9A3=3' and --model 'PM9A3' contradict"), \
            (["--disks", tmp_path / "none"], "%s/none: No such file or directory" % tmp_path), \
            (["--disks", tmp_path], "%s: Is a directory" % tmp_path):
        done = weir("plan", "--workloads", path, *args, code=1)
        assert done.stdout == b"" and done.words.startswith("weir plan: " + words), done.words


# ---- what is written of it ----

def test_the_example_of_the_readme_runs(binary, tmp_path):
    with open(REPO + "/README.md") as text:
        section = re.search(r"^## What to buy, and what goes where\n(.*?)^## ", text.read(), re.S | re.M).group(1)
    commands = "\n".join(re.findall(r"^    (weir .*)$", section, re.M)).replace("weir ", shlex.quote(WEIR) + " ")
    done = subprocess.run(["bash", "-euc", commands], cwd=tmp_path, stdout=subprocess.PIPE, text=True, timeout=SECONDS)
    assert done.returncode == 0 and commands.count("\n") >= 1
    shown = [line[4:] for line in re.findall(r"^    .*$", section, re.M) if not line.startswith("    weir ")]
    assert len(shown) > 10 and all(line in done.stdout for line in shown if line.strip("."))


def test_the_catalogue_is_installed(installed):
    with open(REPO + "/catalogue/ssds.csv") as text:
        assert installed.find("weir/ssds.csv").read_text() == text.read()
