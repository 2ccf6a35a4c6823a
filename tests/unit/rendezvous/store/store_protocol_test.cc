#include "rendezvous/store/store_protocol.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <vector>

#include "tests/support/store_wire.h"

namespace muster::rendezvous {
namespace {

namespace wire = muster::testing::wire;

Command must_decode(Dialect dialect, std::string_view bytes) {
  const auto decoded = decode(dialect, bytes);
  EXPECT_TRUE(std::holds_alternative<Command>(decoded));
  const auto* command = std::get_if<Command>(&decoded);
  return command == nullptr ? Command{} : *command;
}

std::string malformed(Dialect dialect, std::string_view bytes) {
  const auto decoded = decode(dialect, bytes);
  const auto* why = std::get_if<Malformed>(&decoded);
  return why == nullptr ? "not malformed" : why->describe();
}

std::vector<std::string> strings_of(const Command& command) {
  std::vector<std::string> strings;
  for (const auto text : command.strings) strings.emplace_back(text);
  return strings;
}

bool wants_more(std::string_view bytes) {
  return std::holds_alternative<NeedMore>(decode(Dialect::kCurrent, bytes));
}

TEST(StoreProtocol, CapturedRequestsOfPyTorch26DecodeAsDescribed) {
  // set("k","v") and get("k") of a real client, byte for byte.
  const std::string set("\x01\x02\0\0\0\0\0\0\0/k\x01\0\0\0\0\0\0\0v", 20);
  const auto command = must_decode(Dialect::kCurrent, set);
  EXPECT_EQ(command.op, Op::kSet);
  EXPECT_EQ(command.key, "/k");
  EXPECT_EQ(command.value, "v");
  EXPECT_EQ(command.encoded_bytes, set.size());
  const std::string wait("\x06\x01\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0/k", 19);
  EXPECT_EQ(strings_of(must_decode(Dialect::kCurrent, wait)), std::vector<std::string>{"/k"});
  const std::string add("\x04\x05\0\0\0\0\0\0\0init/\x01\0\0\0\0\0\0\0", 22);
  const auto init = must_decode(Dialect::kCurrent, add);
  EXPECT_EQ(init.key, "init/");
  EXPECT_EQ(init.number, 1);
  const std::string ping("\x0d\x74\x29\0\0", 5);
  EXPECT_EQ(must_decode(Dialect::kCurrent, ping).number, 0x2974);
}

TEST(StoreProtocol, EveryCurrentOpCodeMeansWhatPyTorchMeans) {
  const std::vector<std::pair<std::string, Op>> all = {
      {wire::set("k", "v"), Op::kSet},
      {wire::compare_set("k", "a", "b"), Op::kCompareSet},
      {wire::get("k"), Op::kGet},
      {wire::add("k", -7), Op::kAdd},
      {wire::check({"k"}), Op::kCheck},
      {wire::wait_for({"k"}), Op::kWait},
      {wire::num_keys(), Op::kGetNumKeys},
      {wire::delete_key("k"), Op::kDeleteKey},
      {wire::append("k", "v"), Op::kAppend},
      {wire::multi_get({"k", "l"}), Op::kMultiGet},
      {wire::multi_set({"k", "v", "l", "w"}), Op::kMultiSet},
      {wire::cancel_wait(), Op::kCancelWait},
      {wire::ping(7), Op::kPing},
      {wire::queue_push("q", "v"), Op::kQueuePush},
      {wire::queue_pop("q"), Op::kQueuePop},
      {wire::queue_length("q"), Op::kQueueLength},
      {wire::list_keys(), Op::kListKeys},
      {wire::barrier("k", 2), Op::kBarrier},
  };
  for (const auto& [bytes, op] : all) {
    SCOPED_TRACE(to_string(op));
    const auto command = must_decode(Dialect::kCurrent, bytes + "rest of the stream");
    EXPECT_EQ(command.op, op);
    EXPECT_EQ(command.encoded_bytes, bytes.size());
  }
}

TEST(StoreProtocol, EveryLegacyOpCodeMeansWhatPyTorch113Means) {
  const std::string key = wire::text("/k");
  const std::string value = wire::text("v");
  const std::vector<std::pair<std::string, Op>> all = {
      {wire::byte(0) + key + value, Op::kSet},
      {wire::byte(1) + key + value + value, Op::kCompareSet},
      {wire::byte(2) + key, Op::kGet},
      {wire::byte(3) + key + wire::i64(1), Op::kAdd},
      {wire::byte(4) + wire::list({"/k"}), Op::kCheck},
      {wire::byte(5) + wire::list({"/k"}), Op::kWait},
      {wire::byte(6), Op::kGetNumKeys},
      {wire::byte(7) + key, Op::kWatchKey},
      {wire::byte(8) + key, Op::kDeleteKey},
  };
  for (const auto& [bytes, op] : all) {
    SCOPED_TRACE(to_string(op));
    const auto command = must_decode(Dialect::kLegacy, bytes);
    EXPECT_EQ(command.op, op);
    EXPECT_EQ(command.encoded_bytes, bytes.size());
  }
  EXPECT_EQ(malformed(Dialect::kLegacy, wire::byte(9)), "op code 9 is unknown");
}

TEST(StoreProtocol, CompareSetKeepsExpectedAndDesiredApart) {
  const std::string bytes = wire::compare_set("k", "old", "new");
  const auto command = must_decode(Dialect::kCurrent, bytes);
  EXPECT_EQ(command.expected, "old");
  EXPECT_EQ(command.value, "new");
}

TEST(StoreProtocol, MultiSetListsKeysAndValuesInTurn) {
  const std::string bytes = wire::multi_set({"k", "v", "", ""});
  EXPECT_EQ(strings_of(must_decode(Dialect::kCurrent, bytes)),
            (std::vector<std::string>{"k", "v", "", ""}));
}

TEST(StoreProtocol, EmptyKeysValuesAndListsAreLegal) {
  EXPECT_EQ(must_decode(Dialect::kCurrent, wire::set("", "")).encoded_bytes, 17U);
  const std::string nothing = wire::wait_for({});
  EXPECT_EQ(must_decode(Dialect::kCurrent, nothing).strings.size(), 0U);
}

TEST(StoreProtocol, NumbersKeepTheirSign) {
  const std::string bytes = wire::add("k", INT64_MIN);
  EXPECT_EQ(must_decode(Dialect::kCurrent, bytes).number, INT64_MIN);
}

TEST(StoreProtocol, EveryProperPrefixOfARequestWantsMore) {
  for (const auto& bytes :
       {wire::set("key", "value"), wire::compare_set("k", "a", "b"), wire::add("k", 1),
        wire::wait_for({"a", "bc"}), wire::multi_set({"a", "1", "b", "2"}), wire::ping(9),
        wire::barrier("k", 2)}) {
    for (size_t length = 0; length < bytes.size(); ++length) {
      EXPECT_TRUE(wants_more(std::string_view(bytes).substr(0, length))) << length;
    }
  }
}

TEST(StoreProtocol, WantedBytesSayWhenLookingAgainIsWorthIt) {
  const std::string bytes = wire::set("key", std::string(1000, 'v'));
  const auto more = std::get<NeedMore>(decode(Dialect::kCurrent, bytes.substr(0, 30)));
  EXPECT_EQ(more.wanted_bytes, bytes.size());
}

TEST(StoreProtocol, ListsAreScannedOnceHoweverManyPiecesTheyComeIn) {
  const std::string bytes = wire::wait_for({"a", "bb", "ccc", "dddd"});
  NeedMore resume;
  size_t furthest = 0;
  for (size_t length = 0; length < bytes.size(); ++length) {
    const auto decoded = decode(Dialect::kCurrent, bytes.substr(0, length), resume);
    resume = std::get<NeedMore>(decoded);
    EXPECT_GE(resume.scanned_bytes, furthest);
    furthest = resume.scanned_bytes;
  }
  EXPECT_EQ(resume.scanned_strings, 3U);
  EXPECT_EQ(furthest, bytes.size() - 12);
  const auto whole = std::get<Command>(decode(Dialect::kCurrent, bytes, resume));
  EXPECT_EQ(strings_of(whole), (std::vector<std::string>{"a", "bb", "ccc", "dddd"}));
}

TEST(StoreProtocol, ValidateIsNoRequest) {
  EXPECT_EQ(malformed(Dialect::kCurrent, wire::kHello), "op code 0 is unknown");
}

TEST(StoreProtocol, UnknownOpCodesAreNamed) {
  EXPECT_EQ(malformed(Dialect::kCurrent, wire::byte(19)), "op code 19 is unknown");
  EXPECT_EQ(malformed(Dialect::kCurrent, wire::byte(255)), "op code 255 is unknown");
}

TEST(StoreProtocol, LimitsAreExactAndNamed) {
  const std::string longest(kMaxKeyBytes, 'k');
  EXPECT_EQ(must_decode(Dialect::kCurrent, wire::get(longest)).key.size(), kMaxKeyBytes);
  EXPECT_EQ(malformed(Dialect::kCurrent, wire::get(longest + "k")),
            "key bytes 8193 over the limit of 8192");
  EXPECT_TRUE(wants_more(wire::byte(1) + wire::text("k") + wire::u64(kMaxValueBytes)));
  EXPECT_EQ(
      malformed(Dialect::kCurrent, wire::byte(1) + wire::text("k") + wire::u64(kMaxValueBytes + 1)),
      "value bytes 67108865 over the limit of 67108864");
  EXPECT_TRUE(wants_more(wire::byte(6) + wire::u64(kMaxListedKeys)));
  EXPECT_EQ(malformed(Dialect::kCurrent, wire::byte(6) + wire::u64(kMaxListedKeys + 1)),
            "listed keys 131073 over the limit of 131072");
  EXPECT_EQ(malformed(Dialect::kCurrent, wire::byte(11) + wire::u64(UINT64_MAX)),
            "listed keys 18446744073709551615 over the limit of 131072");
}

TEST(StoreProtocol, AnOverlongLengthIsRefusedBeforeItsBytesArrive) {
  EXPECT_EQ(malformed(Dialect::kCurrent, wire::byte(3) + wire::u64(UINT64_MAX)),
            "key bytes 18446744073709551615 over the limit of 8192");
}

TEST(StoreProtocol, AMultiSetOfLegalPairsMayNotExceedARequest) {
  // Zero pages that nobody touches stand for the pairs already scanned.
  constexpr size_t kScanned = kMaxRequestBytes - 100;
  const std::unique_ptr<char, decltype(&std::free)> memory(
      static_cast<char*>(std::calloc(1, kMaxRequestBytes)), &std::free);
  const std::string header = wire::byte(11) + wire::u64(1000);
  const std::string next = wire::u64(1000);
  header.copy(memory.get(), header.size());
  next.copy(memory.get() + kScanned, next.size());
  const auto decoded = decode(Dialect::kCurrent, {memory.get(), kScanned + next.size()},
                              NeedMore{kScanned + next.size(), kScanned, 7});
  ASSERT_TRUE(std::holds_alternative<Malformed>(decoded));
  EXPECT_EQ(std::get<Malformed>(decoded).describe(),
            "request bytes 268436364 over the limit of 268435456");
}

struct DetectionCase {
  std::string bytes;
  Dialect dialect;
  size_t greeting_bytes;
};

TEST(StoreProtocol, DialectIsToldByTheFirstBytes) {
  const std::vector<DetectionCase> cases = {
      {wire::kHello, Dialect::kCurrent, 5},
      {wire::kHello + wire::ping(1), Dialect::kCurrent, 5},
      {wire::byte(3) + wire::text("init/") + wire::i64(1), Dialect::kLegacy, 0},
      {wire::byte(0) + wire::text("/k") + wire::text("v"), Dialect::kLegacy, 0},
      {wire::byte(0) + wire::text("") + wire::text("v"), Dialect::kLegacy, 0},
      {wire::byte(6), Dialect::kLegacy, 0},
  };
  for (const auto& [bytes, dialect, greeting_bytes] : cases) {
    const auto detected = detect_dialect(bytes);
    ASSERT_TRUE(std::holds_alternative<Greeting>(detected));
    EXPECT_EQ(std::get<Greeting>(detected).dialect, dialect);
    EXPECT_EQ(std::get<Greeting>(detected).encoded_bytes, greeting_bytes);
  }
}

TEST(StoreProtocol, AValidateMayArriveInAnyPieces) {
  for (size_t length = 0; length < wire::kHello.size(); ++length) {
    EXPECT_TRUE(std::holds_alternative<NeedMore>(detect_dialect(wire::kHello.substr(0, length))));
  }
}

TEST(StoreProtocol, AWrongMagicIsRefused) {
  std::string wrong = wire::kHello;
  wrong[4] = '\x3D';
  const auto detected = detect_dialect(wrong);
  ASSERT_TRUE(std::holds_alternative<Malformed>(detected));
  EXPECT_EQ(std::get<Malformed>(detected).describe(), "validation magic 1032189902 is unknown");
}

TEST(StoreProtocol, AFirstByteThatIsNoLegacyOpIsRefused) {
  EXPECT_TRUE(std::holds_alternative<Malformed>(detect_dialect(wire::byte(9))));
  EXPECT_TRUE(std::holds_alternative<Malformed>(detect_dialect("GET / HTTP/1.1")));
}

}  // namespace
}  // namespace muster::rendezvous
