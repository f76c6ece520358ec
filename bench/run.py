#!/usr/bin/python3
"""The benchmarks: bench/run.py target|host|sim|flash|qos|ordered|place [--json] [--only FIGURE] [--quick].

The figures of the target are in target.py, those of the host in host.py, those
of the simulation in sim.py, those of the modelled SSD in flash.py, those of the
switch in qos.py, those of ordered writes in ordered.py, those of the planner in
place.py, and README.md says what each means.
"""

import argparse
import json
import os
import subprocess
import sys

import ends
import flash
import host
import ordered
import pairs
import place
import qos
import selftest
import sim
import target

HERE = os.path.dirname(os.path.abspath(__file__))
BENCHES = {"target": target.Target, "host": host.Host, "sim": sim.Sim, "flash": flash.Flash, "qos": qos.Qos,
           "ordered": ordered.Ordered, "place": place.Place}


def meets(bar, value):
    kind, limit = bar
    return {">=": value >= limit, "<=": value <= limit, "<": value < limit}[kind]


def commit():
    """What was measured, if the build is of the tree that this file lies in; None outside a repository."""
    said = subprocess.run(["git", "-C", HERE, "describe", "--always", "--dirty", "--abbrev=12"],
                          capture_output=True, text=True)
    return said.stdout.strip() or None


def run_bench(options):
    bench = BENCHES[options.what](options)
    every = list(bench.steps())
    known = [name for names, _, _ in every for name in names]
    for name in options.only:
        if name not in known:
            raise ends.Failed(f"--only {name}: not one of {', '.join(known)}")
    wanted = [one for one in every if not options.only or set(one[0]) & set(options.only)]
    try:
        for names, ratios, step in wanted:
            if ratios and not any(figure["name"] == "a_a_ratio" for figure in bench.figures):
                bench.measure_aa()
            bench.progress(f"-- {names[0]}")
            try:
                step()
            except ends.Failed as why:
                for name in names:
                    bench.add(name, None, "", reason=f"failed: {why}")
    finally:
        bench.close()
    return {"name": options.what, "commit": commit(), "machine": bench.machine.describe(), "figures": bench.figures}


def print_table(result, bars):
    print(f"{result['name']} on {result['machine']}\n")
    print(f"{'figure':52} {'mode':4} {'value':>12} {'low':>10} {'high':>10} {'n':>5}  {'unit':18} bar")
    for figure in sorted(result["figures"], key=lambda one: one["name"] not in bars):
        shown = ["-" if figure[key] is None else f"{figure[key]:g}" for key in ("value", "low", "high")]
        verdict = ""
        if figure["name"] in bars:
            bar = bars[figure["name"]]
            verdict = " ".join(str(part) for part in bar)
            if figure["value"] is None:
                verdict += ": not measured"
            else:
                verdict += ": met" if meets(bar, figure["value"]) else ": NOT MET"
        print(f"{figure['name']:52} {figure['mode'] or '':4} {shown[0]:>12} {shown[1]:>10} {shown[2]:>10} "
              f"{figure['n']:5}  {figure['unit']:18} {verdict}" +
              (f"  ({figure['reason']})" if figure["reason"] else ""))


def main():
    parser = argparse.ArgumentParser(prog="bench/run.py", description=__doc__.split("\n", 1)[0])
    parser.add_argument("what", choices=(*BENCHES, "selftest", "frozen"),
                        help="target, host, sim, flash, qos, ordered, place: the benchmarks; selftest: the ceiling "
                             "against itself, seconds; frozen: the ceiling's instructions per I/O are those recorded")
    parser.add_argument("--build", default=os.path.join(HERE, "..", "build"), help="the build directory")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--only", action="append", default=[], metavar="FIGURE", help="may be repeated")
    parser.add_argument("--quick", action="store_true", help="short slices and few pairs, to try it out")
    parser.add_argument("--slice", type=float, default=pairs.Effort.slice_s, metavar="S",
                        help=f"seconds of a slice ({pairs.Effort.slice_s})")
    parser.add_argument("--patience", type=float, default=pairs.Effort.patience_s, metavar="S",
                        help=f"seconds to spend on a ratio at most ({pairs.Effort.patience_s})")
    options = parser.parse_args()
    ends.raise_file_limit()
    try:
        if options.what == "selftest":
            return selftest.run(ends.Machine(options.build))
        if options.what == "frozen":
            return selftest.run_frozen(ends.Machine(options.build, needs_weir=False))
        result = run_bench(options)
    except ends.Failed as why:
        print(f"bench: {why}", file=sys.stderr)
        return 1
    if options.json:
        print(json.dumps(result, indent=1))
    else:
        print_table(result, BENCHES[options.what].bars)
    return 0


if __name__ == "__main__":
    sys.exit(main())
