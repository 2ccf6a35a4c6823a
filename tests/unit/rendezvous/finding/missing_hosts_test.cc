// Who of the listed hosts is missing while a leader gathers: found by name and by address, asked
// seldom, and told with the reason.
#include "rendezvous/finding/missing_hosts.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/log.h"
#include "tests/support/fake_clock.h"
#include "tests/support/fake_network.h"
#include "tests/support/fake_resolver.h"

namespace muster::rendezvous {
namespace {

using std::chrono::seconds;
using Lines = std::vector<std::string>;

RosterEntry node(const std::string& name, const std::string& host, int port = 1) {
  RosterEntry entry;
  entry.identity.name = name;
  entry.host = host;
  entry.port = port;
  return entry;
}

std::vector<bool> joined(const std::vector<Candidate>& listed,
                         const std::vector<RosterEntry>& nodes) {
  return find_joined(listed, nodes);
}

TEST(FindJoined, ByNameOrByAddress) {
  const std::vector<Candidate> listed = {{"w-0.jobs", 1}, {"w-1", 1}, {"10.0.0.3", 1}, {"w-3", 1}};
  EXPECT_EQ(joined(listed, {node("w-0", "10.0.0.1"), node("w-1.jobs", "10.0.0.2", 7),
                            node("me", "10.0.0.3", 7), node("other", "10.0.0.4")}),
            (std::vector<bool>{true, true, true, false}));
}

TEST(FindJoined, AHostThatIsListedTwiceCountsWithItsPortAlone) {
  const std::vector<Candidate> listed = {{"10.0.0.1", 1}, {"10.0.0.1", 2}};
  EXPECT_EQ(joined(listed, {node("a", "10.0.0.1", 2)}), (std::vector<bool>{false, true}));
}

TEST(FindJoined, OneNameInTwoDomainsIsNoName) {
  const std::vector<Candidate> listed = {{"w.a", 1}, {"w.b", 1}};
  EXPECT_EQ(joined(listed, {node("w", "10.0.0.1")}), (std::vector<bool>{false, false}));
  EXPECT_EQ(joined(listed, {node("w.b", "10.0.0.1")}), (std::vector<bool>{false, true}));
}

class MissingHostsTest : public ::testing::Test {
 protected:
  MissingHostsTest() {
    log::set_sink([this](std::string_view line) { log_.emplace_back(line); });
  }
  ~MissingHostsTest() override { log::set_sink({}); }

  void pass(int time_s) {
    for (int second = 0; second < time_s; ++second) {
      clock_.advance(seconds(1));
      ASSERT_TRUE(loop_->run_until_idle().has_value());
    }
  }
  [[nodiscard]] size_t asked_for(const std::string& name) const {
    return static_cast<size_t>(std::ranges::count(resolver_.asked(), name));
  }

  testing::FakeClock clock_;
  std::unique_ptr<Loop> loop_ = std::move(*Loop::create(clock_));
  testing::FakeResolver resolver_{*loop_};
  testing::FakeNetwork network_;
  std::vector<Candidate> listed_ = {{"w-0", 1}, {"w-1", 1}, {"w-2", 1}, {"10.0.0.9", 1}};
  std::vector<RosterEntry> nodes_ = {node("w-0", "10.0.0.1")};
  Lines found_;
  Lines log_;
  MissingHosts missing_{{.loop = *loop_,
                         .resolver = resolver_,
                         .network = network_,
                         .join_timeout = seconds(600),
                         .listed = [this] { return listed_; },
                         .joined = [this] { return nodes_; },
                         .found = [this](const std::string& line) { found_.push_back(line); }}};
};

TEST_F(MissingHostsTest, EachWithItsReasonAtGrowingIntervals) {
  resolver_.set("w-2", {"10.0.0.3"});
  const auto listener = network_.listen({"10.0.0.3", 1});
  missing_.set_waiting(true);
  pass(22);
  const std::string line =
      "waiting for 3 of 4: w-1 (NXDOMAIN), w-2 (takes connections, has not joined), 10.0.0.9 "
      "(refused)";
  EXPECT_EQ(found_, (Lines{line, line, line})) << "after 3, 9 and 21 s";
  EXPECT_EQ(asked_for("w-1"), 3U);
  EXPECT_EQ(asked_for("w-0"), 0U) << "it is here";
  ASSERT_EQ(log_.size(), 3U);
  EXPECT_NE(log_[0].find(" I discovery.waiting state=\"" + line + "\" waited_s=3"),
            std::string::npos)
      << log_[0];
  EXPECT_NE(log_[1].find(" W discovery.waiting"), std::string::npos) << log_[1];
}

TEST_F(MissingHostsTest, NobodyIsAskedOnceThereIsARound) {
  missing_.set_waiting(true);
  pass(2);
  missing_.set_waiting(false);
  pass(600);
  EXPECT_TRUE(resolver_.asked().empty());
  EXPECT_TRUE(found_.empty());
}

TEST_F(MissingHostsTest, ANodeUnderAnotherNameIsFoundByWhereItsListedNameLeads) {
  resolver_.set("w-1", {"10.0.0.2"});
  const auto listener = network_.listen({"10.0.0.2", 1});
  nodes_.push_back(node("other", "10.0.0.2"));
  listed_.resize(2);
  missing_.set_waiting(true);
  pass(4);
  EXPECT_EQ(found_, Lines{""});
  EXPECT_TRUE(log_.empty());
}

TEST_F(MissingHostsTest, WhoCameWhileTheOthersWereAskedIsNotMissing) {
  resolver_.fail("w-2", LookupStatus::kNoAnswer);  // for 5 s
  missing_.set_waiting(true);
  pass(4);
  nodes_.push_back(node("w-1", "10.0.0.2"));
  pass(5);
  EXPECT_EQ(found_, Lines{"waiting for 2 of 4: w-2 (no DNS answer), 10.0.0.9 (refused)"});
}

TEST_F(MissingHostsTest, OfManyNamesAndNumbersAreTold) {
  listed_.clear();
  for (int i = 0; i < 100; ++i) listed_.push_back({"w-" + std::to_string(i), 1});
  missing_.set_waiting(true);
  pass(4);
  EXPECT_EQ(found_,
            Lines{"waiting for 99 of 100: w-1, w-2, w-3, w-4, w-5, w-6, w-7, w-8 and 91 more"});
  EXPECT_TRUE(resolver_.asked().empty());
}

TEST_F(MissingHostsTest, ThereIsALookBeforeAShortTimeIsOver) {
  MissingHosts hasty({.loop = *loop_,
                      .resolver = resolver_,
                      .network = network_,
                      .join_timeout = seconds(6),
                      .listed = [this] { return listed_; },
                      .joined = [this] { return nodes_; },
                      .found = [this](const std::string& line) { found_.push_back(line); }});
  hasty.set_waiting(true);
  pass(2);
  EXPECT_EQ(found_.size(), 1U);
}

TEST_F(MissingHostsTest, AnUnknownListIsSilence) {
  listed_.clear();
  missing_.set_waiting(true);
  pass(100);
  EXPECT_TRUE(found_.empty());
}

}  // namespace
}  // namespace muster::rendezvous
