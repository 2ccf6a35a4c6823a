"""The launchers that are compared: Muster, a floor in C, and whichever peers this machine has."""
import os
import re
import shutil
from pathlib import Path

from harness import Subject, helper

SYSTEM_PYTHON = "/usr/bin/python3"  # the one that Debian's python3-torch belongs to
DEBIAN_TORCH = Path("/usr/lib/python3/dist-packages/torch")
COMPAT = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "muster" / "compat"
WORKERS = "2"


def torch_version(package):
    """ "1.13" of the torch package in this directory, or None. """
    file = package / "version.py"
    found = re.search(r"__version__ = '(\d+\.\d+)", file.read_text()) if file.exists() else None
    return found and found[1]


def new_torch(bench):
    """(python, "2.13") of the compatibility environment, or None, said loudly."""
    for package in COMPAT.glob("lib/python*/site-packages/torch"):
        if version := torch_version(package):
            return str(COMPAT / "bin" / "python"), version
    bench.leave_out("current PyTorch", f"no torch in {COMPAT}")
    return None


def debian_torch(bench):
    if torch_version(DEBIAN_TORCH) == "1.13":
        return True
    bench.leave_out("PyTorch 1.13", f"Debian's python3-torch 1.13 is not in {DEBIAN_TORCH}")
    return False


def musters(bench, *flags, as_torchrun=()):
    """`muster run`, and the same binary called as torchrun, which may need further flags to do the same."""
    if not bench.muster.exists():
        return
    run = ("--nproc-per-node", WORKERS, *flags)
    yield Subject("muster", "muster", (str(bench.muster), "run", *run))
    link = bench.muster.with_name("torchrun")
    if link.exists():
        yield Subject("muster as torchrun", "muster", (str(link), *run, *as_torchrun, "--no-python"))


def torchruns(bench, *flags, default_polling=True):
    """Flags in the underscore spelling, which every version takes."""
    run = ("--standalone", "--nproc_per_node", WORKERS, *flags)
    if debian_torch(bench):
        old = (SYSTEM_PYTHON, str(Path(__file__).with_name("torchrun113.py")), *run)
        yield Subject("torchrun 1.13, polling 0.1 s", "peer", (*old, "--monitor_interval", "0.1", "--no_python"), slow=True)
        if default_polling and not bench.quick:
            yield Subject("torchrun 1.13, polling 5 s (its default)", "peer", (*old, "--no_python"), slow=True, poll_s=5)
    if found := new_torch(bench):
        python, version = found
        yield Subject(f"torchrun {version}", "peer", (python, "-m", "torch.distributed.run", *run, "--no_python"), slow=True)


def mpis(bench, hydra_flags=(), openmpi_flags=()):
    if shutil.which("mpiexec.hydra"):
        yield Subject("mpiexec.hydra", "peer", ("mpiexec.hydra", *hydra_flags, "-np", WORKERS))
    else:
        bench.leave_out("hydra", "mpiexec.hydra is not installed")
    if shutil.which("mpirun.openmpi"):
        yield Subject("mpirun (Open MPI)", "peer", ("mpirun.openmpi", "--allow-run-as-root", "--oversubscribe",
                                                   *openmpi_flags, "-np", WORKERS))
    else:
        bench.leave_out("Open MPI", "mpirun.openmpi is not installed")


def floor(restarts=0):
    return Subject("floor (static C, posix_spawn)", "floor", (helper("floor_launch", "-static"), str(restarts), WORKERS))


def launchers(bench):
    return [*musters(bench), floor(), *mpis(bench), *torchruns(bench)]
