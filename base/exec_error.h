// Why the kernel refuses a program that is there: what must run it is missing or not named. Pure.
#pragma once

#include <string>
#include <string_view>

namespace muster {

/// Read of a program that could not be executed; the kernel looks at as much (BINPRM_BUF_SIZE).
inline constexpr size_t kProgramHeadBytes = 256;

/// For an exec that failed although the file is there; `head`: its first bytes. Of ENOENT: "its
/// interpreter '/usr/bin/pythonX' does not exist", or of a binary its dynamic loader. Of ENOEXEC:
/// "it has no #! line that names its interpreter", or that it was built for another kind of
/// machine. "" = the bytes do not tell.
[[nodiscard]] std::string why_not_executed(int os_errno, std::string_view head);

}  // namespace muster
