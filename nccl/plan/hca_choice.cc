#include "nccl/plan/hca_choice.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "base/text.h"
#include "nccl/plan/gid_choice.h"

namespace muster::nccl {
namespace {

using Devices = std::vector<const RdmaDevice*>;

// Of the ids of rdma-core: BlueField is a computer of its own, for the node's network.
constexpr std::array<int, 2> kBlueField = {0xa2d6, 0xa2dc};
constexpr std::array<int, 4> kCompute = {0x101e, 0x1021, 0x1023, 0x1025};  // ConnectX-7 to -9, VFs

bool is_one_of(const RdmaDevice& device, const auto& ids) {
  return device.pci && device.pci->vendor == pci_vendor::kMellanox &&
         std::ranges::find(ids, device.pci->device) != ids.end();
}

bool is_bond(const RdmaDevice& device) { return device.name.find("bond") != std::string::npos; }

double rate_of(const RdmaDevice& device) { return active_port(device)->gbits; }

class Chooser {
 public:
  explicit Chooser(const Machine& machine) : machine_(machine) {
    for (const Accelerator& accelerator : usable_accelerators(machine)) {
      const PciFunction* function = function_of(machine, accelerator);
      if (function != nullptr) gpus_.push_back(function);
      ++gpu_count_;
    }
  }

  HcaChoice choose() {
    bool any_visible = false;
    for (const RdmaDevice& device : machine_.rdma) {
      const RdmaPort* port = active_port(device);
      if (port == nullptr) continue;
      any_visible = true;
      if (!device.has_device_node) {
        // The library does not see it either.
        choice_.dropped.push_back(
            {device.name, DropCause::kNotGranted, "this container was not given its device node"});
      } else {
        taken_.push_back(&device);
      }
    }
    left_ = taken_;
    drop_if(
        [](const RdmaDevice& device) {
          const RdmaPort& port = *active_port(device);
          return port.link_layer == LinkLayer::kEthernet && !has_readable_gid(port);
        },
        "it has no address in this container: no GID that can be read", DropCause::kNoAddress);
    drop_if(is_bond, "it is a bond, and others are not");
    drop_other_link_layer();
    drop_far();
    drop_slow();
    drop_smart_cards();
    drop_management();
    finish(any_visible);
    return std::move(choice_);
  }

 private:
  // Of those that could be used some stay.
  void drop_if(const std::function<bool(const RdmaDevice&)>& condition, const std::string& reason,
               DropCause cause = DropCause::kNotOfJob) {
    Devices kept;
    std::ranges::copy_if(left_, std::back_inserter(kept),
                         [&condition](const RdmaDevice* device) { return !condition(*device); });
    if (kept.empty() && cause == DropCause::kNotOfJob) return;
    for (const RdmaDevice* device : left_) {
      if (condition(*device)) choice_.dropped.push_back({device->name, cause, reason});
    }
    left_ = std::move(kept);
  }

  // NCCL cannot connect InfiniBand to Ethernet. The fabric is what is near the GPUs, if anything
  // is; else what moves more.
  void drop_other_link_layer() {
    std::map<LinkLayer, std::pair<bool, double>> weights;
    for (const RdmaDevice* device : left_) {
      auto& [is_near, gbits] = weights[active_port(*device)->link_layer];
      is_near = is_near || is_near_a_gpu(*device);
      gbits += rate_of(*device);
    }
    if (weights.size() < 2) return;
    const auto heaviest =
        std::ranges::max_element(weights, {}, [](const auto& entry) { return entry.second; });
    const LinkLayer wanted = heaviest->first;
    drop_if(
        [wanted](const RdmaDevice& device) { return active_port(device)->link_layer != wanted; },
        wanted == LinkLayer::kInfiniBand ? "it is an Ethernet port, the fabric is InfiniBand"
                                         : "it is an InfiniBand port, the fabric is Ethernet");
  }

  [[nodiscard]] bool is_near_a_gpu(const RdmaDevice& device) const {
    return device.pci && std::ranges::any_of(gpus_, [&device](const PciFunction* gpu) {
             return distance(*gpu, *device.pci) <= PciDistance::kPxb;
           });
  }

  // BlueField is sold as a card for GPUs as well: only where the others suffice it is none of them.
  void drop_smart_cards() {
    const auto others = std::ranges::count_if(
        left_, [](const RdmaDevice* device) { return is_one_of(*device, kCompute); });
    if (is_by_distance_ || !fits_gpus(static_cast<size_t>(others))) return;
    drop_if([](const RdmaDevice& device) { return is_one_of(device, kBlueField); },
            "it is a BlueField card, which serves the node's own network");
  }

  [[nodiscard]] bool fits_gpus(size_t count) const {
    return count > 0 && gpu_count_ > 0 && (count % gpu_count_ == 0 || gpu_count_ % count == 0);
  }

  // Those that are below a switch with a GPU, if most GPUs have one: a device that is away must not
  // bring the storage's back.
  void drop_far() {
    std::set<const RdmaDevice*> near;
    size_t served = 0;
    for (const PciFunction* gpu : gpus_) {
      const auto best = nearest(*gpu);
      if (!best || *best > PciDistance::kPxb) continue;
      ++served;
      for (const RdmaDevice* device : left_) {
        if (device->pci && distance(*gpu, *device->pci) == *best) near.insert(device);
      }
    }
    is_by_distance_ = served > 0 && 2 * served >= gpu_count_;
    if (!is_by_distance_) return;
    drop_if([&near](const RdmaDevice& device) { return !near.contains(&device); },
            "no GPU is near it (below the same PCI switch)");
  }

  [[nodiscard]] std::optional<PciDistance> nearest(const PciFunction& gpu) const {
    std::optional<PciDistance> best;
    for (const RdmaDevice* device : left_) {
      if (!device->pci) continue;
      const PciDistance one = distance(gpu, *device->pci);
      if (!best || one < *best) best = one;
    }
    return best;
  }

  // Of those that are near a GPU a slow one is broken, and the GPU has no other.
  void drop_slow() {
    if (is_by_distance_) return;
    std::map<double, size_t> counts;
    for (const RdmaDevice* device : left_) ++counts[rate_of(*device)];
    if (counts.size() < 2) return;
    // Of two that are as frequent the faster one.
    double usual = 0;
    size_t most = 0;
    for (const auto& [gbits, count] : counts) {
      if (count >= most) usual = gbits;
      most = std::max(most, count);
    }
    drop_if([usual](const RdmaDevice& device) { return rate_of(device) < usual; },
            "it is slower than most others");
  }

  void drop_management() {
    const auto is_management = [this](const RdmaDevice& device) {
      return std::ranges::any_of(device.interfaces, [this](const std::string& name) {
        const NetworkInterface* interface = find_interface(machine_.interfaces, name);
        if (interface == nullptr) return false;
        const NetworkInterface* master = find_interface(machine_.interfaces, interface->master);
        return interface->has_default_route || (master != nullptr && master->has_default_route);
      });
    };
    const auto others = std::ranges::count_if(
        left_, [&is_management](const RdmaDevice* device) { return !is_management(*device); });
    if (!fits_gpus(static_cast<size_t>(others))) return;
    drop_if(is_management, "its interface is the node's own, with the default route");
  }

  void finish(bool any_visible) {
    std::ranges::sort(choice_.dropped, natural_less, &DroppedDevice::name);
    choice_.must_be_listed = left_.size() < taken_.size() && !left_.empty();
    choice_.none_usable = any_visible && left_.empty();
    const bool uniform = std::ranges::all_of(left_, [this](const RdmaDevice* device) {
      return rate_of(*device) == rate_of(*left_.front());
    });
    choice_.is_certain = fits_gpus(left_.size()) && uniform;
    choice_.used = std::move(left_);
  }

  const Machine& machine_;
  std::vector<const PciFunction*> gpus_;
  size_t gpu_count_ = 0;
  bool is_by_distance_ = false;
  Devices taken_;  // by NCCL, if nobody tells it
  Devices left_;
  HcaChoice choice_;
};

}  // namespace

const RdmaPort* active_port(const RdmaDevice& device) {
  const auto found = std::ranges::find_if(device.ports, [](const RdmaPort& port) {
    return port.is_active() && port.link_layer != LinkLayer::kUnspecified;
  });
  return found == device.ports.end() ? nullptr : &*found;
}

HcaChoice choose_hcas(const Machine& machine) { return Chooser(machine).choose(); }

std::string names_of(const std::vector<const RdmaDevice*>& devices) {
  std::vector<std::string> names;
  names.reserve(devices.size());
  for (const RdmaDevice* device : devices) names.push_back(device->name);
  return join(names, ",");
}

}  // namespace muster::nccl
