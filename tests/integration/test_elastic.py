"""`--mpi-launch elastic` and `command`: launchers of the user's own. The launcher here is support/elastic_launcher.py, which does to the
nodes what elastic Horovod's does; the real one is in compat/test_horovod_pypi.py."""
import os
import re
import signal
import sys
import unittest

from harness import BINARY, SUPPORT, MusterTest, free_port, full_folder, wait_until

LAUNCHER = os.path.join(SUPPORT, "elastic_launcher.py")
# A node that is lost is given up soon, and so is a job that waits for another one.
SHORT = ("--lease", "2s", "--replace-wait", "0s", "--rdzv-conf", "join_timeout=5")
# Ends well when it is told through a file, and says how it is told to go.
WORKER = 'trap "echo told >> $OUT/told; exit 0" TERM; echo "rank $HOROVOD_RANK on $MUSTER_RANK_NODE"; ' \
         'while ! [ -e "$OUT/done" ]; do sleep 0.05; done'


class ElasticTest(MusterTest):
    def job(self, *words, nodes=2, sizes="1:3", command=("sh", "-c", WORKER), launcher=(), **how):
        return self.start("local", "--nodes", nodes, "--nnodes", sizes, "--framework", "mpi", "--mpi-launch", "elastic", *SHORT, *words,
                          "--", sys.executable, LAUNCHER, *launcher, "--", *command, **how)

    def agent(self, node, *words, sizes="1:3", command=None, **how):
        """One agent by itself; node 1 leads."""
        port = self.__dict__.setdefault("port", free_port())
        command = command or (sys.executable, LAUNCHER, "--", "sh", "-c", WORKER)
        return self.start("run", "--framework", "mpi", "--mpi-launch", "elastic", "--nnodes", sizes, *SHORT, "--rdzv-endpoint",
                          "127.0.1.1:%d" % self.port, "--local-addr", "127.0.1.%d" % node, "--node-name", "node-%d" % node, *words,
                          "--", *command, **how)

    def finish_well(self, job):
        self.write("done", "")
        finished = self.expect_code(job.finish(), 0)
        self.expect_nothing_left()
        return finished

    def expect_end(self, finished, code, line):
        self.expect_code(finished, code)
        self.assertRegex(finished.err, r"(?m)^(\[node-\d\] )?muster: %s" % line)
        self.expect_nothing_left()

    def expect_nothing_left(self):
        wait_until(lambda: not self.marked(), "nothing is left", 10)
        wait_until(lambda: not [name for name in os.listdir(self.temp) if name.startswith("muster-")], "no folder is left", 10)


class Changes(ElasticTest):
    def test_a_node_comes_and_one_dies_under_the_same_launcher(self):
        job = self.job("--chaos", "add-node@up=2,kill-node:2@up=3")
        job.wait_for("ended node-2: 255")
        finished = self.finish_well(job)
        self.expect_lines([r"hosts \d+: node-1:1,node-2:1$", "up 3: node-1,node-2,node-3", "rank 2 on node-3",
                           r"hosts \d+: node-1:1,node-3:1$", "done"], finished.out)
        self.assertEqual(len(re.findall("(?m)^launcher ", finished.out)), 1, finished)
        self.assertEqual(len(re.findall("round.running", finished.err)), 1, finished)
        self.expect_lines(["mpi.launch .*hosts=node-1:1,node-2:1", "mpi.nodes .*added=node-3", "mpi.nodes .*removed=node-2"], finished.err)

    def test_a_killed_agent_leaves_nothing_of_the_launchers_on_its_node(self):
        leader, second = self.agent(1), self.agent(2, command=("true",))
        leader.wait_for("rank . on node-2")
        second.signal(signal.SIGKILL)
        leader.wait_for("ended node-2: 255")
        # Its guardian: one worker is left, that of node 1.
        wait_until(lambda: len([c for c in self.marked().values() if c.startswith("sh -c trap")]) == 1, "its worker is gone", 10)
        self.finish_well(leader)

    def test_as_many_as_are_wanted_are_awaited_and_more_are_spares(self):
        job = self.job("--chaos", "add-node@2s,add-node@rank=1,kill-node:2@5s", nodes=1, sizes="2:2")
        job.wait_for("rank 2 on node-3")
        finished = self.finish_well(job)
        self.expect_lines(['round.waiting reason="1 of 2 nodes"', "mpi.launch .*hosts=node-1:1,node-2:1",
                           "mpi.nodes hosts=node-1:1,node-3:1 added=node-3 removed=node-2 spares=0"], finished.err)

    def test_a_node_that_is_told_to_go_is_off_the_list_before_its_commands_hear_of_it(self):
        leader, second = self.agent(1), self.agent(2, "--grace-period", "4s")
        leader.wait_for("rank . on node-2")
        second.signal(signal.SIGTERM)
        leader.wait_for(r"hosts \d+: node-1:1$")
        self.assertFalse(self.exists("told"))
        finished = self.expect_code(second.finish(), 143)
        self.assertEqual(self.read("told"), "told\n")
        self.expect_lines(["rsh.drain .*end by themselves", "rsh.drain .*get SIGTERM"], finished.err)
        self.finish_well(leader)

    def test_told_twice_it_goes_at_once(self):
        leader, second = self.agent(1), self.agent(2)
        leader.wait_for("rank . on node-2")
        second.signal(signal.SIGTERM)
        second.wait_for("rsh.drain", "err")
        wait_until(lambda: second.signal(signal.SIGTERM) or second.popen.poll() is not None, "it is gone", 20)
        self.expect_code(second.finish(), 143)
        self.finish_well(leader)

    def test_a_node_that_falls_silent_is_off_the_list_after_its_lease_and_comes_back(self):
        job = self.job("--chaos", "stop-node:2@up=2,continue-node:2@hosts=2")
        job.wait_for(r"hosts 3: node-1:1,node-2:1$")
        finished = self.finish_well(job)
        self.expect_lines(["hosts 1: node-1:1,node-2:1", "hosts 2: node-1:1$", "hosts 3: "], finished.out)

    def test_a_node_without_a_leader_kills_what_it_runs_for_the_launcher(self):
        job = self.job("--chaos", "stop-node:1@rank=1")
        job.wait_for("mpi.fenced", "err")
        wait_until(lambda: len([c for c in self.marked().values() if c.startswith("sh -c trap")]) == 1, "its worker is gone", 10)
        job.signal(signal.SIGTERM)
        job.finish()
        self.expect_nothing_left()

    def test_with_a_job_secret(self):
        job = self.job(env={"MUSTER_JOB_SECRET_FILE": self.write("secret", "correct horse battery staple")})
        job.wait_for("up 2: node-1,node-2")
        self.finish_well(job)


class Ends(ElasticTest):
    def test_a_rank_that_fails_is_left_to_the_launcher(self):
        job = self.job(command=(BINARY, "rank", "--", "sh", "-c", '[ $HOROVOD_RANK = 0 ] || exit 3; ' + WORKER))
        job.wait_for("ended node-2: 3")
        finished = self.finish_well(job)
        self.assertRegex(finished.err, 'mpi.rank_end rank=1 node=node-2 .*reason="exit code 3 .user error."')

    def test_the_launchers_own_code_with_the_rank_that_explains_it(self):
        finished = self.job(launcher=("--min", 2), command=(BINARY, "rank", "--", "sh", "-c",
                                                            '[ $HOROVOD_RANK = 0 ] || exit 3; ' + WORKER)).finish()
        self.expect_end(finished, 4, r"rank 1 on node-2 failed first: exit code 3 \(user error\); then python3?[0-9.]*: exit code 4 ")

    def test_the_launchers_failure_is_one_restart(self):
        job = self.job("--max-restarts", 1, launcher=("--min", 2), command=("sh", "-c", '[ -e "$OUT/again" ] || { [ $HOROVOD_RANK = 0 ] ||'
                                                                            ' { : > "$OUT/again"; exit 3; }; }; ' + WORKER))
        job.wait_for("launcher (?s:.*)launcher (?s:.*)up 2: ")
        finished = self.finish_well(job)
        self.assertIn("round 2: 2 of 1..3 nodes", finished.err)

    def test_a_killed_launcher(self):
        job = self.job()
        job.wait_for("rank . on node-2")
        os.kill(int(job.wait_for(r"launcher (\d+)").group(1)), signal.SIGKILL)
        self.expect_end(job.finish(), 137, r"MPI on node-1 failed first: python3?[0-9.]*: SIGKILL")

    def test_the_job_is_told_to_end(self):
        job = self.job()
        job.wait_for("rank . on node-2")
        job.signal(signal.SIGTERM)
        self.expect_code(job.finish(), 143)
        self.expect_nothing_left()

    def test_the_launchers_node_is_killed_and_the_next_goes_on(self):
        job = self.job("--chaos", "kill-node:1@up=2")
        job.wait_for("launcher (?s:.*)launcher ")
        self.finish_well(job)

    def test_while_the_launchers_node_is_silent_no_other_is_launched(self):
        port = free_port()
        both = ("--rdzv-endpoint", "127.0.1.1:%d,127.0.1.2:%d" % (port, port), "--rdzv-conf", "join_timeout=60")
        first, second = self.agent(1, *both), self.agent(2, *both)
        first.wait_for("rank . on node-2")
        first.signal(signal.SIGSTOP)
        second.wait_for("quorum.missing .*the last launcher's node may be alive", "err")
        self.assertNotIn("mpi.launch ", second.err.text())
        first.signal(signal.SIGCONT)
        first.wait_for("member.fenced", "err")  # it slept for more than a lease
        wait_until(lambda: "launcher " in second.out.text() or len(re.findall("(?m)^launcher ", first.out.text())) == 2, "it goes on", 20)
        self.write("done", "")
        for agent in (first, second):
            self.expect_code(agent.finish(), 0)
        self.expect_nothing_left()

    def test_too_few_nodes(self):
        finished = self.agent(1, sizes="2:3").finish()
        self.expect_end(finished, 69, "no round within 5 s: 1 of 2..3 nodes")


class Roles(ElasticTest):
    def test_a_launcher_without_ranks_whose_pod_comes_back(self):
        self.port = free_port()
        roles = ("--rdzv-endpoint", "127.0.1.1:%d" % self.port, "--framework", "mpi", "--mpi-launch", "elastic", *SHORT)
        command = ("--", sys.executable, LAUNCHER, "--", "sh", "-c", WORKER)

        def launcher():
            return self.start("run", *roles, "--nnodes", "1:2", "--mpi-role", "launcher", "--local-addr", "127.0.1.1", "--node-name", "l",
                              *command)
        first = launcher()
        workers = [self.start("run", *roles, "--mpi-role", "worker", "--local-addr", "127.0.1.%d" % n, "--node-name", "node-%d" % n,
                              *command) for n in (2, 3)]
        first.wait_for("up 2: node-2,node-3")
        first.signal(signal.SIGKILL)
        first.popen.wait()
        second = launcher()
        second.wait_for("rank . on node-2")
        self.finish_well(second)
        for worker in workers:
            self.expect_code(worker.finish(), 0)


class Commands(ElasticTest):
    def command_job(self, text, *words, nodes=2, **how):
        return self.run_muster("local", "--nodes", nodes, "--framework", "mpi", "--mpi-launch", "command", *SHORT, *words, "--",
                               self.sh(text, "launch"), **how)

    def test_what_the_launcher_finds(self):
        finished = self.expect_code(self.command_job(
            'cat "$MUSTER_HOSTFILE" "$MUSTER_HOST_LIST"; discover_hosts.sh; "$MUSTER_DISCOVER_HOSTS"; command -v ssh; command -v rsh; '
            'ssh -o BatchMode=yes node-2 \'echo "here is $MUSTER_RANK_NODE"\'; ssh node-1 exit 7; echo "and $?"', "--nproc-per-node", 2), 0)
        both = "node-1:2\nnode-2:2\n"
        self.assertRegex(finished.out, "^node-1 slots=2\nnode-2 slots=2\n" + 3 * both + "%s/muster-.*/bin/ssh\n.*/bin/rsh\n"
                         "here is node-2\nand 7\n$" % re.escape(self.temp))
        self.expect_nothing_left()

    def test_the_discovery_script_of_the_mpi_operator_is_ours(self):
        finished = self.run_muster("local", "--nodes", 2, "--framework", "mpi", "--mpi-launch", "command", *SHORT, "--",
                                   self.sh('"$2"', "launch"), "--host-discovery-script", "/etc/mpi/discover_hosts.sh")
        self.assertEqual(self.expect_code(finished, 0).out, "node-1:1\nnode-2:1\n")
        self.assertIn("mpi.discovery given=/etc/mpi/discover_hosts.sh used=", finished.err)

    def test_a_rank_that_fails_is_the_jobs_failure(self):
        finished = self.command_job('ssh node-2 "env HOROVOD_RANK=0 HOROVOD_SIZE=1 MUSTER_RANK_REPORT=\'$MUSTER_RANK_REPORT\' %s rank -- '
                                    'sh -c \'exit 3\'"; exit 1' % BINARY)
        self.expect_end(finished, 3, "rank 0 on node-2 failed first: exit code 3 ")

    def test_horovodrun_is_known_by_its_name(self):
        for words, launch in ((("--host-discovery-script", "x"), "elastic"), (("-np", "2"), "command")):
            finished = self.expect_code(self.run_muster("run", "--framework", "mpi", "--explain", "horovodrun", *words), 0)
            self.assertRegex(finished.out, r"(?m)^--mpi-launch +%s +horovodrun$" % launch)


class WrongInputs(ElasticTest):
    def expect_refusal(self, code, line, *words, **how):
        finished = self.run_muster("run", "--framework", "mpi", *words, **how)
        self.expect_code(finished, code)
        self.assertRegex(finished.last_error_line, line)

    def test_they_are_told_in_one_line(self):
        elastic = ("--mpi-launch", "elastic")
        self.expect_refusal(64, "--nnodes '3:2': MIN is larger than MAX", *elastic, "--nnodes", "3:2", "true")
        self.expect_refusal(64, "--mpi-launch 'ssh'", "--mpi-launch", "ssh", "true")
        self.expect_refusal(64, "static backend", *elastic, "--nnodes", 2, "--rdzv-backend", "static", "--node-rank", 0,
                            "--master-addr", "127.0.0.1", "--master-port", free_port(), "true")
        self.expect_refusal(64, "--mpi-transport 'ssh': a launcher of your own", *elastic, "--mpi-transport", "ssh", "true")
        self.expect_refusal(78, "--mpi-launch elastic: mpirun takes in no nodes", *elastic, "mpirun", "true")
        self.expect_refusal(127, "no-such-launcher", *elastic, "no-such-launcher")
        full = self.path("full")
        self.expect_refusal(71, "mkdir '%s/muster-" % full, *elastic, "true", env={"TMPDIR": full},
                            mounts=full_folder(full))

    def test_a_node_that_is_not_elastic_is_refused(self):
        leader = self.agent(1, sizes="2:3")
        leader.wait_for("round.waiting", "err")
        other = self.start("run", "--framework", "mpi", "--nnodes", "2:3", *SHORT, "--rdzv-endpoint", "127.0.1.1:%d" % self.port,
                           "--local-addr", "127.0.1.2", "--node-name", "node-2", "true")
        finished = self.expect_code(other.finish(), 78)
        self.assertIn("--mpi-launch", finished.last_error_line)
        self.expect_code(leader.finish(), 78)

    def test_a_node_of_another_framework_or_start_is_refused(self):
        started = []
        for leads, comes, named in ((("--framework", "mpi"), (), "node-2 has --framework pytorch, .* --framework mpi"),
                                    (("--framework", "mpi", "--mpi-launch", "pmi"), ("--framework", "mpi"),
                                     "node-2 has --mpi-launch mpirun or command, .* --mpi-launch pmi")):
            endpoint = "127.0.1.1:%d" % free_port()
            agents = [self.start("run", *words, "--nnodes", 2, *SHORT, "--rdzv-endpoint", endpoint, "--local-addr", "127.0.1.%d" % n,
                                 "--node-name", "node-%d" % n, "--no-python", "true") for n, words in ((1, leads), (2, comes))]
            started.append((agents, named))
        for agents, named in started:
            for agent in agents:
                finished = self.expect_code(agent.finish(), 78)
                self.assertRegex(finished.last_error_line, "(%s|%s)" % (named, named.replace("node-2", "node-1")))

    def test_the_list_asked_for_outside_of_a_job(self):
        os.symlink(BINARY, self.path("discover_hosts.sh"))
        for variables in ({}, {"MUSTER_HOST_LIST": self.path("nothing")}):
            finished = self.start_command([self.path("discover_hosts.sh")], env=variables).finish()
            self.expect_code(finished, 78)
            self.assertIn("MUSTER_HOST_LIST", finished.last_error_line)


if __name__ == "__main__":
    unittest.main()
