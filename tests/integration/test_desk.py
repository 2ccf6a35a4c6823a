"""`muster local -f`: manifests of examples/manifests run here as they are."""
import os
import re
import unittest

from harness import EXAMPLES, ROOT, MusterTest, torch_python


class DeskTest(MusterTest):
    def local(self, name, *words, env=None):
        return self.expect_code(self.run_muster("local", "-f", os.path.join(EXAMPLES, "manifests", name), *words, cwd=ROOT, env=env), 0)

    def test_a_training_runtime_trains(self):
        python = torch_python()
        if not python:
            self.skip_because("pytorch")
        finished = self.local("pytorch.yaml", env={"PYTHON_EXEC": python})
        self.assertIn("world_size=4", finished.err)
        self.assertIn("the job ended with 0; node 1: exit code 0, node 2: exit code 0", finished.err)

    def test_another_program_takes_the_place_of_the_containers(self):
        finished = self.local("pytorch.yaml", "--", "sh", "-c", "echo $RANK of $WORLD_SIZE")
        self.assertEqual(sorted(line.split("] ")[1] for line in finished.out.splitlines()), ["%d of 4" % rank for rank in range(4)])

    def test_an_elastic_one_runs_with_as_many_nodes_as_are_wanted(self):
        for nodes in (2, 3):
            words = () if nodes == 2 else ("--nodes", nodes)
            finished = self.local("elastic.yaml", *words)
            self.assertEqual(sorted(line.split("] ")[1] for line in finished.out.splitlines()),
                             ["rank %d of %d, rank 0 at 127.0.1.1, hello" % (rank, nodes) for rank in range(nodes)])

    def test_an_mpi_runtime_needs_no_ssh(self):
        finished = self.local("mpi.yaml")
        self.assertEqual(sorted(line.split("] ")[1] for line in finished.out.splitlines()), ["rank %d of 4" % rank for rank in range(4)])

    def test_a_containers_own_words_and_folder_are_its_own(self):
        os.mkdir(self.path("app"))
        self.write("app/show.sh", '#!/bin/sh\necho "$@ in $(basename $PWD), $WORLD_SIZE of $NODES"\n', 0o755)
        path = self.write("job.yaml", """apiVersion: batch/v1
kind: Job
metadata: {name: j}
spec:
  completions: 2
  parallelism: 2
  template:
    spec:
      containers:
      - name: c
        command: [./show.sh]
        args: ["--master_addr=$MASTER_ADDR", -f, /etc/mpi/hostfile, $NUM_NODES_X]
        workingDir: %s
        env: [{name: NODES, value: two}]
""" % self.path("app"))
        finished = self.expect_code(self.run_muster("local", "-f", path), 0)
        self.assertEqual({line.split("] ")[1] for line in finished.out.splitlines()},
                         {"--master_addr=127.0.1.1 -f /etc/mpi/hostfile $NUM_NODES_X in app, 2 of two"})

    def test_all_kinds_of_pods_are_checked_before_any_is_started(self):
        path = self.write("job.yaml", """apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: j}
spec:
  pytorchReplicaSpecs:
    Master: {template: {spec: {containers: [{command: [sleep, "60"]}]}}}
    Worker: {template: {spec: {containers: [{image: x}]}}}
""")
        finished = self.expect_code(self.run_muster("local", "-f", path), 64)
        self.assertIn("spec.pytorchReplicaSpecs.Worker.template.spec.containers[0]: the container has no command", finished.err)

    def test_run_explains_what_a_manifest_says(self):
        text = self.run_muster("run", "-f", os.path.join(EXAMPLES, "manifests", "elastic.yaml"), "--explain").out
        self.assertRegex(text, r"(?m)^--nnodes +2:8 +\S*elastic.yaml: spec.mlPolicy.torch.elasticPolicy$")
        self.assertRegex(text, r"(?m)^--nproc-per-node +1 +\S*elastic.yaml: spec.mlPolicy.torch.numProcPerNode$")

    def test_wrong_manifests_are_refused_in_one_line(self):
        with open(os.path.join(EXAMPLES, "manifests", "pytorch.yaml")) as file:
            text = file.read()
        for change, line in ((("numNodes: 2", "numNodes: two"), "spec.mlPolicy.numNodes: 'two' must be a number from 1 to 100000"),
                             (("completions: 2", "completions: 3"), "spec.template.spec.replicatedJobs[0].template.spec.completions: '3' must be 2"),
                             (("command: [", "command: [["), "line ")):
            path = self.write("wrong.yaml", text.replace(*change))
            finished = self.expect_code(self.run_muster("local", "-f", path), 64)
            self.assertEqual(len(finished.err.splitlines()), 1)
            self.assertIn(line, finished.err)
        self.assertIn("No such file", self.expect_code(self.run_muster("local", "-f", self.path("nothing.yaml")), 71).err)


RENDER = ("render", "--name", "t", "--image", "i", "--framework")
ENDS = 'the job ended with 0'


class RenderedDeskTest(MusterTest):
    """Manifests whose entrypoint is Muster: as `muster render` writes them, and as they stand in examples/controllers."""

    def local(self, path, *words, code=0, **how):
        return self.expect_code(self.run_muster("local", "-f", path, *words, **how), code)

    def said(self, finished):
        return sorted(line.split("] ", 1)[1] for line in finished.out.splitlines())

    def test_each_manifest_of_the_examples_runs(self):
        program = self.write("program", "#!/bin/sh\necho ran ${MUSTER_RUN_INDEX:-${RANK:-$OMPI_COMM_WORLD_RANK}}\n", 0o755)
        names = [name for name in os.listdir(os.path.join(EXAMPLES, "controllers")) if name.endswith(".yaml")]
        self.assertEqual(len(names), 6)
        for name in names:
            with open(os.path.join(EXAMPLES, "controllers", name)) as file:
                text = re.sub("/app/(train.py|ring)", program, file.read()).replace('gpu: "8"', 'gpu: "2"')
            with self.subTest(name):
                finished = self.local(self.write(name, text))
                workers = {"mpijob.yaml": 4, "runs.yaml": 10}.get(name, 8)
                self.assertEqual(self.said(finished), sorted("ran %d" % rank for rank in range(workers)))
                self.assertIn(ENDS, finished.err)

    def test_what_render_writes_of_each_kind_runs(self):
        script = "import os; print('rank', os.environ['RANK'], 'of', os.environ['WORLD_SIZE'], os.environ['MASTER_ADDR'])"
        for kind in ("job", "jobset", "pytorchjob", "trainjob"):
            text = self.expect_code(self.run_muster(*RENDER, "pytorch", "--workers", "2", "--no-master", "--gpu", "2", "--report",
                                                    "webhook=https://x.example/", "--to", kind, "--command", "--", "/usr/bin/python3", "-c",
                                                    script), 0).out
            with self.subTest(kind):
                finished = self.local(self.write("%s.yaml" % kind, text))
                self.assertEqual(self.said(finished), ["rank %d of 4 127.0.1.1" % rank for rank in range(4)])
                self.assertEqual(finished.err.count("left out, as it is for a cluster: "), 1)
                self.assertIn("MUSTER_RUN_DIR", finished.err)

    def test_a_manifest_that_is_rendered_anew_runs_as_before(self):
        source = os.path.join(EXAMPLES, "manifests", "elastic.yaml")
        for kind in ("jobset", "job", "pytorchjob", "trainjob"):
            text = self.expect_code(self.run_muster("render", "-f", source, "--to", kind), 0).out
            with self.subTest(kind):
                finished = self.local(self.write("%s.yaml" % kind, text), "--nodes", "3")
                self.assertEqual(self.said(finished), ["rank %d of 3, rank 0 at 127.0.1.1, hello" % rank for rank in range(3)])

    def test_mpi_of_each_kind_runs(self):
        for kind in ("mpijob", "jobset", "trainjob"):
            text = self.expect_code(self.run_muster(*RENDER, "mpi", "--processes", "2", "--to", kind, "--command", "--", "sh", "-c",
                                                    "echo rank $OMPI_COMM_WORLD_RANK"), 0).out
            with self.subTest(kind):
                self.assertEqual(self.said(self.local(self.write("%s.yaml" % kind, text))), ["rank 0", "rank 1"])

    def test_flags_count_for_more_than_the_container_and_its_launcher_for_more_than_fields(self):
        path = self.write("job.yaml", """apiVersion: batch/v1
kind: Job
metadata: {name: j}
spec:
  completions: 2
  parallelism: 2
  template:
    spec:
      containers:
      - name: c
        command: [/opt/muster, run]
        args: [--nproc-per-node, "3", --, sh, -c, "echo $WORLD_SIZE $HOME_OF $MUSTER_MAX_RESTARTS"]
        env: [{name: HOME_OF, value: x}, {name: MUSTER_MAX_RESTARTS, value: "2"}]
        resources: {limits: {nvidia.com/gpu: 8}}
""")
        self.assertEqual(set(self.said(self.local(path))), {"6 x"})
        self.assertEqual(set(self.said(self.local(path, "--nproc-per-node=1"))), {"2 x"})
        self.assertEqual(set(self.said(self.local(path, "--", "sh", "-c", "echo $WORLD_SIZE"))), {"6"})
        explained = self.run_muster("run", "-f", path, "--explain").out
        self.assertRegex(explained, r"(?m)^--max-restarts +2 +\S*job.yaml: spec.template.spec.containers\[0\].env: MUSTER_MAX_RESTARTS$")
        self.assertRegex(explained, r"(?m)^--nproc-per-node +3 +\S*job.yaml: spec.template.spec.containers\[0\]: muster run$")

    def test_the_file_is_named_in_each_way_that_a_flag_has(self):
        path = os.path.join(EXAMPLES, "manifests", "elastic.yaml")
        for words, env in (((), {"MUSTER_FILE": path}), (("-f" + path,), {}), (("-f=" + path,), {}), (("--file", path), {}),
                           (("--file=" + path,), {}), (("--fi", path), {})):
            finished = self.expect_code(self.run_muster("local", *words, env=env), 0)
            self.assertEqual(len(finished.out.splitlines()), 2, words)
        finished = self.run_muster("local", "-mf" + path, "--explain", "json.tool")
        self.assertRegex(finished.out, "(?m)^--module +true +command line$")

    def test_a_container_that_wants_other_nodes_than_the_manifest_has_is_refused(self):
        with open(os.path.join(EXAMPLES, "manifests", "pytorch.yaml")) as file:
            text = file.read().replace("${NUM_NODES}", "4")
        path = self.write("runtime.yaml", text)
        self.assertIn("containers[0]: torchrun: --nnodes '4' must allow the 2 nodes that the manifest has", self.local(path, code=64).err)
        finished = self.local(path, "--nodes", "1", "--", "sh", "-c", "echo $WORLD_SIZE")
        self.assertEqual(self.said(finished), ["2", "2"])

    def test_a_program_of_the_image_is_missed_before_anything_starts(self):
        path = os.path.join(EXAMPLES, "controllers", "job.yaml")
        finished = self.local(path, code=127)
        self.assertEqual(finished.err, "muster: %s: program '/app/train.py' is not here: say another one behind --\n" % path)
        finished = self.local(path, "--nproc-per-node", "1", "--", "sh", "-c", "echo $WORLD_SIZE")
        self.assertEqual(set(self.said(finished)), {"4"})

    def test_several_workloads_in_a_file_are_named(self):
        with open(os.path.join(EXAMPLES, "controllers", "job.yaml")) as job, open(os.path.join(EXAMPLES, "controllers", "jobset.yaml")) as jobset:
            path = self.write("both.yaml", job.read() + "---\n" + jobset.read())
        self.assertIn("both.yaml: there are several workloads, and one can run: Job 'train', JobSet 'train'", self.local(path, code=64).err)


if __name__ == "__main__":
    unittest.main()
