#include "launcher/workers/environment_log.h"

#include "base/environment_plan.h"
#include "base/log.h"
#include "base/text.h"

namespace muster::launcher {

// What is wrong otherwise, the first start says.
void log_replaced(const FrameworkDriver& driver, const WorkerPlan& workers,
                  const Environment& user) {
  EnvironmentPlan plan;
  if (workers.local_world_size() == 0 || !driver.add_variables(workers.round(), 0, plan)) return;
  const auto names = replaced_names(plan.merge(user).decisions, user);
  if (names.empty()) return;
  log::info("worker.variables_replaced",
            {{"names", join(names, ",")}, {"action", "workers get those of this job"}});
}

void log_fabric(const nccl::FabricPlan* plan) {
  if (plan == nullptr) return;
  if (plan->kind != nccl::FabricKind::kNone) {
    log::info("fabric.plan", {{"machine", plan->title},
                              {"interface", plan->control.name},
                              {"devices", join(plan->devices, ",")},
                              {"variables", plan->variables.size()}});
  }
  for (const nccl::Finding& finding : plan->findings) {
    if (finding.severity == nccl::Severity::kInfo) continue;
    log::warning("fabric.finding", {{"id", finding.id},
                                    {"severity", nccl::to_string(finding.severity)},
                                    {"what", finding.what},
                                    {"remedy", finding.remedy}});
  }
}

}  // namespace muster::launcher
