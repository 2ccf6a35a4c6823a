"""`muster local -f`: manifests of examples/manifests run here as they are."""
import os
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


if __name__ == "__main__":
    unittest.main()
