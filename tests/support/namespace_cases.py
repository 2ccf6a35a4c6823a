"""What may happen to the hosts of a job (namespace_hosts.py), with real gloo training: killed, paused, cut off, replaced, misled.

Mixed into the tests of one PyTorch: the integration tests run them with Debian's, on few hosts, and the compatibility tests with
the current one. `self.numbers` are the hosts of a job, from 1 on; the last one is who suffers. `self.light_worker()` is the worker
where what happens does not touch running workers."""
import os
import re
import signal
import time

from harness import is_alive, is_sanitized, wait_until
from namespace_hosts import ELASTIC, ENDPOINT, NET


class Cases:
    numbers = (1, 2, 3, 4)

    def light_worker(self):
        return self.training()

    def start_all(self, *flags):
        """A job that may lose all but two of its nodes; it runs."""
        self.start_job(self.numbers, "2:%d" % len(self.numbers), *flags)
        self.wait_for_round(0, *self.numbers)
        return self.numbers[:-1], self.numbers[-1]


class Killed(Cases):
    def test_a_killed_node_is_noticed_at_once(self):
        others, victim = self.start_all()
        killed = time.monotonic()
        self.agents[victim].signal(signal.SIGKILL)
        self.log_of(1, "node.lost .*host-%d" % victim)
        self.assertLess(time.monotonic() - killed, 20, self.agents[1].err.text()[-3000:])  # the lease is 30 s
        self.wait_for_round(1, *others)
        self.assertEqual([node for _, node, _, _ in self.places(1)], list(range(len(others))))
        self.end_job(*others)


class Loss(Killed):
    stays_away_s = 0

    def sits_out(self, victim, undo):
        """The node has been silent for a while: it was suspect meanwhile, and is no more, and nothing else comes of it."""
        ended = time.time()
        undo()
        self.log_of(1, "node.back .*host-%d" % victim)
        self.assertLess(self.logged_at(1, "node.suspect .*host-%d" % victim), ended)
        self.assertGreater(self.logged_at(1, "node.back .*host-%d" % victim), ended - 0.001)  # the log has whole ms
        self.end_job(*self.numbers)
        self.assertFalse(self.exists("places.1"))

    def wait_while_away(self, victim):
        """Until it is a suspect. Where a case is of the grid, much longer, so that TCP has begun to wait longer between its tries."""
        self.log_of(1, "node.suspect .*host-%d" % victim)
        time.sleep(self.stays_away_s)

    def test_a_pause_is_sat_out(self):
        _, victim = self.start_all()
        tree = self.pause(victim)
        self.wait_while_away(victim)
        self.sits_out(victim, lambda: self.wake(tree))

    def test_a_cut_is_sat_out(self):
        _, victim = self.start_all()
        self.cut(victim)
        self.wait_while_away(victim)
        self.sits_out(victim, lambda: self.join(victim))

    def test_a_short_lease_acts_on_a_cut_and_takes_the_node_back(self):
        others, victim = self.start_all("--lease", "3s")
        self.cut(victim)
        self.log_of(victim, "member.fenced")
        self.wait_for_round(1, *others)
        self.join(victim)
        self.wait_for_round(2, *self.numbers)
        self.assertEqual([node for _, node, _, host in self.places(2) if host == "host-%d" % victim], [victim - 1])
        self.end_job(*self.numbers)


class Frozen(Cases):
    def test_a_node_that_slept_longer_than_its_lease_kills_its_workers_first_and_comes_back(self):
        others, victim = self.start_all("--lease", "3s")
        workers = self.workers_of(victim)
        self.assertTrue(workers)
        tree = self.pause(victim)
        self.log_of(1, "node.lost .*host-%d" % victim)
        self.wait_for_round(1, *others)
        asleep = len(self.agents[victim].err.text())
        self.wake(tree)
        self.wait_for_round(2, *self.numbers)
        self.assertEqual([node for _, node, _, host in self.places(2) if host == "host-%d" % victim], [victim - 1])
        self.assertFalse([pid for pid in workers if is_alive(pid)], "old workers run beside the new ones")
        # Nothing comes before the fence, and no leader is joined before the old workers are gone.
        events = re.findall(r"^\[host-\d+\] \d{4}-\S+Z [EWI] (\S+)", self.agents[victim].err.text()[asleep:], re.MULTILINE)
        self.assertEqual(events[0], "member.fenced", events)
        self.assertLess(events.index("worker.exit"), events.index("round.start"), events)
        self.end_job(*self.numbers)


class Leader(Cases):
    def test_the_leaders_host_is_cut_off(self):
        self.start_all("--lease", "3s")
        others = self.numbers[1:]
        workers = self.workers_of(1)
        self.assertTrue(workers)
        self.cut(1)
        self.log_of(1, "member.fenced")
        self.log_of(1, "worker.exit")
        self.log_of(2, "leader.take_over")
        self.wait_for_round(1, *others)
        # It lost its job and knows it: nothing of the old round runs beside the new one.
        self.assertFalse([pid for pid in workers if is_alive(pid)], self.agents[1].err.text()[-3000:])
        self.assertEqual(self.workers_of(1), [])
        self.end_job(*others)
        self.agents[1].signal(signal.SIGKILL)

    def test_the_leader_is_killed_twice_in_a_row(self):
        self.start_all()
        self.agents[1].signal(signal.SIGKILL)
        self.wait_for_round(1, *self.numbers[1:])
        self.agents[2].signal(signal.SIGKILL)
        self.log_of(3, "leader.take_over")
        self.wait_for_round(2, *self.numbers[2:])
        self.end_job(*self.numbers[2:])


class Change(Cases):
    def test_two_nodes_grow_to_four_and_shrink_to_three(self):
        self.start_job([1, 2], "2:4")
        self.wait_for_round(0, 1, 2)
        self.add_hosts((3, 4))
        for number in (3, 4):
            self.start_agent(number, "--nnodes", "2:4", "--rdzv-endpoint", ENDPOINT, *ELASTIC, *self.program)
        # One may come before the other.
        last = wait_until(lambda: next((k for k in (1, 2, 3) if len(self.places(k)) == 4), None), "a round of four", 90)
        self.wait_for_round(last, 1, 2, 3, 4)
        self.agents[2].signal(signal.SIGTERM)
        self.expect_code(self.agents[2].finish(), 143)
        self.wait_for_round(last + 1, 1, 3, 4)
        self.end_job(1, 3, 4)

    def test_a_replacement_with_the_same_name_and_another_address_takes_the_rank(self):
        nodes = str(len(self.numbers))
        names = ["host-%d" % number for number in self.numbers]
        self.start_job(self.numbers, nodes, "--replace-wait", "30s", endpoint="host-1,host-2")
        self.wait_for_round(0, *self.numbers)
        self.agents[2].signal(signal.SIGKILL)
        self.log_of(1, "node.lost .*host-2")
        self.add_host(12, name="host-2")
        self.start_agent(12, "--nnodes", nodes, "--rdzv-endpoint", "host-1,host-2", *ELASTIC, *self.program)
        self.wait_for_round(1, *self.numbers)
        self.assertEqual([host for _, _, _, host in self.places(1)], names)
        time.sleep(3)  # the next heartbeats tell every node that the round runs on all of them
        # The address is looked up at each dial: the replacement leads when the first one goes.
        self.agents[1].signal(signal.SIGKILL)
        self.log_of(12, "leader.take_over")
        self.add_host(11, name="host-1")
        self.start_agent(11, "--nnodes", nodes, "--rdzv-endpoint", "host-1,host-2", *ELASTIC, *self.program)
        self.wait_for_round(2, *self.numbers)
        self.end_job(11, 12, *self.numbers[2:])


class Dns(Cases):
    # Known from 5 s after the first question, in a search domain.
    DNS_ARGUMENTS = ("5",) + tuple("worker-%d.jobs.cluster=%s%d" % (k, NET, k + 1) for k in range(4))

    def test_names_that_dns_does_not_know_for_5_s(self):
        with open(self.resolv, "a") as file:
            file.write("search jobs.cluster\n")
        nodes = len(self.numbers)
        self.start_job(self.numbers, str(nodes), endpoint="worker-[0-%d]" % (nodes - 1), worker=self.light_worker())
        self.log_of(1, r"discovery.waiting state=.waiting for . of %d: .*worker-. \(NXDOMAIN\)" % nodes)
        self.wait_for_round(0, *self.numbers)
        self.end_job(*self.numbers)
        self.assertIn("NXDOMAIN worker-0.jobs.cluster", self.dns.out.text())
        self.assertIn("answered worker-0.jobs.cluster", self.dns.out.text())


class Strangers(Cases):
    def test_a_wrong_secret_does_not_get_in(self):
        others, stranger = self.numbers[:-1], self.numbers[-1]
        self.add_hosts(self.numbers)
        flags = ("--nnodes", str(len(others)), "--rdzv-endpoint", "host-1", *ELASTIC, *self.light_worker())
        right = {"MUSTER_JOB_SECRET_FILE": self.write("right", "0123456789abcdef0123456789abcdef\n")}
        wrong = {"MUSTER_JOB_SECRET_FILE": self.write("wrong", "fedcba9876543210fedcba9876543210\n")}
        self.start_agent(1, *flags, env=right)
        self.log_of(1, "round.waiting")
        self.start_agent(stranger, *[flag.replace("join_timeout=60", "join_timeout=5") for flag in flags], env=wrong)
        refused = self.expect_code(self.agents[stranger].finish(), 78)
        self.assertIn("secret", refused.last_error_line)
        self.assertNotIn("job.no_secret", refused.err)
        self.log_of(1, "link.dropped peer=%s%d:.*secret" % (NET, stranger))
        for number in others[1:]:
            self.start_agent(number, *flags, env=right)
        self.wait_for_round(0, *others)
        self.end_job(*others)

    def test_two_jobs_that_cross_on_one_endpoint(self):
        self.add_hosts((1, 2, 3, 4))
        flags = ("--nnodes", "2", "--rdzv-endpoint", "host-1", *ELASTIC, *self.light_worker())
        self.start_agent(1, "--rdzv-id", "one", *flags)
        self.log_of(1, "round.waiting")
        for number in (3, 4):
            self.start_agent(number, "--rdzv-id", "two", *flags)
        for number in (3, 4):
            finished = self.expect_code(self.agents[number].finish(), 78)
            self.assertRegex(finished.last_error_line, "has the run id 'two', the job at this endpoint 'one'")
        self.start_agent(2, "--rdzv-id", "one", *flags)
        self.wait_for_round(0, 1, 2)
        self.end_job(1, 2)
        # Any of them could have ended the other job, and was told how to keep strangers out.
        for number in (1, 2, 3, 4):
            warned = re.findall(r"^(?:\[\S+\] )?\S+ W job\.no_secret (.*)$", self.agents[number].err.text(), re.MULTILINE)
            self.assertEqual(len(warned), 1, self.agents[number].err.text())
            self.assertIn("MUSTER_JOB_SECRET_FILE protects it", warned[0])


class Leaks(Cases):
    EARLY, LATE = 5, 20
    # Each leaves a process of its own behind, fails in another way every time (the same failure again and again would be a crash
    # loop), and stands still without a child that comes and goes while it is measured.
    WORKER = ('echo "$RANK" >>"$OUT/started.$TORCHELASTIC_RESTART_COUNT"\n'
              'while [ "$(wc -l <"$OUT/started.$TORCHELASTIC_RESTART_COUNT")" -lt "$WORLD_SIZE" ]; do sleep 0.02; done\n'
              'sleep 1000 &\n'
              'case "$TORCHELASTIC_RESTART_COUNT" in\n'
              '5|20) : >"$OUT/still.$TORCHELASTIC_RESTART_COUNT.$RANK"\n'
              '  read -r line <"$OUT/go.$TORCHELASTIC_RESTART_COUNT.$RANK";;\n'
              "esac\n"
              '[ "$TORCHELASTIC_RESTART_COUNT" = 20 ] && exit 0\n'
              '[ "$RANK" = 1 ] && exit $((10 + TORCHELASTIC_RESTART_COUNT))\n'
              'exec sleep 1000')

    def restarting_worker(self):
        return self.training("restart_gloo_often.py")

    def measure(self, attempt):
        """({host: (descriptors, KiB of its own memory)}, processes), of agents whose workers all stand still."""
        ranks = range(len(self.numbers))
        wait_until(lambda: all(self.exists("still.%d.%d" % (attempt, rank)) for rank in ranks), "attempt %d" % attempt, 240)
        found = {}
        for number, agent in self.agents.items():
            pid = agent.agent_pid()
            with open("/proc/%d/status" % pid) as file:
                memory = int(next(line for line in file if line.startswith("RssAnon")).split()[1])
            found[number] = (len(os.listdir("/proc/%d/fd" % pid)), memory)
        processes = len(self.marked())
        for rank in ranks:
            with open(self.path("go.%d.%d" % (attempt, rank)), "w") as fifo:
                fifo.write("on\n")
        return found, processes

    def test_20_restarts_in_a_row_leave_nothing(self):
        for attempt in (self.EARLY, self.LATE):
            for rank in range(len(self.numbers)):
                os.mkfifo(self.path("go.%d.%d" % (attempt, rank)))
        self.start_job(self.numbers, str(len(self.numbers)), "--max-restarts", "20", worker=self.restarting_worker(), endpoint="host-1")
        early, processes_early = self.measure(self.EARLY)
        late, processes_late = self.measure(self.LATE)
        # 15 restarts that keep 17 KiB each fail. AddressSanitizer keeps what is freed, and reports leaks itself.
        most_kib = 256 if not is_sanitized() else 16 * 1024
        for number in self.agents:
            self.expect_code(self.agents[number].finish(), 0)
            self.assertEqual(late[number][0], early[number][0], "descriptors: %s, then %s" % (early, late))
            self.assertLessEqual(late[number][1], early[number][1] + most_kib, "memory in KiB: %s, then %s" % (early, late))
        self.assertEqual(processes_late, processes_early)
