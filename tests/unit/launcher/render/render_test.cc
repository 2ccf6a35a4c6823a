#include "launcher/render/render.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "launcher/render/render_flags.h"
#include "tests/support/fake_files.h"

namespace muster::launcher {
namespace {

using testing::FakeFiles;

RenderRequest request_of(std::vector<std::string> flags) {
  flags.insert(flags.end(), {"--name", "bert", "--image", "bert:1", "--", "train.py"});
  const auto request = parse_render_flags(flags);
  EXPECT_TRUE(request) << request.error().text;
  return request.value_or(RenderRequest());
}

TEST(Render, EachKindHasAWriter) {
  const std::pair<const char*, const char*> kinds[] = {{"jobset", "JobSet"},
                                                       {"job", "Job"},
                                                       {"mpijob", "MPIJob"},
                                                       {"pytorchjob", "PyTorchJob"},
                                                       {"trainjob", "TrainJob"}};
  for (const auto& [to, kind] : kinds) {
    const auto rendered = render(request_of({"--to", to}), FakeFiles());
    ASSERT_TRUE(rendered) << rendered.error().text;
    EXPECT_EQ(rendered->documents.back()["kind"], kind);
  }
}

TEST(Render, TheKindFollowsFromTheFramework) {
  const auto kind_of = [](const std::string& framework) {
    const auto rendered =
        render(request_of({"--framework", framework, "--workers", "2"}), FakeFiles());
    return rendered ? rendered->documents.back()["kind"].get<std::string>() : "";
  };
  EXPECT_EQ(kind_of("pytorch"), "JobSet");
  EXPECT_EQ(kind_of("mpi"), "MPIJob");
}

TEST(Render, NamesAreChecked) {
  RenderRequest request = request_of({});
  request.name = "Bert";  // a manifest's own
  const auto rendered = render(request, FakeFiles());
  ASSERT_FALSE(rendered);
  EXPECT_EQ(rendered.error().code, Code::kUsage);
}

TEST(Render, ANameIsBlamedOnWhatSaysIt) {
  FakeFiles files;
  files.add_file("/job.yaml",
                 "apiVersion: batch/v1\nkind: Job\nmetadata: {name: my.job}\nspec: "
                 "{template: {spec: {containers: [{name: c, image: i, command: [x]}]}}}");
  EXPECT_EQ(render(RenderRequest{.file = "/job.yaml"}, files).error().text,
            "/job.yaml: metadata.name: 'my.job' must be at most 63 of a-z, 0-9 and '-', a letter "
            "first and no '-' last");
  EXPECT_TRUE(render(RenderRequest{.file = "/job.yaml", .name = "mine"}, files));
  RenderRequest prefixed = request_of({"--workers", "100"});
  prefixed.name_prefix = "a";
  prefixed.name = std::string(60, 'a');
  EXPECT_EQ(render(prefixed, files).error().text.find("--job-name-prefix: 'aaa"), 0);
}

TEST(Render, AManifestIsNamedAndHasAProject) {
  FakeFiles files;
  files.add_file("/job.yaml",
                 "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a, namespace: other}\nspec: "
                 "{template: {spec: {containers: [{name: c, image: i, command: [x, "
                 "'$MASTER_ADDR']}]}}}");
  const auto request = parse_render_flags(
      std::vector<std::string>{"-f", "/job.yaml", "--name", "bert", "--project", "nlp"});
  ASSERT_TRUE(request) << request.error().text;
  const auto rendered = render(*request, files);
  ASSERT_TRUE(rendered) << rendered.error().text;
  const nlohmann::json job = rendered->documents.back();
  EXPECT_EQ(job["metadata"]["name"], "bert");
  EXPECT_EQ(job["metadata"]["namespace"], "runai-nlp");
  const nlohmann::json pod =
      job["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"];
  const nlohmann::json address = {{"name", "MASTER_ADDR"}, {"value", "bert-worker-0-0.bert"}};
  EXPECT_EQ(pod["containers"][0]["env"][0], address);
  EXPECT_EQ(render(RenderRequest{.file = "/none"}, files).error().code, Code::kOs);
}

TEST(Render, AnMpiJobIsMadeOfMpiAlone) {
  FakeFiles files;
  files.add_file("/job.yaml",
                 "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec: {template: {spec: "
                 "{containers: [{name: c, image: i, command: [torchrun, x]}]}}}");
  const auto rendered = render({.file = "/job.yaml", .to = JobKind::kMpiJob}, files);
  ASSERT_FALSE(rendered);
  EXPECT_EQ(rendered.error().text,
            "--to mpijob: /job.yaml is of no MPI job; --to jobset or pytorchjob can hold it");
}

TEST(Render, WrongInAManifestIsToldWithItsFile) {
  FakeFiles files;
  files.add_file("/job.yaml", "kind: ConfigMap");
  const auto rendered = render(RenderRequest{.file = "/job.yaml"}, files);
  ASSERT_FALSE(rendered);
  EXPECT_EQ(rendered.error().text.substr(0, 16), "/job.yaml: kind:");
}

}  // namespace
}  // namespace muster::launcher
