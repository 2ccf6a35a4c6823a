#include "launcher/contracts/apply_contract.h"

#include <algorithm>
#include <utility>

#include "launcher/options/option_values.h"
#include "rendezvous/wire/job_secret.h"

namespace muster::launcher {

namespace {

// Where nodes meet: means nothing to one that is alone.
constexpr Flag kMeeting[] = {flag::kRdzvEndpoint, flag::kNodeRank};

bool meets(Flag flag) { return std::ranges::find(kMeeting, flag) != std::end(kMeeting); }

std::string text_of(const RawFlags& raw, Flag flag) {
  const GivenValue* const given = raw.find(flag);
  return given != nullptr ? given->text : "";
}

// A flag, or a variable that no controller sets.
bool is_users(const GivenValue* given) {
  return given != nullptr &&
         (given->kind == SourceKind::kCommandLine ||
          (given->kind == SourceKind::kEnvironment && given->source.starts_with("MUSTER_")));
}

int spares_of(const RawFlags& raw) {
  const auto spares = parse_count(text_of(raw, flag::kSpares));
  return spares ? *spares : 0;  // what is no number is refused later
}

bool is_alone(const RawFlags& raw, const Contract& contract) {
  if (!said(contract, flag::kMpiRole).empty()) return false;
  const std::string given = text_of(raw, flag::kNnodes);
  const std::string nodes = given.empty() ? said(contract, flag::kNnodes) : given;
  const bool is_one = (nodes == "1" || nodes == "1:1") && spares_of(raw) == 0;
  return raw.is_on(flag::kStandalone) || is_one;
}

// The nodes, as the user or else the controller counts them, and their spares have this rank.
bool have_rank(const RawFlags& raw, const Contract& contract, int rank) {
  const GivenValue* const given = raw.find(flag::kNnodes);
  const auto nodes =
      parse_node_range(is_users(given) ? given->text : said(contract, flag::kNnodes));
  return nodes && rank < int64_t{nodes->max} + spares_of(raw);
}

bool is_answered(const RawFlags& raw, const Contract& contract, const ContractGap& gap) {
  if (gap.rank >= 0 && have_rank(raw, contract, gap.rank)) return true;
  const GivenValue* const given = raw.find(gap.flag);
  return gap.always ? is_users(given) : given != nullptr;
}

// The user says where nodes meet, in words that the contract's would contradict.
bool meets_otherwise(const RawFlags& raw) {
  const std::string backend = text_of(raw, flag::kRdzvBackend);
  return raw.find(flag::kHosts) != nullptr || (!backend.empty() && backend != "c10d");
}

}  // namespace

void add_value(RawFlags& raw, const ContractValue& value) {
  const auto [entry, added] = raw.given.try_emplace(
      value.flag, GivenValue{value.text, SourceKind::kContract, value.source});
  GivenValue& given = entry->second;
  if (added) return;
  if (given.text != value.text) {
    raw.warnings.push_back(long_name(row_of(value.flag)) + " " + given.text + " (" + given.source +
                           ") counts, although " + value.source + " says " + value.text);
  } else if (given.kind == SourceKind::kEnvironment) {
    given.source = value.source;
  }
}

Result<RawFlags> apply_contract(RawFlags raw, const Contract& contract) {
  const bool alone = is_alone(raw, contract);
  const bool elsewhere = meets_otherwise(raw);
  for (const Flag flag : contract.absorbed) {
    const GivenValue* const given = raw.find(flag);
    if (!elsewhere && given != nullptr && given->kind == SourceKind::kEnvironment)
      raw.given.erase(flag);
  }
  const bool has_master = raw.dialect != Dialect::kMuster && raw.find(flag::kMasterAddr) != nullptr;
  const auto is_left_out = [&](Flag flag) {
    return meets(flag) && (alone || elsewhere || (has_master && flag == flag::kRdzvEndpoint));
  };
  for (const ContractGap& gap : contract.gaps) {
    const bool asked = raw.is_on(flag::kStandalone) || is_users(raw.find(flag::kNnodes));
    const bool insists = gap.always && !asked;
    if (is_answered(raw, contract, gap) || (is_left_out(gap.flag) && !insists)) continue;
    if (alone && gap.flag == flag::kNnodes) continue;
    const std::string give = gap.give.empty() ? long_name(row_of(gap.flag)) : gap.give;
    return Error{Code::kConfig, 0, contract_source(contract, gap.problem) + "; give " + give};
  }
  for (const ContractValue& value : contract.values) {
    if (is_left_out(value.flag)) continue;
    add_value(raw, value);
    // torchrun's words mean "static" otherwise, which wants a port and a rank from everybody.
    const bool is_meeting = value.flag == flag::kRdzvEndpoint && raw.dialect != Dialect::kMuster;
    if (is_meeting)
      raw.given.try_emplace(flag::kRdzvBackend,
                            GivenValue{"c10d", SourceKind::kContract, value.source});
  }
  raw.given[flag::kContract] = {std::string(contract.name), SourceKind::kContract,
                                contract_source(contract, "by " + contract.recognised_by)};
  return raw;
}

std::string refuses_mpi(const std::string& framework, const Contract& contract) {
  if (said(contract, flag::kFramework) != "mpi" || framework.empty() || framework == "mpi")
    return "";
  return "this pod is one of an MPI job (" + contract_source(contract, contract.recognised_by) +
         "), and --framework " + framework + " makes a job of this pod alone";
}

std::vector<PlannedVariable> contract_variables(const Contract& contract) {
  std::vector<PlannedVariable> variables;
  for (const std::string& name : contract.scrubbed) {
    variables.push_back(
        {.name = name,
         .value = std::nullopt,
         .reason = "for a launcher that the controller sets up; Muster sets its own",
         .source = contract.controller});
  }
  for (const auto& [name, value] : contract.added) {
    variables.push_back({.name = name,
                         .value = value,
                         .reason = "as the controller says under an older name",
                         .source = contract.controller});
  }
  if (!contract.secret_file.empty()) {
    variables.push_back({.name = std::string(rendezvous::kJobSecretFileVariable),
                         .value = contract.secret_file,
                         .reason = "mounted in every pod",
                         .source = contract.controller});
  }
  return variables;
}

Environment contract_environment(const Contract& contract, const Environment& pod) {
  EnvironmentPlan plan;
  plan.add(EnvironmentLayer::kContract, contract_variables(contract));
  return plan.merge(pod).environment;
}

}  // namespace muster::launcher
