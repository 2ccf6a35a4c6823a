#!/usr/bin/env python3
"""Runs the tests and adds them up: all that `make test` and .ci/run do.

    tests/run.py [--build build/asan] [--binary build/release/muster] [PART...]

Without names: tidy, unit, simulation, integration. Whatever the order of the names, the parts run so:
  tidy, format, build-release                 one after the other, with all CPUs
  build-tests, unit, simulation, build-asan, unit-asan, fuzz, clang-tidy    what computes, with lower priority, beside
  integration, compat, grid                   what mostly waits
  example, bench                              alone
Then each test that failed is run again, alone (tests/gate/outcome.py has the rules). At the end come the unstable tests, the
failures, the time of each part, the slowest tests, and the plain line "N passed, N failed", in which each GoogleTest case,
fuzz target, tidy rule, integration test, file that clang-tidy reads and other command counts once. With CI=true an unexpected
skip is a failure. Exit 0 only when nothing failed.

Standard library only.
"""

import argparse
import concurrent.futures
import functools
import os
import pathlib
import signal
import sys

TESTS = pathlib.Path(__file__).resolve().parent
ROOT = TESTS.parent
sys.path.insert(0, str(TESTS))

from gate import outcome as outcomes  # noqa: E402
from gate import processes, programs, scripts  # noqa: E402
from gate.outcome import Outcome  # noqa: E402

PARTS = {"unit": programs.run_unit, "simulation": programs.run_simulation, "unit-asan": programs.run_unit_sanitized,
         "fuzz": programs.run_fuzz, "tidy": scripts.run_tidy, "integration": scripts.run_integration, "compat": scripts.run_compat,
         "grid": scripts.run_grid,
         **{part: functools.partial(scripts.run_command, part) for part in scripts.COMMANDS}}
USUAL_PARTS = ("tidy", "unit", "simulation", "integration")
FIRST = ("tidy", "format", "build-release")
COMPUTING = ("build-tests", "unit", "simulation", "build-asan", "unit-asan", "fuzz", "clang-tidy")
WAITING = ("integration", "compat", "grid")
LAST = ("example", "bench")
NEEDS = {"build-tests": "build-release", "unit": "build-tests", "simulation": "build-tests", "unit-asan": "build-asan",
         "fuzz": "build-asan", "integration": "build-release", "compat": "build-release", "grid": "build-release",
         "example": "build-release", "bench": "build-release"}


def parse_arguments(words):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "asan", help="of unit-asan and fuzz")
    parser.add_argument("--binary", type=pathlib.Path, default=ROOT / "build" / "release" / "muster", help="of the other tests; its folder has those of unit and simulation")
    parser.add_argument("parts", nargs="*", metavar="part", help=", ".join(PARTS))
    options = parser.parse_args(words)
    unknown = [part for part in options.parts if part not in PARTS]
    if unknown:
        parser.error(f"unknown part {unknown[0]!r}; there are {', '.join(PARTS)}")
    options.parts = options.parts or list(USUAL_PARTS)
    options.build = options.build.resolve()
    options.binary = options.binary.resolve()
    options.logs = ROOT / "build" / "logs"
    return options


def run_part(options, part, broken):
    """`broken`: parts that failed, among them builds that others need."""
    if NEEDS.get(part) in broken:
        outcome = Outcome()
        outcome.fail(part, f"not run, because {NEEDS[part]} failed")
        return outcome
    outcome = PARTS[part](options)
    if outcome.failures:
        broken.add(part)
    if not outcome.passed and outcome.skipped:
        outcome.idle.append(f"{part}: {len(outcome.skipped)} skipped, for {outcomes.reasons_of(outcome.skipped)}")
    return outcome


def run_those(options, chosen, broken, stages):
    for part in chosen:
        if part in options.parts:
            watch = processes.Stopwatch()
            outcome = run_part(options, part, broken)
            stages.append((part, watch.seconds(), outcome))


def run_all(options):
    """(part, seconds, Outcome) of each."""
    stages, broken = [], set()
    # Alone: tests of this file, which tidy runs, redirect stdout and change the environment.
    run_those(options, FIRST, broken, stages)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        computing = pool.submit(run_those, options, COMPUTING, broken, stages)
        run_those(options, WAITING, broken, stages)  # in this thread, which hears Ctrl-C
        computing.result()
    run_those(options, LAST, broken, stages)
    return stages


def main(words):
    options = parse_arguments(words)
    watch = processes.Stopwatch()
    stages = run_all(options)
    total = Outcome()
    for _, _, outcome in stages:
        total.add(outcome)
    again = processes.Stopwatch()
    if total.failures:
        outcomes.run_again(total)
    outcomes.judge_unstable(total, outcomes.known_unstable())
    outcomes.judge_skips(total, scripts.can_make_namespaces)
    if total.failures or total.unstable:
        stages.append(("again, alone", again.seconds(), Outcome()))
    outcomes.print_end(total, [*stages, ("together", watch.seconds(), total)])
    return 1 if total.failures else 0


def hear_the_end(_signal, _frame):
    sys.exit(128 + signal.SIGTERM)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, hear_the_end)
    code = 1
    try:
        code = main(sys.argv[1:])
    except KeyboardInterrupt:
        code = 130
    except SystemExit as end:
        code = end.code
    finally:
        processes.end_all()
        sys.stdout.flush()
        os._exit(code)  # threads that wait for what was just ended have nothing more to say
