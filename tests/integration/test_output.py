"""What workers print: on the console, in files, under difficult circumstances."""
import glob
import json
import os
import re
import socket
import time

import harness


class Prefixes(harness.MusterTest):
    def setUp(self):
        super().setUp()
        self.host = harness.short_host_name()

    def test_one_rank_has_no_prefix(self):
        finished = self.run_muster("run", self.sh("echo out; echo err >&2"))
        self.assertEqual(self.expect_code(finished, 0).out, "out\n")
        self.assertIn("err\n", finished.err)

    def test_several_ranks_are_told_apart(self):
        finished = self.run_muster("run", "--nproc-per-node", 2, self.sh("echo hello from $RANK; echo error of $RANK >&2"))
        self.expect_code(finished, 0)
        self.assertEqual(sorted(finished.out.splitlines()),
                         ["[%s:%d] hello from %d" % (self.host, rank, rank) for rank in range(2)])
        for rank in range(2):
            self.assertIn("[%s:%d] error of %d\n" % (self.host, rank, rank), finished.err)

    def test_the_template_is_the_users(self):
        flags = ("--nproc-per-node", 2, "--role", "trainer", "--log-line-prefix-template")
        known = "<${role_name} ${rank} ${local_rank} ${hostname}> "
        finished = self.run_muster("run", *flags, known, self.sh("echo x"))
        self.assertEqual(sorted(self.expect_code(finished, 0).out.splitlines()),
                         ["<trainer %d %d %s> x" % (rank, rank, self.host) for rank in range(2)])
        wrong = self.expect_code(self.run_muster("run", *flags, known + "${unknown}", self.sh("echo x")), 64)
        self.assertIn("--log-line-prefix-template '%s${unknown}': '${unknown}' is none of " % known, wrong.last_error_line)
        finished = self.run_muster(*flags, "${unknown}: ", "--tee", 3, "--no-python", self.sh("echo x"), as_torchrun=True)
        self.assertEqual(self.expect_code(finished, 0).out, "${unknown}: x\n" * 2)

    def test_as_torchrun_there_is_a_prefix_only_with_tee(self):
        finished = self.run_muster("--nproc-per-node", 2, "--no-python", self.sh("echo hello"), as_torchrun=True)
        self.assertEqual(self.expect_code(finished, 0).out, "hello\nhello\n")
        finished = self.run_muster("--nproc-per-node", 2, "--tee", 3, "--no-python", self.sh("echo hello"), as_torchrun=True)
        self.assertEqual(sorted(self.expect_code(finished, 0).out.splitlines()), ["[default0]:hello", "[default1]:hello"])

    def bytes_of_rank(self, finished, rank):
        """Everything rank `rank` printed, out of prefixed output of one rank only."""
        return finished.out_bytes.replace(b"[%s:%d] " % (self.host.encode(), rank), b"")

    def test_bytes_pass_unchanged(self):
        content = b"nul \0 inside\n\xff\xfe not utf-8\ncarriage\r\nprogress 10%\rprogress 20%\rdone\n\n\ttab \x1b[1mbold\x1b[0m\nunfinished"
        self.write("content", content)
        worker = self.sh('[ "$RANK" = 1 ] && cat "$OUT/content"; exit 0')
        finished = self.expect_code(self.run_muster("run", "--nproc-per-node", 2, worker), 0)
        self.assertEqual(self.bytes_of_rank(finished, 1), content)
        finished = self.expect_code(self.run_muster("run", "cat", self.path("content")), 0)
        self.assertEqual(finished.out_bytes, content)

    def test_a_line_that_comes_in_pieces_has_one_prefix(self):
        worker = self.py("import os, time\nfor part in (b'one ', b'line ', b'only\\n'):\n    os.write(1, part)\n    time.sleep(0.05)\n")
        finished = self.run_muster("run", "--nproc-per-node", 2, worker)
        self.assertEqual(sorted(self.expect_code(finished, 0).out.splitlines()),
                         ["[%s:%d] one line only" % (self.host, rank) for rank in range(2)])

    def test_lines_of_many_ranks_are_never_mixed(self):
        worker = self.py("import os, sys\nr = os.environ['RANK']\n"
                         "for i in range(3000):\n    sys.stdout.write('%s:%05d:%s\\n' % (r, i, r * 150))\n")
        finished = self.run_muster("run", "--nproc-per-node", 4, worker, env={"PYTHONUNBUFFERED": "1"})
        self.expect_code(finished, 0)
        seen = {str(rank): [] for rank in range(4)}
        for line in finished.out.splitlines():
            match = re.fullmatch(r"\[%s:(\d)\] \1:(\d{5}):\1{150}" % re.escape(self.host), line)
            self.assertTrue(match, line)
            seen[match.group(1)].append(int(match.group(2)))
        self.assertEqual(seen, {rank: list(range(3000)) for rank in seen})

    def test_long_lines_stay_whole(self):
        worker = self.py("import os\nprint(os.environ['RANK'] * 300_000)\n")
        finished = self.expect_code(self.run_muster("run", "--nproc-per-node", 2, worker), 0)
        self.assertEqual(sorted(finished.out.splitlines()),
                         ["[%s:%d] %s" % (self.host, rank, str(rank) * 300_000) for rank in range(2)])


class Liveness(harness.MusterTest):
    """What has no end of line yet is seen while its writer waits."""

    def check(self, written, seen):
        """`written`: an argument of printf. The worker ends only after we have seen it."""
        worker = self.sh("printf '%s'\nwhile [ ! -e \"$OUT/seen\" ]; do sleep 0.05; done\necho" % written)
        for flags in (["--nproc-per-node", 1], ["--nproc-per-node", 2]):
            agent = self.start("run", *flags, worker)
            agent.wait_for(seen)
            self.write("seen", "")
            self.expect_code(agent.finish(), 0)
            os.unlink(self.path("seen"))

    def test_a_bar_that_ends_with_a_return(self):
        self.check(r"50%%\r", "50%")

    def test_a_bar_that_begins_with_a_return(self):
        self.check(r"\r50%%", "50%")

    def test_a_line_without_an_end(self):
        self.check("Loading... ", "Loading... ")


class Files(harness.MusterTest):
    def setUp(self):
        super().setUp()
        self.worker = self.sh("echo out of $RANK; echo err of $RANK >&2")

    def run_with_logs(self, *flags, count=2, worker=None, code=0):
        finished = self.run_muster("run", "--nproc-per-node", count, "--log-dir", self.path("logs"), *flags,
                                   worker or self.worker)
        return self.expect_code(finished, code)

    def logs(self):
        """{path below the run's folder: content}."""
        run, = glob.glob(self.path("logs", "*"))
        result = {}
        for folder, _, names in os.walk(run):
            for name in names:
                path = os.path.join(folder, name)
                with open(path, "rb") as file:
                    result[os.path.relpath(path, run)] = file.read().decode(errors="backslashreplace")
        return result

    def test_redirected_streams_go_to_files_only(self):
        finished = self.run_with_logs("--redirects", 3)
        self.assertEqual(finished.out, "")
        self.assertNotIn("err of", finished.err)
        self.assertEqual(self.logs(), {"attempt_0/%d/%s.log" % (rank, stream): "%s of %d\n" % (stream[3:], rank)
                                       for rank in range(2) for stream in ("stdout", "stderr")})

    def test_a_step_of_a_progress_bar_is_one_line(self):
        bar = self.py("import os, sys, time\n"
                      "for i in range(4):\n"
                      "    sys.stderr.write('\\r%d%%|' % (25 * i)); sys.stderr.flush()\n"
                      "    open('%s/%s.%d' % (os.environ['OUT'], os.environ['RANK'], i), 'w').close()\n"
                      "    while not os.path.exists('%s/go.%d' % (os.environ['OUT'], i)): time.sleep(0.01)\n"
                      "sys.stderr.write('\\n')\n")
        agent = self.start("run", "--log-level", "off", "--nproc-per-node", 2, bar)
        for step in range(4):
            for rank in range(2):
                agent.wait_for(r"\[[^\]]*%d\]:?\s*%d%%\|" % (rank, 25 * step), "err")
            self.write("go.%d" % step, "")
        finished = self.expect_code(agent.finish(), 0)
        lines = finished.err.replace("\r", "").splitlines()
        self.assertEqual([line for line in lines if "%|" not in line], [], finished)

    def test_without_a_folder_the_log_names_one(self):
        finished = self.run_muster("run", "--nproc-per-node", 2, "--redirects", 3, self.worker, env={"TMPDIR": self.path()})
        folder = re.search(r"output\.files folder=(\S+)", finished.err).group(1)
        with open(os.path.join(folder, "attempt_0", "1", "stderr.log"), "r") as file:
            self.assertEqual(file.read(), "err of 1\n")

    def test_error_files_of_attempts_that_were_restarted_are_removed(self):
        worker = self.sh('echo "{}" >"$TORCHELASTIC_ERROR_FILE"; [ "$TORCHELASTIC_RESTART_COUNT" = 2 ] && exit 4; exit 3')
        folder = self.path("scratch")
        os.mkdir(folder)
        self.expect_code(self.run_muster("run", "--max-restarts", 2, worker, env={"TMPDIR": folder}), 4)
        left, = glob.glob(os.path.join(folder, "*", "*"))
        self.assertRegex(left, r"/torchelastic_\w+/attempt_2_0_error\.json$")
        self.assertEqual(len(os.listdir(folder)), 1)

    def test_tee_writes_files_and_console(self):
        finished = self.run_with_logs("--tee", 3)
        for rank in range(2):
            self.assertIn("out of %d\n" % rank, finished.out)
            self.assertIn("err of %d\n" % rank, finished.err)
        self.assertEqual(len(self.logs()), 4)

    def test_masks_by_rank(self):
        finished = self.run_with_logs("-r", "0:1,1:3", "-t1:2")
        self.assertEqual(set(self.logs()), {"attempt_0/0/stdout.log", "attempt_0/1/stdout.log", "attempt_0/1/stderr.log"})
        self.assertEqual(finished.out, "")
        self.assertIn("err of 0", finished.err)
        self.assertIn("err of 1", finished.err)  # a stream that is in both is tee'd

    def test_ranks_above_nine_can_be_listed(self):
        self.run_with_logs("--redirects", "10:1", count=11)
        self.assertEqual(self.logs(), {"attempt_0/10/stdout.log": "out of 10\n"})

    def test_one_digit_masks(self):
        self.run_with_logs("-r1")
        self.assertEqual(set(self.logs()), {"attempt_0/0/stdout.log", "attempt_0/1/stdout.log"})

    def test_every_attempt_has_a_folder(self):
        worker = self.sh('echo "attempt $TORCHELASTIC_RESTART_COUNT"; [ "$TORCHELASTIC_RESTART_COUNT" = 2 ]')
        self.run_with_logs("--redirects", 1, "--max-restarts", 2, worker=worker, count=1)
        self.assertEqual(self.logs(), {"attempt_%d/0/stdout.log" % attempt: "attempt %d\n" % attempt for attempt in range(3)})

    def test_the_folder_of_a_run_is_named_after_it(self):
        self.run_with_logs("--redirects", 1, "--rdzv-backend", "c10d", "--rdzv-endpoint", "127.0.0.1:0", "--rdzv-id", "my-run")
        run, = os.listdir(self.path("logs"))
        self.assertRegex(run, r"^my-run_%s_\w{8}$" % socket.gethostname())

    def test_bytes_reach_files_unchanged(self):
        content = bytes(range(256)) * 20 + b"end without newline"
        self.write("content", content)
        self.run_with_logs("--redirects", 1, worker=self.sh('cat "$OUT/content"'), count=1)
        path, = glob.glob(self.path("logs", "*", "attempt_0", "0", "stdout.log"))
        with open(path, "rb") as file:
            self.assertEqual(file.read(), content)

    def test_a_tee_file_has_no_prefixes(self):
        self.run_with_logs("--tee", 1)
        self.assertEqual(self.logs()["attempt_0/1/stdout.log"], "out of 1\n")

    def test_the_ranks_filter_concerns_the_console_only(self):
        finished = self.run_with_logs("--tee", 1, "--local-ranks-filter", "1")
        self.assertNotIn("out of 0", finished.out)
        self.assertIn("out of 1", finished.out)
        self.assertNotIn("err of 0", finished.err)
        self.assertEqual(self.logs()["attempt_0/0/stdout.log"], "out of 0\n")

    def test_filtered_lines_are_collected_in_one_file(self):
        worker = self.sh('echo "loss $RANK"; echo "other $RANK"; echo "a,b $RANK"; echo "loss on stderr" >&2')
        self.run_with_logs("--tee", 3, "--duplicate-stdout-filters", "loss,a,,b", worker=worker)
        content = self.logs()["attempt_0/filtered_stdout.log"]
        for rank in range(2):
            self.assertIn("loss %d\n" % rank, content)
            self.assertIn("a,b %d\n" % rank, content)
        self.assertNotIn("other", content)
        self.assertNotIn("stderr", content)

    def test_a_relative_log_dir_holds_when_the_worker_changes_its_folder(self):
        worker = self.sh('cd / && echo "{}" >"$TORCHELASTIC_ERROR_FILE"')
        self.expect_code(self.run_muster("run", "--log-dir", "logs", "--redirects", 1, worker, cwd=self.dir), 0)
        self.assertEqual(set(self.logs()), {"attempt_0/0/stdout.log", "attempt_0/0/error.json"})

    def test_the_null_device_as_log_dir_turns_files_off(self):
        finished = self.run_muster("run", "--log-dir", "/dev/null", "--tee", 3, self.sh('echo "file <$TORCHELASTIC_ERROR_FILE>"'))
        self.assertIn("file <>", self.expect_code(finished, 0).out)

    def test_without_a_log_dir_files_go_to_the_temporary_folder(self):
        self.expect_code(self.run_muster("run", "--redirects", 1, self.worker), 0)
        path, = glob.glob(os.path.join(self.temp, "torchelastic_*", "*", "attempt_0", "0", "stdout.log"))
        with open(path) as file:
            self.assertEqual(file.read(), "out of 0\n")


class OwnLog(harness.MusterTest):
    def test_json_lines(self):
        finished = self.run_muster("run", "--log-format", "json", "--nproc-per-node", 2, self.sh("exit $RANK"))
        self.expect_code(finished, 1)
        lines = [json.loads(line) for line in finished.err.splitlines() if line.startswith("{")]
        exits = [line for line in lines if line["event"] == "worker.exit"]
        self.assertEqual({line["rank"] for line in exits}, {0, 1})
        for line in lines:
            self.assertRegex(line["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
            self.assertIn(line["level"], ("debug", "info", "warning", "error"))

    def test_json_lines_and_the_journal_have_the_same_fields(self):
        trace = '{"trace_id":"4bf92f3577b34da6a3ce929d0e0e4736"}'
        finished = self.run_muster("run", "--rdzv-id", "bert", "--node-name", "node-0", "--run-dir", "run", "--no-python",
                                   self.sh("echo '%s'; exit 3" % trace), env={"LOG_FORMAT": "json", "LOG_LEVEL": "info"})
        self.expect_code(finished, 3)
        self.assertIn(trace + "\n", finished.out)
        journal = {line["event"]: line for line in map(json.loads, self.read("run/events.jsonl").splitlines())}
        lines = {line["event"]: line for line in (json.loads(line) for line in finished.err.splitlines() if line.startswith("{"))}
        self.assertIn("worker.exit", lines)
        for name, line in lines.items():
            self.assertEqual((line["job"], line["run_id"], line["node"]), ("bert", "bert", "node-0"))
            for key in ("id", "seq", "monotonic_ms", "time"):
                journal[name].pop(key, None)
            line.pop("time")
            self.assertEqual({key: value for key, value in line.items() if value not in ("", [])}, journal[name])

    def test_variables_of_everybody_are_weaker_than_ours(self):
        finished = self.run_muster("run", "--no-python", "/bin/true", env={"LOG_FORMAT": "%(message)s", "LOG_LEVEL": "verbose"})
        self.expect_lines([r"W options\.warning .*LOG_LEVEL 'verbose' is no level of ours",
                           r"W options\.warning .*LOG_FORMAT '%\(message\)s' is no format of ours", r"I job\.start "], finished.err)
        finished = self.run_muster("run", "--no-python", "/bin/true", env={"LOG_LEVEL": "debug", "MUSTER_LOG_LEVEL": "off"})
        self.assertEqual(finished.err, "")

    def test_text_lines(self):
        finished = self.expect_code(self.run_muster("run", "true"), 0)
        for line in finished.err.splitlines():
            self.assertRegex(line, r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z [DIWE] [a-z_.]+( \w+=.*)?$")

    def test_it_can_be_turned_off(self):
        for flags in (["--log-level", "off"], ["--log-level", "error"]):
            self.assertEqual(self.expect_code(self.run_muster("run", *flags, "true"), 0).err, "")
        self.assertEqual(self.expect_code(self.run_muster("run", "true", env={"MUSTER_LOG_LEVEL": "off"}), 0).err, "")

    def test_as_torchrun_success_of_one_worker_is_silent(self):
        self.assertEqual(self.expect_code(self.run_muster("--no-python", "true", as_torchrun=True), 0).err, "")


class Difficulties(harness.MusterTest):
    def test_a_reader_that_goes_away_does_not_hurt_the_workers(self):
        """`muster run ... | head -1`."""
        reader, writer = os.pipe()
        worker = self.sh('i=0; while [ $i -lt 20000 ]; do echo "line $i of rank $RANK ------------------"; i=$((i+1)); done\n'
                         'echo done >"$OUT/done.$RANK"')
        agent = self.start("run", "--nproc-per-node", 2, worker, stdout=writer)
        os.close(writer)
        self.assertTrue(os.read(reader, 1))
        os.close(reader)
        finished = self.expect_code(agent.finish(), 0)
        self.assertTrue(self.exists("done.0") and self.exists("done.1"))
        self.assertRegex(finished.err, r"stdout.*lines.*lost")

    def test_the_report_is_last_whatever_was_lost(self):
        reader, writer = os.pipe()
        os.close(reader)  # before the first line: what is lost after the report can only be told after it
        agent = self.start("run", self.sh('yes "a line" | head -n 100000; exit 4'), stdout=writer)
        os.close(writer)
        finished = self.expect_code(agent.finish(), 4)
        self.assertIn("console.lost", finished.err)
        self.assertRegex(finished.last_error_line, "^muster: rank 0 .* failed first: exit code 4")

    def test_a_full_disk_behind_stdout_does_not_hurt_the_workers(self):
        worker = self.sh('i=0; while [ $i -lt 2000 ]; do echo "line $i"; i=$((i+1)); done\necho done >"$OUT/done.$RANK"')
        with open("/dev/full", "wb") as full:
            finished = self.run_muster("run", "--nproc-per-node", 2, worker, stdout=full)
        self.expect_code(finished, 0)
        self.assertTrue(self.exists("done.0") and self.exists("done.1"))
        self.assertIn("No space left on device", finished.err)

    def test_a_worker_that_floods_does_not_stall_another(self):
        worker = self.sh('if [ "$RANK" = 0 ]; then\n'
                         '  while [ ! -e "$OUT/enough" ]; do cat "$OUT/block"; done\n'
                         'else\n'
                         '  i=0; while [ $i -lt 20 ]; do echo "heartbeat $i"; sleep 0.05; i=$((i+1)); done; echo >"$OUT/enough"\n'
                         'fi')
        self.write("block", b"flood flood flood flood flood flood flood flood flood\n" * 2000)
        finished = self.expect_code(self.run_muster("run", "--nproc-per-node", 2, worker), 0)
        beats = re.findall(r"heartbeat (\d+)$", finished.out, re.MULTILINE)
        self.assertEqual(beats, [str(i) for i in range(20)])

    def test_both_streams_in_one_pipe_are_not_mixed(self):
        """`muster run ... 2>&1 | cat`, also with lines that come in two writes."""
        reader, writer = os.pipe()
        worker = self.py("import os\nr = os.environ['RANK'].encode()\nfor i in range(1500):\n    for fd in (1, 2):\n"
                         "        os.write(fd, b'<%d of ' % fd)\n        os.write(fd, r * 100 + b'>\\n')\n")
        agent = self.start("run", "--nproc-per-node", 3, "--log-level", "warning", worker, stdout=writer, stderr=writer)
        os.close(writer)
        output = harness.Output(reader)
        self.expect_code(agent.finish(), 0)
        output.thread.join(harness.GONE_WITHIN_S)
        lines = output.text().splitlines()
        self.assertEqual(len(lines), 9000)
        for line in lines:
            self.assertRegex(line, r"^\[%s:(\d)\] <[12] of \1{100}>$" % re.escape(harness.short_host_name()))

    def test_a_slow_reader_loses_nothing(self):
        """Workers wait as they would for any pipe, and the end of the job waits for the reader."""
        left, right = socket.socketpair()
        worker = self.sh('i=0; while [ $i -lt 4000 ]; do echo "$i of $RANK 0123456789012345678901234567890123456789"; i=$((i+1)); done')
        agent = self.start("run", "--nproc-per-node", 2, worker, stdout=right.fileno())
        right.close()
        time.sleep(2)  # well below the 10 s after which a reader is given up
        data = b""
        while True:
            chunk = left.recv(1 << 16)
            if not chunk:
                break
            data += chunk
        left.close()
        self.expect_code(agent.finish(), 0)
        for rank in range(2):
            self.assertEqual(re.findall(rb"(\d+) of %d " % rank, data), [b"%d" % i for i in range(4000)])

    def test_a_grandchild_that_keeps_stdout_does_not_keep_the_job(self):
        finished = self.run_muster("run", "--nproc-per-node", 2, self.sh("sleep 300 &\necho last words"), timeout_s=20)
        self.expect_code(finished, 0)
        self.assertEqual(finished.out.count("last words"), 2)
        self.assertEqual(self.marked(), {})

    def test_a_grandchild_that_floods_does_not_keep_the_job(self):
        finished = self.run_muster("run", "--nproc-per-node", 2, self.sh("yes flood &\nsleep 0.1\nexit 0"), timeout_s=20)
        self.expect_code(finished, 0)
        self.assertEqual(self.marked(), {})

    def test_the_last_words_of_a_killed_worker_are_shown(self):
        worker = self.sh('[ "$RANK" = 0 ] && exec sleep 300\nprintf "last words without newline"\nkill -9 $$')
        finished = self.expect_code(self.run_muster("run", "--nproc-per-node", 2, worker), 137)
        self.assertIn("last words without newline", finished.out)

    def test_much_output_before_the_end_is_all_there(self):
        worker = self.py("import os\nos.write(1, b'0123456789\\n' * 100_000)\nos._exit(3)\n")
        finished = self.expect_code(self.run_muster("run", worker), 3)
        self.assertEqual(finished.out_bytes, b"0123456789\n" * 100_000)
        finished = self.expect_code(self.run_muster("run", "--nproc-per-node", 2, "--local-ranks-filter", 0,
                                                    self.sh('[ $RANK = 0 ] || exit 0; yes 0123456789 | head -100000; exit 3')), 3)
        self.assertEqual(len(finished.out.splitlines()), 100_000)

    def test_binary_data_of_one_rank_can_be_piped(self):
        self.write("data", os.urandom(500_000))
        finished = self.expect_code(self.run_muster("run", "cat", self.path("data")), 0)
        with open(self.path("data"), "rb") as file:
            self.assertEqual(finished.out_bytes, file.read())
