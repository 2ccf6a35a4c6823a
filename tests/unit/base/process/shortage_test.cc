#include "base/process/shortage.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <csignal>

namespace muster {
namespace {

constexpr uint64_t kMiB = 1 << 20;

std::string text_of(const Symptoms& symptoms, const ContainerFacts& facts) {
  const auto shortage = find_shortage(symptoms, facts);
  return shortage ? shortage->text : "";
}

ContainerFacts shared_memory(uint64_t size, uint64_t left) {
  ContainerFacts facts;
  facts.shared_memory = FileSystemSpace{size, left};
  return facts;
}

TEST(Shortage, KillsOfTheOomKillerExplainEveryEnd) {
  ContainerFacts facts;
  facts.oom_kills = 2;
  const auto shortage = find_shortage({.status = {.code = 1}}, facts);
  ASSERT_TRUE(shortage);
  EXPECT_TRUE(shortage->of_memory);
  EXPECT_EQ(shortage->text, "the kernel's OOM killer ended 2 processes in this container");
}

TEST(Shortage, SharedMemoryThatIsFullOrSmallExplainsABusError) {
  const Symptoms bus{.status = {.signal = SIGBUS}};
  EXPECT_EQ(text_of(bus, shared_memory(8192 * kMiB, kMiB)).find("/dev/shm is full with 8192 MiB"),
            0u);
  EXPECT_EQ(text_of(bus, shared_memory(1024 * kMiB, kMiB)).find("/dev/shm is full with 1024 MiB"),
            0u);
  EXPECT_EQ(text_of(bus, shared_memory(64 * kMiB, 64 * kMiB)).find("/dev/shm has only 64 MiB"), 0u);
  EXPECT_EQ(text_of({.status = {.code = 128 + SIGBUS}}, shared_memory(64 * kMiB, kMiB))
                .find("/dev/shm is full"),
            0u);
  EXPECT_EQ(text_of(bus, shared_memory(1024 * kMiB, 512 * kMiB)), "");
  EXPECT_EQ(text_of(bus, {}), "");
}

TEST(Shortage, SharedMemoryIsNamedOnlyWhereTheEndSpeaksOfIt) {
  const ContainerFacts docker = shared_memory(64 * kMiB, 60 * kMiB);
  EXPECT_EQ(text_of({.status = {.code = 1}}, docker), "");
  EXPECT_EQ(text_of({.status = {.code = 1}, .last_words = "ValueError: x"}, docker), "");
  EXPECT_NE(
      text_of({.status = {.code = 1}, .last_words = "unable to open shared memory object"}, docker),
      "");
  // Any user's error aborts: of the default nothing is said then.
  EXPECT_EQ(text_of({.status = {.code = 1}, .aborted = true}, docker), "");
  EXPECT_NE(text_of({.status = {.code = 1}, .aborted = true}, shared_memory(kMiB, kMiB)), "");
}

TEST(Shortage, LimitsOfProcessesAreNamedTheSmallestFirst) {
  ContainerFacts facts;
  facts.process_limits = {{6, "this user (ulimit -u)"}, {100, "this container (pids.max)"}};
  const std::string text =
      "the limit of processes and threads is 6 for this user (ulimit -u), 100 for this container "
      "(pids.max)";
  EXPECT_EQ(text_of({.start_errno = EAGAIN}, facts), text);
  EXPECT_EQ(
      text_of({.status = {.code = 1}, .last_words = "RuntimeError: can't start new thread"}, facts),
      text);
  EXPECT_EQ(text_of({.start_errno = ENOMEM}, facts), "");
  EXPECT_EQ(text_of({.start_errno = EAGAIN}, {}), "");
}

TEST(Shortage, LimitsOfFilesAndDisks) {
  ContainerFacts facts;
  facts.descriptor_limit = 64;
  facts.full_folders = {"/tmp", "/logs"};
  EXPECT_EQ(
      text_of({.status = {.code = 1}, .last_words = "OSError: [Errno 24] Too many open files: 'x'"},
              facts),
      "the limit of open files is 64 for each process (ulimit -n)");
  EXPECT_EQ(
      text_of({.status = {.code = 1}, .last_words = "OSError: [Errno 28] No space left on device"},
              facts),
      "no space is left in /tmp, /logs");
  EXPECT_EQ(text_of({.status = {.code = 1}}, facts), "");
}

}  // namespace
}  // namespace muster
