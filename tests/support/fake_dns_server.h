// FakeDnsServer: a DNS server on loopback that says what the test told it, also nothing, or a
// refusal, or a truncated answer over UDP and the whole one over TCP. Runs on the test's loop.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/loop.h"
#include "base/socket.h"

namespace muster::testing {

class FakeDnsServer {
 public:
  enum class Behaviour { kAnswer, kSilent, kRefuse, kServerFailure, kTruncate, kGarbage };

  /// Listens on a free port of 127.0.0.1, UDP and TCP. `loop` is borrowed.
  static std::unique_ptr<FakeDnsServer> start(Loop& loop);
  [[nodiscard]] Address address() const { return address_; }

  /// Numeric addresses of either family; replaces what the name had. Names without an entry are
  /// NXDOMAIN; an entry without addresses exists and has none.
  void set(const std::string& name, std::vector<std::string> addresses);
  void remove(const std::string& name) { names_.erase(name); }
  void set_behaviour(Behaviour behaviour) { behaviour_ = behaviour; }
  /// Only for queries of this name; kAnswer takes it back.
  void set_behaviour(const std::string& name, Behaviour behaviour) { by_name_[name] = behaviour; }

  /// "A worker-0.svc" for every query, in order of arrival.
  [[nodiscard]] const std::vector<std::string>& queries() const { return queries_; }

 private:
  struct Stream {
    UniqueFd fd;
    Watch watch;
    std::string received;
  };
  explicit FakeDnsServer(Loop& loop) : loop_(loop) {}
  bool open();
  void on_datagram();
  void on_connection();
  void on_stream(int fd);
  std::string answer(std::string_view query, bool over_udp);

  Loop& loop_;
  Address address_;
  UniqueFd datagrams_;
  UniqueFd listener_;
  Watch datagram_watch_;
  Watch listener_watch_;
  std::map<int, Stream> streams_;
  std::map<std::string, std::vector<std::string>> names_;
  Behaviour behaviour_ = Behaviour::kAnswer;
  std::map<std::string, Behaviour> by_name_;
  std::vector<std::string> queries_;
};

}  // namespace muster::testing
