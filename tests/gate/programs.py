"""Unit tests (GoogleTest) and fuzz targets of a build folder.

A program is asked for its tests first. When it dies, the test that ran is a failure and the rest is run by a new one; a test
that was never reported is a failure, too.
"""

import concurrent.futures
import os
import pathlib
import re
import tempfile

from gate.outcome import Outcome
from gate.processes import Stopwatch, describe_exit, run_program

TESTS = pathlib.Path(__file__).resolve().parents[1]

UNIT_SECONDS = 300  # for one test program; its tests take milliseconds, more under a sanitizer
SIMULATION = "simulation_test"
SHARDS = {SIMULATION: 2}  # its tests take a minute, so they are spread over the CPUs
MOST_DEATHS = 5  # of one program; what is left then counts as never reported
FUZZ_RUNS = 100_000
FUZZ_SECONDS = 3  # a slow target stops here, having run fewer inputs
FUZZ_SEED = 1


# --- unit tests --------------------------------------------------------------------------------

def read_list(text):
    """The names that --gtest_list_tests printed."""
    names, suite = [], ""
    for line in text.splitlines():
        word = line.split("#")[0].rstrip()
        if re.fullmatch(r"\S+\.", word):
            suite = word
        elif suite and word.startswith("  "):
            names.append(suite + word.strip())
    return [name for name in names if "DISABLED_" not in name]


def read_gtest_output(text):
    """(Outcome, names of all that were reported) of GoogleTest's own lines, which are there even when the program died half-way."""
    outcome, seen = Outcome(), []
    running, since = None, 0
    marker = re.compile(r"\[( RUN      |       OK |  FAILED  |  SKIPPED )\] ([^\s,]+)(?:[^\n]*\((\d+) ms\))?")
    for match in marker.finditer(text):
        word, name = match[1].strip(), match[2]
        if word == "RUN":
            running, since = name, match.end()
            seen.append(name)
            continue
        if name != running:
            continue  # the list of failures at the end names them again
        if word == "OK":
            outcome.passed += 1
        elif word == "SKIPPED":
            outcome.skipped.append(name)
        else:
            outcome.fail(name, text[since:match.start()].strip())
        outcome.times.append((int(match[3] or 0) / 1000, name))
        running = None
    if running:
        outcome.fail(running, "did not end:\n" + text[since:].strip()[-8000:])
    return outcome, seen


def run_cases(program, names):
    """One process with these tests of the program: (Outcome, names of those that were reported, its exit code, its output)."""
    with tempfile.TemporaryDirectory() as folder:
        code, text = run_program([program, "--gtest_color=no", "--gtest_filter=" + ":".join(names)], UNIT_SECONDS, folder)
    outcome, seen = read_gtest_output(text)
    return outcome, seen, code, text


def run_case_alone(program, name):
    outcome, seen, code, text = run_cases(program, [name])
    if not outcome.failures and (code != 0 or name not in seen):
        outcome.fail(name, f"{describe_exit(code)}\n{text[-8000:]}")
    return outcome


def run_unit_names(program, names, title):
    """All of `names`, in as few processes as deaths allow."""
    watch, total, left = Stopwatch(), Outcome(), list(names)
    for _ in range(1 + MOST_DEATHS):
        outcome, seen, code, text = run_cases(program, left)
        for failure in outcome.failures:
            failure.again = lambda name=failure.name: run_case_alone(program, name)
        if code != 0 and not outcome.failures:
            outcome.fail(title, f"{describe_exit(code)}\n{text[-8000:]}", lambda: run_unit_names(program, names, title))
        total.add(outcome)
        left = [name for name in left if name not in seen]
        if not left or not seen:
            break
    for name in left:
        total.fail(name, "was never reported", lambda name=name: run_case_alone(program, name))
    failed = "".join(f"\n  FAILED {failure.name}" for failure in total.failures)
    print(f"unit {title}: {total} ({watch.seconds():.1f} s){failed}", flush=True)
    return total


def run_unit_shard(job):
    program, filters, shard, shards = job
    code, text = run_program([program, "--gtest_list_tests", "--gtest_filter=" + filters], UNIT_SECONDS, program.parent)
    names = read_list(text)[shard::shards]
    title = f"{program.parents[1].name}/{program.name}" + (f" {shard + 1} of {shards}" if shards > 1 else "")
    if code != 0 or not names:
        outcome = Outcome()
        outcome.fail(title, "reported no test" if code == 0 else f"{describe_exit(code)}\n{text[-8000:]}")
        return outcome
    return run_unit_names(program, names, title)


def shards_of(program, filters="*"):
    shards = SHARDS.get(program.name, 1)
    return [(program, filters, shard, shards) for shard in range(shards)]


def test_programs(build):
    return sorted(path for path in (build / "tests").glob("*_test") if os.access(path, os.X_OK) and path.is_file())


def run_unit(options):
    """All test programs beside the binary but the simulation, which is a part of its own."""
    programs = [program for program in test_programs(options.binary.parent) if program.name != SIMULATION]
    jobs = [job for program in programs for job in shards_of(program)]
    return run_each(run_unit_shard, jobs, f"no unit test program in {options.binary.parent}/tests")


def run_unit_sanitized(options):
    """All test programs of the folder; of the simulation only what a sanitizer is needed for."""
    jobs = []
    for program in test_programs(options.build):
        jobs += shards_of(program, "*" if program.name != SIMULATION else "*.PromisesHold*:*.SameSeed*")
    return run_each(run_unit_shard, jobs, f"no unit test program in {options.build}/tests")


def run_simulation(options):
    return run_each(run_unit_shard, shards_of(options.binary.parent / "tests" / SIMULATION), "no simulation")


# --- fuzz targets ------------------------------------------------------------------------------

def run_fuzz_target(job):
    program, name = job
    watch = Stopwatch()
    corpus = TESTS / "data" / "corpus" / name.removesuffix("_fuzz")
    argv = [program, name, "--runs", FUZZ_RUNS, "--max-seconds", FUZZ_SECONDS, "--seed", FUZZ_SEED] + ([corpus] if corpus.is_dir() else [])
    code, text = run_program(argv, FUZZ_SECONDS + 60, program.parent)
    outcome = Outcome(times=[(watch.seconds(), name)])
    executions = re.search(r"(\d+) executions", text)
    if code == 0 and executions and int(executions[1]) > 0:
        outcome.passed = 1
        note = f"{executions[1]} inputs"
    else:
        note = describe_exit(code)
        outcome.fail(name, f"{note}\n{text[-8000:]}", lambda: run_fuzz_target(job))
    print(f"fuzz {name}: {note} ({watch.seconds():.1f} s)", flush=True)
    return outcome


def run_fuzz(options):
    program = options.build / "tests" / "fuzz"
    names = []
    if os.access(program, os.X_OK):
        _, text = run_program([program, "--list"], UNIT_SECONDS, program.parent)
        names = [name for name in text.split() if name.endswith("_fuzz")]
    return run_each(run_fuzz_target, [(program, name) for name in names], f"no fuzz target in {program}")


def run_each(function, jobs, when_empty):
    total = Outcome()
    if not jobs:
        total.fail("tests/run.py", when_empty)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for outcome in pool.map(function, jobs):
            total.add(outcome)
    return total
