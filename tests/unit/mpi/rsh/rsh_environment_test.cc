#include "mpi/rsh/rsh_environment.h"

#include <gtest/gtest.h>

namespace muster::mpi {
namespace {

constexpr std::string_view kPasswd =
    "root:x:0:0:root:/root:/bin/bash\n"
    "broken line\n"
    "mpi:x:1500:1500::/srv/mpi:\n";

TEST(RshEnvironment, AccountsComeFromPasswd) {
  const Account root = find_account(kPasswd, 0);
  EXPECT_EQ(root.name, "root");
  EXPECT_EQ(root.home, "/root");
  EXPECT_EQ(root.shell, "/bin/bash");
  const Account mpi = find_account(kPasswd, 1500);
  EXPECT_EQ(mpi.home, "/srv/mpi");
  EXPECT_EQ(mpi.shell, "/bin/sh");
}

TEST(RshEnvironment, ARandomUidHasNoEntryAndStillAnAccount) {
  const Account account = find_account(kPasswd, 77777);
  EXPECT_EQ(account.name, "77777");
  EXPECT_EQ(account.home, "/");
}

TEST(RshEnvironment, NobodyElsesNameIsTheAccounts) {
  const Account account = find_account(kPasswd, 1500);
  Environment pod;
  pod.set("LOGNAME", "trainer");
  for (const auto* user : {"", "mpi", "1500", "trainer"})
    EXPECT_TRUE(is_same_user(user, account, 1500, pod)) << user;
  for (const auto* user : {"root", "0", "nobody"})
    EXPECT_FALSE(is_same_user(user, account, 1500, pod)) << user;
}

TEST(RshEnvironment, ThePodsVariablesStayAndLoginsAreFilledIn) {
  Environment pod;
  pod.set("NCCL_DEBUG", "INFO");
  pod.set("HOME", "/data");
  pod.set("PATH", "");
  const auto plan = rsh_environment(
      pod, find_account(kPasswd, 1500),
      {.agent = "127.0.0.1:29400", .agent_token = "t", .request = "t-1", .secret_file = "/secret"});
  const Environment environment = plan.merge(pod).environment;
  EXPECT_EQ(environment.get("NCCL_DEBUG"), "INFO");
  EXPECT_EQ(environment.get("HOME"), "/data");
  EXPECT_EQ(environment.get("PATH"), "");  // the user's own, however odd
  EXPECT_EQ(environment.get("USER"), "mpi");
  EXPECT_EQ(environment.get("LOGNAME"), "mpi");
  EXPECT_EQ(environment.get("SHELL"), "/bin/sh");
  EXPECT_EQ(environment.get("MUSTER_RSH_AGENT"), "127.0.0.1:29400");
  EXPECT_EQ(environment.get("MUSTER_RSH_REQUEST"), "t-1");
  EXPECT_EQ(environment.get("MUSTER_AGENT_ID"), "t");
  EXPECT_EQ(environment.get("MUSTER_JOB_SECRET_FILE"), "/secret");
}

TEST(RshEnvironment, RanksOfAnOuterLaunchAreLeftOut) {
  Environment pod;
  pod.set("OMPI_COMM_WORLD_RANK", "3");
  pod.set("PMI_FD", "7");
  pod.set("OMPI_MCA_btl", "tcp,self");
  const Environment environment = rsh_environment(pod, {}, {}).merge(pod).environment;
  EXPECT_FALSE(environment.has("OMPI_COMM_WORLD_RANK"));
  EXPECT_FALSE(environment.has("PMI_FD"));
  EXPECT_EQ(environment.get("OMPI_MCA_btl"), "tcp,self");
  EXPECT_FALSE(environment.has("MUSTER_JOB_SECRET_FILE"));
  EXPECT_NE(environment.get("PATH"), "");
}

}  // namespace
}  // namespace muster::mpi
