"""Jobs of XGBoost, and what becomes of them when something breaks: the same for every version. integration/ runs them with Debian's,
compat/ with those of the package registry. A mixin; the class that uses it sets what stands at the top of XgboostCases."""
import os
import re
import socket
import subprocess

import harness

TRAIN = os.path.join(harness.SUPPORT, "xgboost_train.py")
MAGIC = b"\x99\xff\x00\x00"


class XgboostCases:
    python = None  # the interpreter that has it
    wire = None    # what the log says of it
    tolerance = 0  # of predictions

    def job(self, *words, flags=(), nodes=2, each=2):
        return self.start("local", "--nodes", nodes, "--nproc-per-node", each, "--framework", "xgboost", *flags, TRAIN, *words,
                          env={"PYTHON_EXEC": self.python})

    def predictions(self, name):
        """As text, made by the Python that has numpy."""
        code = "import numpy, sys; print(*numpy.load(sys.argv[1]).tolist())"
        return [float(word) for word in subprocess.run([self.python, "-c", code, self.path(name)], stdout=subprocess.PIPE, text=True,
                                                       check=True).stdout.split()]

    def expect_trained(self, finished, ranks=4, times=1):
        self.expect_code(finished, 0)
        for rank in range(ranks):
            self.assertEqual(len(re.findall(r"(?m)rank %d of %d done$" % (rank, ranks), finished.out)), times, finished)
        return finished

    def expect_rounds(self, text, times=1):
        """Each evaluation line is there once, for each model."""
        for number in range(5):
            self.assertEqual(len(re.findall(r"(?m)^\[tracker\] \[%d\]\ttrain-rmse:[0-9.]+$" % number, text)), times, text)
        self.assertEqual(text.count("train-rmse"), 5 * times, text)

    def test_workers_of_two_nodes_train_one_model(self):
        finished = self.expect_trained(self.job().finish())
        self.expect_rounds(finished.out)
        self.assertRegex(finished.err, 'tracker.group workers=4 speaks="%s"' % self.wire)
        self.expect_code(self.start_command([self.python, TRAIN, "single"]).finish(), 0)
        single = self.predictions("single.npy")
        for rank in range(4):
            ours = self.predictions("model-%d.npy" % rank)
            self.assertLessEqual(max(abs(a - b) / abs(b) for a, b in zip(ours, single)), self.tolerance)

    def test_a_worker_alone(self):
        finished = self.run_muster("run", "--framework", "xgboost", TRAIN, env={"PYTHON_EXEC": self.python})
        self.expect_trained(finished, ranks=1)
        self.expect_rounds(finished.out)

    def test_contexts_one_after_the_other(self):
        finished = self.expect_trained(self.job("contexts").finish(), times=3)
        self.expect_rounds(finished.out, times=3)
        self.assertEqual(len(re.findall("tracker.group ", finished.err)), 3)

    def test_a_worker_is_killed(self):
        finished = self.expect_code(self.job("kill", 3).finish(), 137)
        self.assertRegex(finished.err, r"muster: rank 3 on node-2 failed first: SIGKILL ")

    def test_a_worker_is_killed_and_all_begin_again(self):
        finished = self.expect_trained(self.job("kill", 3, flags=("--max-restarts", 1)).finish())
        self.assertRegex(finished.err, "job.end result=succeeded .* attempts=2 ")
        self.assertEqual(len(re.findall("tracker.group ", finished.err)), 2)

    def test_a_worker_of_one_node_is_killed_and_all_begin_again(self):
        finished = self.run_muster("run", "--nproc-per-node", 2, "--max-restarts", 1, "--framework", "xgboost", TRAIN, "kill", 0,
                                   env={"PYTHON_EXEC": self.python})
        self.expect_trained(finished, ranks=2)
        self.assertRegex(finished.err, "job.end result=succeeded .* attempts=2 ")

    def test_a_worker_raises(self):
        finished = self.expect_code(self.job("raise", 2).finish(), 1)
        self.assertRegex(finished.err, r"RuntimeError: on purpose")

    def test_a_worker_leaves_in_the_middle_with_0(self):
        """Its peers find out, and nothing hangs."""
        finished = self.job("leave", 3).finish()
        self.assertNotEqual(finished.code, 0, finished)
        self.assertRegex(finished.err, r"tracker.worker_absent rank=3 |rank [012] on node-. failed first")

    def test_a_worker_ends_with_0_before_it_joins(self):
        job = self.job("early", 2)
        for rank in (0, 1, 3):
            job.wait_for("joins %d$" % rank)
        self.write("go", "")
        finished = self.expect_code(job.finish(), 1)
        self.assertRegex(finished.err, r"muster: rank 2 on node-2 failed first: exit code 0, but task .* for it to join the group of XGBoost")

    def test_a_worker_of_the_trackers_node_ends_with_0_before_it_joins(self):
        job = self.job("early", 0)
        for rank in (1, 2, 3):
            job.wait_for("joins %d$" % rank)
        self.write("go", "")
        finished = self.expect_code(job.finish(), 1)
        self.assertRegex(finished.err, r"muster: rank 0 on node-1 failed first: exit code 0, but task .* for it to join the group of XGBoost")

    def test_sigterm_in_the_middle(self):
        job = self.job("pause")
        for rank in range(4):
            job.wait_for("pauses %d$" % rank)
        job.signal(15)
        self.expect_code(job.finish(), 143)

    def test_a_late_worker_and_strangers_before_it(self):
        """A port probe, silence, garbage, second sessions and another job's worker disturb nobody."""
        job = self.job("late", 2)
        found = job.wait_for(r"late: tracker (\S+) (\d+)$")
        address = (found.group(1), int(found.group(2)))
        socket.create_connection(address).close()
        strangers = [socket.create_connection(address) for _ in range(5)]
        strangers[1].sendall(MAGIC)
        strangers[2].sendall(MAGIC + b"{" * 100)
        strangers[3].sendall(b"GET / HTTP/1.0\r\n\r\n")
        number = lambda value: value.to_bytes(4, "little", signed=True)  # noqa: E731
        start = lambda task: MAGIC + number(-1) + number(-1) + number(len(task)) + task + number(5) + b"start"  # noqa: E731
        strangers[4].sendall(start(b"somebody"))
        # Those of the job wait already, or come in this one's place.
        job.wait_for("tracker.client_dropped reason=\"bytes of a text|tracker.client_dropped", "err")
        self.write("go", "")
        self.expect_trained(job.finish())
        for stranger in strangers:
            stranger.close()
