#include "launcher/output/prefix_template.h"

#include <gtest/gtest.h>

namespace muster::launcher {
namespace {

const WorkerLabel kWorker{.rank = 11, .local_rank = 3, .role_name = "trainer", .node = "pod-1"};

TEST(PrefixTemplate, EveryMacroIsReplaced) {
  EXPECT_EQ(expand_prefix("[${role_name}${local_rank}]:", kWorker), "[trainer3]:");
  EXPECT_EQ(expand_prefix("[${node}:${rank}] ", kWorker), "[pod-1:11] ");
  EXPECT_EQ(expand_prefix("${hostname}|", kWorker), "pod-1|");
}

TEST(PrefixTemplate, BracesMayBeLeftOutAndADoubledDollarIsOne) {
  EXPECT_EQ(expand_prefix("$rank:$local_rank $$rank $", kWorker), "11:3 $rank $");
  EXPECT_EQ(expand_prefix("$ranks", kWorker), "$ranks");
}

TEST(PrefixTemplate, WhatIsUnknownOrBrokenStaysAsItIs) {
  for (const char* text : {"", "plain", "${other}", "${rank", "${}", "${rank }", "$-", "a$"}) {
    EXPECT_EQ(expand_prefix(text, kWorker), text);
  }
}

TEST(PrefixTemplate, TheFirstUnknownMacroIsNamed) {
  const std::pair<const char*, const char*> texts[] = {
      {"[${role_name}${local_rank}]: ${rank} ${hostname} ${node} $rank", ""},
      {"${rank}${nodename}", "${nodename}"},
      {"$rank $ranks|", "$ranks"},
      {"${rank", "${rank"},
      {"${rank }|", "${rank }"},
      {"${}|", "${}"},
      {"$$other $5 $- $", ""},
  };
  for (const auto& [text, macro] : texts) EXPECT_EQ(unknown_macro(text), macro) << text;
}

TEST(PrefixTemplate, AnEmptyRoleGivesAnEmptyName) {
  WorkerLabel worker = kWorker;
  worker.role_name.clear();
  EXPECT_EQ(expand_prefix("[${role_name}${local_rank}]:", worker), "[3]:");
}

TEST(PrefixTemplate, ALongPrefixIsCutBetweenCharacters) {
  const std::string text = "x" + std::string(kMaxPrefixBytes - 2, 'y') + "\xc3\xa4z";
  EXPECT_EQ(expand_prefix(text, kWorker), text.substr(0, kMaxPrefixBytes - 1));
}

TEST(PrefixTemplate, ValuesAreNotExpandedAgain) {
  WorkerLabel worker = kWorker;
  worker.role_name = "${rank}";
  EXPECT_EQ(expand_prefix("${role_name}", worker), "${rank}");
}

}  // namespace
}  // namespace muster::launcher
