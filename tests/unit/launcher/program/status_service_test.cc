#include "launcher/program/status_service.h"

#include <gtest/gtest.h>

namespace muster::launcher {
namespace {

std::string place(const Options& options, const Environment& environment, bool has_contract) {
  const auto address = status_address(options, environment, has_contract);
  return address ? address->to_string() : "none";
}

TEST(StatusAddressTest, InPodsItIsOnEveryInterfaceAndElsewhereNowhere) {
  const Options options;
  Environment pod;
  pod.set("KUBERNETES_SERVICE_HOST", "10.0.0.1");
  EXPECT_EQ(place(options, {}, false), "none");
  EXPECT_EQ(place(options, {}, true), "[::]:8080");
  EXPECT_EQ(place(options, pod, false), "[::]:8080");
}

TEST(StatusAddressTest, TheFlagCountsMore) {
  Options options;
  Environment pod;
  pod.set("KUBERNETES_SERVICE_HOST", "10.0.0.1");
  options.status_port = 0;
  EXPECT_EQ(place(options, pod, true), "none");
  options.status_port = 9000;
  EXPECT_EQ(place(options, {}, false), "127.0.0.1:9000");
  EXPECT_EQ(place(options, pod, false), "[::]:9000");
}

TEST(StatusAddressTest, ItIsOnTheAddressOfTheNodeButNotOnItsName) {
  Options options;
  options.status_port = 9000;
  options.local_addr = "127.0.1.2";
  EXPECT_EQ(place(options, {}, false), "127.0.1.2:9000");
  options.local_addr = "fd00::1";
  EXPECT_EQ(place(options, {}, true), "[fd00::1]:9000");
  options.local_addr = "node-1.example";
  EXPECT_EQ(place(options, {}, false), "127.0.0.1:9000");
}

}  // namespace
}  // namespace muster::launcher
