// Flags of the job as a whole, of how many pods it has, and of the container that trains.
#include "launcher/options/framework_options.h"
#include "launcher/render/render_flag_rows.h"
#include "launcher/render/render_values.h"

namespace muster::launcher {

namespace {

constexpr int kMaxPods = 100'000;
constexpr int kMaxBackoff = 100;
constexpr int64_t kMaxGraceSeconds = 300;
constexpr int64_t kMaxTtlSeconds = 2'147'483'647;  // an int32 of the API

Result<std::string> as_framework(std::string_view text) {
  const auto known = choose(text, kFrameworks);
  if (!known) return Error(known.error());
  return std::string(text);
}

Result<std::string> as_image(std::string_view text) {
  if (text.find_first_of(" \t\n") != std::string_view::npos) return wrong("must have no spaces");
  return std::string(text);
}

template <int64_t kMost>
Result<int64_t> as_seconds_within(std::string_view text) {
  return as_seconds(text, kMost);
}

Result<std::string> as_pull_policy(std::string_view text) {
  constexpr Choice<std::string_view> kPolicies[] = {
      {"always", "Always"}, {"ifNotPresent", "IfNotPresent"}, {"never", "Never"}};
  const auto policy = choose(text, kPolicies);
  if (!policy) return Error(policy.error());
  return std::string(*policy);
}

Result<std::string> as_log_level(std::string_view text) {
  constexpr Choice<std::string_view> kLevels[] = {
      {"debug", "debug"}, {"info", "info"}, {"warn", "warning"}, {"error", "error"}};
  const auto level = choose(text, kLevels);
  if (!level) return Error(level.error());
  return std::string(*level);
}

Result<MasterSetup> as_master(std::string_view text) {
  constexpr Choice<MasterSetup> kSetups[] = {{"same", MasterSetup::kSame},
                                             {"different", MasterSetup::kDifferent}};
  return choose(text, kSetups);
}

// Whoever is to see the label that selects the pods would find others.
Result<TextPair> as_users_label(std::string_view text) {
  auto label = as_label(text);
  if (label && label->first.starts_with("app.kubernetes.io/instance"))
    return wrong("must not be app.kubernetes.io/instance, which is the job's name");
  return label;
}

constexpr RenderFlag kJob[] = {
    {"name", 0, "NAME", set_field<&RenderRequest::name, as_workload_name>, "of the job"},
    {"job-name-prefix", 0, "PREFIX", set_field<&RenderRequest::name_prefix, as_workload_name>,
     "instead of --name: PREFIX-HASH, of the command line; equal lines give equal names"},
    {"project", 'p', "P", set_field<&RenderRequest::project, as_project>,
     "all is in the namespace runai-P, and labelled project=P"},
    {"framework", 0, "NAME", set_field<&JobFlags::framework, as_framework>,
     "as of muster run: pytorch, mpi, tensorflow, xgboost, plain, ..."},
    {"label", 0, "K=V", add_to_field<&JobFlags::labels, as_users_label>,
     "of the workload and its pods; again for each"},
    {"annotation", 0, "K=V", add_to_field<&JobFlags::annotations, as_annotation>,
     "of the workload; again for each"},
    {"runs", 0, "N", set_field<&JobFlags::runs, as_number_within<1, kMaxPods>>,
     "as many independent runs, each a pod of a Job"},
    {"parallelism", 0, "P", set_field<&JobFlags::parallelism, as_number_within<1, kMaxPods>>,
     "of them at a time (1)"},
    {"backoff-limit", 0, "N", set_field<&JobFlags::backoff_limit, as_number_within<0, kMaxBackoff>>,
     "how often the controller starts anew (6); 0 to 100"},
    {"interactive", 0, "", set_field<&JobFlags::interactive, as_switch>,
     "never preempted and never started anew"},
    {"ttl", 0, "T", set_field<&JobFlags::ttl_seconds, as_seconds_within<kMaxTtlSeconds>>,
     "the job is deleted so long after its end: 0s, 3600s, 1h30m, 30d"},
    {"grace-period", 0, "T",
     set_field<&JobFlags::grace_seconds, as_seconds_within<kMaxGraceSeconds>>,
     "between SIGTERM and SIGKILL of a pod: 45s, 5m, 90; 0s to 5m"},
};

constexpr RenderFlag kContainer[] = {
    {"image", 'i', "IMAGE", set_field<&ContainerFlags::image, as_image>,
     "with muster and the program in it"},
    {"image-pull-policy", 0, "WHEN", set_field<&ContainerFlags::pull_policy, as_pull_policy>,
     "always (default), ifNotPresent, never"},
    {"local-image", 0, "", set_field<&ContainerFlags::local_image, as_switch>,
     "as --image-pull-policy never"},
    {"command", 0, "", set_field<&ContainerFlags::replaces_entrypoint, as_switch>,
     "the words replace the image's entrypoint, which is `muster run --` otherwise"},
    {"environment", 'e', "NAME=VALUE", add_to_field<&ContainerFlags::environment, as_variable>,
     "of the program; again for each, a comma is part of the value"},
    {"env-secret", 0, "NAME=SECRET:KEY",
     add_to_field<&ContainerFlags::environment, as_secret_variable>,
     "a variable with the value of a Secret's key; again for each"},
    {"working-dir", 0, "DIR", set_field<&ContainerFlags::working_dir, as_mount_path>,
     "where the program starts"},
    {"stdin", 0, "", set_field<&ContainerFlags::standard_input, as_switch>,
     "the first pod's standard input stays open"},
    {"tty", 't', "", set_field<&ContainerFlags::terminal, as_switch>,
     "the first pod has a terminal"},
    {"attach", 0, "", set_field<&ContainerFlags::attach, as_switch>,
     "--stdin and --tty, and a line that tells how to attach"},
    {"loglevel", 0, "LEVEL", set_field<&ContainerFlags::log_level, as_log_level>,
     "of Muster in the pods: debug, info (default), warn, error"},
};

constexpr RenderFlag kSize[] = {
    {"workers", 0, "N", set_field<&SizeFlags::workers, as_number_within<0, kMaxPods>>,
     "pods besides the master, or the launcher of MPI"},
    {"processes", 0, "N", set_field<&SizeFlags::processes, as_number_within<1, kMaxPods>>,
     "with MPI: N workers of one process each (1)"},
    {"master", 0, "SETUP", set_field<&SizeFlags::master, as_master>,
     "same (default): the pod of rank 0 is as the workers; different: it has the flags below"},
    {"no-master", 0, "", set_field<&SizeFlags::no_master, as_switch>, "rank 0 is the first worker"},
    {"master-cpu", 0, "CPUS", set_field<&SizeFlags::master_cpu, as_cpu>, "the master's --cpu"},
    {"master-gpu", 0, "GPUS", set_field<&SizeFlags::master_gpu, as_gpus>, "the master's --gpu"},
    {"master-environment", 0, "NAME=VALUE",
     add_to_field<&SizeFlags::master_environment, as_variable>,
     "the master's alone, or instead of the workers' value; again for each"},
};

}  // namespace

std::span<const RenderFlag> job_rows() { return kJob; }
std::span<const RenderFlag> container_rows() { return kContainer; }
std::span<const RenderFlag> size_rows() { return kSize; }

}  // namespace muster::launcher
