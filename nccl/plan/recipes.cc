#include "nccl/plan/recipes.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <initializer_list>

#include "base/text.h"
#include "nccl/plan/gid_choice.h"

namespace muster::nccl {
namespace {

// Of the chassis of every virtual machine of Azure.
constexpr std::string_view kAzureTag = "7783-7084-3265-9085-8269-3286-77";
constexpr std::string_view kOracleTag = "OracleCloud.com";

constexpr std::string_view kAzure = "Azure azhpc-images: /etc/nccl.conf of ND";
constexpr std::string_view kOracle = "Oracle: recommended NCCL parameters by shape";
constexpr std::string_view kGoogleTcpx = "Google: GPUDirect-TCPX on A3 High";
constexpr std::string_view kPollara = "AMD Primus: multi-node networking, AI NIC";
constexpr std::string_view kHpe = "Sigma2 Olivia: NCCL on Slingshot";

struct Line {
  std::string_view name;
  std::string_view value;
  std::string_view reason;
};

void add(PlanWriter& writer, std::initializer_list<Line> lines, std::string_view source) {
  for (const Line& line : lines)
    writer.set(line.name, std::string(line.value), std::string(line.reason), source,
               Confidence::kAssumed);
}

bool has_gpu(const Machine& machine, std::initializer_list<int> devices) {
  return std::ranges::any_of(usable_accelerators(machine), [&](const Accelerator& accelerator) {
    const PciFunction* function = function_of(machine, accelerator);
    return function != nullptr && std::ranges::find(devices, function->device) != devices.end();
  });
}

bool are_of_vendor(const HcaChoice& hcas, int vendor) {
  return !hcas.used.empty() && std::ranges::all_of(hcas.used, [vendor](const RdmaDevice* device) {
    return device->pci && device->pci->vendor == vendor;
  });
}

LinkLayer layer_of(const HcaChoice& hcas) {
  return hcas.used.empty() ? LinkLayer::kUnspecified : active_port(*hcas.used.front())->link_layer;
}

// NVIDIA's ids: A100 40 and 80 GB, H100, H200, B200, B300, GB200, GB300.
constexpr int kA100[] = {0x20b0, 0x20b2};
constexpr int kH100 = 0x2330;
constexpr int kGb[] = {0x2941, 0x31c2};

// Cards of Google's without the one of the default route.
std::vector<std::string> google_data_interfaces(const Machine& machine) {
  std::vector<std::string> names;
  for (const NetworkInterface& interface : machine.interfaces) {
    if (interface.vendor == pci_vendor::kGoogle && !interface.has_default_route)
      names.push_back(interface.name);
  }
  return names;
}

// --- Azure ND: the hypervisor shows no PCI tree, so NCCL cannot see which card is near a GPU.
bool is_azure(const Machine& machine, const HcaChoice& hcas) {
  return machine.maker.asset_tag == kAzureTag && layer_of(hcas) == LinkLayer::kInfiniBand &&
         accelerator_kind(machine) == AcceleratorKind::kNvidia && !shares_nvlink(machine);
}

void add_azure(const HcaChoice& /*hcas*/, PlanWriter& writer) {
  const VendorFiles& vendor = writer.facts().vendor;
  if (!writer.is_set("NCCL_TOPO_FILE") && !vendor.has_virtual_topology) {
    writer.set("NCCL_NET_GDR_LEVEL", "SYS",
               "the hypervisor hides the PCI tree and there is no topology file: without this no "
               "GPU memory goes to a card directly",
               "Azure AKS: RDMA and InfiniBand tests", Confidence::kAssumed);
    writer.find("numa_unknown", Severity::kWarning,
                "the PCI tree is flattened and no topology file names the GPUs of this node: NCCL "
                "cannot see which card is near which GPU",
                "put the topology file of this VM size (/opt/microsoft/*topo.xml of the host) into "
                "the image");
  }
  add(writer,
      {{"NCCL_IB_PCI_RELAXED_ORDERING", "1",
        "in a VM NCCL's own probe leaves it off, and "
        "bandwidth drops"},
       {"NCCL_IGNORE_CPU_AFFINITY", "1", "what the VM says of CPUs and cards is not so"}},
      kAzure);
}

// --- Oracle: RoCE with the classes of Oracle's switches.
bool is_oracle(const Machine& machine, const HcaChoice& hcas) {
  return machine.maker.asset_tag == kOracleTag && layer_of(hcas) == LinkLayer::kEthernet;
}

// The recipe pins the GID. A pin holds for all cards, so it is repeated only if it is right on all.
bool has_index_on_all(const HcaChoice& hcas, int index) {
  return std::ranges::all_of(hcas.used, [index](const RdmaDevice* device) {
    return automatic_gid_index(*active_port(*device), /*ipv6=*/false) == index;
  });
}

void add_oracle(const HcaChoice& hcas, PlanWriter& writer) {
  const Machine& machine = writer.facts().machine;
  if (shares_nvlink(machine)) {
    if (machine.imex_channels.empty()) return;
    add(writer,
        {{"NCCL_MNNVL_ENABLE", "1", "NVLink between trays, or an error"},
         {"NCCL_CUMEM_ENABLE", "1", "NVLink between trays needs it"}},
        kOracle);
    return;
  }
  add(writer,
      {{"NCCL_IB_TC", "41", "the traffic class that Oracle's switches treat as lossless"},
       {"NCCL_IB_SL", "0", "the service level of Oracle's fabric"},
       {"NCCL_IB_TIMEOUT", "22", "a fabric of this size: 2 min until an error"},
       {"NCCL_IB_SPLIT_DATA_ON_QPS", "0", "messages stay whole"}},
      kOracle);
  if (has_index_on_all(hcas, 3)) {
    add(writer,
        {{"NCCL_IB_GID_INDEX", "3", "RoCE v2 over IPv4 on every card, as the recipe has it"}},
        kOracle);
  }
  if (has_gpu(machine, {kA100[0], kA100[1]})) {
    add(writer, {{"NCCL_IB_QPS_PER_CONNECTION", "4", "several flows for the paths of the fabric"}},
        kOracle);
    return;
  }
  add(writer, {{"NCCL_CUMEM_ENABLE", "0", "as Oracle tested these shapes"}}, kOracle);
  if (accelerator_kind(machine) == AcceleratorKind::kNvidia) {
    add(writer, {{"NCCL_IGNORE_CPU_AFFINITY", "1", "threads may use all CPUs of the node"}},
        kOracle);
  }
}

// --- AMD Pollara: NCCL's own rule for the GID, and its inline sends, do not fit these cards.
bool is_pollara(const Machine& machine, const HcaChoice& hcas) {
  const auto has_entry = [](const RdmaDevice* device) {
    const Gid* gid = gid_at(*active_port(*device), 1);
    return gid != nullptr && is_usable(*gid);
  };
  return accelerator_kind(machine) == AcceleratorKind::kAmd &&
         are_of_vendor(hcas, pci_vendor::kPensando) && std::ranges::all_of(hcas.used, has_entry);
}

void add_pollara(const HcaChoice& /*hcas*/, PlanWriter& writer) {
  add(writer,
      {{"NCCL_IB_GID_INDEX", "1", "the entry of RoCE v2 on these cards"},
       {"NCCL_NET_PLUGIN", "librccl-anp.so", "the plugin for these cards"},
       {"NCCL_NET_OPTIONAL_RECV_COMPLETION", "1", "the plugin supports it"},
       {"NCCL_GDR_FLUSH_DISABLE", "1", "these cards need no flush"},
       {"NCCL_IB_USE_INLINE", "1", "small messages inside of the request"},
       {"NCCL_IB_FIFO_TC", "185", "control messages have a class of their own"},
       {"NCCL_DMABUF_ENABLE", "0", "GPU memory is registered by the peer memory driver"},
       {"RCCL_LL128_FORCE_ENABLE", "1", "the fast protocol for small messages"},
       {"IONIC_LOCKFREE", "all", "the driver locks nothing: one thread uses a queue"}},
      kPollara);
  if (writer.facts().machine.maker.asset_tag == kOracleTag) {
    add(writer, {{"NCCL_IB_QPS_PER_CONNECTION", "2", "several flows for the paths of the fabric"}},
        kOracle);
  }
}

// --- HPE Slingshot, through aws-ofi-nccl and libfabric.
bool is_slingshot(const Machine& machine, const HcaChoice& /*hcas*/) {
  return machine.has_slingshot;
}

void add_slingshot(const HcaChoice& /*hcas*/, PlanWriter& writer) {
  std::vector<std::string> names;
  for (const NetworkInterface& interface : writer.facts().machine.interfaces) {
    if (interface.name.starts_with("hsn")) names.push_back(interface.name);
  }
  if (!names.empty()) {
    writer.set("NCCL_SOCKET_IFNAME", "=" + join(names, ","), "the interfaces of Slingshot", kHpe,
               Confidence::kAssumed);
  }
  add(writer,
      {{"NCCL_CROSS_NIC", "1", "every card reaches every other"},
       {"NCCL_NET_GDR_LEVEL", "PHB", "cards hang at the host bridge of their GPU"},
       {"FI_MR_CACHE_MONITOR", "userfaultfd", "the other monitor clashes with allocators"},
       {"FI_CXI_DISABLE_HOST_REGISTER", "1", "it deadlocks with CUDA"},
       {"FI_CXI_DEFAULT_CQ_SIZE", "131072", "room for the completions of many peers"},
       {"FI_CXI_DEFAULT_TX_SIZE", "2048", "room for the sends of many peers"},
       {"FI_CXI_RDZV_PROTO", "alt_read", "the rendezvous that the cards do by themselves"},
       {"FI_CXI_RDZV_EAGER_SIZE", "0", "no copies of GPU memory"},
       {"FI_CXI_RDZV_THRESHOLD", "0", "no copies of GPU memory"},
       {"FI_CXI_RDZV_GET_MIN", "0", "no copies of GPU memory"},
       {"FI_CXI_RX_MATCH_MODE", "hybrid", "goes on in software when the card is full"}},
      kHpe);
}

// --- Google A3 High: what its plugin wants; CPU bindings are left to the plugin.
bool is_tcpx(const Machine& machine, const HcaChoice& hcas) {
  return hcas.used.empty() && google_fabric(machine) == FabricKind::kTcpx;
}

void add_tcpx(const HcaChoice& /*hcas*/, PlanWriter& writer) {
  const std::string control = writer.plan().control.name;
  std::vector<std::string> data = google_data_interfaces(writer.facts().machine);
  std::erase(data, control);
  if (control.empty() || data.empty()) return;
  const std::string list = join(data, ",");
  writer.set("NCCL_SOCKET_IFNAME", control, "the plugin expects the name alone", kGoogleTcpx,
             Confidence::kAssumed);
  writer.set("NCCL_GPUDIRECTTCPX_CTRL_DEV", control, "control goes apart from data", kGoogleTcpx,
             Confidence::kAssumed);
  writer.set("NCCL_GPUDIRECTTCPX_SOCKET_IFNAME", list, "the cards for data", kGoogleTcpx,
             Confidence::kAssumed);
  add(writer,
      {{"NCCL_PROTO", "Simple", "the plugin has no other"},
       {"NCCL_ALGO", "Ring", "the plugin is made for it"},
       {"NCCL_CROSS_NIC", "0", "each card has a network of its own"},
       {"NCCL_NET_GDR_LEVEL", "PIX", "each card serves the GPUs below its switch"},
       {"NCCL_P2P_PXN_LEVEL", "0", "the plugin does not forward through other GPUs"},
       {"NCCL_NSOCKS_PERTHREAD", "4", "the rate of one flow is limited"},
       {"NCCL_SOCKET_NTHREADS", "1", "the plugin has its own threads"},
       {"NCCL_DYNAMIC_CHUNK_SIZE", "524288", "as the plugin was tuned"},
       {"NCCL_P2P_NET_CHUNKSIZE", "524288", "as the plugin was tuned"},
       {"NCCL_P2P_PCI_CHUNKSIZE", "524288", "as the plugin was tuned"},
       {"NCCL_P2P_NVL_CHUNKSIZE", "1048576", "as the plugin was tuned"},
       {"NCCL_BUFFSIZE", "4194304", "as the plugin was tuned"},
       {"NCCL_GPUDIRECTTCPX_PROGRAM_FLOW_STEERING_WAIT_MICROS", "500000",
        "the cards need this long to steer a flow"}},
      kGoogleTcpx);
}

struct Recipe {
  bool (*recognises)(const Machine&, const HcaChoice&);
  void (*add)(const HcaChoice&, PlanWriter&);
};

constexpr Recipe kRecipes[] = {
    {is_azure, add_azure},         {is_pollara, add_pollara}, {is_oracle, add_oracle},
    {is_slingshot, add_slingshot}, {is_tcpx, add_tcpx},
};

}  // namespace

void add_recipe(const HcaChoice& hcas, PlanWriter& writer) {
  for (const Recipe& recipe : kRecipes) {
    if (recipe.recognises(writer.facts().machine, hcas)) return recipe.add(hcas, writer);
  }
}

bool shares_nvlink(const Machine& machine) {
  const std::string product = to_lower(machine.maker.product);
  return has_gpu(machine, {kGb[0], kGb[1]}) || product.find("gb200") != std::string::npos ||
         product.find("gb300") != std::string::npos;
}

FabricKind google_fabric(const Machine& machine) {
  constexpr size_t kCardsOfA3High = 4;
  constexpr size_t kCardsOfA3Mega = 8;
  if (!has_gpu(machine, {kH100})) return FabricKind::kNone;
  const size_t cards = google_data_interfaces(machine).size();
  if (cards >= kCardsOfA3Mega) return FabricKind::kFastrak;
  return cards >= kCardsOfA3High ? FabricKind::kTcpx : FabricKind::kNone;
}

std::string machine_name(const MachineMaker& maker) {
  std::string vendor = maker.vendor;
  if (maker.asset_tag == kOracleTag) vendor = "Oracle Cloud";
  if (maker.asset_tag == kAzureTag) return "Azure VM";
  if (vendor == "Google") return maker.product.empty() ? vendor : maker.product;
  if (maker.product.empty() || vendor == "Oracle Cloud") return vendor;
  return vendor.empty() ? maker.product : vendor + " " + maker.product;
}

}  // namespace muster::nccl
