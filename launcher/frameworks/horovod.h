// The driver of Horovod without horovodrun: each process learns its place from variables, and all
// meet at the key-value store that the agent of node rank 0 serves. Facts: Horovod 0.28
// (docs/frameworks/horovod.md).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/http_server.h"
#include "launcher/frameworks/driver.h"
#include "rendezvous/horovod/key_values.h"

namespace muster::launcher {

/// Of one process. The cross numbers count the nodes that have that local rank.
struct HorovodPlace {
  int rank = 0;
  int size = 1;
  int local_rank = 0;
  int local_size = 1;
  int cross_rank = 0;
  int cross_size = 1;
};

class HorovodDriver final : public FrameworkDriver {
 public:
  /// `options` is borrowed.
  explicit HorovodDriver(const Options& options);

  [[nodiscard]] FrameworkNeeds needs() const override;
  Status start(const DriverHost& host) override;
  void prepare_round(const rendezvous::Assign& round, const std::function<void()>& ready) override;
  void exchanged(uint64_t sequence, const Result<std::vector<std::string>>& all) override;
  Result<std::optional<JobLauncher>> begin_attempt(const rendezvous::Assign& round,
                                                   int workers) override;
  Status add_variables(const rendezvous::Assign& round, int local_rank,
                       EnvironmentPlan& plan) const override;
  void round_over() override;

 private:
  void begin(const rendezvous::Assign& round);
  [[nodiscard]] HorovodPlace place(const rendezvous::Assign& round, size_t node,
                                   int local_rank) const;
  [[nodiscard]] std::optional<std::string> place_of(std::string_view slot) const;

  const Options& options_;
  std::optional<DriverHost> host_;
  rendezvous::KeyValues store_;
  std::unique_ptr<HttpServer> server_;
  rendezvous::Assign round_;
  std::function<void()> ready_;
  std::string interface_;  // of this node, for Gloo; "" = it finds one
};

}  // namespace muster::launcher
