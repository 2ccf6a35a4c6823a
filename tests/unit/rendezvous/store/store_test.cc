#include "rendezvous/store/store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "tests/support/store_wire.h"

namespace muster::rendezvous {
namespace {

namespace wire = muster::testing::wire;

using Clients = std::vector<ClientId>;

// Sends requests to a store as the wire would and collects what each client is answered.
class StoreTest : public ::testing::Test {
 protected:
  static constexpr size_t kLimit = 1 << 20;
  MemoryMeter meter_{kLimit};
  Store store_{meter_};
  std::map<ClientId, std::string> answers_;

  static std::string drain(ReplyBuffer& reply) {
    std::string bytes;
    while (!reply.empty()) {
      iovec piece{};
      EXPECT_EQ(reply.gather({&piece, 1}), 1U);
      bytes.append(static_cast<const char*>(piece.iov_base), piece.iov_len);
      reply.consume(piece.iov_len);
    }
    return bytes;
  }

  Clients send(ClientId client, std::string_view bytes) {
    const auto decoded = decode(Dialect::kCurrent, bytes);
    ReplyBuffer reply(meter_);
    const auto woken = store_.apply(client, std::get<Command>(decoded), reply);
    EXPECT_TRUE(woken) << woken.error().text;
    if (!woken) return {};
    answers_[client] += drain(reply);
    return {woken->begin(), woken->end()};
  }
  std::string ask(std::string_view bytes) {
    answers_[0].clear();
    send(0, bytes);
    return answers_[0];
  }
  Error refused(ClientId client, std::string_view bytes) {
    const auto decoded = decode(Dialect::kCurrent, bytes);
    ReplyBuffer reply(meter_);
    const auto woken = store_.apply(client, std::get<Command>(decoded), reply);
    EXPECT_FALSE(woken);
    return woken ? Error{} : woken.error();
  }
  std::string value(std::string_view key) { return ask(wire::get(key)); }
};

TEST_F(StoreTest, SetOverwritesAndIsNotAnswered) {
  EXPECT_EQ(ask(wire::set("k", "v")), "");
  EXPECT_EQ(ask(wire::set("k", "longer than before")), "");
  EXPECT_EQ(value("k"), wire::text("longer than before"));
  EXPECT_EQ(store_.key_count(), 1U);
}

TEST_F(StoreTest, ValuesAreBinaryAndMayBeEmpty) {
  const std::string binary("\0\xff\n", 3);
  ask(wire::set("k", binary));
  EXPECT_EQ(value("k"), wire::text(binary));
  ask(wire::set("k", ""));
  EXPECT_EQ(value("k"), wire::text(""));
  EXPECT_EQ(ask(wire::check({"k"})), wire::byte(kReady));
}

TEST_F(StoreTest, GetOfAMissingKeyIsAnEmptyVector) { EXPECT_EQ(value("k"), wire::text("")); }

TEST_F(StoreTest, AddCountsFromZeroAndKeepsDecimalText) {
  EXPECT_EQ(ask(wire::add("n", 5)), wire::i64(5));
  EXPECT_EQ(ask(wire::add("n", -7)), wire::i64(-2));
  EXPECT_EQ(ask(wire::add("n", 0)), wire::i64(-2));
  EXPECT_EQ(value("n"), wire::text("-2"));
}

TEST_F(StoreTest, AddReadsNumbersAsPyTorchDoes) {
  const std::vector<std::pair<std::string, int64_t>> readable = {
      {"12ab", 12}, {" 3", 3},  {"\t\n\v\f\r 4", 4},        {"+5", 5},
      {"-6 ", -6},  {"007", 7}, {std::string("8\0x", 3), 8}};
  for (const auto& [text, number] : readable) {
    ask(wire::set("n", text));
    EXPECT_EQ(ask(wire::add("n", 0)), wire::i64(number)) << text;
  }
}

TEST_F(StoreTest, AddOnSomethingThatIsNoNumberEndsTheConnectionAndChangesNothing) {
  for (const std::string text :
       {"", "-", "+", "+-5", "x1", " ", "9223372036854775808", "-9223372036854775809"}) {
    ask(wire::set("n", text));
    const Error why = refused(0, wire::add("n", 1));
    EXPECT_EQ(why.code, Code::kProtocol) << text;
    EXPECT_EQ(why.text, "ADD on key 'n', whose value is no 64-bit number");
    EXPECT_EQ(value("n"), wire::text(text));
  }
}

TEST_F(StoreTest, AddWrapsAroundAtTheEndsOf64Bits) {
  ask(wire::set("n", "9223372036854775807"));
  EXPECT_EQ(ask(wire::add("n", 1)), wire::i64(INT64_MIN));
  EXPECT_EQ(value("n"), wire::text("-9223372036854775808"));
  EXPECT_EQ(ask(wire::add("n", -1)), wire::i64(INT64_MAX));
}

TEST_F(StoreTest, CompareSetOfAMissingKeyStoresOnlyWhenNothingWasExpected) {
  EXPECT_EQ(ask(wire::compare_set("k", "old", "new")), wire::text("old"));
  EXPECT_EQ(store_.key_count(), 0U);
  EXPECT_EQ(ask(wire::compare_set("k", "", "new")), wire::text("new"));
  EXPECT_EQ(value("k"), wire::text("new"));
}

TEST_F(StoreTest, CompareSetOfAPresentKeyAnswersTheValueAfterwards) {
  ask(wire::set("k", "a"));
  EXPECT_EQ(ask(wire::compare_set("k", "a", "b")), wire::text("b"));
  EXPECT_EQ(ask(wire::compare_set("k", "a", "c")), wire::text("b"));
  EXPECT_EQ(ask(wire::compare_set("k", "", "c")), wire::text("b"));
  EXPECT_EQ(value("k"), wire::text("b"));
}

TEST_F(StoreTest, CompareSetWakesOnlyWhenTheKeyExistsAfterwards) {
  send(1, wire::wait_for({"k"}));
  EXPECT_EQ(send(2, wire::compare_set("k", "old", "new")), Clients{});
  EXPECT_EQ(send(2, wire::compare_set("k", "", "new")), Clients{1});
}

TEST_F(StoreTest, CheckNeverWaitsAndZeroKeysAreReady) {
  EXPECT_EQ(ask(wire::check({"a"})), wire::byte(kNotReady));
  ask(wire::set("a", ""));
  EXPECT_EQ(ask(wire::check({"a"})), wire::byte(kReady));
  EXPECT_EQ(ask(wire::check({"a", "b"})), wire::byte(kNotReady));
  EXPECT_EQ(ask(wire::check({})), wire::byte(kReady));
}

TEST_F(StoreTest, WaitForPresentKeysOrNoneIsAnsweredAtOnce) {
  ask(wire::set("a", "1"));
  EXPECT_EQ(ask(wire::wait_for({"a", "a"})), wire::kStop);
  EXPECT_EQ(ask(wire::wait_for({})), wire::kStop);
  EXPECT_EQ(store_.waiting_clients(), 0U);
}

TEST_F(StoreTest, WaitEndsWhenTheLastKeyComesByAnyWayOfWriting) {
  send(1, wire::wait_for({"set", "add", "append", "multi", "cas"}));
  EXPECT_EQ(answers_[1], "");
  EXPECT_EQ(send(2, wire::set("set", "")), Clients{});
  EXPECT_EQ(send(2, wire::add("add", 1)), Clients{});
  EXPECT_EQ(send(2, wire::append("append", "")), Clients{});
  EXPECT_EQ(send(2, wire::multi_set({"x", "1", "multi", "2"})), Clients{});
  EXPECT_EQ(send(2, wire::compare_set("cas", "", "")), Clients{1});
  EXPECT_EQ(store_.waiting_clients(), 0U);
}

TEST_F(StoreTest, WaitersAreWokenOnceAndInTheOrderTheyCame) {
  for (ClientId client : {3U, 1U, 2U}) send(client, wire::wait_for({"go"}));
  EXPECT_EQ(send(9, wire::set("go", "")), (Clients{3, 1, 2}));
  EXPECT_EQ(send(9, wire::set("go", "")), Clients{});
}

TEST_F(StoreTest, TheSameMissingKeyMayBeListedTwice) {
  send(1, wire::wait_for({"k", "k", "k"}));
  EXPECT_EQ(send(2, wire::set("k", "")), Clients{1});
}

TEST_F(StoreTest, DeletingAKeyAgainDoesNotRearmAWait) {
  send(1, wire::wait_for({"a", "b"}));
  send(2, wire::set("a", ""));
  EXPECT_EQ(ask(wire::delete_key("a")), wire::i64(1));
  EXPECT_EQ(send(2, wire::set("b", "")), Clients{1});
}

TEST_F(StoreTest, OfTwoWaitsWithoutAnAnswerOnlyTheLaterCounts) {
  send(1, wire::wait_for({"a"}));
  send(1, wire::wait_for({"b"}));
  EXPECT_EQ(send(2, wire::set("a", "")), Clients{});
  EXPECT_EQ(send(2, wire::set("b", "")), Clients{1});
}

TEST_F(StoreTest, AClientMayWakeItself) {
  send(1, wire::wait_for({"a"}));
  EXPECT_EQ(send(1, wire::set("a", "")), Clients{1});
}

TEST_F(StoreTest, CancelWaitIsAnsweredByOneByteEvenWhenNothingWaits) {
  EXPECT_EQ(ask(wire::cancel_wait()), wire::kCanceled);
}

TEST_F(StoreTest, NoStopWaitingFollowsACancel) {
  send(1, wire::wait_for({"a"}));
  send(1, wire::cancel_wait());
  EXPECT_EQ(answers_[1], wire::kCanceled);
  EXPECT_EQ(send(2, wire::set("a", "")), Clients{});
}

TEST_F(StoreTest, NumberOfKeysCountsInitButNoQueues) {
  ask(wire::add("init/", 1));
  ask(wire::set("k", ""));
  ask(wire::queue_push("q", "v"));
  EXPECT_EQ(ask(wire::num_keys()), wire::i64(2));
}

TEST_F(StoreTest, DeleteAnswersHowManyItRemovedAndWakesNobody) {
  send(1, wire::barrier("k", 2));
  EXPECT_EQ(send(2, wire::delete_key("k")), Clients{});
  EXPECT_EQ(answers_[2], wire::i64(1));
  EXPECT_EQ(ask(wire::delete_key("k")), wire::i64(0));
}

TEST_F(StoreTest, AppendCreatesAndExtends) {
  EXPECT_EQ(ask(wire::append("k", "ab")), "");
  EXPECT_EQ(ask(wire::append("k", "")), "");
  EXPECT_EQ(ask(wire::append("k", "cd")), "");
  EXPECT_EQ(value("k"), wire::text("abcd"));
}

TEST_F(StoreTest, MultiGetAnswersEveryKeyWithoutACount) {
  ask(wire::multi_set({"a", "1", "c", "3"}));
  EXPECT_EQ(ask(wire::multi_get({"a", "missing", "c"})),
            wire::text("1") + wire::text("") + wire::text("3"));
  EXPECT_EQ(ask(wire::multi_get({})), "");
}

TEST_F(StoreTest, MultiSetWithTheSameKeyTwiceKeepsTheLast) {
  ask(wire::multi_set({"a", "1", "a", "2"}));
  EXPECT_EQ(value("a"), wire::text("2"));
}

TEST_F(StoreTest, PingEchoesItsNonce) {
  EXPECT_EQ(ask(wire::ping(0xFFFFFFFE)), wire::u32(0xFFFFFFFE));
}

TEST_F(StoreTest, ListKeysNamesEveryPlainKeyTheEmptyOneToo) {
  ask(wire::multi_set({"/a", "1", "", "2", "init/", "3"}));
  ask(wire::queue_push("q", "v"));
  const std::string listed = ask(wire::list_keys());
  ASSERT_EQ(listed.substr(0, 8), wire::u64(3));
  const auto rest = std::string_view(listed).substr(8);
  std::set<std::string_view> keys;
  for (const auto key : EncodedStrings(3, rest)) keys.insert(key);
  EXPECT_EQ(keys, (std::set<std::string_view>{"", "/a", "init/"}));
}

TEST_F(StoreTest, WatchKeyIsRefusedByName) {
  ReplyBuffer reply(meter_);
  Command command;
  command.op = Op::kWatchKey;
  EXPECT_EQ(store_.apply(0, command, reply).error().text, "WATCH_KEY is not served");
}

// --- queues ---

TEST_F(StoreTest, QueuesAreFirstInFirstOut) {
  EXPECT_EQ(ask(wire::queue_push("q", "one")), "");
  EXPECT_EQ(ask(wire::queue_push("q", "")), "");
  EXPECT_EQ(ask(wire::queue_length("q")), wire::i64(2));
  EXPECT_EQ(ask(wire::queue_pop("q")), wire::i64(2) + wire::text("one"));
  EXPECT_EQ(ask(wire::queue_pop("q")), wire::i64(1) + wire::text(""));
  EXPECT_EQ(ask(wire::queue_pop("q")), wire::i64(0));
  EXPECT_EQ(ask(wire::queue_length("q")), wire::i64(0));
}

TEST_F(StoreTest, QueuesAndKeysAreSeparateNamespaces) {
  ask(wire::queue_push("x", "queued"));
  EXPECT_EQ(value("x"), wire::text(""));
  EXPECT_EQ(ask(wire::delete_key("x")), wire::i64(0));
  ask(wire::set("x", "stored"));
  EXPECT_EQ(ask(wire::queue_pop("x")), wire::i64(1) + wire::text("queued"));
  EXPECT_EQ(value("x"), wire::text("stored"));
}

TEST_F(StoreTest, ANonEmptyQueueCountsAsPresentForCheckAndWait) {
  ask(wire::queue_push("q", "v"));
  EXPECT_EQ(ask(wire::check({"q"})), wire::byte(kReady));
  EXPECT_EQ(ask(wire::wait_for({"q"})), wire::kStop);
  ask(wire::queue_pop("q"));
  EXPECT_EQ(ask(wire::check({"q"})), wire::byte(kNotReady));
}

TEST_F(StoreTest, APushWakesExactlyOnePopperFirstComeFirstServed) {
  send(1, wire::wait_for({"q"}));
  send(2, wire::wait_for({"q"}));
  EXPECT_EQ(send(9, wire::queue_push("q", "a")), Clients{1});
  EXPECT_EQ(send(9, wire::queue_push("q", "b")), Clients{2});
  EXPECT_EQ(send(9, wire::queue_push("q", "c")), Clients{});
}

TEST_F(StoreTest, AWokenPopperIsNotStillInLineForTheNextPush) {
  send(1, wire::wait_for({"q"}));
  send(9, wire::queue_push("q", "a"));
  send(1, wire::queue_pop("q"));
  send(1, wire::wait_for({"other"}));
  send(2, wire::wait_for({"q"}));
  EXPECT_EQ(send(9, wire::queue_push("q", "b")), Clients{2});
}

TEST_F(StoreTest, ThePopperThatLosesARaceIsToldTheQueueIsEmpty) {
  send(1, wire::wait_for({"q"}));
  send(9, wire::queue_push("q", "a"));
  EXPECT_EQ(ask(wire::queue_pop("q")), wire::i64(1) + wire::text("a"));
  send(1, wire::queue_pop("q"));
  EXPECT_EQ(answers_[1], wire::i64(0));
}

TEST_F(StoreTest, APopperThatGoesAwayPassesItsTurnOn) {
  send(1, wire::wait_for({"q"}));
  send(2, wire::wait_for({"q"}));
  EXPECT_EQ(send(9, wire::queue_push("q", "a")), Clients{1});
  const auto woken = store_.forget(1);
  EXPECT_EQ(Clients(woken.begin(), woken.end()), Clients{2});
}

TEST_F(StoreTest, APopperThatTimedOutJustThenPassesItsTurnOn) {
  send(1, wire::wait_for({"q"}));
  send(2, wire::wait_for({"q"}));
  send(9, wire::queue_push("q", "a"));
  EXPECT_EQ(send(1, wire::cancel_wait()), Clients{2});
  EXPECT_EQ(send(1, wire::cancel_wait()), Clients{});
}

TEST_F(StoreTest, APopperThatCancelsIsNotWokenByTheTurnItPassesOn) {
  send(1, wire::wait_for({"q"}));
  send(9, wire::queue_push("q", "a"));
  send(1, wire::barrier("q", 2));  // stands in the line of that name again
  EXPECT_EQ(send(1, wire::cancel_wait()), Clients{});
}

TEST_F(StoreTest, APopperThatPoppedHasNoTurnToPassOn) {
  send(1, wire::wait_for({"q"}));
  send(2, wire::wait_for({"q"}));
  send(9, wire::queue_push("q", "a"));
  send(1, wire::queue_pop("q"));
  EXPECT_TRUE(store_.forget(1).empty());
}

TEST_F(StoreTest, APushPrefersAClientThatWaitsForNothingElse) {
  send(1, wire::wait_for({"q", "never"}));
  send(2, wire::wait_for({"q"}));
  EXPECT_EQ(send(9, wire::queue_push("q", "a")), Clients{2});
}

TEST_F(StoreTest, APushCountsForAClientThatWaitsForMoreWhenItIsAlone) {
  send(1, wire::wait_for({"q", "k"}));
  EXPECT_EQ(send(9, wire::queue_push("q", "a")), Clients{});
  EXPECT_EQ(send(9, wire::set("k", "")), Clients{1});
}

// --- barriers ---

TEST_F(StoreTest, ABarrierOpensForAllWhenTheLastOneArrives) {
  send(1, wire::barrier("b", 3));
  send(2, wire::barrier("b", 3));
  EXPECT_EQ(answers_[1] + answers_[2], "");
  EXPECT_EQ(send(3, wire::barrier("b", 3)), (Clients{1, 2}));
  EXPECT_EQ(answers_[3], wire::kStop);
  EXPECT_EQ(value("b"), wire::text("3"));
}

TEST_F(StoreTest, ABarrierNameIsGoodForOneUse) {
  send(1, wire::barrier("b", 1));
  EXPECT_EQ(answers_[1], wire::kStop);
  send(2, wire::barrier("b", 1));
  EXPECT_EQ(answers_[2], wire::kStop);
  EXPECT_EQ(value("b"), wire::text("2"));
}

TEST_F(StoreTest, ABarrierOfNobodyOpensAtOnce) {
  EXPECT_EQ(ask(wire::barrier("zero", 0)), wire::kStop);
  EXPECT_EQ(ask(wire::barrier("negative", -1)), wire::kStop);
}

TEST_F(StoreTest, AWriteToItsKeyReleasesABarrier) {
  send(1, wire::barrier("b", 9));
  EXPECT_EQ(send(2, wire::set("b", "x")), Clients{1});
  send(1, wire::barrier("c", 9));
  EXPECT_EQ(send(2, wire::add("c", 1)), Clients{1});
}

TEST_F(StoreTest, ABarrierThatStaysShutLeavesPlainWaitsOnItsKeyAsleep) {
  send(1, wire::wait_for({"b"}));
  EXPECT_EQ(send(2, wire::barrier("b", 2)), Clients{});
  EXPECT_EQ(send(3, wire::barrier("b", 2)), (Clients{1, 2}));
}

TEST_F(StoreTest, CancelLeavesABarrierButNotItsCount) {
  send(1, wire::barrier("b", 2));
  send(1, wire::cancel_wait());
  EXPECT_EQ(answers_[1], wire::kCanceled);
  EXPECT_EQ(send(2, wire::barrier("b", 2)), Clients{});
  EXPECT_EQ(answers_[2], wire::kStop);
}

TEST_F(StoreTest, ABarrierOnSomethingThatIsNoNumberEndsTheConnection) {
  ask(wire::set("b", "x"));
  EXPECT_EQ(refused(0, wire::barrier("b", 2)).text,
            "BARRIER on key 'b', whose value is no 64-bit number");
  ask(wire::set("b", " 3"));
  EXPECT_EQ(ask(wire::barrier("b", 4)), wire::kStop);
}

// --- clients, memory ---

TEST_F(StoreTest, AClientThatIsGoneWaitsForNothing) {
  send(1, wire::wait_for({"a", "b"}));
  EXPECT_TRUE(store_.forget(1).empty());
  EXPECT_EQ(store_.waiting_clients(), 0U);
  send(2, wire::set("a", ""));
  EXPECT_EQ(send(2, wire::set("b", "")), Clients{});
}

TEST_F(StoreTest, ClearForgetsKeysQueuesAndWaitersAndGivesAllMemoryBack) {
  for (int i = 0; i < 1000; ++i) ask(wire::set("key" + std::to_string(i), std::string(50, 'v')));
  ask(wire::queue_push("q", "v"));
  ask(wire::queue_push("q", "w"));
  send(1, wire::wait_for({"a", "b", "a"}));
  send(2, wire::wait_for({"p"}));
  send(3, wire::queue_push("p", "v"));
  EXPECT_GT(meter_.used_bytes(), 100'000U);
  store_.clear();
  EXPECT_EQ(meter_.used_bytes(), 0U);
  EXPECT_EQ(store_.key_count(), 0U);
  EXPECT_EQ(send(3, wire::set("a", "")), Clients{});
  EXPECT_EQ(ask(wire::queue_length("q")), wire::i64(0));
}

TEST_F(StoreTest, TheMemoryLimitRefusesAWholeCommandAndNamesItself) {
  ask(wire::set("fits", std::string(kLimit / 2, 'x')));
  const Error why = refused(1, wire::set("does not", std::string(kLimit / 2, 'x')));
  EXPECT_EQ(why.code, Code::kLimit);
  EXPECT_NE(why.text.find("the store's memory limit is 1048576"), std::string::npos) << why.text;
  EXPECT_EQ(ask(wire::check({"does not"})), wire::byte(kNotReady));
  EXPECT_EQ(value("fits").size(), 8 + kLimit / 2);
}

TEST_F(StoreTest, AMultiSetThatDoesNotFitStoresNothing) {
  const std::string large(kLimit * 3 / 4, 'x');
  EXPECT_EQ(refused(1, wire::multi_set({"a", "small", "b", large, "c", large})).code, Code::kLimit);
  EXPECT_EQ(store_.key_count(), 0U);
}

TEST_F(StoreTest, WaitersAndQueuesCountAsMemory) {
  const size_t before = meter_.used_bytes();
  send(1, wire::wait_for({"a"}));
  const size_t waiting = meter_.used_bytes();
  EXPECT_GE(waiting, before + 100);
  send(1, wire::cancel_wait());
  EXPECT_EQ(meter_.used_bytes(), before);
  ask(wire::queue_push("q", std::string(1000, 'v')));
  EXPECT_GE(meter_.used_bytes(), before + 1000);
  ask(wire::queue_pop("q"));
  EXPECT_EQ(meter_.used_bytes(), before);
}

TEST_F(StoreTest, AnAppendThatOutgrowsTheLimitIsRefused) {
  ask(wire::set("k", std::string(kLimit * 3 / 4, 'x')));
  EXPECT_EQ(refused(0, wire::append("k", std::string(kLimit / 2, 'y'))).code, Code::kLimit);
  EXPECT_EQ(value("k").size(), 8 + kLimit * 3 / 4);
}

TEST_F(StoreTest, AnOverwrittenLargeValueIsStillSentAsItWasRead) {
  const std::string old(100'000, 'o');
  ask(wire::set("k", old));
  ReplyBuffer reply(meter_);
  const std::string request = wire::get("k");
  ASSERT_TRUE(store_.apply(1, std::get<Command>(decode(Dialect::kCurrent, request)), reply));
  ask(wire::set("k", std::string(100'000, 'n')));
  EXPECT_EQ(drain(reply), wire::text(old));
  EXPECT_EQ(value("k"), wire::text(std::string(100'000, 'n')));
}

TEST_F(StoreTest, ManyReadersOfALargeValueShareOneCopy) {
  ask(wire::set("k", std::string(200'000, 'x')));
  const size_t before = meter_.used_bytes();
  const std::string request = wire::get("k");
  const auto command = std::get<Command>(decode(Dialect::kCurrent, request));
  std::list<ReplyBuffer> replies;
  for (ClientId client = 0; client < 100; ++client) {
    ASSERT_TRUE(store_.apply(client, command, replies.emplace_back(meter_)));
  }
  EXPECT_LT(meter_.used_bytes(), before + 100 * 100);
  EXPECT_EQ(drain(replies.front()).size(), 200'008U);
}

}  // namespace
}  // namespace muster::rendezvous
