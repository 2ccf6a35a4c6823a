// Documents that stand beside a workload.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "launcher/render/job_form.h"

namespace muster::launcher {

/// Pods find each other by its name, before they are ready.
nlohmann::json headless_service(const JobForm& form);

/// Lets in pods of the job, and anybody to the ports that are made for others: the status port,
/// ports of Services, and those that a container declares.
nlohmann::json network_policy(const JobForm& form);

/// Of form.gang, which is not null, those fields that a PodGroup of its scheduler has: Volcano's,
/// or that of the plugin coscheduling. The others are left.
nlohmann::json pod_group_fields(JobForm& form);

/// For controllers that make none: the PodGroup of form.gang, which is then the pods' own; none if
/// the form has no gang. Source: scheduler-plugins 0.30; Volcano 1.9.
std::vector<nlohmann::json> pod_groups(JobForm& form);

/// form.gang as Kubeflow's runPolicy.schedulingPolicy; null = none.
nlohmann::json scheduling_policy(const JobForm& form);

/// For kinds whose controller tells pods little and knows no gangs: Muster's own settings in the
/// pods, and the documents beside the workload, in the order in which they are applied.
std::vector<nlohmann::json> prepare_for_no_operator(JobForm& form);

}  // namespace muster::launcher
