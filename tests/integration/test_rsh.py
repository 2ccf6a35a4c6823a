"""`muster rsh`: the remote shell that mpirun calls. The 18 points of its contract, against two real agents. A test is named after the point
that it proves; POINTS lists them, and a point without a test fails."""
import contextlib
import os
import pwd
import shutil
import signal
import socket
import struct
import subprocess
import time
import unittest

from harness import BINARY, GONE_WITHIN_S, MusterTest, free_port, is_alive, signals_of, stat_of, unshare_command, wait_until

# Workers that wait for the test, and tell what they were given for calling others.
WORKER = '''env >"$OUT/env.$RANK.new"; mv "$OUT/env.$RANK.new" "$OUT/env.$RANK"
while [ ! -e "$OUT/over" ]; do sleep 0.05; done'''
WAITS_FOR_RANK_0 = '[ "$RANK" = 0 ] || { while [ ! -e "$OUT/over" ]; do sleep 0.05; done; exit 0; }\n'
SECRET = "correct horse battery staple"
# Of the caller, of the serving agent from 11 on.
POINTS = {
    1: "ssh's options, before and after the host; words are joined, never quoted",
    2: "hosts are found among the job's nodes, without a resolver; one that is still to come is waited for",
    3: "both sides prove the job's secret",
    4: "its exit status is the command's, 128 + signal, or 255",
    5: "it stays until the command, also as a daemon, is gone",
    6: "streams are exact, none holds up another",
    7: "signals reach the command's process group",
    8: "it ends with its parent (the two looks at whether that is still there: test_rsh_faults.py)",
    9: "it starts fast",
    10: "no secret in arguments or variables",
    11: "a shell in a session of its own, in the home, with all signals at their default",
    12: "the pod's environment, without outer ranks",
    13: "whatever the command started is owned, and ends with it",
    14: "losing the caller is the order to kill: SIGTERM, five seconds, SIGKILL",
    15: "what is left over is reaped (and its shared memory removed: test_mpi.py)",
    16: "64 calls at a time",
    17: "who may not call is refused, and so is another user's name",
    18: "each command's start and end is told to the log and to the job",
}
CALL, RUN, REFUSED, SIGNAL, EXIT, DATA, END, CREDIT, GONE = range(9)


class RshTest(MusterTest):
    def start_job(self, *arguments, wrapper=(), **how):
        words = ("local", "--nodes", 2, "--rsh", "--no-python", *arguments, self.sh(WORKER))
        self.job = self.start_command([*wrapper, *self.command(words)], **how)
        self.job.wait_for("round.running", "err")  # shows the log when it does not come
        wait_until(lambda: self.exists("env.0") and self.exists("env.1"), "both workers run")
        worker = self.worker_environment(0)
        self.variables = {"MUSTER_RSH_AGENT": worker["MUSTER_RSH_AGENT"]}
        self.incarnation = int(worker["MUSTER_RSH_AGENT"].rpartition("-")[2][:16], 16)  # of node-1's agent
        self.port = (worker["MASTER_ADDR"], int(worker["MASTER_PORT"]))  # the job port of node-1

    def end_job(self):
        self.write("over", "")
        return self.expect_code(self.job.finish(), 0)

    def worker_environment(self, rank):
        return dict(line.split("=", 1) for line in self.read("env.%d" % rank).splitlines() if "=" in line)

    def rsh(self, *words, env=None, **how):
        """A call as a worker of node-1 would make it."""
        return self.start("rsh", *words, env={**self.variables, **(env or {})}, **how)

    def call(self, *words, code=0, **how):
        return self.expect_code(self.rsh(*words, **how).finish(), code)

    def frame(self, kind, fields):
        return struct.pack(">BI", kind, len(fields)) + fields

    def text(self, value):
        return struct.pack(">I", len(value)) + value.encode()

    def run_of(self, run_id, node, command, incarnation=None):
        """As one agent says it to another: a whole frame."""
        number = self.incarnation if incarnation is None else incarnation
        return self.frame(RUN, self.text(run_id) + self.text(node) + struct.pack(">Q", number) + self.text("me") + self.text("") + command)

    def converse(self, frames, at_port=False):
        """[(kind, fields)] that node-1 answers at its door for other agents, or at its job port, before it hangs up."""
        return self.frames_of(self.received(b"MRSH8C\r\n" + frames, at_port))

    def received(self, sent, at_port=True):
        received = b""
        with contextlib.ExitStack() as closed:
            if at_port:
                connection = closed.enter_context(socket.create_connection(self.port, timeout=20))
            else:
                connection = closed.enter_context(socket.socket(socket.AF_UNIX))
                connection.settimeout(20)
                connection.connect("\0muster-run-%016x" % self.incarnation)
            connection.sendall(sent)
            connection.shutdown(socket.SHUT_WR)
            try:
                while True:
                    piece = connection.recv(65536)
                    if not piece:
                        break
                    received += piece
            except ConnectionResetError:
                pass
        return received

    def frames_of(self, received):
        found = []
        while received:
            kind, length = struct.unpack(">BI", received[:5])
            found.append((kind, received[5:5 + length]))
            received = received[5 + length:]
        return found

    def pid_in(self, name):
        wait_until(lambda: self.exists(name) and self.read(name).strip(), name)
        return int(self.read(name))

    def expect_gone(self, pid, within_s=GONE_WITHIN_S):
        wait_until(lambda: not is_alive(pid), "pid %d is gone" % pid, within_s)


class PointsTest(unittest.TestCase):
    def test_every_point_has_a_test(self):
        names = [name for case in (ContractTest, EnvironmentTest, SecretTest) for name in dir(case)]
        for number, point in POINTS.items():
            self.assertTrue([name for name in names if name.startswith("test_%02d_" % number)], "%d: %s" % (number, point))


class ContractTest(RshTest):
    """In the order of the points."""

    def setUp(self):
        super().setUp()
        self.start_job()

    def test_01_command_lines_of_every_launcher(self):
        open_mpi = ["node-2", "(", "test", "!", "-r", "./.profile", "||", ".", "./.profile;", "", "echo", '"a;', 'b"', ")"]
        for words, printed in ((open_mpi, "a; b\n"),
                               (["-x", "%d@node-2" % os.geteuid(), "-p", "2222", " echo", "$((1", "+", "2))"], "3\n"),
                               (["-q", "-x", "node-2", '"/bin/echo"', "--control-port", "10.0.0.1:40000"],
                                "--control-port 10.0.0.1:40000\n"),
                               (["-oBatchMode=yes", "-o", "ConnectTimeout=10", "-p22", "node-2", "--", "echo", "-n", "x"], "x"),
                               (["node-2", "-p", "2222", "-x", "echo", "-n", "y"], "y"),
                               (["node-2", "echo " + "x" * 65536 + " | wc -c"], "65537\n")):
            self.assertEqual(self.call(*words).out, printed, words[:6])
        for link in map(self.path, ("ssh", "rsh", "muster-rsh", "kubexec.sh")):
            os.symlink(BINARY, link)
            called = self.start_command([link, "-x", "node-2", "echo linked"], env=self.variables).finish()
            self.assertEqual(self.expect_code(called, 0).out, "linked\n", link)

    def test_02_nodes_are_found_without_any_resolver(self):
        for host in ("node-2", "node-2.job.ns.svc", "127.0.1.2"):
            self.assertRegex(self.call(host, "cat /proc/$PPID/cmdline").out, "--node-name=node-2")
        self.assertRegex(self.call("localhost", "cat /proc/$PPID/cmdline").out, "--node-name=node-1")
        unknown = self.call("node-3", "true", code=255)
        self.assertEqual(unknown.err, "muster rsh: 'node-3' is no node of this job, which has node-1, node-2\n")

    def test_04_the_exit_code_is_the_commands(self):
        for code in (0, 1, 3, 77, 127, 255):
            self.assertEqual(self.call("node-2", "exit %d" % code, code=code).err, "")
        for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV):
            self.call("node-2", "kill -%d $$" % number, code=128 + number)

    def test_05_it_stays_until_the_daemon_is_gone(self):
        daemon = self.sh('setsid sh -c \'echo $$ >"$OUT/daemon"; while [ ! -e "$OUT/go" ]; do sleep 0.05; done; echo bye\' &',
                         name="orted")
        caller = self.rsh("node-2", daemon, "--daemonize")
        pid = self.pid_in("daemon")
        time.sleep(0.5)
        self.assertIsNone(caller.popen.poll())
        self.assertTrue(is_alive(pid))
        self.write("go", "")
        self.assertEqual(self.expect_code(caller.finish(), 0).out, "bye\n")

    def test_06_streams_are_exact(self):
        everything = bytes(range(256)) * 4096
        echoed = self.call("node-2", "cat; echo end >&2", input=everything)
        self.assertEqual((echoed.out_bytes, echoed.err), (everything, "end\n"))
        self.assertEqual(self.call("-n", "node-2", "cat").out, "")

    def test_06_an_open_stdin_holds_nobody_up(self):
        reader, writer = os.pipe()
        self.addCleanup(os.close, writer)
        caller = self.rsh("node-2", "echo x", stdin=reader)
        os.close(reader)
        self.assertEqual(self.expect_code(caller.finish(), 0).out, "x\n")

    def test_06_a_hundred_megabytes_arrive_whole(self):
        script = "head -c 100000000 /dev/zero | %s rsh node-2 'cat; exit 5' | wc -c" % BINARY
        counted = self.start_command(["sh", "-c", script], env=self.variables).finish(timeout_s=180)
        self.assertEqual(self.expect_code(counted, 0).out.strip(), "100000000")

    def test_06_each_stream_waits_for_its_own_reader_alone(self):
        reader, writer = os.pipe()  # nobody reads it for now
        caller = self.rsh("node-2", "head -c 3000000 /dev/zero & echo told >&2; wait", stdout=writer)
        os.close(writer)
        caller.wait_for("told", "err")
        got = 0
        while True:
            piece = os.read(reader, 1 << 20)
            if not piece:
                break
            got += len(piece)
        os.close(reader)
        self.expect_code(caller.finish(), 0)
        self.assertEqual(got, 3000000)

    def test_06_the_end_of_a_stream_goes_through_alone(self):
        # The command closes its stdout and lives on: so does the caller's reader learn it.
        caller = self.rsh("node-2", 'echo last; exec >&-; while [ ! -e "$OUT/go" ]; do sleep 0.05; done; exit 4')
        caller.out.thread.join(GONE_WITHIN_S)
        self.assertFalse(caller.out.thread.is_alive())
        self.assertIsNone(caller.popen.poll())
        self.write("go", "")
        self.assertEqual(self.expect_code(caller.finish(), 4).out, "last\n")

    def test_06_a_reader_that_goes_ends_the_writer(self):
        script = "%s rsh node-2 'yes; echo $? >\"$OUT/yes\"' | head -n 1" % BINARY
        self.expect_code(self.start_command(["sh", "-c", script], env=self.variables).finish(), 0)
        self.assertEqual(self.read("yes"), "141\n")

    def test_07_signals_reach_the_commands_group(self):
        for name in ("TERM", "INT", "HUP", "QUIT", "USR1", "USR2"):
            number = getattr(signal, "SIG" + name)
            caller = self.rsh("node-2", "trap 'echo got %s; exit %d' %s; echo ready; while :; do sleep 0.05; done"
                              % (name, number, name))
            caller.wait_for("ready")
            caller.signal(number)
            self.assertEqual(self.expect_code(caller.finish(), number).out, "ready\ngot %s\n" % name)

    def test_08_a_caller_whose_parent_was_killed_ends_the_command(self):
        script = "%s rsh node-2 'echo $$ >\"$OUT/command\"; exec sleep 1000'; true" % BINARY
        parent = self.start_command(["sh", "-c", script], env=self.variables)
        pid = self.pid_in("command")
        parent.popen.kill()
        self.expect_gone(pid)

    def test_09_two_hundred_calls_in_a_row(self):
        script = 'i=0; while [ $i -lt 200 ]; do %s rsh node-2 "exit 7"; [ $? = 7 ] || exit 1; i=$((i+1)); done' % BINARY
        caller = self.start_command(["sh", "-c", script], env=self.variables, stdin=subprocess.DEVNULL)
        self.expect_code(caller.finish(timeout_s=120), 0)

    def test_11_the_command_starts_as_after_a_login(self):
        shown = self.call("node-2", "pwd; echo $$; cat /proc/$$/stat; grep -E '^Sig(Blk|Ign)' /proc/self/status").out
        lines = shown.splitlines()
        self.assertEqual(lines[0], self.dir)
        _, _, group, session, terminal = lines[2].rsplit(")", 1)[1].split()[:5]
        self.assertEqual((group, session, terminal), (lines[1], lines[1], "0"))
        self.assertEqual([signals_of(line.split()[1]) for line in lines[3:]], [set(), set()])

    def test_13_nothing_that_it_started_outlives_it(self):
        self.call("node-2", 'setsid sh -c \'echo $$ >"$OUT/stray"; exec sleep 1000\' >/dev/null 2>&1 </dev/null &\n'
                  'while [ ! -s "$OUT/stray" ]; do sleep 0.01; done; exit 9', code=9)
        self.assertFalse(is_alive(self.pid_in("stray")))

    def test_14_losing_the_caller_is_the_order_to_kill(self):
        caller = self.rsh("node-2", "trap 'echo >\"$OUT/told\"' TERM; echo $$ >\"$OUT/command\";"
                          "setsid sleep 1000 & while :; do sleep 0.1; done")
        pid = self.pid_in("command")
        started = time.monotonic()
        caller.popen.kill()
        wait_until(lambda: self.exists("told"), "SIGTERM comes first")
        self.expect_gone(pid, within_s=15)
        self.assertGreater(time.monotonic() - started, 4)  # SIGKILL after 5 s

    def test_15_the_agent_reaps_what_is_left_to_it(self):
        for _ in range(5):
            self.call("node-2", "(sleep 0.01 &) ; exit 0")
        agents = [pid for pid in self.marked() if stat_of(pid) and b"--node-name=node-2" in self.command_line(pid)]
        children = [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc")))
                    if (stat := stat_of(pid)) and stat[1] in agents and stat[0] == "Z"]
        self.assertEqual(len(agents), 1)
        wait_until(lambda: not [pid for pid in children if stat_of(pid)], "no zombie is left")

    def command_line(self, pid):
        try:
            with open("/proc/%d/cmdline" % pid, "rb") as file:
                return file.read()
        except OSError:
            return b""

    def test_16_sixty_four_at_a_time(self):
        calls = [self.rsh("node-2", 'echo x >>"$OUT/here"; while [ ! -e "$OUT/go" ]; do sleep 0.2; done; exit %d' % (k % 9))
                 for k in range(64)]
        wait_until(lambda: self.exists("here") and len(self.read("here")) == 128, "all run at the same time")
        self.write("go", "")
        self.assertEqual([one.finish().code for one in calls], [k % 9 for k in range(64)])

    def test_17_another_job_is_refused(self):
        answer = self.converse(self.run_of("another-job", "node-1", b"touch $OUT/did"))
        self.assertEqual((answer[0][0], answer[0][1][0]), (REFUSED, 255))
        self.assertRegex(answer[0][1][5:].decode(), "^run id 'local-[0-9]+' here, 'another-job' there$")
        self.assertFalse(self.exists("did"))

    def test_17_another_node_is_refused(self):
        """Who has taken a node's address may pass its calls on: the secret proves the job, not the node."""
        run_id = "local-%d" % self.port[1]
        for node, who in (("node-2", "node-2"), ("node-1", "node-1, another agent of it")):
            answer = self.converse(self.run_of(run_id, node, b"touch $OUT/did", self.incarnation ^ 1))
            self.assertEqual(answer[0][1][5:].decode(), "this is node-1, and the call is for " + who)
        self.assertFalse(self.exists("did"))

    def test_17_without_a_secret_nothing_comes_through_the_job_port(self):
        answer = self.converse(self.run_of("local-%d" % self.port[1], "node-1", b"touch $OUT/did"), at_port=True)
        self.assertEqual(answer[0][0], REFUSED)
        self.assertRegex(answer[0][1][5:].decode(), "^this job has no secret, so nothing is run for other machines")
        self.assertFalse(self.exists("did"))

    def test_17_nonsense_ends_the_connection_and_nothing_else(self):
        self.assertEqual(self.converse(b"\xff" * 64), [])
        self.assertEqual(self.converse(self.frame(EXIT, b"\0")), [])
        self.assertEqual(self.converse(self.frame(DATA, b"\0x")), [])
        self.assertEqual(self.call("node-1", "echo alive").out, "alive\n")

    def test_18_the_log_tells_of_every_daemon(self):
        self.call("node-2", "( test -r /x; ) ; PASSWORD=swordfish orted=1 ; exit 3", code=3)
        log = self.end_job().err
        self.assertRegex(log, r'\[node-2\].* I rsh\.start caller=node-1 peer="this machine" program=\w+ pid=\d+')
        self.assertRegex(log, r"\[node-2\].* I rsh\.end caller=node-1 program=\w+ status=\"exit code 3\" alive_s=")
        self.assertNotIn("swordfish", log)


class EnvironmentTest(RshTest):
    def test_12_the_command_has_the_environment_of_its_pod(self):
        self.start_job(env={"NCCL_DEBUG": "INFO", "OMPI_COMM_WORLD_RANK": "5", "PMI_FD": "7", "HOME": None, "USER": None})
        shown = self.call("node-2", "env; pwd", env={"ONLY_HERE": "1"}).out.splitlines()
        self.assertIn("NCCL_DEBUG=INFO", shown)
        names = {line.split("=", 1)[0] for line in shown}
        self.assertTrue({"HOME", "USER", "LOGNAME", "SHELL", "PATH"} <= names, names)
        self.assertFalse({"ONLY_HERE", "OMPI_COMM_WORLD_RANK", "PMI_FD", "RANK"} & names, names)
        self.end_job()

    def test_11_where_agents_ignore_signals_and_have_no_home(self):
        """As those that a script started in its background: then a Ctrl-C killed nobody."""
        self.start_job(wrapper=("sh", "-c", "trap '' INT QUIT USR1 PIPE; exec \"$@\"", "sh"), env={"HOME": "/nowhere"})
        home, *shown = self.call("node-2", "pwd; grep -E '^Sig(Blk|Ign)' /proc/self/status").out.splitlines()
        self.assertEqual((home, [signals_of(line.split()[1]) for line in shown]), ("/", [set(), set()]))
        self.call("node-2", "kill -INT $$", code=128 + signal.SIGINT)

    def test_11_an_image_without_a_shell(self):
        """What it lacks is said in one line; for the workers there is a shell all the same."""
        bin = self.path("bin")
        os.mkdir(bin)
        for name in ("sleep", "touch"):
            shutil.copy("/usr/bin/" + name, bin)
        shell = shutil.copy("/bin/sh", self.path("not-in-the-image"))
        worker = self.sh(WAITS_FOR_RANK_0 + "%s rsh node-2 touch $OUT/did; code=$?; touch $OUT/over; exit $code" % BINARY)
        job = self.start("local", "--nodes", 2, "--rsh", "--no-python", shell, worker,
                         mounts="mount --bind %s /usr/bin" % bin)  # and with it /bin, which is a link
        finished = self.expect_code(job.finish(), 127)
        self.expect_lines([r"muster rsh: node-2: there is no /bin/sh in this image, and commands of other nodes need it$"], finished.err)
        self.assertFalse(self.exists("did"))

    def test_12_commands_reach_their_own_nodes_agent_whatever_they_inherit(self):
        # Hydra gives every rank its launcher's variables.
        self.start_job()
        inherited = "env MUSTER_RSH_AGENT=@muster-rsh-of-the-launcher %s rsh localhost 'cat /proc/$PPID/cmdline'" % BINARY
        self.assertRegex(self.call("node-2", inherited).out, "--node-name=node-2")
        self.end_job()

    def test_02_a_node_that_is_still_to_come_is_waited_for(self):
        worker, port = self.sh(WORKER), free_port()
        nodes = [self.start("run", "--nnodes", 2, "--rdzv-endpoint", "127.0.1.1:%d" % port, "--local-addr", "127.0.1.1",
                            "--node-name", "node-1", "--rsh", "--no-python", worker)]
        door = wait_until(lambda: self.door_of(nodes[0].pid), "node-1 has a door")
        caller = self.start("rsh", "node-2", "cat /proc/$PPID/cmdline", env={"MUSTER_RSH_AGENT": door})
        time.sleep(0.5)
        self.assertIsNone(caller.popen.poll())
        nodes.append(self.start("run", "--nnodes", 2, "--rdzv-endpoint", "127.0.1.1:%d" % port, "--local-addr", "127.0.1.2",
                                "--node-name", "node-2", "--rsh", "--no-python", worker))
        self.assertRegex(self.expect_code(caller.finish(), 0).out, "--node-name\0node-2")
        self.write("over", "")
        for node in nodes:
            self.expect_code(node.finish(), 0)

    def door_of(self, pid):
        """Where that agent hears its workers; other tests have agents of their own."""
        folder = "/proc/%d/fd" % pid
        own = set()
        for fd in os.listdir(folder):
            with contextlib.suppress(FileNotFoundError):  # closed just now
                own.add(os.readlink(os.path.join(folder, fd)))
        with open("/proc/net/unix") as sockets:
            return next((line.split()[-1] for line in sockets if "@muster-rsh-" in line and "socket:[%s]" % line.split()[6] in own), None)


class SecretTest(RshTest):
    def setUp(self):
        super().setUp()
        self.file = self.write("secret", SECRET, 0o600)

    def test_03_the_jobs_secret_opens_the_door(self):
        self.start_job(env={"MUSTER_JOB_SECRET_FILE": self.file})
        self.assertEqual(self.call("node-2", "cat", input=b"x" * 300000).out, "x" * 300000)
        self.call("node-2", "exit 6", code=6)
        # Whoever is no agent of the job is told to prove that he knows the secret, and cannot.
        run = self.run_of("local", "node-1", b"touch $OUT/did")
        refused = self.converse(run, at_port=True)
        self.assertEqual([(kind, fields[5:].decode()) for kind, fields in refused],
                         [(REFUSED, "this job has a secret and the call came without it (MUSTER_JOB_SECRET_FILE)")])
        self.assertIn(self.received(b"MRSH8T\r\n" + run)[:1], (b"", b"\x15"), "at most a TLS alert")
        self.assertFalse(self.exists("did"))
        self.assertRegex(self.end_job().err, "W rsh.refused .*reason=.*secret")

    def test_03_ranks_report_with_the_jobs_secret(self):
        self.start_job(env={"MUSTER_JOB_SECRET_FILE": self.file})
        wrong = self.write("wrong", SECRET + "!", 0o600)
        rank = {"PMI_RANK": "0", "PMI_SIZE": "1", "MUSTER_RANK_REPORT": "%s:%d %d 1 job" % (*self.port, self.incarnation)}
        for secret, problem in (({"MUSTER_JOB_SECRET_FILE": wrong}, "secret"), ({}, "no secret")):
            ended = self.start("rank", "--", "sh", "-c", "exec sleep 1000", env={**rank, **secret}).finish()
            self.assertRegex(self.expect_code(ended, 255).err, r"\Amuster rank: .*(%s).*\n\Z" % problem)
        self.assertRegex(self.end_job().err, "W rsh.refused .*reason=.*secret")

    def test_03_a_secret_where_the_job_has_none(self):
        self.start_job()
        self.assertEqual(self.received(b"MRSH8T\r\n"), b"\x15\x03\x03\0\x02\x02\x73", "unknown_psk_identity")

    def test_03_callers_need_no_secret_but_their_agent(self):
        # The kernel says who they are. Another user's process is turned away, with the secret and without.
        self.start_job(env={"MUSTER_JOB_SECRET_FILE": self.file})
        self.call("node-2", "exit 6", env={"MUSTER_JOB_SECRET_FILE": None}, code=6)
        if os.geteuid() != 0:
            self.skip_because("another user: needs root")
        other = ["setpriv", "--reuid", "12345", "--clear-groups", BINARY, "rsh", "node-2", "touch $OUT/did"]
        refused = self.start_command(other, env=self.variables).finish()
        self.expect_code(refused, 255)
        self.assertEqual(refused.err, "muster rsh: uid 12345 may not run commands as uid 0\n")
        self.assertFalse(self.exists("did"))

    def test_17_another_user_is_refused(self):
        self.start_job()
        own = pwd.getpwuid(os.geteuid()).pw_name
        for words in (("-l", own, "node-2"), ("%s@node-2" % own,), ("%d@node-1" % os.geteuid(),)):
            self.assertEqual(self.call(*words, "id -u").out, "%d\n" % os.geteuid())
        for words in (("-l", "nobody2", "node-2"), ("nobody2@node-2",)):
            refused = self.call(*words, "touch $OUT/did", code=255)
            self.assertEqual(refused.err, "muster rsh: node-2: commands run as '%s' there (uid %d), not as 'nobody2'\n" % (own, os.geteuid()))
        self.assertFalse(self.exists("did"))
        self.end_job()

    def test_03_another_container_may_not_call(self):
        # It shares the network (hostNetwork) and has root, but processes of its own: here a sibling name space.
        self.start_job(env={"MUSTER_JOB_SECRET_FILE": self.file})
        if os.geteuid() != 0:
            self.skip_because("name spaces of processes: needs root")
        inside = self.start_command(["unshare", "--pid", "--fork", BINARY, "rsh", "node-2", "exit 6"], env=self.variables)
        self.expect_code(inside.finish(), 6)
        door = self.variables["MUSTER_RSH_AGENT"]
        sibling = self.start_command(["unshare", "--pid", "--fork", "--mount-proc", "sh", "-c", "%s local --nodes 2 --rsh --no-python %s" % (
            BINARY, self.sh('env >"$OUT/inner.$RANK.new"; mv "$OUT/inner.$RANK.new" "$OUT/inner.$RANK"\n'
                            'while [ ! -e "$OUT/over" ]; do sleep 0.05; done', name="inner"))])
        wait_until(lambda: self.exists("inner.0"), "the other container's job runs")
        inner = dict(line.split("=", 1) for line in self.read("inner.0").splitlines() if "=" in line)
        self.assertNotEqual(inner["MUSTER_RSH_AGENT"], door)
        refused = self.call("node-2", "touch $OUT/did", env={"MUSTER_RSH_AGENT": inner["MUSTER_RSH_AGENT"]}, code=255)
        self.assertEqual(refused.err, "muster rsh: processes of another container may not run commands\n")
        self.assertFalse(self.exists("did"))
        self.end_job()
        self.expect_code(sibling.finish(), 0)

    def test_10_the_secret_is_in_no_argument_and_no_variable(self):
        self.start_job(env={"MUSTER_JOB_SECRET_FILE": self.file})
        self.assertNotIn("MUSTER_JOB_SECRET_FILE", self.worker_environment(0))  # the agent speaks for the callers
        # From a command to the next node, as the daemons of a tree call each other.
        caller = self.rsh("node-2", BINARY, "rsh", "node-1", "'env; sleep 1000'")
        caller.wait_for("MUSTER_RSH_REQUEST")
        for pid in self.marked():
            for what in ("cmdline", "environ"):
                try:
                    with open("/proc/%d/%s" % (pid, what), "rb") as file:
                        self.assertNotIn(SECRET.encode(), file.read(), (pid, what))
                except (FileNotFoundError, ProcessLookupError):
                    pass
        caller.signal(signal.SIGTERM)
        self.expect_code(caller.finish(), 143)

    def test_17_without_a_secret_only_this_machine_may_call(self):
        unshare = unshare_command()
        if unshare is None:
            self.skip_because("namespaces")
        worker = self.sh('[ "$RANK" = 0 ] || exec sleep 1000; %s rsh node-2 "touch $OUT/did"; exit $?' % BINARY)
        # Two machines: name spaces of the network with a cable between them.
        agent = "%s run --nnodes 2 --rdzv-endpoint 10.9.9.1:29400 --local-addr 10.9.9.%d --node-name node-%d --rsh --no-python " + worker
        script = "\n".join((
            "mount -t tmpfs none /run", "mkdir /run/netns", "ip netns add there",
            "ip link add here type veth peer name eth0 netns there",
            "ip addr add 10.9.9.1/24 dev here", "ip link set here up", "ip link set lo up",
            "ip -n there addr add 10.9.9.2/24 dev eth0", "ip -n there link set eth0 up", "ip -n there link set lo up",
            "ip netns exec there %s &" % (agent % (BINARY, 2, 2)), agent % (BINARY, 1, 1) + " & wait $! || code=$?", "wait", "exit $code"))
        job = self.start_command(unshare + ["--net", "--mount", "sh", "-ec", script])
        finished = self.expect_code(job.finish(), 255)
        self.assertFalse(self.exists("did"))
        self.assertRegex(finished.err, "node-2: its agent is not on this machine, and this job has no secret; MUSTER_JOB_SECRET_FILE")


if __name__ == "__main__":
    unittest.main()
