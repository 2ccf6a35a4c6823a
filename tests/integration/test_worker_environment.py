"""What a worker finds when it starts: variables, ranks, stdin, session, descriptors, signals."""
import ipaddress
import os
import re
import resource
import signal

import harness

SHOW_ENVIRONMENT = 'env -0 >"$OUT/env.$RANK"'


class Variables(harness.MusterTest):
    def environments(self, count, *flags, env=None, as_torchrun=False):
        """The environment of each rank of one run."""
        finished = self.run_muster(*self.verb(as_torchrun), "--nproc-per-node", count, *flags,
                                   *self.program(as_torchrun, self.sh(SHOW_ENVIRONMENT)), env=env, as_torchrun=as_torchrun)
        self.expect_code(finished, 0)
        result = []
        for rank in range(count):
            items = self.read("env.%d" % rank).split("\0")
            result.append(dict(item.split("=", 1) for item in items if item))
        return result

    @staticmethod
    def verb(as_torchrun):
        return [] if as_torchrun else ["run"]

    @staticmethod
    def program(as_torchrun, path):
        return ["--no-python", path] if as_torchrun else [path]

    def check_contract(self, as_torchrun):
        ranks = self.environments(2, "--max-restarts", 3, as_torchrun=as_torchrun)
        for rank, env in enumerate(ranks):
            wanted = {"LOCAL_RANK": rank, "RANK": rank, "GROUP_RANK": 0, "ROLE_RANK": rank, "ROLE_NAME": "default",
                      "LOCAL_WORLD_SIZE": 2, "WORLD_SIZE": 2, "GROUP_WORLD_SIZE": 1, "ROLE_WORLD_SIZE": 2,
                      "TORCHELASTIC_RESTART_COUNT": 0, "TORCHELASTIC_MAX_RESTARTS": 3,
                      "TORCHELASTIC_USE_AGENT_STORE": "True", "TORCH_NCCL_ASYNC_ERROR_HANDLING": 1,
                      "OMP_NUM_THREADS": 1, "TORCHELASTIC_SIGNALS_TO_HANDLE": "SIGTERM,SIGINT,SIGHUP,SIGQUIT"}
            self.assertEqual({name: env.get(name) for name in wanted},
                             {name: str(value) for name, value in wanted.items()})
            self.assertTrue(env["TORCHELASTIC_RUN_ID"])
            self.assertNotEqual(env["TORCHELASTIC_RUN_ID"], "none")
            ipaddress.ip_address(env["MASTER_ADDR"])  # numeric: workers need no name service
            self.assertIn(int(env["MASTER_PORT"]), range(1, 65536))
            self.assertRegex(env["TORCHELASTIC_ERROR_FILE"], r"/torchelastic_\w+/attempt_0_%d_error\.json$" % rank)
        for same in ("MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID"):
            self.assertEqual(ranks[0][same], ranks[1][same])

    def test_every_variable_of_torchrun_is_set(self):
        self.check_contract(as_torchrun=False)

    def test_every_variable_is_set_when_called_as_torchrun(self):
        self.check_contract(as_torchrun=True)

    def test_a_python_that_is_alone_hosts_its_store_on_a_free_port(self):
        binds = ("import os, socket\nprint(os.environ['TORCHELASTIC_USE_AGENT_STORE'])\n"
                 "socket.socket().bind((os.environ['MASTER_ADDR'], int(os.environ['MASTER_PORT'])))\n")
        finished = self.expect_code(self.run_muster("run", "python3", "-c", binds), 0)
        self.assertIn("False\n", finished.out)
        finished = self.run_muster("run", "--master-port", harness.free_port(), "python3", "-c", binds)
        self.assertIn("True\n", finished.out)
        self.assertIn("Address already in use", finished.err)
        env, = self.environments(1)
        self.assertEqual(env["TORCHELASTIC_USE_AGENT_STORE"], "True")

    def test_a_plain_program_finds_nothing_of_ranks(self):
        self.expect_code(self.run_muster("run", "--framework", "plain", "--nproc-per-node", 2, self.sh('env >"$OUT/env.$$"')), 0)
        found = [self.read(name) for name in os.listdir(self.dir) if name.startswith("env.")]
        self.assertEqual(len(found), 2)
        for text in found:
            self.assertNotRegex(text, "(?m)^(RANK|WORLD_SIZE|LOCAL_RANK|MASTER_ADDR|TORCHELASTIC_.*|OMP_NUM_THREADS)=")

    def test_lines_of_python_in_a_program_come_when_they_are_printed(self):
        script = self.write("lines.py", "import os, signal\nprint('before the end')\nos.kill(os.getpid(), signal.SIGKILL)\n")
        finished = self.run_muster("run", "--nproc-per-node", 2, "python3", script, env={"PYTHONUNBUFFERED": None})
        self.assertIn("before the end", finished.out)

    def test_the_environment_of_the_agent_is_inherited(self):
        env, = self.environments(1, env={"MY_SETTING": "a=b c\nd", "TORCHELASTIC_MINE": "1", "PET_TEE": "0"})
        self.assertEqual(env["MY_SETTING"], "a=b c\nd")
        self.assertEqual(env["TORCHELASTIC_MINE"], "1")
        self.assertEqual(env["PET_TEE"], "0")

    def test_omp_threads_are_left_alone_with_one_worker_and_when_set(self):
        env, = self.environments(1)
        self.assertNotIn("OMP_NUM_THREADS", env)
        for env in self.environments(2, env={"OMP_NUM_THREADS": "7"}):
            self.assertEqual(env["OMP_NUM_THREADS"], "7")

    def test_role_run_id_and_node_variables_follow_the_flags(self):
        env, = self.environments(1, "--role", "trainer", "--rdzv-backend", "c10d", "--rdzv-endpoint", "127.0.0.1:0",
                                 "--rdzv-id", "job-7")
        self.assertEqual(env["ROLE_NAME"], "trainer")
        self.assertEqual(env["TORCHELASTIC_RUN_ID"], "job-7")

    def test_an_empty_role_is_a_role(self):
        env, = self.environments(1, "--role", "")
        self.assertEqual(env["ROLE_NAME"], "")

    def test_virtual_local_rank(self):
        ranks = self.environments(2, "--virtual-local-rank", env={"CUDA_VISIBLE_DEVICES": "4,6"})
        self.assertEqual([env["LOCAL_RANK"] for env in ranks], ["0", "0"])
        self.assertEqual([env["CUDA_VISIBLE_DEVICES"] for env in ranks], ["4", "6"])

    def test_rank_variables_of_others_do_not_reach_the_workers(self):
        """Pods of other controllers hold RANK = node index, and so on."""
        for env in self.environments(2, env={"RANK": "5", "WORLD_SIZE": "9", "MASTER_ADDR": "x.example", "MASTER_PORT": "1"}):
            self.assertEqual(env["WORLD_SIZE"], "2")
            self.assertNotEqual(env["MASTER_ADDR"], "x.example")

    def test_local_rank_in_arguments_is_replaced(self):
        show = self.sh('printf "%s\\n" "$@" >"$OUT/args.$RANK"')
        self.expect_code(self.run_muster("run", "--nproc-per-node", 2, show, "--gpu=${local_rank}", "$local_rank",
                                         "$$x", "${other}", "a b", ""), 0)
        for rank in range(2):
            self.assertEqual(self.read("args.%d" % rank).splitlines(),
                             ["--gpu=%d" % rank, str(rank), "$x", "${other}", "a b", ""])

    def test_the_error_file_can_be_written(self):
        worker = self.sh('echo "{}" >"$TORCHELASTIC_ERROR_FILE"')
        self.expect_code(self.run_muster("run", worker), 0)

    def test_no_folder_is_left_in_tmp_when_nothing_was_written(self):
        """torchrun leaves one behind for each run."""
        self.expect_code(self.run_muster("run", "--nproc-per-node", 2, "true"), 0)
        self.assertEqual(os.listdir(self.temp), [])


class ManyNodes(harness.MusterTest):
    NAMES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK", "GROUP_WORLD_SIZE", "ROLE_RANK", "ROLE_WORLD_SIZE")

    def numbers(self, *flags):
        """NAMES of each worker of two nodes, the first with three and the second with two of them, by rank."""
        endpoints = ",".join("127.0.1.%d:%d" % (k, port) for port in [harness.free_port()] for k in (1, 2))
        worker = self.sh('echo "%s" >"$OUT/numbers.$RANK"' % " ".join("$" + name for name in self.NAMES))
        agents = [self.start("run", "--nnodes", 2, "--nproc-per-node", 4 - k, "--local-addr", "127.0.1.%d" % k, "--node-name", "node-%d" % k,
                             "--rdzv-endpoint", endpoints, *[flag % k if "%d" in flag else flag for flag in flags], worker) for k in (1, 2)]
        for agent in agents:
            self.expect_code(agent.finish(), 0)
        return [[int(number) for number in self.read("numbers.%d" % rank).split()] for rank in range(5)]

    def test_nodes_with_different_numbers_of_workers(self):
        self.assertEqual(self.numbers(), [[0, 5, 0, 3, 0, 2, 0, 5], [1, 5, 1, 3, 0, 2, 1, 5], [2, 5, 2, 3, 0, 2, 2, 5],
                                          [3, 5, 0, 2, 1, 2, 3, 5], [4, 5, 1, 2, 1, 2, 4, 5]])

    def test_each_role_counts_its_own(self):
        self.assertEqual(self.numbers("--role", "role-%d"), [[0, 5, 0, 3, 0, 2, 0, 3], [1, 5, 1, 3, 0, 2, 1, 3], [2, 5, 2, 3, 0, 2, 2, 3],
                                                             [3, 5, 0, 2, 1, 2, 0, 2], [4, 5, 1, 2, 1, 2, 1, 2]])


class ProcessState(harness.MusterTest):
    def test_stdin_is_the_agents(self):
        finished = self.run_muster("run", "cat", input="first\nsecond\n")
        self.assertEqual(self.expect_code(finished, 0).out, "first\nsecond\n")

    def test_stdin_is_the_agents_for_every_worker(self):
        worker = self.sh('readlink /proc/self/fd/0 >"$OUT/stdin.$RANK"')
        with open(self.write("input", "x"), "rb") as stdin:
            self.expect_code(self.run_muster("run", "--nproc-per-node", 3, worker, stdin=stdin), 0)
        self.assertEqual([self.read("stdin.%d" % rank).strip() for rank in range(3)], [self.path("input")] * 3)

    def test_every_worker_leads_a_session_and_a_group(self):
        worker = self.sh('read -r pid name state parent group session rest </proc/self/stat\n'
                         'echo "$pid $group $session" >"$OUT/stat.$RANK"')
        self.expect_code(self.run_muster("run", "--nproc-per-node", 2, worker), 0)
        for rank in range(2):
            pid, group, session = self.read("stat.%d" % rank).split()
            self.assertEqual((pid, pid), (group, session))

    def test_a_worker_dies_with_the_agent(self):
        worker = self.py("import ctypes\nvalue = ctypes.c_int()\n"
                         "ctypes.CDLL(None).prctl(2, ctypes.byref(value))\nprint('parent-death signal', value.value)\n")
        finished = self.run_muster("run", worker)
        self.assertIn("parent-death signal %d\n" % signal.SIGKILL, self.expect_code(finished, 0).out)

    def check_descriptors(self, **how):
        # `ls` opens one itself, the first free one.
        for count in (1, 2):
            finished = self.run_muster("run", "--nproc-per-node", count, "--local-ranks-filter", 0, "ls", "/proc/self/fd", **how)
            numbers = re.findall(r"(\d+)$", self.expect_code(finished, 0).out, re.MULTILINE)
            self.assertEqual(numbers, ["0", "1", "2", "3"], finished)

    def test_only_standard_descriptors_are_inherited(self):
        self.check_descriptors()

    def test_descriptors_that_the_agent_inherited_are_not_passed_on(self):
        reader, writer = os.pipe()
        try:
            self.check_descriptors(pass_fds=(reader, writer))
        finally:
            os.close(reader)
            os.close(writer)

    def status(self, **how):
        finished = self.run_muster("run", "cat", "/proc/self/status", **how)
        return dict(line.split(":\t", 1) for line in self.expect_code(finished, 0).out.splitlines() if ":\t" in line)

    def test_nothing_is_blocked_or_ignored_in_a_worker(self):
        status = self.status()
        self.assertEqual(harness.signals_of(status["SigBlk"]), set())
        self.assertEqual(harness.signals_of(status["SigIgn"]), set())

    def test_a_worker_gets_the_mask_and_dispositions_that_the_agent_was_started_with(self):
        def as_under_nohup():
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
        status = self.status(before_exec=as_under_nohup)
        self.assertEqual(harness.signals_of(status["SigBlk"]), {signal.SIGUSR1})
        self.assertEqual(harness.signals_of(status["SigIgn"]), {signal.SIGHUP})

    def test_a_worker_gets_the_descriptor_limit_that_the_agent_was_started_with(self):
        def lower():
            resource.setrlimit(resource.RLIMIT_NOFILE, (300, 4000))
        worker = self.sh('echo "$(ulimit -S -n) $(ulimit -H -n)"')
        finished = self.run_muster("run", worker, before_exec=lower)
        self.assertEqual(self.expect_code(finished, 0).out, "300 4000\n")

    def test_python_is_unbuffered_and_runs_the_script(self):
        worker = self.py("import os, sys\nprint(sys.argv[1:], os.path.basename(sys.argv[0]), sys.stdout.write_through)\n")
        finished = self.run_muster("run", worker, "--flag", "value", "--", "-x")
        self.assertEqual(self.expect_code(finished, 0).out, "['--flag', 'value', '--', '-x'] worker.py True\n")

    def test_the_interpreter_is_the_one_of_the_active_virtual_environment(self):
        os.makedirs(self.path("venv", "bin"))
        self.sh('echo "venv python $*"', os.path.join("venv", "bin", "python3"))
        os.symlink("python3", self.path("venv", "bin", "python"))
        worker = self.py("")
        finished = self.run_muster("run", worker, env={"VIRTUAL_ENV": self.path("venv")})
        self.assertEqual(self.expect_code(finished, 0).out, "venv python -u %s\n" % worker)

    def test_python_exec_names_the_interpreter(self):
        mine = self.sh('echo "my python $*"', "mine")
        finished = self.run_muster("run", "-m", "some.module", "a", env={"PYTHON_EXEC": mine})
        self.assertEqual(self.expect_code(finished, 0).out, "my python -u -m some.module a\n")
