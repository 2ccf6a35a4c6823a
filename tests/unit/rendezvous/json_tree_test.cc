#include "rendezvous/json_tree.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

#include "base/json.h"

namespace muster::rendezvous {
namespace {

Result<JsonTree> parse(std::string_view text) { return JsonTree::parse(text, kMaxJsonBytes); }

std::string repeated(size_t count, std::string_view text) {
  std::string all;
  for (size_t i = 0; i < count; ++i) all += text;
  return all;
}

TEST(JsonTree, FindsWhatAnObjectHasAndNothingThatIsDeeper) {
  const auto tree = parse(R"({"a":{"c":1,"d":[{"e":2}]},"b":"text","n":null,"t":true})");
  ASSERT_TRUE(tree);
  const JsonNode& root = tree->root();
  EXPECT_EQ(root.kind, JsonKind::kObject);
  EXPECT_EQ(tree->find(root, "b")->text, "text");
  EXPECT_EQ(tree->find(root, "n")->kind, JsonKind::kNull);
  EXPECT_TRUE(tree->find(root, "t")->flag);
  EXPECT_EQ(tree->find(root, "c"), nullptr);
  EXPECT_EQ(tree->find(root, ""), nullptr);
  const JsonNode* inner = tree->find(root, "a");
  EXPECT_EQ(tree->find(*inner, "c")->number, 1);
  EXPECT_EQ(tree->find(*inner, "b"), nullptr);
  EXPECT_EQ(tree->find(*tree->find(*inner, "d"), "e"), nullptr);  // a list has no names
}

TEST(JsonTree, GoesThroughListsWithoutWhatIsInsideTheirValues) {
  const auto tree = parse(R"([[1,2],{"x":[]},"end",[]])");
  ASSERT_TRUE(tree);
  std::vector<JsonKind> kinds;
  const JsonNode& root = tree->root();
  for (const JsonNode* each = tree->first(root); each != nullptr; each = tree->next(root, *each))
    kinds.push_back(each->kind);
  EXPECT_EQ(kinds,
            (std::vector{JsonKind::kArray, JsonKind::kObject, JsonKind::kText, JsonKind::kArray}));
  const auto empty = parse("[]");
  EXPECT_EQ(empty->first(empty->root()), nullptr);
}

TEST(JsonTree, NumbersKeepTheirKind) {
  const auto tree = parse("[-5,5,18446744073709551615,1.5,1e3]");
  ASSERT_TRUE(tree);
  const JsonNode& root = tree->root();
  const JsonNode* each = tree->first(root);
  EXPECT_EQ(each->kind, JsonKind::kInteger);
  EXPECT_EQ(each->number, -5);
  each = tree->next(root, *each);
  EXPECT_EQ(each->kind, JsonKind::kUnsigned);
  each = tree->next(root, *each);
  EXPECT_EQ(static_cast<uint64_t>(each->number), std::numeric_limits<uint64_t>::max());
  each = tree->next(root, *each);
  EXPECT_EQ(each->kind, JsonKind::kFloat);
  EXPECT_EQ(tree->next(root, *each)->kind, JsonKind::kFloat);
}

TEST(JsonTree, WhatIsNotJsonIsNone) {
  for (const char* text :
       {"", "{", "[1,]", "{\"a\"}", "[1]x", "{\"a\":1,}", "nul", "\"\xff\"", "01"}) {
    const auto tree = parse(text);
    ASSERT_FALSE(tree) << text;
    EXPECT_EQ(tree.error().code, Code::kProtocol) << text;
  }
}

TEST(JsonTree, LimitsAreNamed) {
  EXPECT_EQ(JsonTree::parse("[1,2]", 4).error().code, Code::kLimit);
  const auto nested = [](size_t depth) { return repeated(depth, "[") + repeated(depth, "]"); };
  EXPECT_TRUE(parse(nested(kMaxJsonDepth)));
  EXPECT_EQ(parse(nested(kMaxJsonDepth + 1)).error().text, "JSON nested deeper than 32");
  const auto list = [](size_t values) { return "[" + repeated(values - 2, "0,") + "0]"; };
  EXPECT_TRUE(parse(list(kMaxJsonValues)));
  EXPECT_EQ(parse(list(kMaxJsonValues + 1)).error().text, "JSON of more than 200000 values");
}

}  // namespace
}  // namespace muster::rendezvous
