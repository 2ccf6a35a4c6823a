// Links to the nodes that may lead, over a network without ports.
#include "launcher/agent/finding/candidate_links.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/log.h"
#include "rendezvous/wire/control_protocol.h"
#include "rendezvous/wire/local_link.h"
#include "tests/support/fake_clock.h"
#include "tests/support/fake_network.h"
#include "tests/support/fake_resolver.h"

namespace muster::launcher {
namespace {

using rendezvous::DialFailure;
using Lines = std::vector<std::string>;

class CandidateLinksTest : public ::testing::Test {
 protected:
  CandidateEvents events() {
    return {
        .connected = [this](int who) { seen_.push_back("connected " + std::to_string(who)); },
        .failed =
            [this](int who, DialFailure failure, const std::string& why) {
              seen_.push_back("failed " + std::to_string(who));
              failure_ = failure;
              why_ = why;
            },
        .closed = [this](int who,
                         const std::string&) { seen_.push_back("closed " + std::to_string(who)); },
        .ended = [this] { seen_.emplace_back("ended"); },
        .message = [this](int, const rendezvous::Message&) { seen_.emplace_back("message"); },
        .met_self = [this](int who) { seen_.push_back("self " + std::to_string(who)); },
        .connect_self = [this](const std::string& name, rendezvous::LinkHandlers handlers)
            -> std::unique_ptr<rendezvous::Link> {
          if (!leads_) return nullptr;
          auto pair = rendezvous::make_local_link(
              *loop_, name, std::move(handlers),
              {.on_open = [] {},
               .on_message = [this](rendezvous::Message message) { told_ = std::move(message); },
               .on_closed = [](const Error&) {}});
          acceptor_ = std::move(pair.acceptor);
          return std::move(pair.dialer);
        }};
  }
  CandidateLinks& make(std::vector<rendezvous::Candidate> candidates, std::optional<int> own = {}) {
    links_ = std::make_unique<CandidateLinks>(*loop_, network_, resolver_, setup_, events());
    links_->set_candidates(std::move(candidates), own);
    return *links_;
  }
  Lines run() {
    EXPECT_TRUE(loop_->run_until_idle());
    return std::exchange(seen_, {});
  }

  testing::FakeClock clock_;
  std::unique_ptr<Loop> loop_ = std::move(*Loop::create(clock_));
  testing::FakeNetwork network_;
  testing::FakeResolver resolver_{*loop_};
  CandidateLinksSetup setup_{
      .tls = nullptr, .local_addr = "", .join_timeout = std::chrono::seconds(60)};
  std::unique_ptr<rendezvous::Link> acceptor_;
  std::unique_ptr<CandidateLinks> links_;
  bool leads_ = false;
  std::optional<rendezvous::Message> told_;
  Lines seen_;
  DialFailure failure_ = DialFailure::kNoAnswer;
  std::string why_;
};

TEST_F(CandidateLinksTest, ANameThatIsThereIsConnected) {
  const auto listener = network_.listen({"10.0.0.1", 29400});
  resolver_.set("w-0", {"10.0.0.1"});
  make({{"w-0", 29400, 0, false}}).dial(0);
  EXPECT_EQ(run(), Lines{"connected 0"});
  EXPECT_EQ(links_->peer(0), "10.0.0.1:29400");
  auto accepted = network_.accept(listener->get());
  accepted->reset();
  EXPECT_EQ(run(), Lines{"closed 0"});
  links_->sweep();
  EXPECT_TRUE(links_->empty());
}

// Its own leader goes, with whatever word: this node is there.
TEST_F(CandidateLinksTest, ANodeIsNotMissingToItself) {
  Lines lines;
  log::set_sink([&lines](std::string_view line) { lines.emplace_back(line); });
  leads_ = true;
  make({{"10.0.0.9", 29400}, {"w-1", 29400}}, 0);
  links_->set_waiting(true);
  links_->dial(0);
  EXPECT_EQ(run(), Lines{"connected 0"});
  acceptor_->close("no quorum for a lease");
  EXPECT_EQ(run(), Lines{"closed 0"});
  clock_.advance(std::chrono::seconds(3));
  (void)run();
  log::set_sink({});
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_NE(lines[0].find("waiting for 1 of 2: w-1 (no answer yet)"), std::string::npos)
      << lines[0];
}

TEST_F(CandidateLinksTest, TellsWhatIsWrong) {
  make({{"w-0", 29400, 0, false}}).dial(0);
  EXPECT_EQ(run(), Lines{"failed 0"});
  EXPECT_EQ(failure_, DialFailure::kNoName);
  resolver_.set("w-0", {"10.0.0.1"});
  links_->dial(0);
  EXPECT_EQ(run(), Lines{"failed 0"});
  EXPECT_EQ(failure_, DialFailure::kRefused);
  resolver_.fail("w-0", LookupStatus::kServerFailed);
  links_->dial(0);
  EXPECT_EQ(run(), Lines{"failed 0"});
  EXPECT_EQ(failure_, DialFailure::kNoAnswer);
}

// Under whatever address: who answers says so.
TEST_F(CandidateLinksTest, ADialThatComesBackFindsItself) {
  const auto listener = network_.listen({"10.96.0.1", 29400});
  resolver_.set("service", {"10.96.0.1"});
  make({{"service", 29400, 0, false}}).dial(0);
  EXPECT_EQ(run(), Lines{"connected 0"});
  auto accepted = network_.accept(listener->get());
  links_->send(0, rendezvous::Hello{});
  EXPECT_EQ(run(), Lines{});
  const std::string refusal =
      rendezvous::encode(rendezvous::Refuse{rendezvous::RefuseCode::kSelf, "this agent", 0, {}});
  ASSERT_EQ(write(accepted->get(), refusal.data(), refusal.size()),
            static_cast<ssize_t>(refusal.size()));
  EXPECT_EQ(run(), Lines{"self 0"});
}

TEST_F(CandidateLinksTest, WhereOthersCameToCountsForMoreThanAGuess) {
  leads_ = true;
  make({{"w-9", 29400, 0, false}, {"10.0.0.2", 29400}}, 0).dial(0);
  EXPECT_EQ(run(), Lines{"connected 0"});
  EXPECT_TRUE(links_->own_host().learn("10.0.0.9"));
  EXPECT_FALSE(links_->own_host().learn("10.0.0.9"));
  links_->send(0, rendezvous::Join{});
  (void)run();
  ASSERT_TRUE(told_.has_value());
  EXPECT_EQ(std::get<rendezvous::Join>(*told_).host, "10.0.0.9");
}

TEST_F(CandidateLinksTest, AGivenAddressStaysWhereverOthersComeTo) {
  setup_.local_addr = "10.0.0.7";
  make({{"w-9", 29400, 0, false}}, 0);
  EXPECT_FALSE(links_->own_host().learn("10.0.0.9"));
}

TEST_F(CandidateLinksTest, WhatWasClosedHereIsNotToldAsClosed) {
  const auto listener = network_.listen({"10.0.0.1", 29400});
  make({{"10.0.0.1", 29400, 0, false}}).dial(0);
  EXPECT_EQ(run(), Lines{"connected 0"});
  links_->close(0, "not the leader");
  network_.accept(listener->get())->reset();
  EXPECT_EQ(run(), Lines{"ended"});
}

TEST_F(CandidateLinksTest, AnotherListEndsWhatWasUnderWay) {
  const auto listener = network_.listen({"10.0.0.1", 29400});
  make({{"10.0.0.1", 29400, 0, false}}).dial(0);
  links_->set_candidates({{"w-7", 29400, 0, false}}, std::nullopt);
  EXPECT_EQ(run(), Lines{});
  links_->dial(0);
  EXPECT_EQ(run(), Lines{"failed 0"});
}

TEST_F(CandidateLinksTest, TheOwnLeaderHearsUnderWhichAddressPeersReachUs) {
  setup_.local_addr = "10.0.0.9";
  make({{"w-9", 29400, 0, false}}, 0).dial(0);
  EXPECT_EQ(run(), Lines{"failed 0"});  // nobody leads here yet
  EXPECT_EQ(failure_, DialFailure::kRefused);
  leads_ = true;
  links_->dial(0);
  EXPECT_EQ(run(), Lines{"connected 0"});
  links_->send(0, rendezvous::Join{});
  (void)run();
  ASSERT_TRUE(told_.has_value());
  EXPECT_EQ(std::get<rendezvous::Join>(*told_).host, "10.0.0.9");
}

TEST_F(CandidateLinksTest, NobodyIsDialledBeforeTheOwnNameIsKnown) {
  const auto listener = network_.listen({"10.0.0.1", 29400});
  setup_.local_name = "w-9";
  make({{"10.0.0.1", 29400, 0, false}}).dial(0);
  EXPECT_EQ(run(), Lines{});
  EXPECT_EQ(links_->own_host().problem(), "--local-addr: look up w-9: NXDOMAIN");
  resolver_.set("w-9", {"127.0.1.9"});
  clock_.advance(std::chrono::seconds(1));
  EXPECT_EQ(run(), Lines{"connected 0"});
  EXPECT_EQ(links_->own_host().problem(), "");
}

TEST_F(CandidateLinksTest, TheOwnNameNeedNotResolveIfItIsACandidates) {
  setup_.local_name = "w-9";
  leads_ = true;
  make({{"w-9", 29400, 0, false}}, 0).dial(0);
  EXPECT_EQ(run(), Lines{"connected 0"});
}

TEST_F(CandidateLinksTest, WhoIsClosedIsNotDialledOnceTheOwnNameIsKnown) {
  const auto listener = network_.listen({"10.0.0.1", 29400});
  setup_.local_name = "w-9";
  make({{"10.0.0.1", 29400, 0, false}}).dial(0);
  EXPECT_EQ(run(), Lines{});
  links_->close(0, "another leads");
  resolver_.set("w-9", {"127.0.1.9"});
  clock_.advance(std::chrono::seconds(1));
  EXPECT_EQ(run(), Lines{});
}

}  // namespace
}  // namespace muster::launcher
