"""A job whose leader is lost: another of those who may lead goes on with it."""
import os
import signal

from harness import free_port, wait_until
from test_nodes import REPORT, NodesTest

FLAGS = ("--replace-wait", "0s", "--rdzv-conf", "last_call_timeout=1,join_timeout=15")
# The first attempt runs until something happens to it.
WORKER = REPORT + '[ "$TORCHELASTIC_RESTART_COUNT" = 0 ] && exec sleep 60\nexit 0'


class KilledLeaderTest(NodesTest):
    ELASTIC = ("--lease", "2s", *FLAGS)

    def test_another_candidate_takes_over_from_a_killed_leader(self):
        port = free_port()
        agents = [self.start_node(k, port, "1:3", *self.ELASTIC, self.sh(WORKER), candidates=3) for k in (1, 2, 3)]
        wait_until(lambda: self.count_started(0) == 3, "all workers run")
        agents[0].signal(signal.SIGKILL)
        finished = {number: self.expect_code(agents[number - 1].finish(), 0) for number in (2, 3)}
        self.assertEqual(self.ranks(1), [[0, 0, 0, 2, 1, 2], [1, 0, 1, 2, 1, 2]])
        self.assertIn('node.lost reason="node-1 ended: nothing listens where its agent did"', finished[2].err)
        for node in finished.values():
            self.assertRegex(node.err, 'round.stop .*reason="node-1, the leader of round 1, is gone; node-2 leads"')
        # Of success every node tells that had no other part in it than to work.
        self.assertRegex(finished[3].err, "job.end .*all 2 nodes succeeded")

    def test_a_spare_stands_in_for_the_only_node(self):
        port = free_port()
        agents = [self.start_node(k, port, "1", "--spares", 1, *self.ELASTIC, self.sh(WORKER), candidates=2) for k in (1, 2)]
        wait_until(lambda: self.count_started(0) == 1, "its worker runs")
        agents[1].wait_for("spare of round 1", "err")
        self.assertEqual(self.count_started(0), 1)
        agents[0].signal(signal.SIGKILL)
        self.expect_code(agents[1].finish(), 0)
        self.assertEqual(self.ranks(1), [[0, 0, 0, 1, 1, 1]])

    def test_the_only_candidate_is_killed_and_started_again(self):
        """The other node is half of the round, without the lowest: only that one listens where the leader did proves that it is gone."""
        for nodes in ("1:2", "2"):
            port = free_port()
            words = (port, nodes, *self.ELASTIC, self.sh(WORKER))
            agents = [self.start_node(k, *words, candidates=1) for k in (1, 2)]
            wait_until(lambda: self.count_started(0) == 2, "all workers run")
            agents[0].signal(signal.SIGKILL)
            agents[0].finish()
            agents[0] = self.start_node(1, *words, candidates=1)
            for agent in agents:
                self.expect_code(agent.finish(), 0)
            self.assertEqual(self.ranks(1), [[0, 0, 0, 2, 1, 2], [1, 0, 1, 2, 1, 2]])
            for attempt in (0, 1):
                os.remove(self.path("ranks.%d" % attempt))

    def test_workers_that_fail_with_a_killed_leader_cost_no_restart(self):
        """They lose their connection to rank 0 before their agents have another leader."""
        port, meeting = free_port(), free_port()
        worker = self.py("""
import os, socket, time
if os.environ["TORCHELASTIC_RESTART_COUNT"] != "0":
    os._exit(0)
place = ("127.0.1.1", %d)
if os.environ["RANK"] == "0":
    server = socket.create_server(place)
    peers = [server.accept()[0] for _ in range(2)]
    open(os.environ["OUT"] + "/met", "w").close()
    time.sleep(60)
while True:
    try:
        peer = socket.create_connection(place)
        break
    except ConnectionRefusedError:
        time.sleep(0.01)
try:
    peer.recv(1)
finally:
    os._exit(5)
""" % meeting)
        agents = [self.start_node(k, port, "1:3", *self.ELASTIC, worker, candidates=3) for k in (1, 2, 3)]
        wait_until(lambda: os.path.exists(os.path.join(self.dir, "met")), "the workers have met")
        agents[0].signal(signal.SIGKILL)
        for agent in agents[1:]:
            self.expect_code(agent.finish(), 0)


class FrozenLeaderTest(NodesTest):
    """Nobody knows what became of it, so it counts as one that may live; two of four nodes are no quorum without it."""

    def lose(self, how):
        """The leader of four freezes for good, and when that is noticed node 4 is lost; the other two."""
        port = free_port()
        flags = ("--lease", "8s", "--log-level", "debug", *FLAGS)
        agents = [self.start_node(k, port, "2:4", *flags, self.sh(WORKER), candidates=3) for k in range(1, 5)]
        for agent in agents[1:3]:
            agent.wait_for("round.running .*on all its nodes", "err")
        agents[0].signal(signal.SIGSTOP)
        agents[1].wait_for("leader.lost ", "err")
        agents[3].signal(how)
        return agents[1:3]

    def go_on_without(self, how):
        finished = [self.expect_code(agent.finish(), 0) for agent in self.lose(how)]
        self.assertEqual(self.ranks(1), [[0, 0, 0, 2, 1, 2], [1, 0, 1, 2, 1, 2]])
        self.assertIn('node.lost reason="node-4 ended: nothing listens where its agent did"', finished[0].err)

    def test_a_node_that_is_told_to_go_meanwhile_does_not_count(self):
        self.go_on_without(signal.SIGTERM)

    def test_a_node_that_is_killed_meanwhile_does_not_count(self):
        self.go_on_without(signal.SIGKILL)

    def test_a_node_that_freezes_as_well_may_live(self):
        for agent in self.lose(signal.SIGSTOP):
            self.assertIn("may run where", self.expect_code(agent.finish(), 69).err)
