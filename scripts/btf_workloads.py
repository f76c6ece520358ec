"""btf_workloads.py FEATURES.csv [--peak-over-mean R] [--days D] - statistics of traces, as workloads that can be placed.

FEATURES.csv is as BlockTraceFeatures writes it: a row for each traced disk, with counts of requests, mean sizes and gaps.
What comes out is a file of workloads as `weir plan` and `weir lab run --workloads` take it.  All of it is estimated:

  how long it was traced   requests times their mean gap, which is in microseconds; where that is not within a third of
                           D days (7), D days, which is said
  write rate               writes times their mean size, by that
  sequential share         of writes by count, not by bytes
  peak                     the mean rate times R, peak over mean of five minutes; 7.43 is that of one such disk
                           whose trace was there in full (a virtual machine's, two hours)
"""
import argparse
import csv
import sys

COLUMNS = "name", "write_rate_gb_day", "seq_ratio", "peak_iops", "write_ratio", "working_set_gb"


def workload(row, given):
    requests, writes = int(row["block_req_count"]), int(row["write_block_req_count"])
    days = requests * float(row["iat_avg"]) / 86400e6
    if not given.days * 2 / 3 < days < given.days * 4 / 3:
        print(f"{row['workload']}: traced for {days:.2f} days by its gaps: taken as {given.days:g}", file=sys.stderr)
        days = given.days
    rate = writes * float(row["write_size_avg"] or 0) / 1e9 / days
    share = int(row["write_seq_count"]) / writes if writes else 0
    peak = requests / (days * 86400) * given.peak_over_mean
    return row["workload"], rate, share, peak, writes / requests, int(row["wss"]) / 1e9


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("features", metavar="FEATURES.csv")
    parser.add_argument("--peak-over-mean", type=float, default=7.43, metavar="R")
    parser.add_argument("--days", type=float, default=7, metavar="D")
    given = parser.parse_args()
    print("# Estimated, from features of block traces: peaks are means times "
          f"{given.peak_over_mean:g}, sequential shares are of counts.")
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(COLUMNS)
    with open(given.features, newline="") as file:
        for row in csv.DictReader(file):
            name, *numbers = workload(row, given)
            out.writerow([name, *(f"{number:.6g}" for number in numbers)])


main()
