"""MPI jobs in pods whose roles a controller gave: what holds for every MPI, as in mpi_cases. integration/ has more, with Debian's MPIs."""
from mpi_pods import NO_DEVICES, OMPI, PodTest


class OperatorPods(PodTest):
    """As mpi-operator makes them."""
    pods = ("pi-launcher", "pi-worker-0", "pi-worker-1")

    def setUp(self):
        super().setUp()
        self.mounts = {name: self.mount_key() for name in self.pods}
        self.mounts["pi-launcher"] += "; cd /; " + self.mount_config("/etc/mpi")

    def write_hosts(self, workers, slots=2, launcher=False, hydra=False):
        names = (["pi-launcher"] if launcher else []) + ["pi-worker-%d" % k for k in range(workers)]
        full = ["%s.pi.default.svc" % name for name in names]
        self.write_config(**{"hostfile": "".join(("%s:%d\n" if hydra else "%s slots=%d\n") % (name, slots) for name in full),
                             "discover_hosts.sh": "#!/bin/sh\n" + "".join("echo %s\n" % name for name in full)})

    def start_worker(self, k, *arguments):
        return self.start_pod("pi-worker-%d" % k, {"K_MPI_JOB_ROLE": "worker"}, *arguments)

    def start_launcher(self, *arguments, settings=OMPI, has_ranks=False):
        env = {"K_MPI_JOB_ROLE": "launcher", **settings, **({} if has_ranks else NO_DEVICES)}
        return self.start_pod("pi-launcher", env, *arguments)

    def start_all(self, workers, *command, **how):
        agents = [self.start_worker(k, *command) for k in range(workers)]
        return [self.start_launcher(*command, **how)] + agents

    def expect_all(self, agents, code):
        return [self.expect_code(agent.finish(), code) for agent in agents]


class TrainerPods(PodTest):
    """As Kubeflow Trainer makes them: its launcher starts Open MPI."""
    job = "ds"
    pods = ("ds-launcher-0-0", "ds-node-0-0", "ds-node-0-1")

    def program(self, _):
        return [self.ring]

    def run_job(self, launcher_as_node, words=()):
        at = "/etc/ssh-keys"
        self.mounts = {name: self.mount_key(at, "644") for name in self.pods}
        self.mounts["ds-launcher-0-0"] += "; cd /; " + self.mount_config("/etc/mpi")
        nodes = self.pods if launcher_as_node else self.pods[1:]
        self.write_config(hostfile="".join("%s.ds slots=2\n" % name for name in nodes))
        agents = [self.start_pod(name, {"JOB_COMPLETION_INDEX": name[-1], **(OMPI if "launcher" in name else {})},
                                 "--framework", "mpi", *words, "--", *self.program("ring")) for name in self.pods]
        launcher, *others = [self.expect_code(agent.finish(), 0) for agent in agents]
        self.assertIn("ring: %d of %d ranks" % (2 * len(nodes), 2 * len(nodes)), (others[0] if words else launcher).out)
        self.assertIn("secret=%s/id_rsa" % at, launcher.err)


class OperatorTests(OperatorPods):
    settings, hydra = OMPI, False

    def run_all(self, *command):
        self.write_hosts(2, hydra=self.hydra)
        return self.start_all(2, *command, settings=self.settings)

    def expect_ring(self, *command):
        launcher, *workers = self.expect_all(self.run_all(*command, *self.program("ring")), 0)
        self.assertIn("ring: 4 of 4 ranks", launcher.out)
        self.assertIn('placement="4 ranks on 2 nodes: pi-worker-0:2, pi-worker-1:2"', launcher.err)
        for worker in workers:
            self.assertIn("rsh.start ", worker.err)

    def test_a_launcher_without_ranks_and_two_workers(self):
        self.expect_ring("--framework", "mpi", "--")

    def test_the_users_own_mpirun(self):
        self.expect_ring("--", self.launcher, "-n", 4)

    def test_every_pod_ends_with_the_code_of_the_rank_that_failed(self):
        agents = self.run_all("--framework", "mpi", "--", *self.program("mpi_faults"), "code")
        for finished in self.expect_all(agents, 9):
            self.assertRegex(finished.last_error_line, r"rank \d on pi-worker-\d failed first: exit code 9 ")


class TrainerTests(TrainerPods):
    def test_a_launcher_and_its_nodes(self):
        for launcher_as_node in (True, False):
            with self.subTest(launcher_as_node=launcher_as_node):
                self.run_job(launcher_as_node)
