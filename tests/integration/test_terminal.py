"""A worker on a terminal behaves as if it had been started from the shell."""
import fcntl
import os
import re
import shlex
import signal
import struct
import termios

import harness

SHELL = ["bash", "--norc", "--noprofile", "-i"]
INNER_SHELL = "env PS1='inner> ' " + " ".join(SHELL)


class Terminal(harness.MusterTest):
    def shell(self):
        """An interactive shell with job control on a terminal of its own."""
        shell = self.start_on_terminal(SHELL, env={"PS1": "ready> ", "MUSTER": harness.BINARY})
        shell.wait_for("ready> ")
        return shell

    def agent_of(self, shell):
        return harness.wait_until(lambda: [pid for pid in harness.children_of(shell.pid) if self.is_agent(pid)],
                                  "the agent runs in the shell")[0]

    @staticmethod
    def is_agent(pid):
        try:
            with open("/proc/%d/cmdline" % pid, "rb") as file:
                return file.read().startswith(harness.BINARY.encode())
        except OSError:
            return False

    @staticmethod
    def name_of(pid):
        with open("/proc/%d/comm" % pid) as file:
            return file.read().strip()

    def worker_of(self, pid, name):
        def look():
            return next((child for child in harness.children_of(pid) if self.name_of(child) == name), None)
        return harness.wait_until(look, "the worker %s runs" % name)

    def wait_for_foreground(self, terminal, group):
        harness.wait_until(lambda: os.tcgetpgrp(terminal.terminal) == group, "the worker has the foreground")

    def leave(self, shell):
        shell.type("exit\n")
        shell.popen.wait(harness.PATIENCE_S)

    def test_the_worker_reads_and_writes_the_terminal(self):
        shell = self.shell()
        shell.type("$MUSTER run sh -c '[ -t 0 ] && [ -t 1 ] && echo both are terminals; read line; echo \"got <$line>\"'\n")
        shell.wait_for("^both are terminals")
        shell.type("hello\n")
        shell.wait_for("^got <hello>")
        self.leave(shell)

    def test_ctrl_c_ends_the_job(self):
        shell = self.shell()
        shell.type("$MUSTER run sleep 300; echo \"code $?\"\n")
        self.worker_of(self.agent_of(shell), "sleep")
        shell.type("\x03")
        shell.wait_for("^code 130")
        self.leave(shell)
        self.assertEqual(self.marked(), {})

    def test_ctrl_z_suspends_and_fg_continues(self):
        shell = self.shell()
        shell.type("$MUSTER run sh -c 'trap \"echo interrupted; exit 3\" INT; while :; do read line && echo \"got <$line>\"; done'\n")
        agent = self.agent_of(shell)
        worker = self.worker_of(agent, "sh")
        shell.type("before\n")
        shell.wait_for("^got <before>")
        shell.type("\x1a")
        shell.wait_for("Stopped")
        harness.wait_until(lambda: harness.stat_of(agent)[0] == "T", "the agent is stopped")
        harness.wait_until(lambda: harness.stat_of(worker)[0] == "T", "the worker is stopped")
        shell.type("echo outer shell $((1 + 1))\n")
        shell.wait_for("^outer shell 2")
        shell.type("fg\n")
        harness.wait_until(lambda: harness.stat_of(agent)[0] != "T", "the agent goes on")
        harness.wait_until(lambda: harness.stat_of(worker)[0] != "T", "the worker goes on")
        shell.type("after\n")
        shell.wait_for("^got <after>")
        shell.type("\x03")
        shell.wait_for("interrupted\r$")
        harness.wait_until(lambda: not harness.is_alive(agent), "the agent ends with its program")
        shell.type("echo code $?\n")
        shell.wait_for("^code 3")
        self.leave(shell)
        self.assertEqual(self.marked(), {})

    def test_in_the_background_the_worker_waits_for_fg(self):
        shell = self.shell()
        shell.type("$MUSTER run cat &\n")
        shell.wait_for("ready> ")
        agent = self.agent_of(shell)
        harness.wait_until(lambda: harness.stat_of(agent)[0] == "T", "the worker wants to read, so the job is stopped")
        shell.type("fg\n")
        harness.wait_until(lambda: harness.stat_of(agent)[0] != "T", "the agent goes on")
        self.wait_for_foreground(shell, self.worker_of(agent, "cat"))
        shell.type("hello\n")
        shell.wait_for("^hello\r\nhello")
        shell.type("\x04")
        harness.wait_until(lambda: not harness.is_alive(agent), "the agent ends with its program")
        self.leave(shell)

    def test_who_stops_the_agent_stops_the_worker_and_fg_continues_both(self):
        shell = self.shell()
        shell.type("$MUSTER run cat\n")
        agent = self.agent_of(shell)
        worker = self.worker_of(agent, "cat")
        self.wait_for_foreground(shell, worker)
        os.kill(agent, signal.SIGTSTP)
        shell.wait_for("Stopped")
        harness.wait_until(lambda: harness.stat_of(worker)[0] == "T", "the worker is stopped")
        shell.type("fg\n")
        self.wait_for_foreground(shell, worker)
        shell.type("hello\n")
        shell.wait_for("^hello\r\nhello")
        shell.type("\x04")
        harness.wait_until(lambda: not harness.is_alive(agent), "the agent ends with its program")
        self.leave(shell)

    def expect_job_control(self, terminal):
        """Types into a terminal on which `INNER_SHELL` was started; it ends with 7."""
        terminal.wait_for("^inner> ")
        terminal.type("set -o | grep monitor\n")
        terminal.wait_for(r"^monitor\s+on")
        terminal.type("sleep 100 &\n")
        terminal.wait_for(r"^\[1\] ")
        before = os.tcgetpgrp(terminal.terminal)
        terminal.type("fg\n")
        harness.wait_until(lambda: os.tcgetpgrp(terminal.terminal) != before, "the job has the foreground")
        harness.wait_until(lambda: self.name_of(os.tcgetpgrp(terminal.terminal)) == "sleep", "it is no shell any more")
        terminal.type("\x1a")
        terminal.wait_for(r"^\[1\]\+\s+Stopped\s+sleep 100")
        terminal.type("kill -KILL %1; wait; echo tty is $(tty </dev/tty)\n")
        terminal.wait_for("^tty is /dev/tty")
        terminal.type("exit 7\n")

    def test_a_shell_has_job_control(self):
        shell = self.shell()
        shell.type("$MUSTER run %s; echo \"code $?\"\n" % INNER_SHELL)
        self.expect_job_control(shell)
        shell.wait_for("^code 7")
        self.assertNotIn("no job control", shell.out.text())
        self.leave(shell)
        self.assertEqual(self.marked(), {})

    def test_a_shell_has_job_control_also_below_pid_1(self):
        for owned in (True, False):
            with self.subTest(owned=owned):
                inner = self.start_on_terminal(self.command(["run", *shlex.split(INNER_SHELL)], pid1=True), owned=owned)
                self.expect_job_control(inner)
                self.assertEqual(inner.popen.wait(harness.PATIENCE_S), 7)
                self.assertNotIn("no job control", inner.out.text())

    def test_a_program_asks_for_a_password(self):
        code = "import getpass; print('got', getpass.getpass('word: '))"
        agent = self.start_on_terminal([harness.BINARY, "run", "python3", "-c", code])
        agent.wait_for("word: ")
        agent.type("secret\n")
        agent.wait_for("^got secret")
        self.assertEqual(agent.popen.wait(harness.PATIENCE_S), 0)
        self.assertEqual(agent.out.text().count("secret"), 1, "it is not shown")

    def test_ctrl_c_is_the_programs_own(self):
        code = ("import signal, sys\n"
                "try:\n"
                "    print('at work', flush=True); signal.pause()\n"
                "except KeyboardInterrupt:\n"
                "    print('word?', flush=True); sys.stdin.readline(); sys.exit(5)\n")
        agent = self.start_on_terminal([harness.BINARY, "run", "python3", "-c", code])
        agent.wait_for("^at work")
        agent.type("\x03")
        agent.wait_for(r"word\?\r$")
        agent.type("go\n")
        self.assertEqual(agent.popen.wait(harness.PATIENCE_S), 5)
        self.assertNotIn("job.stop", agent.out.text())

    def test_a_key_that_ends_the_program_ends_the_job(self):
        for key, code in (("\x03", 130), ("\x1c", 131)):
            with self.subTest(code=code):
                agent = self.start_on_terminal([harness.BINARY, "run", "--max-restarts", "3", "sleep", "300"])
                self.wait_for_foreground(agent, self.worker_of(agent.pid, "sleep"))
                agent.type(key)
                self.assertEqual(agent.popen.wait(harness.PATIENCE_S), code)
                self.assertNotIn("attempt.restart", agent.out.text())

    def test_a_script_that_runs_the_agent_hears_of_the_key(self):
        script = self.start_on_terminal(["sh", "-c", "\"$MUSTER\" run sleep 300; echo went on"], env={"MUSTER": harness.BINARY})
        self.wait_for_foreground(script, self.worker_of(self.agent_of(script), "sleep"))
        script.type("\x03")
        self.assertEqual(script.popen.wait(harness.PATIENCE_S), -signal.SIGINT)
        self.assertNotIn("went on", script.out.text())

    def test_ctrl_z_is_undone_where_nobody_could_continue_us(self):
        code = ("import os, signal, sys\n"
                "signal.signal(signal.SIGCONT, lambda *_: os.write(1, b'continued'))\n"
                "print('at work', flush=True)\n"
                "print('got', sys.stdin.readline())\n")
        agent = self.start_on_terminal([harness.BINARY, "run", "python3", "-c", code])
        agent.wait_for("^at work")
        agent.type("\x1a")
        agent.wait_for("continued")
        agent.type("hello\n")
        agent.wait_for("^got hello")
        self.assertEqual(agent.popen.wait(harness.PATIENCE_S), 0)

    def test_a_shell_suspends_itself_where_somebody_can_continue_it(self):
        alone = self.start_on_terminal([harness.BINARY, "run", *shlex.split(INNER_SHELL)])
        alone.wait_for("^inner> ")
        alone.type("suspend\n")
        alone.type("exit 7\n")
        self.assertEqual(alone.popen.wait(harness.PATIENCE_S), 7)
        shell = self.shell()
        shell.type("$MUSTER run %s\n" % INNER_SHELL)
        shell.wait_for("^inner> ")
        agent = self.agent_of(shell)
        shell.type("suspend\n")
        shell.wait_for("Stopped")
        harness.wait_until(lambda: harness.stat_of(agent)[0] == "T", "the agent is stopped")
        shell.type("fg\n")
        harness.wait_until(lambda: harness.stat_of(agent)[0] != "T", "the agent goes on")
        shell.type("exit\n")
        harness.wait_until(lambda: not harness.is_alive(agent), "the agent ends with its program")
        self.leave(shell)

    def test_the_program_hears_of_another_size(self):
        code = ("import os, signal\n"
                "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGWINCH])\n"
                "print('at work', flush=True); signal.sigwait([signal.SIGWINCH]); print(os.get_terminal_size(2))\n")
        agent = self.start_on_terminal([harness.BINARY, "run", "python3", "-c", code])
        agent.wait_for("^at work")
        fcntl.ioctl(agent.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 111, 0, 0))
        agent.wait_for("columns=111, lines=33")
        self.assertEqual(agent.popen.wait(harness.PATIENCE_S), 0)

    def test_the_terminal_is_given_back_as_it_was(self):
        def end_of(agent, worker):
            return {"SIGTERM to the agent": lambda: os.kill(agent, signal.SIGTERM),
                    "the worker is killed": lambda: os.kill(worker, signal.SIGKILL)}
        for how, code in (("SIGTERM to the agent", 143), ("the worker is killed", 137)):
            with self.subTest(how):
                script = "read line; \"$MUSTER\" run sh -c 'stty raw -echo; echo at work; exec sleep 300'; echo \"code $?\"; read line"
                outer = self.start_on_terminal(["sh", "-c", script], env={"MUSTER": harness.BINARY})
                before = termios.tcgetattr(outer.terminal)
                outer.type("\n")
                outer.wait_for("at work")
                self.assertNotEqual(termios.tcgetattr(outer.terminal), before)
                agent = self.agent_of(outer)
                worker = self.worker_of(agent, "sleep")
                self.assertEqual(os.tcgetpgrp(outer.terminal), worker)
                end_of(agent, worker)[how]()
                outer.wait_for("^code %d" % code)
                self.assertEqual(os.tcgetpgrp(outer.terminal), outer.pid)
                self.assertEqual(termios.tcgetattr(outer.terminal), before)
                outer.type("\n")
                outer.popen.wait(harness.PATIENCE_S)

    def test_a_shell_takes_the_terminal_when_the_agent_is_killed(self):
        shell = self.shell()
        shell.type("$MUSTER run cat\n")
        agent = self.agent_of(shell)
        worker = self.worker_of(agent, "cat")
        self.wait_for_foreground(shell, worker)
        os.kill(agent, signal.SIGKILL)
        shell.wait_for("Killed")
        # A read that has begun takes what is typed, although its program is in the background now.
        harness.wait_until(lambda: not harness.is_alive(worker), "the worker follows its agent", harness.GONE_WITHIN_S)
        shell.type("echo code $?\n")
        shell.wait_for("^code 137")
        self.leave(shell)
        harness.wait_until(lambda: not self.marked(), "everything is gone", harness.GONE_WITHIN_S)

    def test_what_a_program_did_to_the_settings_stays_if_it_succeeds(self):
        script = "\"$MUSTER\" run stty -echo; echo \"code $?\"; read line"
        outer = self.start_on_terminal(["sh", "-c", script], env={"MUSTER": harness.BINARY})
        outer.wait_for("^code 0")
        self.assertFalse(termios.tcgetattr(outer.terminal)[3] & termios.ECHO)
        self.assertEqual(os.tcgetpgrp(outer.terminal), outer.pid)
        outer.type("\n")
        outer.popen.wait(harness.PATIENCE_S)

    def test_a_program_that_cannot_be_started_leaves_the_terminal(self):
        script = "\"$MUSTER\" run ./none; echo \"code $?\"; read line; echo \"got <$line>\""
        os.makedirs(os.path.join(self.dir, "none"))
        outer = self.start_on_terminal(["sh", "-c", script], env={"MUSTER": harness.BINARY})
        outer.wait_for("^code ")
        outer.type("hello\n")
        outer.wait_for("^got <hello>")
        outer.popen.wait(harness.PATIENCE_S)

    def test_a_teed_program_has_a_session_of_its_own(self):
        code = "import os; print('leads' if os.getsid(0) == os.getpid() else 'does not lead')"
        for flags, words in ((["--tee", "3"], "leads"), ([], "does not lead")):
            with self.subTest(flags=flags):
                agent = self.start_on_terminal([harness.BINARY, "run", *flags, "python3", "-c", code])
                agent.wait_for("(^| )%s" % words)
                self.assertEqual(agent.popen.wait(harness.PATIENCE_S), 0)

    def test_the_agent_ends_when_the_terminal_goes_away(self):
        shell = self.shell()
        shell.type("$MUSTER run sleep 300\n")
        agent = self.agent_of(shell)
        self.worker_of(agent, "sleep")
        shell.popen.send_signal(signal.SIGHUP)
        harness.wait_until(lambda: not harness.is_alive(agent), "the agent is gone")
        shell.popen.wait(harness.PATIENCE_S)
        harness.wait_until(lambda: not self.marked(), "everything is gone", harness.GONE_WITHIN_S)

    def test_several_ranks_share_the_terminal_line_by_line(self):
        agent = self.start_on_terminal([harness.BINARY, "run", "--nproc-per-node", "2", self.sh("echo hello; echo error >&2")])
        agent.popen.wait(harness.PATIENCE_S)
        agent.out.thread.join(harness.GONE_WITHIN_S)
        lines = [line for line in agent.out.text().splitlines() if line.startswith("[")]
        host = re.escape(harness.short_host_name())
        for rank in range(2):
            for text in ("hello", "error"):
                self.assertEqual(len([line for line in lines if re.fullmatch(r"\[%s:%d\] %s" % (host, rank, text), line)]), 1, lines)
