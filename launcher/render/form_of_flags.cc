#include "launcher/render/form_of_flags.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "launcher/render/form_of_flags_parts.h"
#include "launcher/render/pod_parts.h"

namespace muster::launcher {

namespace {

using nlohmann::json;

// The first pod has the workers' flags, but for its own.
RenderRequest master_of(const RenderRequest& request) {
  RenderRequest master = request;
  const SizeFlags& own = request.size;
  if (is_of_mpi(request)) {  // no rank of its own uses them
    master.resources.gpu.clear();
    master.resources.gpu_memory_mib.reset();
    master.resources.devices.clear();
  }
  if (!own.master_cpu.empty()) master.resources.cpu = own.master_cpu;
  if (!own.master_gpu.empty()) {
    master.resources.gpu = own.master_gpu;
    master.resources.gpu_memory_mib.reset();
  }
  auto& variables = master.container.environment;
  variables.insert(variables.end(), own.master_environment.begin(), own.master_environment.end());
  return master;
}

void add_pods(JobForm& form, std::string role, int pods, const RenderRequest& request) {
  if (pods == 0) return;
  json pod = pod_of_flags(request);
  pod["metadata"]["labels"][kRoleLabel] = role;
  form.pods.push_back({std::move(role), pods, std::move(pod)});
}

// The pods of a Job and of a TrainJob are alike: a master as the workers is one of them. So it is
// with a JobSet, unless somebody means the first pod alone.
bool are_alike(const RenderRequest& request) {
  if (request.to == JobKind::kJob || request.to == JobKind::kTrainJob) return true;
  const ContainerFlags& container = request.container;
  const bool has_terminal = container.attach || container.standard_input.value_or(false) ||
                            container.terminal.value_or(false);
  const bool has_door = !request.doors.node_ports.empty() || !request.doors.urls.empty();
  const bool is_different = request.size.master == MasterSetup::kDifferent;
  return request.to != JobKind::kPytorchJob && !has_terminal && !has_door && !is_different;
}

void set_pods(const RenderRequest& request, JobForm& form) {
  const SizeFlags& size = request.size;
  const bool is_mpi = is_of_mpi(request);
  int workers = size.processes.value_or(size.workers.value_or(is_mpi || size.no_master ? 1 : 0));
  form.launcher_has_ranks = !is_mpi || size.no_master;
  if (form.runs) {
    workers = 1;
  } else if (is_mpi && !size.no_master) {
    add_pods(form, "launcher", 1, master_of(request));
  } else if (are_alike(request) && !size.no_master) {
    ++workers;
  } else if (!size.no_master) {
    add_pods(form, "master", 1, master_of(request));
  }
  add_pods(form, "worker", workers, request);
  const int masters = form.launcher_has_ranks && form.pods.front().role == "master" ? 1 : 0;
  form.nodes = std::to_string(workers + masters);
  const bool shares = request.resources.gpu.find('.') != std::string::npos ||
                      request.resources.gpu_memory_mib.has_value();
  if (size.processes || shares) form.workers = "1";
}

// One terminal is enough, and the program of rank 0 is what people talk to.
void add_terminal(const RenderRequest& request, JobForm& form) {
  const ContainerFlags& flags = request.container;
  json& container = container_of(form.pods.front().pod);
  if (flags.standard_input.value_or(flags.attach)) container["stdin"] = true;
  if (flags.terminal.value_or(flags.attach)) container["tty"] = true;
  if (!flags.attach) return;
  const std::string space = form.name_space.empty() ? "" : "-n " + form.name_space + " ";
  std::vector<std::string> labels;
  const json first = first_pod_labels(request, form);
  for (const auto& [name, value] : first.items())
    labels.push_back(name + "=" + value.get<std::string>());
  form.remarks.push_back("attach when it runs: kubectl attach -it " + space + "$(kubectl get pod " +
                         space + "-o name -l " + join(labels, ",") + ")");
}

void set_job(const RenderRequest& request, JobForm& form) {
  const JobFlags& flags = request.job;
  form.name = request.name;
  if (!request.name_prefix.empty()) form.name_place = "--job-name-prefix";
  form.framework = flags.framework;
  for (const auto& [key, value] : flags.labels) form.labels[key] = value;
  for (const auto& [key, value] : flags.annotations) form.annotations[key] = value;
  enter_project(form, request.project);
  form.backoff_limit = flags.backoff_limit;
  if (flags.interactive) {
    form.backoff_limit = 0;
    form.labels["kai.scheduler/preemptibility"] = "non-preemptible";
  }
  form.ttl_seconds = flags.ttl_seconds;
  if (flags.runs) form.runs = Runs{*flags.runs, flags.parallelism.value_or(1)};
}

}  // namespace

json first_pod_labels(const RenderRequest& request, const JobForm& form) {
  json labels = {{kInstanceLabel, form.name}, {kRoleLabel, form.pods.front().role}};
  if (form.pods.front().pods == 1) return labels;
  const bool is_operators = request.to == JobKind::kPytorchJob || request.to == JobKind::kMpiJob;
  labels[is_operators ? "training.kubeflow.org/replica-index"
                      : "batch.kubernetes.io/job-completion-index"] = "0";
  return labels;
}

Result<JobForm> form_of_flags(const RenderRequest& request) {
  MUSTER_RETURN_IF_ERROR(check_request(request));
  JobForm form;
  set_job(request, form);
  set_pods(request, form);
  if (!request.container.replaces_entrypoint)
    form.remarks.emplace_back("without --command the image's ENTRYPOINT must be: muster run --");
  add_terminal(request, form);
  add_storage_documents(request, form);
  add_door_documents(request, form);
  return form;
}

}  // namespace muster::launcher
