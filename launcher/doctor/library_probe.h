// What the libraries of the image say of this node, by muster-probe (nccl/probe), an optional
// program: `muster` loads none of them.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/environment.h"
#include "base/files.h"
#include "base/process.h"
#include "base/process/init.h"
#include "nccl/checks/node_facts.h"

namespace muster::launcher {

/// Of each library. NVML takes a second or two if no process keeps the driver loaded.
inline constexpr Duration kLibraryDeadline = std::chrono::seconds(5);

/// muster-probe beside this binary, else on PATH; "" = there is none.
inline constexpr const char* kLibraryProbe = "muster-probe";
[[nodiscard]] std::string find_library_probe(const Files& files, const Environment& environment);

/// Asks NVML and NCCL, and libfabric if a device of `node` needs a provider of it. Each in a child,
/// for at most kLibraryDeadline: blocks for that long. `probe`: its path; "" = nothing is asked.
/// That a library is absent, or that its answer is none, is no error.
[[nodiscard]] nccl::LibraryFacts ask_libraries(const std::string& probe,
                                               const nccl::NodeFacts& node,
                                               const Environment& environment,
                                               const ProcessSetup& setup);

/// How muster-probe is started; borrowed.
struct ProbeProgram {
  std::string path;  ///< as find_library_probe() tells, and not ""
  const Environment& environment;
  const ProcessSetup& setup;
};
/// Without descriptors for its three streams, which the caller adds.
[[nodiscard]] SpawnRequest probe_request(const ProbeProgram& program,
                                         std::vector<std::string> words);

/// What it has said when it has ended.
struct ProbeAnswer {
  bool is_well = false;   ///< its exit code is 0
  std::string printed;    ///< its JSON
  std::string complaint;  ///< what else it said, for people
};
/// Runs it to its end, for at most so long. kTimeout, kOs.
Result<ProbeAnswer> run_library_probe(const ProbeProgram& program, std::vector<std::string> words,
                                      Duration limit);

/// The providers that libfabric has on this machine, each once; empty also if there is no
/// libfabric, or it does not answer within kLibraryDeadline, for which this blocks.
[[nodiscard]] std::vector<std::string> ask_providers(const ProbeProgram& program);

}  // namespace muster::launcher
