"""`muster rsh` when an agent or a job goes while a command runs, where nobody serves it, and where a user has no home."""
import contextlib
import os
import shutil
import signal
import socket
import sys
import time
import unittest

from harness import BINARY, GONE_WITHIN_S, SUPPORT, MusterTest, free_port, wait_until
from test_rsh import WORKER, RshTest

BURST = 512  # connections at once: the launchers of a few large jobs


class FaultTest(RshTest):
    def test_without_the_flag_nothing_is_served(self):
        job = self.start("local", "--nodes", 2, "--no-python", self.sh(WORKER))
        wait_until(lambda: self.exists("env.0"), "a worker runs")
        worker = self.worker_environment(0)
        self.assertNotIn("MUSTER_RSH_AGENT", worker)
        address = "%s:%s" % (worker["MASTER_ADDR"], worker["MASTER_PORT"])
        wrong = self.start("rsh", "node-2", "true", env={"MUSTER_RSH_AGENT": address}).finish()
        self.assertEqual(self.expect_code(wrong, 255).err,
                         "muster rsh: MUSTER_RSH_AGENT: '%s' is not what an agent is called\n" % address)
        gone = self.start("rsh", "node-2", "true", env={"MUSTER_RSH_AGENT": "@muster-rsh-gone"}).finish()
        self.assertEqual(self.expect_code(gone, 255).err, "muster rsh: this node's agent: is not there\n")
        unset = self.expect_code(self.run_muster("rsh", "node-2", "true"), 255)
        self.assertEqual(unset.err, "muster rsh: MUSTER_RSH_AGENT is not set: call it from a worker of `muster run --rsh`\n")
        self.write("over", "")
        self.expect_code(job.finish(), 0)

    def test_a_serving_agent_that_is_killed_is_noticed_at_once(self):
        port = free_port()
        worker = self.sh(WORKER)
        nodes = [self.start("run", "--nnodes", "2", "--rdzv-endpoint", "127.0.1.1:%d" % port, "--local-addr",
                            "127.0.1.%d" % k, "--node-name", "node-%d" % k, "--rsh", "--no-python", worker) for k in (1, 2)]
        wait_until(lambda: self.exists("env.0") and self.exists("env.1"), "both workers run")
        self.variables = {"MUSTER_RSH_AGENT": self.worker_environment(0)["MUSTER_RSH_AGENT"]}
        caller = self.rsh("node-2", 'setsid sh -c \'echo $$ >"$OUT/command"; exec sleep 1000\'; true')
        pid = self.pid_in("command")
        nodes[1].popen.kill()
        finished = self.expect_code(caller.finish(GONE_WITHIN_S), 255)
        self.assertRegex(finished.err, r"\Amuster rsh: node-2: .*\n\Z")
        self.expect_gone(pid)
        nodes[0].signal(signal.SIGTERM)
        nodes[0].finish()

    def test_callers_wait_while_their_agent_is_busy(self):
        port = free_port()
        agent = self.start("run", "--nnodes", "2", "--rdzv-endpoint", "127.0.0.1:%d" % port, "--rsh", "--no-python", "true")
        agent.err.wait_for("round.waiting", 10)
        agent.signal(signal.SIGSTOP)
        with contextlib.ExitStack() as callers:
            for _ in range(BURST):  # a full backlog would let one wait, and fail
                callers.enter_context(socket.create_connection(("127.0.0.1", port), timeout=5))
            agent.signal(signal.SIGCONT)
        agent.signal(signal.SIGTERM)
        self.expect_code(agent.finish(), 143)

    def test_the_end_of_the_job_ends_what_runs(self):
        self.start_job()
        caller = self.rsh("node-2", 'echo $$ >"$OUT/command"; exec sleep 1000')
        pid = self.pid_in("command")
        self.end_job()
        self.expect_gone(pid)
        self.expect_code(caller.finish(), 143)  # it had time to end


class ParentTest(RshTest):
    def setUp(self):
        super().setUp()
        self.start_job()

    def test_a_parent_that_died_before_its_death_could_be_told(self):
        parent = self.start_command([sys.executable, os.path.join(SUPPORT, "dying_parent.py"), BINARY, "rsh", "node-2", "touch $OUT/did"],
                                    env=self.variables)
        self.expect_code(parent.finish(), 0)  # with what holds its output, too
        wait_until(lambda: not [line for line in self.marked().values() if " rsh node-2 " in line], "the caller is gone", GONE_WITHIN_S)
        self.assertNotIn("rsh.start", self.end_job().err)
        self.assertFalse(self.exists("did"))

    def test_a_thread_of_its_parent_that_ends_is_no_death(self):
        """The kernel tells of it in the same way."""
        script = self.py("import os, subprocess, sys, threading, time\n"
                         "def call():\n"
                         "    callers.append(subprocess.Popen(sys.argv[1:]))\n"
                         "    while not os.path.exists('here'): time.sleep(0.01)\n"
                         "callers = []\n"
                         "caller = threading.Thread(target=call)\n"
                         "caller.start()\n"
                         "caller.join()\n"
                         "print('joined', flush=True)\n"
                         "sys.exit(callers[0].wait())\n")
        parent = self.start_command([sys.executable, script, BINARY, "rsh", "node-2", 'echo >"$OUT/here"; while [ ! -e "$OUT/go" ]; do sleep 0.05; done; exit 9'],
                                    env=self.variables)
        parent.wait_for("joined")
        time.sleep(0.3)  # nothing happens
        self.write("go", "")
        self.expect_code(parent.finish(), 9)


class HomeTest(MusterTest):
    def test_a_home_that_its_user_may_not_enter_is_none(self):
        if os.geteuid() != 0:
            self.skip_because("another user: needs root")
        for folder in (self.dir, self.temp):
            os.chmod(folder, 0o777)
        os.mkdir(self.path("home"), 0o700)
        binary = shutil.copy(BINARY, self.path("muster"))
        # What others run on a node ends with that node's workers.
        worker = self.sh('if [ $RANK = 0 ]; then "%s" rsh node-2 "id -u; pwd"; code=$?; echo >"$OUT/over"; exit $code; fi\n'
                         'while ! [ -e "$OUT/over" ]; do sleep 0.05; done' % binary)
        words = ["setpriv", "--reuid", "54321", "--regid", "54321", "--clear-groups", binary, "local", "--nodes", "2", "--rsh", "--no-python", worker]
        finished = self.expect_code(self.start_command(words, env={"HOME": self.path("home")}).finish(), 0)
        self.assertRegex(finished.out, r"(?m)\] 54321\n.*\] /$")


if __name__ == "__main__":
    unittest.main()
