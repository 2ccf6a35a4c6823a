"""Tests of tests/run.py: what it makes of the output of programs that pass, fail and die."""

import contextlib
import copy
import io
import os
import pathlib
import sys
import tempfile
import threading
import unittest
import unittest.mock

from tree import ROOT

sys.path.insert(0, str(ROOT / "tests"))
import run  # noqa: E402


def script(folder, name, lines):
    path = pathlib.Path(folder, name)
    path.write_text("#!/bin/sh\n" + lines)
    path.chmod(0o755)
    return path


class GoogleTestOutput(unittest.TestCase):
    def test_each_case_counts_once(self):
        outcome = run.read_gtest_output(
            "[ RUN      ] A.b\n[       OK ] A.b (0 ms)\n[ RUN      ] A.c\nx.cc:1: Failure\n[  FAILED  ] A.c (1 ms)\n"
            "[ RUN      ] A.d\n[  SKIPPED ] A.d (0 ms)\n[  FAILED  ] 1 test, listed below:\n[  FAILED  ] A.c\n")
        self.assertEqual((outcome.passed, outcome.failed(), outcome.skipped), (1, 1, ["A.d"]))
        self.assertEqual(outcome.failures, [("A.c", "x.cc:1: Failure")])

    def test_a_case_that_ends_the_program_is_a_failure(self):
        outcome = run.read_gtest_output(
            "[ RUN      ] A.b\nunterminated[       OK ] A.b (0 ms)\n[ RUN      ] A.c\nlast words\n")
        self.assertEqual(outcome.passed, 1)
        self.assertEqual(outcome.failures[0][0], "A.c")
        self.assertIn("last words", outcome.failures[0][1])


@contextlib.contextmanager
def quiet():
    with contextlib.redirect_stdout(io.StringIO()):
        yield


class Programs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def unit(self, lines):
        with quiet():
            return run.run_unit_shard((script(self.folder, "a_test", lines), 0, 1))

    def fuzz(self, lines):
        with quiet():
            return run.run_fuzz_program(script(self.folder, "a_fuzz", lines))

    def test_a_program_without_tests_is_a_failure(self):
        self.assertEqual(self.unit("exit 0\n").failed(), 1)

    def test_a_program_that_fails_after_its_tests_is_a_failure(self):
        outcome = self.unit("echo '[ RUN      ] A.b'; echo '[       OK ] A.b (0 ms)'; exit 3\n")
        self.assertEqual((outcome.passed, outcome.failed()), (1, 1))
        self.assertIn("exit 3", outcome.failures[0][1])

    def test_a_program_that_does_not_end_is_a_failure(self):
        with unittest.mock.patch.object(run, "UNIT_SECONDS", 0.2):
            outcome = self.unit("exec sleep 1000\n")
        self.assertIn("did not end in time", outcome.failures[0][1])

    def test_a_fuzz_target_has_to_have_run_something(self):
        self.assertEqual(self.fuzz("echo 7 executions\n").passed, 1)
        self.assertEqual(self.fuzz("echo 0 executions\n").failed(), 1)
        self.assertIn("SIGKILL", self.fuzz("kill -9 $$\n").failures[0][1])

    def test_a_folder_without_programs_is_a_failure(self):
        options = run.parse_arguments(["--build", self.folder])
        self.assertEqual(run.run_unit(options).failed(), 1)
        self.assertEqual(run.run_fuzz(options).failed(), 1)


class Scripts(unittest.TestCase):
    def test_the_count_at_the_end_counts(self):
        outcome = run.read_count("integration", "FAILED a.b.c (0.1 s)\n    why\nintegration: 5 passed, 2 failed\n", 1)
        self.assertEqual((outcome.passed, outcome.failed()), (5, 2))
        self.assertEqual(outcome.failures, [("a.b.c", "    why\n")])

    def test_no_count_no_tests_and_a_bad_end_are_failures(self):
        for text, code in (("", 0), ("integration: 0 passed, 0 failed\n", 0), ("integration: 3 passed, 0 failed\n", 2),
                           ("compat: 3 passed, 0 failed\n", 0)):
            with self.subTest(text):
                self.assertEqual(run.read_count("integration", text, code).failed(), 1)

    def test_skips_name_their_reason(self):
        text = "SKIPPED a.b (0.0 s)\n    namespaces: none here\nintegration: 3 passed, 0 failed, 1 skipped\n"
        outcome = run.read_count("integration", text, 0)
        self.assertEqual((outcome.skipped, outcome.failed()), (["a.b (namespaces: none here)"], 0))


class Sum(unittest.TestCase):
    def run_main(self, outcome, ci):
        output = io.StringIO()
        with unittest.mock.patch.dict(run.PARTS, {"unit": lambda options: copy.deepcopy(outcome)}), \
                unittest.mock.patch.dict(os.environ, {"CI": ci}), contextlib.redirect_stdout(output):
            code = run.main(["--build", ".", "unit"])
        return code, output.getvalue().splitlines()

    def total(self, outcome, ci):
        code, lines = self.run_main(outcome, ci)
        return code, lines[-1]

    def output(self, outcome, ci):
        return self.run_main(outcome, ci)[1]

    def test_the_last_line_is_the_plain_sum(self):
        self.assertEqual(self.total(run.Outcome(passed=4), ""), (0, "4 passed, 0 failed"))
        self.assertEqual(self.total(run.Outcome(passed=4, failures=[("a", "b")]), ""), (1, "4 passed, 1 failed"))

    def test_an_unexpected_skip_fails_where_ci_is_true(self):
        outcome = run.Outcome(passed=4, skipped=["A.b", "c.d (registry: not reached)"])
        self.assertEqual(self.total(outcome, ""), (0, "4 passed, 0 failed"))
        self.assertEqual(self.total(outcome, "true"), (1, "4 passed, 1 failed"))

    def test_a_skip_for_want_of_namespaces_fails_where_they_can_be_made(self):
        outcome = run.Outcome(passed=4, skipped=["c.d (namespaces: none)", "c.e (time namespaces: none)"])
        for can, failed in ((True, 1), (False, 0)):
            with unittest.mock.patch.object(run, "can_make_namespaces", lambda can=can: can):
                self.assertEqual(self.total(outcome, "true")[1], "4 passed, %d failed" % failed)
                self.assertEqual(self.total(outcome, "")[1], "4 passed, 0 failed")

    def test_a_part_of_which_no_test_ran_is_said_before_the_sum(self):
        skips = ["a.b (registry: not reached)", "a.c (registry: not reached)", "a.d (cpus: one)"]
        output = self.output(run.Outcome(skipped=skips), "")
        self.assertEqual(output[-2:], ["!!! NOTHING WAS TESTED of unit: 3 skipped, for cpus, registry", "0 passed, 0 failed"])
        self.assertNotIn("NOTHING", "\n".join(self.output(run.Outcome(passed=1, skipped=skips), "")))

    def test_what_computes_runs_beside_what_waits_and_tidy_alone(self):
        meeting = threading.Barrier(2, timeout=30)
        ran = []

        def part(name, wait):
            def run_it(_options):
                wait()
                ran.append(name)
                return run.Outcome(passed=1)
            return run_it
        parts = {"unit": part("unit", meeting.wait), "integration": part("integration", meeting.wait),
                 "tidy": part("tidy", lambda: None), "fuzz": part("fuzz", lambda: None)}
        output = io.StringIO()
        with unittest.mock.patch.dict(run.PARTS, parts), contextlib.redirect_stdout(output):
            self.assertEqual(run.main(["--build", "."]), 0)
        self.assertEqual(output.getvalue(), "4 passed, 0 failed\n")
        self.assertEqual((ran[0], sorted(ran)), ("tidy", ["fuzz", "integration", "tidy", "unit"]))


if __name__ == "__main__":
    unittest.main()
