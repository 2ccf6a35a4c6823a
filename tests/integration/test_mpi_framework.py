"""`--framework mpi`: whole MPI jobs of C programs on nodes of this machine, with Debian's Open MPI 4.1 and MPICH 4.0, and what
becomes of them when something breaks. The tests are those of support/mpi_cases.py."""
import os
import signal
import subprocess
import unittest

import mpi_cases
import mpi_output_cases
from harness import BINARY, EXAMPLES, MusterTest, free_port
from mpi_programs import Mpich, OpenMpi, built


class OpenMpiJobs(OpenMpi, mpi_cases.JobTests, mpi_cases.LaunchesTest, MusterTest):
    def test_sixty_four_nodes(self):
        """A script; the ring takes a minute of 2 CPUs, and is in compat/test_mpi_many.py."""
        script = self.sh('echo "${MUSTER_RANK_NODE:-node-1}" >>"$OUT/ranks"')
        finished = self.job("--", script, nodes=64).finish(timeout_s=180)
        self.expect_code(finished, 0)
        self.assertEqual(sorted(self.read("ranks").split()), sorted("node-%d" % (k + 1) for k in range(64)))
        self.expect_nothing_left()


class MpichJobs(Mpich, mpi_cases.JobTests, mpi_cases.LaunchesTest, mpi_cases.HydraTest, MusterTest):
    launches = 200


class OpenMpiOutput(OpenMpi, mpi_output_cases.OutputTests, MusterTest):
    torn = 40  # it passes on 4 KiB at a time

    def test_a_rank_has_a_terminal_because_its_launcher_gives_one(self):
        """Through a pipe a C program writes in blocks, and loses the last one when it is killed."""
        self.expect_code(self.run_job("--", "sh", "-c", "test -t 1 && ! test -t 2"), 0)


class MpichOutput(Mpich, mpi_output_cases.OutputTests, MusterTest):
    pass


class OpenMpiSaving(OpenMpi, mpi_cases.SavingTests, MusterTest):
    pass


class MpichSaving(Mpich, mpi_cases.SavingTests, MusterTest):
    pass


class OpenMpiFaults(OpenMpi, mpi_cases.InitTests, mpi_cases.FaultTests, MusterTest):
    leaves = True


class MpichFaults(Mpich, mpi_cases.InitTests, mpi_cases.FaultTests, MusterTest):
    gate_keeps = ("test_a_rank_exits_with_3", "test_a_rank_leaves_without_finalize", "test_a_rank_is_killed", "test_a_daemon_is_killed", "test_an_agent_is_killed", "test_the_job_is_told_to_end", "test_a_rank_aborts", "test_a_rank_crashes")


class LauncherTest(OpenMpi, mpi_cases.MpiTest, MusterTest):
    """Launchers that lie, hang or are missing."""

    def fake(self, text):
        """A launcher that is none, in front of the real one on PATH."""
        os.mkdir(self.path("bin"))
        self.sh(text, name="bin/mpirun.openmpi")
        return {"PATH": self.path("bin") + ":/usr/bin:/bin"}

    def test_a_launcher_that_uses_no_node_and_says_0(self):
        finished = self.run_job("--", "true", env=self.fake("exit 0"))
        self.expect_end(finished, 205, r"MPI on node-1 failed first: mpirun.openmpi: it ended with 0, but 0 of 2 ranks were started, "
                                       r"none or too few on node-1, node-2")

    def test_a_launcher_that_uses_its_own_node_alone(self):
        run_one = 'OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2 exec %s rank -- true' % BINARY
        finished = self.run_job("--", "true", env=self.fake(run_one))
        self.expect_end(finished, 205, r"MPI on node-1 failed first: mpirun.openmpi: .* 1 of 2 ranks .* on node-2")

    def test_a_launcher_that_hangs_after_all_its_ranks_ended(self):
        finished = self.run_job("--", *self.program("ring"), env=self.fake('/usr/bin/mpirun.openmpi "$@"; sleep 600'))
        self.expect_code(finished, 0)
        self.assertIn("mpi.launcher_hangs silent_s=5", finished.err)
        self.expect_nothing_left()

    def expect_daemons_through_us(self, *words, env=None, setting):
        finished = self.run_job("--", *words, *self.program("ring"), env=env)
        self.assertIn("ring: 2 of 2 ranks", self.expect_code(finished, 0).out)
        self.assertRegex(finished.err, r"I mpi.remote_shell setting=\S*%s" % setting)
        self.assertRegex(finished.err, r"\[node-2\].* rsh.start ")

    def test_words_and_settings_of_the_days_of_sshd(self):
        ssh = "ssh -q -o StrictHostKeyChecking=no -p 222"
        self.expect_daemons_through_us(self.launcher, "--mca", "plm_rsh_agent", ssh, "-n", 2, setting=".*plm_rsh_agent")
        for name in ("OMPI_MCA_plm_rsh_agent", "OMPI_MCA_orte_rsh_agent"):
            self.expect_daemons_through_us(env={name: ssh}, setting=name)

    def test_a_remote_shell_of_the_users_own_stays_and_is_named(self):
        shell = self.sh("exit 7", name="wrapper")
        finished = self.run_job("--", "true", env={"OMPI_MCA_plm_rsh_agent": shell})
        self.assertNotEqual(finished.code, 0)
        self.assertRegex(finished.err, "W mpi.remote_shell setting=OMPI_MCA_plm_rsh_agent given=%s " % shell)

    def test_a_container_in_which_ranks_may_not_read_each_others_memory(self):
        """As under a seccomp profile without process_vm_readv. Open MPI 4.1 says "Read -1" for each large message then."""
        refuse, large = (built(name, "openmpi") for name in ("refuse_memory_reading", "mpi_large"))
        ranks = [refuse] + self.command(("run", "--framework", "mpi", "--mpi", "openmpi", "--nproc-per-node", 2, "--", large))
        finished = self.expect_code(self.start_command(ranks).finish(), 0)
        self.assertNotIn("Read -1", finished.out + finished.err)
        alone = subprocess.run([refuse, "/usr/bin/mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-n", "2", large],
                               capture_output=True, text=True, timeout=60)
        self.assertIn("Read -1", alone.stdout + alone.stderr)  # so it would be seen

    def test_a_program_of_mpi_that_nobody_starts_as_one_job(self):
        ring = self.program("ring")
        finished = self.run_muster("run", "--nproc-per-node", 2, *ring)
        self.assertRegex(finished.err, r'W job.mpi_program program=\S+ mpi="Open MPI" action=".*--framework mpi')
        plain = self.run_muster("run", "--framework", "plain", "--nproc-per-node", 2, *ring)
        self.assertNotIn("job.mpi_program", plain.err)

    def test_the_users_own_launcher_that_is_a_script(self):
        script = self.sh('exec mpirun.openmpi "$@"', name="mpirun")
        finished = self.run_job("--", script, "-n", 2, *self.program("ring"))
        self.assertIn("ring: 2 of 2 ranks", self.expect_code(finished, 0).out)
        self.assertIn('placement="2 ranks on 2 nodes: ', finished.err)

    def test_the_users_own_launcher_with_a_program_of_the_working_folder(self):
        os.symlink(self.program("ring")[0], self.path("ring"))
        words = ("-n", 2, "--wdir", self.dir, "ring")
        finished = self.run_job("--", self.launcher, *words)
        self.assertIn("ring: 2 of 2 ranks", self.expect_code(finished, 0).out)
        self.assertIn('placement="2 ranks on 2 nodes: ', finished.err)

    def test_the_examples(self):
        for script in (["ring.sh", BINARY, "openmpi"], ["ring.sh", BINARY, "mpich"], ["allreduce.sh", BINARY]):
            finished = self.start_command([os.path.join(EXAMPLES, "mpi", script[0])] + script[1:]).finish()
            self.expect_code(finished, 0)
            with open(os.path.join(EXAMPLES, "mpi", "expected.txt")) as file:
                for pattern in file.read().splitlines():
                    self.assertRegex(finished.out, "(?m)" + pattern)

    def test_a_killed_agent_leaves_no_folder(self):
        # While it waits for others, and while it runs a job.
        waiting = self.start("run", "--framework", "mpi", "--nnodes", 2, "--rdzv-endpoint", "127.0.1.1:%d" % free_port(), "true")
        job = self.job(*self.faults("wait"))
        waiting.wait_for("round.waiting", "err")
        job.wait_for("rank=1 waits")
        self.assertEqual(len([name for name in os.listdir(self.temp) if name.startswith("muster-")]), 3)
        for process, command in self.marked().items():
            if "muster run " in command:
                os.kill(process, signal.SIGKILL)
        self.expect_nothing_left()

    def test_agents_of_one_machine_without_names(self):
        words = ["--framework", "mpi", "--mpi", "openmpi", "--nnodes", 2, "--rdzv-endpoint", "127.0.1.1:%d" % free_port()]
        agents = [self.start("run", *words, "--", *self.program("ring")) for _ in range(2)]
        finished = [self.expect_code(agent.finish(), 0) for agent in agents]
        self.assertIn("ring: 2 of 2 ranks", finished[0].out + finished[1].out)
        self.assertRegex(finished[0].err + finished[1].err, r'placement="2 ranks on 2 nodes: (?P<name>[^:]+):1, (?P=name)-\d+:1"')
        self.expect_nothing_left()

    def test_the_program_tells_whose_launcher_is_needed(self):
        ring = built("ring", "mpich")
        finished = self.run_muster("local", "--nodes", 2, "--framework", "mpi", "--", ring)
        self.assertIn("ring: 2 of 2 ranks", self.expect_code(finished, 0).out)
        finished = self.run_muster("local", "--nodes", 2, "--framework", "mpi", "--mpi", "openmpi", "--", ring)
        self.expect_code(finished, 78)
        self.assertIn("'%s' was built for MPICH, and --mpi says Open MPI" % ring, finished.err)

    def test_nodes_that_the_users_own_launcher_leaves_out_are_told(self):
        finished = self.run_job("--", self.launcher, "-n", 2, "--host", "node-1:2", *self.program("ring"))
        self.assertIn("ring: 2 of 2 ranks", self.expect_code(finished, 0).out)
        self.assertRegex(finished.err, "mpi.nodes_idle nodes=node-2 ranks=2 slots=2")

    def test_no_launcher(self):
        finished = self.run_job("--", "/bin/true", env={"PATH": self.dir})
        self.expect_end(finished, 127, r"MPI on node-1 failed first: could not be started: no launcher of Open MPI on PATH")

    def test_one_node_needs_no_framework(self):
        self.expect_code(self.run_muster("run", "mpirun.openmpi", "--allow-run-as-root", "-n", 1, "true"), 0)

    def test_other_machines_need_a_secret(self):
        finished = self.run_muster("run", "--framework", "mpi", "--nnodes", 2, "--rdzv-endpoint", "192.0.2.1", "true")
        self.expect_code(finished, 78)
        self.assertIn("needs a job secret", finished.last_error_line)


if __name__ == "__main__":
    unittest.main()
