// The flags that say what the job is: how many nodes and workers, and what they are called.
#include <algorithm>

#include "base/text.h"
#include "launcher/options/contract_names.h"
#include "launcher/options/flag_binding.h"
#include "launcher/options/flag_groups.h"
#include "launcher/options/flag_reader.h"
#include "launcher/options/mpi_flags.h"
#include "launcher/options/option_values.h"

namespace muster::launcher {

namespace {

Status check_contract(std::string_view text) {
  if (std::ranges::find(kContractNames, text) != kContractNames.end()) return {};
  const std::vector<std::string> names(kContractNames.begin(), kContractNames.end());
  return wrong("must be one of " + join(names, ", "));
}

constexpr FlagRow kRows[] = {
    {.name = "nnodes",
     .fallback = "1:1",
     .placeholder = "N|MIN:MAX",
     .into = to_both<&Options::min_nodes, &Options::max_nodes, parse_node_range>,
     .help = "number of nodes, or the range of it"},
    {.name = "nproc-per-node",
     .fallback = "1",
     .placeholder = "N|KIND",
     .into = to<&Options::workers_per_node, parse_worker_count, kNamesOf<kWorkerCountKinds>>,
     .help = "workers per node: a number, auto, cpu, gpu or xpu"},
    {.name = "nnodes-step",
     .origin = Origin::kMuster,
     .fallback = "1",
     .placeholder = "N",
     .into = to<&NodeOptions::step, parse_node_number>,
     .help = "with MIN:MAX: nodes run in steps of N above MIN"},
    {.name = "nnodes-allowed",
     .origin = Origin::kMuster,
     .placeholder = "LIST",
     .into = to<&NodeOptions::allowed, parse_node_numbers>,
     .help = "with MIN:MAX: only these numbers of nodes, such as 2,4,8"},
    {.name = "spares",
     .origin = Origin::kMuster,
     .fallback = "0",
     .placeholder = "N",
     .into = to<&NodeOptions::spares, parse_count>,
     .help = "how many nodes there may be beyond the maximum, to stand in for lost ones"},
    {.name = "node-name",
     .origin = Origin::kMuster,
     .placeholder = "NAME",
     .into = to<&NodeOptions::name, parse_node_name>,
     .help = "name of this node, which orders the ranks; the host name when left out"},
    {.name = "rsh",
     .kind = FlagKind::kSwitch,
     .origin = Origin::kMuster,
     .into = to<&NodeOptions::rsh, as_switch>,
     .help = "workers may run commands on other nodes with `muster rsh`, as mpirun does"},
    {.name = "rdzv-id",
     .fallback = "none",
     .placeholder = "ID",
     .into = to<&Options::run_id, as_text>,
     .help = "id of the run; random on one node when none is given; wanted with etcd"},
    {.name = "contract",
     .origin = Origin::kMuster,
     .fallback = kAutoContract,
     .placeholder = "NAME",
     .into = checked<check_contract, kContractNames>,
     .help = "whose word about this pod stands for flags that are not given: auto, the controller "
             "that is recognised; none; or the name of one that it must be, such as jobset"},
    {.name = "role",
     .empty_is_a_value = true,
     .fallback = "default",
     .placeholder = "NAME",
     .into = to<&Options::role, as_text>,
     .help = "role of the workers, for ROLE_NAME and log prefixes"},
};

void check_job(FlagReader& flags, Options& options) {
  if (!options.framework.uses_sshd()) return;
  check_sshd(flags, options.workers_per_node);
  options.min_nodes = options.max_nodes = 1;  // of ours
}

}  // namespace

constexpr FlagGroup kJobFlags{"The job", kRows, check_job};

}  // namespace muster::launcher
