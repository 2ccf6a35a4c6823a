#include "base/files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "tests/support/fake_files.h"

namespace muster {
namespace {

class FilesTest : public ::testing::Test {
 protected:
  FilesTest() {
    char path[] = "/tmp/muster_files_test_XXXXXX";
    root_ = mkdtemp(path);
  }
  ~FilesTest() override { std::filesystem::remove_all(root_); }
  std::string root_;
};

TEST_F(FilesTest, WhatWasWrittenIsReadBelowTheRoot) {
  RealFiles files(root_);
  ASSERT_TRUE(files.make_directories("/a/b/c"));
  ASSERT_TRUE(files.make_directories("/a/b/c"));
  ASSERT_TRUE(files.write("/a/b/c/file", "hello"));
  EXPECT_EQ(files.read("/a/b/c/file").value(), "hello");
  EXPECT_EQ(RealFiles().read(root_ + "/a/b/c/file").value(), "hello");
  EXPECT_EQ(files.list("/a/b").value(), std::vector<std::string>{"c"});
  EXPECT_TRUE(files.is_directory("/a/b"));
  EXPECT_FALSE(files.is_directory("/a/b/c/file"));
  EXPECT_TRUE(files.exists("/a/b/c/file"));
}

TEST_F(FilesTest, WritingKeepsTheFileItself) {
  RealFiles files(root_);
  ASSERT_TRUE(files.write("/file", "long content"));
  struct stat before {};
  ASSERT_EQ(stat((root_ + "/file").c_str(), &before), 0);
  ASSERT_TRUE(files.write("/file", "short"));
  struct stat after {};
  ASSERT_EQ(stat((root_ + "/file").c_str(), &after), 0);
  EXPECT_EQ(before.st_ino, after.st_ino);
  EXPECT_EQ(files.read("/file").value(), "short");
}

TEST_F(FilesTest, ErrorsNameCallAndPath) {
  RealFiles files(root_);
  EXPECT_EQ(files.read("/none").error().text, "open '/none': No such file or directory");
  EXPECT_EQ(files.list("/none").error().text, "opendir '/none': No such file or directory");
  ASSERT_TRUE(files.write("/file", "0123456789"));
  EXPECT_EQ(files.read("/file", 5).error().code, Code::kLimit);
  EXPECT_EQ(files.make_directories("/file/below").error().os_errno, ENOTDIR);
}

TEST_F(FilesTest, APipeWithoutAWriterHoldsUpNobody) {
  ASSERT_EQ(mkfifo((root_ + "/pipe").c_str(), 0600), 0);
  EXPECT_EQ(RealFiles(root_).read("/pipe").value(), "");
}

TEST_F(FilesTest, WhatComesThroughAPipeIsRead) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  std::thread writer([&ends] {
    EXPECT_EQ(write(ends[1], "late", 4), 4);
    close(ends[1]);
  });
  EXPECT_EQ(RealFiles().read("/proc/self/fd/" + std::to_string(ends[0])).value(), "late");
  writer.join();
  close(ends[0]);
}

TEST_F(FilesTest, APipeThatNobodyReadsIsNotWaitedFor) {
  RealFiles files(root_);
  ASSERT_EQ(mkfifo((root_ + "/pipe").c_str(), 0600), 0);
  EXPECT_EQ(files.write("/pipe", "last words").error().text,
            "open '/pipe': it is a pipe that nobody reads");
  EXPECT_EQ(files.create("/pipe").error().text, "open '/pipe': it is no regular file");
}

TEST_F(FilesTest, APipeThatIsFullIsNotWaitedFor) {
  RealFiles files(root_);
  ASSERT_EQ(mkfifo((root_ + "/pipe").c_str(), 0600), 0);
  const UniqueFd reader(open((root_ + "/pipe").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  ASSERT_TRUE(files.write("/pipe", "last words"));
  char words[16] = "";
  EXPECT_EQ(read(reader.get(), words, sizeof words), 10);
  EXPECT_STREQ(words, "last words");
  const Status full = files.write("/pipe", std::string(1 << 20, 'x'));
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().text, "write '/pipe': it is full, and nobody reads it");
  EXPECT_EQ(files.create("/pipe").error().text, "open '/pipe': it is no regular file");
}

TEST_F(FilesTest, DevicesAndOwnLinksAreWritten) {
  RealFiles files(root_);
  EXPECT_TRUE(RealFiles().write("/dev/null", "last words"));
  ASSERT_TRUE(files.write("/file", "before"));
  ASSERT_EQ(symlink("file", (root_ + "/link").c_str()), 0);
  ASSERT_TRUE(files.write("/link", "last words"));
  EXPECT_EQ(files.read("/file").value(), "last words");
}

TEST_F(FilesTest, ALinkThatAnybodyMayHaveSetIsNotFollowed) {
  RealFiles files(root_);
  ASSERT_TRUE(files.write("/victim", "precious"));
  ASSERT_TRUE(files.make_directories("/open"));
  ASSERT_EQ(symlink("../victim", (root_ + "/open/link").c_str()), 0);
  ASSERT_EQ(chmod((root_ + "/open").c_str(), 0777), 0);
  const Status anybodys = files.write("/open/link", "last words");
  ASSERT_FALSE(anybodys);
  EXPECT_EQ(anybodys.error().text, "open '/open/link': it is a link that others may set");
  // As /tmp: ours is ours there, a stranger's is not.
  ASSERT_EQ(chmod((root_ + "/open").c_str(), 01777), 0);
  EXPECT_TRUE(files.write("/open/link", "precious"));
  if (geteuid() == 0) {
    ASSERT_EQ(lchown((root_ + "/open/link").c_str(), 12345, 12345), 0);
    // EPERM, or EACCES where fs.protected_symlinks is on.
    EXPECT_FALSE(files.write("/open/link", "last words"));
  }
  EXPECT_EQ(files.read("/victim").value(), "precious");
}

TEST_F(FilesTest, AFileForALogIsNewOrRegular) {
  RealFiles files(root_);
  ASSERT_TRUE(files.write("/log", "before"));
  const auto log = files.create("/log");
  ASSERT_TRUE(log);
  // Whoever gets it as its stdout is not told to try again.
  EXPECT_EQ(fcntl(log->get(), F_GETFL) & (O_NONBLOCK | O_APPEND), O_APPEND);
  EXPECT_EQ(files.read("/log").value(), "");
  ASSERT_EQ(symlink("log", (root_ + "/link").c_str()), 0);
  EXPECT_EQ(files.create("/link").error().text, "open '/link': it is no regular file");
  EXPECT_FALSE(RealFiles().create("/dev/null"));
}

TEST_F(FilesTest, APrivateFolderIsNewAndNobodyElses) {
  RealFiles files(root_);
  const mode_t before = umask(0);
  const auto one = files.make_private_folder("/own_");
  const auto two = files.make_private_folder("/own_");
  (void)umask(before);
  ASSERT_TRUE(one && two);
  EXPECT_NE(*one, *two);
  EXPECT_EQ(one->find("/own_"), 0u);
  struct stat info {};
  ASSERT_EQ(stat((root_ + *one).c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777U, 0700U);
  ASSERT_TRUE(files.write(*one + "/file", ""));
  EXPECT_EQ(files.remove_folder(*one).error().os_errno, ENOTEMPTY);
  EXPECT_TRUE(files.remove_folder(*two));
  EXPECT_TRUE(files.remove_folder(*two));
  EXPECT_EQ(files.make_private_folder("/none/own_").error().text,
            "mkdtemp '/none/own_XXXXXX': No such file or directory");
}

TEST_F(FilesTest, ARemovedLinkLeavesWhatItLedTo) {
  RealFiles files(root_);
  ASSERT_TRUE(files.write("/file", "kept"));
  ASSERT_EQ(symlink((root_ + "/file").c_str(), (root_ + "/link").c_str()), 0);
  ASSERT_TRUE(files.remove_file("/link"));
  ASSERT_TRUE(files.remove_file("/link"));  // not there: no error
  EXPECT_EQ(files.list("/").value(), std::vector<std::string>{"file"});
  EXPECT_EQ(files.remove_file("/file/below").error().text, "unlink '/file/below': Not a directory");
}

TEST_F(FilesTest, RelativePathsBecomeAbsolute) {
  EXPECT_EQ(absolute_path("/a/b").value(), "/a/b");
  EXPECT_EQ(absolute_path("logs").value(), std::filesystem::current_path().string() + "/logs");
}

TEST_F(FilesTest, ProgramsAreFoundAsAShellFindsThem) {
  RealFiles files(root_);
  ASSERT_TRUE(files.make_directories("/one"));
  ASSERT_TRUE(files.make_directories("/two/tool"));
  ASSERT_TRUE(files.write("/one/tool", "#!"));
  EXPECT_EQ(find_program(files, "tool", "/one:/two").error().os_errno, EACCES);
  EXPECT_EQ(find_program(files, "other", "/one:/two").error().os_errno, ENOENT);
  EXPECT_EQ(find_program(files, "other", "/one:/two").error().code, Code::kExec);
  EXPECT_EQ(find_program(files, "/one/none", "").error().text,
            "exec '/one/none': No such file or directory");
  EXPECT_EQ(find_program(files, "tool", "/one:/two").error().text,
            "exec '/one/tool': Permission denied");
  EXPECT_EQ(find_program(files, "other", "/one:/two").error().text,
            "exec 'other': not found on PATH");
  ASSERT_EQ(chmod((root_ + "/one/tool").c_str(), 0755), 0);
  EXPECT_EQ(find_program(files, "tool", "/two:/one").value(), "/one/tool");
}

TEST(FindProgram, TellsOfAFileThatIsInTheCurrentFolderOnly) {
  testing::FakeFiles files;
  files.add_executable("/train.sh");  // "/" is its current folder
  files.add_directory("/package");
  EXPECT_EQ(find_program(files, "train.sh", "/bin").error().text,
            "exec 'train.sh': not found on PATH; it lies in the current folder: write ./train.sh");
  EXPECT_EQ(find_program(files, "package", "/bin").error().text,
            "exec 'package': not found on PATH; the folder of this name is no program");
  EXPECT_EQ(find_program(files, "train.sh", "/bin").error().os_errno, ENOENT);
}

}  // namespace
}  // namespace muster
