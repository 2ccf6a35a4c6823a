#include "rendezvous/xgboost/tracker_protocol.h"

#include <gtest/gtest.h>

#include "tests/support/tracker_wire.h"

namespace muster::rendezvous {
namespace {

namespace wire = muster::testing::tracker_wire;

struct Decoded {
  std::vector<TrackerMessage> messages;
  std::string error;
};

Decoded decode(std::string_view bytes, size_t piece) {
  TrackerDecoder decoder;
  Decoded all;
  for (size_t at = 0; at < bytes.size(); at += piece) {
    decoder.append(bytes.substr(at, piece));
    for (;;) {
      auto message = decoder.next();
      if (!message) {
        all.error = message.error().text;
        return all;
      }
      if (!*message) break;
      all.messages.push_back(std::move(**message));
    }
  }
  return all;
}

// The same, however it is cut.
Decoded decode(std::string_view bytes) {
  Decoded whole = decode(bytes, bytes.size() + 1);
  for (const size_t piece : {size_t{1}, size_t{3}, size_t{7}}) {
    const Decoded cut = decode(bytes, piece);
    EXPECT_EQ(cut.messages.size(), whole.messages.size());
    EXPECT_EQ(cut.error, whole.error);
  }
  return whole;
}

std::string error_of(std::string_view bytes) { return decode(bytes).error; }

// The third message: after the magic number and the header.
template <typename Message>
Message command(std::string_view bytes) {
  const Decoded decoded = decode(bytes);
  EXPECT_EQ(decoded.error, "");
  if (decoded.messages.size() != 3) {
    ADD_FAILURE() << decoded.messages.size() << " messages";
    return {};
  }
  return std::get<Message>(decoded.messages[2]);
}

TEST(TrackerProtocol, ReadsAClassicWorkerThatJoins) {
  const Decoded decoded =
      decode(wire::classic_start("3") + wire::number(0) + wire::number(0) + wire::number(33825));
  EXPECT_EQ(decoded.error, "");
  ASSERT_EQ(decoded.messages.size(), 6U);
  EXPECT_TRUE(std::holds_alternative<tracker::Greeting>(decoded.messages[0]));
  const auto& header = std::get<tracker::Header>(decoded.messages[1]);
  EXPECT_EQ(header.wire, TrackerWire::kClassic);
  EXPECT_EQ(header.rank, -1);
  EXPECT_EQ(header.world_size, -1);
  EXPECT_EQ(header.task_id, "3");
  EXPECT_TRUE(std::holds_alternative<tracker::Start>(decoded.messages[2]));
  EXPECT_TRUE(std::get<tracker::GoodLinks>(decoded.messages[3]).ranks.empty());
  EXPECT_EQ(std::get<tracker::LinksFailed>(decoded.messages[4]).count, 0);
  EXPECT_EQ(std::get<tracker::Listening>(decoded.messages[5]).port, 33825);
}

TEST(TrackerProtocol, ReadsWhatAClassicWorkerHasAfterFailedLinks) {
  const Decoded decoded =
      decode(wire::classic_start("3") + wire::number(0) + wire::number(1) + wire::number(2) +
             wire::number(4) + wire::number(1) + wire::number(0) + wire::number(9010));
  EXPECT_EQ(decoded.error, "");
  ASSERT_EQ(decoded.messages.size(), 8U);
  EXPECT_EQ(std::get<tracker::GoodLinks>(decoded.messages[5]).ranks, (std::vector<int>{4, 1}));
}

// Captured from XGBoost 3.4.1.
TEST(TrackerProtocol, ReadsANewWorkerThatJoins) {
  const std::string bytes =
      wire::kMagic + std::string("\x28\0\0\0", 4) + R"({"rank":0,"task_id":"1","world_size":-1})" +
      std::string("\x29\0\0\0", 4) + R"({"cmd":1,"error_port":34217,"port":39409})";
  const Decoded decoded = decode(bytes);
  EXPECT_EQ(decoded.error, "");
  ASSERT_EQ(decoded.messages.size(), 3U);
  const auto& header = std::get<tracker::Header>(decoded.messages[1]);
  EXPECT_EQ(header.wire, TrackerWire::kJson);
  EXPECT_EQ(header.rank, 0);
  EXPECT_EQ(header.world_size, -1);
  EXPECT_EQ(header.task_id, "1");
  const auto& start = std::get<tracker::Start>(decoded.messages[2]);
  EXPECT_EQ(start.port, 39409);
  EXPECT_EQ(start.error_port, 34217);
}

TEST(TrackerProtocol, ReadsOtherCommandsOfBoth) {
  EXPECT_EQ(
      command<tracker::Print>(wire::classic(0, 2, "0", "print") + wire::text("[0]\tx:1")).text,
      "[0]\tx:1");
  EXPECT_EQ(command<tracker::Print>(wire::json(0, 2, "0", R"({"cmd":4,"msg":"[0]\t\u00e4"})")).text,
            "[0]\t\xc3\xa4");
  command<tracker::Shutdown>(wire::classic(0, 2, "0", "shutdown"));
  command<tracker::Shutdown>(wire::json(0, 2, "0", R"({ "cmd" : 2 })"));
  const auto signal =
      command<tracker::Signal>(wire::json(0, 2, "0", R"({"cmd":3,"code":7,"msg":"\n- [x]"})"));
  EXPECT_EQ(signal.code, 7);
  EXPECT_EQ(signal.text, "\n- [x]");
}

TEST(TrackerProtocol, WhatIsPrintedCannotDriveATerminal) {
  EXPECT_EQ(
      command<tracker::Print>(wire::classic(0, 2, "0", "print") + wire::text("a\x1b[2Jb")).text,
      "a\\x1b[2Jb");
}

TEST(TrackerProtocol, AnAgentTellsHowAWorkerEnded) {
  EXPECT_TRUE(command<tracker::Ended>(encode_ended(3, 4, true)).success);
  EXPECT_FALSE(command<tracker::Ended>(encode_ended(3, 4, false)).success);
  const auto header = std::get<tracker::Header>(decode(encode_ended(3, 4, true)).messages[1]);
  EXPECT_EQ(header.rank, 3);
  EXPECT_EQ(header.world_size, 4);
}

TEST(TrackerProtocol, RefusesByNameAndLimit) {
  EXPECT_EQ(error_of("GET / HTTP/1.1"), "no magic number");
  EXPECT_EQ(error_of(wire::classic(-1, -1, "0", "stop")),
            "the command is 'stop', not start, print or shutdown");
  EXPECT_EQ(error_of(wire::classic(-1, -1, std::string(257, 'x'), "start")),
            "the task id: bytes of a text: 257, limit 256");
  EXPECT_EQ(error_of(wire::classic(100'000, -1, "0", "start")), "rank 100000");
  EXPECT_EQ(error_of(wire::classic(-1, 100'001, "0", "start")), "workers: 100001, limit 100000");
  EXPECT_EQ(error_of(wire::kMagic + wire::number(-1) + wire::number(-1) + wire::number(-5)),
            "the task id: a text of -5 bytes");
  EXPECT_EQ(error_of(wire::classic(0, 2, "0", "print") + wire::number(65537)),
            "print: bytes of a text: 65537, limit 65536");
  EXPECT_EQ(error_of(wire::classic_start("0") + wire::number(17)), "links: 17, limit 16");
  EXPECT_EQ(error_of(wire::json(0, -1, std::string(257, 'x'), "{}")),
            "bytes of the task id: 257, limit 256");
  EXPECT_EQ(error_of(wire::json(0, -1, "0", R"({"cmd":1,"error_port":1,"port":0})")),
            "\"port\" is 0, not 1 to 65535");
  EXPECT_EQ(error_of(wire::json(0, -1, "0", R"({"cmd":1,"error_port":1,"port":2.5})")),
            "no whole number \"port\"");
  EXPECT_EQ(error_of(wire::json(0, -1, "0", R"({"cmd":9})")), "command 9");
  EXPECT_EQ(error_of(wire::json(0, -1, "0", "[1]")), "not a JSON object");
  EXPECT_EQ(error_of(wire::classic(0, 2, "0", "shutdown") + "x"),
            "more bytes after the last word of a call");
  // Said in four bytes, to make room for 2 GiB.
  EXPECT_EQ(error_of(wire::json_header(0, -1, "0") + wire::number(INT32_MAX)),
            "the command: bytes of a text: 2147483647, limit 65536");
}

// The answers that a worker was captured to understand.
TEST(TrackerProtocol, WritesWhatUpstreamsTrackersWrite) {
  EXPECT_EQ(encode_magic(), wire::kMagic);
  EXPECT_EQ(encode_world_size(3), std::string("\x10\0\0\0", 4) + R"({"world_size":3})");
  EXPECT_EQ(encode_successor({"127.0.0.1", 47607, 2}),
            std::string("\x2a\0\0\0", 4) + R"({"host":"127.0.0.1","port":47607,"rank":2})");
  EXPECT_EQ(encode_place({3, 1, 5, {1}, 2, 4}),
            wire::number(3) + wire::number(1) + wire::number(5) + wire::number(1) +
                wire::number(1) + wire::number(2) + wire::number(4));
  EXPECT_EQ(encode_links({{"127.0.0.1", 53591, 1}}, 2), wire::number(1) + wire::number(2) +
                                                            wire::text("127.0.0.1") +
                                                            wire::number(53591) + wire::number(1));
  EXPECT_EQ(encode_abort(), wire::number(1));
}

}  // namespace
}  // namespace muster::rendezvous
