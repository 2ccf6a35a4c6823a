#include "base/process/shortage.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <span>

#include "base/text.h"

namespace muster {

namespace {

constexpr uint64_t kMiB = 1 << 20;
// What Docker and containerd give by default is too little for anything that shares tensors.
constexpr uint64_t kSmallSharedMemoryBytes = 64 * kMiB;
// No MPI can begin with it.
constexpr uint64_t kTinySharedMemoryBytes = 16 * kMiB;

int signal_of(const Symptoms& symptoms) {
  const int shell_signal = symptoms.status.code - kSignalExitBase;
  return symptoms.status.signal != 0 ? symptoms.status.signal : std::max(shell_signal, 0);
}

bool speaks_of(const Symptoms& symptoms, std::span<const std::string_view> words) {
  return std::ranges::any_of(words, [&symptoms](std::string_view word) {
    return symptoms.last_words.find(word) != std::string_view::npos;
  });
}

std::string memory(const Symptoms& /*symptoms*/, const ContainerFacts& facts) {
  if (facts.oom_kills == 0) return "";
  return "the kernel's OOM killer ended " + counted(facts.oom_kills, "process", "processes") +
         " in this container";
}

// tmpfs gives what a dead process held back, so what is seen may be less than what there was.
std::string shared_memory(const Symptoms& symptoms, const ContainerFacts& facts) {
  constexpr std::array<std::string_view, 5> kWords = {"/dev/shm", "shared memory", "shm_open",
                                                      "Bus error", "shmem"};
  const bool shows = speaks_of(symptoms, kWords) || signal_of(symptoms) == SIGBUS;
  if (!facts.shared_memory || (!shows && !symptoms.aborted)) return "";
  const auto [size, left] = *facts.shared_memory;
  const bool full = left < size / 20;
  const bool small = size <= (shows ? kSmallSharedMemoryBytes : kTinySharedMemoryBytes);
  if (!full && !small) return "";
  return fmt::format(
      "/dev/shm {} {} MiB: give the container more (--shm-size, an emptyDir of medium Memory)",
      full ? "is full with" : "has only", (size + kMiB / 2) / kMiB);
}

std::string processes(const Symptoms& symptoms, const ContainerFacts& facts) {
  constexpr std::array<std::string_view, 5> kWords = {
      "fork: retry", "Cannot fork", "fork: Resource temporarily unavailable",  // of shells
      "can't start new thread", "pthread_create"};
  if (symptoms.start_errno != EAGAIN && !speaks_of(symptoms, kWords)) return "";
  std::vector<std::string> limits;
  for (const auto& [limit, of] : facts.process_limits)
    limits.push_back(fmt::format("{} for {}", limit, of));
  return limits.empty() ? "" : "the limit of processes and threads is " + join(limits, ", ");
}

std::string descriptors(const Symptoms& symptoms, const ContainerFacts& facts) {
  constexpr std::array<std::string_view, 1> kWords = {"Too many open files"};
  if (!speaks_of(symptoms, kWords) || facts.descriptor_limit == 0) return "";
  return fmt::format("the limit of open files is {} for each process (ulimit -n)",
                     facts.descriptor_limit);
}

std::string disk(const Symptoms& symptoms, const ContainerFacts& facts) {
  constexpr std::array<std::string_view, 2> kWords = {"No space left on device",
                                                      "Disk quota exceeded"};
  if (!speaks_of(symptoms, kWords) || facts.full_folders.empty()) return "";
  return "no space is left in " + join(facts.full_folders, ", ");
}

// The first that says something counts.
using Say = std::string (*)(const Symptoms&, const ContainerFacts&);
constexpr std::array<Say, 5> kResources = {memory, shared_memory, processes, descriptors, disk};

}  // namespace

std::optional<Shortage> find_shortage(const Symptoms& symptoms, const ContainerFacts& facts) {
  for (const Say say : kResources) {
    std::string text = say(symptoms, facts);
    if (!text.empty()) return Shortage{say == memory, std::move(text)};
  }
  return std::nullopt;
}

}  // namespace muster
