// MemberFixture: node 1 of a job of two, its member and what that asked for so far.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <vector>

#include "rendezvous/member/member.h"

namespace muster::testing {

class MemberFixture : public ::testing::Test {
 protected:
  MemberFixture() {
    options_.run_id = "job";
    options_.lease = std::chrono::seconds(10);
    options_.join_timeout = std::chrono::seconds(60);
  }
  // The node 1 of a job whose candidates are nodes 0 and 1, or neither.
  void begin(std::optional<int> candidate, double jitter = 0.5) {
    rendezvous::MemberSetup setup;
    setup.jitter = jitter;
    setup.self.identity = {"worker-1", 1, incarnation_};
    setup.self.host = "10.0.0.2";
    setup.self.candidate = candidate;
    setup.candidates = {"worker-0", "worker-1"};
    setup.source = source_;
    member_ = std::make_unique<rendezvous::Member>(now_, options_, setup);
  }
  template <typename T>
  std::optional<T> output() {
    std::optional<T> found;
    for (rendezvous::MemberOutput& next : member_->take_outputs())
      outputs_.push_back(std::move(next));
    for (const rendezvous::MemberOutput& next : outputs_) {
      if (const auto* match = std::get_if<T>(&next)) found = *match;
    }
    return found;
  }
  template <typename T>
  std::optional<T> sent() {
    (void)output<rendezvous::member_output::Send>();
    std::optional<T> found;
    for (const rendezvous::MemberOutput& next : outputs_) {
      const auto* send = std::get_if<rendezvous::member_output::Send>(&next);
      if (send == nullptr) continue;
      if (const auto* match = std::get_if<T>(&send->message)) found = *match;
    }
    return found;
  }
  void welcome() {
    member_->on_connected(now_, 0);
    member_->on_message(
        now_, 0,
        rendezvous::Welcome{rendezvous::kControlVersion, "job", false, 16, "worker-0", 10000});
  }
  void run_round(uint64_t round, uint64_t term = 16) {
    rendezvous::Assign assign;
    assign.round = round;
    assign.term = term;
    assign.node_rank = 1;
    assign.node_count = 2;
    member_->on_message(now_, 0, assign);
    member_->on_prepared(now_, round);
    member_->on_started(now_, round);
    ASSERT_EQ(member_->state(), rendezvous::MemberState::kRunning);
  }
  void beat(Duration time) {
    const TimePoint until = now_ + time;
    while (now_ < until) {
      now_ += std::chrono::milliseconds(500);
      member_->on_tick(now_);
      const auto heartbeat = sent<rendezvous::Heartbeat>();
      if (heartbeat) member_->on_message(now_, 0, rendezvous::Ack{heartbeat->sequence, 0});
    }
  }

  // Awake, while nobody says a word.
  void watch(Duration time) {
    const TimePoint until = now_ + time;
    while (now_ < until) {
      now_ += std::chrono::milliseconds(500);
      member_->on_tick(now_);
    }
  }

  rendezvous::JobOptions options_;
  TimePoint now_{std::chrono::seconds(1000)};
  uint64_t incarnation_ = 77;
  rendezvous::CandidateSource source_ = rendezvous::CandidateSource::kTold;
  std::unique_ptr<rendezvous::Member> member_;
  std::vector<rendezvous::MemberOutput> outputs_;
};

}  // namespace muster::testing
