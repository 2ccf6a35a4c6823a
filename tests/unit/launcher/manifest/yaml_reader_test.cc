#include "launcher/manifest/yaml_reader.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/json.h"

namespace muster::launcher {
namespace {

// Its documents as JSON, or the error.
std::string read(const std::string& text) {
  const auto documents = read_yaml(text);
  if (!documents) return documents.error().text;
  std::string all;
  for (const auto& document : *documents) all += (all.empty() ? "" : "|") + dump_json(document);
  return all;
}

TEST(YamlReader, PlainScalarsAreWhatTheyLookLikeAndQuotedOnesTexts) {
  EXPECT_EQ(
      read("{a: 4, b: \"4\", c: '4', d: 1.5, e: true, f: 'true', g: ~, h: , i: 2023.2-x}"),
      R"({"a":4,"b":"4","c":"4","d":1.5,"e":true,"f":"true","g":null,"h":null,"i":"2023.2-x"})");
  EXPECT_EQ(read("- |\n  two\n  lines\n- >\n  one\n  line\n"), R"(["two\nlines\n","one line\n"])");
}

// Modes of files are octal, and people write yes.
TEST(YamlReader, PlainScalarsAreThoseOfYaml11) {
  EXPECT_EQ(read("{a: 0400, b: 0755, c: 0o17, d: 0x1ed, e: 0, f: 08, g: 0.5, h: 0-1, i: 0x}"),
            R"({"a":256,"b":493,"c":15,"d":493,"e":0,"f":8,"g":0.5,"h":"0-1","i":"0x"})");
  EXPECT_EQ(read("{a: yes, b: On, c: no, d: OFF, e: 'yes', yes: x}"),
            R"({"a":true,"b":true,"c":false,"d":false,"e":"yes","yes":"x"})");
}

TEST(YamlReader, TakesAllDocumentsThatHoldAnything) {
  EXPECT_EQ(read("# nothing\n---\na: 1\n---\n---\nb: [1, 2]\n"), R"({"a":1}|{"b":[1,2]})");
  EXPECT_EQ(read(""), "");
}

TEST(YamlReader, MergesWhatAKeySaysBelowTheOthers) {
  EXPECT_EQ(read("{a: &a {x: 1, y: 2}, b: {<<: *a, y: 3}}"),
            R"({"a":{"x":1,"y":2},"b":{"x":1,"y":3}})");
}

TEST(YamlReader, SaysWhereItIsNoYaml) {
  EXPECT_EQ(read("a: ["), "line 1, column 1: end of sequence flow not found");
  EXPECT_EQ(read("a: 1\na: 2\n"), "line 2, column 1: 'a' is there twice");
  EXPECT_EQ(read("[a]: 1\n"), "line 1, column 1: a key must be a word");
  EXPECT_EQ(read("a: *nobody\n").substr(0, 7), "line 1,");
}

TEST(YamlReader, AFewLinesMayNotStandForBillions) {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    const std::string last = "*a" + std::to_string(i - 1);
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + last;
    for (int more = 0; more < 8; ++more) text += ", " + last;
    text += "]\n";
  }
  const auto documents = read_yaml(text);
  ASSERT_FALSE(documents);
  EXPECT_EQ(documents.error().code, Code::kLimit);
  EXPECT_EQ(read_yaml(std::string(kMaxYamlBytes + 1, ' ')).error().code, Code::kLimit);
  EXPECT_EQ(read_yaml(std::string(1000, '[')).error().code, Code::kLimit);
}

TEST(YamlReader, TextsAreUtf8) {
  EXPECT_EQ(read_yaml("a: \xff\n").error().text, "it is not UTF-8");
  EXPECT_EQ(read_yaml("a: 1\nb: \x01\n").error().text,
            "line 2: a control character is not allowed");
  EXPECT_EQ(read_yaml("a: \xef\xbf\xbd\xc3\xa9\n")->at(0)["a"], "\xef\xbf\xbd\xc3\xa9");
}

TEST(YamlReader, WhatBeginsNoDocumentIsRefused) {
  EXPECT_EQ(read_yaml(",").error().text, "line 1, column 1: no document can begin so");
  EXPECT_EQ(read_yaml("a: 1\n---\n,,").error().text, "line 3, column 1: no document can begin so");
  EXPECT_EQ(read_yaml("---\n---\n--- 1\n")->size(), 1U);
}

}  // namespace
}  // namespace muster::launcher
