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

  /// "" = there is no journal.
  [[nodiscard]] const std::string& path() const { return path_; }
  /// Of one of its own with all that is in it; one that the user named stays.
  void remove();

 private:
  RunFolder(Files& files, std::string path, bool own)
      : files_(files), path_(std::move(path)), own_(own) {}

  Files& files_;
  std::string path_;
  bool own_;
};

}  // namespace muster::launcher
