"""`muster local`: real agents on this machine, and faults on demand."""
import json
import os
import re
import signal
import subprocess
import time
import unittest

from harness import MusterTest, is_alive, torch_python, wait_until

# A round is told by its attempt: each worker writes its rank and the size of the world there.
REPORT = 'echo "$RANK of $WORLD_SIZE" >>"$OUT/ranks.$TORCHELASTIC_RESTART_COUNT"\n'
QUICK = ("--lease", "2s", "--replace-wait", "0s", "--rdzv-conf", "last_call_timeout=1", "--scale-up-interval", "100ms",
         "--scale-up-quiet", "100ms")
# Runs until somebody writes "end", which is what the last round of a test does.
UNTIL_END = REPORT + 'echo "attempt $TORCHELASTIC_RESTART_COUNT"\nwhile [ ! -e "$OUT/end" ]; do sleep 0.02; done'


class LocalTest(MusterTest):
    def ranks(self, attempt):
        name = "ranks.%d" % attempt
        return sorted(self.read(name).splitlines()) if self.exists(name) else []

    def world(self, size):
        return ["%d of %d" % (rank, size) for rank in range(size)]

    def wait_for_round(self, size, after=0):
        """The attempt, above `after`, in which all workers of a world of that size run."""
        def look():
            return next((attempt + 1 for attempt in range(after, 30) if self.ranks(attempt) == self.world(size)), None)
        return wait_until(look, "a round of %d workers" % size) - 1

    def start_local(self, nodes, chaos, *flags, worker=UNTIL_END):
        return self.start("local", "--nodes", nodes, "--chaos", chaos, *QUICK, *flags, self.sh(worker))

    def end(self, local, code=0):
        self.write("end", "")
        return self.expect_code(local.finish(), code)

    def survive(self, random_faults):
        local = self.start_local(3, random_faults, "--nnodes", "1:3", "--max-restarts", 9)
        local.wait_for("(?s)(muster local: [^\n]*@[^\n]*\n.*){3,}muster local: [^\n]*@5.25s\n", "err")
        # What came of the last fault is over, and it was undone: the newest round is one of all three.
        wait_until(lambda: self.newest() > 0 and self.ranks(self.newest()) == self.world(3), "all three run again")
        newest = self.newest()
        self.end(local)
        self.assertEqual(self.newest(), newest)

    def newest(self):
        return max((attempt for attempt in range(30) if self.ranks(attempt)), default=-1)


def network_of(pid):
    """The network namespace of a process; None when the process is gone."""
    try:
        return os.readlink("/proc/%d/ns/net" % pid)
    except OSError:
        return None


class FaultsTest(LocalTest):
    def test_faults_that_did_nothing_are_told_with_their_reason(self):
        worker = "while [ ! -e \"$OUT/end\" ]; do sleep 0.02; done"
        local = self.start_local(2, "continue-node:2@0s,kill-rank:9@round=1,heal@0s,kill-node:2@epoch=9", worker=worker)
        local.wait_for("kill-rank:9@round=1: rank 9 does not run", "err")
        finished = self.end(local)
        line = finished.last_error_line
        for said in ("continue-node:2@0s (node 2 is not stopped)", "kill-rank:9@round=1 (rank 9 does not run)",
                     "heal@0s (nothing was cut)", "kill-node:2@epoch=9 (the job ended before)"):
            self.assertIn(said, line)
        self.assertRegex(line, "^muster local: the job ended with 0; these faults did not happen: ")

    def test_a_job_that_wants_more_nodes_than_there_will_be_is_refused(self):
        finished = self.expect_code(self.run_muster("local", "--nodes", 2, "--nnodes", 3, self.sh("exit 0")), 64)
        self.assertEqual(finished.last_error_line, "muster: --nnodes wants at least 3 nodes, but --nodes starts 2")
        sizes = ("--nnodes", "2:4", "--nnodes-allowed", "4")
        finished = self.expect_code(self.run_muster("local", "--nodes", 3, *sizes, self.sh("exit 0")), 64)
        self.assertEqual(finished.last_error_line, "muster: the job takes 4 nodes, but --nodes starts 3")
        chaos = ("--chaos", "add-node@500ms")
        self.expect_code(self.run_muster("local", "--nodes", 3, *sizes, *chaos, self.sh("exit 0")), 0)
        self.expect_code(self.run_muster("local", "--nodes", 2, "--nnodes", 3, *chaos, self.sh("exit 0")), 0)

    def test_a_killed_node_comes_back(self):
        local = self.start_local(2, "kill-node:2@round=1,add-node:2@attempt=1", "--nnodes", "1:2")
        smaller = self.wait_for_round(1)
        self.wait_for_round(2, after=smaller + 1)
        finished = self.end(local)
        self.expect_lines(["^muster local: kill-node:2@round=1$", "^muster local: add-node:2@attempt=1$",
                           "^muster local: the job ended with 0 after kill-node:2@round=1, add-node:2@attempt=1; "
                           "node 1: exit code 0, node 2: exit code 0$"], finished.err)

    def test_a_further_node_joins(self):
        local = self.start_local(1, "add-node@round=1", "--nnodes", "1:2", "--nproc-per-node", 2)
        self.wait_for_round(4)
        self.assertIn("[node-2", self.end(local).err)

    def test_nodes_beyond_the_most_are_spares(self):
        """Which the agents are told: a job of more nodes than it was told of warns."""
        local = self.start_local(2, "add-node@round=1", "--nnodes", "1:2")
        local.wait_for("spare of round 1", "err")
        self.assertNotIn("node.surplus", self.end(local).err)

    def test_json_lines_say_their_node(self):
        finished = self.expect_code(self.run_muster("local", "--nodes", 2, "--log-format", "json", self.sh("exit 0")), 0)
        lines = [json.loads(line) for line in finished.err.splitlines() if line.startswith("{")]
        self.assertEqual({line.get("node") for line in lines}, {"node-1", "node-2"})

    def test_nodes_beyond_the_spares_are_warned_of(self):
        local = self.start_local(3, "", "--nnodes", "1:2", "--spares", 0)
        local.wait_for("node.surplus reason=.3 nodes are here, and 2 were told of", "err")
        self.end(local)

    def test_a_stopped_node_wakes_and_comes_back(self):
        local = self.start_local(2, "stop-node:2@round=1,continue-node:2@attempt=1", "--nnodes", "1:2")
        smaller = self.wait_for_round(1)
        self.wait_for_round(2, after=smaller + 1)
        self.assertIn("member.fenced", self.end(local).err)

    def test_a_frozen_leader_ends_its_workers_before_anything_else(self):
        local = self.start_local(3, "stop-node:1@1s,continue-node:1@7s", "--nnodes", "2:3", "--lease", "3s")
        local.wait_for(r"\[node-1\].* leader\.end", "err")
        finished = self.end(local)
        events = re.findall(r"(?m)^\[node-1\] \S+ \w (member\.fenced|node\.(?:lost|suspect)|round\.broken|leader\.(?:end|lost)) ",
                            finished.err)
        self.assertEqual(events[0], "member.fenced", finished)

    def test_a_preempted_node_saves_and_leaves(self):
        worker = REPORT + 'trap "echo saved >>$OUT/saved; exit 0" TERM\n[ "$WORLD_SIZE" = 1 ] && exit 0\necho "attempt $TORCHELASTIC_RESTART_COUNT"\n' \
                 "while :; do sleep 0.02; done"
        local = self.start_local(2, "preempt-node:2@1s", "--nnodes", "1:2", worker=worker)
        finished = self.expect_code(local.finish(), 0)
        self.assertIn("saved", self.read("saved"))
        self.assertEqual(len(re.findall(r" node\.leaving ", finished.err)), 1, finished)

    def test_only_the_workers_of_the_preempted_node_are_told(self):
        """The others hear of it when the round is stopped, as of any other reason."""
        worker = REPORT + 'trap "echo $RANK >>$OUT/told" USR1; trap "echo $RANK >>$OUT/stopped; exit 0" TERM\n[ "$WORLD_SIZE" = 2 ] && exit 0\n' \
                 ': >"$OUT/ready.$RANK"\nwhile [ "$(ls "$OUT" | grep -c ^ready)" -lt 3 ]; do sleep 0.02; done\n' \
                 'echo "all ready 3"\nwhile :; do sleep 0.02; done'
        local = self.start_local(3, "preempt-node:2@ready=3", "--nnodes", "2:3", "--preempt-signal", "USR1", "--grace-period", "4s", worker=worker)
        finished = self.expect_code(local.finish(), 0)
        self.assertEqual(self.read("told"), "1\n")
        self.assertEqual(sorted(self.read("stopped").split()), ["0", "1", "2"])
        self.assertEqual(sorted(re.findall(r'(?m)^\[(node-\d)\] .*round\.save .*"(\S+ \S+)', finished.err)),
                         [("node-1", "node-2 leaves;"), ("node-2", "this node"), ("node-3", "node-2 leaves;")])

    def test_a_killed_rank_costs_a_restart(self):
        local = self.start_local(2, "kill-rank:1@round=1", "--max-restarts", 1)
        self.wait_for_round(2, after=1)
        self.assertRegex(self.end(local).err, "round.verdict .*rank 1 on node-2 failed first: SIGKILL")

    def test_a_rank_is_killed_at_a_step(self):
        """As soon as any worker prints it, and no sooner."""
        worker = REPORT + ('step=0\nwhile [ ! -e "$OUT/end" ]; do step=$((step + 1))\n'
                           'echo "$step" >>"$OUT/steps.$TORCHELASTIC_RESTART_COUNT"; echo "rank $RANK step $step"; sleep 0.05; done')
        local = self.start_local(2, "kill-rank:1@step=8", "--max-restarts", 1, worker=worker)
        self.wait_for_round(2, after=1)
        finished = self.end(local)
        self.assertIn("8", self.read("steps.0").split())
        self.expect_lines(["^muster local: kill-rank:1@step=8$", "round.verdict .*rank 1 on node-2 failed first: SIGKILL",
                           "^muster local: the job ended with 0 after kill-rank:1@step=8; "], finished.err)

    def test_random_faults_are_survived(self):
        self.survive("random:seed=3:faults=3:every=1500ms")  # stops, kills and preempts nodes


class PartitionTest(LocalTest):
    """Each node is a network namespace."""
    # Steps of a tenth of a second; who sees that one took seconds says so.
    TRAIN = """
import os, time
import torch, torch.distributed as dist
dist.init_process_group("gloo")
before = time.monotonic()
step = stalled = 0
while True:
    step += 1
    done = torch.tensor([float(os.path.exists(os.environ["OUT"] + "/end"))])
    dist.all_reduce(done)
    stalled = max(stalled, time.monotonic() - before)
    before = time.monotonic()
    print("attempt", os.environ["TORCHELASTIC_RESTART_COUNT"], "step", step, flush=True)
    if done.item() > 0:
        break
    if stalled > 2:
        open(os.environ["OUT"] + "/stalled." + os.environ["RANK"], "w").close()
    time.sleep(0.1)
"""

    def setUp(self):
        super().setUp()
        if subprocess.run(["unshare", "--net", "true"], capture_output=True).returncode != 0:
            self.skip_because("namespaces", "network namespaces need root")

    def test_a_partition_is_decided_for_the_larger_side_and_heals(self):
        local = self.start_local(3, "partition:1@round=1,heal@attempt=1", "--nnodes", "2:3")
        smaller = self.wait_for_round(2)
        self.wait_for_round(3, after=smaller + 1)
        finished = self.end(local)
        self.assertRegex(finished.err, r"(?m)^\[node-1\] .*member.fenced")
        self.assertRegex(finished.err, r"(?m)^\[node-2\] .*leader.take_over")

    def test_a_short_cut_is_sat_out(self):
        local = self.start_local(3, "partition:3@round=1,heal@silent for=0", "--nnodes", "2:3", "--lease", "10s")
        self.wait_for_round(3)
        local.wait_for("node.back", "err")
        self.end(local)
        self.assertEqual(self.ranks(1), [])

    def test_of_two_halves_that_with_the_first_node_goes_on_whichever_is_named(self):
        for side in (1, 2):
            with self.subTest(side):
                finished = self.run_muster("local", "--nodes", 2, "--chaos", "partition:%d@round=1" % side, *QUICK, "--nnodes", "1:2",
                                           self.sh("sleep 4"))
                self.expect_code(finished, 0)
                self.assertIn("node 2 is left over", finished.err)
                self.assertEqual(finished.err.count("the job ended with"), 1)

    def test_random_faults_with_a_partition_are_survived(self):
        self.survive("random:seed=2:faults=3:every=1500ms")

    def links(self):
        return subprocess.run(["ip", "-o", "link"], check=True, capture_output=True, text=True).stdout

    def agents(self):
        """{node: pid} of the running agents."""
        found = {}
        for pid, command in self.marked().items():
            name = re.search(r"muster run .*--node-name=node-(\d+)", command)
            if name:
                found[int(name[1])] = pid
        return found

    def start_train(self, chaos, *flags):
        if torch_python() is None:
            self.skip_because("pytorch")
        return self.start("local", "--nodes", 3, "--chaos", chaos, *QUICK, *flags, self.py(self.TRAIN),
                          env={"PYTHON_EXEC": torch_python()})

    def test_the_workers_own_connections_are_cut_and_come_back(self):
        local = self.start_train("partition:3@attempt 0 step=5,heal@silent for=0", "--lease", "30s")
        wait_until(lambda: all(self.exists("stalled.%d" % rank) for rank in range(3)), "all ranks stood still and went on")
        finished = self.end(local)
        self.assertNotIn("attempt.restart", finished.err)
        self.assertEqual(finished.err.count("round.running"), 1)

    def test_training_goes_on_without_who_is_cut_off(self):
        local = self.start_train("partition:1@attempt 0 step=5,heal@attempt 1 step=3", "--nnodes", "2:3")
        local.wait_for("round 2: 2 of 2..3 nodes", "err")
        local.wait_for("attempt 1 step 3$")
        wait_until(lambda: len(re.findall(r"attempt [2-9] step 3$", local.out.text(), re.M)) >= 3, "all three make steps again")
        self.end(local)

    def test_a_node_sees_the_others_and_nothing_else(self):
        links = self.links()
        worker = 'ip -o -4 addr >"$OUT/addresses.$RANK"\n' + REPORT + 'echo "attempt 0"\nwhile [ ! -e "$OUT/end" ]; do sleep 0.02; done'
        local = self.start_local(2, "partition:1@epoch=1", worker=worker)
        self.wait_for_round(2)
        networks = {network_of(pid) for pid in self.agents().values()}
        self.assertEqual(len(networks | {network_of(os.getpid())}), 3)
        self.assertEqual(self.links(), links)  # nothing is seen from outside
        self.assertEqual(re.findall(r"inet (\S+)", self.read("addresses.1")), ["127.0.0.1/8", "127.0.1.2/32"])
        self.end(local)
        self.assertEqual(self.links(), links)

    def test_its_state_can_be_asked_for_from_outside(self):
        local = self.start_local(2, "partition:1@epoch=1")
        self.wait_for_round(2)
        port = local.wait_for(r"muster status 127.0.1.1:(\d+)", "err")[1]
        for host in ("127.0.1.1", "127.0.1.2"):  # the second one sends us to the first
            finished = self.expect_code(self.run_muster("status", "%s:%s" % (host, port)), 0)
            self.assertRegex(finished.out, r"node-2 +127.0.1.2:%s +1 +1 +running" % port)
        self.end(local)

    def test_a_further_node_and_one_that_comes_back_have_a_place(self):
        chaos = "add-node@round=1,kill-node:2@round=2,add-node:2@round=3,partition:1@epoch=9"
        local = self.start_local(2, chaos, "--nnodes", "2:3")
        local.wait_for("(?s)3 of 2..3 nodes, 3 workers.*2 of 2..3 nodes, 2 workers.*3 of 2..3 nodes, 3 workers", "err")
        wait_until(lambda: any(self.ranks(attempt) == self.world(3) for attempt in range(2, 9)), "three nodes again")
        self.end(local)

    def test_nothing_is_left_when_it_is_killed(self):
        local = self.start_local(2, "partition:1@epoch=1")
        self.wait_for_round(2)
        agents = self.agents()
        os.kill(local.pid, signal.SIGKILL)
        # Each was told to end, and they could still agree on it: the network lasts as long as they do.
        wait_until(lambda: not any(is_alive(pid) for pid in agents.values()), "the agents end")
        self.assertEqual(self.marked(), {})
        self.assertEqual(subprocess.run(["ip", "netns"], capture_output=True, text=True).stdout, "")


class PrivilegeTest(LocalTest):
    def start_without_privilege(self, *arguments):
        words = ["setpriv", "--bounding-set=-sys_admin"] + self.command(("local", "--nodes", 2) + arguments)
        return self.start_command(words)

    def test_who_cannot_have_namespaces_is_told_what_to_do(self):
        for chaos, fault in (("heal@0s,partition:1@epoch=1", "partition:1@epoch=1"), ("random:seed=1", "partition:1@5s")):
            finished = self.expect_code(self.start_without_privilege("--chaos", chaos, self.sh('echo >"$OUT/ran"')).finish(), 71)
            self.assertEqual(finished.err, "muster: --chaos '%s' needs network namespaces: run it as root, or below "
                             "`unshare --map-root-user --net`: unshare CLONE_NEWNET: Operation not permitted\n" % fault)
        self.assertFalse(self.exists("ran"))

    def test_all_but_partitions_needs_no_right_to_namespaces(self):
        finished = self.start_without_privilege("--chaos", "kill-rank:1@round=1", "--max-restarts", 1,
                                                self.sh('[ "$TORCHELASTIC_RESTART_COUNT" = 1 ] || sleep 60')).finish()
        self.assertRegex(self.expect_code(finished, 0).err, "the job ended with 0 after kill-rank:1@round=1;")

    def test_what_unshare_gives_is_enough(self):
        """As the line above advises an ordinary user."""
        words = ["unshare", "--map-root-user", "--net"] + self.command(["local", "--nodes", 2, "--chaos", "partition:1@epoch=1", self.sh("exit 0")])
        if subprocess.run(["unshare", "--map-root-user", "--net", "true"], capture_output=True).returncode != 0:
            self.skip_because("namespaces", "user namespaces are not permitted")
        self.expect_code(self.start_command(words).finish(), 0)

    def test_nodes_that_call_each_other_cannot_be_cut_off(self):
        chaos = ("--chaos", "partition:1@epoch=1")
        for flags, env in ((("--rsh",), {}), ((), {"MUSTER_RSH": "true"}), (("--framework", "mpi"), {})):
            finished = self.expect_code(self.run_muster("local", "--nodes", 2, *chaos, *flags, self.sh("exit 0"), env=env), 64)
            self.assertEqual(finished.last_error_line, "muster: --chaos 'partition:1@epoch=1': not with --rsh or --framework mpi, "
                             "whose nodes must share a network")

    def test_jobs_without_partitions_have_none(self):
        worker = self.sh('readlink /proc/self/ns/net >>"$OUT/networks"')
        finished = self.expect_code(self.run_muster("local", "--nodes", 2, "--chaos", "kill-rank:9@epoch=1", worker), 0)
        self.assertEqual(set(self.read("networks").split()), {network_of(os.getpid())})
        self.assertNotIn("namespaces", finished.err)


class EndTest(LocalTest):
    def test_a_node_that_stays_stopped_does_not_keep_the_job(self):
        local = self.start_local(2, "stop-node:2@attempt=0", "--nnodes", "1:2")
        self.wait_for_round(1)
        finished = self.end(local)
        self.assertIn("muster local: node 2 is left over: told to end", finished.err)

    def test_one_signal_ends_all_even_the_stopped(self):
        local = self.start_local(3, "stop-node:3@attempt=0", "--lease", "30s")
        local.wait_for("stop-node:3", "err")
        os.kill(local.pid, signal.SIGINT)
        self.expect_code(local.finish(), 130)

    def test_one_ctrl_c_ends_all(self):
        terminal = self.start_on_terminal(self.command(["local", "--nodes", 3, "--nproc-per-node", 2, self.sh("echo up\nexec sleep 60")]))
        terminal.wait_for("(?s)(up\r\n.*){6}")
        terminal.type("\x03")
        self.expect_code(terminal.finish(), 130)
        self.assertEqual(self.marked(), {})

    def test_lines_of_many_nodes_are_whole_and_marked(self):
        worker = 'i=0\nwhile [ $i -lt 300 ]; do i=$((i + 1)); echo "line $i of $RANK end"; echo "error $i of $RANK end" >&2; done'
        finished = self.expect_code(self.run_muster("local", "--nodes", 3, "--nproc-per-node", 2, self.sh(worker)), 0)
        lines = finished.out.splitlines()
        self.assertEqual(len(lines), 1800)
        for line in lines:
            self.assertRegex(line, r"^\[node-[123]:[0-5]\] line \d+ of [0-5] end$")
        self.assertEqual(sum(" error " in line for line in finished.err.splitlines()), 1800)

    def test_the_exit_code_is_the_job_s(self):
        local = self.start_local(2, "kill-node:2@attempt=0", "--nnodes", "1:2", worker=REPORT +
                                 'echo "attempt $TORCHELASTIC_RESTART_COUNT"\n[ "$WORLD_SIZE" = 1 ] && exit 7\nexec sleep 60')
        self.expect_code(local.finish(), 7)


class CommandLineTest(LocalTest):
    def test_explain_explains_once_and_runs_nothing(self):
        finished = self.expect_code(self.run_muster("local", "--nodes", 3, "--explain", "--max-restarts", 2, self.sh('echo >"$OUT/ran"')), 0)
        self.assertRegex(finished.out, "(?m)^--max-restarts +2 +command line")
        self.assertEqual(finished.out.count("--max-restarts"), 1)
        self.assertEqual(finished.err, "")
        self.assertFalse(self.exists("ran"))

    def test_a_wrong_word_is_named_in_one_line(self):
        cases = {("--nodes", 0, "x"): "--nodes '0'", ("--nodes", "two", "x"): "--nodes 'two'", ("x",): "--nodes N says how many",
                 ("--nodes",): "--nodes needs a value", ("--nodes", 2, "--chaos", "burn-node:1@5s", "x"): "'burn-node'",
                 ("--nodes", 2, "--chaos", "kill-node:3@5s", "x"): "'3' is no node", ("--nodes", 2, "--chaos", "kill-node:1@x", "x"): "'x'",
                 ("--nodes", 2, "--chaos", "random:sed=1", "x"): "'sed=1'", ("--nodes", 2, "--partitions", "none", "x"): "unknown flag '--partitions'",
                 ("--nodes", 2, "--rdzv-endpoint", "worker-0", "x"): "--rdzv-endpoint cannot be used here",
                 ("--nodes", 2, "--rdzv-backend=static", "x"): "--rdzv-backend cannot be used here",
                 ("--nodes", 2): "nothing to run", ("--nodes", 2, "--mast-restarts", 1, "x"): "unknown flag '--mast-restarts'"}
        for arguments, complaint in cases.items():
            finished = self.expect_code(self.run_muster("local", *arguments), 64)
            self.assertEqual((finished.out, finished.err.count("\n")), ("", 1), finished)
            self.assertIn(complaint, finished.err)

    def test_help_has_the_grammar(self):
        finished = self.expect_code(self.run_muster("local", "--help"), 0)
        for word in ("kill-node", "stop-node", "continue-node", "preempt-node", "add-node", "kill-rank", "partition", "heal", "random"):
            self.assertIn(word, finished.out)


if __name__ == "__main__":
    unittest.main()
