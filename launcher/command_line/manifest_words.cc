#include "launcher/command_line/manifest_words.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "launcher/command_line/container_flags.h"
#include "launcher/contracts/apply_contract.h"
#include "launcher/manifest/container_command.h"
#include "launcher/options/inner_launcher.h"
#include "launcher/options/option_values.h"
#include "rendezvous/wire/job_secret.h"

namespace muster::launcher {

namespace {

int node_rank(const RawFlags& raw, const std::optional<Contract>& contract) {
  const GivenValue* const given = raw.find(flag::kNodeRank);
  const std::string text = given != nullptr ? given->text
                           : contract       ? said(*contract, flag::kNodeRank)
                                            : "";
  return static_cast<int>(parse_integer(text).value_or(0));
}

std::string said_nodes(const RawFlags& raw, const Workload& workload) {
  if (const GivenValue* const given = raw.find(flag::kNnodes)) return given->text;
  return find_value(workload, flag::kNnodes)->text;  // each has one
}

const Replica& own_replica(const RawFlags& raw, const Workload& workload,
                           const std::optional<Contract>& contract) {
  return replica_of(workload, node_rank(raw, contract));
}

// Whose command the node runs.
const Replica& commanding_replica(const RawFlags& raw, const Workload& workload,
                                  const std::optional<Contract>& contract) {
  return is_of_mpi(workload) ? workload.replicas.front() : own_replica(raw, workload, contract);
}

// LOG_LEVEL and LOG_FORMAT are for Muster's own log, too. With another value they are the program's
// alone.
void add_log_value(RawFlags& raw, Flag flag, const std::string& text, const std::string& source) {
  const std::string value = to_lower(text);
  Options unused;
  if (row_of(flag).into.fill(unused, value)) add_value(raw, {flag, value, source});
}

void add_variables(RawFlags& raw, const Replica& replica, const RawFlags& command,
                   const std::string& file) {
  const std::string source = file + replica.path + ".env";
  for (const auto& [name, text] : replica.environment) {
    if (name == "LOG_LEVEL") add_log_value(raw, flag::kLogLevel, text, source);
    if (name == "LOG_FORMAT") add_log_value(raw, flag::kLogFormat, text, source);
    if (!is_read_as_flag(command, name)) raw.environment.emplace_back(name, text);
  }
}

// A secret that is not mounted here is none.
void leave_out_secret(RawFlags& raw, std::vector<std::string>& left_out, const Files& files) {
  std::erase_if(raw.environment, [&](const auto& variable) {
    const auto& [name, text] = variable;
    if (name != rendezvous::kJobSecretFileVariable || files.exists(text)) return false;
    left_out.push_back(name + " " + text);
    return true;
  });
}

void enter_folder(RawFlags& raw, const Replica& replica, const std::string& file,
                  const Files& files) {
  if (replica.working_dir.empty()) return;
  // A program in it is named from outside, and started inside.
  const std::string folder = absolute_path(replica.working_dir).value_or(replica.working_dir);
  if (!files.is_directory(folder)) {
    raw.warnings.push_back(file + replica.path + ".workingDir: " + replica.working_dir +
                           " is not here, so the program runs in the current folder");
    return;
  }
  raw.manifest.working_dir = folder;
  if (!raw.program || raw.program->starts_with('/')) return;
  const std::string program = folder + "/" + *raw.program;
  if (files.exists(program) && !files.is_directory(program)) raw.program = program;
}

// What is to be said of pods that are alike is said by the first of them.
bool is_first_of_its_kind(const RawFlags& raw, const Workload& workload,
                          const std::optional<Contract>& contract) {
  const int rank = node_rank(raw, contract);
  return rank == 0 || &replica_of(workload, rank - 1) != &replica_of(workload, rank);
}

// "2:4" does not contradict the 4 pods that there are.
bool allows(const GivenValue* given, const std::string& nodes) {
  if (given == nullptr) return false;
  const auto range = parse_node_range(given->text);
  const auto wanted = parse_node_range(nodes);
  return range && wanted && range->min <= wanted->min && wanted->max <= range->max;
}

// --rdzv-conf holds several settings: one that nobody else gives stands beside theirs.
bool stands_beside(RawFlags& raw, const ManifestValue& value, const std::string& source) {
  const auto given = raw.given.find(value.flag);
  if (value.flag != flag::kRdzvConf || given == raw.given.end()) return false;
  const std::string_view key = std::string_view(value.text).substr(0, value.text.find('=') + 1);
  for (const std::string_view setting : split(given->second.text, ','))
    if (trim(setting).starts_with(key)) return false;
  given->second.text += "," + value.text;
  given->second.source += " and " + source;
  return true;
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

Result<RawFlags> container_command(const RawFlags& raw, const Workload& workload,
                                   const std::optional<Contract>& contract) {
  auto command = read_container_command(workload, commanding_replica(raw, workload, contract),
                                        said_nodes(raw, workload));
  if (!command) return std::move(command).error().with_context(raw.find(flag::kFile)->text);
  return command;
}

Result<RawFlags> with_container_program(RawFlags raw, const RawFlags& command,
                                        const Workload& workload,
                                        const std::optional<Contract>& contract) {
  if (!command.program) {
    return Error{Code::kUsage, 0,
                 raw.find(flag::kFile)->text + ": " +
                     commanding_replica(raw, workload, contract).path +
                     ": the container has no command, and its image is not here: say "
                     "the program behind --"};
  }
  raw.program = command.program;
  raw.arguments = command.arguments;
  raw.dialect = command.dialect;
  raw.torchrun_path = command.torchrun_path;
  raw.interpreter = command.interpreter;
  raw.environment = command.environment;
  raw.manifest = command.manifest;
  std::erase_if(raw.given, [](const auto& entry) { return chooses_program(entry.first); });
  for (const auto& [flag, value] : command.given)
    if (chooses_program(flag)) raw.given[flag] = value;
  raw.warnings.insert(raw.warnings.end(), command.warnings.begin(), command.warnings.end());
  return raw;
}

RawFlags with_manifest_values(RawFlags raw, const RawFlags& command, const Workload& workload,
                              const std::optional<Contract>& contract, const Files& files) {
  const std::string file = raw.find(flag::kFile)->text + ": ";
  const Replica& commanding = commanding_replica(raw, workload, contract);
  const size_t warnings = raw.warnings.size();
  auto left_out = add_container_flags(raw, {command, file + commanding.path}, workload, files);
  for (const ManifestValue& value : workload.values) {
    const std::string source = file + value.path;
    if (value.flag == flag::kNnodes && allows(raw.find(value.flag), value.text)) continue;
    if (!stands_beside(raw, value, source)) add_value(raw, {value.flag, value.text, source});
  }
  const Replica& replica = own_replica(raw, workload, contract);
  add_variables(raw, replica, command, file);
  // mpirun is the first node's, and has what its own container has.
  if (workload.has_launcher && node_rank(raw, contract) == 0)
    add_variables(raw, workload.replicas.front(), command, file);
  leave_out_secret(raw, left_out, files);
  if (!left_out.empty())
    raw.warnings.push_back(file + commanding.path +
                           ": left out, as it is for a cluster: " + join(left_out, ", "));
  enter_folder(raw, replica, file, files);
  if (!is_first_of_its_kind(raw, workload, contract)) raw.warnings.resize(warnings);
  return raw;
}

}  // namespace muster::launcher
