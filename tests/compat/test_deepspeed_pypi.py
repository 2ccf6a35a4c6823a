"""DeepSpeed 0.19, whose launcher is taken over, over PyTorch 2.13 on CPUs: its engine trains one model."""
import os
import re
import subprocess
import unittest

from harness import MusterTest

HERE = os.path.dirname(os.path.abspath(__file__))

# Each worker takes its part of four samples, so that any number of workers trains the same model. `die`: a rank, in the middle of
# the first attempt.
TRAIN = """
import argparse
import os
import signal
import deepspeed
import torch
parser = deepspeed.add_config_arguments(argparse.ArgumentParser())
parser.add_argument("--local_rank", type=int)
parser.add_argument("--die", type=int, default=-1)
arguments = parser.parse_args()
torch.manual_seed(0)
deepspeed.init_distributed(dist_backend="gloo")
rank, size = deepspeed.comm.get_rank(), deepspeed.comm.get_world_size()
model = torch.nn.Linear(4, 1)
engine, _, _, _ = deepspeed.initialize(arguments, model=model, model_parameters=model.parameters())
samples = (torch.arange(16.0).reshape(4, 4) / 16).chunk(size)[rank]
for step in range(5):
    if step == 2 and rank == arguments.die and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
        os.kill(os.getpid(), signal.SIGKILL)
    loss = (engine(samples) - 1).pow(2).mean()
    engine.backward(loss)
    engine.step()
print("rank", rank, "of", size, " ".join("%.5f" % weight for weight in engine.module.weight.flatten().tolist()), flush=True)
deepspeed.comm.barrier()  # nobody takes the connections away while the other still uses them
deepspeed.comm.destroy_process_group()
"""
CONFIG = '{"train_batch_size": 4, "optimizer": {"type": "SGD", "params": {"lr": 0.1}}, "zero_optimization": {"stage": 0}}'


class DeepspeedTest(MusterTest):
    gate_keeps = ("test_two_workers_train_the_model_of_one", "test_a_killed_worker_ends_all_or_all_begin_again")

    def setUp(self):
        super().setUp()
        setup = subprocess.run(["sh", os.path.join(HERE, "setup_deepspeed.sh"), os.environ["MUSTER_COMPAT_PYTHON"]], stdout=subprocess.PIPE, text=True)
        if setup.returncode != 0:
            self.skip_because("registry", "not all of locks/deepspeed.txt can be had")
        self.folder = setup.stdout.strip()
        self.words = (self.write("train.py", TRAIN), "--deepspeed", "--deepspeed_config", self.write("ds.json", CONFIG))

    def environment(self, extra=None):
        own = super().environment()
        return super().environment({"PATH": "%s/bin:%s" % (self.folder, own["PATH"]), "TORCH_EXTENSIONS_DIR": self.folder + "/extensions",
                                    "PYTHONDONTWRITEBYTECODE": "1", "HOME": self.temp, **(extra or {})})

    def expect_model(self, finished, size):
        """The same weights on all ranks; returns them."""
        self.expect_code(finished, 0)
        ends = re.findall(r"rank (\d) of (\d) (.*)", finished.out)
        self.assertEqual(sorted(end[:2] for end in ends), [(str(rank), str(size)) for rank in range(size)], finished)
        self.assertEqual(len({end[2] for end in ends}), 1, finished)
        return [float(weight) for weight in ends[0][2].split()]

    def expect_same(self, one, other):
        for left, right in zip(one, other):
            self.assertAlmostEqual(left, right, 4)

    def test_two_workers_train_the_model_of_one(self):
        alone = self.expect_model(self.run_muster("run", "deepspeed", "--num_gpus", 1, *self.words), 1)
        finished = self.run_muster("run", "deepspeed", "--num_gpus", 2, *self.words)
        self.expect_same(self.expect_model(finished, 2), alone)
        self.assertIn("deepspeed", finished.err)

    def test_two_nodes(self):
        alone = self.expect_model(self.run_muster("run", "deepspeed", "--num_gpus", 1, *self.words), 1)
        self.expect_same(self.expect_model(self.run_muster("local", "--nodes", 2, "deepspeed", "--num_gpus", 2, *self.words), 4), alone)

    def test_a_killed_worker_ends_all_or_all_begin_again(self):
        finished = self.run_muster("run", "deepspeed", "--num_gpus", 2, *self.words, "--die", 1)
        self.expect_code(finished, 137)
        self.assertIn("rank 1", finished.err)
        finished = self.run_muster("run", "--max-restarts", 1, "deepspeed", "--num_gpus", 2, *self.words, "--die", 1)
        self.expect_model(finished, 2)


if __name__ == "__main__":
    unittest.main()
