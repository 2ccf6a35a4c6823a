#include "base/process/own_binary.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/support/fake_files.h"

namespace muster {
namespace {

TEST(OwnBinary, TheLinkBesideItIsTakenElseOneIsMade) {
  testing::FakeFiles files;
  auto folder =
      TemporaryFolder::create(::testing::TempDir() + "own_binary_test." + std::to_string(getpid()));
  ASSERT_TRUE(folder) << folder.error().text;
  const auto made = find_or_make_link(files, "/usr/bin/muster", kRshLink, *folder);
  EXPECT_EQ(made->path, folder->path() + "/muster-rsh");
  EXPECT_EQ(made->words, "/usr/bin/muster rsh");
  for (const char* other : {"/opt/my tools/muster", "/opt/a:b/muster", "/usr/bin/torchrun"})
    EXPECT_EQ(words_for(other, kRshLink), "") << other;
  EXPECT_EQ(*RealFiles().link_target(folder->path() + "/muster-rsh"), "/usr/bin/muster");
  files.add_executable("/usr/bin/muster-rsh");
  const auto found = find_or_make_link(files, "/usr/bin/muster", kRshLink, *folder);
  EXPECT_EQ(found->path, "/usr/bin/muster-rsh");
  EXPECT_EQ(found->words, "");
}

}  // namespace
}  // namespace muster
