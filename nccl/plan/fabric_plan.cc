#include "nccl/plan/fabric_plan.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "nccl/plan/gid_choice.h"
#include "nccl/plan/name_list.h"
#include "nccl/plan/plan_writer.h"
#include "nccl/plan/recipes.h"
#include "nccl/plan/setting_rules.h"

namespace muster::nccl {
namespace {

constexpr std::string_view kNcclSockets = "NCCL user guide: NCCL_SOCKET_IFNAME";
constexpr std::string_view kNcclDevices = "NCCL user guide: NCCL_IB_HCA";
constexpr int kFastEthernetMbits = 25'000;

class Planner {
 public:
  Planner(const FabricFacts& facts, const FabricJob& job)
      : facts_(facts), machine_(facts.machine), job_(job), writer_(facts, plan_) {}

  FabricPlan make() {
    plan_.control =
        job_.has_round ? reached_interface(job_.reached) : choose_control_interface(machine_);
    const bool has_gpus = uses_nccl();
    hcas_ = choose_hcas(machine_);
    plan_.kind = has_gpus ? kind_of_fabric() : FabricKind::kNone;
    for (const RdmaDevice* device : hcas_.used) plan_.devices.push_back(device->name);
    plan_.dropped = hcas_.dropped;
    add_profile();
    if (has_gpus && job_.plans_fabric) add_nccl();
    add_network();
    plan_.title = title();
    Settings all = facts_.settings;
    for (const ProfileLine& line : facts_.profile.lines)
      all.add(line.name, {line.value, facts_.profile.path});
    for (Finding& finding : check_settings(all, machine_, job_.has_many_nodes))
      plan_.findings.push_back(std::move(finding));
    return std::move(plan_);
  }

 private:
  // oneCCL of Intel's accelerators reads none of it.
  [[nodiscard]] bool uses_nccl() const {
    const auto kind = accelerator_kind(machine_);
    return kind == AcceleratorKind::kNvidia || kind == AcceleratorKind::kAmd;
  }

  [[nodiscard]] FabricKind kind_of_fabric() const {
    const auto usable_efa = [](const RdmaDevice& device) {
      return device.is_efa() && device.has_device_node;
    };
    if (std::ranges::any_of(machine_.rdma, usable_efa)) return FabricKind::kEfa;
    if (facts_.vendor.has_gib && !hcas_.used.empty()) return FabricKind::kGib;
    if (machine_.has_slingshot) return FabricKind::kSlingshot;
    if (hcas_.used.empty()) {
      if (facts_.vendor.has_fastrak) return FabricKind::kFastrak;
      const FabricKind google = google_fabric(machine_);
      return google == FabricKind::kNone ? FabricKind::kSockets : google;
    }
    return active_port(*hcas_.used.front())->link_layer == LinkLayer::kInfiniBand
               ? FabricKind::kInfiniBand
               : FabricKind::kRoce;
  }

  void add_profile() {
    for (const ProfileLine& line : facts_.profile.lines) {
      writer_.set(line.name, line.value,
                  line.reason.empty() ? "as the profile of this site says" : line.reason,
                  facts_.profile.path);
    }
  }

  void add_nccl() {
    switch (plan_.kind) {
      case FabricKind::kFastrak:
        // Its checker ends the job for a setting that it does not expect: nothing of ours.
        add_script();
        return;
      case FabricKind::kGib:
        add_script();
        add_socket_interface();
        add_device_list();
        break;
      case FabricKind::kEfa:
        add_efa();
        add_socket_interface();
        break;
      case FabricKind::kInfiniBand:
      case FabricKind::kRoce:
        add_topology();
        add_recipe(hcas_, writer_);
        add_socket_interface();
        add_device_list();
        add_roce();
        break;
      case FabricKind::kTcpx:
      case FabricKind::kSlingshot:
        add_recipe(hcas_, writer_);
        add_socket_interface();
        break;
      case FabricKind::kSockets:
        add_unusable_devices();
        add_socket_interface();
        add_socket_threads();
        break;
      case FabricKind::kNone:
        return;
    }
    add_nvlink_between_nodes();
    if (facts_.settings.has("NCCL_ENV_PLUGIN")) {
      writer_.find("env_conflict", Severity::kInfo,
                   "NCCL_ENV_PLUGIN: a plugin may answer for every variable of NCCL, whatever is "
                   "set here");
    }
  }

  void add_script() {
    const VendorScript& script = facts_.vendor.script;
    if (script.path.empty()) {
      writer_.find("no_plugin", Severity::kWarning,
                   "the cards of this machine need a plugin of Google's, and its script is not in "
                   "this container: without it all goes over one card",
                   "mount the plugin as its maker says");
      return;
    }
    // A part of what it means would be worse than nothing.
    if (script.first_odd_line > 0) {
      writer_.find("env_conflict", Severity::kWarning,
                   fmt::format("{}:{}: only a shell understands this line, so none of the script "
                               "is used",
                               script.path, script.first_odd_line),
                   "source the script in front of muster run");
      return;
    }
    for (const auto& [name, value] : script.exports) {
      if (name.starts_with("NCCL_") || name.starts_with("FI_"))
        writer_.set(name, value, "the installed plugin comes with it", script.path);
    }
  }

  void add_efa() {
    if (writer_.is_set("NCCL_NET_PLUGIN")) return;
    if (facts_.vendor.has_efa_plugin) {
      writer_.set("NCCL_NET", "AWS Libfabric",
                  "without its plugin NCCL would take TCP and say nothing",
                  "aws-ofi-nccl: installation");
      return;
    }
    writer_.find("no_plugin", Severity::kWarning,
                 "this node has EFA devices, and the plugin by which NCCL uses them (aws-ofi-nccl) "
                 "is not where its installer puts it: without it all goes over TCP",
                 "install the EFA software in the image, or ignore this if it lies elsewhere");
  }

  void add_topology() {
    if (facts_.vendor.topology_file.empty()) return;
    writer_.set("NCCL_TOPO_FILE", facts_.vendor.topology_file,
                "the hypervisor hides the PCI tree, and this file names all GPUs of this node",
                "NCCL user guide: NCCL_TOPO_FILE");
  }

  // Only if NCCL would take others, or more: a name that it needs not is one that may be wrong.
  void add_socket_interface() {
    const ControlInterface& control = plan_.control;
    if (control.name.empty()) return;
    const auto taken = default_socket_interfaces(machine_);
    if (taken.empty() || (taken.size() == 1 && taken.front() == control.name)) return;
    writer_.set("NCCL_SOCKET_IFNAME", "=" + control.name,
                fmt::format("{}; by itself NCCL takes {}", control.reason, join(taken, ",")),
                control.source.empty() ? kNcclSockets : control.source,
                control.is_certain ? Confidence::kCertain : Confidence::kAssumed);
  }

  void add_device_list() {
    if (!hcas_.must_be_listed) return;
    if (hcas_.used.size() > kMaxDeviceNames) {
      writer_.find("env_conflict", Severity::kWarning,
                   fmt::format("{} RDMA devices should be listed, and NCCL reads {} names: none is",
                               hcas_.used.size(), kMaxDeviceNames),
                   "name the devices with NCCL_IB_HCA and a beginning that matches several");
      return;
    }
    std::vector<std::string> reasons;
    for (const DroppedDevice& device : hcas_.dropped) {
      constexpr size_t kShown = 3;
      if (reasons.size() == kShown) break;
      reasons.push_back("not " + device.name + ": " + device.reason);
    }
    const Confidence confidence = hcas_.is_certain ? Confidence::kCertain : Confidence::kAssumed;
    writer_.set("NCCL_IB_HCA", "=" + names_of(hcas_.used), join(reasons, "; "), kNcclDevices,
                confidence);
    // Who has said more of either knows better.
    if (facts_.settings.has("NCCL_IB_HCA") || facts_.settings.has("UCX_TLS")) return;
    std::vector<std::string> ports;
    for (const RdmaDevice* device : hcas_.used)
      ports.push_back(fmt::format("{}:{}", device->name, active_port(*device)->number));
    if (!plan_.control.name.empty()) ports.push_back(plan_.control.name);
    writer_.set("UCX_NET_DEVICES", join(ports, ","),
                "the same devices as NCCL, and the control interface for TCP",
                "UCX: UCX_NET_DEVICES", confidence);
  }

  void add_unusable_devices() {
    if (!hcas_.none_usable) return;
    const auto without_address =
        std::ranges::count(hcas_.dropped, DropCause::kNoAddress, &DroppedDevice::cause);
    if (without_address > 0) {
      writer_.find("gid_missing", Severity::kWarning,
                   fmt::format("{} of {} RDMA devices have a link and no address in this "
                               "container (GID), so RDMA cannot be used",
                               without_address, machine_.rdma.size()),
                   "attach the secondary network of these devices to the pod");
      writer_.set("NCCL_IB_DISABLE", "1",
                  "no RDMA device has an address in this container, and NCCL would fail on them",
                  "NVIDIA/nccl issue 1796");
    } else {
      writer_.find("no_uverbs", Severity::kWarning,
                   fmt::format("{} RDMA devices are visible, and none was given to this container "
                               "(/dev/infiniband/uverbs*): all goes over TCP",
                               hcas_.dropped.size()),
                   "request the device resource in the pod");
    }
  }

  void add_roce() {
    if (plan_.kind != FabricKind::kRoce) return;
    add_gid(hcas_.used);
    if (writer_.is_set("NCCL_IB_TC")) return;
    writer_.find("traffic_class", Severity::kInfo,
                 "NCCL_IB_TC is not set: RoCE goes in traffic class 0, in which many switches drop "
                 "packets under load",
                 "ask who runs the switches, and write the class into a site profile "
                 "(--fabric-profile)");
  }

  // NCCL's rule finds the entry; only for an address family other than IPv4 it must be told.
  void add_gid(const std::vector<const RdmaDevice*>& roce) {
    const auto has_ipv4 = [](const RdmaDevice* device) {
      return has_usable_ipv4(*active_port(*device));
    };
    const auto has_any = [](const RdmaDevice* device) {
      return has_usable_gid(*active_port(*device));
    };
    if (std::ranges::none_of(roce, has_any)) {
      writer_.find("gid_missing", Severity::kWarning,
                   "the RDMA devices have link-local addresses alone: they reach each other within "
                   "one network, and NCCL takes the first entry",
                   "give their interfaces addresses, if nodes are in several networks");
      return;
    }
    if (facts_.settings.has("NCCL_IB_ADDR_FAMILY")) return;
    const bool ipv6 = std::ranges::none_of(roce, has_ipv4);
    if (ipv6) {
      writer_.set("NCCL_IB_ADDR_FAMILY", "AF_INET6",
                  "these devices have addresses of IPv6 alone, and NCCL looks for IPv4",
                  "CoreWeave: nccl-tests; NCCL 2.21");
    } else if (!std::ranges::all_of(roce, has_ipv4)) {
      writer_.find("gid_family", Severity::kWarning,
                   "some RDMA devices have an IPv4 address and others none: NCCL asks all for the "
                   "same family",
                   "give all the same, or name those to use with NCCL_IB_HCA");
    }
    if (writer_.is_set("NCCL_IB_GID_INDEX")) return;
    std::vector<std::string> entries;
    bool differ = false;
    bool holes = false;
    const int first = automatic_gid_index(*active_port(*roce.front()), ipv6);
    for (const RdmaDevice* device : roce) {
      const RdmaPort& port = *active_port(*device);
      const int index = automatic_gid_index(port, ipv6);
      differ = differ || index != first;
      holes = holes || port.has_hole;
      entries.push_back(fmt::format("{}={}", device->name, index));
    }
    if (differ) {
      writer_.find("gid_varies", Severity::kInfo,
                   "NCCL chooses different GID entries on the devices (" + join(entries, ",") +
                       "), which no NCCL_IB_GID_INDEX can express",
                   "leave it unset; NCCL before 2.21 cannot use these devices together");
    }
    if (holes) {
      writer_.find("gid_hole_abort", Severity::kInfo,
                   "the GID tables have entries that cannot be read in this container: NCCL 2.21 "
                   "to 2.25 ends at the first one",
                   differ
                       ? "use NCCL 2.26 or later"
                       : fmt::format("use NCCL 2.26 or later, or set NCCL_IB_GID_INDEX={}", first));
    }
  }

  // The threads that NCCL uses by itself for these cards it cannot see from behind a veth.
  void add_socket_threads() {
    // Their product has a limit: both or none.
    if (writer_.is_set("NCCL_SOCKET_NTHREADS") || writer_.is_set("NCCL_NSOCKS_PERTHREAD")) return;
    const NetworkInterface* control = find_interface(machine_.interfaces, plan_.control.name);
    if (control == nullptr || !hcas_.used.empty()) return;
    int vendor = control->vendor;
    const bool hidden = control->pci_address.empty() && vendor == 0;
    if (hidden) {
      const auto has_card = [this](int id) {
        return std::ranges::find(machine_.network_cards, id, &PciModel::vendor) !=
               machine_.network_cards.end();
      };
      if (has_card(pci_vendor::kAmazon)) vendor = pci_vendor::kAmazon;
      if (has_card(pci_vendor::kGoogle)) vendor = pci_vendor::kGoogle;
    }
    constexpr std::string_view kSource = "NCCL: net_socket.cc, its own choice for this card";
    if (vendor == pci_vendor::kAmazon || vendor == pci_vendor::kGoogle) {
      if (!hidden) return;
      const bool amazon = vendor == pci_vendor::kAmazon;
      const std::string reason = fmt::format(
          "the rate of one flow is limited, and from this pod NCCL cannot see the card behind {}",
          control->name);
      writer_.set("NCCL_SOCKET_NTHREADS", amazon ? "2" : "4", reason, kSource);
      writer_.set("NCCL_NSOCKS_PERTHREAD", amazon ? "8" : "1", reason, kSource);
      return;
    }
    // veth always says 10000, whatever is behind it.
    const bool is_fast = control->kind != InterfaceKind::kVirtual &&
                         control->speed_mbits.value_or(0) >= kFastEthernetMbits;
    if (!is_fast && !(hidden && has_fast_card())) return;
    const std::string reason = "one flow does not fill a card of 25 Gb/s or more";
    writer_.set("NCCL_SOCKET_NTHREADS", "4", reason, "NCCL user guide: NCCL_SOCKET_NTHREADS",
                Confidence::kAssumed);
    writer_.set("NCCL_NSOCKS_PERTHREAD", "4", reason, "NCCL user guide: NCCL_NSOCKS_PERTHREAD",
                Confidence::kAssumed);
  }

  // Mellanox since ConnectX-5 and Broadcom's Thor begin with 25 Gb/s.
  [[nodiscard]] bool has_fast_card() const {
    return std::ranges::any_of(machine_.network_cards, [](const PciModel& card) {
      const bool mellanox = card.vendor == pci_vendor::kMellanox && card.device >= 0x1017;
      const bool thor =
          card.vendor == pci_vendor::kBroadcom && (card.device == 0x1750 || card.device == 0x1760);
      return mellanox || thor;
    });
  }

  // GB200 and GB300: GPUs of several nodes share NVLink, by the IMEX daemon's channel.
  void add_nvlink_between_nodes() {
    if (!shares_nvlink(machine_) || !machine_.imex_channels.empty()) return;
    writer_.set("NCCL_MNNVL_ENABLE", "0",
                "there is no IMEX channel in this container, and NCCL would fail on NVLink between "
                "nodes",
                "NVIDIA IMEX guide: /dev/nvidia-caps-imex-channels");
    writer_.find("imex", Severity::kWarning,
                 "this node's GPUs share NVLink with other nodes, but the container has no IMEX "
                 "channel: traffic between nodes falls to the speed of the network cards",
                 "claim a ComputeDomain for the pod");
  }

  [[nodiscard]] bool is_own_name_loopback() const {
    return is_loopback_text(machine_.own_addresses);
  }

  // What listens where the machine's own name leads, or on every interface.
  void add_network() {
    const ControlInterface& control = plan_.control;
    if (is_own_name_loopback()) {
      // In a round the libraries are told, or all nodes are of this machine.
      const bool counts = job_.has_many_nodes && !job_.has_round;
      writer_.find("dns_self", counts ? Severity::kWarning : Severity::kInfo,
                   fmt::format("this node's name {} means {} to itself: Gloo and MPI would listen "
                               "there, where no other node comes",
                               machine_.host_name, machine_.own_addresses),
                   control.name.empty() ? "give the name its address in /etc/hosts"
                                        : "Muster names the interface " + control.name);
    }
    if (control.name.empty() || !(job_.has_many_nodes || is_own_name_loopback())) return;
    const Confidence confidence = control.is_certain ? Confidence::kCertain : Confidence::kAssumed;
    const auto name_it = [&](std::string_view variable) {
      writer_.set(variable, control.name, control.reason, control.source, confidence);
    };
    name_it("GLOO_SOCKET_IFNAME");
    name_it("TP_SOCKET_IFNAME");
    if (!job_.has_many_nodes) return;
    name_it("FI_TCP_IFACE");
    if (hcas_.used.empty()) name_it("UCX_NET_DEVICES");
    for (const auto& [variable, rival] :
         {std::pair{"OMPI_MCA_btl_tcp_if_include", "OMPI_MCA_btl_tcp_if_exclude"},
          std::pair{"OMPI_MCA_oob_tcp_if_include", "OMPI_MCA_oob_tcp_if_exclude"}})
      writer_.set_unless(rival, variable, control.name, control.reason, control.source, confidence);
  }

  [[nodiscard]] std::string title() const {
    std::vector<std::string> parts;
    if (std::string name = machine_name(machine_.maker); !name.empty())
      parts.push_back(std::move(name));
    const auto usable = usable_accelerators(machine_);
    if (usable.empty()) {
      parts.emplace_back("no GPU");
    } else {
      const std::string word(to_string(usable.front().kind));
      parts.push_back(counted(usable.size(), word, word + "s"));
    }
    if (plan_.kind != FabricKind::kNone) {
      std::string fabric(to_string(plan_.kind));
      if (!plan_.devices.empty())
        fabric += " by " + counted(plan_.devices.size(), "device", "devices");
      parts.push_back(std::move(fabric));
    }
    return join(parts, ", ");
  }

  const FabricFacts& facts_;
  const Machine& machine_;
  const FabricJob& job_;
  FabricPlan plan_;
  PlanWriter writer_;
  HcaChoice hcas_;
};

}  // namespace

std::string_view to_string(FabricKind kind) {
  switch (kind) {
    case FabricKind::kNone:
      return "none";
    case FabricKind::kSockets:
      return "TCP";
    case FabricKind::kInfiniBand:
      return "InfiniBand";
    case FabricKind::kRoce:
      return "RoCE";
    case FabricKind::kEfa:
      return "EFA";
    case FabricKind::kGib:
      return "gIB";
    case FabricKind::kFastrak:
      return "FasTrak";
    case FabricKind::kTcpx:
      return "GPUDirect-TCPX";
    case FabricKind::kSlingshot:
      return "Slingshot";
  }
  return "?";
}

FabricFacts read_fabric_facts(const MachineView& view, const Environment& environment,
                              SiteProfile profile) {
  FabricFacts facts;
  facts.profile = std::move(profile);
  facts.machine = read_machine(view);
  const auto kind = accelerator_kind(facts.machine);
  facts.settings = read_settings(view.files, environment, kind == AcceleratorKind::kAmd);
  if (kind) facts.vendor = read_vendor_files(view.files, facts.machine);
  return facts;
}

FabricPlan plan_fabric(const FabricFacts& facts, const FabricJob& job) {
  return Planner(facts, job).make();
}

std::string summary(const FabricPlan& plan) {
  std::string text = plan.title;
  if (!plan.control.name.empty()) text += "; control interface " + plan.control.name;
  text += "; " + counted(plan.variables.size(), "variable", "variables");
  return text;
}

}  // namespace muster::nccl
