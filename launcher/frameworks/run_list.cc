#include "launcher/frameworks/run_list.h"

#include "base/text.h"

namespace muster::launcher {

// Neighbours go to one worker, so that what is done is told in few words.
void RunList::deal(int first_rank, int own_workers, int workers) {
  waiting_.clear();
  current_.clear();
  const size_t left = static_cast<size_t>(runs_) - done_.size();
  const auto begin_of = [left, workers](int rank) {
    return left * static_cast<size_t>(rank) / static_cast<size_t>(workers);
  };
  size_t place = 0;
  for (int run = 0; run < runs_; ++run) {
    if (done_.contains(run)) continue;
    const bool own = place >= begin_of(first_rank) && place < begin_of(first_rank + own_workers);
    if (own) waiting_.push_back(run);
    ++place;
  }
}

std::optional<int> RunList::next(int local_rank) {
  current_.erase(local_rank);
  if (waiting_.empty()) return std::nullopt;
  const int run = waiting_.front();
  waiting_.pop_front();
  current_[local_rank] = run;
  return run;
}

std::optional<int> RunList::of(int local_rank) const {
  const auto found = current_.find(local_rank);
  return found == current_.end() ? std::nullopt : std::optional(found->second);
}

void RunList::done(int local_rank) {
  if (const auto run = of(local_rank)) done_.insert(*run);
  current_.erase(local_rank);
}

std::string RunList::told() const {
  std::string text;
  for (auto run = done_.begin(); run != done_.end();) {
    const int first = *run;
    int last = first;
    while (++run != done_.end() && *run == last + 1) ++last;
    if (!text.empty()) text += ',';
    text += std::to_string(first);
    if (last > first) text += '-' + std::to_string(last);
  }
  return text;
}

Status RunList::learn(std::string_view told) {
  if (told.empty()) return {};
  for (const std::string_view part : split(told, ',')) {
    const size_t dash = part.find('-');
    const auto first = parse_integer(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_integer(part.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first || *last >= runs_) {
      return Error{Code::kPeer, 0,
                   "a node told '" + std::string(clip_utf8(one_line(part), 100)) +
                       "' as runs that are done"};
    }
    for (auto run = *first; run <= *last; ++run) done_.insert(static_cast<int>(run));
  }
  return {};
}

}  // namespace muster::launcher
