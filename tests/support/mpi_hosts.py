"""MPI jobs on hosts of their own (network namespaces of namespace_hosts.py), whose names nobody can resolve and which share a job secret:
the same for every MPI. Mixins for a NamespaceTest, with what mpi_cases.MpiTest asks for."""
import contextlib
import json
import os
import re
import signal
import subprocess
import time

from harness import grid, wait_until
from mpi_cases import SHORT, MpiTest, processes_of
from namespace_hosts import DNS, ELASTIC, NET

NET6 = "fd00:77::"


class Hosts(MpiTest):
    speaks_ipv6 = True
    without_ipv6 = (78, "muster: MPI on host-1 failed first: could not be started: .* does not speak IPv6")
    finalizes = True  # MPI_Finalize of programs on several hosts comes to its end

    def setUp(self):
        super().setUp()
        self.secret = self.write("secret", "correct horse battery staple")

    def hold(self, name, commands):
        """Pods have a /dev/shm of their own, and what killed ranks leave there is gone with it."""
        return super().hold(name, "mount -t tmpfs tmpfs /dev/shm; " + commands)

    def name_host(self, name, address):
        """Nobody's name is known, not even the own."""

    def inside(self, number, commands):
        """Shell commands in the network and the mounts of a host."""
        subprocess.run(["nsenter", "-t", str(self.holders[number]), "-n", "-m", "sh", "-ec", commands], check=True, capture_output=True)

    def add_docker(self, number):
        """A second interface that has the same address on every host."""
        self.inside(number, "ip link add docker0 type veth peer name container0; ip addr add 172.17.0.1/16 dev docker0; "
                            "ip link set docker0 up; ip link set container0 up")

    def start_mpi(self, numbers, *words, nodes=None, endpoints=None, env=None, **how):
        """An agent on each of these hosts. `nodes`: of the job, where it has more."""
        endpoints = endpoints or ",".join(NET + str(host) for host in numbers[:3])
        for number in numbers:
            self.start_agent(number, "--nnodes", nodes or len(numbers), *self.flags(), "--rdzv-endpoint", endpoints, *words,
                             env={"MUSTER_JOB_SECRET_FILE": self.secret, **(env or {})}, **how)

    def add_hosts(self, numbers):
        for number in numbers:
            self.add_host(number)

    def add_hosts6(self, numbers):
        """Hosts with IPv6 addresses only. The kernel does not ask whether another one has the interface's own (link-local) address: for some 2 s
        that could not be used, and Intel MPI aborts where it cannot."""
        for number in numbers:
            pid = self.hold("host-%d" % number, "true")
            self.in_hub("ip", "link", "add", "v%d" % number, "type", "veth", "peer", "name", "eth0", "netns", str(pid))
            self.in_hub("ip", "link", "set", "v%d" % number, "master", "b0", "up")
            subprocess.run(["nsenter", "-t", str(pid), "-n", "sh", "-ec", "echo 0 >/proc/sys/net/ipv6/conf/eth0/accept_dad; "
                            "ip link set eth0 up; ip -6 addr add %s%d/64 dev eth0 nodad" % (NET6, number)], check=True)
            self.holders[number] = pid

    def expect_ring(self, numbers, per_host=1):
        """The ring closed over all hosts, and the job ends with 0, or as far as this MPI comes."""
        world = len(numbers) * per_host
        first = self.agents[numbers[0]]
        first.wait_for("ring: %d of %d ranks" % (world, world))
        self.expect_placement(first, world, len(numbers))
        if not self.finalizes:
            self.give_up(numbers)
        for number in numbers:
            finished = self.agents[number].finish()
            self.assertIn(finished.code, (0,) if self.finalizes else (0, 143), finished)
        self.expect_nothing_left_on_hosts()

    def expect_placement(self, agent, ranks, nodes):
        agent.wait_for('placement="%d ranks on %d nodes: ' % (ranks, nodes), "err")

    def give_up(self, numbers):
        """Its programs seldom come out of MPI_Finalize."""
        for number in numbers:
            with contextlib.suppress(ProcessLookupError):
                self.agents[number].signal(signal.SIGTERM)

    def expect_nothing_left_on_hosts(self, but=()):
        """But what holds the hosts themselves. `but`: hosts whose /dev/shm goes with them, as that of a pod that was killed."""
        ours = ("muster run", "muster-pmix", "muster-rsh", *processes_of(self), self.program("ring")[-1], self.program("mpi_faults")[-1])
        wait_until(lambda: not [line for line in self.marked().values() if any(word in line for word in ours)],
                   "no agent, daemon or rank is left", 10)
        shared = {number: "/proc/%d/root/dev/shm" % holder for number, holder in self.holders.items() if number not in but}
        wait_until(lambda: not self.files_in(shared), lambda: "nothing is left in /dev/shm of any host: %s" % self.files_in(shared), 10)

    def files_in(self, folders):
        return ["%s: %s" % (host, name) for host, folder in folders.items() for name in os.listdir(folder)]

    def expect_failure(self, numbers, code, pattern, gone=True):
        """Of the first host's agent; none of the others says 0, and with `gone` nothing is left on any host."""
        finished = self.agents[numbers[0]].finish()
        self.expect_code(finished, code)
        self.assertRegex(finished.err, pattern)
        for number in numbers[1:]:
            self.assertNotEqual(self.agents[number].finish().code, 0)
        if gone:
            self.expect_nothing_left_on_hosts()


class HostTests(Hosts):
    def test_four_hosts_with_two_ranks_each_and_a_second_interface_with_one_address_everywhere(self):
        numbers = [1, 2, 3, 4]
        self.add_hosts(numbers)
        for number in numbers:
            self.add_docker(number)
        self.start_mpi(numbers, "--nproc-per-node", 2, "--", *self.program("ring"))
        self.expect_ring(numbers, 2)

    def test_ipv6_alone(self):
        self.add_hosts6([1, 2, 3])
        self.start_mpi([1, 2, 3], *SHORT, "--", *self.program("ring"), endpoints="[%s1]" % NET6)
        if self.speaks_ipv6:
            self.expect_ring([1, 2, 3])
        else:
            self.expect_failure([1, 2, 3], *self.without_ipv6)

    def test_names_with_dots(self):
        """Nobody cuts them on the way to the daemons. The hosts call themselves so, too."""
        numbers, names = [1, 2, 3], {number: "worker-%d.job.ns.svc" % number for number in (1, 2, 3)}
        for number in numbers:
            self.add_host(number, name=names[number])
            self.start_mpi([number], "--node-name", names[number], "--", *self.program("ring"), nodes=3, endpoints=NET + "1")
        self.expect_names_with_dots(numbers, names)

    def test_hosts_with_a_domain_whose_nodes_are_named_without(self):
        """As pods with setHostnameAsFQDN are: a node is called by what is in front of the first dot."""
        numbers = [1, 2, 3]
        for number in numbers:
            self.add_host(number, name="worker-%d.job.ns.svc" % number)
        self.start_mpi(numbers, "--", *self.program("ring"), endpoints=NET + "1")
        self.expect_ring(numbers)

    def expect_names_with_dots(self, numbers, names):
        self.expect_ring(numbers)
        for number in (2, 3):
            self.assertIn(" rsh.start caller=%s " % names[self.caller_of(number)], self.agents[number].err.text())
        self.assertIn("placement=\"3 ranks on 3 nodes: %s\"" % ", ".join(name + ":1" for name in names.values()), self.agents[1].err.text())

    def caller_of(self, number):
        """The host whose agent a daemon's agent was called by."""
        return 1

    def test_names_with_the_same_first_label(self):
        self.add_hosts([1, 2])
        for number in (1, 2):
            self.start_mpi([number], "--node-name", "worker.zone-%d" % number, *SHORT, "--", *self.program("ring"), nodes=2, endpoints=NET + "1")
        self.expect_same_label([1, 2])

    def expect_same_label(self, numbers):
        self.expect_failure(numbers, 78, "host 'worker.zone-2': another host has the same first label 'worker'.*--node-name")


class SilentDnsTests(Hosts):
    """A name server that never answers: whoever asks it waits, by default 10 s for each name (resolv.conf(5)). /etc/hosts of a host has its
    own name, as that of a pod."""
    DNS_ARGUMENTS = ("never",)
    asks_for = ()  # "NAME for ADDRESS": what this MPI asks for all the same

    def hold(self, name, commands):
        if name != "hub":
            self.hosts = self.write("hosts." + name, "127.0.0.1 localhost\n%s%s %s\n" % (NET, name.split("-")[-1], name))
        return super().hold(name, commands)

    def test_a_ring(self):
        with open(self.resolv, "w") as file:
            file.write("nameserver %s\n" % DNS + ("options timeout:1 attempts:1\n" if self.asks_for else ""))
        numbers = [1, 2, 3]
        self.add_hosts(numbers)
        self.start_mpi(numbers, "--nproc-per-node", 2, "--", *self.program("ring"))
        self.expect_ring(numbers, 2)
        self.assertEqual(set(re.findall("^ignored (.*)$", self.dns.out.text(), re.MULTILINE)), set(self.asks_for))


class TreeTests(Hosts):
    """For launchers whose daemons start further ones."""
    two_each = {}  # variables that let each start no more than two

    def test_daemons_start_daemons(self):
        """As in jobs of more than 64 hosts, of Intel MPI more than 16: `muster rsh` is called from workers' pods."""
        numbers = [1, 2, 3, 4, 5, 6]
        self.add_hosts(numbers)
        self.start_mpi(numbers, "--", *self.program("ring"), env=self.two_each)
        self.expect_ring(numbers)
        calls = [caller for number in numbers for caller in re.findall(
            r"rsh\.start caller=(host-\d) .*program=%s " % self.daemon, self.agents[number].err.text())]
        self.assertEqual(len(calls), 5, calls)
        self.assertTrue(set(calls) - {"host-1"}, "all of them were started by the launcher")

    def test_a_daemon_that_another_one_started_is_killed(self):
        """The job ends with it, as with one that the launcher started."""
        numbers = [1, 2, 3, 4, 5]
        self.add_hosts(numbers)
        self.start_mpi(numbers, *SHORT, "--", *self.program("mpi_faults"), "wait", env=self.two_each)
        wait_until(lambda: all(any("rank=%d waits" % rank in self.agents[number].out.text() for number in numbers) for rank in range(5)), "all ranks wait")
        starts = {number: re.search(r"rsh\.start caller=(host-\d) .*program=%s pid=(\d+)" % self.daemon, self.agents[number].err.text())
                  for number in numbers[1:]}
        number, pid = next((number, int(found.group(2))) for number, found in starts.items() if found.group(1) != "host-1")
        os.kill(pid, signal.SIGKILL)
        self.expect_failure(numbers, 137, "MPI on host-%d failed first: .*SIGKILL" % number)


class LauncherHostTests(HostTests):
    def test_eight_hosts(self):
        numbers = list(range(1, 9))
        self.add_hosts(numbers)
        self.start_mpi(numbers, "--", *self.program("ring"))
        self.expect_ring(numbers)

    def test_mpirun_in_a_workers_own_script(self):
        """With --rsh alone: neither --framework mpi nor a variable of the user's."""
        numbers = [1, 2, 3]
        self.add_hosts(numbers)
        call = "%s --host %s" if self.mpi == "openmpi" else "%s -hosts %s -ppn 1 -n 3"
        call %= (self.launcher, ",".join("host-%d" % number for number in numbers))
        worker = self.sh('[ "$RANK" = 0 ] || { while [ ! -e "$OUT/over" ]; do sleep 0.1; done; exit 0; }\n'
                         '%s %s; code=$?; touch "$OUT/over"; exit $code' % (call, " ".join(self.program("ring"))))
        for number in numbers:
            self.start_agent(number, "--nnodes", 3, "--rsh", "--no-python", "--rdzv-endpoint", NET + "1", worker,
                             env={"MUSTER_JOB_SECRET_FILE": self.secret})
        self.agents[1].wait_for("ring: 3 of 3 ranks")
        self.agents[2].wait_for("rsh.start caller=host-1 .*program=" + self.daemon, "err")
        if not self.finalizes:
            self.give_up(numbers)
        for number in numbers:
            self.assertIn(self.agents[number].finish().code, (0,) if self.finalizes else (0, 143))
        self.expect_nothing_left_on_hosts()


class NetworkTests(Hosts):
    """What ranks below an mpirun find of the plan of their own node. The interfaces of the hosts have different names."""
    NAMES = ("GLOO_SOCKET_IFNAME", "FI_TCP_IFACE", "NCCL_IB_TC", "UCX_TLS")

    def setUp(self):
        super().setUp()
        self.add_hosts([1, 2])
        self.inside(2, "ip link set eth0 down; ip link set eth0 name net2; ip link set net2 up")
        for number in (1, 2):
            self.inside(number, "mount -t sysfs sysfs /sys")  # it shows the interfaces of whoever mounts it
        self.profile = self.write("profile", "NCCL_IB_TC=160\nOMPI_MCA_mpi_yield_when_idle=1\n")
        self.show = ["sh", "-c", 'env -0 >"$OUT/env.$RANK"']

    def start(self, *words, users=()):
        """`users`: what is set on the second host."""
        for number, env in ((1, {}), (2, dict(users))):
            self.start_mpi([number], "--fabric-profile", self.profile, *words, nodes=2, endpoints=NET + "1", env=env)

    def ranks(self):
        for number in (1, 2):
            self.expect_code(self.agents[number].finish(), 0)
        ranks = [dict(item.split("=", 1) for item in self.read("env.%d" % rank).split("\0") if item) for rank in (0, 1)]
        return ranks, [[rank.get(name) for name in self.NAMES] for rank in ranks]

    def test_each_rank_has_the_plan_of_its_own_node(self):
        self.start("--", *self.show)
        ranks, found = self.ranks()
        self.assertEqual(found, [["eth0", "eth0", "160", None], ["net2", "net2", "160", None]])
        if self.mpi == "openmpi":
            # Their names differ, so Open MPI is told the network, by its launcher.
            self.assertEqual([rank["OMPI_MCA_btl_tcp_if_include"] for rank in ranks], [NET + "0/24"] * 2)
            self.assertEqual([rank["OMPI_MCA_mpi_yield_when_idle"] for rank in ranks], ["1", "1"])
        for number, rank in ((1, ranks[0]), (2, ranks[1])):
            told = subprocess.run(["nsenter", "-t", str(self.holders[number]), "-n", "-u", "-m", "--"] + self.command(
                ("env", "--json", "--all", "--nnodes", "2", *self.flags(), "--fabric-profile", self.profile, "--", *self.show)),
                check=True, capture_output=True, env=self.environment())
            process = json.loads(told.stdout)["processes"][-1]
            self.assertEqual(process["process"], "rank")
            self.assertIn("GLOO_SOCKET_IFNAME", [variable["name"] for variable in process["variables"]])
            for variable in process["variables"]:
                self.assertEqual(rank.get(variable["name"]), variable["value"], variable)

    def test_also_below_the_users_own_launcher_and_what_the_user_has_set_stays(self):
        self.start("--", self.launcher, "-n", "2", *self.show, users={"GLOO_SOCKET_IFNAME": "mine", "UCX_TLS": "tcp"})
        self.assertEqual(self.ranks()[1], [["eth0", "eth0", "160", None], ["mine", "net2", "160", "tcp"]])

    def test_without_the_plan(self):
        self.start("--no-fabric-env", "--", *self.show)
        self.assertEqual([rank[0] for rank in self.ranks()[1]], [None, None])


class HostFaultTests(Hosts):
    """Those that are mostly waited for go side by side."""

    def start_waiting(self, numbers, held=False):
        """A job of three hosts; with `held`, its last daemon only begins to start."""
        self.add_hosts(numbers)
        words, env = ("--", *self.program("mpi_faults"), "wait"), None
        if held:
            words, env = self.held_words(numbers[-1], words)
        self.start_mpi(numbers, *SHORT, *words, env=env)

    def wait_for_rank(self, numbers, rank):
        """It is said where its output goes: by its own agent, or by the launcher's."""
        wait_until(lambda: any("rank=%d waits" % rank in self.agents[number].out.text() for number in numbers), "rank %d waits" % rank)

    def test_a_host_is_cut_off_during_the_run_and_during_launch(self):
        runs, begins = [1, 2, 3], [4, 5, 6]
        self.start_waiting(runs)
        self.start_waiting(begins, held=True)
        self.wait_for_rank(runs, 2)
        self.wait_until_held()
        began = time.monotonic()
        for numbers in (runs, begins):
            self.cut(numbers[-1])
        for numbers in (runs, begins):
            self.expect_failure(numbers, 69, 'node.lost reason="host-%d ' % numbers[-1], gone=False)
        self.assertLess(time.monotonic() - began, 30)
        self.expect_nothing_left_on_hosts()

    def test_a_worker_that_never_appears_and_one_with_another_secret(self):
        self.add_hosts([1, 2, 3])
        words = (*SHORT, "--", *self.program("ring"))
        self.start_mpi([1], *words, nodes=2)
        self.start_mpi([2], *words, nodes=2)
        self.start_mpi([3], *words, nodes=2, endpoints=NET + "2",
                       env={"MUSTER_JOB_SECRET_FILE": self.write("wrong", "a wrong secret, of sufficient length")})
        self.expect_failure([1], 69, "muster: no round within 3 s: 1 of 2 nodes", gone=False)
        self.assertRegex(self.agents[3].finish().last_error_line, "secret")
        self.expect_failure([2, 3], 78, "muster: no round within 3 s: 1 of 2 nodes; .*job secret differs")


class CutTests(Hosts):
    """Cuts that end."""

    def talk(self, numbers, *words):
        """A job whose ranks talk with each other all the time, until go() is called."""
        self.add_hosts(numbers)
        self.start_mpi(numbers, *words, "--", *self.program("mpi_faults"), "talk")
        self.wait_for_ranks(numbers, "waits")

    def wait_for_ranks(self, numbers, what):
        wait_until(lambda: all(any("rank=%d %s" % (rank, what) in self.agents[number].out.text() for number in numbers)
                               for rank in range(len(numbers))), "all ranks: " + what)

    @grid
    def test_a_cut_of_20_s_is_sat_out(self):
        """The lease is 30 s. What ranks sent meanwhile is sent again by TCP."""
        numbers = [1, 2, 3]
        self.talk(numbers)
        self.cut(3)
        self.log_of(1, "node.suspect .*host-3")
        time.sleep(17)  # the rest of the 20 s
        self.join(3)
        self.log_of(1, "node.back .*host-3")
        self.write("go", "")
        self.expect_to_go_on(numbers)

    def expect_to_go_on(self, numbers):
        self.wait_for_ranks(numbers, "went on")
        if not self.finalizes:
            self.give_up(numbers)
        for number in numbers:
            finished = self.agents[number].finish()
            self.assertIn(finished.code, (0,) if self.finalizes else (0, 143), finished)
            self.assertNotIn("round 2", finished.err)
        self.expect_nothing_left_on_hosts()

    def test_a_host_that_comes_back_after_its_expulsion(self):
        """The job has ended without it; it learns so, and nothing of the job lives on there."""
        numbers = [1, 2, 3]
        self.talk(numbers, *SHORT)
        self.cut(3)
        self.log_of(1, "node.lost .*host-3")
        self.join(3)
        self.expect_failure(numbers, 69, 'node.lost reason="host-3 ')

    def test_a_host_that_comes_back_is_taken_into_the_job_again(self):
        numbers = [1, 2, 3]
        self.talk(numbers, "--lease", "3s", *ELASTIC, "--nnodes", "2:3")
        self.cut(3)
        self.log_of(1, 'round.running reason="round 2: 2 of 2..3 nodes')
        self.join(3)
        self.log_of(1, 'round.running reason="round 3: 3 of 2..3 nodes')
        self.write("go", "")
        wait_until(lambda: sum(self.agents[number].out.text().count("rank=2 waits") for number in numbers) == 2, "all ranks run again")
        if not self.finalizes:
            wait_until(lambda: any("went on" in self.agents[number].out.text() for number in numbers), "they went on")
            self.give_up(numbers)
        for number in numbers:
            finished = self.agents[number].finish()
            self.assertIn(finished.code, (0,) if self.finalizes else (0, 143), finished)
        self.expect_nothing_left_on_hosts()


class PodKilledTests(HostFaultTests):
    def test_a_pod_is_killed(self):
        self.start_waiting([1, 2, 3])
        self.wait_for_rank([1, 2, 3], 2)
        os.kill(self.agents[3].agent_pid(), signal.SIGKILL)
        began = time.monotonic()
        self.expect_failure([1, 2, 3], 69, 'node.lost reason="host-3 ', gone=False)
        self.assertLess(time.monotonic() - began, 20)
        self.expect_nothing_left_on_hosts(but=(3,))


class PodTests(Hosts):
    """Everything that a cluster may take from a pod: root, capabilities, an entry in /etc/passwd, a writable root."""
    UID = "77777"

    def setUp(self):
        super().setUp()
        os.chmod(self.dir, 0o755)
        os.chmod(self.secret, 0o644)
        os.mkdir(self.path("volume"))

    def as_user(self):
        return ["setpriv", "--reuid", self.UID, "--regid", self.UID, "--clear-groups", "--bounding-set=-all", "--inh-caps=-all",
                "--ambient-caps=-all", "--no-new-privs"]

    def command(self, *arguments, **how):
        return self.as_user() + super().command(*arguments, **how)

    def restrict(self, number):
        """An empty volume of its own for TMPDIR is what can be written."""
        self.inside(number, "mount -t tmpfs -o size=64m,mode=1777 tmpfs /dev/shm; mount -t tmpfs -o mode=1777 tmpfs %s; "
                            "for at in / /tmp; do ! mountpoint -q $at || mount -o remount,bind,ro $at; done" % self.path("volume"))
        self.check_restrictions(number)

    def check_restrictions(self, number):
        """What a process of the agent's kind may do there: nothing, but write to the volume and to 64 MiB of /dev/shm."""
        script = self.sh('id -u; grep -E "^Cap(Inh|Prm|Eff|Bnd|Amb)|^NoNewPrivs" /proc/self/status | tr "\\t" " "; getent passwd "$(id -u)"\n'
                         'for at in / /tmp /usr /etc "$OUT"; do touch $at/written 2>&1 && echo "$at can be written"; done\n'
                         'touch "$OUT/volume/written" && rm "$OUT/volume/written"; df -k --output=size /dev/shm | tail -n 1', name="looks")
        looked = subprocess.run(["nsenter", "-t", str(self.holders[number]), "-n", "-u", "-m", "--", *self.as_user(), script],
                                env=self.environment(), capture_output=True, text=True)
        said = [line.strip() for line in looked.stdout.splitlines()]
        none = "0" * 16
        self.assertEqual([line for line in said if not line.startswith("touch: ")],
                         [self.UID, "CapInh: " + none, "CapPrm: " + none, "CapEff: " + none, "CapBnd: " + none, "CapAmb: " + none, "NoNewPrivs: 1", "65536"])
        self.assertEqual(len([line for line in said if re.search("touch: .*(Read-only file system|Permission denied)", line)]), 5, said)

    def start_restricted(self, numbers, *words):
        self.add_hosts(numbers)
        for number in numbers:
            self.restrict(number)
        self.start_mpi(numbers, *words, env={"TMPDIR": self.path("volume"), "HOME": "/", "MUSTER_TERMINATION_LOG": self.path("volume", "last")})

    def test_restricted_pods(self):
        numbers = [1, 2, 3, 4]
        self.start_restricted(numbers, "--nproc-per-node", 2, "--", *self.program("ring"))
        self.expect_ring(numbers, 2)

    def test_a_rank_fails_in_restricted_pods(self):
        self.start_restricted([1, 2, 3], *self.faults("exit"))
        self.expect_failure([1, 2, 3], 3, "rank 1 on host-2 failed first: exit code 3")


class PodCutTests(PodTests):
    def test_a_restricted_pod_is_cut_off(self):
        numbers = [1, 2, 3]
        self.start_restricted(numbers, *SHORT, *self.faults("wait"))
        wait_until(lambda: any("rank=2 waits" in self.agents[number].out.text() for number in numbers), "rank 2 waits")
        self.cut(3)
        self.expect_failure(numbers, 69, 'node.lost reason="host-3 ')
