#include "launcher/doctor/library_probe.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "base/exit_code.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/process.h"
#include "base/process/own_binary.h"
#include "base/text.h"
#include "nccl/checks/check.h"

namespace muster::launcher {
namespace {

constexpr const char* kProgram = "muster-probe";

std::string content_of(int fd) {
  std::string text(kMaxJsonBytes, '\0');
  size_t filled = 0;
  while (filled < text.size()) {
    const ssize_t count =
        pread(fd, text.data() + filled, text.size() - filled, static_cast<off_t>(filled));
    if (count <= 0) break;  // of memory, which does not fail
    filled += static_cast<size_t>(count);
  }
  text.resize(filled);
  return text;
}

// What one verb prints; "" = nothing. None: it did not end in time.
std::optional<std::string> ask(const std::string& probe, const char* verb,
                               const Environment& environment, const ProcessSetup& setup) {
  // A pipe that fills up would hold the child until its deadline.
  const UniqueFd output(memfd_create(kProgram, MFD_CLOEXEC));
  const UniqueFd nowhere(open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!output.is_open() || !nowhere.is_open()) return "";
  SpawnRequest request;
  request.program = probe;
  request.arguments = {kProgram, verb, "--timeout", "1h"};  // ours is shorter
  request.environment = environment.to_exec_strings();
  request.signal_mask = setup.original_mask;
  request.stdin_fd = nowhere.get();
  request.stdout_fd = output.get();
  request.stderr_fd = nowhere.get();
  const auto status = run_to_end(request, kLibraryDeadline);
  if (!status) return status.error().code == Code::kTimeout ? std::nullopt : std::optional("");
  return status->success() ? content_of(output.get()) : "";
}

}  // namespace

std::string find_library_probe(const Files& files, const Environment& environment) {
  if (const auto binary = own_binary(files)) {
    std::string beside = folder_of(*binary) + "/" + kProgram;
    if (files.check_executable(beside)) return beside;
  }
  return find_program(files, kProgram, search_path(environment)).value_or("");
}

nccl::LibraryFacts ask_libraries(const std::string& probe, const nccl::NodeFacts& node,
                                 const Environment& environment, const ProcessSetup& setup) {
  nccl::LibraryFacts facts;
  if (probe.empty()) return facts;
  const auto add = [&](const char* verb) {
    const auto text = ask(probe, verb, environment, setup);
    if (text) nccl::add_report(*text, facts);
    return text.has_value();
  };
  // The others would wait for the same driver.
  if (!add("gpus")) {
    facts.nvml = {.problem = "it does not answer within " + format_duration(kLibraryDeadline)};
    return facts;
  }
  (void)add("nccl");
  const auto ready = nccl::ready_rdma_devices(node.fabric.machine);
  const bool needs_libfabric =
      std::ranges::any_of(ready, [](const auto* device) { return device->is_efa(); });
  if (needs_libfabric) (void)add("fabric");
  return facts;
}

}  // namespace muster::launcher
