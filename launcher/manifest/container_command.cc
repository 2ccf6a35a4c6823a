#include "launcher/manifest/container_command.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "launcher/manifest/place_words.h"
#include "launcher/options/entry_kind.h"
#include "launcher/options/inner_launcher.h"
#include "mpi/launch/implementation.h"

namespace muster::launcher {

namespace {

std::string escaped(std::string_view word) {
  std::string text;
  while (!word.empty()) {
    const size_t length = std::max<size_t>(leading_address_name(word), 1);
    if (length == 1 && word.front() == '$') text += '$';
    text += word.substr(0, length);
    word.remove_prefix(length);
  }
  return text;
}

void escape(std::vector<std::string>& words) {
  std::ranges::transform(words, words.begin(), escaped);
}

// An MPI's own launcher runs, and its words are handed on as they are.
bool starts_mpi(const Workload& workload, const RawFlags& raw) {
  const GivenValue* const framework = raw.find(flag::kFramework);
  return is_of_mpi(workload) || (framework != nullptr && framework->text == "mpi") ||
         mpi::is_launcher_name(base_name(raw.program.value_or("")));
}

// Muster's own words end where another launcher's may begin.
void strip_places(RawFlags& raw) {
  std::vector<std::string> words = {*raw.program};
  words.insert(words.end(), raw.arguments.begin(), raw.arguments.end());
  words = without_places(words);
  raw.arguments.assign(words.begin() + 1, words.end());
}

Environment environment_of(const Replica& replica) {
  Environment environment;
  for (const auto& [name, value] : replica.environment) environment.set(name, value);
  return environment;
}

std::vector<std::string> container_words(const Replica& replica) {
  if (replica.has_command || replica.words.empty()) return replica.words;
  std::vector<std::string> words{"muster", "run", "--"};
  words.insert(words.end(), replica.words.begin(), replica.words.end());
  return words;
}

}  // namespace

Result<RawFlags> read_container_command(const Workload& workload, const Replica& replica,
                                        const std::string& nodes) {
  RawFlags raw;
  std::vector<std::string> words = container_words(replica);
  const NamedValue size{"NUM_NODES", nodes};  // as the job begins
  for (std::string& word : words) word = with_values(word, {&size, 1});
  if (words.empty()) return raw;
  const bool names_rank_0 = std::ranges::any_of(words, names_address);
  raw.program = words.front();
  raw.arguments.assign(words.begin() + 1, words.end());
  const Environment environment = environment_of(replica);
  bool substitutes = false;  // Muster does as the launcher would, in the words of its program
  for (int depth = 0; raw.program && depth < kMaxInnerLaunchers; ++depth) {
    strip_places(raw);
    auto inner = find_inner_launcher(entry_kind(raw), *raw.program, raw.arguments);
    if (!inner || (inner->foreign && starts_mpi(workload, raw))) break;
    if (inner->foreign && !substitutes) {  // before it adds words of ours
      escape(raw.arguments);
      inner = find_inner_launcher(entry_kind(raw), *raw.program, raw.arguments);
    }
    substitutes = true;
    raw.given.try_emplace(flag::kNnodes, GivenValue{nodes, SourceKind::kContract, ""});
    auto merged = take_over(raw, *inner, environment);
    if (!merged) return std::move(merged).error().with_context(replica.path);
    std::ranges::move(raw.warnings, std::back_inserter(merged->warnings));
    raw = *std::move(merged);
    if (inner->name != kMusterRun) break;
  }
  if (raw.program && !substitutes && !starts_mpi(workload, raw)) escape(raw.arguments);
  raw.manifest.names_address = names_rank_0;
  return raw;
}

}  // namespace muster::launcher
