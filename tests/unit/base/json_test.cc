#include "base/json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace muster {
namespace {

std::string appended(std::string_view text) {
  std::string out = "before";
  append_json(out, text);
  EXPECT_TRUE(out.starts_with("before"));
  return out.substr(6);
}

TEST(Json, AQuotedTextIsWhatItsDumpWouldBe) {
  for (const char* text : {"", "plain ASCII ~", "quote \" and \\", "line\nand\ttab",
                           "M\xc3\xbcller", "\x7f", "bad \xff utf"}) {
    EXPECT_EQ(appended(text), dump_json(std::string(text))) << text;
  }
  const std::string with_nul("a\0b", 3);
  EXPECT_EQ(appended(with_nul), dump_json(with_nul));
}

TEST(Json, DeepAndLongDocumentsAreRefused) {
  EXPECT_TRUE(parse_json("[[1]]"));
  EXPECT_EQ(parse_json(std::string(kMaxJsonDepth + 1, '[')).error().code, Code::kLimit);
  EXPECT_EQ(parse_json("[1,2]", 4).error().code, Code::kLimit);
  EXPECT_EQ(parse_json("[1,").error().code, Code::kProtocol);
}

TEST(Json, NothingThatIsWrittenIsObeyed) {
  const std::string text = "\x1b[2J\x7f\u009b\u202e\xff\n\u00e4";
  EXPECT_EQ(dump_json(text), "\"\\u001b[2J\\u007f\\u009b\\u202e\uFFFD\\n\u00e4\"");
  EXPECT_EQ(parse_json(dump_json("\x7f\u009b\u202e")).value(), "\x7f\u009b\u202e");
}

TEST(Json, WordsOfOthersAreCleanedAtWhateverDepth) {
  EXPECT_EQ(printable_json(R"( {"a\u001b":["x\u009by", {"b": "l\n\u202e"}], "n": 1.5} )").value(),
            R"({"a\\x1b":["x\\x9by",{"b":"l\n\\u202e"}],"n":1.5})");
  EXPECT_EQ(printable_json("\x1b[2J{}").error().code, Code::kProtocol);
  EXPECT_EQ(printable_json("[1,2]", 4).error().code, Code::kLimit);
}

}  // namespace
}  // namespace muster
