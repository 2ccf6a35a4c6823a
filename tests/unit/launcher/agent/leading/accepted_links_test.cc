// The links that an agent has accepted, by number.
#include "launcher/agent/leading/accepted_links.h"

#include <gtest/gtest.h>

namespace muster::launcher {
namespace {

// Notes what it is told.
class FakeLink : public rendezvous::Link {
 public:
  FakeLink(std::vector<std::string>& seen, std::string name)
      : seen_(seen), name_(std::move(name)) {}
  void send(const rendezvous::Message& /*message*/) override { seen_.push_back("send " + name_); }
  void put(const rendezvous::Message& /*message*/) override { seen_.push_back("put " + name_); }
  void put_answer(rendezvous::ExchangeAnswer /*answer*/) override {}
  void flush() override { seen_.push_back("flush " + name_); }
  void close(std::string /*reason*/) override { seen_.push_back("close " + name_); }
  [[nodiscard]] const std::string& peer() const override { return name_; }

 private:
  std::vector<std::string>& seen_;
  std::string name_;
};

TEST(AcceptedLinks, WhatIsSaidToOneInARowLeavesAtOnce) {
  std::vector<std::string> seen;
  AcceptedLinks links;
  const auto first = links.next_id();
  const auto second = links.next_id();
  links.add(first, std::make_unique<FakeLink>(seen, "a"));
  links.add(second, std::make_unique<FakeLink>(seen, "b"));
  for (const auto id : {first, first, second}) links.speak_to(id)->put(rendezvous::Hello{});
  links.end_speech();
  EXPECT_EQ(seen, (std::vector<std::string>{"put a", "put a", "flush a", "put b", "flush b"}));
}

TEST(AcceptedLinks, AreDestroyedWhenTheyAreSweptAndNotBefore) {
  std::vector<std::string> seen;
  AcceptedLinks links;
  const auto id = links.next_id();
  links.add(id, std::make_unique<FakeLink>(seen, "a"));
  EXPECT_FALSE(links.sweep());
  links.closed(id);
  EXPECT_NE(links.find(id), nullptr);
  EXPECT_TRUE(links.sweep());
  EXPECT_EQ(links.speak_to(id), nullptr);
  EXPECT_TRUE(links.empty());
}

}  // namespace
}  // namespace muster::launcher
