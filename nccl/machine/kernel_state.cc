#include "nccl/machine/kernel_state.h"

#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "nccl/machine/sysfs.h"

namespace muster::nccl {
namespace {

constexpr std::string_view kListen = "0A";  // TCP_LISTEN of net/tcp_states.h

std::optional<uint64_t> read_count(const Files& files, const std::string& path) {
  const auto value = read_integer(files, path);
  if (!value || *value < 0) return std::nullopt;
  return static_cast<uint64_t>(*value);
}

std::string iommu_words(std::string_view command_line) {
  std::vector<std::string> words;
  for (const std::string_view word : words_of(command_line)) {
    if (word.starts_with("iommu") || word.starts_with("intel_iommu") ||
        word.starts_with("amd_iommu"))
      words.emplace_back(word);
  }
  return join(words, " ");
}

std::optional<PortRange> read_ports(const Files& files) {
  const auto text = read_attribute(files, "/proc/sys/net/ipv4/ip_local_port_range");
  if (!text) return std::nullopt;
  const auto words = words_of(*text);
  if (words.size() != 2) return std::nullopt;
  const auto first = number_after(words[0], "");
  const auto last = number_after(words[1], "");
  if (!first || !last || *last > 65535 || *first > *last) return std::nullopt;
  return PortRange{*first, *last};
}

bool is_number(std::string_view word) {
  return !word.empty() && word.find_first_not_of("0123456789.") == std::string_view::npos;
}

void read_pages(const Files& files, KernelState& state) {
  const std::string folder = "/sys/kernel/mm/hugepages/hugepages-2048kB/";
  state.huge_pages = read_count(files, folder + "nr_hugepages");
  state.free_huge_pages = read_count(files, folder + "free_hugepages");
}

void read_mesh(const Files& files, KernelState& state) {
  state.has_mesh_files = files.exists("/etc/istio");
  std::string table;
  for (const char* path : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    if (const auto text = files.read(path, kMaxSocketTableBytes)) table += *text;
  }
  state.mesh_ports = listening_ports(table, mesh_ports());
}

}  // namespace

NvidiaDriver parse_nvidia_version(std::string_view text) {
  NvidiaDriver driver;
  const std::string_view line = text.substr(0, text.find('\n'));
  if (!line.starts_with("NVRM version:")) return driver;
  driver.is_open = line.find("Open Kernel Module") != std::string_view::npos;
  for (const std::string_view word : words_of(line)) {
    if (is_number(word) && word.find('.') != std::string_view::npos) {
      driver.version = word;
      break;
    }
  }
  return driver;
}

const std::vector<int>& mesh_ports() {
  static const std::vector<int> ports = {4140, 4143, 4191, 15001, 15006, 15021};
  return ports;
}

bool is_at_least(std::string_view release, int major, int minor) {
  const auto parts = split(release, '.');
  if (parts.size() < 2) return false;
  const auto first = number_after(parts[0], "");
  const auto second =
      number_after(parts[1].substr(0, parts[1].find_first_not_of("0123456789")), "");
  if (!first || !second) return false;
  return *first > major || (*first == major && *second >= minor);
}

std::vector<int> listening_ports(std::string_view socket_table, const std::vector<int>& wanted) {
  std::vector<int> ports;
  for (const std::string_view line : split(socket_table, '\n')) {
    // "   0: 00000000:3A99 00000000:0000 0A ..."
    const auto words = words_of(line);
    if (words.size() < 4 || words[3] != kListen) continue;
    const size_t colon = words[1].rfind(':');
    if (colon == std::string_view::npos) continue;
    const std::string_view digits = words[1].substr(colon + 1);
    int port = 0;
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), port, 16);
    if (error != std::errc{} || end != digits.data() + digits.size()) continue;
    const bool counts = std::ranges::find(wanted, port) != wanted.end();
    if (counts && std::ranges::find(ports, port) == ports.end()) ports.push_back(port);
  }
  std::ranges::sort(ports);
  return ports;
}

KernelState read_kernel_state(const Files& files) {
  KernelState state;
  state.release = read_attribute(files, "/proc/sys/kernel/osrelease").value_or("");
  state.command_line_words = iommu_words(read_attribute(files, "/proc/cmdline").value_or(""));
  const auto groups = files.list("/sys/kernel/iommu_groups");
  state.has_iommu_groups = groups && !groups->empty();
  state.nvidia =
      parse_nvidia_version(read_attribute(files, "/proc/driver/nvidia/version").value_or(""));
  state.knows_modules = files.is_directory("/sys/module");
  state.has_peer_memory =
      files.exists("/sys/module/nvidia_peermem") || files.exists("/sys/module/nv_peer_mem");
  state.has_amd_peer_memory = files.exists("/sys/kernel/mm/memory_peers/amdkfd/version");
  read_pages(files, state);
  const auto balancing = read_integer(files, "/proc/sys/kernel/numa_balancing");
  if (balancing) state.numa_balancing = *balancing != 0;
  state.ephemeral_ports = read_ports(files);
  const std::string tracking = "/proc/sys/net/netfilter/nf_conntrack_";
  state.tracked_connections = read_count(files, tracking + "count");
  state.max_tracked_connections = read_count(files, tracking + "max");
  read_mesh(files, state);
  return state;
}

}  // namespace muster::nccl
