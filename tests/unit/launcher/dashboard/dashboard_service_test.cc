#include "launcher/dashboard/dashboard_service.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/gzip.h"
#include "base/json.h"
#include "tests/support/fake_clock.h"
#include "tests/support/output_fixture.h"

namespace muster::launcher {
namespace {

using nlohmann::json;

class DashboardServiceTest : public ::testing::Test {
 protected:
  DashboardServiceTest() : store_(std::move(*EventStore::open_file(folder_.path() + "/a.db", {}))) {
    start("");
  }

  void start(std::string token) {
    service_ = std::make_unique<DashboardService>(
        *store_, clock_, DashboardAccess{std::move(token), {}},
        [this](uint64_t client, std::string_view bytes) {
          if (gone_ == client) return false;
          pushed_ += fmt::format("{}: {}", client, bytes);
          return true;
        },
        [this](uint64_t client) { closed_ = client; });
  }
  HttpReply post(std::string body, HttpHeaders headers = {{"Content-Type", "application/json"}}) {
    return service_->answer({"POST", "/webhook", std::move(body), std::move(headers)});
  }
  HttpReply get(std::string path) { return service_->answer({"GET", std::move(path), "", {}, 5}); }
  static std::string batch(std::string_view job, std::string_view id,
                           std::string_view fields = "") {
    return fmt::format(
        R"({{"version":1,"job":"{}","node":"n","events":[{{"id":"{}","event":"job.start","time":"2026-11-27T21:07:51Z"{}}}]}})",
        job, id, fields);
  }

  muster::testing::TempDir folder_;
  muster::testing::FakeClock clock_;
  std::unique_ptr<EventStore> store_;
  std::unique_ptr<DashboardService> service_;
  std::string pushed_;
  uint64_t gone_ = 0;
  uint64_t closed_ = 0;
};

TEST_F(DashboardServiceTest, APostIsTakenOnceAndShown) {
  EXPECT_EQ(post(batch("bert", "1")).body, "{\"taken\":1,\"new\":1}\n");
  EXPECT_EQ(post(batch("bert", "1")).body, "{\"taken\":1,\"new\":0}\n");
  const json list = *parse_json(get("/api/jobs").body);
  ASSERT_EQ(list["jobs"].size(), 1U);
  EXPECT_EQ(list["jobs"][0]["job"], "bert");
  EXPECT_EQ(list["jobs"][0]["heard_ms"], 1'700'000'000'000);
  EXPECT_EQ(list["now_ms"], 1'700'000'000'000);
  EXPECT_EQ((*parse_json(get("/api/jobs/bert").body))["job"]["rows"][0]["name"], "n");
  EXPECT_EQ((*parse_json(get("/api/jobs/bert/progress").body))["curves"], json::array());
}

TEST_F(DashboardServiceTest, AJobMayHaveAnyName) {
  ASSERT_EQ(post(batch("a/b c%ü", "1")).status, 200);
  EXPECT_EQ(get("/api/jobs/a%2Fb%20c%25%C3%BC").status, 200);
  EXPECT_EQ(get("/api/jobs/a%2fb%20c%25%c3%bc/progress").status, 200);
  for (const char* path : {"/api/jobs/", "/api/jobs/a%2", "/api/jobs/a%zz", "/api/jobs/a/b",
                           "/api/jobsx", "/api/", "/x"})
    EXPECT_EQ(get(path).status, 404) << path;
}

TEST_F(DashboardServiceTest, APackedBodyIsUnpackedWithinTheLimit) {
  const HttpHeaders packed = {{"content-type", "Application/JSON; charset=utf-8"},
                              {"content-encoding", "GZIP"}};
  EXPECT_EQ(post(*gzip(batch("bert", "1")), packed).status, 200);
  EXPECT_EQ(post("no gzip", packed).status, 400);
  const HttpReply long_one = post(*gzip(std::string(kMaxWebhookBytes + 1, ' ')), packed);
  EXPECT_EQ(long_one.status, 413);
}

TEST_F(DashboardServiceTest, WhatIsWrongWithAPostIsSaidInALine) {
  const HttpReply malformed = post("{\"version\":1}");
  EXPECT_EQ(malformed.status, 400);
  EXPECT_EQ(malformed.body, "'events' is no list\n");
  EXPECT_EQ(post("{").status, 400);
  EXPECT_EQ(post("{}", {}).status, 415);
  EXPECT_EQ(post("{}", {{"Content-Type", "text/plain"}}).status, 415);
  EXPECT_EQ(post("{}", {{"Content-Type", "application/json"}, {"Content-Encoding", "br"}}).status,
            415);
  EXPECT_EQ(get("/webhook").status, 405);
  EXPECT_EQ(service_->answer({"DELETE", "/api/jobs", "", {}}).status, 405);
}

TEST_F(DashboardServiceTest, WithATokenPostsMustBearIt) {
  start("secret");
  HttpHeaders headers = {{"Content-Type", "application/json"}};
  EXPECT_EQ(post(batch("bert", "1"), headers).status, 401);
  headers.push_back({"Authorization", "Bearer secre"});
  EXPECT_EQ(post(batch("bert", "1"), headers).status, 401);
  headers.back().value = "Bearer secret";
  EXPECT_EQ(post(batch("bert", "1"), headers).status, 200);
  EXPECT_EQ(get("/api/jobs").status, 200);
}

TEST_F(DashboardServiceTest, OpenPagesAreToldWhatChanged) {
  const HttpReply stream = get("/api/stream");
  EXPECT_TRUE(stream.stream);
  EXPECT_EQ(stream.content_type, "text/event-stream");
  post(batch("b", "1"));
  post(batch("a", "2"));
  post(batch("a", "2"));
  ASSERT_TRUE(service_->has_changes());
  service_->tell_changes();
  EXPECT_EQ(pushed_, "5: event: changed\ndata: {\"jobs\":[\"a\",\"b\"]}\n\n");
  EXPECT_FALSE(service_->has_changes());
  post(batch("a", "2"));
  EXPECT_FALSE(service_->has_changes());
}

TEST_F(DashboardServiceTest, APageThatIsGoneIsForgotten) {
  (void)get("/api/stream");
  gone_ = 5;
  service_->keep_streams();
  gone_ = 0;
  service_->keep_streams();
  EXPECT_EQ(pushed_, "");
}

TEST_F(DashboardServiceTest, OfTooManyPagesTheOldestIsClosed) {
  for (uint64_t client = 1; client <= kMaxStreams + 1; ++client)
    (void)service_->answer({"GET", "/api/stream", "", {}, client});
  EXPECT_EQ(closed_, 1U);
}

TEST_F(DashboardServiceTest, ASidecarThatWasToldTheAddressAloneIsHeard) {
  const HttpReply reply =
      service_->answer({"POST", "/", batch("bert", "1"), {{"Content-Type", "application/json"}}});
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(get("/api/jobs/bert").status, 200);
}

TEST_F(DashboardServiceTest, AnotherSiteGetsNothing) {
  EXPECT_EQ(service_->answer({"GET", "/api/jobs", "", {{"Host", "evil.example"}}}).status, 403);
  EXPECT_EQ(post(batch("bert", "1"),
                 {{"Content-Type", "application/json"}, {"Origin", "http://evil.example"}})
                .status,
            403);
}

TEST_F(DashboardServiceTest, AJobThatIsLookedAtIsFoldedAtMostEverySoOften) {
  const auto rows = [this] { return (*parse_json(get("/api/jobs/j").body))["job"]["rows"].size(); };
  post(batch("j", "1"));
  EXPECT_EQ(rows(), 1U);
  service_->tell_changes();
  post(
      R"({"version":1,"job":"j","node":"m","events":[{"id":"2","event":"job.start","time":"2026-11-27T21:07:52Z"}]})");
  service_->tell_changes();
  EXPECT_EQ(rows(), 1U);
  // Whoever saw the old one is told to ask again.
  EXPECT_TRUE(service_->has_changes());
  clock_.advance(kFoldEvery);
  EXPECT_EQ(rows(), 2U);
}

TEST_F(DashboardServiceTest, ThePageHasAPolicyThatAllowsNothingFromElsewhere) {
  for (const char* path : {"/", "/dashboard.js", "/drawing.js", "/dashboard.css", "/api/jobs"}) {
    const HttpReply reply = get(path);
    EXPECT_EQ(reply.status, 200) << path;
    EXPECT_TRUE(header_of(reply.headers, "Content-Security-Policy")
                    .starts_with("default-src 'none'; script-src 'self'; "));
    EXPECT_EQ(header_of(reply.headers, "X-Content-Type-Options"), "nosniff");
  }
  EXPECT_EQ(get("/").content_type, "text/html; charset=utf-8");
  EXPECT_EQ(get("/?x=y").status, 200);
}

TEST_F(DashboardServiceTest, ProgressOfAnEarlierRunIsNotShown) {
  const auto event = [](const char* id, const char* name, int second, const char* fields) {
    return fmt::format(R"({{"id":"{}","event":"{}","time":"2026-11-27T21:07:{:02}Z"{}}})", id, name,
                       second, fields);
  };
  post(R"({"version":1,"job":"j","node":"n","events":[)" + event("1", "job.start", 1, "") + "," +
       event("2", "progress", 2, R"(,"rank":0,"step":5)") + "," +
       event("3", "job.end", 3, R"(,"result":"failed")") + "," + event("4", "job.start", 4, "") +
       "]}");
  EXPECT_EQ((*parse_json(get("/api/jobs/j/progress").body))["curves"], json::array());
  EXPECT_TRUE((*parse_json(get("/api/jobs/j").body))["job"]["progress"].is_null());
}

}  // namespace
}  // namespace muster::launcher
