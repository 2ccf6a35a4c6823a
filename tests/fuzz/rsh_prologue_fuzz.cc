// Who may call an agent writes the command: what is taken off its beginning has names and values
// within their limits, what is left is a part of it.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "launcher/rsh/rsh_prologue.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace muster;
  const std::string_view command(reinterpret_cast<const char*>(data), size);
  Environment environment;
  environment.set("A", "b");
  const launcher::RshPrologue prologue = launcher::read_prologue(command, environment);
  MUSTER_CHECK(prologue.variables.size() <= launcher::kMaxPrologueStatements);
  for (const auto& [name, value] : prologue.variables) {
    MUSTER_CHECK(!name.empty() && name.find('=') == std::string::npos);
    MUSTER_CHECK(value.size() <= launcher::kMaxPrologueValueBytes);
  }
  MUSTER_CHECK(command.find(prologue.program) != std::string_view::npos);
  return 0;
}
