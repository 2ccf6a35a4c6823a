"""MPI programs without any mpirun: the agents answer what the ranks ask of their launcher. The same cells for PMI, with
MPICH 4.0 of Debian, and PMIx, with its Open MPI 4.1.

MPICH 4.0.2 is known to hang in MPI_Finalize now and then on eight hosts (UCX disconnects while a peer waits in the PMI
barrier), whoever starts it; between nodes that share a machine, as most here do, that did not happen in hundreds of runs.
"""
import glob
import os
import re
import shutil
import signal
import subprocess
import unittest

import harness
import mpi_programs
import mpi_rank_cases
from harness import BINARY, MusterTest
from namespace_hosts import NamespaceTest


class Launch:
    """How the ranks are started, and with what."""


class Pmi(Launch):
    name, mpi, variables, lost_rank = "pmi", "mpich", "$PMI_RANK/$PMI_SIZE", 15


class Pmix(Launch):
    name, mpi, variables, lost_rank = "pmix", "openmpi", "$PMIX_RANK/2", 14


class RankTest:
    """What holds for each launch; the classes below add it."""
    launch = Launch

    def setUp(self):
        super().setUp()
        self.flags = ["--framework", "mpi", "--mpi-launch", self.launch.name]
        self.rank = mpi_programs.built("mpi_rank", self.launch.mpi)

    def run_ranks(self, ranks, *words, flags=()):
        return self.run_muster("run", *self.flags, "--nproc-per-node", ranks, *flags, "--", self.rank, *words)

    def run_nodes(self, nodes, *words, flags=()):
        return self.run_muster("local", "--nodes", nodes, "--nproc-per-node", 2, *self.flags, *flags, "--", self.rank, *words)

    def expect_world(self, finished, size):
        """Every rank was there, once, and its messages arrived."""
        said = sorted(re.findall(r"rank (\d+) of (\d+): sum (\d+), from (\d+)$", finished.out, re.MULTILINE),
                      key=lambda found: int(found[0]))
        self.assertEqual([tuple(int(n) for n in found) for found in said],
                         [(rank, size, size * (size - 1) // 2, (rank - 1) % size) for rank in range(size)], finished)


    def expect_the_late_one(self, rank, *words):
        """It ends when another one is known to have aborted, as if it had lost it."""
        job = self.start(*words, *self.flags, "--nproc-per-node", 2, "--", self.rank, "late%d" % self.launch.lost_rank, rank)
        job.wait_for(r"%s\.end rank=" % self.launch.name, "err")
        self.write("go", "")
        self.assertRegex(self.expect_code(job.finish(), 3).err, "muster: rank %d on .* failed first: exit code 3" % rank)


class OneNode(RankTest):
    def test_ranks_find_each_other(self):
        for ranks in (1, 2, 4):
            with self.subTest(ranks=ranks):
                self.expect_world(self.expect_code(self.run_ranks(ranks), 0), ranks)

    def test_a_ranks_exit_code_is_the_jobs(self):
        finished = self.expect_code(self.run_ranks(2, "exit3", 1), 3)
        self.assertIn("rank 1 on", finished.last_error_line)
        self.assertIn("failed first: exit code 3", finished.last_error_line)

    def test_success_without_finalize_is_a_failure(self):
        finished = self.expect_code(self.run_ranks(2, "exit0", 1), 1)
        self.assertIn("failed first: exit code 0 without MPI_Finalize", finished.last_error_line)

    def test_a_killed_rank_ends_the_job(self):
        finished = self.expect_code(self.run_ranks(2, "kill", 0), 137)
        self.assertIn("rank 0 on", finished.last_error_line)

    def test_an_abort_is_the_root_cause_with_its_code(self):
        finished = self.expect_code(self.run_ranks(2, "abort7", 1), 7)
        self.assertIn("failed first: MPI_Abort with code 7", finished.last_error_line)
        self.assertRegex(finished.err, rf"{self.launch.name}\.end rank=1")

    def test_who_missed_a_rank_is_not_the_cause(self):
        self.expect_the_late_one(1, "run")

    def test_who_missed_a_rank_that_nobody_knows_of_ends_the_job(self):
        finished = self.expect_code(self.run_ranks(2, "abort%d" % self.launch.lost_rank, 1), self.launch.lost_rank)
        self.assertRegex(finished.last_error_line, "rank 1 on .* failed first: MPI_Abort with code .* when it loses another rank")

    def test_nobody_waits_for_a_rank_that_never_began(self):
        finished = self.expect_code(self.run_ranks(2, "noinit", 1), 1)
        self.assertIn("waits for rank 1, which ended without MPI_Init", finished.last_error_line)

    def test_a_restart_begins_with_an_empty_space(self):
        finished = self.expect_code(self.run_ranks(2, "exit3", 1, 0, flags=["--max-restarts", 1]), 0)
        self.expect_world(finished, 2)
        self.assertRegex(finished.err, "worker.exit rank=1 .*code=3 .*attempt=0")

    def test_a_stop_reaches_ranks_in_mpi(self):
        started = self.start("run", *self.flags, "--nproc-per-node", 2, "--", self.rank, "stay", 1)
        started.wait_for("rank 1 of 2")
        started.signal(15)
        self.expect_code(started.finish(), 143)

    def test_plain_commands_run_as_ever(self):
        finished = self.expect_code(self.run_muster("run", *self.flags, "--nproc-per-node", 2, "--", "sh", "-c", f'echo "{self.launch.variables}"'), 0)
        self.assertEqual(sorted(re.findall(r"\d/\d", finished.out)), ["0/2", "1/2"])
        self.assertRegex(finished.err, rf'{self.launch.name}\.unused .*reason="all ranks ended before MPI_Init or use no MPI; or a program of')

    def test_stdin_goes_to_rank_0(self):
        command = ("--", "sh", "-c", 'echo "$RANK has $(cat)."')
        finished = self.run_muster("run", *self.flags, "--nproc-per-node", 2, *command, input="a line\n")
        self.assertEqual(sorted(re.findall(r"\d has [^.]*\.", self.expect_code(finished, 0).out)), ["0 has a line.", "1 has ."])

    def test_a_program_of_another_mpi_is_refused(self):
        other = mpi_programs.built("mpi_rank", {"mpich": "openmpi", "openmpi": "mpich"}[self.launch.mpi])
        finished = self.expect_code(self.run_muster("run", *self.flags, "--nproc-per-node", 2, "--", other), 78)
        self.assertRegex(finished.last_error_line, r"muster: '.*' was built for .*, which needs --mpi-launch pmix?: each rank would be a job of its own")

    def test_without_the_flag_ranks_are_alone(self):
        # Two of Open MPI 4.1 that are alone race for the folder of both in TMPDIR.
        script = self.sh('mkdir "$OUT/$RANK"; TMPDIR=$OUT/$RANK exec %s' % self.rank)
        finished = self.expect_code(self.run_muster("run", "--nproc-per-node", 2, "--", script), 0)
        self.assertEqual(len(re.findall("rank 0 of 1", finished.out)), 2)


class ManyNodes(RankTest):
    def test_ranks_find_each_other(self):
        for nodes in (2, 4):
            with self.subTest(nodes=nodes):
                self.expect_world(self.expect_code(self.run_nodes(nodes), 0), 2 * nodes)

    def test_who_missed_a_rank_is_not_the_cause(self):
        self.expect_the_late_one(3, "local", "--nodes", 2)

    def test_with_a_job_secret(self):
        secret = self.write("secret", "0123456789abcdef0123456789abcdef", 0o600)
        finished = self.run_muster("local", "--nodes", 2, "--nproc-per-node", 2, *self.flags, "--", self.rank,
                                   env={"MUSTER_JOB_SECRET_FILE": secret})
        self.expect_world(self.expect_code(finished, 0), 4)

    def test_nobody_waits_for_a_rank_that_never_began(self):
        finished = self.expect_code(self.run_nodes(2, "noinit", 3), 1)
        self.assertIn("waits for rank 3, which ended without MPI_Init", finished.err)

    def test_communicators_and_windows_of_some_ranks(self):
        program = mpi_programs.built("mpi_groups", self.launch.mpi)
        finished = self.expect_code(self.run_muster("local", "--nodes", 2, "--nproc-per-node", 2, *self.flags, "--", program), 0)
        self.assertEqual(sorted(re.findall("rank .*", finished.out)),
                         ["rank 0 of 4: part 0 sum 2, group 0, node 0 of 2 first 0", "rank 1 of 4: part 0 sum 4, group 6, node 1 of 2 first 0",
                          "rank 2 of 4: part 1 sum 2, group 6, node 0 of 2 first 2", "rank 3 of 4: part 1 sum 4, group 6, node 1 of 2 first 2"])

    def start_role(self, number, role, *words):
        return self.start("run", *self.flags, "--mpi-role", role, "--local-addr", "127.0.1.%d" % number, "--node-name", "node-%d" % number,
                          "--rdzv-endpoint", "127.0.1.1:%d" % self.port, "--nproc-per-node", 2,
                          *(["--nnodes", 2] if role.startswith("launcher") else []), "--max-restarts", 1, "--", self.rank, *words)

    def run_roles(self, launcher, workers, *words):
        """The launcher first, in the answer too."""
        self.port = harness.free_port()
        agents = [self.start_role(1, launcher, *words)] + [self.start_role(k + 2, "worker", *words) for k in range(workers)]
        return [agent.finish() for agent in agents]

    def test_a_launcher_without_ranks_leads_and_ends_as_the_job_does(self):
        agents = self.run_roles("launcher", 2)
        for agent in agents:
            self.expect_code(agent, 0)
        self.assertEqual(agents[0].out, "")
        self.assertIn('round.running reason="round 1: 3 of 3 nodes with the launcher', agents[0].err)
        self.assertEqual(sorted(re.findall("rank . of 4: sum 6", agents[1].out + agents[2].out)),
                         ["rank %d of 4: sum 6" % rank for rank in range(4)])

    def test_a_launcher_without_ranks_tells_of_their_failures(self):
        for agent in self.run_roles("launcher", 2, "exit3", 3):
            self.expect_code(agent, 3)
            self.assertIn("muster: rank 3 on node-3 failed first: exit code 3", agent.err)

    def test_a_launcher_with_ranks_and_a_worker(self):
        agents = self.run_roles("launcher-worker", 1, "kill", 3, 0)
        for agent in agents:
            self.expect_code(agent, 0)
        self.assertIn("restart 1 of 1", agents[0].err)
        self.assertEqual(sorted(re.findall("rank . of 4: sum 6", agents[0].out + agents[1].out)),
                         ["rank %d of 4: sum 6" % rank for rank in range(4)])

    def test_a_restart_forms_the_world_again(self):
        finished = self.expect_code(self.run_nodes(2, "kill", 1, 0, flags=["--max-restarts", 1]), 0)
        self.expect_world(finished, 4)


class PmiOnOneNode(OneNode, MusterTest):
    launch = Pmi


class PmiOnManyNodes(ManyNodes, MusterTest):
    launch = Pmi


class PmiFaults(mpi_programs.Mpich, mpi_rank_cases.FaultTests, mpi_rank_cases.ManyNodesTest, MusterTest):
    launch = "pmi"


class PmiHosts(mpi_programs.Mpich, mpi_rank_cases.HostTests, mpi_rank_cases.HostFaultTests, NamespaceTest):
    gate_keeps = ("test_four_hosts_with_two_ranks_each_and_a_second_interface_with_one_address_everywhere", "test_a_host_is_cut_off_during_the_run_and_during_launch")
    launch = "pmi"
    finalizes = False  # as in test_mpi_hosts


class PmiPods(mpi_programs.Mpich, mpi_rank_cases.PodTests, NamespaceTest):
    gate_keeps = ()
    launch = "pmi"
    finalizes = False


class PmiSilentDns(mpi_programs.Mpich, mpi_rank_cases.SilentDnsTests, NamespaceTest):
    gate_keeps = ()
    launch = "pmi"
    finalizes = False


class PmixOnOneNode(OneNode, MusterTest):
    launch = Pmix

    def test_python_programs_run(self):
        """And what is built in PMIx's way for others: mpi4py takes Debian's Open MPI."""
        script = self.write("ring.py", "from mpi4py import MPI\nw = MPI.COMM_WORLD\n"
                            "print('sum', w.allreduce(w.rank), 'of', w.size, flush=True)\n")
        finished = self.expect_code(self.run_muster("run", *self.flags, "--nproc-per-node", 3, "--", "/usr/bin/python3", script), 0)
        self.assertEqual(len(re.findall(r"sum 3 of 3", finished.out)), 3, finished)

    def test_the_server_leaves_nothing(self):
        finished = self.expect_code(self.run_ranks(2, "exit3", 0), 3)
        self.assertNotIn("pmix.end", finished.err)  # the server's end is the attempt's
        self.assertEqual(os.listdir(self.temp), [])

    def test_a_killed_server_ends_the_ranks_with_the_reason(self):
        started = self.start("run", *self.flags, "--nproc-per-node", 2, "--", self.rank, "stay", 0)
        started.wait_for("rank 0 of 2")
        servers = [pid for pid, command in self.marked().items() if "muster-pmix" in command]
        self.assertEqual(len(servers), 1)
        os.kill(servers[0], signal.SIGKILL)
        finished = started.finish()
        self.assertNotEqual(finished.code, 0)
        self.assertRegex(finished.err, "rank . on .* failed first")

    def test_a_server_that_never_gets_ready_is_not_waited_for(self):
        own = self.path("muster")
        shutil.copy(BINARY, own)
        self.sh("exec sleep 1000", name="muster-pmix")
        finished = self.start_command([own, "run", *self.flags, "--mpi-start-timeout", "1s", "--", self.rank]).finish()
        self.expect_code(finished, 69)
        self.assertRegex(finished.last_error_line, r"^muster: rank 0 on .* failed first: the PMIx server of this node is not ready after 1 s \(--mpi-start-timeout\)")

    def test_an_image_without_the_library_is_told(self):
        finished = self.run_muster("run", *self.flags, "--", self.rank, env={"LD_LIBRARY_PATH": self.broken_library()})
        self.expect_code(finished, 78)
        self.assertRegex(finished.last_error_line, "no PMIx library .*LD_LIBRARY_PATH must name")

    def broken_library(self):
        os.makedirs(self.path("lib"), exist_ok=True)
        self.write("lib/libpmix.so.2", "no library")
        return self.path("lib")

    def test_a_binary_without_its_server_says_so(self):
        alone = self.path("muster")
        shutil.copy(BINARY, alone)
        finished = self.start_command([alone, "run", *self.flags, "--", self.rank]).finish()
        self.expect_code(finished, 78)
        self.assertRegex(finished.err, "--mpi-launch pmix needs '.*/muster-pmix'")


class PmixOnManyNodes(ManyNodes, MusterTest):
    launch = Pmix


class PmixNames(MusterTest):
    """The PMIx library believes whichever user a client says it is. So the name of the name space is what keeps others out."""
    flags = ["--framework", "mpi", "--mpi-launch", "pmix", "--nproc-per-node", 2]

    def test_the_name_is_a_secret_of_each_attempt_that_all_nodes_know(self):
        worker = self.py("import os, sys\n"
                         "name = os.environ['PMIX_NAMESPACE']\n"
                         "secret = name.rsplit('_', 1)[1]\n"
                         "shown = []\n"
                         "for pid in filter(str.isdigit, os.listdir('/proc')):\n"
                         "    try:\n"
                         "        shown += [pid for text in [open('/proc/%s/cmdline' % pid).read()] if secret in text]\n"
                         "    except OSError: pass\n"
                         "for top in (os.environ['TMPDIR'], '/dev/shm'):\n"
                         "    for folder, folders, files in os.walk(top):\n"
                         "        folders[:] = [one for one in folders if os.stat(os.path.join(folder, one)).st_mode & 0o077]\n"
                         "        shown += [one for one in folders + files if secret in one]\n"
                         "print('attempt %s name %s digits %d shown %s.' % (os.environ['TORCHELASTIC_RESTART_COUNT'], name, len(secret), shown))\n"
                         "sys.exit(os.environ['RANK'] == '0' and os.environ['TORCHELASTIC_RESTART_COUNT'] == '0')\n")
        finished = self.run_muster("local", "--nodes", 2, "--max-restarts", 1, "--log-level", "debug", *self.flags, "--", "/usr/bin/python3", worker)
        self.expect_code(finished, 0)
        said = re.findall(r"attempt (\d) name (\w+) digits 32 shown \[\]\.", finished.out)
        names = {attempt: {name for other, name in said if other == attempt} for attempt in "01"}
        self.assertEqual([len(names[attempt]) for attempt in "01"], [1, 1], finished)
        self.assertNotEqual(names["0"], names["1"])
        for name in names["0"] | names["1"]:
            self.assertNotIn(name.rsplit("_", 1)[1], finished.err)

    def test_what_everybody_sees_lets_no_other_user_in(self):
        if os.geteuid() != 0:
            self.skip_because("root")
        headers = [os.path.dirname(path) for path in glob.glob("/usr/lib/*/pmix2/include/pmix.h") + glob.glob("/usr/include/pmix.h")]
        stranger = shutil.copy(mpi_programs.built("pmix_stranger", "pmix", "gcc", "-I" + headers[0], "-lpmix"), self.path("stranger"))
        os.chmod(self.dir, 0o755)
        become_other = ["setpriv", "--reuid", "54321", "--regid", "54321", "--clear-groups", "unshare", "--user", "--map-root-user"]
        if subprocess.run([*become_other, "true"]).returncode != 0:
            self.skip_because("namespaces")
        job = self.start("run", "--rdzv-id", "job7", *self.flags, "--", mpi_programs.built("mpi_rank", "openmpi"), "stay", 0)
        job.wait_for("rank 0 of 2")
        ranks = [pid for pid, command in self.marked().items() if "mpi_rank" in command and "muster" not in command.split()[0]]
        with open("/proc/%d/environ" % ranks[0]) as file:
            variables = dict(entry.split("=", 1) for entry in file.read().split("\0") if entry.startswith("PMIX_"))
        own_name = variables["PMIX_NAMESPACE"]
        commands = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True).stdout
        marks = set(re.findall(r"\b[0-9a-f]{16,}\b", commands + " ".join(os.listdir(self.temp)).replace("-", " ")))
        self.assertTrue(marks, commands)
        server = variables["PMIX_SERVER_URI4"].split(";")[0]
        names = ["", "muster_job7_0", server, *("muster_job7_0_" + mark[:length] for mark in marks for length in (16, 32))]

        def ends_the_job(name):
            return subprocess.run([*become_other, "timeout", "5", stranger], cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                  env={**variables, "PATH": os.environ["PATH"], "PMIX_NAMESPACE": name, "PMIX_RANK": "0", "PMIX_GDS_MODULE": "hash"}).returncode == 0
        for name in names:
            self.assertFalse(ends_the_job(name), name)
        self.assertIsNone(job.popen.poll())
        self.assertTrue(ends_the_job(own_name), "the stranger gets in with nothing at all, so this test shows nothing")
        self.expect_code(job.finish(), 9)


class PmixFaults(mpi_programs.OpenMpi, mpi_rank_cases.ServerFaultTests, MusterTest):
    launch = "pmix"
    leaves = True


class PmixHosts(mpi_programs.OpenMpi, mpi_rank_cases.HostTests, mpi_rank_cases.HostFaultTests, NamespaceTest):
    launch = "pmix"


class PmixSilentDns(mpi_programs.OpenMpi, mpi_rank_cases.SilentDnsTests, NamespaceTest):
    launch = "pmix"


class PmixPods(mpi_programs.OpenMpi, mpi_rank_cases.PodTests, NamespaceTest):
    launch = "pmix"


if __name__ == "__main__":
    unittest.main()
