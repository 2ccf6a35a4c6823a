#include "base/exec_error.h"

#include <cerrno>

#include "base/text.h"

namespace muster {

namespace {

constexpr std::string_view kElf =
    "\x7f"
    "ELF";
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

std::string missing_interpreter(std::string_view head) {
  if (head.starts_with(kElf))
    return "its dynamic loader does not exist here: it was built for another C library";
  if (!head.starts_with("#!")) return "";
  const std::string_view whole = head.substr(2, head.find('\n') - 2);
  const std::string_view line = trim(whole);
  const std::string_view name = line.substr(0, line.find_first_of(" \t"));
  if (whole.ends_with('\r'))
    return "its lines end as on Windows, in CR LF: no interpreter is named '" + one_line(name) +
           "\\r'";
  return "its interpreter '" + one_line(name) + "' does not exist";
}

std::string wrong_format(std::string_view head) {
  if (head.empty()) return "it is empty";
  if (head.starts_with(kElf)) return "it was built for another kind of machine";
  if (head.starts_with(kByteOrderMark)) return "a byte order mark stands where its #! must be";
  return "it has no #! line that names its interpreter";
}

}  // namespace

std::string why_not_executed(int os_errno, std::string_view head) {
  if (os_errno == ENOENT) return missing_interpreter(head);
  return os_errno == ENOEXEC ? wrong_format(head) : "";
}

}  // namespace muster
