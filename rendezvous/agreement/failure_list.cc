#include "rendezvous/agreement/failure_list.h"

#include <fmt/core.h>

#include <utility>

namespace muster::rendezvous {

namespace {

// A rank is in one round on one node; a launcher that starts ranks has neither rank nor pid.
std::string process_of(const Failure& failure) {
  return fmt::format("{} {} {} {}", failure.rank, failure.pid, failure.attempt, failure.node);
}

}  // namespace

void FailureList::add(Failure failure) {
  std::string process = process_of(failure);
  if (known_.contains(process)) return;
  if (by_time_.size() >= limit_) {
    const auto latest = std::prev(by_time_.end());
    if (latest->first <= failure.happened) return;
    known_.erase(process_of(latest->second));
    by_time_.erase(latest);
  }
  known_.insert(std::move(process));
  const TimePoint happened = failure.happened;
  by_time_.emplace(happened, std::move(failure));
}

std::vector<Failure> FailureList::take() {
  std::vector<Failure> failures;
  failures.reserve(by_time_.size());
  for (auto& [happened, failure] : by_time_) failures.push_back(std::move(failure));
  clear();
  return failures;
}

void FailureList::clear() {
  by_time_.clear();
  known_.clear();
}

}  // namespace muster::rendezvous
