"""The restart timeline, `muster restart` and `muster stop`: where the time of each interruption went, and who asked for it."""
import json
import os
import signal
import socket

from harness import MusterTest, free_port, wait_until

PHASES = ["detect", "decide", "stop", "rendezvous", "check", "spawn", "first_progress"]
# Makes steps until it is told otherwise. The first attempt of a job fails if there is $OUT/fail, and waits for others in vain if there is $OUT/hang.
WORKER = """
attempt="$TORCHELASTIC_RESTART_COUNT"
trap 'echo stopped >>"$OUT/stopped"; exit 0' TERM
step=0
while ! [ -e "$OUT/done" ]; do
    step=$((step + 1))
    echo "{\\"global_step\\":$((attempt * 1000 + step)),\\"loss\\":0.5}"
    [ $step != 1 ] || echo "$attempt $RANK" >>"$OUT/ran"
    if [ -e "$OUT/fail" ] && [ "$attempt" = 0 ] && [ "$RANK" = 0 ]; then exit 3; fi
    sleep 0.05
    while [ -e "$OUT/hang" ] && [ "$attempt" = 0 ]; do sleep 0.05; done
done
"""


class TimelineTest(MusterTest):
    def events(self, folder, name="restart.timeline"):
        with open(self.path(folder, "events.jsonl")) as file:
            return [event for event in map(json.loads, file) if event["event"] == name]

    def wait_for_attempt(self, attempt, workers):
        want = {"%d %d" % (attempt, rank) for rank in range(workers)}
        wait_until(lambda: self.exists("ran") and want <= set(self.read("ran").splitlines()), "attempt %d runs" % attempt, 30)

    def expect_adds_up(self, timeline, phases=PHASES):
        self.assertEqual(sorted(timeline["phases"]), sorted(phases), timeline)
        self.assertAlmostEqual(sum(timeline["phases"].values()), timeline["total_s"], delta=0.005)
        self.assertTrue(all(value >= 0 for value in timeline["phases"].values()), timeline)

    def history(self, endpoint):
        return json.loads(self.expect_code(self.run_muster("status", "--json", endpoint), 0).out)["history"]

    def told(self, agent, cause):
        agent.wait_for("I restart.timeline round=[0-9]+ cause=%s " % cause, "err", 30)


class OneNodeTest(TimelineTest):
    def start_job(self, *words):
        self.port = free_port()
        agent = self.start("run", "--master-port", self.port, "--run-dir", "run", "--nproc-per-node", 2, *words, self.sh(WORKER))
        self.endpoint = "127.0.0.1:%d" % self.port
        return agent

    def finish(self, agent):
        self.write("done", "")
        return self.expect_code(agent.finish(), 0)

    def test_a_worker_that_failed(self):
        self.write("fail", "")
        agent = self.start_job("--max-restarts", 1)
        self.told(agent, "failure")
        event = self.events("run")[0]
        self.expect_adds_up(event)
        self.assertEqual((event["cause"], event["round"]), ("failure", 1))
        self.assertRegex(event["reason"], "^rank 0 failed: exit code 3")
        self.assertEqual(self.history(self.endpoint)[0]["phases"], event["phases"])
        self.expect_lines(["^TIME +ROUND +CAUSE +SECONDS +DETECT .*FIRST STEP +REASON$", "^20.*Z +1 +failure +[0-9.]+ .*rank 0 failed: exit code 3"],
                          self.expect_code(self.run_muster("status", "--history", self.endpoint), 0).out)
        self.assertRegex(self.finish(agent).err, r"restart.timeline round=1 cause=failure reason=\S.* total_s=[0-9.]+ phases=detect:0.000,decide:")

    def test_a_restart_that_is_asked_for_costs_nothing(self):
        agent = self.start_job()
        self.wait_for_attempt(0, 2)
        self.assertEqual(self.expect_code(self.run_muster("status", "--history", self.endpoint), 0).out, "no restarts\n")
        told = self.expect_code(self.run_muster("restart", "--reason", "new data", self.endpoint), 0)
        self.assertRegex(told.out, "^job none: told to start again, 1 node\n$")
        self.wait_for_attempt(1, 2)
        self.told(agent, "asked")
        event = self.events("run")[0]
        self.expect_adds_up(event)
        self.assertRegex(event["reason"], "^a restart was asked for by '.*': new data$")
        self.assertEqual(self.read("stopped").split(), ["stopped"] * 2)
        status = json.loads(self.run_muster("status", "--json", self.endpoint).out)
        self.assertEqual((status["restarts_used"], status["round"]), (0, 2))
        self.finish(agent)

    def test_the_end_is_that_of_sigterm(self):
        agent = self.start_job("--max-restarts", 3)
        self.wait_for_attempt(0, 2)
        self.assertRegex(self.expect_code(self.run_muster("stop", "--reason=enough", self.endpoint), 0).out, "told to end, 1 node\n$")
        finished = self.expect_code(agent.finish(), 143)
        self.assertRegex(finished.err, "I job.asked reason=\"the end, asked for by '.*': enough\"")
        self.assertEqual(self.read("stopped").split(), ["stopped"] * 2)

    def test_the_end_may_be_asked_for_twice(self):
        port = free_port()
        script = 'trap "" TERM\necho >"$OUT/ready"\nwhile ! [ -e "$OUT/done" ]; do sleep 0.05; done'
        agent = self.start("run", "--master-port", port, self.sh(script))
        wait_until(lambda: self.exists("ready"), "the worker runs")
        for _ in range(2):
            self.assertRegex(self.expect_code(self.run_muster("stop", "127.0.0.1:%d" % port), 0).out, "told to end, 1 node\n$")
        self.write("done", "")
        self.expect_code(agent.finish(), 143)

    def test_a_command_without_an_answer_is_given_to_nobody_else(self):
        agent = self.start_job("--max-restarts", 3)
        self.wait_for_attempt(0, 2)
        with socket.create_server(("127.0.0.1", 0)) as silent:
            finished = self.expect_code(self.run_muster("stop", "127.0.0.1:%d,%s" % (silent.getsockname()[1], self.endpoint)), 69)
        self.assertIn("it may have been obeyed", finished.last_error_line)
        self.finish(agent)

    def test_a_step_is_not_waited_for_by_the_end_of_the_job(self):
        worker = self.sh('[ "$TORCHELASTIC_RESTART_COUNT" = 1 ] || exit 3')
        self.expect_code(self.run_muster("run", "--run-dir", "run", "--max-restarts", 1, worker), 0)
        self.expect_adds_up(self.events("run")[0], PHASES[:-1])

    def test_wrong_words(self):
        for words, complaint in ((("restart", "--reason"), "--reason needs a value"), (("stop", "a", "b"), "unknown argument 'b'"),
                                 (("stop", "--now"), "unknown argument '--now'")):
            finished = self.expect_code(self.run_muster(*words), 64)
            self.assertEqual(finished.err, "muster %s: %s\n" % (words[0], complaint))
        for verb in ("stop", "restart"):
            self.assertIn("usage: muster %s [--reason TEXT]" % verb, self.expect_code(self.run_muster(verb, "--help"), 0).out)
            self.expect_code(self.run_muster(verb, "127.0.0.1:%d" % free_port()), 69)


class ManyNodesTest(TimelineTest):
    def start_job(self, nodes=3, *words):
        port = self.port = free_port()
        script = self.sh(WORKER)
        endpoints = ",".join("127.0.1.%d:%d" % (k, port) for k in (1, 2))
        agents = [self.start("run", "--nnodes", "1:%d" % nodes, "--rdzv-endpoint", endpoints, "--local-addr", "127.0.1.%d" % k, "--node-name", "node-%d" % k,
                             "--rdzv-id", "job-7", "--lease", "3s", "--replace-wait", "0s", "--rdzv-conf", "last_call_timeout=1", "--scale-up-quiet", "0s",
                             "--scale-up-interval", "0s", "--run-dir", "run-%d" % k, *words, script) for k in range(1, nodes + 1)]
        self.wait_for_attempt(0, nodes)
        return agents

    def at(self, node):
        return "127.0.1.%d:%d" % (node, self.port)

    def finish(self, agents):
        self.write("done", "")
        for agent in agents:
            self.expect_code(agent.finish(), 0)

    def test_a_node_that_was_lost(self):
        agents = self.start_job()
        self.write("hang", "")  # as in a collective: a node lives while others make steps with it
        agents[2].signal(signal.SIGSTOP)
        self.told(agents[0], "lost")
        event = self.events("run-1")[0]
        self.expect_adds_up(event)
        self.assertGreater(event["phases"]["detect"], 2)  # a lease since it was heard last
        self.assertRegex(event["reason"], "^node-3 silent for 3 s")
        self.assertEqual(event["event"], "restart.timeline")
        self.assertEqual(self.history(self.at(2))[0]["cause"], "lost")  # any agent says who knows
        self.assertEqual(self.events("run-2"), [])
        agents[2].signal(signal.SIGKILL)
        self.finish(agents[:2])

    def test_a_restart_and_another_size(self):
        agents = self.start_job()
        self.assertRegex(self.expect_code(self.run_muster("restart", "--rdzv-id", "job-7", self.at(3)), 0).out, "^job job-7: told to start again, 3 nodes\n$")
        self.told(agents[0], "asked")
        self.wait_for_attempt(1, 3)
        self.expect_code(self.run_muster("scale", 2, self.at(1)), 0)
        self.told(agents[0], "resized")
        events = self.events("run-1")
        self.assertEqual([event["cause"] for event in events], ["asked", "resized"])
        for event in events:
            self.expect_adds_up(event)
            self.assertLess(event["phases"]["detect"], 0.5)
        self.assertEqual(json.loads(self.run_muster("status", "--json", self.at(1)).out)["restarts_used"], 0)
        self.finish(agents)

    def test_a_worker_that_failed_elsewhere(self):
        agents = self.start_job(2, "--max-restarts", 2)
        self.write("fail", "")  # now that both have begun
        self.told(agents[0], "failure")
        self.expect_adds_up(self.events("run-1")[0])
        self.finish(agents)

    def test_the_next_leader_tells_of_the_one_before(self):
        agents = self.start_job()
        agents[0].signal(signal.SIGKILL)
        self.told(agents[1], "leader")
        event = self.events("run-2")[0]
        self.expect_adds_up(event)
        self.assertEqual(event["reason"], "round 1 ended with its leader")
        self.finish(agents[1:])

    def test_the_end_reaches_every_agent(self):
        agents = self.start_job()
        self.assertRegex(self.expect_code(self.run_muster("stop", self.at(2)), 0).out, "^job job-7: told to end, 3 nodes\n$")
        for agent in agents:
            self.assertEqual(self.expect_code(agent.finish(), 143).err.count("I job.asked "), 1, "each node says why")
        self.assertEqual(len(self.read("stopped").split()), 3)

    def test_nothing_starts_again_before_a_round(self):
        port = self.port = free_port()
        agent = self.start("run", "--nnodes", 2, "--rdzv-endpoint", self.at(1), "--local-addr", "127.0.1.1", self.sh("exit 0"))
        agent.wait_for("round.waiting", "err")
        finished = self.expect_code(self.run_muster("restart", self.at(1)), 69)
        self.assertIn("no round runs that could end", finished.last_error_line)
        self.expect_code(self.run_muster("stop", self.at(1)), 0)
        self.expect_code(agent.finish(), 143)
        self.assertEqual(port, self.port)


class SecretTest(TimelineTest):
    def test_who_has_no_secret_ends_nobodys_job(self):
        env = {"MUSTER_JOB_SECRET_FILE": self.write("secret", "0123456789abcdef\n", 0o600)}
        port = free_port()
        agent = self.start("run", "--master-port", port, self.sh(WORKER), env=env)
        self.wait_for_attempt(0, 1)
        endpoint = "127.0.0.1:%d" % port
        for verb in ("stop", "restart"):
            self.expect_code(self.run_muster(verb, endpoint), 78)
        self.expect_code(self.run_muster("stop", endpoint, env=env), 0)
        self.expect_code(agent.finish(), 143)
        self.assertTrue(os.path.exists(self.path("stopped")))
