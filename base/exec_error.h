// Why the kernel says that a program does not exist which does: what must run it is missing. Pure.
#pragma once

#include <string>
#include <string_view>

namespace muster {

/// Read of a program that could not be executed; the kernel looks at as much (BINPRM_BUF_SIZE).
inline constexpr size_t kProgramHeadBytes = 256;

/// For an exec that failed with ENOENT although the file is there; `head`: its first bytes. "its
/// interpreter '/usr/bin/pythonX' does not exist", or of a binary its dynamic loader; "" = neither.
[[nodiscard]] std::string missing_interpreter(std::string_view head);

}  // namespace muster
