"""The status port: metrics for Prometheus, the status as JSON, probes, and events as they come."""
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import urllib.parse
import urllib.request

from harness import MusterTest, free_port, wait_until

DOCS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs")
TRAINER = """
step=0
while ! [ -e "$OUT/done" ]; do
    step=$((step + 1))
    echo "{\\"global_step\\":$step,\\"loss\\":0.5}"
    echo $step >"$OUT/step.$RANK"
    sleep 0.05
done
"""
# The parser of the reference client: strict about names, units, order and the end.
OPEN_METRICS = """
import sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families
for family in text_string_to_metric_families(sys.stdin.read()):
    print(family.name, family.type, family.unit, len(family.samples))
"""


class StatusPortTest(MusterTest):
    def start_job(self, *words, script=TRAINER, env=None):
        self.port = free_port()
        return self.start("run", "--status-port", self.port, *words, self.sh(script), env=env)

    def call(self, path, method="GET", host="127.0.0.1", **headers):
        connection = http.client.HTTPConnection(host, self.port, timeout=20)
        self.addCleanup(connection.close)
        connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        response = connection.getresponse()
        response.text = response.read().decode()
        return response

    def get(self, path, code=200, **how):
        response = self.call(path, **how)
        self.assertEqual(response.status, code, response.text)
        return response

    def wait_for_port(self, host="127.0.0.1"):
        def answers():
            try:
                return self.call("/healthz", host=host).status == 200
            except OSError:
                return False
        wait_until(answers, "the status port answers")

    def wait_for_steps(self, count=3, rank=0):
        wait_until(lambda: self.exists("step.%d" % rank) and int(self.read("step.%d" % rank) or 0) >= count, "the workers make steps")

    def value(self, metric, text=None):
        """Of one sample: as it stands in the text form."""
        text = text if text is not None else self.get("/metrics").text
        found = re.search(r"(?m)^%s (\S+)$" % re.escape(metric), text)
        return float(found.group(1)) if found else None

    def finish(self, agent, code=0):
        self.write("done", "")
        return self.expect_code(agent.finish(), code)

    def run_tool(self, command, input):
        return subprocess.run(command, input=input, capture_output=True, text=True, timeout=60, check=False)


class PagesTest(StatusPortTest):
    def test_the_status_is_that_of_muster_status(self):
        job_port = free_port()
        agent = self.start_job("--master-port", job_port, "--rdzv-id", "bert", "--nproc-per-node", 2)
        self.wait_for_port()
        self.wait_for_steps()
        found = json.loads(self.get("/status").text)
        asked = json.loads(self.expect_code(self.run_muster("status", "--json", "127.0.0.1:%d" % job_port), 0).out)
        self.assertEqual(sorted(found), sorted(asked))
        self.assertEqual((found["run_id"], found["state"], found["round"], len(found["nodes"]), found["history"]), ("bert", "Running", 1, 1, []))
        self.assertGreaterEqual(found["progress"]["step"], 1)
        self.assertEqual(self.get("/status?x=1").headers["Content-Type"], "application/json")
        self.finish(agent)

    def test_it_is_read_only(self):
        agent = self.start_job()
        self.wait_for_port()
        for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS"):
            refused = self.get("/status", 405, method=method)
            self.assertEqual(refused.headers["Allow"], "GET, HEAD")
        head = self.get("/metrics", method="HEAD")
        self.assertEqual(head.text, "")
        self.assertGreater(int(head.headers["Content-Length"]), 100)
        self.get("/etc/passwd", 404)
        self.assertIn("/metrics", self.get("/").text)
        self.finish(agent)

    def test_ready_is_not_whether_the_others_are_here(self):
        """These may wait for this pod to be ready before its name is known."""
        self.port = free_port()
        agent = self.start("run", "--status-port", self.port, "--nnodes", 2, "--rdzv-endpoint", "127.0.0.1:%d" % free_port(), self.sh("exit 0"))
        self.wait_for_port()
        self.assertEqual(self.get("/readyz").text, "ready\n")
        self.assertEqual(json.loads(self.get("/status").text)["state"], "Gathering")
        agent.signal(signal.SIGTERM)
        self.expect_code(agent.finish(), 143)

    def test_who_was_told_to_go_is_not_ready_and_alive(self):
        agent = self.start_job(script='trap "" TERM\n' + TRAINER)
        self.wait_for_port()
        self.wait_for_steps()
        self.get("/readyz")
        agent.signal(signal.SIGTERM)
        wait_until(lambda: self.call("/readyz").status == 503, "it is not ready any more")
        self.get("/healthz")
        self.finish(agent, 143)

    def test_a_port_that_is_taken_is_a_warning(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            finished = self.expect_code(self.run_muster("run", "--status-port", port, self.sh("exit 0")), 0)
        self.assertRegex(finished.err, r"W status_port.failed error=.*%d.* action=" % port)

    def test_in_a_pod_it_is_there_without_a_flag_and_elsewhere_not(self):
        for env, words, there in ((None, (), False), ({"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, (), True),
                                  ({"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, ("--status-port", 0), False)):
            finished = self.expect_code(self.run_muster("run", "--log-level", "debug", *words, self.sh("exit 0"), env=env), 0)
            self.assertEqual("status_port." in finished.err, there, finished)
            if there:  # or somebody else has it
                self.assertRegex(finished.err, r"status_port.(open address=\[::\]:8080|failed .*8080)")

    def test_clients_that_say_nothing_keep_nobody_out(self):
        agent = self.start_job()
        self.wait_for_port()
        silent = [socket.create_connection(("127.0.0.1", self.port), timeout=10) for _ in range(80)]
        for one in silent:
            self.addCleanup(one.close)
        self.get("/healthz")
        with socket.create_connection(("127.0.0.1", self.port), timeout=20) as long:
            long.sendall(b"GET /status HTTP/1.1\r\nX: " + b"x" * 20000)
            self.assertIn(b" 431 ", long.recv(200))
        self.finish(agent)


class MetricsTest(StatusPortTest):
    def test_promtool_and_the_reference_parser_take_them(self):
        agent = self.start_job("--nproc-per-node", 2, "--max-restarts", 1)
        self.wait_for_port()
        self.wait_for_steps(rank=1)
        text = self.get("/metrics")
        self.assertEqual(text.headers["Content-Type"], "text/plain; version=0.0.4; charset=utf-8")
        checked = self.run_tool(["promtool", "check", "metrics"], text.text)
        self.assertEqual((checked.returncode, checked.stdout + checked.stderr), (0, ""))
        opened = self.get("/metrics", Accept="application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5")
        self.assertEqual(opened.headers["Content-Type"], "application/openmetrics-text; version=1.0.0; charset=utf-8")
        parsed = self.run_tool(["/usr/bin/python3", "-c", OPEN_METRICS], opened.text)
        self.assertEqual(parsed.returncode, 0, parsed.stderr)
        self.assertIn("muster_restart_phase_seconds counter seconds 7", parsed.stdout)
        self.assertIn("muster_build info  1", parsed.stdout)
        self.finish(agent)

    def test_they_tell_of_workers_and_restarts(self):
        """A worker that failed once; one that has a child of its own."""
        job_port = free_port()
        agent = self.start_job("--master-port", job_port, "--nproc-per-node", 2, "--max-restarts", 2,
                               script='[ "$TORCHELASTIC_RESTART_COUNT" = 1 ] || exit 3\nsleep 60 & child=$!\n' + TRAINER + "kill $child\n")
        self.wait_for_port()
        self.wait_for_steps(rank=1)
        text = wait_until(lambda: (lambda text: text if self.value('muster_restarts_total{cause="failure"}', text) == 1 else None)(self.get("/metrics").text),
                          "the restart was told")
        self.assertEqual(self.value("muster_workers", text), 2)
        self.assertEqual(self.value("muster_ranks", text), 2)
        self.assertEqual(self.value("muster_round", text), 2)
        self.assertEqual(self.value("muster_rendezvous_seconds_count", text), 2)
        self.assertEqual(self.value("muster_leader", text), 1)
        self.assertEqual(self.value("muster_restarts_allowed", text), 2)
        self.assertEqual(self.value('muster_nodes{state="running"}', text), 1)
        self.assertGreater(self.value('muster_worker_resident_bytes{rank="0"}', text), 100000)
        self.assertGreaterEqual(self.value('muster_worker_processes{rank="1"}', text), 2)
        self.assertGreaterEqual(self.value('muster_progress_step', text), 1)
        self.assertEqual(self.value('muster_progress_metric{name="loss"}', text), 0.5)
        self.assertGreater(self.value('muster_state_seconds_total{state="Running"}', text), 0)
        self.assertTrue(0 < self.value("muster_effective_training_time_ratio", text) <= 1, text)
        history = json.loads(self.get("/status").text)["history"]
        self.assertAlmostEqual(self.value('muster_restart_seconds_total{cause="failure"}', text), history[0]["total_s"], delta=0.002)
        self.assertAlmostEqual(self.value('muster_restart_phase_seconds_total{phase="spawn"}', text), history[0]["phases"]["spawn"], delta=0.002)
        self.finish(agent)

    def test_the_leader_tells_of_the_job_and_each_node_of_itself(self):
        self.port = free_port()
        agent = self.start("local", "--nodes", 2, "--status-port", self.port, "--nproc-per-node", 1, self.sh(TRAINER))
        agent.wait_for("status port of node 1: http://127.0.1.1:%d/status; of node K: 127.0.1.K" % self.port, "err")
        for host in ("127.0.1.1", "127.0.1.2"):
            self.wait_for_port(host)
        self.wait_for_steps(rank=1)
        wait_until(lambda: self.value("muster_ranks", self.get("/metrics", host="127.0.1.1").text) == 2, "the round runs")
        first, second = (self.get("/metrics", host="127.0.1.%d" % k).text for k in (1, 2))
        self.assertEqual((self.value("muster_leader", first), self.value("muster_leader", second)), (1, 0))
        self.assertEqual((self.value("muster_workers", first), self.value("muster_workers", second)), (1, 1))
        self.assertNotIn("muster_nodes", second)
        self.assertRegex(second, r'muster_job_info\{name="local-\d+",run_id="local-\d+",node="node-2"\} 1')
        self.assertIsNotNone(self.value('muster_worker_resident_bytes{rank="1"}', second))
        follower = json.loads(self.get("/status", host="127.0.1.2").text)
        self.assertEqual((follower["node"], follower["state"], follower["round"]), ("node-2", "Running", 1))
        self.assertRegex(follower["leader_at"], r"^127\.0\.1\.1:\d+$")
        wait_until(lambda: self.value("muster_progress_step", self.get("/metrics", host="127.0.1.2").text), "its workers' steps are told")
        self.finish(agent)

    def test_a_real_prometheus_answers_a_query(self):
        self.port = free_port()
        agent = self.start("local", "--nodes", 2, "--status-port", self.port, "--rdzv-id", "bert", self.sh(TRAINER))
        targets = ["127.0.1.%d:%d" % (k, self.port) for k in (1, 2)]
        for host in ("127.0.1.1", "127.0.1.2"):
            self.wait_for_port(host)
        config = {"global": {"scrape_interval": "1s", "scrape_timeout": "1s"}, "rule_files": [os.path.abspath(os.path.join(DOCS, "alerts.yml"))],
                  "scrape_configs": [{"job_name": "train", "static_configs": [{"targets": targets}]}]}
        address = "127.0.0.1:%d" % free_port()
        prometheus = self.start_command(["prometheus", "--config.file=" + self.write("prometheus.yml", json.dumps(config)),
                                         "--storage.tsdb.path=" + self.path("tsdb"), "--web.listen-address=" + address, "--log.level=warn"])

        def query(text):
            try:
                with urllib.request.urlopen("http://%s/api/v1/query?query=%s" % (address, urllib.parse.quote(text)), timeout=10) as answer:
                    return {one["metric"].get("instance"): float(one["value"][1]) for one in json.load(answer)["data"]["result"]}
            except OSError:
                return {}
        self.assertEqual(wait_until(lambda: (lambda found: found if len(found) == 2 else None)(query("muster_workers")), "Prometheus has scraped both", 40),
                         {targets[0]: 1, targets[1]: 1})
        self.assertEqual(query("up"), {target: 1 for target in targets})
        wait_until(lambda: query("sum(muster_progress_step) > 0"), "it has the steps", 30)
        wait_until(lambda: query('muster_nodes{state="running"}') == {targets[0]: 2}, "it has the nodes", 30)
        wait_until(lambda: query('rate(muster_state_seconds_total{state="Running"}[10s]) > 0.5'), "it sees time pass", 30)
        self.assertEqual(query('muster_job_info{run_id="bert"} * on (instance) muster_leader'), {targets[0]: 1, targets[1]: 0})
        prometheus.popen.terminate()
        prometheus.finish(30)
        self.finish(agent)

    def test_the_rules_for_alerts(self):
        for words in (("check", "rules", "alerts.yml"), ("test", "rules", "alerts_test.yml")):
            done = subprocess.run(["promtool", *words], cwd=DOCS, capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        with open(os.path.join(DOCS, "alerts.yml")) as file:
            names = set(re.findall(r"\bmuster_\w+", file.read()))
        with open(os.path.join(DOCS, "observability.md")) as file:
            told = set(re.findall(r"(?m)^\| `(muster_\w+)", file.read()))
        self.assertEqual(names - told, set())


class EventsTest(StatusPortTest):
    def read_events(self, **headers):
        """A reader: events(count) gives so many in a list of (id, event)."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        self.addCleanup(connection.close)
        connection.request("GET", "/events", headers={name.replace("_", "-"): value for name, value in headers.items()})
        response = connection.getresponse()
        self.assertEqual((response.status, response.headers["Content-Type"]), (200, "text/event-stream"))

        def next_event():
            event = {}
            while True:
                line = response.readline().decode()
                self.assertTrue(line, "the stream ended")
                if line == "\n" and "data" in event:
                    return event["id"], json.loads(event["data"])
                if ": " in line:
                    key, value = line.rstrip("\n").split(": ", 1)
                    event[key] = value
        return next_event

    def until(self, next_event, name):
        while True:
            key, event = next_event()
            if event["event"] == name:
                return key, event

    def test_events_come_as_they_happen(self):
        job_port = free_port()
        agent = self.start_job("--master-port", job_port, "--rdzv-id", "bert")
        self.wait_for_port()
        self.wait_for_steps()
        next_event = self.read_events()
        key, event = self.until(next_event, "job.start")
        self.assertEqual((event["id"], event["run_id"], event["job"]), (key, "bert", "bert"))
        self.expect_code(self.run_muster("restart", "--reason", "look", "127.0.0.1:%d" % job_port), 0)
        key, event = self.until(next_event, "job.asked")
        self.assertIn("look", event["reason"])
        _, following = next_event()
        # Who comes again gets what followed, and nothing twice.
        again = self.read_events(Last_Event_ID=key)
        self.assertEqual(again()[0], following["id"])
        self.finish(agent)

    def test_with_a_journal_ids_are_its(self):
        agent = self.start_job("--run-dir", "run")
        self.wait_for_port()
        key, event = self.until(self.read_events(), "job.start")
        with open(self.path("run", "events.jsonl")) as file:
            self.assertIn(key, [json.loads(line)["id"] for line in file])
        self.assertEqual(event["id"], key)
        self.finish(agent)

    def test_one_reader_too_many_is_told_to_come_later(self):
        agent = self.start_job()
        self.wait_for_port()
        readers = [self.read_events() for _ in range(16)]
        self.assertEqual(self.get("/events", 503).headers["Retry-After"], "10")
        self.assertEqual(len(readers), 16)
        self.assertEqual(self.get("/events", method="HEAD").text, "")
        self.finish(agent)
        for next_event in readers:
            self.until(next_event, "job.end")


class CostTest(StatusPortTest):
    def test_without_it_there_is_no_socket(self):
        script = self.sh('while ! [ -S "$MUSTER_PROGRESS_SOCKET" ]; do sleep 0.01; done\nls -l /proc/$PPID/fd >"$OUT/fds.$1"')
        for name, words in (("off", ()), ("zero", ("--status-port", 0)), ("on", ("--status-port", free_port()))):
            self.expect_code(self.run_muster("run", *words, script, name), 0)
        off, zero, on = (self.read("fds." + name).count("socket:") for name in ("off", "zero", "on"))
        self.assertEqual((zero, on), (off, off + 1))
