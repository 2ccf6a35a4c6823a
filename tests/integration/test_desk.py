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
