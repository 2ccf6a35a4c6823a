// LibraryFacts: what the libraries of the image say of this node, as muster-probe prints it
// (nccl/probe). Read from its JSON; nothing is loaded here. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster::nccl {

/// {2, 28, 9}
using LibraryVersion = std::array<int, 3>;
/// "2.28.9", "1.17", "550.54.15". None: it does not begin with two numbers.
[[nodiscard]] std::optional<LibraryVersion> parse_version(std::string_view text);

/// One GPU, as NVML has it. What it did not tell is none, empty or false.
struct GpuReport {
  int index = 0;
  std::string pci = {};      ///< "0000:1b:00.0"
  std::string problem = {};  ///< NVML cannot use it
  std::optional<bool> in_mig_mode = {};
  uint64_t uncorrected_errors = 0;  ///< of its memory, since the driver was loaded
  bool remap_pending = false;       ///< rows of memory are replaced when it is reset
  bool remap_failed = false;
  std::vector<std::string> slowdowns = {};  ///< "hw_thermal"
  std::string fabric_state = {};            ///< of NVLink through switches: "completed"
  int fabric_status = 0;                    ///< of a completed one; 0 = well
  bool has_degraded_bandwidth = false;      ///< of NVLink
  int processes = 0;                        ///< that compute on it
};
/// "GPU 1 (0000:c1:00.0)".
[[nodiscard]] std::string name_of(const GpuReport& gpu);

struct NvmlReport {
  std::string problem = {};  ///< it does not start
  std::string driver = {};   ///< "550.54.15"
  std::vector<GpuReport> gpus = {};
};

struct NcclReport {
  std::string path;
  std::string version;  ///< "2.28.9"; "" = it does not tell
};

struct LibfabricReport {
  std::string path;
  std::string version;                      ///< "1.17"
  std::vector<std::string> providers = {};  ///< "efa", "tcp;ofi_rxm"
};

/// None: the library is not there, was not asked, or its answer is not understood.
struct LibraryFacts {
  std::optional<NvmlReport> nvml;
  std::optional<NcclReport> nccl;
  std::optional<LibfabricReport> libfabric;
};

/// Adds what `text`, the output of one verb of muster-probe, says. Nothing is an error.
void add_report(std::string_view text, LibraryFacts& facts);

}  // namespace muster::nccl
