#include "launcher/dashboard/event_fields.h"

#include <gtest/gtest.h>

#include "launcher/dashboard/job_view.h"

namespace muster::launcher {
namespace {

StoredEvent event(std::string name, std::string body) {
  return {"node-1", std::move(name), 7, std::move(body)};
}

TEST(EventFields, AFieldOfAnotherKindIsNotThere) {
  const StoredEvent stored =
      event("x", R"({"text":7,"number":"7","real":[],"lines":{},"phases":[],"half":0.5})");
  const auto fields = EventFields::read(stored);
  ASSERT_TRUE(fields);
  EXPECT_EQ(fields->text("text"), "");
  EXPECT_EQ(fields->number("number"), std::nullopt);
  EXPECT_EQ(fields->number("half"), std::nullopt);
  EXPECT_EQ(fields->real("half"), 0.5);
  EXPECT_EQ(fields->real("real"), std::nullopt);
  EXPECT_TRUE(fields->lines("lines", 5).empty());
  EXPECT_TRUE(fields->phases().empty());
}

TEST(EventFields, ABodyThatIsNoObjectIsNoEvent) {
  EXPECT_FALSE(EventFields::read(event("x", "[1]")));
  EXPECT_FALSE(EventFields::read(event("x", "{")));
}

TEST(EventFields, LongTextsAndManyLinesAreCut) {
  const StoredEvent stored =
      event("x", R"({"text":")" + std::string(5000, 'x') + R"(","lines":["1","2","3"]})");
  const auto fields = EventFields::read(stored);
  EXPECT_EQ(fields->text("text").size(), kMaxShownText);
  EXPECT_EQ(fields->lines("lines", 2), (std::vector<std::string>{"2", "3"}));
}

TEST(EventFields, PeopleAreToldWarningsAndWhatMovesTheJob) {
  const auto told = [](const StoredEvent& stored) {
    return EventFields::read(stored)->moment_text();
  };
  EXPECT_EQ(told(event("port.client_dropped", R"({"level":"warning","reason":"why"})")), "why");
  EXPECT_EQ(told(event("worker.exit", R"({"level":"error","rank":3,"reason":"exit code 1"})")),
            "rank 3: exit code 1");
  EXPECT_EQ(told(event("worker.exit", R"({"level":"info","rank":3,"reason":"SIGTERM"})")),
            std::nullopt);
  EXPECT_EQ(told(event("round.running", R"({"level":"info","reason":"round 1"})")), "round 1");
  EXPECT_EQ(told(event("job.end", R"({"level":"info","result":"failed","reason":"rank 0"})")),
            "failed: rank 0");
  EXPECT_EQ(told(event("job.failure", R"({"level":"error"})")), std::nullopt);
}

}  // namespace
}  // namespace muster::launcher
