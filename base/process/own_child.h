// OwnChild: this program once more, with other words, for what it prints. For work that blocks or
// may hang, beside a loop: it is killed when its time is over.
#pragma once

#include <csignal>
#include <functional>
#include <string>
#include <vector>

#include "base/environment.h"
#include "base/fd.h"
#include "base/loop.h"
#include "base/process.h"

namespace muster {

inline constexpr size_t kMaxChildAnswerBytes = 8 << 20;

struct OwnCall {
  std::string binary;              ///< path, as own_binary() tells
  std::vector<std::string> words;  ///< after argv[0]
  Environment environment;
  sigset_t signal_mask{};  ///< of the child
  Duration limit{};        ///< then it is killed
};

class OwnChild {
 public:
  /// Both are borrowed. Whoever reaps for `processes` reaps this one too.
  OwnChild(Loop& loop, ProcessHost& processes) : loop_(loop), processes_(processes) {}
  OwnChild(const OwnChild&) = delete;
  OwnChild& operator=(const OwnChild&) = delete;
  ~OwnChild() { cancel(); }

  /// Starts it, in place of one that still runs. `done` is called once, from the loop, with what it
  /// printed; not after cancel(). kTimeout: it was killed; kLimit: it prints too much. An error
  /// here is of the start: kOs, and `done` is not called.
  Status ask(const OwnCall& call, std::function<void(Result<std::string>)> done);
  /// Kills it; `done` is not called any more.
  void cancel();

 private:
  void read();
  void end(Result<std::string> answer);

  Loop& loop_;
  ProcessHost& processes_;
  std::function<void(Result<std::string>)> done_;
  pid_t pid_ = 0;  // 0 = none runs
  UniqueFd output_;
  std::string printed_;
  Watch watch_;
  Timer limit_;
};

}  // namespace muster
