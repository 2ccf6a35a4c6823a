// FakeDriver: a framework of which a test says what it asks for, and which notes what it is told.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "launcher/frameworks/driver.h"

namespace muster::testing {

/// What a test sets and reads. It outlives the driver, which the agent owns.
struct DriverScript {
  launcher::FrameworkNeeds needs;
  bool preparing = false;
  std::string card;
  std::optional<Error> attempt_error;
  std::optional<launcher::JobLauncher> launcher;
  std::vector<PlannedVariable> variables;
  std::map<int, launcher::WorkerVerdict> verdicts;  // by local rank
  std::optional<int> apart;  // how many ends of workers are kept; none = workers are not apart
  bool asks = false;         // whether those may start again, else the test says it
  bool starts = true;        // workers that are apart start with the attempt
  bool serving = false;
  bool holds = false;
  bool ranks = false;           // a launcher's ranks run
  std::optional<bool> success;  // none: as the group says

  std::vector<std::string> calls;  // "start", "begin_attempt 0", ...
  std::optional<launcher::DriverHost> host;
  std::vector<rendezvous::RosterEntry> roster;  // of the last attempt
  std::function<void()> settle;                 // of group_ended(), where `holds`
};

class FakeDriver final : public launcher::FrameworkDriver, private launcher::ApartWorkers {
 public:
  explicit FakeDriver(DriverScript& script) : script_(script) {}

  [[nodiscard]] launcher::FrameworkNeeds needs() const override { return script_.needs; }
  Status start(const launcher::DriverHost& host) override {
    note("start");
    script_.host.emplace(host);
    return {};
  }
  Status check(const std::string& program) override {
    note("check " + program);
    return {};
  }
  [[nodiscard]] bool is_preparing() const override { return script_.preparing; }
  [[nodiscard]] std::string card() const override { return script_.card; }
  void prepare_round(const rendezvous::Assign& round, const std::function<void()>& ready) override {
    note("prepare_round " + std::to_string(round.round));
    ready();
  }
  Result<std::optional<launcher::JobLauncher>> begin_attempt(const rendezvous::Assign& round,
                                                             int workers) override {
    script_.roster = round.roster;
    note("begin_attempt " + std::to_string(round.attempt) + " of " + std::to_string(workers));
    if (script_.attempt_error) return *script_.attempt_error;
    return script_.launcher;
  }
  Status add_variables(const rendezvous::Assign& /*round*/, int /*local_rank*/,
                       EnvironmentPlan& plan) const override {
    plan.add(EnvironmentLayer::kFramework, script_.variables);
    return {};
  }
  [[nodiscard]] bool is_serving() const override { return script_.serving; }
  bool tell_ranks(int signal) override {
    if (script_.ranks) note("tell_ranks " + std::to_string(signal));
    return script_.ranks;
  }
  [[nodiscard]] bool has_ranks() const override { return script_.ranks; }
  std::optional<launcher::WorkerVerdict> ended(int local_rank, bool success) override {
    note(std::string(success ? "succeeded " : "ended ") + std::to_string(local_rank));
    const auto verdict = script_.verdicts.find(local_rank);
    if (verdict == script_.verdicts.end()) return std::nullopt;
    return verdict->second;
  }
  launcher::ApartWorkers* apart() override { return script_.apart ? this : nullptr; }
  bool hold(const elastic::FailureRecord& /*record*/) override { return script_.holds; }
  void group_ended(bool /*well*/, const std::function<void()>& settled) override {
    note("group_ended");
    if (!script_.holds) return settled();
    script_.settle = settled;
  }
  bool succeeded(bool well) override { return script_.success.value_or(well); }
  void round_over() override { note("round_over"); }
  void leave(std::optional<Duration> grace, const std::function<void()>& done) override {
    note(grace ? "leave with grace" : "leave");
    done();
  }
  void hurry() override { note("hurry"); }
  void clean_up(const std::function<void()>& done) override {
    note("clean_up");
    done();
  }

 private:
  [[nodiscard]] bool starts(int /*local_rank*/) const override { return script_.starts; }
  [[nodiscard]] bool starts_again(int /*local_rank*/) const override { return true; }
  launcher::WorkerEnd after(int local_rank, const elastic::Classified& end) override {
    note("after " + std::to_string(local_rank) + ": " + end.reason);
    if ((*script_.apart)-- <= 0) return launcher::WorkerEnd::kCounts;
    return script_.asks ? launcher::WorkerEnd::kAsks : launcher::WorkerEnd::kWaits;
  }
  void note(std::string call) { script_.calls.push_back(std::move(call)); }

  DriverScript& script_;
};

}  // namespace muster::testing
