"""LightGBM 4.7: a bare lightgbm.train(), and its scikit-learn classes, on two nodes with two workers each."""
import os
import re

import harness
import library_cases


class LightgbmTest(library_cases.LibraryTest):
    lock = "jax-lightgbm"
    framework = "lightgbm"
    script = "lightgbm_faults.py"

    def alone(self, *words):
        """What one process predicts that has all rows."""
        finished = self.start_command([os.path.join(self.bin, "python"), self.script, *words]).finish()
        self.expect_code(finished, 0)
        return re.search("predicts (.*)", finished.out).group(1)

    @property
    def result(self):
        return self.alone()


class Jobs(library_cases.Faults, LightgbmTest):
    def test_scikit_learn_classes_twice(self):
        finished = self.job("sklearn")
        self.expect_result(finished, self.alone("sklearn"))
        self.assertEqual(len(re.findall("predicts", finished.out)), 8, finished)
        self.assertIn("threads 1", finished.out)  # OMP_NUM_THREADS: four workers on this machine

    def test_without_the_hook_each_has_a_model_of_its_own(self):
        finished = self.job(flags=("--lightgbm-hook", "off"))
        self.assertEqual(len(set(re.findall("predicts (.*)", finished.out))), 4, finished)

    def test_a_worker_ends_early_with_0(self):
        finished = self.job("early", 2, code=1)
        self.assertRegex(finished.err, "Connection reset by peer")

    def test_example(self):
        """examples/lightgbm/run.sh."""
        self.expect_example("lightgbm")


if __name__ == "__main__":
    import unittest
    unittest.main()
