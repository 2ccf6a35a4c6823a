// What the log says of the variables that workers get, once or when it changes.
#pragma once

#include "base/environment.h"
#include "launcher/frameworks/driver.h"
#include "launcher/workers/worker_plan.h"

namespace muster::launcher {

/// The variables of `user` that give way to those of the framework. A pod may have been made for
/// another launcher of the same framework.
void log_replaced(const FrameworkDriver& driver, const WorkerPlan& workers,
                  const Environment& user);

/// What was found of the network and its devices, and what is wrong with it. Null: nothing is new.
void log_fabric(const nccl::FabricPlan* plan);

}  // namespace muster::launcher
