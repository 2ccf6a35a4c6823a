// FolderWatch: tells when something may have happened to the journal or to the agent's lock. By
// inotify(7), and once a second all the same: it does not see what other machines do to a network
// file system, nor a folder that is not there yet.
#pragma once

#include <functional>
#include <string>

#include "base/fd.h"
#include "base/loop.h"

namespace muster::launcher {

inline constexpr Duration kLookAgain = std::chrono::seconds(1);
/// Without inotify, or before the folder is there.
inline constexpr Duration kLookOften = std::chrono::milliseconds(200);

class FolderWatch {
 public:
  /// `changed` is called from the loop; not for the sidecar's own files. `loop` is borrowed.
  FolderWatch(Loop& loop, std::string folder, std::function<void()> changed);
  FolderWatch(const FolderWatch&) = delete;
  FolderWatch& operator=(const FolderWatch&) = delete;

  void begin();

 private:
  void look();
  void watch_folder();
  void drain();

  Loop& loop_;
  std::string folder_;
  std::function<void()> changed_;
  UniqueFd notify_;
  Watch watch_;  // after notify_, so that it goes first
  bool watched_ = false;
  Timer timer_;
};

}  // namespace muster::launcher
