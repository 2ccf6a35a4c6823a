#include "launcher/command_line/manifest_words.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "base/text.h"
#include "launcher/contracts/apply_contract.h"
#include "launcher/contracts/operator_hostfile.h"
#include "mpi/launch/implementation.h"

namespace muster::launcher {

namespace {

constexpr std::string_view kAddressNames[] = {"$MASTER_ADDR", "${MASTER_ADDR}", "$MASTER_PORT",
                                              "${MASTER_PORT}"};

int node_rank(const RawFlags& raw, const std::optional<Contract>& contract) {
  const GivenValue* const given = raw.find(flag::kNodeRank);
  const std::string text = given != nullptr ? given->text
                           : contract       ? said(*contract, flag::kNodeRank)
                                            : "";
  return static_cast<int>(parse_integer(text).value_or(0));
}

bool names_address(const std::string& word) {
  return std::ranges::any_of(kAddressNames, [&word](std::string_view name) {
    return word.find(name) != std::string::npos;
  });
}

// A '$' of the container's is one for the program, but for the names that are Muster's.
std::string escaped(std::string_view word) {
  std::string text;
  while (!word.empty()) {
    const auto* const name = std::ranges::find_if(
        kAddressNames, [word](std::string_view known) { return word.starts_with(known); });
    const size_t length = name == std::end(kAddressNames) ? 1 : name->size();
    if (length == 1 && word.front() == '$') text += '$';
    text += word.substr(0, length);
    word.remove_prefix(length);
  }
  return text;
}

// Where the nodes are is said elsewhere: to an inner torchrun's --rdzv_endpoint, whose names nobody
// has set, and to mpirun, whose hostfile an operator would have mounted.
bool says_place(const std::string& word, const std::string& value) {
  constexpr std::string_view kPlaces[] = {"--rdzv-endpoint", "--master-addr", "--master-port"};
  constexpr std::string_view kHostfiles[] = {"--hostfile", "-hostfile", "--machinefile",
                                             "-machinefile", "-f"};
  std::string name = word.substr(0, word.find('='));
  std::ranges::replace(name, '_', '-');
  if (std::ranges::find(kHostfiles, name) != std::end(kHostfiles))
    return value == kOperatorHostfile;
  return std::ranges::find(kPlaces, name) != std::end(kPlaces) && names_address(value);
}

bool is_launcher(const std::vector<std::string>& words) {
  const std::string_view name = words.empty() ? "" : base_name(words.front());
  return name == "torchrun" || mpi::is_launcher_name(name) ||
         (words.size() > 2 && words[1] == "-m" && words[2] == "torch.distributed.run");
}

// Only of a launcher's own words, which end where its program begins.
std::vector<std::string> without_places(const std::vector<std::string>& words) {
  if (!is_launcher(words)) return words;
  std::vector<std::string> kept = {words.front()};
  size_t i = 1;
  for (; i < words.size(); ++i) {
    const bool is_flag = words[i].starts_with('-');
    const bool is_value = words[i - 1].starts_with('-') && !words[i - 1].ends_with("-no-python");
    if (!is_flag && !is_value) break;
    const size_t equals = words[i].find('=');
    const bool joined = equals != std::string::npos;
    const std::string next = i + 1 < words.size() ? words[i + 1] : "";
    const bool drop = is_flag && says_place(words[i], joined ? words[i].substr(equals + 1) : next);
    if (!drop) kept.push_back(words[i]);
    if (drop && !joined) ++i;
  }
  if (i < words.size())
    kept.insert(kept.end(), words.begin() + static_cast<std::ptrdiff_t>(i), words.end());
  return kept;
}

// $NUM_NODES and ${NUM_NODES}, as the job begins.
std::string with_node_count(std::string_view word, const std::string& nodes) {
  constexpr std::string_view kNames[] = {"${NUM_NODES}", "$NUM_NODES"};
  std::string text;
  while (!word.empty()) {
    const auto* const name = std::ranges::find_if(kNames, [word](std::string_view known) {
      const char next = word.size() > known.size() ? word[known.size()] : ' ';
      const bool goes_on = (std::isalnum(static_cast<unsigned char>(next)) != 0) || next == '_';
      return word.starts_with(known) && (known.ends_with('}') || !goes_on);
    });
    const bool found = name != std::end(kNames);
    text += found ? std::string_view(nodes) : word.substr(0, 1);
    word.remove_prefix(found ? name->size() : 1);
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
  for (std::string& word : words) word = with_node_count(word, said_nodes(raw, workload));
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
