"""Completion of command lines, in a real bash."""
import re
import subprocess

import harness


class Completion(harness.MusterTest):
    def setUp(self):
        super().setUp()
        self.script = {}
        for name, words, as_torchrun in (("muster", ["completion", "bash"], False),
                                         ("torchrun", ["--print-completion", "bash"], True)):
            finished = self.expect_code(self.run_muster(*words, as_torchrun=as_torchrun), 0)
            self.assertEqual(finished.err, "")
            self.script[name] = finished.out

    def complete(self, *words):
        """What bash offers for the last of the words. bash itself makes three words of `--flag=value`."""
        split = [part for word in words for part in (re.split("(=)", word) if word.startswith("--") else [word])]
        if split[-1] == "" and split[-2] == "=":
            split.pop()
        bash = '%s\nshift\nCOMP_WORDS=("$@")\nCOMP_CWORD=$(($# - 1))\n_%s\nprintf "%%s\\n" "${COMPREPLY[@]}"\n' % (
            self.script[words[0]], words[0])
        finished = subprocess.run(["bash", "--norc", "-c", bash, "bash", "-", *split], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, check=True, timeout=60)
        self.assertEqual(finished.stderr, b"")
        return finished.stdout.decode().split()

    def test_verbs(self):
        self.assertEqual(self.complete("muster", "st"), ["status", "stop", "store"])
        self.assertIn("completion", self.complete("muster", ""))

    def test_flags_of_run(self):
        self.assertEqual(self.complete("muster", "run", "--nproc"), ["--nproc-per-node"])
        self.assertEqual(self.complete("muster", "run", "--nproc_p"), ["--nproc-per-node"])
        self.assertEqual(self.complete("muster", "run", "--tee", "3", "-m", "--rdzv-c"), ["--rdzv-conf"])
        self.assertIn("--chaos", self.complete("muster", "local", "--nodes", "2", "--"))
        self.assertNotIn("--chaos", self.complete("muster", "run", "--"))

    def test_values(self):
        frameworks = ["auto", "pytorch", "mpi", "xgboost", "tensorflow", "jax", "horovod", "lightgbm", "paddle", "plain"]
        self.assertEqual(self.complete("muster", "run", "--framework", ""), frameworks)
        self.assertEqual(self.complete("muster", "run", "--framework=m"), ["mpi"])
        self.assertEqual(self.complete("muster", "run", "--framework="), frameworks)
        self.assertEqual(self.complete("muster", "run", "--rdzv_backend", "et"), ["etcd", "etcd-v2"])
        self.assertEqual(self.complete("muster", "run", "--log-dir", ""), [])
        self.assertEqual(self.complete("muster", "completion", ""), ["bash", "zsh"])

    def test_what_follows_the_program_is_its_own(self):
        for program in (["train.py"], ["--", "--tee"], ["--tee=3", "train.py"]):
            self.assertEqual(self.complete("muster", "run", *program, "--nproc"), [])
        self.assertEqual(self.complete("torchrun", "--standalone", "train.py", "--nproc"), [])

    def test_as_torchrun(self):
        self.assertEqual(self.complete("torchrun", "--nnod"), ["--nnodes", "--nnodes-step", "--nnodes-allowed"])
        self.assertEqual(self.complete("torchrun", "--rdzv-backend", "s"), ["static"])

    def test_bash_takes_the_script(self):
        for name, script in self.script.items():
            finished = subprocess.run(["bash", "--norc", "-c", script + "complete -p " + name], stdout=subprocess.PIPE, check=True)
            self.assertIn("-F _" + name, finished.stdout.decode())

    def test_the_flags_of_each_verb_are_those_of_its_help(self):
        for verb in ("doctor", "local", "status", "scale", "store", "rsh", "completion"):
            shown = self.expect_code(self.run_muster(verb, "--help"), 0).out
            ours = set(re.findall(r"(?m)^  (--[a-z-]+)", shown))
            offered = {flag for flag in self.complete("muster", verb, "--") if flag.startswith("--")}
            if verb == "local":
                offered -= set(self.complete("muster", "run", "--"))
            self.assertEqual(ours, offered - {"--help"}, verb)

    def test_the_verbs_are_those_of_the_help(self):
        shown = set(re.findall(r"(?m)^  ([a-z]+) ", self.expect_code(self.run_muster("help"), 0).out))
        self.assertEqual(shown, set(self.complete("muster", "")) - {"help", "--help", "--version"})

    def test_only_bash_and_zsh(self):
        finished = self.expect_code(self.run_muster("completion", "fish"), 64)
        self.assertEqual(finished.err, "muster completion: 'fish' is not supported\n")
        self.expect_code(self.run_muster("completion"), 64)

