"""JAX 0.10 (CPU): a bare jax.distributed.initialize() on two nodes with two processes each."""
import re

import harness
import library_cases


class JaxTest(library_cases.LibraryTest):
    lock = "jax-lightgbm"
    framework = "jax"
    script = "jax_faults.py"
    result = "1.0000 2.0000 3.0000 4.0000"


class Jobs(library_cases.Faults, JaxTest):
    def test_the_variables_of_slurm_do_as_well(self):
        self.expect_result(self.job(flags=("--jax-hook", "off")), self.result)

    def test_one_node_with_one_process_and_with_two(self):
        for workers in (1, 2):
            finished = self.run_muster("run", "--nproc-per-node", workers, "--framework", "jax", self.script,
                                       env={"KUBERNETES_SERVICE_HOST": "192.0.2.1"})
            self.expect_code(finished, 0)
            self.assertNotIn("Kubernetes", finished.err)
            self.assertEqual(len(re.findall("rank . of %d weights %s" % (workers, self.result), finished.out)), workers, finished)

    def test_process_0_exits_with_a_code(self):
        """It is the host of the coordination service, and would abort."""
        finished = self.job("exit", 0, code=7)
        self.assertRegex(finished.err, "rank 0 on node-1 failed first: exit code 7")

    @harness.grid
    def test_a_process_ends_early_with_0(self):
        """It waits for the others before it exits, by default for 300 s, and they wait for it."""
        finished = self.job("early", 2, code=134, env={"MUSTER_JAX_SHUTDOWN_TIMEOUT": "10"})
        self.assertRegex(finished.out + finished.err, "Shutdown barrier in coordination service has failed")

    def test_example(self):
        """examples/jax/run.sh."""
        self.expect_example("jax")


if __name__ == "__main__":
    import unittest
    unittest.main()
