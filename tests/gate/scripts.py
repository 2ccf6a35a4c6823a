"""What is a script of its own: the integration and compatibility tests, the tidy rules, and the commands of the gate that are
one test each or end with a count (builds, checks of the sources, the example, the benches)."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from gate.outcome import Outcome
from gate.processes import Stopwatch, describe_exit, run_program, run_shown

TESTS = pathlib.Path(__file__).resolve().parents[1]
ROOT = TESTS.parent

SCRIPT_SECONDS = {"integration": 1500, "compat": 2100, "grid": 4 * 3600}  # for all of them
AGAIN_SECONDS = 900  # for one test
COMMANDS = {  # what to run, and for how long at the most
    "build-release": (["ninja", "-C", "build/release"], 1200),
    "build-tests": (["nice", "ninja", "-C", "build/release", "tests/all"], 1200),
    "build-asan": (["nice", "ninja", "-C", "build/asan"], 1800),
    "format": (["make", "--no-print-directory", "check-format"], 300),
    "clang-tidy": (["nice", "-n", "19", sys.executable, "tests/tidy/clang_tidy.py", "--build", "build/tidy"], 2400),
    "example": (["make", "--no-print-directory", "run"], 600),
    "bench": (["make", "--no-print-directory", "bench", "ARGS=launch restart binary store rounds failures --quick"], 600),
}
QUIET = ("build-release", "build-tests", "build-asan", "clang-tidy")  # their lines are many, and they run beside others


# --- integration and compatibility tests ---------------------------------------------------------

def run_script(part, binary, *arguments):
    """(exit code, the records of --report): tests/<part>/run.py prints as it goes, and writes what it did to a file."""
    folder, log = part.split(" ")[0], ROOT / "build" / "logs" / (part.replace(" ", "-") + ".log")
    with tempfile.NamedTemporaryFile("r") as report:
        code, _ = run_shown([sys.executable, TESTS / folder / "run.py", "--report", report.name, *arguments],
                            AGAIN_SECONDS if "--only" in arguments else SCRIPT_SECONDS["grid" if "--grid" in arguments else folder],
                            log, env=os.environ | {"MUSTER_BINARY": str(binary)})
        return code, [json.loads(line) for line in report]


def read_report(part, code, records, again):
    """Each test that the first record names has one of its own, with what became of it; otherwise it was never reported."""
    outcome, waited_for = Outcome(), {}
    for record in records:
        if "tests" in record:
            waited_for = dict.fromkeys(record["tests"])
            for problem in record["problems"]:
                outcome.fail(f"{part}: {problem.splitlines()[0]}", problem)
            continue
        name, detail = record["id"], record["detail"]
        waited_for.pop(name, None)
        outcome.times.append((record["seconds"], name))
        if record["outcome"] == "passed":
            outcome.passed += 1
        elif record["outcome"] == "skipped":
            outcome.skipped.append(f"{name} ({detail})")
        else:
            outcome.fail(name, detail, lambda name=name: again(name))
    for name in waited_for:
        outcome.fail(name, f"was never reported; {part}: {describe_exit(code)}", lambda name=name: again(name))
    if code != 0 and not outcome.failures:
        outcome.fail(part, describe_exit(code))
    if not outcome.passed and not outcome.failures and not outcome.skipped:
        outcome.fail(part, "reported no test")
    return outcome


def run_counting_script(part, binary, *arguments):
    def again(name):
        extra = ("--only", name, "-j", "1")
        return read_report(part, *run_script(part, binary, *extra), again)
    return read_report(part, *run_script(part, binary, *arguments), again)


def run_integration(options):
    return run_counting_script("integration", options.binary)


def run_compat(options):
    return run_counting_script("compat", options.binary)


def run_grid(options):
    """What integration/ and compat/ leave out of the gate."""
    total = run_counting_script("integration", options.binary, "--grid")
    total.add(run_counting_script("compat", options.binary, "--grid"))
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
    outcome = Outcome(skipped=[test.id() for test, _ in result.skipped])
    for name, text in texts.items():
        outcome.fail(name, text, lambda name=name: run_tidy_alone(name))
    outcome.passed = result.testsRun - len(texts) - len(outcome.skipped)
    if not result.testsRun:
        outcome.fail("tests/tidy", "reported no test")
    print(f"tidy: {outcome}", flush=True)
    return outcome


def run_tidy_alone(name):
    code, text = run_program([sys.executable, "-m", "unittest", name], AGAIN_SECONDS, TESTS / "tidy")
    outcome = Outcome(passed=int(code == 0))
    if code != 0:
        outcome.fail(name, text)
    return outcome


# --- commands ----------------------------------------------------------------------------------

def run_command(part, options):
    """One test by itself, or as many as its last line "N passed, N failed" says."""
    argv, seconds = COMMANDS[part]
    log = options.logs / f"{part}.log"
    watch = Stopwatch()
    code, text = run_shown(argv, seconds, log, prefix=part if part in QUIET else None)
    outcome = Outcome()
    counts = re.findall(r"^(\d+) passed, (\d+) failed$", text, re.M)
    if counts:
        outcome.passed = int(counts[-1][0])
        named = re.findall(r"^FAILED (\S+).*\n((?:(?!FAILED |\d+ passed).*\n)*)", text, re.M)
        for name, detail in named:
            outcome.fail(f"{part}: {name}", detail)
        for _ in range(int(counts[-1][1]) - len(named)):
            outcome.fail(part, text[-4000:])
    else:
        outcome.passed = int(code == 0)
    if code != 0 and not outcome.failures:
        outcome.fail(part, f"{describe_exit(code)}; see {log}\n" + "\n".join(text.splitlines()[-40:]))
    print(f"{part}: {outcome} ({watch.seconds():.1f} s)", flush=True)
    return outcome


def can_make_namespaces():
    """Whether this machine and user can make what a test asks for that skips for want of namespaces."""
    probe = ["unshare", "--pid", "--fork", "--mount-proc", "--mount", "--net", "--uts", "ip", "link", "add", "b0", "type", "bridge"]
    try:
        return os.geteuid() == 0 and subprocess.run(probe, stdin=subprocess.DEVNULL, capture_output=True).returncode == 0
    except OSError:
        return False
