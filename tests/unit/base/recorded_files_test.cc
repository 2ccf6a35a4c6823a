// RecordedFiles on folders of the real disk: what is in them, and what must not be reached.
#include <gtest/gtest.h>

#include "base/recorded_files.h"
#include "tests/support/fake_files.h"

namespace muster {
namespace {

TEST(RecordedEnvironment, ALineIsAVariable) {
  testing::FakeFiles files;
  EXPECT_TRUE(recorded_environment(files).variables().empty());
  files.add_file("/environ", "A=1\nB=x=y\n\nnonsense\nC=\n");
  const Environment environment = recorded_environment(files);
  EXPECT_EQ(environment.variables().size(), 3U);
  EXPECT_EQ(environment.get("B"), "x=y");
  EXPECT_EQ(environment.get("C"), "");
}

}  // namespace
}  // namespace muster
