"""--framework jax: what workers find, without JAX (compat/test_jax_pypi.py has it)."""
import json
import os
import re

import harness

SHOW = 'env -0 >"$OUT/env.$RANK.$TORCHELASTIC_RESTART_COUNT"'
FIVE_OF_SLURM = {"SLURM_JOB_ID", "SLURM_STEP_NODELIST", "SLURM_NTASKS", "SLURM_PROCID", "SLURM_LOCALID"}
HOOK_SEEN = ("import os, sys\nhook = sys.meta_path[0]\nprint('hook', type(hook).__name__, hook.framework)\n"
             "print('path', *os.environ['PYTHONPATH'].split(':')[1:])\nprint('mode', oct(os.stat(hook.folder).st_mode & 0o777))\n")


class Jax(harness.MusterTest):
    framework = "jax"

    def seen(self, rank, attempt=0):
        return dict(item.split("=", 1) for item in self.read("env.%d.%d" % (rank, attempt)).split("\0") if item)

    def local(self, *words, nodes=2, code=0, env=None):
        return self.expect_code(self.run_muster("local", "--nodes", nodes, "--framework", self.framework, *words, env=env), code)

    def run_one(self, *words, code=0, env=None):
        return self.expect_code(self.run_muster("run", "--framework", self.framework, *words, env=env), code)

    def expect_nothing_left(self):
        self.assertEqual([name for name in os.listdir(self.temp) if not name.startswith("torchelastic_")], [])

    def check_the_plan(self, *flags):
        flags = ("--framework", self.framework, *flags, "--", self.sh(SHOW))
        told = json.loads(self.expect_code(self.run_muster("env", "--json", "--all", *flags), 0).out)["processes"]
        self.expect_code(self.run_muster("run", *flags), 0)
        self.assertEqual(len(told), 2)
        for process in told:
            actual = self.seen(process["local_rank"])
            for variable in process["variables"]:
                if variable["action"] == "set" and variable["confidence"] != "at start":
                    self.assertEqual(actual[variable["name"]], variable["value"])
                elif variable["action"] == "set":
                    self.assertIn(variable["name"], actual)
            untold = set(actual) - {variable["name"] for variable in process["variables"]} - set(self.environment())
            self.assertEqual(untold - {"_", "PWD", "OLDPWD", "SHLVL"}, set())


class Variables(Jax):
    def test_two_nodes_with_two_workers(self):
        self.local("--nproc-per-node", 2, self.sh(SHOW))
        addresses = set()
        for rank in range(4):
            env = self.seen(rank)
            addresses.add(env["JAX_COORDINATOR_ADDRESS"])
            self.assertEqual((env["JAX_NUM_PROCESSES"], env["JAX_PROCESS_ID"], env["JAX_LOCAL_DEVICE_IDS"]), ("4", str(rank), str(rank % 2)))
            self.assertEqual((env["MUSTER_PYTHON_HOOK"], env["MUSTER_JAX_HEARTBEAT_TIMEOUT"]), ("jax", "20"))
            self.assertEqual(FIVE_OF_SLURM & set(env), set())
        self.assertEqual(len(addresses), 1, addresses)
        self.assertRegex(addresses.pop(), r"\A127\.\d+\.\d+\.\d+:\d+\Z")
        self.expect_nothing_left()

    def test_a_worker_that_is_alone_has_all_devices(self):
        self.run_one(self.sh(SHOW))
        self.assertNotIn("JAX_LOCAL_DEVICE_IDS", self.seen(0))

    def test_devices_of_workers_that_see_one_each(self):
        self.run_one("--nproc-per-node", 2, "--virtual-local-rank", self.sh(SHOW))
        self.assertEqual([self.seen(rank)["JAX_LOCAL_DEVICE_IDS"] for rank in (0, 1)], ["0", "0"])

    def test_each_attempt_has_an_address_of_its_own(self):
        self.local("--max-restarts", 1, self.sh(SHOW + '\n[ "$RANK.$TORCHELASTIC_RESTART_COUNT" != 1.0 ] || exit 1'))
        old, new = (self.seen(1, attempt)["JAX_COORDINATOR_ADDRESS"] for attempt in (0, 1))
        self.assertNotEqual(old, new)
        self.assertEqual(self.seen(0, 1)["JAX_COORDINATOR_ADDRESS"], new)

    def test_the_port_is_kept_for_process_0(self):
        """Nobody else gets it; a server that binds as gRPC does has it at once."""
        script = self.py("import os, socket\nport = int(os.environ['JAX_COORDINATOR_ADDRESS'].rsplit(':', 1)[1])\n"
                         "plain = socket.socket(socket.AF_INET6)\n"
                         "try: plain.bind(('::', port)); print('taken')\nexcept OSError as error: print('kept', error.errno)\n"
                         "own = socket.socket(socket.AF_INET6)\nown.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)\n"
                         "own.bind(('::', port)); own.listen()\n"
                         "socket.create_connection(('127.0.0.1', port)); own.accept(); print('served')\n")
        self.assertRegex(self.run_one("/usr/bin/python3", script).out, r"\Akept 98\nserved\n\Z")

    def test_without_the_hook_jax_believes_in_slurm(self):
        self.local("--jax-hook", "off", "--nproc-per-node", 2, self.sh(SHOW), env={"SLURM_PROCID": "77"})
        for rank in range(4):
            env = self.seen(rank)
            self.assertLessEqual(FIVE_OF_SLURM, set(env))
            self.assertEqual((env["SLURM_NTASKS"], env["SLURM_PROCID"], env["SLURM_LOCALID"]), ("4", str(rank), str(rank % 2)))
            self.assertNotIn("MUSTER_PYTHON_HOOK", env)
            self.assertNotIn("PYTHONPATH", env)

    def test_what_the_pod_has_gives_way(self):
        finished = self.run_one(self.sh(SHOW), env={"JAX_COORDINATOR_ADDRESS": "10.9.9.9:1", "JAX_NUM_PROCESSES": "9", "JAX_PROCESS_ID": "0",
                                                     "JAX_COORDINATOR_BIND_ADDRESS": "[::]:1", "MUSTER_JAX_HEARTBEAT_TIMEOUT": "7"})
        env = self.seen(0)
        self.assertEqual((env["JAX_NUM_PROCESSES"], env["MUSTER_JAX_HEARTBEAT_TIMEOUT"]), ("1", "7"))
        self.assertNotIn("JAX_COORDINATOR_BIND_ADDRESS", env)
        self.assertNotIn("10.9.9.9", env["JAX_COORDINATOR_ADDRESS"])
        self.assertRegex(finished.err, "worker.variables_replaced names=JAX_COORDINATOR_ADDRESS,JAX_COORDINATOR_BIND_ADDRESS,JAX_NUM_PROCESSES ")

    def test_the_plan_is_what_workers_have(self):
        self.check_the_plan("--nproc-per-node", 2)


class Hook(Jax):
    def setUp(self):
        super().setUp()
        self.write("jax.py", "")  # nothing starts where there is none

    def test_each_python_has_it(self):
        """A script, a module, a program and what that starts; and what was on PYTHONPATH stays."""
        self.py(HOOK_SEEN, "module_of_mine.py")
        script = self.path("module_of_mine.py")
        below = self.sh('exec /usr/bin/python3 "%s"' % script)
        for words in ((script,), ("-m", "module_of_mine"), ("--no-python", "/usr/bin/python3", "-Bu", script), ("--no-python", below)):
            with self.subTest(words):
                finished = self.run_one(*words, env={"PYTHONPATH": self.dir + ":/nowhere", "PYTHONDONTWRITEBYTECODE": "1"})
                self.assertEqual(finished.out.splitlines(), ["hook MusterHook jax", "path %s /nowhere" % self.dir, "mode 0o700"])
                self.assertNotRegex(finished.err, "variables_replaced.*PYTHONPATH")
        self.expect_nothing_left()

    def test_pythons_that_cannot_have_it_are_refused(self):
        for options, named in ((("-I",), "-I"), (("-uE",), "-E"), (("-W", "-I", "-S"), "-S"), (("-X", "dev", "-bI"), "-I")):
            with self.subTest(options):
                finished = self.run_one("--no-python", "/usr/bin/python3", *options, "-c", "print('started')", code=78)
                self.assertEqual(finished.out, "")
                self.assertRegex(finished.err, re.escape("'/usr/bin/python3 %s' takes no notice of the hook for jax" % named))
                self.assertIn("--jax-hook off", finished.err)
        self.expect_nothing_left()

    def test_pythons_that_only_look_as_if_they_could_not(self):
        for options in (("-c", "print(1)", "-I"), ("-W", "ignore", "-c", "print(1)"), ("-mplatform", "-S")):
            with self.subTest(options):
                self.run_one("--no-python", "/usr/bin/python3", *options)
        self.run_one("--jax-hook", "off", "--no-python", "/usr/bin/python3", "-I", "-c", "print(1)")

    def test_beside_what_rsh_keeps(self):
        finished = self.local("--rsh", self.py(HOOK_SEEN), env={"PYTHONPATH": self.dir})
        self.assertEqual(len(re.findall("hook MusterHook jax", finished.out)), 2, finished)
        self.expect_nothing_left()

    def test_an_agent_that_is_killed_leaves_no_folder(self):
        job = self.start("run", "--framework", self.framework, self.sh('echo up; exec sleep 600'))
        job.wait_for("up")
        harness.wait_until(lambda: len(harness.children_of(job.agent_pid())) == 2, "its worker and its guardian run")
        self.assertEqual(len([name for name in os.listdir(self.temp) if name.startswith("muster-")]), 1)
        job.signal(9)
        job.finish()
        harness.wait_until(lambda: not [name for name in os.listdir(self.temp) if name.startswith("muster-")], "the guardian removes it")


if __name__ == "__main__":
    import unittest
    unittest.main()
