"""--framework lightgbm: what workers find, without LightGBM (compat/test_lightgbm_pypi.py has it)."""
import os

import test_jax
from test_jax import SHOW

OWN_PROGRAM = '#!/bin/sh\nfor word in "$@"; do echo "[$word]"; done >"$OUT/words.$RANK"\n'


class Lightgbm(test_jax.Jax):
    framework = "lightgbm"

    def setUp(self):
        super().setUp()
        os.mkdir(self.path("bin"))
        self.program = self.write("bin/lightgbm", OWN_PROGRAM, 0o755)

    def words(self, rank=0):
        return [word.strip("[]") for word in self.read("words.%d" % rank).splitlines()]


class Variables(Lightgbm):
    def test_two_nodes_with_two_workers(self):
        self.local("--nproc-per-node", 2, self.sh(SHOW))
        machines = self.seen(0)["LIGHTGBM_MACHINES"].split(",")
        self.assertEqual(len(set(machines)), 4, machines)
        for rank in range(4):
            env = self.seen(rank)
            self.assertEqual(env["LIGHTGBM_MACHINES"].split(","), machines)
            # The nodes are 127.0.x.y, and of those LightGBM knows one.
            self.assertEqual(machines[rank], "127.0.0.1:" + env["LIGHTGBM_LOCAL_LISTEN_PORT"])
            self.assertEqual((env["LIGHTGBM_NUM_MACHINES"], env["MUSTER_PYTHON_HOOK"]), ("4", "lightgbm"))
        self.expect_nothing_left()

    def test_the_port_is_free_when_its_worker_starts(self):
        script = self.py("import os, socket\nport = int(os.environ['LIGHTGBM_LOCAL_LISTEN_PORT'])\nsocket.socket().bind(('', port))\n"
                         "first, last = map(int, open('/proc/sys/net/ipv4/ip_local_port_range').read().split())\n"
                         "print('apart', not first <= port <= last)\n")
        self.assertEqual(self.run_one("/usr/bin/python3", script).out, "apart True\n")

    def test_each_attempt_has_ports_of_its_own(self):
        self.local("--max-restarts", 1, self.sh(SHOW + '\n[ "$RANK.$TORCHELASTIC_RESTART_COUNT" != 1.0 ] || exit 1'))
        old, new = (set(self.seen(1, attempt)["LIGHTGBM_MACHINES"].split(",")) for attempt in (0, 1))
        self.assertEqual(old & new, set())

    def test_workers_share_the_cpus(self):
        cpus = len(os.sched_getaffinity(0))
        for workers, wanted in ((1, None), (2, str(max(1, cpus // 2))), (2 * cpus + 1, "1")):
            with self.subTest(workers):
                self.run_one("--nproc-per-node", workers, self.sh(SHOW))
                self.assertIn(self.seen(0).get("OMP_NUM_THREADS"), (wanted, "1"))  # less where the container has a limit
        self.run_one("--nproc-per-node", 2, self.sh(SHOW), env={"OMP_NUM_THREADS": "5"})
        self.assertEqual(self.seen(0)["OMP_NUM_THREADS"], "5")

    def test_an_address_of_ipv6_alone_is_refused(self):
        finished = self.run_one("--local-addr", "::1", self.sh(SHOW), code=78)
        self.assertRegex(finished.err, "LightGBM connects its workers by IPv4 alone, and a node is at ::1: .*--local-addr")
        self.assertFalse(self.exists("env.0.0"))

    def test_the_plan_is_what_workers_have(self):
        self.check_the_plan("--nproc-per-node", 2)


class OwnProgram(Lightgbm):
    """A program named lightgbm."""

    def ours(self, rank=0):
        env = self.seen(rank)
        return ["machines=" + env["LIGHTGBM_MACHINES"], "num_machines=2", "local_listen_port=" + env["LIGHTGBM_LOCAL_LISTEN_PORT"]]

    def train(self, *words, flags=()):
        self.write("bin/lightgbm", OWN_PROGRAM + SHOW + "\n", 0o755)
        self.run_one("--nproc-per-node", 2, *flags, self.program, *words)

    def test_it_gets_words(self):
        self.train("config=none.conf", "task=train")
        for rank in (0, 1):
            self.assertEqual(self.words(rank), ["config=none.conf", "task=train", *self.ours(rank), "tree_learner=data"])

    def test_a_learner_stays(self):
        self.write("train.conf", "# trees\ntask = train\n tree = voting # not data\n")
        self.train("config_file=" + self.path("train.conf"))
        self.assertEqual(self.words()[1:], self.ours())

    def test_a_network_stays(self):
        self.write("train.conf", "mlist = machines.txt\n")
        self.train("config=" + self.path("train.conf"), "num_trees=5")
        self.assertEqual(self.words()[1:], ["num_trees=5"])

    def test_off(self):
        self.train("task=train", flags=("--lightgbm-hook", "off"))
        self.assertEqual(self.words(), ["task=train"])
        self.assertNotIn("PYTHONPATH", self.seen(0))

    def test_other_programs_get_none(self):
        other = self.write("bin/other", OWN_PROGRAM, 0o755)
        self.run_one("--nproc-per-node", 2, other, "a=b")
        self.assertEqual(self.words(), ["a=b"])


if __name__ == "__main__":
    import unittest
    unittest.main()
