#include "launcher/doctor/tree_writer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/recorded_files.h"

namespace muster::launcher {
namespace {

using Kind = nccl::CapturedEntry::Kind;

class TreeWriterTest : public ::testing::Test {
 protected:
  TreeWriterTest() {
    auto made = files_.make_private_folder(::testing::TempDir() + "tree_writer_");
    EXPECT_TRUE(made);
    if (made) folder_ = *made;
  }
  ~TreeWriterTest() override { std::filesystem::remove_all(folder_); }

  RealFiles files_;
  std::string folder_;
};

TEST_F(TreeWriterTest, WhatIsWrittenIsReadAgain) {
  nccl::Capture capture;
  capture.entries["/sys/devices/card/mtu"] = {Kind::kFile, "9000\n"};
  capture.entries["/sys/class/net/eth0"] = {Kind::kLink, "../../devices/card"};
  capture.entries["/sys/module/empty"] = {Kind::kFolder, ""};
  const auto written = write_tree(capture, files_, folder_ + "/tree");
  ASSERT_TRUE(written) << written.error().text;
  EXPECT_EQ(written->files, 1U);
  EXPECT_EQ(written->bytes, 5U);
  const auto recorded = RecordedFiles::open(folder_ + "/tree");
  ASSERT_TRUE(recorded);
  const auto mtu = recorded->read("/sys/class/net/eth0/mtu");
  ASSERT_TRUE(mtu);
  EXPECT_EQ(*mtu, "9000\n");
  EXPECT_TRUE(recorded->is_directory("/sys/module/empty"));
}

TEST_F(TreeWriterTest, NothingIsWrittenThroughALink) {
  nccl::Capture capture;
  capture.entries["/sys/a"] = {Kind::kLink, "../../outside"};
  capture.entries["/sys/a/file"] = {Kind::kFile, "evil"};
  ASSERT_FALSE(write_tree(capture, files_, folder_ + "/tree")) << "a folder is in its way";
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/outside"));
}

TEST_F(TreeWriterTest, AFolderThatIsInUseIsRefused) {
  ASSERT_TRUE(files_.write(folder_ + "/mine", "x"));
  const auto written = write_tree({}, files_, folder_);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, Code::kConfig);
}

}  // namespace
}  // namespace muster::launcher
