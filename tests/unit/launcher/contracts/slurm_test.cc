// Slurm's lists of hosts, and those that are none.
#include "launcher/contracts/slurm.h"

#include <gtest/gtest.h>

namespace muster::launcher {
namespace {

using Names = std::vector<std::string>;

TEST(SlurmNodeList, IsExpandedInTheOrderOfNodeNumbers) {
  EXPECT_EQ(expand_node_list("head"), Names{"head"});
  EXPECT_EQ(expand_node_list("gnode[8-10,20],head,x1"),
            (Names{"gnode8", "gnode9", "gnode10", "gnode20", "head", "x1"}));
  EXPECT_EQ(expand_node_list("n[08-10]"), (Names{"n08", "n09", "n10"}));
  EXPECT_EQ(expand_node_list("r[1-2]n[0-1]s"), (Names{"r1n0s", "r1n1s", "r2n0s", "r2n1s"}));
  EXPECT_EQ(expand_node_list("n[0-65535]").size(), 65536U);
}

TEST(SlurmNodeList, WhatIsNoneIsEmpty) {
  const std::string long_name(200, 'n');
  for (const std::string& text :
       {std::string(), std::string(","), std::string("a,,b"), std::string("n[1-2"),
        std::string("n[2-1]"), std::string("n[]"), std::string("n[a-b]"), std::string("n[1-]"),
        std::string("n[1-2-3]"), std::string("n[0-65536]"), std::string("n[0-65535],m"),
        std::string("n[0-999]m[0-999]"), std::string("n[0-99999999999]"),
        long_name + "[1-2]" + long_name})
    EXPECT_EQ(expand_node_list(text), Names()) << text;
}

}  // namespace
}  // namespace muster::launcher
