"""How far workers are, from what tqdm, the Trainer of Hugging Face, Lightning, Keras and XGBoost print with no change of the
script; and from the callback by which that Trainer reports to Kubeflow's."""
import json
import os
import subprocess

from harness import MusterTest
from report_receiver import Receiver

HERE = os.path.dirname(os.path.abspath(__file__))

TQDM = """
import sys, time
from tqdm import tqdm
bar = tqdm(range(30), desc="training")
for i in bar:
    bar.set_postfix(loss=1.0 / (i + 1))
    time.sleep(0.02)
"""

TRAINER = """
import torch
import transformers
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 1)
    def forward(self, x, labels):
        return {"loss": (self.layer(x) - labels).pow(2).mean()}
data = [{"x": torch.ones(2), "labels": torch.ones(1)} for _ in range(16)]
options = transformers.TrainingArguments(output_dir="out", max_steps=20, logging_steps=5, per_device_train_batch_size=4, use_cpu=True,
                                         save_strategy="no", report_to=REPORT_TO)
transformers.Trainer(model=Model(), args=options, train_dataset=data).train()
"""

LIGHTNING = """
import lightning
import torch
class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 1)
    def training_step(self, batch):
        loss = self.layer(batch).pow(2).sum()
        self.log("train_loss", loss, prog_bar=True)
        return loss
    def validation_step(self, batch):
        self.log("val_loss", self.layer(batch).sum(), prog_bar=True)
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.01)
data = torch.utils.data.DataLoader(torch.ones(20, 2), batch_size=1)
trainer = lightning.Trainer(accelerator="cpu", devices=1, logger=False, enable_checkpointing=False, max_epochs=3, enable_model_summary=False,
                            callbacks=[lightning.pytorch.callbacks.TQDMProgressBar()])
trainer.fit(Model(), data, data)
"""

KERAS = """
import os
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy
import keras
model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
model.compile(optimizer="sgd", loss="mse", metrics=["mae"])
model.fit(numpy.ones((64, 2)), numpy.ones((64, 1)), batch_size=4, epochs=3, verbose=VERBOSE)
"""

XGBOOST = """
import numpy
import xgboost
from xgboost import collective
with collective.CommunicatorContext():
    matrix = xgboost.DMatrix(numpy.random.rand(64, 4), label=numpy.random.rand(64))
    xgboost.train({"max_depth": 2}, matrix, num_boost_round=8, evals=[(matrix, "train")], verbose_eval=True)
"""


class ProgressTest(MusterTest):
    def interpreter(self, *words):
        setup = subprocess.run(["sh", os.path.join(HERE, "setup_locked.sh"), *words], stdout=subprocess.PIPE, text=True)
        if setup.returncode != 0:
            self.skip_because("registry", "not all of locks/%s.txt can be had" % words[0])
        return os.path.join(setup.stdout.strip(), "bin", "python")

    def last(self, python, script, *flags, env=None):
        """The last `progress` event of a job whose one worker runs the script."""
        finished = self.run_muster("run", "--run-dir", "run", *flags, self.py(script), timeout_s=120,
                                   env={"PYTHON_EXEC": python, "HOME": self.temp, **(env or {})})
        self.expect_code(finished, 0)
        with open(self.path("run", "events.jsonl")) as file:
            events = [line for line in map(json.loads, file) if line["event"] == "progress"]
        self.assertTrue(events, finished)
        return events[-1]

    def test_tqdm(self):
        last = self.last(self.interpreter("launchers", os.environ["MUSTER_COMPAT_PYTHON"]), TQDM)
        self.assertEqual((last["step"], last["total"], last["percent"]), (30, 30, 100))
        self.assertIn("loss", last["metrics"])

    def test_the_trainer_of_hugging_face(self):
        python = self.interpreter("transformers", os.environ["MUSTER_COMPAT_PYTHON"])
        last = self.last(python, TRAINER.replace("REPORT_TO", "'none'"))
        self.assertEqual((last["step"], last["total"], last["percent"]), (20, 20, 100))
        self.assertLessEqual({"loss", "learning_rate"}, set(last["metrics"]))

    def test_its_callback_reports_through_the_agent(self):
        """The callback's own last post leaves out step and total, and would take them from what the controller has."""
        python = self.interpreter("transformers", os.environ["MUSTER_COMPAT_PYTHON"])
        receiver = Receiver()
        self.addCleanup(receiver.close)
        self.write("token", "of-the-pod")
        last = self.last(python, TRAINER.replace("REPORT_TO", "'kubeflow'"), "--report", "trainjob",
                         env={"KUBEFLOW_TRAINER_SERVER_URL": receiver.url("/status"),
                              "KUBEFLOW_TRAINER_SERVER_TOKEN": self.path("token")})
        self.assertEqual((last["step"], last["total"]), (20, 20))
        self.assertEqual({request.token for request in receiver.requests}, {"Bearer of-the-pod"})
        status = receiver.requests[-1].body["trainerStatus"]
        self.assertEqual(status["progressPercentage"], 100)
        metrics = {metric["name"]: metric["value"] for metric in status["metrics"]}
        self.assertEqual((metrics["current_step"], metrics["total_steps"]), ("20", "20"))

    def test_lightning(self):
        """Its bar begins anew with each epoch, and validation has another one."""
        last = self.last(self.interpreter("launchers", os.environ["MUSTER_COMPAT_PYTHON"]), LIGHTNING)
        self.assertEqual((last["step"], last["epoch"]), (60, 2))
        self.assertIn("train_loss", last["metrics"])

    def test_keras(self):
        python = self.interpreter("tensorflow")
        for verbose in (1, 2):
            with self.subTest(verbose=verbose):
                last = self.last(python, KERAS.replace("VERBOSE", str(verbose)))
                self.assertEqual((last["step"], last["total"], last["epoch"]), (48, 48, 3))
                self.assertLessEqual({"loss", "mae"}, set(last["metrics"]))

    def test_xgboost(self):
        """What it prints goes through the tracker."""
        for version in ("1.7", "3.2"):
            with self.subTest(version=version):
                last = self.last(self.interpreter("xgboost-" + version), XGBOOST, "--framework", "xgboost")
                self.assertEqual((last["rank"], last["step"]), (0, 7))
                self.assertIn("train-rmse", last["metrics"])
