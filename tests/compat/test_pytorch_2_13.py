"""PyTorch 2.13 from the package registry, and torchrun's command lines as they are found in the wild."""
import os
import re
import shutil

import harness
import torch_cases


class Torch213(torch_cases.TorchBase):
    python = property(lambda self: os.environ.get("MUSTER_COMPAT_PYTHON"))

    def setUp(self):
        if not self.python:
            self.skip_because("registry")
        super().setUp()


class Collectives(torch_cases.Collectives, Torch213):
    def test_every_collective_over_the_old_client_path(self):
        """Builds without libuv have only this one."""
        worker = self.sh('exec "$PYTHON_EXEC" "$1" --libuv 0 --store "$MASTER_ADDR:$MASTER_PORT"')
        finished = self.run_torch("run", "--nproc-per-node", 2, worker, os.path.join(torch_cases.SCRIPTS, "torch_collectives.py"))
        self.assertIn("collectives ok", finished.out)


class StoreMethods(torch_cases.StoreMethods, Torch213):
    libuv_values = (1, 0)
    fewest_sections = {1: 14, 0: 13}


class Example(torch_cases.Example, Torch213):
    pass


class RecordedErrors(torch_cases.RecordedErrors, Torch213):
    pass


class Restarts(torch_cases.FiveRestarts, Torch213):
    def torchruns_own(self):
        """As restart_runs() with the launcher of PyTorch 2.13. It gets stuck at times: 45 s each at most."""
        if harness.unshare_command() is None:
            return ["not measured: no namespaces"]
        result = []
        for _ in range(5):
            # In a namespace: it leaves workers behind.
            command = harness.unshare_command() + ["--pid", "--fork", "--kill-child", "--mount-proc", "timeout", "-k", "1", "45",
                                                   "env", "TMPDIR=" + self.dir, self.python, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2",
                                                   "--max-restarts", "2", os.path.join(torch_cases.SCRIPTS, "restart_gloo.py")]
            finished = self.start_command(command).finish(90)
            result.append([int(number) for number in re.findall(r"attempt (\d) reduced", finished.out)])
        return result

    @harness.grid  # torchrun's own runs take minutes
    def test_five_runs_of_two_failures_all_succeed(self):
        """Attempts that formed a group; all of them are [0, 1, 2]. For comparison, torchrun's own."""
        ours = self.restart_runs("run")
        print("    attempts that worked, muster:   %s" % ours, flush=True)
        print("    attempts that worked, torchrun: %s" % self.torchruns_own(), flush=True)
        self.assertEqual(ours, [[0, 1, 2]] * 5)

    def test_five_runs_as_torchrun_all_succeed(self):
        self.assertEqual(self.restart_runs("--standalone", as_torchrun=True), [[0, 1, 2]] * 5)


class CommandLines(Torch213):
    """Each trains the example for one epoch with two ranks, called as torchrun through PATH."""

    def setUp(self):
        super().setUp()
        self.bin = self.path("bin")
        os.mkdir(self.bin)
        os.symlink(harness.BINARY, os.path.join(self.bin, "torchrun"))
        # The interpreter is found as in an image whose virtual environment is active.
        self.env = {"PATH": self.bin + ":" + os.path.dirname(self.python) + ":/usr/bin:/bin"}
        self.train = os.path.join(torch_cases.EXAMPLE, "train.py") + " --epochs 1"
        self.port = harness.free_port()

    def check(self, line, env=None):
        command = ["sh", "-c", "exec " + line.format(train=self.train, port=self.port, example=torch_cases.EXAMPLE)]
        finished = self.start_command(command, env=dict(self.env, **(env or {}))).finish(torch_cases.TORCH_TIMEOUT_S)
        self.expect_code(finished, 0)
        self.assertRegex(finished.out, r"(?m)final accuracy 0\.\d{4}$")
        return finished

    def test_standalone(self):
        self.check("torchrun --standalone --nproc-per-node=2 {train}")

    def test_standalone_with_nnodes_and_underscores(self):
        self.check("torchrun --standalone --nnodes=1 --nproc_per_node=2 {train}")

    def test_static_with_everything_given(self):
        self.check("torchrun --nproc_per_node=2 --nnodes=1 --node_rank=0 --master_addr=127.0.0.1 --master_port={port} {train}")

    def test_master_port_only(self):
        self.check("torchrun --nproc_per_node 2 --master_port {port} {train}")

    def test_c10d_endpoint(self):
        self.check("torchrun --nnodes=1 --nproc-per-node=2 --max-restarts=3 --rdzv-id=4711 --rdzv-backend=c10d "
                   "--rdzv-endpoint=localhost:{port} {train}")

    def test_elastic_range_of_one(self):
        self.check("torchrun --nnodes 1:1 --nproc_per_node 2 --rdzv_backend c10d --rdzv_endpoint 127.0.0.1:{port} "
                   "--rdzv_conf join_timeout=60,last_call_timeout=1 {train}")

    def test_module(self):
        self.check("torchrun --nproc-per-node 2 -m train --epochs 1", env={"PYTHONPATH": torch_cases.EXAMPLE})

    def test_kubeflow_trainer_environment(self):
        self.check("torchrun {train}", env={"PET_NNODES": "1", "PET_NPROC_PER_NODE": "2", "PET_NODE_RANK": "0",
                                            "PET_MASTER_ADDR": "127.0.0.1", "PET_MASTER_PORT": str(self.port)})

    def test_kubeflow_training_operator_environment(self):
        self.check("torchrun {train}", env={"PET_NNODES": "1:1", "PET_NPROC_PER_NODE": "2", "PET_RDZV_BACKEND": "c10d", "RANK": "0",
                                            "PET_RDZV_ENDPOINT": "localhost:%d" % self.port, "PET_STANDALONE": "", "WORLD_SIZE": "1",
                                            "MASTER_ADDR": "localhost", "MASTER_PORT": str(self.port), "PYTHONUNBUFFERED": "0"})

    def test_torchx(self):
        finished = self.check("torchrun --rdzv_backend c10d --rdzv_endpoint localhost:0 --rdzv_id app-1 --nnodes 1 --nproc_per_node 2 "
                              "--tee 3 --role '' {train}")
        self.assertRegex(finished.out, r"(?m)^\[0\]:epoch 1 accuracy")

    def test_script_through_no_python(self):
        self.check("torchrun --nproc-per-node=2 --no-python python3 {train}")

    def test_torch_distributed_launch_inside(self):
        self.check("%s run python3 -m torch.distributed.launch --use-env --nproc_per_node=2 {train}" % harness.BINARY)

    def test_torch_distributed_run_inside(self):
        self.check("%s run python3 -m torch.distributed.run --standalone --nproc-per-node=2 {train}" % harness.BINARY)

    def test_torchrun_of_the_virtual_environment_inside(self):
        inner = shutil.which("torchrun", path=os.path.dirname(self.python))
        self.assertTrue(inner)
        self.check("%s run %s --standalone --nproc-per-node=2 {train}" % (harness.BINARY, inner))

    def test_from_another_process(self):
        """LLaMA-Factory and others call it as a child."""
        self.check("python3 -c 'import subprocess, sys; sys.exit(subprocess.run([\"torchrun\", \"--nproc_per_node\", \"2\", "
                   "*\"{train}\".split()]).returncode)'")
