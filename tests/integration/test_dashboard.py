"""`muster dashboard`: what sidecars post is kept, once, and a real browser shows it. Journals are those of real jobs."""
import glob
import gzip
import http.client
import json
import os
import signal
import sqlite3
import urllib.parse

from chromium import Chromium
from harness import BINARY, EXAMPLES, MusterTest

# What a rank prints, and names that somebody gave, must stay text.
HOSTILE = """<img src=x onerror="alert(1)"></script><script>alert(2)</script>"""
STARTED = r"^dashboard (http://\S+/)$"


class DashboardTest(MusterTest):
    def start_dashboard(self, *flags):
        """A dashboard that can be reached."""
        self.dashboard = self.start("dashboard", "--listen", "127.0.0.1:0", "--db", "events.db", *flags)
        self.url = self.dashboard.wait_for(STARTED)[1]

    def stop_dashboard(self):
        self.dashboard.signal(signal.SIGTERM)
        self.expect_code(self.dashboard.finish(), 0)

    def request(self, method, path, body=None, **headers):
        """Status and body."""
        connection = http.client.HTTPConnection(urllib.parse.urlsplit(self.url).netloc, timeout=30)
        try:
            connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def post(self, job, events, **headers):
        """What a sidecar does."""
        body = {"version": 1, "job": job, "node": events[0]["node"], "events": events}
        status, said = self.request("POST", "/webhook", json.dumps(body), Content_Type="application/json", **headers)
        self.assertEqual(status, 200, said)
        return json.loads(said)

    def ask(self, path):
        status, said = self.request("GET", path)
        self.assertEqual(status, 200, said)
        return json.loads(said)

    def journals(self, *parts):
        """The events of each node of a job."""
        found = []
        for path in sorted(glob.glob(self.path(*parts, "node-*", "events.jsonl"))):
            with open(path) as file:
                found.append([json.loads(line) for line in file])
        return found


def story(job, *steps, node="node-1"):
    """Events, one a second: (name, fields)."""
    events = []
    for number, (name, fields) in enumerate(steps):
        events.append({"id": "%s-%s-%d" % (job, fields.get("node", node), number), "seq": number + 1, "event": name, "level": "info", "job": job,
                       "time": "2026-11-28T10:%02d:%02d.000Z" % (number // 60, number % 60), "node": node, **fields})
    return events


class ReceiverTest(DashboardTest):
    def test_a_jobs_journals_are_kept_once_and_outlive_the_dashboard(self):
        worker = self.sh('[ "$RANK" = 1 ] && [ "$TORCHELASTIC_RESTART_COUNT" = 0 ] && { echo "no data in shard 7" >&2; exit 3; }; exit 0')
        self.expect_code(self.run_muster("local", "--nodes", 2, "--max-restarts", 1, "--rdzv-id", "bert", "--run-dir", "run", "--no-python", worker), 0)
        self.start_dashboard()
        journals = self.journals("run")
        for events in journals:
            self.assertEqual(self.post("bert", events), {"taken": len(events), "new": len(events)})
            self.assertEqual(self.post("bert", events), {"taken": len(events), "new": 0})
        seen = self.ask("/api/jobs/bert")["job"]
        self.assertEqual((seen["state"], seen["restarts"], len(seen["rows"])), ("succeeded", {"failure": 1}, 2))
        self.assertEqual((seen["failure"]["rank"], seen["failure"]["last_lines"]), (1, ["no data in shard 7"]))
        self.stop_dashboard()
        self.start_dashboard()
        self.assertEqual(self.ask("/api/jobs/bert")["job"], seen)
        self.assertEqual(self.post("bert", journals[0])["new"], 0)
        self.stop_dashboard()
        with sqlite3.connect(self.path("events.db")) as database:
            self.assertEqual(database.execute("SELECT count(*), count(DISTINCT id) FROM event").fetchone(),
                             (sum(map(len, journals)),) * 2)
        database.close()

    def test_what_is_no_post_is_refused_and_nothing_is_lost(self):
        self.write("token", "s3cret\n")
        self.start_dashboard("--token-file", "token")
        good = {"Content_Type": "application/json", "Authorization": "Bearer s3cret"}
        events = story("j", ("job.start", {}))
        body = json.dumps({"version": 1, "job": "j", "node": "n", "events": events})
        for status, sent, headers in (
                (401, body, {"Content_Type": "application/json"}),
                (415, body, dict(good, Content_Type="text/plain")),
                (415, body, dict(good, Content_Encoding="br")),
                (400, body, dict(good, Content_Encoding="gzip")),
                (400, body[:-1], good),
                (400, body.replace('"id"', '"di"'), good),
                (413, "x" * (1 << 20) + "x", good),
                (413, gzip.compress(b" " * (1 << 21)), dict(good, Content_Encoding="gzip"))):
            with self.subTest(status=status):
                self.assertEqual(self.request("POST", "/webhook", sent, **headers)[0], status)
        self.assertEqual(self.ask("/api/jobs")["jobs"], [])
        self.assertEqual(self.request("POST", "/webhook", gzip.compress(body.encode()), Content_Encoding="gzip", **good)[0], 200)
        self.assertEqual([job["job"] for job in self.ask("/api/jobs")["jobs"]], ["j"])
        self.stop_dashboard()

    def test_it_is_killed_and_has_what_it_has_said_yes_to(self):
        self.start_dashboard()
        for number in range(5):
            self.post("j", story("j", *[("x", {"id": "%d-%d" % (number, i)}) for i in range(50)]))
        self.dashboard.signal(signal.SIGKILL)
        self.dashboard.finish()
        self.start_dashboard()
        self.stop_dashboard()
        with sqlite3.connect(self.path("events.db")) as database:
            self.assertEqual(database.execute("SELECT count(*) FROM event").fetchone(), (250,))
        database.close()

    def test_a_full_disk_is_told_and_the_events_can_come_again(self):
        mounts = "mkdir disk; mount -t tmpfs -o size=400k none disk"
        dashboard = self.start("dashboard", "--listen", "127.0.0.1:0", "--db", "disk/events.db", mounts=mounts)
        self.url = dashboard.wait_for(STARTED)[1]
        large = [dict(event, padding="x" * 9000) for event in story("j", *[("x", {})] * 60)]
        body = json.dumps({"version": 1, "job": "j", "node": "n", "events": large})
        status, said = self.request("POST", "/webhook", body, Content_Type="application/json")
        self.assertEqual(status, 507, said)
        self.assertIn("disk/events.db", said)
        self.assertEqual(self.post("j", story("j", ("job.start", {})))["new"], 1)
        dashboard.signal(signal.SIGTERM)
        self.expect_code(dashboard.finish(), 0)

    def test_what_cannot_be_its_file_is_one_line(self):
        self.write("text", "no database" * 500)
        with sqlite3.connect(self.path("other.db")) as database:
            database.execute("CREATE TABLE recipe(name TEXT)")
        database.close()
        self.start_dashboard()
        for file, code, said in (("text", 78, "file is not a database"), ("other.db", 78, "is the database of another program"),
                                 ("events.db", 75, "another dashboard has it open"), ("none/x.db", 71, "No such file or directory")):
            with self.subTest(file=file):
                finished = self.expect_code(self.run_muster("dashboard", "--listen", "127.0.0.1:0", "--db", file), code)
                self.assertRegex(finished.err, r"\Amuster dashboard: --db: .*%s\n\Z" % said)
        self.stop_dashboard()
        with sqlite3.connect(self.path("events.db")) as database:
            database.execute("PRAGMA user_version = 7")
        database.close()
        finished = self.expect_code(self.run_muster("dashboard", "--listen", "127.0.0.1:0", "--db", "events.db"), 78)
        self.assertRegex(finished.err, r"version 7; this Muster knows version 2\n\Z")

    def test_a_wrong_command_line_is_one_line(self):
        for words in (["--listen", "127.0.0.1:0"], ["--db"], ["--db", "x", "--listen", "localhost:1"], ["--db", "x", "--listen", "::1:80"],
                      ["--db", "x", "--keep", "0"], ["--db", "x", "more"]):
            with self.subTest(words=words):
                finished = self.expect_code(self.run_muster("dashboard", *words), 64)
                self.assertRegex(finished.err, r"\Amuster dashboard: [^\n]+\n\Z")
        self.assertIn("--token-file", self.expect_code(self.run_muster("dashboard", "--help"), 0).out)


class BrowserTest(DashboardTest):
    def open(self, fragment=""):
        self.browser = Chromium(self)
        return self.browser.open(self.url + fragment)

    def finish(self, page):
        """Nothing ran that should not, and nothing was asked of anybody else."""
        self.assertEqual(page.complaints(), [])
        self.browser.close()
        self.stop_dashboard()

    def test_a_job_that_loses_a_node_and_a_rank_is_seen(self):
        # Rank 0 makes the steps; the others wait for them, so that what happens follows each other however slow it is.
        worker = self.sh("""
saved() { cat "$OUT/saved" 2>/dev/null || echo 0; }
while step=$(saved); [ "${step:-0}" -lt 24 ]; do
  if [ "$RANK" = 0 ]; then
    step=$((step + 1))
    echo "{\\"step\\": $step, \\"total\\": 24, \\"loss\\": $((100 - step))}"
    echo $step > "$OUT/new"; mv "$OUT/new" "$OUT/saved"
    [ $step = 14 ] && [ "$TORCHELASTIC_RESTART_COUNT" = 1 ] && echo "epoch 3"
  elif [ "$RANK$TORCHELASTIC_RESTART_COUNT" = 10 ] && [ "$step" -ge 5 ]; then
    echo "ValueError: no data in shard 7" >&2
    exit 1
  fi
  sleep 0.15
done
exit 0""")
        self.expect_code(self.run_muster("local", "--nodes", 3, "--nnodes", "2:3", "--nproc-per-node", 1, "--max-restarts", 2, "--replace-wait", "1s",
                                         "--rdzv-id", "bert", "--run-dir", "run", "--chaos", "kill-node:3@epoch=3", "--no-python", worker), 0)
        self.start_dashboard()
        for events in self.journals("run"):
            self.post("bert", events)
        page = self.open()
        page.wait_for_text("bert")
        page.wait_for_text("succeeded")
        self.assertEqual(page.evaluate("document.getElementById('live').textContent"), "live")
        page.evaluate("document.getElementById('job-bert').click()")
        page.wait_for_text("ValueError: no data in shard 7")
        page.wait_for("document.querySelectorAll('.strip').length === 3")
        self.assertEqual(page.evaluate("document.querySelectorAll('#strip-node-3 .lost').length"), 1)
        self.assertGreaterEqual(page.evaluate("document.querySelectorAll('#strip-node-1 [class^=attempt]').length"), 3)
        self.assertEqual(page.evaluate("[...document.querySelectorAll('.restarts .chip')].map(one => one.textContent)"), ["lost", "failure"])
        self.assertEqual(page.evaluate("[...document.querySelectorAll('.curve .title span:first-child')].map(one => one.textContent)"), ["step", "loss"])
        self.finish(page)

    def test_what_is_posted_later_is_shown_without_a_reload(self):
        self.start_dashboard()
        page = self.open()
        page.wait_for_text("No job has reported yet")
        page.wait_for("document.getElementById('live').textContent === 'live'")
        page.evaluate("window.same = true")
        events = story("late", ("job.start", {"max_nodes": 2}), ("round.start", {"round": 1, "attempt": 0, "nodes": 1, "world_size": 1}),
                       ("worker.exit", {"level": "error", "rank": 0, "round": 1, "reason": "exit code 9", "last_lines": ["the last line"]}))
        self.post("late", events[:2])
        page.wait_for_text("late")
        page.evaluate("document.getElementById('job-late').click()")
        page.wait_for("document.querySelector('.strip')")
        self.post("late", events[2:])
        page.wait_for_text("the last line")
        self.assertTrue(page.evaluate("window.same"))
        self.finish(page)

    def test_words_of_others_stay_text(self):
        self.start_dashboard()
        job, node = "job" + HOSTILE, "node" + HOSTILE
        self.post(job, story(job, ("job.start", {"command": HOSTILE, "max_nodes": 1}),
                             ("round.start", {"round": 1, "attempt": 0, "nodes": 1, "world_size": 1}),
                             ("progress", {"rank": 0, "step": 1, "total": 4, "percent": 25, "metrics": {HOSTILE: 1}}),
                             ("progress", {"rank": 0, "step": 2, "total": 4, "percent": 50, "metrics": {HOSTILE: 2, "__proto__": 3}}),
                             ("round.broken", {"level": "warning", "reason": HOSTILE}),
                             ("worker.exit", {"level": "error", "rank": 0, "round": 1, "reason": HOSTILE, "last_lines": ["\x1b[31mred" + HOSTILE]}),
                             ("restart.timeline", {"cause": HOSTILE, "reason": HOSTILE, "total_s": 2, "phases": {HOSTILE: 1, "stop": 1}}),
                             ("job.end", {"level": "error", "result": HOSTILE, "reason": HOSTILE}), node=node))
        page = self.open()
        page.wait_for("document.querySelector('.jobs .job')")
        self.assertEqual(page.evaluate("document.querySelector('.jobs .name').textContent"), job)
        page.evaluate("document.querySelector('.jobs .job').click()")
        page.wait_for("document.querySelector('pre')")
        self.assertEqual(page.evaluate("document.querySelector('pre').textContent"), "\\x1b[31mred" + HOSTILE)
        self.assertEqual(page.evaluate("document.querySelector('h1').textContent"), job)
        self.assertEqual(page.evaluate("document.querySelectorAll('img, main script').length"), 0)
        self.finish(page)

    def test_the_keyboard_reaches_jobs_and_spans(self):
        self.start_dashboard()
        self.post("j", story("j", ("job.start", {"max_nodes": 1}), ("round.start", {"round": 1, "attempt": 0, "nodes": 1, "world_size": 1}),
                             ("round.stop", {"round": 1, "reason": "why it stops"})))
        page = self.open()
        page.wait_for("document.getElementById('job-j')")
        while page.evaluate("document.activeElement.id") != "job-j":
            page.press("Tab")
        page.press("Enter")
        page.wait_for("document.getElementById('strip-node-1')")
        while page.evaluate("document.activeElement.id") != "strip-node-1":
            page.press("Tab")
        page.wait_for("document.getElementById('tip').textContent.includes('why it stops')")
        page.press("ArrowLeft")
        page.wait_for("document.getElementById('tip').textContent.includes('running round 1')")
        self.finish(page)

    def test_a_narrow_window_has_no_sideways_scrolling(self):
        self.start_dashboard()
        self.post("j" * 80, story("j", ("job.start", {"max_nodes": 1, "command": "x" * 300}), ("round.broken", {"level": "warning", "reason": "y" * 300}),
                                  ("restart.timeline", {"cause": "lost", "total_s": 3, "phases": {"detect": 1, "stop": 2}}), node="n" * 60))
        page = self.open()
        page.resize(400, 800)
        for _ in range(2):
            page.wait_for("document.querySelector('main section')")
            self.assertLessEqual(page.evaluate("document.documentElement.scrollWidth"), 400)
            page.evaluate("document.querySelector('.jobs .job')?.click()")
            page.wait_for("document.querySelector('.strip')")
        self.finish(page)

    def test_a_dashboard_that_comes_back_is_found_again(self):
        self.start_dashboard()
        port = urllib.parse.urlsplit(self.url).port
        page = self.open()
        page.wait_for("document.getElementById('live').textContent === 'live'")
        self.stop_dashboard()
        page.wait_for("document.getElementById('live').textContent === 'reconnecting'")
        self.dashboard = self.start("dashboard", "--listen", "127.0.0.1:%d" % port, "--db", "events.db")
        self.dashboard.wait_for(STARTED)
        self.post("back", story("back", ("job.start", {})))
        page.wait_for_text("back")
        self.browser.close()
        self.stop_dashboard()


class ExampleTest(MusterTest):
    def test_the_example_shows_a_lost_node_and_a_failed_rank(self):
        folder = os.path.join(EXAMPLES, "dashboard")  # examples/dashboard
        finished = self.expect_code(self.start_command([os.path.join(folder, "run.sh"), BINARY]).finish(), 0)
        with open(os.path.join(folder, "expected.txt")) as file:
            self.expect_lines(file.read().splitlines(), finished.out)
