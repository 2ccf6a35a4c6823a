"""The Python files of launcher/frameworks/hook themselves, under Debian's Python, with libraries that have no more than what the hook
looks for. The real ones are in tests/compat."""
import os
import shutil
import subprocess

import harness

HOOK = os.path.join(harness.ROOT, "launcher", "frameworks", "hook")
PYTHON = "/usr/bin/python3"

XGBOOST = {
    "xgboost/__init__.py": "from . import collective, tracker\nfrom .tracker import RabitTracker\n",
    "xgboost/VERSION": "3.2.0\n",
    "xgboost/collective.py": """
def init(**args):
    print("init", sorted(args.items()))

class CommunicatorContext:
    def __init__(self, **args):
        self.args = args
    def __enter__(self):
        init(**self.args)
    def __exit__(self, *error):
        pass
""",
    "xgboost/tracker.py": """
class RabitTracker:
    def __init__(self, n_workers, host_ip, port=0, *, sortby="host", timeout=0):
        print("listens on", port)
    def start(self):
        print("started")
    def wait_for(self, timeout=None):
        print("waited")
    def worker_args(self):
        return {"dmlc_tracker_uri": "own", "dmlc_tracker_port": 7}
""",
}
JAX = {
    "jax/__init__.py": "from jax import distributed\n",
    "jax/distributed.py": "from jax._src.distributed import initialize, shutdown\n",
    "jax/_src/__init__.py": "",
    "jax/_src/distributed.py": """
import atexit

def initialize(coordinator_address=None, num_processes=None, process_id=None, local_device_ids=None, cluster_detection_method=None,
               initialization_timeout=300, heartbeat_timeout_seconds=100):
    print("initialize", coordinator_address, num_processes, process_id, local_device_ids, heartbeat_timeout_seconds)
    if cluster_detection_method == "deactivate":
        print("asks nobody")

def shutdown():
    print("waits for all")

def clean_up():
    shutdown()

atexit.register(clean_up)
""",
}
LIGHTGBM = {
    "lightgbm/__init__.py": "from .engine import train\nfrom .sklearn import LGBMRegressor\n",
    "lightgbm/basic.py": """
class _ConfigAliases:
    names = {"num_machines": {"num_machine"}, "tree_learner": {"tree"}, "machines": {"workers"}}
    @classmethod
    def get(cls, name):
        return cls.names.get(name, set()) | {name}

class _LIB:
    @staticmethod
    def LGBM_NetworkInit(machines, port, minutes, size):
        print("network", machines.decode(), port.value, minutes.value, size.value)
        return 0

def _safe_call(code):
    assert code == 0

def _c_str(text):
    return text.encode()
""",
    "lightgbm/engine.py": """
def train(params, train_set, num_boost_round=100):
    print("train", sorted(params.items()), num_boost_round)
""",
    "lightgbm/sklearn.py": """
from .engine import train

class LGBMModel:
    def __init__(self, n_jobs=None):
        self.n_jobs = n_jobs
    def _process_n_jobs(self, n_jobs):
        return 64 if n_jobs is None else n_jobs
    def fit(self, x):
        train({"num_threads": self._process_n_jobs(self.n_jobs)}, x)

class LGBMRegressor(LGBMModel):
    pass
""",
}

XGBOOST_JOB = {"MUSTER_PYTHON_HOOK": "xgboost", "MUSTER_XGBOOST_TRACKER": "10.0.0.1:4711", "MUSTER_XGBOOST_TASK_ID": "3",
               "DMLC_TRACKER_PORT": "4711"}
JAX_JOB = {"MUSTER_PYTHON_HOOK": "jax", "JAX_COORDINATOR_ADDRESS": "10.0.0.1:4711", "JAX_NUM_PROCESSES": "4", "JAX_PROCESS_ID": "2",
           "JAX_LOCAL_DEVICE_IDS": "0,1", "MUSTER_JAX_HEARTBEAT_TIMEOUT": "20", "MUSTER_JAX_SHUTDOWN_TIMEOUT": "20"}
LIGHTGBM_JOB = {"MUSTER_PYTHON_HOOK": "lightgbm", "LIGHTGBM_MACHINES": "10.0.0.1:4001,10.0.0.2:4001",
                "LIGHTGBM_LOCAL_LISTEN_PORT": "4001", "OMP_NUM_THREADS": "4"}


class HookTest(harness.MusterTest):
    def setUp(self):
        super().setUp()
        self.hook = self.path("hook")
        shutil.copytree(HOOK, self.hook, ignore=shutil.ignore_patterns("__pycache__"))
        for name, text in {**XGBOOST, **JAX, **LIGHTGBM}.items():
            self.write_file("libraries/" + name, text)

    def write_file(self, name, text):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)

    def python(self, code, job, options=(), more_path=(), code_wanted=0):
        path = ":".join([self.hook, *more_path, self.path("libraries")])
        found = subprocess.run([PYTHON, *options, "-c", code], env=dict(os.environ, PYTHONPATH=path, **job), capture_output=True, text=True)
        self.assertEqual(found.returncode, code_wanted, found.stderr)
        self.err = found.stderr
        return found.stdout.splitlines()

    def expect_quiet(self, code, job, lines, **how):
        self.assertEqual(self.python(code, job, **how), lines)
        self.assertEqual(self.err, "")

    # ---- xgboost

    def test_xgboost_without_arguments(self):
        self.expect_quiet("from xgboost import collective as c\nwith c.CommunicatorContext(): pass", XGBOOST_JOB,
                          ["init [('dmlc_task_id', '3'), ('dmlc_tracker_port', 4711), ('dmlc_tracker_uri', '10.0.0.1')]"])

    def test_xgboost_with_limits(self):
        job = dict(XGBOOST_JOB, MUSTER_XGBOOST_RETRY="5", MUSTER_XGBOOST_TIMEOUT="60", MUSTER_XGBOOST_TRACKER="[fd00::1]:4711")
        self.expect_quiet("from xgboost import collective as c; c.init(DMLC_TASK_ID='mine', dmlc_timeout=None)", job,
                          ["init [('DMLC_TASK_ID', 'mine'), ('dmlc_retry', 5), ('dmlc_timeout', 60), ('dmlc_tracker_port', 4711), "
                           "('dmlc_tracker_uri', 'fd00::1')]"])

    def test_xgboost_with_another_tracker(self):
        self.expect_quiet("from xgboost import collective as c; c.init(dmlc_tracker_uri='x', DMLC_TRACKER_PORT=1)\n"
                          "c.init(dmlc_communicator='federated')", XGBOOST_JOB,
                          ["init [('DMLC_TRACKER_PORT', 1), ('dmlc_tracker_uri', 'x')]", "init [('dmlc_communicator', 'federated')]"])

    def test_old_xgboost_is_left_alone(self):
        self.write_file("libraries/xgboost/VERSION", "2.0.3\n")
        self.expect_quiet("from xgboost import collective as c; c.init()", XGBOOST_JOB, ["init []"])

    def test_trackers(self):
        code = ("from xgboost import RabitTracker as R\n"
                "for port in (4711, '4711', 5):\n"
                "    r = R(2, '0.0.0.0', port) if port == 4711 else R(n_workers=2, host_ip='0.0.0.0', port=port)\n"
                "    r.start(); print(r.worker_args()); r.wait_for(timeout=3)")
        stand_in = "{'dmlc_tracker_uri': '10.0.0.1', 'dmlc_tracker_port': 4711}"
        self.expect_quiet(code, XGBOOST_JOB, [stand_in, stand_in, "listens on 5", "started",
                                              "{'dmlc_tracker_uri': 'own', 'dmlc_tracker_port': 7}", "waited"])

    # ---- jax

    def test_jax_without_arguments(self):
        self.expect_quiet("import jax; jax.distributed.initialize()", JAX_JOB,
                          ["initialize 10.0.0.1:4711 4 2 [0, 1] 20", "waits for all"])

    def test_jax_with_arguments(self):
        self.expect_quiet("import jax; jax.distributed.initialize('own:1', None, process_id=0, heartbeat_timeout_seconds=7)", JAX_JOB,
                          ["initialize own:1 4 0 [0, 1] 7", "waits for all"])

    def test_jax_asks_nobody(self):
        """A version that has a word for it."""
        with open(self.path("libraries/jax/_src/distributed.py"), "a") as file:
            file.write("\nclass State:\n    def initialize(self, method):\n        return method != 'deactivate'\n")
        self.expect_quiet("import jax; jax.distributed.initialize()", JAX_JOB,
                          ["initialize 10.0.0.1:4711 4 2 [0, 1] 20", "asks nobody", "waits for all"])

    def test_jax_asks_somebody_else(self):
        self.expect_quiet("import jax; jax.distributed.initialize(cluster_detection_method='mpi4py')", JAX_JOB,
                          ["initialize None None None None 20", "waits for all"])

    def test_wrong_arguments_are_told_by_jax(self):
        self.python("import jax; jax.distributed.initialize(nonsense=1)", JAX_JOB, code_wanted=1)
        self.assertRegex(self.err, "TypeError: initialize.. got an unexpected keyword argument 'nonsense'")

    def test_who_fails_does_not_wait_for_all(self):
        begin = "import atexit; atexit.register(print, 'saved'); import jax, sys; jax.distributed.initialize(); "
        for end, code in (("raise ValueError('x')", 1), ("sys.exit(7)", 7), ("sys.exit('words')", 1),
                          ("\ntry: raise ValueError('x')\nfinally: jax.distributed.shutdown()", 1),
                          ("\ntry: sys.exit(7)\nexcept SystemExit: sys.exit(9)", 9),
                          ("\ndef main():\n  local = 1\n  sys.exit(7)\nmain()", 7)):
            with self.subTest(end):
                self.assertEqual(self.python(begin + end, JAX_JOB, code_wanted=code), ["initialize 10.0.0.1:4711 4 2 [0, 1] 20", "saved"])
        job = dict(JAX_JOB, TORCHELASTIC_ERROR_FILE=self.path("error.json"))
        self.python(begin + "sys.exit(7)", job, code_wanted=7)
        self.assertIn('"SystemExit: 7"', self.read("error.json"))
        self.python(begin + "sys.exit(8)", job, code_wanted=8)
        self.assertIn('"SystemExit: 7"', self.read("error.json"), "what is there stays")
        # Caught ones, and one of another thread, are no failures.
        for before in ("try: sys.exit(7)\nexcept SystemExit: pass", "try: sys.exit(7)\nexcept SystemExit as error: kept = error",
                       "import _thread, time; done = []\ndef leave(): done.append(1); sys.exit(7)\n_thread.start_new_thread(leave, ())\n"
                       "while not done: time.sleep(0.01)"):
            with self.subTest(before):
                self.expect_quiet(begin + "\n" + before, JAX_JOB, ["initialize 10.0.0.1:4711 4 2 [0, 1] 20", "waits for all", "saved"])
        self.expect_quiet(begin + "\ntry: raise ValueError('x')\nexcept ValueError: jax.distributed.shutdown()\nsys.exit(0)", JAX_JOB, ["initialize 10.0.0.1:4711 4 2 [0, 1] 20", "waits for all", "saved"])

    # ---- lightgbm

    def test_lightgbm(self):
        network = "network 10.0.0.1:4001,10.0.0.2:4001 4001 120 2"
        self.expect_quiet("import lightgbm as g\ng.train({'tree': 'serial'}, None, 5)\ng.LGBMRegressor().fit(None)\n"
                          "g.LGBMRegressor(n_jobs=2).fit(None)\ng.train({'tree_learner': 'voting'}, None)", LIGHTGBM_JOB,
                          [network, "train [('num_machines', 2), ('tree_learner', 'data')] 5",
                           "train [('num_machines', 2), ('num_threads', 4), ('tree_learner', 'data')] 100",
                           "train [('num_machines', 2), ('num_threads', 2), ('tree_learner', 'data')] 100",
                           "train [('num_machines', 2), ('tree_learner', 'voting')] 100"])

    def test_lightgbm_with_a_network_of_its_own(self):
        self.expect_quiet("import lightgbm as g; g.train({'workers': 'a:1,b:1'}, None); g.train({'num_machine': 1}, None)", LIGHTGBM_JOB,
                          ["train [('workers', 'a:1,b:1')] 100", "train [('num_machine', 1)] 100"])

    def test_lightgbm_alone(self):
        self.expect_quiet("import lightgbm as g; g.train({}, None)", dict(LIGHTGBM_JOB, LIGHTGBM_MACHINES="10.0.0.1:4001"),
                          ["train [] 100"])

    def test_threads_of_a_sklearn_class(self):
        job = dict(LIGHTGBM_JOB, OMP_NUM_THREADS="4,2", LIGHTGBM_MACHINES="10.0.0.1:4001")
        self.expect_quiet("import lightgbm as g; g.LGBMRegressor().fit(None)", job, ["train [('num_threads', 64)] 100"])

    def test_a_dataset_that_was_constructed_before(self):
        self.python("import lightgbm as g\nclass D: _handle = 1\ng.train({}, D())", LIGHTGBM_JOB)
        self.assertRegex(self.err, r"\Amuster: the Dataset was constructed before train\(\): .*\n\Z")

    # ---- any

    def test_the_next_sitecustomize_is_loaded(self):
        for number in (1, 2):
            self.write_file("others%d/sitecustomize.py" % number, "print('the others', %d)" % number)
        more = (self.path("others1"), self.path("others2"))
        self.expect_quiet("import sitecustomize; print(sitecustomize.__file__)", JAX_JOB,
                          ["the others 1", self.path("others1/sitecustomize.py")], more_path=more)

    def test_two_hooks_on_one_path(self):
        outer = self.path("outer")
        shutil.copytree(self.hook, outer)
        self.write_file("others/sitecustomize.py", "print('the others')")
        self.expect_quiet("from xgboost import collective as c; c.init()", XGBOOST_JOB,
                          ["the others", "init [('dmlc_task_id', '3'), ('dmlc_tracker_port', 4711), ('dmlc_tracker_uri', '10.0.0.1')]"],
                          more_path=(outer, self.path("others")))

    def test_what_the_next_one_raises_is_its_own(self):
        self.write_file("others/sitecustomize.py", "raise ValueError('theirs')")
        self.assertEqual(self.python("print('goes on')", JAX_JOB, more_path=(self.path("others"),)), ["goes on"])
        self.assertIn("ValueError: theirs", self.err)
        self.assertNotIn("muster", self.err)

    def test_isolated_pythons_have_none(self):
        for option in ("-I", "-E", "-S"):
            with self.subTest(option):
                code = "import sys; sys.path.insert(0, %r); from xgboost import collective as c; c.init()" % self.path("libraries")
                self.expect_quiet(code, XGBOOST_JOB, ["init []"], options=(option,))

    def test_a_library_that_changed(self):
        self.write_file("libraries/jax/_src/distributed.py", "def initialize(): print('another one')\n")
        self.write_file("libraries/jax/distributed.py", "from jax._src.distributed import initialize\n")
        self.assertEqual(self.python("import jax; jax.distributed.initialize()", JAX_JOB), ["another one"])
        self.assertRegex(self.err, r"\Amuster: the hook for jax: AttributeError: .*; going on without it\n\Z")

    def test_other_modules_are_not_touched(self):
        code = ("import sys, json\nhook = sys.meta_path[0]\nprint(type(hook).__name__, hook.find_spec('json'), 'exec_module' in "
                "vars(json.__spec__.loader))\nprint([name for name in sys.modules if 'muster' in name])")
        self.expect_quiet(code, JAX_JOB, ["MusterHook None False", "[]"])

    def test_a_look_before_the_import(self):
        """importlib.util.find_spec() of the module, and a reload: the hook is not used up."""
        code = ("import importlib.util, importlib\nimportlib.util.find_spec('xgboost.collective')\nfrom xgboost import collective as c\n"
                "c.init(dmlc_task_id='a')\nimportlib.reload(c).init(dmlc_task_id='b')")
        rest = ", ('dmlc_tracker_port', 4711), ('dmlc_tracker_uri', '10.0.0.1')]"
        self.expect_quiet(code, XGBOOST_JOB, ["init [('dmlc_task_id', 'a')" + rest, "init [('dmlc_task_id', 'b')" + rest])

    def test_files_are_for_python_3_8(self):
        import ast
        for name in sorted(os.listdir(HOOK)):
            if name.endswith(".py"):
                with open(os.path.join(HOOK, name)) as file:
                    ast.parse(file.read(), name, feature_version=(3, 8))


if __name__ == "__main__":
    import unittest
    unittest.main()
