"""MPI jobs over `muster rsh`, and what becomes of them when something breaks: the same for every MPI. integration/ runs them with
Debian's two, compat/ with the three of the package registry. Mixins; what the class that uses them sets is said at MpiTest."""
import contextlib
import dataclasses
import datetime
import hashlib
import os
import re
import shlex
import signal
import subprocess
import time

import harness
from harness import BINARY, wait_until

RSH = os.path.join(os.path.dirname(BINARY), "muster-rsh")
# A node that is lost is given up soon, and so is a job that waits for another one.
SHORT = ("--lease", "3s", "--replace-wait", "0s", "--rdzv-conf", "join_timeout=3")
AGENT_VARIABLES = ("OMPI_MCA_plm_rsh_agent", "PRTE_MCA_plm_ssh_agent", "HYDRA_LAUNCHER_EXEC", "I_MPI_HYDRA_BOOTSTRAP_EXEC")


@dataclasses.dataclass(frozen=True)
class Fault:
    """One cell of the matrix. `program`: words for mpi_faults. `act`: a method of FaultTests, called when rank 1 waits or, with `held`,
    while the daemon of node-2 is being started; "" = the program itself misbehaves. `code`: several = one of them. `cause`: a regular
    expression for the line that the job ends with. `within_s`: from the fault (of the program's own: from the start of its round) to the end,
    with nothing left 10 s later."""
    name: str
    program: tuple = ("wait",)
    code: int | tuple = 1
    cause: str = ".* failed first: "
    act: str = ""
    held: bool = False
    within_s: int = 30


FAULTS = (
    Fault("a_rank_exits_with_3", ("exit",), 3, "rank 1 on node-2 failed first: exit code 3"),
    Fault("a_rank_leaves_without_finalize", ("leave",), 1, "rank 1 on node-2 failed first: it left with exit code 0 and without MPI_Finalize"),
    Fault("a_rank_ends_with_9_after_finalize", ("code",), 9, "rank 1 on node-2 failed first: exit code 9"),
    Fault("a_rank_is_killed", ("kill",), 137, "rank 1 on node-2 failed first: SIGKILL"),
    Fault("a_rank_crashes", ("crash", "0"), 139, "rank 0 on node-1 failed first: SIGSEGV"),
    Fault("a_rank_aborts", ("abort",), 7, "rank 1 on node-2 failed first: (MPI_Abort with|exit) code 7"),
    Fault("a_daemon_is_killed", act="kill_daemon", code=137, cause="MPI on node-2 failed first: .*SIGKILL"),
    Fault("an_agent_is_killed", act="kill_agent", code=69, cause="no round within 3 s: 1 of 2 nodes"),
    Fault("the_launcher_is_told_to_end", act="tell_launcher", code=1, cause="MPI on node-1 failed first: {launcher}: exit code 1"),
    Fault("the_job_is_told_to_end", act="tell_job", code=143, cause=".*SIGTERM"),
    Fault("a_daemon_is_killed_during_launch", act="kill_daemon", held=True, code=137, cause="MPI on node-2 failed first: .*SIGKILL"),
    Fault("an_agent_is_killed_during_launch", act="kill_agent", held=True, code=69, cause="no round within 3 s: 1 of 2 nodes"),
    Fault("the_launcher_is_told_to_end_during_launch", act="tell_launcher", held=True, code=1, cause="MPI on node-1 failed first: {launcher}: exit code 1"),
    Fault("the_job_is_told_to_end_during_launch", act="tell_job", held=True, code=143, cause=".*SIGTERM"),
    Fault("a_daemon_never_appears", act="wait", held=True, code=205,
          cause="MPI on node-1 failed first: {launcher}: . of 2 ranks began within 4 s; missing on .*node-2"),
    # Exit codes have eight bits.
    Fault("a_rank_aborts_with_a_code_that_looks_like_success", ("abort256",), 1, "rank 1 on node-2 failed first: MPI_Abort with code 0 or a multiple of 256"),
)
# Whether a rank's end by its launcher's SIGTERM or the launcher's own is known first is a race in some.
TOLD = {"cause": r"(MPI on node-1 failed first: {launcher}: (exit code (9|141|143|255)\b|SIGPIPE )|rank . on node-. failed first: SIGTERM .*after SIGTERM from its launcher)"}
DEAF = {"code": 205, "cause": "MPI on node-1 failed first: {launcher}: 0 of 2 ranks began within 10 s; missing on node-1, node-2"}
# The rank that aborts ends with 0, and so does mpirun, which tells the others to end.
LOOKS_LIKE_SUCCESS = {"cause": "rank 1 on node-2 failed first: it left with exit code 0 and without MPI_Finalize"}
OF_THE_PROGRAM = tuple(fault for fault in FAULTS if not fault.act)
OF_OTHERS = tuple(fault for fault in FAULTS if fault.act)


def processes_of(test):
    """All names that a process of its launcher or of a daemon may have."""
    return [name for name in (test.daemon, test.becomes, test.process, os.path.basename(test.launcher)) if name]


def seconds_of(finished):
    """From the start of a job's first round to the job's end, as its log has it."""
    times = re.findall(r"(?m)^(?:\[\S+\] )?(\d{4}-\S+)Z [IWE] (round\.running|job\.end) ", finished.err)
    first = next(time for time, event in times if event == "round.running")
    last = max(time for time, event in times if event == "job.end")
    return (datetime.datetime.fromisoformat(last) - datetime.datetime.fromisoformat(first)).total_seconds()


class MpiTest:
    """`mpi`: the value of --mpi. `launcher`: path of its process. `daemon`: what it starts on nodes."""
    mpi = launcher = daemon = None
    process = None  # the name of the launcher's process when it is another one
    becomes = None  # the name of the program that a daemon goes on as, when it is another one
    reader = "cat"  # of two lines on stdin
    remote_shell = RSH  # what a launcher is told to call
    exceptions = {}  # name of a fault -> what of it is otherwise

    def program(self, name):
        """The words that run "ring" or "mpi_faults"."""
        raise NotImplementedError

    def faults(self, *words):
        return ["--", *self.program("mpi_faults"), *words]

    def flags(self):
        """Which MPI, and how its ranks are started."""
        return ("--framework", "mpi", "--mpi", self.mpi)

    def job(self, *words, nodes=2, **how):
        return self.start("local", "--nodes", nodes, *self.flags(), *words, **how)

    def run_job(self, *words, **how):
        return self.job(*words, **how).finish()

    def known(self, fault):
        return dataclasses.replace(fault, **self.exceptions.get(fault.name, {}))

    def expect_end(self, finished, code, cause):
        self.expect_job_end(finished, code, cause)
        self.expect_nothing_left()

    def expect_soon(self, finished, within_s):
        self.assertLess(seconds_of(finished), within_s, finished)

    def expect_job_end(self, finished, code, cause):
        self.assertIn(finished.code, code if isinstance(code, tuple) else (code,), finished)
        self.assertRegex(finished.err, r"(?m)^(\[node-\d\] )?muster: %s" % cause)

    def expect_nothing_left(self):
        wait_until(lambda: not self.marked(), "nothing is left", 10)
        wait_until(lambda: not [name for name in os.listdir(self.temp) if name.startswith("muster-")], "no folder is left", 10)

    def held_words(self, number, words):
        """(words of a job, its environment) with which the daemon of that node, from 1 on, gets as far as its shell: then "held" is there."""
        self.sh('host=$1; shift\n'
                '[ "${host##*-}" != %d ] || set -- "echo >$OUT/held; sleep 1000;" "$@"\n'
                'exec %s "$host" "$@"' % (number, self.remote_shell), name="held-rsh")
        return words, dict.fromkeys(AGENT_VARIABLES, self.path("held-rsh"))

    def wait_until_held(self):
        wait_until(lambda: self.exists("held"), "a daemon is being started")

    def pid_of(self, what, pattern):
        """Of the one process of this test whose command line matches. A child that has not yet become its program shows its parent's."""
        def look():
            found = [pid for pid, command in self.marked().items() if re.search(pattern, command)]
            return found if len(found) == 1 else None
        return wait_until(look, "one %s" % what, 10)[0]

    def pid_of_launcher(self):
        return self.pid_of("launcher", r"^\S*/%s " % (self.process or os.path.basename(self.launcher)))


class ManyNodesTest(MpiTest):
    @harness.grid
    def test_sixty_four_nodes(self):
        """A ring. With 2 CPUs: MPICH 4.0 6 s, MPICH 5 14 s, Intel MPI 24 s and 4.7 GB, Open MPI 5 32 s, Open MPI 4.1 53 s."""
        finished = self.expect_code(self.job("--", *self.program("ring"), nodes=64).finish(timeout_s=400), 0)
        self.assertRegex(finished.out, r"(?m)^\[node-1:0\] ring: 64 of 64 ranks$")
        self.assertRegex(finished.out, r"(?m)^\[node-1:0\] allreduce: 2016 ")
        self.expect_nothing_left()


class LaunchesTest(MpiTest):
    launches = 10  # of a command that is over soon, one after the other
    launches_s = 180
    short = "echo"
    limit = ""  # before each call: words of a launcher that may hang after its ranks

    def test_a_shell_that_calls_it_runs_once_on_all_nodes(self):
        call = " ".join([os.path.basename(self.launcher), "-n", "2", *self.program("ring")])
        finished = self.start("local", "--nodes", 2, "--framework", "mpi", "--", "sh", "-c", call).finish()
        self.expect_code(finished, 0)
        self.assertEqual(finished.out.count("ring: 2 of 2 ranks"), 1, finished)
        self.assertRegex(finished.err, "mpi.command .*as with --mpi-launch command")
        self.assertNotIn("mpi.nodes_idle", finished.err)

    def test_launches_in_a_row(self):
        """None fails or forgets a rank; of one that hangs all ranks have ended well."""
        hosts = "--host %s" if self.mpi == "openmpi" else "-hosts %s -ppn 1 -n 4"
        call = "%s %s %s $k" % (os.path.basename(self.launcher), hosts % "node-1,node-2,node-3,node-4", self.short)
        call = "%s %s </dev/null >>\"$OUT/ran\" || %s exit" % (self.limit, call, "[ $? = 124 ] ||" if self.limit else "")
        script = self.sh("k=0; while [ $k -lt %d ]; do %s; k=$((k+1)); done" % (self.launches, call))
        job = self.start("local", "--nodes", 4, "--framework", "mpi", "--mpi-launch", "command", "--", script)
        self.expect_code(job.finish(timeout_s=self.launches_s), 0)
        self.assertEqual(self.read("ran").split(), [str(k) for k in range(self.launches) for _ in range(4)])
        self.expect_nothing_left()


class HydraTest(MpiTest):
    def test_a_launcher_never_sees_the_end_of_dev_null(self):
        """It would forward that to the proxy of rank 0, which may have ended, and die of it."""
        own = [self.launcher, "-n", "2", *self.program("mpi_faults"), "wait"]
        call = shlex.join([os.path.basename(self.launcher), *own[1:]])
        for words in (self.faults("wait"), ["--", *own], ["--mpi-launch", "command", "--", "sh", "-c", call + " </dev/null"]):
            with self.subTest(words):
                job = self.job(*words)
                job.wait_for("rank=1 waits")
                seen = os.open("/proc/%d/fd/0" % self.pid_of_launcher(), os.O_RDONLY | os.O_NONBLOCK)
                try:
                    self.assertRaises(BlockingIOError, os.read, seen, 1)
                finally:
                    os.close(seen)
                job.signal(signal.SIGTERM)
                self.expect_end(job.finish(), 143, ".*SIGTERM")

    def test_ranks_of_a_script_see_the_end_of_dev_null(self):
        call = "%s -n 2 %%s sh -c 'cat; echo done' </dev/null" % os.path.basename(self.launcher)
        for words in ("", "-genvnone"):
            finished = self.run_job("--mpi-launch", "command", "--", "sh", "-c", call % words)
            self.assertEqual(self.expect_code(finished, 0).out, "done\ndone\n")


class RingTests(MpiTest):
    def test_a_ring_over_three_nodes(self):
        finished = self.expect_code(self.run_job("--nproc-per-node", 2, "--", *self.program("ring"), nodes=3), 0)
        self.assertRegex(finished.out, r"(?m)^\[node-1:0\] ring: 6 of 6 ranks$")
        self.assertRegex(finished.out, r"(?m)^\[node-1:0\] allreduce: 15 ")
        self.assertRegex(finished.out, r"(?m)^\[node-1:0\] MPI_Init: \d+\.\d ms, MPI_Finalize: \d+\.\d ms$")
        self.assertIn('placement="6 ranks on 3 nodes: node-1:2, node-2:2, node-3:2"', finished.err)
        self.expect_nothing_left()


class JobTests(RingTests, ManyNodesTest):
    def run_alone(self, *words):
        return self.run_muster("run", "--framework", "mpi", "--mpi", self.mpi, "--nproc-per-node", 3, *words)

    def test_one_node(self):
        finished = self.expect_code(self.run_alone("--", *self.program("ring")), 0)
        self.assertIn("ring: 3 of 3 ranks", finished.out)
        self.assertRegex(finished.err, 'placement="3 ranks on 1 node: ')
        self.expect_nothing_left()

    def test_one_node_whose_rank_fails(self):
        self.expect_code(self.run_alone("--max-restarts", 1, *self.faults("once")), 0)
        self.expect_end(self.run_alone(*self.faults("exit")), 3, "rank 1 on .* failed first: exit code 3")

    def rank_variables(self, *words, env=None):
        """What the ranks of two nodes find: lines of NAMES."""
        names = "RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE MASTER_ADDR MASTER_PORT OMP_NUM_THREADS"
        script = self.sh('for name in %s; do eval "printf \'%%s \' \\"\\${$name-unset}\\""; done >"$OUT/rank.$RANK"' % names)
        finished = self.expect_code(self.run_job(*words, script, env=env), 0)
        return finished, [self.read("rank.%d" % rank).split() for rank in range(4)]

    def test_ranks_find_what_pytorch_needs(self):
        finished, ranks = self.rank_variables("--nproc-per-node", 2, "--")
        self.assertEqual([rank[:4] for rank in ranks], [["0", "4", "0", "2"], ["1", "4", "1", "2"], ["2", "4", "0", "2"], ["3", "4", "1", "2"]])
        self.assertEqual({rank[4] for rank in ranks}, {"127.0.1.1"})
        self.assertEqual(len({rank[5] for rank in ranks}), 1)
        self.assertIn(int(ranks[0][5]), range(20000, 28000))
        self.assertEqual({rank[6] for rank in ranks}, {"1"})
        self.assertIn("OMP_NUM_THREADS=1 for each worker", finished.err)

    def test_what_the_user_has_set_stays_and_own_words_limit_no_threads(self):
        words = ("--nproc-per-node", 2, "--", self.launcher, "-n", 4)
        finished, ranks = self.rank_variables(*words, env={"MASTER_ADDR": "10.9.8.7"})
        self.assertEqual({tuple(rank[4:7:2]) for rank in ranks}, {("10.9.8.7", "unset")})
        self.assertNotIn("OMP_NUM_THREADS", finished.err)

    def test_with_a_job_secret(self):
        secret = self.write("secret", "correct horse battery staple")
        finished = self.run_job("--", *self.program("ring"), env={"MUSTER_JOB_SECRET_FILE": secret})
        self.assertIn("ring: 2 of 2 ranks", self.expect_code(finished, 0).out)

    def test_the_users_own_launcher(self):
        finished = self.run_job("--", self.launcher, "-n", 2, *self.program("ring"))
        self.assertIn("ring: 2 of 2 ranks", self.expect_code(finished, 0).out)
        self.assertRegex(finished.err, r"\[node-2\].* rsh.start .*program=" + self.daemon)
        self.assertIn('placement="2 ranks on 2 nodes: node-1:1, node-2:1"', finished.err)

    def test_the_users_own_launcher_is_no_more_believed_than_ours(self):
        faults = [self.known(fault) for fault in FAULTS[:4]]
        own = [self.job("--", self.launcher, "-n", 2, *self.program("mpi_faults"), *fault.program) for fault in faults]
        for fault, job in zip(faults, own):
            finished = job.finish()
            self.expect_job_end(finished, fault.code, fault.cause)
            self.assertIn('placement="2 ranks on 2 nodes: node-1:1, node-2:1"', finished.err)
        self.expect_nothing_left()

    def test_a_rank_below_a_rank_of_ours(self):
        script = self.sh("exec %s rank -- %s" % (BINARY, shlex.join(self.program("mpi_faults") + ["exit"])))
        finished = self.run_job("--", self.launcher, "-n", 2, script)
        self.expect_end(finished, 3, "rank 1 on node-2 failed first: exit code 3")

    def several_programs(self, *words, **how):
        """The user's own launcher with a program for rank 0 and another one for ranks 1 to 3."""
        faults = self.program("mpi_faults")
        return self.run_job("--nproc-per-node", 2, "--", self.launcher, "-n", 1, *faults, *words, ":", "-n", 3, *faults, *words, **how)

    def test_several_programs_of_the_users_own_launcher(self):
        finished = self.expect_code(self.several_programs(), 0)
        self.assertEqual(sorted(re.findall("rank=(.) waits", finished.out)), list("0123"))
        self.assertIn('placement="4 ranks on 2 nodes: node-1:2, node-2:2"', finished.err)
        self.expect_end(self.several_programs("leave"), 1, "rank 1 on node-1 failed first: it left with exit code 0 and without MPI_Finalize")

    def test_words_of_the_users_own_launcher_that_nobody_knows(self):
        """A file has them."""
        words = self.write("words", "-n 2 %s\n" % shlex.join(self.program("ring")))
        finished = self.run_job("--", self.launcher, "--app" if self.mpi == "openmpi" else "-configfile", words)
        self.assertIn("ring: 2 of 2 ranks", self.expect_code(finished, 0).out)
        if self.mpi == "mpich":
            self.assertRegex(finished.err, r"mpi.ranks_unwatched reason=\"option '-\S+' .*`muster rank --` before the program")
        else:
            self.assertIn('placement="2 ranks on 2 nodes: ', finished.err)

    def test_any_program_with_its_ranks_in_the_order_of_the_nodes(self):
        script = self.sh('echo "${OMPI_COMM_WORLD_RANK:-$PMI_RANK} ${MUSTER_RANK_NODE:-node-1}" >>"$OUT/ranks"')
        self.expect_code(self.run_job("--", script, nodes=3), 0)
        self.assertEqual(sorted(self.read("ranks").split("\n"))[1:], ["0 node-1", "1 node-2", "2 node-3"])

    def test_stdin_goes_to_rank_0(self):
        script = self.sh('[ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" != 0 ] || %s' % self.reader)
        finished = self.run_job("--", script, input="a line\nand another\n")
        self.assertEqual(self.expect_code(finished, 0).out, "[node-1:0] a line\n[node-1:0] and another\n")

    def test_stdin_from_dev_null_ends_for_every_rank(self):
        for words in ((), (self.launcher, "-n", 2)):
            finished = self.run_job("--", *words, "sh", "-c", "cat; echo done")
            self.assertEqual(sorted(self.expect_code(finished, 0).out.splitlines()), ["[node-1:0] done", "[node-2:1] done"])

    def test_the_stdin_of_ranks_but_the_first_ends(self):
        reader, writer = os.pipe()  # that stays open
        with os.fdopen(reader), os.fdopen(writer, "w"):
            script = self.sh('[ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" = 0 ] || cat; echo done')
            finished = self.run_job("--", script, stdin=reader)
        self.assertEqual(sorted(self.expect_code(finished, 0).out.splitlines()), ["[node-1:0] done", "[node-2:1] done"])

    def test_a_hundred_megabytes_of_output_arrive_whole(self):
        script = self.sh('[ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" != 1 ] || seq -f %099.0f 1000000')
        finished = self.job("--log-line-prefix-template", "", "--", script).finish(timeout_s=180)
        self.expect_code(finished, 0)
        expected = hashlib.sha256()
        for start in range(1, 1000001, 10000):
            expected.update("".join("%099d\n" % n for n in range(start, start + 10000)).encode())
        self.assertEqual(len(finished.out_bytes), 100 * 1000000)
        self.assertEqual(hashlib.sha256(finished.out_bytes).hexdigest(), expected.hexdigest())

    def test_the_job_starts_again_on_its_budget(self):
        finished = self.run_job("--max-restarts", 1, *self.faults("once"))
        self.expect_code(finished, 0)
        self.assertRegex(finished.err, r"round.verdict reason=\"rank 1 on node-2 failed first: SIGKILL .*restart 1 of 1")
        self.expect_nothing_left()

    def test_a_node_dies_and_the_rest_goes_on(self):
        finished = self.run_job("--nnodes", "1:2", "--replace-wait", 0, "--chaos", "kill-node:2@rank=1",
                                *self.faults("once", "9"))
        self.assertRegex(finished.err, r"node.lost reason=\"node-2 ")
        self.assertRegex(finished.err, r"round.running reason=\"round 2: 1 of 1..2 nodes")
        self.expect_code(finished, 0)

    def test_the_program_is_missing(self):
        self.expect_end(self.run_job("--", "/nowhere/program"), 127, r"exec '/nowhere/program': No such file")


def tests_of(faults):
    """Of a class with run_fault(): gives it a test for each of them."""
    def add(cls):
        for fault in faults:
            setattr(cls, "test_" + fault.name, lambda self, fault=fault: self.run_fault(fault))
        return cls
    return add


class Faults(MpiTest):
    """Runs the rows of FAULTS and their like; tests_of() makes tests of them."""

    def start_fault(self, fault):
        words, env = self.faults(*fault.program), None
        if fault.held:
            words, env = self.held_words(2, words)
        patience = ("--mpi-start-timeout", "4s" if fault.act == "wait" else "10s") if fault.held else ()
        return self.job_with_its_own_shared_memory(*SHORT, *patience, "--grace-period", 5, *words, env=env)

    def job_with_its_own_shared_memory(self, *words, **how):
        job = self.job(*words, mounts="mount -t tmpfs tmpfs /dev/shm", **how)
        job.agent_pid()  # its mounts are there
        self.shared_memory = os.open("/proc/%d/root/dev/shm" % job.pid, os.O_RDONLY | os.O_DIRECTORY)  # stays when the job is gone
        self.addCleanup(os.close, self.shared_memory)
        return job

    def expect_no_shared_memory_left(self):
        wait_until(lambda: not os.listdir(self.shared_memory), lambda: "/dev/shm is empty: %s" % os.listdir(self.shared_memory), 10)

    def run_fault(self, fault):
        fault = self.known(fault)
        job = self.start_fault(fault)
        if fault.held:
            self.wait_until_held()
        elif fault.act:
            job.wait_for("rank=1 waits")
        if fault.act:
            getattr(self, fault.act)(job)
        began = time.monotonic()
        finished = job.finish()
        took = time.monotonic() - began
        self.expect_end(finished, fault.code, fault.cause.format(daemon=self.daemon, launcher=os.path.basename(self.launcher)))
        self.expect_no_shared_memory_left()
        if fault.act:
            self.assertLess(took, fault.within_s, finished)
        else:
            self.expect_soon(finished, fault.within_s)

    def wait(self, job):
        """Nothing else happens."""

    def kill_daemon(self, job):
        os.kill(int(job.wait_for(r"\[node-2\].* rsh.start .*program=\S+ pid=(\d+)", "err").group(1)), signal.SIGKILL)

    def kill_agent(self, job):
        os.kill(self.pid_of("agent", "--node-name=node-2"), signal.SIGKILL)

    def tell_launcher(self, job):
        os.kill(self.pid_of_launcher(), signal.SIGTERM)

    def tell_job(self, job):
        job.signal(signal.SIGTERM)


class InitTests(MpiTest):
    """Before MPI begins: which of the ranks do is seen on their way to the daemons."""

    def before_mpi(self, what):
        return self.sh('[ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" != 1 ] || %s\nexec %s' % (what, shlex.join(self.program("ring"))))

    def test_a_rank_that_ends_before_mpi_begins(self):
        cause = "rank 1 on node-2 failed first: it ended with exit code 0 and without MPI_Init"
        self.expect_end(self.run_job("--", self.before_mpi("exit 0")), 1, cause)

    def test_a_rank_that_fails_before_mpi_begins(self):
        self.expect_end(self.run_job("--", self.before_mpi("exit 3")), 3, "rank 1 on node-2 failed first: exit code 3")

    def test_a_rank_that_is_killed_before_mpi_begins(self):
        self.expect_end(self.run_job("--", self.before_mpi("kill -9 $$")), 137, "rank 1 on node-2 failed first: SIGKILL")


class SavingTests(MpiTest):
    """Ranks that are told to end have the whole grace period, whatever their launcher does when it is told or when another rank ends. Rank 0
    saves at once and ends; rank 1 begins then and takes longer than a launcher waits between SIGTERM and SIGKILL. Both stand below a shell."""

    def saving(self, other="sleep 1000 & wait $!"):
        self.sh('rank=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}\n'
                'if [ "$rank" = 1 ]; then\n'
                "  trap 'until [ -e \"$OUT/gone\" ]; do sleep 0.05; done; sleep 3; touch \"$OUT/saved.1\"; exit 0' TERM\n"
                "else trap 'touch \"$OUT/saved.0\"; exit 0' TERM; fi\n"
                'touch "$OUT/ready.$rank"\n'
                'if [ "$rank" = 0 ]; then %s; fi\n'
                'while :; do sleep 0.05; done' % other, name="saving")
        return ("--", "sh", "-c", "true; %s; exit $?" % self.path("saving"))

    def ready(self):
        wait_until(lambda: self.exists("ready.0") and self.exists("ready.1"), "both ranks run")

    def the_first_is_gone(self):
        wait_until(lambda: self.exists("saved.0"), "rank 0 has saved")
        self.write("gone", "")

    def test_all_ranks_save_when_the_job_is_told_to_end(self):
        job = self.job("--grace-period", "60s", *self.saving())
        self.ready()
        job.signal(signal.SIGTERM)
        self.the_first_is_gone()
        self.expect_job_end(job.finish(), 143, ".*SIGTERM")
        self.assertTrue(self.exists("saved.1"))
        self.expect_nothing_left()

    def test_a_rank_saves_when_another_one_fails(self):
        self.write("gone", "")
        finished = self.run_job("--grace-period", "60s", *self.saving('until [ -e "$OUT/ready.1" ]; do sleep 0.05; done; exit 3'))
        self.expect_job_end(finished, 3, "rank 0 on node-1 failed first: exit code 3")
        self.assertTrue(self.exists("saved.1"))
        self.expect_nothing_left()

    def test_the_rank_of_a_node_that_leaves_saves(self):
        self.write("gone", "")
        job = self.job("--grace-period", "60s", "--rdzv-conf", "join_timeout=2", "--replace-wait", "0s", *self.saving())
        self.ready()
        os.kill(self.pid_of("agent", "--node-name=node-2"), signal.SIGTERM)
        wait_until(lambda: self.exists("saved.1"), "its rank has saved")
        self.assertNotEqual(job.finish().code, 0)
        self.expect_nothing_left()


@tests_of(FAULTS)
class FaultTests(Faults):
    leaves = False  # files in /dev/shm that killed ranks of one node leave; the others unlink theirs once all have opened them

    def test_ranks_of_one_node_are_killed(self):
        """All four at the same time. What they shared is gone, too."""
        job = self.job_with_its_own_shared_memory("--nproc-per-node", 2, *self.faults("wait"))
        wait_until(lambda: job.out.text().count("waits") == 4, "all ranks run")
        program = self.program("mpi_faults")
        ranks = [pid for pid, line in self.marked().items() if line.startswith(program[0]) and line.endswith("%s wait" % program[-1])]
        self.assertEqual(len(ranks), 4)
        self.assertEqual(bool(os.listdir(self.shared_memory)), self.leaves)
        for pid in ranks:
            with contextlib.suppress(ProcessLookupError):  # one goes with the other
                os.kill(pid, signal.SIGKILL)
        self.expect_end(job.finish(), 137, "rank . on node-. failed first: SIGKILL")
        self.expect_no_shared_memory_left()
