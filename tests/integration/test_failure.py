"""When a job fails: who failed first, why, and where that is told."""
import json
import os
import signal
import time

import harness

MEMORY_CGROUP = "/sys/fs/cgroup/memory"
LIMIT_BYTES = (768 if harness.is_sanitized() else 96) << 20


class Summary(harness.MusterTest):
    def test_the_last_line_names_the_rank_that_failed_first(self):
        worker = self.sh('[ "$RANK" = 1 ] && { echo "no data" >&2; exit 3; }\nsleep 300')
        finished = self.expect_code(self.run_muster("run", "--nproc-per-node", 3, worker), 3)
        self.assertRegex(finished.last_error_line, r"^muster: rank 1 on %s failed first: .*exit code 3" % harness.short_host_name())
        self.assertEqual(finished.out, "")

    def test_a_signal_is_named(self):
        worker = self.sh('[ "$RANK" = 0 ] && kill -SEGV $$\nsleep 300')
        finished = self.expect_code(self.run_muster("run", "--nproc-per-node", 2, worker), 139)
        self.assertRegex(finished.last_error_line, r"^muster: rank 0 on \S+ failed first: .*SIGSEGV")

    def test_the_first_failure_is_told_from_those_it_caused(self):
        worker = self.sh('[ "$RANK" = 2 ] && exit 5\ntrap "exit 6" TERM\nsleep 300 & wait')
        finished = self.expect_code(self.run_muster("run", "--nproc-per-node", 3, worker), 5)
        self.assertRegex(finished.last_error_line, r"^muster: rank 2 on ")

    def test_the_last_lines_of_the_failed_rank_are_repeated(self):
        worker = self.sh('[ "$RANK" = 1 ] && { echo "the real reason" >&2; exit 3; }\n'
                         'i=0; while [ $i -lt 500 ]; do echo "noise $i" >&2; i=$((i+1)); done; sleep 300')
        finished = self.expect_code(self.run_muster("run", "--nproc-per-node", 2, worker), 3)
        end = finished.err.splitlines()[-40:]
        self.assertTrue(any("the real reason" in line for line in end), finished)

    def test_the_last_lines_of_a_rank_that_is_not_shown_are_told_too(self):
        worker = self.sh('[ "$RANK" = 1 ] && { echo "shard 7 is empty" >&2; exit 3; }\nsleep 300')
        for hidden in (("--local-ranks-filter", 0), ("--redirects", 3), ("--local-ranks-filter", 0, "--tee", 3)):
            finished = self.expect_code(self.run_muster("run", "--log-level", "off", "--nproc-per-node", 2, *hidden, worker), 3)
            self.assertIn("    shard 7 is empty\n", finished.err)
            self.assertEqual(finished.err.count("shard 7"), 1, finished)

    def test_a_signal_that_was_passed_on_did_not_come_from_elsewhere(self):
        agent = self.start("run", "--nproc-per-node", 2, self.sh("echo up\nexec sleep 300"))
        agent.wait_for(r"(up\n.*){2}")
        agent.signal(signal.SIGUSR1)
        finished = self.expect_code(agent.finish(), 128 + signal.SIGUSR1)
        self.assertRegex(finished.last_error_line, "SIGUSR1 .*killed by a signal that muster passed on")

    def test_a_container_that_is_short_of_something_is_no_error_of_the_user(self):
        worker = self.sh('echo "OSError: [Errno 24] Too many open files" >&2; exit 1')
        finished = self.expect_code(self.run_muster("run", worker), 1)
        self.assertRegex(finished.last_error_line, r"exit code 1 \(infrastructure: the limit of open files is \d+")
        shared = "mount -t tmpfs -o size=1m none /dev/shm"
        worker = self.sh("kill -BUS $$")
        finished = self.expect_code(self.run_muster("run", worker, mounts=shared), 128 + signal.SIGBUS)
        self.assertRegex(finished.last_error_line, r"SIGBUS \(crashed.*; /dev/shm has only 1 MiB")

    def test_success_says_nothing(self):
        finished = self.expect_code(self.run_muster("run", "--nproc-per-node", 2, "--log-level", "warning", "true"), 0)
        self.assertNotIn("muster: ", finished.err)

    def test_a_stop_is_no_failure(self):
        agent = self.start("run", "--nproc-per-node", 2, self.sh("echo up\nexec sleep 300"))
        agent.wait_for(r"(up\n.*){2}")
        agent.signal(15)
        finished = self.expect_code(agent.finish(), 143)
        self.assertNotIn("failed first", finished.err)
        self.assertIn("SIGTERM", finished.last_error_line)

    def stopped_after_a_failure(self, restarts):
        worker = self.sh("[ \"$RANK\" = 0 ] || { until [ -e \"$OUT/deaf\" ]; do sleep 0.05; done; exit 3; }\n"
                         "trap '' TERM\ntouch \"$OUT/deaf\"\nwhile :; do sleep 0.05; done")
        agent = self.start("run", "--nproc-per-node", 2, "--max-restarts", restarts, worker)
        agent.wait_for("worker.exit rank=1", "err")
        agent.signal(15)
        time.sleep(0.7)
        agent.signal(15)
        return agent.finish()

    def test_a_stop_after_a_failure_does_not_hide_it(self):
        finished = self.expect_code(self.stopped_after_a_failure(restarts=0), 3)
        self.assertRegex(finished.last_error_line, "^muster: rank 1 on .* failed first: exit code 3")

    def test_a_stop_after_a_failure_that_would_not_have_ended_the_job(self):
        finished = self.expect_code(self.stopped_after_a_failure(restarts=3), 143)
        self.assertRegex(finished.last_error_line, r"^muster: stopped by SIGTERM .*, 1 failed \(rank 1: exit code 3")

    def test_as_torchrun_the_layout_is_torchruns(self):
        worker = self.sh('[ "$RANK" = 1 ] && exit 3\nsleep 300', "train")
        finished = self.expect_code(self.run_muster("--nproc-per-node", 2, "--no-python", worker, as_torchrun=True), 1)
        self.expect_lines([r"^torch\.distributed\.elastic\.multiprocessing\.errors\.ChildFailedError", r"^=+$",
                           r"^\S*train FAILED$", r"^Failures:$", r"^Root Cause \(first observed failure\):$", r"^\[\d+\]:$",
                           r"^  time      : \d{4}-\d\d-\d\d_\d\d:\d\d:\d\d$", r"^  host      : ",
                           r"^  rank      : 1 \(local_rank: 1\)$", r"^  exitcode  : 3 \(pid: \d+\) ?$",
                           r"^  error_file: <N/A>$", r"^  traceback : ", r"^=+$"], finished.err)


class TerminationLog(harness.MusterTest):
    def setUp(self):
        super().setUp()
        self.log = self.write("termination-log", "")

    def test_it_is_written_in_place(self):
        """The kubelet mounts it into the container: a rename would put the message where nobody looks."""
        before = os.stat(self.log).st_ino
        worker = self.sh('[ "$RANK" = 1 ] && { echo "ValueError: no data" >&2; exit 3; }\nsleep 300')
        finished = self.run_muster("run", "--nproc-per-node", 2, "--termination-log", self.log, worker)
        self.expect_code(finished, 3)
        self.assertEqual(os.stat(self.log).st_ino, before)
        message = self.read("termination-log")
        self.assertEqual(message.splitlines()[0], finished.last_error_line)
        self.assertIn("ValueError: no data", message)

    def test_it_is_never_too_long(self):
        worker = self.py("import sys\nfor i in range(2000):\n    sys.stderr.write('traceback line %d %s\\n' % (i, '\u2603' * 100))\nsys.exit(1)\n")
        self.expect_code(self.run_muster("run", "--termination-log", self.log, worker), 1)
        with open(self.log, "rb") as file:
            message = file.read()
        self.assertLessEqual(len(message), 4096)
        self.assertGreater(len(message), 3000)
        self.assertIn("traceback line 1999", message.decode())  # and it is valid UTF-8

    def test_an_old_message_does_not_remain(self):
        self.write("termination-log", "x" * 4096)
        self.expect_code(self.run_muster("run", "--termination-log", self.log, self.sh("exit 2")), 2)
        self.assertNotIn("xxx", self.read("termination-log"))

    def test_one_that_cannot_be_written_changes_nothing(self):
        finished = self.run_muster("run", "--termination-log", "/proc/no/such", self.sh("exit 4"))
        self.expect_code(finished, 4)
        self.assertIn("/proc/no/such", finished.err)

    def test_a_program_that_cannot_be_started_is_told_there(self):
        self.expect_code(self.run_muster("run", "--termination-log", self.log, "/nowhere/program"), 127)
        self.assertIn("/nowhere/program", self.read("termination-log"))


class ErrorFiles(harness.MusterTest):
    RECORD = {"message": {"message": "ValueError: bad shard",
                          "extraInfo": {"py_callstack": "Traceback (most recent call last):\n  in read_shard\nValueError: bad shard",
                                        "timestamp": "1795272747"}}}

    def failing(self, content):
        self.write("record", content)
        return self.sh('[ "$RANK" = 1 ] && { cat "$OUT/record" >"$TORCHELASTIC_ERROR_FILE"; exit 1; }\nsleep 300')

    def test_its_message_is_in_the_summary(self):
        finished = self.run_muster("run", "--nproc-per-node", 2, self.failing(json.dumps(self.RECORD)))
        self.expect_code(finished, 1)
        self.assertIn("ValueError: bad shard", finished.last_error_line)
        self.assertIn("in read_shard", finished.err)

    def test_the_plain_form_is_understood(self):
        finished = self.run_muster("run", "--nproc-per-node", 2, self.failing('{"message": "it broke", "timestamp": 1795272747}'))
        self.assertIn("it broke", self.expect_code(finished, 1).last_error_line)

    def test_a_broken_one_does_not_hide_the_failure(self):
        """torchrun reports its own JSONDecodeError instead."""
        for content in ('{"message": ', "", "[]", "\xff", "{}", '{"message": 3}'):
            finished = self.run_muster("run", "--nproc-per-node", 2, self.failing(content))
            self.assertRegex(self.expect_code(finished, 1).last_error_line, "^muster: rank 1 on .*exit code 1")

    def test_the_reply_file_is_a_copy_with_the_exit_code(self):
        reply = self.path("reply.json")
        finished = self.run_muster("run", "--nproc-per-node", 2, self.failing(json.dumps(self.RECORD)),
                                   env={"TORCHELASTIC_ERROR_FILE": reply})
        self.expect_code(finished, 1)
        wanted = json.loads(json.dumps(self.RECORD))
        wanted["message"]["errorCode"] = 1
        self.assertEqual(json.loads(self.read("reply.json")), wanted)

    def test_a_signal_is_negative_in_the_reply(self):
        reply = self.path("reply.json")
        self.expect_code(self.run_muster("run", self.sh("kill -9 $$"), env={"TORCHELASTIC_ERROR_FILE": reply}), 137)
        self.assertEqual(json.loads(self.read("reply.json"))["message"]["errorCode"], -9)

    def test_workers_do_not_write_into_the_reply_file(self):
        reply = self.path("reply.json")
        worker = self.sh('[ "$TORCHELASTIC_ERROR_FILE" != "$1" ]')
        self.expect_code(self.run_muster("run", worker, reply, env={"TORCHELASTIC_ERROR_FILE": reply}), 0)
        self.assertFalse(self.exists("reply.json"))

    def test_what_torchs_record_writes_is_read(self):
        python = harness.torch_python()
        if python is None:
            self.skip_because("pytorch")
        worker = self.py("from torch.distributed.elastic.multiprocessing.errors import record\n"
                         "@record\ndef main():\n    raise ValueError('recorded by torch')\nmain()\n")
        reply = self.path("reply.json")
        finished = self.run_muster("run", worker, env={"PYTHON_EXEC": python, "TORCHELASTIC_ERROR_FILE": reply})
        self.expect_code(finished, 1)
        self.assertIn("ValueError: recorded by torch", finished.last_error_line)
        answer = json.loads(self.read("reply.json"))["message"]
        self.assertEqual((answer["message"], answer["errorCode"]), ("ValueError: recorded by torch", 1))


class OutOfMemory(harness.MusterTest):
    def setUp(self):
        self.group = os.path.join(MEMORY_CGROUP, "muster-test-%d-%s" % (os.getpid(), self.id()))
        self.addCleanup(self.remove_group)  # first in, last out: when no process is left in it
        super().setUp()
        try:
            os.mkdir(self.group)
            with open(os.path.join(self.group, "memory.limit_in_bytes"), "w") as file:
                file.write(str(LIMIT_BYTES))
        except OSError as error:
            self.skip_because("memory cgroup", str(error))

    def remove_group(self):
        def gone():
            try:
                os.rmdir(self.group)
            except OSError:
                return not os.path.isdir(self.group)
            return True
        harness.wait_until(gone, "the memory cgroup is empty and removed", harness.GONE_WITHIN_S)

    def join_group(self):
        with open(os.path.join(self.group, "cgroup.procs"), "w") as file:
            file.write(str(os.getpid()))

    def test_the_oom_killer_is_recognised(self):
        worker = self.py("import os, time\nif os.environ['RANK'] == '0':\n    time.sleep(300)\n"
                         "data = bytearray(%d)\nfor i in range(0, len(data), 4096):\n    data[i] = 1\n" % (2 * LIMIT_BYTES))
        log = self.write("termination-log", "")
        finished = self.run_muster("run", "--nproc-per-node", 2, "--termination-log", log, worker, before_exec=self.join_group)
        self.expect_code(finished, 137)
        self.assertRegex(finished.last_error_line, r"(?i)^muster: rank 1 on .*out of memory")
        self.assertIn("out of memory", self.read("termination-log").lower())

    def test_a_sigkill_from_somebody_is_not_taken_for_it(self):
        worker = self.sh('[ "$RANK" = 1 ] && kill -9 $$\nsleep 300')
        finished = self.run_muster("run", "--nproc-per-node", 2, worker, before_exec=self.join_group)
        self.expect_code(finished, 137)
        self.assertNotRegex(finished.err, "(?i)out of memory")
