// What an agent borrows from the program around it: the doors to the world and what it is told
// about itself. Plain structs, filled by run_verb.cc.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/environment.h"
#include "base/environment_plan.h"
#include "base/files.h"
#include "base/loop.h"
#include "base/process.h"
#include "base/process/init.h"
#include "base/resolver.h"
#include "base/socket.h"
#include "launcher/contracts/contract.h"
#include "launcher/options/options.h"
#include "launcher/output/console.h"

namespace muster::launcher {

class JobTimeline;
class ProgressWatch;

/// The doors to the world, borrowed for the life of the agent.
struct AgentDoors {
  Loop& loop;
  const Clock& clock;
  ProcessHost& processes;
  Files& files;
  Network& network;
  Resolver& resolver;  ///< starts DNS with the first name that is asked for
  Console& console;
};

/// What the agent is told about itself; borrowed for the life of the agent.
struct AgentContext {
  const Options& options;
  const Environment& environment;
  const ProcessSetup& setup;
  std::string job;                ///< the controller's name of it, or the user's
  std::string node;               ///< this node's name, for people
  std::string token;              ///< random; marks everything that descends from this agent
  std::string temp_dir = "/tmp";  ///< of find_temporary_place(): where error files and logs go
  /// Below temp_dir; made by who needs it (temporary_folder.h), and gone when the agent is, also
  /// when it is killed (guardian.h).
  std::string folder;
  bool is_pid_one = false;
  ProgressWatch* progress = nullptr;   ///< hears how far the workers are; null = nobody does
  JobTimeline* timeline = nullptr;     ///< hears where the job's time goes; null = nobody does
  const Contract* contract = nullptr;  ///< of the controller that made this pod; null = none
  std::vector<PlannedVariable> worker_variables = {};  ///< that workers get besides the plan's
  pid_t sidecar = 0;  ///< child that reports, and is no worker's; it ends after the job. 0 = none
  /// Told of another `job` or `node`, for the log and the journal.
  std::function<void(const std::string& job, const std::string& node)> renamed = {};
};

}  // namespace muster::launcher
