// ByteRelay: two connected sockets, and everything that comes from one goes to the other as it is.
// Used by pmi_relay.h and pmix_relay.h, which stand between a rank and its daemon.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/loop.h"
#include "base/result.h"

namespace muster::mpi {

struct ByteRelayHooks {
  std::function<void(std::string_view bytes)> said;  ///< by the rank, before it is passed on
  /// The daemon may hear that the rank is gone. Empty = always.
  std::function<bool()> may_tell_end;
};

class ByteRelay {
 public:
  ByteRelay(Loop& loop, UniqueFd rank, UniqueFd daemon, ByteRelayHooks hooks);
  ByteRelay(const ByteRelay&) = delete;
  ByteRelay& operator=(const ByteRelay&) = delete;

  /// kOs.
  Status start();
  /// The rank has ended: passes on what it still said.
  void drain();
  /// Both sides have closed.
  [[nodiscard]] bool is_over() const { return to_daemon_.ended && to_rank_.ended; }

 private:
  struct Way {  // one direction
    int from = -1;
    int to = -1;
    std::string pending = {};
    bool ended = false;
  };
  void pump(Way& way);
  void pump_all();

  Loop& loop_;
  UniqueFd rank_;
  UniqueFd daemon_;
  ByteRelayHooks hooks_;
  Way to_daemon_;
  Way to_rank_;
  // after the sockets
  Watch rank_watch_;
  Watch daemon_watch_;
};

}  // namespace muster::mpi
