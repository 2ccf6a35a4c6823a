// In a process of its own: the name would be that of all tests after it.
#include "base/process/own_host_name.h"

#include <gtest/gtest.h>
#include <limits.h>

#include <cstdlib>

#include "base/interfaces.h"

namespace muster {
namespace {

constexpr int kNamed = 0;
constexpr int kRefused = 1;  // it takes CAP_SYS_ADMIN
constexpr int kWrong = 2;

[[noreturn]] void take(const std::string& name, const std::string& wanted) {
  const std::string before = *host_name();
  const Status taken = take_host_name(name);
  if (taken) std::_Exit(*host_name() == wanted ? kNamed : kWrong);
  std::_Exit(taken.error().code == Code::kOs && *host_name() == before ? kRefused : kWrong);
}

bool named_or_refused(int status) {
  return WIFEXITED(status) && WEXITSTATUS(status) == (geteuid() == 0 ? kNamed : kRefused);
}

TEST(OwnHostName, IsThatOfTheProcessAndNobodyElses) {
  const std::string before = *host_name();
  EXPECT_EXIT(take("node-7", "node-7"), named_or_refused, "");
  EXPECT_EQ(*host_name(), before);
}

TEST(OwnHostName, IsCutToWhatTheKernelTakes) {
  EXPECT_EXIT(take(std::string(100, 'n'), std::string(HOST_NAME_MAX, 'n')), named_or_refused, "");
}

}  // namespace
}  // namespace muster
