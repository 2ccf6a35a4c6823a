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

TEST(RankPlace, HasTheRankOnItsNode) {
  EXPECT_EQ(rank_place(environment({{"OMPI_COMM_WORLD_RANK", "3"},
                                    {"OMPI_COMM_WORLD_SIZE", "4"},
                                    {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}}))
                ->local_rank,
            1);
  EXPECT_EQ(
      rank_place(environment({{"PMI_RANK", "3"}, {"PMI_SIZE", "4"}, {"MPI_LOCALRANKID", "2"}}))
          ->local_rank,
      2);
}

TEST(RankOrigin, TellsLaunchersAndTheirWorldsApart) {
  const auto of = [](const char* name_space) {
    return rank_origin(environment({{"PMIX_NAMESPACE", name_space}}));
  };
  const auto first = of("prterun-host-77@1");
  ASSERT_TRUE(first.has_value());
  EXPECT_NE(first->launcher, 0u);
  EXPECT_EQ(first->world, 0u);
  EXPECT_EQ(of("prterun-host-77@2")->launcher, first->launcher);
  EXPECT_EQ(of("prterun-host-77@2")->world, 1u);
  EXPECT_NE(of("prterun-host-78@1")->launcher, first->launcher);
  // Open MPI 4: a number, its launcher in the upper half.
  EXPECT_EQ(of("1234501633")->launcher, of("1234501634")->launcher);
  EXPECT_EQ(of("1234501634")->world, of("1234501633")->world + 1);
  const auto intel =
      rank_origin(environment({{"I_MPI_HYDRA_UUID", "abc"}, {"HYDRA_BSTRAP_PGID", "2"}}));
  ASSERT_TRUE(intel.has_value());
  EXPECT_EQ(intel->world, 2u);
  EXPECT_FALSE(rank_origin(environment({{"PMI_RANK", "0"}})).has_value());
  EXPECT_FALSE(of("nothing of that kind").has_value());
}

TEST(RankReport, HasAddressRoundAndRunId) {
  const auto report = parse_rank_report("10.0.0.1:29400 18446744073709551615 7 a job");
  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(report->address, (Address{"10.0.0.1", 29400}));
  EXPECT_EQ(report->agent, 18446744073709551615U);
  EXPECT_EQ(report->round, 7u);
  EXPECT_EQ(report->run_id, "a job");
  EXPECT_EQ(parse_rank_report("[fd00::1]:5 9 1 x")->address.host, "fd00::1");
}

TEST(RankReport, AnythingElseIsAnErrorThatNamesTheVariable) {
  for (const char* text :
       {"", "10.0.0.1:29400", "10.0.0.1:29400 9 7", "host:29400 9 7 x", "10.0.0.1 9 7 x",
        "10.0.0.1:0 9 7 x", "10.0.0.1:29400 9 0 x", "10.0.0.1:29400 x 7 x"}) {
    const auto report = parse_rank_report(text);
    ASSERT_FALSE(report.has_value()) << text;
    EXPECT_EQ(report.error().code, Code::kConfig);
    EXPECT_NE(report.error().text.find("MUSTER_RANK_REPORT"), std::string::npos);
  }
}

}  // namespace
}  // namespace muster::launcher
