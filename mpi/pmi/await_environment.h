// The inner verb `muster await FD PROGRAM ARGV…`: a rank whose variables are not known yet when it
// is started. It waits for them on an inherited socket and becomes its program, in the same
// process, so that its parent sees nothing of it.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "base/environment.h"
#include "base/result.h"

namespace muster::mpi {

inline constexpr std::string_view kAwaitVerb = "await";
/// Of all variables together.
inline constexpr size_t kMaxAwaitedBytes = 64U << 10;

/// argv for it: `program` is a path, `arguments` its argv.
[[nodiscard]] std::vector<std::string> await_words(int fd, const std::string& program,
                                                   const std::vector<std::string>& arguments);

/// "NAME=value" strings as bytes on the socket, and back. kProtocol: an entry without '=' or one
/// that is cut off. kPeer: nothing at all, because who should have said it is gone.
[[nodiscard]] std::string environment_text(const std::vector<std::string>& variables);
Result<std::vector<std::string>> parse_environment_text(std::string_view text);

/// `words` follow the verb. Comes back only with an exit code: 126 or 127 when the program cannot
/// be executed, 69 when no variables came, 64 for words that mean nothing. For a process that has
/// changed nothing of what it inherited.
int run_await_verb(const std::vector<std::string>& words, const Environment& environment,
                   std::FILE* errors);

}  // namespace muster::mpi
