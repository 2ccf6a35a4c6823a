"""Frameworks whose libraries are not Debian's, by what their workers find and by who decides; independent runs; launchers that are
taken over. The real libraries are in tests/compat."""
import json
import os
import re
import signal

import harness

FOREVER = "exec sleep 1000"


def runs_of(finished):
    return sorted(int(run) for run in re.findall(r"run (\d+)", finished.out))


class Tensorflow(harness.MusterTest):
    def script(self, body, name="task"):
        return self.sh('type=$(expr "$TF_CONFIG" : \'.*"type":"\\([a-z]*\\)"\')\nindex=$(expr "$TF_CONFIG" : \'.*"index":\\([0-9]*\\)\')\n' + body, name)

    def job(self, script, *flags, nodes=2):
        return self.start("local", "--nodes", nodes, "--nproc-per-node", 2, "--framework", "tensorflow", *flags, "--", script)

    def test_all_have_one_cluster(self):
        finished = self.expect_code(self.job(self.sh('echo "config $TF_CONFIG"', "task")).finish(), 0)
        configs = [json.loads(text) for text in re.findall(r"config (\{.*\})", finished.out)]
        self.assertEqual(len(configs), 4)
        self.assertEqual(len({json.dumps(config["cluster"]) for config in configs}), 1)
        self.assertEqual(sorted(config["task"]["index"] for config in configs), [0, 1, 2, 3])
        ports = configs[0]["cluster"]["worker"]
        self.assertEqual(len(set(ports)), 4)

    def test_another_attempt_has_other_ports(self):
        finished = self.job(self.sh('echo "config $TF_CONFIG"; test "$TORCHELASTIC_RESTART_COUNT" = 1', "task"), "--max-restarts", 1).finish()
        self.expect_code(finished, 0)
        first = [re.findall(r'"worker":(\[.*?\])', config)[0] for config in re.findall(r"config (.*)", finished.out)]
        self.assertEqual(len(set(first)), 2, finished)

    def test_the_chief_ends_servers_and_a_worker_starts_again_alone(self):
        once = os.path.join(self.temp, "once")
        script = self.script('echo "is $type $index"\n'
                             'case $type$index in\n'
                             'chief0) while [ ! -e %s.again ]; do sleep 0.05; done; exit 0 ;;\n'
                             'worker1) [ -e %s ] && : >%s.again || { : >%s; exit 3; } ;;\n'
                             'esac\n%s' % (once, once, once, once, FOREVER))
        finished = self.expect_code(self.job(script, "--roles", "chief=1,worker=2,ps=1", "--max-restarts", 1).finish(), 0)
        self.assertEqual(finished.out.count("is worker 1"), 2, finished)
        self.assertEqual(finished.out.count("is ps 0"), 1, finished)
        self.assertRegex(finished.err, "worker.restart local_rank=0 failure=\"exit code 3")
        self.assertRegex(finished.err, r'job.end result=succeeded reason="the chief \(rank 0\) succeeded".* attempts=1')

    def test_workers_finish_after_worker_0_and_may_fail(self):
        gone = os.path.join(self.temp, "gone")
        script = self.script('[ $index = 0 ] && { : >%s; exit 0; }\nwhile [ ! -e %s ]; do sleep 0.05; done\nsleep 0.2\n'
                             'echo "ends $index"; exit $index' % (gone, gone))
        finished = self.expect_code(self.job(script).finish(), 0)
        self.assertIn("ends 1", finished.out)

    def test_the_chiefs_node_may_lead_and_leave_before_the_others_end(self):
        script = self.script('[ $type = chief ] && exit 0\n'
                             'trap "echo stopped; exit 3" TERM\nwhile :; do sleep 0.05; done')
        port = harness.free_port()
        nodes = [self.start("run", "--nnodes", 2, "--rdzv-endpoint", "127.0.1.1:%d,127.0.1.2:%d" % (port, port), "--local-addr", "127.0.1.%d" % k,
                            "--node-name", "n-%d" % k, "--framework", "tensorflow", "--roles", "chief=1,worker=1", "--", script) for k in (1, 2)]
        nodes[0].wait_for("worker.exit rank=0 .*code=0", "err")
        nodes[0].signal(signal.SIGTERM)
        self.expect_code(nodes[0].finish(), 0)
        finished = self.expect_code(nodes[1].finish(), 0)
        self.assertIn('job.end result=succeeded reason="the chief (rank 0) succeeded"', finished.err)

    def test_a_worker_that_fails_before_fails_the_job(self):
        script = self.script('[ $index = 3 ] && exit 7\n' + FOREVER)
        finished = self.expect_code(self.job(script).finish(), 7)
        self.assertIn("rank 3 on node-2 failed first: exit code 7", finished.err)

    def test_nodes_may_say_their_roles(self):
        script = self.script('echo "is $RANK $type $index"; : >%s/$type\n[ $type = chief ] || %s\n'
                             'while [ ! -e %s/ps ] || [ ! -e %s/worker ]; do sleep 0.05; done' % (self.temp, FOREVER, self.temp, self.temp))
        port = harness.free_port()
        nodes = [self.start("run", "--nnodes", 3, "--rdzv-endpoint", "127.0.0.1:%d" % port, "--local-addr", "127.0.0.1", "--node-name", "n-%d" % i,
                            "--framework", "tensorflow", "--role", role, "--rdzv-conf", "join_timeout=30", "--", script)
                 for i, role in enumerate(("ps", "chief", "worker"))]
        out = ""
        for node in nodes:
            out += self.expect_code(node.finish(), 0).out
        self.assertRegex(out, "is 0 ps 0")
        self.assertRegex(out, "is 1 chief 0")
        self.assertRegex(out, "is 2 worker 0")

    def test_what_was_there_gives_way_with_a_line(self):
        finished = self.run_muster("run", "--framework", "tensorflow", "--", self.sh('echo "config $TF_CONFIG"', "task"), env={"TF_CONFIG": "{}"})
        self.expect_code(finished, 0)
        self.assertIn('config {"cluster"', finished.out)
        self.assertRegex(finished.err, "worker.variables_replaced names=TF_CONFIG ")

    def test_roles_that_do_not_fit(self):
        for roles, words in (("chief=1,worker=2", "they name 3 workers, and there are 2"), ("chief=2", "there is one chief at most"),
                             ("worker=1,worker=1", "'worker' comes twice"), ("boss=1", "'boss' is none of chief, worker, ps, evaluator"),
                             ("ps=x", "is not ROLE=N")):
            finished = self.run_muster("run", "--nproc-per-node", 2, "--framework", "tensorflow", "--roles", roles, "--", "true")
            self.expect_code(finished, 64)
            self.assertIn(words, finished.err)
            self.assertEqual(finished.err.count("\n"), 1, finished)


class Plain(harness.MusterTest):
    def test_example(self):
        """examples/plain/run.sh."""
        finished = self.start_command([os.path.join(harness.EXAMPLES, "plain", "run.sh"), harness.BINARY]).finish()
        self.expect_code(finished, 0)
        with open(os.path.join(harness.EXAMPLES, "plain", "expected.txt")) as file:
            for pattern in file.read().splitlines():
                self.assertRegex(finished.out, pattern)
        self.assertRegex(finished.err, "worker.restart .*the others run on")

    def test_no_more_at_a_time_than_asked_for(self):
        script = self.sh('mkdir %s/lock || exit 9\necho "run $MUSTER_RUN_INDEX"\nrmdir %s/lock' % (self.temp, self.temp), "alone")
        finished = self.run_muster("local", "--nodes", 2, "--nproc-per-node", 2, "--framework", "plain", "--runs", 9, "--parallelism", 1, "--", script)
        self.expect_code(finished, 0)
        self.assertEqual(runs_of(finished), list(range(9)))

    def test_there_is_no_variable_of_ranks(self):
        finished = self.run_muster("run", "--framework", "plain", "--nproc-per-node", 2, "--", "env")
        self.expect_code(finished, 0)
        self.assertNotRegex(finished.out, "(?m)(^| )(RANK|WORLD_SIZE|LOCAL_RANK|MASTER_ADDR|OMP_NUM_THREADS)=")
        self.assertEqual(len(re.findall("MUSTER_RUN_INDEX=[01]\n", finished.out)), 2)

    def test_a_failure_without_budget_ends_all(self):
        script = self.sh('echo "run $MUSTER_RUN_INDEX"; [ $MUSTER_RUN_INDEX != 2 ] || exit 5', "task")
        finished = self.run_muster("run", "--framework", "plain", "--runs", 50, "--", script)
        self.expect_code(finished, 5)
        self.assertEqual(runs_of(finished), [0, 1, 2])
        self.assertRegex(finished.err, 'run.end run=2 local_rank=0 reason="exit code 5')

    def test_all_nodes_have_one_budget_for_runs_that_start_again_alone(self):
        script = self.sh('echo "run $MUSTER_RUN_INDEX"\n'
                         'if [ $MUSTER_RUN_INDEX = 1 ]; then while [ ! -e %s/0.again ]; do sleep 0.05; done; fi\n'
                         '[ -e %s/$MUSTER_RUN_INDEX ] || { : >%s/$MUSTER_RUN_INDEX; exit $((5 + MUSTER_RUN_INDEX)); }\n'
                         ': >%s/$MUSTER_RUN_INDEX.again; %s' % (self.temp, self.temp, self.temp, self.temp, FOREVER), "task")
        finished = self.run_muster("local", "--nodes", 2, "--framework", "plain", "--restart-scope", "worker", "--max-restarts", 1, "--", script)
        self.expect_code(finished, 6)
        self.assertEqual(runs_of(finished), [0, 0, 1])
        self.assertEqual(len(re.findall(r"worker.restart local_rank=0 .*restart 1 of 1 at once", finished.err)), 1, finished)
        self.assertRegex(finished.err, r"rank 1 on node-2 failed first: exit code 6")
        self.assertIn("the only restart is used", finished.err)

    def test_what_is_done_stays_done_in_the_next_attempt(self):
        once = os.path.join(self.temp, "once")
        script = self.sh('echo "run $MUSTER_RUN_INDEX"; [ $MUSTER_RUN_INDEX = 2 ] && [ ! -e %s ] && : >%s && exit 5; exit 0' % (once, once), "task")
        finished = self.run_muster("run", "--framework", "plain", "--runs", 4, "--max-restarts", 1, "--", script)
        self.expect_code(finished, 0)
        self.assertEqual(runs_of(finished), [0, 1, 2, 2, 3])

    def test_a_lost_nodes_runs_are_done_by_the_others(self):
        once = os.path.join(self.temp, "once")
        script = self.sh('echo "run $MUSTER_RUN_INDEX"\n'
                         '[ $MUSTER_RUN_INDEX = 3 ] && [ ! -e %s ] && { : >%s; echo "epoch 1"; %s; }\n:' % (once, once, FOREVER), "task")
        finished = self.run_muster("local", "--nodes", 2, "--nnodes", "1:2", "--framework", "plain", "--runs", 6, "--replace-wait", "0s",
                                   "--chaos", "kill-node:2@epoch=1", "--", script)
        self.expect_code(finished, 0)
        self.assertEqual(set(runs_of(finished)), set(range(6)), finished)
        self.assertEqual(runs_of(finished).count(0), 1, finished)

    def test_wrong_words(self):
        for words, text in ((("--runs", 2, "--parallelism", 3), "--parallelism '3': there are 2 runs (--runs)"),
                            (("--runs", 0), "--runs '0': not a number from 1"),
                            (("--runs", 2, "--nnodes", 2), "--nnodes 2: where the nodes are is not known"),
                            (("--restart-scope", "all"), "--restart-scope 'all': none of group, worker")):
            finished = self.run_muster("run", "--framework", "plain", *words, "--", "true")
            self.expect_code(finished, 64)
            self.assertIn(text, finished.err)
            self.assertEqual(finished.err.count("\n"), 1, finished)

    def test_a_library_that_is_not_there(self):
        script = self.write("train.py", "print('started')")
        for framework, module in (("paddle", "paddle"), ("horovod", "horovod"), ("tensorflow", "tensorflow"), ("jax", "jax")):
            finished = self.expect_code(self.run_muster("run", "--framework", framework, script, env={"PYTHON_EXEC": "/usr/bin/python3"}), 78)
            self.assertEqual(finished.err, "muster: --framework: /usr/bin/python3 has no module %s\n" % module)
            self.assertEqual(finished.out, "")

    def test_a_framework_that_cannot_change_its_size_says_so(self):
        finished = self.run_muster("local", "--nodes", 2, "--nnodes", "1:2", "--framework", "horovod", "--", "true")
        self.expect_code(finished, 0)
        self.assertIn("--nnodes 1:2: horovod cannot change its size while it runs; all workers start again with each new one", finished.err)

    def test_unknown_framework(self):
        finished = self.expect_code(self.run_muster("run", "--framework", "caffe", "--", "true"), 64)
        self.assertIn("none of auto, pytorch, mpi, xgboost, tensorflow, jax, horovod, lightgbm, paddle, plain", finished.err)


class Launchers(harness.MusterTest):
    def test_deepspeed_is_taken_over(self):
        script = self.write("train.py", "import os, sys; print('rank', os.environ['RANK'], sys.argv[1:])")
        finished = self.run_muster("run", "deepspeed", "--num_gpus", 2, "--master_port", 9, script, "--lr", "1")
        self.expect_code(finished, 0)
        for rank in (0, 1):
            self.assertIn("rank %d ['--local_rank=%d', '--lr', '1']" % (rank, rank), finished.out)
        self.assertRegex(finished.err, "deepspeed is not started: Muster starts its program itself, and knows better than its --master-port")

    def test_horovodrun_is_taken_over(self):
        script = self.sh('echo "place $HOROVOD_RANK $HOROVOD_SIZE $HOROVOD_LOCAL_SIZE $HOROVOD_CYCLE_TIME"', "task")
        finished = self.run_muster("local", "--nodes", 2, "horovodrun", "-np", 4, "-H", "a:2,b:2", "--cycle-time-ms", 3, script)
        self.expect_code(finished, 0)
        self.assertEqual(sorted(re.findall("place (.*)", finished.out)), ["%d 4 2 3" % rank for rank in range(4)])
        odd = self.expect_code(self.run_muster("run", "horovodrun", "-np", 4, "--nosuch", script), 64)
        self.assertIn("in the arguments of horovodrun: --nosuch is not known here", odd.err)

    def test_paddles_launcher_is_taken_over(self):
        script = self.write("train.py", "import os; print('id', os.environ['PADDLE_TRAINER_ID'], os.environ['PADDLE_TRAINER_ENDPOINTS'])")
        self.write("paddle.py", "")
        finished = self.run_muster("run", "python3", "-m", "paddle.distributed.launch", "--nproc_per_node", 2, script, env={"PYTHONPATH": self.path()})
        self.expect_code(finished, 0)
        ends = re.findall(r"id \d (127\.0\.0\.1:\d+,127\.0\.0\.1:\d+)", finished.out)
        self.assertEqual(len(ends), 2, finished)
        self.assertEqual(ends[0], ends[1])

    def test_a_front_end_comes_back_with_what_it_prepared(self):
        """Of the name of accelerate's, with a torch that has only what the hook changes."""
        site = os.path.join(self.temp, "site")
        for path, text in (("torch/__init__.py", ""), ("torch/distributed/__init__.py", ""),
                           ("torch/distributed/run.py", "def run(options):\n    raise SystemExit('the hook is not there')\n")):
            os.makedirs(os.path.dirname(os.path.join(site, path)), exist_ok=True)
            with open(os.path.join(site, path), "w") as file:
                file.write(text)
        script = self.write("train.py", "import os, sys; print('rank', os.environ['RANK'], os.environ['PREPARED'], sys.argv[1:], "
                                        "[n for n in os.environ if n.startswith(('MUSTER_FRONT', 'MUSTER_PYTHON'))])")
        front = self.write("accelerate", "#!/usr/bin/python3\nimport os, sys, types\nimport torch.distributed.run\nassert sys.argv[1] == 'launch'\n"
                                         "os.environ['PREPARED'] = 'yes'\ntorch.distributed.run.run(types.SimpleNamespace(nproc_per_node=2, max_restarts=0, "
                                         "training_script=sys.argv[2], training_script_args=sys.argv[3:], module=False, no_python=False))\n")
        os.chmod(front, 0o755)
        finished = self.run_muster("run", "--tee", 0, front, "launch", script, "--lr", "1", env={"PYTHONPATH": site})
        self.expect_code(finished, 0)
        for rank in (0, 1):
            self.assertIn("rank %d yes ['--lr', '1'] []" % rank, finished.out)
        self.assertIn("accelerate launch reads its own options", finished.err)
        self.assertEqual([name for name in os.listdir(self.temp) if name.startswith("muster-hook")], [])

    def test_a_front_end_whose_python_reads_no_hook(self):
        for option in ("-I", "-E", "-S", "-uI"):
            finished = self.run_muster("run", "python3", option, "-m", "accelerate.commands.launch", "x.py")
            self.expect_code(finished, 78)
            letter = "-" + option[-1]
            self.assertEqual(finished.err, "muster: 'python3 %s' takes no notice of the hook for accelerate-launch: leave %s out\n" % (letter, letter))

    def test_nodes_that_a_launcher_was_told_of(self):
        finished = self.run_muster("run", "--explain", "deepspeed", "--num_nodes", 2, "--num_gpus", 1, "x.py")
        self.assertRegex(self.expect_code(finished, 0).out, "(?m)^--nnodes +2 +deepspeed$")
        finished = self.run_muster("run", "--explain", "--nnodes", 3, "deepspeed", "--num_nodes", 2, "x.py")
        self.assertRegex(self.expect_code(finished, 0).out, "(?m)^--nnodes +3 ")

    def test_a_front_end_that_fails_says_why_itself(self):
        front = self.write("accelerate", "#!/bin/sh\necho 'no such option' >&2; exit 2\n")
        os.chmod(front, 0o755)
        finished = self.expect_code(self.run_muster("run", front, "launch", "--nosuch", "x.py"), 2)
        self.assertIn("no such option", finished.err)


class HorovodStore(harness.MusterTest):
    def test_processes_meet_at_the_job_port(self):
        """As Horovod's own client asks; the real one is in tests/compat."""
        script = self.write("task.py", """
import http.client, os
def ask(method, path, body=None):
    connection = http.client.HTTPConnection(os.environ["HOROVOD_GLOO_RENDEZVOUS_ADDR"], int(os.environ["HOROVOD_GLOO_RENDEZVOUS_PORT"]))
    connection.request(method, path, body)
    reply = connection.getresponse()
    return reply.status, reply.read()
rank, size = int(os.environ["HOROVOD_RANK"]), int(os.environ["HOROVOD_SIZE"])
assert ask("PUT", "/global/%d" % rank, b"address of %d" % rank)[0] == 200
for other in range(size):
    while True:
        status, body = ask("GET", "/global/%d" % other)
        if status == 200:
            break
        assert status == 404, status
    assert body == b"address of %d" % other, body
place = ask("GET", "/rank_and_size/%s:%s" % (os.environ["HOROVOD_HOSTNAME"], os.environ["HOROVOD_LOCAL_RANK"]))[1].decode()
print("place", place)
""")
        self.write("horovod.py", "")
        finished = self.run_muster("local", "--nodes", 2, "--nproc-per-node", 2, "--framework", "horovod", script, env={"PYTHONPATH": self.path()})
        self.expect_code(finished, 0)
        self.assertEqual(sorted(re.findall("place (.*)", finished.out)), ["0,4,0,2,0,2", "1,4,1,2,0,2", "2,4,0,2,1,2", "3,4,1,2,1,2"])


if __name__ == "__main__":
    import unittest
    unittest.main()
