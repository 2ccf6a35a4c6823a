"""Launchers that the job's own command calls by their bare names, and what becomes of it: the same for every MPI, as mpi_cases."""
import os
import shlex
import shutil
import signal

import mpi_cases
from mpi_programs import built


class CalledTests(mpi_cases.MpiTest):
    """What the launchers that a command calls do, and what becomes of it. FAKE in front of one: see support/mpi_launcher.c."""

    def call(self, ranks, program="ring", *words):
        return " ".join([os.path.basename(self.launcher), "-n", str(ranks), *self.program(program), *words])

    def run_script(self, script, *flags, **how):
        return self.start_script(script, *flags, **how).finish()

    def start_script(self, script, *flags, **how):
        name = os.path.basename(self.launcher)
        if not self.exists("bin"):
            os.mkdir(self.path("bin"))
            shutil.copy(built("mpi_launcher", "openmpi"), self.path("bin/" + name))  # a link leads to another name
            self.write("bin/" + self.daemon, "")  # by which it is known whose it is
        env = {"PATH": self.path("bin") + ":" + self.environment()["PATH"], "REAL": self.launcher}
        return self.start("local", "--nodes", 2, "--framework", "mpi", "--mpi", self.mpi, *flags, "--", self.sh(script), env=env, **how)

    def test_one_that_starts_no_rank_is_believed(self):
        """No rank tells of it; what it says is the command's business."""
        finished = self.expect_code(self.run_script("FAKE=exit0 %s && echo went on" % self.call(2), "--mpi-start-timeout", "2s"), 0)
        self.assertIn("went on", finished.out)
        self.assertRegex(finished.err, 'mpi.ranks_unwatched reason="none has reported')

    def test_one_that_starts_too_few_ranks(self):
        finished = self.run_script("FAKE=one %s -n 2 sleep 60 || echo coped" % os.path.basename(self.launcher), "--mpi-start-timeout", "2s")
        self.expect_end(finished, 205, "MPI on node-1 failed first: \\S+: 1 of 2 ranks began within 2 s")

    def test_one_that_hangs_is_left_to_the_command(self):
        """And leaves something behind."""
        finished = self.run_script('FAKE=linger %s >"$OUT/first" & first=$!\nuntil grep lingers "$OUT/first"; do sleep 0.05; done\n'
                                   'kill $first; %s && echo "went on"' % (self.call(2), self.call(2)))
        self.expect_code(finished, 0)
        self.assertIn("went on", finished.out)
        self.assertNotIn("mpi.launcher_hangs", finished.err)
        self.assertEqual(finished.err.count('mpi.ranks placement="2 ranks on 2 nodes: node-1:1, node-2:1"'), 2)
        self.expect_nothing_left()

    def test_one_beside_another_runs_unwatched(self):
        waits = self.sh('touch "$OUT/up.${OMPI_COMM_WORLD_RANK:-$PMI_RANK}"\nuntil [ -e "$OUT/go" ]; do sleep 0.05; done', name="waits")
        finished = self.run_script('%s -n 2 %s & first=$!\nuntil [ -e "$OUT/up.0" ] && [ -e "$OUT/up.1" ]; do sleep 0.05; done\n'
                                   '%s && touch "$OUT/go" && wait $first && echo "all ended"' % (os.path.basename(self.launcher), waits, self.call(2)))
        self.expect_code(finished, 0)
        self.assertIn("ring: 2 of 2 ranks", finished.out)
        self.assertIn("all ended", finished.out)
        self.assertEqual(finished.err.count('mpi.ranks_unwatched reason="ranks of another mpirun'), 1)
        self.assertEqual(finished.err.count("mpi.ranks placement="), 1)

    def test_how_it_ends_is_the_commands_business(self):
        call = self.call(2)
        finished = self.run_script('FAKE=exit7 %s; echo "code $?"; FAKE=kill %s; echo "code $?"\n'
                                   'FAKE=wait %s & sleep 1; kill -TERM $!; wait $!; echo "code $?"' % (call, call, call))
        self.expect_code(finished, 0)
        self.assertEqual([line for line in finished.out.splitlines() if line.startswith("code")], ["code 7", "code 138", "code 143"])

    def test_as_the_command_itself_it_may_be_killed(self):
        finished = self.run_script("FAKE=kill exec " + self.call(2))
        self.expect_end(finished, 138, "MPI on node-1 failed first: .*SIGUSR1")

    def test_its_stdin_goes_to_rank_0(self):
        reader = self.sh('[ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" != 0 ] || %s' % self.reader, name="reader")
        finished = self.expect_code(self.run_script("printf 'a line\\nand another\\n' | %s -n 2 %s" % (os.path.basename(self.launcher), reader)), 0)
        self.assertEqual(finished.out, "a line\nand another\n")

    def test_a_rank_that_ends_before_mpi_begins(self):
        early = self.sh('[ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" != 1 ] || exit 0\nexec %s' % shlex.join(self.program("ring")), name="early")
        finished = self.run_script("%s -n 2 %s || echo coped" % (os.path.basename(self.launcher), early))
        self.expect_end(finished, 1, "rank 1 on node-2 failed first: it ended with exit code 0 and without MPI_Init")

    def test_several_programs(self):
        faults = shlex.join(self.program("mpi_faults"))
        finished = self.run_script("%s -n 1 %s leave : -n 1 %s leave" % (os.path.basename(self.launcher), faults, faults))
        self.expect_end(finished, 1, "rank 1 on node-2 failed first: it left with exit code 0 and without MPI_Finalize")
        self.assertIn('mpi.ranks placement="2 ranks on 2 nodes: node-1:1, node-2:1"', finished.err)

    def test_the_job_is_told_to_end(self):
        for script in ("%s; echo coped", "exec %s", "%s & wait"):
            job = self.start_script(script % self.call(2, "mpi_faults", "wait"), "--grace-period", "5")
            job.wait_for("rank=1 waits")
            job.signal(signal.SIGTERM)
            self.expect_end(job.finish(), 143, ".*SIGTERM")
