"""horovodrun of Horovod 0.28.1, built for PyTorch 2.13: elastic and static, over `muster rsh`."""
import os
import re
import signal
import subprocess
import unittest

from harness import BINARY, EXAMPLES, PATIENCE_S, SUPPORT, MusterTest, wait_until

HERE = os.path.dirname(os.path.abspath(__file__))
TRAIN = os.path.join(EXAMPLES, "horovod", "train.py")
SHORT = ("--lease", "3s", "--replace-wait", "0s", "--rdzv-conf", "join_timeout=10")


class HorovodTest(MusterTest):
    def setUp(self):
        super().setUp()
        setup = subprocess.run(["sh", os.path.join(HERE, "setup_horovod.sh"), os.environ["MUSTER_COMPAT_PYTHON"]],
                               stdout=subprocess.PIPE, text=True)
        if setup.returncode != 0:
            self.skip_because("registry", "no Horovod from the package registry, or it does not build")
        self.bin = os.path.join(setup.stdout.strip(), "bin")

    def environment(self, extra=None):
        own = super().environment()
        return super().environment({"PATH": "%s:%s" % (self.bin, own["PATH"]), "PYTHONDONTWRITEBYTECODE": "1", **(extra or {})})

    def job(self, *words, nodes=2):
        return self.start("local", "--nodes", nodes, "--framework", "mpi", *SHORT, *words)

    def elastic(self, *words, sizes="1:3", at_least=1, program=("python", TRAIN)):
        return self.job("--nnodes", sizes, *words, "--", "horovodrun", "-np", "2", "--min-np", str(at_least), "--max-np", "3",
                        "--network-interfaces", "lo", "--host-discovery-script", "discover_hosts.sh", *program)

    def expect_nothing_left(self):
        wait_until(lambda: not self.marked(), "nothing is left", 10)


class Elastic(HorovodTest):
    def test_a_node_comes_and_one_dies_while_it_trains(self):
        """examples/horovod/run.sh."""
        finished = self.start_command([os.path.join(EXAMPLES, "horovod", "run.sh"), BINARY]).finish(2 * PATIENCE_S)
        self.expect_code(finished, 0)
        with open(os.path.join(EXAMPLES, "horovod", "expected.txt")) as file:
            for pattern in file.read().splitlines():
                self.assertRegex(finished.out, pattern)
        sizes = [int(size) for size in re.findall(r"epoch \d+ size (\d)", finished.out)]
        self.assertEqual([size for i, size in enumerate(sizes) if i == 0 or sizes[i - 1] != size], [2, 3, 2], finished)
        self.assertEqual(len(re.findall("mpi.launch ", finished.err)), 1)
        self.expect_nothing_left()

    def test_a_node_that_is_told_to_go_takes_nothing_along(self):
        finished = self.elastic("--chaos", "preempt-node:2@epoch=4", program=("python", TRAIN, "20")).finish()
        self.expect_code(finished, 0)
        # No epoch is done twice: the ranks left in good order.
        epochs = [int(epoch) for epoch in re.findall(r"epoch (\d+) size", finished.out)]
        self.assertEqual(epochs, list(range(1, 21)), finished)
        self.assertRegex(finished.out, "epoch 20 size 1 ")
        self.assertNotIn("get SIGTERM", finished.err)
        self.expect_nothing_left()

    def test_a_rank_that_fails(self):
        fail = 'import os, sys; sys.exit(3 if os.environ["HOROVOD_RANK"] == "1" else 0)'
        finished = self.elastic(at_least=2, program=(BINARY, "rank", "--", "python", "-c", fail)).finish()
        self.expect_code(finished, 1)
        self.assertRegex(finished.err, r"muster: rank 1 on node-[12] failed first: exit code 3 .*; then horovodrun: exit code 1 ")
        self.expect_nothing_left()

    def test_a_killed_horovodrun_starts_again(self):
        job = self.elastic("--max-restarts", "1", program=("python", TRAIN, "8"))
        job.wait_for("epoch 2 ")
        launcher, = [pid for pid, command in self.marked().items() if re.search(r"python\S* \S*/horovodrun ", command)
                     and "/bin/sh" not in command and BINARY not in command]
        os.kill(launcher, signal.SIGKILL)
        finished = self.expect_code(job.finish(), 0)
        self.assertIn("horovodrun: SIGKILL", finished.err)
        self.assertEqual(len(re.findall("mpi.launch ", finished.err)), 2)
        self.expect_nothing_left()


class WithoutHorovodrun(HorovodTest):
    """--framework horovod: no horovodrun, no ssh."""

    def places(self, finished):
        return sorted(re.findall(r"(rank \d size \d local \d/\d cross \d/\d sum \d+)", finished.out))

    def train(self, *words, fault=""):
        script = os.path.join(SUPPORT, "horovod_sum.py")
        return self.start("local", "--nodes", 2, "--nproc-per-node", 2, *words, "--", "python", script, *fault.split()).finish()

    def test_all_meet_twice(self):
        finished = self.expect_code(self.train("--framework", "horovod"), 0)
        self.assertEqual(self.places(finished), ["rank %d size 4 local %d/2 cross %d/2 sum 6" % (rank, rank % 2, rank // 2) for rank in range(4)])
        self.assertEqual(len(re.findall("again 4$", finished.out, re.M)), 4, finished)
        self.expect_nothing_left()

    def test_a_killed_worker_and_all_start_again(self):
        finished = self.expect_code(self.train("--framework", "horovod", "--max-restarts", 1, fault="kill 3"), 0)
        self.assertEqual(len(re.findall("again 4$", finished.out, re.M)), 4, finished)
        self.assertRegex(finished.err, "rank 3 on node-2 failed first: SIGKILL")
        self.expect_nothing_left()

    def test_a_killed_worker_ends_the_job(self):
        finished = self.expect_code(self.train("--framework", "horovod", fault="kill 1"), 137)
        self.assertIn("rank 1 on node-1 failed first: SIGKILL", finished.err)

    def test_horovodrun_is_taken_over(self):
        script = os.path.join(SUPPORT, "horovod_sum.py")
        finished = self.expect_code(self.run_muster("run", "horovodrun", "-np", 2, "--gloo", "python", script), 0)
        self.assertEqual(len(self.places(finished)), 2)
        self.assertIn("horovodrun is not started", finished.err)


class Static(HorovodTest):
    def test_over_two_nodes(self):
        # Its own check of ssh, and its own way to find the interfaces, included.
        script = self.sh('exec horovodrun -np 2 --hostfile "$MUSTER_HOSTFILE" python %s 4' % TRAIN, "launch")
        finished = self.expect_code(self.job("--mpi-launch", "command", "--", script).finish(), 0)
        self.assertIn("epoch 4 size 2", finished.out)
        self.expect_nothing_left()

    def test_a_rank_that_fails(self):
        script = self.sh('exec horovodrun -np 2 --network-interfaces lo --hostfile "$MUSTER_HOSTFILE" %s rank -- python -c '
                         '\'import os, sys; sys.exit(3 if os.environ["HOROVOD_RANK"] == "1" else 0)\'' % BINARY, "launch")
        finished = self.expect_code(self.job("--mpi-launch", "command", "--", script).finish(), 3)
        self.assertRegex(finished.err, "muster: rank 1 on node-[12] failed first: exit code 3 ")
        self.expect_nothing_left()


if __name__ == "__main__":
    unittest.main()
