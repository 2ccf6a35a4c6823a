"""`muster run --report`: the agent's own sidecar, which changes nothing of a job and leaves nothing behind."""
import collections
import json
import os
import signal
import time
import unittest

from harness import BINARY, EXAMPLES, free_port, wait_until
from test_sidecar import SidecarTest

EXAMPLE = os.path.join(EXAMPLES, "sidecar")


class OwnSidecarTest(SidecarTest):
    def test_the_example(self):
        """examples/sidecar/run.sh."""
        finished = self.start_command([os.path.join(EXAMPLE, "run.sh"), BINARY]).finish()
        self.expect_code(finished, 0)
        with open(os.path.join(EXAMPLE, "expected.txt")) as file:
            self.assertEqual(finished.out, file.read())
        self.assertEqual(os.listdir(self.temp), [])

    def test_a_job_reports_by_itself_and_keeps_its_code(self):
        receiver = self.receiver()
        finished = self.run_muster("run", "--report", "webhook=" + receiver.url(), "--rdzv-id", "bert", "--node-name", "node-0",
                                   "--run-dir", "run", "--no-python", self.sh("exit 7"))
        self.expect_code(finished, 7)
        self.expect_all(receiver, [json.loads(line) for line in self.read("run/events.jsonl").splitlines()])
        self.assertEqual(receiver.events()[-1]["event"], "job.end")

    def test_without_a_folder_there_is_one_for_the_time(self):
        receiver = self.receiver()
        self.expect_code(self.run_muster("run", "--report", "webhook=" + receiver.url(), "--no-python", "/bin/true"), 0)
        self.assertEqual(receiver.events()[-1]["event"], "job.end")
        self.assertEqual(os.listdir(self.temp), [])

    def test_a_receiver_that_is_away_changes_nothing_but_the_time_of_the_end(self):
        finished = self.run_muster("run", "--report", "webhook=http://localhost:%d/" % free_port(), "--flush-timeout", "200ms",
                                   "--run-dir", "run", "--no-python", "/bin/true")
        self.expect_code(finished, 0)
        self.expect_lines([r"E sidecar\.undelivered"], finished.err)
        receiver = self.receiver()
        self.expect_code(self.sidecar(receiver).finish(), 0)  # and another one may tell it later
        self.assertEqual(receiver.events()[-1]["event"], "job.end")

    def test_workers_that_start_again_do_not_end_it(self):
        receiver = self.receiver()
        worker = self.sh('[ "$TORCHELASTIC_RESTART_COUNT" = 2 ] || exit 1')
        self.expect_code(self.run_muster("run", "--report", "webhook=" + receiver.url(), "--max-restarts", 2, "--no-python", worker), 0)
        names = collections.Counter(event["event"] for event in receiver.events())
        self.assertEqual((names["attempt.restart"], names["job.end"]), (2, 1))

    def test_what_an_agent_said_before_it_was_killed_is_told(self):
        receiver = self.receiver()
        receiver.always = 503
        agent = self.start("run", "--report", "webhook=" + receiver.url(), "--no-python", self.sh('echo up; exec sleep 60'))
        agent.wait_for("up")
        receiver.wait_until(lambda: receiver.requests, "a first try")
        agent.signal(signal.SIGKILL)
        agent.popen.wait(30)  # its sidecar holds the output
        self.assertEqual(receiver.events(), [])
        receiver.always = 200
        receiver.wait_for_event("job.start")
        agent.finish()
        wait_until(lambda: not self.marked(), "the end of the sidecar")
        self.assertEqual([name for name in os.listdir(self.temp) if name.startswith("muster-run-")], [])  # the sidecar's own

    def test_a_sidecar_that_was_killed_begins_once_more_at_the_end(self):
        receiver = self.receiver()
        worker = self.sh('echo up; until [ -e go ]; do sleep 0.02; done')
        agent = self.start("run", "--report", "webhook=" + receiver.url(), "--no-python", worker)
        agent.wait_for("up")
        receiver.wait_for_event("job.start")
        os.kill(self.child_of(agent.popen.pid, "sidecar"), signal.SIGKILL)
        self.write("go", "")
        finished = self.expect_code(agent.finish(), 0)
        self.expect_lines([r"W report\.failed .*ended before the job"], finished.err)
        self.assertEqual(receiver.events()[-1]["event"], "job.end")
        self.assertEqual(os.listdir(self.temp), [])

    def test_a_signal_does_not_wait_long_for_a_receiver_that_is_away(self):
        agent = self.start("run", "--report", "webhook=http://localhost:%d/x?key=secret" % free_port(), "--no-python",
                           self.sh('echo up; exec sleep 60'))
        agent.wait_for("up")
        agent.wait_for(r"sidecar\.waiting", "err")
        with open("/proc/%d/cmdline" % self.child_of(agent.popen.pid, "sidecar")) as words:
            self.assertNotIn("secret", words.read())
        begun = time.monotonic()
        agent.signal(signal.SIGTERM)
        finished = self.expect_code(agent.finish(), 143)
        self.assertLess(time.monotonic() - begun, 20)  # less than --flush-timeout
        self.expect_lines([r"E sidecar\.undelivered .*muster-run-"], finished.err)
        self.assertNotIn("secret", finished.err)

    def child_of(self, agent, word):
        """The pid of the agent's child `muster WORD`."""
        for name in os.listdir("/proc"):
            try:
                with open("/proc/%s/stat" % name) as stat, open("/proc/%s/cmdline" % name) as words:
                    if int(stat.read().rsplit(")", 1)[1].split()[1]) == agent and words.read().split("\0")[1] == word:
                        return int(name)
            except (OSError, IndexError):
                continue
        raise AssertionError("no such child")

    def test_a_script_that_tells_the_trainer_by_itself_reaches_the_agent(self):
        receiver = self.receiver()
        self.write("token", "real-token")
        env = {"KUBEFLOW_TRAINER_SERVER_URL": receiver.url("/status"), "KUBEFLOW_TRAINER_SERVER_TOKEN": self.path("token")}
        worker = self.py("""
import json, os, urllib.request
body = {"trainerStatus": {"metrics": [{"name": "current_step", "value": "7"}, {"name": "total_steps", "value": "10"},
                                      {"name": "loss", "value": "0.5"}], "lastUpdatedTime": "2026-08-20T10:00:00.1+00:00"}}
for token, code in (("wrong", 403), (open(os.environ["KUBEFLOW_TRAINER_SERVER_TOKEN"]).read(), 200)):
    request = urllib.request.Request(os.environ["KUBEFLOW_TRAINER_SERVER_URL"], json.dumps(body).encode(),
                                     {"Authorization": "Bearer " + token, "Content-Type": "application/json"})
    try:
        assert urllib.request.urlopen(request).status == code
    except urllib.error.HTTPError as error:
        assert error.code == code, error
""")
        self.expect_code(self.run_muster("run", "--report", "trainjob", "--run-dir", "run", worker, env=env), 0)
        self.assertEqual({request.token for request in receiver.requests}, {"Bearer real-token"})
        last = receiver.requests[-1].body["trainerStatus"]
        self.assertEqual(last["progressPercentage"], 100)
        self.assertEqual({metric["name"]: metric["value"] for metric in last["metrics"]},
                         {"current_step": "7", "total_steps": "10", "loss": "0.5"})
        self.assertNotIn("trainer.token", os.listdir(self.path("run")))

    def test_each_node_of_a_local_job_reports_for_itself(self):
        receiver = self.receiver()
        self.expect_code(self.run_muster("local", "--nodes", 2, "--report", "webhook=" + receiver.url(), "--no-python", "/bin/true"), 0)
        ends = [event["node"] for event in receiver.events() if event["event"] == "job.end"]
        self.assertEqual(sorted(ends), ["node-1", "node-2"])
        leads = [event["leads"] for event in receiver.events() if event["event"] == "round.start"]
        self.assertEqual(sorted(leads), [False, True])
        by_node = collections.defaultdict(list)
        for event in receiver.events():
            by_node[event["node"]].append(event["seq"])
        for seqs in by_node.values():
            self.assertEqual(seqs, list(range(1, len(seqs) + 1)))

    def test_a_wrong_word_is_an_error_of_the_command_line(self):
        finished = self.expect_code(self.run_muster("run", "--report", "controller", "--no-python", "/bin/true"), 64)
        self.assertIn("webhook=URL, trainjob, annotation, stdout", finished.err)


if __name__ == "__main__":
    unittest.main()
