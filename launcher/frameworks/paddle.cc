#include "launcher/frameworks/paddle.h"

#include <utility>

#include "base/text.h"
#include "nccl/machine/accelerators.h"

namespace muster::launcher {

FrameworkNeeds PaddleDriver::needs() const {
  FrameworkNeeds needs;
  needs.roster = true;
  needs.python_module = "paddle";
  return needs;
}

Status PaddleDriver::start(const DriverHost& host) {
  host_.emplace(host);
  addresses_.start(*host_);
  has_devices_ = !nccl::discover_accelerators(host.doors.files).empty();
  return {};
}

Result<std::optional<JobLauncher>> PaddleDriver::begin_attempt(const rendezvous::Assign& round,
                                                               int /*workers*/) {
  MUSTER_RETURN_IF_ERROR(addresses_.begin_attempt(round));
  return std::optional<JobLauncher>();
}

// MASTER_ADDR and MASTER_PORT count more than PADDLE_MASTER: they must name the server of rank 0,
// too, and not the store of PyTorch's wire.
Status PaddleDriver::add_variables(const rendezvous::Assign& round, int local_rank,
                                   EnvironmentPlan& plan) const {
  const int rank = round.rank_offset + local_rank;
  const auto set = [&plan](std::string_view name, std::string value, std::string reason) {
    plan.add(EnvironmentLayer::kFramework, {.name = std::string(name),
                                            .value = std::move(value),
                                            .reason = std::move(reason),
                                            .source = "round",
                                            .claim = Claim::kOverrides});
  };
  std::vector<std::string> endpoints;
  for (int other = 0; other < round.world_size; ++other)
    endpoints.push_back(addresses_.text(other));
  const std::string& first = endpoints.front();
  const size_t cut = first.rfind(':');
  set("PADDLE_TRAINER_ID", std::to_string(rank), "this process among all");
  set("PADDLE_TRAINERS_NUM", std::to_string(round.world_size), "processes of the job");
  set("PADDLE_TRAINER_ENDPOINTS", join(endpoints, ","), "addresses of all, by rank");
  set("PADDLE_CURRENT_ENDPOINT", endpoints.at(static_cast<size_t>(rank)), "its own address");
  set("PADDLE_MASTER", first, "rank 0 serves the store there");
  set("PADDLE_GLOBAL_RANK", std::to_string(rank), "this process among all");
  set("PADDLE_GLOBAL_SIZE", std::to_string(round.world_size), "processes of the job");
  set("PADDLE_LOCAL_RANK", std::to_string(local_rank), "this process on its node");
  set("PADDLE_RANK_IN_NODE", std::to_string(local_rank), "this process on its node");
  set("PADDLE_NNODES", std::to_string(round.node_count), "nodes of the job");
  if (cut != std::string::npos) {
    set("MASTER_ADDR", first.substr(0, cut), "rank 0 serves Paddle's store");
    set("MASTER_PORT", first.substr(cut + 1), "of Paddle's store");
  }
  // As Paddle's own launcher: one device for each process, or none at all.
  if (has_devices_) {
    plan.add(EnvironmentLayer::kDefault,
             {"FLAGS_selected_gpus", std::to_string(local_rank),
              "builds for GPUs do not start without", "Paddle's launcher"});
  } else {
    plan.add(EnvironmentLayer::kDefault,
             {"PADDLE_DISTRI_BACKEND", "gloo", "this node has no devices", "Paddle's launcher"});
  }
  return {};
}

// Its server binds without SO_REUSEPORT.
Status PaddleDriver::attach(int local_rank, WorkerStart& /*worker*/) {
  addresses_.release(local_rank);
  return {};
}

}  // namespace muster::launcher
