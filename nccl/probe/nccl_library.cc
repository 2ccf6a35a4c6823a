#include "nccl/probe/nccl_library.h"

#include <vector>

#include "base/text.h"
#include "nccl/probe/deadline.h"

namespace muster::probe {

Result<NcclLibrary> NcclLibrary::load(const Environment& environment) {
  std::vector<std::string> names{"libnccl.so.2", "librccl.so.1"};
  if (const auto path = environment.get(kNcclVariable); path && !path->empty())
    names = {std::string(*path)};
  note_step("loading NCCL");
  const auto library = SharedLibrary::load(names);
  if (!library) return Error(library.error());
  return NcclLibrary(*library);
}

Error NcclLibrary::failure(const char* name, int code) const {
  std::string text = std::string(name) + ": code " + std::to_string(code);
  const char* (*describe)(int) = nullptr;
  if (library_.find("ncclGetErrorString", describe)) text += ", " + one_line(describe(code));
  const char* (*last)(void*) = nullptr;  // since 2.13
  const char* more = library_.find("ncclGetLastError", last) ? last(nullptr) : nullptr;
  if (more != nullptr && *more != '\0') text += ": " + one_line(more);
  return {Code::kPeer, 0, text};
}

}  // namespace muster::probe
