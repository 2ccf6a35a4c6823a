// LeaderVoice: what a leader asks for, in order, and what of it is news for the log. Part of the
// inside of Leader; included by leader_core.h alone.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "rendezvous/leader/leader.h"

namespace muster::rendezvous {

class LeaderVoice {
 public:
  /// `quiet`: as LeaderSeed.
  explicit LeaderVoice(bool quiet) : quiet_(quiet) {}

  void put(LeaderOutput output);
  /// `round`: of which it speaks; 0 = of none.
  void log(log::Level level, std::string_view event, std::string reason, uint64_t round = 0);
  /// Nothing if the last reason of that event was the same up to " for ": seconds that count down
  /// are no news. False: it was no news.
  bool say_when_changed(std::string_view event, const std::string& reason, bool warn = false);
  /// The next reason of that event is news.
  void forget(std::string_view event) { said_.erase(std::string(event)); }
  /// Not quiet from now on. True: it was.
  bool speak_up();
  /// The last reason of each event, up to " for ".
  [[nodiscard]] const std::map<std::string, std::string>& said() const { return said_; }

  /// What was put since the last call.
  [[nodiscard]] std::vector<LeaderOutput> take();
  /// Outputs go to `perform` at once, which is borrowed; null = they are kept for take().
  void pass_to(const Leader::Perform* perform) { perform_ = perform; }

 private:
  bool quiet_;
  std::vector<LeaderOutput> outputs_;
  const Leader::Perform* perform_ = nullptr;
  std::map<std::string, std::string> said_;
};

}  // namespace muster::rendezvous
