"""`muster doctor`: silent on healthy machines, right about planted faults, and captures that tell the same as their machine."""
import json
import os
import pathlib
import shutil
import time

import harness
import machine_tree
import test_probe

MACHINES = os.path.join(harness.ROOT, "tests", "data", "machines", "fabric")
HEALTHY = ("aws-p5-pod", "coreweave-h100", "dgx-h100-host", "gcp-a3-ultra-pod", "mi300x-thor2", "oci-h100-pod", "roce-sriov-pod",
           "slingshot", "plain-ethernet-hostnet")
SECRET = "hunter2hunter2hunter2"


class Doctor(harness.MusterTest):
    def unpack(self, machine):
        root = self.path(machine)
        machine_tree.unpack(os.path.join(MACHINES, machine + ".tree"), root)
        return root

    def findings(self, *flags, code=None, env=None):
        """{id: severity}, and the whole answer."""
        finished = self.run_muster("doctor", "--json", *flags, env=env)
        if code is not None:
            self.expect_code(finished, code)
        answer = json.loads(finished.out)
        self.assertEqual(list(answer), ["findings"])
        for finding in answer["findings"]:
            self.assertEqual(set(finding), {"id", "severity", "what", "remedy"})
            self.assertIn(finding["severity"], ("error", "warning", "info"))
            self.assertTrue(finding["what"])
        return {finding["id"]: finding["severity"] for finding in reversed(answer["findings"])}, answer["findings"]

    def write(self, root, path, text):
        pathlib.Path(root + path).write_text(text)

    def test_healthy_machines_are_silent(self):
        for machine in HEALTHY:
            found, all_findings = self.findings("--root", self.unpack(machine), code=0)
            self.assertEqual(set(found.values()) - {"info"}, set(), (machine, all_findings))
            shown = self.expect_code(self.run_muster("doctor", "--root", self.path(machine)), 0).out
            self.assertRegex(shown, r"(?m)^no problem found: .+\n\Z")

    def test_planted_faults_are_named(self):
        root = self.unpack("dgx-h100-host")
        self.write(root, "/sys/class/infiniband/mlx5_4/ports/1/state", "2: INIT\n")
        self.write(root, "/sys/class/infiniband/mlx5_9/ports/1/rate", "100 Gb/sec (4X EDR)\n")
        found, all_findings = self.findings("--root", root, code=1)
        for name in ("port_state", "port_rate"):
            self.assertEqual(found.get(name), "error", all_findings)
        shown = self.expect_code(self.run_muster("doctor", "--root", root), 1).out
        self.expect_parts(shown, "error port_state: mlx5_4 port 1 is INIT", "mlx5_9 runs at 100 Gb/s", "NVIDIA DGXH100")

    def expect_parts(self, text, *parts):
        for part in parts:
            self.assertIn(part, text)

    def test_faults_of_pods_are_named(self):
        root = self.unpack("roce-sriov-pod")
        self.write(root, "/ulimits", "Max locked memory         65536                65536                bytes\n")
        status = pathlib.Path(root + "/proc/self/status").read_text()
        self.write(root, "/proc/self/status", status.replace("CapEff:\t00000000a80465fb", "CapEff:\t0000000000000000"))
        os.remove(root + "/dev/nvidia-uvm")
        mounts = pathlib.Path(root + "/proc/self/mountinfo").read_text()
        self.write(root, "/proc/self/mountinfo", mounts.replace("size=1073741824k", "size=65536k"))
        self.write(root, "/environ", "KUBERNETES_SERVICE_HOST=10.0.0.1\nNCCL_SOCKET_IFNAME=bond\nNCCL_IB_DISABLE=true\n")
        found, all_findings = self.findings("--root", root, code=1)
        wanted = {"memlock": "error", "ipc_lock_ineffective": "error", "shm_size": "error", "ifname_unmatched": "error",
                  "gpu_lost": "error", "env_conflict": "warning"}
        self.assertEqual({name: found.get(name) for name in wanted}, wanted, all_findings)
        found, _ = self.findings("--root", root, "--nproc-per-node", "1", code=1)
        self.assertNotEqual(found.get("shm_size"), "error")

    def test_the_two_faulty_machines(self):
        for machine, name in (("roce-no-network-pod", "gid_missing"), ("gb200-no-imex", "imex")):
            found, _ = self.findings("--root", self.unpack(machine), code=1)
            self.assertEqual([one for one, severity in found.items() if severity == "error"], [name])

    def test_wrong_command_lines(self):
        for words in (["--frob"], ["--root"], ["word"], ["--nproc-per-node", "none"], ["--json", "--capture", self.path("new")]):
            finished = self.expect_code(self.run_muster("doctor", *words), 64)
            self.assertEqual((finished.out, finished.err.count("\n")), ("", 1), finished)
        self.expect_code(self.run_muster("doctor", "--root", self.path("nothing")), 78)
        os.mkdir(self.path("full"))
        pathlib.Path(self.path("full/mine")).write_text("mine")
        finished = self.expect_code(self.run_muster("doctor", "--capture", self.path("full")), 78)
        self.assertIn("is not empty", finished.err)
        self.assertEqual(os.listdir(self.path("full")), ["mine"])
        self.assertFalse(os.path.exists(self.path("new")))

    def test_this_machine_is_looked_at_quickly(self):
        started = time.monotonic()
        finished = self.run_muster("doctor", "--json")
        self.assertIn(finished.code, (0, 1))
        json.loads(finished.out)
        if not harness.is_sanitized():
            self.assertLess(time.monotonic() - started, 1.5)  # 0.3 s on a machine that does nothing else

    def test_a_capture_of_this_machine_tells_the_same(self):
        env = {"NCCL_IB_DISABLE": "yes", "GLOO_SOCKET_IFNAME": "^lo", "AWS_SECRET_ACCESS_KEY": SECRET, "HF_TOKEN": SECRET,
               "NCCL_TOKEN": SECRET, "CUDA_VISIBLE_DEVICES": "0"}
        tree = self.path("tree")
        self.expect_code(self.run_muster("doctor", "--capture", tree, env=env), 0)
        live, of_live = self.findings(env=env)
        recorded, of_recorded = self.findings("--root", tree)
        self.assertEqual(of_recorded, of_live)
        self.assertEqual(live["env_conflict"], "error")
        planned = [json.loads(self.expect_code(self.run_muster("env", "--json", "--nnodes", "2", "--rdzv-endpoint", "host-0", *flags, env=used), 0).out)
                   for flags, used in (((), env), (("--root", tree), {}))]
        names = ("NCCL_", "GLOO_", "UCX_", "FI_", "OMPI_", "TP_")
        fabric = [[(one["name"], one["value"]) for one in plan["variables"] if one["name"].startswith(names)] for plan in planned]
        self.assertEqual(fabric[0], fabric[1])
        self.assertEqual(planned[0].get("machine"), planned[1].get("machine"))

    def test_a_capture_has_no_secrets_and_no_links_out_of_it(self):
        tree = self.path("tree")
        self.expect_code(self.run_muster("doctor", "--capture", tree, env={"HF_TOKEN": SECRET, "NCCL_AUTH_TOKEN": SECRET, "FI_X": "1"}), 0)
        links = 0
        for folder, folders, files in os.walk(tree):
            for name in folders + files:
                path = os.path.join(folder, name)
                self.assertNotIn(SECRET, name)
                if os.path.islink(path):
                    links += 1
                    target = os.path.normpath(os.path.join(folder, os.readlink(path)))
                    self.assertTrue(target.startswith(tree + "/sys/"), path)
                elif not os.path.isdir(path):
                    self.assertTrue(os.path.isfile(path), path)
                    self.assertNotIn(SECRET, pathlib.Path(path).read_text(errors="replace"), path)
        self.assertGreater(links, 0)
        self.assertEqual(pathlib.Path(tree + "/environ").read_text(), "FI_X=1\n")
        self.assertFalse(os.path.exists(tree + "/etc/resolv.conf"))

    def test_strange_trees_neither_crash_nor_hang_it(self):
        root = self.unpack("cpu-only-pod")
        net = root + "/sys/class/net"
        os.symlink("ring", net + "/ring")
        os.symlink("/etc", net + "/out")
        os.mkdir(net + "/pipe")
        os.mkfifo(net + "/pipe/mtu")
        os.remove(root + "/proc/self/uid_map")
        os.mkfifo(root + "/proc/self/uid_map")
        pathlib.Path(root + "/etc/hosts").write_bytes(bytes(range(256)) * 20000)
        pathlib.Path(root + "/proc/net/route").write_bytes(b"\xff\x00\n" * 100000)
        # Links to one folder each, as sysfs has them: real folders take a minute to make and to remove.
        infiniband = root + "/sys/class/infiniband"
        os.makedirs(infiniband + "/mlx5_0/ports/1")
        os.mkdir(net + "/net0")
        for number in range(1, 10000):
            os.symlink("mlx5_0", "%s/mlx5_%d" % (infiniband, number))
            os.symlink("net0", "%s/net%d" % (net, number))
        for flags in (("--root", root), ("--root", root, "--capture", self.path("copy"))):
            finished = self.run_muster("doctor", *flags, timeout_s=60)
            self.assertIn(finished.code, (0, 1), finished)
        self.assertFalse(os.path.lexists(self.path("copy") + "/sys/class/net/out"))


class Libraries(test_probe.ProbeTest):
    """What muster-probe tells, with libraries that are made up."""
    OF_LIBRARIES = {"gpu_lost", "ecc_xid", "fabric_state", "mig_mode", "gpu_busy", "throttle"}

    def found(self, *command, env=None, code=None):
        finished = self.start_command([*(command or (harness.BINARY,)), "doctor", "--json"], env=env).finish()
        if code is not None:
            self.expect_code(finished, code)
        findings = {finding["id"]: finding for finding in json.loads(finished.out)["findings"]}
        return {name: finding for name, finding in findings.items() if name in self.OF_LIBRARIES}

    def test_gpus_that_are_ill(self):
        folder = self.library("fake_nvml.c", "libnvidia-ml.so.1")
        found = self.found(env={"LD_LIBRARY_PATH": folder}, code=1)
        self.assertEqual({name: finding["severity"] for name, finding in found.items()},
                         {"ecc_xid": "error", "fabric_state": "warning", "mig_mode": "warning", "gpu_busy": "warning",
                          "throttle": "warning"})
        self.assertIn("GPU 1 (0000:c1:00.0): bad rows", found["ecc_xid"]["what"])

    def test_nvml_without_a_driver_on_a_node_without_gpus(self):
        self.assertEqual(self.found(env={"LD_LIBRARY_PATH": self.library("fake_nvml.c", "libnvidia-ml.so.1", "-DNO_DRIVER")}), {})

    def test_a_library_that_hangs_is_left_alone(self):
        folder = self.library("fake_nccl.c", "libnccl.so.2")
        self.found(env={"LD_LIBRARY_PATH": folder, "NCCL_SOCKET_IFNAME": "hang"})

    def test_libfabric_without_the_provider_of_a_device(self):
        """The files of a pod with EFA in place of this machine's, and the libfabric that is here."""
        if os.geteuid() != 0:
            self.skip_because("namespaces", "mounts need root")
        tree, dev = self.path("tree"), self.path("dev")
        machine_tree.unpack(os.path.join(MACHINES, "aws-p5-pod.tree"), tree)
        os.mkdir(dev)
        mounts = ("mount --bind %s/sys /sys; mount -t tmpfs tmpfs %s; mknod -m 666 %s/null c 1 3; cp -r %s/dev/infiniband %s; mount --bind %s /dev; "
                  'exec "$0" doctor --json' % (tree, dev, dev, tree, dev, dev))
        # Its GPUs are not here, and without any TCP will do.
        finished = self.expect_code(self.start_command(["unshare", "--mount", "sh", "-ec", mounts, harness.BINARY]).finish(), 0)
        missing = [finding["what"] for finding in json.loads(finished.out)["findings"]
                   if finding["id"] == "lib_missing" and finding["severity"] == "info"]
        self.assertRegex("\n".join(missing), r"(?m)^rdmap\w+ is here, and libfabric [12]\.\d+ \(/.*libfabric.*\) offers no provider efa: ")

    def alone(self):
        """The binary without muster-probe beside it."""
        os.mkdir(self.path("bin"))
        shutil.copy(harness.BINARY, self.path("bin", "muster"))
        return self.path("bin", "muster")

    def test_without_muster_probe(self):
        folder = self.library("fake_nvml.c", "libnvidia-ml.so.1")
        self.assertEqual(self.found(self.alone(), env={"LD_LIBRARY_PATH": folder}), {})

    def test_muster_probe_on_the_path(self):
        """The first one; its answer counts, whatever wrote it, if it is one."""
        binary, path = self.alone(), self.path("bin") + ":/usr/bin:/bin"
        lost = '{"nvml": {"gpus": [{"index": 3, "problem": "it is lost"}]}}'
        for answer, found in ((lost, {"gpu_lost"}), ("nonsense", set()), ("", set())):
            self.write("bin/muster-probe", "#!/bin/sh\n[ $1 = gpus ] && echo '%s'\n" % answer, 0o755)
            self.assertEqual(set(self.found("env", "PATH=" + path, "sh", "-c", 'cd /; exec "$0" "$@"', binary)), found)
