#include "nccl/probe/fabric_library.h"

#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "base/text.h"
#include "nccl/probe/deadline.h"

namespace muster::probe {
namespace {

using nlohmann::json;

// Those that a training job uses. ofi_rxm and its kin, which add messages to one of them, come by
// themselves.
constexpr const char* kProviders = "efa,verbs,cxi,tcp,shm,net";

std::vector<std::string> candidates(const Environment& environment) {
  if (const auto path = environment.get(kFabricVariable); path && !path->empty())
    return {std::string(*path)};
  // EFA's installer brings a newer one than the distribution, and jobs use that.
  return {"/opt/amazon/efa/lib/libfabric.so.1", "/opt/amazon/efa/lib64/libfabric.so.1",
          "libfabric.so.1"};
}

std::string text_of(const char* text) { return text == nullptr ? "" : one_line(text); }

std::optional<std::string> pci_of(const fid_nic* nic) {
  if (nic == nullptr || nic->bus_attr == nullptr || nic->bus_attr->bus_type != FI_BUS_PCI)
    return {};
  const fi_pci_attr& pci = nic->bus_attr->attr.pci;
  std::array<char, 32> text{};
  (void)std::snprintf(text.data(), text.size(), "%04x:%02x:%02x.%x", pci.domain_id, pci.bus_id,
                      pci.device_id, pci.function_id);
  return text.data();
}

FabricDevice device_of(const fi_info& info) {
  FabricDevice device{.provider = text_of(info.fabric_attr->prov_name),
                      .domain = text_of(info.domain_attr->name),
                      .fabric = text_of(info.fabric_attr->name)};
  const fid_nic* nic = info.nic;
  if (nic != nullptr && nic->link_attr != nullptr && nic->link_attr->speed > 0)
    device.speed_bits_per_s = nic->link_attr->speed;
  device.pci = pci_of(nic);
  return device;
}

template <typename T>
json or_null(const std::optional<T>& value) {
  return value ? json(*value) : json(nullptr);
}

}  // namespace

Result<FabricLibrary> FabricLibrary::load(const Environment& environment,
                                          const std::string& providers,
                                          const std::string& interface) {
  std::vector<std::pair<std::string, std::string>> variables{{"FI_PROVIDER", providers}};
  // 1.17 knows no level without warnings, so the parts that log are named: none.
  if (!environment.has_any("FI_LOG_")) variables.emplace_back("FI_LOG_SUBSYS", "none");
  // In 1.17 the providers over TCP ignore the domain that is asked for, so this is the only way.
  if (!interface.empty()) {
    for (const char* name : {"FI_TCP_IFACE", "FI_NET_IFACE", "FI_SOCKETS_IFACE"})
      variables.emplace_back(name, interface);
  }
  auto library = SharedLibrary::load(candidates(environment), variables);
  if (!library) return std::move(library).error();
  FabricLibrary loaded(*library);
  Functions& found = loaded.functions_;
  const bool complete = loaded.library_.find("fi_getinfo", found.getinfo) &&
                        loaded.library_.find("fi_freeinfo", found.freeinfo) &&
                        loaded.library_.find("fi_dupinfo", found.dupinfo) &&
                        loaded.library_.find("fi_fabric", found.fabric) &&
                        loaded.library_.find("fi_version", found.version) &&
                        loaded.library_.find("fi_strerror", found.strerror);
  if (complete) return loaded;
  return Error{Code::kConfig, 0, loaded.path() + " has not all functions of libfabric"};
}

// fi_allocinfo() is this.
FabricLibrary::InfoList FabricLibrary::make_hints() const {
  return {functions_.dupinfo(nullptr), Free{functions_.freeinfo}};
}

Result<FabricLibrary::InfoList> FabricLibrary::find(const fi_info* hints) const {
  fi_info* found = nullptr;
  const int code = functions_.getinfo(FI_VERSION(1, 17), nullptr, nullptr, 0, hints, &found);
  if (code == 0 || code == -FI_ENODATA) return InfoList(found, Free{functions_.freeinfo});
  return error("fi_getinfo", code);
}

Result<fid_fabric*> FabricLibrary::open_fabric(fi_fabric_attr* attributes) const {
  fid_fabric* fabric = nullptr;
  if (const int code = functions_.fabric(attributes, &fabric, nullptr); code != 0)
    return error("fi_fabric", code);
  return fabric;
}

std::string FabricLibrary::version() const {
  const uint32_t version = functions_.version();
  return std::to_string(FI_MAJOR(version)) + "." + std::to_string(FI_MINOR(version));
}

Error FabricLibrary::error(const std::string& call, long code) const {
  return {Code::kPeer, 0,
          call + ": " + text_of(functions_.strerror(static_cast<int>(code < 0 ? -code : code)))};
}

json fabric_facts(const Environment& environment) {
  note_step("loading libfabric");
  const auto library = FabricLibrary::load(environment, kProviders, "");
  if (!library) return {{"libfabric", {{"absent", library.error().text}}}};
  json facts = {{"version", library->version()}, {"path", library->path()}};
  note_step("libfabric, which looks for devices");
  const auto found = library->find(nullptr);
  if (!found) {
    facts["problem"] = found.error().text;
    return {{"libfabric", facts}};
  }
  std::vector<FabricDevice> devices;
  for (const fi_info* info = found->get(); info != nullptr; info = info->next)
    devices.push_back(device_of(*info));
  facts["providers"] = json::array();
  for (const FabricDevice& device : without_repetition(std::move(devices))) {
    facts["providers"].push_back({{"provider", device.provider},
                                  {"domain", device.domain},
                                  {"fabric", device.fabric},
                                  {"speed_bits_per_s", or_null(device.speed_bits_per_s)},
                                  {"pci", or_null(device.pci)}});
  }
  return {{"libfabric", facts}};
}

}  // namespace muster::probe
