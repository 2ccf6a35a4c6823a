// The words of somebody's own mpirun: what is found is one of them, behind options alone, and
// nothing is read beyond the last.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/text.h"
#include "mpi/launcher_words.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace muster;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<std::string> words;
  for (const std::string_view word : split(text, '\n')) words.emplace_back(word);
  constexpr mpi::Launcher kLaunchers[] = {{mpi::Implementation::kOpenMpi, 4},
                                          {mpi::Implementation::kOpenMpi, 5},
                                          {mpi::Implementation::kMpich},
                                          {mpi::Implementation::kIntelMpi}};
  for (const mpi::Launcher& launcher : kLaunchers) {
    const auto at = mpi::find_program_word(launcher, words);
    if (!at) {
      MUSTER_CHECK(at.error().code == Code::kUsage && !at.error().text.empty());
      continue;
    }
    MUSTER_CHECK(*at > 0 && *at < words.size() && *at <= mpi::kMaxLauncherWords + 3);
    MUSTER_CHECK(words[*at] != ":" && !words[*at].empty());
  }
  return 0;
}
