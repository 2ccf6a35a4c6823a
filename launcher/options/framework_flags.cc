// The flags of --framework, and those of single frameworks but MPI.
#include <algorithm>

#include "base/text.h"
#include "launcher/options/flag_binding.h"
#include "launcher/options/flag_groups.h"
#include "launcher/options/flag_reader.h"
#include "launcher/options/option_values.h"

namespace muster::launcher {

namespace {

constexpr Choice<bool> kHooks[] = {{"auto", true}, {"off", false}};

constexpr std::string_view kRoles[] = {"chief", "worker", "ps", "evaluator"};
constexpr int kMaxOfRole = 65535;

Result<RoleCount> parse_role(std::string_view part) {
  const size_t sign = part.find('=');
  const std::string role(part.substr(0, sign));
  if (std::ranges::count(kRoles, role) == 0)
    return wrong("'" + role + "' is none of chief, worker, ps, evaluator");
  const auto count =
      sign == std::string_view::npos ? parse_integer("1") : parse_integer(part.substr(sign + 1));
  if (!count || *count < 1 || *count > kMaxOfRole)
    return wrong("'" + std::string(part) + "' is not ROLE=N with N from 1 to 65535");
  if (role == "chief" && *count > 1) return wrong("there is one chief at most");
  return RoleCount{role, static_cast<int>(*count)};
}

// The chief comes first, whatever stands before it: it is rank 0 for all frameworks.
Result<std::vector<RoleCount>> parse_roles(std::string_view text) {
  std::vector<RoleCount> roles;
  if (text.empty()) return roles;
  for (const std::string_view part : split(text, ',')) {
    auto role = parse_role(trim(part));
    if (!role) return std::move(role).error();
    if (std::ranges::find(roles, role->role, &RoleCount::role) != roles.end())
      return wrong("'" + role->role + "' comes twice");
    roles.insert(role->role == "chief" ? roles.begin() : roles.end(), *std::move(role));
  }
  return roles;
}

constexpr int kMaxRuns = 1'000'000;

Result<int> parse_count(std::string_view text) {
  const auto number = parse_integer(text);
  if (!number || *number < 1 || *number > kMaxRuns) return wrong("not a number from 1 to 1000000");
  return static_cast<int>(*number);
}

constexpr Choice<RestartScope> kScopes[] = {{"group", RestartScope::kGroup},
                                            {"worker", RestartScope::kWorker}};

constexpr FlagRow kRows[] = {
    {.name = "framework",
     .origin = Origin::kMuster,
     .fallback = kAutoFramework,
     .placeholder = "NAME",
     .into = one_of<&FrameworkOptions::framework, kFrameworks>,
     .help = "what the workers are started for: auto (PyTorch's variables, for all programs, "
             "unless the controller of the pod says more), pytorch, mpi (mpirun on the node of "
             "rank 0 starts the ranks on all nodes), xgboost, tensorflow, jax, horovod, lightgbm, "
             "paddle, or plain (independent programs, which find no variables of ranks)"},
    {.name = "roles",
     .origin = Origin::kMuster,
     .placeholder = "LIST",
     .into = to<&FrameworkOptions::roles, parse_roles>,
     .help = "with --framework tensorflow: which ranks are what, as chief=1,worker=3,ps=2,"
             "evaluator=1 in the order of ranks, the chief first; default: all are workers"},
    {.name = "runs",
     .origin = Origin::kMuster,
     .placeholder = "N",
     .into = to<&PlainOptions::runs, unless_empty<parse_count>>,
     .help = "with --framework plain: how often the program runs in all, each time with another "
             "MUSTER_RUN_INDEX, from 0; default: once for each worker"},
    {.name = "parallelism",
     .origin = Origin::kMuster,
     .placeholder = "P",
     .into = to<&PlainOptions::parallelism, unless_empty<parse_count>>,
     .help = "with --framework plain: how many runs there are at a time, on all nodes; default: as "
             "many as there are workers"},
    {.name = "restart-scope",
     .origin = Origin::kMuster,
     .fallback = "group",
     .placeholder = "SCOPE",
     .into = one_of<&PlainOptions::restart_scope, kScopes>,
     .help = "with --framework plain: what --max-restarts starts again after a failure: group (all "
             "runs that are under way) or worker (that run alone)"},
    {.name = "xgboost-hook",
     .origin = Origin::kMuster,
     .fallback = "auto",
     .placeholder = "HOW",
     .into = one_of<&FrameworkOptions::xgboost_hook, kHooks>,
     .help = "with --framework xgboost: auto fills what CommunicatorContext() of XGBoost 2.1 and "
             "newer is not given; off leaves it to the script"},
    {.name = "jax-hook",
     .origin = Origin::kMuster,
     .fallback = "auto",
     .placeholder = "HOW",
     .into = one_of<&FrameworkOptions::jax_hook, kHooks>,
     .help = "with --framework jax: auto fills what jax.distributed.initialize() is not given; "
             "off sets variables of Slurm, which JAX reads"},
    {.name = "lightgbm-hook",
     .origin = Origin::kMuster,
     .fallback = "auto",
     .placeholder = "HOW",
     .into = one_of<&FrameworkOptions::lightgbm_hook, kHooks>,
     .help = "with --framework lightgbm: auto gives machines, port and tree_learner to "
             "lightgbm.train, its classes and its program; off leaves them to the script"},
};

struct Belongs {
  Flag flag;
  Framework framework;
  std::string_view name;
};
const Belongs kBelongs[] = {{flag::kRoles, Framework::kTensorflow, "tensorflow"},
                            {flag::kRuns, Framework::kPlain, "plain"},
                            {flag::kParallelism, Framework::kPlain, "plain"},
                            {flag::kRestartScope, Framework::kPlain, "plain"},
                            {flag::kXgboostHook, Framework::kXgboost, "xgboost"},
                            {flag::kJaxHook, Framework::kJax, "jax"},
                            {flag::kLightgbmHook, Framework::kLightgbm, "lightgbm"}};

void warn_of_idle(FlagReader& flags, Options& options) {
  for (const Belongs& row : kBelongs) {
    if (options.framework.framework == row.framework || !flags.on_command_line(row.flag)) continue;
    flags.warn(flags.label(row.flag) + " has no effect without --framework " +
               std::string(row.name));
  }
}

void check_runs(FlagReader& flags, const Options& options) {
  const PlainOptions& plain = options.framework.plain;
  if (options.framework.framework != Framework::kPlain || !plain.parallelism || !plain.runs) return;
  if (*plain.parallelism <= *plain.runs) return;
  flags.fail(flag::kParallelism, "there are " + std::to_string(*plain.runs) + " runs (" +
                                     flags.label(flag::kRuns) + ")");
}

// Ranks that no role names, or roles without a rank, would wait for each other for ever.
// What PyTorch's own elastic jobs do, too: each round is a new start of all workers.
void tell_of_new_sizes(FlagReader& flags, const Options& options) {
  const Framework framework = options.framework.framework;
  const bool can = framework == Framework::kPytorch || framework == Framework::kMpi ||
                   framework == Framework::kPlain;
  if (can || options.min_nodes == options.max_nodes) return;
  flags.warn(flags.label(flag::kNnodes) + " " + flags.text(flag::kNnodes) + ": " +
             flags.text(flag::kFramework) +
             " cannot change its size while it runs; all workers start again with each new one");
}

void check_framework(FlagReader& flags, Options& options) {
  check_runs(flags, options);
  tell_of_new_sizes(flags, options);
  const std::vector<RoleCount>& roles = options.framework.roles;
  if (roles.empty() || options.framework.framework != Framework::kTensorflow) return;
  if (options.min_nodes != options.max_nodes)
    return flags.fail(flag::kRoles, "they are for one number of workers: give one --nnodes");
  if (options.workers_per_node.kind != WorkerCountKind::kNumber) return;
  int named = 0;
  for (const RoleCount& role : roles) named += role.count;
  const int workers = options.max_nodes * options.workers_per_node.number;
  if (named == workers) return;
  flags.fail(flag::kRoles, "they name " + counted(static_cast<size_t>(named), "worker", "workers") +
                               ", and there are " + std::to_string(workers) + " (--nnodes " +
                               std::to_string(options.max_nodes) + " times --nproc-per-node " +
                               std::to_string(options.workers_per_node.number) + ")");
}

}  // namespace

constexpr FlagGroup kFrameworkFlags{"Framework", kRows, warn_of_idle, check_framework};

}  // namespace muster::launcher
