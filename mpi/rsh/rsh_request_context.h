// What the requests of an agent (rsh_request.h) share.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/loop.h"
#include "base/process.h"
#include "base/tls.h"
#include "mpi/rsh/rsh_protocol.h"
#include "mpi/rsh/rsh_ranks.h"

namespace muster::mpi {

/// What a request borrows from the server, for its life.
struct RshRequestContext {
  Loop& loop;
  ProcessHost& processes;
  const TlsContext* tls;     ///< null = no job secret
  std::string node;          ///< of this agent
  uint64_t incarnation = 0;  ///< of this agent; what is for another one is refused
  std::string run_id;
  /// What to start for a command, all but the descriptors; `mark` goes into its environment.
  std::function<Result<SpawnRequest>(const rsh::Run& run, const std::string& mark)> plan;
  /// Tells of a call that was not served, but not of every one of a flood.
  std::function<void(const std::string& peer, const std::string& reason)> tell_refused;
  RankHooks ranks = {};
  std::function<void(const RshCommandEnd&)> command_ended = {};  ///< may be empty
};

}  // namespace muster::mpi
