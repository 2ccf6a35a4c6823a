#include "rendezvous/leader/leader_voice.h"

#include <utility>

namespace muster::rendezvous {

void LeaderVoice::put(LeaderOutput output) {
  if (perform_ == nullptr) {
    outputs_.push_back(std::move(output));
  } else {
    (*perform_)(std::move(output));
  }
}

void LeaderVoice::log(log::Level level, std::string_view event, std::string reason,
                      uint64_t round) {
  if (quiet_ && level < log::Level::kError) level = log::Level::kDebug;
  put(leader_output::Log{level, event, std::move(reason), round});
}

bool LeaderVoice::say_when_changed(std::string_view event, const std::string& reason, bool warn) {
  std::string news = reason.substr(0, reason.find(" for "));
  std::string& last = said_[std::string(event)];
  if (last == news) return false;
  last = std::move(news);
  log(warn ? log::Level::kWarning : log::Level::kInfo, event, reason);
  return true;
}

bool LeaderVoice::speak_up() { return std::exchange(quiet_, false); }

std::vector<LeaderOutput> LeaderVoice::take() { return std::exchange(outputs_, {}); }

}  // namespace muster::rendezvous
