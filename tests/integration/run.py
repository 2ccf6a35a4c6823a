#!/usr/bin/env python3
"""Runs the integration tests of the built binary.

usage: run.py [-k PATTERN] [-j N] [-v]        MUSTER_BINARY=path of the binary (default build/debug/muster)

Four tests at a time, because they mostly wait; each has its own folder, ports and processes. The last line of the output is
"integration: N passed, N failed", with ", N skipped" if any were. A skip for a reason that
harness.ALLOWED_SKIPS does not list, and a file in here that yields no test, count as failures.
"""
import argparse
import concurrent.futures
import contextlib
import fnmatch
import glob
import importlib
import multiprocessing
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


def collect(folder):
    """([test ids], [problems])."""
    ids, problems = [], []
    for name in sorted(os.listdir(folder)):
        if not name.endswith(".py") or name in NOT_TESTS:
            continue
        module = name[:-3]
        try:
            loaded = importlib.import_module(module)
        except Exception:
            problems.append("%s cannot be imported:\n%s" % (name, traceback.format_exc()))
            continue
        found = [test.id() for test in flatten(unittest.defaultTestLoader.loadTestsFromModule(loaded))]
        # Cases that a module imported from another one belong to that one.
        found = [test for test in found if test.startswith(module + ".")]
        if not found or not name.startswith("test_"):
            problems.append("%s yields no test" % name)
        ids += found
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


def begin_worker(folder, begun, jobs):
    sys.path.insert(0, folder)
    os.dup2(2, 1)  # what a test prints, or a process it leaves its output to, shall not break the lines that are counted
    with begun.get_lock():
        harness.lane = (begun.value % jobs, jobs)
        begun.value += 1
    signal.signal(signal.SIGINT, lambda *_: None)  # Ctrl-C ends the parent, which ends us
    signal.signal(signal.SIGTERM, end_early)


def remove_left(since):
    for path in glob.glob(LEFT_BY_HYDRA):
        with contextlib.suppress(OSError):
            found = os.stat(path)
            if found.st_uid == os.geteuid() and found.st_mtime >= since:
                os.unlink(path)


def run_each(ids, folder, jobs):
    """What run_one() says of each, as they end. A worker that is killed fails all that it leaves without an answer."""
    spawning = multiprocessing.get_context("spawn")
    workers = (folder, spawning.Value("i", 0), jobs)
    with concurrent.futures.ProcessPoolExecutor(jobs, spawning, begin_worker, workers) as pool:
        tests = {pool.submit(run_one, test_id): test_id for test_id in ids}
        try:
            for test in concurrent.futures.as_completed(tests):
                try:
                    yield test.result()
                except Exception as problem:  # the pool is broken, or the limit came when the test had just ended
                    yield tests[test], "failed", "no answer: %r" % problem, 0.0
        except BaseException:  # Ctrl-C, or it was told to end: nothing of this goes on
            pool.shutdown(wait=False, cancel_futures=True)
            for worker in multiprocessing.active_children():
                worker.terminate()
            raise


def selected(ids, pattern):
    if not pattern:
        return ids
    wanted = pattern if "*" in pattern else "*%s*" % pattern
    return [test for test in ids if fnmatch.fnmatchcase(test, wanted)]


def main(title="integration", folder=harness.HERE, jobs=4):  # for 2 CPUs: three quarters of the time they wait
    parser = argparse.ArgumentParser(description="runs the %s tests" % title)
    parser.add_argument("-k", metavar="PATTERN", help="only tests whose id holds this text (or matches, with *)")
    parser.add_argument("-j", type=int, default=jobs, help="tests at a time")
    parser.add_argument("-v", action="store_true", help="name every test")
    options = parser.parse_args()
    if not os.access(harness.BINARY, os.X_OK):
        sys.exit("%s: no binary at %s; build it or set MUSTER_BINARY" % (title, harness.BINARY))
    sys.stdout.reconfigure(line_buffering=True)
    sys.path.insert(0, folder)
    ids, problems = collect(folder)
    count = {"passed": 0, "failed": len(problems), "skipped": 0}
    for problem in problems:
        print("FAILED", problem)
    begin = time.time()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    for test_id, outcome, detail, seconds in run_each(selected(ids, options.k), folder, options.j):
        count[outcome] += 1
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
