#include "launcher/command_line/container_flags.h"

#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "launcher/contracts/apply_contract.h"
#include "launcher/manifest/place_words.h"
#include "launcher/options/inner_launcher.h"

namespace muster::launcher {

namespace {

// Where the nodes of the cluster are, who listens there, and folders and ports of a pod of its own.
constexpr std::string_view kOfCluster[] = {
    "rdzv-endpoint", "rdzv-backend", "rdzv-id",      "hosts",        "master-addr",
    "master-port",   "local-addr",   "node-name",    "node-rank",    "standalone",
    "contract",      "file",         "status-port",  "run-dir",      "termination-log",
    "report",        "token-file",   "ca-file",      "cert-file",    "key-file",
    "flush-timeout", "mpi-role",     "mpi-ssh-keys", "mpi-ssh-port", "mpi-transport"};

bool is_flags_variable(std::string_view name) {
  return name.starts_with("MUSTER_") || name.starts_with("PET_");
}

// "/logs/run" where there is no /logs.
bool is_elsewhere(const std::string& path, const Files& files) {
  return path.starts_with('/') && !files.is_directory(path) && !files.is_directory(folder_of(path));
}

bool is_of_cluster(Flag flag, const std::string& text, const Files& files) {
  if (text.find("$(") != std::string::npos) return true;  // of a variable that nobody sets here
  if (flag == flag::kLogDir) return is_elsewhere(text, files);
  return std::ranges::find(kOfCluster, flag.name) != std::end(kOfCluster);
}

// It says nothing that anybody would miss.
bool is_idle(Flag flag, const std::string& text) {
  return names_address(text) || (flag == flag::kRdzvBackend && text == "c10d") ||
         (flag == flag::kStandalone && text == "false");
}

bool counts_devices(Flag flag, const std::string& text) {
  return flag == flag::kNprocPerNode && (text == "auto" || text == "gpu");
}

}  // namespace

std::vector<std::string> add_container_flags(RawFlags& raw, const PlacedCommand& placed,
                                             const Workload& workload, const Files& files) {
  std::vector<std::string> left_out;
  for (const auto& [flag, value] : placed.command.given) {
    const bool is_variable = value.kind == SourceKind::kEnvironment;
    if (value.kind == SourceKind::kContract || chooses_program(flag)) continue;
    if (is_variable && !is_flags_variable(value.source)) continue;
    if (counts_devices(flag, value.text) && find_value(workload, flag) != nullptr) continue;
    if (is_of_cluster(flag, value.text, files)) {
      const std::string name = is_variable ? value.source : long_name(row_of(flag));
      if (!is_idle(flag, value.text)) left_out.push_back(name + " " + value.text);
      continue;
    }
    const std::string source = placed.place + (is_variable ? ".env: " : ": ") + value.source;
    add_value(raw, {flag, value.text, source});
  }
  return left_out;
}

bool is_read_as_flag(const RawFlags& command, std::string_view name) {
  return is_flags_variable(name) && std::ranges::any_of(command.given, [name](const auto& entry) {
           return entry.second.kind == SourceKind::kEnvironment && entry.second.source == name;
         });
}

}  // namespace muster::launcher
