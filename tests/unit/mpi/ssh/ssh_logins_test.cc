#include "mpi/ssh/ssh_logins.h"

#include <gtest/gtest.h>

namespace muster::mpi {
namespace {

TEST(SshLogins, TheOldestGoesFirst) {
  SshLogins logins;
  logins.came(1, "10.0.0.1");
  logins.came(2, "10.0.0.2");
  EXPECT_EQ(logins.first_to_go().pid, 1);
  logins.gone(1);
  EXPECT_EQ(logins.first_to_go().pid, 2);
  EXPECT_EQ(logins.size(), 1U);
}

TEST(SshLogins, WhoHoldsManyLosesTheirOwn) {
  SshLogins logins;
  logins.came(1, "member");
  for (pid_t pid = 2; pid < 60; ++pid) logins.came(pid, "stranger");
  logins.came(60, "another member");
  for (pid_t pid = 2; pid < 59; ++pid) {
    EXPECT_EQ(logins.first_to_go().pid, pid);
    EXPECT_EQ(logins.first_to_go().host, "stranger");
    logins.gone(pid);
  }
  EXPECT_EQ(logins.size(), 3U);
  EXPECT_EQ(logins.first_to_go().pid, 1);
}

TEST(SshLogins, WhoIsNotThereIsNoError) {
  SshLogins logins;
  logins.came(1, "a");
  logins.gone(7);
  EXPECT_EQ(logins.size(), 1U);
}

}  // namespace
}  // namespace muster::mpi
