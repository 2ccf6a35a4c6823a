#include "nccl/plan/settings.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/support/fake_files.h"

namespace muster::nccl {
namespace {

using Entries = std::vector<std::pair<std::string, std::string>>;

TEST(NcclConf, IsReadAsNcclReadsIt) {
  EXPECT_EQ(parse_nccl_conf("NCCL_IB_TC=41\n"), (Entries{{"NCCL_IB_TC", "41"}}));
  EXPECT_EQ(parse_nccl_conf("# NCCL_A=1\n #NCCL_B=1\n"), (Entries{{" #NCCL_B", "1"}}));
  EXPECT_EQ(parse_nccl_conf("NCCL_A = 1 \r\n"), (Entries{{"NCCL_A ", " 1 "}}));
  EXPECT_EQ(parse_nccl_conf("NCCL_IB_HCA==mlx5_0\nx\n=1\n"), (Entries{{"NCCL_IB_HCA", "=mlx5_0"}}));
  EXPECT_EQ(parse_nccl_conf("A=\"b c\""), (Entries{{"A", "\"b c\""}}));
}

TEST(NcclConf, IsBounded) {
  const auto entries = parse_nccl_conf("A=" + std::string(5000, 'x') + "\n");
  ASSERT_EQ(entries.size(), 1U);
  EXPECT_EQ(entries[0].second.size(), kMaxConfPartBytes);
  std::string many;
  for (size_t i = 0; i < 2 * kMaxConfLines; ++i) many += "A=1\n";
  EXPECT_EQ(parse_nccl_conf(many).size(), kMaxConfLines);
  EXPECT_TRUE(parse_nccl_conf(std::string("A=1\0", 4)).empty());
}

TEST(Settings, TheEnvironmentBeatsTheFilesAndOneOfTheHomeThatOfTheMachine) {
  muster::testing::FakeFiles files;
  files.add_file("/root/.nccl.conf", "NCCL_A=home\nNCCL_B=home\n");
  files.add_file("/etc/nccl.conf", "NCCL_A=etc\nNCCL_B=etc\nNCCL_C=etc\n");
  Environment environment;
  environment.set("HOME", "/root");
  environment.set("NCCL_A", "here");
  const Settings settings = read_settings(files, environment, false);
  EXPECT_EQ(settings.find("NCCL_A")->value, "here");
  EXPECT_FALSE(settings.find("NCCL_A")->is_in_file());
  EXPECT_EQ(settings.find("NCCL_B")->source, "/root/.nccl.conf");
  EXPECT_EQ(settings.find("NCCL_C")->source, "/etc/nccl.conf");
  EXPECT_EQ(settings.find("NCCL_D"), nullptr);
}

TEST(Settings, ANamedFileStandsForTheOneOfTheHome) {
  muster::testing::FakeFiles files;
  files.add_file("/root/.nccl.conf", "NCCL_A=home\n");
  files.add_file("/site/nccl.conf", "NCCL_B=site\n");
  Environment environment;
  environment.set("HOME", "/root");
  environment.set("NCCL_CONF_FILE", "/site/nccl.conf");
  const Settings settings = read_settings(files, environment, false);
  EXPECT_FALSE(settings.has("NCCL_A"));
  EXPECT_EQ(settings.find("NCCL_B")->value, "site");
}

TEST(Settings, RcclHasItsOwnFiles) {
  muster::testing::FakeFiles files;
  files.add_file("/etc/rccl.conf", "NCCL_A=1\n");
  EXPECT_FALSE(read_settings(files, {}, false).has("NCCL_A"));
  EXPECT_TRUE(read_settings(files, {}, true).has("NCCL_A"));
}

}  // namespace
}  // namespace muster::nccl
