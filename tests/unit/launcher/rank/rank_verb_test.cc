#include "launcher/rank/rank_verb.h"

#include <gtest/gtest.h>

namespace muster::launcher {
namespace {

Environment environment(std::initializer_list<std::pair<const char*, const char*>> variables) {
  Environment result;
  for (const auto& [name, value] : variables) result.set(name, value);
  return result;
}

TEST(RankPlace, IsWhatTheLauncherSays) {
  const auto open_mpi =
      rank_place(environment({{"OMPI_COMM_WORLD_RANK", "3"}, {"OMPI_COMM_WORLD_SIZE", "4"}}));
  ASSERT_TRUE(open_mpi.has_value());
  EXPECT_EQ(open_mpi->rank, 3u);
  EXPECT_EQ(open_mpi->size, 4u);
  EXPECT_EQ(rank_place(environment({{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}}))->size, 2u);
  EXPECT_EQ(rank_place(environment({{"HOROVOD_RANK", "1"}, {"HOROVOD_SIZE", "2"}}))->rank, 1u);
  EXPECT_FALSE(rank_place(environment({{"PMI_RANK", "2"}, {"PMI_SIZE", "2"}})).has_value());
  EXPECT_FALSE(rank_place(environment({{"PMI_RANK", "-1"}, {"PMI_SIZE", "2"}})).has_value());
  EXPECT_FALSE(rank_place(environment({{"PMI_RANK", "0"}})).has_value());
}

TEST(RankReport, HasAddressRoundAndRunId) {
  const auto report = parse_rank_report("10.0.0.1:29400 7 a job");
  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(report->agent, (Address{"10.0.0.1", 29400}));
  EXPECT_EQ(report->round, 7u);
  EXPECT_EQ(report->run_id, "a job");
  EXPECT_EQ(parse_rank_report("[fd00::1]:5 1 x")->agent.host, "fd00::1");
}

TEST(RankReport, AnythingElseIsAnErrorThatNamesTheVariable) {
  for (const char* text : {"", "10.0.0.1:29400", "10.0.0.1:29400 7", "host:29400 7 x",
                           "10.0.0.1 7 x", "10.0.0.1:0 7 x", "10.0.0.1:29400 0 x"}) {
    const auto report = parse_rank_report(text);
    ASSERT_FALSE(report.has_value()) << text;
    EXPECT_EQ(report.error().code, Code::kConfig);
    EXPECT_NE(report.error().text.find("MUSTER_RANK_REPORT"), std::string::npos);
  }
}

}  // namespace
}  // namespace muster::launcher
