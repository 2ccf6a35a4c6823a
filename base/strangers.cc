#include "base/strangers.h"

#include <sys/resource.h>

#include <algorithm>
#include <utility>

namespace muster {

size_t quarter_of_descriptors() {
  rlimit descriptors{};
  return getrlimit(RLIMIT_NOFILE, &descriptors) == 0 ? descriptors.rlim_cur / 4 : kLeastStrangers;
}

size_t strangers_allowed() {
  return std::clamp(quarter_of_descriptors(), kLeastStrangers, kMostStrangers);
}

Strangers::Strangers(const Loop& loop, size_t most)
    : most_(most), state_(std::make_shared<State>(State{{}, LineBudget(loop)})) {}

Strangers::Place Strangers::enter() {
  if (state_->drops.size() >= most_) drop_oldest();
  Place place;
  place.state_ = state_;
  place.at_ = state_->drops.emplace(state_->drops.end());
  return place;
}

void Strangers::drop_oldest() {
  const auto oldest =
      std::ranges::find_if(state_->drops, [](const Place::Drop& drop) { return drop != nullptr; });
  if (oldest == state_->drops.end()) return;
  const Place::Drop drop = std::exchange(*oldest, nullptr);  // once
  drop("the oldest of " + std::to_string(most_) + " connections that have proved nothing");
}

Strangers::Place::Place(Place&& other) noexcept
    : state_(std::exchange(other.state_, {})), at_(other.at_) {}

Strangers::Place& Strangers::Place::operator=(Place&& other) noexcept {
  if (this == &other) return *this;
  leave();
  state_ = std::exchange(other.state_, {});
  at_ = other.at_;
  return *this;
}

void Strangers::Place::on_drop(Drop drop) {
  if (const auto state = state_.lock()) *at_ = std::move(drop);
}

void Strangers::Place::leave() {
  if (const auto state = std::exchange(state_, {}).lock()) state->drops.erase(at_);
}

std::optional<int> Strangers::Place::take_line() const {
  const auto state = state_.lock();
  return state ? state->lines.take() : std::optional<int>(0);
}

}  // namespace muster
