#include "mpi/rsh/rsh_protocol.h"

#include <gtest/gtest.h>

#include <vector>

#include "rendezvous/port/job_port.h"

namespace muster::mpi {
namespace {

using namespace std::string_literals;

// One message of each kind, and the whole of its frame.
struct Example {
  RshMessage message;
  std::string bytes;
};

std::vector<Example> examples() {
  return {
      {rsh::Call{"node-2", "exit 3", "u"}, "\0\0\0\0\x15\0\0\0\x06node-2\0\0\0\1uexit 3"s},
      {rsh::Run{"job", "n2", 0x1'0000'0002, "me", "exit 3", ""},
       "\1\0\0\0\x25\0\0\0\3job\0\0\0\2n2\0\0\0\1\0\0\0\2\0\0\0\2me\0\0\0\0exit 3"s},
      {rsh::Refused{127, "no"}, "\2\0\0\0\7\x7f\0\0\0\2no"s},
      {rsh::Signal{15}, "\3\0\0\0\1\x0f"s},
      {rsh::Exit{137}, "\4\0\0\0\1\x89"s},
      {rsh::Data{RshStream::kStderr, "x\0y"s}, "\5\0\0\0\4\2x\0y"s},
      {rsh::End{RshStream::kStdout}, "\6\0\0\0\1\1"s},
      {rsh::Credit{RshStream::kStdin, 65536}, "\7\0\0\0\5\0\0\1\0\0"s},
      {rsh::Gone{RshStream::kStdout}, "\x08\0\0\0\1\1"s},
      {rsh::Rank{"job", 7, "n2", 1, 3, 4, 77, 501, 9},
       "\x09\0\0\0\x2d\0\0\0\3job\0\0\0\0\0\0\0\7\0\0\0\2n2\0\0\0\1\0\0\0\3\0\0\0\4\0\0\0\x4d\0\0\1\xf5\0\0\0\x09"s},
      {rsh::RankEnd{3, 0, 15, false, true, false, true, true, "no", "/l", "end"},
       "\x0a\0\0\0\x1b\3\0\x0f\0\1\0\1\1\0\0\0\2no\0\0\0\2/l\0\0\0\3end"s},
      {rsh::Noted{}, "\x0b\0\0\0\0"s},
      {rsh::RankInit{}, "\x0c\0\0\0\0"s},
  };
}

// What comes of `bytes` in one piece: re-encoded messages, then the error.
std::vector<std::string> decode_all(RshDecoder& decoder) {
  std::vector<std::string> found;
  for (;;) {
    auto message = decoder.next();
    if (!message) {
      found.push_back(message.error().text);
      return found;
    }
    if (!*message) return found;
    found.push_back(encode(**message));
  }
}

std::vector<std::string> decode_all(std::string_view bytes) {
  RshDecoder decoder;
  decoder.append(bytes);
  return decode_all(decoder);
}

std::string problem(std::string_view bytes) {
  const auto found = decode_all(bytes);
  return found.size() == 1 ? found.front() : "";
}

TEST(RshProtocol, EveryMessageHasItsBytes) {
  EXPECT_EQ(examples().size(), std::variant_size_v<RshMessage>);
  for (const auto& [message, bytes] : examples()) {
    EXPECT_EQ(encode(message), bytes) << message.index();
    EXPECT_EQ(decode_all(bytes), std::vector<std::string>{bytes}) << message.index();
  }
}

TEST(RshProtocol, PiecesOfAnySizeMakeTheSameMessages) {
  std::string all;
  std::vector<std::string> frames;
  for (const auto& [message, bytes] : examples()) {
    all += bytes;
    frames.push_back(bytes);
  }
  for (const size_t size : {size_t{1}, size_t{3}, size_t{7}, all.size()}) {
    RshDecoder decoder;
    std::vector<std::string> found;
    for (size_t at = 0; at < all.size(); at += size) {
      decoder.append(std::string_view(all).substr(at, size));
      for (std::string& one : decode_all(decoder)) found.push_back(std::move(one));
    }
    EXPECT_EQ(found, frames) << size;
  }
}

TEST(RshProtocol, AnUnfinishedFrameIsNothing) {
  for (const auto& [message, bytes] : examples())
    EXPECT_TRUE(decode_all(bytes.substr(0, bytes.size() - 1)).empty()) << message.index();
}

TEST(RshProtocol, WhatMeansNothingIsAnError) {
  EXPECT_EQ(problem("\x0d\0\0\0\0"s), "no message of kind 13");
  EXPECT_EQ(problem("\4\0\0\0\0"s), "ends too early");
  EXPECT_EQ(problem("\4\0\0\0\2\0\0"s), "1 bytes too many");
  EXPECT_EQ(problem("\6\0\0\0\1\3"s), "no stream 3");
  EXPECT_EQ(problem("\5\0\0\0\1\0"s), "no data");
  EXPECT_EQ(problem("\3\0\0\0\1\0"s), "no signal 0");
  EXPECT_EQ(problem("\3\0\0\0\1\xc8"s), "no signal 200");
  EXPECT_EQ(problem("\0\0\0\0\4\0\0\0\1"s), "ends too early");
  EXPECT_EQ(problem("\0\0\0\0\x09\0\0\0\1n\0\0\0\0"s), "no command");
  EXPECT_EQ(problem("\1\0\0\0\x18"s + std::string(24, '\0')), "no command");
  EXPECT_EQ(problem("\1\0\0\0\x1b"s + std::string(24, '\0') + "a\0b"s), "a zero in the command");
}

TEST(RshProtocol, EverythingHasALimit) {
  EXPECT_EQ(problem("\5\0\3\0\1"s), "a frame of 196609 bytes, at most 196608");
  EXPECT_EQ(problem("\0\0\0\x04\x05\0\0\x04\x01"s + std::string(1025, 'h')),
            "a text of 1025 bytes, at most 1024");
  const std::string data(kMaxRshDataBytes + 1, 'd');
  EXPECT_EQ(problem(encode(rsh::Data{RshStream::kStdin, data})), "32769 bytes, at most 32768");
  // What we say ourselves is cut to fit.
  EXPECT_EQ(encode(rsh::Refused{1, std::string(5000, 'r')}).size(), 5 + 1 + 4 + kMaxRshTextBytes);
}

TEST(RshProtocol, TheLongestCommandFitsAFrame) {
  const std::string command(128 * 1024 - 1, 'c');
  RshDecoder decoder;
  decoder.append(encode(rsh::Run{std::string(1024, 'r'), std::string(1024, 'n'), 1,
                                 std::string(1024, 'c'), command}));
  const auto message = decoder.next();
  ASSERT_TRUE(message && *message);
  EXPECT_EQ(std::get<rsh::Run>(**message).command, command);
}

TEST(RshProtocol, TheGreetingIsKnownToTheJobPort) {
  for (const bool secured : {true, false}) {
    const std::string greeting = rsh_greeting(secured);
    EXPECT_EQ(greeting.size(), kRshGreetingBytes);
    EXPECT_EQ(rendezvous::detect_protocol(greeting), rendezvous::Protocol::kCommands);
    EXPECT_EQ(read_rsh_greeting(greeting), secured);
  }
  EXPECT_EQ(read_rsh_greeting("MRSH1C\r\n"), std::nullopt);
  EXPECT_EQ(read_rsh_greeting("MRSH8X\r\n"), std::nullopt);
  EXPECT_EQ(read_rsh_greeting("MRSH3C\n\n"), std::nullopt);
}

TEST(RshProtocol, WordsOfOthersAreOneLineThatIsShown) {
  RshDecoder decoder;
  decoder.append(encode(rsh::Refused{1, "no\n\x1b[2J\u202e"}));
  EXPECT_EQ(std::get<rsh::Refused>(*decoder.next().value()).reason, "no\\n\\x1b[2J\\u202e");
  decoder.append(encode(rsh::Run{"job\r", "n2", 1, "me\u009b", "printf '\\e'\n\x1b", "u\x7f"}));
  const auto run = std::get<rsh::Run>(*decoder.next().value());
  EXPECT_EQ(run.run_id, "job\\r");
  EXPECT_EQ(run.caller, "me\\x9b");
  EXPECT_EQ(run.user, "u\\x7f");
  EXPECT_EQ(run.command, "printf '\\e'\n\x1b");  // it is run, not shown
  decoder.append(encode(
      rsh::RankEnd{3, 0, 15, false, true, false, true, true, "s\n", "/l\x1b", "a\n\tb\x1b"}));
  const auto end = std::get<rsh::RankEnd>(*decoder.next().value());
  EXPECT_EQ(end.shortage, "s\\n");
  EXPECT_EQ(end.logs, "/l\\x1b");
  EXPECT_EQ(end.last_lines, "a\n\tb\\x1b");
}

TEST(RshProtocol, CleanedWordsKeepTheirLimit) {
  RshDecoder decoder;
  decoder.append(encode(rsh::Refused{1, std::string(kMaxRshTextBytes, '\x7f')}));
  EXPECT_EQ(std::get<rsh::Refused>(*decoder.next().value()).reason.size(), kMaxRshTextBytes);
}

}  // namespace
}  // namespace muster::mpi
