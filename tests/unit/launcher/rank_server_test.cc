#include "launcher/rank_server.h"

#include <gtest/gtest.h>

#include "mpi/pmi_protocol.h"

namespace muster::launcher {
namespace {

TEST(RankSpaceName, IsPlainAndBounded) {
  EXPECT_EQ(rank_space_name("job/a b", 2, "0123456789abcdef01234567"),
            "muster_job_a_b_2_0123456789abcdef");
  EXPECT_LT(rank_space_name(std::string(300, 'x'), 2, std::string(300, 'f')).size(),
            mpi::kMaxPmiKvsNameBytes);
}

}  // namespace
}  // namespace muster::launcher
