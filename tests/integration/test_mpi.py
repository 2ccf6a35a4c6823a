"""Real MPI launchers, of Open MPI 4.1 and MPICH 4.0, called by a worker's own script: with --rsh they reach the other nodes by `muster rsh`
alone, without a word from the user.
"""
import os
import unittest

import mpi_shared_memory
from harness import EXAMPLES, MusterTest, full_folder
from mpi_programs import Mpich, OpenMpi, built

# Which node a rank runs on: requests are named after their agent. (Hydra gives all ranks the launcher's MUSTER_AGENT_ID.)
WHERE = "sh -c 'echo ${OMPI_COMM_WORLD_RANK:-$PMI_RANK} ${MUSTER_RSH_REQUEST%-*}'"


class LauncherTest(MusterTest):
    def run_launcher(self, command, env=None, flags=("--rsh",), mounts=None):
        """A job of two nodes; the worker of rank 0 calls the launcher, the other one waits until it is done."""
        worker = self.sh('echo "$MUSTER_AGENT_ID" >"$OUT/agent.$RANK"; env >"$OUT/env.$RANK"\n'
                         '[ "$RANK" = 0 ] || { while [ ! -e "$OUT/over" ]; do sleep 0.05; done; exit 0; }\n'
                         + command + ' >"$OUT/ranks"; code=$?; touch "$OUT/over"; exit $code')
        return self.run_muster("local", "--nodes", 2, *flags, "--no-python", worker, env=env, mounts=mounts)

    def variables(self, rank):
        return dict(line.split("=", 1) for line in self.read("env.%d" % rank).splitlines() if "=" in line)

    def expect_both_nodes(self):
        ranks = dict(line.split() for line in self.read("ranks").splitlines())
        self.assertEqual(ranks, {"0": self.read("agent.0").strip(), "1": self.read("agent.1").strip()})

    def test_open_mpi_reaches_both_nodes(self):
        finished = self.expect_code(self.run_launcher("mpirun.openmpi --host node-1,node-2 " + WHERE), 0)
        self.expect_both_nodes()
        self.assertRegex(finished.err, "rsh.start caller=node-1 .*program=orted")

    def test_open_mpi_runs_a_program_of_mpi(self):
        self.expect_code(self.run_launcher("mpirun.openmpi --host node-1:2,node-2:2 " + built("ring", "openmpi")), 0)
        self.assertIn("ring: 4 of 4 ranks", self.read("ranks"))

    def test_open_mpi_ends_with_a_ranks_exit_code(self):
        self.expect_code(self.run_launcher("mpirun.openmpi --host node-1,node-2 sh -c 'exit $((3 * OMPI_COMM_WORLD_RANK))'"), 3)

    def test_mpich_reaches_both_nodes(self):
        finished = self.expect_code(self.run_launcher("mpiexec.hydra -hosts node-1,node-2 " + WHERE), 0)
        self.expect_both_nodes()
        self.assertRegex(finished.err, "rsh.start caller=node-1 .*program=hydra_pmi_proxy")

    def test_mpich_runs_a_program_of_mpi(self):
        self.expect_code(self.run_launcher("mpiexec.hydra -hosts node-1,node-2 " + built("ring", "mpich")), 0)
        self.assertIn("ring: 2 of 2 ranks", self.read("ranks"))

    def test_with_a_job_secret_as_well(self):
        secret = self.write("secret", "correct horse battery staple", 0o600)
        self.expect_code(self.run_launcher("mpirun.openmpi --host node-1,node-2 " + WHERE, env={"MUSTER_JOB_SECRET_FILE": secret}), 0)
        self.expect_both_nodes()

    def test_a_node_of_the_same_name_as_the_machine_is_no_other_way(self):
        # An mpirun of this node alone calls nobody.
        self.expect_code(self.run_launcher("mpirun.openmpi -np 2 --oversubscribe " + built("ring", "openmpi")), 0)
        self.assertIn("ring: 2 of 2 ranks", self.read("ranks"))

    def test_what_the_user_has_set_stays(self):
        mine = {"OMPI_MCA_plm_rsh_agent": "/no/such/agent", "HYDRA_LAUNCHER": "manual", "OMPI_MCA_btl_tcp_if_exclude": "docker0"}
        self.expect_code(self.run_launcher("true", env=mine), 0)
        for rank in (0, 1):
            found = self.variables(rank)
            for name, value in mine.items():
                self.assertEqual(found[name], value)
            # Both together are an error of Open MPI's.
            self.assertNotIn("OMPI_MCA_btl_tcp_if_include", found)
            self.assertIn("muster-rsh", found["HYDRA_LAUNCHER_EXEC"])

    def test_without_the_flag_workers_get_nothing_of_it(self):
        self.expect_code(self.run_launcher("true", flags=()), 0)
        for rank in (0, 1):
            names = [name for name in self.variables(rank)
                     if name.startswith(("OMPI_", "PRTE_", "HYDRA_", "I_MPI_", "UCX_", "FI_", "MUSTER_RSH"))]
            self.assertEqual(names, [])

    def test_where_it_cannot_be_set_up_the_job_runs_without(self):
        full = self.path("full")
        finished = self.expect_code(self.run_launcher("true", env={"TMPDIR": full}, mounts=full_folder(full)), 0)
        self.assertRegex(finished.err, "W rsh.callers error=.*action=\"an mpirun of a worker's needs its variables set by hand")
        self.assertIn("MUSTER_RSH_AGENT", self.variables(0))
        self.assertNotIn("HYDRA_LAUNCHER", self.variables(0))

    def test_a_worker_that_initialises_mpi_alone_is_alone(self):
        # examples/mpi/allreduce.py without a launcher: a singleton, as without --rsh.
        script = os.path.join(EXAMPLES, "mpi", "allreduce.py")
        self.expect_code(self.run_launcher("/usr/bin/python3 " + script), 0)
        self.assertIn("ring: 1 of 1 ranks", self.read("ranks"))
        self.expect_code(self.run_launcher(built("ring", "mpich")), 0)
        self.assertIn("ring: 1 of 1 ranks", self.read("ranks"))


class OpenMpiSharedMemory(OpenMpi, mpi_shared_memory.SharedMemoryTests, MusterTest):
    leaves = True


class MpichSharedMemory(Mpich, mpi_shared_memory.SharedMemoryTests, MusterTest):
    pass


if __name__ == "__main__":
    unittest.main()
