"""What a new user sees: a few lines before the program, what failed on every node, one summary, help for every verb."""
import json
import os
import re
import unittest

from harness import MusterTest

FAILS = 'echo "rank $RANK works"; [ "$RANK" = 3 ] || exec sleep 60; sleep 0.3; echo "no data in shard 7" >&2; exit 5'


class JobOfTwoNodes(MusterTest):
    def run_two(self, worker, *flags, code=0):
        return self.expect_code(self.run_muster("local", "--nodes", 2, "--nproc-per-node", 2, *flags, self.sh(worker)), code)

    def test_at_most_five_lines_come_before_the_program(self):
        """Which comes a moment later, so that all of them are there."""
        finished = self.run_two("sleep 0.5; echo works >&2")
        before = finished.err.split("works")[0].splitlines()[:-1]
        self.assertLessEqual(len(before), 5, finished)
        self.expect_lines([r"job.start run_id=\S+ node=node-1 .*command=\S+",
                           r'round.running reason="round 1: 2 of 2 nodes, 4 workers; node-1, node-2; store 127\.0\.1\.1:\d+"',
                           r"job.start run_id=\S+ node=node-2 "], "\n".join(sorted(before)))

    def test_every_node_shows_what_failed_and_where_its_files_are(self):
        finished = self.run_two(FAILS, "--log-dir", self.path("logs"), code=5)
        for node in (1, 2):
            own = [line for line in finished.err.splitlines() if line.startswith("[node-%d] " % node)]
            block = "\n".join(line[len("[node-1] "):] for line in own[[k for k, line in enumerate(own) if line.endswith(" FAILED")][0]:])
            self.assertRegex(block, r"(?m)^  rank        3 of 4 \(local rank 1, pid \d+\) on node-2$")
            self.assertRegex(block, r"(?m)^  cause       exit code 5 \(user error\)$")
            self.assertRegex(block, r"(?m)^    no data in shard 7$")
            folder = re.search(r"(?m)^  logs        (\S+)%s$" % ("" if node == 2 else " on node-2"), block)[1]
            self.assertRegex(folder, r"/logs/local-\d+_node-2_\w{8}/attempt_0/3$")
            with open(os.path.join(folder, "stderr.log"), "r") as file:
                self.assertEqual(file.read(), "no data in shard 7\n")
            self.assertTrue(block.splitlines()[-1].startswith("muster: rank 3 on node-2 failed first: exit code 5 (user error) after "), block)

    def test_the_end_is_one_summary_on_every_node(self):
        ends = re.findall(r"(?m)^\[node-\d\] \S+ I job\.end (.*)$", self.run_two("true").err)
        self.assertEqual(len(ends), 2)
        for end in ends:
            self.assertRegex(end, r'^result=succeeded reason="all 2 nodes succeeded" exit_code=0 duration_s=\d+\.\d+ attempts=1 nodes_lost=0 nodes_joined=0$')

    def test_nodes_lost_and_joined_are_in_it(self):
        worker = 'if [ "$TORCHELASTIC_RESTART_COUNT" = 0 ]; then echo "epoch 1"; exec sleep 60; fi'
        finished = self.run_two(worker, "--replace-wait", "30s", "--chaos", "kill-node:2@epoch=1,add-node:2@700ms")
        self.assertRegex(finished.err, r"job\.end result=succeeded .* attempts=2 nodes_lost=1 nodes_joined=1")

    def test_a_json_log_has_all_of_it_as_events(self):
        finished = self.run_two(FAILS, "--log-format", "json", code=5)
        events = [json.loads(line) for line in finished.err.splitlines() if line.startswith("{")]
        failures = [event for event in events if event["event"] == "job.failure"]
        self.assertEqual(len(failures), 2)
        for failure in failures:
            wanted = {"rank": 3, "local_rank": 1, "world_size": 4, "failed_on": "node-2", "code": 5, "class": "user error", "attempt": 0,
                      "last_lines": ["no data in shard 7"], "level": "error"}
            self.assertEqual({key: failure[key] for key in wanted}, wanted)
        self.assertEqual({failure["node"] for failure in failures}, {"node-1", "node-2"})
        ends = [event for event in events if event["event"] == "job.end"]
        self.assertEqual([(end["result"], end["exit_code"], end["attempts"], end["nodes_lost"]) for end in ends], [("failed", 5, 1, 0)] * 2)
        self.assertIsInstance(ends[0]["duration_s"], float)
        self.assertNotIn(" FAILED", finished.err)


class OneNode(MusterTest):
    def test_a_folder_for_logs_is_for_what_workers_print(self):
        finished = self.expect_code(self.run_muster("run", "--log-dir", self.path("logs"), self.sh("echo out; echo err >&2")), 0)
        self.assertEqual(finished.out, "out\n")
        run, = os.listdir(self.path("logs"))
        for name, text in (("stdout.log", "out\n"), ("stderr.log", "err\n")):
            with open(os.path.join(self.path("logs"), run, "attempt_0", "0", name), "r") as file:
                self.assertEqual(file.read(), text)

    def test_as_torchrun_it_makes_no_files(self):
        self.expect_code(self.run_muster("--log-dir", self.path("logs"), "--no-python", self.sh("echo out"), as_torchrun=True), 0)
        self.assertEqual([name for _, _, names in os.walk(self.path("logs")) for name in names if name.endswith(".log")], [])

    def test_the_interpreter_that_will_run_is_shown(self):
        script = self.write("train.py", "print('trained')")
        explained = self.expect_code(self.run_muster("run", "--explain", script, env={"PYTHON_EXEC": "/usr/bin/python3"}), 0)
        self.assertRegex(explained.out, r"(?m)^interpreter +/usr/bin/python3 +named by PYTHON_EXEC")
        finished = self.expect_code(self.run_muster("run", script, "--key", "secret", env={"PYTHON_EXEC": "/usr/bin/python3"}), 0)
        self.assertRegex(finished.err, r'job\.start .*command="/usr/bin/python3 -u \S*train\.py"')
        self.assertNotIn("secret", finished.err)

    def test_every_verb_has_help(self):
        verbs = re.findall(r"(?m)^  ([a-z]+)\b", self.expect_code(self.run_muster("help"), 0).out)
        self.assertGreater(len(verbs), 8)
        for verb in verbs:
            self.assertTrue(self.expect_code(self.run_muster(verb, "--help"), 0).out.startswith("usage: muster %s" % verb), verb)
        self.assertIn("MUSTER_JOB_SECRET_FILE", self.run_muster("run", "--help").out)


if __name__ == "__main__":
    unittest.main()
