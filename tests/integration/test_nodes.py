"""A job of many nodes: real agents, each on a loopback address of its own, and real workers."""
import json
import os
import signal
import socket
import struct
import threading
import time
import unittest

from harness import MusterTest, free_port, torch_python, wait_until

REPORT = 'echo "$RANK $LOCAL_RANK $GROUP_RANK $WORLD_SIZE $LOCAL_WORLD_SIZE $GROUP_WORLD_SIZE" >>"$OUT/ranks.$TORCHELASTIC_RESTART_COUNT"\n'


class ForeignServer:
    """Takes every connection, sends `answer`, and closes it unless it keeps it open."""

    def __init__(self, answer, keep_open):
        self.answer, self.keep_open, self.kept = answer, keep_open, []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]

    def __enter__(self):
        threading.Thread(target=self.serve, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        for each in [self.listener] + self.kept:
            each.close()

    def serve(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.kept.append(connection)
            if self.answer:
                connection.recv(4096)
                connection.sendall(self.answer)
            if not self.keep_open:
                connection.close()


def frame(**message):
    """A message of the control protocol (rendezvous/wire/CONTROL_PROTOCOL.md)."""
    body = json.dumps(message).encode()
    return struct.pack(">I", len(body)) + body


def read_frame(connection):
    """The next message; None when the other end has closed."""
    data = connection.recv(4)
    if not data:
        return None
    return json.loads(connection.recv(struct.unpack(">I", data)[0], socket.MSG_WAITALL))


class NodesTest(MusterTest):
    def ranks(self, attempt):
        """The lines of REPORT as numbers, sorted by rank."""
        return sorted([int(word) for word in line.split()] for line in self.read("ranks.%d" % attempt).splitlines())

    def count_started(self, attempt):
        return len(self.ranks(attempt)) if self.exists("ranks.%d" % attempt) else 0

    def start_node(self, number, port, nodes, *arguments, candidates=2, **how):
        """One agent by hand: node k on 127.0.1.k."""
        endpoints = ",".join("127.0.1.%d:%d" % (k, port) for k in range(1, candidates + 1))
        return self.start("run", "--nnodes", nodes, "--rdzv-endpoint", endpoints, "--local-addr", "127.0.1.%d" % number,
                          "--node-name", "node-%d" % number, *arguments, **how)


class RoundTest(NodesTest):
    def test_every_worker_knows_its_place(self):
        self.expect_code(self.run_muster("local", "--nodes", 2, "--nproc-per-node", 2, self.sh(REPORT)), 0)
        self.assertEqual(self.ranks(0), [[0, 0, 0, 4, 2, 2], [1, 1, 0, 4, 2, 2], [2, 0, 1, 4, 2, 2], [3, 1, 1, 4, 2, 2]])

    def test_all_dial_the_agent_of_node_rank_0(self):
        worker = self.sh('echo "$MASTER_ADDR:$MASTER_PORT" >>"$OUT/masters"')
        self.expect_code(self.run_muster("local", "--nodes", 3, worker), 0)
        masters = self.read("masters").split()
        self.assertEqual(len(masters), 3)
        self.assertEqual(len(set(masters)), 1)
        self.assertTrue(masters[0].startswith("127.0.1.1:"), masters)

    def test_the_order_of_arrival_does_not_matter(self):
        port = free_port()
        worker = self.sh(REPORT + 'echo "$GROUP_RANK" >"$OUT/node.$TEST_NODE"')
        second = self.start_node(2, port, 2, worker, env={"TEST_NODE": "2"})
        second.wait_for("leader.take_over|round.waiting|job.start", "err")
        first = self.start_node(1, port, 2, worker, env={"TEST_NODE": "1"})
        self.expect_code(first.finish(), 0)
        self.expect_code(second.finish(), 0)
        self.assertEqual((self.read("node.1"), self.read("node.2")), ("0\n", "1\n"))

    def test_node_rank_orders_the_nodes(self):
        port = free_port()
        worker = self.sh('echo "$GROUP_RANK" >"$OUT/node.$TEST_NODE"')
        agents = [self.start_node(k, port, 2, "--node-rank", 2 - k, worker, env={"TEST_NODE": str(k)}) for k in (1, 2)]
        for agent in agents:
            self.expect_code(agent.finish(), 0)
        self.assertEqual((self.read("node.1"), self.read("node.2")), ("1\n", "0\n"))

    def test_another_job_at_the_endpoint_is_refused_with_one_line_on_both_ends(self):
        port = free_port()
        first = self.start_node(1, port, 2, "--rdzv-id", "one", self.sh("exit 0"), candidates=1)
        first.wait_for("round.waiting", "err")
        second = self.start_node(2, port, 2, "--rdzv-id", "two", self.sh("exit 0"), candidates=1).finish()
        self.expect_code(second, 78)
        said = "node-2 has the run id 'two', the job at this endpoint 'one'"
        self.assertIn(said, second.last_error_line)
        first.wait_for("node.refused reason=\"" + said, "err")
        first.signal(signal.SIGTERM)
        # It leads, and has more to say than that; what it ends with is the last line all the same.
        self.assertRegex(self.expect_code(first.finish(), 143).last_error_line, "muster: stopped by SIGTERM")

    def test_an_address_of_another_machine_is_named(self):
        finished = self.expect_code(self.start("run", "--nnodes", 2, "--rdzv-endpoint", "127.0.1.1:%d" % free_port(), "--local-addr",
                                               "192.0.2.77", self.sh("exit 0")).finish(), 78)
        self.assertIn("--local-addr must be an address of this machine", finished.last_error_line)

    def test_a_job_to_which_only_strangers_came_says_so_and_ends_with_78(self):
        port = free_port()
        first = self.start_node(1, port, 2, "--rdzv-id", "one", "--rdzv-conf", "join_timeout=4", self.sh("exit 0"), candidates=1)
        first.wait_for("round.waiting", "err")
        second = self.start_node(2, port, 2, "--rdzv-id", "two", self.sh("exit 0"), candidates=1)
        self.expect_code(second.finish(), 78)
        finished = self.expect_code(first.finish(), 78)
        self.assertRegex(finished.last_error_line, "no round within 4 s: 1 of 2 nodes.*refused: node-2 has the run id 'two'")

    def test_a_running_job_is_not_disturbed_by_another_that_crosses_its_endpoint(self):
        port = free_port()
        worker = self.sh(REPORT + 'while [ ! -e "$OUT/go" ]; do sleep 0.05; done')
        nodes = [self.start_node(k, port, 2, "--rdzv-id", "one", worker) for k in (1, 2)]
        wait_until(lambda: self.count_started(0) == 2, "both workers run")
        for number in (3, 4):
            stranger = self.start_node(number, port, 2, "--rdzv-id", "two", self.sh("exit 0"))
            finished = self.expect_code(stranger.finish(), 78)
            self.assertRegex(finished.last_error_line, "'two'.*'one'")
        self.write("go", "")
        for node in nodes:
            self.expect_code(node.finish(), 0)
        self.assertFalse(self.exists("ranks.1"))

    def test_a_node_that_was_told_other_sizes_is_refused(self):
        port = free_port()
        first = self.start_node(1, port, 2, self.sh("exit 0"), candidates=1)
        first.wait_for("round.waiting", "err")
        finished = self.expect_code(self.start_node(2, port, "1:3", self.sh("exit 0"), candidates=1).finish(), 78)
        said = "node-2 has --nnodes 1:3, the job at this endpoint --nnodes 2"
        self.assertIn(said, finished.last_error_line)
        first.wait_for("node.refused reason=\"" + said, "err")
        third = self.start_node(3, port, 2, self.sh("exit 0"), candidates=1)
        self.expect_code(first.finish(), 0)
        self.expect_code(third.finish(), 0)

    def test_where_only_the_leader_decides_both_ends_say_whose_value_counts(self):
        port = free_port()
        first = self.start_node(1, port, 2, "--max-restarts", 1, self.sh("exit 0"), candidates=1)
        first.wait_for("round.waiting", "err")
        second = self.start_node(2, port, 2, self.sh("exit 0"), candidates=1)
        for node in (first, second):
            finished = self.expect_code(node.finish(), 0)
            self.assertIn("node-2 has --max-restarts 0, the leader --max-restarts 1: the leader's count", finished.err)

    def test_without_an_endpoint_it_says_what_is_missing(self):
        finished = self.run_muster("run", "--nnodes", 2, self.sh("exit 0"))
        self.expect_code(finished, 64)
        self.assertIn("--rdzv-endpoint", finished.last_error_line)


class ForeignTest(NodesTest):
    """Somebody else listens where the nodes should meet."""

    def end_with(self, answer, keep_open=False):
        """What an agent says at the end whose endpoint takes connections and sends `answer`."""
        with ForeignServer(answer, keep_open) as server:
            finished = self.run_muster("run", "--nnodes", 2, "--rdzv-endpoint", "127.0.0.1:%d" % server.port,
                                       "--rdzv-conf", "join_timeout=4", self.sh("exit 0"))
        self.expect_code(finished, 69)
        self.assertIn("leader.unusable", finished.err)
        return finished.last_error_line

    def test_what_answered_is_named(self):
        line = self.end_with(b"HTTP/1.1 400 Bad Request\r\nServer: nginx\r\n\r\n")
        self.assertIn("no agent of muster: an HTTP server answered 'HTTP/1.1 400 Bad Request'", line)

    def test_who_hangs_up_or_keeps_silent_is_told_apart(self):
        self.assertIn("closed the connection without a word: no agent of muster", self.end_with(b""))
        self.assertIn("takes the connection, but says nothing within 3 s", self.end_with(b"", keep_open=True))


class StrangerTest(NodesTest):
    """Nodes that have no place in the job for what they are, not for what they ask: told on both ends, and with 78."""
    SECRETS = ("0123456789abcdef0123456789abcdef\n", "fedcba9876543210fedcba9876543210\n")

    def start_leader(self, port, *flags, join_timeout=60, **how):
        leader = self.start_node(1, port, 2, "--rdzv-id", "job", "--rdzv-conf", "join_timeout=%d" % join_timeout, *flags,
                                 self.sh("exit 0"), candidates=1, **how)
        leader.wait_for("round.waiting", "err")
        return leader

    def say(self, port, **message):
        """What the leader answers to one message."""
        with socket.create_connection(("127.0.1.1", port)) as connection:
            connection.settimeout(10)
            connection.sendall(frame(**message))
            answer = read_frame(connection)
            self.assertIsNone(read_frame(connection))  # and it hangs up
            return answer

    def test_an_agent_of_another_version_is_told_so(self):
        port = free_port()
        leader = self.start_leader(port)
        said = "node-9 speaks version 2 of the control protocol, the job at this endpoint version 1: the nodes run different versions of muster"
        answer = self.say(port, type="hello", version=2, run_id="job", secured=False, term=0, node="node-9")
        self.assertEqual((answer["type"], answer["code"], answer["text"]), ("refuse", 0, said))
        leader.wait_for('node.refused reason="%s"' % said, "err")
        # Of a version in which everything else is different.
        answer = self.say(port, type="hello", version=3, job={"id": "job"})
        self.assertEqual(answer["text"].split(",")[0], "who asks speaks version 3 of the control protocol")
        # The job does not mind.
        second = self.start_node(2, port, 2, "--rdzv-id", "job", "--rdzv-conf", "join_timeout=60", self.sh("exit 0"), candidates=1)
        for node in (leader, second):
            self.expect_code(node.finish(), 0)

    def test_an_agent_that_meets_another_version_says_so_and_ends(self):
        said = "node-1 speaks version 1 of the control protocol, the job at this endpoint version 2: the nodes run different versions of muster"
        refuse = frame(type="refuse", code=0, text=said, job=["of", "version", 2])
        with ForeignServer(refuse, keep_open=False) as server:
            finished = self.run_muster("run", "--nnodes", 2, "--node-name", "node-1", "--rdzv-endpoint", "127.0.0.1:%d" % server.port,
                                       self.sh("exit 0"))
        self.expect_code(finished, 78)
        self.assertIn(said, finished.last_error_line)

    def test_a_leader_to_which_only_other_versions_came_ends_with_78(self):
        port = free_port()
        leader = self.start_leader(port, join_timeout=4)
        self.say(port, type="hello", version=2)
        finished = self.expect_code(leader.finish(), 78)
        self.assertRegex(finished.last_error_line, "no round within 4 s: 1 of 2 nodes.*; refused: who asks speaks version 2")

    def test_a_leader_to_which_only_other_secrets_came_ends_with_78(self):
        files = [self.write("secret.%d" % k, secret) for k, secret in enumerate(self.SECRETS)]
        started = []
        for ours, theirs, reason in ((files[0], files[1], "job secret differs"),
                                     (files[0], None, "no job secret there, but one here"),
                                     (None, files[1], "a job secret there, but none here")):
            port = free_port()
            leader = self.start_leader(port, join_timeout=4, env={"MUSTER_JOB_SECRET_FILE": ours})
            stranger = self.start_node(2, port, 2, "--rdzv-id", "job", self.sh("exit 0"), candidates=1, env={"MUSTER_JOB_SECRET_FILE": theirs})
            started.append((leader, stranger, reason))
        for leader, stranger, reason in started:
            refused = self.expect_code(stranger.finish(), 78)
            self.assertIn("secret", refused.last_error_line)
            finished = self.expect_code(leader.finish(), 78)
            self.assertRegex(finished.err, r"link.dropped peer=127.0.\d.\d:.*%s" % reason)
            self.assertRegex(finished.last_error_line, r"no round within 4 s: 1 of 2 nodes.*; refused: 127.0.[01].\d:.*%s" % reason)


class FailureTest(NodesTest):
    def test_one_failure_restarts_all_with_the_same_ranks(self):
        worker = self.sh(REPORT + '[ "$TORCHELASTIC_RESTART_COUNT" = 1 ] && exit 0\n'
                         '[ "$RANK" = 3 ] && { while [ "$(wc -l <"$OUT/ranks.0")" -lt 4 ]; do sleep 0.01; done; exit 3; }\n'
                         "sleep 60")
        finished = self.run_muster("local", "--nodes", 2, "--nproc-per-node", 2, "--max-restarts", 1, worker)
        self.expect_code(finished, 0)
        self.assertEqual(self.ranks(0), self.ranks(1))

    def test_a_window_forgets_old_restarts_on_one_node_and_on_many(self):
        # Fails each time otherwise: the same failure again and again would be a crash loop.
        worker = self.sh('[ "$RANK" = 0 ] || exec sleep 60\nsleep 1.2\n[ "$TORCHELASTIC_RESTART_COUNT" = 3 ] && exit 9\n'
                         'exit $((10 + TORCHELASTIC_RESTART_COUNT))')
        for nodes in (1, 2):
            flags = ("local", "--nodes", nodes, "--max-restarts", 1)
            never, late, soon = [self.start(*flags, *window, worker) for window in
                                 ((), ("--restart-window", "60s"), ("--restart-window", "1s"))]
            soon.wait_for("exit code 12", "err")  # the third failure, on a budget of one
            soon.signal(signal.SIGTERM)
            soon.finish()
            self.expect_code(never.finish(), 11)
            self.assertIn("the only restart is used", self.expect_code(late.finish(), 11).err)

    def test_the_first_failure_is_the_answer_of_every_node(self):
        port = free_port()
        worker = self.sh('[ "$RANK" = 1 ] && { echo no data >&2; exit 9; }\nsleep 60')
        nodes = [self.start_node(k, port, 2, "--termination-log", self.path("last.%d" % k), worker) for k in (1, 2)]
        for number, node in enumerate(nodes, 1):
            finished = self.expect_code(node.finish(), 9)
            self.assertRegex(finished.last_error_line, r"^\[node-%d\] muster: rank 1 on node-2 failed first: exit code 9" % number)
            self.assertIn("no data", self.read("last.%d" % number))

    def test_what_fails_because_of_another_failure_is_not_the_answer(self):
        """Rank 0 loses its peer, as in a collective: the connection ends with the process at its other end."""
        os.mkfifo(self.path("link"))
        worker = self.sh('[ "$RANK" = 1 ] && { exec 3>"$OUT/link"; sleep 0.3; exit 9; }\ntrap "" TERM\n'
                         'read line <"$OUT/link"\nsleep 0.3\necho "peer is gone" >&2\nexit 5')
        port = free_port()
        nodes = [self.start_node(k, port, 2, worker) for k in (1, 2)]
        for number, node in enumerate(nodes, 1):
            finished = self.expect_code(node.finish(), 9)
            self.assertIn("[node-%d] muster: rank 1 on node-2 failed first: exit code 9" % number, finished.last_error_line)
            self.assertEqual("1 other rank failed after it" in finished.last_error_line, number == 1, finished)

    def test_sigterm_on_all_nodes_is_143(self):
        port = free_port()
        worker = self.sh(REPORT + 'trap "echo saved >>$OUT/saved; exit 0" TERM\nwhile :; do sleep 0.05; done')
        nodes = [self.start_node(k, port, 2, worker) for k in (1, 2)]
        wait_until(lambda: self.count_started(0) == 2, "both workers run")
        time.sleep(0.2)  # until their traps are set
        for node in nodes:
            node.signal(signal.SIGTERM)
        for node in nodes:
            self.expect_code(node.finish(), 143)
        self.assertEqual(self.read("saved"), "saved\nsaved\n")

    def test_sigterm_between_two_attempts_is_143_and_ended_no_worker(self):
        worker = self.sh('[ "$RANK" = 1 ] && exec sleep 60\nexit 5')
        port = free_port()
        nodes = [self.start_node(k, port, 2, "--max-restarts", 1, "--restart-backoff", "1h", worker) for k in (1, 2)]
        nodes[0].wait_for('round.waiting reason="a pause before the restart"', "err")
        for node, last in zip(nodes, (r".*: 0 ranks ended as asked, 1 failed \(rank 0: exit code 5", ": no worker was running$")):
            node.signal(signal.SIGTERM)
            finished = self.expect_code(node.finish(), 143)
            self.assertRegex(finished.last_error_line, r"muster: stopped by SIGTERM" + last)

    def test_a_leader_that_waits_for_a_lost_node_at_the_end_goes_when_told(self):
        port = free_port()
        flags = ("--lease", "8s", "--replace-wait", "0s", "--rdzv-conf", "join_timeout=1")
        first, second = (self.start_node(k, port, 2, *flags, self.sh(REPORT + "exec sleep 60")) for k in (1, 2))
        wait_until(lambda: self.count_started(0) == 2, "both workers run")
        second.signal(signal.SIGSTOP)
        # Expelled after 8 s; a second later the job ends, and its leader stays for another lease to tell node 2.
        first.wait_for(r"muster: .+\n", "err")  # its last words: told to go before them, it would end with 143
        before = time.monotonic()
        first.signal(signal.SIGTERM)
        self.expect_code(first.finish(), 69)
        self.assertLess(time.monotonic() - before, 8)

    def test_every_node_tells_what_failed_and_every_line_has_its_node(self):
        worker = self.sh('[ "$RANK" = 1 ] && { echo no data >&2; exit 9; }\nexec sleep 60')
        finished = self.expect_code(self.run_muster("local", "--nodes", 2, worker), 9)
        lines = finished.err.splitlines()
        details = [line for line in lines if line.endswith(" FAILED")]
        self.assertEqual(sorted(line.split()[0] for line in details), ["[node-1]", "[node-2]"], finished)
        self.assertTrue(all(line.startswith(("[node-", "muster local: ")) for line in lines), finished)
        attempt = next(line for line in lines if line.startswith("[node-2]   attempt"))
        self.assertEqual(attempt.count("failed first"), 0, attempt)

    def test_one_signal_ends_a_local_job(self):
        local = self.start("local", "--nodes", 3, self.sh(REPORT + "exec sleep 60"))
        wait_until(lambda: self.count_started(0) == 3, "all workers run")
        os.kill(local.pid, signal.SIGINT)
        self.expect_code(local.finish(), 130)


class LossTest(NodesTest):
    ELASTIC = ("--lease", "2s", "--replace-wait", "0s", "--rdzv-conf", "last_call_timeout=1")
    # The first attempt runs until something happens to it.
    WORKER = REPORT + '[ "$TORCHELASTIC_RESTART_COUNT" = 0 ] && exec sleep 60\nexit 0'

    def lose(self, number, nodes, signal_number, *flags):
        port = free_port()
        candidates = min(nodes, 3)
        agents = {k: self.start_node(k, port, "1:%d" % nodes, *self.ELASTIC, *flags, self.sh(self.WORKER), candidates=candidates)
                  for k in range(1, nodes + 1)}
        wait_until(lambda: self.count_started(0) == nodes, "all workers run")
        agents[number].signal(signal_number)
        return agents

    def test_the_others_go_on_without_a_killed_node(self):
        agents = self.lose(2, 2, signal.SIGKILL)
        self.expect_code(agents[1].finish(), 0)
        self.assertEqual(self.ranks(1), [[0, 0, 0, 1, 1, 1]])

    def test_a_silent_node_is_expelled_after_its_lease(self):
        agents = self.lose(2, 2, signal.SIGSTOP, "--rdzv-conf", "last_call_timeout=1,join_timeout=5")
        self.expect_code(agents[1].finish(), 0)
        self.assertEqual(self.ranks(1), [[0, 0, 0, 1, 1, 1]])
        # It wakes after the job has ended without it and fences itself before anything else. What follows depends
        # on whether it can prove that the other one is gone: a round of its own, or the end of its join timeout.
        agents[2].signal(signal.SIGCONT)
        woken = agents[2].finish()
        self.assertIn("member.fenced", woken.err)
        self.assertIn(woken.code, (0, 69), woken)

    def test_a_failure_that_a_silent_node_explains_is_not_why_the_job_ends(self):
        """On no node: the leader's word is that of all."""
        port = free_port()
        worker = self.sh(REPORT + '[ "$RANK" = 1 ] || exec sleep 60\nwhile [ ! -e "$OUT/go" ]; do sleep 0.02; done\nexit 9')
        flags = ("--lease", "3s", "--replace-wait", "0s", "--rdzv-conf", "join_timeout=2")
        first, second, third = (self.start_node(k, port, 3, *flags, worker) for k in (1, 2, 3))
        wait_until(lambda: self.count_started(0) == 3, "all workers run")
        third.signal(signal.SIGSTOP)
        self.write("go", "")
        for node in (first, second):
            self.assertIn("muster: no round within 2 s: 2 of 3 nodes", self.expect_code(node.finish(), 69).last_error_line)
        third.signal(signal.SIGKILL)

    def test_chaos_kills_a_node(self):
        finished = self.run_muster("local", "--nodes", 2, "--chaos", "kill-node:2@1s", "--nnodes", "1:2", *self.ELASTIC,
                                   self.sh(self.WORKER))
        self.expect_code(finished, 0)
        self.assertEqual(self.ranks(1), [[0, 0, 0, 1, 1, 1]])


class TorchTest(NodesTest):
    def test_a_rank_that_lost_its_peer_in_a_collective_is_not_the_answer(self):
        """It fails at once and ends first: Python closes the connections of rank 1 tens of milliseconds before its process is gone."""
        python = torch_python()
        if python is None:
            self.skip_because("pytorch")
        worker = self.py("""
import os, traceback, torch, torch.distributed as dist
dist.init_process_group("gloo")
dist.all_reduce(torch.ones(1))
if dist.get_rank() == 1:
    raise ValueError("no such sample")
try:
    dist.all_reduce(torch.ones(1))
except RuntimeError:
    traceback.print_exc()
    os._exit(5)
""")
        for words in (["local", "--nodes", 2], ["run", "--nproc-per-node", 2]):
            finished = self.run_muster(*words, worker, env={"PYTHON_EXEC": python}, timeout_s=180)
            # PyTorch 1.13 now and then ends such a process by std::terminate, for a thread of its own.
            self.assertIn(finished.code, (1, 128 + signal.SIGABRT), finished)
            self.assertRegex(finished.err, r"muster: rank 1 on \S+ failed first: ")
            self.assertNotIn("rank 0 on", "\n".join(line for line in finished.err.splitlines() if "failed first" in line))

    def test_gloo_across_two_nodes(self):
        python = torch_python()
        if python is None:
            self.skip_because("pytorch")
        worker = self.py("""
import torch, torch.distributed as dist
dist.init_process_group("gloo")
total = torch.tensor([float(dist.get_rank() + 1)])
dist.all_reduce(total)
print("sum", total.item(), "of", dist.get_world_size(), flush=True)
dist.monitored_barrier()
""")
        finished = self.run_muster("local", "--nodes", 2, "--nproc-per-node", 2, worker, env={"PYTHON_EXEC": python},
                                   timeout_s=180)
        self.expect_code(finished, 0)
        self.assertEqual(finished.out.count("sum 10.0 of 4"), 4, finished)


if __name__ == "__main__":
    unittest.main()
