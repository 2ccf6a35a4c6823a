"""The static backend: which node leads is told to all of them, whenever they start, and what is said when it was told wrongly."""
import os
import socket

from harness import free_port
from test_rendezvous import PLACE, RendezvousTest


class StaticTest(RendezvousTest):
    def test_two_nodes_with_their_ranks_and_a_master_by_name(self):
        port = free_port()
        mounts = self.with_names("127.0.1.1 master")
        agents = [self.start_node(rank + 1, 2, "--rdzv-backend", "static", "--node-rank", rank, "--master-addr", "master",
                                  "--master-port", port, self.sh(PLACE), mounts=mounts) for rank in (1, 0)]
        self.expect_two_ranks(agents, "127.0.1.1:%d" % port)

    def test_the_rank_beats_the_name_of_the_node(self):
        port = free_port()
        static = ("--rdzv-backend", "static", "--rdzv-endpoint", "127.0.1.1:%d" % port)
        worker = self.sh('echo "$GROUP_RANK $WHO" >>"$OUT/who"')
        agents = [self.start("run", "--nnodes", 2, *static, "--node-rank", rank, "--local-addr", "127.0.1.%d" % (rank + 1),
                             "--node-name", name, worker, env={"WHO": name}) for rank, name in ((0, "zeta"), (1, "alpha"))]
        for agent in agents:
            self.expect_code(agent.finish(), 0)
        self.assertEqual(sorted(self.read("who").splitlines()), ["0 zeta", "1 alpha"])

    def test_as_torchrun_calls_it(self):
        port = free_port()
        worker = self.py("import os\nopen(os.environ['OUT'] + '/places', 'a').write("
                         "'%(RANK)s %(GROUP_RANK)s %(WORLD_SIZE)s %(MASTER_ADDR)s:%(MASTER_PORT)s\\n' % os.environ)\n")
        agents = [self.start("--nnodes", 2, "--node_rank", rank, "--master_addr", "127.0.1.1", "--master_port", port,
                             "--local_addr", "127.0.1.%d" % (rank + 1), worker, as_torchrun=True) for rank in (0, 1)]
        self.expect_two_ranks(agents, "127.0.1.1:%d" % port)

    def start_on_one_machine(self, rank, port, master="127.0.0.1", as_torchrun=True, mounts=None):
        verb = () if as_torchrun else ("run", "--rdzv-backend", "static")
        return self.start(*verb, "--nnodes", 2, "--node_rank", rank, "--master_addr", master, "--master_port", port, "--no-python",
                          self.sh(PLACE), as_torchrun=as_torchrun, mounts=mounts, env={"LOGLEVEL": "INFO"})

    def test_on_one_machine_node_rank_0_may_come_last(self):
        """The others leave its port alone and wait for it, whatever its machine is called."""
        mounts = self.with_names("127.0.0.1 master")
        for master, as_torchrun in (("127.0.0.1", True), ("localhost", False), ("master", True)):
            port = free_port()
            last = self.start_on_one_machine(1, port, master, as_torchrun, mounts)
            last.wait_for("job.start", "err")  # it has its own port by then
            first = self.start_on_one_machine(0, port, master, as_torchrun, mounts)
            for agent in (last, first):
                self.expect_code(agent.finish(), 0)
            self.assertEqual([place.split()[:3] for place in self.places()], [["0", "0", "2"], ["1", "1", "2"]])
            os.unlink(self.path("places"))

    def test_on_one_machine_node_rank_0_may_come_first(self):
        port = free_port()
        first = self.start_on_one_machine(0, port, as_torchrun=False)
        first.wait_for("round.waiting", "err")
        self.expect_two_ranks([first, self.start_on_one_machine(1, port, as_torchrun=False)], "127.0.0.1:%d" % port)

    def test_the_port_of_node_rank_0_must_be_free(self):
        with socket.socket() as taken:
            taken.bind(("127.0.1.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            flags = ("--rdzv-backend", "static", "--master-addr", "127.0.1.1", "--master-port", port)
            finished = self.start_node(1, 2, *flags, "--node-rank", 0, self.sh("exit 0")).finish()
            untold = self.start("--nnodes", 2, *flags, "--no-python", self.sh("exit 0"), as_torchrun=True).finish()
        self.expect_code(finished, 71)
        self.assertRegex(finished.last_error_line, "port %d of this node is taken by another process.* there$" % port)
        self.expect_code(untold, 1)
        self.assertRegex(untold.last_error_line, "port %d of .* there; without --node-rank this node is node rank 0$" % port)

    def test_which_node_this_is_must_be_said(self):
        """torchrun takes it for node rank 0; if all of them are, the end says so."""
        flags = ("--rdzv-backend", "static", "--master-addr", "127.0.1.1", "--master-port", free_port())
        finished = self.expect_code(self.start_node(1, 2, *flags, self.sh("exit 0")).finish(), 64)
        self.assertIn("the static backend with 2 nodes needs --node-rank on each", finished.last_error_line)
        alone = self.start("--nnodes", 2, *flags, "--rdzv-conf", "join_timeout=1", "--no-python", self.sh("exit 0"), as_torchrun=True)
        self.assertRegex(self.expect_code(alone.finish(), 1).last_error_line, "1 of 2 nodes.*; without --node-rank this node is node rank 0")

    def test_a_rank_that_two_nodes_have_is_said(self):
        flags = ("--rdzv-backend", "static", "--master-addr", "127.0.1.1", "--master-port", free_port(),
                 "--rdzv-conf", "join_timeout=4", self.sh("exit 0"))
        for agent in [self.start_node(k, 3, "--node-rank", rank, *flags) for k, rank in ((1, 0), (2, 1), (3, 1))]:
            finished = self.expect_code(agent.finish(), 69)
            self.assertRegex(finished.last_error_line, "none has --node-rank 2, but node-. and node-. have --node-rank 1")

    def test_nobody_leads_in_place_of_node_rank_0(self):
        """Not even the node whose address the others dial."""
        finished = self.start_node(1, 2, "--rdzv-backend", "static", "--node-rank", 1, "--master-addr", "127.0.1.1", "--master-port",
                                   free_port(), "--rdzv-conf", "timeout=1,heartbeat_timeout=5", self.sh("exit 0")).finish()
        self.expect_code(finished, 69)
        self.assertEqual(finished.err.count("key 'heartbeat_timeout' has no effect: "), 1, finished)
        self.assertNotIn("key 'timeout'", finished.err)
        self.assertRegex(finished.last_error_line, "no leader within 1 s: .*refused.*; node rank 0 leads, this is node rank 1$")

    def test_a_rank_beyond_the_nodes_is_said(self):
        finished = self.run_muster("run", "--nnodes", 2, "--rdzv-backend", "static", "--node-rank", 2, "--master-addr",
                                   "127.0.0.1", self.sh("exit 0"))
        self.expect_code(finished, 64)
        self.assertIn("--node-rank '2'", finished.last_error_line)
