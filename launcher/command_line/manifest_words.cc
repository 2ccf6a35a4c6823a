#include "launcher/command_line/manifest_words.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "launcher/contracts/apply_contract.h"
#include "launcher/contracts/operator_hostfile.h"

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

bool is_of_mpi(const Workload& workload) {
  return std::ranges::any_of(workload.values, [](const ManifestValue& value) {
    return value.flag == flag::kFramework && value.text == "mpi";
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

std::vector<std::string> without_places(const std::vector<std::string>& words) {
  std::vector<std::string> kept;
  for (size_t i = 0; i < words.size(); ++i) {
    const size_t equals = words[i].find('=');
    const bool joined = equals != std::string::npos;
    const std::string next = i + 1 < words.size() ? words[i + 1] : "";
    const bool drop = says_place(words[i], joined ? words[i].substr(equals + 1) : next);
    if (!drop) kept.push_back(words[i]);
    if (drop && !joined) ++i;
  }
  return kept;
}

const Replica& own_replica(const RawFlags& raw, const Workload& workload,
                           const std::optional<Contract>& contract) {
  return replica_of(workload, node_rank(raw, contract));
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
  const std::vector<std::string> words = without_places(replica.words);
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

RawFlags with_manifest_values(RawFlags raw, const Workload& workload, const std::string& file,
                              const std::optional<Contract>& contract, const Files& files) {
  const Replica& replica = own_replica(raw, workload, contract);
  for (const ManifestValue& value : workload.values)
    add_value(raw, {value.flag, value.text, file + ": " + value.path});
  for (const auto& [name, text] : replica.environment) {
    const std::string source = file + ": " + replica.path + ".env";
    if (name == "LOG_LEVEL") add_value(raw, {flag::kLogLevel, to_lower(text), source});
    if (name == "LOG_FORMAT") add_value(raw, {flag::kLogFormat, to_lower(text), source});
    raw.environment.emplace_back(name, text);
  }
  if (replica.working_dir.empty()) return raw;
  if (files.is_directory(replica.working_dir)) {
    raw.manifest.working_dir = replica.working_dir;
  } else {
    raw.warnings.push_back(file + ": " + replica.path + ".workingDir: " + replica.working_dir +
                           " is not here, so the program runs in the current folder");
  }
  return raw;
}

}  // namespace muster::launcher
