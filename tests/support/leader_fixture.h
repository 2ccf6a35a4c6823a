// LeaderFixture: a leader of a job of one or two nodes, what it was told and what it asked for.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rendezvous/leader/leader.h"
#include "tests/support/fake_round_policy.h"

namespace muster::testing {

/// A leader and light members: node i is on link i + 1.
class LeaderFixture : public ::testing::Test {
 protected:
  LeaderFixture();

  static rendezvous::LeaderSeed seed_of(uint64_t term, int index);
  void lead() { lead(seed_of(16, 0)); }
  void lead(rendezvous::LeaderSeed seed) {
    began_ = now_;
    leader_ = std::make_unique<rendezvous::Leader>(now_, options_, policy_, std::move(seed));
    turn();
  }
  static rendezvous::Join join_of(int index);
  /// Of worker `index` of two; confirmed.
  static rendezvous::RoundReport report_of(int index, uint64_t round);
  static rendezvous::LinkId link_of(int index) {
    return static_cast<rendezvous::LinkId>(index) + 1;
  }
  void join(int index) { join(index, join_of(index)); }
  /// `term`: the highest that the node knows.
  void join(int index, rendezvous::Join join, uint64_t term = 0) {
    leader_->on_message(now_, link_of(index),
                        rendezvous::Hello{rendezvous::kControlVersion, "job", false, term, {}, {}});
    leader_->on_message(now_, link_of(index), std::move(join));
    turn();
  }
  void say(int index, const rendezvous::Message& message) {
    leader_->on_message(now_, link_of(index), message);
    turn();
  }
  void turn();
  /// To the last question about the other candidates.
  void answer(rendezvous::CandidateAnswers answers);
  /// Time, in which these nodes send heartbeats.
  void pass(Duration time, const std::vector<int>& beating);
  [[nodiscard]] int64_t clock_ms() const {
    return std::chrono::duration_cast<std::chrono::milliseconds>(now_ - began_).count();
  }
  [[nodiscard]] bool suspects() const {
    return leader_->status_json(now_).find("\"suspect\":true") != std::string::npos;
  }
  /// The last message of its kind to that node.
  template <typename T>
  std::optional<T> sent(int index) {
    std::optional<T> last;
    for (const rendezvous::LeaderOutput& output : outputs_) {
      const auto* send = std::get_if<rendezvous::leader_output::Send>(&output);
      if (send == nullptr || send->link != link_of(index)) continue;
      if (const auto* message = std::get_if<T>(&send->message)) last = *message;
    }
    return last;
  }
  template <typename T>
  std::optional<T> output() {
    std::optional<T> last;
    for (const rendezvous::LeaderOutput& output : outputs_) {
      if (const auto* found = std::get_if<T>(&output)) last = *found;
    }
    return last;
  }
  /// Round 1 on two nodes.
  void run_two();
  void fail_two();  ///< run_two() as round 1, whose node 1 fails; both have stopped
  static rendezvous::Failed failure(uint64_t round);

  rendezvous::JobOptions options_;
  FakeRoundPolicy policy_;
  /// What other candidates answer when they are asked; none = nothing yet.
  std::optional<rendezvous::CandidateAnswers> answers_ = rendezvous::CandidateAnswers{};
  uint64_t question_ = 0;
  TimePoint now_{std::chrono::seconds(1000)};
  TimePoint began_{};
  std::unique_ptr<rendezvous::Leader> leader_;
  std::vector<rendezvous::LeaderOutput> outputs_;
};

}  // namespace muster::testing
