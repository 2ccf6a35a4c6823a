#include "launcher/render/render.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "launcher/render/render_flags.h"
#include "tests/support/fake_files.h"

namespace muster::launcher {
namespace {

using testing::FakeFiles;

RenderRequest request_of(std::vector<std::string> flags, const std::string& name = "bert") {
  flags.insert(flags.end(), {"--name", name, "--image", "bert:1", "--", "train.py"});
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
  const auto rendered = render(request_of({}, "Bert"), FakeFiles());
  ASSERT_FALSE(rendered);
  EXPECT_EQ(rendered.error().code, Code::kUsage);
}

}  // namespace
}  // namespace muster::launcher
