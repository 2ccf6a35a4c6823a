#!/usr/bin/env python3
"""Measures Muster, its peers and floors in C, interleaved in one run, and prints medians and ratios.

    tests/bench/run.py [launch restart overhead binary logs store rounds failures mpi trackers fabric ...] [--quick] [--real-time] [--json FILE] [--markdown]

Exit code 0 when everything that is installed could run, whether or not budgets are met; else 1.
"""
import argparse
import datetime
import importlib
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from harness import CPUS, ROOT, Bench
from report import Results
from store_servers import LOOKUP, SILENT_DNS

BENCHMARKS = ("launch", "restart", "overhead", "binary", "logs", "progress", "sidecar", "store", "rounds", "failures", "mpi", "trackers", "fabric")
SHORT = {"launch", "restart", "binary", "rounds", "failures"}  # what is measured takes milliseconds at a time
SCRATCH = "BENCH_SCRATCH"  # set inside the name spaces


def options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="of " + ", ".join(BENCHMARKS) + "; default: all")
    parser.add_argument("--quick", action="store_true", help="few samples, in less than two minutes")
    parser.add_argument("--real-time", action="store_true", help="let nothing else on this machine get in between "
                        "(SCHED_RR; needs root); not where others work: theirs stands still. Only for " + ", ".join(sorted(SHORT)))
    parser.add_argument("--json", metavar="FILE", help="also write every row as JSON")
    parser.add_argument("--markdown", action="store_true", help="print the table of budgets as Markdown on stdout")
    parser.add_argument("--muster", type=Path, default=ROOT / "build/release/muster", help="the binary to measure")
    given = parser.parse_args()
    unknown = set(given.names) - set(BENCHMARKS)
    if unknown:
        parser.error(f"unknown benchmark {', '.join(sorted(unknown))}; there are {', '.join(BENCHMARKS)}")
    if given.real_time and not (given.names and set(given.names) <= SHORT):
        parser.error(f"--real-time is for {', '.join(sorted(SHORT))} only: the others would stop the machine for minutes")
    return given


def isolate(scratch):
    """Starts over in name spaces of its own: whatever a peer leaves behind ends with this run, and names are
    looked up in files only, so that no peer's figure depends on some DNS server. Returns the exit code."""
    os.environ[SCRATCH] = scratch
    return subprocess.call(["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", LOOKUP, "sh",
                            "files", SILENT_DNS, scratch, sys.executable, *sys.argv])


def machine():
    model = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "unknown")
    commit = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    return dict(cpu=model, cpus=len(CPUS), kernel=platform.release(), commit=commit,
                time=datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"), load=os.getloadavg())


def measure(given, scratch):
    bench, results, about = Bench(given.muster.resolve(), given.quick, Path(scratch)), Results(), machine()
    talk = sys.stderr if given.markdown else sys.stdout
    print(f"{about['cpus']} CPUs, {about['cpu']}, Linux {about['kernel']}, commit {about['commit']}, load {about['load'][0]:.2f}", file=talk)
    try:
        if not bench.muster.exists():
            bench.fail("muster", f"{bench.muster} is not built")
        for name in given.names or BENCHMARKS:
            start = time.monotonic()
            importlib.import_module(name).run(bench, results)
            results.print_table(name, talk)
            print(f"({name}: {time.monotonic() - start:.0f} s)", file=talk, flush=True)
    finally:
        bench.close()
    print("\nBudgets\n" + results.markdown() if not given.markdown else results.markdown())
    if given.json:
        results.write_json(given.json, dict(machine=about, quick=given.quick, real_time=given.real_time, left_out=bench.missing, failures=bench.failures))
    for failure in bench.failures:
        print(f"COULD NOT RUN: {failure}", file=sys.stderr)
    return 1 if bench.failures else 0


def main():
    given = options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if SCRATCH in os.environ:
        return measure(given, os.environ[SCRATCH])
    if given.real_time:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    with tempfile.TemporaryDirectory(prefix="muster-bench-") as scratch:
        if os.geteuid() == 0:
            return isolate(scratch)
        print("NOT ISOLATED: without root, processes of a peer may outlive it and its figures depend on DNS", file=sys.stderr)
        return measure(given, scratch)


if __name__ == "__main__":
    sys.exit(main())
