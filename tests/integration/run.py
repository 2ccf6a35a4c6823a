#!/usr/bin/env python3
"""Runs the integration tests of the built binary.

usage: run.py [-k PATTERN] [-j N] [-v] [--grid] [--only ID] [--report FILE]
MUSTER_BINARY=path of the binary (default build/release/muster)

Each test belongs either to the gate or to the grid: those of a class with `gate_keeps` that it does not name, all others
of a module with `GRID = True`, and those marked with harness.grid. Without -k and --only those of
the gate are run, with --grid those of the grid. --report writes JSON, one line each: first the names of all that will be run,
then what became of each. Six tests at a time, because they mostly wait; each has its own folder, ports and processes. The last line of the output is
"integration: N passed, N failed", with ", N skipped" if any were. A skip for a reason that
harness.ALLOWED_SKIPS does not list, and a file in here that yields no test, count as failures.
"""
import argparse
import contextlib
import fnmatch
import glob
import importlib
import json
import multiprocessing
import multiprocessing.connection
import os
import signal
import sys
import time
import traceback
import unittest

import harness

NOT_TESTS = {"harness.py", "run.py"}
LEFT_BY_HYDRA = "/tmp/hydra_hwloc_xmlfile_*"  # by proxies of MPICH 5 that are killed; nobody can choose another place
TEST_LIMIT_S = 600  # five runs of torchrun's launcher, each stuck until it is killed


class TestTookTooLong(Exception):
    pass


def give_up(_signal, _frame):
    raise TestTookTooLong("the test ran longer than %d s" % TEST_LIMIT_S)


class Interrupted(Exception):
    pass


interrupted = False


def end_early(_signal, _frame):
    """The test that runs cleans up after itself; those that the worker has fetched already do not begin."""
    global interrupted
    if not interrupted:
        interrupted = True
        raise Interrupted


def flatten(suite):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from flatten(item)
        else:
            yield item


def is_grid(test):
    """Whether it is left to `make grid`; each test is either there or in the gate."""
    name = test.id().rsplit(".", 1)[1]
    keeps = getattr(test, "gate_keeps", None)
    if keeps is not None:
        return name not in keeps
    if getattr(sys.modules[type(test).__module__], "GRID", False):
        return True
    return getattr(getattr(test, name, None), "is_grid", False)


def names_that_are_not_there(tests):
    """What a class says to keep in the gate, and has not."""
    has, keeps = {}, {}
    for test in tests:
        has.setdefault(type(test), set()).add(test.id().rsplit(".", 1)[1])
        keeps[type(test)] = set(getattr(test, "gate_keeps", None) or ())
    return ["%s.%s keeps %s in the gate, which it does not have" % (each.__module__, each.__qualname__, name)
            for each in has for name in sorted(keeps[each] - has[each])]


def collect(folder):
    """({test id: whether it is of the grid}, [problems])."""
    ids, problems = {}, []
    for name in sorted(os.listdir(folder)):
        if not name.endswith(".py") or name in NOT_TESTS:
            continue
        module = name[:-3]
        try:
            loaded = importlib.import_module(module)
        except Exception:
            problems.append("%s cannot be imported:\n%s" % (name, traceback.format_exc()))
            continue
        found = flatten(unittest.defaultTestLoader.loadTestsFromModule(loaded))
        # Cases that a module imported from another one belong to that one.
        found = [test for test in found if test.id().startswith(module + ".")]
        if not found or not name.startswith("test_"):
            problems.append("%s yields no test" % name)
        problems += names_that_are_not_there(found)
        ids.update((test.id(), is_grid(test)) for test in found)
    return ids, problems


def run_one(test_id):
    """(id, "passed" | "failed" | "skipped", detail, seconds)."""
    if interrupted:
        return test_id, "failed", "interrupted", 0.0
    begin = time.monotonic()
    signal.signal(signal.SIGALRM, give_up)
    signal.alarm(TEST_LIMIT_S)
    result = unittest.TestResult()
    escaped = []  # what unittest lets through: KeyboardInterrupt, and what is raised while a module is read
    try:
        unittest.defaultTestLoader.loadTestsFromName(test_id).run(result)
    except BaseException:
        escaped.append(traceback.format_exc())
    finally:
        signal.alarm(0)
    seconds = time.monotonic() - begin
    bad = [text for _, text in result.failures + result.errors] + escaped
    if result.unexpectedSuccesses:
        bad.append("unexpected success")
    for _, reason in result.skipped:
        if reason.split(":")[0] not in harness.ALLOWED_SKIPS:
            bad.append("skipped for a reason that is not listed: " + reason)
    if bad or (result.testsRun == 0 and not result.skipped):
        return test_id, "failed", "\n".join(bad) or "did not run", seconds
    if result.skipped:
        return test_id, "skipped", result.skipped[0][1], seconds
    return test_id, "passed", "", seconds


def work(folder, lane, asked):
    """A worker: runs the tests whose ids it is asked for, until None."""
    sys.path.insert(0, folder)
    os.dup2(2, 1)  # what a test prints, or a process it leaves its output to, shall not break the lines that are counted
    harness.lane = lane
    signal.signal(signal.SIGINT, lambda *_: None)  # Ctrl-C ends the parent, which ends us
    signal.signal(signal.SIGTERM, end_early)
    with contextlib.suppress(EOFError, OSError, Interrupted):  # the parent is gone
        for test_id in iter(asked.recv, None):
            asked.send(run_one(test_id))


def remove_left(since):
    for path in glob.glob(LEFT_BY_HYDRA):
        with contextlib.suppress(OSError):
            found = os.stat(path)
            if found.st_uid == os.geteuid() and found.st_mtime >= since:
                os.unlink(path)


class Worker:
    """One process that runs one test at a time, in a lane of its own. When it is killed, a new one takes its place."""

    def __init__(self, folder, lane):
        self.test = None
        self.folder, self.lane = folder, lane
        self.begin()

    def begin(self):
        spawning = multiprocessing.get_context("spawn")
        self.connection, theirs = spawning.Pipe()
        self.process = spawning.Process(target=work, args=(self.folder, self.lane, theirs), daemon=False)
        self.process.start()
        theirs.close()

    def give(self, test_id):
        """Any test, or None: there is none left."""
        self.test = test_id
        with contextlib.suppress(OSError):  # it is dead, which answer() tells
            self.connection.send(test_id)

    def answer(self):
        try:
            return self.connection.recv()
        except (EOFError, OSError):
            self.process.join()
            answer = self.test, "failed", "no answer: the process that ran it has ended with %s" % self.process.exitcode, 0.0
            self.begin()
            return answer


def run_each(ids, folder, jobs):
    """What run_one() says of each, as they end. A worker that is killed fails the test that it runs."""
    left = list(reversed(ids))
    workers = [Worker(folder, (number, jobs)) for number in range(max(1, min(jobs, len(ids))))]
    try:
        for worker in workers:
            worker.give(left.pop() if left else None)
        while True:
            busy = {worker.connection: worker for worker in workers if worker.test is not None}
            if not busy:
                break
            for connection in multiprocessing.connection.wait(list(busy)):
                worker = busy[connection]
                answer = worker.answer()
                worker.give(left.pop() if left else None)
                yield answer
        for worker in workers:
            worker.process.join(10)
            worker.process.kill()  # whatever keeps it; its answers are all here
    except BaseException:  # Ctrl-C, or it was told to end: nothing of this goes on
        for worker in workers:
            worker.process.terminate()
        raise


def selected(tests, options):
    """The ids that are asked for. `tests`: as collect() gives them."""
    if options.only:
        return [options.only]
    if options.k:
        wanted = options.k if "*" in options.k else "*%s*" % options.k
        return [test for test in tests if fnmatch.fnmatchcase(test, wanted)]
    return [test for test, grid in tests.items() if grid == options.grid]


class Report:
    def __init__(self, path):
        self.file = open(path, "w") if path else None

    def write(self, **record):
        if self.file:
            print(json.dumps(record), file=self.file, flush=True)


def main(title="integration", folder=harness.HERE, jobs=6):  # for 2 CPUs: three quarters of the time they wait
    parser = argparse.ArgumentParser(description="runs the %s tests" % title)
    parser.add_argument("-k", metavar="PATTERN", help="only tests whose id holds this text (or matches, with *)")
    parser.add_argument("-j", type=int, default=jobs, help="tests at a time")
    parser.add_argument("-v", action="store_true", help="name every test")
    parser.add_argument("--grid", action="store_true", help="the tests of the grid, not those of the gate")
    parser.add_argument("--only", metavar="ID", help="this test")
    parser.add_argument("--report", metavar="FILE", help="where to write what became of each test")
    options = parser.parse_args()
    if not os.access(harness.BINARY, os.X_OK):
        sys.exit("%s: no binary at %s; build it or set MUSTER_BINARY" % (title, harness.BINARY))
    sys.stdout.reconfigure(line_buffering=True)
    sys.path.insert(0, folder)
    tests, problems = collect(folder)
    ids = selected(tests, options)
    problems = [] if options.only else problems
    report = Report(options.report)
    report.write(tests=ids, problems=problems)
    count = {"passed": 0, "failed": len(problems), "skipped": 0}
    for problem in problems:
        print("FAILED", problem)
    begin = time.time()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    for test_id, outcome, detail, seconds in run_each(ids, folder, options.j):
        count[outcome] += 1
        report.write(id=test_id, outcome=outcome, detail=detail, seconds=seconds)
        if outcome != "passed" or options.v:
            print("%s %s (%.1f s)" % (outcome.upper(), test_id, seconds))
        if detail:
            print("    " + detail.rstrip().replace("\n", "\n    "))
    remove_left(begin)
    summary = "%s: %d passed, %d failed" % (title, count["passed"], count["failed"])
    if count["skipped"]:
        summary += ", %d skipped" % count["skipped"]
    print(summary)
    sys.exit(1 if count["failed"] else 0)


if __name__ == "__main__":
    main()
