#include "launcher/frameworks/mpi/mpi_sshd.h"

#include <gtest/gtest.h>

namespace muster::launcher {
namespace {

constexpr std::string_view kPasswd =
    "root:x:0:0:root:/root:/bin/bash\nbroken\n:x:7:7::/:\nmpiuser:x:1000:1000::/h:/bin/sh\n";

TEST(LoginName, IsThatOfTheUidOrWhatTheEnvironmentSays) {
  Environment environment;
  EXPECT_EQ(login_name(kPasswd, 1000, environment).value(), "mpiuser");
  EXPECT_EQ(login_name(kPasswd, 0, environment).value(), "root");
  EXPECT_EQ(login_name("", 0, environment).value(), "root");
  const auto none = login_name(kPasswd, 77777, environment);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Code::kConfig);
  EXPECT_EQ(none.error().text,
            "uid 77777 has no name in /etc/passwd under which it could log in: set USER");
  environment.set("USER", "somebody");
  EXPECT_EQ(login_name(kPasswd, 77777, environment).value(), "somebody");
  EXPECT_EQ(login_name(kPasswd, 7, environment).value(), "somebody");
  EXPECT_EQ(login_name(kPasswd, 1000, environment).value(), "mpiuser");
}

}  // namespace
}  // namespace muster::launcher
