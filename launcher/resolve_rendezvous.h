// How the nodes of a job meet, from its flags: standalone mode, static and elastic rendezvous, the
// run's id. A part of resolve_options.h.
#pragma once

#include <string>
#include <vector>

#include "launcher/flag_reader.h"
#include "launcher/options.h"
#include "launcher/random_run_id.h"
#include "launcher/rendezvous_values.h"

namespace muster::launcher {

/// Works on `options`, in which the framework, the numbers of nodes and the run's id are already.
/// What is wrong goes to `flags`. Both and `random` are borrowed.
class RendezvousResolver {
 public:
  RendezvousResolver(FlagReader& flags, Options& options, const RandomBytes& random)
      : flags_(flags), options_(options), random_(random) {}
  RendezvousResolver(const RendezvousResolver&) = delete;
  RendezvousResolver& operator=(const RendezvousResolver&) = delete;

  /// The flags one by one.
  void read();
  /// What they mean together; only when each one is right by itself.
  void settle();

 private:
  /// Who asked for standalone mode: "--standalone", a variable, "one node"; "" = nobody.
  [[nodiscard]] std::string standalone_source() const;
  void settle_standalone(const std::string& source);
  /// `source` of standalone mode; "" = not standalone.
  void settle_run_id(const std::string& source);
  void check_static();
  void check_endpoints();

  FlagReader& flags_;
  Options& options_;
  const RandomBytes& random_;
  std::vector<Endpoint> endpoints_;
};

}  // namespace muster::launcher
