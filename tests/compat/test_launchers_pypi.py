"""accelerate 1.15 and Lightning 2.6: their launchers as front ends, over PyTorch 2.13."""
import os
import re
import subprocess
import unittest

from harness import MusterTest

HERE = os.path.dirname(os.path.abspath(__file__))

ACCELERATE = """
import os
import torch
from accelerate import Accelerator
accelerator = Accelerator(cpu=True)
gathered = accelerator.gather(torch.tensor([accelerator.process_index])).tolist()
print("rank", accelerator.process_index, "of", accelerator.num_processes, gathered, os.environ["ACCELERATE_MIXED_PRECISION"], flush=True)
torch.distributed.destroy_process_group()  # PyTorch may abort at the exit without
"""
FABRIC = """
import torch
from lightning.fabric import Fabric
fabric = Fabric()
gathered = fabric.all_gather(torch.tensor([fabric.global_rank])).flatten().tolist()
print("rank", fabric.global_rank, "of", fabric.world_size, gathered, flush=True)
torch.distributed.destroy_process_group()
"""
TRAINER = """
import lightning
import torch
trainer = lightning.Trainer(accelerator="cpu", devices=1, logger=False, enable_checkpointing=False, enable_progress_bar=False, max_steps=1,
                            enable_model_summary=False)
class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 1)
    def training_step(self, batch):
        return self.layer(batch).sum()
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.1)
trainer.fit(Model(), torch.utils.data.DataLoader(torch.ones(4, 2), batch_size=1))
print("rank", trainer.global_rank, "of", trainer.world_size, flush=True)
torch.distributed.destroy_process_group()
"""


class LaunchersTest(MusterTest):
    def setUp(self):
        super().setUp()
        setup = subprocess.run(["sh", os.path.join(HERE, "setup_locked.sh"), "launchers", os.environ["MUSTER_COMPAT_PYTHON"]],
                               stdout=subprocess.PIPE, text=True)
        if setup.returncode != 0:
            self.skip_because("registry", "not all of locks/launchers.txt can be had")
        self.bin = os.path.join(setup.stdout.strip(), "bin")

    def environment(self, extra=None):
        own = super().environment()
        return super().environment({"PATH": "%s:%s" % (self.bin, own["PATH"]), "PYTHONDONTWRITEBYTECODE": "1", "HOME": self.temp, **(extra or {})})

    def expect_ranks(self, finished, size, tail=""):
        self.expect_code(finished, 0)
        wanted = sorted("rank %d of %d%s" % (rank, size, tail) for rank in range(size))
        self.assertEqual(sorted(re.findall(r"rank \d of \d.*", finished.out)), wanted, finished)
        self.assertEqual([name for name in os.listdir(self.temp) if name.startswith("muster-hook")], [])

    def test_accelerate_launch(self):
        script = self.write("train.py", ACCELERATE)
        finished = self.run_muster("local", "--nodes", 2, "accelerate", "launch", "--multi_gpu", "--num_processes", 2, "--mixed_precision", "no", script)
        self.expect_ranks(finished, 4, " [0, 1, 2, 3] no")

    def test_a_configuration_file_keeps_its_meaning(self):
        script = self.write("train.py", ACCELERATE)
        config = self.write("config.yaml", "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nnum_processes: 2\nnum_machines: 1\n"
                                           "mixed_precision: bf16\nmachine_rank: 0\nmain_training_function: main\nuse_cpu: false\n")
        finished = self.run_muster("run", "accelerate", "launch", "--config_file", config, script)
        self.expect_ranks(finished, 2, " [0, 1] bf16")

    def test_what_accelerate_refuses_starts_nothing(self):
        finished = self.expect_code(self.run_muster("run", "accelerate", "launch", "--nosuch", "train.py"), 2)
        self.assertIn("--nosuch", finished.err)
        self.assertNotIn("job.start", finished.err)

    def test_fabric_run(self):
        script = self.write("train.py", FABRIC)
        finished = self.run_muster("run", "fabric", "run", "--accelerator", "cpu", "--devices", 2, "--strategy", "ddp", script)
        self.expect_ranks(finished, 2, " [0, 1]")

    def test_a_trainer_that_is_told_nothing_of_nodes(self):
        finished = self.run_muster("local", "--nodes", 2, self.write("train.py", TRAINER))
        self.expect_ranks(finished, 2)


if __name__ == "__main__":
    unittest.main()
