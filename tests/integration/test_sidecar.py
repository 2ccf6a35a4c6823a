"""`muster sidecar`: what happens on a node reaches whoever is told of it, whatever happens."""
import json
import os
import signal
import sys
import threading
import unittest

from harness import ROOT, MusterTest, free_port, wait_until

sys.path.insert(0, os.path.join(ROOT, "tests", "support"))
from report_receiver import Authority, Journal, Receiver, half_an_answer  # noqa: E402


class SidecarTest(MusterTest):
    def receiver(self, *arguments, **how):
        made = Receiver(*arguments, **how)
        self.addCleanup(made.close)
        return made

    def journal(self, **how):
        made = Journal(self.path("run"), **how)
        self.addCleanup(made.let_go)
        return made

    def sidecar(self, receiver, *more, **how):
        """Its waits are short, and its log is whole."""
        url = receiver if isinstance(receiver, str) else receiver.url()
        return self.start("sidecar", "--run-dir", "run", "--report", "webhook=" + url, "--retry-max", "100ms", "--log-level", "info",
                          *more, **how)

    def expect_all(self, receiver, written):
        """Every event exactly once by its id, in their order."""
        got = receiver.events()
        self.assertEqual([event["id"] for event in got], [line["id"] for line in written])
        self.assertEqual(got, written)


class WebhookTest(SidecarTest):
    def test_events_come_in_order_and_the_end_ends_it(self):
        receiver = self.receiver()
        sidecar = self.sidecar(receiver)
        journal = self.journal()  # later than the sidecar, which waits for the folder
        journal.say("job.start", leads=True)
        receiver.wait_for_event("job.start")
        journal.say("worker.exit", rank=0, code=3)
        journal.end()
        self.expect_code(sidecar.finish(), 0)
        self.expect_all(receiver, journal.written)
        first = receiver.requests[0]
        self.assertEqual((first.method, first.path, first.headers["Content-Type"]), ("POST", "/webhook", "application/json"))
        self.assertEqual((first.body["version"], first.body["job"], first.body["node"]), (1, "bert", "node-0"))

    def test_a_receiver_that_is_away_or_unwell_gets_it_later(self):
        receiver = self.receiver()
        receiver.script += [500, 503, 408, 429, half_an_answer, (302, {"Location": receiver.url("/elsewhere")}, b""),
                            (429, {"Retry-After": "1"}, b"slow down")]
        journal = self.journal()
        journal.say("job.start")
        sidecar = self.sidecar(receiver)
        receiver.wait_until(lambda: receiver.events(), "the first event")
        journal.end()
        finished = self.expect_code(sidecar.finish(), 0)
        self.expect_all(receiver, journal.written)
        self.assertEqual({request.path for request in receiver.requests}, {"/webhook"})  # no redirect was followed
        asked = receiver.requests[5]
        self.assertGreaterEqual(receiver.requests[6].at - asked.at, 0.1)  # --retry-max is the most that is waited
        self.expect_lines([r"W sidecar\.waiting .*answer 500", r"W sidecar\.waiting .*answer 302", r"W sidecar\.waiting .*slow down",
                           r"I sidecar\.resumed .*tries=[67] "], finished.err)

    def test_retry_after_is_obeyed(self):
        receiver = self.receiver()
        receiver.script.append((429, {"Retry-After": "1"}, b""))
        self.journal().end()
        sidecar = self.start("sidecar", "--run-dir", "run", "--report", "webhook=" + receiver.url())
        self.expect_code(sidecar.finish(), 0)
        first, second = receiver.requests
        self.assertGreaterEqual(second.at - first.at, 1)
        self.assertLess(second.at - first.at, 4)

    def test_a_controller_that_is_down_is_told_when_it_is_back(self):
        port = free_port()
        journal = self.journal()
        journal.say("job.start")
        sidecar = self.sidecar("http://localhost:%d/webhook" % port)
        sidecar.wait_for(r"sidecar\.waiting .*Connection refused", "err")
        journal.say("worker.exit", rank=1)
        receiver = self.receiver(port)
        receiver.wait_for_event("worker.exit")
        journal.end()
        self.expect_code(sidecar.finish(), 0)
        self.expect_all(receiver, journal.written)

    def test_an_outage_that_ends_is_noticed_within_twelve_seconds(self):
        port = free_port()
        journal = self.journal()
        journal.say("job.start")
        sidecar = self.start("sidecar", "--run-dir", "run", "--report", "webhook=http://localhost:%d/webhook" % port)  # its own waits
        sidecar.wait_for(r"sidecar\.waiting .*Connection refused", "err")
        journal.say("worker.exit", rank=1)
        receiver = self.receiver(port)
        receiver.wait_for_event("worker.exit", timeout_s=12)
        journal.end()
        self.expect_code(sidecar.finish(), 0)
        self.expect_all(receiver, journal.written)

    def test_what_is_too_large_is_halved(self):
        receiver = self.receiver()
        largest = 3000

        def small_only(handler, request):
            size = len(json.dumps(request.body))
            status = 413 if size > largest else 200
            receiver.note(request, status)
            handler.send_response(status)
            handler.send_header("Content-Length", "0")
            handler.end_headers()
        receiver.always = small_only
        journal = self.journal()
        journal.say_all([("worker.exit", {"rank": rank}) for rank in range(100)])
        journal.end()
        self.expect_code(self.sidecar(receiver).finish(), 0)
        self.expect_all(receiver, journal.written)

    def test_large_bodies_are_packed_unless_the_receiver_knows_no_gzip(self):
        receiver = self.receiver()
        journal = self.journal()
        journal.say_all([("worker.exit", {"rank": rank}) for rank in range(100)])
        sidecar = self.sidecar(receiver)
        receiver.wait_for_event("worker.exit", 100)
        self.assertTrue(receiver.requests[0].packed)
        self.assertLess(len(receiver.requests[0].raw), 3000)
        receiver.script.append(415)
        journal.say_all([("worker.exit", {"rank": rank}) for rank in range(100)])
        receiver.wait_for_event("worker.exit", 200)
        journal.say_all([("worker.exit", {"rank": rank}) for rank in range(100)])
        journal.end()
        self.expect_code(sidecar.finish(), 0)
        self.expect_all(receiver, journal.written)
        self.assertFalse(receiver.requests[-1].packed)

    def test_what_is_refused_for_good_is_kept_and_holds_nothing_up(self):
        for status in (400, 422):
            with self.subTest(status=status):
                receiver = self.receiver()

                def refuse_one(handler, request, status=status):
                    refused = any(event["event"] == "job.start" for event in request.body["events"])
                    receiver.note(request, status if refused else 200)
                    handler.send_response(status if refused else 200)
                    handler.send_header("Content-Length", "13" if refused else "0")
                    handler.end_headers()
                    handler.wfile.write(b"no such field" if refused else b"")
                receiver.always = refuse_one
                run = self.path("run")
                journal = Journal(run, first=1 if status == 400 else 10, mark="agent%d" % status)
                self.addCleanup(journal.let_go)
                journal.say_all([("worker.exit", {"rank": 0}), ("job.start", {}), ("worker.exit", {"rank": 1})])
                sidecar = self.sidecar(receiver)
                sidecar.wait_for(r"W sidecar\.dead_letter .*answer %d: no such field" % status, "err")
                journal.end()
                self.expect_code(sidecar.finish(), 0)
                told = [event["id"] for event in receiver.events()]
                self.assertEqual(told[-3:], [line["id"] for line in journal.written if line["event"] != "job.start"])
                kept = [name for name in os.listdir(run) if name.endswith(".dead.jsonl")]
                letters = [json.loads(line) for name in kept for line in self.read("run/" + name).splitlines()]
                self.assertIn((status, "job.start"), [(letter["status"], letter["event"]["event"]) for letter in letters])

    def test_progress_of_a_backlog_is_told_once_and_failures_always(self):
        port = free_port()
        journal = self.journal()
        sidecar = self.sidecar("http://localhost:%d/webhook" % port)
        journal.say_all([("progress", {"attempt": 0, "rank": 0, "step": step}) for step in range(200)])
        journal.say("worker.exit", rank=0, code=1)
        journal.say_all([("progress", {"attempt": 1, "rank": 0, "step": step}) for step in range(200)])
        journal.say("worker.exit", rank=0, code=1)
        sidecar.wait_for(r"sidecar\.waiting", "err")
        receiver = self.receiver(port)
        journal.end()
        self.expect_code(sidecar.finish(), 0)
        steps = [(event["event"], event.get("attempt"), event.get("step")) for event in receiver.events()]
        self.assertLess(len(steps), 20)
        self.assertEqual([step for step in steps if step[0] == "worker.exit"], [("worker.exit", None, None)] * 2)
        self.assertIn(("progress", 0, 199), steps)
        self.assertIn(("progress", 1, 199), steps)
        self.assertEqual([event["seq"] for event in receiver.events()], sorted(event["seq"] for event in receiver.events()))

    def test_ten_thousand_events_in_a_burst(self):
        receiver = self.receiver()
        journal = self.journal()
        sidecar = self.sidecar(receiver)
        for _ in range(100):
            journal.say_all([("worker.exit", {"rank": rank, "last_lines": ["x" * 50]}) for rank in range(100)])
        receiver.wait_for_event("worker.exit", 10000, timeout_s=60)
        with open("/proc/%d/status" % sidecar.popen.pid) as status:
            peak = [int(line.split()[1]) for line in status if line.startswith("VmHWM")][0]
        journal.end()
        self.expect_code(sidecar.finish(), 0)
        self.expect_all(receiver, journal.written)
        if not os.environ.get("ASAN_OPTIONS"):
            self.assertLess(peak, 8 * 1024)  # KiB


class TrustTest(SidecarTest):
    def test_a_token_that_is_renewed_is_read_again(self):
        receiver = self.receiver()
        self.write("token", "old\n")

        def new_only(handler, request):
            status = 200 if request.token == "Bearer new" else 401
            receiver.note(request, status)
            handler.send_response(status)
            handler.send_header("Content-Length", "0")
            handler.end_headers()
        receiver.always = new_only
        journal = self.journal()
        journal.say("job.start")
        sidecar = self.sidecar(receiver, "--token-file", "token")
        receiver.wait_until(lambda: receiver.requests, "a request with the old token")
        self.write("token.new", "new\n")
        os.rename(self.path("token.new"), self.path("token"))
        receiver.wait_for_event("job.start")
        journal.end()
        finished = self.expect_code(sidecar.finish(), 0)
        self.expect_all(receiver, journal.written)
        self.assertEqual({request.token for request in receiver.requests}, {"Bearer old", "Bearer new"})
        self.assertNotIn("Bearer", finished.err)

    def test_only_the_authority_that_is_given_is_trusted(self):
        right, wrong = Authority(self.dir, "right"), Authority(self.dir, "wrong")
        receiver = self.receiver(context=right.context())
        os.symlink(wrong.path, self.path("ca"))
        journal = self.journal()
        journal.say("job.start")
        sidecar = self.sidecar(receiver, "--ca-file", "ca")
        sidecar.wait_for(r"sidecar\.waiting .*certificate", "err")
        self.assertEqual(receiver.requests, [])
        os.symlink(right.path, self.path("ca.new"))
        os.rename(self.path("ca.new"), self.path("ca"))
        receiver.wait_for_event("job.start")
        journal.end()
        self.expect_code(sidecar.finish(), 0)
        self.expect_all(receiver, journal.written)

    def test_a_certificate_of_ours_is_shown(self):
        servers, clients = Authority(self.dir, "servers"), Authority(self.dir, "clients")
        receiver = self.receiver(context=servers.context(clients=clients.path))
        certificate, key = clients.sign("client", "node-0")
        journal = self.journal()
        journal.end()
        self.expect_code(self.sidecar(receiver, "--ca-file", servers.path, "--cert-file", certificate, "--key-file", key).finish(), 0)
        self.expect_all(receiver, journal.written)


class LifeTest(SidecarTest):
    def test_one_that_is_killed_in_the_middle_has_a_successor_that_goes_on(self):
        receiver = self.receiver()
        journal = self.journal()
        killed = 0
        for turn in range(4):
            sidecar = self.sidecar(receiver)
            stuck = threading.Event()

            def hold(handler, request):
                receiver.note(request, 200)  # it has it, and the sidecar does not know
                stuck.set()
                handler.rfile.read(1)
            receiver.wait_until(lambda: len(receiver.events()) == len(journal.written), "all before")
            receiver.script.append(hold)
            journal.say_all([("worker.exit", {"rank": rank}) for rank in range(50)])
            self.assertTrue(stuck.wait(30))
            sidecar.signal(signal.SIGKILL)
            sidecar.finish()
            killed += 1
        journal.end()
        self.expect_code(self.sidecar(receiver).finish(), 0)
        self.expect_all(receiver, journal.written)
        self.assertGreater(len(receiver.taken), len(journal.written))  # at least once, and some twice

    def test_a_second_one_says_so_and_goes(self):
        receiver = self.receiver()
        journal = self.journal()
        journal.say("job.start")
        first = self.sidecar(receiver)
        receiver.wait_for_event("job.start")
        second = self.expect_code(self.sidecar(receiver).finish(), 75)
        self.expect_lines([r"E sidecar\.end .*another sidecar reports what happens in run"], second.err)
        journal.end()
        self.expect_code(first.finish(), 0)
        self.expect_all(receiver, journal.written)

    def test_sigterm_waits_for_the_agent_and_what_it_says_last(self):
        receiver = self.receiver()
        journal = self.journal()
        journal.say("job.start")
        sidecar = self.sidecar(receiver)
        receiver.wait_for_event("job.start")
        sidecar.signal(signal.SIGTERM)
        journal.say("job.stop")
        receiver.wait_for_event("job.stop")
        journal.end("stopped")
        self.expect_code(sidecar.finish(), 0)
        self.expect_all(receiver, journal.written)

    def test_the_time_to_flush_ends_it_and_says_what_is_undelivered(self):
        journal = self.journal()
        journal.say("job.start")
        sidecar = self.sidecar("http://localhost:%d/" % free_port(), "--flush-timeout", "300ms")
        sidecar.wait_for(r"sidecar\.waiting", "err")
        sidecar.signal(signal.SIGTERM)
        finished = self.expect_code(sidecar.finish(), 75)
        self.expect_lines([r"E sidecar\.undelivered .*waiting=1"], finished.err)

    def test_nobody_came_and_it_is_told_to_go(self):
        sidecar = self.sidecar("http://localhost:1/")
        sidecar.wait_for(r"sidecar\.start", "err")
        sidecar.signal(signal.SIGTERM)
        self.expect_code(sidecar.finish(), 0)

    def test_an_agent_that_is_killed_may_have_a_successor_in_the_same_folder(self):
        receiver = self.receiver()
        worker = self.sh('echo up; exec sleep 60')
        agent = self.start("run", "--run-dir", "run", "--no-python", worker)
        agent.wait_for("up")
        sidecar = self.sidecar(receiver)
        receiver.wait_for_event("job.start")
        agent.signal(signal.SIGKILL)
        agent.finish()
        self.expect_code(self.run_muster("run", "--run-dir", "run", "--no-python", "/bin/true"), 0)
        self.expect_code(sidecar.finish(), 0)
        lines = [json.loads(line) for line in self.read("run/events.jsonl").splitlines()]
        self.expect_all(receiver, lines)
        self.assertEqual([line["event"] for line in lines].count("job.start"), 2)

    def test_a_journal_that_is_cut_or_thrown_away_is_followed(self):
        receiver = self.receiver()
        journal = self.journal()
        journal.say_all([("worker.exit", {"rank": rank}) for rank in range(5)])
        sidecar = self.sidecar(receiver)
        receiver.wait_for_event("worker.exit", 5)
        os.truncate(self.path("run", "events.jsonl"), 0)
        journal.say("job.stop")
        receiver.wait_for_event("job.stop")
        os.unlink(self.path("run", "events.jsonl"))
        before = list(journal.written)
        journal.mark, journal.seq = "agent2", 0
        journal.say("job.start")
        journal.end()
        self.expect_code(sidecar.finish(), 0)
        self.expect_all(receiver, before + journal.written[len(before):])

    def test_a_full_disk_costs_the_place_and_no_event(self):
        receiver = self.receiver()
        os.mkdir(self.path("run"))
        # The journal was written before the disk was full; only the sidecar's own files have no room.
        fill = ('mount -t tmpfs -o size=64k none run; python3 -c \'%s\'; dd if=/dev/zero of=run/filler bs=4k 2>/dev/null || true'
                % 'import sys; sys.path.insert(0, "%s"); from report_receiver import Journal; j = Journal("run"); j.say("job.start"); j.end()'
                % os.path.join(ROOT, "tests", "support"))
        finished = self.expect_code(self.sidecar(receiver, mounts=fill).finish(), 0)
        self.assertEqual([event["event"] for event in receiver.events()], ["job.start", "job.end"])
        self.expect_lines([r"W sidecar\.trouble .*No space left on device"], finished.err)


class OtherTargetsTest(SidecarTest):
    def test_stdout_has_a_line_for_each_event(self):
        journal = self.journal()
        journal.say("job.start")
        journal.end()
        finished = self.expect_code(self.run_muster("sidecar", "--run-dir", "run", "--report", "stdout"), 0)
        self.assertEqual([json.loads(line) for line in finished.out.splitlines()], journal.written)

    def trainjob(self, receiver):
        self.write("token", "t0")
        return {"KUBEFLOW_TRAINER_SERVER_URL": receiver.url("/apis/trainjobs/bert/status"),
                "KUBEFLOW_TRAINER_SERVER_TOKEN": self.path("token")}

    def test_the_trainer_hears_the_newest_of_the_node_of_rank_zero_and_its_end(self):
        receiver = self.receiver()
        receiver.script += [403]
        journal = self.journal()
        journal.say("round.start", leads=False, first_rank=0, round=1)
        journal.say_all([("progress", {"first_rank": 0, "step": step, "total": 100, "percent": step, "metrics": {"loss": 0.5}})
                         for step in range(0, 101, 10)])
        journal.end()
        self.expect_code(self.run_muster("sidecar", "--run-dir", "run", "--report", "trainjob", env=self.trainjob(receiver)), 0)
        first, last = receiver.requests
        self.assertEqual((first.path, first.token), ("/apis/trainjobs/bert/status", "Bearer t0"))
        status = last.body["trainerStatus"]
        self.assertEqual((status["progressPercentage"], status["lastUpdatedTime"]), (100, "2026-11-27T21:07:51Z"))
        self.assertIn({"name": "loss", "value": "0.5"}, status["metrics"])

    def test_the_trainer_hears_of_the_next_agent_from_the_next_sidecar(self):
        receiver = self.receiver()
        words = ("sidecar", "--run-dir", "run", "--log-format", "json", "--report", "trainjob")
        journal = self.journal()
        journal.say("round.start", first_rank=0, round=1)
        journal.say("progress", first_rank=0, step=10, percent=10)
        first = self.start(*words, env=self.trainjob(receiver))
        receiver.wait_until(lambda: receiver.requests, "the first report")
        second = self.start(*words, "--after-another", env=self.trainjob(receiver))
        second.wait_for(r"sidecar\.waiting", "err")
        first.popen.kill()
        journal.let_go()
        successor = self.journal(mark="agent2", first=journal.seq + 1)
        successor.say("job.start", leads=True)
        successor.say("progress", first_rank=0, step=70, percent=70)
        successor.end()
        finished = self.expect_code(second.finish(), 0)
        percents = [request.body["trainerStatus"]["progressPercentage"] for request in receiver.requests]
        self.assertEqual((percents[0], percents[-1], percents), (10, 100, sorted(percents)))
        last = json.loads(finished.err.splitlines()[-1])
        self.assertEqual((last["event"], last["job"], last["run_id"], last["node"]), ("sidecar.end", "bert", "bert", "node-0"))
        first.finish()

    def test_a_node_that_does_not_lead_tells_the_trainer_nothing(self):
        receiver = self.receiver()
        journal = self.journal()
        journal.say("round.start", leads=False, round=1)
        journal.say("progress", step=1, percent=1)
        journal.end()
        self.expect_code(self.run_muster("sidecar", "--run-dir", "run", "--report", "trainjob", env=self.trainjob(receiver)), 0)
        self.assertEqual(receiver.requests, [])

    def test_a_pod_that_cannot_tell_the_trainer_says_so(self):
        finished = self.expect_code(self.run_muster("sidecar", "--run-dir", "run", "--report", "trainjob"), 78)
        self.expect_lines([r"KUBEFLOW_TRAINER_SERVER_URL"], finished.err)

    def test_a_pod_shows_what_it_does(self):
        authority = Authority(self.dir, "cluster")
        receiver = self.receiver(context=authority.context())
        journal = self.journal()
        journal.say("job.start")
        journal.say("round.start", round=1, attempt=0)
        journal.end()
        account = ("mount -t tmpfs none /run; mkdir -p /run/secrets/kubernetes.io/serviceaccount; cd /run/secrets/kubernetes.io/serviceaccount; "
                   "printf sa-token > token; printf team > namespace; cp '%s' ca.crt; cd '%s'" % (authority.path, self.dir))
        finished = self.start("sidecar", "--run-dir", "run", "--report", "annotation", mounts=account,
                              env={"KUBERNETES_SERVICE_HOST": "localhost", "KUBERNETES_SERVICE_PORT": str(receiver.port),
                                   "POD_NAME": "bert-0"}).finish()
        self.expect_code(finished, 0)
        request = receiver.requests[-1]
        self.assertEqual((request.method, request.path, request.token),
                         ("PATCH", "/api/v1/namespaces/team/pods/bert-0", "Bearer sa-token"))
        self.assertEqual(request.headers["Content-Type"], "application/merge-patch+json")
        annotations = request.body["metadata"]["annotations"]
        self.assertEqual((annotations["muster/state"], annotations["muster/job"]), ("succeeded", "bert"))


if __name__ == "__main__":
    unittest.main()
