// Resolver: names to numeric addresses, by DNS, on the loop. No thread and nothing that blocks but
// reading /etc/resolv.conf (again when it has changed) and /etc/hosts. It asks once per call: who
// wants to wait for a name that is not there yet asks again (rendezvous/finding/discovery).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/loop.h"
#include "base/socket.h"

namespace muster {

/// More at once are answered kServerFailed: a DNS transaction id has 16 bits, a lookup takes two.
inline constexpr size_t kMaxLookupsInFlight = 8192;
/// Of one name; the rest of a longer answer is left out. A headless service lists all its pods.
inline constexpr size_t kMaxAddressesPerName = 16384;

enum class LookupStatus {
  kFound,
  kNoName,        ///< NXDOMAIN in every search domain, or a name without any address
  kNoAnswer,      ///< no server answered before the deadline
  kServerFailed,  ///< the servers refused, failed (SERVFAIL), are not there, or answered nonsense
};

/// What came of one lookup. A value and not an Error: a name that is missing is what a starting
/// job looks like.
struct LookupAnswer {
  LookupStatus status = LookupStatus::kNoAnswer;
  std::vector<std::string> addresses;  ///< numeric, never empty when found: IPv4 first, then IPv6,
                                       ///< each once, otherwise in the server's order
  std::string reason;                  ///< for messages, else "": "look up 'worker-5': NXDOMAIN"
};
using LookupCallback = std::function<void(LookupAnswer)>;

/// A lookup under way. Its destructor (or reset) cancels: the callback is then never called.
class Lookup {
 public:
  Lookup() = default;
  explicit Lookup(std::function<void()> cancel) : cancel_(std::move(cancel)) {}
  Lookup(Lookup&& other) noexcept : cancel_(std::exchange(other.cancel_, nullptr)) {}
  Lookup& operator=(Lookup&& other) noexcept;
  ~Lookup() { reset(); }
  void reset();

 private:
  std::function<void()> cancel_;
};

/// The door to name resolution; tests have a FakeResolver.
class Resolver {
 public:
  virtual ~Resolver() = default;
  /// Finds all IPv4 and IPv6 addresses of `name`; a numeric one (also in brackets) needs no server.
  /// `done` is called once, never before resolve returns, at the latest after `deadline`. The
  /// resolver must outlive the handle.
  [[nodiscard]] virtual Lookup resolve(const std::string& name, Duration deadline,
                                       LookupCallback done) = 0;
};

struct DnsOptions {
  /// Instead of the "nameserver" lines; for tests.
  std::vector<Address> servers;
  /// Search domains, ndots and servers (resolv.conf(5)); LOCALDOMAIN and RES_OPTIONS override.
  std::string resolv_conf_path = "/etc/resolv.conf";
  /// Wait for the first answer of a server, doubled in the second and last round over all servers.
  /// Short, as a lost packet is more likely than a slow server, and whoever waits longer asks
  /// again.
  std::chrono::milliseconds server_timeout{1000};
};

/// Which content of a file this is, as far as the file system says; all 0 = there is none.
struct FileStamp {
  uint64_t inode = 0;
  int64_t bytes = 0;
  int64_t changed_ns = 0;
  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};

/// c-ares on our loop. /etc/hosts before DNS whatever nsswitch.conf says (images often have none).
/// A truncated answer is asked for again over TCP. Costs nothing until the first name that is not
/// numeric.
class DnsResolver final : public Resolver {
 public:
  /// `loop` is borrowed. Lookups still under way when it is destroyed are cancelled.
  explicit DnsResolver(Loop& loop, DnsOptions options = {});
  ~DnsResolver() override;
  DnsResolver(const DnsResolver&) = delete;
  DnsResolver& operator=(const DnsResolver&) = delete;
  [[nodiscard]] Lookup resolve(const std::string& name, Duration deadline,
                               LookupCallback done) override;

 private:
  class Channel;
  struct Request {
    std::string name;
    LookupCallback done;
    Timer deadline;  ///< after the answer: the timer that delivers it
  };
  void begin(uint64_t id);
  Status open_channel();
  void finish(uint64_t id, LookupAnswer answer);
  void deliver(uint64_t id, LookupAnswer answer);

  Loop& loop_;
  DnsOptions options_;
  uint64_t next_id_ = 1;
  std::map<uint64_t, Request> requests_;
  FileStamp resolv_conf_;             ///< that channel_ has read
  std::unique_ptr<Channel> channel_;  ///< made at the first name; last, so destroyed first
};

}  // namespace muster
