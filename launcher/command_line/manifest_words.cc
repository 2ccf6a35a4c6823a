#include "launcher/command_line/manifest_words.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "launcher/contracts/apply_contract.h"
#include "launcher/manifest/place_words.h"

namespace muster::launcher {

namespace {

int node_rank(const RawFlags& raw, const std::optional<Contract>& contract) {
  const GivenValue* const given = raw.find(flag::kNodeRank);
  const std::string text = given != nullptr ? given->text
                           : contract       ? said(*contract, flag::kNodeRank)
                                            : "";
  return static_cast<int>(parse_integer(text).value_or(0));
}

// A '$' of the container's is one for the program, but for the names that are Muster's.
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

std::string said_nodes(const RawFlags& raw, const Workload& workload) {
  if (const GivenValue* const given = raw.find(flag::kNnodes)) return given->text;
  return find_value(workload, flag::kNnodes)->text;  // each has one
}

const Replica& own_replica(const RawFlags& raw, const Workload& workload,
                           const std::optional<Contract>& contract) {
  return replica_of(workload, node_rank(raw, contract));
}

// LOG_LEVEL and LOG_FORMAT are for Muster's own log, too.
void add_variables(RawFlags& raw, const Replica& replica, const std::string& file) {
  const std::string source = file + replica.path + ".env";
  for (const auto& [name, text] : replica.environment) {
    if (name == "LOG_LEVEL") add_value(raw, {flag::kLogLevel, to_lower(text), source});
    if (name == "LOG_FORMAT") add_value(raw, {flag::kLogFormat, to_lower(text), source});
    raw.environment.emplace_back(name, text);
  }
}

void enter_folder(RawFlags& raw, const Replica& replica, const std::string& file,
                  const Files& files) {
  const std::string& folder = replica.working_dir;
  if (folder.empty()) return;
  if (!files.is_directory(folder)) {
    raw.warnings.push_back(file + replica.path + ".workingDir: " + folder +
                           " is not here, so the program runs in the current folder");
    return;
  }
  raw.manifest.working_dir = folder;
  if (!raw.program || raw.program->starts_with('/')) return;
  const std::string program = folder + "/" + *raw.program;
  if (files.exists(program) && !files.is_directory(program)) raw.program = program;
}

}  // namespace

Result<std::optional<Workload>> manifest_of(const RawFlags& raw, const Files& files) {
  const GivenValue* const file = raw.find(flag::kFile);
  if (file == nullptr || raw.request) return std::optional<Workload>();
  const auto text = files.read(file->text);
  if (!text) return Error(text.error());
  auto workload = read_workload(*text);
  if (!workload) return std::move(workload).error().with_context(file->text);
  return std::optional(*std::move(workload));
}

Result<RawFlags> with_manifest_program(RawFlags raw, const Workload& workload,
                                       const std::optional<Contract>& contract) {
  if (raw.program) return raw;
  const bool starts_mpi = is_of_mpi(workload);  // a launcher's words are handed on as they are
  const Replica& replica =
      starts_mpi ? workload.replicas.front() : own_replica(raw, workload, contract);
  std::vector<std::string> words = without_places(replica.words);
  const std::string nodes = said_nodes(raw, workload);
  const NamedValue size{"NUM_NODES", nodes};  // as the job begins
  for (std::string& word : words) word = with_values(word, {&size, 1});
  if (words.empty()) {
    return Error{Code::kUsage, 0,
                 replica.path +
                     ": the container has no command, and its image is not here: say "
                     "the program behind --"};
  }
  raw.program = words.front();
  raw.arguments.clear();
  for (auto word = words.begin() + 1; word != words.end(); ++word)
    raw.arguments.push_back(starts_mpi ? *word : escaped(*word));
  raw.manifest.names_address = std::ranges::any_of(words, names_address);
  return raw;
}

RawFlags with_manifest_values(RawFlags raw, const Workload& workload,
                              const std::optional<Contract>& contract, const Files& files) {
  const std::string file = raw.find(flag::kFile)->text + ": ";
  // An inner launcher's auto says no more than that nobody has counted.
  const GivenValue* const workers = raw.find(flag::kNprocPerNode);
  const bool is_uncounted =
      workers != nullptr && workers->text == "auto" && workers->source != "command line";
  if (is_uncounted && find_value(workload, flag::kNprocPerNode) != nullptr)
    raw.given.erase(flag::kNprocPerNode);
  for (const ManifestValue& value : workload.values)
    add_value(raw, {value.flag, value.text, file + value.path});
  const Replica& replica = own_replica(raw, workload, contract);
  add_variables(raw, replica, file);
  // mpirun is the first node's, and has what its own container has.
  if (workload.has_launcher && node_rank(raw, contract) == 0)
    add_variables(raw, workload.replicas.front(), file);
  enter_folder(raw, replica, file, files);
  return raw;
}

}  // namespace muster::launcher
