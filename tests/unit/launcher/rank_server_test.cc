#include "launcher/rank_server.h"

#include <gtest/gtest.h>

#include "mpi/pmi_protocol.h"

namespace muster::launcher {
namespace {

TEST(RankSpaceName, IsPlainAndBounded) {
  EXPECT_EQ(rank_space_name("job/a b", 2), "muster_job_a_b_2");
  EXPECT_LT(rank_space_name(std::string(300, 'x'), 2).size(), mpi::kMaxPmiKvsNameBytes);
}

}  // namespace
}  // namespace muster::launcher
