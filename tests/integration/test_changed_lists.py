"""A list of nodes that has changed since a running job's nodes read it: a node that comes by it finds them all the same, and takes
over their leaders."""
import os

from harness import MusterTest, free_port, wait_until

GROWS = ("--lease", "4s", "--scale-up-quiet", "200ms", "--scale-up-interval", "200ms", "--rdzv-conf", "join_timeout=20,last_call_timeout=1")


class ChangedListTest(MusterTest):
    def list_nodes(self, port, *numbers):
        self.write("hosts.new", "".join("127.0.1.%d:%d\n" % (k, port) for k in numbers))
        os.rename(self.path("hosts.new"), self.path("hosts"))

    def start_nodes(self, whole, *numbers):
        """Until a round has `whole` nodes their workers wait."""
        worker = self.sh('echo "$GROUP_WORLD_SIZE" >>"$OUT/sizes"\n[ "$GROUP_WORLD_SIZE" = %d ] || exec sleep 60\n' % whole)
        return [self.start("run", "--nnodes", "2:%d" % whole, "--hosts", "@" + self.path("hosts"), "--local-addr", "127.0.1.%d" % k,
                           "--node-name", "node-%d" % k, *GROWS, worker) for k in numbers]

    def sizes(self):
        return self.read("sizes").split() if os.path.exists(self.path("sizes")) else []

    def test_nodes_that_are_listed_before_those_of_a_running_job_join_it(self):
        """All three that may lead by the new list are new."""
        port = free_port()
        self.list_nodes(port, 4, 5, 6)
        agents = self.start_nodes(6, 4, 5, 6)
        wait_until(lambda: self.sizes() == ["3"] * 3, "three nodes")
        self.list_nodes(port, 1, 2, 3, 4, 5, 6)
        newcomers = self.start_nodes(6, 1, 2, 3)
        for agent in newcomers:
            self.assertNotIn("round.running", self.expect_code(agent.finish(), 0).err)
        for agent in agents:
            self.expect_code(agent.finish(), 0)
        self.assertEqual(self.sizes()[-6:], ["6"] * 6)

    def test_a_node_whose_list_lacks_the_leader_is_told_where_it_is(self):
        """By one that may lead, and by one that may not."""
        port = free_port()
        self.list_nodes(port, 1, 2, 3)
        agents = self.start_nodes(5, 1, 2, 3)
        wait_until(lambda: self.sizes() == ["3"] * 3, "three nodes")
        self.list_nodes(port, 2, 3, 4, 5)
        agents += self.start_nodes(5, 4, 5)
        for agent in agents:
            self.expect_code(agent.finish(), 0)
        self.assertEqual(self.sizes()[-5:], ["5"] * 5)
