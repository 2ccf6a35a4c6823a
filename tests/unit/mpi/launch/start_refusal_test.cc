#include "mpi/launch/start_refusal.h"

#include <gtest/gtest.h>

namespace muster::mpi {
namespace {

TEST(StartRefusal, IsTheLineOfHydrasProxy) {
  EXPECT_EQ(
      start_refusal("[proxy:0:1@w-1] launch_procs (pm/pmiserv/pmip_cb.c:649): unable to change "
                    "wdir to /srv/job (No such file or directory)\n"
                    "[proxy:0:1@w-1] HYD_pmcd_pmip_control_cmd_cb: launch_procs error\n"),
      "unable to change wdir to /srv/job (No such file or directory)");
  EXPECT_EQ(
      start_refusal("x\nHYDU_create_process: execvp error on file ./a.out (Permission denied)"),
      "execvp error on file ./a.out (Permission denied)");
}

TEST(StartRefusal, NamesTheFolderThatOpenMpiNames) {
  EXPECT_EQ(start_refusal("mpirun was unable to launch the specified application as it could not\n"
                          "change to the specified working directory:\n\n"
                          "Working directory: /srv/job\r\nNode: w-0\n\n"
                          "while attempting to start process rank 0.\n"),
            "could not change to the working directory /srv/job");
  EXPECT_EQ(start_refusal("change to the specified working directory:"), "");
}

TEST(StartRefusal, OtherWordsExplainNothing) {
  EXPECT_EQ(start_refusal(""), "");
  EXPECT_EQ(start_refusal("[mpiexec@l] control_cb (pmiserv_cb.c:206): assert (!closed) failed"),
            "");
}

}  // namespace
}  // namespace muster::mpi
