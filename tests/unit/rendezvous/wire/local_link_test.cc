#include "rendezvous/wire/local_link.h"

#include <gtest/gtest.h>

#include "rendezvous/agreement/exchange.h"
#include "tests/support/fake_clock.h"
#include "tests/support/link_log.h"

namespace muster::rendezvous {
namespace {

using muster::testing::LinkLog;
using Events = std::vector<std::string>;

class LocalLinkTest : public ::testing::Test {
 protected:
  void turn() { ASSERT_TRUE(loop_->run_until_idle()); }

  testing::FakeClock clock_;
  std::unique_ptr<Loop> loop_ = std::move(*Loop::create(clock_));
  LinkLog dialer_;
  LinkLog acceptor_;
  LocalLinkPair pair_ =
      make_local_link(*loop_, "this node", dialer_.handlers(), acceptor_.handlers());
};

TEST_F(LocalLinkTest, OpensFromTheLoopOnly) {
  EXPECT_EQ(dialer_.events, Events{});
  turn();
  EXPECT_EQ(dialer_.events, Events{"open"});
  EXPECT_EQ(acceptor_.events, Events{"open"});
  EXPECT_EQ(pair_.dialer->peer(), "this node");
}

TEST_F(LocalLinkTest, MessagesArriveInOrderAndNotBeforeTheNextTurn) {
  turn();
  pair_.dialer->send(Heartbeat{1, 0, -1});
  pair_.dialer->send(Heartbeat{2, 0, -1});
  EXPECT_EQ(acceptor_.events, Events{"open"});
  turn();
  EXPECT_EQ(acceptor_.events, (Events{"open", "heartbeat 1", "heartbeat 2"}));
}

TEST_F(LocalLinkTest, AnAnswerArrivesInItsParts) {
  turn();
  pair_.acceptor->put_answer(
      std::make_shared<const std::vector<Exchanged>>(in_chunks<Exchanged>(1, 0, "all of it", 4)));
  pair_.acceptor->send(Ack{1, 0});
  turn();
  EXPECT_EQ(dialer_.events, (Events{"open", "exchanged", "exchanged", "exchanged", "ack"}));
  EXPECT_EQ(std::get<Exchanged>(dialer_.messages[1]).data, "of i");
}

TEST_F(LocalLinkTest, AnswersFromAHandlerArrive) {
  acceptor_.on_message = [this](const Message&) { pair_.acceptor->send(Ack{1, 0}); };
  turn();
  pair_.dialer->send(Heartbeat{1, 0, -1});
  turn();
  EXPECT_EQ(dialer_.events, (Events{"open", "ack"}));
}

TEST_F(LocalLinkTest, WhatWasSentBeforeTheEndArrivesBeforeIt) {
  turn();
  pair_.acceptor->send(Goodbye{"old"});
  pair_.acceptor->close("job closed");
  pair_.acceptor->send(Goodbye{"too late"});
  turn();
  EXPECT_EQ(dialer_.events,
            (Events{"open", "goodbye", "closed: this node closed the link: job closed"}));
  EXPECT_EQ(acceptor_.events, (Events{"open", "closed: job closed"}));
}

TEST_F(LocalLinkTest, AHandlerThatClosesHearsNoMore) {
  dialer_.on_message = [this](const Message&) { pair_.dialer->close("enough"); };
  turn();
  pair_.acceptor->send(Heartbeat{1, 0, -1});
  pair_.acceptor->send(Heartbeat{2, 0, -1});
  turn();
  EXPECT_EQ(dialer_.events, (Events{"open", "heartbeat 1", "closed: enough"}));
}

TEST_F(LocalLinkTest, ADestroyedEndIsAPeerThatWent) {
  turn();
  pair_.dialer.reset();
  pair_.acceptor->send(Ack{1, 0});
  turn();
  EXPECT_EQ(acceptor_.events,
            (Events{"open", "closed: this node closed the link: the other end is gone"}));
}

TEST_F(LocalLinkTest, ClosedBeforeItOpenedItNeverOpens) {
  pair_.dialer->close("changed our mind");
  turn();
  EXPECT_EQ(dialer_.events, Events{"closed: changed our mind"});
  pair_.acceptor.reset();
  turn();
  EXPECT_EQ(dialer_.events.size(), 1U);
}

}  // namespace
}  // namespace muster::rendezvous
