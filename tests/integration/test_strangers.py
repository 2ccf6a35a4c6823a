"""Those who have proved nothing: what they hold at the job port is bounded, apart from what the job needs (docs/security.md)."""
import os
import shutil
import socket

from harness import BINARY, unshare_command, wait_until
from test_rsh import SECRET, RshTest

SILENT = b""
HALF_A_STORE_REQUEST = b"\0"
CLIENT_HELLO_OF_128_KIB = bytes.fromhex("160301000401020100")
HALF_OPEN_CALL = b"MRSH8T\r\n"
HALF_A_FRAME = b"\0\0\x3f\xff{" + b" " * 16000


class StrangersTest(RshTest):
    def secret(self):
        return {"MUSTER_JOB_SECRET_FILE": self.write("secret", SECRET, 0o600)}

    def strangers(self, count, word):
        """So many connections to the job port that say that and no more; until the end of the test."""
        held = []
        for _ in range(count):
            one = socket.create_connection(self.port, timeout=20)
            self.addCleanup(one.close)
            one.sendall(word)
            held.append(one)
        return held

    def agent(self):
        """The pid of node-1's."""
        return next(pid for pid, line in self.marked().items() if "--node-name=node-1" in line and "guard" not in line)

    def memory_mib(self):
        with open("/proc/%d/status" % self.agent()) as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmRSS")) / 1024

    def descriptors(self):
        return len(os.listdir("/proc/%d/fd" % self.agent()))

    def test_the_job_starts_again_whatever_they_hold(self):
        worker = ('env >"$OUT/env.$RANK.new"; mv "$OUT/env.$RANK.new" "$OUT/env.$RANK"\n[ "$TORCHELASTIC_RESTART_COUNT" = 0 ] || exit 0\n'
                  'while [ ! -e "$OUT/go" ]; do sleep 0.05; done; [ "$RANK" = 0 ] || exit 3; exec sleep 1000')
        self.job = self.start_command(["sh", "-c", 'ulimit -n 400; exec "$@"', "-", *self.command(
            ("local", "--nodes", 2, "--max-restarts", 1, "--no-python", self.sh(worker)))], env=self.secret())
        wait_until(lambda: self.exists("env.0") and self.exists("env.1"), "both workers run")
        worker = self.worker_environment(0)
        self.port = (worker["MASTER_ADDR"], int(worker["MASTER_PORT"]))
        for word in (SILENT, HALF_A_STORE_REQUEST, CLIENT_HELLO_OF_128_KIB[:7], b"\0\0\0"):
            self.strangers(150, word)
        self.write("go", "")
        self.expect_code(self.job.finish(), 0)

    def test_the_jobs_own_calls_come_through(self):
        self.start_job(env=self.secret())
        held = self.strangers(1500, HALF_OPEN_CALL)
        self.assertEqual(self.call("node-1", "echo here").out, "here\n")
        self.assertLess(self.descriptors(), 1500 + 100)
        self.assertEqual(held[-1].send(b"\x16"), 1)
        self.end_job()

    def test_they_get_little_memory(self):
        self.start_job(env=self.secret())
        before = self.memory_mib()
        for word in (CLIENT_HELLO_OF_128_KIB, b"\x16\x03\x01\x40\x00\x01\x00\x3f\xfc" + b"x" * 16000):
            self.strangers(500, word)
        self.call("node-1", "true")  # all of them were looked at
        self.assertLess(self.memory_mib() - before, 64)
        self.end_job()

    def test_without_a_secret_too(self):
        self.start_job()
        before = self.memory_mib()
        self.strangers(500, b"\0\x0f\xff\xff{" + b" " * 16000)
        self.strangers(500, HALF_A_FRAME)
        self.call("node-1", "true")
        self.assertLess(self.memory_mib() - before, 64)
        self.end_job()

    def test_they_fill_no_log(self):
        self.start_job(env=self.secret())
        for word in (b"\xff", b"\0\0\0\x02{}", b"MRSH8C\r\n"):
            for _ in range(200):
                with socket.create_connection(self.port, timeout=20) as one:
                    one.sendall(word)
        log = self.end_job().err
        self.assertGreater(log.count("port.client_dropped"), 0)
        self.assertLess(log.count("client_dropped") + log.count("link.dropped") + log.count("rsh.refused"), 100)


class OverflowUserTest(RshTest):
    def test_who_has_no_number_here_is_not_taken_for_us(self):
        """In the agent's name space of users everybody else on the machine is shown as 65534, which the agent is, too."""
        as_1000 = ["setpriv", "--reuid", "1000", "--regid", "1000", "--clear-groups"]
        nobody = [*as_1000, "unshare", "--user", "--map-user=65534", "--map-group=65534"]
        if os.geteuid() != 0 or shutil.which("setpriv") is None or unshare_command() is None:
            self.skip_because("name spaces of users: needs root")
        for folder in (self.dir, self.temp):
            os.chmod(folder, 0o777)
        binary = self.path("muster")
        shutil.copy(BINARY, binary)
        os.chmod(binary, 0o755)
        words = ("local", "--nodes", 2, "--rsh", "--no-python", self.sh(
            '%s rsh node-2 "touch $OUT/did.own"; env >"$OUT/env.$RANK.new"; mv "$OUT/env.$RANK.new" "$OUT/env.$RANK"\n'
            'while [ ! -e "$OUT/over" ]; do sleep 0.05; done' % binary))
        self.job = self.start_command([*nobody, binary, *(str(word) for word in words)])
        self.job.wait_for("round.running", "err")  # shows the log when it does not come
        wait_until(lambda: self.exists("env.0") and self.exists("env.1"), "both workers run")
        agent = {"MUSTER_RSH_AGENT": self.worker_environment(0)["MUSTER_RSH_AGENT"]}
        self.assertTrue(self.exists("did.own"))
        for uid in ("2000", "0"):
            call = ["setpriv", "--reuid", uid, "--clear-groups", binary, "rsh", "node-2", 'touch "$OUT/did"']
            self.expect_code(self.start_command(call, env=agent).finish(), 255)
        self.assertFalse(self.exists("did"))
        self.write("over", "")
        self.expect_code(self.job.finish(), 0)


if __name__ == "__main__":
    import unittest
    unittest.main()
