#include "rendezvous/wire/json_cursor.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "base/json.h"

namespace muster::rendezvous {
namespace {

Status skim(std::string_view text) {
  JsonCursor cursor(text);
  cursor.skip();
  return cursor.finish();
}

std::string repeated(size_t count, std::string_view text) {
  std::string all;
  for (size_t i = 0; i < count; ++i) all += text;
  return all;
}

TEST(JsonCursor, GoesFromMemberToMemberAndPastWhatNobodyWants) {
  JsonCursor cursor(R"({ "a":{"c":1,"d":[{"e":2}]} , "b":"text","n":null,"t":true})");
  ASSERT_EQ(cursor.kind(), JsonKind::kObject);
  cursor.enter();
  EXPECT_EQ(cursor.next_key(), "a");
  EXPECT_EQ(cursor.kind(), JsonKind::kObject);
  cursor.skip();
  EXPECT_EQ(cursor.next_key(), "b");
  EXPECT_EQ(cursor.text(), "text");
  EXPECT_EQ(cursor.next_key(), "n");
  EXPECT_EQ(cursor.kind(), JsonKind::kNull);
  cursor.skip();
  EXPECT_EQ(cursor.next_key(), "t");
  EXPECT_TRUE(cursor.boolean());
  EXPECT_EQ(cursor.next_key(), std::nullopt);
  EXPECT_TRUE(cursor.finish());
}

TEST(JsonCursor, ListsEndWithTheirBracketAndNotWithOneInside) {
  JsonCursor cursor(R"([[],{"x":[]}, "end"])");
  cursor.enter();
  std::vector<JsonKind> kinds;
  while (cursor.next_value()) {
    kinds.push_back(cursor.kind());
    cursor.skip();
  }
  EXPECT_EQ(kinds, (std::vector{JsonKind::kArray, JsonKind::kObject, JsonKind::kText}));
  EXPECT_TRUE(cursor.finish());
}

TEST(JsonCursor, NumbersAreWholeAsFarAsTheyFit) {
  JsonCursor cursor(
      "[-5,5,18446744073709551615,-9223372036854775808,1.5,1e3,18446744073709551616]");
  cursor.enter();
  const auto next = [&cursor] {
    EXPECT_TRUE(cursor.next_value());
    EXPECT_EQ(cursor.kind(), JsonKind::kNumber);
    return cursor.number();
  };
  const JsonNumber negative = next();
  EXPECT_EQ(negative.as_signed(), -5);
  EXPECT_EQ(negative.as_unsigned(), std::nullopt);
  EXPECT_EQ(next().as_unsigned(), 5U);
  const JsonNumber largest = next();
  EXPECT_EQ(largest.as_unsigned(), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(largest.as_signed(), std::nullopt);
  EXPECT_EQ(next().as_signed(), std::numeric_limits<int64_t>::min());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(next().magnitude, std::nullopt);
  EXPECT_FALSE(cursor.next_value());
  EXPECT_TRUE(cursor.finish());
}

TEST(JsonCursor, TextsWithEscapesAreWhatTheyMean) {
  JsonCursor cursor(R"({"a\u0062":"\"\n\u00e9"})");
  cursor.enter();
  EXPECT_EQ(cursor.next_key(), "ab");
  EXPECT_EQ(cursor.text(), "\"\n\xc3\xa9");
  EXPECT_EQ(cursor.next_key(), std::nullopt);
  EXPECT_TRUE(cursor.finish());
}

TEST(JsonCursor, WhatIsNotJsonIsAnErrorAndThereIsNothingMore) {
  for (const char* text :
       {"", "{", "[1,]", "{\"a\"}", "[1]x", "{\"a\":1,}", "nul", "\"\xff\"", "01", "-", "[1}", "[",
        "{\"a\":}", "[,1]", "{1:2}", "\"a", "\"\\", "[1 2]"}) {
    const Status skimmed = skim(text);
    ASSERT_FALSE(skimmed) << text;
    EXPECT_EQ(skimmed.error().code, Code::kProtocol) << text;
  }
  JsonCursor cursor("[1,x,2]");
  cursor.enter();
  EXPECT_TRUE(cursor.next_value());
  cursor.skip();
  EXPECT_TRUE(cursor.next_value());
  cursor.skip();
  EXPECT_FALSE(cursor.next_value());
  EXPECT_EQ(cursor.kind(), JsonKind::kNone);
}

TEST(JsonCursor, DepthIsLimited) {
  const auto nested = [](size_t depth) { return repeated(depth, "[") + repeated(depth, "]"); };
  EXPECT_TRUE(skim(nested(kMaxJsonDepth)));
  const Status skimmed = skim(nested(kMaxJsonDepth + 1));
  ASSERT_FALSE(skimmed);
  EXPECT_EQ(skimmed.error().code, Code::kLimit);
  EXPECT_EQ(skimmed.error().text, "JSON nested deeper than 32");
}

}  // namespace
}  // namespace muster::rendezvous
