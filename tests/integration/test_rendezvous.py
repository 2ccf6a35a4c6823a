"""How the nodes of a job find each other, and what is said when they cannot: names and lists, host files,
and input that cannot work. The static backend: test_static.py."""
import os
import signal
import socket
import threading
import time

from harness import MusterTest, children_of, free_port, unshare_command, wait_until

FIVE_S = ("--rdzv-conf", "join_timeout=5,last_call_timeout=1")
PLACE = 'echo "$RANK $GROUP_RANK $WORLD_SIZE $MASTER_ADDR:$MASTER_PORT" >>"$OUT/places"\n'


class RendezvousTest(MusterTest):
    def start_node(self, number, nodes, *arguments, **how):
        return self.start("run", "--nnodes", nodes, "--local-addr", "127.0.1.%d" % number, "--node-name", "node-%d" % number,
                          *arguments, **how)

    def places(self):
        return sorted(self.read("places").splitlines())

    def with_names(self, *names):
        """Mount commands that let /etc/hosts say so: "127.0.1.1 worker-0"."""
        hosts = self.write("hosts.etc", "127.0.0.1 localhost\n" + "".join(name + "\n" for name in names))
        return "mount --bind %s /etc/hosts" % hosts

    def expect_two_ranks(self, agents, master):
        for agent in agents:
            self.expect_code(agent.finish(), 0)
        self.assertEqual(self.places(), ["0 0 2 " + master, "1 1 2 " + master])

    def ends(self, code, line, agent):
        finished = self.expect_code(agent.finish(timeout_s=30), code)
        self.assertRegex(finished.last_error_line, line, finished)
        return finished


class NamesTest(RendezvousTest):
    def test_endpoints_are_names_with_a_range(self):
        port = free_port()
        mounts = self.with_names("127.0.1.1 worker-0", "127.0.1.2 worker-1")
        agents = [self.start_node(k, 2, "--rdzv-endpoint", "worker-[0-1]:%d" % port, self.sh(PLACE), mounts=mounts)
                  for k in (1, 2)]
        self.expect_two_ranks(agents, "127.0.1.1:%d" % port)

    def test_a_pattern_counts_to_the_number_of_nodes(self):
        port = free_port()
        mounts = self.with_names("127.0.1.1 worker-0", "127.0.1.2 worker-1")
        agents = [self.start_node(k, 2, "--rdzv-endpoint", "worker-%%d:%d" % port, self.sh(PLACE), mounts=mounts)
                  for k in (1, 2)]
        self.expect_two_ranks(agents, "127.0.1.1:%d" % port)

    def test_a_node_under_a_name_it_does_not_know_finds_itself(self):
        """An alias that is no host name, for an address that is no interface's: dialling it comes back."""
        port = free_port()
        mounts = self.with_names("127.0.1.7 elsewhere")
        agent = self.start_node(7, "1:2", "--rdzv-endpoint", "elsewhere:%d" % port, *FIVE_S, self.sh(PLACE), mounts=mounts)
        finished = self.expect_code(agent.finish(), 0)
        self.assertRegex(finished.err, "discovery.changed .*came back to this agent")

    def test_an_endpoint_that_is_for_one_machine_is_called_so(self):
        port = free_port()
        for flags, said in (((), True), (("--local-addr", "127.0.0.1"), False)):
            finished = self.run_muster("run", "--nnodes", "1:2", "--rdzv-endpoint", "localhost:%d" % port,
                                       "--rdzv-conf", "last_call_timeout=1", "--lease", "2s", *flags, self.sh("true"))
            self.expect_code(finished, 0)
            self.assertEqual('notes="only nodes of this machine find the endpoint 127.0.0.1:%d"' % port in finished.err, said, finished)

    def test_a_node_that_is_listed_under_two_names_counts_once(self):
        """The first one; it says so once, and the job runs."""
        port = free_port()
        mounts = self.with_names("127.0.1.7 elsewhere", "127.0.1.7 again")
        agents = [self.start_node(k, 2, "--rdzv-endpoint", "elsewhere:%d,again:%d" % (port, port), *FIVE_S, self.sh(PLACE), mounts=mounts)
                  for k in (7, 2)]
        first, second = [self.expect_code(agent.finish(), 0) for agent in agents]
        self.assertEqual(first.err.count('W discovery.same_node candidates="elsewhere:%d and again:%d"' % (port, port)), 1)
        self.assertNotIn("discovery.same_node", second.err)

    def test_nobody_dials_the_address_of_all_interfaces(self):
        finished = self.run_muster("run", "--nnodes", 2, "--rdzv-endpoint", "0.0.0.0", "true")
        self.expect_code(finished, 64)
        self.assertIn("0.0.0.0:29400: an address to listen on, which no other node can dial", finished.err)

    def test_a_local_address_may_be_a_name(self):
        """On loopback the other nodes hear where their leader's connection came from."""
        endpoint, mounts = "127.0.0.1:%d" % free_port(), self.with_names("127.0.1.7 here")
        agents = [self.start("run", "--nnodes", 2, "--rdzv-endpoint", endpoint, "--local-addr", "here", *FIVE_S, self.sh("exit 0"),
                             mounts=mounts) for _ in range(2)]
        for agent in agents:
            self.expect_code(agent.finish(), 0)

    def test_all_addresses_of_a_service_are_nodes(self):
        port = free_port()
        mounts = self.with_names("127.0.1.2 workers", "127.0.1.1 workers")
        agents = [self.start_node(k, 2, "--rdzv-endpoint", "dns:workers:%d" % port, self.sh(PLACE), mounts=mounts)
                  for k in (1, 2)]
        self.expect_two_ranks(agents, "127.0.1.1:%d" % port)

    def test_a_service_with_too_few_addresses_says_how_many(self):
        mounts = self.with_names("127.0.1.1 workers")
        agent = self.start_node(1, 2, "--rdzv-endpoint", "dns:workers:%d" % free_port(), *FIVE_S, self.sh("exit 0"),
                                mounts=mounts)
        finished = self.expect_code(agent.finish(), 69)
        self.assertIn("look up workers: 1 of 2 addresses", finished.last_error_line)

    def test_pods_of_an_indexed_job_need_no_flag(self):
        unshare = unshare_command()
        if unshare is None:
            self.skip_because("namespaces")
        # Without a flag the port is the usual one, so each pod has a network of its own with both names in it.
        hosts = self.write("hosts.etc", "127.0.0.1 localhost\n127.0.1.1 pod-0.jobs.cluster pod-0\n127.0.1.2 pod-1.jobs.cluster pod-1\n")
        script = ("mount --bind %s /etc/hosts; ip link set lo up; hostname pod-1; %s run --nnodes 2 --local-addr 127.0.1.2 %s &\n"
                  "hostname pod-0; %s run --nnodes 2 --local-addr 127.0.1.1 %s; first=$?; wait $!; exit $((first + $?))")
        worker = self.sh(PLACE)
        binary = self.command(["x"])[0]
        script = script % (hosts, binary, worker, binary, worker)
        # The second agent must have read the name before it changes.
        script = script.replace("hostname pod-0;", "sleep 1; hostname pod-0;")
        agents = self.start_command(unshare + ["--mount", "--uts", "--net", "sh", "-ec", script])
        self.expect_code(agents.finish(), 0)
        self.assertEqual(self.places(), ["0 0 2 127.0.1.1:29400", "1 1 2 127.0.1.1:29400"])


class Ipv6Test(RendezvousTest):
    def test_names_that_have_ipv6_addresses_alone(self):
        """Two nodes on addresses of their own, a DNS server that answers AAAA and nothing else: names, dials, the
        round, the store and its clients all go over IPv6."""
        unshare = unshare_command()
        if unshare is None:
            self.skip_because("namespaces")
        resolv = self.write("resolv.conf", "nameserver 127.0.0.1\nsearch jobs.cluster\noptions ndots:2\n")
        client = self.py("""
import os, socket
address = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
with socket.create_connection(address, timeout=10, source_address=("fd00::%d" % (int(os.environ["GROUP_RANK"]) + 1), 0)) as store:
    store.sendall(b"\\x00\\xce\\xf7\\x85\\x3c" + b"\\x0d" + (1234).to_bytes(4, "little"))  # VALIDATE, PING
    served = store.family == socket.AF_INET6 and store.recv(4) == (1234).to_bytes(4, "little")
print("store", os.environ["MASTER_ADDR"], os.environ["GROUP_RANK"], served, flush=True)
""", "client.py")
        names = "worker-0.jobs.cluster=fd00::1 worker-1.jobs.cluster=fd00::2"
        node = "%s run --nnodes 2 --local-addr fd00::$1 --node-name node-$1 --rdzv-endpoint 'worker-[0-1]' --lease 5s %s"
        script = ("ip link set lo up; for k in 1 2; do ip -6 addr add fd00::$k/128 dev lo nodad; done\n"
                  "mount --bind %s /etc/resolv.conf; mount --bind %s /etc/hosts\n"
                  "/usr/bin/python3 %s 127.0.0.1 1 %s >$OUT/dns 2>&1 & dns=$!\n"
                  "until grep -q listening $OUT/dns; do sleep 0.05; done\n"
                  "node() { exec %s; }\n"
                  "(node 1) & first=$!; (node 2) & second=$!\n"
                  "code=0; wait $first || code=$?; wait $second || code=$?; kill $dns; exit $code")
        support = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support")
        script = script % (resolv, self.write("hosts.etc", "127.0.0.1 localhost\n"), os.path.join(support, "dns_server.py"), names,
                           node % (self.command(["x"])[0], client))
        finished = self.expect_code(self.start_command(unshare + ["--mount", "--net", "sh", "-c", script]).finish(), 0)
        for rank in (0, 1):
            self.assertIn("store worker-0 %d True" % rank, finished.out)  # an address of IPv6 makes no URL
        self.assertIn("answered worker-1.jobs.cluster", self.read("dns"))


class HostsTest(RendezvousTest):
    def test_a_list_of_all_nodes(self):
        port = free_port()
        hosts = "127.0.1.1:%d,127.0.1.2:%d" % (port, port)
        agents = [self.start_node(k, 2, "--hosts", hosts, self.sh(PLACE)) for k in (1, 2)]
        self.expect_two_ranks(agents, "127.0.1.1:%d" % port)

    def test_the_leader_says_which_listed_hosts_did_not_come_and_why(self):
        """Three of five come: one is refused, one has no name. The leader's lines, its status and its last word say so."""
        port = free_port()
        hosts = ",".join("127.0.1.%d:%d" % (k, port) for k in range(1, 5)) + ",nobody-5.invalid:%d" % port
        agents = [self.start_node(k, 5, "--hosts", hosts, "--rdzv-conf", "join_timeout=9", self.sh("exit 0"), mounts=self.with_names())
                  for k in (1, 2, 3)]
        # What a name comes to that nobody answers for depends on the resolver here.
        missing = r"waiting for 2 of 5: 127\.0\.1\.4 \(refused\), nobody-5\.invalid \((NXDOMAIN|DNS failed|no DNS answer|no answer)\)"
        agents[0].wait_for('discovery.waiting state="' + missing, "err")
        self.assertRegex(self.expect_code(self.run_muster("status", "127.0.1.1:%d" % port), 0).out, "(?m)^discovery.waiting: " + missing)
        for agent in agents:
            finished = self.expect_code(agent.finish(timeout_s=30), 69)
            self.assertRegex(finished.last_error_line, "no round within 9 s: 3 of 5 nodes; here: node-1, node-2, node-3; " + missing)

    def test_slots_of_a_host_file_are_the_workers_of_each_node(self):
        port = free_port()
        path = self.write("hosts", "127.0.1.1:%d slots=2\n127.0.1.2:%d slots=1\n" % (port, port))
        script = self.sh('echo "$RANK $WORLD_SIZE $LOCAL_WORLD_SIZE" >>"$OUT/places"')
        for agent in [self.start_node(k, 2, "--hosts", "@" + path, script) for k in (1, 2)]:
            self.expect_code(agent.finish(), 0)
        self.assertEqual(sorted(self.read("places").splitlines()), ["0 3 2", "1 3 2", "2 3 1"])

    def test_a_host_file_that_changes_is_read_again(self):
        port = free_port()
        path = self.write("hosts", "127.0.1.9:%d\n" % port)
        agents = [self.start_node(k, 2, "--hosts", "@" + path, self.sh(PLACE)) for k in (1, 2)]
        for agent in agents:
            agent.wait_for("discovery.waiting .*127.0.1.9 .refused.", "err")
        self.write("hosts.new", "127.0.1.1:%d\n127.0.1.2:%d\n" % (port, port))
        os.rename(self.path("hosts.new"), path)
        self.expect_two_ranks(agents, "127.0.1.1:%d" % port)

    def test_a_node_takes_over_the_leaders_of_the_job_that_it_joins(self):
        """The second node is in no list that it has read; the third waits for it to lead."""
        port = free_port()
        hosts = ["127.0.1.%d:%d\n" % (k, port) for k in (1, 2, 3)]
        right, other = self.write("hosts", "".join(hosts)), self.write("other", hosts[0])
        worker = self.sh('echo "$GROUP_WORLD_SIZE" >>"$OUT/sizes"\n[ "$GROUP_WORLD_SIZE" = 2 ] || sleep 60\n')
        agents = [self.start_node(k, "2:3", "--hosts", "@" + (other if k == 2 else right), "--lease", "10s", "--replace-wait", "0s",
                                  "--node-rank", k - 1, worker) for k in (1, 2, 3)]
        agents[1].wait_for("discovery.changed .*127.0.1.2:%d" % port, "err")
        wait_until(lambda: os.path.exists(self.path("sizes")) and len(self.read("sizes").split()) == 3, "all workers")
        self.write("hosts", "127.0.1.9:%d\n" % port)  # who leads does not change any more
        wait_until(lambda: len(children_of(agents[0].agent_pid())) == 2, "its worker and its guardian run")
        agents[0].signal(signal.SIGKILL)
        for agent in agents[1:]:
            finished = self.expect_code(agent.finish(), 0)
            self.assertNotIn("no word of the leader", finished.err)  # its lease was not over
        self.assertIn("leader.take_over", finished.err if "leader.take_over" in finished.err else agents[1].finish().err)
        self.assertEqual(self.read("sizes").split(), ["3", "3", "3", "2", "2"])

    def test_a_host_file_that_is_missing_is_said(self):
        finished = self.start_node(1, 2, "--hosts", "@/nowhere/hosts", self.sh("exit 0")).finish()
        self.expect_code(finished, 78)
        self.assertRegex(finished.last_error_line, "^muster: --hosts: .*/nowhere/hosts.*No such file")

    def test_a_line_that_makes_no_sense_is_said(self):
        path = self.write("hosts", "one\n\ntwo slots=many\n")
        finished = self.start_node(1, 2, "--hosts", "@" + path, self.sh("exit 0")).finish()
        self.expect_code(finished, 78)
        self.assertRegex(finished.last_error_line, "^muster: --hosts: .*hosts: line 3: ")


class ConfTest(RendezvousTest):
    def test_the_last_call_ends_the_wait_for_more_than_the_minimum(self):
        agent = self.start_node(1, "1:2", "--rdzv-endpoint", "127.0.1.1:%d" % free_port(), "--rdzv-conf", "last_call_timeout=1",
                                self.sh(PLACE))
        self.expect_code(agent.finish(timeout_s=20), 0)
        self.assertEqual(len(self.places()), 1)

    def test_the_join_timeout_is_for_the_minimum_alone(self):
        """The last call of a first round, and what it leaves to members of a forgotten job, are longer than that."""
        agent = self.start_node(1, "1:2", "--rdzv-endpoint", "127.0.1.1:%d" % free_port(), "--rdzv-conf",
                                "join_timeout=3,last_call_timeout=1", self.sh(PLACE))
        self.expect_code(agent.finish(timeout_s=20), 0)
        self.assertEqual(len(self.places()), 1)

    def test_is_host_says_who_leads(self):
        """The leader is told, although its name is nobody's."""
        port = free_port()
        mounts = self.with_names("127.0.1.2 shared")
        conf = "--rdzv-conf"
        first = self.start_node(2, 2, "--rdzv-endpoint", "shared:%d" % port, conf, "is_host=1", self.sh(PLACE), mounts=mounts)
        second = self.start_node(1, 2, "--rdzv-endpoint", "shared:%d" % port, conf, "is_host=0", self.sh(PLACE), mounts=mounts)
        for agent in (first, second):
            self.expect_code(agent.finish(), 0)
        self.assertEqual(len(self.places()), 2)

    def test_the_keep_alive_keys_are_the_lease(self):
        """Nodes with another lease are refused, and the line has both."""
        endpoint = ("--rdzv-endpoint", "127.0.1.1:%d" % free_port())
        first = self.start_node(1, 2, *endpoint, "--rdzv-conf", "keep_alive_interval=1,keep_alive_max_attempt=4", self.sh("exit 0"))
        first.wait_for("round.waiting", "err")
        other = self.expect_code(self.start_node(2, 2, *endpoint, "--lease", "5s", self.sh("exit 0")).finish(), 78)
        self.assertIn("node-2 has --lease 5s, the job at this endpoint --lease 4s", other.last_error_line)
        same = self.start_node(3, 2, *endpoint, "--lease", "4s", self.sh("exit 0"))
        for agent in (first, same):
            self.expect_code(agent.finish(), 0)

    def test_lists_in_other_orders(self):
        """Each would wait for the other to lead; or both would lead."""
        places = ["127.0.1.%d:%d" % (k, free_port()) for k in (1, 2, 3)]
        for orders in (([1, 0], [0, 1]), ([0, 1, 2], [2, 1, 0])):
            lists = [",".join(places[k] for k in order) for order in orders]
            agents = [self.start_node(k + 1, 2, "--rdzv-endpoint", lists[k], "--lease", "2s", "--rdzv-conf", "join_timeout=4", self.sh("exit 0"))
                      for k in (0, 1)]
            with self.subTest(orders=orders):
                for agent in agents:
                    finished = self.expect_code(agent.finish(), 78)
                    self.assertRegex(finished.last_error_line, r"node-\d has --rdzv-endpoint \S+, the job at this endpoint --rdzv-endpoint \S+")
                    for given in lists:
                        self.assertIn(given, finished.last_error_line)

    def test_a_time_of_nothing_is_said(self):
        finished = self.run_muster("run", "--nnodes", 2, "--rdzv-endpoint", "127.0.1.1", "--rdzv-conf", "join_timeout=0",
                                   self.sh("exit 0"))
        self.expect_code(finished, 64)
        self.assertIn("join_timeout", finished.last_error_line)


class BadInputTest(RendezvousTest):
    """One specific line, the right exit code, and no hang."""

    def test_an_endpoint_where_nobody_is(self):
        agent = self.start_node(1, 2, "--rdzv-endpoint", "127.0.1.9:%d" % free_port(), *FIVE_S, self.sh("exit 0"))
        finished = self.ends(69, r"muster: no leader within 5 s: 127\.0\.1\.9:\d+ \(.*Connection refused", agent)
        self.assertRegex(finished.err, r'discovery\.waiting state="waiting for 1 of 1: 127\.0\.1\.9 \(refused\)"')

    def test_a_local_address_that_is_no_name_of_this_node(self):
        mounts = self.with_names("192.0.2.7 elsewhere")
        finished = self.start("run", "--nnodes", "1:2", "--rdzv-endpoint", "127.0.1.1:%d" % free_port(), "--local-addr", "elsewhere",
                              "--rdzv-conf", "join_timeout=2", self.sh("exit 0"), mounts=mounts).finish()
        self.expect_code(finished, 78)
        self.assertRegex(finished.last_error_line, "--local-addr elsewhere is 192.0.2.7, which is no address of this node$")
        self.assertIn("discovery.own_name", finished.err)
        elected = self.run_muster("run", "--nnodes", 2, "--rdzv-backend", "etcd", "--rdzv-id", "job", "--rdzv-endpoint", "127.0.0.1:1",
                                  "--local-addr", "elsewhere", self.sh("exit 0"))
        self.expect_code(elected, 64)
        self.assertIn("--local-addr elsewhere: with --rdzv-backend etcd it must be an address", elected.last_error_line)

    def test_a_name_that_never_resolves(self):
        agent = self.start_node(1, 2, "--rdzv-endpoint", "nobody.invalid:29400", *FIVE_S, self.sh("exit 0"),
                                mounts=self.with_names())
        finished = self.ends(69, r"muster: no leader within 5 s: nobody\.invalid:29400 \(look up nobody\.invalid: ", agent)
        self.assertIn("discovery.waiting", finished.err)

    def test_an_endpoint_that_does_not_answer(self):
        """Accepts and says nothing: torchrun hangs there without a word."""
        with socket.socket() as mute:
            mute.bind(("127.0.1.9", 0))
            mute.listen()
            agent = self.start_node(1, 2, "--rdzv-endpoint", "127.0.1.9:%d" % mute.getsockname()[1], *FIVE_S, self.sh("exit 0"))
            finished = self.ends(69, r"muster: no leader within 5 s: .*says nothing within 3 s", agent)
        self.assertRegex(finished.err, r"discovery\.waiting .*127\.0\.1\.9 \((connected, no word yet|no agent answers)\)")
        self.assertNotIn("who may lead answer", finished.err)

    def test_a_taken_port_is_said_and_another_one_is_used(self):
        with socket.socket() as taken:
            taken.bind(("127.0.1.1", 0))
            taken.listen()
            agent = self.start_node(1, 2, "--rdzv-endpoint", "127.0.1.1:%d" % taken.getsockname()[1], *FIVE_S, self.sh("exit 0"))
            finished = self.ends(69, "muster: no leader within 5 s: .*says nothing within 3 s", agent)
        self.assertIn("job.port_taken", finished.err)

    def test_a_minimum_above_the_maximum(self):
        self.ends(64, "^muster: --nnodes '3:2'", self.start("run", "--nnodes", "3:2", self.sh("exit 0")))
        self.ends(64, "^muster: --hosts .*--nnodes must say how many", self.start("run", "--hosts", "a,b", self.sh("exit 0")))

    def test_fewer_than_the_minimum(self):
        agent = self.start_node(1, 2, "--rdzv-endpoint", "127.0.1.1:%d" % free_port(), *FIVE_S, self.sh("exit 0"))
        self.ends(69, r"muster: no round within 5 s: 1 of 2 nodes.*here: node-1", agent)

    def test_another_run_id(self):
        port = free_port()
        flags = ("--rdzv-endpoint", "127.0.1.1:%d" % port, self.sh("exit 0"))
        first = self.start_node(1, 2, "--rdzv-id", "one", *flags)
        first.wait_for("round.waiting", "err")
        self.ends(78, "muster: node-2 has the run id 'two', the job at this endpoint 'one'", self.start_node(2, 2, "--rdzv-id", "two", *flags))
        first.signal(signal.SIGTERM)
        self.expect_code(first.finish(), 143)

    def secret(self, content, mode=0o600):
        return {"MUSTER_JOB_SECRET_FILE": self.write("secret-%d" % len(os.listdir(self.dir)), content, mode)}

    def test_a_secret_that_cannot_be_used(self):
        flags = ("run", "--nnodes", 2, "--rdzv-endpoint", "127.0.1.1", self.sh("exit 0"))
        os.mkfifo(self.path("pipe"))  # without a writer, where opening it would never end
        for env, line in (({"MUSTER_JOB_SECRET_FILE": self.path("missing")}, "missing.*No such file"),
                          ({"MUSTER_JOB_SECRET_FILE": self.dir}, "Is a directory"),
                          ({"MUSTER_JOB_SECRET_FILE": self.path("pipe")}, "is empty"),
                          (self.secret("\n"), "is empty"), (self.secret("short\n"), "at least 16")):
            self.ends(78, "^muster: MUSTER_JOB_SECRET_FILE: .*" + line, self.start(*flags, env=env))

    def test_a_secret_that_may_not_be_read(self):
        env = self.secret("0123456789abcdef0123456789abcdef", 0)
        if os.geteuid() == 0:
            unshare = ["setpriv", "--reuid", "65534", "--clear-groups", "--bounding-set", "-all", "--inh-caps", "-all"]
            os.chmod(self.dir, 0o755)
        else:
            unshare = []
        words = unshare + self.command(["run", "--nnodes", 2, "--rdzv-endpoint", "127.0.1.1", self.sh("exit 0")])
        self.ends(78, "^muster: MUSTER_JOB_SECRET_FILE: .*Permission denied", self.start_command(words, env=env))

    def test_a_secret_on_one_side_only_and_a_wrong_one(self):
        port = free_port()
        flags = ("--rdzv-endpoint", "127.0.1.1:%d" % port, *FIVE_S, self.sh("exit 0"))
        right = self.secret("0123456789abcdef0123456789abcdef")
        first = self.start_node(1, 2, "--rdzv-endpoint", "127.0.1.1:%d" % port, self.sh("exit 0"), env=right)
        first.wait_for("round.waiting", "err")
        without = self.start_node(2, 2, *flags)
        wrong = self.start_node(3, 2, *flags, env=self.secret("fedcba9876543210fedcba9876543210"))
        finished = without.finish(timeout_s=30)
        self.expect_code(finished, 78)
        self.assertRegex(finished.last_error_line, "MUSTER_JOB_SECRET_FILE")
        finished = wrong.finish(timeout_s=30)
        self.expect_code(finished, 78)
        self.assertRegex(finished.last_error_line, "secret")
        first.wait_for("link.dropped .*secret", "err")
        first.signal(signal.SIGTERM)
        self.expect_code(first.finish(), 143)


class AdmissionTest(RendezvousTest):
    def test_a_stranger_is_not_served(self):
        finished = self.knock()
        self.assertIn("10.99.0.9 0\n", finished.out)
        self.assertRegex(finished.err, "store.client_refused peer=10.99.0.9:")

    def test_who_comes_from_an_admitted_network_is_served(self):
        finished = self.knock("--admit 10.99.0.8/31")
        self.assertRegex(finished.out, "10.99.0.9 [1-9]")
        self.assertNotIn("store.client_refused", finished.err)

    def knock(self, flags=""):
        """127/8 is always admitted, so the job and the stranger live in a network of their own, on other addresses."""
        unshare = unshare_command()
        if unshare is None:
            self.skip_because("namespaces")
        worker = self.sh(PLACE + 'while [ ! -e "$OUT/end" ]; do sleep 0.05; done')
        script = ("trap 'touch $OUT/end' EXIT; ip link set lo up; for k in 1 2 9; do ip addr add 10.99.0.$k/32 dev lo; done\n"
                  "node() { %s run --nnodes 2 --local-addr 10.99.0.$1 --node-name node-$1 --rdzv-endpoint 10.99.0.1:29400 %s %s & }\n"
                  # Both listen on every address; who is there first has the port.
                  "node 1; until /usr/bin/python3 -c 'import socket; socket.create_connection((\"10.99.0.1\", 29400))' 2>/dev/null; do sleep 0.05; done\n"
                  "node 2\n"
                  'while [ ! -e "$OUT/places" ]; do sleep 0.05; done\n'
                  "/usr/bin/python3 %s; touch $OUT/end; wait")
        client = self.py("""
import socket
for host in ("10.99.0.9", "10.99.0.2"):
    with socket.create_connection(("10.99.0.1", 29400), source_address=(host, 0)) as client:
        client.settimeout(5)
        client.sendall(b"\\x00\\xce\\xf7\\x85\\x3c" + b"\\x0d" + (1234).to_bytes(4, "little"))  # VALIDATE, PING
        try:
            print(host, len(client.recv(100)), flush=True)
        except ConnectionResetError:  # closed with bytes unread
            print(host, 0, flush=True)
""", "client.py")
        script = script % (self.command(["x"])[0], flags, worker, client)
        finished = self.expect_code(self.start_command(unshare + ["--net", "sh", "-ec", script]).finish(), 0)
        self.assertRegex(finished.out, "10.99.0.2 [1-9]")
        return finished


class PreemptionTest(RendezvousTest):
    # USR1 asks for a save where a test says so; TERM does otherwise, and it ends every worker.
    SAVES = PLACE + ('trap \'echo "$GROUP_RANK" >>"$OUT/asked.$TORCHELASTIC_RESTART_COUNT"\' USR1\n'
                     'trap \'echo "$GROUP_RANK" >>"$OUT/saved.$TORCHELASTIC_RESTART_COUNT"; exit 0\' TERM\n'
                     'echo "$GROUP_RANK" >>"$OUT/ready.$TORCHELASTIC_RESTART_COUNT"\n'
                     '[ "$TORCHELASTIC_RESTART_COUNT" = 0 ] || exit 0\nwhile :; do sleep 0.05; done')

    def lines(self, name):
        return sorted(self.read(name).split()) if self.exists(name) else []

    def preempt(self, *flags, leaver=3):
        port = free_port()
        endpoints = "127.0.1.1:%d,127.0.1.2:%d" % (port, port)
        agents = {k: self.start_node(k, "2:3", "--rdzv-endpoint", endpoints, "--rdzv-conf", "last_call_timeout=3",
                                     "--replace-wait", "0s", *flags, self.sh(self.SAVES)) for k in (1, 2, 3)}
        wait_until(lambda: len(self.lines("ready.0")) == 3, "all workers are ready")
        agents[leaver].signal(signal.SIGTERM)
        self.expect_code(agents[leaver].finish(), 143)
        for k in {1, 2, 3} - {leaver}:
            self.expect_code(agents[k].finish(), 0)
        self.assertEqual(self.lines("ready.1"), ["0", "1"])
        return agents

    def test_the_leader_leaves_in_time_though_no_worker_ever_ends(self):
        self.SAVES = self.SAVES.replace("exit 0' TERM", "' TERM")
        began = time.monotonic()
        agents = self.preempt("--preempt-notify", "all", "--grace-period", "4s", "--lease", "60s", leaver=1)
        self.assertLess(time.monotonic() - began, 30)  # neither a lease nor any other timer
        self.assertEqual(self.lines("saved.0"), ["0", "1", "2"])
        self.assertIn("leader.take_over", agents[2].err.text())
        self.assertRegex(agents[1].err.text(), "stopped by SIGTERM .*1 had to be killed")

    def test_all_save_and_the_rest_goes_on(self):
        agents = self.preempt("--preempt-notify", "all", "--grace-period", "10s")
        self.assertEqual(self.lines("saved.0"), ["0", "1", "2"])
        # Each node's workers got the signal for the leaver's sake, not because the round was stopped.
        for number, who in ((1, "node-3"), (2, "node-3"), (3, "this node")):
            self.assertRegex(agents[number].err.text(), 'round.save .*reason="%s leaves; SIGTERM to the workers, ' % who)

    def test_only_the_leaver_is_told_and_the_others_are_stopped_later(self):
        agents = self.preempt("--preempt-signal", "USR1", "--grace-period", "4s")
        self.assertEqual(self.lines("asked.0"), ["2"])
        self.assertEqual(self.lines("saved.0"), ["0", "1", "2"])  # when the round was stopped
        self.assertRegex(agents[3].err.text(), 'round.save .*reason="this node leaves; SIGUSR1 to the workers, 2 s to save"')
        for number in (1, 2):
            self.assertRegex(agents[number].err.text(), 'round.save .*reason="node-3 leaves; workers here are not told ')

    def test_the_signal_that_says_save_can_be_chosen(self):
        self.preempt("--preempt-notify", "all", "--preempt-signal", "USR1", "--grace-period", "4s")
        self.assertEqual(self.lines("asked.0"), ["0", "1", "2"])
        self.assertEqual(self.lines("saved.0"), ["0", "1", "2"])
