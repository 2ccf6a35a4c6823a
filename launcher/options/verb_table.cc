#include "launcher/options/verb_table.h"

#include <fmt/core.h>

#include <algorithm>

#include "launcher/options/completion.h"

namespace muster::launcher {

namespace {

constexpr size_t kMeaningColumn = 48;

constexpr VerbFlag kLocalFlags[] = {{"--nodes", true}, {"--chaos", true}};
constexpr VerbFlag kEnvFlags[] = {
    {"--explain"}, {"--json"}, {"--export"}, {"--local-rank", true}, {"--all"}};
constexpr VerbFlag kDoctorFlags[] = {
    {"--json"},           {"--root", true},   {"--capture", true},       {"--peers"},
    {"--provider", true}, {"--nnodes", true}, {"--nproc-per-node", true}};
constexpr VerbFlag kStatusFlags[] = {
    {"--rdzv-endpoint", true}, {"--rdzv-id", true}, {"--json"}, {"--history"}, {"--hosts"}};
constexpr VerbFlag kScaleFlags[] = {{"--rdzv-endpoint", true}, {"--rdzv-id", true}, {"--now"}};
constexpr VerbFlag kCommandFlags[] = {
    {"--rdzv-endpoint", true}, {"--rdzv-id", true}, {"--reason", true}};
constexpr VerbFlag kSidecarFlags[] = {
    {"--run-dir", true},   {"--report", true},    {"--token-file", true},    {"--ca-file", true},
    {"--cert-file", true}, {"--key-file", true},  {"--flush-timeout", true}, {"--retry-max", true},
    {"--log-level", true}, {"--log-format", true}};
constexpr VerbFlag kStoreFlags[] = {{"--port", true}, {"--host", true}};
constexpr VerbFlag kDashboardFlags[] = {{"--db", true},
                                        {"--listen", true},
                                        {"--token-file", true},
                                        {"--keep", true},
                                        {"--host-name", true}};

constexpr VerbFlag kRenderFlags[] = {{"--file", true},
                                     {"--to", true},
                                     {"--output", true},
                                     {"--name", true},
                                     {"--job-name-prefix", true},
                                     {"--project", true},
                                     {"--framework", true},
                                     {"--label", true},
                                     {"--annotation", true},
                                     {"--runs", true},
                                     {"--parallelism", true},
                                     {"--backoff-limit", true},
                                     {"--interactive"},
                                     {"--ttl", true},
                                     {"--grace-period", true},
                                     {"--image", true},
                                     {"--image-pull-policy", true},
                                     {"--local-image"},
                                     {"--command"},
                                     {"--environment", true},
                                     {"--env-secret", true},
                                     {"--working-dir", true},
                                     {"--stdin"},
                                     {"--tty"},
                                     {"--attach"},
                                     {"--loglevel", true},
                                     {"--workers", true},
                                     {"--processes", true},
                                     {"--master", true},
                                     {"--no-master"},
                                     {"--master-cpu", true},
                                     {"--master-gpu", true},
                                     {"--master-environment", true},
                                     {"--cpu", true},
                                     {"--cpu-limit", true},
                                     {"--memory", true},
                                     {"--memory-limit", true},
                                     {"--gpu", true},
                                     {"--gpu-memory", true},
                                     {"--resource", true},
                                     {"--large-shm"},
                                     {"--pvc", true},
                                     {"--volume", true},
                                     {"--nfs-server", true},
                                     {"--storage", true},
                                     {"--config-map", true},
                                     {"--secret", true},
                                     {"--git-sync", true},
                                     {"--node-type", true},
                                     {"--node-pool", true},
                                     {"--toleration", true},
                                     {"--topology", true},
                                     {"--priority", true},
                                     {"--uid", true},
                                     {"--gid", true},
                                     {"--supplemental-groups", true},
                                     {"--run-as-user"},
                                     {"--create-home-dir"},
                                     {"--prevent-privilege-escalation"},
                                     {"--host-ipc"},
                                     {"--host-network"},
                                     {"--node-port", true},
                                     {"--external-url", true},
                                     {"--report", true},
                                     {"--report-token", true}};

constexpr VerbRow kVerbs[] = {
    {.name = "run",
     .arguments = "[flags] [--] SCRIPT|PROGRAM [arguments]",
     .meaning = "start, watch and restart the workers of this node",
     .takes_run_flags = true},
    {.name = "env",
     .arguments = "[--explain] [flags of run] [PROGRAM]",
     .meaning = "the environment that workers would get, and why",
     .flags = kEnvFlags,
     .takes_run_flags = true},
    {.name = "doctor",
     .arguments = "[--json] [--root DIR] [--capture DIR] [--peers [flags of run]]",
     .meaning = "what of this node would break or slow a job",
     .flags = kDoctorFlags},
    {.name = "local",
     .arguments = "--nodes N [flags of run] SCRIPT|PROGRAM",
     .meaning = "a job of N nodes on this machine",
     .flags = kLocalFlags,
     .takes_run_flags = true},
    {.name = "rsh",
     .arguments = "HOST COMMAND...",
     .meaning = "run a command on another node of the job"},
    {.name = "rank",
     .arguments = "-- PROGRAM [arguments]",
     .meaning = "a rank of an MPI job, between mpirun and the program"},
    {.name = "status",
     .arguments = "[--json] [--history] [ENDPOINT]",
     .meaning = "ask a running agent about its job",
     .flags = kStatusFlags},
    {.name = "scale",
     .arguments = "NODES|max [--now] [ENDPOINT]",
     .meaning = "ask a running job to go on with so many nodes",
     .flags = kScaleFlags},
    {.name = "restart",
     .arguments = "[--reason TEXT] [ENDPOINT]",
     .meaning = "end the round of a running job; the next one begins",
     .flags = kCommandFlags},
    {.name = "stop",
     .arguments = "[--reason TEXT] [ENDPOINT]",
     .meaning = "end a running job, as SIGTERM to all of its agents",
     .flags = kCommandFlags},
    {.name = "sidecar",
     .arguments = "--run-dir DIR --report TARGET",
     .meaning = "tell a controller what happens on this node",
     .flags = kSidecarFlags},
    {.name = "store",
     .arguments = "[--port N] [--host ADDRESS]",
     .meaning = "only the TCPStore-compatible store",
     .flags = kStoreFlags},
    {.name = "dashboard",
     .arguments = "--db FILE [--listen ADDRESS:PORT]",
     .meaning = "take what sidecars report, and show it in a browser",
     .flags = kDashboardFlags},
    {.name = "render",
     .arguments = "-f FILE | --name NAME --image IMAGE [flags] [--] PROGRAM",
     .meaning = "Kubernetes manifests with muster as the entrypoint",
     .flags = kRenderFlags},
    {.name = "completion",
     .arguments = "bash|zsh",
     .meaning = "print completions for a shell",
     .words = kCompletedShells},
    {.name = "version",
     .arguments = "",
     .meaning = "print the version and those of the libraries in it"},
};

}  // namespace

std::span<const VerbRow> verb_table() { return kVerbs; }

std::string verbs_help() {
  std::string text = "usage: muster VERB [flags] ...\n\n";
  for (const VerbRow& row : kVerbs) {
    std::string left = "  " + std::string(row.name);
    if (!row.arguments.empty()) left += " " + std::string(row.arguments);
    left.resize(std::max(kMeaningColumn, left.size() + 2), ' ');
    text += left + std::string(row.meaning) + "\n";
  }
  text +=
      "\n`muster VERB --help` tells the flags. Called through a link named torchrun, it takes "
      "torchrun's command line.\n";
  return text;
}

std::string short_help(std::string_view verb) {
  const auto row = std::ranges::find(kVerbs, verb, &VerbRow::name);
  if (row == std::end(kVerbs)) return "";
  const std::string arguments = row->arguments.empty() ? "" : " " + std::string(row->arguments);
  return fmt::format("usage: muster {}{}\n\n{}\n", row->name, arguments, row->meaning);
}

}  // namespace muster::launcher
