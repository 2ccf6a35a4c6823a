"""TensorFlow 2.21 (CPU): MultiWorkerMirrored on two nodes with two workers each, and a job with parameter servers."""
import os
import unittest

import library_cases


class TensorflowTest(library_cases.LibraryTest):
    lock = "tensorflow"
    framework = "tensorflow"
    script = "tensorflow_faults.py"
    result = "1.00 2.00 3.00 4.00"

    def expect_nothing_left(self):
        """Of ours: TensorFlow leaves what it has made of a function if it is killed."""
        left = [name for name in os.listdir(self.temp) if not name.startswith(("torchelastic_", "__autograph_"))]
        self.assertEqual(left, [])


class Jobs(library_cases.Faults, TensorflowTest):
    """A MultiWorkerMirrored process swallows SIGTERM: what all_are_told_to_end tests."""

    gate_keeps = ("test_all_fit_one_model", "test_a_worker_is_killed_and_all_start_again", "test_all_are_told_to_end",
                  "test_a_worker_that_ends_early_is_missed")

    def test_a_worker_that_ends_early_is_missed(self):
        """The others raise, for it looks like one that died."""
        finished = self.job("early", 2, code=1)
        self.assertRegex(finished.err, r"rank [013] on node-\d failed first: exit code 1")

    def test_example(self):
        """examples/tensorflow/run.sh."""
        self.expect_example("tensorflow")


class Servers(TensorflowTest):
    script = "tensorflow_servers.py"

    def test_a_worker_starts_again_alone_and_servers_end_with_the_chief(self):
        finished = self.job(self.temp, flags=("--roles", "chief=1,worker=2,ps=1", "--max-restarts", 1))
        self.assertRegex(finished.out, "total 2[0-9]")  # a call that was lost may have been done
        self.assertEqual(finished.out.count("serves worker 0"), 2, finished)
        self.assertEqual(finished.out.count("serves ps 0"), 1, finished)
        self.assertRegex(finished.err, "worker.restart local_rank=1 failure=\"SIGKILL")
        self.assertRegex(finished.err, r'result=succeeded reason="the chief \(rank 0\) succeeded".*attempts=1')


if __name__ == "__main__":
    unittest.main()
