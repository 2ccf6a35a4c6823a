// NcclLibrary: the image's NCCL or RCCL. Declared by hand from nccl.h: functions that have had this
// form since 2.4.
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "base/environment.h"
#include "base/result.h"
#include "nccl/probe/shared_library.h"
#include "nccl/probe/unique_id.h"

namespace muster::probe {

/// Names the file to load instead of what the dynamic linker finds, as
/// ".../site-packages/nvidia/nccl/lib/libnccl.so.2": only Python knows which of its folders a job
/// will use.
inline constexpr const char* kNcclVariable = "MUSTER_PROBE_NCCL";

class NcclLibrary {
 public:
  /// ncclUniqueId; in calls it is passed by value, as the C structure is.
  using UniqueId = std::array<std::byte, kUniqueIdBytes>;

  /// kConfig: none.
  static Result<NcclLibrary> load(const Environment& environment);

  [[nodiscard]] std::string path() const { return library_.path(); }
  /// Calls the function of that name. kPeer: there is none, or it fails, with NCCL's words.
  template <typename... Arguments>
  [[nodiscard]] Status call(const char* name, Arguments... arguments) const {
    int (*function)(Arguments...) = nullptr;
    if (!library_.find(name, function)) return Error{Code::kPeer, 0, "no " + std::string(name)};
    const int code = function(arguments...);
    if (code == 0) return {};
    return failure(name, code);
  }

 private:
  explicit NcclLibrary(const SharedLibrary& library) : library_(library) {}
  [[nodiscard]] Error failure(const char* name, int code) const;

  SharedLibrary library_;
};

}  // namespace muster::probe
