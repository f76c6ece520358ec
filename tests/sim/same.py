#!/usr/bin/env python3
"""Do these programs tell the same history for the same seed?

    same.py [--seeds FIRST-LAST] PROGRAM...

Each program is run with each seed; a single one is run twice.  Where two
differ, the first entry of their traces that does is shown.
"""
import argparse
import concurrent.futures
import itertools
import os
import subprocess
import sys


def run(program, *args):
    return subprocess.run([program, *map(str, args)], check=True, capture_output=True, text=True).stdout


def first_difference(a, b, seed):
    lines = itertools.zip_longest(run(a, seed, "trace").splitlines(), run(b, seed, "trace").splitlines())
    for number, (left, right) in enumerate(lines, 1):
        if left != right:
            return f"entry {number}: {left} in {a}, {right} in {b}"
    return "not in their traces"


def differs(programs, seed):
    """Where their histories part, or None."""
    expected = run(programs[0], seed)
    for other in programs[1:]:
        if run(other, seed) != expected:
            return f"seed {seed} differs: {first_difference(programs[0], other, seed)}"
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", default="1-20")
    parser.add_argument("programs", nargs="+")
    args = parser.parse_args()
    first, _, last = args.seeds.partition("-")
    programs = args.programs if len(args.programs) > 1 else args.programs * 2
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as threads:
        said = threads.map(lambda seed: differs(programs, seed), range(int(first), int(last or first) + 1))
    sys.exit("\n".join(filter(None, said)) or None)


if __name__ == "__main__":
    main()
