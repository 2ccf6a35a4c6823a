#include "base/loop.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"

namespace muster {

namespace {
constexpr int kEventsPerTurn = 256;  // bounds one turn; the rest is reported in the next
}

struct Watched {
  int fd = -1;  // -1: unregistered, an event for it may still be in this turn's batch
  Interest interest = Interest::kNothing;
  std::function<void(Ready)> ready;
};

Watch::Watch(Watch&& other) noexcept
    : loop_(std::exchange(other.loop_, nullptr)), watched_(other.watched_) {}

Watch& Watch::operator=(Watch&& other) noexcept {
  if (this != &other) {
    reset();
    loop_ = std::exchange(other.loop_, nullptr);
    watched_ = other.watched_;
  }
  return *this;
}

void Watch::reset() {
  if (loop_ != nullptr) std::exchange(loop_, nullptr)->unwatch(watched_);
}

void Watch::set_interest(Interest interest) {
  MUSTER_CHECK(loop_ != nullptr);
  loop_->set_interest(*watched_, interest);
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
  if (loop_ != nullptr) std::exchange(loop_, nullptr)->cancel(key_);
}

bool Timer::is_active() const {
  return loop_ != nullptr && (loop_->find_due(key_) != nullptr || loop_->timers_.contains(key_));
}

Loop::Loop(const Clock& clock, UniqueFd epoll)
    : clock_(clock), epoll_(std::move(epoll)), now_(clock.now()) {}
Loop::~Loop() = default;

Result<std::unique_ptr<Loop>> Loop::create(const Clock& clock) {
  UniqueFd epoll(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll.is_open()) return os_error("epoll_create1");
  return std::unique_ptr<Loop>(new Loop(clock, std::move(epoll)));
}

Result<Watch> Loop::watch(int fd, Interest interest, std::function<void(Ready)> ready) {
  auto watched = std::make_unique<Watched>(Watched{fd, interest, std::move(ready)});
  epoll_event event{};
  event.events = static_cast<uint32_t>(interest);
  event.data.ptr = watched.get();
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
    return os_error("epoll_ctl ADD fd " + std::to_string(fd));
  }
  return Watch(this, watched.release());
}

void Loop::set_interest(Watched& watched, Interest interest) {
  if (watched.interest == interest) return;
  watched.interest = interest;
  epoll_event event{};
  event.events = static_cast<uint32_t>(interest);
  event.data.ptr = &watched;
  MUSTER_CHECK(epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, watched.fd, &event) ==
               0);  // fails only for an fd closed too early
}

void Loop::unwatch(Watched* watched) {
  // The result is ignored: the only failure is an fd already closed, which epoll forgot by itself.
  (void)epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, watched->fd, nullptr);
  watched->fd = -1;
  retired_.emplace_back(watched);
}

Timer Loop::at(TimePoint when, std::function<void()> fire) {
  const Timer::Key key{std::max(when, now_), next_id_++};
  if (when > now_) {
    timers_.emplace(key, std::move(fire));
  } else {
    due_.push_back({key, std::move(fire)});
  }
  return Timer(this, key);
}

// Null: it is none of these, or cancelled.
Loop::Due* Loop::find_due(const Timer::Key& key) {
  if (key.first > now_) return nullptr;
  const auto found =
      std::lower_bound(due_.begin(), due_.end(), key,
                       [](const Due& due, const Timer::Key& sought) { return due.key < sought; });
  return found != due_.end() && found->key == key && found->fire ? &*found : nullptr;
}

void Loop::cancel(const Timer::Key& key) {
  if (Due* due = find_due(key)) {
    due->fire = nullptr;
  } else {
    timers_.erase(key);
  }
}

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
  if (!may_wait || !due_.empty()) return 0;
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
    auto* watched = static_cast<Watched*>(events[static_cast<size_t>(i)].data.ptr);
    if (watched->fd < 0) continue;  // unregistered earlier in this turn
    const uint32_t flags = events[static_cast<size_t>(i)].events;
    const bool broken = (flags & (EPOLLHUP | EPOLLERR)) != 0;
    active = true;
    watched->ready(Ready{(flags & EPOLLIN) != 0 || broken, (flags & EPOLLOUT) != 0 || broken});
  }
  active |= fire_due_timers();
  retired_.clear();
  return active;
}

bool Loop::fire_due_timers() {
  bool fired = false;
  const uint64_t first_new_id =
      next_id_;  // timers set by a callback of this turn wait for the next one
  while (auto fire = next_due(first_new_id)) {
    fire();
    fired = true;
  }
  return fired;
}

// Takes out the first one that is due; empty = none.
std::function<void()> Loop::next_due(uint64_t first_new_id) {
  while (!due_.empty() && !due_.front().fire) due_.pop_front();
  const bool at_once = !due_.empty() && due_.front().key.second < first_new_id;
  const auto timer = timers_.begin();
  const bool in_time = timer != timers_.end() && timer->first.first <= now_;
  std::function<void()> fire;
  if (in_time && (!at_once || timer->first < due_.front().key)) {
    fire = std::move(timer->second);
    timers_.erase(timer);
  } else if (at_once) {
    fire = std::move(due_.front().fire);
    due_.pop_front();
  }
  return fire;
}

}  // namespace muster
