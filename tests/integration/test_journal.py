"""The journal: `muster run --run-dir` keeps what happened on a node, whatever happens to the agent."""
import json
import os
import re
import signal

from harness import MusterTest, free_port, wait_until


class JournalTest(MusterTest):
    def lines(self, *parts):
        """Every whole line of a journal as an object."""
        with open(self.path(*(parts or ("run",)), "events.jsonl")) as file:
            text = file.read()
        self.assertTrue(text.endswith("\n"), text[-200:])
        return [json.loads(line) for line in text.splitlines()]

    def events(self, lines):
        return [line["event"] for line in lines]


class OneNodeTest(JournalTest):
    def test_a_job_tells_what_happened_to_programs(self):
        worker = self.sh('echo "no shard $RANK" >&2; [ "$RANK" = 0 ] || exec sleep 60; exit 3')
        self.expect_code(self.run_muster("run", "--run-dir", "run", "--rdzv-id", "bert", "--nproc-per-node", 2, "--max-restarts", 1,
                                         "--node-name", "node-0", "--log-level", "off", "--no-python", worker), 3)
        lines = self.lines()
        self.assertEqual(self.events(lines), ["job.start", "worker.exit", "worker.exit", "attempt.restart", "worker.exit",
                                              "restart.timeline", "worker.exit", "job.failure", "job.end"])
        self.assertEqual([line["seq"] for line in lines], list(range(1, 10)))
        self.assertEqual(len({line["id"] for line in lines}), 9)
        for line in lines:
            self.assertEqual((line["job"], line["run_id"], line["node"]), ("bert", "bert", "node-0"))
            self.assertRegex(line["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
            self.assertIsInstance(line["monotonic_ms"], int)
        first, second = [line for line in lines if line["event"] == "worker.exit" and line["rank"] == 0]
        self.assertEqual((first["code"], first["attempt"], first["round"], first["last_lines"]), (3, 0, 1, ["no shard 0"]))
        self.assertEqual((second["attempt"], second["round"]), (1, 2))
        self.assertEqual(lines[-2]["last_lines"], ["no shard 0"])
        self.assertEqual((lines[-1]["result"], lines[-1]["exit_code"]), ("failed", 3))

    def test_without_a_folder_there_is_none(self):
        self.expect_code(self.run_muster("run", "--no-python", "/bin/true"), 0)
        self.assertEqual(os.listdir(self.dir), ["tmp"])

    def test_an_agent_that_is_killed_has_a_successor_that_counts_on(self):
        worker = self.sh('echo up; exec sleep 60')
        seen = []
        for _ in range(3):
            agent = self.start("run", "--run-dir", "run", "--no-python", worker)
            agent.wait_for("up")
            agent.signal(signal.SIGKILL)
            agent.finish()
            seen = self.lines()
        self.expect_code(self.run_muster("run", "--run-dir", "run", "--no-python", "/bin/true"), 0)
        lines = self.lines()
        self.assertEqual(lines[:len(seen)], seen)
        self.assertEqual([line["seq"] for line in lines], list(range(1, len(lines) + 1)))
        self.assertEqual(len({line["id"] for line in lines}), len(lines))
        self.assertEqual(self.events(lines).count("job.start"), 4)

    def test_a_line_that_was_torn_is_cut_off(self):
        for torn in (False, True):
            if torn:
                with open(self.path("run", "events.jsonl"), "a") as file:
                    file.write('{"id":"half')
            finished = self.expect_code(self.run_muster("run", "--run-dir", "run", "--no-python", "/bin/true"), 0)
        self.expect_lines([r"W journal\.trouble cut_bytes=11 "], finished.err)
        self.assertIn("journal.trouble", self.events(self.lines()))

    def test_two_agents_cannot_have_one_folder(self):
        first = self.start("run", "--run-dir", "run", "--no-python", self.sh('echo up; exec sleep 60'))
        first.wait_for("up")
        second = self.expect_code(self.run_muster("run", "--run-dir", "run", "--no-python", self.sh('touch "$OUT/began"', "second")), 78)
        self.assertRegex(second.err, r"\Amuster: --run-dir run: another agent writes its journal there\n\Z")
        self.assertFalse(self.exists("began"))
        first.signal(signal.SIGTERM)
        first.finish()
        self.assertEqual(self.events(self.lines())[-1], "job.end")

    def test_what_is_no_journal_is_not_touched(self):
        os.mkdir(self.path("run"))
        self.write("run/events.jsonl", "my notes\n")
        self.expect_code(self.run_muster("run", "--run-dir", "run", "--no-python", "/bin/true"), 78)
        self.assertEqual(self.read("run/events.jsonl"), "my notes\n")

    def test_on_a_full_disk_the_job_goes_on_and_the_log_counts(self):
        os.mkdir(self.path("run"))
        worker = self.sh('for i in $(seq 30); do echo "step $i of this worker went as well as the one before it" >&2; done; exit 5')
        mounts = 'mount -t tmpfs -o size=4k,mode=777 none "$OUT/run"'
        finished = self.run_muster("run", "--run-dir", "run", "--max-restarts", 20, "--no-python", worker, mounts=mounts)
        self.expect_code(finished, 5)
        self.expect_lines([r"W journal\.trouble error=.*No space left on device", r"W journal\.trouble .*lost=[1-9]"],
                          finished.err)
        self.assertEqual(len(re.findall("journal.trouble", finished.err)), 2)

    def test_on_a_disk_that_nobody_may_write_the_job_goes_on(self):
        os.mkdir(self.path("run"))
        mounts = 'mount -t tmpfs -o ro none "$OUT/run"'
        finished = self.expect_code(self.run_muster("run", "--run-dir", "run", "--no-python", "/bin/true", mounts=mounts), 0)
        self.expect_lines([r"W journal\.trouble error=.*Read-only file system", r"W journal\.trouble .*lost=\d+ action=none"],
                          finished.err)


class ManyNodesTest(JournalTest):
    def test_a_job_without_an_id_has_one_name_whoever_leads(self):
        port = free_port()
        worker = self.sh('trap "exit 0" TERM; while ! [ -e "$OUT/done" ]; do sleep 0.05; done')
        agents = [self.start("run", "--nnodes", "1:3", "--rdzv-endpoint", "127.0.1.1:%d,127.0.1.2:%d" % (port, port), "--local-addr",
                             "127.0.1.%d" % k, "--node-name", "node-%d" % k, "--lease", "2s", "--replace-wait", "0s", "--rdzv-conf",
                             "last_call_timeout=1", "--run-dir", "run-%d" % k, worker) for k in (1, 2, 3)]

        def runs_on(nodes):
            status = self.run_muster("status", "--json", "127.0.1.2:%d" % port)
            status = json.loads(status.out) if status.code == 0 else {}
            return (status.get("state"), status.get("round_nodes")) == ("Running", nodes) and status
        name = wait_until(lambda: runs_on(3), "a round of three")["job"]
        self.assertRegex(name, "^job-[0-9a-f]{12}$")
        os.kill(agents[0].pid, signal.SIGKILL)
        self.assertEqual(wait_until(lambda: runs_on(2), "the second node leads", 30)["job"], name)
        self.write("done", "")
        for agent in agents[1:]:
            self.expect_code(agent.finish(), 0)
        agents[0].finish()
        for k in (2, 3):
            lines = self.lines("run-%d" % k)
            begun = self.events(lines).index("job.named")
            self.assertEqual((lines[begun]["was"], {line["job"] for line in lines[:begun]}), ("none", {"none"}))
            self.assertEqual({line["job"] for line in lines[begun:]}, {name})
            self.assertEqual(self.events(lines).count("round.start"), 2)

    def test_each_node_of_a_local_job_has_its_own(self):
        for words, env in ((("--run-dir", "run"), {}), ((), {"MUSTER_RUN_DIR": "other"})):
            worker = self.sh('[ "$RANK" = 1 ] && exit 4; exec sleep 60', "worker-%s" % bool(env))
            self.expect_code(self.run_muster("local", "--nodes", 2, *words, "--max-restarts", 1, "--no-python", worker, env=env), 4)
            folder = env.get("MUSTER_RUN_DIR", "run")
            for node in (1, 2):
                lines = self.lines(folder, "node-%d" % node)
                self.assertEqual({line["node"] for line in lines}, {"node-%d" % node})
                begun = [(line["round"], line["attempt"]) for line in lines if line["event"] == "round.start"]
                self.assertEqual(begun, [(1, 0), (2, 1)])
                self.assertEqual([line["result"] for line in lines if line["event"] == "job.end"], ["failed"])
            self.assertEqual(sorted(os.listdir(self.path(folder))), ["node-1", "node-2"])
