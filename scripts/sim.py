"""sim.py [--record] [SCENARIO|all] [SECONDS] - ./dev sim: seeds that nobody has played, as long as one likes.

Each scenario goes on behind its last seed of tests/sim/hours.txt.  With
--record that file is brought up to date, slice by slice; a slice in which
something went wrong is not recorded: it is mended first.  With changes that
are not committed nothing is recorded: nobody could say later what was played.
"""
import argparse
import json
import signal
import subprocess
import sys
from pathlib import Path

WEIR, OUT = "build/cmd/weir", "build"
HOURS = Path("tests/sim/hours.txt")
SLICE_S = 60
HEAD = """\
# How long each scenario has been played by `./dev sim --record`: all seeds below `next` went right, each with the
# commit that was there then; the last is named.
# %-18s %10s %12s  commit
""" % ("scenario", "next", "hours")


class Hours:
    """The file: {scenario: [next seed, hours, commit]}."""

    def __init__(self):
        lines = [line.split() for line in HOURS.read_text().splitlines() if not line.startswith("#")]
        self.rows = {name: [int(seed), float(hours), commit] for name, seed, hours, commit in lines}

    def next(self, scenario):
        return self.rows.get(scenario, [1])[0]

    def add(self, scenario, seed, virtual_ns, commit):
        hours = self.rows.get(scenario, [1, 0.0])[1] + virtual_ns / 3.6e12
        self.rows[scenario] = [seed, hours, commit]
        HOURS.write_text(HEAD + "".join("  %-18s %10d %12.4f  %s\n" % (name, *row)
                                        for name, row in sorted(self.rows.items())) +
                         "# %-18s %10s %12.4f\n" % ("all", "", sum(row[1] for row in self.rows.values())))


def commit():
    """The commit that the tree is; None where it has changes."""
    changed = subprocess.check_output(["git", "status", "--porcelain", "--", ".", f":!{HOURS}"], text=True)
    if changed.strip():
        return None
    return subprocess.check_output(["git", "rev-parse", "--short=12", "HEAD"], text=True).strip()


def scenarios():
    said = subprocess.check_output([WEIR, "sim", "--list", "--json"], text=True)
    return [one["scenario"] for one in json.loads(said)["scenarios"]]


def play(scenario, first, seconds):
    """(exit code, what came of it)"""
    done = subprocess.run([WEIR, "sim", "--scenario", scenario, "--seeds", f"{first}-", "--time", str(seconds),
                           "--out", OUT, "--json"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    if done.returncode not in (0, 1) or not done.stdout:
        sys.exit(f"weir sim --scenario {scenario}: exit code {done.returncode}")
    return json.loads(done.stdout)


def tell(found):
    """Of what went wrong: in words."""
    for one in found["findings"]:
        print("%(scenario)s, seed %(seed)d: %(outcome)s, by %(oracle)s: %(why)s\n    %(replay)s" % one)
        if "shortened" in one:
            print("    %(replay)s" % one["shortened"])


def arguments():
    parser = argparse.ArgumentParser(prog="./dev sim")
    parser.add_argument("--record", action="store_true", help=f"write how far it went into {HOURS}")
    parser.add_argument("scenario", nargs="?", default="all", help="one of `weir sim --list', or all (default)")
    parser.add_argument("seconds", nargs="?", type=int, default=60, help="how long (default 60)")
    return parser.parse_args()


def main():
    args, hours, stopped = arguments(), Hours(), []
    signal.signal(signal.SIGINT, lambda *_: stopped.append(True))  # `weir sim` ends well by itself
    names = scenarios()
    if args.scenario != "all" and args.scenario not in names:
        sys.exit(f"there is no scenario {args.scenario}: {', '.join(names)}")
    names = names if args.scenario == "all" else [args.scenario]
    name = commit() if args.record else None
    if args.record and name is None:
        sys.exit("the tree has changes that are not committed: nobody could say later what was played")
    slice_s, left = max(1, min(SLICE_S, args.seconds // len(names))), args.seconds
    at = {one: hours.next(one) for one in names}
    while left > 0 and not stopped:
        for scenario in names:
            found = play(scenario, at[scenario], slice_s)
            tell(found)
            if found["all"]["wrong"] > 0:
                sys.exit(1)
            mine, = found["scenarios"]
            print("%s: seeds %d-%d right, %.1f s of virtual time in %.1f s" % (
                scenario, at[scenario], mine["next_seed"] - 1, mine["virtual_ns"] / 1e9, found["all"]["elapsed_ms"] / 1e3),
                flush=True)
            at[scenario] = mine["next_seed"]
            if name:
                hours.add(scenario, at[scenario], mine["virtual_ns"], name)
            left -= slice_s
            if stopped or left <= 0:
                break


main()
