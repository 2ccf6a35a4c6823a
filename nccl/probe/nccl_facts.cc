#include "nccl/probe/nccl_facts.h"

#include <nlohmann/json.hpp>

#include "nccl/probe/deadline.h"
#include "nccl/probe/nccl_library.h"
#include "nccl/probe/own_interface.h"
#include "nccl/probe/unique_id.h"

namespace muster::probe {
namespace {

using nlohmann::json;

constexpr int kFirstOfNewForm = 20'000;

// Makes NCCL open its listener, which it does not tell in words.
json bootstrap(const NcclLibrary& library) {
  NcclLibrary::UniqueId id{};
  note_step("NCCL, which chooses an interface");
  if (const Status made = library.call("ncclGetUniqueId", &id); !made)
    return {{"problem", made.error().text}};
  const auto address = bootstrap_address(id);
  if (!address) return {{"problem", "the unique id has a form that is not known"}};
  const std::string interface = own_interface(address->host);
  return {{"interface", interface.empty() ? json(nullptr) : json(interface)},
          {"address", address->to_string()}};
}

}  // namespace

std::string nccl_version(int code) {
  const int major_unit = code < kFirstOfNewForm ? 1'000 : 10'000;
  return std::to_string(code / major_unit) + "." + std::to_string(code % major_unit / 100) + "." +
         std::to_string(code % 100);
}

json nccl_facts(const Environment& environment) {
  const auto library = NcclLibrary::load(environment);
  if (!library) return {{"nccl", {{"absent", library.error().text}}}};
  json facts = {{"path", library->path()}, {"version", nullptr}};
  int version = 0;
  if (library->call("ncclGetVersion", &version)) facts["version"] = nccl_version(version);
  facts["bootstrap"] = bootstrap(*library);
  return {{"nccl", facts}};
}

}  // namespace muster::probe
