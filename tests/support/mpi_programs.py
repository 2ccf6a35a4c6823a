"""The C programs of the MPI tests, of examples/mpi and support/, built once with each of Debian's two MPIs, and what tests must know of these two."""
import functools
import hashlib
import os
import shutil
import subprocess
import tempfile

from harness import BINARY, EXAMPLES, SUPPORT
from mpi_cases import LOOKS_LIKE_SUCCESS, TOLD

SOURCES = {"ring": os.path.join(EXAMPLES, "mpi", "ring.c")}


@functools.lru_cache(maxsize=None)
def built(name, mpi, compiler=None, *flags):
    """Path of the program "ring", or of a C file in support/, for "openmpi" or "mpich" of Debian, or with another compiler. It stays beside
    the binary that is tested, for the next run: most tests take less time than the compiler."""
    source = SOURCES.get(name, os.path.join(SUPPORT, name + ".c"))
    compiler = compiler or "mpicc." + mpi
    with open(source, "rb") as file:
        version = hashlib.sha256(file.read() + " ".join((os.path.realpath(shutil.which(compiler)), *flags)).encode()).hexdigest()[:16]
    folder = os.path.join(os.path.dirname(os.path.abspath(BINARY)), "mpi-programs", version)
    path = os.path.join(folder, "%s.%s" % (name, mpi))
    if not os.path.exists(path):
        os.makedirs(folder, exist_ok=True)
        # Two tests may do it at the same time.
        with tempfile.TemporaryDirectory(dir=folder) as temporary:
            subprocess.run([compiler, "-O1", "-o", os.path.join(temporary, "program"), source, *flags], check=True)
            os.rename(os.path.join(temporary, "program"), path)
    return path


class Compiled:
    def program(self, name):
        return [built(name, self.mpi)]


class OpenMpi(Compiled):
    mpi, daemon, launcher = "openmpi", "orted", "/usr/bin/mpirun.openmpi"
    exceptions = {"a_rank_aborts_with_a_code_that_looks_like_success": LOOKS_LIKE_SUCCESS}


class Mpich(Compiled):
    mpi, daemon, launcher = "mpich", "hydra_pmi_proxy", "/usr/bin/mpiexec.mpich"
    exceptions = {"the_launcher_is_told_to_end": {"code": 143, **TOLD},
                  "the_launcher_is_told_to_end_during_launch": {"code": 255, "cause": "MPI on node-1 failed first: {launcher}: exit code 255"}}
