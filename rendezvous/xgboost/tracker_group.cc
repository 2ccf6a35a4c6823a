#include "rendezvous/xgboost/tracker_group.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace muster::rendezvous {

namespace {

constexpr size_t kNamedTasks = 5;

bool is_none(const std::string& task_id) { return task_id.empty() || task_id == kNoTaskId; }

std::string named(const std::string& task_id) {
  return is_none(task_id) ? "a task without an id" : "task " + one_line(task_id);
}

TrackerGroup::Answer refused(std::string reason) {
  return {TrackerJoin::kRefused, {-1, std::move(reason)}};
}

// "10" behind "2"; what are no numbers, behind them, as texts.
bool id_before(const std::string& a, const std::string& b) {
  const auto number_a = parse_integer(a);
  const auto number_b = parse_integer(b);
  if (number_a && number_b && *number_a != *number_b) return *number_a < *number_b;
  if (number_a.has_value() != number_b.has_value()) return number_a.has_value();
  return a < b;
}

}  // namespace

void TrackerGroup::begin(int world_size) {
  *this = TrackerGroup();
  world_size_ = world_size;
}

// None: it is none of the job's.
std::optional<int> TrackerGroup::rank_of(const std::string& task_id) const {
  const auto number = parse_integer(task_id);
  if (!number || *number < 0 || *number >= world_size_ || std::to_string(*number) != task_id)
    return std::nullopt;
  return static_cast<int>(*number);
}

bool TrackerGroup::is_in_group(const std::string& task_id) const {
  return !is_none(task_id) && group_ids_.contains(task_id);
}

std::optional<TrackerGroup::Answer> TrackerGroup::refusal(const tracker::Header& header,
                                                          bool is_rank) const {
  if (header.world_size > 0 && header.world_size != world_size_)
    return refused(fmt::format("{} wants a group of {}, the job has {} workers",
                               named(header.task_id), header.world_size, world_size_));
  if (by_rank_ && !is_rank)
    return refused(fmt::format("{} joins no workers whose task ids are their ranks, 0 to {}",
                               named(header.task_id), world_size_ - 1));
  return std::nullopt;
}

TrackerGroup::Answer TrackerGroup::start(const tracker::Header& header, TrackerWorker worker) {
  const auto rank = rank_of(header.task_id);
  const bool is_rank = rank.has_value();
  if (auto refused = refusal(header, is_rank)) return std::move(*refused);
  worker.wire = header.wire;
  worker.task_id = header.task_id;
  worker.is_double = is_in_group(header.task_id);
  Answer answer;
  if (is_rank && !std::exchange(by_rank_, true)) answer.displaced = take_waiting();
  if (const auto other = waiting_ids_.find(header.task_id); other != waiting_ids_.end()) {
    const TrackerClient client = other->second;
    if (worker.is_double || !waiting_.at(client).is_double)
      return refused(named(header.task_id) + " waits to join already");
    answer.displaced.push_back(client);
    leave(client);
  }
  if (!waiting_.empty() && waiting_.begin()->second.wire != header.wire) {
    const TrackerWorker& first = waiting_.begin()->second;
    answer.join = TrackerJoin::kMixed;
    answer.failure = {rank.value_or(-1),
                      fmt::format("{} has {}, {} has {}, and they do not understand each other",
                                  named(first.task_id), to_string(first.wire),
                                  named(header.task_id), to_string(header.wire))};
    return answer;
  }
  if (!is_none(header.task_id)) waiting_ids_[header.task_id] = worker.client;
  waiting_.emplace(worker.client, std::move(worker));
  if (waiting_.size() < static_cast<size_t>(world_size_)) return answer;
  form();
  answer.join = TrackerJoin::kComplete;
  return answer;
}

void TrackerGroup::leave(TrackerClient client) {
  const auto found = waiting_.find(client);
  if (found == waiting_.end()) return;
  waiting_ids_.erase(found->second.task_id);
  waiting_.erase(found);
}

std::vector<TrackerClient> TrackerGroup::take_waiting() {
  std::vector<TrackerClient> clients;
  for (const auto& [client, worker] : waiting_) clients.push_back(client);
  waiting_.clear();
  waiting_ids_.clear();
  return clients;
}

void TrackerGroup::form() {
  workers_.clear();
  group_ids_.clear();
  for (auto& [client, worker] : waiting_) {
    if (!is_none(worker.task_id)) group_ids_.insert(worker.task_id);
    workers_.push_back(std::move(worker));
  }
  waiting_.clear();
  waiting_ids_.clear();
  const auto before = [this](const TrackerWorker& a, const TrackerWorker& b) {
    if (!by_rank_ && a.host != b.host) return a.host < b.host;
    return id_before(a.task_id, b.task_id);
  };
  std::stable_sort(workers_.begin(), workers_.end(), before);
}

TrackerWorker* TrackerGroup::find(const tracker::Header& header) {
  if (header.world_size != static_cast<int>(workers_.size()) || header.rank < 0) return nullptr;
  if (header.rank >= header.world_size) return nullptr;
  TrackerWorker& worker = workers_[static_cast<size_t>(header.rank)];
  return worker.task_id == header.task_id ? &worker : nullptr;
}

void TrackerGroup::shut_down(TrackerWorker& worker) {
  worker.has_left = true;
  worker.error_port = 0;
  group_ids_.erase(worker.task_id);
}

std::optional<TrackerFailure> TrackerGroup::deadlock() const {
  if (waiting_.empty() || ended_.empty()) return std::nullopt;
  std::vector<std::string> names;
  for (const auto& [client, worker] : waiting_) {
    if (names.size() == kNamedTasks) break;
    names.push_back(named(worker.task_id));
  }
  std::string waiting = join(names, ", ");
  if (waiting_.size() > names.size())
    waiting += fmt::format(" and {} others", waiting_.size() - names.size());
  return TrackerFailure{*ended_.begin(),
                        fmt::format("exit code 0, but {} {} for it to join the group of XGBoost",
                                    waiting, waiting_.size() == 1 ? "waits" : "wait")};
}

}  // namespace muster::rendezvous
