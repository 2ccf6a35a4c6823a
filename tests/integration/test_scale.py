"""`muster scale`: a running job goes on with another number of nodes."""
import json
import os
import signal

from harness import MusterTest, free_port, wait_until

# Writes down who runs, and goes on until it is told otherwise.
WORKER = 'trap "exit 0" TERM; echo "$WORLD_SIZE" >>"$OUT/worlds"; while ! [ -e "$OUT/done" ]; do sleep 0.05; done'


class ScaleTest(MusterTest):
    def start_job(self, nodes=3, sizes="1:3", env=None, growth="0s"):
        port = self.port = free_port()
        script = self.sh(WORKER)
        agents = [self.start("run", "--nnodes", sizes, "--rdzv-endpoint", "127.0.1.1:%d,127.0.1.2:%d" % (port, port), "--local-addr",
                             "127.0.1.%d" % k, "--node-name", "node-%d" % k, "--rdzv-id", "job-7", "--lease", "2s", "--replace-wait", "0s",
                             "--rdzv-conf", "last_call_timeout=1", "--scale-up-quiet", "0s", "--scale-up-interval", growth, script, env=env) for k in range(1, nodes + 1)]
        self.wait_for_round(nodes)
        return agents

    def at(self, node):
        return "127.0.1.%d:%d" % (node, self.port)

    def scale(self, *words, code=0, **how):
        return self.expect_code(self.run_muster("scale", *words, **how), code)

    def status(self):
        found = self.run_muster("status", "--json", self.at(2))
        return json.loads(found.out) if found.code == 0 else {}

    def wait_for_round(self, nodes):
        def look():
            status = self.status()
            return (status.get("state"), status.get("round_nodes")) == ("Running", nodes) and status
        return wait_until(look, "a round of %d nodes" % nodes, 20)

    def finish(self, agents):
        self.write("done", "")
        for agent in agents:
            self.expect_code(agent.finish(), 0)

    def test_fewer_nodes_and_more_again(self):
        agents = self.start_job()
        told = self.scale("1", self.at(3)).out
        self.assertRegex(told, r"^1 node wanted; round 1 has 3 nodes, 3 nodes there\n$")
        self.assertEqual(self.wait_for_round(1)["target_nodes"], 1)
        self.assertIn("1 to 3 wanted, now 1;", self.run_muster("status", self.at(1)).out)
        self.scale("--rdzv-id", "job-7", "max", "--rdzv-endpoint", self.at(1))
        self.wait_for_round(3)
        self.finish(agents)
        self.assertRegex(agents[0].finish().err, r"job.size reason=\"1 node, asked for by '")
        self.assertEqual(self.read("worlds").split(), ["3"] * 3 + ["1"] + ["3"] * 3)

    def test_how_long_growth_waits_is_told_and_it_need_not_wait(self):
        agents = self.start_job(nodes=2, sizes="1:2", growth="10m")
        self.scale("1", self.at(1))
        self.wait_for_round(1)
        told = r"the round may grow in 9 min \d+ s; --now does not wait\n$"
        self.assertRegex(self.scale("max", self.at(1)).out, told)
        self.assertRegex(self.run_muster("status", self.at(1)).out, r"(?m)^round.growth: from 1 to 2 nodes: --scale-up-interval for 9 min")
        agents[0].wait_for("round.growth .*--scale-up-interval for 9 min", "err")
        self.assertNotIn("may grow", self.scale("max", "--now", self.at(2)).out)
        self.wait_for_round(2)
        self.finish(agents)
        self.assertEqual(self.read("worlds").split(), ["2"] * 2 + ["1"] + ["2"] * 2)

    def test_the_next_leader_holds_to_it(self):
        agents = self.start_job()
        self.scale("2", self.at(1))
        self.wait_for_round(2)
        os.kill(agents[0].pid, signal.SIGKILL)
        status = wait_until(lambda: self.status().get("leader") == "node-2" and self.wait_for_round(2), "the second node leads", 20)
        self.assertEqual(status["target_nodes"], 2)
        self.finish(agents[1:])
        agents[0].finish()

    def test_what_cannot_be(self):
        agents = self.start_job(nodes=2, sizes="2:4")
        refused = self.scale("5", self.at(2), code=78).err
        self.assertRegex(refused, r"^muster scale: 127\.0\.1\.1:\d+: 5 nodes is no size of this job, which takes 2, 3 or 4 nodes\n$")
        self.assertIn("run id 'job-8'", self.scale("3", "--rdzv-id", "job-8", self.at(1), code=78).err)
        for words, complaint in (([], "how many nodes"), (["0"], "'0' is no number of nodes"), (["two"], "'two'"), (["-1"], "'-1'"),
                                 (["2", "a:b:c"], "a:b:c"), (["2", self.at(1), "more"], "unknown argument 'more'"), (["--soon", "2"], "--soon")):
            finished = self.scale(*words, code=64)
            self.assertEqual(finished.err.count("\n"), 1, finished)
            self.assertIn(complaint, finished.err)
        self.assertIn("usage: muster scale", self.scale("--help").out)
        self.assertEqual(self.status()["target_nodes"], 4)
        self.finish(agents)

    def test_a_job_of_one_node_and_none(self):
        port = free_port()
        job = self.start("run", "--rdzv-endpoint", "127.0.0.1:%d" % port, self.sh(WORKER))
        wait_until(lambda: self.exists("worlds"), "the worker runs")
        self.assertIn("a job of one node", self.scale("1", "127.0.0.1:%d" % port, code=78).err)
        self.finish([job])
        self.assertIn("no agent answers", self.scale("1", "127.0.0.1:%d" % port, code=69).err)

    def test_without_the_job_secret_nothing_changes(self):
        secret = {"MUSTER_JOB_SECRET_FILE": self.write("secret", "0123456789abcdef\n")}
        agents = [self.start("local", "--nodes", 2, "--nnodes", "1:2", self.sh(WORKER), env=secret)]
        wait_until(lambda: self.exists("worlds") and len(self.read("worlds").split()) == 2, "all workers run")
        endpoint = agents[0].wait_for(r"muster status (\S+)", "err").group(1)
        self.scale("1", endpoint, code=78)
        self.scale("1", endpoint, env=secret)
        wait_until(lambda: len(self.read("worlds").split()) == 3, "one node goes on")
        self.finish(agents)
