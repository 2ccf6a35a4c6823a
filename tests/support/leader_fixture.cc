#include "tests/support/leader_fixture.h"

namespace muster::testing {

using namespace rendezvous;
using namespace std::chrono_literals;

LeaderFixture::LeaderFixture() {
  options_.run_id = "job";
  options_.min_nodes = 1;
  options_.max_nodes = 2;
  options_.lease = 10s;
  options_.last_call = 5s;
}

LeaderSeed LeaderFixture::seed_of(uint64_t term, int index) {
  LeaderSeed seed;
  seed.term = term;
  seed.name = "worker-" + std::to_string(index);
  seed.incarnation = 100 + static_cast<uint64_t>(index);
  return seed;
}

void LeaderFixture::turn() {
  for (bool asked = true; std::exchange(asked, false);) {
    for (LeaderOutput& output : leader_->take_outputs(now_)) {
      const auto* question = std::get_if<leader_output::AskCandidates>(&output);
      asked = asked || question != nullptr;
      if (question != nullptr) question_ = question->number;
      outputs_.push_back(std::move(output));
    }
    asked = asked && answers_;
    if (asked) answer(*answers_);
  }
}

void LeaderFixture::answer(CandidateAnswers answers) {
  answers.question = question_;
  leader_->on_candidates(now_, answers);
}

Join LeaderFixture::join_of(int index) {
  Join join;
  join.identity = {"worker-" + std::to_string(index), index, 100u + static_cast<uint64_t>(index)};
  join.host = "10.0.0." + std::to_string(index + 1);
  join.port = 29400;
  return join;
}

RoundReport LeaderFixture::report_of(int index, uint64_t round) {
  RoundReport report;
  report.round = round;
  report.term = 16;
  report.node_count = 2;
  report.node_rank = index;
  report.confirmed = true;
  report.seat = join_of(index).identity;
  return report;
}

void LeaderFixture::pass(Duration time, const std::vector<int>& beating) {
  const TimePoint until = now_ + time;
  while (now_ < until) {
    now_ += 500ms;
    for (const int index : beating)
      leader_->on_message(now_, link_of(index), Heartbeat{1, 0, -1, clock_ms()});
    turn();
  }
}

void LeaderFixture::run_two() {
  lead();
  join(0);
  join(1);
  const uint64_t round = leader_->round();
  say(0, Started{round});
  say(1, Started{round});
  ASSERT_EQ(leader_->state(), LeaderState::kRunning);
  outputs_.clear();
}

void LeaderFixture::fail_two() {
  run_two();
  say(1, failure(1));
  say(0, Stopped{1});
  say(1, Stopped{1});
}

Failed LeaderFixture::failure(uint64_t round) {
  Failure failed;
  failed.exit_code = 3;
  failed.reason = "exit code 3 (user error)";
  return {round, {failed}};
}

}  // namespace muster::testing
