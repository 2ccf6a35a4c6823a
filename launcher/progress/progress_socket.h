// ProgressSocket: where one worker says how far it is, a unix datagram socket. It hands out what
// came and knows nothing of what it means.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/loop.h"
#include "base/result.h"

namespace muster::launcher {

/// sun_path of Linux, without the end of the text.
inline constexpr size_t kMaxSocketPathBytes = 107;

class ProgressSocket {
 public:
  /// At `path`, which must not be there. `came` gets each message from the loop; one that is longer
  /// than kMaxProgressMessageBytes is cut, so that it is none. kOs; kLimit: the path is too long.
  static Result<std::unique_ptr<ProgressSocket>> create(
      Loop& loop, std::string path, std::function<void(std::string_view message)> came);
  ProgressSocket(const ProgressSocket&) = delete;
  ProgressSocket& operator=(const ProgressSocket&) = delete;
  /// Removes the path.
  ~ProgressSocket();

  /// Takes all that came, without waiting: its sender has ended.
  void read_rest();

 private:
  ProgressSocket(std::string path, std::function<void(std::string_view)> came)
      : path_(std::move(path)), came_(std::move(came)) {}

  void read(int most);

  std::string path_;
  std::function<void(std::string_view)> came_;
  UniqueFd socket_;
  Watch watch_;  // destroyed before socket_ is closed
};

}  // namespace muster::launcher
