#include "launcher/sidecar/pod_report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "tests/support/fake_files.h"
#include "tests/support/reported_events.h"

namespace muster::launcher {
namespace {

using muster::testing::environment_of;
using muster::testing::event_with;

nlohmann::json annotations_of(const PodReport& report) {
  return parse_json(report.request()->body)->at("metadata").at("annotations");
}

TEST(PodReportTest, AnnotationsFollowTheEvents) {
  PodReport report;
  EXPECT_TRUE(report.take(event_with("job.start", "")));
  EXPECT_EQ(annotations_of(report).at("muster/state"), "starting");
  EXPECT_EQ(annotations_of(report).at("muster/job"), "bert");
  EXPECT_TRUE(report.take(event_with("round.start", R"("round":3,"attempt":2)")));
  EXPECT_TRUE(report.take(event_with("progress", R"("step":7,"percent":3.5)")));
  EXPECT_FALSE(report.take(event_with("progress", R"("step":7,"percent":3.5)")));
  EXPECT_FALSE(report.take(event_with("worker.exit", R"("rank":0)")));
  auto annotations = annotations_of(report);
  EXPECT_EQ(annotations.at("muster/state"), "running");
  EXPECT_EQ(annotations.at("muster/round"), "3");
  EXPECT_EQ(annotations.at("muster/step"), "7");
  EXPECT_EQ(annotations.at("muster/updated"), "2026-08-20T10:00:00.123Z");
  EXPECT_TRUE(
      report.take(event_with("job.end", R"("result":"failed","reason":"rank 0: exit code 3")")));
  annotations = annotations_of(report);
  EXPECT_EQ(annotations.at("muster/state"), "failed");
  EXPECT_EQ(annotations.at("muster/reason"), "rank 0: exit code 3");
}

TEST(PodReportTest, ItIsAMergePatchOfBoundedText) {
  PodReport report;
  report.take(
      event_with("job.end", R"("result":"failed","reason":")" + std::string(5000, 'x') + "\""));
  const auto request = report.request();
  ASSERT_TRUE(request);
  EXPECT_EQ(request->method, "PATCH");
  EXPECT_EQ(header_of(request->headers, "Content-Type"), "application/merge-patch+json");
  EXPECT_EQ(annotations_of(report).at("muster/reason").get<std::string>().size(),
            kMaxAnnotationBytes);
}

TEST(PodReportTest, APodThatIsGoneIsToldNothingMore) {
  PodReport report;
  EXPECT_EQ(report.judge(200), StateVerdict::kTaken);
  EXPECT_EQ(report.judge(403), StateVerdict::kAnew);
  EXPECT_EQ(report.judge(409), StateVerdict::kAgain);
  EXPECT_EQ(report.judge(429), StateVerdict::kAgain);
  EXPECT_EQ(report.judge(422), StateVerdict::kDropped);
  EXPECT_EQ(report.judge(404), StateVerdict::kAgain);
  EXPECT_EQ(report.judge(404), StateVerdict::kAgain);
  EXPECT_EQ(report.judge(404), StateVerdict::kStop);
}

TEST(PodPlaceTest, IsWhatKubernetesSays) {
  testing::FakeFiles files;
  files.add_file("/var/run/secrets/kubernetes.io/serviceaccount/namespace", "team\n");
  const auto place = find_pod(environment_of({"KUBERNETES_SERVICE_HOST=fd00::1",
                                              "KUBERNETES_SERVICE_PORT=6443", "HOSTNAME=bert-0"}),
                              files);
  ASSERT_TRUE(place) << place.error().text;
  EXPECT_EQ(place->url.host, "fd00::1");
  EXPECT_EQ(place->url.port, 6443);
  EXPECT_EQ(place->url.path, "/api/v1/namespaces/team/pods/bert-0");
  EXPECT_TRUE(place->url.secure);
  const auto named = find_pod(environment_of({"KUBERNETES_SERVICE_HOST=10.0.0.1", "HOSTNAME=node-7",
                                              "POD_NAME=bert-1", "POD_NAMESPACE=other"}),
                              files);
  ASSERT_TRUE(named);
  EXPECT_EQ(named->url.path, "/api/v1/namespaces/other/pods/bert-1");
  EXPECT_FALSE(find_pod(environment_of({"HOSTNAME=a"}), files));
}

}  // namespace
}  // namespace muster::launcher
