"""Restarts: every attempt starts with nothing of the one before."""
import os
import re
import time

import harness
from store_client import StoreClient

WITH_STORE = "import os, sys, time\nsys.path.insert(0, %r)\nfrom store_client import StoreClient\n" % harness.SUPPORT


class Restarts(harness.MusterTest):
    def test_the_group_is_started_again_until_it_succeeds(self):
        worker = self.sh('echo "$TORCHELASTIC_RESTART_COUNT of $TORCHELASTIC_MAX_RESTARTS"\n'
                         'echo >"$OUT/up.$TORCHELASTIC_RESTART_COUNT.$RANK"\n'
                         'until [ -e "$OUT/up.$TORCHELASTIC_RESTART_COUNT.$((1 - RANK))" ]; do sleep 0.01; done\n'
                         '[ "$RANK$TORCHELASTIC_RESTART_COUNT" != 10 ] && [ "$RANK$TORCHELASTIC_RESTART_COUNT" != 01 ] || exit 3\n'
                         '[ "$TORCHELASTIC_RESTART_COUNT" = 2 ] || sleep 300')
        finished = self.expect_code(self.run_muster("run", "--nproc-per-node", 2, "--max-restarts", 5, worker), 0)
        attempts = re.findall(r"\] (\d) of 5$", finished.out, re.MULTILINE)
        self.assertEqual(attempts, ["0", "0", "1", "1", "2", "2"])

    def test_a_hundred_restarts_cost_no_descriptors_and_no_memory(self):
        worker = self.sh('ls /proc/$PPID/fd | wc -l; grep VmRSS: /proc/$PPID/status; exit $((3 + TORCHELASTIC_RESTART_COUNT % 2))')
        finished = self.run_muster("run", "--nproc-per-node", 1, "--max-restarts", 100, "--log-dir", self.path("logs"), "--tee", 3, worker)
        self.expect_code(finished, 3)
        descriptors = [int(word) for word in re.findall(r"^(\d+)$", finished.out, re.MULTILINE)]
        resident_kib = [int(word) for word in re.findall(r"VmRSS:\s+(\d+) kB", finished.out)]
        self.assertEqual((len(descriptors), len(resident_kib)), (101, 101))
        # The guardian's, which is started once, may come and go; one lost per attempt would show.
        self.assertLess(max(descriptors[50:]), min(descriptors) + 20)
        self.assertLess(resident_kib[-1] - resident_kib[2], 8 << 10)

    def test_when_the_budget_is_used_up_the_code_is_the_last_failures(self):
        worker = self.sh("exit $((TORCHELASTIC_RESTART_COUNT + 10))")
        finished = self.expect_code(self.run_muster("run", "--max-restarts", 2, worker), 12)
        self.assertIn("attempt 2", finished.last_error_line)

    def test_without_max_restarts_there_is_one_attempt(self):
        finished = self.expect_code(self.run_muster("run", self.sh("echo once; exit 3")), 3)
        self.assertEqual(finished.out, "once\n")

    def test_the_same_failure_three_times_is_a_crash_loop(self):
        finished = self.expect_code(self.run_muster("run", "--max-restarts", 9, self.sh("echo again; exit 3")), 3)
        self.assertEqual(finished.out, "again\n" * 3)
        self.assertIn("crash loop: the same failure 3 times without progress", finished.err)

    def test_as_torchrun_all_restarts_are_used(self):
        finished = self.run_muster("--max-restarts", 4, "--no-python", self.sh("echo again; exit 3"), as_torchrun=True)
        self.assertEqual(self.expect_code(finished, 1).out, "again\n" * 5)

    def test_every_attempt_finds_an_empty_store(self):
        """torchrun keeps the old keys: restarted ranks dial peers that are dead."""
        worker = self.py(WITH_STORE + """
attempt = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
rank = os.environ["RANK"]
store = StoreClient.of_job()
print("keys at start", store.check("/left by %d" % (attempt - 1)) if attempt else False, flush=True)
store.set("/left by %d" % attempt, rank)
store.add("/arrived", 1)
while store.add("/arrived", 0) < 2:
    time.sleep(0.01)
assert store.add("/arrived", 0) == 2
if attempt < 3:
    sys.exit(1 + attempt) if rank == "1" else time.sleep(300)
""")
        finished = self.expect_code(self.run_muster("run", "--nproc-per-node", 2, "--max-restarts", 3, worker), 0)
        self.assertEqual(finished.out.count("keys at start False"), 8, finished)

    def test_the_store_address_stays_reachable_in_every_attempt(self):
        worker = self.py(WITH_STORE + """
assert StoreClient.of_job().ping()
print(os.environ["MASTER_ADDR"], flush=True)
sys.exit(0 if os.environ["TORCHELASTIC_RESTART_COUNT"] == "2" else 1)
""")
        self.expect_code(self.run_muster("run", "--max-restarts", 2, worker), 0)

    def test_a_client_of_the_last_attempt_is_cut_off(self):
        """A process that escaped to elsewhere must not write into the store of the next attempt."""
        worker = self.sh('echo "attempt $TORCHELASTIC_RESTART_COUNT at $MASTER_ADDR $MASTER_PORT"\n'
                         'while [ ! -e "$OUT/end.$TORCHELASTIC_RESTART_COUNT" ]; do sleep 0.02; done\n'
                         'exit "$((1 - TORCHELASTIC_RESTART_COUNT))"')
        agent = self.start("run", "--max-restarts", 1, worker)
        host, port = agent.wait_for(r"^attempt 0 at (\S+) (\d+)$").groups()
        with StoreClient(host, int(port)) as old:
            old.set("/key", "x")
            self.write("end.0", "")
            self.assertTrue(old.is_closed_by_server())
        host, port = agent.wait_for(r"^attempt 1 at (\S+) (\d+)$").groups()
        with StoreClient(host, int(port)) as new:
            self.assertEqual(new.num_keys(), 0)
        self.write("end.1", "")
        self.expect_code(agent.finish(), 0)

    def test_a_stop_while_workers_end_starts_no_further_attempt(self):
        worker = self.sh("trap 'exit 5' TERM\necho up\nsleep 300 & wait")
        agent = self.start("run", "--nproc-per-node", 2, "--max-restarts", 3, worker)
        agent.wait_for(r"(up\n.*){2}")
        agent.signal(15)
        finished = self.expect_code(agent.finish(), 143)
        self.assertEqual(finished.out.count("up"), 2)

    def test_backoff_doubles(self):
        worker = self.sh('date +%s.%N >>"$OUT/starts"; exit 3')
        self.expect_code(self.run_muster("run", "--max-restarts", 2, "--restart-backoff", "1s", worker), 3)
        first, second, third = [float(line) for line in self.read("starts").splitlines()]
        # Half to all of the nominal time; the upper bounds leave room for a busy machine.
        self.assertTrue(0.45 < second - first < 6, second - first)
        self.assertTrue(0.95 < third - second < 7, third - second)

    def test_a_stop_during_the_backoff_ends_the_job(self):
        agent = self.start("run", "--max-restarts", 2, "--restart-backoff", "1h", self.sh("echo failing; exit 3"))
        agent.wait_for("failing")
        time.sleep(0.3)
        agent.signal(15)
        finished = self.expect_code(agent.finish(), 143)
        self.assertRegex(finished.last_error_line, r"^muster: stopped by SIGTERM .*, 1 failed \(rank 0: exit code 3")
        self.assertRegex(finished.err, r"(?m)^  attempt  .*; restart 1 of 2 in ")

    def test_a_worker_that_ignores_sigterm_does_not_delay_the_restart_for_ever(self):
        worker = self.sh("trap '' TERM\n"
                         '[ "$TORCHELASTIC_RESTART_COUNT" = 1 ] && exit 0\n'
                         '[ "$RANK" = 1 ] && { while [ ! -e "$OUT/ready" ]; do sleep 0.01; done; exit 3; }\n'
                         'echo >"$OUT/ready"; while :; do sleep 0.1; done')
        begin = time.monotonic()
        finished = self.run_muster("run", "--nproc-per-node", 2, "--max-restarts", 1, "--grace-period", "1s", worker)
        self.expect_code(finished, 0)
        self.assertGreater(time.monotonic() - begin, 0.9)

    def test_nothing_of_an_attempt_lives_when_the_next_one_starts(self):
        """Children, daemons in their own session, and what ignores SIGTERM: all hold GPUs and ports."""
        worker = self.py("""
import os, signal, subprocess, sys, time
out = os.environ["OUT"]
def path(rank): return os.path.join(out, "daemon.%s" % rank)
if os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
    subprocess.Popen(["sh", "-c", "trap '' TERM; while :; do sleep 0.1; done"])
    if os.fork() == 0:
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if os.fork() == 0:
            open(path(os.environ["RANK"]) + ".tmp", "w").write(str(os.getpid()))
            os.rename(path(os.environ["RANK"]) + ".tmp", path(os.environ["RANK"]))
            time.sleep(300)
        os._exit(0)
    while not all(os.path.exists(path(rank)) for rank in range(2)):
        time.sleep(0.01)
    sys.exit(3)
for rank in range(2):
    pid = int(open(path(rank)).read())
    print("daemon lives:", os.path.exists("/proc/%d" % pid))
""")
        finished = self.run_muster("run", "--nproc-per-node", 2, "--max-restarts", 1, "--grace-period", "1s", worker)
        self.assertEqual(self.expect_code(finished, 0).out.count("daemon lives: False"), 4, finished)

    def test_an_exec_failure_can_be_restarted_like_any_other(self):
        program = self.path("program")
        script = self.sh('[ "$TORCHELASTIC_RESTART_COUNT" = 0 ] && { rm "$OUT/program"; exit 1; }', "program")
        self.assertEqual(script, program)
        finished = self.run_muster("run", "--max-restarts", 3, program)
        self.expect_code(finished, 127)
        self.assertIn(program, finished.last_error_line)
        self.assertFalse(os.path.exists(program))
