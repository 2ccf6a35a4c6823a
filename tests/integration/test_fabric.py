"""The plan of the network: what `muster env` says of recorded machines, and what it is good for on hosts with decoys."""
import json
import os
import shutil
import subprocess

import harness
import machine_tree
import mpi_hosts
import mpi_programs
import test_probe
from namespace_hosts import NET, NamespaceTest

TREES = os.path.join(os.path.dirname(harness.SUPPORT), "data", "machines", "fabric")
NODES = ("--nnodes", 2, "--rdzv-endpoint", "10.0.0.1,10.0.0.2")


class RecordedMachine(harness.MusterTest):
    def unpacked(self, name):
        folder = self.path(name)
        machine_tree.unpack(os.path.join(TREES, name + ".tree"), folder)
        return folder

    def planned(self, *words, env=None):
        finished = self.run_muster("env", "--json", *words, env=env)
        self.expect_code(finished, 0)
        return json.loads(finished.out)

    def test_json_of_a_recorded_machine(self):
        root = self.unpacked("dgx-h100-host")
        # In any order, and nothing of this machine or of the caller's environment counts.
        told = self.planned(*NODES, "--root", root, env={"NCCL_IB_HCA": "mine"})
        self.assertEqual(told["machine"]["control_interface"], "bond0")
        used = {device["name"]: device["used"] for device in told["machine"]["devices"]}
        self.assertTrue(used["mlx5_0"])
        self.assertFalse(used["mlx5_1"])
        variables = {variable["name"]: variable for variable in told["variables"]}
        self.assertEqual(variables["NCCL_IB_HCA"]["value"],
                         "=mlx5_0,mlx5_3,mlx5_4,mlx5_5,mlx5_6,mlx5_9,mlx5_10,mlx5_11")
        self.assertEqual((variables["NCCL_IB_HCA"]["action"], variables["NCCL_IB_HCA"]["layer"]), ("set", "fabric"))
        for variable in told["variables"]:
            self.assertTrue(variable["reason"] and variable["source"] and variable["confidence"], variable)

    def test_what_the_recorded_user_has_set_stays(self):
        root = self.unpacked("dgx-h100-host")
        with open(os.path.join(root, "environ"), "a") as file:
            file.write("NCCL_SOCKET_IFNAME=ens3\n")
        with open(os.path.join(root, "etc", "nccl.conf"), "w") as file:
            file.write("NCCL_IB_HCA==mlx5_0\n")
        told = self.planned(*NODES, "--root", root)
        variables = {variable["name"]: variable for variable in told["variables"]}
        self.assertEqual(variables["NCCL_SOCKET_IFNAME"]["action"], "keep")
        self.assertIn("environment", variables["NCCL_SOCKET_IFNAME"]["source"])
        self.assertEqual(variables["NCCL_IB_HCA"]["action"], "keep")
        self.assertEqual(variables["NCCL_IB_HCA"]["source"], "/etc/nccl.conf")
        errors = [note for note in told["notes"] if note["severity"] == "error"]
        self.assertIn("ens3", errors[0]["text"])
        exported = self.run_muster("env", "--export", *NODES, "--root", root).out
        self.assertNotIn("NCCL_IB_HCA", exported)

    def test_a_link_that_leaves_the_machine_is_not_followed(self):
        root = self.unpacked("cpu-only-pod")
        outside = self.write("outside", "NCCL_IB_TC=1\n")
        os.symlink(outside, os.path.join(root, "etc", "nccl.conf"))
        os.remove(os.path.join(root, "environ"))
        os.symlink(self.write("environ", "MUSTER_ROLE=spy\n"), os.path.join(root, "environ"))
        told = self.run_muster("env", "--root", root)
        self.expect_code(told, 0)
        self.assertNotIn("spy", told.out)

    def test_wrong_words(self):
        for words, code, part in ((("--root", self.path("nowhere")), 78, "nowhere"),
                                  (("--root",), 64, "--root: a value must follow"),
                                  (("--root="), 64, "--root"),
                                  (("--fabric-profile", self.path("nowhere")), 78, "the fabric profile"),
                                  (("--fabric-profile", self.write("profile", "PATH=/x\n")), 78, "profile:1: 'PATH'"),
                                  (("--fabric-profile", self.write("second", "NCCL_A=1\nNCCL_A=2\n")), 78, "a second time")):
            words = (words,) if isinstance(words, str) else words
            finished = self.run_muster("env", *words)
            self.expect_code(finished, code)
            self.assertIn(part, finished.err)
            self.assertEqual(len(finished.err.splitlines()), 1, finished.err)
        run = self.run_muster("run", "--fabric-profile", self.path("nowhere"), self.sh("true"))
        self.expect_code(run, 78)


class DecoyHosts(NamespaceTest):
    """Two hosts that take their own name for loopback, as Debian's installer has it. Each has a docker0 with the same address,
    and a second network on which the hosts do not reach each other."""
    # A process that misses the others for ten seconds gives up, instead of half an hour.
    WORKER = ("import datetime, os, torch, torch.distributed as dist\n"
              "dist.init_process_group('gloo', timeout=datetime.timedelta(seconds=%d))\n"
              "total = torch.ones(1)\n"
              "dist.all_reduce(total)\n"
              "assert total.item() == 2\n"
              "print('interface', os.environ.get('GLOO_SOCKET_IFNAME'), flush=True)\n"
              "dist.destroy_process_group()\n")

    def gloo(self, timeout_s):
        """The words of a process that reduces with the other one."""
        python = self.python()
        if not python:
            self.skip_because(self.NEEDED)
        return (python, "-u", self.py(self.WORKER % timeout_s))

    def add_decoys(self):
        for number in (1, 2):
            self.add_host(number)
        for number, pid in self.holders.items():
            own = self.write("hosts.%d" % number, "127.0.0.1 localhost\n127.0.1.1 host-%d\n%s%d host-%d\n" %
                             (number, NET, 3 - number, 3 - number))
            script = ("mount --bind %s /etc/hosts; ip link add docker0 type bridge; ip addr add 172.17.0.1/16 dev docker0; "
                      "ip link set docker0 up; ip link add far type veth peer name aaa0; ip addr add 10.78.0.%d/24 dev aaa0; "
                      "ip link set far up; ip link set aaa0 up" % (own, number))
            subprocess.run(["nsenter", "-t", str(pid), "-n", "-m", "sh", "-ec", script], check=True, capture_output=True)


class Decoys(DecoyHosts):
    def start_agents(self, *flags, timeout_s=60):
        words = self.gloo(timeout_s)
        for number in (1, 2):
            self.start_agent(number, "--nnodes", "2", "--rdzv-endpoint", "%s1:29500" % NET, "--grace-period", "1s", *flags,
                             "--no-python", *words)

    def test_gloo_meets_by_the_interface_that_reaches_the_others(self):
        self.add_decoys()
        self.start_agents()
        for number in (1, 2):
            finished = self.agents[number].finish(timeout_s=90)
            self.expect_code(finished, 0)
            self.assertIn("interface eth0", finished.out)

    def test_without_the_plan_it_does_not(self):
        self.add_decoys()
        self.start_agents("--no-fabric-env", timeout_s=10)
        codes = [self.agents[number].finish(timeout_s=90).code for number in (1, 2)]
        self.assertNotIn(0, codes)


class MpiDecoys(mpi_programs.OpenMpi, mpi_hosts.Hosts, DecoyHosts):
    """The same with ranks of a real Open MPI job."""

    def start_ranks(self, *words, env=None):
        self.add_decoys()
        self.start_mpi([1, 2], *words, endpoints=NET + "1", env=env)

    def codes(self):
        return [self.agents[number].finish(timeout_s=90).code for number in (1, 2)]

    def test_a_ring(self):
        self.start_ranks("--", *self.program("ring"))
        self.expect_ring([1, 2])

    def test_what_mpirun_is_told_of_the_network_is_no_part_of_the_plan(self):
        self.start_ranks("--no-fabric-env", "--", *self.program("ring"))
        self.expect_ring([1, 2])

    def test_without_that_the_ranks_hang(self):
        """It stays out if the user excludes interfaces."""
        self.start_ranks("--", "timeout", "5", *self.program("ring"), env={"OMPI_MCA_btl_tcp_if_exclude": "lo"})
        self.agents[1].wait_for('placement="2 ranks on 2 nodes: ', "err")
        self.assertEqual(self.codes()[0], 124)

    def test_gloo_below_an_mpirun(self):
        self.start_ranks("--", *self.gloo(60))
        self.assertEqual(self.codes(), [0, 0])
        self.assertEqual(self.agents[1].out.text().count("interface eth0"), 2)

    def test_gloo_below_an_mpirun_without_the_plan(self):
        self.start_ranks("--no-fabric-env", "--", *self.gloo(10))
        self.agents[1].wait_for('placement="2 ranks on 2 nodes: ', "err")
        self.assertNotIn(0, self.codes())


class Example(harness.MusterTest):
    """examples/fabric."""

    def test_what_is_printed(self):
        folder = os.path.join(harness.EXAMPLES, "fabric")
        finished = self.expect_code(self.start_command([os.path.join(folder, "run.sh"), harness.BINARY]).finish(), 0)
        with open(os.path.join(folder, "expected.txt")) as file:
            self.assertEqual([" ".join(line.split()) for line in finished.out.splitlines()], file.read().splitlines())


class Peers(NamespaceTest, test_probe.ProbeTest):
    """`muster doctor --peers` on hosts of which one has a bad link."""

    def start_doctors(self, numbers, *words, env=None):
        """`env`: what single hosts have set."""
        nodes = str(len(numbers))
        self.doctors = {}
        for number in numbers:
            if number not in self.holders:
                self.add_host(number)
        for number in numbers:
            command = ["nsenter", "-t", str(self.holders[number]), "-n", "-u", "-m", "--"]
            self.doctors[number] = self.start_command(command + self.command(
                ("doctor", "--peers", "--json", "--nnodes", nodes, "--rdzv-endpoint", "%s1:29500" % NET) + words),
                env=(env or {}).get(number))

    def reports(self, code):
        told = {}
        for number, doctor in self.doctors.items():
            finished = self.expect_code(doctor.finish(timeout_s=90), code)
            told[number] = json.loads(finished.out)
        return told

    def of_pairs(self, report):
        return [finding for finding in report["findings"] if finding["id"] in ("bw_pair", "firewall", "lat_pair")]

    def test_good_links(self):
        self.start_doctors((1, 2, 3, 4))
        for report in self.reports(0).values():
            self.assertEqual(report["nodes"], ["host-1", "host-2", "host-3", "host-4"])
            self.assertEqual([pair["nodes"] for pair in report["pairs"]], [[0, 1], [2, 3], [0, 3], [1, 2]])
            self.assertTrue(all(pair["bytes_per_s"] > 0 and pair["latency_us"] > 0 for pair in report["pairs"]), report)
            self.assertEqual([finding for finding in self.of_pairs(report) if finding["severity"] == "error"], [])

    def test_a_node_that_has_other_settings_and_another_nccl(self):
        old = self.library("fake_nccl.c", "libnccl.so.2", "-DVERSION=22105")
        os.rename(old, self.path("old"))
        new = self.library("fake_nccl.c", "libnccl.so.2")
        env = {number: {"LD_LIBRARY_PATH": new} for number in (1, 2)}
        env[3] = {"LD_LIBRARY_PATH": self.path("old"), "NCCL_ALGO": "hunter2"}
        self.start_doctors((1, 2, 3), env=env)
        for report in self.reports(1).values():
            told = {finding["id"]: finding for finding in report["findings"]}
            self.assertEqual(told["nccl_version"]["what"], "host-3: NCCL 2.21.5; 2 nodes: 2.28.9")
            conflict, = [finding["what"] for finding in report["findings"] if "most nodes" in finding["what"]]
            self.assertTrue(conflict.startswith("host-3: not the same as on most nodes: NCCL_ALGO."), conflict)
            self.assertNotIn("hunter2", json.dumps(report))

    def slow_down(self, number, mbit=10):
        # What the host sends; and what it gets would show as well, for both directions are measured.
        subprocess.run(["nsenter", "-t", str(self.holders[number]), "-n", "tc", "qdisc", "add", "dev", "eth0", "root", "tbf", "rate",
                        "%dmbit" % mbit, "burst", "32kbit", "latency", "50ms"], check=True, capture_output=True)

    def expect_slow(self, number):
        for report in self.reports(1).values():
            findings = self.of_pairs(report)
            self.assertEqual([finding["id"] for finding in findings], ["bw_pair"], findings)
            self.assertTrue(findings[0]["what"].startswith("host-%d: " % number), findings)

    def test_a_link_that_is_rate_limited(self):
        for number in (1, 2, 3, 4):
            self.add_host(number)
        self.slow_down(3)
        self.start_doctors((1, 2, 3, 4))
        self.expect_slow(3)

    def test_the_middle_one_of_three(self):
        for number in (1, 2, 3):
            self.add_host(number)
        self.slow_down(2)
        self.start_doctors((1, 2, 3))
        self.expect_slow(2)

    def replace_probe(self, numbers, script):
        """A shell script in place of muster-probe on these hosts, which calls the real one "$REAL"; none = it is not there."""
        real = self.path("real-probe")
        if not os.path.exists(real):
            shutil.copy(test_probe.PROBE, real)
        content = "" if script is None else "#!/bin/sh\nREAL=%s\n%s\n" % (real, script)
        other = self.write("probe.%s" % "-".join(map(str, numbers)), content)
        os.chmod(other, 0o644 if script is None else 0o755)
        for number in numbers:
            if number not in self.holders:
                self.add_host(number)
            subprocess.run(["nsenter", "-t", str(self.holders[number]), "-m", "mount", "--bind", other, test_probe.PROBE], check=True)

    def expect_provider(self, report, provider, pairs):
        measured = [pair for pair in report["pairs"] if "provider" in pair]
        self.assertEqual([pair["nodes"] for pair in measured], pairs)
        for pair in measured:
            self.assertEqual(pair["provider"], provider)
            self.assertTrue(pair["provider_bytes_per_s"] > 0 and pair["provider_latency_us"] > 0, pair)

    def test_over_a_provider_one_is_rate_limited(self):
        for number in (1, 2, 3, 4):
            self.add_host(number)
        self.slow_down(3)
        self.start_doctors((1, 2, 3, 4), "--provider", "tcp")
        for report in self.reports(1).values():
            self.expect_provider(report, "tcp", [[0, 1], [2, 3], [0, 3], [1, 2]])
            # On a busy machine one of the others may be slow.
            slow = [finding["what"] for finding in self.of_pairs(report) if finding["what"].startswith("host-3")]
            self.assertEqual(len(slow), 2, slow)
            self.assertRegex(slow[0], r"^host-3: .* between host-\d and host-\d, the median")
            self.assertRegex(slow[1], r"^host-3: .* between host-\d and host-\d over tcp, the median")

    def test_over_tcp_only_if_it_is_asked_for(self):
        self.start_doctors((1, 2))
        for report in self.reports(0).values():
            self.expect_provider(report, "", [])

    def test_nodes_that_cannot_measure_over_the_provider(self):
        self.replace_probe((2,), None)
        self.start_doctors((1, 2, 3, 4), "--provider", "tcp", env={3: {"MUSTER_PROBE_LIBFABRIC": self.path("nowhere.so")}})
        for report in self.reports(1).values():
            self.expect_provider(report, "tcp", [[0, 3]])
            missing = [finding for finding in report["findings"] if "over" in finding["what"] and finding["id"] == "lib_missing"]
            self.assertEqual([(finding["severity"], finding["what"]) for finding in missing],
                             [("error", "host-3: libfabric offers no tcp, so nothing was measured over it"),
                              ("warning", "host-2: no muster-probe, so nothing was measured over tcp")])

    def test_a_provider_that_fails_on_one_node(self):
        self.replace_probe((3,), '[ "$1" = pingpong ] || exec "$REAL" "$@"\necho "muster-probe pingpong: it is broken" >&2\nexit 69')
        self.start_doctors((1, 2, 3, 4), "--provider", "tcp")
        for report in self.reports(1).values():
            failed = [(pair["nodes"], pair["provider_failure"]) for pair in report["pairs"] if "provider_failure" in pair]
            self.assertEqual(failed, [([2, 3], "muster-probe pingpong: it is broken"), ([1, 2], "muster-probe pingpong: it is broken")])
            broken, = [finding["what"] for finding in self.of_pairs(report) if finding["id"] == "firewall"]
            self.assertRegex(broken, "^host-3: .* do not reach each other over tcp: muster-probe pingpong: it is broken$")

    # It says that it has EFA, and measures over TCP.
    LIKE_EFA = """if [ "$1" = fabric ]; then
    echo '{"libfabric": {"path": "/x", "version": "1.17", "providers": [{"provider": "efa"}, {"provider": "tcp"}]}}'
elif [ "$1" = pingpong ]; then
    for word in "$@"; do
        shift
        [ "$word" = efa ] && word=tcp
        set -- "$@" "$word"
    done
    exec "$REAL" "$@"
fi"""

    def test_a_fabric_that_all_nodes_have_is_measured_by_itself(self):
        self.replace_probe((1, 2), self.LIKE_EFA)
        self.start_doctors((1, 2))
        for report in self.reports(0).values():
            self.expect_provider(report, "efa", [[0, 1]])

    def test_a_fabric_that_one_node_does_not_have_is_not(self):
        self.replace_probe((1,), self.LIKE_EFA)
        self.start_doctors((1, 2))
        for report in self.reports(0).values():
            self.expect_provider(report, "efa", [])

    def reports_of_workers(self):
        """As before a round of a job: what two of its workers print."""
        worker = self.command(("doctor", "--pair-worker", "-"))
        for number in (1, 2):
            self.start_agent(number, "--nnodes", "2", "--rdzv-endpoint", NET + "1:29500", "--no-fabric-env", "--no-python", *worker)
        told = []
        for number in (1, 2):
            finished = self.expect_code(self.agents[number].finish(timeout_s=90), 0)
            told.append(json.loads(finished.out[finished.out.index("{"):]))
        return told

    def test_before_a_round_only_nodes_with_such_a_device_ask(self):
        self.replace_probe((1, 2), self.LIKE_EFA)
        for report in self.reports_of_workers():
            self.expect_provider(report, "efa", [])

    def test_before_a_round_a_fabric_is_measured_by_itself(self):
        self.replace_probe((1, 2), self.LIKE_EFA)
        for number in (1, 2):
            subprocess.run(["nsenter", "-t", str(self.holders[number]), "-m", "sh", "-ec",
                            "mount -t tmpfs none /sys/class; mkdir -p /sys/class/infiniband/rdmap0s6"], check=True)
        for report in self.reports_of_workers():
            self.expect_provider(report, "efa", [[0, 1]])

    def test_a_probe_that_hangs_is_killed(self):
        self.replace_probe((2,), '[ "$1" = pingpong ] || exec "$REAL" "$@"\nexec sleep 1000')
        self.start_doctors((1, 2), "--provider", "tcp")
        for report in self.reports(1).values():
            pair, = report["pairs"]
            self.assertGreater(pair["bytes_per_s"], 0)
            self.assertEqual(pair["provider_failure"], "host-2 does not say where it listens")

    def test_wrong_words_of_providers(self):
        for words, part in ((("--provider", "tcp"), "--provider is of --peers"),
                            (("--peers", "--provider", "a b"), "--provider: 'a b' is no name of a provider")):
            finished = self.expect_code(self.run_muster("doctor", *words), 64)
            self.assertIn(part, finished.err)

    def test_a_program_is_not_started(self):
        finished = self.run_muster("doctor", "--peers", "--nnodes", "2", "--rdzv-endpoint", "localhost", "train.py", "--lr", "1")
        self.expect_code(finished, 64)
        self.assertIn("leave 'train.py' out", finished.err)

    def test_ports_that_are_closed(self):
        for number in (1, 2, 3, 4):
            self.add_host(number)
            self.slow_down(number, mbit=100)  # else a busy machine makes one of them slower than the others
        # Host 2 takes no calls but from node rank 0, which serves the job.
        for other in (3, 4):
            subprocess.run(["nsenter", "-t", str(self.holders[2]), "-n", "ip", "route", "add", "blackhole", "%s%d" % (NET, other)],
                           check=True, capture_output=True)
        self.start_doctors((1, 2, 3, 4))
        for report in self.reports(1).values():
            closed, = [finding["what"] for finding in self.of_pairs(report) if finding["id"] == "firewall"]
            self.assertIn("the link between host-2 and host-3", closed)

    def test_a_node_that_does_not_come(self):
        self.start_doctors((1,), "--rdzv-conf", "join_timeout=2", "--nnodes", "2")
        finished = self.expect_code(self.doctors[1].finish(), 69)
        self.assertIn("findings", json.loads(finished.out))
        self.assertIn("no round within", finished.err)
