// Scripts are whatever users write: a launcher that is found in one is named there, but for the
// shell's backslashes, and is a launcher.
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "base/text.h"
#include "mpi/launch/implementation.h"
#include "mpi/launch/launcher_call.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace muster::mpi;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto found = find_launcher_call(text);
  if (found) MUSTER_CHECK(is_launcher_name(muster::base_name(*found)));
  (void)is_shell_script(text);
  const ShellCommand command =
      parse_shell_command({"sh", "-c", std::string(text), std::string(text)});
  MUSTER_CHECK(command.text == text || command.text.empty());
  return 0;
}
