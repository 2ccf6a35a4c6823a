#include "mpi/pmi/rank_server.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <utility>

#include "mpi/pmi/pmi_protocol.h"

namespace muster::mpi {
namespace {

TEST(RankStdin, OnlyTheFirstRankOfTheJobReadsTheAgents) {
  SpawnRequest request;
  NodeRanks place;
  const auto kept = set_rank_stdin(place, 0, request);
  ASSERT_TRUE(kept);
  EXPECT_FALSE(kept->is_open());
  EXPECT_EQ(request.stdin_fd, -1);
  for (const auto& [first_rank, local_rank] : {std::pair(0, 1), std::pair(4, 0)}) {
    place.first_rank = first_rank;
    const auto nothing = set_rank_stdin(place, local_rank, request);
    ASSERT_TRUE(nothing);
    EXPECT_EQ(request.stdin_fd, nothing->get());
    char byte = 0;
    EXPECT_EQ(read(request.stdin_fd, &byte, 1), 0);
  }
}

TEST(RankSpaceName, IsPlainAndBounded) {
  EXPECT_EQ(rank_space_name("job/a b", 2, "0123456789abcdef01234567"),
            "muster_job_a_b_2_0123456789abcdef");
  EXPECT_LT(rank_space_name(std::string(300, 'x'), 2, std::string(300, 'f')).size(),
            kMaxPmiKvsNameBytes);
}

TEST(RankSpaceName, OfPmixEndsWithASecretInPlaceOfTheToken) {
  EXPECT_EQ(secret_space_name(rank_space_name("job", 2, "0123456789abcdef"), "secret"),
            "muster_job_2_secret");
}

}  // namespace
}  // namespace muster::mpi
