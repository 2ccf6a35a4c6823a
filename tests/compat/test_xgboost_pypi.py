"""--framework xgboost with XGBoost 1.7.6 and 3.2.0, which speak different protocols of trackers."""
import os
import re
import subprocess

import xgboost_cases
from harness import BINARY, EXAMPLES, MusterTest

HERE = os.path.dirname(os.path.abspath(__file__))
ENDS_SOON_S = 10  # far less than the grace period, which deaf workers would use up


class FromRegistry:
    """A mixin: tests with the XGBoost of that version."""

    version = None

    def interpreter(self, version):
        setup = subprocess.run(["sh", os.path.join(HERE, "setup_locked.sh"), "xgboost-" + version], stdout=subprocess.PIPE, text=True)
        if setup.returncode != 0:
            self.skip_because("registry", "no XGBoost %s from the package registry" % version)
        return os.path.join(setup.stdout.strip(), "bin", "python")

    def setUp(self):
        super().setUp()
        self.python = self.interpreter(self.version)

    def script(self, text, *flags, nodes=2, each=2):
        return self.start("local", "--nodes", nodes, "--nproc-per-node", each, "--framework", "xgboost", *flags,
                          self.py("import os\nimport xgboost\nfrom xgboost import collective\n" + text), env={"PYTHON_EXEC": self.python})


class Older(FromRegistry, xgboost_cases.XgboostCases, MusterTest):
    version = "1.7"
    wire = "XGBoost 2.0 or older"


class Newer(FromRegistry, xgboost_cases.XgboostCases, MusterTest):
    version = "3.2"
    wire = "XGBoost 2.1 or newer"
    tolerance = 5e-7

    def test_workers_that_hear_no_signal_are_told_of_a_lost_one(self):
        job = self.job("deaf", 3)
        for rank in range(4):
            job.wait_for("deaf %d$" % rank)
        self.write("go", "")
        finished = self.expect_code(job.finish(ENDS_SOON_S), 137)
        self.assertRegex(finished.err, "tracker.abort failed_rank=3 told=3")
        self.assertRegex(finished.err, r"muster: rank 3 on node-2 failed first: SIGKILL ")

    def test_signal_error_fails_nobody(self):
        finished = self.expect_trained(self.job("signal", 1).finish())
        self.assertRegex(finished.err, "tracker.error_signalled rank=1 ")

    def test_a_tracker_of_the_scripts_own_on_the_same_port(self):
        """As scripts for the training operators do: rank 0 starts one where DMLC_TRACKER_PORT points, and all name it."""
        finished = self.script("""
from xgboost.tracker import RabitTracker
rank, size = int(os.environ["DMLC_TASK_ID"]), int(os.environ["DMLC_NUM_WORKER"])
address, port = os.environ["DMLC_TRACKER_URI"], int(os.environ["DMLC_TRACKER_PORT"])
tracker = None
if rank == 0:
    tracker = RabitTracker(n_workers=size, host_ip="0.0.0.0", port=port)
    tracker.start()
with collective.CommunicatorContext(dmlc_tracker_uri=address, dmlc_tracker_port=port, dmlc_task_id=str(rank)):
    print("rank", collective.get_rank(), "of", collective.get_world_size(), "done", flush=True)
if tracker is not None:
    tracker.wait_for()
""").finish()
        self.expect_trained(finished)

    def test_a_tracker_of_the_scripts_own_at_master_port(self):
        finished = self.script("""
from xgboost.tracker import RabitTracker
rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
address, port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
if rank == 0:
    tracker = RabitTracker(n_workers=size, host_ip=address, port=port, sortby="task")
    tracker.start()
with collective.CommunicatorContext(dmlc_tracker_uri=address, dmlc_tracker_port=port, dmlc_task_id=str(rank)):
    print("rank", collective.get_rank(), "of", collective.get_world_size(), "done", flush=True)
if rank == 0:
    tracker.wait_for()
""").finish()
        self.expect_trained(finished)
        self.assertNotIn("tracker.group", finished.err)

    def test_without_the_hook_a_script_names_the_tracker(self):
        finished = self.script("""
try:
    with collective.CommunicatorContext():
        print("alone:", collective.get_world_size(), flush=True)
except AssertionError:
    print("not distributed", flush=True)
with collective.CommunicatorContext(dmlc_tracker_uri=os.environ["DMLC_TRACKER_URI"], dmlc_task_id=os.environ["DMLC_TASK_ID"],
                                    dmlc_tracker_port=int(os.environ["DMLC_TRACKER_PORT"])):
    print("rank", collective.get_rank(), "of", collective.get_world_size(), "done", flush=True)
""", "--xgboost-hook", "off").finish()
        self.expect_trained(finished)
        self.assertEqual(len(re.findall("not distributed|alone: 1", finished.out)), 4, finished)

    def test_workers_without_task_ids_form_a_group(self):
        finished = self.script("""
with collective.CommunicatorContext(dmlc_tracker_uri=os.environ["DMLC_TRACKER_URI"],
                                    dmlc_tracker_port=int(os.environ["DMLC_TRACKER_PORT"])):
    print("rank", collective.get_rank(), "of", collective.get_world_size(), "done", flush=True)
""", "--xgboost-hook", "off").finish()
        self.expect_trained(finished)


class Together(FromRegistry, MusterTest):
    version = "3.2"

    def test_two_versions_in_one_group_are_refused_by_name(self):
        script = self.py("from xgboost import collective\nwith collective.CommunicatorContext(): pass\n")
        worker = self.sh("case $RANK in 3) exec %s %s;; *) exec %s %s;; esac" % (self.python, script, self.interpreter("1.7"), script))
        for words in (("local", "--nodes", 2, "--nproc-per-node", 2), ("run", "--nproc-per-node", 4)):
            finished = self.run_muster(*words, "--framework", "xgboost", "--no-python", worker)
            self.expect_code(finished, 1)
            self.assertRegex(finished.last_error_line if words[0] == "run" else finished.err,
                             r"muster: rank . on \S+ failed first: task . has XGBoost 2\.\S+ or \w+, task . has XGBoost 2\.\S+ or \w+, and they")
            self.assertRegex(finished.err, r"failed first: .*task 3 has XGBoost 2.1 or newer")

    def test_the_example_with_the_newer_one(self):
        finished = self.start_command([os.path.join(EXAMPLES, "xgboost", "run.sh"), BINARY], env={"PYTHON_EXEC": self.python}).finish()
        self.expect_code(finished, 0)
        with open(os.path.join(EXAMPLES, "xgboost", "expected.txt")) as file:
            self.expect_lines(file.read().splitlines(), finished.out)
