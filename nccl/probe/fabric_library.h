// FabricLibrary: the image's libfabric (libfabric.so.1, of 1.x and 2.x), loaded while the program
// runs. Its headers are those of 1.17; all else goes through tables in what it hands out.
// https://ofiwg.github.io/libfabric/
#pragma once

#include <rdma/fabric.h>

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/environment.h"
#include "base/result.h"
#include "nccl/probe/fabric_summary.h"
#include "nccl/probe/shared_library.h"

namespace muster::probe {

/// Names the file to load, instead of those that EFA's installer and the distribution bring.
inline constexpr const char* kFabricVariable = "MUSTER_PROBE_LIBFABRIC";

class FabricLibrary {
 public:
  struct Free {
    decltype(&fi_freeinfo) function;
    void operator()(fi_info* info) const { function(info); }
  };
  /// A list, of which `next` leads on.
  using InfoList = std::unique_ptr<fi_info, Free>;

  /// `providers`: those that are looked for at all ("efa,tcp"); a probe of another may touch
  /// hardware that is not asked for. `interface`: the one to which providers over TCP are bound, ""
  /// = all. Both are settings of the library, so once per process. kConfig: none, or not what it
  /// should be.
  static Result<FabricLibrary> load(const Environment& environment, const std::string& providers,
                                    const std::string& interface);

  /// An empty one, to be filled with wishes.
  [[nodiscard]] InfoList make_hints() const;
  /// What fits; `hints` null = everything. Nothing is an empty list. kOs: it refused.
  [[nodiscard]] Result<InfoList> find(const fi_info* hints) const;
  Result<fid_fabric*> open_fabric(fi_fabric_attr* attributes) const;

  /// "1.17": the version of the interface that the library knows.
  [[nodiscard]] std::string version() const;
  [[nodiscard]] std::string path() const { return library_.path(); }
  /// `code`: what a call returned, negative. kPeer, with `call` and the library's words.
  [[nodiscard]] Error error(const std::string& call, long code) const;

 private:
  struct Functions {
    decltype(&fi_getinfo) getinfo = nullptr;
    decltype(&fi_freeinfo) freeinfo = nullptr;
    decltype(&fi_dupinfo) dupinfo = nullptr;
    decltype(&fi_fabric) fabric = nullptr;
    decltype(&fi_version) version = nullptr;
    decltype(&fi_strerror) strerror = nullptr;
  };

  explicit FabricLibrary(const SharedLibrary& library) : library_(library) {}

  SharedLibrary library_;
  Functions functions_;
};

/// {"libfabric": {"version", "path", "providers": [{"provider", "domain", "fabric",
/// "speed_bits_per_s", "pci"}]}}; what is not known is null. {"libfabric": {"absent": why}} without
/// the library, {"libfabric": {"version", "path", "problem"}} if it refuses.
nlohmann::json fabric_facts(const Environment& environment);

}  // namespace muster::probe
