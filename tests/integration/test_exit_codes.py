"""The exit code of the agent tells how the first failed worker ended."""
import os
import signal

import harness

# Signals whose default action ends a process. 32 and 33 belong to the C library's threads.
DEADLY = [number for number in range(1, 65) if number not in (
    32, 33, signal.SIGCHLD, signal.SIGCONT, signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU,
    signal.SIGURG, signal.SIGWINCH)]


class ExitCodes:
    """What holds for every agent, PID 1 or not."""
    pid1 = False

    def setUp(self):
        super().setUp()
        self.exits = self.sh('exit "$1"', "exits")
        self.dies = self.sh('ulimit -c 0\nkill -"$1" $$\nsleep 10', "dies")

    def run_muster(self, *arguments, **how):
        return super().run_muster(*arguments, pid1=self.pid1, **how)

    def test_all_256_exit_codes_of_a_worker_are_the_agents(self):
        wrong = {}
        for code in range(256):
            finished = self.run_muster("run", self.exits, code)
            if finished.code != code:
                wrong[code] = finished.code
        self.assertEqual(wrong, {})

    def test_death_by_each_signal_is_128_plus_its_number(self):
        wrong = {}
        for number in DEADLY:
            finished = self.run_muster("run", self.dies, number)
            if finished.code != 128 + number:
                wrong[number] = finished.code
        self.assertEqual(wrong, {})


class AsPid1(ExitCodes, harness.MusterTest):
    pid1 = True


class AsOrdinaryProcess(ExitCodes, harness.MusterTest):
    def test_a_program_that_cannot_be_started_says_why(self):
        script = self.write("script", "#!/no/such/interpreter\n", 0o755)
        finished = self.expect_code(self.run_muster("run", script), 127)
        self.assertIn("exec '%s': its interpreter '/no/such/interpreter' does not exist" % script, finished.last_error_line)
        finished = self.expect_code(self.run_muster("run", self.dir + "/"), 126)
        self.assertIn("it is a directory", finished.last_error_line)

    def test_a_script_that_is_missing_is_told_before_a_worker_starts(self):
        line = "muster: no script '%s/nothere.py'" % os.path.realpath(self.dir)
        for code, words, how in ((127, ("run", "nothere.py"), {}), (127, ("run", "--run-path", "nothere.py"), {}),
                                 (1, ("nothere.py",), {"as_torchrun": True})):
            finished = self.expect_code(self.run_muster(*words, cwd=self.dir, **how), code)
            self.assertEqual(finished.last_error_line, line)
            self.assertNotIn("worker.exit", finished.err)

    def test_as_torchrun_every_failure_is_1(self):
        for program, argument in ((self.exits, 1), (self.exits, 3), (self.exits, 255), (self.dies, 15), (self.dies, 9)):
            finished = self.run_muster("--no-python", program, argument, as_torchrun=True)
            self.expect_code(finished, 1)
        self.expect_code(self.run_muster("--no-python", self.exits, 0, as_torchrun=True), 0)

    def test_the_failed_rank_decides_not_the_ones_stopped_because_of_it(self):
        worker = self.sh('[ "$RANK" = 1 ] && exit 7\nsleep 100')
        self.expect_code(self.run_muster("run", "--nproc-per-node", 3, worker), 7)

    def test_the_first_failure_decides(self):
        """Rank 0 fails because it is stopped; what it then says is not the cause."""
        worker = self.sh('[ "$RANK" = 1 ] && exit 7\ntrap "exit 9" TERM\nsleep 100 & wait')
        self.expect_code(self.run_muster("run", "--nproc-per-node", 2, worker), 7)

    def test_success_needs_every_rank(self):
        worker = self.sh('[ "$RANK" = 0 ] || { sleep 0.3; exit 4; }')
        self.expect_code(self.run_muster("run", "--nproc-per-node", 2, worker), 4)
        self.expect_code(self.run_muster("run", "--nproc-per-node", 4, "true"), 0)

    def test_stopping_the_agent_is_128_plus_the_signal(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
            agent = self.start("run", "--nproc-per-node", 2, self.sh("echo up\nexec sleep 100"))
            agent.wait_for(r"(up\n.*){2}")
            agent.signal(number)
            self.expect_code(agent.finish(), 128 + number)

    def test_as_torchrun_stopping_the_agent_is_1(self):
        agent = self.start("--no-python", self.sh("echo up\nexec sleep 100"), as_torchrun=True)
        agent.wait_for("up")
        agent.signal(signal.SIGTERM)
        self.expect_code(agent.finish(), 1)
