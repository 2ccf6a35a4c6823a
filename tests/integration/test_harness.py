"""The harness notices what it is there for."""
import os
import subprocess
import sys
import unittest
import unittest.mock

import harness


class Leaks(harness.MusterTest):
    def outcome_of(self, body):
        """The TestResult of a test with this body."""
        class Probe(harness.MusterTest):
            def runTest(self):
                body(self)
        result = unittest.TestResult()
        with unittest.mock.patch.object(harness, "GONE_WITHIN_S", 0.5):
            Probe().run(result)
        return result

    def test_a_process_that_is_left_behind_fails_the_test_and_is_killed(self):
        folders, pids = [], []

        def leaves_a_daemon(test):
            folders.append(test.dir)
            command = ["sh", "-c", "setsid sleep 300 >/dev/null 2>&1 & echo $!"]
            pids.append(int(test.start_command(command).finish().out))
        result = self.outcome_of(leaves_a_daemon)
        self.assertEqual(len(result.failures), 1)
        self.assertIn("left behind", result.failures[0][1])
        self.assertFalse(os.path.exists(folders[0]))
        harness.wait_until(lambda: not harness.is_alive(pids[0]), "the daemon is dead", harness.GONE_WITHIN_S)

    def test_a_clean_test_passes(self):
        self.assertTrue(self.outcome_of(lambda test: test.start_command(["true"]).finish()).wasSuccessful())

    def test_held_output_is_noticed(self):
        result = self.outcome_of(lambda test: test.start_command(["sh", "-c", "sleep 300 & exit 0"]).finish())
        self.assertEqual(len(result.failures), 2)  # of the test itself, and the process left behind
        self.assertIn("holds the output", result.failures[0][1])


class Runner(harness.MusterTest):
    def run_folder(self, **files):
        """The last line and the exit code of the runner in a folder with these files."""
        folder = self.path("tests")
        os.mkdir(folder)
        for name, content in files.items():
            self.write(os.path.join("tests", name + ".py"), content)
        self.write("main.py", "if __name__ == '__main__':\n    import sys\n    sys.path.insert(0, %r)\n    import run\n"
                              "    run.main('probe', %r)\n" % (harness.HERE, folder))
        finished = subprocess.run([sys.executable, self.path("main.py")], capture_output=True, text=True, timeout=harness.PATIENCE_S,
                                  env=dict(self.environment(), MUSTER_BINARY=harness.BINARY))
        return finished.stdout.splitlines()[-1], finished.returncode

    def test_it_counts(self):
        line = self.run_folder(test_a="import unittest\nclass A(unittest.TestCase):\n    def test_good(self):\n        pass\n"
                                      "    def test_bad(self):\n        self.fail('no')\n"
                                      "    def test_skipped(self):\n        self.skipTest('root: not now')\n")
        self.assertEqual(line, ("probe: 1 passed, 1 failed, 1 skipped", 1))

    def test_a_file_without_tests_is_a_failure(self):
        passing = "import unittest\nclass A(unittest.TestCase):\n    def test_good(self):\n        pass\n"
        self.assertEqual(self.run_folder(test_a=passing, test_b="", more=passing), ("probe: 2 passed, 2 failed", 1))

    def test_a_test_that_leaves_through_the_back_door_is_a_failure(self):
        line = self.run_folder(test_a="import unittest\nclass A(unittest.TestCase):\n    def test_escapes(self):\n"
                                      "        raise KeyboardInterrupt\n")
        self.assertEqual(line, ("probe: 0 passed, 1 failed", 1))

    def test_what_a_test_prints_is_no_part_of_the_count(self):
        line = self.run_folder(test_a="import os, unittest\nclass A(unittest.TestCase):\n    def test_prints(self):\n"
                                      "        os.write(1, b'no end of line')\n")
        self.assertEqual(line, ("probe: 1 passed, 0 failed", 0))

    def test_a_worker_that_is_killed_leaves_failures(self):
        line = self.run_folder(test_a="import os, signal, unittest\nclass A(unittest.TestCase):\n    def test_kills(self):\n"
                                      "        os.kill(os.getpid(), signal.SIGKILL)\n")
        self.assertEqual(line, ("probe: 0 passed, 1 failed", 1))

    def test_a_skip_for_a_reason_nobody_listed_is_a_failure(self):
        line = self.run_folder(test_a="import unittest\nclass A(unittest.TestCase):\n    def test_lazy(self):\n"
                                      "        self.skipTest('no time')\n")
        self.assertEqual(line, ("probe: 0 passed, 1 failed", 1))


class Ports(unittest.TestCase):
    def test_none_is_given_twice(self):
        with unittest.mock.patch.object(harness, "given_ports", set()), unittest.mock.patch.object(harness, "PORTS", (20000, 20100)), \
                unittest.mock.patch.object(harness, "lane", (0, 1)):
            ports = [harness.free_port() for _ in range(40)]
        self.assertEqual(len(set(ports)), 40)
