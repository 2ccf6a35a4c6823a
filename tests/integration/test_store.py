"""The store that workers dial, alone and under load, with bytes made by hand."""
import concurrent.futures
import glob
import os
import socket
import struct
import threading
import time

import harness
import replay_wire
import store_client
from store_client import StoreClient, keys, number, text

RECORDINGS = os.path.join(harness.ROOT, "tests", "data", "wire", "*.txt")


class StoreTest(harness.MusterTest):
    def start_store(self, *flags, **how):
        """(process, host, port) of a `muster store` on a free port."""
        process = self.start("store", "--port", 0, *flags, **how)
        port = int(process.wait_for(r":(\d+)\s*$").group(1))
        return process, "127.0.0.1", port

    def setUp(self):
        super().setUp()
        self.process, self.host, self.port = self.start_store()

    def client(self, **how):
        client = StoreClient(self.host, self.port, **how)
        self.addCleanup(client.close)
        return client

    def stop(self):
        self.process.signal(15)
        return self.process.finish()


class Operations(StoreTest):
    def test_recorded_clients_of_pytorch_get_the_same_answers(self):
        recordings = sorted(glob.glob(RECORDINGS))
        self.assertGreaterEqual(len(recordings), 6)

        def differences(path):
            process, host, port = self.start_store()
            found = replay_wire.replay(host, port, path)
            process.signal(15)
            process.finish()
            return found
        # All at a time: after each request it is waited for what should not come.
        with concurrent.futures.ThreadPoolExecutor(len(recordings)) as pool:
            for path, found in zip(recordings, pool.map(differences, recordings)):
                with self.subTest(os.path.basename(path)):
                    self.assertEqual(found, [])

    def test_each_operation(self):
        c = self.client()
        c.set("/a", "1")
        self.assertEqual(c.get("/a"), b"1")
        self.assertEqual(c.get("/missing"), b"")
        self.assertEqual(c.add("/a", 41), 42)
        self.assertEqual(c.add("/new", -3), -3)
        self.assertEqual((c.check("/a", "/new"), c.check("/a", "/missing"), c.check()), (True, False, True))
        self.assertEqual(c.num_keys(), 2)
        self.assertEqual((c.delete("/new"), c.delete("/new")), (1, 0))
        c.request(store_client.COMPARE_SET, text("/a"), text("42"), text("x"))
        self.assertEqual(c.receive_text(), b"x")
        c.request(store_client.APPEND, text("/a"), text("yz"))
        self.assertEqual(c.get("/a"), b"xyz")
        c.request(store_client.MULTI_SET, struct.pack("<q", 2), text("/m"), text("1"), text("/n"), text(""))
        c.request(store_client.MULTI_GET, keys("/n", "/m", "/missing"))
        self.assertEqual([c.receive_text() for _ in range(3)], [b"", b"1", b""])
        c.request(store_client.QUEUE_PUSH, text("/q"), text("first"))
        c.request(store_client.QUEUE_LEN, text("/q"))
        self.assertEqual(c.receive_number(), 1)
        c.request(store_client.QUEUE_POP, text("/q"))
        self.assertEqual((c.receive_number(), c.receive_text()), (1, b"first"))
        c.request(store_client.QUEUE_POP, text("/q"))
        self.assertEqual(c.receive_number(), 0)
        c.request(store_client.LIST_KEYS)
        self.assertEqual({c.receive_text() for _ in range(c.receive_number())}, {b"/a", b"/m", b"/n"})
        c.request(store_client.BARRIER, text("/b"), number(1))
        self.assertEqual(c.receive(1), b"\0")
        c.request(store_client.CANCEL_WAIT)
        self.assertEqual(c.receive(1), b"\1")

    def test_waits_and_their_cancellation(self):
        waiting, setting = self.client(), self.client()
        waiting.request(store_client.WAIT, keys("/x", "/y"))
        setting.set("/x", "1")
        waiting.socket.settimeout(0.2)
        self.assertRaises(socket.timeout, waiting.receive, 1)
        waiting.socket.settimeout(30)
        setting.set("/y", "1")
        self.assertEqual(waiting.receive(1), b"\0")
        waiting.request(store_client.WAIT, keys("/never"))
        waiting.request(store_client.CANCEL_WAIT)
        self.assertEqual(waiting.receive(1), b"\1")
        setting.set("/never", "1")
        self.assertTrue(waiting.ping())  # no late STOP_WAITING in between

    def test_one_byte_at_a_time(self):
        c = self.client(validate=False)
        data = store_client.VALIDATE + b"\x01" + text("/slow") + text("value") + b"\x03" + text("/slow")
        for byte in data:
            c.send(bytes([byte]))
            time.sleep(0.001)
        self.assertEqual(c.receive_text(), b"value")

    def test_thousands_of_requests_in_one_go(self):
        c = self.client()
        request = bytes([store_client.ADD]) + text("/n") + number(1)
        threading.Thread(target=c.send, args=(request * 20_000,)).start()
        answers = struct.unpack("<20000q", c.receive(8 * 20_000))
        self.assertEqual(answers, tuple(range(1, 20_001)))

    def test_limits_are_those_of_pytorch_or_wider(self):
        c = self.client()
        c.set("k" * 8192, "v" * (8 << 20))
        self.assertEqual(len(c.get("k" * 8192)), 8 << 20)
        self.assertTrue(c.check(*["k" * 8192] * 10))
        big = self.client()
        big.request(store_client.SET, struct.pack("<Q", 1 << 62))
        self.assertTrue(big.is_closed_by_server())
        self.assertTrue(c.ping())


class Load(StoreTest):
    def test_two_thousand_connections(self):
        clients = [self.client() for _ in range(2000)]
        for client in clients:
            client.request(store_client.PING, struct.pack("<I", 7))
        for client in clients:
            self.assertEqual(client.receive(4), struct.pack("<I", 7))
        for client in clients:
            client.request(store_client.WAIT, keys("/go"))
        clients[0].request(store_client.CANCEL_WAIT)
        self.assertEqual(clients[0].receive(1), b"\1")
        clients[0].set("/go", "now")
        for client in clients[1:]:
            self.assertEqual(client.receive(1), b"\0")
        for client in clients:
            client.request(store_client.ADD, text("/count"), number(1))
        self.assertEqual(sorted(client.receive_number() for client in clients), list(range(1, 2001)))

    def test_a_reader_that_does_not_read_stalls_nobody(self):
        c = self.client()
        c.set("/big", b"x" * (8 << 20))
        lazy = self.client()
        asking = threading.Thread(target=self.ask_in_vain, args=(lazy,), daemon=True)
        asking.start()
        begin = time.monotonic()
        for _ in range(200):
            self.assertTrue(c.ping())
        self.assertLess(time.monotonic() - begin, 10)
        with open("/proc/%d/status" % self.process.agent_pid()) as file:
            resident = int([line for line in file if line.startswith("VmRSS")][0].split()[1])
        self.assertLess(resident, (900 if harness.is_sanitized() else 300) << 10, "KiB: answers must not pile up without limit")
        lazy.socket.shutdown(socket.SHUT_RDWR)
        asking.join(30)
        self.assertTrue(c.ping())

    @staticmethod
    def ask_in_vain(lazy):
        """8 GB of answers, if the server gave them."""
        try:
            for _ in range(1000):
                lazy.request(store_client.GET, text("/big"))
        except OSError:
            pass

    def test_a_half_open_peer_stalls_nobody(self):
        half = self.client(validate=False)
        half.send(store_client.VALIDATE + bytes([store_client.SET]) + struct.pack("<Q", 100) + b"only a part")
        c = self.client()
        self.assertTrue(c.ping())
        c.set("/key", "value")
        self.assertEqual(c.num_keys(), 1)
        half.socket.shutdown(socket.SHUT_WR)
        self.assertTrue(half.is_closed_by_server())
        self.assertEqual(c.num_keys(), 1)

    def test_a_peer_that_resets_its_connection_is_forgotten(self):
        c = self.client()
        for _ in range(50):
            rude = StoreClient(self.host, self.port)
            rude.request(store_client.WAIT, keys("/k"))
            rude.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            rude.close()
        c.set("/k", "v")
        self.assertEqual(c.get("/k"), b"v")

    def test_memory_is_given_back_or_used_again(self):
        c = self.client()
        for _ in range(60):
            c.set("/k", b"y" * (8 << 20))
            c.delete("/k")
        with open("/proc/%d/status" % self.process.agent_pid()) as file:
            resident = int([line for line in file if line.startswith("VmRSS")][0].split()[1])
        self.assertLess(resident, (600 if harness.is_sanitized() else 200) << 10)


class Verb(StoreTest):
    def test_it_says_where_it_listens_and_ends_on_sigterm(self):
        self.assertTrue(self.client().ping())
        self.expect_code(self.stop(), 0)

    def test_the_port_can_be_given(self):
        port = harness.free_port()
        process = self.start("store", "--port", port)
        process.wait_for(r":%d\s*$" % port)
        with StoreClient("127.0.0.1", port) as client:
            self.assertTrue(client.ping())
        process.signal(15)
        process.finish()

    def test_a_taken_port_is_named(self):
        finished = self.run_muster("store", "--port", self.port)
        self.expect_code(finished, 71)
        self.assertIn(str(self.port), finished.err)
        self.assertIn("Address already in use", finished.err)
