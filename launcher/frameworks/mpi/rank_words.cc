#include "launcher/frameworks/mpi/rank_words.h"

#include <algorithm>

#include "base/text.h"
#include "mpi/launch/launcher_words.h"
#include "mpi/launch/rank_agent.h"
#include "mpi/rank/rank_variables.h"

namespace muster::launcher {

namespace {

constexpr std::string_view kOwnName = "muster";
constexpr size_t kMaxScriptBytes = 64U << 10;

RankWatch unwatched(std::string problem) {
  RankWatch watch;
  watch.problem = std::move(problem);
  return watch;
}

}  // namespace

bool is_script(const Files& files, const std::string& path) {
  const auto text = files.read(path, kMaxScriptBytes);  // programs are larger, or do not say so
  return text && text->starts_with("#!");
}

size_t launcher_options(const Files& files, const std::vector<std::string>& words,
                        std::string_view search_path) {
  // Open MPI takes a program that is not on PATH from the working directory.
  const auto is_program = [&](const std::string& word) {
    return find_program(files, word, search_path) || find_program(files, "./" + word, search_path);
  };
  size_t at = 1;
  while (at < words.size() && (words[at].starts_with('-') || !is_program(words[at]))) ++at;
  return at;
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
  const auto found = mpi::find_program_words(words);
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

RankWatch own_rank_watch(mpi::Implementation implementation) {
  RankWatch watch;
  watch.by_variable = mpi::has_rank_agent(implementation);
  return watch;
}

RankWatch find_rank_watch(const Files& files, const FoundLauncher& launcher,
                          const WorkerCommand& command, std::string_view search_path) {
  RankWatch watch;
  watch.options = launcher_options(files, command.words, search_path);
  if (!mpi::has_rank_agent(launcher.kind.implementation)) {
    auto programs = program_words(files, launcher, command);
    if (!programs) return unwatched(programs.error().text);
    watch.programs = std::move(*programs);
    return watch;
  }
  const std::string_view other = mpi::word_without_agent(watch.options, command.words);
  if (!other.empty())
    return unwatched("with '" + std::string(other) + "' it starts ranks in another way, or none");
  watch.by_variable = true;
  return watch;
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

}  // namespace muster::launcher
