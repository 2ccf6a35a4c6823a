#include "launcher/sidecar/event_queue.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/json.h"

namespace muster::launcher {
namespace {

JournalEvent event(uint64_t seq, const std::string& name = "worker.exit",
                   const std::string& replaces = "", const std::string& node = "node-0") {
  const std::string id = "a-" + std::to_string(seq);
  return {
      {seq, id}, name, "job", node, R"({"id":")" + id + R"(","seq":)" + std::to_string(seq) + "}",
      replaces};
}

std::vector<uint64_t> numbers(const std::string& body) {
  const auto object = parse_json(body);
  EXPECT_TRUE(object) << body;
  std::vector<uint64_t> found;
  for (const auto& each : object->at("events")) found.push_back(each.at("seq").get<uint64_t>());
  return found;
}

TEST(EventQueueTest, ABodySaysVersionJobAndNode) {
  EventQueue queue;
  queue.push(event(1));
  queue.push(event(2));
  const auto body = parse_json(queue.take_body(kMaxBodyBytes));
  ASSERT_TRUE(body);
  EXPECT_EQ(body->at("version"), 1);
  EXPECT_EQ(body->at("job"), "job");
  EXPECT_EQ(body->at("node"), "node-0");
  EXPECT_EQ(body->at("events").size(), 2U);
  EXPECT_EQ(queue.under_way(), 2U);
  EXPECT_EQ(queue.pop().back().mark.seq, 2U);
  EXPECT_TRUE(queue.is_empty());
}

TEST(EventQueueTest, ABodyHasOneEventAtLeastAndNoMoreThanFit) {
  EventQueue queue;
  for (uint64_t seq = 1; seq <= 10; ++seq) queue.push(event(seq));
  EXPECT_EQ(numbers(queue.take_body(1)), std::vector<uint64_t>{1});
  queue.put_back();
  const std::string body = queue.take_body(150);
  EXPECT_LE(body.size(), 150U);
  EXPECT_GT(numbers(body).size(), 1U);
}

TEST(EventQueueTest, ABodyIsOfOneNode) {
  EventQueue queue;
  queue.push(event(1));
  queue.push(event(2, "e", "", "node-1"));
  EXPECT_EQ(numbers(queue.take_body(kMaxBodyBytes)), std::vector<uint64_t>{1});
}

TEST(EventQueueTest, NewerProgressTakesThePlaceOfOlder) {
  EventQueue queue;
  queue.push(event(1, "progress", "0/0"));
  queue.push(event(2));
  queue.push(event(3, "progress", "0/1"));
  queue.push(event(4, "progress", "0/0"));
  queue.push(event(5));
  EXPECT_EQ(numbers(queue.take_body(kMaxBodyBytes)), (std::vector<uint64_t>{2, 3, 4, 5}));
}

TEST(EventQueueTest, ABodyUnderWayIsLeftAsItIs) {
  EventQueue queue;
  queue.push(event(1, "progress", "0/0"));
  const std::string body = queue.take_body(kMaxBodyBytes);
  queue.push(event(2, "progress", "0/0"));
  EXPECT_EQ(queue.size(), 2U);
  EXPECT_EQ(queue.pop().front().mark.seq, 1U);
  EXPECT_EQ(numbers(queue.take_body(kMaxBodyBytes)), std::vector<uint64_t>{2});
}

TEST(EventQueueTest, ItIsFullByBytes) {
  EventQueue queue;
  JournalEvent large = event(1);
  large.line.resize(kMaxQueuedBytes / 2, ' ');
  queue.push(large);
  EXPECT_TRUE(queue.has_room());
  queue.push(large);
  EXPECT_FALSE(queue.has_room());
  (void)queue.take_body(1);
  (void)queue.pop();
  EXPECT_TRUE(queue.has_room());
}

}  // namespace
}  // namespace muster::launcher
