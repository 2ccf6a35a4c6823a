"""Paddle 3.3 (CPU): init_parallel_env() on two nodes with two workers each."""
import unittest

import library_cases


class PaddleTest(library_cases.LibraryTest):
    lock = "paddle"
    framework = "paddle"
    script = "paddle_faults.py"
    result = "1.00 2.00 3.00 4.00"


class Jobs(library_cases.Faults, PaddleTest):
    """A process that has raised waits for the others at its exit until it is killed."""

    gate_keeps = ("test_all_fit_one_model", "test_a_worker_is_killed_and_all_start_again")

    def start_job(self, *words, flags=(), env=None):
        return super().start_job(*words, flags=("--grace-period", "4s", *flags), env=env)

    def test_its_launcher_is_taken_over(self):
        finished = self.run_muster("run", "python3", "-m", "paddle.distributed.launch", "--nproc_per_node", 2, self.script)
        self.expect_code(finished, 0)
        self.assertEqual(finished.out.count("of 2 weights " + self.result), 2, finished)


if __name__ == "__main__":
    unittest.main()
