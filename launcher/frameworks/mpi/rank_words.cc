#include "launcher/frameworks/mpi/rank_words.h"

#include <algorithm>

#include "base/text.h"
#include "mpi/launch/launcher_words.h"
#include "mpi/rank/rank_variables.h"

namespace muster::launcher {

namespace {

constexpr std::string_view kOwnName = "muster";
constexpr size_t kMaxScriptBytes = 64U << 10;

}  // namespace

bool is_script(const Files& files, const std::string& path) {
  const auto text = files.read(path, kMaxScriptBytes);  // programs are larger, or do not say so
  return text && text->starts_with("#!");
}

Result<std::vector<ProgramWord>> program_words(const Files& files, const FoundLauncher& launcher,
                                               const WorkerCommand& command) {
  if (is_script(files, launcher.path))
    return Error{Code::kUsage, 0, "'" + launcher.path + "' is a script"};
  const auto& words = command.words;
  const auto is_watched = [&words](size_t word) {
    return base_name(words[word]) == kOwnName && word + 1 < words.size() &&
           words[word + 1] == kRankVerb;
  };
  std::vector<ProgramWord> programs;
  const auto found = mpi::find_program_words(launcher.kind, words);
  if (found) {
    for (const size_t word : *found) programs.push_back({word, is_watched(word)});
    return programs;
  }
  // Of words that are not understood the user may have put it before each program.
  for (size_t i = 0; i < words.size(); ++i) {
    if (is_watched(i)) programs.push_back({i, true});
  }
  if (programs.size() == static_cast<size_t>(std::ranges::count(words, ":")) + 1) return programs;
  return Error(found.error());
}

void put_rank_words(const std::string& muster, const std::vector<ProgramWord>& programs,
                    std::vector<std::string>& words, pid_t launcher) {
  std::vector<std::string> flags;
  if (launcher != 0)
    flags.push_back(std::string(mpi::kRankLauncherFlag) + std::to_string(launcher));
  std::vector<std::string> rank = {muster, std::string(kRankVerb)};
  rank.insert(rank.end(), flags.begin(), flags.end());
  rank.emplace_back("--");
  // From the last one on: those before keep their place.
  for (auto program = programs.rbegin(); program != programs.rend(); ++program) {
    const auto at = words.begin() + static_cast<std::ptrdiff_t>(program->at);
    if (program->watched) {
      words.insert(at + 2, flags.begin(), flags.end());
    } else {
      words.insert(at, rank.begin(), rank.end());
    }
  }
}

void name_for_rank(const Files& files, const FoundLauncher& launcher,
                   const std::vector<ProgramWord>& programs, std::vector<std::string>& words,
                   std::string_view search_path) {
  if (launcher.kind.implementation != mpi::Implementation::kOpenMpi) return;
  for (const ProgramWord& word : programs) {
    std::string& program = words[word.at];
    if (word.watched || program.find('/') != std::string::npos) continue;
    if (!find_program(files, program, search_path)) program.insert(0, "./");
  }
}

}  // namespace muster::launcher
