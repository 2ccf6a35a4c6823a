"""`muster-probe`: what the libraries of the image say, as one JSON object; that they are absent is one more fact."""
import json
import os
import re
import subprocess
import time

import harness
from namespace_hosts import NamespaceTest

PROBE = os.path.join(os.path.dirname(harness.BINARY), "muster-probe")
USAGE, UNAVAILABLE = 64, 69


class ProbeTest(harness.MusterTest):
    def probe(self, *arguments, env=None):
        return self.start_command([PROBE, *arguments], env=env).finish()

    def facts(self, *arguments, env=None):
        """Its stdout is one object and a line end."""
        finished = self.expect_code(self.probe(*arguments, env=env), 0)
        self.assertEqual(finished.out.count("\n"), 1, finished)
        return json.loads(finished.out)

    def library(self, source, name, *flags):
        """The folder with a shared library that is built from a source of tests/support."""
        os.makedirs(self.path("lib"), exist_ok=True)
        subprocess.run(["gcc", "-shared", "-fPIC", "-Wall", "-Werror", *flags, "-o", self.path("lib", name),
                        os.path.join(harness.SUPPORT, source)], check=True, capture_output=True)
        return self.path("lib")


class Facts(ProbeTest):
    def test_libfabric_lists_tcp_once_for_each_interface(self):
        fabric = self.facts("fabric")["libfabric"]
        self.assertRegex(fabric["version"], r"^[12]\.\d+$")
        self.assertTrue(os.path.exists(fabric["path"]), fabric)
        for one in fabric["providers"]:
            self.assertEqual(set(one), {"provider", "domain", "fabric", "speed_bits_per_s", "pci"})
        self.assertIn(("tcp", "lo"), {(one["provider"], one["domain"]) for one in fabric["providers"]})
        names = [(one["provider"], one["domain"], one["fabric"]) for one in fabric["providers"]]
        self.assertEqual(names, sorted(set(names)))

    def test_the_library_says_nothing_on_its_own(self):
        self.assertEqual(self.expect_code(self.probe("fabric"), 0).err, "")

    def test_an_absent_library_is_a_fact(self):
        absent = self.facts("fabric", env={"MUSTER_PROBE_LIBFABRIC": self.path("nowhere.so")})
        self.assertEqual(list(absent["libfabric"]), ["absent"])
        self.assertIn("nowhere.so", absent["libfabric"]["absent"])
        absent = self.facts("nccl", env={"MUSTER_PROBE_NCCL": self.path("nowhere.so")})
        self.assertIn("nowhere.so", absent["nccl"]["absent"])
        os.mkdir(self.path("lib"))
        for verb, key, name in (("gpus", "nvml", "libnvidia-ml.so.1"), ("allreduce", "cuda", "libcuda.so.1")):
            self.write("lib/" + name, "no library")
            self.assertIn(name, self.facts(verb, env={"LD_LIBRARY_PATH": self.path("lib")})[key]["absent"])

    def test_a_library_without_its_functions_is_absent(self):
        folder = self.library("fake_nccl.c", "libfabric.so.1")
        absent = self.facts("fabric", env={"MUSTER_PROBE_LIBFABRIC": folder + "/libfabric.so.1"})
        self.assertIn("not all functions", absent["libfabric"]["absent"])

    def test_gpus(self):
        folder = self.library("fake_nvml.c", "libnvidia-ml.so.1")
        nvml = self.facts("gpus", env={"LD_LIBRARY_PATH": folder})["nvml"]
        well = {"index": 0, "name": "NVIDIA Fake 0", "pci": "0000:1b:00.0", "ecc_uncorrected": 0, "remapped_rows": None, "slowdowns": [],
                "mig": True, "fabric": {"state": "completed", "status": 0, "clique": 7, "bandwidth_degraded": True}, "processes": 0}
        ill = {"index": 1, "name": "NVIDIA Fake 1", "pci": "0000:c1:00.0", "ecc_uncorrected": 5000000000,
               "remapped_rows": {"corrected": 2, "uncorrected": 3, "pending": True, "failed": False},
               "slowdowns": ["hw_slowdown", "hw_thermal"], "mig": None, "fabric": None, "processes": 4}
        self.assertEqual(nvml, {"path": os.path.realpath(folder + "/libnvidia-ml.so.1"), "driver": "550.54.15", "cuda": "12.4",
                                "gpus": [well, ill]})

    def test_gpus_without_a_driver(self):
        folder = self.library("fake_nvml.c", "libnvidia-ml.so.1", "-DNO_DRIVER")
        nvml = self.facts("gpus", env={"LD_LIBRARY_PATH": folder})["nvml"]
        self.assertEqual(nvml["problem"], "nvmlInit_v2: code 9 (Driver Not Loaded)")

    def test_nccl_names_the_interface_that_it_chooses(self):
        folder = self.library("fake_nccl.c", "libnccl.so.2")
        found = self.facts("nccl", env={"LD_LIBRARY_PATH": folder})["nccl"]
        self.assertEqual(found, {"path": os.path.realpath(folder + "/libnccl.so.2"), "version": "2.28.9",
                                 "bootstrap": {"interface": "lo", "address": "127.0.0.1:43210"}})
        # A file that a variable names comes before all others.
        named = {"MUSTER_PROBE_NCCL": folder + "/libnccl.so.2", "NCCL_SOCKET_IFNAME": "203.0.113.9"}
        self.assertEqual(self.facts("nccl", env=named)["nccl"]["bootstrap"], {"interface": None, "address": "203.0.113.9:43210"})

    def test_nccl_without_an_interface(self):
        folder = self.library("fake_nccl.c", "libnccl.so.2")
        found = self.facts("nccl", env={"LD_LIBRARY_PATH": folder, "NCCL_SOCKET_IFNAME": "none"})["nccl"]
        self.assertEqual(found["bootstrap"], {"problem": "ncclGetUniqueId: code 5, invalid usage: no socket interface found"})

    def test_what_a_library_prints_is_no_answer(self):
        folder = self.library("fake_nccl.c", "libnccl.so.2")
        finished = self.expect_code(self.probe("nccl", env={"LD_LIBRARY_PATH": folder}), 0)
        self.assertEqual(list(json.loads(finished.out)), ["nccl"])
        self.assertEqual(finished.err, "NCCL INFO to stdout, as NCCL_DEBUG does\n")

    def test_an_all_reduce(self):
        self.library("fake_nccl.c", "libnccl.so.2")
        env = {"LD_LIBRARY_PATH": self.library("fake_cuda.c", "libcuda.so.1")}
        facts = self.facts("allreduce", env=env)
        self.assertEqual(facts["cuda"], {"path": os.path.realpath(self.path("lib", "libcuda.so.1")), "version": "12.4", "devices": 3})
        found = facts["allreduce"]
        self.assertEqual((found["ranks"], found["is_correct"], found["bytes"]), (3, True, 256 << 20))
        self.assertAlmostEqual(found["bus_bytes_per_s"] / found["bytes_per_s"], 4 / 3)
        self.assertGreater(found["latency_us"], 0)
        self.assertFalse(self.facts("allreduce", env=dict(env, FAKE_SUM="1"))["allreduce"]["is_correct"])
        self.assertIn("no socket interface", self.facts("allreduce", env=dict(env, NCCL_SOCKET_IFNAME="none"))["allreduce"]["problem"])
        self.assertEqual(set(self.facts("allreduce", env=dict(env, FAKE_GPUS="0"))), {"cuda"})
        os.remove(self.path("lib", "libnccl.so.2"))
        self.assertEqual(list(self.facts("allreduce", env=env)["nccl"]), ["absent"])

    def test_amds_library_is_taken_where_nvidias_is_not(self):
        folder = self.library("fake_nccl.c", "librccl.so.1")
        found = self.facts("nccl", env={"LD_LIBRARY_PATH": folder})["nccl"]
        self.assertTrue(found["path"].endswith("librccl.so.1"), found)


class Ends(ProbeTest):
    def expect_line(self, finished, code, pattern):
        self.expect_code(finished, code)
        self.assertEqual(finished.out, "")
        self.assertRegex(finished.err, r"\A(muster-probe: listening on port \d+\n)?muster-probe[^\n]*" + pattern + r"[^\n]*\n\Z")

    def test_wrong_command_lines(self):
        self.expect_line(self.probe(), USAGE, "wanted one of fabric, pingpong")
        self.expect_line(self.probe("fabrics"), USAGE, "'fabrics' is none of fabric")
        self.expect_line(self.probe("gpus", "--timeout", "soon"), USAGE, "--timeout soon")
        self.expect_line(self.probe("pingpong", "node-1:29400"), USAGE, "numeric HOST:PORT")

    def test_a_peer_that_never_calls(self):
        self.expect_line(self.probe("pingpong", "--listen", "--timeout", "300ms"), UNAVAILABLE, "not done within 300 ms: nobody has called")

    def test_a_peer_that_never_listens(self):
        port = harness.free_port()
        self.expect_line(self.probe("pingpong", "127.0.0.1:%d" % port, "--timeout", "300ms"), UNAVAILABLE,
                         "not done within 300 ms: nobody listens there")

    def test_a_library_that_hangs(self):
        folder = self.library("fake_nccl.c", "libnccl.so.2")
        started = time.monotonic()
        finished = self.probe("nccl", "--timeout", "300ms", env={"LD_LIBRARY_PATH": folder, "NCCL_SOCKET_IFNAME": "hang"})
        self.expect_code(finished, UNAVAILABLE)
        self.assertEqual(finished.out, "")
        self.assertIn("muster-probe nccl: not done within 300 ms: NCCL, which chooses an interface\n", finished.err)
        self.assertLess(time.monotonic() - started, 10)


class PingPong(NamespaceTest, ProbeTest):
    def setUp(self):
        super().setUp()
        self.add_hosts((1, 2))

    def on(self, number, *arguments, env=None):
        return self.start_command(["nsenter", "-t", str(self.holders[number]), "-n", "-u", "-m", "--", PROBE, "pingpong", *arguments,
                                   "--timeout", "40s"], env=env)

    def pair(self, first=(), second=(), env=None):
        """Both ends: the side that listens, on host 1, and the one that calls."""
        listener = self.on(1, "--listen", *first, env=env)
        port = listener.wait_for(r"listening on port (\d+)", "err")[1]
        caller = self.on(2, "10.77.0.1:" + port, *second)
        return listener.finish(), caller.finish()

    def numbers(self, finished):
        self.assertEqual(re.sub(r"muster-probe: listening on port \d+\n", "", finished.err), "")
        return json.loads(self.expect_code(finished, 0).out)

    def expect_plausible(self, provider, called, calling):
        for one in (called, calling):
            self.assertEqual((one["provider"], one["domain"], one["peer_domain"]), (provider, "eth0", "eth0"))
            self.assertTrue(1e6 < one["bytes_per_s_from_peer"] < 1e12, one)
        self.assertEqual(called["bytes_per_s_from_peer"], calling["bytes_per_s_to_peer"])
        self.assertEqual(calling["bytes_per_s"], min(calling["bytes_per_s_to_peer"], calling["bytes_per_s_from_peer"]))
        self.assertTrue(0.5 < calling["latency_us"]["p50"] <= calling["latency_us"]["p99"] < 1e6, calling)

    def test_tcp(self):
        called, calling = map(self.numbers, self.pair(("--provider", "tcp")))
        self.expect_plausible(called["provider"], called, calling)
        self.assertIn(called["provider"], ("tcp", "tcp;ofi_rxm"))  # from 1.18 on tcp needs no help

    def test_a_slow_link_is_measured_as_such(self):
        self.in_hub("tc", "qdisc", "add", "dev", "v2", "root", "tbf", "rate", "80mbit", "burst", "64kb", "latency", "50ms")
        _, calling = map(self.numbers, self.pair())
        self.assertTrue(3e6 < calling["bytes_per_s_from_peer"] < 15e6, calling)

    def test_the_side_that_calls_may_name_the_provider(self):
        called, calling = map(self.numbers, self.pair((), ("--provider", "tcp", "--interface", "eth0")))
        self.expect_plausible(called["provider"], called, calling)

    def test_an_interface_that_the_provider_does_not_have(self):
        called, calling = self.pair(("--provider", "tcp", "--interface", "eth7"))
        self.expect_code(called, 78)
        self.expect_code(calling, UNAVAILABLE)
        self.assertIn("muster-probe pingpong: the other side: ", calling.err)

    def test_two_sides_that_want_different_providers(self):
        called, calling = self.pair(("--provider", "tcp"), ("--provider", "efa"))
        self.expect_code(calling, 78)
        self.assertIn("wanted is efa, and the other side has 'tcp", calling.err)
        self.expect_code(called, UNAVAILABLE)

    def test_a_stranger_cannot_choose_a_provider_that_is_not_usual(self):
        called, calling = self.pair((), ("--provider", "psm2"))
        self.expect_code(called, UNAVAILABLE)
        self.assertIn("names the provider 'psm2', which only --provider may do", called.err)
        self.expect_code(calling, UNAVAILABLE)

    def test_without_libfabric_on_one_side(self):
        called, calling = self.pair(env={"MUSTER_PROBE_LIBFABRIC": self.path("nowhere.so")})
        self.assertEqual(list(self.numbers(called)["libfabric"]), ["absent"])
        self.expect_code(calling, UNAVAILABLE)
        self.assertIn("nowhere.so", calling.err)

    def test_strangers_are_sent_away(self):
        listener = self.on(1, "--listen", "--provider", "tcp")
        port = listener.wait_for(r"listening on port (\d+)", "err")[1]
        stranger = self.start_command(["nsenter", "-t", str(self.holders[2]), "-n", "sh", "-c",
                                       "printf 'GET / HTTP/1.0\\r\\n\\r\\n' | bash -c 'cat >/dev/tcp/10.77.0.1/%s'" % port])
        self.expect_code(stranger.finish(), 0)
        self.numbers(self.on(2, "10.77.0.1:" + port).finish())
        self.numbers(listener.finish())

