"""`muster status`: any agent of a job tells how it is, or who can."""
import json
import os
import signal
import socket
import struct

from harness import MusterTest, free_port, wait_until


class StatusTest(MusterTest):
    def start_node(self, number, port, *arguments, candidates=2, **how):
        """One agent of a job of two nodes: node k on 127.0.1.k."""
        endpoints = ",".join("127.0.1.%d:%d" % (k, port) for k in range(1, candidates + 1))
        return self.start("run", "--nnodes", 2, "--rdzv-endpoint", endpoints, "--rdzv-id", "job-7", "--local-addr",
                          "127.0.1.%d" % number, "--node-name", "node-%d" % number, *arguments, **how)

    def start_job(self, env=None):
        """Two nodes with two and one worker that run until their agents are told to end."""
        port = free_port()
        worker = self.sh('echo "$RANK" >>"$OUT/started"\nexec sleep 60')
        agents = [self.start_node(k, port, "--nproc-per-node", 3 - k, "--max-restarts", 3, worker, env=env) for k in (1, 2)]
        wait_until(lambda: self.exists("started") and len(self.read("started").split()) == 3, "all workers run")
        return port, agents

    def status(self, *arguments, code=0, **how):
        return self.expect_code(self.run_muster("status", *arguments, **how), code)

    def when(self, condition, *arguments):
        """The status once it fulfils the condition: workers report to their agent before the agent to the leader."""
        def look():
            found = json.loads(self.status("--json", *arguments).out)
            return found if condition(found) else None
        return wait_until(look, "the status is as expected")

    def secret(self, name, content):
        return {"MUSTER_JOB_SECRET_FILE": self.write(name, content + "\n")}


class ManyNodesTest(StatusTest):
    def test_the_leader_and_everybody_else_tell_the_same(self):
        port, agents = self.start_job()
        for node in (1, 2):
            found = self.when(lambda status: status["state"] == "Running", "127.0.1.%d:%d" % (node, port))
            self.assertEqual((found["run_id"], found["leader"], found["round"], found["round_nodes"]), ("job-7", "node-1", 1, 2))
            self.assertEqual((found["restarts_used"], found["max_restarts"]), (0, 3))
            nodes = sorted((node["node_rank"], node["name"], node["first_rank"], node["workers"], node["state"]) for node in found["nodes"])
            self.assertEqual(nodes, [(0, "node-1", 0, 2, "running"), (1, "node-2", 2, 1, "running")])
        self.expect_lines([r"^job job-7: Running, round 1 on 2 nodes, 2 wanted; 0 of 3 restarts used; node-1 leads$",
                           r"^NODE +ADDRESS +NODE RANK +RANKS +STATE$", r"^node-1 +127\.0\.1\.1:%d +0 +0-1 +running$" % port,
                           r"^node-2 +127\.0\.1\.2:%d +1 +2 +running$" % port], self.status("127.0.1.2:%d" % port).out)

    def test_the_next_endpoint_is_asked_when_one_does_not_answer(self):
        port, agents = self.start_job()
        self.assertIn("node-1 leads", self.status("127.0.1.9:%d,127.0.1.2:%d" % (port, port)).out)

    def test_who_waits_says_for_what(self):
        port = free_port()
        first = self.start_node(1, port, self.sh("exit 0"))
        first.wait_for("round.waiting .*1 of 2", "err")
        found = self.status("127.0.1.1:%d" % port).out
        self.expect_lines(["^job job-7: Gathering, 2 wanted; 0 of 0 restarts used; node-1 leads$", "^round.waiting: .*1 of 2"], found)

    def test_who_seeks_a_leader_listens_and_says_that_it_knows_none(self):
        """It has to be reached by whoever leads, and asks in turn who listens where the leader should."""
        port = free_port()
        second = self.start_node(2, port, "--nproc-per-node", 2, self.sh("exit 0"), candidates=1)
        second.wait_for("discovery.waiting .*127.0.1.1 .refused.", "err")
        with socket.create_connection(("127.0.1.2", port), timeout=10):
            self.assertEqual(self.status("127.0.1.2:%d" % port).out.splitlines()[0], "job job-7: node-2 knows no leader")
            found = json.loads(self.status("--json", "127.0.1.2:%d" % port).out)
        self.assertEqual((found["run_id"], found["node"], found["round"]), ("job-7", "node-2", 0))
        self.assertNotIn("leader_at", found)
        # The connections were no harm to its own search.
        first = self.start_node(1, port, self.sh("exit 0"), candidates=1)
        for agent in (first, second):
            self.expect_code(agent.finish(), 0)

    def test_another_run_id_is_refused(self):
        port, agents = self.start_job()
        finished = self.status("--rdzv-id", "job-8", "127.0.1.1:%d" % port, code=78)
        self.assertRegex(finished.last_error_line, "^muster status: 127.0.1.1:%d: who asks has the run id 'job-8', the job at this endpoint 'job-7'" % port)

    def test_a_leader_that_is_stopped_is_told_with_what_the_follower_knows(self):
        port, agents = self.start_job()
        agents[0].signal(signal.SIGSTOP)
        finished = self.status("127.0.1.2:%d" % port, code=69)
        self.assertIn("job job-7: node-2 follows 127.0.1.1:%d; last known: round 1 on 2 nodes" % port, finished.out)
        self.assertRegex(finished.last_error_line, "^muster status: the leader does not answer: .*no answer within")


class SecretTest(StatusTest):
    def test_with_the_secret_it_answers(self):
        secret = self.secret("secret", "0123456789abcdef")
        port, agents = self.start_job(env=secret)
        self.assertIn("node-1 leads", self.status("127.0.1.2:%d" % port, env=secret).out)

    def test_without_it_or_with_another_it_does_not(self):
        port, agents = self.start_job(env=self.secret("secret", "0123456789abcdef"))
        for env, complaint in ((None, "secret"), (self.secret("other", "fedcba9876543210"), "secret|decrypt|alert")):
            finished = self.status("127.0.1.1:%d" % port, env=env, code=78)
            self.assertEqual(finished.out, "")
            self.assertRegex(finished.last_error_line, "^muster status: .*(%s)" % complaint)

    def test_a_secret_here_and_none_there(self):
        port, agents = self.start_job()
        self.status("127.0.1.1:%d" % port, env=self.secret("secret", "0123456789abcdef"), code=78)

    def test_a_secret_that_cannot_be_read(self):
        finished = self.status(env={"MUSTER_JOB_SECRET_FILE": "/does/not/exist"}, code=78)
        self.assertIn("MUSTER_JOB_SECRET_FILE", finished.last_error_line)


class OneNodeTest(StatusTest):
    WORKER = '[ "$LOCAL_RANK" != 0 ] || echo "$MASTER_PORT" >"$OUT/port.$TORCHELASTIC_RESTART_COUNT"\n'

    def start_agent(self, script, *arguments, **how):
        agent = self.start("run", "--node-name", "node-0", *arguments, self.sh(self.WORKER + script), **how)
        wait_until(lambda: self.exists("port.0") and self.read("port.0"), "the worker runs")
        return agent, "127.0.0.1:" + self.read("port.0").strip()

    def test_a_job_of_one_node_answers_too(self):
        _, endpoint = self.start_agent("exec sleep 60", "--rdzv-id", "solo", "--nproc-per-node", 2)
        found = self.when(lambda status: status["state"] == "Running", endpoint)
        self.assertEqual((found["run_id"], found["leader"], len(found["nodes"])), ("solo", "node-0", 1))
        self.expect_lines(["^job solo: Running, round 1 on 1 node, 1 wanted; 0 of 0 restarts used; node-0 leads$",
                           r"^node-0 +%s +0 +0-1 +running$" % endpoint], self.status(endpoint).out)

    def test_it_tells_of_its_restarts(self):
        _, endpoint = self.start_agent('[ "$TORCHELASTIC_RESTART_COUNT" = 0 ] && exit 3\nexec sleep 60', "--max-restarts", 2,
                                       "--master-port", free_port())
        wait_until(lambda: self.exists("port.1"), "the second attempt runs")
        self.expect_lines(["1 of 2 restarts used", "^last stop: restart 1 of 2"], self.status(endpoint).out)

    def test_it_wants_the_secret_too(self):
        secret = self.secret("secret", "0123456789abcdef")
        _, endpoint = self.start_agent("exec sleep 60", env=secret)
        self.status(endpoint, code=78)
        self.assertIn("node-0 leads", self.status(endpoint, env=secret).out)


class NobodyTest(StatusTest):
    def test_nobody_there_is_69_and_one_line(self):
        finished = self.status("127.0.0.1:%d" % free_port(), code=69)
        self.assertRegex(finished.err, r"^muster status: no agent answers: 127\.0\.0\.1:\d+: .*Connection refused\n$")

    def test_the_endpoint_may_come_from_the_environment(self):
        port = free_port()
        finished = self.status(env={"PET_RDZV_ENDPOINT": "worker-0.workers:%d" % port}, code=69)
        self.assertIn("127.0.0.1:%d" % port, finished.err)

    def test_who_is_no_agent_of_a_job_is_nobody(self):
        store = self.start("store", "--port", 0)
        endpoint = store.wait_for(r"listening on (\S+)").group(1)
        self.assertIn("no agent answers", self.status(endpoint, code=69).err)
        os.kill(store.pid, signal.SIGTERM)
        self.expect_code(store.finish(), 0)
        with socket.create_server(("127.0.0.1", 0)) as silent:
            endpoint = "127.0.0.1:%d" % silent.getsockname()[1]
            self.assertIn("is no agent of muster, or hangs", self.status(endpoint, code=69).err)

    def test_a_wrong_command_line_names_the_word(self):
        for arguments, complaint in (((["--josn"]), "--josn"), (["worker-0:29400,wor/ker"], "wor/ker"),
                                     (["--rdzv-id"], "--rdzv-id needs a value"), (["127.0.0.1:x"], "127.0.0.1:x"),
                                     ([""], "the endpoint is empty"), (["--rdzv-endpoint", ""], "the endpoint is empty"),
                                     (["--rdzv-id="], "--rdzv-id is empty")):
            finished = self.status(*arguments, code=64)
            self.assertEqual(finished.err.count("\n"), 1, finished)
            self.assertIn(complaint, finished.err)


class StrangerTest(MusterTest):
    """Something that is no agent answers, with words of its own."""
    WORDS = "\x1b]0;owned\x07\x1b[2Jgone\u009b\u202e\njob train: Running"
    SHOWN = r"\x1b]0;owned\x07\x1b[2Jgone\x9b\u202e"

    def ask(self, answer, *words):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            started = self.start(*words, "127.0.0.1:%d" % listener.getsockname()[1])
            caller, _ = listener.accept()
            with caller:
                caller.recv(4096)
                body = json.dumps(answer, ensure_ascii=False).encode()
                caller.sendall(struct.pack(">I", len(body)) + body)
                finished = started.finish()
        self.assertNotRegex(finished.out + finished.err, "[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e]")
        return finished

    def test_a_refusal_is_one_line_that_can_be_shown(self):
        refusal = {"type": "refuse", "code": 2, "text": self.WORDS, "leader": 0, "last": {"term": 0, "budget": {}}}
        for words in (("status",), ("status", "--json"), ("scale", 1)):
            finished = self.ask(refusal, *words)
            self.assertIn(self.SHOWN + r"\njob train: Running", self.expect_code(finished, 78).err)
            self.assertEqual(len(finished.err.splitlines()), 1)

    def test_a_status_shows_nothing_of_others_as_it_came(self):
        status = {"run_id": self.WORDS, "state": self.WORDS, "nodes": [{"name": self.WORDS}], "reasons": {self.WORDS: self.WORDS}}
        answer = {"type": "status_reply", "json": json.dumps(status, ensure_ascii=False)}
        finished = self.expect_code(self.ask(answer, "status", "--json"), 0)
        self.assertEqual(json.loads(finished.out)["state"], self.SHOWN + "\njob train: Running")
        finished = self.expect_code(self.ask(answer, "status"), 0)
        self.assertIn(self.SHOWN + r"\njob train: Running", finished.out)
        self.assertFalse([line for line in finished.out.splitlines() if line.startswith("job train")])

    def test_what_is_no_json_is_not_printed(self):
        for text in ("\x1b[2Jgone", "{} gone", '{"gone": '):
            finished = self.ask({"type": "status_reply", "json": text}, "status", "--json")
            self.assertEqual(self.expect_code(finished, 69).out, "")
