// FakeResolver: names and their answers as a test tells them, on the test's loop, without DNS.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/loop.h"
#include "base/resolver.h"

namespace muster::testing {

class FakeResolver final : public Resolver {
 public:
  /// `loop` is borrowed.
  explicit FakeResolver(Loop& loop) : loop_(loop) {}

  /// From now on; a name never set is kNoName, a numeric one is itself.
  void set(const std::string& name, std::vector<std::string> addresses) {
    answers_[name] = {LookupStatus::kFound, std::move(addresses), ""};
  }
  void fail(const std::string& name, LookupStatus status) {
    answers_[name] = {status, {}, "look up " + name + ": as the test wants"};
  }
  /// Every name asked for, in order.
  [[nodiscard]] const std::vector<std::string>& asked() const { return asked_; }

  [[nodiscard]] Lookup resolve(const std::string& name, Duration deadline,
                               LookupCallback done) override {
    asked_.push_back(name);
    LookupAnswer answer{LookupStatus::kNoName, {}, "look up " + name + ": NXDOMAIN"};
    if (parse_numeric_host(name)) answer = {LookupStatus::kFound, {name}, ""};
    const auto found = answers_.find(name);
    if (found != answers_.end()) answer = found->second;
    const bool silent = answer.status == LookupStatus::kNoAnswer;
    const uint64_t id = next_id_++;
    timers_[id] = loop_.after(silent ? deadline : Duration::zero(),
                              [this, id, answer, done = std::move(done)] {
                                timers_.erase(id);
                                done(answer);
                              });
    return Lookup([this, id] { timers_.erase(id); });
  }

 private:
  Loop& loop_;
  std::map<std::string, LookupAnswer> answers_;
  std::vector<std::string> asked_;
  std::map<uint64_t, Timer> timers_;
  uint64_t next_id_ = 1;
};

}  // namespace muster::testing
