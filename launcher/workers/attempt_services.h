// AttemptServices: what the workers of a node need of their agent besides being started: a server
// that they ask, and that what killed ones have left is removed. LocalGroup is given them. Plain
// workers need nothing, and that is what this class does; frameworks/rank_services.h has more.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "mpi/pmi/rank_server.h"

namespace muster::launcher {

class AttemptServices {
 public:
  AttemptServices() = default;
  AttemptServices(const AttemptServices&) = delete;
  AttemptServices& operator=(const AttemptServices&) = delete;
  virtual ~AttemptServices() = default;

  /// Whether `program`, a path, can be a worker and be served here. Called before anything is
  /// started, on a node with workers.
  virtual Status check(const std::string& /*program*/) { return {}; }
  /// Who answers the workers of all attempts; null = they ask nothing.
  virtual std::unique_ptr<mpi::RankServer> make_rank_server(const mpi::RankServerHooks& /*hooks*/) {
    return nullptr;
  }
  /// An attempt begins: removes what the attempt before it has left.
  virtual void attempt_begins() {}
  /// The job ends: removes what the last attempt has left. `done` comes once, at once or from the
  /// loop.
  virtual void clean_up(const std::function<void()>& done) { done(); }
};

}  // namespace muster::launcher
