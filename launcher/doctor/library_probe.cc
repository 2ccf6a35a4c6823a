#include "launcher/doctor/library_probe.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/exit_code.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/process.h"
#include "base/process/own_binary.h"
#include "base/text.h"
#include "nccl/checks/check.h"

namespace muster::launcher {
namespace {

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
std::optional<std::string> ask(const ProbeProgram& program, const char* verb) {
  // Its own time is longer than ours.
  auto answer = run_library_probe(program, {verb, "--timeout", "1h"}, kLibraryDeadline);
  if (!answer) return answer.error().code == Code::kTimeout ? std::nullopt : std::optional("");
  return answer->is_well ? std::move(answer->printed) : "";
}

}  // namespace

std::string find_library_probe(const Files& files, const Environment& environment) {
  if (const auto binary = own_binary(files)) {
    std::string beside = folder_of(*binary) + "/" + kLibraryProbe;
    if (files.check_executable(beside)) return beside;
  }
  return find_program(files, kLibraryProbe, search_path(environment)).value_or("");
}

SpawnRequest probe_request(const ProbeProgram& program, std::vector<std::string> words) {
  SpawnRequest request;
  request.program = program.path;
  request.arguments = std::move(words);
  request.arguments.insert(request.arguments.begin(), kLibraryProbe);
  request.environment = program.environment.to_exec_strings();
  request.signal_mask = program.setup.original_mask;
  return request;
}

Result<ProbeAnswer> run_library_probe(const ProbeProgram& program, std::vector<std::string> words,
                                      Duration limit) {
  // A pipe that fills up would hold the child until its deadline.
  const UniqueFd output(memfd_create(kLibraryProbe, MFD_CLOEXEC));
  const UniqueFd talk(memfd_create(kLibraryProbe, MFD_CLOEXEC));
  if (!output.is_open() || !talk.is_open()) return os_error("memfd_create");
  auto nothing = open_null_device(O_RDONLY);
  if (!nothing) return std::move(nothing).error();
  SpawnRequest request = probe_request(program, std::move(words));
  request.stdin_fd = nothing->get();
  request.stdout_fd = output.get();
  request.stderr_fd = talk.get();
  const auto status = run_to_end(request, limit);
  if (!status) return Error(status.error());
  return ProbeAnswer{status->success(), content_of(output.get()), content_of(talk.get())};
}

std::vector<std::string> ask_providers(const ProbeProgram& program) {
  nccl::LibraryFacts facts;
  if (const auto text = ask(program, "fabric")) nccl::add_report(*text, facts);
  return facts.libfabric ? std::move(facts.libfabric->providers) : std::vector<std::string>{};
}

nccl::LibraryFacts ask_libraries(const std::string& probe, const nccl::NodeFacts& node,
                                 const Environment& environment, const ProcessSetup& setup) {
  nccl::LibraryFacts facts;
  if (probe.empty()) return facts;
  const ProbeProgram program{probe, environment, setup};
  const auto add = [&](const char* verb) {
    const auto text = ask(program, verb);
    if (text) nccl::add_report(*text, facts);
    return text.has_value();
  };
  // It may be slow and nothing else: without a daemon that keeps them the driver wakes its GPUs one
  // after the other. The other questions would wait for the same driver.
  if (!add("gpus")) return facts;
  (void)add("nccl");
  const auto ready = nccl::ready_rdma_devices(node.fabric.machine);
  const bool needs_libfabric =
      std::ranges::any_of(ready, [](const auto* device) { return device->is_efa(); });
  if (needs_libfabric) (void)add("fabric");
  return facts;
}

}  // namespace muster::launcher
