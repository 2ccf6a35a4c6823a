// The remote shell's command line comes from whatever starts it: what is accepted has a host and a
// command within their limits, and the command's words come out as they went in.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/text.h"
#include "mpi/launch/rsh_command_line.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace muster;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<std::string> words;
  for (const std::string_view word : split(text, '\n')) words.emplace_back(word);
  const auto line = mpi::parse_rsh_command_line(words);
  if (!line) {
    MUSTER_CHECK(line.error().code == Code::kUsage || line.error().code == Code::kLimit);
    return 0;
  }
  MUSTER_CHECK(!line->host.empty() && line->host.size() <= mpi::kMaxRshHostBytes);
  MUSTER_CHECK(line->user.size() <= mpi::kMaxRshUserBytes);
  MUSTER_CHECK(line->command.size() <= mpi::kMaxRshCommandBytes);
  MUSTER_CHECK(join(words, " ").ends_with(line->command));
  return 0;
}
