#include "launcher/dashboard/access.h"

#include <gtest/gtest.h>

namespace muster::launcher {
namespace {

const DashboardAccess kAccess{"", {"Dash.example"}};

bool is_taken(const char* method, std::string host, std::string origin = "") {
  HttpCall call{method, "/", ""};
  if (!host.empty()) call.headers.push_back({"Host", std::move(host)});
  if (!origin.empty()) call.headers.push_back({"Origin", std::move(origin)});
  return static_cast<bool>(check_origin(call, kAccess));
}

TEST(DashboardAccess, AddressesAndNamesThatWereToldAreOwn) {
  for (const char* host : {"127.0.0.1:8090", "10.1.2.3", "[::1]:8090", "[::1]", "localhost:80",
                           "LOCALHOST", "dash.example:8090"})
    EXPECT_TRUE(is_own_host(host, kAccess)) << host;
  for (const char* host : {"evil.example", "127.0.0.1.evil.example:8090", "localhost.evil", "",
                           ":80", "x]:80", "dash.example.evil"})
    EXPECT_FALSE(is_own_host(host, kAccess)) << host;
}

TEST(DashboardAccess, ANameThatSomebodyElseLeadsHereReadsNothing) {
  EXPECT_TRUE(is_taken("GET", "127.0.0.1:8090"));
  EXPECT_TRUE(is_taken("GET", ""));  // no browser
  EXPECT_FALSE(is_taken("GET", "evil.example:8090"));
}

TEST(DashboardAccess, PostsOfOtherSitesAreRefusedAndThoseOfProgramsTaken) {
  EXPECT_TRUE(is_taken("POST", "dashboard.team.svc:8090"));
  EXPECT_TRUE(is_taken("POST", "127.0.0.1:8090", "http://127.0.0.1:8090"));
  EXPECT_FALSE(is_taken("POST", "127.0.0.1:8090", "http://evil.example"));
  EXPECT_FALSE(is_taken("POST", "127.0.0.1:8090", "null"));
  EXPECT_FALSE(is_taken("POST", "evil.example:8090", "http://evil.example:8090"));
}

}  // namespace
}  // namespace muster::launcher
