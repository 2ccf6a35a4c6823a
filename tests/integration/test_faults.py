"""Faults of the surroundings: full disks, used-up descriptors, taken ports, garbage from the network."""
import os
import re
import resource
import shutil
import socket

import harness
from store_client import VALIDATE, StoreClient

WAITS = 'echo "at $MASTER_ADDR $MASTER_PORT"\nwhile [ ! -e "$OUT/end" ]; do sleep 0.02; done'


class Start(harness.MusterTest):
    def test_a_script_that_is_missing_is_named(self):
        finished = self.run_muster("run", "no_such_script.py")
        self.assertNotEqual(finished.code, 0)
        self.assertIn("no_such_script.py", finished.last_error_line + finished.err)

    def test_an_interpreter_that_is_missing_is_named(self):
        finished = self.run_muster("run", self.py("print(1)"), env={"PYTHON_EXEC": "/nowhere/python"})
        self.expect_code(finished, 127)
        self.assertIn("/nowhere/python", finished.err)

    def test_no_python_on_the_path(self):
        finished = self.run_muster("run", self.py("print(1)"), env={"PATH": self.dir})
        self.assertNotEqual(finished.code, 0)
        self.assertRegex(finished.err, "python")

    def test_a_script_without_interpreter_line_that_fails(self):
        path = self.write("bad-interpreter", "#!/nowhere/interpreter\n", 0o755)
        finished = self.expect_code(self.run_muster("run", path), 127)
        self.assertIn(path, finished.err)

    def test_a_process_limit(self):
        """As an ordinary user with a limit of processes that is reached while workers are started."""
        if os.getuid() != 0:
            self.skip_because("root")
        os.chmod(self.dir, 0o777)
        binary = shutil.copy(harness.BINARY, self.path("muster"))  # where that uid can reach it

        def somebody():
            resource.setrlimit(resource.RLIMIT_NPROC, (12, 12))
            os.setgid(65534)
            os.setuid(54321)
        finished = self.start_command([binary, "run", "--nproc-per-node", "40", "sleep", "300"], before_exec=somebody).finish()
        self.expect_code(finished, 75)
        self.assertIn("Resource temporarily unavailable", finished.err)
        self.assertIn("the limit of processes and threads is 12 for this user (ulimit -u)", finished.last_error_line)


class Disk(harness.MusterTest):
    def test_a_log_dir_that_cannot_be_written_is_told_at_once(self):
        self.write("file", "")
        for place in (self.path("file", "logs"), "/proc/logs"):
            finished = self.run_muster("run", "--log-dir", place, "--redirects", 3, self.sh('echo >"$OUT/ran"'))
            self.expect_code(finished, 78)
            self.assertIn(place, finished.err)
            self.assertFalse(self.exists("ran"))

    def test_a_temporary_folder_that_is_not_there_costs_a_warning(self):
        finished = self.run_muster("run", "--tee", 3, self.sh('echo >"$OUT/ran"'), env={"TMPDIR": "/no/such/folder"})
        self.expect_code(finished, 0)
        self.assertRegex(finished.err, "W temp.elsewhere error=.*TMPDIR: access '/no/such/folder'.* action=\"going on in /tmp\"")
        self.assertTrue(self.exists("ran"))
        shutil.rmtree(re.search("output.files folder=(/tmp/torchelastic_[^/]+)", finished.err).group(1))

    def test_a_read_only_log_dir(self):
        os.mkdir(self.path("logs"))
        mounts = 'mount -t tmpfs -o ro tmpfs "$OUT/logs"'
        finished = self.run_muster("run", "--log-dir", self.path("logs"), "--redirects", 3, self.sh('echo >"$OUT/ran"'), mounts=mounts)
        self.assertNotEqual(finished.code, 0, finished)
        self.assertIn("Read-only file system", finished.err)
        self.assertFalse(self.exists("ran"))

    def test_without_files_a_read_only_root_is_enough(self):
        mounts = 'mount -t tmpfs -o ro tmpfs "$OUT/tmp"'
        finished = self.run_muster("run", "--nproc-per-node", 2, self.sh("echo works"), mounts=mounts)
        self.assertEqual(self.expect_code(finished, 0).out.count("works"), 2)

    def test_a_full_disk_does_not_end_the_training(self):
        os.mkdir(self.path("logs"))
        worker = self.sh('yes "a line of the log that fills the disk" | head -c 3000000\necho "the end" >&2\necho >"$OUT/finished.$RANK"')
        finished = self.run_muster("run", "--nproc-per-node", 2, "--log-dir", self.path("logs"), "--tee", 1, worker,
                                   mounts='mount -t tmpfs -o size=1m tmpfs "$OUT/logs"')
        self.expect_code(finished, 0)
        self.assertTrue(self.exists("finished.0") and self.exists("finished.1"))
        self.assertIn("No space left on device", finished.err)
        self.assertEqual(finished.out.count("a line of the log"), 2 * (3000000 // 38))

    def test_the_working_directory_may_be_gone(self):
        os.mkdir(self.path("away"))
        command = ["sh", "-c", 'cd "$OUT/away" && rmdir "$OUT/away" && exec "$@"', "sh"] + self.command(["run", "true"])
        self.expect_code(self.start_command(command).finish(), 0)


class Descriptors(harness.MusterTest):
    @staticmethod
    def few(soft, hard):
        return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    def test_a_low_limit_is_raised(self):
        finished = self.run_muster("run", "--nproc-per-node", 60, "--tee", 3, "--log-dir", self.path("logs"), self.sh("echo x"),
                                   before_exec=self.few(64, 4096))
        self.assertEqual(self.expect_code(finished, 0).out.count(" x\n"), 60)

    def test_a_limit_that_cannot_be_raised_is_named(self):
        finished = self.run_muster("run", "--nproc-per-node", 60, "--tee", 3, "--log-dir", self.path("logs"), "true",
                                   before_exec=self.few(64, 64))
        self.expect_code(finished, 78)
        self.assertEqual(finished.last_error_line, "muster: 60 workers need 272 file descriptors, but the limit is 64: "
                         "raise it (ulimit -n, LimitNOFILE=)")
        self.assertEqual(self.marked(), {})

    def test_a_limit_too_low_for_the_store_is_told(self):
        finished = self.run_muster("run", "--nproc-per-node", 8, "true", before_exec=self.few(72, 72))
        self.expect_code(finished, 0)
        self.assertRegex(finished.err, r"W port.few_descriptors limit=72 wanted=80 ranks=8 ")

    def test_the_store_survives_more_clients_than_descriptors(self):
        agent = self.start("run", self.sh(WAITS), before_exec=self.few(64, 64))
        host, port = agent.wait_for(r"^at (\S+) (\d+)$").groups()
        many = []
        for _ in range(100):
            many.append(socket.create_connection((host, int(port)), 10))
        for end in many:
            end.close()
        with StoreClient(host, int(port)) as client:
            self.assertTrue(client.ping())
        self.write("end", "")
        self.expect_code(agent.finish(), 0)


class Ports(harness.MusterTest):
    def test_a_port_that_is_taken_is_named(self):
        with socket.create_server(("0.0.0.0", 0)) as taken:
            port = taken.getsockname()[1]
            finished = self.run_muster("--nnodes", 1, "--rdzv-backend", "static", "--master-addr", "127.0.0.1", "--master-port", port,
                                       "--no-python", "true", as_torchrun=True)
            self.expect_code(finished, 1)
            self.assertIn(str(port), finished.err)
            self.assertIn("Address already in use", finished.err)

    def test_the_flag_that_asked_for_a_taken_port_is_named(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            for flags, name in ((["--master-port", port], "--master-port"),
                                (["--rdzv-backend", "c10d", "--rdzv-endpoint", f"127.0.0.1:{port}"], "--rdzv-endpoint")):
                with self.subTest(flag=name):
                    finished = self.expect_code(self.run_muster("run", *flags, "true"), 71)
                    self.assertEqual(finished.last_error_line, f"muster: the port of {name} cannot be had (any free one is used without a port "
                                     f"there): opening the job port: bind 127.0.0.1:{port}: Address already in use")

    def test_two_jobs_on_one_machine_do_not_collide(self):
        worker = self.sh(WAITS)
        agents = [self.start("run", worker) for _ in range(3)]
        ports = {agent.wait_for(r"^at (\S+) (\d+)$").group(2) for agent in agents}
        self.assertEqual(len(ports), 3)
        self.write("end", "")
        for agent in agents:
            self.expect_code(agent.finish(), 0)


class Network(harness.MusterTest):
    GARBAGE = [b"\0" * 64, b"\xff" * 64, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"SSH-2.0-scan\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc",
               VALIDATE + b"\x63", VALIDATE + b"\x01" + b"\xff" * 8, VALIDATE + b"\x06" + b"\xff" * 8, VALIDATE + VALIDATE, b"\x00\xce\xf7\x85\x3d"]
    HALVES = [b"\0", VALIDATE[:3], VALIDATE, VALIDATE + b"\x01\x05\0\0", VALIDATE + b"\x01" + b"\x05" + b"\0" * 7 + b"ab", b"\x03\x05", b"G"]

    def test_garbage_and_half_messages_disturb_nobody(self):
        agent = self.start("run", "--nproc-per-node", 2, self.sh(WAITS))
        host, port = agent.wait_for(r"at (\S+) (\d+)$").groups()
        port = int(port)
        halves = []
        with StoreClient(host, port) as client:
            client.set("/key", "value")
            for data in self.HALVES * 3:
                halves.append(socket.create_connection((host, port), 10))
                halves[-1].sendall(data)
            for data in self.GARBAGE:
                with StoreClient(host, port, validate=False, timeout_s=5) as stranger:
                    stranger.send(data)
                    self.assertTrue(client.ping(), data)
                    stranger.socket.shutdown(socket.SHUT_WR)
                    self.assertTrue(stranger.is_closed_by_server(), data)
                self.assertEqual(client.get("/key"), b"value")
            with StoreClient(host, port) as another:
                self.assertEqual(another.get("/key"), b"value")
        for end in halves:
            end.close()
        self.write("end", "")
        self.expect_code(agent.finish(), 0)

    def test_connections_that_stay_open_do_not_keep_the_job(self):
        agent = self.start("run", self.sh(WAITS))
        host, port = agent.wait_for(r"^at (\S+) (\d+)$").groups()
        idle = socket.create_connection((host, int(port)), 10)
        waiting = StoreClient(host, int(port))
        waiting.request(6, b"\x01" + b"\0" * 7 + b"\x01" + b"\0" * 7 + b"k")
        self.write("end", "")
        self.expect_code(agent.finish(20), 0)
        idle.close()
        waiting.close()
