"""Endpoints that lead to a node in a roundabout way, or to another job."""
import contextlib
import json
import socket
import threading

from harness import free_port, wait_until
from test_rendezvous import PLACE, RendezvousTest


class RoundaboutTest(RendezvousTest):
    def test_an_endpoint_behind_a_service_finds_its_node(self):
        """An address that no node has, from which connections lead to one of them."""
        port = free_port()
        door = self.forward(("127.0.1.9", port), ("127.0.1.1", port))
        self.addCleanup(door.close)
        agents = [self.start_node(k, 2, "--rdzv-endpoint", "127.0.1.9:%d" % port, self.sh(PLACE)) for k in (1, 2)]
        self.expect_two_ranks(agents, "127.0.1.1:%d" % port)

    @staticmethod
    def forward(source, target):
        """Passes connections on until it is closed."""
        door = socket.create_server(source)

        def pump(reader, writer):
            with contextlib.suppress(OSError):
                while data := reader.recv(65536):
                    writer.sendall(data)
            for end in (reader, writer):
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)

        def serve():
            with contextlib.suppress(OSError):
                while True:
                    caller, _ = door.accept()
                    try:
                        called = socket.create_connection(target)
                    except OSError:
                        caller.close()
                        continue
                    for ends in ((caller, called), (called, caller)):
                        threading.Thread(target=pump, args=ends, daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        return door

    def test_an_endpoint_whose_port_is_free_later_is_taken_then(self):
        """What is left of the job before still listens there, and is no agent of this job."""
        with socket.socket() as left:
            left.bind(("127.0.1.1", 0))
            left.listen()
            port = left.getsockname()[1]
            agents = [self.start_node(k, 2, "--rdzv-endpoint", "127.0.1.1:%d" % port, self.sh(PLACE)) for k in (1, 2)]
            for agent in agents:
                agent.wait_for("leader.unusable", "err")
        self.expect_two_ranks(agents, "127.0.1.1:%d" % port)


class SurplusTest(RendezvousTest):
    def run_with_a_third(self, *spares):
        """Two nodes, and then a third one, which sees their job end."""
        port = free_port()
        worker = self.sh(PLACE + 'while [ ! -e "$OUT/end" ]; do sleep 0.05; done')
        flags = spares + ("--rdzv-endpoint", "127.0.1.1:%d" % port, worker)
        agents = [self.start_node(k, 2, *flags) for k in (1, 2)]
        wait_until(lambda: self.exists("places") and len(self.places()) == 2, "the round runs")
        third = self.start_node(3, 2, *flags)
        third.wait_for("round.waiting .*spare of round 1", "err")
        nodes = json.loads(self.expect_code(self.run_muster("status", "--json", "127.0.1.1:%d" % port), 0).out)["nodes"]
        self.assertEqual([(node["name"], node["state"]) for node in nodes],
                         [("node-1", "running"), ("node-2", "running"), ("node-3", "spare")])
        self.write("end", "")
        for agent in agents:
            self.expect_code(agent.finish(), 0)
        self.assertEqual(len(self.places()), 2)
        return third

    def test_one_more_than_the_maximum_may_be_a_spare(self):
        third = self.run_with_a_third("--spares", "1")
        self.assertRegex(self.expect_code(third.finish(), 0).err, "job.end .*all 2 nodes succeeded; no round needed this node, a spare")

    def test_one_more_than_was_said_has_not_succeeded(self):
        """Such as a node of another job that was given the same endpoint."""
        self.ends(69, "muster: no round ever had a place for this node: the job 'none' of 2 nodes was complete; .*--rdzv-id",
                  self.run_with_a_third())
