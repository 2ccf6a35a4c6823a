#include "launcher/render/render.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "launcher/options/choice.h"
#include "launcher/render/carried_fields.h"
#include "launcher/render/dress.h"
#include "launcher/render/form_of_flags.h"
#include "launcher/render/form_of_manifest.h"
#include "launcher/render/names.h"
#include "launcher/render/pod_parts.h"
#include "launcher/render/pod_shape.h"
#include "launcher/render/workload_parts.h"

namespace muster::launcher {

namespace {

struct Writer {
  JobKind kind;
  Result<Documents> (*write)(JobForm& form);
};
constexpr Writer kWriters[] = {{JobKind::kJobSet, write_jobset},
                               {JobKind::kJob, write_job},
                               {JobKind::kMpiJob, write_mpi_job},
                               {JobKind::kPytorchJob, write_pytorch_job},
                               {JobKind::kTrainJob, write_train_job}};

JobKind kind_of(const RenderRequest& request, const JobForm& form) {
  if (request.to) return *request.to;
  if (form.runs) return JobKind::kJob;
  return form.framework == "mpi" ? JobKind::kMpiJob : JobKind::kJobSet;
}

Result<JobForm> form_of(const RenderRequest& request, const Files& files) {
  if (request.file.empty()) return form_of_flags(request);
  const auto text = files.read(request.file);
  if (!text) return Error(text.error());
  auto form = form_of_manifest(*text, request.name);
  if (!form) return std::move(form).error().with_context(request.file);
  if (request.name.empty()) form->name_place = request.file + ": metadata.name";
  if (request.to == JobKind::kMpiJob && form->framework != "mpi")
    return cannot_hold("mpijob", request.file + " is of no MPI job", "jobset or pytorchjob");
  enter_project(*form, request.project);
  const JobKind kind = kind_of(request, *form);
  settle_keys(*form, kind);
  add_addresses(*form, kind);
  return form;
}

// Of whatever kind. Pods that nobody wants are left out.
Status check_form(JobForm& form, JobKind kind) {
  std::erase_if(form.pods, [](const PodForm& pods) { return pods.pods == 0; });
  if (form.pods.empty()) return wrong("--workers: 0, and there is no master: the job has no pod");
  if (!form.launcher_has_ranks && form.pods.size() == 1) {
    if (!form.runs)
      return wrong("--workers: 0, and the launcher has no ranks: the job has no rank");
    form.launcher_has_ranks = true;  // each run is a job of one node
  }
  for (PodForm& pods : form.pods) MUSTER_RETURN_IF_ERROR(check_pod(pods));
  if (!form.metrics.is_null() && kind != JobKind::kPytorchJob)
    form.remarks.emplace_back("metrics: only a PyTorchJob is scaled by them (--to pytorchjob)");
  return check_name(form, kind);
}

// A worker for each GPU, unless one process of that framework uses all of them.
void settle_workers(JobForm& form) {
  constexpr std::string_view kOneForAll[] = {"tensorflow", "jax", "plain"};
  const nlohmann::json& container = first_ranks(form).pod["spec"]["containers"][0];
  const bool has_gpus = resource_limit(container, "nvidia.com/gpu") > 0 ||
                        resource_limit(container, "amd.com/gpu") > 0;
  const auto says = [](const PodForm& pods) {
    const nlohmann::json& own = pods.pod["spec"]["containers"][0];
    return has_variable(own, "PET_NPROC_PER_NODE") || has_variable(own, "MUSTER_NPROC_PER_NODE");
  };
  const bool is_said = !form.workers.empty() || std::ranges::all_of(form.pods, says);
  if (!has_gpus || is_said || std::ranges::find(kOneForAll, form.framework) != std::end(kOneForAll))
    return;
  form.workers = form.framework == "mpi" ? std::to_string(workers_as_number(form)) : "auto";
}

}  // namespace

Result<Rendered> render(const RenderRequest& request, const Files& files) {
  auto form = form_of(request, files);
  if (!form) return std::move(form).error();
  const JobKind kind = kind_of(request, *form);
  MUSTER_RETURN_IF_ERROR(check_form(*form, kind));
  settle_workers(*form);
  dress_pods(*form);
  const auto* const writer = std::ranges::find(kWriters, kind, &Writer::kind);
  auto documents = writer->write(*form);
  if (!documents) return std::move(documents).error();
  write_carried(*form, kind, documents->back());
  return Rendered{*std::move(documents), std::move(form->remarks)};
}

}  // namespace muster::launcher
