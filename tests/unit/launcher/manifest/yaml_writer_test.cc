#include "launcher/manifest/yaml_writer.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "launcher/manifest/yaml_reader.h"

namespace muster::launcher {
namespace {

using nlohmann::json;

std::string written(const json& document) { return write_yaml(std::span(&document, 1)); }

TEST(YamlWriter, WhatNamesAnObjectComesFirst) {
  const json job = {{"spec", {{"zeta", 1}, {"name", "x"}, {"alpha", true}}},
                    {"metadata", {{"name", "train"}}},
                    {"kind", "Job"},
                    {"apiVersion", "batch/v1"}};
  EXPECT_EQ(written(job),
            "apiVersion: batch/v1\n"
            "kind: Job\n"
            "metadata:\n"
            "  name: train\n"
            "spec:\n"
            "  name: x\n"
            "  alpha: true\n"
            "  zeta: 1\n");
}

TEST(YamlWriter, DocumentsAreDivided) {
  const std::vector<json> two = {{{"a", 1}}, {{"b", json::array()}, {"c", json::object()}}};
  EXPECT_EQ(write_yaml(two), "a: 1\n---\nb: []\nc: {}\n");
}

TEST(YamlWriter, ATextStaysAText) {
  for (const char* text :
       {"",    "5",  "0x1F", "1e3", "12:30", "yes",    "No",    "~",    "null",        "a: b",
        "- x", "#x", " x",   "x ",  "$(A)",  "a\nb\n", "\t",    "\"",   "'",           "\\",
        "%",   "@x", "0777", ".5",  "2:8",   "1h30",   "grüße", "a #b", "{a}",         "[a]",
        "*a",  "&a", "!a",   "|",   ">",     "=",      "<<",    "\x01", "\xe2\x80\xa8"}) {
    const json document = {{"value", text}, {"list", {text, text}}, {std::string("k") + text, 1}};
    const auto read = read_yaml(written(document));
    ASSERT_TRUE(read.has_value()) << written(document) << read.error().text;
    EXPECT_EQ(read->at(0), document) << written(document);
  }
}

TEST(YamlWriter, OtherValuesStayWhatTheyAre) {
  const json document = {
      {"a", nullptr}, {"b", false}, {"c", -3}, {"d", 0.5}, {"e", {1, {{"f", 2}}}}};
  EXPECT_EQ(read_yaml(written(document)).value().at(0), document);
}

TEST(YamlWriter, AKeyMayBeLongerThanALineTakes) {
  json document = {{"a", 1}, {"z", {{"b", 2}}}};
  document[std::string(2000, ' ')] = {{"c", 3}};
  const std::string text = write_yaml({&document, 1});
  EXPECT_EQ(read_yaml(text)->at(0), document) << text;
}

}  // namespace
}  // namespace muster::launcher
