"""Real MPI launchers, of Open MPI 4.1 and MPICH 4.0, that reach the other node by `muster rsh` alone.

The ranks are shell commands: what is tested is how they are started, where, and what comes of their end.
"""
import os
import unittest

from harness import BINARY, MusterTest

RSH = os.path.join(os.path.dirname(BINARY), "muster-rsh")
# Which node a rank runs on: requests are named after their agent. (Hydra gives all ranks the launcher's MUSTER_AGENT_ID.)
WHERE = "sh -c 'echo ${OMPI_COMM_WORLD_RANK:-$PMI_RANK} ${MUSTER_RSH_REQUEST%-*}'"


class LauncherTest(MusterTest):
    def run_launcher(self, command, env=None):
        """A job of two nodes; the worker of rank 0 is the launcher, the other one waits until it is done."""
        worker = self.sh('echo "$MUSTER_AGENT_ID" >"$OUT/agent.$RANK"\n'
                         '[ "$RANK" = 0 ] || { while [ ! -e "$OUT/over" ]; do sleep 0.05; done; exit 0; }\n'
                         + command + ' >"$OUT/ranks"; code=$?; touch "$OUT/over"; exit $code')
        return self.run_muster("local", "--nodes", 2, "--rsh", "--no-python", worker, env=env)

    def expect_both_nodes(self):
        ranks = dict(line.split() for line in self.read("ranks").splitlines())
        self.assertEqual(ranks, {"0": self.read("agent.0").strip(), "1": self.read("agent.1").strip()})

    def open_mpi(self, *words):
        # Both daemons are on one machine here, and would share their session's folder below TMPDIR.
        orted = self.sh('mkdir "$TMPDIR/$$"; TMPDIR="$TMPDIR/$$" exec orted "$@"', name="orted-alone")
        variables = {"OMPI_MCA_plm_rsh_agent": RSH, "OMPI_MCA_orte_launch_agent": orted,
                     "OMPI_MCA_oob_tcp_if_include": "127.0.0.0/8", "OMPI_MCA_orte_keep_fqdn_hostnames": "1",
                     "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        return self.run_launcher("mpirun.openmpi --host node-1,node-2 " + " ".join(words), env=variables)

    def mpich(self, *words):
        return self.run_launcher("mpiexec.hydra -hosts node-1,node-2 " + " ".join(words),
                                 env={"HYDRA_LAUNCHER": "rsh", "HYDRA_LAUNCHER_EXEC": RSH, "HYDRA_IFACE": "lo"})

    def test_open_mpi_reaches_both_nodes(self):
        finished = self.expect_code(self.open_mpi(WHERE), 0)
        self.expect_both_nodes()
        self.assertRegex(finished.err, "rsh.start caller=node-1 .*program=orted")

    def test_open_mpi_ends_with_a_ranks_exit_code(self):
        self.expect_code(self.open_mpi("sh -c 'exit $((3 * OMPI_COMM_WORLD_RANK))'"), 3)

    def test_mpich_reaches_both_nodes(self):
        finished = self.expect_code(self.mpich(WHERE), 0)
        self.expect_both_nodes()
        self.assertRegex(finished.err, "rsh.start caller=node-1 .*program=hydra_pmi_proxy")


if __name__ == "__main__":
    unittest.main()
