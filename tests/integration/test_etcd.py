"""--rdzv-backend etcd: real agents and a real etcd, each on loopback addresses of their own."""
import base64
import http.server
import json
import os
import signal
import ssl
import subprocess
import threading
import time
import unittest
import urllib.request

from harness import MusterTest, free_port, loopback, wait_until

ETCD = "/usr/bin/etcd"  # Debian: etcd-server
REPORT = 'echo "$RANK $GROUP_RANK $WORLD_SIZE" >>"$OUT/ranks.$TORCHELASTIC_RESTART_COUNT"\n'
# The first attempt runs until something happens to it, the others count ten steps.
WORKER = REPORT + ('[ "$TORCHELASTIC_RESTART_COUNT" = 0 ] && exec sleep 60\n'
                   'for step in 1 2 3 4 5 6 7 8 9 10; do sleep 0.02; done\necho "$RANK" >>"$OUT/done"')
LEASE_S = 4


class Authority:
    """Signs certificates for servers and clients of etcd; everything lies in the test's folder."""

    def __init__(self, test, name="ca"):
        self.folder = test.path(name)
        os.mkdir(self.folder)
        self.file = self.make("ca", "-x509", "-addext", "keyUsage=critical,keyCertSign")[0]

    def make(self, name, *arguments):
        """The paths of certificate and key."""
        paths = [os.path.join(self.folder, name + ending) for ending in (".pem", "-key.pem")]
        subprocess.run(["openssl", "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=" + name, "-days", "2",
                        "-out", paths[0], "-keyout", paths[1], *arguments], check=True, capture_output=True)
        return paths

    def sign(self, name, alternative="IP:127.0.0.1"):
        return self.make(name, "-x509", "-CA", self.file, "-CAkey", os.path.join(self.folder, "ca-key.pem"), "-addext", "basicConstraints=critical,CA:FALSE",
                         "-addext", "subjectAltName=" + alternative, "-addext", "extendedKeyUsage=serverAuth,clientAuth")


class Etcd:
    """A server of etcd with its data in the test's folder; may be killed and started again. With an `authority` it speaks TLS."""

    def __init__(self, test, name="etcd", authority=None, served_as="IP:127.0.0.1", asks_clients=False):
        self.test = test
        self.name = name
        self.flags, self.context = [], None
        if authority:
            certificate, key = authority.sign(name, served_as)
            self.flags = ["--cert-file", certificate, "--key-file", key, "--trusted-ca-file", authority.file]
            self.flags += ["--client-cert-auth"] if asks_clients else []
            self.context = ssl.create_default_context(cafile=authority.file)
            self.context.check_hostname = False
            self.context.load_cert_chain(certificate, key)
        self.port = free_port()
        self.peer_port = free_port()
        self.endpoint = "127.0.0.1:%d" % self.port
        self.process = None

    def start(self):
        client, peer = self.url(), "http://127.0.0.1:%d" % self.peer_port
        self.process = self.test.start_command(
            [ETCD, "--name", self.name, "--data-dir", self.test.path(self.name), "--listen-client-urls", client,
             "--advertise-client-urls", client, "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
             "--initial-cluster", "%s=%s" % (self.name, peer), *self.flags])
        wait_until(self.is_ready, "etcd answers")
        return self

    def url(self, path=""):
        return "%s://%s%s" % ("https" if self.context else "http", self.endpoint, path)

    def is_ready(self):
        if self.process.popen.poll() is not None:
            raise AssertionError("etcd has ended:\n" + self.process.err.text()[-2000:])
        try:
            return self.keys() is not None
        except OSError:
            return False

    def kill(self):
        self.process.popen.kill()
        self.process.popen.wait()

    def call(self, path, body):
        request = urllib.request.Request(self.url(path), json.dumps(body).encode())
        with urllib.request.urlopen(request, timeout=5, context=self.context) as response:
            return json.loads(response.read())

    def keys(self, prefix="/"):
        """{key: value} of all keys that begin like that."""
        encode = lambda text: base64.b64encode(text.encode()).decode()
        end = prefix[:-1] + chr(ord(prefix[-1]) + 1)
        answer = self.call("/v3/kv/range", {"key": encode(prefix), "range_end": encode(end)})
        return {base64.b64decode(entry["key"]).decode(): base64.b64decode(entry.get("value", "")).decode()
                for entry in answer.get("kvs", [])}

    def seconds_left(self, key):
        """Of the lease of that key."""
        entry, = self.call("/v3/kv/range", {"key": base64.b64encode(key.encode()).decode()})["kvs"]
        return int(self.call("/v3/lease/timetolive", {"ID": entry["lease"]})["TTL"])

    def put(self, key, value, lease_s=0):
        encode = lambda text: base64.b64encode(text.encode()).decode()
        lease = self.call("/v3/lease/grant", {"TTL": lease_s})["ID"] if lease_s else 0
        self.call("/v3/kv/put", {"key": encode(key), "value": encode(value), "lease": lease})

    def delete(self, key):
        self.call("/v3/kv/deleterange", {"key": base64.b64encode(key.encode()).decode()})


class DeafEtcd(http.server.ThreadingHTTPServer):
    """Hands requests on to an etcd, which carries them out; the answer to a claim never comes back."""
    daemon_threads = True

    def __init__(self, etcd):
        self.etcd, self.claimed, self.over = etcd, threading.Event(), threading.Event()

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                answer = json.dumps(etcd.call(self.path, body)).encode()
                if self.path == "/v3/kv/txn":
                    self.server.claimed.set()
                    self.server.over.wait(60)
                    self.close_connection = True
                    return
                self.send_response(200)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_):
                pass
        super().__init__(("127.0.0.1", 0), Handler)
        self.endpoint = "127.0.0.1:%d" % self.server_address[1]

    def __enter__(self):
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.shutdown()
        self.server_close()


class EtcdTest(MusterTest):
    def setUp(self):
        super().setUp()
        self.etcd = Etcd(self)

    def start_node(self, number, nodes, *arguments, endpoint=None, conf="", run_id="job", **how):
        """Node k listens on the usual port, or on any if that is taken."""
        return self.start("run", "--nnodes", nodes, "--rdzv-backend", "etcd", "--rdzv-endpoint", endpoint or self.etcd.endpoint,
                          "--rdzv-id", run_id, "--rdzv-conf", "last_call_timeout=1" + conf, "--local-addr", loopback(number),
                          "--node-name", "node-%d" % number, "--lease", "%ds" % LEASE_S, "--replace-wait", "0s", *arguments, **how)

    def start_nodes(self, nodes, *arguments, **how):
        agents = {k: self.start_node(k, nodes, *arguments, **how) for k in range(1, 4)}
        wait_until(lambda: self.count_started(0) == 3, "all workers run")
        return agents

    @staticmethod
    def port_of(agent):
        return int(agent.wait_for(r"job\.start .*port=\S+:(\d+) ", "err").group(1))

    def ranks(self, attempt):
        return sorted([int(word) for word in line.split()] for line in self.read("ranks.%d" % attempt).splitlines())

    def count_started(self, attempt):
        return len(self.ranks(attempt)) if self.exists("ranks.%d" % attempt) else 0

    def leader(self, run_id="job"):
        """The number of the node that etcd names."""
        value = self.etcd.keys().get("/muster/%s/leader" % run_id)
        return value and int(json.loads(value)["node"].split("-")[1])

    def finish_all(self, agents, code=0):
        return {k: self.expect_code(agent.finish(), code) for k, agent in agents.items()}


class ElectionTest(EtcdTest):
    def test_three_agents_train_and_leave_no_key_behind(self):
        self.etcd.start()
        agents = self.start_nodes(3, "--lease", "20s", self.sh(REPORT + 'while [ ! -e "$OUT/go" ]; do sleep 0.02; done'))
        self.assertEqual(self.ranks(0), [[0, 0, 3], [1, 1, 3], [2, 2, 3]])
        self.assertEqual(sorted(self.etcd.keys()), ["/muster/job/job", "/muster/job/leader"])
        self.write("go", "")
        finished = self.finish_all(agents)
        self.assertEqual(self.etcd.keys(), {})
        self.assertEqual(sum(agent.err.count("etcd.elected") for agent in finished.values()), 1)

    def test_another_leads_when_the_leader_is_killed(self):
        self.etcd.start()
        agents = self.start_nodes("1:3", "--lease", "120s", self.sh(WORKER))
        killed = self.leader()
        agents.pop(killed).signal(signal.SIGKILL)
        # Its machine refuses connections, so nobody waits for its lease.
        wait_until(lambda: self.count_started(1) == 2, "the others go on")
        self.finish_all(agents)
        self.assertEqual(self.ranks(1), [[0, 0, 2], [1, 1, 2]])
        self.assertEqual(len(self.read("done").split()), 2)
        self.assertEqual(self.etcd.keys(), {})

    def test_a_silent_leader_is_replaced_after_its_lease_and_fences_itself(self):
        self.etcd.start()
        agents = self.start_nodes("1:3", self.sh(WORKER), conf=",join_timeout=15")
        frozen = agents.pop(self.leader())
        frozen.signal(signal.SIGSTOP)
        self.finish_all(agents)
        self.assertEqual(self.ranks(1), [[0, 0, 2], [1, 1, 2]])
        frozen.signal(signal.SIGCONT)
        woken = frozen.finish()
        self.assertRegex(woken.err, "etcd.lost|leader.gone")
        self.assertIn("member.fenced", woken.err)

    def test_whoever_is_asked_for_the_status_knows_who_leads(self):
        """Followers, too, whose only endpoint is etcd; and who seeks a leader in an etcd that is not there yet says so."""
        worker = self.sh(REPORT + 'while [ ! -e "$OUT/go" ]; do sleep 0.02; done')
        agents = {k: self.start_node(k, 3, worker) for k in range(1, 4)}
        ask = lambda k: self.expect_code(self.run_muster("status", "%s:%d" % (loopback(k), self.port_of(agents[k]))), 0).out
        for k in agents:
            self.assertEqual(ask(k).splitlines()[0], "job job: node-%d knows no leader" % k)
        self.etcd.start()
        wait_until(lambda: self.count_started(0) == 3, "all workers run")
        led = self.leader()
        for k in agents:
            wait_until(lambda: "job job: Running, round 1 on 3 nodes, 3 wanted; 0 of 0 restarts used; node-%d leads\n" % led in ask(k), lambda: ask(k))
        self.write("go", "")
        self.finish_all(agents)

    def test_a_leader_that_is_told_to_go_hands_over(self):
        """Whoever is elected next knows that nobody has led since, and does not wait for the lease."""
        self.etcd.start()
        agents = self.start_nodes("1:3", "--lease", "300s", self.sh(WORKER))
        leaving = agents.pop(self.leader())
        leaving.signal(signal.SIGTERM)
        self.expect_code(leaving.finish(), 143)
        self.finish_all(agents)
        self.assertEqual(len(self.ranks(1)), 2)

    def test_a_leader_whose_key_somebody_deleted_leads_no_more(self):
        """So that no two of them lead for longer than a renewal takes."""
        self.etcd.start()
        agents = self.start_nodes("3", self.sh(WORKER))
        leader = self.leader()
        self.etcd.delete("/muster/job/leader")
        agents[leader].wait_for("etcd knows nothing of our lease, or our key, any more", "err")
        self.finish_all(agents)
        self.assertEqual(len(self.ranks(1)), 3)
        self.assertEqual(self.etcd.keys(), {})

    def test_two_jobs_in_one_etcd_do_not_mix(self):
        self.etcd.start()
        worker = self.sh('echo "$RANK" >>"$OUT/$TORCHELASTIC_RUN_ID"\nwhile [ ! -e "$OUT/go" ]; do sleep 0.02; done')
        agents = {k: self.start_node(k, 2, worker, run_id="one" if k <= 2 else "two") for k in range(1, 5)}
        ranks = lambda job: sorted(self.read(job).split()) if self.exists(job) else []
        wait_until(lambda: ranks("one") == ranks("two") == ["0", "1"], "both jobs run")
        self.assertIn(self.leader("one"), (1, 2))
        self.assertIn(self.leader("two"), (3, 4))
        self.write("go", "")
        self.finish_all(agents)

    def test_a_namesake_address_is_not_taken_for_our_own(self):
        # As behind bridges and tunnels: another node leads at an address that is ours, too.
        self.etcd.start()
        leads_for_s = 3
        self.etcd.put("/muster/job/leader", json.dumps({"node": "node-2", "host": loopback(1), "port": 29400}), leads_for_s)
        began = time.monotonic()
        finished = self.expect_code(self.start_node(1, "1:2", self.sh("exit 0")).finish(), 0)
        self.assertGreater(time.monotonic() - began, leads_for_s - 1)
        self.assertNotIn("etcd.deposed", finished.err)

    def test_who_ends_during_its_campaign_leaves_no_key_behind(self):
        self.etcd.start()
        with DeafEtcd(self.etcd) as deaf:
            agent = self.start_node(1, "1:2", "--lease", "60s", self.sh("exit 0"), endpoint=deaf.endpoint)
            self.assertTrue(deaf.claimed.wait(20))
            self.assertEqual(self.leader(), 1)
            agent.signal(signal.SIGTERM)
            self.expect_code(agent.finish(), 143)
        self.assertNotIn("/muster/job/leader", self.etcd.keys())

    def test_keys_have_the_prefix_that_was_given(self):
        self.etcd.start()
        agents = {k: self.start_node(k, 2, self.sh('while [ ! -e "$OUT/go" ]; do sleep 0.02; done'), conf=",etcd_prefix=a/b/") for k in (1, 2)}
        wait_until(lambda: sorted(self.etcd.keys()) == ["/a/b/job/job", "/a/b/job/leader"], "the keys are there")
        self.write("go", "")
        self.finish_all(agents)


class OutageTest(EtcdTest):
    def wait_until_renewed(self, key):
        """Its lease has been renewed since now: the seconds that are left became more."""
        seen = []

        def look():
            seen.append(self.etcd.seconds_left(key))
            return len(seen) > 1 and seen[-1] > seen[-2]
        wait_until(look, "the lease of %s is renewed" % key)

    def test_the_job_goes_on_while_etcd_is_away_for_less_than_a_lease(self):
        self.etcd.start()
        agents = self.start_nodes(3, "--lease", "10s", self.sh(REPORT + 'while [ ! -e "$OUT/go" ]; do sleep 0.02; done'))
        leads = self.leader()
        self.etcd.kill()
        agents[leads].wait_for("etcd.trouble", "err")
        self.etcd.start()
        self.wait_until_renewed("/muster/job/leader")
        self.write("go", "")
        finished = self.finish_all(agents)
        self.assertFalse(self.exists("ranks.1"), finished)
        self.assertTrue(any("etcd.trouble" in agent.err for agent in finished.values()), finished)
        self.assertEqual(self.etcd.keys(), {})

    def test_without_etcd_for_longer_than_a_lease_the_round_ends_and_another_follows(self):
        self.etcd.start()
        agents = self.start_nodes(3, self.sh(WORKER))
        leader = agents[self.leader()]
        self.etcd.kill()
        leader.wait_for("etcd.lost", "err")
        for agent in agents.values():
            agent.wait_for("member.fenced", "err")
        self.etcd.start()
        self.finish_all(agents)
        self.assertEqual(len(self.ranks(1)), 3)

    def test_a_second_endpoint_serves_when_the_first_is_gone(self):
        self.etcd.start()
        endpoint = "127.0.0.1:%d,%s" % (free_port(), self.etcd.endpoint)
        agents = {k: self.start_node(k, 2, self.sh(REPORT), endpoint=endpoint) for k in (1, 2)}
        self.finish_all(agents)
        self.assertEqual(self.ranks(0), [[0, 0, 2], [1, 1, 2]])


class TlsTest(EtcdTest):
    def serve(self, **how):
        self.authority = Authority(self)
        self.etcd = Etcd(self, authority=self.authority, **how)
        return self.etcd.start()

    def fails(self, conf, pattern):
        agent = self.start_node(1, 1, "--nnodes", 2, self.sh("exit 0"), conf=",join_timeout=3," + conf)
        self.assertRegex(self.expect_code(agent.finish(), 69).err, "muster: no leader within 3 s: .*" + pattern)

    def test_nodes_with_certificates_of_their_own_train(self):
        self.serve(asks_clients=True)
        certificate, key = self.authority.sign("node")
        conf = ",protocol=https,cacert=%s,cert=%s,key=%s" % (self.authority.file, certificate, key)
        agents = {k: self.start_node(k, 2, self.sh(REPORT), conf=conf) for k in (1, 2)}
        self.finish_all(agents)
        self.assertEqual(self.ranks(0), [[0, 0, 2], [1, 1, 2]])
        self.assertEqual(self.etcd.keys(), {})

    def test_one_file_holds_certificate_and_key(self):
        self.serve(served_as="DNS:localhost", asks_clients=True)
        certificate, key = self.authority.sign("node")
        self.write("both.pem", open(certificate).read() + open(key).read())
        conf = ",ca_cert=%s,ssl_cert=%s" % (self.authority.file, self.path("both.pem"))
        self.expect_code(self.start_node(1, 1, "--nnodes", "1:2", self.sh("exit 0"), conf=conf, endpoint="localhost:%d" % self.etcd.port).finish(), 0)

    def test_without_a_certificate_etcd_refuses(self):
        self.serve(asks_clients=True)
        self.fails("cacert=" + self.authority.file, "the other side refuses: .*certificate")

    def test_an_etcd_of_another_authority_is_not_believed(self):
        self.serve()
        self.fails("cacert=" + Authority(self, "other").file, "https://127.0.0.1:%d/.*certificate not accepted: " % self.etcd.port)

    def test_an_etcd_with_another_name_is_not_believed(self):
        self.serve(served_as="DNS:etcd-0")
        self.fails("cacert=" + self.authority.file, "certificate not accepted: IP address mismatch")

    def test_plain_http_to_an_etcd_with_tls(self):
        self.serve()
        self.fails("protocol=http", "closed instead of a response")


class BadInputTest(EtcdTest):
    def fails(self, *arguments, code=69, pattern, **how):
        finished = self.expect_code(self.start_node(1, 2, *arguments, self.sh("exit 0"), **how).finish(), code)
        self.assertRegex(finished.last_error_line, pattern)
        return finished

    def test_an_etcd_that_is_never_there(self):
        began = time.monotonic()
        self.fails(conf=",join_timeout=3",
                   pattern=r"muster: no leader within 3 s: the leader named by etcd http://127.0.0.1:%d .*Connection refused" % self.etcd.port)
        self.assertLess(time.monotonic() - began, 10)

    def test_a_key_that_holds_something_else(self):
        self.etcd.start()
        self.etcd.put("/muster/job/leader", "my notes")
        self.fails(conf=",join_timeout=2", pattern="etcd key '/muster/job/leader': holds something else than a leader's address")

    def test_a_server_that_is_no_etcd(self):
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                self.rfile.read(int(self.headers["Content-Length"]))
                self.send_response(200)
                self.send_header("Content-Length", "5")
                self.end_headers()
                self.wfile.write(b"hello")

            def log_message(self, *_):
                pass
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            self.fails(conf=",join_timeout=2", endpoint="127.0.0.1:%d" % server.server_address[1], pattern="not an answer of etcd")
            server.shutdown()

    def test_what_cannot_be_used_for_tls_is_said_at_once(self):
        self.fails(conf=",protocol=grpc", code=64, pattern="--rdzv-conf protocol=grpc: must be http or https")
        self.fails(conf=",cacert=/ca.pem", code=78, pattern=r"--rdzv-conf cacert=/ca\.pem: .*No such file or directory")
        self.write("ca.pem", "no certificate")
        self.fails(conf=",cacert=" + self.path("ca.pem"), code=78, pattern="authorities: no certificate in PEM")
        authority = Authority(self)
        with open(authority.file) as file:
            text = file.read()
        self.write("ca.pem", text + text[:len(text) // 2])
        self.fails(conf=",cacert=" + self.path("ca.pem"), code=78, pattern="authorities: certificate 2 cannot be read: ")
        certificate, _ = authority.sign("one")
        _, key = authority.sign("two")
        self.fails(conf=",cacert=%s,cert=%s,key=%s" % (authority.file, certificate, key), code=78, pattern="key: not that of the certificate")

    def test_an_agent_without_enough_others_gives_its_office_back(self):
        self.etcd.start()
        agent = self.start_node(1, 2, self.sh("exit 0"), conf=",join_timeout=600")
        agent.wait_for("round.waiting", "err")
        self.assertEqual(self.leader(), 1)
        agent.signal(signal.SIGTERM)
        self.expect_code(agent.finish(), 143)
        self.assertNotIn("/muster/job/leader", self.etcd.keys())


if __name__ == "__main__":
    unittest.main()
