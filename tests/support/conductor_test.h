// ConductorTest: a whole job on fakes, conducted by an Agent or a NodeAgent.
#pragma once

#include <csignal>
#include <memory>
#include <optional>
#include <utility>

#include "tests/support/agent_rig.h"
#include "tests/support/fake_driver.h"

namespace muster::launcher {

template <typename Conductor>
class ConductorTest : public AgentRig {
 protected:
  Status start(Words words, const char* program = kProgram) {
    give(std::move(words), program);
    agent_.emplace(doors(), context(), std::make_unique<muster::testing::FakeDriver>(script_));
    agent_->on_finished([this](int exit_code) { exit_code_ = exit_code; });
    Status started = agent_->start();
    idle();
    return started;
  }
  void reap() {
    agent_->handle_signal({.number = SIGCHLD});
    idle();
  }
  void end(pid_t pid, ExitStatus status) {
    processes_.end(pid, status);
    reap();
  }
  void end_rest(ExitStatus status) {
    end_all(status);
    reap();
  }

  muster::testing::DriverScript script_;
  std::optional<int> exit_code_;
  std::optional<Conductor> agent_;
};

}  // namespace muster::launcher
