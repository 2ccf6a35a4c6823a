"""MPI jobs without an mpirun (`--mpi-launch pmi` and `pmix`), and what becomes of them when something breaks: the cells of mpi_cases and
mpi_hosts, as far as they are no launcher's, the same for every MPI. Mixins, as those of mpi_cases; `launch` besides."""
import contextlib
import os
import signal

import mpi_cases
import mpi_hosts
import mpi_shared_memory
from harness import children_of, grid, wait_until
from mpi_cases import Fault

FAULTS = (
    Fault("a_rank_exits_with_3", ("exit",), 3, "rank 1 on node-2 failed first: exit code 3"),
    Fault("a_rank_leaves_without_finalize", ("leave",), 1, "rank 1 on node-2 failed first: exit code 0 without MPI_Finalize"),
    Fault("a_rank_ends_with_9_after_finalize", ("code",), 9, "rank 1 on node-2 failed first: exit code 9"),
    Fault("a_rank_is_killed", ("kill",), 137, "rank 1 on node-2 failed first: SIGKILL"),
    Fault("a_rank_crashes", ("crash", "0"), 139, "rank 0 on node-1 failed first: SIGSEGV"),
    Fault("a_rank_aborts", ("abort",), 7, "rank 1 on node-2 failed first: MPI_Abort with code 7"),
    Fault("a_rank_aborts_with_a_code_that_looks_like_success", ("abort256",), 1, "rank 1 on node-2 failed first: MPI_Abort with code 256"),
    Fault("an_agent_is_killed", act="kill_agent", code=69, cause="no round within 3 s: 1 of 2 nodes"),
    Fault("the_first_agent_is_told_to_end", act="tell_agent", code=143, cause="stopped by SIGTERM"),
    Fault("the_job_is_told_to_end", act="tell_job", code=143, cause=".*SIGTERM"),
    Fault("an_agent_is_killed_during_launch", act="kill_agent", held=True, code=69, cause="no round within 3 s: 1 of 2 nodes"),
    Fault("the_job_is_told_to_end_during_launch", act="tell_job", held=True, code=143, cause=".*SIGTERM"),
)
# Where a server runs beside the ranks, as with PMIx.
SERVER_FAULTS = (
    Fault("a_server_is_killed", act="kill_server", code=1, cause="rank 1 on node-2 failed first: the PMIx server of this node is gone: "),
    Fault("a_server_is_killed_during_launch", act="kill_server", held=True, code=1,
          cause="rank 1 on node-2 failed first: the PMIx server of this node is gone: "),
)


class Ranks(mpi_cases.MpiTest):
    launch = None  # "pmi" or "pmix"

    def flags(self):
        return ("--framework", "mpi", "--mpi-launch", self.launch)

    def known(self, fault):
        """What launchers make of it is no matter here."""
        return fault

    def held_words(self, number, words):
        """The rank of that node does not begin with MPI."""
        script = self.sh('[ "$GROUP_RANK" != %d ] || { echo >$OUT/held; exec sleep 1000; }\nexec "$@"' % ((number - 1) % 3), name="held-rank")
        return ["--", script, *words[1:]], None


@mpi_cases.tests_of(FAULTS[7:])
class FaultTests(Ranks, mpi_cases.Faults):
    """One test for each row of FAULTS; the first seven at the same time."""
    leaves = False  # as in mpi_shared_memory

    def test_what_becomes_of_a_rank(self):
        faults = [self.known(fault) for fault in FAULTS[:7]]
        jobs = [self.job(*self.faults(*fault.program)) for fault in faults]
        for fault, job in zip(faults, jobs):
            finished = job.finish()
            self.expect_job_end(finished, fault.code, fault.cause)
            self.expect_soon(finished, fault.within_s)
        self.expect_nothing_left()

    def test_what_killed_ranks_leave_goes_with_their_job(self):
        job = self.job("--nproc-per-node", 2, *self.faults("wait"), nodes=1)
        wait_until(lambda: job.out.text().count("waits") == 2, "both ranks run")
        ranks = [pid for pid, line in self.marked().items() if line.startswith(self.program("mpi_faults")[0]) and line.endswith(" wait")]
        self.assertEqual(len(ranks), 2)
        segments = set.union(*map(mpi_shared_memory.segments_of, ranks))
        self.assertEqual(bool(segments), self.leaves)
        for pid in ranks:
            with contextlib.suppress(ProcessLookupError):  # one goes with the other
                os.kill(pid, signal.SIGKILL)
        self.expect_code(job.finish(), 137)
        self.assertEqual([path for path in segments if os.path.exists(path)], [])

    def agent(self, number):
        return self.pid_of("agent", "--node-name=node-%d" % number)

    def tell_agent(self, job):
        os.kill(self.agent(1), signal.SIGTERM)


@mpi_cases.tests_of(SERVER_FAULTS)
class ServerFaultTests(FaultTests):
    """And those of the servers."""

    def kill_server(self, job):
        servers = [pid for pid in children_of(self.agent(2)) if "muster-pmix" in self.marked().get(pid, "")]
        self.assertEqual(len(servers), 1)
        os.kill(servers[0], signal.SIGKILL)


class ManyNodesTest(Ranks):
    @grid
    def test_sixty_four_nodes(self):
        finished = self.expect_code(self.job("--", *self.program("ring"), nodes=64).finish(timeout_s=180), 0)
        self.assertIn("ring: 64 of 64 ranks", finished.out)
        self.expect_nothing_left()


class Hosts(Ranks, mpi_hosts.Hosts):
    def expect_placement(self, agent, ranks, nodes):
        """The ring says it. But the network must be that of the agents: Intel MPI hangs on another one."""
        agent.wait_for(r"ranks.network interface=eth0\b", "err")


class HostTests(Hosts, mpi_hosts.HostTests):
    def expect_names_with_dots(self, numbers, names):
        self.expect_ring(numbers)

    def expect_same_label(self, numbers):
        """Nobody looks for a host by its first label here."""
        self.expect_ring(numbers)


class HostFaultTests(Ranks, mpi_hosts.HostFaultTests):
    pass


class PodTests(Hosts, mpi_hosts.PodTests):
    pass


class PodCutTests(PodTests, mpi_hosts.PodCutTests):
    pass


class CutTests(Hosts, mpi_hosts.CutTests):
    pass


class SilentDnsTests(Hosts, mpi_hosts.SilentDnsTests):
    pass
