"""What a job of several nodes was told to be and to bear: the sizes that it may have, and how often, how soon and why it is restarted."""
import re
import signal
import unittest

from harness import free_port, wait_until
from test_nodes import REPORT, NodesTest

# Rounds are told by their attempt. A worker runs until its test has seen enough.
UNTIL_END = REPORT + 'while [ ! -e "$OUT/end" ]; do sleep 0.02; done'
QUICK = ("--replace-wait", "0s", "--scale-up-interval", "0s", "--scale-up-quiet", "0s", "--rdzv-conf", "last_call_timeout=1")


class SizesTest(NodesTest):
    def start_all(self, count, nodes, *flags):
        port = free_port()
        return {k: self.start_node(k, port, nodes, *QUICK, *flags, self.sh(UNTIL_END), candidates=1) for k in range(1, count + 1)}

    def sizes(self):
        """Of the rounds so far, as their workers know it."""
        found = {}
        for attempt in range(30):
            if self.exists("ranks.%d" % attempt) and self.ranks(attempt):  # the first worker writes it in two steps
                worlds = {line[3] for line in self.ranks(attempt)}
                self.assertEqual(len(worlds), 1, attempt)
                found[attempt] = worlds.pop()
        return found

    def wait_for_size(self, size, after=-1):
        """The attempt, above `after`, in which all nodes of a round of that size run."""
        def look():
            return next((attempt + 1 for attempt, world in self.sizes().items()
                         if attempt > after and world == size and self.count_started(attempt) == size), None)
        return wait_until(look, lambda: "a round of %d nodes after %d; there are %s" % (size, after, self.sizes())) - 1

    def shrink(self, count, nodes, flags, allowed, steps):
        """`steps`: (node to be killed, size of the round that follows)."""
        agents = self.start_all(count, nodes, *flags)
        attempt = self.wait_for_size(max(allowed))
        for victim, size in steps:
            agents[victim].signal(signal.SIGKILL)
            attempt = self.wait_for_size(size, after=attempt)
        self.write("end", "")
        killed = [victim for victim, _ in steps]
        for number, agent in agents.items():
            if number not in killed:
                self.expect_code(agent.finish(), 0)
        self.assertLessEqual(set(self.sizes().values()), set(allowed))
        return agents

    def test_rounds_are_of_whole_steps(self):
        """Of four nodes one is a spare, which takes the place of the first that is lost; two are no size."""
        agents = self.shrink(4, "1:4", ("--nnodes-step", "2"), (1, 3), ((2, 3), (3, 1)))
        self.assertIn("round.waiting", agents[4].err.text())

    def test_rounds_are_of_the_sizes_in_the_list(self):
        """Of three nodes the third one is a spare."""
        self.shrink(4, "1:4", ("--nnodes-allowed", "1,2,4"), (1, 2, 4), ((4, 2), (2, 2), (3, 1)))


class RestartsTest(NodesTest):
    def test_the_same_failure_three_times_is_a_crash_loop_on_two_nodes(self):
        worker = self.sh(REPORT + '[ "$RANK" = 1 ] && exit 7\nexec sleep 60')
        finished = self.expect_code(self.run_muster("local", "--nodes", 2, "--max-restarts", 9, worker), 7)
        self.assertFalse(self.exists("ranks.3"))
        verdicts = re.findall(r'round\.verdict .*?; ([^"]*)"', finished.err)
        self.assertEqual(verdicts, ["restart 1 of 9 at once", "restart 2 of 9 at once"])
        for node in (1, 2):
            self.assertRegex(finished.err, r"(?m)^\[node-%d\] .*job\.end result=failed .*crash loop: the same failure 3 times without progress\".* attempts=3 " % node)

    def test_the_pauses_before_restarts_double_on_two_nodes(self):
        worker = self.sh('date +%s.%N >"$OUT/began.$RANK.$TORCHELASTIC_RESTART_COUNT"\n[ "$RANK" = 1 ] || exec sleep 60\n'
                         'while [ ! -s "$OUT/began.0.$TORCHELASTIC_RESTART_COUNT" ]; do sleep 0.02; done\n'
                         'date +%s.%N >"$OUT/failed.$TORCHELASTIC_RESTART_COUNT"\nexit $((10 + TORCHELASTIC_RESTART_COUNT))')
        finished = self.expect_code(self.run_muster("local", "--nodes", 2, "--max-restarts", 2, "--restart-backoff", "1s", worker), 12)
        self.assertRegex(finished.err, r"round\.verdict .*restart 1 of 2 in [5-9]\d\d(\.\d+)? ms")
        self.assertRegex(finished.err, r"round\.verdict .*restart 2 of 2 in 1(\.\d+)? s")
        for attempt, least in ((1, 0.45), (2, 0.95)):  # half of the pause or more, as the jitter says
            failed = float(self.read("failed.%d" % (attempt - 1)))
            for rank in (0, 1):
                self.assertGreater(float(self.read("began.%d.%d" % (rank, attempt))) - failed, least)

    def test_a_successor_grants_no_more_restarts_than_are_left(self):
        """One of two is used when the leader is killed, which costs none."""
        port = free_port()
        # Each failure is another one, so that none of them is a crash loop.
        worker = self.sh(REPORT + 'case "$TORCHELASTIC_RESTART_COUNT" in 1) exec sleep 60;; esac\n'
                         'while [ "$(wc -l <"$OUT/ranks.$TORCHELASTIC_RESTART_COUNT")" -lt "$WORLD_SIZE" ]; do sleep 0.02; done\n'
                         '[ "$RANK" = 1 ] && exit $((10 + TORCHELASTIC_RESTART_COUNT))\nexec sleep 60')
        agents = {k: self.start_node(k, port, "2:3", "--max-restarts", 2, *QUICK, worker, candidates=3) for k in (1, 2, 3)}
        wait_until(lambda: self.count_started(1) == 3, "all run again after the first restart")
        agents[1].wait_for("round.running .*round 2", "err")
        agents[1].signal(signal.SIGKILL)
        for number in (2, 3):
            finished = self.expect_code(agents[number].finish(), 13)
            self.assertIn("all 2 restarts used", finished.err)
        self.assertIn("leader.take_over", agents[2].err.text())
        verdicts = [re.findall(r'round\.verdict .*?; ([^"]*)"', agents[k].err.text()) for k in (1, 2)]
        self.assertEqual(verdicts, [["restart 1 of 2 at once"], ["restart 2 of 2 at once"]])
        self.assertEqual([self.count_started(attempt) for attempt in range(5)], [3, 3, 2, 2, 0])


if __name__ == "__main__":
    unittest.main()
