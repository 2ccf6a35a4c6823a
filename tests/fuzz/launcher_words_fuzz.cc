// The words of somebody's own mpiexec: what is found is one of them for each ":", behind options
// alone, and nothing is read beyond the last.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/text.h"
#include "mpi/launch/launcher_words.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace muster;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<std::string> words;
  for (const std::string_view word : split(text, '\n')) words.emplace_back(word);
  const auto programs = mpi::find_program_words(words);
  if (!programs) {
    MUSTER_CHECK(programs.error().code == Code::kUsage && !programs.error().text.empty());
    return 0;
  }
  size_t begin = 1;
  for (const size_t at : *programs) {
    MUSTER_CHECK(at >= begin && at < words.size() && at - begin <= mpi::kMaxLauncherWords + 2);
    MUSTER_CHECK(words[at] != ":" && !words[at].empty());
    while (begin < words.size() && words[begin] != ":") ++begin;
    MUSTER_CHECK(at < begin);
    ++begin;
  }
  MUSTER_CHECK(begin > words.size());
  return 0;
}
