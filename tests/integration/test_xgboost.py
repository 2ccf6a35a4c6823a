"""--framework xgboost with Debian's XGBoost, which speaks the older protocol of trackers."""
import json
import os
import shutil

import harness
import xgboost_cases

PYTHON = "/usr/bin/python3"
XGBOOST = os.path.join(harness.EXAMPLES, "xgboost")


class Debian(xgboost_cases.XgboostCases, harness.MusterTest):
    python = PYTHON
    wire = "XGBoost 2.0 or older"


class Variables(harness.MusterTest):
    NAMES = ("DMLC_TRACKER_URI", "DMLC_TRACKER_PORT", "DMLC_TASK_ID", "DMLC_NUM_WORKER", "DMLC_ROLE", "MASTER_PORT", "OMP_NUM_THREADS",
             "MUSTER_XGBOOST_TRACKER", "MUSTER_PYTHON_HOOK")

    def workers(self, *flags, env=None, each=2):
        """What each one finds, by rank, and the end of the job."""
        program = self.py("import json, os\nwith open(os.path.join(os.environ['OUT'], os.environ['RANK']), 'w') as file: "
                          "json.dump(dict(os.environ), file)")
        finished = self.run_muster("local", "--nodes", 2, "--nproc-per-node", each, "--framework", "xgboost", *flags, program,
                                   env={"PYTHON_EXEC": PYTHON, **(env or {})})
        self.expect_code(finished, 0)
        return [json.loads(self.read(str(rank))) for rank in range(2 * each)], finished

    def test_workers_find_the_tracker(self):
        found, _ = self.workers()
        for rank, variables in enumerate(found):
            self.assertEqual(variables["DMLC_TASK_ID"], str(rank))
            self.assertEqual(variables["DMLC_NUM_WORKER"], "4")
            self.assertEqual(variables["DMLC_ROLE"], "worker")
            self.assertEqual(variables["DMLC_TRACKER_URI"], variables["MASTER_ADDR"])
            self.assertEqual(variables["MUSTER_XGBOOST_TRACKER"], "%s:%s" % (variables["DMLC_TRACKER_URI"], variables["DMLC_TRACKER_PORT"]))
            self.assertEqual(variables["MUSTER_PYTHON_HOOK"], "xgboost")
        for name in ("DMLC_TRACKER_URI", "DMLC_TRACKER_PORT", "MASTER_PORT"):
            self.assertEqual(len({variables[name] for variables in found}), 1)
        self.assertNotEqual(found[0]["MASTER_PORT"], found[0]["DMLC_TRACKER_PORT"])

    def test_those_of_other_launchers_give_way(self):
        found, finished = self.workers(env={"DMLC_TASK_ID": "9", "DMLC_NUM_ATTEMPT": "3", "mapred_tip_id": "task_1", "DMLC_ROLE": "server",
                                            "OMP_NUM_THREADS": "7"}, each=1)
        self.assertEqual([variables["DMLC_TASK_ID"] for variables in found], ["0", "1"])
        for variables in found:
            self.assertEqual(variables["DMLC_ROLE"], "worker")
            self.assertNotIn("DMLC_NUM_ATTEMPT", variables)
            self.assertNotIn("mapred_tip_id", variables)
            self.assertEqual(variables["OMP_NUM_THREADS"], "7")
        self.assertRegex(finished.err, "worker.variables_replaced names=DMLC_NUM_ATTEMPT,DMLC_ROLE,DMLC_TASK_ID,mapred_tip_id ")

    def test_without_the_hook(self):
        found, _ = self.workers("--xgboost-hook", "off", env={"PYTHONPATH": "/here"}, each=1)
        for variables in found:
            self.assertNotIn("MUSTER_PYTHON_HOOK", variables)
            self.assertEqual(variables["PYTHONPATH"], "/here")

    def test_workers_share_the_cpus(self):
        found, _ = self.workers(each=2)
        cpus = len(os.sched_getaffinity(0))
        for variables in found:
            self.assertLessEqual(int(variables["OMP_NUM_THREADS"]), max(1, cpus // 2))

    def test_each_worker_sees_one_gpu_of_the_list(self):
        finished = self.run_muster("run", "--nproc-per-node", 2, "--framework", "xgboost", "--no-python", "sh", "-c",
                                   "echo $LOCAL_RANK sees $CUDA_VISIBLE_DEVICES",
                                   env={"CUDA_VISIBLE_DEVICES": "GPU-aaaa,MIG-bbbb", "PYTHON_EXEC": PYTHON})
        self.expect_code(finished, 0)
        self.assertRegex(finished.out, "(?m)0 sees GPU-aaaa,MIG-bbbb$")  # there is no GPU here, so the list stays

    def test_rank_0_may_serve_at_master_port(self):
        """As scripts do that bring a tracker of their own."""
        program = self.py("""
import os, socket
if os.environ["RANK"] == "0":
    with socket.socket() as listener:
        listener.bind(("0.0.0.0", int(os.environ["MASTER_PORT"])))
        listener.listen()
        print("serves", flush=True)
""")
        finished = self.run_muster("local", "--nodes", 2, "--framework", "xgboost", program, env={"PYTHON_EXEC": PYTHON})
        self.expect_code(finished, 0)
        self.assertIn("serves", finished.out)

    def test_python_that_takes_no_notice_of_the_hook(self):
        finished = self.run_muster("run", "--framework", "xgboost", "--no-python", PYTHON, "-I", "x.py")
        self.expect_code(finished, 78)
        self.assertIn("--xgboost-hook off", finished.err)


class Strangers(harness.MusterTest):
    FLOOD = r"""
import socket, sys
address = (sys.argv[1], int(sys.argv[2]))
held = []
for _ in range(300):
    one = socket.create_connection(address)
    one.sendall(b"\x99\xff\0\0" + b"\x27\0\0\0" + b'{"rank":0,"task_id":"0","world_size":2}')
    held.append(one)
print("holds", flush=True)
sys.stdin.read()
"""

    def test_another_user_of_the_machine_cannot_keep_workers_out(self):
        """They say who they are and no more, for which there is no deadline; and the agent may have 400 descriptors."""
        if os.geteuid() != 0 or shutil.which("setpriv") is None:
            self.skip_because("root")
        job = self.start_command(["sh", "-c", 'ulimit -n 400; exec "$@"', "-", *self.command(
            ("local", "--nodes", 2, "--framework", "xgboost", xgboost_cases.TRAIN, "late", "1"))], env={"PYTHON_EXEC": PYTHON})
        found = job.wait_for(r"late: tracker (\S+) (\d+)$")
        keep, hold = os.pipe()
        flood = self.start_command(["setpriv", "--reuid", "2000", "--clear-groups", PYTHON, "-c", self.FLOOD, *found.groups()], stdin=keep)
        os.close(keep)
        flood.wait_for("holds")
        self.write("go", "")
        finished = self.expect_code(job.finish(), 0)
        self.assertIn("rank 1 of 2 done", finished.out)
        self.assertRegex(finished.err, "store.client_refused .*another user of this machine")
        os.close(hold)
        flood.finish()


class Example(harness.MusterTest):
    def test_the_example(self):
        """examples/xgboost/run.sh."""
        finished = self.start_command([os.path.join(XGBOOST, "run.sh"), harness.BINARY], env={"PYTHON_EXEC": PYTHON}).finish()
        self.expect_code(finished, 0)
        with open(os.path.join(XGBOOST, "expected.txt")) as file:
            self.expect_lines(file.read().splitlines(), finished.out)
