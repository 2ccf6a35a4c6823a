#include "nccl/probe/nccl_facts.h"

#include <array>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/text.h"
#include "nccl/probe/deadline.h"
#include "nccl/probe/own_interface.h"
#include "nccl/probe/shared_library.h"
#include "nccl/probe/unique_id.h"

namespace muster::probe {
namespace {

using nlohmann::json;

constexpr int kSuccess = 0;  // ncclSuccess, CUDA_SUCCESS
constexpr int kFirstOfNewForm = 20'000;

using UniqueId = std::array<std::byte, kUniqueIdBytes>;

std::string words(const SharedLibrary& library, int code) {
  std::string text = "code " + std::to_string(code);
  const char* (*describe)(int) = nullptr;
  if (library.find("ncclGetErrorString", describe)) text += ", " + one_line(describe(code));
  const char* (*last)(void*) = nullptr;  // since 2.13
  if (!library.find("ncclGetLastError", last)) return text;
  const char* more = last(nullptr);
  return more == nullptr || *more == '\0' ? text : text + ": " + one_line(more);
}

// Makes NCCL open its listener, which it does not tell in words.
json bootstrap(const SharedLibrary& library) {
  int (*get_unique_id)(UniqueId*) = nullptr;
  if (!library.find("ncclGetUniqueId", get_unique_id)) return {{"problem", "no ncclGetUniqueId"}};
  UniqueId id{};
  note_step("NCCL, which chooses an interface");
  if (const int code = get_unique_id(&id); code != kSuccess)
    return {{"problem", words(library, code)}};
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
  std::vector<std::string> names{"libnccl.so.2", "librccl.so.1"};
  if (const auto path = environment.get(kNcclVariable); path && !path->empty())
    names = {std::string(*path)};
  note_step("loading NCCL");
  const auto library = SharedLibrary::load(names);
  if (!library) return {{"nccl", {{"absent", library.error().text}}}};
  json facts = {{"path", library->path()}, {"version", nullptr}};
  int (*get_version)(int*) = nullptr;
  int version = 0;
  if (library->find("ncclGetVersion", get_version) && get_version(&version) == kSuccess)
    facts["version"] = nccl_version(version);
  facts["bootstrap"] = bootstrap(*library);
  return {{"nccl", facts}};
}

json all_reduce_facts() {
  note_step("loading CUDA's driver");
  const auto library = SharedLibrary::load(std::array<std::string, 1>{"libcuda.so.1"});
  if (!library) return {{"cuda", {{"absent", library.error().text}}}};
  json cuda = {{"path", library->path()}, {"version", nullptr}, {"devices", nullptr}};
  int (*initialize)(unsigned) = nullptr;
  int (*get_version)(int*) = nullptr;
  int (*get_count)(int*) = nullptr;
  int number = 0;
  if (library->find("cuDriverGetVersion", get_version) && get_version(&number) == kSuccess)
    cuda["version"] = std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
  note_step("CUDA's driver");
  if (library->find("cuInit", initialize) && initialize(0) == kSuccess &&
      library->find("cuDeviceGetCount", get_count) && get_count(&number) == kSuccess)
    cuda["devices"] = number;
  return {{"cuda", cuda}, {"allreduce", {{"skipped", "this version does not measure it"}}}};
}

}  // namespace muster::probe
