#include "nccl/probe/cuda_driver.h"

#include <array>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "nccl/probe/deadline.h"

namespace muster::probe {
namespace {

using nlohmann::json;

constexpr unsigned kNonBlocking = 1;  // CU_STREAM_NON_BLOCKING

}  // namespace

template <typename... Arguments>
Status CudaDriver::call(const char* name, Arguments... arguments) const {
  int (*function)(Arguments...) = nullptr;
  if (!library_.find(name, function)) return Error{Code::kPeer, 0, "no " + std::string(name)};
  const int code = function(arguments...);
  if (code == 0) return {};
  std::string text = std::string(name) + ": code " + std::to_string(code);
  int (*describe)(int, const char**) = nullptr;
  const char* words = nullptr;
  if (library_.find("cuGetErrorString", describe) && describe(code, &words) == 0 &&
      words != nullptr)
    text += " (" + one_line(words) + ")";
  return Error{Code::kPeer, 0, text};
}

Result<CudaDriver> CudaDriver::load() {
  note_step("loading CUDA's driver");
  const auto library = SharedLibrary::load(std::array<std::string, 1>{"libcuda.so.1"});
  if (!library) return Error(library.error());
  CudaDriver driver(*library);
  note_step("CUDA's driver, which looks for GPUs");
  int count = 0;
  if (driver.call("cuInit", 0U) && driver.call("cuDeviceGetCount", &count)) driver.devices_ = count;
  return driver;
}

json CudaDriver::facts() const {
  json facts = {{"path", library_.path()}, {"version", nullptr}, {"devices", devices_}};
  int version = 0;
  if (call("cuDriverGetVersion", &version))
    facts["version"] = std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
  return facts;
}

Status CudaDriver::use_device(int index) const {
  int device = 0;
  void* context = nullptr;
  MUSTER_RETURN_IF_ERROR(call("cuDeviceGet", &device, index));
  MUSTER_RETURN_IF_ERROR(call("cuDevicePrimaryCtxRetain", &context, device));
  return call("cuCtxSetCurrent", context);
}

Result<CudaDriver::Memory> CudaDriver::allocate(size_t bytes) const {
  Memory memory = 0;
  MUSTER_RETURN_IF_ERROR(call("cuMemAlloc_v2", &memory, bytes));
  return memory;
}

Status CudaDriver::fill(Memory memory, uint32_t value, size_t words) const {
  return call("cuMemsetD32_v2", memory, value, words);
}

Result<uint32_t> CudaDriver::read(Memory memory) const {
  uint32_t value = 0;
  MUSTER_RETURN_IF_ERROR(call("cuMemcpyDtoH_v2", static_cast<void*>(&value), memory, sizeof value));
  return value;
}

Result<void*> CudaDriver::make_stream() const {
  void* stream = nullptr;
  MUSTER_RETURN_IF_ERROR(call("cuStreamCreate", &stream, kNonBlocking));
  return stream;
}

Status CudaDriver::finish(void* stream) const { return call("cuStreamSynchronize", stream); }

}  // namespace muster::probe
