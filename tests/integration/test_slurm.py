"""A real Slurm (Debian's slurmctld, and a slurmd on each of two hosts) starts `muster run` by srun, and nothing else is said."""
import os
import re
import unittest

from harness import BINARY, ROOT, SUPPORT, wait_until
from namespace_hosts import DNS, NET, NamespaceTest

# No cgroups and no accounting: what matters here is how steps are started, signalled and requeued.
CONFIGURATION = """ClusterName=pods
SlurmctldHost=hub({hub})
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/ctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/ctld.log
SlurmdLogFile={folder}/slurmd.%n.log
SlurmUser=root
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
ReturnToService=2
JobRequeue=1
KillWait=20
{nodes}
PartitionName=all Nodes=ALL Default=YES State=UP
"""



class SlurmTest(NamespaceTest):
    hosts_of_slurm = (1, 2)

    def setUp(self):
        super().setUp()
        self.add_hosts(self.hosts_of_slurm)
        nodes = "\n".join("NodeName=host-%d NodeAddr=%s%d CPUs=8 State=UNKNOWN" % (number, NET, number) for number in self.hosts_of_slurm)
        self.conf = self.write("slurm.conf", CONFIGURATION.format(hub=DNS, folder=self.dir, nodes=nodes))
        self.write("munge.key", os.urandom(1024), mode=0o400)
        files = ["--%s=%s" % (name, self.path("munge." + ending)) for name, ending in
                 (("key-file", "key"), ("socket", "sock"), ("pid-file", "pid"), ("log-file", "log"), ("seed-file", "seed"))]
        self.start_command(["munged", "--foreground", "--force"] + files)
        wait_until(lambda: os.path.exists(self.path("munge.sock")), "munged listens")
        os.mkdir(self.path("state"))
        self.start_command(self.at(self.hub, "slurmctld", "-D", "-f", self.conf))
        for number in self.hosts_of_slurm:
            os.mkdir(self.path("spool.host-%d" % number))
            self.start_command(self.at(self.holders[number], "slurmd", "-D", "-N", "host-%d" % number, "-f", self.conf))
        wait_until(lambda: self.slurm("sinfo", "-h", "-o", "%T %D").out == "idle 2\n", "both nodes are idle", timeout_s=60)
        self.addCleanup(self.cancel_all)

    def at(self, pid, *words):
        return ["nsenter", "-t", str(pid), "-n", "-u", "-m", "--"] + list(words)

    def start_slurm(self, *words):
        """One of Slurm's commands, on the hub."""
        return self.start_command(self.at(self.hub, *map(str, words)), env={"SLURM_CONF": self.conf})

    def slurm(self, *words):
        return self.start_slurm(*words).finish()

    def cancel_all(self):
        """slurmstepd outlives its slurmd: no step may be left."""
        self.slurm("scancel", "--full", "--signal=KILL", "--state=RUNNING")
        self.slurm("scancel", "--me")
        wait_until(lambda: self.slurm("squeue", "-h").out == "", "no job is left", timeout_s=60)

    def srun(self, *words):
        return self.start_slurm("srun", "-N", 2, "--ntasks-per-node=1", "--kill-on-bad-exit=0", *words)

    def places(self):
        return sorted(self.read("places").splitlines()) if self.exists("places") else []


class StepTest(SlurmTest):
    def test_a_step_is_one_job(self):
        step = self.srun(BINARY, "run", "--nproc-per-node", 2, "--", "python3", os.path.join(SUPPORT, "pod_rank.py"))
        self.expect_code(step.finish(), 0)
        self.assertEqual(self.places(), ["%d 4 %d host-%d" % (rank, rank // 2, rank // 2 + 1) for rank in range(4)])

    def test_a_pytorch_job_and_its_exit_code(self):
        train = os.path.join(ROOT, "examples", "pytorch", "train.py")
        python = self.python()
        if not python:
            self.skip_because("pytorch")
        self.expect_code(self.srun("--export=ALL,PYTHON_EXEC=" + python, BINARY, "run", train).finish(), 0)
        fails = self.srun(BINARY, "run", "--", "sh", "-c", 'exit $((RANK * 7))').finish()
        self.expect_code(fails, 7)

    def test_who_asks_for_several_tasks_on_a_node_is_told(self):
        for nodes in (1, 2):
            step = self.start_slurm("srun", "-N", nodes, "--ntasks-per-node=2", BINARY, "run", "--", "true").finish()
            self.expect_code(step, 78)
            self.assertIn("--ntasks-per-node=1", step.err)


class BatchTest(SlurmTest):
    def submit(self, script, *words):
        """The job's id."""
        text = "#!/bin/sh\n" + script + "\n"
        output = self.slurm("sbatch", "--parsable", "-N", "2", "--ntasks-per-node=1", "--output", self.path("batch.log"), "--open-mode=append",
                            *words, self.write("batch.sh", text, mode=0o755)).out
        return output.strip()

    def state(self, job):
        return re.search(r"JobState=(\w+)", self.slurm("scontrol", "show", "job", job).out)[1]

    def wait_for_state(self, job, state):
        try:
            wait_until(lambda: self.state(job) == state, "job %s is %s" % (job, state), timeout_s=90)
        except AssertionError as error:
            raise AssertionError("%s\n%s" % (error, self.read("batch.log") if self.exists("batch.log") else "no output"))

    def worker(self, text):
        return "srun %s run -- sh %s" % (BINARY, self.write("worker.sh", text))

    def test_a_batch_script_is_no_step(self):
        job = self.submit(BINARY + ' run -- sh -c \'echo "$WORLD_SIZE" >"$OUT"/alone\'')
        self.wait_for_state(job, "COMPLETED")
        self.assertEqual(self.read("alone"), "1\n")

    def test_a_job_that_is_requeued_begins_anew(self):
        job = self.submit(self.worker(
            'echo "$SLURM_RESTART_COUNT:$RANK" >>"$OUT"/runs\n'
            'trap \'echo "$RANK" >>"$OUT"/told; exit 1\' TERM\n'
            '[ -n "$SLURM_RESTART_COUNT" ] && exit 0\nwhile :; do sleep 0.1; done'))
        wait_until(lambda: self.exists("runs") and len(self.read("runs").splitlines()) == 2, "both ranks run", timeout_s=60)
        self.slurm("scontrol", "requeue", job)
        # Slurm waits two minutes before it starts a requeued job, unless it is told.
        wait_until(lambda: self.state(job) == "PENDING", "the job is requeued", timeout_s=60)
        self.slurm("scontrol", "update", "JobId=" + job, "StartTime=now")
        self.wait_for_state(job, "COMPLETED")
        self.assertEqual(sorted(self.read("runs").splitlines()), ["1:0", "1:1", ":0", ":1"])
        self.assertEqual(sorted(self.read("told").splitlines()), ["0", "1"])

    def test_a_signal_before_the_time_limit_reaches_the_ranks(self):
        job = self.submit(self.worker(
            'trap \'echo "$RANK" >>"$OUT"/told; exit 0\' USR1\necho "$RANK" >>"$OUT"/runs\nwhile :; do sleep 0.1; done'),
            "--signal=USR1@60", "--time=1")
        self.wait_for_state(job, "COMPLETED")
        # Slurm signals each process of the step, and Muster hands its own signal on: a rank may hear it twice.
        self.assertEqual(set(self.read("told").splitlines()), {"0", "1"})


if __name__ == "__main__":
    unittest.main()
