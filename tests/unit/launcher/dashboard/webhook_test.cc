#include "launcher/dashboard/webhook.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/json.h"

namespace muster::launcher {
namespace {

constexpr std::string_view kEvent =
    R"({"id":"a-1","seq":1,"time":"2026-11-27T21:07:51.192Z","event":"job.start","node":"node-1"})";

std::string body_with(std::string_view events) {
  return R"({"version":1,"job":"bert","node":"node-1","events":[)" + std::string(events) + "]}";
}

std::string error_of(std::string_view body) {
  const auto read = read_webhook(body);
  return read ? "taken" : read.error().text;
}

TEST(Webhook, ABatchIsReadWithItsEvents) {
  const auto batch = read_webhook(body_with(kEvent));
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch->job, "bert");
  EXPECT_EQ(batch->node, "node-1");
  ASSERT_EQ(batch->events.size(), 1U);
  EXPECT_EQ(batch->events[0].id, "a-1");
  EXPECT_EQ(batch->events[0].name, "job.start");
  EXPECT_EQ(batch->events[0].time_ms, 1795813671192);
  EXPECT_EQ(*parse_json(batch->events[0].body), *parse_json(kEvent));
}

TEST(Webhook, ABatchMayBeEmptyAndHaveKeysThatNobodyKnows) {
  EXPECT_TRUE(read_webhook(R"({"version":1,"job":"j","node":"n","events":[],"more":{}})"));
}

TEST(Webhook, WhatIsWrongIsSaidWithTheEventInWhichItIs) {
  EXPECT_EQ(error_of("[]"), "the body is no JSON object");
  EXPECT_EQ(error_of(R"({"version":2,"job":"j","node":"n","events":[]})"), "'version' is not 1");
  EXPECT_EQ(error_of(R"({"job":"j","node":"n","events":[]})"), "'version' is not 1");
  EXPECT_EQ(error_of(R"({"version":1,"node":"n","events":[]})"), "'job' is missing");
  EXPECT_EQ(error_of(R"({"version":1,"job":7,"node":"n","events":[]})"), "'job' is no text");
  EXPECT_EQ(error_of(R"({"version":1,"job":"j","node":"","events":[]})"), "'node' is empty");
  EXPECT_EQ(error_of(R"({"version":1,"job":"j","node":"n","events":{}})"), "'events' is no list");
  EXPECT_EQ(error_of(body_with("7")), "events[0]: is no object");
  EXPECT_EQ(error_of(body_with(std::string(kEvent) + R"(,{"id":"a-2"})")),
            "events[1]: 'event' is missing");
  EXPECT_EQ(error_of(body_with(R"({"id":"a","event":"x","time":"yesterday"})")),
            "events[0]: 'time' is no time in UTC such as 2026-11-27T21:07:51.192Z");
  EXPECT_EQ(
      error_of(body_with(R"({"id":")" + std::string(300, 'a') + R"(","event":"x","time":"t"})")),
      "events[0]: 'id' has 300 bytes, at most 256");
}

TEST(Webhook, WhatIsNoJsonIsRefused) {
  EXPECT_NE(error_of("{"), "taken");
  EXPECT_NE(error_of(""), "taken");
  EXPECT_NE(error_of(std::string(kMaxWebhookBytes + 1, ' ')), "taken");
}

TEST(Webhook, WordsOfOthersAreMadePrintable) {
  const auto batch = read_webhook(body_with(
      R"({"id":"a","event":"worker.exit","time":"2026-11-27T21:07:51Z","last_lines":["\u001b[31mred\u202e"]})"));
  ASSERT_TRUE(batch);
  EXPECT_EQ((*parse_json(batch->events[0].body))["last_lines"][0], R"(\x1b[31mred\u202e)");
}

TEST(Webhook, AnEventThatIsTooLongIsKeptWithoutItsFields) {
  const auto batch = read_webhook(body_with(
      R"({"id":"a","event":"worker.exit","time":"2026-11-27T21:07:51Z","rank":3,"round":"x","last_lines":[")" +
      std::string(kMaxKeptEventBytes, 'x') + "\"]}"));
  ASSERT_TRUE(batch);
  EXPECT_EQ(
      *parse_json(batch->events[0].body),
      *parse_json(
          R"({"id":"a","event":"worker.exit","time":"2026-11-27T21:07:51Z","rank":3,"cut":true})"));
}

TEST(Webhook, OnlyTimesOfTheJournalAreTimes) {
  EXPECT_EQ(parse_utc_ms("1970-01-01T00:00:00Z"), 0);
  EXPECT_EQ(parse_utc_ms("2024-02-29T23:59:59.5Z"), 1709251199500);
  EXPECT_EQ(parse_utc_ms("2024-02-29T23:59:59.123456789Z"), 1709251199123);
  for (const char* text :
       {"", "Z", "2023-02-29T00:00:00Z", "2024-02-29T24:00:00Z", "2024-13-01T00:00:00Z",
        "2024-02-29 00:00:00Z", "2024-02-29T00:00:00", "2024-02-29T00:00:00.Z",
        "2024-02-29T00:00:00+01:00", "1969-12-31T23:59:59Z", "2024-02-2xT00:00:00Z",
        "2024-02-29T00:00:00.1x3Z", "2024-02-29T00:00:00.1234567890Z"})
    EXPECT_EQ(parse_utc_ms(text), std::nullopt) << text;
}

}  // namespace
}  // namespace muster::launcher
