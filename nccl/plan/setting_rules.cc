#include "nccl/plan/setting_rules.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <set>
#include <string>

#include "base/text.h"
#include "nccl/plan/gid_choice.h"
#include "nccl/plan/hca_choice.h"
#include "nccl/plan/interface_choice.h"
#include "nccl/plan/name_list.h"

namespace muster::nccl {
namespace {

constexpr const char* kConflict = "env_conflict";

struct IntegerRow {
  std::string_view name;
  int64_t least = std::numeric_limits<int64_t>::min();
  int64_t most = std::numeric_limits<int64_t>::max();
};

// Those that people write words into, and those with a range that NCCL checks late or not at all.
constexpr IntegerRow kIntegers[] = {
    {"NCCL_IB_DISABLE"},
    {"NCCL_IB_GID_INDEX", -1, 255},
    {"NCCL_IB_TIMEOUT", 0, 31},
    {"NCCL_IB_RETRY_CNT", 0, 7},
    {"NCCL_IB_SL", -1, 15},
    {"NCCL_IB_TC", -1, 255},
    {"NCCL_IB_FIFO_TC", -1, 255},
    {"NCCL_IB_PKEY", 0, 127},
    {"NCCL_IB_QPS_PER_CONNECTION", 1, 128},
    {"NCCL_IB_SPLIT_DATA_ON_QPS"},
    {"NCCL_IB_ADAPTIVE_ROUTING"},
    {"NCCL_IB_PCI_RELAXED_ORDERING", 0, 2},
    {"NCCL_IB_MERGE_VFS"},
    {"NCCL_IB_MERGE_NICS"},
    {"NCCL_IB_ROCE_VERSION_NUM", 1, 2},
    {"NCCL_IB_USE_INLINE"},
    {"NCCL_IB_ECE_ENABLE"},
    {"NCCL_IB_RETURN_ASYNC_EVENTS"},
    {"NCCL_IB_OOO_RQ"},
    {"NCCL_SOCKET_NTHREADS", 1, 16},
    {"NCCL_NSOCKS_PERTHREAD", 1, 64},
    {"NCCL_OOB_NET_ENABLE"},
    {"NCCL_P2P_DISABLE"},
    {"NCCL_IGNORE_DISABLED_P2P", 0, 2},
    {"NCCL_SHM_DISABLE"},
    {"NCCL_NET_GDR_READ"},
    {"NCCL_NET_GDR_C2C"},
    {"NCCL_CROSS_NIC", 0, 2},
    {"NCCL_PXN_DISABLE"},
    {"NCCL_P2P_PXN_LEVEL", 0, 2},
    {"NCCL_CUMEM_ENABLE", -2, 1},
    {"NCCL_CUMEM_HOST_ENABLE", -1, 1},
    {"NCCL_NVLS_ENABLE", 0, 2},
    {"NCCL_MNNVL_ENABLE", 0, 2},
    {"NCCL_COLLNET_ENABLE"},
    {"NCCL_DMABUF_ENABLE"},
    {"NCCL_GDR_FLUSH_DISABLE"},
    {"NCCL_IGNORE_CPU_AFFINITY"},
    {"NCCL_LAUNCH_ORDER_IMPLICIT"},
    {"NCCL_RUNTIME_CONNECT"},
    {"NCCL_RAS_ENABLE"},
    {"NCCL_GDRCOPY_ENABLE"},
    {"NCCL_BUFFSIZE", 1},
    {"NCCL_MIN_NCHANNELS", 1},
    {"NCCL_MAX_NCHANNELS", 1},
    {"NCCL_P2P_NET_CHUNKSIZE", 1},
};

class Checker {
 public:
  Checker(const Settings& settings, const Machine& machine, bool has_many_nodes)
      : settings_(settings), machine_(machine), has_many_nodes_(has_many_nodes) {}

  std::vector<Finding> check() {
    check_integers();
    check_removed();
    check_socket_interfaces();
    check_device_list();
    check_gid_index();
    check_exact_interface("GLOO_SOCKET_IFNAME");
    check_exact_interface("TP_SOCKET_IFNAME");
    check_exact_interface("HOROVOD_GLOO_IFACE");
    check_sockets();
    check_disabled();
    check_efa();
    check_mpi();
    return std::move(findings_);
  }

 private:
  void add(const char* id, Severity severity, std::string what, std::string remedy) {
    findings_.push_back({id, severity, std::move(what), std::move(remedy)});
  }

  // "NCCL_IB_DISABLE=true", with the file it stands in.
  [[nodiscard]] static std::string shown(std::string_view name, const Setting& setting) {
    constexpr size_t kShownBytes = 100;
    std::string text = fmt::format("{}={}", name, one_line(clip_utf8(setting.value, kShownBytes)));
    if (setting.is_in_file()) text += " (" + setting.source + ")";
    return text;
  }

  [[nodiscard]] bool is(std::string_view name, int64_t value) const {
    const Setting* setting = settings_.find(name);
    return setting != nullptr && !setting->value.empty() && read_as_nccl(setting->value) == value;
  }

  void check_integers() {
    for (const IntegerRow& row : kIntegers) {
      const Setting* setting = settings_.find(row.name);
      if (setting == nullptr) continue;
      const int64_t value = read_as_nccl(setting->value);
      if (!is_nccl_integer(setting->value)) {
        add(kConflict, Severity::kWarning,
            fmt::format("{}: NCCL reads this as {}", shown(row.name, *setting), value),
            "write a number: 1 for yes, 0 for no");
      } else if (!setting->value.empty() && (value < row.least || value > row.most)) {
        add(kConflict, Severity::kWarning,
            row.most == std::numeric_limits<int64_t>::max()
                ? fmt::format("{}: it must be {} or more", shown(row.name, *setting), row.least)
                : fmt::format("{}: it must be from {} to {}", shown(row.name, *setting), row.least,
                              row.most),
            "take it out, or give it such a value");
      }
    }
  }

  void check_removed() {
    struct Row {
      std::string_view name;
      std::string_view remedy;
    };
    constexpr Row kRows[] = {
        {"NCCL_IB_CUDA_SUPPORT", "use NCCL_NET_GDR_LEVEL"},
        {"NCCL_IB_GDR_LEVEL", "use NCCL_NET_GDR_LEVEL"},
        {"NCCL_ASYNC_ERROR_HANDLING", "use TORCH_NCCL_ASYNC_ERROR_HANDLING"},
        {"NCCL_BLOCKING_WAIT", "use TORCH_NCCL_BLOCKING_WAIT"},
        {"NCCL_DESYNC_DEBUG", "use TORCH_NCCL_DESYNC_DEBUG"},
    };
    for (const Row& row : kRows) {
      const Setting* setting = settings_.find(row.name);
      if (setting == nullptr) continue;
      add(kConflict, Severity::kWarning,
          shown(row.name, *setting) + ": an old name, which newer versions may not read",
          std::string(row.remedy));
    }
  }

  void check_socket_interfaces() {
    const Setting* setting = settings_.find("NCCL_SOCKET_IFNAME");
    if (setting == nullptr || setting->value.empty()) return;
    const std::string text = shown("NCCL_SOCKET_IFNAME", *setting);
    if (setting->value.size() == 1) {
      add(kConflict, Severity::kWarning, text + ": NCCL ignores a value of one character",
          "write a name, or '=name'");
      return;
    }
    const NameList list = NameList::parse(setting->value, kMaxInterfaceNames);
    check_list(text, setting->value, list, kMaxInterfaceNames);
    // Nothing is known of the interfaces: another network namespace, or no sysfs.
    if (machine_.interfaces.empty()) return;
    const auto chosen = chosen_socket_interfaces(machine_, setting->value);
    if (chosen.empty()) {
      add("ifname_unmatched", Severity::kError,
          fmt::format("{}: no interface here that is up and has an address matches it; NCCL will "
                      "not start (there are {})",
                      text, describe_interfaces(machine_)),
          "name one of these, or take the setting out");
    } else if (has_many_nodes_ &&
               std::ranges::all_of(chosen, [](auto& name) { return name.starts_with("lo"); })) {
      add("ifname_wrong", Severity::kWarning,
          text +
              ": only loopback is left, other nodes cannot "
              "connect",
          "name the interface by which nodes reach each other");
    }
  }

  void check_list(const std::string& shown_text, std::string_view value, const NameList& list,
                  size_t limit) {
    if (value.find(' ') != std::string_view::npos) {
      add(kConflict, Severity::kWarning, shown_text + ": NCCL takes spaces for a part of a name",
          "write the list without spaces");
    }
    const auto has_sign = [](const std::string& name) {
      return name.starts_with('^') || name.starts_with('=');
    };
    if (std::ranges::any_of(list.names(), has_sign)) {
      add(kConflict, Severity::kWarning,
          shown_text +
              ": '^' and '=' count at the beginning of the list only, elsewhere they are "
              "letters of a name",
          "write the sign once, in front");
    }
    if (list.dropped() > 0) {
      add(kConflict, Severity::kWarning,
          fmt::format("{}: NCCL drops what is behind the first {} names", shown_text, limit),
          "use a beginning that matches several");
    }
  }

  void check_device_list() {
    const Setting* setting = settings_.find("NCCL_IB_HCA");
    if (setting == nullptr || setting->value.empty()) return;
    const std::string text = shown("NCCL_IB_HCA", *setting);
    const NameList list = NameList::parse(setting->value, kMaxDeviceNames);
    check_list(text, setting->value, list, kMaxDeviceNames);
    std::vector<std::string> active;
    for (const RdmaDevice& device : machine_.rdma) {
      if (active_port(device) != nullptr) active.push_back(device.name);
    }
    if (active.empty()) return;
    const auto chosen = [&list](const std::string& name) { return list.chooses(name); };
    if (std::ranges::none_of(active, chosen)) {
      add("ifname_unmatched", Severity::kError,
          fmt::format("{}: none of the active devices matches it, so NCCL uses TCP (there are {})",
                      text, join(active, ",")),
          "name some of these");
    }
    if (list.is_exact()) return;
    for (const std::string& name : list.names()) {
      std::vector<std::string> longer;
      std::ranges::copy_if(active, std::back_inserter(longer), [&name](const std::string& device) {
        return device.size() > name.size() && device.starts_with(name);
      });
      const bool whole = std::ranges::find(active, name) != active.end();
      if (!whole || longer.empty()) continue;
      add(kConflict, Severity::kWarning,
          fmt::format("{}: '{}' is taken for the beginning of a name and matches {}, too", text,
                      name, join(longer, ",")),
          "write '=' in front of the list");
      return;
    }
  }

  void check_gid_index() {
    const Setting* setting = settings_.find("NCCL_IB_GID_INDEX");
    if (setting == nullptr || setting->value.empty()) return;
    const auto index =
        static_cast<int>(std::clamp<int64_t>(read_as_nccl(setting->value), -1, kMaxGids));
    if (index < 0 || is("NCCL_IB_DISABLE", 1)) return;
    const Setting* devices = settings_.find("NCCL_IB_HCA");
    const NameList list =
        NameList::parse(devices == nullptr ? "" : devices->value, kMaxDeviceNames);
    for (const RdmaDevice* device : choose_hcas(machine_).used) {
      const RdmaPort& port = *active_port(*device);
      if (port.link_layer != LinkLayer::kEthernet || !list.chooses(device->name)) continue;
      const Gid* gid = gid_at(port, index);
      const bool v1_is_meant = is("NCCL_IB_ROCE_VERSION_NUM", 1);
      if (gid != nullptr && is_usable(*gid) && (v1_is_meant || gid->version == RoceVersion::kV2))
        continue;
      const bool is_there = gid != nullptr && gid->version != RoceVersion::kUnreadable;
      const int usable = automatic_gid_index(port, !has_usable_ipv4(port));
      add("gid_index_wrong", is_there ? Severity::kWarning : Severity::kError,
          fmt::format("{}: on {} this entry is {}; entry {} is {}",
                      shown("NCCL_IB_GID_INDEX", *setting), device->name, describe_gid(port, index),
                      usable, describe_gid(port, usable)),
          "take it out: NCCL 2.21 and later find the entry");
      return;
    }
  }

  // Gloo compares whole names, and knows no signs.
  void check_exact_interface(std::string_view name) {
    const Setting* setting = settings_.find(name);
    if (setting == nullptr || setting->value.empty()) return;
    if (setting->value.find_first_of("^=") != std::string::npos) {
      add(kConflict, Severity::kError,
          shown(name, *setting) + ": only NCCL knows '^' and '='; here they are letters of a name",
          "write whole names");
      return;
    }
    if (machine_.interfaces.empty()) return;
    for (const std::string_view wanted : split(setting->value, ',')) {
      if (find_interface(machine_.interfaces, wanted) != nullptr) continue;
      add("ifname_unmatched", Severity::kError,
          fmt::format("{}: there is no interface '{}' (there are {})", shown(name, *setting),
                      one_line(clip_utf8(wanted, 64)), describe_interfaces(machine_)),
          "write whole names");
      return;
    }
  }

  void check_sockets() {
    constexpr int64_t kMostSockets = 64;
    const Setting* threads = settings_.find("NCCL_SOCKET_NTHREADS");
    const Setting* each = settings_.find("NCCL_NSOCKS_PERTHREAD");
    if (threads == nullptr || each == nullptr) return;
    const int64_t first = std::clamp<int64_t>(read_as_nccl(threads->value), 0, 1000);
    const int64_t second = std::clamp<int64_t>(read_as_nccl(each->value), 0, 1000);
    if (first * second <= kMostSockets) return;
    add(kConflict, Severity::kWarning,
        fmt::format("NCCL_SOCKET_NTHREADS={} times NCCL_NSOCKS_PERTHREAD={} is more than {}", first,
                    second, kMostSockets),
        "lower one of them");
  }

  void check_disabled() {
    const bool has_rdma = !choose_hcas(machine_).used.empty();
    if (has_rdma && is("NCCL_IB_DISABLE", 1)) {
      add(kConflict, Severity::kWarning,
          "NCCL_IB_DISABLE=1: the RDMA devices of this node are not used, all goes over TCP",
          "take it out");
    }
    if (usable_accelerators(machine_).size() < 2) return;
    if (is("NCCL_P2P_DISABLE", 1)) {
      add(kConflict, Severity::kWarning,
          "NCCL_P2P_DISABLE=1: GPUs of this node talk through memory, also where there is NVLink",
          "take it out, unless you look for an error of PCI");
    }
    if (is("NCCL_SHM_DISABLE", 1)) {
      add(kConflict, Severity::kWarning,
          "NCCL_SHM_DISABLE=1: ranks of this node talk over the network", "take it out");
    }
  }

  void check_efa() {
    const bool has_efa = std::ranges::any_of(machine_.rdma, &RdmaDevice::is_efa);
    struct Row {
      std::string_view name;
      std::string_view what;
      Severity severity;
    };
    constexpr Row kAborting[] = {
        {"FI_EFA_MTU_SIZE", "libfabric aborts the process", Severity::kError},
        {"FI_EFA_TX_IOV_LIMIT", "libfabric aborts the process", Severity::kError},
        {"FI_EFA_RX_IOV_LIMIT", "libfabric aborts the process", Severity::kError},
    };
    for (const Row& row : kAborting) {
      const Setting* setting = settings_.find(row.name);
      if (setting != nullptr)
        add(kConflict, row.severity, shown(row.name, *setting) + ": " + std::string(row.what),
            "take it out");
    }
    const Setting* credits = settings_.find("FI_EFA_TX_MIN_CREDITS");
    if (credits != nullptr && read_as_nccl(credits->value) <= 0) {
      add(kConflict, Severity::kError,
          shown("FI_EFA_TX_MIN_CREDITS", *credits) + ": libfabric aborts the process",
          "take it out");
    }
    const Setting* interface = settings_.find("FI_EFA_IFACE");
    if (interface != nullptr && interface->value.empty()) {
      add(kConflict, Severity::kError, "FI_EFA_IFACE is empty: libfabric aborts the process",
          "take it out");
    }
    for (const std::string_view name :
         {"RDMAV_FORK_SAFE", "IBV_FORK_SAFE", "RDMAV_HUGEPAGES_SAFE"}) {
      const Setting* setting = settings_.find(name);
      if (setting == nullptr || !(has_efa || settings_.has("FI_EFA_FORK_SAFE"))) continue;
      add(kConflict, Severity::kWarning,
          shown(name, *setting) + ": it stands against FI_EFA_FORK_SAFE, which the plugin sets",
          "take it out");
    }
    if (!has_efa) return;
    // Of old advice: what the plugin chooses for each kind of machine is better.
    for (const std::string_view name :
         {"FI_EFA_USE_DEVICE_RDMA", "NCCL_PROTO", "NCCL_ALGO", "NCCL_BUFFSIZE",
          "NCCL_P2P_NET_CHUNKSIZE", "NCCL_TUNER_PLUGIN"}) {
      const Setting* setting = settings_.find(name);
      if (setting == nullptr) continue;
      add(kConflict, Severity::kWarning,
          shown(name, *setting) + ": the EFA plugin chooses it for this machine, and this beats it",
          "take it out");
    }
  }

  void check_mpi() {
    struct Pair {
      std::string_view one;
      std::string_view other;
    };
    constexpr Pair kPairs[] = {
        {"OMPI_MCA_btl_tcp_if_include", "OMPI_MCA_btl_tcp_if_exclude"},
        {"OMPI_MCA_oob_tcp_if_include", "OMPI_MCA_oob_tcp_if_exclude"},
        {"PRTE_MCA_prte_if_include", "PRTE_MCA_prte_if_exclude"},
    };
    for (const Pair& pair : kPairs) {
      if (!settings_.has(pair.one) || !settings_.has(pair.other)) continue;
      add(kConflict, Severity::kError,
          fmt::format("{} and {} exclude each other: Open MPI does not start", pair.one,
                      pair.other),
          "take one of them out");
    }
    const Setting* transports = settings_.find("UCX_TLS");
    if (transports == nullptr || usable_accelerators(machine_).empty()) return;
    const bool open = transports->value == "all" || transports->value.starts_with('^');
    const bool has_gpu = transports->value.find("cuda") != std::string::npos ||
                         transports->value.find("rocm") != std::string::npos ||
                         transports->value.find("ze_") != std::string::npos;
    if (open || has_gpu || transports->value.empty()) return;
    add(kConflict, Severity::kWarning,
        shown("UCX_TLS", *transports) + ": without a transport for GPU memory UCX crashes on it",
        "add cuda (NVIDIA) or rocm (AMD)");
  }

  const Settings& settings_;
  const Machine& machine_;
  bool has_many_nodes_;
  std::vector<Finding> findings_;
};

// The sign, the base and the digits, as strtoll(text, &end, 0) takes them.
struct Integer {
  int64_t value = 0;
  bool is_whole = false;
};

Integer parse_as_strtoll(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || (text.front() >= '\t' && text.front() <= '\r')))
    text.remove_prefix(1);
  bool negative = false;
  if (!text.empty() && (text.front() == '-' || text.front() == '+')) {
    negative = text.front() == '-';
    text.remove_prefix(1);
  }
  int base = 10;
  if (text.size() > 1 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
    base = 16;
    text.remove_prefix(2);
  } else if (text.size() > 1 && text[0] == '0') {
    base = 8;
  }
  if (text.starts_with('-')) return {};  // a second sign
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error == std::errc::result_out_of_range) value = std::numeric_limits<int64_t>::max();
  if (error == std::errc::invalid_argument) return {};
  return {negative ? -value : value, end == text.data() + text.size()};
}

}  // namespace

int64_t read_as_nccl(std::string_view text) { return parse_as_strtoll(text).value; }

bool is_nccl_integer(std::string_view text) {
  return text.empty() || parse_as_strtoll(text).is_whole;
}

std::vector<Finding> check_settings(const Settings& settings, const Machine& machine,
                                    bool has_many_nodes) {
  return Checker(settings, machine, has_many_nodes).check();
}

}  // namespace muster::nccl
