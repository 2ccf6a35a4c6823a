"""Tests of tests/run.py: what it makes of programs that pass, fail and die, and which second chance it gives."""

import contextlib
import io
import json
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
from gate import outcome as outcomes  # noqa: E402
from gate import processes, programs, scripts  # noqa: E402
from gate.outcome import Failure, Outcome  # noqa: E402


def script(folder, name, lines):
    path = pathlib.Path(folder, name)
    path.write_text("#!/bin/sh\n" + lines)
    path.chmod(0o755)
    return path


@contextlib.contextmanager
def quiet():
    with contextlib.redirect_stdout(io.StringIO()) as output:
        yield output


def names_of(failures):
    return [failure.name for failure in failures]


class GoogleTestOutput(unittest.TestCase):
    def test_each_case_counts_once(self):
        outcome, seen = programs.read_gtest_output(
            "[ RUN      ] A.b\n[       OK ] A.b (1200 ms)\n[ RUN      ] A.c\nx.cc:1: Failure\n[  FAILED  ] A.c (1 ms)\n"
            "[ RUN      ] A.d\n[  SKIPPED ] A.d (0 ms)\n[  FAILED  ] 1 test, listed below:\n[  FAILED  ] A.c\n")
        self.assertEqual((outcome.passed, outcome.failed(), outcome.skipped), (1, 1, ["A.d"]))
        self.assertEqual((outcome.failures[0].name, outcome.failures[0].text), ("A.c", "x.cc:1: Failure"))
        self.assertEqual(seen, ["A.b", "A.c", "A.d"])
        self.assertEqual(max(outcome.times), (1.2, "A.b"))

    def test_a_case_that_ends_the_program_is_a_failure(self):
        outcome, _ = programs.read_gtest_output(
            "[ RUN      ] A.b\nunterminated[       OK ] A.b (0 ms)\n[ RUN      ] A.c\nlast words\n")
        self.assertEqual(outcome.passed, 1)
        self.assertEqual(outcome.failures[0].name, "A.c")
        self.assertIn("last words", outcome.failures[0].text)

    def test_the_list_of_tests(self):
        self.assertEqual(programs.read_list("Running main() from x.cc\nA.\n  b\n  DISABLED_c\nB/0.  # TypeParam = int\n  d/1  # GetParam() = 7\n"),
                         ["A.b", "B/0.d/1"])


# A test program in shell: answers --gtest_list_tests, and runs those of its cases that the filter names. $OUT stays over runs.
SUITE = '''filter=${*##*--gtest_filter=}
case $* in *--gtest_list_tests*) printf 'A.\\n  good\\n  bad\\n  last\\n'; exit 0;; esac
case $filter in A.good*) echo '[ RUN      ] A.good'; echo '[       OK ] A.good (0 ms)';; esac
case $filter in *A.bad*) echo '[ RUN      ] A.bad'; %s;; esac
case $filter in *A.last*) echo '[ RUN      ] A.last'; echo '[       OK ] A.last (0 ms)';; esac
%s
'''
FAILS = "echo why; echo '[  FAILED  ] A.bad (0 ms)'; failed=1"
PASSES = "echo '[       OK ] A.bad (0 ms)'"


class Programs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def unit(self, bad, end="exit ${failed:-0}"):
        with quiet():
            return programs.run_unit_shard((script(self.folder, "a_test", SUITE % (bad, end)), "*", 0, 1))

    def fuzz(self, lines):
        with quiet():
            return programs.run_fuzz_target((script(self.folder, "fuzz", lines), "a_fuzz"))

    def again(self, outcome):
        with quiet():
            outcomes.run_again(outcome)
        return outcome

    def once(self):
        """Shell text that is true the first time only."""
        return f"mkdir {self.folder}/once 2>/dev/null"

    def test_all_pass(self):
        outcome = self.unit(PASSES)
        self.assertEqual((outcome.passed, outcome.failed()), (3, 0))

    def test_a_test_that_fails_once_is_unstable(self):
        outcome = self.unit(f"if {self.once()}; then {FAILS}; else {PASSES}; fi")
        self.assertEqual((outcome.passed, names_of(outcome.failures)), (2, ["A.bad"]))
        self.again(outcome)
        self.assertEqual((outcome.passed, outcome.failed(), names_of(outcome.unstable)), (3, 0, ["A.bad"]))
        self.assertEqual(outcome.unstable[0].text, "why")

    def test_a_test_that_fails_twice_has_failed(self):
        outcome = self.again(self.unit(FAILS))
        self.assertEqual((outcome.passed, names_of(outcome.failures), outcome.unstable), (2, ["A.bad"], []))

    def test_after_a_crash_the_rest_is_run_and_the_crash_again(self):
        outcome = self.unit(f"if {self.once()}; then echo dying; kill -9 $$; else {PASSES}; fi")
        self.assertEqual((outcome.passed, names_of(outcome.failures)), (2, ["A.bad"]))
        self.assertIn("dying", outcome.failures[0].text)
        self.assertEqual(names_of(self.again(outcome).unstable), ["A.bad"])

    def test_a_test_that_is_never_reported_is_a_failure(self):
        outcome = self.again(self.unit("echo; filter="))
        self.assertEqual((outcome.passed, outcome.failed()), (2, 1))
        with unittest.mock.patch.object(programs, "MOST_DEATHS", 0):
            outcome = self.unit("kill -9 $$")
        self.assertEqual(sorted(names_of(outcome.failures)), ["A.bad", "A.last"])

    def test_a_program_without_tests_is_a_failure(self):
        with quiet():
            self.assertEqual(programs.run_unit_shard((script(self.folder, "a_test", "exit 0\n"), "*", 0, 1)).failed(), 1)

    def test_a_program_that_fails_after_its_tests_is_a_failure(self):
        outcome = self.unit(PASSES, "exit 3")
        self.assertEqual((outcome.passed, outcome.failed()), (3, 1))
        self.assertIn("exit 3", outcome.failures[0].text)

    def test_a_program_that_does_not_end_is_a_failure(self):
        with unittest.mock.patch.object(programs, "UNIT_SECONDS", 0.5), unittest.mock.patch.object(programs, "MOST_DEATHS", 0):
            outcome = self.unit("exec sleep 1000")
        self.assertIn("A.bad", names_of(outcome.failures))

    def test_a_fuzz_target_has_to_have_run_something(self):
        self.assertEqual(self.fuzz("echo 7 executions\n").passed, 1)
        self.assertEqual(self.fuzz("echo 0 executions\n").failed(), 1)
        self.assertIn("SIGKILL", self.fuzz("kill -9 $$\n").failures[0].text)

    def test_a_fuzz_target_has_a_second_chance(self):
        outcome = self.again(self.fuzz(f"{self.once()} || echo 7 executions\n"))
        self.assertEqual((outcome.passed, names_of(outcome.unstable)), (1, ["a_fuzz"]))

    def test_a_folder_without_programs_is_a_failure(self):
        options = run.parse_arguments(["--build", self.folder, "--binary", f"{self.folder}/muster"])
        for run_part in (programs.run_unit, programs.run_unit_sanitized, programs.run_fuzz):
            self.assertEqual(run_part(options).failed(), 1)

    def test_what_was_started_ends_with_the_runner(self):
        process = processes.start(["sleep", "1000"])
        processes.end_all()
        self.assertEqual(process.wait(10), -15)


class Reports(unittest.TestCase):
    TESTS = {"tests": ["a.b.c", "a.b.d"], "problems": []}

    def read(self, *records, code=0, again=None):
        return scripts.read_report("integration", code, records, again)

    def record(self, name, outcome="passed", detail=""):
        return {"id": name, "outcome": outcome, "detail": detail, "seconds": 1.5}

    def test_each_test_counts_once(self):
        outcome = self.read(self.TESTS, self.record("a.b.c"), self.record("a.b.d", "failed", "why"), code=1)
        self.assertEqual((outcome.passed, names_of(outcome.failures), outcome.failures[0].text), (1, ["a.b.d"], "why"))
        self.assertEqual(outcome.times, [(1.5, "a.b.c"), (1.5, "a.b.d")])

    def test_what_was_never_reported_fails_and_is_run_again(self):
        outcome = self.read(self.TESTS, self.record("a.b.c"), code=None,
                            again=lambda name: self.read({"tests": [name], "problems": []}, self.record(name)))
        self.assertEqual(names_of(outcome.failures), ["a.b.d"])
        with quiet():
            outcomes.run_again(outcome)
        self.assertEqual((outcome.passed, names_of(outcome.unstable)), (2, ["a.b.d"]))

    def test_no_tests_a_problem_and_a_bad_end_are_failures(self):
        self.assertEqual(self.read().failed(), 1)
        self.assertEqual(self.read({"tests": [], "problems": []}).failed(), 1)
        self.assertEqual(self.read({"tests": [], "problems": ["x.py yields no test"]}, code=1).failed(), 1)
        self.assertEqual(self.read(self.TESTS, self.record("a.b.c"), self.record("a.b.d"), code=2).failed(), 1)

    def test_skips_name_their_reason(self):
        outcome = self.read({"tests": ["a.b"], "problems": []}, self.record("a.b", "skipped", "namespaces: none here"))
        self.assertEqual((outcome.skipped, outcome.failed()), (["a.b (namespaces: none here)"], 0))


class Commands(unittest.TestCase):
    def command(self, lines):
        with tempfile.TemporaryDirectory() as folder, \
                unittest.mock.patch.dict(scripts.COMMANDS, {"format": ([script(folder, "command", lines)], 60)}), quiet():
            options = run.parse_arguments(["format"])
            options.logs = pathlib.Path(folder)
            return scripts.run_command("format", options)

    def test_one_without_a_count_is_one_test(self):
        self.assertEqual(self.command("exit 0\n").passed, 1)
        outcome = self.command("echo last words; exit 3\n")
        self.assertEqual((outcome.passed, outcome.failed()), (0, 1))
        self.assertIn("last words", outcome.failures[0].text)

    def test_one_with_a_count_is_as_many(self):
        outcome = self.command("printf 'FAILED a.cc\\nwhy\\n7 passed, 1 failed\\n'; exit 1\n")
        self.assertEqual((outcome.passed, names_of(outcome.failures), outcome.failures[0].text), (7, ["format: a.cc"], "why\n"))


class Sum(unittest.TestCase):
    def run_main(self, outcome, ci="", known=()):
        """The exit code and what is printed when the part "unit" has this outcome."""
        with unittest.mock.patch.dict(run.PARTS, {"unit": lambda _options: outcome}), \
                unittest.mock.patch.object(outcomes, "known_unstable", lambda: set(known)), \
                unittest.mock.patch.dict(os.environ, {"CI": ci}), quiet() as output:
            code = run.main(["--build", ".", "unit"])
        return code, output.getvalue().splitlines()

    def total(self, *arguments, **more):
        code, lines = self.run_main(*arguments, **more)
        return code, lines[-1]

    def unlucky(self, *names):
        """An outcome in which these failed, and pass when they are run again."""
        outcome = Outcome(passed=4)
        for name in names:
            outcome.fail(name, "bad luck", lambda: Outcome(passed=1))
        return outcome

    def test_the_last_line_is_the_plain_sum(self):
        self.assertEqual(self.total(Outcome(passed=4)), (0, "4 passed, 0 failed"))
        self.assertEqual(self.total(Outcome(passed=4, failures=[Failure("a", "b")])), (1, "4 passed, 1 failed"))

    def test_three_unstable_tests_pass_and_are_named(self):
        code, lines = self.run_main(self.unlucky("A.a", "A.b", "A.c"))
        self.assertEqual((code, lines[-1]), (0, "7 passed, 0 failed"))
        self.assertEqual([line for line in lines if line.startswith("unstable: ")], ["unstable: A.a", "unstable: A.b", "unstable: A.c"])
        self.assertIn("    bad luck", lines)

    def test_four_unstable_tests_are_failures(self):
        self.assertEqual(self.total(self.unlucky("A.a", "A.b", "A.c", "A.d")), (1, "4 passed, 4 failed"))

    def test_a_known_unstable_test_is_a_failure(self):
        self.assertEqual(self.total(self.unlucky("A.a", "A.b"), known={"A.b", "A.z"}), (1, "5 passed, 1 failed"))

    def test_the_page_of_unstable_tests_names_them_in_its_table(self):
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder, "unstable.md")
            page.write_text("Text of `A.x`.\n\n| Test | Known |\n|---|---|\n| `A.b` | loses `race` |\n")
            self.assertEqual(outcomes.known_unstable(page), {"A.b"})

    def test_when_much_fails_nothing_is_run_again(self):
        outcome = self.unlucky(*(f"A.{number}" for number in range(11)))
        self.assertEqual(self.total(outcome), (1, "4 passed, 11 failed"))

    def test_tests_are_run_again_when_all_others_have_ended(self):
        order = []

        def waits(_options):
            order.append("integration")
            return Outcome(passed=1)
        outcome = Outcome()
        outcome.fail("A.a", "why", lambda: order.append("again") or Outcome(passed=1))
        with unittest.mock.patch.dict(run.PARTS, {"unit": lambda _options: outcome, "integration": waits}), quiet():
            run.main(["--build", ".", "unit", "integration"])
        self.assertEqual(order, ["integration", "again"])

    def test_the_time_of_each_part_and_the_slowest_tests_are_told(self):
        _, lines = self.run_main(Outcome(passed=30, times=[(number, f"A.{number}") for number in range(30)]))
        self.assertRegex("\n".join(lines), r"(?m)^unit +\d+\.\d s +30 passed, 0 failed$")
        self.assertIn("   29.0 s   A.29", lines)
        self.assertIn("   10.0 s   A.10", lines)
        self.assertNotIn("    9.0 s   A.9", lines)

    def test_an_unexpected_skip_fails_where_ci_is_true(self):
        def outcome():
            return Outcome(passed=4, skipped=["A.b", "c.d (registry: not reached)"])
        self.assertEqual(self.total(outcome()), (0, "4 passed, 0 failed"))
        self.assertEqual(self.total(outcome(), ci="true"), (1, "4 passed, 1 failed"))

    def test_a_skip_for_want_of_namespaces_fails_where_they_can_be_made(self):
        for can, failed in ((True, 1), (False, 0)):
            with unittest.mock.patch.object(scripts, "can_make_namespaces", lambda can=can: can):
                for ci, wanted in (("true", failed), ("", 0)):
                    outcome = Outcome(passed=4, skipped=["c.d (namespaces: none)", "c.e (time namespaces: none)"])
                    self.assertEqual(self.total(outcome, ci=ci)[1], f"4 passed, {wanted} failed")

    def test_a_part_of_which_no_test_ran_is_said_before_the_sum(self):
        skips = ["a.b (registry: not reached)", "a.c (registry: not reached)", "a.d (cpus: one)"]
        _, lines = self.run_main(Outcome(skipped=skips))
        self.assertIn("!!! NOTHING WAS TESTED of unit: 3 skipped, for cpus, registry", lines)
        self.assertNotIn("NOTHING", "\n".join(self.run_main(Outcome(passed=1, skipped=skips))[1]))

    def test_what_needs_a_build_that_failed_is_not_run(self):
        def fails(_options):
            outcome = Outcome()
            outcome.fail("build-tests", "no")
            return outcome
        with unittest.mock.patch.dict(run.PARTS, {"build-tests": fails, "unit": lambda _options: self.fail("was run")}), quiet() as output:
            self.assertEqual(run.main(["build-tests", "unit"]), 1)
        self.assertIn("not run, because build-tests failed", output.getvalue())

    def test_what_computes_runs_beside_what_waits_and_tidy_alone(self):
        meeting = threading.Barrier(2, timeout=30)
        ran = []

        def part(name, wait):
            def run_it(_options):
                wait()
                ran.append(name)
                return Outcome(passed=1)
            return run_it
        parts = {"unit": part("unit", meeting.wait), "integration": part("integration", meeting.wait),
                 "tidy": part("tidy", lambda: None), "simulation": part("simulation", lambda: None)}
        with unittest.mock.patch.dict(run.PARTS, parts), quiet() as output:
            self.assertEqual(run.main(["--build", "."]), 0)
        self.assertEqual(output.getvalue().splitlines()[-1], "4 passed, 0 failed")
        self.assertEqual((ran[0], sorted(ran)), ("tidy", ["integration", "simulation", "tidy", "unit"]))


class GateAndGrid(unittest.TestCase):
    """Each integration and compatibility test belongs to one of the two: runs of the runner's own choice, without running tests."""

    PROBE = ("import json, os, sys; sys.path[:0] = sys.argv[1:3]; os.environ['MUSTER_BINARY'] = sys.executable\n"
             "import argparse, run\n"
             "tests, problems = run.collect(sys.argv[2])\n"
             "chosen = [run.selected(tests, argparse.Namespace(only=None, k=None, grid=grid)) for grid in (False, True)]\n"
             "print(json.dumps([list(tests), problems, *chosen]))\n")

    def chosen(self, folder):
        code, text = processes.run_program([sys.executable, "-c", self.PROBE, ROOT / "tests" / "integration", folder], 60, ROOT)
        self.assertEqual(code, 0, text)
        return json.loads(text.splitlines()[-1])

    def test_each_test_is_in_exactly_one(self):
        for folder in ("integration", "compat"):
            tests, problems, gate, grid = self.chosen(ROOT / "tests" / folder)
            self.assertEqual(problems, [])
            self.assertEqual(sorted(gate + grid), sorted(tests))

    def test_marks_choose_and_a_name_that_is_not_there_is_found(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "test_a.py").write_text(
                "import harness, unittest\n"
                "class A(unittest.TestCase):\n    def test_b(self): pass\n    @harness.grid\n    def test_c(self): pass\n"
                "class D(A):\n    gate_keeps = ('test_c', 'test_lost')\n")
            tests, problems, gate, grid = self.chosen(folder)
        self.assertEqual(sorted(gate), ["test_a.A.test_b", "test_a.D.test_c"])
        self.assertEqual(sorted(grid), ["test_a.A.test_c", "test_a.D.test_b"])
        self.assertEqual(problems, ["test_a.D keeps test_lost in the gate, which it does not have"])


if __name__ == "__main__":
    unittest.main()
