"""Commands that call mpirun themselves: they run once, and their mpirun uses the nodes of the job without a word from the user."""
import mpi_called_cases
from harness import MusterTest
from mpi_programs import Mpich, OpenMpi, built


class CommandCases:
    def run_job(self, *words, nodes=2):
        return self.run_muster("local", "--nodes", nodes, "--framework", "mpi", *words)

    def call(self, ranks, program="ring", *words):
        return " ".join([self.launcher.rsplit("/", 1)[1], "-n", str(ranks), *self.program(program), *words])

    def expect_one_run(self, finished, ranks):
        self.expect_code(finished, 0)
        self.assertEqual(finished.out.count("ring: %d of %d ranks" % (ranks, ranks)), 1)
        self.assertRegex(finished.err, "mpi.command .*as with --mpi-launch command")
        self.assertNotIn("mpi.nodes_idle", finished.err)
        self.assertRegex(finished.err, "rsh.start .*program=" + self.daemon)

    def test_a_script_runs_once_on_all_nodes(self):
        self.expect_one_run(self.run_job("--", self.sh("exec " + self.call(2))), 2)

    def test_words_for_a_shell_run_once_on_all_nodes(self):
        self.expect_one_run(self.run_job("--nproc-per-node", 2, "--", "sh", "-c", "cd / && " + self.call(4)), 4)

    def test_one_launcher_after_the_other(self):
        self.expect_one_run(self.run_job("--", "sh", "-c", self.call(1) + " && " + self.call(2)), 2)

    def test_with_launch_mpirun_each_rank_runs_it(self):
        words = self.launcher.rsplit("/", 1)[1] + " --version > /dev/null && exec " + " ".join(self.program("ring"))
        finished = self.expect_code(self.run_job("--mpi", self.mpi, "--mpi-launch", "mpirun", "--", "sh", "-c", words), 0)
        self.assertEqual(finished.out.count("ring: 2 of 2 ranks"), 1)
        self.assertNotIn("mpi.command", finished.err)

    def test_a_node_without_ranks_is_told(self):
        finished = self.expect_code(self.run_job("--", "sh", "-c", self.call(1)), 0)
        self.assertRegex(finished.err, "mpi.nodes_idle nodes=node-2 ranks=1 slots=2")

    def test_ranks_that_a_script_leaves_behind_are_named(self):
        script = self.sh(self.call(2, "mpi_faults", "wait") + ' > "$OUT/ranks" &\nuntil [ "$(grep -c waits "$OUT/ranks")" = 2 ]; do sleep 0.05; done')
        finished = self.run_job("--", script)
        self.assertIn(finished.code, (137, 143))
        self.assertRegex(finished.err, "muster: rank [01] .* failed first: SIG(TERM|KILL) .killed: .* had ended before it.")
        self.assertRegex(finished.err, "W group.left_behind processes=.*mpi")

    def test_the_command_itself_may_be_ssh(self):
        finished = self.expect_code(self.run_job("--mpi-launch", "command", "--", "ssh", "node-2", "echo it ran"), 0)
        self.assertEqual(finished.out.count("it ran"), 1)
        self.assertIn("rsh.end caller=node-1", finished.err)

    def test_a_ranks_failure_is_the_jobs(self):
        finished = self.expect_code(self.run_job("--", "sh", "-c", self.call(2, "mpi_faults", "kill")), 137)
        self.assertIn("rank 1 on node-2 failed first: SIGKILL", finished.err)


class OpenMpiCalled(OpenMpi, mpi_called_cases.CalledTests, MusterTest):
    pass


class MpichCalled(Mpich, mpi_called_cases.CalledTests, MusterTest):
    pass


class OpenMpiCommands(OpenMpi, CommandCases, MusterTest):
    def test_ranks_are_watched_whatever_path_is(self):
        """A login shell, a full path, a Python program."""
        fails = " ".join(self.program("mpi_faults")) + " kill"
        python = "import subprocess, sys; subprocess.run(sys.argv[1].split())"
        for words in (["sh", "-c", "PATH=/usr/bin:/bin; %s | cat" % self.call(2, "mpi_faults", "kill")],
                      ["sh", "-c", "%s -n 2 %s; true" % (self.launcher, fails)],
                      ["--mpi-launch", "command", "--no-python", "/usr/bin/python3", "-c", python, "%s -n 2 %s" % (self.launcher, fails)]):
            finished = self.expect_code(self.run_job(*(words if words[0].startswith("--") else ["--", *words])), 137)
            self.assertIn("rank 1 on node-2 failed first: SIGKILL", finished.err)

    def test_a_program_of_another_mpi_is_refused(self):
        finished = self.expect_code(self.run_job("--", "sh", "-c", self.launcher + " -n 2 " + built("ring", "mpich")), 78)
        self.assertIn("was built for MPICH, and the mpirun of Open MPI started it", finished.err)

    def test_ranks_that_a_rank_has_started_are_watched(self):
        words = (self.launcher, "-n", "1", *self.program("mpi_spawn"))
        finished = self.expect_code(self.run_job("--nproc-per-node", 3, "--", *words, nodes=1), 137)
        self.assertRegex(finished.err, "rank 1 on node-1 failed first: SIGKILL.*, of ranks that MPI_Comm_spawn started")

    def test_words_that_an_entrypoint_is_given(self):
        entrypoint = self.sh('exec "$@"', name="entrypoint")
        self.expect_one_run(self.run_job("--", entrypoint, *self.call(2).split()), 2)

    def test_a_script_that_looks_for_mpirun_is_run_by_each_rank(self):
        script = self.sh("command -v mpirun >/dev/null && mpirun --version >/dev/null; exec %s" % " ".join(self.program("ring")))
        finished = self.expect_code(self.run_job("--mpi", self.mpi, "--", script), 0)
        self.assertEqual(finished.out.count("ring: 2 of 2 ranks"), 1)


class MpichCommands(Mpich, CommandCases, MusterTest):
    def test_a_node_that_the_job_does_not_have_ends_its_launcher(self):
        """Which prints what its remote shell said, and waits for ever."""
        finished = self.expect_code(self.run_job("--", self.launcher, "-hosts", "nosuch", "-n", "1", *self.program("ring")), 205)
        self.assertRegex(finished.err, "muster: MPI on node-1 failed first: .*'nosuch' is no node of this job, which has node-1, node-2")

    def test_below_a_rank_it_fails_and_says_what_is_needed(self):
        finished = self.run_job("--mpi-launch", "mpirun", "--", "sh", "-c", self.call(2))
        self.assertNotEqual(finished.code, 0)
        self.assertNotIn("ring:", finished.out)
        self.assertIn("mpi-launch-command", finished.err)
