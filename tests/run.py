#!/usr/bin/env python3
"""Runs the tests of one build folder and adds them up.

    tests/run.py --build build/debug [--binary build/release/muster] [unit] [fuzz] [tidy] [integration] [compat]

Without names every part but compat runs. Repeats the failures at the end and closes with the plain line
"N passed, N failed", where a GoogleTest case, a fuzz target, a tidy rule and an integration test
count one each. A part that crashes, hangs or reports no test at all counts as a failure; with
CI=true so does an unexpected skip. A part of which every test was skipped is named before that line. Exit 0 only when
nothing failed.

The tidy rules come first. What computes (unit, fuzz) then runs beside what mostly waits (integration, compat), with lower
priority.

Standard library only. Each part is a folder of tests/.
"""

import argparse
import concurrent.futures
import dataclasses
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

TESTS = pathlib.Path(__file__).resolve().parent
ROOT = TESTS.parent

UNIT_SECONDS = 300  # for one test program; its tests take milliseconds, more under a sanitizer
SHARDS = {"simulation_test": 2}  # its tests take a minute, so they are spread over the CPUs
FUZZ_RUNS = 100_000
FUZZ_SECONDS = 3  # a slow target stops here, having run fewer inputs
SCRIPT_SECONDS = {"integration": 1500, "compat": 2700}  # for all of them
FUZZ_SEED = 1


@dataclasses.dataclass
class Outcome:
    """What one program reported; outcomes add up."""

    passed: int = 0
    failures: list = dataclasses.field(default_factory=list)  # (name, text)
    skipped: list = dataclasses.field(default_factory=list)  # names
    failed_elsewhere: int = 0  # failures that the program itself printed and counted
    idle: list = dataclasses.field(default_factory=list)  # parts of which no test ran

    def add(self, other):
        self.passed += other.passed
        self.failures += other.failures
        self.skipped += other.skipped
        self.failed_elsewhere += other.failed_elsewhere
        self.idle += other.idle

    def failed(self):
        return len(self.failures) + self.failed_elsewhere

    def __str__(self):
        skipped = f", {len(self.skipped)} skipped" if self.skipped else ""
        return f"{self.passed} passed, {self.failed()} failed{skipped}"


def describe_exit(code):
    if code is None:
        return "did not end in time"
    return f"ended by {signal.Signals(-code).name}" if code < 0 else f"exit {code}"


def run_program(argv, seconds, cwd):
    """(exit code or None after a timeout, its output). Everything it started dies with it."""
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(["nice", *argv], stdin=subprocess.DEVNULL, stdout=output,
                                   stderr=subprocess.STDOUT, cwd=cwd, start_new_session=True)
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            code = None
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()
        output.seek(0)
        return code, output.read().decode(errors="replace")


# --- unit tests --------------------------------------------------------------------------------

def read_gtest_output(text):
    """Outcome of GoogleTest's own lines, which are there even when the program died half-way."""
    outcome = Outcome()
    running, since = None, 0
    marker = re.compile(r"\[( RUN      |       OK |  FAILED  |  SKIPPED )\] ([^\s,]+)")
    for match in marker.finditer(text):
        word, name = match[1].strip(), match[2]
        if word == "RUN":
            running, since = name, match.end()
        elif name != running:
            continue  # the list of failures at the end names them again
        else:
            if word == "OK":
                outcome.passed += 1
            elif word == "SKIPPED":
                outcome.skipped.append(name)
            else:
                outcome.failures.append((name, text[since:match.start()].strip()))
            running = None
    if running:
        outcome.failures.append((running, "did not end:\n" + text[since:].strip()[-8000:]))
    return outcome


def run_unit_shard(job):
    program, shard, shards = job
    began = time.monotonic()
    variables = [f"GTEST_TOTAL_SHARDS={shards}", f"GTEST_SHARD_INDEX={shard}"]
    with tempfile.TemporaryDirectory() as folder:
        code, text = run_program(["env", *variables, program, "--gtest_color=no"], UNIT_SECONDS, folder)
    outcome = read_gtest_output(text)
    name = program.name + (f" {shard + 1} of {shards}" if shards > 1 else "")
    if code != 0 and not outcome.failures:
        outcome.failures.append((name, f"{describe_exit(code)}\n{text[-8000:]}"))
    if not outcome.passed and not outcome.failed():
        outcome.failures.append((name, "reported no test"))
    failed = "".join(f"\n  FAILED {test}" for test, _ in outcome.failures)
    print(f"unit {name}: {outcome} ({time.monotonic() - began:.1f} s){failed}", flush=True)
    return outcome


def run_unit(options):
    programs = sorted(path for path in (options.build / "tests").glob("*_test")
                      if os.access(path, os.X_OK) and path.is_file())
    jobs = [(program, shard, SHARDS.get(program.name, 1)) for program in programs for shard in range(SHARDS.get(program.name, 1))]
    return run_each(run_unit_shard, jobs, f"no unit test program in {options.build}/tests")


# --- fuzz targets ------------------------------------------------------------------------------

def run_fuzz_program(program):
    began = time.monotonic()
    name = program.name
    corpus = TESTS / "data" / "corpus" / name.removesuffix("_fuzz")
    argv = [program, "--runs", str(FUZZ_RUNS), "--max-seconds", str(FUZZ_SECONDS), "--seed",
            str(FUZZ_SEED)] + ([str(corpus)] if corpus.is_dir() else [])
    code, text = run_program(argv, FUZZ_SECONDS + 60, program.parent)
    outcome = Outcome()
    executions = re.search(r"(\d+) executions", text)
    if code == 0 and executions and int(executions[1]) > 0:
        outcome.passed = 1
        note = f"{executions[1]} inputs"
    else:
        note = describe_exit(code)
        outcome.failures.append((name, f"{note}\n{text[-8000:]}"))
    print(f"fuzz {name}: {note} ({time.monotonic() - began:.1f} s)", flush=True)
    return outcome


def run_fuzz(options):
    programs = sorted(path for path in (options.build / "tests").glob("*_fuzz")
                      if os.access(path, os.X_OK) and path.is_file())
    return run_each(run_fuzz_program, programs, f"no fuzz target in {options.build}/tests")


def run_each(function, programs, when_empty):
    total = Outcome()
    if not programs:
        total.failures.append(("tests/run.py", when_empty))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for outcome in pool.map(function, programs):
            total.add(outcome)
    return total


# --- tidy rules --------------------------------------------------------------------------------

def run_tidy(options):
    del options  # reads the sources only
    suite = unittest.defaultTestLoader.discover(str(TESTS / "tidy"), pattern="*_test.py")
    result = unittest.TestResult()
    suite.run(result)
    texts = {}
    for test, text in result.failures + result.errors:
        name = getattr(test, "test_case", test).id()  # the cases of one test count once
        texts[name] = texts.get(name, "") + text
    outcome = Outcome(failures=list(texts.items()), skipped=[test.id() for test, _ in result.skipped])
    outcome.passed = result.testsRun - len(texts) - len(outcome.skipped)
    if not result.testsRun:
        outcome.failures.append(("tests/tidy", "reported no test"))
    print(f"tidy: {outcome}", flush=True)
    return outcome


# --- integration and compatibility tests ---------------------------------------------------------

# What a machine that runs all this may lack; every other skip is a failure where CI=true.
EXPECTED_SKIPS = ("namespaces", "time namespaces", "memory cgroup", "registry")


def can_make_namespaces():
    """Whether this machine and user can make what a test asks for that skips for want of namespaces."""
    probe = ["unshare", "--pid", "--fork", "--mount-proc", "--mount", "--net", "--uts", "ip", "link", "add", "b0", "type", "bridge"]
    try:
        return os.geteuid() == 0 and subprocess.run(probe, stdin=subprocess.DEVNULL, capture_output=True).returncode == 0
    except OSError:
        return False


def is_expected(skip):
    reason = next((reason for reason in EXPECTED_SKIPS if f"({reason}:" in skip or f"({reason})" in skip), None)
    return reason is not None and not (reason == "namespaces" and can_make_namespaces())


def run_integration(options):
    return run_counting_script("integration", options.binary)


def run_compat(options):
    return run_counting_script("compat", options.binary)


def run_counting_script(name, binary):
    """tests/<name>/run.py prints as it goes and ends with its own count."""
    process = subprocess.Popen([sys.executable, str(TESTS / name / "run.py")], stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, text=True, errors="replace", start_new_session=True,
                               env=os.environ | {"MUSTER_BINARY": str(binary)})
    limit = threading.Timer(SCRIPT_SECONDS[name], os.killpg, (process.pid, signal.SIGKILL))
    limit.start()
    lines = []
    for line in process.stdout:
        print(line, end="", flush=True)
        lines.append(line)
    code = process.wait()
    limit.cancel()
    return read_count(name, "".join(lines), code)


def read_count(name, text, code):
    outcome = Outcome()
    count = re.search(rf"^{name}: (\d+) passed, (\d+) failed(?:, (\d+) skipped)?\s*$", text, re.M)
    if not count:
        outcome.failures.append((name, f"no count at its end; {describe_exit(code)}"))
        return outcome
    outcome.passed = int(count[1])
    outcome.failures = re.findall(r"^FAILED (\S+).*\n((?: .*\n)*)", text, re.M)
    outcome.failed_elsewhere = max(0, int(count[2]) - len(outcome.failures))
    skips = re.findall(r"^SKIPPED (\S+).*\n +(.*)$", text, re.M)
    outcome.skipped = [f"{test} ({reason})" for test, reason in skips]
    if len(skips) != int(count[3] or 0):
        outcome.failures.append((name, f"{count[3] or 0} skipped, {len(skips)} of them told why"))
    if code != 0 and not outcome.failed():
        outcome.failures.append((name, describe_exit(code)))
    if not outcome.passed and not outcome.failed() and not outcome.skipped:
        outcome.failures.append((name, "reported no test"))
    return outcome


# --- all of them -------------------------------------------------------------------------------

PARTS = {"unit": run_unit, "fuzz": run_fuzz, "tidy": run_tidy, "integration": run_integration,
         "compat": run_compat}
USUAL_PARTS = ("unit", "fuzz", "tidy", "integration")
COMPUTING = ("unit", "fuzz")
WAITING = ("integration", "compat")


def parse_arguments(words):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--binary", type=pathlib.Path, help="for integration and compat; default BUILD/muster")
    parser.add_argument("parts", nargs="*", metavar="part", help=", ".join(PARTS))
    options = parser.parse_args(words)
    unknown = [part for part in options.parts if part not in PARTS]
    if unknown:
        parser.error(f"unknown part {unknown[0]!r}; there are {', '.join(PARTS)}")
    options.build = options.build.resolve()
    options.binary = (options.binary or options.build / "muster").resolve()
    return options


def run_those(options, chosen):
    total = Outcome()
    for part in options.parts or USUAL_PARTS:
        if part in chosen:
            outcome = PARTS[part](options)
            if not outcome.passed and outcome.skipped:
                outcome.idle.append(f"{part}: {len(outcome.skipped)} skipped, for {reasons_of(outcome.skipped)}")
            total.add(outcome)
    return total


def reasons_of(skips):
    """The words before the colon; a skip without any is called by its name."""
    return ", ".join(sorted({re.sub(r"^\S+ \(([^:)]*).*$", r"\1", skip, flags=re.S) for skip in skips}))


def run_all(options):
    # Alone: its tests of this file redirect stdout and change the environment.
    total = run_those(options, ("tidy",))
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        computing = pool.submit(run_those, options, COMPUTING)
        total.add(run_those(options, WAITING))  # in this thread, which hears Ctrl-C
        total.add(computing.result())
    return total


def main(words):
    options = parse_arguments(words)
    total = run_all(options)
    for name, text in total.failures:
        print(f"\nFAILED {name}\n{text}")
    if total.skipped:
        print(f"\nskipped: {', '.join(total.skipped)}")
        unexpected = [skip for skip in total.skipped if not is_expected(skip)] if os.environ.get("CI") == "true" else []
        if unexpected:
            total.failed_elsewhere += len(unexpected)
            print(f"{len(unexpected)} of them count as failed, because CI=true: {', '.join(unexpected)}")
    for line in total.idle:
        print(f"!!! NOTHING WAS TESTED of {line}")
    print(f"{total.passed} passed, {total.failed()} failed")
    return 1 if total.failed() else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
