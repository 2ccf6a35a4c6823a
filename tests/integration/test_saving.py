"""Workers that are told to save before they are stopped, on one node and on two: nobody that has saved ends those that still do."""
import contextlib
import os
import re
import signal

from harness import MusterTest, free_port, is_alive, wait_until

# Local rank 0 saves at once when it hears USR1, the other one takes its time; then they end. SIGTERM ends them on the spot.
SAVES = """trap '[ "$LOCAL_RANK" = 0 ] || sleep "${SLOW:-1}"; echo "$RANK" >>"$OUT/saved"; exit 0' USR1
echo "$RANK" >>"$OUT/ready.$TORCHELASTIC_RESTART_COUNT"
while [ ! -e "$OUT/end" ]; do sleep 0.05; done"""
# One node takes its time to save, twice as long as those have whose peer is lost; what it writes is whole or it is not.
SLOW = """trap 'exit 0' TERM
[ "$GROUP_RANK" != 2 ] || trap 'echo begun >>"$OUT/save"; sleep 4; echo whole >>"$OUT/save"; exit 0' TERM
echo $$ >"$OUT/pid.$GROUP_RANK.$TORCHELASTIC_RESTART_COUNT"
echo "$GROUP_WORLD_SIZE" >>"$OUT/ready.$TORCHELASTIC_RESTART_COUNT"
[ "$TORCHELASTIC_RESTART_COUNT" = 0 ] || exit 0
while [ ! -e "$OUT/through.$GROUP_RANK" ]; do sleep 0.05; done"""
FLAGS = ("--nproc-per-node", 2, "--preempt-signal", "USR1", "--max-restarts", 2)


# What stands between the agent and the program. {program}: a Python that saves for longer than a moment when it hears SIGTERM.
IN_FRONT = {
    "sh": ["sh", "-c", "true; {program}; true"],
    "dash": ["dash", "-c", "true; {program}; true"],
    "bash": ["bash", "-c", "{program}; true"],
    "bash_that_execs": ["bash", "-c", "true; exec {program}"],
    "a_login_shell": ["bash", "-lc", "{program}; true"],
    "two_shells": ["sh", "-c", "true; bash -c '{program}; true'; true"],
    "an_exit_trap": ["bash", "-c", "trap 'echo bye' EXIT; {program}; true"],
    "a_trap_that_passes_it_on": ["bash", "-c", "trap 'kill -TERM $$child' TERM; {program} & child=$$!; wait $$child; wait $$child"],
    "a_pipe": ["sh", "-c", "{program} | cat"],
    "env": ["env", "A=1", "nice", "{program}"],
    "timeout": ["timeout", "1000", "{program}"],
    "python": ["/usr/bin/python3", "-c", "import subprocess; subprocess.run('{program}')"],
}
PROGRAM = """#!/usr/bin/python3
import os, signal, subprocess, sys
def save(number, frame):
    with open(os.environ["OUT"] + "/heard", "a") as heard:
        heard.write("x")
    subprocess.run(["sleep", "0.5"], check=True)  # a copy of what it saves is not told to end
    with open(os.environ["OUT"] + "/saved", "a") as saved:
        saved.write("x")
    sys.exit(0)
signal.signal(signal.SIGTERM, save)
open(os.environ["OUT"] + "/runs", "w").close()
while True:
    signal.pause()
"""


class InFrontTest(MusterTest):
    """The program hears SIGTERM once and saves, whatever started it."""

    def expect_saved(self, words):
        program = self.write("program", PROGRAM)
        os.chmod(program, 0o755)
        agent = self.start("run", "--grace-period", "60s", "--no-python", "--", *(word.format(program=program) for word in words))
        wait_until(lambda: self.exists("runs"), "the program runs")
        agent.signal(signal.SIGTERM)
        self.expect_code(agent.finish(), 143)
        self.assertEqual((self.read("heard"), self.read("saved")), ("x", "x"))


for name, words in IN_FRONT.items():
    setattr(InFrontTest, "test_%s" % name, lambda test, words=words: test.expect_saved(words))


class LeftBehindTest(MusterTest):
    """What workers leave running when they have succeeded."""

    def test_it_may_end_by_itself_for_a_moment(self):
        finished = self.run_muster("run", self.sh("(exec >/dev/null 2>&1; sleep 0.05) &"))
        self.expect_code(finished, 0)
        self.assertNotIn("group.left_behind", finished.err)

    def test_it_is_told_and_has_time_and_is_named(self):
        worker = self.sh('''setsid bash -c 'trap "sleep 0.5; echo x >$OUT/uploaded; exit" TERM; echo x >$OUT/runs; while :; do sleep 0.05; done' &
until [ -e "$OUT/runs" ]; do sleep 0.05; done''')
        finished = self.run_muster("run", worker)
        self.expect_code(finished, 0)
        self.assertTrue(self.exists("uploaded"))
        self.assertRegex(finished.err, r'W group.left_behind processes="bash \(pid \d+\).*SIGKILL after 5 s"')

    def test_it_is_killed_in_the_end(self):
        worker = self.sh("(trap '' TERM; exec sleep 1000) &")
        finished = self.run_muster("run", "--grace-period", "1s", worker)
        self.expect_code(finished, 0)
        self.assertRegex(finished.err, r'W group.grace_over .*processes="sleep \(pid \d+\)"')


class SavingTest(MusterTest):
    def lines(self, name):
        return sorted(self.read(name).splitlines()) if self.exists(name) else []

    def run_until_ready(self, *arguments, workers=2, **how):
        agent = self.start("run", *FLAGS, *arguments, self.sh(SAVES), **how)
        wait_until(lambda: len(self.lines("ready.0")) == workers, "all workers are ready")
        return agent

    def test_on_one_node_all_save(self):
        agent = self.run_until_ready("--grace-period", "60s")
        agent.signal(signal.SIGTERM)
        finished = self.expect_code(agent.finish(), 143)
        self.assertEqual(self.lines("saved"), ["0", "1"])
        self.assertEqual(self.lines("ready.1"), [])
        self.assertRegex(finished.err, 'round.save reason="this node leaves; SIGUSR1 to the workers, 30 s to save"')
        self.assertRegex(finished.last_error_line, "stopped by SIGTERM .*2 ranks ended as asked")

    def test_after_half_of_the_time_they_are_stopped(self):
        agent = self.run_until_ready("--grace-period", "1s")
        agent.signal(signal.SIGTERM)
        finished = self.expect_code(agent.finish(), 143)
        self.assertEqual(self.lines("saved"), ["0"])
        self.assertRegex(finished.err, "rank=1 .*signal=SIGTERM class=stopped")

    def test_a_second_signal_means_now(self):
        agent = self.run_until_ready("--grace-period", "300s", env={"SLOW": "100"})
        agent.signal(signal.SIGTERM)
        wait_until(lambda: self.lines("saved") == ["0"], "the first has saved")
        def heard_a_second():  # what comes at once counts as the same
            with contextlib.suppress(ProcessLookupError):
                agent.signal(signal.SIGTERM)
            return re.search(r"job.stop .*grace_s=0\b", agent.err.text())
        wait_until(heard_a_second, "the second signal counts")
        finished = self.expect_code(agent.finish(), 143)
        self.assertRegex(finished.err, "rank=1 .*signal=SIG(TERM|KILL) class=stopped")

    def test_of_two_nodes_the_workers_of_the_one_that_leaves_all_save(self):
        nodes = ("--nnodes", "1:2", "--rdzv-endpoint", "127.0.1.1:%d" % free_port(), "--replace-wait", "0s", "--grace-period", "60s")
        stays = self.start("run", *FLAGS, *nodes, "--node-name", "stays", "--local-addr", "127.0.1.1", self.sh(SAVES))
        leaves = self.run_until_ready(*nodes, "--node-name", "leaves", "--local-addr", "127.0.1.2", workers=4)
        leaves.signal(signal.SIGTERM)
        self.expect_code(leaves.finish(), 143)
        self.assertEqual(len(self.lines("saved")), 2)
        wait_until(lambda: self.lines("ready.1") == ["0", "1"], "the other goes on")
        self.write("end", "")
        self.expect_code(stays.finish(), 0)

    def test_a_node_whose_workers_end_in_that_moment_does_not_wait(self):
        """The agent finds both when it goes on: that they have succeeded, and that it is to go."""
        nodes = ("--nnodes", 2, "--rdzv-endpoint", "127.0.1.1:%d" % free_port())
        worker = self.sh('echo $$ >"$OUT/pid.$RANK"\nwhile [ ! -e "$OUT/end.$RANK" ]; do sleep 0.05; done')
        works, goes = (self.start("run", *nodes, "--node-name", "node-%d" % k, "--local-addr", "127.0.1.%d" % k, worker) for k in (1, 2))
        wait_until(lambda: self.lines("pid.0") and self.lines("pid.1"), "both run")
        goes.signal(signal.SIGSTOP)
        self.write("end.1", "")
        wait_until(lambda: not is_alive(int(self.read("pid.1"))), "its worker has ended")
        goes.signal(signal.SIGTERM)
        goes.signal(signal.SIGCONT)
        self.expect_code(goes.finish(10), 143)
        self.write("end.0", "")
        self.expect_code(works.finish(), 0)

    def test_a_node_without_work_left_ends_with_success(self):
        """Its own workers are through, those of the other node are not."""
        nodes = ("--nnodes", 2, "--rdzv-endpoint", "127.0.1.1:%d" % free_port())
        worker = self.sh('echo "$RANK" >>"$OUT/ready"\n[ "$RANK" = 1 ] || while [ ! -e "$OUT/end" ]; do sleep 0.05; done')
        works, done = (self.start("run", *nodes, "--node-name", "node-%d" % k, "--local-addr", "127.0.1.%d" % k, worker) for k in (1, 2))
        done.wait_for("worker.exit .*class=success", "err")
        done.signal(signal.SIGTERM)
        finished = self.expect_code(done.finish(), 0)
        self.assertRegex(finished.err, 'job.end result=succeeded reason="got SIGTERM, after its workers succeeded"')
        self.write("end", "")
        self.expect_code(works.finish(), 0)


class SavingWhileOthersEndTest(MusterTest):
    """Whoever was told to save keeps the time that it was told, whatever happens to others meanwhile."""
    def lines(self, name):
        return self.read(name).splitlines() if self.exists(name) else []

    def run_three(self, *flags):
        """Node 1 leads."""
        port = free_port()
        endpoints = "127.0.1.1:%d,127.0.1.2:%d" % (port, port)
        # Whose rank is which follows from the names.
        agents = {k: self.start("run", "--nnodes", "1:3", "--rdzv-endpoint", endpoints, "--local-addr", "127.0.1.%d" % k,
                                "--node-name", "node-%d" % k, "--replace-wait", "0s", "--rdzv-conf", "last_call_timeout=3",
                                "--lease", "60s", *flags, self.sh(SLOW)) for k in (1, 2, 3)}
        wait_until(lambda: self.lines("ready.0") == ["3"] * 3, "three workers are ready")
        return agents

    def leave(self, *flags):
        """Node 3 was told to go, and saves."""
        agents = self.run_three(*flags)
        agents[3].signal(signal.SIGTERM)
        wait_until(lambda: self.lines("save") == ["begun"], "it saves")
        return agents

    def expect_whole(self, agents, *stay):
        self.expect_code(agents[3].finish(), 143)
        self.assertEqual(self.lines("save"), ["begun", "whole"])
        for number in stay:
            self.expect_code(agents[number].finish(), 0)
        self.assertEqual(self.lines("ready.1"), [str(len(stay))] * len(stay))

    def test_another_node_is_lost(self):
        agents = self.leave()
        agents[2].signal(signal.SIGKILL)
        agents[3].wait_for("round.saving .*node-2.* ended", "err")
        self.expect_whole(agents, 1)

    def test_the_leader_is_lost(self):
        agents = self.leave()
        agents[1].signal(signal.SIGKILL)
        agents[3].wait_for("round.saving ", "err")
        self.expect_whole(agents, 2)

    def test_the_leader_leaves_when_its_own_worker_is_through(self):
        """Nobody's peers are gone, so all have the whole of the time, though the leader changes."""
        agents = self.run_three("--grace-period", "20s")
        self.write("through.0", "")
        agents[1].wait_for("worker.exit .*class=success", "err")
        agents[1].signal(signal.SIGTERM)
        self.expect_code(agents[1].finish(), 0)
        agents[3].wait_for('round.stop .*grace_s=20 reason="node-1, the leader of round 1, is gone; node-2 leads"', "err")
        for number in (2, 3):
            self.expect_code(agents[number].finish(), 0)
        self.assertEqual(self.lines("save"), ["begun", "whole"])
        self.assertEqual(self.lines("ready.1"), ["2", "2"])

    def test_a_worker_fails_elsewhere(self):
        agents = self.leave("--grace-period", "20s")
        os.kill(int(self.lines("pid.0.0")[0]), signal.SIGKILL)
        agents[3].wait_for("round.saving ", "err")
        self.expect_whole(agents, 1, 2)

    def test_another_node_leaves_at_once(self):
        agents = self.leave("--grace-period", "20s")
        agents[2].signal(signal.SIGTERM)  # its worker ends
        self.expect_code(agents[2].finish(), 143)
        self.expect_whole(agents, 1)

    def test_a_second_signal_means_now(self):
        agents = self.leave("--grace-period", "300s")
        agents[2].signal(signal.SIGKILL)
        agents[3].wait_for("round.saving ", "err")

        def heard_a_second():  # what comes at once counts as the same
            with contextlib.suppress(ProcessLookupError):
                agents[3].signal(signal.SIGTERM)
            return re.search(r"job.stop .*grace_s=0\b", agents[3].err.text())
        wait_until(heard_a_second, "the second signal counts")
        self.expect_code(agents[3].finish(), 143)
        self.assertEqual(self.lines("save"), ["begun"])
        self.expect_code(agents[1].finish(), 0)
