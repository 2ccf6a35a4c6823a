#include "mpi/pmi/pmix_messages.h"

#include <gtest/gtest.h>

namespace muster::mpi {
namespace {

using namespace std::string_literals;

PmixMessage round_trip(const PmixMessage& message) {
  const std::string bytes = encode_pmix(message);
  auto decoded = decode_pmix(bytes + "more");
  EXPECT_TRUE(decoded);
  EXPECT_EQ(decoded->consumed, bytes.size());
  return *decoded->message;
}

TEST(PmixMessages, ArriveAsTheyWereSent) {
  const PmixMessage messages[] = {
      pmix::Begin{.space = "job", .node = 1, .folder = "/tmp/x", .nodes = {{"a", 2}, {"b", 0}}},
      pmix::Fenced{.ok = true, .data = "\0\xff"s},
      pmix::Fenced{.ok = false, .data = ""},
      pmix::Ready{{{"A=1", "B="}, {}, {"C=3"}}},
      pmix::Ready{},
      pmix::Unusable{"no library"},
      pmix::Fence{std::string(100'000, 'x')},
      pmix::Connected{0},
      pmix::Finalized{7},
      pmix::Aborted{3, -1}};
  for (const PmixMessage& message : messages) EXPECT_EQ(round_trip(message), message);
}

TEST(PmixMessages, WaitForTheRest) {
  const std::string bytes = encode_pmix(pmix::Fence{"data"});
  for (size_t length = 0; length < bytes.size(); ++length) {
    auto decoded = decode_pmix(bytes.substr(0, length));
    ASSERT_TRUE(decoded) << length;
    EXPECT_EQ(decoded->consumed, 0U);
  }
}

TEST(PmixMessages, ThatMeanNothingAreErrors) {
  const auto frame = [](const std::string& body) {
    return std::string{0, 0, 0, static_cast<char>(body.size())} + body;
  };
  const auto field = [](const std::string& text) {
    return std::string{0, 0, 0, static_cast<char>(text.size())} + text;
  };
  const std::string bodies[] = {"",
                                "abc",
                                std::string{0, 0, 0, 9} + "short",
                                field("hello"),
                                field("fence"),
                                field("fence") + field("a") + field("b"),
                                field("connected") + field("-1"),
                                field("connected") + field("99999999999"),
                                field("aborted") + field("1"),
                                field("ready") + field("2") + field("A=1"),
                                field("ready") + field("2147483647") + field("A=1"),
                                field("begin") + field("job") + field("0") + field("/tmp")};
  for (const std::string& body : bodies) {
    const auto decoded = decode_pmix(frame(body));
    ASSERT_FALSE(decoded) << body;
    EXPECT_EQ(decoded.error().code, Code::kProtocol);
  }
}

TEST(PmixMessages, HaveABound) {
  const auto decoded = decode_pmix(std::string{0x7f, 0, 0, 0});
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().code, Code::kLimit);
}

TEST(PmixMessages, WordsOfOthersAreOneLineThatIsShown) {
  const auto decoded = decode_pmix(encode_pmix(pmix::Unusable{"no\n\x1b[2J\u202e"}));
  ASSERT_TRUE(decoded);
  EXPECT_EQ(std::get<pmix::Unusable>(*decoded->message).reason, "no\\n\\x1b[2J\\u202e");
}

}  // namespace
}  // namespace muster::mpi
