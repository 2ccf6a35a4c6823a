"""Tests that need a real PyTorch, the same for every version: integration/ runs them with the
distribution's 1.13, compat/ with 2.13. Mixins; the class that uses one sets `python`.
"""
import os
import re

import harness

EXAMPLE = os.path.join(harness.EXAMPLES, "pytorch")
SCRIPTS = harness.SUPPORT
TORCH_TIMEOUT_S = 180  # importing torch alone takes seconds on a busy machine


class TorchBase(harness.MusterTest):
    python = None

    def setUp(self):
        super().setUp()
        if self.python is None:
            self.skip_because("pytorch")

    def run_torch(self, *arguments, code=0, env=None, **how):
        """Runs the binary with this class's interpreter for scripts."""
        env = dict({"PYTHON_EXEC": self.python, "PYTHONDONTWRITEBYTECODE": "1"}, **(env or {}))
        return self.expect_code(self.run_muster(*arguments, env=env, timeout_s=TORCH_TIMEOUT_S, **how), code)

    def expect_example(self, finished, expectations="expected.txt"):
        with open(os.path.join(EXAMPLE, expectations)) as file:
            self.expect_lines(file.read().splitlines(), finished.out)


class Collectives:
    def test_every_collective(self):
        finished = self.run_torch("run", "--nproc-per-node", 2, os.path.join(SCRIPTS, "torch_collectives.py"))
        self.assertIn("collectives ok", finished.out)

    def test_every_collective_with_three_ranks_as_torchrun(self):
        finished = self.run_torch("--standalone", "--nproc-per-node", 3, os.path.join(SCRIPTS, "torch_collectives.py"),
                                  as_torchrun=True)
        self.assertIn("collectives ok", finished.out)

    def test_one_rank(self):
        script = self.py("import torch.distributed as dist\ndist.init_process_group('gloo')\ndist.monitored_barrier()\nprint(dist.get_world_size())\n")
        self.assertIn("1\n", self.run_torch("run", script).out)

    def test_rank_0_may_host_a_store_of_its_own(self):
        """On another port than MASTER_PORT, as many frameworks do."""
        script = self.py("import os, socket\nimport torch.distributed as dist\nfrom datetime import timedelta\n"
                         "dist.init_process_group('gloo')\nrank = dist.get_rank()\nport = [None]\n"
                         "if rank == 0:\n"
                         "    mine = dist.TCPStore(os.environ['MASTER_ADDR'], 0, 2, True, timedelta(seconds=60), wait_for_workers=False)\n"
                         "    port = [mine.port]\n"
                         "dist.broadcast_object_list(port, 0)\n"
                         "if rank == 1:\n"
                         "    mine = dist.TCPStore(os.environ['MASTER_ADDR'], port[0], 2, False, timedelta(seconds=60))\n"
                         "mine.set('from %d' % rank, 'x')\nmine.wait(['from 0', 'from 1'])\ndist.barrier()\nprint('own store works', flush=True)\n"
                         "os._exit(0)\n")
        self.assertEqual(self.run_torch("run", "--nproc-per-node", 2, script).out.count("own store works"), 2)


class StoreMethods:
    libuv_values = (1,)
    fewest_sections = {1: 7}  # of torch_store.py, by client path: what every PyTorch can do

    def test_every_method_of_the_store_client(self):
        worker = self.sh('echo "at $MASTER_ADDR $MASTER_PORT"\nwhile [ ! -e "$OUT/end" ]; do sleep 0.05; done')
        for libuv in self.libuv_values:
            agent = self.start("run", worker)
            host, port = agent.wait_for(r"^at (\S+) (\d+)$").groups()
            command = [self.python, os.path.join(SCRIPTS, "torch_store.py"), host, port, "--libuv", str(libuv),
                       "--big-bytes", str(5 << 20)]
            finished = self.start_command(command).finish(TORCH_TIMEOUT_S)
            self.expect_code(finished, 0)
            self.assertGreaterEqual(finished.out.count("ok "), self.fewest_sections[libuv], finished)
            self.write("end", "")
            self.expect_code(agent.finish(), 0)
            os.unlink(self.path("end"))


class Example:
    """examples/pytorch, as its README says."""

    def test_it_trains(self):
        self.expect_example(self.run_torch("run", "--nproc-per-node", 2, os.path.join(EXAMPLE, "train.py")))

    def killed(self, *arguments, **how):
        finished = self.run_torch(*arguments, "--nproc-per-node", 2, "--max-restarts", 1, os.path.join(EXAMPLE, "train.py"),
                                  "--checkpoint", self.path("digits.pt"), "--kill-rank", 1, "--kill-epoch", 3, **how)
        self.expect_example(finished, "expected_restart.txt")
        self.assertEqual(len(re.findall(r"\bepoch \d+ accuracy", finished.out)), 10)
        return finished

    def test_it_resumes_after_a_killed_rank(self):
        finished = self.killed("run")
        self.assertRegex(finished.err, r"rank=1\b.*SIGKILL|rank 1 .*SIGKILL")

    def test_it_resumes_when_called_as_torchrun(self):
        self.killed("--standalone", as_torchrun=True)

    def run_script(self, name):
        """One of the example's scripts as a person would start it, with this class's interpreter first on PATH."""
        env = {"PATH": os.path.dirname(self.python) + ":/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"}
        started = self.start_command([os.path.join(EXAMPLE, name), harness.BINARY], env=env)
        return self.expect_code(started.finish(TORCH_TIMEOUT_S), 0)

    def test_the_script_that_kills_a_rank(self):
        self.expect_example(self.run_script("run.sh"), "expected_restart.txt")

    def test_the_script_that_kills_a_node(self):
        finished = self.run_script("run_nodes.sh")
        self.expect_example(finished, "expected_nodes.txt")
        self.assertRegex(finished.last_error_line, r"^muster local: the job ended with 0 after kill-node:2@epoch=3; "
                                                   r"node 1: exit code 0, node 2: SIGKILL$")

    def test_it_fails_without_restarts(self):
        finished = self.run_torch("run", "--nproc-per-node", 2, os.path.join(EXAMPLE, "train.py"), "--kill-rank", 1, code=137)
        self.assertRegex(finished.last_error_line, r"^muster: rank 1 on .*SIGKILL")


class FiveRestarts:
    def restart_runs(self, *arguments, **how):
        """[attempts that formed a group], one entry per run."""
        result = []
        for _ in range(5):
            finished = self.run_torch(*arguments, "--nproc-per-node", 2, "--max-restarts", 2,
                                      os.path.join(SCRIPTS, "restart_gloo.py"), **how)
            result.append([int(number) for number in re.findall(r"attempt (\d) reduced", finished.out)])
        return result

    def test_five_runs_of_two_failures_all_succeed(self):
        self.assertEqual(self.restart_runs("run"), [[0, 1, 2]] * 5)


class RecordedErrors:
    def test_the_recorded_exception_is_the_reason(self):
        script = self.py("import os\nfrom torch.distributed.elastic.multiprocessing.errors import record\n"
                         "import torch.distributed as dist\n@record\ndef main():\n    dist.init_process_group('gloo')\n"
                         "    if dist.get_rank() == 1:\n        raise RuntimeError('shard 17 is unreadable')\n    dist.barrier()\nmain()\n")
        finished = self.run_torch("run", "--nproc-per-node", 2, script, code=1)
        self.assertRegex(finished.last_error_line, r"^muster: rank 1 on .*RuntimeError: shard 17 is unreadable")
