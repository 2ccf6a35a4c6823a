// What Options decides by itself.
#include "launcher/options/options.h"

#include <gtest/gtest.h>

namespace muster::launcher {
namespace {

TEST(Options, MusterPrefixesLinesWhenThereAreSeveralWorkers) {
  Options options;
  EXPECT_EQ(console_prefix_template(options, 1, false), "");
  EXPECT_EQ(console_prefix_template(options, 2, false), "[${node}:${rank}] ");
  EXPECT_EQ(console_prefix_template(options, 2, true), "[${node}:${rank}] ");
  options.prefix_template = "${rank}| ";
  EXPECT_EQ(console_prefix_template(options, 1, false), "${rank}| ");
  options.prefix_template = "";
  EXPECT_EQ(console_prefix_template(options, 2, true), "");
}

TEST(Options, TorchrunPrefixesOnlyWhatIsTeed) {
  Options options;
  options.personality = Personality::kTorchrun;
  EXPECT_EQ(console_prefix_template(options, 8, false), "");
  EXPECT_EQ(console_prefix_template(options, 1, true), "[${role_name}${local_rank}]:");
  options.prefix_template = "${rank}| ";
  EXPECT_EQ(console_prefix_template(options, 8, false), "");
  EXPECT_EQ(console_prefix_template(options, 8, true), "${rank}| ");
}

TEST(Options, StreamsOfUnlistedRanksAreTheOthers) {
  StreamsByRank streams;
  streams.otherwise = {true, false};
  streams.by_local_rank[3] = {false, true};
  EXPECT_EQ(streams.of(0), (Streams{true, false}));
  EXPECT_EQ(streams.of(3), (Streams{false, true}));
}

}  // namespace
}  // namespace muster::launcher
