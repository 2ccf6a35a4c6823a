"""Files beside those of other users: folders of our own, names that nobody foresees, no links of others, no waiting for pipes."""
import glob
import os
import stat

import harness

# Tells the mode and the name of the folder of its error file, leaves a file there, and fails until the third attempt.
TELLS_FOLDER = """folder=$(dirname "$TORCHELASTIC_ERROR_FILE")
stat -c '%a %n' "$folder"
[ "$TORCHELASTIC_RESTART_COUNT" = 2 ] && exit 0
echo '{"message": "boom"}' >"$TORCHELASTIC_ERROR_FILE"
exit 3"""


def mode_of(path):
    return stat.S_IMODE(os.stat(path).st_mode)


class Folders(harness.MusterTest):
    def setUp(self):
        super().setUp()
        before = os.umask(0o022)
        self.addCleanup(os.umask, before)
        os.chmod(self.temp, 0o1777)

    def test_error_files_lie_where_nobody_else_can_enter_and_each_attempt_has_another_name(self):
        finished = self.expect_code(self.run_muster("run", "--max-restarts", 2, self.sh(TELLS_FOLDER)), 0)
        told = [line.split(" ", 1) for line in finished.out.splitlines()]
        self.assertEqual([mode for mode, _ in told], ["700"] * 3)
        self.assertEqual(len({name for _, name in told}), 3)
        for _, name in told:
            self.assertRegex(name, "^%s/torchelastic_[^/]+$" % self.temp)
        self.assertEqual(os.listdir(self.temp), [])

    def test_an_agent_that_is_killed_leaves_none(self):
        agent = self.start("run", self.sh('touch "$OUT/runs"\nexec sleep 1000'))
        harness.wait_until(lambda: self.exists("runs") and len(harness.children_of(agent.agent_pid())) == 2, "its worker and its guardian run")
        # That of its error files and that of its sockets.
        harness.wait_until(lambda: len(os.listdir(self.temp)) == 2, "it has its folders")
        agent.signal(9)
        harness.wait_until(lambda: not os.listdir(self.temp), "the guardian has removed them")
        agent.finish()

    def test_what_the_report_names_stays_and_so_does_its_folder(self):
        finished = self.expect_code(self.run_muster("run", self.sh(TELLS_FOLDER)), 3)
        left, = glob.glob(os.path.join(self.temp, "*", "*"))
        self.assertIn(left, finished.err)
        self.assertEqual(mode_of(os.path.dirname(left)), 0o700)

    def test_logs_without_a_log_dir_are_the_users_alone(self):
        self.expect_code(self.run_muster("run", "--tee", 3, self.sh("echo token=swordfish")), 0)
        log, = glob.glob(os.path.join(self.temp, "torchelastic_*", "*", "attempt_0", "0", "stdout.log"))
        top, = os.listdir(self.temp)
        self.assertTrue(log.startswith(os.path.join(self.temp, top)))
        self.assertEqual(mode_of(os.path.join(self.temp, top)), 0o700)

    def test_a_log_dir_that_was_named_is_shared_as_the_umask_says(self):
        self.expect_code(self.run_muster("run", "--tee", 3, "--log-dir", self.path("logs"), self.sh("echo shared")), 0)
        log, = glob.glob(self.path("logs", "*", "attempt_0", "0", "stdout.log"))
        self.assertEqual(mode_of(log), 0o644)
        while log != self.path("logs"):
            log = os.path.dirname(log)
            self.assertEqual(mode_of(log), 0o755)

    def test_the_words_of_the_guardian_tell_no_name_of_a_folder(self):
        """Everybody reads command lines, also before the folder is made."""
        os.mkfifo(self.path("end"))
        agent = self.start("run", self.sh('echo "mark $MUSTER_AGENT_ID"\nread word <"$OUT/end"'))
        mark = agent.wait_for(r"mark (\w+)\n").group(1)

        def words_of_guardian():
            for pid in harness.children_of(agent.agent_pid()):
                with open("/proc/%d/cmdline" % pid) as file:
                    words = file.read().split("\0")
                if "guard" in words:
                    return " ".join(words)
            return None
        words = harness.wait_until(words_of_guardian, "the guardian runs")
        self.assertNotIn(self.temp, words)
        self.assertNotIn(mark[:16], words)
        with open(self.path("end"), "w") as file:
            file.write("end\n")
        self.expect_code(agent.finish(), 0)


class LastWords(harness.MusterTest):
    """The termination log and the error file of an outer launcher, which may be in a folder of others."""

    def ways(self, path):
        yield "termination log", ["--termination-log", path], {}
        yield "error file", [], {"TORCHELASTIC_ERROR_FILE": path}

    def test_a_pipe_that_nobody_reads_holds_up_nobody(self):
        os.mkfifo(self.path("pipe"))
        for name, words, env in self.ways(self.path("pipe")):
            with self.subTest(name):
                finished = self.expect_code(self.run_muster("run", *words, self.sh("exit 5"), env=env), 5)
                said, = [line for line in finished.err.splitlines() if "it is a pipe that nobody reads" in line]
                self.assertIn(self.path("pipe"), said)

    def test_a_pipe_that_is_full_holds_up_nobody(self):
        os.mkfifo(self.path("pipe"))
        reader = os.open(self.path("pipe"), os.O_RDWR | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        while True:
            try:
                os.write(reader, b"x" * 4096)
            except BlockingIOError:
                break
        for name, words, env in self.ways(self.path("pipe")):
            with self.subTest(name):
                finished = self.expect_code(self.run_muster("run", *words, self.sh("exit 5"), env=env), 5)
                self.assertIn("it is full, and nobody reads it", finished.err)

    def test_a_reader_gets_them_through_a_pipe(self):
        os.mkfifo(self.path("pipe"))
        reader = os.open(self.path("pipe"), os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        self.expect_code(self.run_muster("run", "--termination-log", self.path("pipe"), self.sh("exit 5")), 5)
        self.assertIn(b"exit code 5", os.read(reader, 65536))

    def test_a_command_line_that_is_wrong_is_told_at_once_too(self):
        os.mkfifo(self.path("pipe"))
        self.expect_code(self.run_muster("run", "--nnodes", "x", "true", env={"TORCHELASTIC_ERROR_FILE": self.path("pipe")}), 64)

    def test_a_link_that_anybody_may_have_set_is_not_followed(self):
        os.mkdir(self.path("open"))
        os.chmod(self.path("open"), 0o777)
        self.write("victim", "precious")
        os.symlink(self.path("victim"), self.path("open", "link"))
        for name, words, env in self.ways(self.path("open", "link")):
            with self.subTest(name):
                finished = self.expect_code(self.run_muster("run", *words, self.sh("exit 5"), env=env), 5)
                self.assertIn("it is a link that others may set", finished.err)
        self.assertEqual(self.read("victim"), "precious")

    def test_devices_and_links_of_the_users_own_are_written(self):
        self.expect_code(self.run_muster("run", "--termination-log", "/dev/null", self.sh("exit 5")), 5)
        os.symlink(self.path("words"), self.path("link"))
        self.expect_code(self.run_muster("run", "--termination-log", self.path("link"), self.sh("exit 5")), 5)
        self.assertIn("exit code 5", self.read("words"))
        finished = self.expect_code(self.run_muster("run", "--termination-log", "/dev/stderr", self.sh("exit 5")), 5)
        self.assertNotIn("termination_log.failed", finished.err)
