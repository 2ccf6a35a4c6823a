// The in-memory file system must behave as the real one, or the tests built on it prove nothing.
#include "tests/support/fake_files.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>

namespace muster::testing {
namespace {

TEST(FakeFiles, ReadsListsAndFollowsLinksInEveryPosition) {
  FakeFiles files;
  files.add_file("/sys/devices/pci0/0000:1b:00.0/numa_node", "1\n");
  files.add_link("/sys/bus/pci/devices/0000:1b:00.0", "../../../devices/pci0/0000:1b:00.0");
  EXPECT_EQ(files.read("/sys/bus/pci/devices/0000:1b:00.0/numa_node").value(), "1\n");
  EXPECT_EQ(files.list("/sys/bus/pci/devices").value(), std::vector<std::string>{"0000:1b:00.0"});
  EXPECT_EQ(files.link_target("/sys/bus/pci/devices/0000:1b:00.0").value(),
            "../../../devices/pci0/0000:1b:00.0");
  EXPECT_TRUE(files.is_directory("/sys/bus/pci/devices/0000:1b:00.0"));
  EXPECT_EQ(files.list("/").value(), std::vector<std::string>{"sys"});
}

TEST(FakeFiles, ErrorsCarryTheErrnoOfARealFileSystem) {
  FakeFiles files;
  files.add_file("/a/file", "text");
  files.add_link("/loop", "loop");
  EXPECT_EQ(files.read("/missing").error().os_errno, ENOENT);
  EXPECT_EQ(files.read("/a").error().os_errno, EISDIR);
  EXPECT_EQ(files.read("/a/file/below").error().os_errno, ENOTDIR);
  EXPECT_EQ(files.read("/loop").error().os_errno, ELOOP);
  EXPECT_EQ(files.list("/a/file").error().os_errno, ENOTDIR);
  EXPECT_EQ(files.link_target("/a/file").error().os_errno, EINVAL);
  EXPECT_EQ(files.check_executable("/a/file").error().os_errno, EACCES);
  EXPECT_EQ(files.write("/b/file", "x").error().os_errno, ENOENT);
  EXPECT_EQ(files.write("/b/b", "x").error().os_errno, ENOENT);
  EXPECT_EQ(files.read("/a/file", 3).error().code, Code::kLimit);
}

TEST(FakeFiles, WritesInPlaceAndThroughDescriptors) {
  FakeFiles files;
  ASSERT_TRUE(files.make_directories("/log/attempt_0"));
  ASSERT_TRUE(files.write("/log/attempt_0/a", "one"));
  EXPECT_EQ(files.content("/log/attempt_0/a"), "one");
  auto fd = files.create("/log/attempt_0/a");
  ASSERT_TRUE(fd);
  EXPECT_EQ(files.content("/log/attempt_0/a"), "");
  ASSERT_EQ(::write(fd->get(), "two", 3), 3);
  ASSERT_EQ(::write(fd->get(), "three", 5), 5);
  EXPECT_EQ(files.read("/log/attempt_0/a").value(), "twothree");
}

TEST(FakeFiles, FailsOnDemandByPathAndByCallNumber) {
  FakeFiles files;
  files.add_file("/a", "1");
  files.fail_path("/a", EIO);
  EXPECT_EQ(files.read("/a").error().os_errno, EIO);
  EXPECT_FALSE(files.exists("/a"));
  files.fail_path("/a", 0);
  files.fail_nth_call(2, EMFILE);
  EXPECT_TRUE(files.read("/a"));
  EXPECT_EQ(files.read("/a").error().os_errno, EMFILE);
  EXPECT_TRUE(files.read("/a"));
  EXPECT_EQ(files.calls(), 5U);
}

/// What add_tree_text() says of this text.
Status add_text(FakeFiles& files, std::string_view text) {
  FakeFiles other;
  auto fd = other.create("/text");  // a real descriptor of a real file that has no name
  EXPECT_EQ(::write(fd->get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  return files.add_tree_text("/proc/self/fd/" + std::to_string(fd->get()));
}

TEST(FakeFiles, ReadsAMachineFromOneText) {
  FakeFiles files;
  ASSERT_TRUE(files.add_tree_text(MUSTER_TEST_DATA "/machines/fabric/roce-macvlan-pod.tree"));
  const std::string port = "/sys/class/infiniband/mlx5_0/ports/1";
  EXPECT_EQ(files.read(port + "/rate").value(), "400 Gb/sec (4X NDR)\n");
  EXPECT_EQ(files.read(port + "/gid_attrs/types/7").value(), "RoCE v2\n");
  EXPECT_EQ(files.read(port + "/gid_attrs/types/3").error().os_errno, EINVAL);
  EXPECT_TRUE(files.exists(port + "/gid_attrs/types/3"));
  EXPECT_EQ(files.list(port + "/gid_attrs/types").value().size(), 16U);
  EXPECT_EQ(files.read("/sys/class/infiniband/mlx5_0/device/vendor").value(), "0x15b3\n");
  EXPECT_EQ(files.link_target("/sys/class/net/net1").value(), "../../devices/virtual/net/net1");
  EXPECT_EQ(files.read("/dev/infiniband/uverbs0").value(), "");
  EXPECT_TRUE(files.list("/sys/class/infiniband/mlx5_0/device/net").value().empty());
  EXPECT_TRUE(files.read("/proc/net/route").value().starts_with("Iface\t"));
}

TEST(FakeFiles, TheTextOfATreeHasFilesOfOneLineAndOfSeveral) {
  FakeFiles files;
  ASSERT_TRUE(
      add_text(files, "# a: comment\n/one: 1 -> 2\n/two:\n    a\n    \n      b\n/link -> one\n"));
  EXPECT_EQ(files.content("/link"), "1 -> 2\n");
  EXPECT_EQ(files.content("/two"), "a\n\n  b\n");
}

TEST(FakeFiles, ALineOfATreeThatIsNoEntryIsNamedWithItsNumber) {
  for (const char* line : {"", "a: b", "/", "/a:", "/a ->", "/a -> ", "/a !", "/a ! EWHAT",
                           "/a ? b", "/a: 1\n    2", "/a\n    2", "/a -> b\n    2", "# late"}) {
    FakeFiles files;
    const Status status = add_text(files, std::string("# first\n/file: 1\n") + line + "\n");
    ASSERT_FALSE(status) << line;
    EXPECT_NE(status.error().text.find(":3: "), std::string::npos) << status.error().text;
  }
  FakeFiles files;
  EXPECT_EQ(files.add_tree_text("/missing.tree").error().os_errno, ENOENT);
}

TEST(FakeFiles, RemoveTakesEverythingBelow) {
  FakeFiles files;
  files.add_file("/a/b/c", "1");
  files.add_file("/ab", "2");
  files.remove("/a");
  EXPECT_FALSE(files.exists("/a/b/c"));
  EXPECT_FALSE(files.exists("/a"));
  EXPECT_TRUE(files.exists("/ab"));
}

}  // namespace
}  // namespace muster::testing
