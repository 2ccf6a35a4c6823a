#include "base/loop.h"

#include <array>
#include <utility>

#include "base/check.h"

namespace muster {

namespace {
constexpr int kEventsPerTurn = 256;  // bounds one turn; the rest is reported in the next
}

Watch::Watch(Watch&& other) noexcept : loop_(std::exchange(other.loop_, nullptr)), id_(other.id_) {}

Watch& Watch::operator=(Watch&& other) noexcept {
  if (this != &other) {
    reset();
    loop_ = std::exchange(other.loop_, nullptr);
    id_ = other.id_;
  }
  return *this;
}

void Watch::reset() {
  if (loop_ != nullptr) std::exchange(loop_, nullptr)->unwatch(id_);
}

void Watch::set_interest(Interest interest) {
  MUSTER_CHECK(loop_ != nullptr);
  loop_->set_interest(id_, interest);
}

Timer::Timer(Timer&& other) noexcept
    : loop_(std::exchange(other.loop_, nullptr)), key_(other.key_) {}

Timer& Timer::operator=(Timer&& other) noexcept {
  if (this != &other) {
    reset();
    loop_ = std::exchange(other.loop_, nullptr);
    key_ = other.key_;
  }
  return *this;
}

void Timer::reset() {
  if (loop_ != nullptr) std::exchange(loop_, nullptr)->timers_.erase(key_);
}

bool Timer::is_active() const { return loop_ != nullptr && loop_->timers_.contains(key_); }

Result<std::unique_ptr<Loop>> Loop::create(const Clock& clock) {
  UniqueFd epoll(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll.is_open()) return os_error("epoll_create1");
  return std::unique_ptr<Loop>(new Loop(clock, std::move(epoll)));
}

Result<Watch> Loop::watch(int fd, Interest interest, std::function<void(Ready)> ready) {
  const uint64_t id = next_id_++;
  auto entry = std::make_unique<Entry>(Entry{fd, interest, std::move(ready), id});
  epoll_event event{};
  event.events = static_cast<uint32_t>(interest);
  event.data.ptr = entry.get();
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
    return os_error("epoll_ctl ADD fd " + std::to_string(fd));
  }
  watches_.emplace(id, std::move(entry));
  return Watch(this, id);
}

void Loop::set_interest(uint64_t id, Interest interest) {
  const auto found = watches_.find(id);
  MUSTER_CHECK(found != watches_.end());
  Entry& entry = *found->second;
  if (entry.interest == interest) return;
  entry.interest = interest;
  epoll_event event{};
  event.events = static_cast<uint32_t>(interest);
  event.data.ptr = &entry;
  MUSTER_CHECK(epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, entry.fd, &event) ==
               0);  // fails only for an fd closed too early
}

void Loop::unwatch(uint64_t id) {
  const auto found = watches_.find(id);
  MUSTER_CHECK(found != watches_.end());
  // The result is ignored: the only failure is an fd already closed, which epoll forgot by itself.
  (void)epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, found->second->fd, nullptr);
  found->second->fd = -1;  // an event for it may still be in this turn's batch: dropped there
  retired_.push_back(std::move(found->second));
  watches_.erase(found);
}

Timer Loop::at(TimePoint when, std::function<void()> fire) {
  const Timer::Key key{when, next_id_++};
  timers_.emplace(key, std::move(fire));
  return Timer(this, key);
}

void Loop::post(std::function<void()> function) { posted_.push_back(std::move(function)); }

Status Loop::run() {
  stopping_ = false;
  while (!stopping_) {
    if (auto turned = turn(true); !turned) return std::move(turned).error();
  }
  return {};
}

Status Loop::run_until_idle() {
  for (;;) {
    auto turned = turn(false);
    if (!turned) return std::move(turned).error();
    if (!*turned) return {};
  }
}

int Loop::wait_timeout_ms(bool may_wait) const {
  if (!may_wait || !posted_.empty()) return 0;
  if (timers_.empty()) return -1;
  const Duration left = timers_.begin()->first.first - clock_.now();
  if (left <= Duration::zero()) return 0;
  const auto rounded_up = std::chrono::ceil<std::chrono::milliseconds>(left).count();
  constexpr int64_t kLongestWaitMs = 3'600'000;  // epoll_wait takes an int
  return static_cast<int>(rounded_up < kLongestWaitMs ? rounded_up : kLongestWaitMs);
}

// One turn; true when anything was done.
Result<bool> Loop::turn(bool may_wait) {
  std::array<epoll_event, kEventsPerTurn> events;
  const int count =
      epoll_wait(epoll_.get(), events.data(), kEventsPerTurn, wait_timeout_ms(may_wait));
  if (count < 0 && errno != EINTR) return os_error("epoll_wait");
  now_ = clock_.now();
  bool active = false;
  for (int i = 0; i < count; ++i) {
    auto* entry = static_cast<Entry*>(events[static_cast<size_t>(i)].data.ptr);
    if (entry->fd < 0) continue;  // unregistered earlier in this turn
    const uint32_t flags = events[static_cast<size_t>(i)].events;
    const bool broken = (flags & (EPOLLHUP | EPOLLERR)) != 0;
    active = true;
    entry->ready(Ready{(flags & EPOLLIN) != 0 || broken, (flags & EPOLLOUT) != 0 || broken});
  }
  active |= fire_due_timers();
  active |= run_posted();
  retired_.clear();
  return active;
}

bool Loop::fire_due_timers() {
  bool fired = false;
  const uint64_t first_new_id =
      next_id_;  // timers set by a callback of this turn wait for the next one
  for (auto next = timers_.begin(); next != timers_.end() && next->first.first <= now_;) {
    if (next->first.second >= first_new_id) {
      ++next;
      continue;
    }
    auto fire = std::move(next->second);
    const Timer::Key key = next->first;
    timers_.erase(next);
    fire();
    fired = true;
    next = timers_.upper_bound(key);
  }
  return fired;
}

bool Loop::run_posted() {
  auto posted = std::exchange(posted_, {});
  for (auto& function : posted) function();
  return !posted.empty();
}

}  // namespace muster
