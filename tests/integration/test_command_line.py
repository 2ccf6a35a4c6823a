"""Both command lines, muster's and torchrun's: forms of flags, environment, wrong inputs."""
import json
import os
import re
import shutil

import harness

SHOW = 'echo "world $WORLD_SIZE restarts $TORCHELASTIC_MAX_RESTARTS role $ROLE_NAME args $*"'


class Forms(harness.MusterTest):
    def setUp(self):
        super().setUp()
        self.worker = self.sh(SHOW)

    def first_line(self, *arguments, as_torchrun=True, env=None, code=0):
        finished = self.run_muster(*arguments, as_torchrun=as_torchrun, env=env)
        self.expect_code(finished, code)
        return re.sub(r"^\[\S*\] ?", "", finished.out.splitlines()[0])

    def test_spellings_of_torchrun(self):
        for words in (["--nproc-per-node", "2", "--max-restarts", "1"], ["--nproc_per_node", "2", "--max_restarts", "1"],
                      ["--nproc-per-node=2", "--max_restarts=1"], ["--nproc-per=2", "--max-r", "1"],
                      ["--nproc", "2", "--max_r=1"], ["--standalone", "--nproc-per-node=2", "--max-restarts=1"]):
            self.assertEqual(self.first_line(*words, "--no-python", self.worker, "a"), "world 2 restarts 1 role default args a")
            self.assertEqual(self.first_line(*words, "--no_python", self.worker, "a"), "world 2 restarts 1 role default args a")

    def test_words_after_the_program_are_its_own(self):
        words = ["--nproc-per-node", "4", "-m", "--standalone", "--r=1", "-h", "--help", "--", "x"]
        self.assertEqual(self.first_line("--no-python", self.worker, *words),
                         "world 1 restarts 0 role default args " + " ".join(words))

    def test_two_dashes(self):
        self.assertEqual(self.first_line("--no-python", "--", self.worker, "-x"), "world 1 restarts 0 role default args -x")
        self.assertEqual(self.first_line("--no-python", self.worker, "--", "-x"), "world 1 restarts 0 role default args -x")
        self.assertEqual(self.first_line("run", "--", self.worker, "-x", as_torchrun=False), "world 1 restarts 0 role default args -x")

    def test_a_script_runs_with_python(self):
        script = self.py("import sys\nprint('script', sys.argv[1:])\n", "train")
        self.assertEqual(self.first_line(script, "--lr", "1"), "script ['--lr', '1']")
        script = self.py("import sys\nprint('script', sys.argv[1:])\n", "train.py")
        self.assertEqual(self.first_line("run", script, "--lr", "1", as_torchrun=False), "script ['--lr', '1']")

    def test_a_module_runs_with_python(self):
        self.py("import sys\nprint('module', sys.argv[1:])\n", "my_module.py")
        for words in (["-m"], ["--module"]):
            self.assertEqual(self.first_line(*words, "my_module", "x"), "module ['x']")
            self.assertEqual(self.first_line("run", *words, "my_module", "x", as_torchrun=False), "module ['x']")

    def test_a_package_runs_with_python(self):
        os.mkdir(self.path("pkg"))
        self.write("pkg/__main__.py", "print('package')\n")
        for name in ("pkg", "./pkg"):
            finished = self.expect_code(self.run_muster("run", name, cwd=self.dir), 0)
            self.assertEqual(finished.out, "package\n")

    def test_run_path_records_its_exception(self):
        script = self.write("raises.py", "raise ValueError('no data')\n")
        finished = self.expect_code(self.run_muster("run", "--run-path", script), 1)
        self.assertRegex(finished.last_error_line, "in attempt 0: ValueError: no data$")

    def test_run_path(self):
        script = self.py("import sys\nprint(__name__, sys.argv[1:])\n", "train.py")
        self.assertEqual(self.first_line("--run-path", script, "x"), "__main__ ['x']")

    def test_muster_runs_programs_directly(self):
        self.assertEqual(self.first_line("run", "echo", "hello", as_torchrun=False), "hello")
        self.assertEqual(self.first_line("run", "--no-python", "echo", "hello", as_torchrun=False), "hello")
        self.assertEqual(self.first_line("run", self.worker, as_torchrun=False), "world 1 restarts 0 role default args ")

    def test_lines_of_code_as_an_argument(self):
        """As the examples of Kubeflow's Trainer do."""
        code = "import os\nfor i in range(1):\n    print('rank', os.environ['RANK'],\n          'of job')\n"
        self.assertEqual(self.first_line("--no-python", "python3", "-c", code), "rank 0 of job")

    def test_environment_variables_of_torchrun(self):
        env = {"PET_NPROC_PER_NODE": "2", "PET_MAX_RESTARTS": "3", "PET_ROLE": "trainer", "PET_NNODES": "1:1", "PET_NO_PYTHON": "1",
               "PET_RDZV_CONF": "join_timeout=30,read_timeout=20", "PET_MONITOR_INTERVAL": "1.5"}
        self.assertEqual(self.first_line(self.worker, "a", env=env), "world 2 restarts 3 role trainer args a")
        self.assertEqual(self.first_line("--nproc-per-node", "1", "--role=x", self.worker, env=env), "world 1 restarts 3 role x args ")

    def test_environment_variables_of_muster(self):
        env = {"MUSTER_NPROC_PER_NODE": "2", "MUSTER_MAX_RESTARTS": "3"}
        self.assertEqual(self.first_line("run", self.worker, as_torchrun=False, env=env), "world 2 restarts 3 role default args ")

    def test_empty_variables(self):
        """training-operator sets PET_STANDALONE="", of which torchrun dies."""
        env = {"PET_STANDALONE": "", "PET_NNODES": "", "PET_NPROC_PER_NODE": "", "PET_MAX_RESTARTS": ""}
        self.assertEqual(self.first_line("--no-python", self.worker, env=env), "world 1 restarts 0 role default args ")

    def test_flags_without_effect_are_accepted(self):
        words = ["--monitor-interval", "5", "--start-method", "fork", "--event-log-handler", "console"]
        self.assertEqual(self.first_line(*words, "--no-python", self.worker), "world 1 restarts 0 role default args ")

    def test_static_rendezvous_of_one_node(self):
        port = harness.free_port()
        worker = self.sh('echo "$MASTER_ADDR:$MASTER_PORT"')
        self.assertEqual(self.first_line("--nnodes", 1, "--node-rank", 0, "--master-addr", "127.0.0.1", "--master-port", port,
                                         "--no-python", worker), "127.0.0.1:%d" % port)

    def test_a_job_of_several_nodes_is_never_run_as_one(self):
        """Whatever is missing for it: two pods that each train alone would go unnoticed."""
        for as_torchrun in (False, True):
            words = ["--nnodes", "2", "--rdzv-backend", "c10d", "--rdzv-endpoint", "127.0.0.1:%d" % harness.free_port(),
                     "--rdzv-conf", "join_timeout=2", "--no-python", self.sh('echo >"$OUT/ran"')]
            finished = self.run_muster(*([] if as_torchrun else ["run"]), *words, as_torchrun=as_torchrun)
            self.assertNotEqual(finished.code, 0, finished)
            self.assertFalse(self.exists("ran"))

    def test_workers_by_cpu(self):
        count = len(os.sched_getaffinity(0))
        world = self.first_line("run", "--nproc-per-node", "cpu", self.worker, as_torchrun=False)
        self.assertTrue(1 <= int(world.split()[1]) <= count, world)

    def test_workers_by_cpu_are_those_this_process_may_use(self):
        one = min(os.sched_getaffinity(0))
        finished = self.run_muster("run", "--nproc-per-node", "cpu", self.worker, before_exec=lambda: os.sched_setaffinity(0, {one}))
        self.assertIn("world 1 ", self.expect_code(finished, 0).out)

    def test_workers_are_bound_to_cpus_of_their_own(self):
        if len(os.sched_getaffinity(0)) < 2:
            self.skip_because("cpus")
        worker = self.sh("grep Cpus_allowed_list /proc/self/status")
        finished = self.run_muster("run", "--numa-binding", "exclusive", "--nproc-per-node", 2, worker)
        lists = re.findall(r"Cpus_allowed_list:\s*(\S+)", self.expect_code(finished, 0).out)
        self.assertEqual(len(lists), 2, finished)
        self.assertNotEqual(lists[0], lists[1])

    def test_devices_that_are_not_there_are_missed_before_any_start(self):
        finished = self.run_muster("run", "--virtual-local-rank", "--nproc-per-node", 2, "--max-restarts", 2,
                                   self.sh('echo >"$OUT/ran"'), env={"CUDA_VISIBLE_DEVICES": "0"})
        self.expect_code(finished, 78)
        self.assertFalse(self.exists("ran"))
        self.assertIn("CUDA_VISIBLE_DEVICES", finished.last_error_line)
        self.assertNotIn("worker.exit", finished.err)

    def test_an_inner_launcher_is_taken_over(self):
        """`muster run python -m torch.distributed.run ...` in front of somebody's command line."""
        script = self.py("import os\nprint('world', os.environ['WORLD_SIZE'])\n", "train.py")
        for inner in (["python3", "-m", "torch.distributed.run"], ["torchrun"], ["/opt/venv/bin/torchrun"],
                      ["python3", "-m", "torch.distributed.launch", "--use-env"]):
            self.assertEqual(self.first_line("run", *inner, "--nproc-per-node=2", script, as_torchrun=False), "world 2")

    def test_explain_prints_values_and_sources(self):
        finished = self.run_muster("run", "--explain", "--nproc-per-node", 2, "train.py", env={"PET_MAX_RESTARTS": "3"})
        self.expect_code(finished, 0)
        self.assertRegex(finished.out, r"(?m)^--nproc-per-node\s.*\b2\b.*command line")
        self.assertRegex(finished.out, r"(?m)^--max-restarts\s.*\b3\b.*PET_MAX_RESTARTS")
        self.assertRegex(finished.out, r"(?m)^--role\s.*default")

    def test_help_and_version(self):
        for words in (["--help"], ["run", "--help"], ["-h"], ["--version"]):
            finished = self.expect_code(self.run_muster(*words), 0)
            self.assertTrue(finished.out)
            self.assertEqual(finished.err, "")
        self.assertIn("--nproc-per-node", self.run_muster("--help", as_torchrun=True).out)


class WrongInputs(harness.MusterTest):
    """One specific line on stderr that holds the words, nothing on stdout, exit code 64; as torchrun 2."""

    CASES = [
        (["--no-such-flag", "x"], ["--no-such-flag"]),
        (["--max-restart-count", "1", "x"], ["--max-restart-count"]),
        (["--nproc-per-node", "two", "x"], ["--nproc-per-node", "two"]),
        (["--nproc-per-node", "0", "x"], ["--nproc-per-node", "0"]),
        (["--nproc-per-node", "-1", "x"], ["--nproc-per-node", "-1"]),
        (["--nproc-per-node", "999999999999", "x"], ["--nproc-per-node", "999999999999"]),
        (["--nproc-per-node"], ["--nproc-per-node"]),
        (["--max-restarts", "-1", "x"], ["--max-restarts", "-1"]),
        (["--max-restarts", "1.5", "x"], ["--max-restarts", "1.5"]),
        (["--nnodes", "3:2", "x"], ["--nnodes", "3:2"]),
        (["--nnodes", "0", "x"], ["--nnodes", "0"]),
        (["--nnodes", "1:2:3", "x"], ["--nnodes", "1:2:3"]),
        (["--rdzv-backend", "zookeeper", "x"], ["--rdzv-backend", "zookeeper"]),
        (["--rdzv-backend", "c10d", "--rdzv-endpoint", "host:port", "x"], ["--rdzv-endpoint", "host:port"]),
        (["--rdzv-backend", "c10d", "--rdzv-endpoint", "host:99999", "x"], ["--rdzv-endpoint", "99999"]),
        (["--rdzv-conf", "join_timeout", "x"], ["--rdzv-conf", "join_timeout"]),
        (["--rdzv-conf", "join_timeout=soon", "x"], ["--rdzv-conf", "soon"]),
        (["--master-port", "70000", "x"], ["--master-port", "70000"]),
        (["--redirects", "4", "x"], ["--redirects", "4"]),
        (["--tee", "0:7", "x"], ["--tee", "0:7"]),
        (["--local-ranks-filter", "a", "x"], ["--local-ranks-filter", "a"]),
        (["--grace-period", "soon", "x"], ["--grace-period", "soon"]),
        (["--grace-period", "-5", "x"], ["--grace-period", "-5"]),
        (["--grace-period", "301", "x"], ["--grace-period '301'", "0 to 5m"]),
        (["--shutdown-timeout", "-1", "x"], ["--shutdown-timeout", "-1"]),
        (["--log-level", "loud", "x"], ["--log-level", "loud"]),
        (["--log-format", "xml", "x"], ["--log-format", "xml"]),
        (["--numa-binding", "moon", "x"], ["--numa-binding", "moon"]),
        (["--monitor-interval", "0", "x"], ["--monitor-interval", "0"]),
        (["--start-method", "teleport", "x"], ["--start-method", "teleport"]),
        (["-m", "--no-python", "x"], ["--no-python"]),
        ([], []),
        (["--standalone"], []),
        ([""], []),
    ]

    def check(self, as_torchrun, code):
        wrong = []
        for arguments, words in self.CASES:
            verb = [] if as_torchrun else ["run"]
            finished = self.run_muster(*verb, *arguments, as_torchrun=as_torchrun)
            lines = finished.err.splitlines()
            if finished.code != code or finished.out or len(lines) != 1 or not all(word in lines[0] for word in words):
                wrong.append("%s: %r" % (arguments, finished))
        self.assertEqual(wrong, [], "\n".join(wrong))

    def test_each_wrong_input_has_one_specific_line(self):
        self.check(as_torchrun=False, code=64)

    def test_as_torchrun_the_code_is_2(self):
        self.check(as_torchrun=True, code=2)

    def test_a_typing_error_gets_a_suggestion(self):
        finished = self.expect_code(self.run_muster("run", "--max-restart", "1", "--standalnoe", "x"), 64)
        self.assertIn("--standalone", finished.err)

    def test_wrong_values_in_the_environment_name_the_variable(self):
        finished = self.expect_code(self.run_muster("run", "true", env={"PET_NPROC_PER_NODE": "many"}), 64)
        self.assertIn("PET_NPROC_PER_NODE", finished.err)
        self.assertIn("many", finished.err)
        self.assertEqual(len(finished.err.splitlines()), 1)

    def test_a_variable_that_nothing_reads_is_told_without_its_value(self):
        finished = self.run_muster("run", "true", env={"MUSTER_MAX_RESTART": "12345"})
        self.assertRegex(self.expect_code(finished, 0).err, "MUSTER_MAX_RESTART is set, .* MUSTER_MAX_RESTARTS")
        self.assertNotIn("12345", finished.err)
        inner = (harness.BINARY, "run", "--rsh", "--nnodes", "1:2", "--rdzv-endpoint", "127.0.0.1:%d" % harness.free_port(),
                 "--rdzv-conf", "last_call_timeout=1", "true")
        outer = ("--rsh", "--nnodes", "1:2", "--rdzv-endpoint", "127.0.0.1:%d" % harness.free_port(), "--rdzv-conf", "last_call_timeout=1")
        finished = self.expect_code(self.run_muster("run", *outer, *inner), 0)
        self.assertNotIn("nothing reads it", finished.err)

    def test_a_program_that_is_beside_and_not_on_path(self):
        self.write("train.sh", "#!/bin/sh\n", 0o755)
        finished = self.expect_code(self.run_muster("run", "train.sh", cwd=self.dir), 127)
        self.assertIn("not found on PATH; it lies in the current folder: write ./train.sh", finished.err)

    def test_a_folder_on_path_that_this_user_may_not_search(self):
        """Root's own in many images. Nobody knows whether the program is there, so it is not found."""
        if os.geteuid() != 0:
            self.skip_because("another user: needs root")
        os.chmod(self.dir, 0o755)
        os.mkdir(self.path("closed"), 0o700)
        binary = shutil.copy(harness.BINARY, self.path("muster"))
        words = ["/usr/bin/setpriv", "--reuid", "54321", "--regid", "54321", "--clear-groups", binary, "run", "train.sh"]
        finished = self.expect_code(self.start_command(words, env={"PATH": self.path("closed") + ":/usr/bin:/bin"}).finish(), 127)
        self.assertIn("not found on PATH", finished.err)
        self.write("none", "true\n", 0o755)
        finished = self.expect_code(self.run_muster("run", "./none", cwd=self.dir), 126)
        self.assertIn("it has no #! line that names its interpreter", finished.last_error_line)

    def test_characters_that_hide_what_is_wrong_are_written_out(self):
        for as_torchrun, verb in ((False, ["run"]), (True, [])):
            finished = self.run_muster(*verb, "--no-python", "train\r\x1b[2J\u009b", as_torchrun=as_torchrun)
            self.assertIn("train\\r\\x1b[2J\\x9b", finished.err)
            finished = self.run_muster(*verb, "--log-format", "json", "--no-python", "train\r\x7f\u009b", as_torchrun=as_torchrun)
            self.assertNotRegex(finished.err, "[\r\x7f\u009b]")
        finished = self.expect_code(self.run_muster("run", "\u2013nproc-per-node", "2", "x.py"), 64)
        self.assertIn("another character than '-': write --nproc-per-node", finished.err)

    def test_who_reads_json_gets_a_line_of_it(self):
        for words in (("--log-format", "json", "--nnodes", "none", "x"), ("--log-format=json", "no-such-program")):
            finished = self.run_muster("run", *words)
            line = json.loads(finished.last_error_line)
            self.assertEqual((line["event"], line["exit_code"]), ("job.refused", finished.code))

    def test_so_does_who_says_it_to_another_verb_or_in_the_environment(self):
        for words in (("run", "--nnodes", "none", "x"), ("local", "--nodes", "none", "x"), ("sidecar", "--run-dir", "run"),
                      ("sidecar", "--run-dir", "run", "--report", "trainjob")):
            for flag, env in ((("--log-format", "json"), {}), ((), {"LOG_FORMAT": "json"}), ((), {"MUSTER_LOG_FORMAT": "json"})):
                finished = self.run_muster(words[0], *flag, *words[1:], env=env)
                line = json.loads(finished.last_error_line)
                self.assertEqual((line["event"], line["exit_code"], line["level"]), ("job.refused", finished.code, "error"), words)
                self.assertEqual([each for each in finished.err.splitlines() if not each.startswith("{")], [])

    def test_an_unknown_verb(self):
        finished = self.expect_code(self.run_muster("launch", "train.py"), 64)
        self.assertIn("launch", finished.err)
        self.assertEqual(len(finished.err.splitlines()), 1)

    def test_no_verb_at_all(self):
        finished = self.run_muster()
        self.expect_code(finished, 64)
        self.assertEqual(finished.out, "")

    def test_arguments_that_are_not_utf8_pass(self):
        worker = self.sh('printf "%s" "$1" >"$OUT/argument"')
        command = [os.fsencode(word) for word in self.command(["run", worker])] + [b"\xff\xfe"]
        self.expect_code(self.start_command(command).finish(), 0)
        with open(self.path("argument"), "rb") as file:
            self.assertEqual(file.read(), b"\xff\xfe")
