"""MPI jobs in pods whose roles a controller gave: mpi-operator, Kubeflow Trainer, Volcano. Each pod is a host (network namespace) with the name,
the /etc/hosts, the mounts and the variables that the controller gives it (support/mpi_pods.py), and nothing else is said on the command line."""
import os
import re
import signal
import subprocess
import time
import unittest

import yaml

from harness import BINARY, ROOT, SUPPORT, MusterTest, wait_until
from mpi_pods import MPICH, NO_DEVICES, OMPI, PodTest
from mpi_role_cases import OperatorPods, TrainerPods

QUICK = ("--lease", "3s", "--replace-wait", "30s", "--scale-up-interval", "0s", "--scale-up-quiet", "0s",
         "--rdzv-conf", "join_timeout=40,last_call_timeout=2")


class MpiOperatorTest(OperatorPods):
    pods = ("pi-launcher", "pi-worker-0", "pi-worker-1", "pi-worker-2")

    def test_a_launcher_without_ranks_and_two_workers(self):
        self.write_hosts(2)
        launcher, *workers = self.expect_all(self.start_all(2, "--framework", "mpi", "--", self.ring), 0)
        self.assertIn("ring: 4 of 4 ranks", launcher.out)
        self.assertIn('placement="4 ranks on 2 nodes: pi-worker-0:2, pi-worker-1:2"', launcher.err)
        self.assertIn('round.running reason="round 1: 3 of 3 nodes with the launcher\'s', launcher.err)
        self.assertIn("secret=/root/.ssh/id_rsa", launcher.err)
        for worker in workers:
            self.assertRegex(worker.err, "rsh.start .*program=orted")

    def test_the_users_own_mpirun_is_all_there_is(self):
        self.write_hosts(2)
        launcher, *_ = self.expect_all(self.start_all(2, "--", "mpirun", "-n", 4, self.ring), 0)
        self.assertIn("ring: 4 of 4 ranks", launcher.out)
        self.assertRegex(launcher.out, "allreduce: 6 on pi-worker-0")

    def test_the_users_own_mpirun_with_the_operators_hostfile(self):
        self.write_hosts(2)
        launcher, *_ = self.expect_all(self.start_all(2, "--", "mpirun", "--hostfile", "/etc/mpi/hostfile", "-n", 4, self.ring), 0)
        self.assertIn("ring: 4 of 4 ranks", launcher.out)

    def test_a_launcher_that_is_a_worker(self):
        self.write_hosts(2, launcher=True)
        launcher, *_ = self.expect_all(self.start_all(2, "--framework", "mpi", "--", self.ring, has_ranks=True), 0)
        self.assertIn("ring: 6 of 6 ranks", launcher.out)
        self.assertIn('placement="6 ranks on 3 nodes: pi-launcher:2, pi-worker-0:2, pi-worker-1:2"', launcher.err)

    def test_a_launcher_that_is_the_only_worker(self):
        self.write_hosts(0, launcher=True)
        launcher, = self.expect_all(self.start_all(0, "--framework", "mpi", "--", self.ring, has_ranks=True), 0)
        self.assertIn("ring: 2 of 2 ranks", launcher.out)

    def test_mpich(self):
        self.write_hosts(2, hydra=True)
        script = self.sh('echo "$PMI_RANK $(hostname) ${NVIDIA_VISIBLE_DEVICES-unset} ${K_MPI_JOB_ROLE-unset}" >>"$OUT/ranks"')
        launcher, *_ = self.expect_all(self.start_all(2, "--framework", "mpi", "--", script, settings=MPICH), 0)
        self.assertEqual(sorted(self.read("ranks").splitlines()),
                         ["%d pi-worker-%d unset unset" % (rank, rank // 2) for rank in range(4)])
        self.assertIn("launcher=/usr/bin/mpiexec.mpich", launcher.err)

    def test_a_working_directory_that_the_workers_do_not_have(self):
        self.write_hosts(2, hydra=True)
        for agent in self.start_all(2, "--", "mpiexec.mpich", "-wdir", "/srv/elsewhere", "-n", 4, "true", settings=MPICH):
            finished = agent.finish()
            self.assertNotEqual(finished.code, 0)
            self.assertRegex(finished.last_error_line, r"unable to change wdir to /srv/elsewhere")

    def test_every_pod_ends_with_the_code_of_the_rank_that_failed(self):
        self.write_hosts(2)
        script = self.sh('[ "$OMPI_COMM_WORLD_RANK" != 3 ] || exit 42')
        for finished in self.expect_all(self.start_all(2, "--framework", "mpi", "--", script), 42):
            self.assertRegex(finished.last_error_line, "rank 3 on pi-worker-1 failed first: exit code 42")

    def test_the_workers_come_first_and_the_launchers_name_is_not_known_yet(self):
        """launcherCreationPolicy: WaitForWorkersReady."""
        self.write_hosts(2)
        workers = [self.start_worker(k, "--framework", "mpi", "--", self.ring) for k in range(2)]
        self.log_of(2, "discovery.waiting .*pi-launcher")
        self.expect_all([self.start_launcher("--framework", "mpi", "--", self.ring)] + workers, 0)

    def test_the_launcher_is_killed_and_started_again(self):
        self.write_hosts(2)
        agents = self.start_all(2, *QUICK, "--framework", "mpi", "--", self.ring, "600")
        agents[0].wait_for("ring: 4 of 4")
        agents[0].signal(signal.SIGKILL)
        wait_until(lambda: not self.ranks(), "no rank is left", 15)
        agents[0] = self.start_launcher(*QUICK, "--framework", "mpi", "--", self.ring, "1")
        launcher, *_ = self.expect_all(agents, 0)
        self.assertIn("ring: 4 of 4 ranks", launcher.out)
        self.assertIn('round.running reason="round 2: ', launcher.err)

    def test_the_launcher_of_one_worker_is_killed_and_started_again(self):
        """Its worker is half of the last round: only the launcher's name and address prove that the one before is gone."""
        self.write_hosts(1)
        agents = self.start_all(1, *QUICK, "--framework", "mpi", "--", self.ring, "600")
        agents[0].wait_for("ring: 2 of 2")
        agents[0].signal(signal.SIGKILL)
        wait_until(lambda: not self.ranks(), "no rank is left", 15)
        agents[0] = self.start_launcher(*QUICK, "--framework", "mpi", "--", self.ring, "1")
        launcher, *_ = self.expect_all(agents, 0)
        self.assertIn('round.running reason="round 2: ', launcher.err)

    def test_the_launcher_of_one_worker_is_replaced_by_a_pod_at_another_address(self):
        """The one before runs on where nobody reaches it; but without the worker it has no round."""
        self.write_hosts(1)
        words = (*QUICK, "--grace-period", "1s", "--framework", "mpi", "--", self.ring)
        former, worker = self.start_all(1, *words, "600")
        former.wait_for("ring: 2 of 2")
        self.move_pod("pi-launcher", 9)
        launcher = self.start_launcher(*words, "1")
        self.expect_all([launcher, worker], 0)
        self.assertIn('round.running reason="round 2: ', launcher.err.text())
        former.wait_for("round.broken .*pi-worker-0 silent for 3 s", "err")
        former.signal(signal.SIGTERM)
        self.expect_code(former.finish(), 143)

    def ranks(self):
        return [line for line in self.marked().values() if line.startswith(self.ring) or "orted" in line]

    def test_the_launcher_is_killed_and_never_comes_back(self):
        self.write_hosts(2)
        agents = self.start_all(2, "--lease", "3s", "--rdzv-conf", "join_timeout=6", "--framework", "mpi", "--", self.ring, "600")
        agents[0].wait_for("ring: 4 of 4")
        agents[0].signal(signal.SIGKILL)
        for worker in agents[1:]:
            self.assertRegex(self.expect_code(worker.finish(), 69).last_error_line, "no leader within .*pi-launcher")
        self.assertEqual(self.ranks(), [])

    def test_the_launchers_pod_is_told_to_go(self):
        self.write_hosts(2)
        agents = self.start_all(2, "--grace-period", "4", "--rdzv-conf", "join_timeout=6", "--framework", "mpi", "--", self.ring, "600")
        agents[0].wait_for("ring: 4 of 4")
        agents[0].signal(signal.SIGTERM)
        self.expect_code(agents[0].finish(), 143)
        wait_until(lambda: not self.ranks(), "no rank is left", 10)
        self.expect_all(agents[1:], 69)  # its successor did not come

    def test_a_worker_is_replaced_by_a_pod_with_its_name(self):
        self.write_hosts(2)
        agents = self.start_all(2, *QUICK, "--framework", "mpi", "--", self.ring, "4")
        agents[0].wait_for("ring: 4 of 4")
        agents[2].signal(signal.SIGKILL)
        self.log_of(1, "node.lost .*pi-worker-1")
        self.add_host(9, name="pi-worker-1")
        agents[2] = self.start_pod("pi-worker-1", {"K_MPI_JOB_ROLE": "worker"}, *QUICK, "--framework", "mpi", "--", self.ring, "4", number=9)
        launcher, *_ = self.expect_all(agents, 0)
        self.assertEqual(launcher.out.count("ring: 4 of 4 ranks"), 2)

    def test_the_job_follows_the_list_of_workers(self):
        self.write_hosts(1)
        script = self.sh('while [ ! -e "$OUT/end" ]; do sleep 0.1; done')
        words = (*QUICK, "--nnodes", "1:3", "--framework", "mpi", "--", script)
        agents = self.start_all(1, *words)
        agents[0].wait_for('placement="2 ranks on 1 node: pi-worker-0:2"', "err")
        agents += [self.start_worker(k, *words) for k in (1, 2)]
        self.log_of(1, "node.joined reason=pi-worker-2")
        time.sleep(3)
        self.assertNotIn("round 2", agents[0].err.text())  # they are more than what is wanted
        self.write_hosts(3)
        agents[0].wait_for("mpi.hosts file=/etc/mpi/hostfile hosts=3 before=1", "err")
        agents[0].wait_for('placement="6 ranks on 3 nodes: ', "err")
        self.assertEqual(self.hosts_in("pi-launcher"), "pi-worker-0:2\npi-worker-1:2\npi-worker-2:2\n")
        self.write_hosts(2)
        agents[0].wait_for('placement="4 ranks on 2 nodes: pi-worker-0:2, pi-worker-1:2"', "err")
        self.write("end", "")
        self.expect_all(agents, 0)

    def start_elastic(self, workers, slots=2):
        """A launcher that asks for hosts again and again, and pods that it may use from the beginning."""
        self.write_hosts(workers, slots)
        launcher = os.path.join(SUPPORT, "elastic_launcher.py")
        words = (*QUICK, "--nnodes", "1:3", "--framework", "mpi", "--mpi-launch", "elastic", "--", "/usr/bin/python3", launcher,
                 "--discovery", "/etc/mpi/discover_hosts.sh", "--", "sh", "-c", 'while [ ! -e "%s" ]; do sleep 0.1; done' % self.path("end"))
        return self.start_all(workers, *words), words

    def test_an_elastic_launcher_follows_the_slots_of_the_list(self):
        agents, words = self.start_elastic(1)
        agents[0].wait_for("hosts 1: pi-worker-0:2$")
        self.write_hosts(2)  # before its pod
        agents[0].wait_for("mpi.hosts file=/etc/mpi/hostfile hosts=2 before=1", "err")
        agents.append(self.start_worker(1, *words))
        agents[0].wait_for("hosts 2: pi-worker-0:2,pi-worker-1:2$")
        agents.append(self.start_worker(2, *words))  # before the list
        agents[0].wait_for("hosts 3: pi-worker-0:2,pi-worker-1:2,pi-worker-2:2$")
        self.write_hosts(3)
        agents[0].wait_for("mpi.hosts file=/etc/mpi/hostfile hosts=3 before=2", "err")
        self.write_hosts(3, slots=3)
        agents[0].wait_for("hosts 4: pi-worker-0:3,pi-worker-1:3,pi-worker-2:3$")
        self.write("end", "")
        self.expect_all(agents, 0)

    def test_hosts_without_slots_have_no_ranks(self):
        for settings, hydra in ((OMPI, False), (MPICH, True)):
            self.write_hosts(2, hydra=hydra)
            zero = ":0" if hydra else " slots=0"
            with open(self.path("config/hostfile")) as file:
                text = re.sub("(pi-worker-0[^ :\n]*).*", r"\1" + zero, file.read())
            self.write_config(hostfile=text)
            words = ("--framework", "mpi", "--mpi", "mpich" if hydra else "openmpi", "--", "sleep", "0.5")
            launcher, *_ = self.expect_all(self.start_all(2, *words, settings=settings), 0)
            self.assertIn('placement="2 ranks on 1 node: pi-worker-1:2"', launcher.err)

    def test_a_list_without_any_slot(self):
        self.write_hosts(1, slots=0)
        launcher, _ = self.expect_all(self.start_all(1, "--framework", "mpi", "--", self.ring), 78)
        self.assertRegex(launcher.last_error_line, "no host of this job has a slot")

    def hosts_in(self, name):
        """What `muster status --hosts` prints in a pod, where nothing but the controller's variables say what the job is."""
        number = self.pods.index(name) + 1
        env = {"K_MPI_JOB_ROLE": "launcher", **OMPI}
        words = ["nsenter", "-t", str(self.holders[number]), "-n", "-u", "-m", "--"] + self.command(("status", "--hosts"))
        return self.expect_code(self.start_command(words, env=env).finish(), 0).out

    def test_no_mpirun_at_all(self):
        self.write_hosts(2)
        agents = self.start_all(2, "--framework", "mpi", "--mpi-launch", "pmix", "--nproc-per-node", 2, "--", self.ring)
        launcher, *workers = self.expect_all(agents, 0)
        self.assertIn("job.end result=succeeded reason=\"all 3 nodes succeeded", launcher.err)
        self.assertIn("ring: 4 of 4 ranks", workers[0].out)
        self.assertNotIn("pmix.unused", workers[0].err + workers[1].err)

    def test_without_mpirun_the_workers_must_be_told_how_many_ranks_they_have(self):
        self.write_hosts(2)
        for agent in self.expect_all(self.start_all(2, "--framework", "mpi", "--mpi-launch", "pmix", "--", self.ring), 78):
            self.assertRegex(agent.last_error_line, "pi-worker-0 starts 1 rank, the controller's list has 2 slots for it.*"
                             "say --nproc-per-node 2 on every node")

    def test_a_second_launcher_is_refused(self):
        self.write_hosts(2)
        script = self.sh('while [ ! -e "$OUT/end" ]; do sleep 0.1; done')
        agents = self.start_all(2, "--framework", "mpi", "--", script)
        agents[0].wait_for("mpi.ranks", "err")
        second = self.start_pod("pi-worker-2", {"K_MPI_JOB_ROLE": "worker"}, "--mpi-role", "launcher", "--nnodes", 2, "--framework", "mpi",
                                "--", script)
        self.assertRegex(self.expect_code(second.finish(), 78).last_error_line,
                         "pi-worker-2 starts the ranks as well as pi-launcher: a job has one launcher")
        self.write("end", "")
        self.expect_all(agents, 0)

    def test_fewer_workers_than_the_hostfile_lists(self):
        self.write_hosts(3)
        agents = self.start_all(2, "--rdzv-conf", "join_timeout=5", "--framework", "mpi", "--", self.ring)
        for finished in self.expect_all(agents, 69):
            self.assertRegex(finished.last_error_line, "no round within 5 s: 3 of 4 nodes with the launcher's; "
                             r"here: .*; waiting for 1 of 3: pi-worker-2\.pi\.default\.svc \(.*need --mpi-transport sshd here")


class HostNetworkTest(OperatorPods):
    """hostNetwork: true. Pods have the names of their machines, and the operator's list has none of them."""
    first_mounts = "mount -t tmpfs tmpfs /opt; mkdir /opt/app"

    def start_in(self, name, machine, env, words):
        number = self.addresses[name]
        self.add_host(number, name=name)
        inside = ["nsenter", "-t", str(self.holders[number]), "-n", "-u", "-m", "--"]
        files = 'hostname %s; cp "%s"/app.* /opt/app; for file in /opt/app/app.*; do mv "$file" "/opt/app/${file##*/app.}"; done' % (machine, self.dir)
        subprocess.run(inside + ["sh", "-ec", files], check=True)
        return self.start_command(inside + words, env={**env, "PATH": os.path.dirname(os.path.abspath(BINARY)) + ":/usr/bin:/bin:/usr/sbin:/sbin"})

    def start_job(self, launcher, worker):
        """These words in the pods of two workers and a launcher."""
        agents = [self.start_in("pi-worker-%d" % k, "gpu-%d" % k, {"K_MPI_JOB_ROLE": "worker"}, worker) for k in range(2)]
        return [self.start_in("pi-launcher", "gpu-9", {"K_MPI_JOB_ROLE": "launcher", **OMPI, **NO_DEVICES}, launcher)] + agents

    def start_ring(self):
        self.write("app.none", "")
        words = ("--framework", "mpi", "--rdzv-conf", "join_timeout=30")
        return self.start_job(self.command(("run",) + words + ("--", self.ring)),
                              self.command(("run",) + words + ("--rdzv-endpoint", "pi-launcher.pi.default.svc", "--", self.ring)))

    def test_each_node_has_the_slots_that_all_listed_hosts_have(self):
        self.write_hosts(2)
        launcher, *_ = self.expect_all(self.start_ring(), 0)
        self.assertIn("ring: 4 of 4 ranks", launcher.out)
        self.assertRegex(launcher.err, 'W mpi.hosts_unlisted nodes="?gpu-0,gpu-1"? listed="?pi-worker-0.*slots=2 ')

    def test_slots_that_differ_are_nobodys(self):
        self.write_config(hostfile="pi-worker-0.pi.default.svc slots=2\npi-worker-1.pi.default.svc slots=1\n")
        for agent in self.expect_all(self.start_ring(), 78):
            self.assertRegex(agent.last_error_line, "how many ranks gpu-0, gpu-1 may have is not known: the controller's list has "
                             "pi-worker-0.pi.default.svc, pi-worker-1.pi.default.svc")

    def documented(self, name):
        """The command of that replica, as docs/mpi.md has it."""
        with open(os.path.join(ROOT, "docs", "mpi.md")) as page:
            job, = [yaml.safe_load(block) for block in re.findall(r"(?s)```yaml\n(.*?)```", page.read()) if "kind: MPIJob" in block]
        self.assertEqual(job["spec"]["slotsPerWorker"], 2)
        replica = job["spec"]["mpiReplicaSpecs"][name]
        self.assertEqual(replica["replicas"], {"Launcher": 1, "Worker": 2}[name])
        container, = replica["template"]["spec"]["containers"]
        return [word.replace("ring", "pi") for word in container["command"]]

    def start_documented(self, more=""):
        """`more` ends the program."""
        self.write_hosts(2)
        self.sh('export SEEN_BY=entrypoint\nexec "$@"', name="app.entrypoint.sh")
        self.write("app.train.py", "import os, signal, sys, time\n"
                   "names = ('RANK', 'WORLD_SIZE', 'LOCAL_RANK', 'MASTER_ADDR', 'SEEN_BY')\n"
                   "def tell(what, text):\n"
                   "    with open(os.environ['OUT'] + '/' + what, 'a') as file:\n"
                   "        file.write(text + '\\n')\n" + more +
                   "tell('ranks', ' '.join(os.environ.get(name, '-') for name in names))\n")
        return self.start_job(self.documented("Launcher"), self.documented("Worker"))

    def test_the_documented_manifest(self):
        self.expect_all(self.start_documented(), 0)
        self.assertEqual(sorted(self.read("ranks").splitlines()),
                         ["%d 4 %d 10.77.0.2 entrypoint" % (rank, rank % 2) for rank in range(4)])

    def test_the_documented_manifest_saves_when_its_pods_are_told_to_go(self):
        """Each saves until all have been told: none of them is killed meanwhile."""
        os.mkfifo(self.path("all-told"))
        saves = ("def save(signum, frame):\n    tell('told', '')\n    os.read(os.open(os.environ['OUT'] + '/all-told', os.O_RDONLY), 1)\n"
                 "    tell('saved', os.environ['RANK'])\n    sys.exit(0)\n"
                 "signal.signal(signal.SIGTERM, save)\n"
                 "tell('ready', '')\nsignal.pause()\n")
        agents = self.start_documented(saves)
        wait_until(lambda: self.exists("ready") and len(self.read("ready").splitlines()) == 4, "four ranks run", 60)
        for agent in agents:
            agent.popen.send_signal(signal.SIGTERM)
        wait_until(lambda: self.exists("told") and len(self.read("told").splitlines()) == 4, "four ranks were told", 20)
        # Open for reading, too: whoever comes late finds its byte.
        with open(self.path("all-told"), "r+b", buffering=0) as told:
            told.write(b"....")
            for agent in agents:
                agent.finish()
        self.assertEqual(sorted(self.read("saved").split()), ["0", "1", "2", "3"])


class TrainerTest(TrainerPods):
    prefix = []

    def command(self, arguments, **how):
        return self.prefix + super().command(arguments, **how)

    def test_as_a_uid_that_has_no_name(self):
        os.chmod(self.dir, 0o755)
        os.chmod(self.temp, 0o777)
        os.chmod(os.path.dirname(self.ring), 0o755)
        self.prefix = ["setpriv", "--reuid", "77777", "--regid", "77777", "--clear-groups", "--no-new-privs", "--bounding-set=-all", "--"]
        self.run_job(launcher_as_node=True)

    def test_a_launcher_and_its_nodes(self):
        for launcher_as_node in (True, False):
            with self.subTest(launcher_as_node=launcher_as_node):
                self.run_job(launcher_as_node)

    def test_no_mpirun_at_all(self):
        self.run_job(launcher_as_node=False, words=("--mpi-launch", "pmix", "--nproc-per-node", 2))


class VolcanoTest(PodTest):
    """As Volcano makes them of its example of integrations/mpi."""
    job = "lm-mpi-job"
    pods = ("lm-mpi-job-mpimaster-0", "lm-mpi-job-mpiworker-0", "lm-mpi-job-mpiworker-1")
    LISTS = {"mpimaster": pods[:1], "mpiworker": pods[1:]}

    def setUp(self):
        super().setUp()
        self.mounts = {name: self.mount_key() + "; cd /; " + self.mount_config("/etc/volcano") for name in self.pods}
        lists = {task: [name + "." + self.job for name in names] for task, names in self.LISTS.items()}
        self.env = {"VC_%s_HOSTS" % task.upper(): ",".join(hosts) for task, hosts in lists.items()}
        self.env.update({"VC_%s_NUM" % task.upper(): str(len(hosts)) for task, hosts in lists.items()})
        self.write_config(**{task + ".host": "\n".join(hosts) for task, hosts in lists.items()}, **self.env)

    def run_job(self, master, env):
        agents = []
        for name in self.pods:
            own = {"VC_TASK_INDEX": name[-1], "VK_TASK_INDEX": name[-1], **env, **(master if name == self.pods[0] else {})}
            agents.append(self.start_pod(name, own, "--nproc-per-node", 2, "--framework", "mpi", "--", self.ring))
        launcher, *_ = [self.expect_code(agent.finish(), 0) for agent in agents]
        self.assertIn('placement="4 ranks on 2 nodes: lm-mpi-job-mpiworker-0:2, lm-mpi-job-mpiworker-1:2"', launcher.err)

    def test_the_plugins_svc_and_ssh(self):
        self.run_job({}, self.env)

    def test_the_plugin_mpi(self):
        self.run_job({"MPI_HOST": self.env["VC_MPIWORKER_HOSTS"]}, self.env)

    def test_files_alone(self):
        """svc --inject-hosts-env=false."""
        self.run_job({}, {})

    def test_the_plugin_svc_alone_mounts_no_secret(self):
        self.mounts = {name: "cd /; " + self.mount_config("/etc/volcano") for name in self.pods}
        for agent in [self.start_pod(name, self.env, "--framework", "mpi", "--", self.ring) for name in self.pods]:
            self.assertRegex(self.expect_code(agent.finish(), 78).last_error_line, "needs a job secret.*set MUSTER_JOB_SECRET_FILE")


class BadContractTest(MusterTest):
    """What the controller says is wrong, or somebody said otherwise: one line and a code, before anything starts."""

    def refused(self, env, *arguments, hosts=None, code=78):
        if hosts is not None:
            env = {**env, "OMPI_MCA_orte_default_hostfile": self.write("hostfile", hosts)}
        finished = self.run_muster("run", "--framework", "mpi", *arguments, "--", "true", env=env)
        return self.expect_code(finished, code).last_error_line

    LAUNCHER = {"K_MPI_JOB_ROLE": "launcher"}

    def test_the_hostfile_is_not_there(self):
        line = self.refused({**self.LAUNCHER, "OMPI_MCA_orte_default_hostfile": "/nowhere/hostfile"})
        self.assertRegex(line, "mpi-operator: open '/nowhere/hostfile': No such file or directory; give --nnodes")

    def test_the_hostfile_is_empty(self):
        self.assertRegex(self.refused(self.LAUNCHER, hosts="# none yet\n"), "hostfile: line .*: no host in the whole file; give --nnodes")

    def test_two_names_that_mpi_takes_for_one(self):
        self.assertRegex(self.refused(self.LAUNCHER, hosts="w-0.a slots=1\nw-0.b slots=1\n"), "same first label 'w-0'")

    def test_an_unknown_role(self):
        self.assertRegex(self.refused({"K_MPI_JOB_ROLE": "master"}), "K_MPI_JOB_ROLE 'master' is neither launcher nor worker")

    def test_a_worker_with_the_name_of_its_machine(self):
        """hostNetwork: true."""
        self.assertRegex(self.refused({"K_MPI_JOB_ROLE": "worker"}), "host name '.*' is not JOB-worker-N.*; give --rdzv-endpoint")

    def test_a_role_that_cannot_be(self):
        self.assertRegex(self.refused({}, "--mpi-role", "worker", code=64), "--mpi-role 'worker': where the launcher is is not known")
        self.assertRegex(self.refused({}, "--mpi-role", "launcher", "--standalone", code=64), "no other node with --standalone")
        self.assertRegex(self.refused({}, "--mpi-role", "both", code=64), "--mpi-role 'both'")
        self.assertRegex(self.refused({}, "--contract", "some", code=64), "--contract 'some'")

    def test_workers_without_a_launcher(self):
        line = self.refused({}, "--mpi-role", "worker", "--rdzv-endpoint", "127.0.0.1:9", "--rdzv-conf", "join_timeout=2", code=69)
        self.assertRegex(line, "no leader within 2 s: 127.0.0.1:9")

    def test_flags_beat_the_contract_and_explain_tells(self):
        env = {**self.LAUNCHER, "OMPI_MCA_orte_default_hostfile": self.write("hostfile", "pi-worker-0 slots=4\npi-worker-1 slots=4\n")}
        text = self.run_muster("run", "--explain", "--framework", "mpi", "--nnodes", "1:2", "true", env=env).out
        self.assertRegex(text, "(?m)^--nnodes +1:2 +command line$")
        self.assertRegex(text, "(?m)^--mpi-role +launcher +mpi-operator: .*hostfile$")
        self.assertRegex(text, "(?m)^--mpi +openmpi +mpi-operator: OMPI_MCA_orte_default_hostfile$")
        none = self.run_muster("run", "--explain", "--contract", "none", "--framework", "mpi", "true", env=env).out
        self.assertNotIn("mpi-operator", none)
        plain = self.run_muster("run", "--explain", "true", env=env).out
        self.assertRegex(plain, "(?m)^--framework +mpi +mpi-operator: K_MPI_JOB_ROLE$")
        self.assertRegex(plain, "(?m)^--contract +mpi-operator +mpi-operator: by K_MPI_JOB_ROLE$")

    def test_a_pod_of_an_mpi_job_that_is_to_run_alone(self):
        asked = self.expect_code(self.run_muster("run", "--framework", "pytorch", "true", env=self.LAUNCHER), 0)
        self.assertRegex(asked.err, "this pod is one of an MPI job .mpi-operator: K_MPI_JOB_ROLE.*--framework pytorch")


if __name__ == "__main__":
    unittest.main()
