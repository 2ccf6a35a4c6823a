#include "launcher/command_line/unread_variables.h"

#include <gtest/gtest.h>

#include "launcher/options/flag_table.h"

namespace muster::launcher {
namespace {

using Lines = std::vector<std::string>;

Lines lines_of(const std::vector<std::string>& names) {
  Environment environment;
  for (const std::string& name : names) environment.set(name, "a secret");
  return unread_variables(environment);
}

TEST(UnreadVariables, TheNearestNameIsTheSuggestion) {
  EXPECT_EQ(lines_of({"MUSTER_NPROC_PER_NOD", "MUSTER_JOB_SECRETFILE", "MUSTER_JOB_SECRET",
                      "MUSTER_FOO", "PATH"}),
            (Lines{"MUSTER_FOO is set, and nothing reads it",
                   "MUSTER_JOB_SECRET is set, and nothing reads it, did you mean "
                   "MUSTER_JOB_SECRET_FILE?",
                   "MUSTER_JOB_SECRETFILE is set, and nothing reads it, did you mean "
                   "MUSTER_JOB_SECRET_FILE?",
                   "MUSTER_NPROC_PER_NOD is set, and nothing reads it, did you mean "
                   "MUSTER_NPROC_PER_NODE?"}));
}

TEST(UnreadVariables, NoFlagsVariableIsOne) {
  Lines names;
  for (const FlagRow& row : flag_table()) names.push_back(muster_variable(row));
  EXPECT_EQ(lines_of(names), Lines{});
}

TEST(UnreadVariables, NorWhatMusterSetsForItsWorkers) {
  EXPECT_EQ(lines_of({"MUSTER_AGENT_ID", "MUSTER_JOB_SECRET_FILE", "MUSTER_LAUNCHER_ID",
                      "MUSTER_RANK_REPORT", "MUSTER_RSH_AGENT", "MUSTER_SSH"}),
            Lines{});
}

TEST(UnreadVariables, NorWhatKubernetesSaysOfServices) {
  const Lines of_services = {"MUSTER_PORT", "MUSTER_SERVICE_HOST", "MUSTER_SERVICE_PORT_HTTP",
                             "MUSTER_X_PORT_80_TCP_PORT", "MUSTER_X_SERVICE_HOST"};
  EXPECT_EQ(lines_of(of_services), Lines{});
  EXPECT_EQ(lines_of({"MUSTER_PORT"}).size(), 1u);
}

}  // namespace
}  // namespace muster::launcher
