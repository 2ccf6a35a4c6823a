// WorkerAddresses: an address with a free port for each worker of a round, by rank, for frameworks
// whose workers serve each other. They are new in each attempt: what the last one left behind, a
// port in TIME_WAIT or a peer that dials late, meets nobody. For drivers, which pass on what they
// are told. Such a driver needs the roster.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/reserved_port.h"
#include "base/result.h"
#include "base/socket.h"
#include "launcher/frameworks/driver.h"

namespace muster::launcher {

class WorkerAddresses {
 public:
  /// `host` is borrowed. After FrameworkDriver::start().
  void start(const DriverHost& host) { host_ = &host; }

  /// In FrameworkDriver::prepare_round(): tells the other nodes this one's and hears theirs. Takes
  /// the exchange of number 0.
  void prepare_round(const rendezvous::Assign& round, std::function<void()> ready);
  /// In FrameworkDriver::exchanged(), of that number.
  void exchanged(const Result<std::vector<std::string>>& all);
  /// In FrameworkDriver::begin_attempt(). Of a node alone: nothing was prepared. An error is a
  /// failed start. kOs, kPeer.
  Status begin_attempt(const rendezvous::Assign& round);

  /// "10.0.0.7:40001", of each rank; kMadeAtStart if nothing has begun.
  [[nodiscard]] std::string text(int rank) const;
  [[nodiscard]] bool known() const { return !all_.empty(); }
  [[nodiscard]] const Address& at(int rank) const { return all_.at(static_cast<size_t>(rank)); }
  /// For a server that binds without SO_REUSEPORT, right before its worker starts.
  void release(int local_rank);

 private:
  void reserve();
  [[nodiscard]] std::string own_ports() const;
  Status add(const std::string& host, const std::string& ports);

  const DriverHost* host_ = nullptr;
  std::vector<std::string> hosts_;  // of the round, by node rank
  std::vector<ReservedPort> own_;   // by local rank
  std::vector<Address> all_;
  std::optional<Error> problem_;  // told by begin_attempt()
  std::function<void()> ready_;
};

}  // namespace muster::launcher
