// RunFolder: where the journal of this agent is: --run-dir, or a folder of its own if somebody is
// to be told of events and nobody wants to keep them.
#pragma once

#include <memory>
#include <string>

#include "base/files.h"
#include "launcher/options/options.h"

namespace muster::launcher {

class RunFolder {
 public:
  /// `files` is borrowed. A folder of its own is made in `temporary`, for our user alone. kOs.
  static Result<std::unique_ptr<RunFolder>> choose(const Options& options, Files& files,
                                                   const std::string& temporary);

  /// Removes one of its own, unless that was handed over.
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  /// "" = there is no journal.
  [[nodiscard]] const std::string& path() const { return path_; }
  /// Made for this agent; one that the user named stays.
  [[nodiscard]] bool is_own() const { return own_; }
  /// A sidecar removes it, as it may outlive us.
  void hand_over() { own_ = false; }

 private:
  RunFolder(Files& files, std::string path, bool own)
      : files_(files), path_(std::move(path)), own_(own) {}

  Files& files_;
  std::string path_;
  bool own_;
};

/// With all that is in it. What cannot be removed is left to whoever cleans temporary files.
void remove_run_folder(Files& files, const std::string& path);

}  // namespace muster::launcher
