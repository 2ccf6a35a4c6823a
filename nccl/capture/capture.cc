#include "nccl/capture/capture.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <deque>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "nccl/capture/noting_files.h"
#include "nccl/capture/redaction.h"
#include "nccl/checks/node_facts.h"
#include "nccl/machine/topology.h"
#include "nccl/plan/site_profile.h"

namespace muster::nccl {
namespace {

constexpr int kMaxLinks = 40;  // as Linux: a longer chain is ELOOP

// What is below these, and these themselves.
constexpr std::string_view kFolders[] = {"/sys/class/infiniband",
                                         "/sys/class/infiniband_verbs",
                                         "/sys/class/net",
                                         "/sys/class/kfd",
                                         "/sys/class/cxi",
                                         "/sys/bus/pci/devices",
                                         "/sys/bus/pci/drivers",
                                         "/sys/devices",
                                         "/sys/module/nvidia_peermem",
                                         "/sys/module/nv_peer_mem",
                                         "/sys/kernel/iommu_groups",
                                         "/sys/kernel/mm",
                                         "/sys/fs/cgroup",
                                         "/proc/driver/nvidia",
                                         "/dev/infiniband",
                                         "/dev/dri",
                                         "/dev/nvidia-caps",
                                         "/dev/nvidia-caps-imex-channels",
                                         "/etc/libibverbs.d",
                                         "/etc/nccl",
                                         "/opt/amazon",
                                         "/opt/aws-ofi-nccl",
                                         "/opt/microsoft",
                                         "/usr/local/gib",
                                         "/usr/local/nvidia",
                                         "/var/run/nvidia-topologyd"};
constexpr std::string_view kFiles[] = {"/sys/module",
                                       "/sys/class/dmi/id/sys_vendor",
                                       "/sys/class/dmi/id/product_name",
                                       "/sys/class/dmi/id/chassis_asset_tag",
                                       "/proc/self/limits",
                                       "/proc/self/status",
                                       "/proc/self/uid_map",
                                       "/proc/self/cgroup",
                                       "/proc/self/mountinfo",
                                       "/proc/net/route",
                                       "/proc/net/fib_trie",
                                       "/proc/net/if_inet6",
                                       "/proc/net/tcp",
                                       "/proc/net/tcp6",
                                       "/proc/cmdline",
                                       "/proc/sys/kernel/hostname",
                                       "/proc/sys/kernel/osrelease",
                                       "/proc/sys/kernel/numa_balancing",
                                       "/proc/sys/net/ipv4/ip_local_port_range",
                                       "/proc/sys/net/netfilter/nf_conntrack_count",
                                       "/proc/sys/net/netfilter/nf_conntrack_max",
                                       "/dev/kfd",
                                       "/dev/aperture_devices",
                                       "/etc/hosts",
                                       "/etc/hostname",
                                       "/etc/istio"};
// "/dev/nvidia0", "/dev/nvidiactl", "/dev/cxi0": names with something behind.
constexpr std::string_view kNodes[] = {"/dev/nvidia", "/dev/cxi"};

constexpr std::string_view kVariables[] = {
    "NCCL_",     "RCCL_",     "TORCH_NCCL_", "OFI_NCCL_", "UCX_",  "UCC_",       "FI_",
    "OMPI_MCA_", "PRTE_MCA_", "I_MPI_",      "MPICH_",    "GLOO_", "TP_SOCKET_", "HOROVOD_GLOO_",
    "HSA_",      "IONIC_",    "MLX5_",       "RDMAV_",    "IBV_",  "ISTIO_",     "LINKERD"};
constexpr std::string_view kVariableNames[] = {"CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER",
                                               "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES",
                                               "ZE_AFFINITY_MASK",     "ZE_FLAT_DEVICE_HIERARCHY",
                                               "OMP_NUM_THREADS",      "KUBERNETES_SERVICE_HOST"};

bool is_below(std::string_view path, std::string_view folder) {
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

// None: it would lead out of the root.
std::optional<std::deque<std::string>> parts_of(std::string_view path) {
  std::deque<std::string> parts;
  for (const std::string_view part : split(path, '/')) {
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      parts.emplace_back(part);
    } else if (parts.empty()) {
      return std::nullopt;
    } else {
      parts.pop_back();
    }
  }
  return parts;
}

std::string path_of(const std::deque<std::string>& parts) {
  std::string path;
  for (const std::string& part : parts) path += "/" + part;
  return path;
}

class Collector {
 public:
  Collector(const Files& files, const Environment& environment)
      : files_(files), environment_(environment) {}

  Capture collect(const std::vector<InterfaceAddress>& addresses) {
    const NotingFiles noting(files_);
    read_everything(noting);
    for (const std::string& path : noting.read_paths()) add_content(path);
    for (const std::string& path : noting.listed_paths()) add_names(path);
    for (const std::string& path : noting.asked_paths()) add_presence(path);
    add_limits(addresses.empty());
    add_environment();
    add_addresses(addresses);
    return std::move(capture_);
  }

 private:
  // Recorded: nobody but the files is asked.
  void read_everything(const Files& files) const {
    // A profile that is wrong keeps nobody from the rest; it was read all the same.
    (void)read_node_facts({files, MachineSource::kRecorded, MachineDetail::kAll}, environment_);
    (void)read_machine({files, MachineSource::kRecorded, MachineDetail::kAll});
    (void)read_topology(files);
    for (const char* path : {"/etc/hostname", "/proc/sys/kernel/hostname"}) (void)files.read(path);
  }

  void put(const std::string& real_path, CapturedEntry::Kind kind, const std::string& real_text) {
    const std::string path = redactor_.keep_interfaces(real_path);
    std::string text = redactor_.keep_interfaces(real_text);
    if (bytes_ + text.size() > kMaxCapturedBytes ||
        capture_.entries.size() >= kMaxCapturedEntries) {
      capture_.is_cut = true;
      return;
    }
    const auto [entry, is_new] =
        capture_.entries.try_emplace(path, CapturedEntry{kind, std::move(text)});
    if (is_new) bytes_ += entry->second.text.size();
  }

  // Where `path` really is. Links of sysfs on the way are captured, those elsewhere are not: their
  // targets count. None: it leads out, or has too many links. `last`: also the last part, if it is
  // a link.
  std::optional<std::string> place(const std::string& path, bool last) {
    auto rest = parts_of(path);
    if (!rest) return std::nullopt;
    if (!path.starts_with("/sys/")) return path_of(*rest);
    std::deque<std::string> parts;
    int links = 0;
    while (!rest->empty()) {
      parts.push_back(std::move(rest->front()));
      rest->pop_front();
      const std::string here = path_of(parts);
      const std::optional<std::string>& target = link_at(here);
      if (!target) continue;
      if (++links > kMaxLinks || target->starts_with('/')) return std::nullopt;
      parts.pop_back();
      auto resolved = parts_of(path_of(parts) + "/" + *target);
      if (!resolved || resolved->empty() || resolved->front() != "sys") return std::nullopt;
      put(here, CapturedEntry::Kind::kLink, *target);
      if (rest->empty() && !last) return here;
      resolved->insert(resolved->end(), rest->begin(), rest->end());
      rest = std::move(resolved);
      parts.clear();
    }
    return path_of(parts);
  }

  const std::optional<std::string>& link_at(const std::string& path) {
    const auto [entry, is_new] = links_.try_emplace(path);
    if (is_new) {
      auto target = files_.link_target(path);
      if (target) entry->second = std::move(*target);
    }
    return entry->second;
  }

  // NCCL's files and the site's profile: only lines of those libraries.
  [[nodiscard]] bool is_settings(const std::string& path) const {
    const auto named = environment_.get("NCCL_CONF_FILE");
    return path.ends_with("/.nccl.conf") || path.ends_with("/.rccl.conf") ||
           path == "/etc/nccl.conf" || path == "/etc/rccl.conf" || path == kProfilePath ||
           (named && path == *named);
  }

  void add_content(const std::string& path) {
    const bool settings = is_settings(path);
    if (!settings && !is_captured_path(path)) return;
    const auto text = files_.read(path, kMaxCapturedFileBytes);
    const auto where = text ? place(path, true) : std::nullopt;
    if (!where) return;
    if (settings) {
      has_home_settings_ = has_home_settings_ || path.find("/.") != std::string::npos;
      put(*where, CapturedEntry::Kind::kFile, keep_settings(*text));
      return;
    }
    std::string kept = redactor_.keep(path, *text, is_infiniband(path));
    if (path == "/proc/self/mountinfo") kept = with_shared_memory(std::move(kept));
    put(*where, CapturedEntry::Kind::kFile, kept);
  }

  // ".../ports/1/gids/0".
  [[nodiscard]] bool is_infiniband(const std::string& path) const {
    const size_t gids = path.find("/gids/");
    if (gids == std::string::npos) return false;
    const auto layer = files_.read(path.substr(0, gids) + "/link_layer", 64);
    return layer && trim(*layer) == "InfiniBand";
  }

  // A mount without a size has half of the memory; only the living machine knows how much that is.
  [[nodiscard]] std::string with_shared_memory(std::string mounts) const {
    const auto space = files_.space("/dev/shm");
    if (!space || parse_mount_size(mounts, "/dev/shm")) return mounts;
    return mounts +
           fmt::format("1 1 0:1 / /dev/shm rw - tmpfs shm rw,size={}k\n", space->size_bytes / 1024);
  }

  void add_names(const std::string& folder) {
    const auto names = files_.list(folder);
    if (!names) return;
    if (is_captured_path(folder)) add_presence(folder);
    for (const std::string& name : *names) {
      if (is_captured_path(folder + "/" + name)) add_presence(folder + "/" + name);
    }
  }

  // A link of sysfs, a folder, or an empty file in the place of whatever it is.
  void add_presence(const std::string& path) {
    if (!is_captured_path(path)) return;
    const auto link = place(path, false);
    if (!link) return;
    const auto entry = capture_.entries.find(redactor_.keep_interfaces(*link));
    if (entry != capture_.entries.end()) return;
    if (files_.is_directory(path)) {
      put(*link, CapturedEntry::Kind::kFolder, "");
    } else if (path.starts_with("/dev/") || path.starts_with("/opt/") ||
               path.starts_with("/usr/") || path.starts_with("/etc/")) {
      if (files_.exists(path)) put(*link, CapturedEntry::Kind::kFile, "");
    } else if (is_asked_for_presence(path) && files_.exists(path)) {
      put(*link, CapturedEntry::Kind::kFile, "");
    }
  }

  // An unreadable attribute of sysfs must stay away, for an empty file is something else.
  [[nodiscard]] bool is_asked_for_presence(const std::string& path) const {
    return base_name(path) == "tun_flags" || path.ends_with("memory_peers/amdkfd/version");
  }

  void add_limits(bool is_recorded) {
    auto text = files_.read("/proc/self/limits", kMaxCapturedFileBytes);
    if (is_recorded) {
      if (auto recorded = files_.read("/ulimits", kMaxCapturedFileBytes)) text = *recorded;
    }
    if (text) put("/ulimits", CapturedEntry::Kind::kFile, *text);
  }

  void add_environment() {
    std::string text;
    for (const auto& [name, value] : environment_.variables()) {
      const bool is_home = name == "HOME" && has_home_settings_;
      const bool is_file = name == "NCCL_CONF_FILE" && value.starts_with('/');
      if (!(is_home || is_file || is_captured_variable(name))) continue;
      if (value.size() > kMaxCapturedValueBytes || value.find('\n') != std::string::npos) continue;
      text += name + "=" + redactor_.keep_value(name, value) + "\n";
    }
    put("/environ", CapturedEntry::Kind::kFile, text);
  }

  void add_addresses(const std::vector<InterfaceAddress>& addresses) {
    std::string text;
    for (const InterfaceAddress& address : addresses)
      text += address.interface + " " + keep_address(address.host) + "\n";
    if (addresses.empty()) {
      if (const auto recorded = files_.read(kRecordedAddresses)) text = *recorded;
    }
    if (!text.empty()) put(kRecordedAddresses, CapturedEntry::Kind::kFile, text);
  }

  const Files& files_;
  const Environment& environment_;
  Capture capture_;
  Redactor redactor_;
  size_t bytes_ = 0;
  bool has_home_settings_ = false;
  std::map<std::string, std::optional<std::string>> links_;
};

}  // namespace

bool is_captured_variable(std::string_view name) {
  const std::string upper = to_upper(name);
  for (const std::string_view word :
       {"TOKEN", "SECRET", "PASSW", "CREDENTIAL", "AUTH", "UUID", "PRECONDITION_TRANSPORTS"}) {
    if (upper.find(word) != std::string::npos) return false;
  }
  if (upper.ends_with("KEY") && !upper.ends_with("PKEY")) return false;
  return std::ranges::find(kVariableNames, name) != std::end(kVariableNames) ||
         std::ranges::any_of(kVariables, [name](auto prefix) { return name.starts_with(prefix); });
}

bool is_captured_path(std::string_view path) {
  if (std::ranges::find(kFiles, path) != std::end(kFiles)) return true;
  for (const std::string_view folder : kFolders) {
    if (is_below(path, folder)) return true;
  }
  for (const std::string_view node : kNodes) {
    if (path.starts_with(node) && path.find('/', node.size()) == std::string_view::npos)
      return true;
  }
  const bool is_topology = path.starts_with("/etc/") && path.ends_with(".xml") &&
                           base_name(path).find("topo") != std::string_view::npos;
  return is_topology;
}

Capture capture_machine(const Files& files, const Environment& environment,
                        const std::vector<InterfaceAddress>& addresses) {
  return Collector(files, environment).collect(addresses);
}

}  // namespace muster::nccl
