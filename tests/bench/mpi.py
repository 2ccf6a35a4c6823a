"""An MPICH program (MPI_Init, an allreduce, a ring, MPI_Finalize) from exec of its launcher to its end: with mpiexec and its
proxies, and with the agents as the ranks' process managers. Both on one machine; of several hosts each is an agent or a proxy."""
import shutil
import subprocess

from harness import BUILD, ROOT, CouldNotRun, Subject
from report import Budget, Metric

SHAPES = ((1, 2), (1, 8), (4, 2))  # hosts, ranks on each
PMI = ("--framework", "mpi", "--mpi-launch", "pmi")


def rank_program():
    binary, source = BUILD / "mpi_rank", ROOT / "tests" / "support" / "mpi_rank.c"
    if not binary.exists() or binary.stat().st_mtime < source.stat().st_mtime:
        BUILD.mkdir(parents=True, exist_ok=True)
        subprocess.run(["mpicc.mpich", "-O2", "-o", str(binary), str(source)], check=True)
    return str(binary)


def subjects(bench, hosts, ranks):
    verb = ("local", "--nodes", str(hosts)) if hosts > 1 else ("run",)
    yield Subject("muster", "muster", (bench.muster, *verb, "--nproc-per-node", str(ranks), *PMI, "--"))
    names = ("-launcher", "fork", "-hosts", ",".join(f"127.0.0.{n + 1}" for n in range(hosts)), "-ppn", str(ranks)) if hosts > 1 else ()
    yield Subject("mpiexec.hydra", "peer", ("mpiexec.hydra", *names, "-np", str(hosts * ranks)))


def run(bench, results):
    if not shutil.which("mpicc.mpich") or not shutil.which("mpiexec.hydra"):
        return bench.leave_out("MPICH", "mpicc.mpich or mpiexec.hydra is not installed")
    program = rank_program()
    for hosts, ranks in SHAPES:
        where = f"{hosts} hosts × {ranks} ranks" if hosts > 1 else f"{ranks} ranks"
        wall = Metric("mpi", f"wall of an MPICH program, {where}", "ms", budgets=(Budget(1.3, "peer"),))
        cpu = Metric("mpi", f"CPU of launcher and ranks, {where}", "ms")

        def take(subject):
            with open(bench.scratch / "said", "wb") as said:
                ran = bench.measure((*subject.command, program), stdout=said)
            lines = (bench.scratch / "said").read_text().count(f"of {hosts * ranks}: sum")
            if lines != hosts * ranks:
                raise CouldNotRun(f"{lines} ranks said that they were of {hosts * ranks}; {bench.last_words()}")
            return ran

        for subject, ran, calm in bench.rounds(subjects(bench, hosts, ranks), 5 if bench.quick else 20, take, warm=not bench.quick):
            results.add(wall, subject, ran.wall_s * 1e3, calm)
            results.add(cpu, subject, ran.cpu_s * 1e3, calm)
