#include "base/exec_error.h"

#include "base/text.h"

namespace muster {

std::string missing_interpreter(std::string_view head) {
  if (head.starts_with("\x7f"
                       "ELF"))
    return "its dynamic loader does not exist here: it was built for another C library";
  if (!head.starts_with("#!")) return "";
  const std::string_view line = trim(head.substr(2, head.find('\n') - 2));
  const std::string_view name = line.substr(0, line.find_first_of(" \t"));
  return "its interpreter '" + printable_utf8(std::string(name)) + "' does not exist";
}

}  // namespace muster
