// CudaDriver: the few functions of libcuda.so.1 that an all-reduce needs. Declared by hand from
// cuda.h: the names with _v2 have had this form since CUDA 3.2.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/result.h"
#include "nccl/probe/shared_library.h"

namespace muster::probe {

class CudaDriver {
 public:
  using Memory = uint64_t;  ///< CUdeviceptr

  /// kConfig: none, or not what it should be.
  static Result<CudaDriver> load();

  /// {"path", "version", "devices"}; null is what it does not tell.
  [[nodiscard]] nlohmann::json facts() const;
  /// After cuInit; 0 also if that fails.
  [[nodiscard]] int device_count() const { return devices_; }
  /// Makes the GPU of that index the current one of this thread, in the context that NCCL uses,
  /// too. kPeer, as all that follow.
  [[nodiscard]] Status use_device(int index) const;
  /// Never freed: the process ends soon.
  [[nodiscard]] Result<Memory> allocate(size_t bytes) const;
  /// Every 32-bit word of it.
  [[nodiscard]] Status fill(Memory memory, uint32_t value, size_t words) const;
  [[nodiscard]] Result<uint32_t> read(Memory memory) const;
  [[nodiscard]] Result<void*> make_stream() const;
  /// Waits until all that was given to the stream is done; null = what was given to none.
  [[nodiscard]] Status finish(void* stream) const;

 private:
  explicit CudaDriver(const SharedLibrary& library) : library_(library) {}
  /// Calls the function of that name, which may be missing.
  template <typename... Arguments>
  [[nodiscard]] Status call(const char* name, Arguments... arguments) const;

  SharedLibrary library_;
  int devices_ = 0;
};

}  // namespace muster::probe
