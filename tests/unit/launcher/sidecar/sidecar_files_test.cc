#include "launcher/sidecar/sidecar_files.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"
#include "launcher/journal/journal_file.h"
#include "tests/support/output_fixture.h"

namespace muster::launcher {
namespace {

using muster::testing::content_of;
using muster::testing::TempDir;

JournalEvent numbered(uint64_t seq) {
  return {{seq, "a-" + std::to_string(seq)},        "e", "job", "node",
          R"({"seq":)" + std::to_string(seq) + "}", ""};
}

TEST(CursorFileTest, KeepsAPlace) {
  const TempDir temp;
  const CursorFile cursor(temp.path(), "webhook");
  EXPECT_EQ(cursor.read().mark, JournalMark());
  ASSERT_TRUE(cursor.write({{7, "a-7"}, false}));
  ASSERT_TRUE(cursor.write({{8, "a\"-8"}, true}));
  EXPECT_EQ(cursor.read().mark, (JournalMark{8, "a\"-8"}));
  EXPECT_TRUE(cursor.read().has_end);
  EXPECT_FALSE(std::filesystem::exists(temp.path() + "/sidecar.webhook.cursor.new"));
}

TEST(CursorFileTest, OneThatCannotBeReadIsTheBeginning) {
  const TempDir temp;
  for (const char* wrong : {"", "x", "{}", R"({"seq":-1,"id":"a"})", R"({"seq":1})", "[1]"}) {
    std::ofstream(temp.path() + "/sidecar.t.cursor") << wrong;
    EXPECT_EQ(CursorFile(temp.path(), "t").read().mark, JournalMark()) << wrong;
  }
}

TEST(CursorFileTest, AFullDiskLeavesTheOldOne) {
  const TempDir temp;
  const CursorFile cursor(temp.path(), "t");
  ASSERT_TRUE(cursor.write({{7, "a-7"}, false}));
  std::filesystem::create_directory(temp.path() + "/sidecar.t.cursor.new");
  EXPECT_FALSE(cursor.write({{8, "a-8"}, false}));
  EXPECT_EQ(cursor.read().mark.seq, 7U);
}

TEST(DeadLettersTest, KeepEventsAndWhyAndAreBounded) {
  const TempDir temp;
  const DeadLetters letters(temp.path(), "t", 300);
  ASSERT_TRUE(letters.add({numbered(1), numbered(2)}, 422, "no\nsuch field"));
  const std::string text = content_of(letters.path());
  const auto lines = split(text, '\n');
  ASSERT_EQ(lines.size(), 3U);
  const auto first = parse_json(lines[0]);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->at("status"), 422);
  EXPECT_EQ(first->at("event").at("seq"), 1);
  for (uint64_t seq = 3; seq < 40; ++seq) ASSERT_TRUE(letters.add({numbered(seq)}, 400, ""));
  EXPECT_LT(content_of(letters.path()).size(), 400U);
  EXPECT_TRUE(std::filesystem::exists(letters.path() + ".1"));
}

TEST(SidecarLockTest, ThereIsOneAtATime) {
  const TempDir temp;
  auto first = lock_sidecar(temp.path());
  ASSERT_TRUE(first);
  const auto second = lock_sidecar(temp.path());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().os_errno, EWOULDBLOCK);
  first->reset();
  EXPECT_TRUE(lock_sidecar(temp.path()));
}

TEST(AgentLockTest, TellsWhetherAnAgentLivesAndKeepsNoneFromStarting) {
  const TempDir temp;
  EXPECT_FALSE(agent_is_there(temp.path()));
  auto lock = lock_journal(temp.path());
  ASSERT_TRUE(lock);
  EXPECT_TRUE(agent_is_there(temp.path()));
  lock->reset();
  EXPECT_FALSE(agent_is_there(temp.path()));
  EXPECT_TRUE(lock_journal(temp.path()));
}

}  // namespace
}  // namespace muster::launcher
