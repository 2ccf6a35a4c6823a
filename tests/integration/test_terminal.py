"""A worker on a terminal behaves as if it had been started from the shell."""
import re
import signal

import harness

SHELL = ["bash", "--norc", "--noprofile", "-i"]


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

    def worker_of(self, pid, name):
        def look():
            for child in harness.children_of(pid):
                with open("/proc/%d/comm" % child) as file:
                    if file.read().strip() == name:
                        return child
            return None
        return harness.wait_until(look, "the worker %s runs" % name)

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
        shell.type("$MUSTER run sh -c 'trap \"echo interrupted; exit 3\" INT; while :; do read line && echo \"got <$line>\"; done'; "
                   "echo \"code $?\"\n")
        agent = self.agent_of(shell)
        worker = self.worker_of(agent, "sh")
        shell.type("before\n")
        shell.wait_for("^got <before>")
        shell.type("\x1a")
        shell.wait_for("Stopped")
        harness.wait_until(lambda: harness.stat_of(agent)[0] == "T", "the agent is stopped")
        harness.wait_until(lambda: harness.stat_of(worker)[0] == "T", "the worker is stopped")
        shell.type("fg\n")
        harness.wait_until(lambda: harness.stat_of(agent)[0] != "T", "the agent goes on")
        harness.wait_until(lambda: harness.stat_of(worker)[0] != "T", "the worker goes on")
        shell.type("after\n")
        shell.wait_for("^got <after>")
        shell.type("\x03")
        harness.wait_until(lambda: not harness.is_alive(agent), "Ctrl-C ends the agent")
        self.leave(shell)
        self.assertEqual(self.marked(), {})

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
