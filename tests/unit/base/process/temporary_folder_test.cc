#include "base/process/temporary_folder.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "tests/support/fake_files.h"

namespace muster {
namespace {

class TemporaryPlaceTest : public ::testing::Test {
 protected:
  TemporaryPlaceTest() {
    for (const char* folder : {"/scratch", "/tmp", "/var/tmp", "/dev/shm"})
      files_.add_directory(folder);
  }
  TemporaryPlace place(const char* tmpdir) {
    Environment environment;
    if (tmpdir != nullptr) environment.set("TMPDIR", tmpdir);
    return find_temporary_place(files_, environment);
  }

  muster::testing::FakeFiles files_;
};

TEST_F(TemporaryPlaceTest, IsWhatTheUserNamed) {
  EXPECT_EQ(place("/scratch").folder, "/scratch");
  EXPECT_EQ(place("/scratch").problem, "");
  EXPECT_EQ(place(nullptr).folder, "/tmp");
  EXPECT_EQ(place("").folder, "/tmp");
}

TEST_F(TemporaryPlaceTest, OfAnotherMachinesFolderItSaysWhyItIsNotTaken) {
  const TemporaryPlace found = place("/missing");
  EXPECT_EQ(found.folder, "/tmp");
  EXPECT_EQ(found.problem, "TMPDIR: access '/missing': No such file or directory");
}

TEST_F(TemporaryPlaceTest, IsWhateverAReadOnlyRootHasLeft) {
  files_.fail_path("/tmp", EROFS);
  EXPECT_EQ(place(nullptr).folder, "/var/tmp");
  files_.fail_path("/var/tmp", EROFS);
  EXPECT_EQ(place(nullptr).folder, "/dev/shm");
  EXPECT_EQ(place(nullptr).problem, "");
}

TEST_F(TemporaryPlaceTest, StaysWhereNothingElseIsThere) {
  for (const char* folder : {"/tmp", "/var/tmp", "/dev/shm"}) files_.fail_path(folder, EROFS);
  EXPECT_EQ(place("/missing").folder, "/missing");
  EXPECT_EQ(place(nullptr).folder, "/tmp");
}

}  // namespace
}  // namespace muster
