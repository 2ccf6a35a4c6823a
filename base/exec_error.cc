#include "base/exec_error.h"

#include "base/text.h"

namespace muster {

std::string missing_interpreter(std::string_view head) {
  if (head.starts_with("\x7f"
                       "ELF"))
    return "its dynamic loader does not exist here: it was built for another C library";
  if (!head.starts_with("#!")) return "";
  const std::string_view whole = head.substr(2, head.find('\n') - 2);
  const std::string_view line = trim(whole);
  const std::string_view name = line.substr(0, line.find_first_of(" \t"));
  if (whole.ends_with('\r'))
    return "its lines end as on Windows, in CR LF: no interpreter is named '" +
           printable_utf8(std::string(name)) + "\\r'";
  return "its interpreter '" + printable_utf8(std::string(name)) + "' does not exist";
}

}  // namespace muster
