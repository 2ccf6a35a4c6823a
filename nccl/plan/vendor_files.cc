#include "nccl/plan/vendor_files.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace muster::nccl {
namespace {

bool is_name(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

// None: a shell would have to be asked.
std::optional<std::string> plain_value(std::string_view text) {
  constexpr std::string_view kShell = "$`\\;&|<>(){}*?~!";
  if (text.find_first_of(kShell) != std::string_view::npos) return std::nullopt;
  for (const char quote : {'"', '\''}) {
    if (text.size() >= 2 && text.front() == quote && text.back() == quote)
      text = text.substr(1, text.size() - 2);
  }
  if (text.find_first_of("\"' \t") != std::string_view::npos) return std::nullopt;
  return std::string(text);
}

VendorScript read_script(const Files& files, std::string_view path) {
  const auto text = files.read(std::string(path), kMaxScriptBytes);
  return text ? parse_exports(std::string(path), *text) : VendorScript();
}

std::vector<std::string> topology_candidates(const Files& files) {
  std::vector<std::string> candidates;
  const auto add_from = [&files, &candidates](const std::string& folder) {
    const auto names = files.list(folder);
    if (!names) return;
    for (const std::string& name : *names) {
      const bool is_topology = name.find("topo") != std::string::npos && name.ends_with(".xml");
      if (is_topology && candidates.size() < kMaxTopologyFiles)
        candidates.push_back(folder + "/" + name);
    }
  };
  add_from("/opt/microsoft");
  const auto folders = files.list("/opt/microsoft");
  if (folders) {
    for (const std::string& folder : *folders) add_from("/opt/microsoft/" + folder);
  }
  add_from("/etc");
  add_from("/etc/nccl");
  return candidates;
}

std::string find_topology(const Files& files, const Machine& machine) {
  std::vector<std::string> addresses;
  for (const Accelerator& accelerator : usable_accelerators(machine))
    addresses.push_back(accelerator.pci_address);
  if (addresses.empty()) return "";
  for (const std::string& path : topology_candidates(files)) {
    const auto text = files.read(path, kMaxTopologyBytes);
    if (text && names_all(*text, addresses)) return path;
  }
  return "";
}

bool has_flattened_gpu(const Machine& machine) {
  return std::ranges::any_of(machine.accelerator_functions, is_flattened);
}

}  // namespace

VendorScript parse_exports(std::string path, std::string_view text) {
  VendorScript script{.path = std::move(path), .exports = {}, .first_odd_line = 0};
  int number = 0;
  for (std::string_view line : split(text, '\n')) {
    ++number;
    line = trim(line);
    if (line.empty() || line.starts_with('#')) continue;
    if (line.starts_with("export ")) line = trim(line.substr(7));
    const size_t equals = line.find('=');
    const std::string_view name = line.substr(0, equals);
    const auto value =
        equals == std::string_view::npos ? std::nullopt : plain_value(line.substr(equals + 1));
    if (is_name(name) && value) {
      std::erase_if(script.exports, [name](const auto& earlier) { return earlier.first == name; });
      script.exports.emplace_back(name, *value);
    } else if (script.first_odd_line == 0) {
      script.first_odd_line = number;
    }
  }
  return script;
}

bool names_all(std::string_view topology, const std::vector<std::string>& addresses) {
  return std::ranges::all_of(addresses, [topology](const std::string& address) {
    return !address.empty() && topology.find("\"" + address + "\"") != std::string_view::npos;
  });
}

VendorFiles read_vendor_files(const Files& files, const Machine& machine) {
  constexpr std::array<std::string_view, 5> kEfaPlugins = {
      "/opt/amazon/ofi-nccl/lib/libnccl-net-ofi.so", "/opt/amazon/ofi-nccl/lib/libnccl-net.so",
      "/opt/amazon/ofi-nccl/lib64/libnccl-net.so",
      "/opt/amazon/ofi-nccl/lib/x86_64-linux-gnu/libnccl-net.so",
      "/opt/aws-ofi-nccl/lib/libnccl-net.so"};
  VendorFiles found;
  found.script = read_script(files, kGibScript);
  found.has_gib = !found.script.path.empty();
  if (!found.has_gib) {
    found.script = read_script(files, kFastrakScript);
    found.has_fastrak = !found.script.path.empty() || files.exists("/dev/aperture_devices");
  }
  found.has_efa_plugin = std::ranges::any_of(
      kEfaPlugins, [&files](std::string_view path) { return files.exists(std::string(path)); });
  found.has_virtual_topology = files.exists("/var/run/nvidia-topologyd/virtualTopology.xml");
  if (has_flattened_gpu(machine)) found.topology_file = find_topology(files, machine);
  return found;
}

}  // namespace muster::nccl
