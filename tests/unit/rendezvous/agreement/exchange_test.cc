#include "rendezvous/agreement/exchange.h"

#include <gtest/gtest.h>

#include "rendezvous/wire/control_protocol.h"

namespace muster::rendezvous {
namespace {

using Outcome = ExchangeTable::Outcome;

Contribution whole(uint64_t sequence, std::string data) {
  return {1, sequence, 0, std::move(data), true};
}

// What a node with this pending exchange makes of the table's answer.
std::vector<std::string> answer_for(PendingExchange& pending, const ExchangeTable& table,
                                    size_t nodes) {
  for (const Exchanged& part : *table.answer()) {
    const auto all = pending.take(part, nodes);
    if (!all) continue;
    EXPECT_TRUE(*all) << (*all ? "" : all->error().text);
    return *all ? **all : std::vector<std::string>{};
  }
  ADD_FAILURE() << "no answer";
  return {};
}

TEST(Exchange, BeforeTheFirstOneNoneIsRepeated) {
  ExchangeTable table;
  table.begin({true});
  EXPECT_EQ(table.add(0, whole(UINT64_MAX, "x")), Outcome::kNothing);
}

TEST(Exchange, NobodyWaitsForANodeThatTakesNoPart) {
  ExchangeTable table;
  table.begin({false, true, true});
  PendingExchange first;
  PendingExchange second;
  for (const uint64_t sequence : {0U, 1U}) {
    first.begin(1, sequence, "a");
    second.begin(1, sequence, "b");
    EXPECT_EQ(table.add(0, first.messages()[0]), Outcome::kNothing);
    EXPECT_EQ(table.add(1, first.messages()[0]), Outcome::kNothing);
    EXPECT_EQ(table.add(2, second.messages()[0]), Outcome::kComplete);
    EXPECT_EQ(first.take(table.answer()->at(0), 3)->value(),
              (std::vector<std::string>{"", "a", "b"}));
  }
}

TEST(Exchange, AllGetWhatAllGaveByNodeRank) {
  ExchangeTable table;
  table.begin(std::vector<bool>(3, true));
  PendingExchange pending;
  pending.begin(1, 0, "zero");
  EXPECT_EQ(table.add(2, whole(0, std::string("two\0\n", 5))), Outcome::kNothing);
  EXPECT_EQ(table.add(0, pending.messages().at(0)), Outcome::kNothing);
  EXPECT_EQ(table.add(1, whole(0, "")), Outcome::kComplete);
  EXPECT_EQ(answer_for(pending, table, 3),
            (std::vector<std::string>{"zero", "", std::string("two\0\n", 5)}));
  EXPECT_TRUE(pending.messages().empty());
}

TEST(Exchange, OneFollowsTheOther) {
  ExchangeTable table;
  table.begin(std::vector<bool>(2, true));
  EXPECT_EQ(table.add(0, whole(1, "early")), Outcome::kNothing);
  (void)table.add(0, whole(0, "a"));
  EXPECT_EQ(table.add(1, whole(0, "b")), Outcome::kComplete);
  (void)table.add(0, whole(1, "c"));
  EXPECT_EQ(table.add(1, whole(1, "d")), Outcome::kComplete);
  PendingExchange pending;
  pending.begin(1, 1, "c");
  EXPECT_EQ(answer_for(pending, table, 2), (std::vector<std::string>{"c", "d"}));
  EXPECT_EQ(table.add(5, whole(2, "x")), Outcome::kNothing);  // no such node
}

// Its link broke before the answer came: it gives again.
TEST(Exchange, WhoMissedTheAnswerGetsItAgain) {
  ExchangeTable table;
  table.begin(std::vector<bool>(2, true));
  (void)table.add(0, whole(0, "a"));
  EXPECT_EQ(table.add(0, whole(0, "a")), Outcome::kNothing);  // counted once
  EXPECT_EQ(table.add(1, whole(0, "b")), Outcome::kComplete);
  EXPECT_EQ(table.add(0, whole(0, "a")), Outcome::kRepeated);
  PendingExchange pending;
  pending.begin(1, 0, "a");
  EXPECT_EQ(answer_for(pending, table, 2), (std::vector<std::string>{"a", "b"}));
}

// The next exchange may be over while a node that gives nothing still has not read the last one.
TEST(Exchange, AnAnswerLivesForAsLongAsSomebodyHasToSendIt) {
  ExchangeTable table;
  table.begin({false, true});
  (void)table.add(1, whole(0, "a"));
  const ExchangeAnswer first = table.answer();
  EXPECT_EQ(table.add(1, whole(0, "a")), Outcome::kRepeated);
  EXPECT_EQ(table.answer(), first);  // the same, not another
  (void)table.add(1, whole(1, "b"));
  EXPECT_EQ(first->at(0).data, std::string("\0\0\0\0\0\0\0\1a", 9));
  EXPECT_EQ(table.answer()->at(0).sequence, 1U);
}

TEST(Exchange, LongOnesGoInPartsThatFitAFrame) {
  const std::string bytes(kMaxExchangeChunkBytes * 2 + 5, '\xff');
  PendingExchange pending;
  pending.begin(1, 0, bytes);
  const auto parts = pending.messages();
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_LT(encode(parts[0]).size(), kMaxFrameBytes);
  ExchangeTable table;
  table.begin(std::vector<bool>(2, true));
  (void)table.add(1, whole(0, "b"));
  EXPECT_EQ(table.add(0, parts[1]), Outcome::kNothing);  // not from the beginning
  (void)table.add(0, parts[0]);
  (void)table.add(0, parts[1]);
  (void)table.add(0, parts[0]);  // the link broke: again
  (void)table.add(0, parts[1]);
  EXPECT_EQ(table.add(0, parts[2]), Outcome::kComplete);
  // A link holds one part that its peer does not read.
  for (const Exchanged& part : *table.answer()) EXPECT_LE(part.data.size(), kAnswerChunkBytes);
  EXPECT_EQ(answer_for(pending, table, 2), (std::vector<std::string>{bytes, "b"}));
}

TEST(Exchange, ALengthThatIsAWholeNumberOfPartsHasNoEmptyOne) {
  EXPECT_EQ(in_chunks<Contribution>(1, 0, "four", 4).size(), 1u);
  EXPECT_EQ(in_chunks<Contribution>(1, 0, "", 4).size(), 1u);
}

TEST(Exchange, TooMuchIsAnswerEnough) {
  ExchangeTable table;
  table.begin(std::vector<bool>(2, true));
  const auto parts =
      in_chunks<Contribution>(1, 0, std::string(kMaxExchangeBytes, 'x'), kMaxExchangeChunkBytes);
  for (const Contribution& part : parts) EXPECT_EQ(table.add(0, part), Outcome::kNothing);
  EXPECT_EQ(table.add(1, whole(0, "y")), Outcome::kComplete);
  PendingExchange pending;
  pending.begin(1, 0, "y");
  const auto all = pending.take(table.answer()->at(0), 2);
  ASSERT_TRUE(all);
  ASSERT_FALSE(*all);
  EXPECT_EQ(all->error().text,
            "an exchange of 2097153 bytes between the nodes, at most 2097152 are taken");
}

TEST(Exchange, ABrokenAnswerIsAnError) {
  const std::vector<std::string> broken = {"", std::string("\0\0\0\2x", 5),
                                           std::string("\0\0\0\0\0\0\0\0\0", 9)};
  for (const std::string& data : broken) {
    PendingExchange pending;
    pending.begin(1, 0, "");
    const auto all = pending.take(Exchanged{1, 0, 0, data, true, ""}, 2);
    ASSERT_TRUE(all);
    EXPECT_FALSE(*all) << data.size();
  }
  PendingExchange other;
  other.begin(1, 4, "");
  EXPECT_FALSE(other.take(Exchanged{1, 3, 0, "", true, ""}, 1));  // not the awaited one
  EXPECT_FALSE(other.take(Exchanged{2, 4, 0, "", true, ""}, 1));
  EXPECT_FALSE(other.take(Exchanged{1, 4, 7, "", true, ""}, 1));  // nor what follows upon it
}

}  // namespace
}  // namespace muster::rendezvous
