"""Jobs of two nodes with two workers each that run a script of a library which lives in an environment of its own."""
import os
import re
import signal
import subprocess

import harness

COMPAT = os.path.join(harness.ROOT, "tests", "compat")


class LibraryTest(harness.MusterTest):
    """`lock`: of compat/locks. `framework` and `script`, a file of this folder."""

    def setUp(self):
        super().setUp()
        setup = subprocess.run(["sh", os.path.join(COMPAT, "setup_locked.sh"), self.lock], stdout=subprocess.PIPE, text=True)
        if setup.returncode != 0:
            self.skip_because("registry", "not all of locks/%s.txt can be had" % self.lock)
        self.bin = os.path.join(setup.stdout.strip(), "bin")
        self.script = os.path.join(harness.SUPPORT, self.script)

    def environment(self, extra=None):
        own = super().environment()
        return super().environment({"PATH": "%s:%s" % (self.bin, own["PATH"]), "PYTHONDONTWRITEBYTECODE": "1", **(extra or {})})

    def start_job(self, *words, flags=(), env=None):
        return self.start("local", "--nodes", 2, "--nproc-per-node", 2, "--framework", self.framework, *flags, self.script, *words, env=env)

    def job(self, *words, code=0, **how):
        return self.expect_code(self.start_job(*words, **how).finish(), code)

    def expect_result(self, finished, wanted):
        """Each of four ranks has it."""
        found = dict(re.findall(r"rank (\d) of 4 \w+ (.*)", finished.out))
        self.assertEqual(found, {str(rank): wanted for rank in range(4)}, finished)

    def expect_example(self, folder):
        finished = self.start_command([os.path.join(harness.EXAMPLES, folder, "run.sh"), harness.BINARY]).finish()
        self.expect_code(finished, 0)
        with open(os.path.join(harness.EXAMPLES, folder, "expected.txt")) as file:
            for pattern in file.read().splitlines():
                self.assertRegex(finished.out, "(?m)" + pattern)

    def expect_nothing_left(self):
        left = [name for name in os.listdir(self.temp) if not name.startswith("torchelastic_")]
        self.assertEqual(left, [])


class Faults:
    """What becomes of the job when a worker fails, or all are told to end. `result`: what each rank prints at the end."""

    def test_all_fit_one_model(self):
        self.expect_result(self.job(), self.result)
        self.expect_nothing_left()

    def test_a_worker_raises(self):
        finished = self.job("raise", 1, code=1)
        self.assertRegex(finished.err, "(?m)^ *(\\[.*\\])? *ValueError: on purpose")
        self.assertRegex(finished.err, "rank 1 on node-1 failed first: exit code 1")

    def test_a_worker_is_killed(self):
        finished = self.job("kill", 3, code=137)
        self.assertRegex(finished.err, "rank 3 on node-2 failed first: SIGKILL")

    def test_a_worker_is_killed_and_all_start_again(self):
        finished = self.job("kill", 0, flags=("--max-restarts", 1))
        self.expect_result(finished, self.result)
        self.assertRegex(finished.err, "result=succeeded.*attempts=2")
        self.expect_nothing_left()

    def test_all_are_told_to_end(self):
        job = self.start_job("forever", 0, flags=("--grace-period", "4s"))
        for rank in range(4):
            job.wait_for("rank %d trains" % rank)
        job.signal(signal.SIGTERM)
        self.expect_code(job.finish(), 128 + signal.SIGTERM)
        self.expect_nothing_left()

    @harness.grid
    def test_a_worker_comes_late(self):
        self.expect_result(self.job("late", 1), self.result)
