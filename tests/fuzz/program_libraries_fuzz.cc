// A program is whatever a user calls: names come from within its bytes, whatever these are.
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "mpi/launch/program_libraries.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view image(reinterpret_cast<const char*>(data), size);
  for (const std::string& name : muster::mpi::needed_libraries(image))
    MUSTER_CHECK(image.find(name) != std::string_view::npos);
  return 0;
}
