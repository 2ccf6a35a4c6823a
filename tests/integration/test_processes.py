"""Duties towards processes: as PID 1 of a container and elsewhere nothing is lost and nothing stays."""
import os
import shutil
import signal
import time

import harness

# Starts a child in its own session that starts another one, both sleep; then says "up".
TREE = """
import os, subprocess, sys, time
subprocess.Popen(["sleep", "300"])
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        open(os.path.join(os.environ["OUT"], "daemon.%s" % os.environ["RANK"]), "w").write(str(os.getpid()))
        os.execvp("sleep", ["sleep", "300"])
    os._exit(0)
while not os.path.exists(os.path.join(os.environ["OUT"], "daemon.%s" % os.environ["RANK"])):
    time.sleep(0.01)
print("up", flush=True)
time.sleep(300)
"""

ORPHANS = """
import os, time
for _ in range(30):
    if os.fork() == 0:
        if os.fork() == 0:
            time.sleep(0.1)
        os._exit(0)
for _ in range(30):
    os.wait()
deadline = time.monotonic() + 20
while time.monotonic() < deadline:
    zombies = 0
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                state, parent = open("/proc/%s/stat" % name).read().rsplit(")", 1)[1].split()[:2]
                zombies += state == "Z" and int(parent) == os.getppid()
            except OSError:
                pass
    if zombies == 0:
        break
    time.sleep(0.05)
print("zombies:", zombies)
"""

# Each process of the chain lives half a millisecond; the numbers it writes tell whether it still runs.
RUNS_AWAY = """
import os, time
path = os.path.join(os.environ["OUT"], "steps")
if os.fork() == 0:
    os.setsid()
    step = 0
    while True:
        if os.fork():
            os._exit(0)
        step += 1
        open(path, "w").write(str(step))
        time.sleep(0.0005)
while not os.path.exists(path) or int(open(path).read() or 0) < 20:
    time.sleep(0.01)
"""

# Writes each signal it gets to stdout. The mark "up" says that it listens.
LISTENS = """
import os, signal, time
def note(number, frame):
    os.write(1, b"got %d\\n" % number)
for number in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM, signal.SIGWINCH):
    signal.signal(number, note)
print("up", flush=True)
while True:
    time.sleep(1)
"""

# Counts SIGUSR1 and ignores every other signal but SIGTERM.
COUNTS = """
import os, signal, time
count = 0
def note(number, frame):
    global count
    count += 1
    os.write(1, b"count %d\\n" % count)
for number in set(range(1, 65)) - {9, 15, 19, 32, 33}:
    signal.signal(number, signal.SIG_IGN)
signal.signal(signal.SIGUSR1, note)
print("up", flush=True)
while True:
    time.sleep(1)
"""

SLEEPS = "echo up\nexec sleep 300"


class Duties:
    """Runs both as PID 1 of a namespace and as an ordinary process."""
    pid1 = False

    def agent(self, *arguments, **how):
        return self.start("run", *arguments, pid1=self.pid1, **how)

    def test_sigterm_stops_the_workers(self):
        agent = self.agent("--nproc-per-node", 2, self.sh("trap 'echo bye; exit 0' TERM\necho up\nsleep 300 & wait"))
        agent.wait_for(r"(up\n.*){2}")
        agent.signal(signal.SIGTERM)
        finished = self.expect_code(agent.finish(), 143)
        self.assertEqual(finished.out.count("bye"), 2, finished)

    def test_three_sigterms_in_a_row_leave_no_worker_and_no_half_checkpoint(self):
        """What makes torchrun abandon its workers. They get their grace period all the same."""
        worker = self.sh("trap 'sleep 1; echo saved >\"$OUT/saved.$RANK\"; exit 0' TERM\necho up\n"
                         "while :; do sleep 0.1; done")
        agent = self.agent("--nproc-per-node", 2, "--grace-period", "20s", worker)
        agent.wait_for(r"(up\n.*){2}")
        for _ in range(3):
            agent.signal(signal.SIGTERM)
            time.sleep(0.1)
        self.expect_code(agent.finish(), 143)
        self.assertTrue(self.exists("saved.0") and self.exists("saved.1"))

    def test_a_second_sigterm_later_cuts_the_grace_period_short(self):
        worker = self.sh("trap '' TERM\necho up\nwhile :; do sleep 0.1; done")
        agent = self.agent("--nproc-per-node", 2, "--grace-period", "5m", worker)
        agent.wait_for(r"(up\n.*){2}")
        agent.signal(signal.SIGTERM)
        time.sleep(1)
        agent.signal(signal.SIGTERM)
        self.expect_code(agent.finish(), 143)

    def test_workers_that_ignore_sigterm_are_killed_after_the_grace_period(self):
        worker = self.sh("trap '' TERM\necho up\nwhile :; do sleep 0.1; done")
        agent = self.agent("--nproc-per-node", 2, "--grace-period", "1s", worker)
        agent.wait_for(r"(up\n.*){2}")
        begin = time.monotonic()
        agent.signal(signal.SIGTERM)
        self.expect_code(agent.finish(), 143)
        self.assertGreater(time.monotonic() - begin, 0.9)

    def test_grandchildren_and_daemons_do_not_survive_a_stop(self):
        agent = self.agent("--nproc-per-node", 2, self.py(TREE))
        agent.wait_for(r"(up\n.*){2}")
        agent.signal(signal.SIGTERM)
        self.expect_code(agent.finish(), 143)
        self.assertEqual(self.marked(), {})

    def test_grandchildren_and_daemons_do_not_survive_success(self):
        finished = self.agent(self.py(TREE.replace("time.sleep(300)\n", ""))).finish()
        self.expect_code(finished, 0)
        self.assertEqual(self.marked(), {})

    def test_a_process_that_keeps_forking_away_is_caught(self):
        self.expect_code(self.agent(self.py(RUNS_AWAY)).finish(), 0)
        before = self.read("steps")
        time.sleep(0.3)
        self.assertEqual(self.read("steps"), before)

    def test_grandchildren_and_daemons_do_not_survive_sigkill_of_the_agent(self):
        agent = self.agent("--nproc-per-node", 2, self.py(TREE))
        agent.wait_for(r"(up\n.*){2}")
        harness.wait_until(lambda: len(self.marked()) >= 7, "all processes of the tree")  # none shows an environment amid an exec
        agent.signal(signal.SIGKILL)
        agent.popen.wait(harness.PATIENCE_S)
        harness.wait_until(lambda: not self.marked(), "all processes of the job are gone", harness.GONE_WITHIN_S)

    def test_no_zombies(self):
        finished = self.agent(self.py(ORPHANS)).finish()
        self.assertIn("zombies: 0", self.expect_code(finished, 0).out)

    def test_signals_that_mean_nothing_to_the_agent_reach_the_rank_processes(self):
        agent = self.agent("--nproc-per-node", 2, self.py(LISTENS))
        agent.wait_for(r"(up\n.*){2}")
        for number in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM):
            agent.signal(number)
            agent.wait_for(r"(got %d\n[^%%]*){2}" % number)
        agent.signal(signal.SIGTERM)
        self.expect_code(agent.finish(), 143)

    def test_workers_are_stopped_with_the_signal_that_came(self):
        for name, number in (("INT", signal.SIGINT), ("HUP", signal.SIGHUP), ("QUIT", signal.SIGQUIT)):
            # What a shell starts with "&" ignores INT and QUIT, so it would take the whole grace period.
            worker = self.sh("trap 'echo got %s; kill $!; exit 0' %s\nsleep 300 &\necho up\nwait" % (name, name))
            agent = self.agent("--nproc-per-node", 2, worker)
            agent.wait_for(r"(up\n.*){2}")
            agent.signal(number)
            finished = self.expect_code(agent.finish(), 128 + number)
            self.assertEqual(finished.out.count("got " + name), 2, finished)

    def test_the_stop_signals_can_be_chosen(self):
        agent = self.agent("--signals-to-handle", "SIGUSR1,SIGTERM", self.sh("trap 'echo got it; exit 0' USR1\necho up\nsleep 300 & wait"))
        agent.wait_for("up")
        agent.signal(signal.SIGUSR1)
        self.assertIn("got it", self.expect_code(agent.finish(), 128 + signal.SIGUSR1).out)

    def test_torchruns_names_of_the_grace_period(self):
        worker = self.sh("trap '' TERM\necho up\nwhile :; do sleep 0.1; done")
        for flags, env in ((["--shutdown-timeout", "1"], {}), ([], {"TORCH_ELASTIC_SHUTDOWN_TIMEOUT": "1"})):
            agent = self.agent(*flags, worker, env=env)
            agent.wait_for("up")
            agent.signal(signal.SIGTERM)
            self.expect_code(agent.finish(20), 143)

    def test_a_worker_that_closes_its_output_goes_on(self):
        worker = self.sh("exec >&- 2>&-\nsleep 0.3\nexit 3")
        self.expect_code(self.agent("--nproc-per-node", 2, worker).finish(), 3)

    def test_two_hundred_workers(self):
        finished = self.agent("--nproc-per-node", 200, self.sh("echo $RANK")).finish()
        self.expect_code(finished, 0)
        self.assertEqual(sorted(int(line.split()[1]) for line in finished.out.splitlines()), list(range(200)))

    def test_any_uid_without_capabilities_on_a_read_only_root(self):
        """How hardened pods run: no passwd entry, no writable folder, no new privileges."""
        if os.getuid() != 0:
            self.skip_because("root")
        os.chmod(self.dir, 0o755)
        drop = ["setpriv", "--reuid", "54321", "--regid", "54321", "--clear-groups", "--bounding-set", "-all", "--no-new-privs"]
        binary = shutil.copy(harness.BINARY, self.path("muster"))
        worker = self.sh('echo "uid $(id -u)"; [ "$TORCHELASTIC_RESTART_COUNT" = 1 ]')
        words = self.command(["run", "--nproc-per-node", 2, "--max-restarts", 1, worker], pid1=self.pid1,
                             mounts="mount -o remount,bind,ro /")
        words[words.index(harness.BINARY):words.index(harness.BINARY) + 1] = drop + [binary]
        finished = self.expect_code(self.start_command(words, env={"HOME": "/nonexistent"}).finish(), 0)
        # In attempt 0 the other rank may have been stopped before its word.
        self.assertIn(finished.out.count("uid 54321"), (3, 4), finished)

    def test_a_signal_during_spawning_is_not_lost(self):
        for delay_ms in (0, 1, 2, 4, 8, 16, 32):
            agent = self.agent("--nproc-per-node", 40, "sleep", 300)
            pid = agent.agent_pid()
            self.wait_until_signals_are_blocked(pid)
            time.sleep(delay_ms / 1000)
            os.kill(pid, signal.SIGTERM)
            self.expect_code(agent.finish(), 143)

    def wait_until_signals_are_blocked(self, pid):
        def blocked():
            with open("/proc/%d/status" % pid) as file:
                for line in file:
                    if line.startswith("SigBlk:"):
                        return int(line.split()[1], 16) >> (signal.SIGTERM - 1) & 1
        harness.wait_until(blocked, "the agent has taken over its signals", 5)

    def test_a_program_that_is_missing_is_127(self):
        finished = self.agent("--nproc-per-node", 2, "/nowhere/program").finish()
        self.expect_code(finished, 127)
        self.assertIn("/nowhere/program", finished.err)
        self.assertIn("No such file or directory", finished.err)
        finished = self.expect_code(self.agent("no-such-command-on-path").finish(), 127)
        self.assertIn("no-such-command-on-path", finished.err)

    def test_a_program_that_cannot_be_executed_is_126(self):
        path = self.write("not-executable", "echo hello\n")
        finished = self.expect_code(self.agent(path).finish(), 126)
        self.assertIn(path, finished.err)
        self.assertIn("Permission denied", finished.err)
        finished = self.expect_code(self.agent(self.dir + "/").finish(), 126)
        self.assertIn(self.dir, finished.err)


class AsOrdinaryProcess(Duties, harness.MusterTest):
    def guardian_of(self, agent):
        def look():
            for pid in harness.children_of(agent.agent_pid()):
                with open("/proc/%d/cmdline" % pid, "rb") as file:
                    if b"guard" in file.read().split(b"\0"):
                        return pid
            return None
        return harness.wait_until(look, "the guardian runs")

    def test_the_death_of_the_guardian_is_nobody_elses_business(self):
        agent = self.agent("--nproc-per-node", 2, self.sh('echo up\nwhile [ ! -e "$OUT/end" ]; do sleep 0.02; done'))
        agent.wait_for(r"(up\n.*){2}")
        os.kill(self.guardian_of(agent), signal.SIGKILL)
        time.sleep(0.2)
        self.assertTrue(harness.is_alive(agent.agent_pid()))
        self.write("end", "")
        self.expect_code(agent.finish(), 0)

    def test_the_guardian_does_not_outlive_the_job(self):
        agent = self.agent("--nproc-per-node", 2, self.sh(SLEEPS))
        agent.wait_for(r"(up\n.*){2}")
        guardian = self.guardian_of(agent)
        agent.signal(signal.SIGTERM)
        self.expect_code(agent.finish(), 143)
        harness.wait_until(lambda: not harness.is_alive(guardian), "the guardian is gone", harness.GONE_WITHIN_S)

    def test_nothing_survives_sigkill_of_the_agents_whole_group(self):
        """As shells and batch systems do it."""
        agent = self.agent("--nproc-per-node", 2, self.py(TREE))
        agent.wait_for(r"(up\n.*){2}")
        self.guardian_of(agent)
        os.killpg(agent.pid, signal.SIGKILL)
        agent.popen.wait(harness.PATIENCE_S)
        harness.wait_until(lambda: not self.marked(), "all processes of the job are gone", harness.GONE_WITHIN_S)

    def test_a_worker_that_ends_up_stopped_is_killed_all_the_same(self):
        agent = self.agent("--grace-period", "1s", self.sh("echo up\nkill -STOP $$\nsleep 300"))
        agent.wait_for("up")
        agent.signal(signal.SIGTERM)
        self.expect_code(agent.finish(), 143)

    def test_a_signal_that_came_before_the_agent_could_look_is_not_lost(self):
        """Blocked in the parent, so that it is pending from the agent's first instruction on."""
        def pending():
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
            os.kill(os.getpid(), signal.SIGTERM)
        # The worker inherits the mask and has to be killed.
        self.expect_code(self.start("run", "--grace-period", "1s", "sleep", 300, before_exec=pending).finish(), 143)

    def test_sigchld_that_was_ignored(self):
        """As under `trap "" CHLD`: the kernel would forget the workers as they end."""
        agent = self.agent(self.sh("exit 7"), before_exec=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
        self.expect_code(agent.finish(), 7)

    def test_sighup_is_ignored_under_nohup(self):
        agent = self.agent(self.py(LISTENS), before_exec=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        agent.wait_for("up")
        agent.signal(signal.SIGHUP)
        agent.signal(signal.SIGUSR1)
        agent.wait_for("got %d" % signal.SIGUSR1)
        agent.signal(signal.SIGTERM)
        self.expect_code(agent.finish(), 143)

    # Through a variable: a redirection would be what it sees.
    LISTS_ITS_OWN = 'seen=$(for fd in 0 1 2; do readlink /proc/$$/fd/$fd; done)\necho $seen >"$OUT/fds.$RANK"'

    def test_closed_standard_descriptors_are_no_trap(self):
        """Files that the agent opens must not become its own stdout."""
        def close_all():
            for fd in (0, 1, 2):
                os.close(fd)
        worker = self.sh(self.LISTS_ITS_OWN)
        finished = self.start("run", "--nproc-per-node", 2, "--log-dir", self.path("logs"), "--tee", 3, worker,
                              before_exec=close_all).finish()
        self.expect_code(finished, 0)
        self.assertRegex(self.read("fds.0"), r"^/dev/null pipe:\S+ pipe:\S+$")

    def test_each_standard_descriptor_may_be_closed(self):
        worker = self.sh(self.LISTS_ITS_OWN)
        for closed in (0, 1, 2):
            finished = self.start("run", worker, before_exec=lambda fd=closed: os.close(fd)).finish()
            self.expect_code(finished, 0)
            seen = self.read("fds.0").split()
            self.assertEqual(len(seen), 3, seen)
            self.assertRegex(seen[closed], "^(/dev/null|pipe:.*)$")
            self.assertNotIn("output.failed", finished.err)


class AsPid1(Duties, harness.MusterTest):
    pid1 = True

    def test_it_is_pid_1(self):
        finished = self.agent(self.sh("readlink /proc/1/exe; echo parent $PPID")).finish()
        self.assertEqual(self.expect_code(finished, 0).out, "%s\nparent 1\n" % os.path.realpath(harness.BINARY))

    def test_sigterm_works_as_soon_as_the_agent_runs(self):
        """The kernel ignores it for a PID 1 that has not asked for it; torchrun asks late."""
        for _ in range(10):
            agent = self.agent("sleep", 300)
            self.wait_until_signals_are_blocked(agent.agent_pid())
            agent.signal(signal.SIGTERM)
            self.expect_code(agent.finish(), 143)

    def test_no_signal_but_the_stop_signals_ends_anything(self):
        left_out = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGKILL, signal.SIGSTOP,
                    signal.SIGTSTP, signal.SIGUSR1, 32, 33}
        if harness.is_sanitized():  # it handles these itself
            left_out |= {signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT, signal.SIGTRAP}
        agent = self.agent(self.py(COUNTS))
        agent.wait_for("up")
        pid = agent.agent_pid()
        for count, number in enumerate(sorted(set(range(1, 65)) - left_out), 1):
            os.kill(pid, number)
            os.kill(pid, signal.SIGUSR1)
            agent.wait_for(r"count %d\n" % count)
        agent.signal(signal.SIGTERM)
        self.expect_code(agent.finish(), 143)

    def test_suspending_and_stopping_still_ends(self):
        """A PID 1 cannot be stopped; its workers can, and must end all the same."""
        agent = self.agent("--nproc-per-node", 2, "--grace-period", "2s", self.sh(SLEEPS))
        agent.wait_for(r"(up\n.*){2}")
        agent.signal(signal.SIGTSTP)
        time.sleep(0.2)
        agent.signal(signal.SIGTERM)
        self.expect_code(agent.finish(), 143)
