"""`muster env` tells the truth: what it prints is what a real worker or a real launcher then has."""
import json
import os

import harness

SHOW_WORKER = 'env -0 >"$OUT/env.$RANK"'
SHOW_LAUNCHER = 'env -0 >"$OUT/env.launcher"'
# Of the shell that shows them.
OF_THE_SHELL = {"_", "PWD", "OLDPWD", "SHLVL"}


class Env(harness.MusterTest):
    def planned(self, *flags, env=None):
        """The processes that `muster env` tells of."""
        finished = self.run_muster("env", "--json", "--all", *flags, env=env)
        self.expect_code(finished, 0)
        return json.loads(finished.out)["processes"]

    def variables(self, name):
        return dict(item.split("=", 1) for item in self.read(name).split("\0") if item)

    def check(self, process, actual, pod, more=()):
        """`more`: names that may come besides, when the job has begun."""
        told = {variable["name"]: variable for variable in process["variables"]}
        for name, variable in told.items():
            if variable["action"] == "unset":
                self.assertNotIn(name, actual)
            elif variable["confidence"] == "at start":
                self.assertIn(name, actual)
            else:
                self.assertEqual(actual.get(name), variable["value"], name)
        untold = {name: value for name, value in actual.items() if name not in told and pod.get(name) != value}
        self.assertEqual({name for name in untold if not name.startswith(tuple(more))} - OF_THE_SHELL, set())

    def test_what_workers_have(self):
        pod = {"OMP_NUM_THREADS": "3", "RANK": "7", "SLURM_PROCID": "3", "PMI_RANK": "1", "MY_OWN": "x y",
               "CUDA_VISIBLE_DEVICES": "4,6"}
        flags = ("--nproc-per-node", 2, "--virtual-local-rank", "--role", "trainer", "--", self.sh(SHOW_WORKER))
        processes = self.planned(*flags, env=pod)
        self.expect_code(self.run_muster("run", *flags, env=pod), 0)
        self.assertEqual([process["local_rank"] for process in processes], [0, 1])
        for process in processes:
            self.check(process, self.variables("env.%d" % process["local_rank"]), self.environment(pod))
            kept = [variable["name"] for variable in process["variables"] if variable["action"] == "keep"]
            self.assertEqual(kept, ["OMP_NUM_THREADS"])

    def test_what_ranks_of_pmi_have(self):
        flags = ("--framework", "mpi", "--mpi-launch", "pmi", "--nproc-per-node", 2, "--", self.sh(SHOW_WORKER))
        pod = {"PMI_RANK": "9", "MPI_LOCALNRANKS": "7"}
        processes = self.planned(*flags, env=pod)
        self.run_muster("run", *flags, env=pod)
        for process in processes:
            actual = self.variables("env.%d" % process["local_rank"])
            self.assertEqual(actual["PMI_RANK"], actual["RANK"], "the agent's own, not that of an outer launch")
            told = [variable for variable in process["variables"] if not variable["name"].startswith(("PMI_", "MPI_"))]
            self.check({"variables": told}, actual, self.environment(pod), more=("PMI_", "MPI_"))

    def test_what_an_mpirun_has(self):
        folder = self.path("bin")
        os.mkdir(folder)
        for name in ("mpirun", "orted"):
            self.write("bin/" + name, "#!/bin/sh\n" + SHOW_LAUNCHER + "\n", 0o755)
        pod = {"PATH": folder + ":/usr/bin:/bin", "OMPI_MCA_plm_rsh_num_concurrent": "9", "PMIX_RANK": "2"}
        flags = ("--framework", "mpi", "--mpi", "openmpi", "--standalone", "--", "/bin/true")
        process = self.planned(*flags, env=pod)[0]
        self.assertEqual(process["process"], "mpirun")
        self.run_muster("run", *flags, env=pod)  # no rank reports: it fails, but it was called
        network = ("OMPI_MCA_", "PRTE_MCA_", "MUSTER_RSH_", "TMPDIR")  # of one machine, too
        self.check(process, self.variables("env.launcher"), self.environment(pod), more=network)

    def test_a_shell_takes_it(self):
        finished = self.run_muster("env", "--export", "--role", "it's \"so\" $HOME")
        self.expect_code(finished, 0)
        self.write("plan", finished.out)
        shown = self.start_command(["/bin/sh", "-c", '. "$OUT/plan"; printf %s "$ROLE_NAME"']).finish()
        self.assertEqual(shown.out, "it's \"so\" $HOME")

    def test_wrong_input(self):
        for words, text in ((("--json", "--export"), "exclude each other"),
                            (("--local-rank", "3", "--nproc-per-node", "2"), "this node has 2 workers"),
                            (("--nproc-per-node", "0"), "--nproc-per-node")):
            finished = self.run_muster("env", *words)
            self.expect_code(finished, 64)
            self.assertIn(text, finished.err)
            self.assertEqual(finished.out, "")
