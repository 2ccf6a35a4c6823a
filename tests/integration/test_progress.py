"""How far the workers are: from their own words to the journal, the status and the restart budget."""
import json
import os
import re

import harness
from harness import MusterTest, free_port, wait_until

EXAMPLE = os.path.join(harness.EXAMPLES, "progress")


class ProgressTest(MusterTest):
    def events(self, *folder, event="progress"):
        with open(self.path(*folder, "events.jsonl")) as file:
            return [line for line in map(json.loads, file) if line["event"] == event]

    def worker(self, text):
        return self.py("import os, sys, time\nfrom muster_progress import report\n" + text)

    def run_python(self, *words, **how):
        return self.start(*words, env={"PYTHONPATH": EXAMPLE}, **how)

    def waits(self):
        """Of a worker, until the test says so; then the file `go` is there."""
        return "while not os.path.exists(os.environ['OUT'] + '/go'):\n    time.sleep(0.02)\n"


class OneNodeTest(ProgressTest):
    def test_the_example(self):
        """examples/progress/run.sh."""
        finished = self.start_command([os.path.join(EXAMPLE, "run.sh"), harness.BINARY]).finish()
        self.expect_code(finished, 0)
        with open(os.path.join(EXAMPLE, "expected.txt")) as file:
            self.assertEqual(finished.out, file.read())
        self.assertEqual(os.listdir(self.temp), [])

    def test_the_c_header_says_the_same(self):
        program = self.path("report")
        source = self.write("report.c", '#include "muster_progress.h"\nint main(void) {\n  muster_progress(12, 40, 2.5, "loss", 0.25);\n'
                            '  muster_progress(13, -1, -1, NULL, 0);\n  return 0;\n}\n')
        build = self.start_command(["cc", "-std=c99", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-I", EXAMPLE, source, "-lm", "-o", program])
        self.expect_code(build.finish(), 0)
        # The sockets come a moment after the first worker.
        waits = self.sh('while [ ! -S "$MUSTER_PROGRESS_SOCKET" ]; do sleep 0.02; done\nexec "$OUT/report"')
        self.expect_code(self.run_muster("run", "--run-dir", "run", "--no-python", waits), 0)
        last = self.events("run")[-1]
        self.assertEqual((last["step"], last["total"], last["epoch"], last["metrics"]), (13, 40, 2.5, {"loss": 0.25}))
        self.expect_code(self.start_command([program]).finish(), 0)  # nobody listens

    def test_the_status_tells_it(self):
        port = free_port()
        # The sockets come a moment after the first worker.
        worker = self.worker("while not os.path.exists(os.environ['MUSTER_PROGRESS_SOCKET']):\n    time.sleep(0.02)\n"
                             "report(120, total=1000, epoch=3, loss=0.5)\n" + self.waits())
        agent = self.run_python("run", "--rdzv-endpoint", "127.0.0.1:%d" % port, "--nproc-per-node", 2, worker)

        def look():
            found = json.loads(self.run_muster("status", "--json", "127.0.0.1:%d" % port).out or "{}")
            progress = found.get("progress")
            return progress if progress and progress["rank"] == 0 else None  # rank 1 may be the first
        found = wait_until(look, "rank 0 speaks")
        self.assertEqual((found["rank"], found["step"], found["total"], found["percent"], found["metrics"]),
                         (0, 120, 1000, 12.0, {"loss": 0.5}))
        self.assertGreaterEqual(found["unmoved_s"], 0)
        self.assertRegex(self.run_muster("status", "127.0.0.1:%d" % port).out,
                         r"(?m)^progress: step 120 of 1000, 12 %, epoch 3, loss 0\.5$")
        self.write("go", "")
        self.expect_code(agent.finish(), 0)

    PATTERN = r"update (?P<step>\d+)(?: of (?P<total>\d+))?(?:, epoch (?P<epoch>\S+))?"

    def test_a_line_in_the_users_own_form(self):
        worker = self.sh('echo "update 1 of 40"\nprintf "\\377 \\033[1mupdate 12\\033[0m of 40, epoch 2.5\\n"\necho \'{"step": 3, "loss": 0.5}\'\n')
        for given in ([["--progress-pattern", self.PATTERN], {}], [[], {"MUSTER_PROGRESS_PATTERN": self.PATTERN}]):
            with self.subTest(given):
                words, env = given
                folder = "run%d" % len(words)
                self.expect_code(self.run_muster("run", "--run-dir", folder, *words, "--no-python", worker, env=env), 0)
                last = self.events(folder)[-1]
                self.assertEqual((last["step"], last["total"], last["epoch"], last["metrics"]), (12, 40, 2.5, {"loss": 0.5}))

    def test_a_wrong_pattern_is_a_wrong_command_line(self):
        worker = self.sh("echo never")
        for pattern, complaint in ((r"(?P<step>\d+", "missing )"),
                                   (r"x (?<step>\d+)", "invalid perl operator: (?<, at byte 3; named groups are written (?P<name>...)"),
                                   (r"step (\d+)", "no group 'step'; named groups are written (?P<name>...)")):
            with self.subTest(pattern):
                finished = self.run_muster("run", "--progress-pattern", pattern, "--no-python", worker)
                self.expect_code(finished, 64)
                self.assertEqual(finished.err, "muster: --progress-pattern '%s': %s\n" % (pattern, complaint))
                finished = self.run_muster("run", "--no-python", worker, env={"MUSTER_PROGRESS_PATTERN": pattern})
                self.expect_code(finished, 64)
                self.assertEqual(finished.err, "muster: MUSTER_PROGRESS_PATTERN '%s': %s\n" % (pattern, complaint))
                self.assertEqual(finished.out, "")

    def test_what_is_no_report_is_said_once(self):
        worker = self.worker("import socket\nwhile not os.path.exists(os.environ['MUSTER_PROGRESS_SOCKET']):\n    time.sleep(0.02)\n"
                             "one = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)\n"
                             "for _ in range(5):\n    one.sendto(b'nonsense', os.environ['MUSTER_PROGRESS_SOCKET'])\n")
        finished = self.expect_code(self.run_python("run", worker).finish(), 0)
        self.assertEqual(len(re.findall(r"W progress\.malformed rank=0 ", finished.err)), 1, finished)
        self.assertRegex(finished.err, r"W progress\.malformed messages=5 ")

    def test_a_crash_at_the_same_step_is_a_crash_loop(self):
        worker = self.worker("report(7)\nsys.exit(3)\n")
        finished = self.expect_code(self.run_python("run", "--max-restarts", 20, worker).finish(), 3)
        self.assertIn("crash loop: the same failure 3 times without progress", finished.last_error_line + finished.err)

    def test_a_worker_that_starts_again_alone_is_given_nothing_back(self):
        """Its steps are the same each time, and those of others say nothing of it."""
        steps = "".join("echo '{\"step\":%d,\"loss\":1}'\n" % step for step in (1, 2, 3))
        worker = self.sh("echo started\n" + steps + "exit 3\n")
        flags = ("--framework", "plain", "--restart-scope", "worker", "--max-restarts", "2", "--no-python")
        finished = self.expect_code(self.run_muster("run", *flags, worker), 3)
        self.assertEqual(finished.out.count("started"), 3)


class ManyNodesTest(ProgressTest):
    def run_nodes(self, script, *words, code):
        return self.expect_code(self.run_python("local", "--nodes", 2, "--run-dir", "run", *words, script).finish(), code)

    # Rank 1 fails on another node than the leader's, right after its last word. The others wait for it as in a collective.
    STEPS = """
while not os.path.exists(os.environ["MUSTER_PROGRESS_SOCKET"]):
    time.sleep(0.01)
attempt = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
step = %s
report(step, total=40)
if step < 40 and os.environ["RANK"] == "1":
    sys.exit(3)
while step < 40:
    time.sleep(0.1)
"""

    def test_a_restart_after_progress_is_given_back(self):
        self.run_nodes(self.worker(self.STEPS % "10 * (attempt + 1)"), "--max-restarts", 1, code=0)
        last = {line["attempt"]: line["step"] for line in self.events("run", "node-2")}
        self.assertEqual(last, {0: 10, 1: 20, 2: 30, 3: 40})

    def test_a_restart_without_progress_is_not(self):
        finished = self.run_nodes(self.worker(self.STEPS % "10"), "--max-restarts", 20, code=3)
        self.assertIn("crash loop: the same failure 3 times without progress", finished.err)

    def test_the_leader_knows_the_step_of_the_others(self):
        port = free_port()
        endpoint = "127.0.1.1:%d" % port
        text = "if os.environ['RANK'] == '1':\n    for step in range(1, 100000):\n        report(step, total=100000)\n" \
               "        time.sleep(0.02)\n        if os.path.exists(os.environ['OUT'] + '/go'):\n            break\n" + self.waits()
        worker = self.worker(text)
        agents = [self.run_python("run", "--nnodes", 2, "--rdzv-endpoint", endpoint, "--local-addr", "127.0.1.%d" % node,
                                  "--node-name", "node-%d" % node, "--node-rank", node - 1, worker) for node in (1, 2)]

        def look():
            return json.loads(self.run_muster("status", "--json", endpoint).out or "{}").get("progress", {}).get("step", 0) > 0
        wait_until(look, "the leader knows a step")
        self.write("go", "")
        for agent in agents:
            self.expect_code(agent.finish(), 0)
