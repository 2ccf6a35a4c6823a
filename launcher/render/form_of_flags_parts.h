// What flags become, by subject. For form_of_flags*.cc alone.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/result.h"
#include "launcher/render/job_form.h"
#include "launcher/render/render_request.h"

namespace muster::launcher {

/// Says which pods these are; those with rank 0 are reached by it.
inline constexpr std::string_view kRoleLabel = "app.kubernetes.io/component";
/// By which the pod with rank 0 is found, or MPI's launcher.
[[nodiscard]] nlohmann::json first_pod_labels(const RenderRequest& request, const JobForm& form);

/// All ranks are those of an MPI program.
[[nodiscard]] bool is_of_mpi(const RenderRequest& request);
/// kUsage: two flags contradict each other, or one is missing; the flag and why.
Status check_request(const RenderRequest& request);

/// Kubernetes makes one $ of two, and $(NAME) a variable: the program gets the text as it is.
[[nodiscard]] std::string escaped(std::string_view text);
/// Of helpers beside the container that trains.
[[nodiscard]] nlohmann::json locked_down();

/// A pod's template with one container, for all that flags say of it.
[[nodiscard]] nlohmann::json pod_of_flags(const RenderRequest& request);
void add_storage(const RenderRequest& request, nlohmann::json& pod);
void add_git(const RenderRequest& request, nlohmann::json& pod);
void add_sidecar(const RenderRequest& request, nlohmann::json& pod);

/// Claims and Secrets; remarks about them.
void add_storage_documents(const RenderRequest& request, JobForm& form);
/// Services, Ingress, and the rights of a sidecar.
void add_door_documents(const RenderRequest& request, JobForm& form);

}  // namespace muster::launcher
