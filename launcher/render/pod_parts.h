// Parts of manifests that all kinds share, as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "launcher/render/job_form.h"

namespace muster::launcher {

/// Every pod of the job has this label, with the job's name: Services and policies select by it.
inline constexpr std::string_view kInstanceLabel = "app.kubernetes.io/instance";

/// Every document of a job in a project has this label, with the project's name.
inline constexpr std::string_view kProjectLabel = "project";
/// The job's namespace and label become those of `project`; "" = none.
void enter_project(JobForm& form, const std::string& project);

/// Where Muster mounts the job's secret, and what it reads of the pod's labels.
inline constexpr std::string_view kSecretFolder = "/etc/muster";
inline constexpr std::string_view kPodInfoFolder = "/etc/podinfo";
inline constexpr std::string_view kSecretFile = "MUSTER_JOB_SECRET_FILE";
/// `path` is that folder, or in it.
[[nodiscard]] bool is_inside(std::string_view path, std::string_view folder);

/// Of a pod's template: the container that trains.
nlohmann::json& container_of(nlohmann::json& pod);

/// Sets it, or replaces its value.
void set_variable(nlohmann::json& container, std::string_view name, std::string_view value);
[[nodiscard]] bool has_variable(const nlohmann::json& container, std::string_view name);

/// `source`: {"emptyDir": {}}; the volume is the pod's, and mounted where it trains. Nothing if
/// there is a volume of that name, or a mount at `path`.
void add_volume(nlohmann::json& pod, std::string_view name, nlohmann::json source,
                std::string_view path, bool read_only = false);

/// Nothing if a port of that number or name is declared.
void add_port(nlohmann::json& pod, std::string_view name, int port);

/// Of a container's limit, or of its request: "nvidia.com/gpu". 0: none, or no whole number.
[[nodiscard]] int resource_limit(const nlohmann::json& container, std::string_view name);

/// A document without `spec`, in the job's namespace.
nlohmann::json document(const JobForm& form, std::string_view api_version, std::string_view kind,
                        std::string_view name);
/// That of the workload itself: with its labels and annotations.
nlohmann::json workload_document(const JobForm& form, std::string_view api_version,
                                 std::string_view kind);

}  // namespace muster::launcher
