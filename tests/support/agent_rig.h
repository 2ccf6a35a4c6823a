// AgentRig: what an agent and its parts borrow from the program, with processes, files and a
// network that are as the test says. For tests of whoever conducts workers.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "launcher/frameworks/agent_context.h"
#include "tests/support/fake_clock.h"
#include "tests/support/fake_files.h"
#include "tests/support/fake_network.h"
#include "tests/support/fake_process_host.h"
#include "tests/support/fake_resolver.h"
#include "tests/support/resolved_options.h"

namespace muster::launcher {

class AgentRig : public ::testing::Test {
 protected:
  static constexpr const char* kProgram = "/app/worker";
  using Sent = muster::testing::FakeProcessHost::Sent;

  AgentRig() {
    files_.add_executable(kProgram);
    setup_.fd_limit = 1024;
  }

  void give(Words words, const char* program = kProgram) {
    words.emplace_back("--no-python");
    options_ = muster(words);
    options_.program = program;
  }
  AgentDoors doors() { return {*loop_, clock_, processes_, files_, network_, resolver_, console_}; }
  AgentContext context() {
    return {.options = options_,
            .environment = environment_,
            .setup = setup_,
            .job = "bert",
            .node = "node-1",
            .token = "00112233445566778899aabbccddeeff",
            .folder = ::testing::TempDir() + "agent-rig",
            .is_pid_one = true};  // so that no guardian is among the processes
  }
  void idle() { ASSERT_TRUE(loop_->run_until_idle()); }
  void pass(Duration time) {
    clock_.advance(time);
    idle();
  }
  [[nodiscard]] std::vector<pid_t> running() const {
    std::vector<pid_t> pids;
    for (const auto& [pid, program] : processes_.alive()) pids.push_back(pid);
    return pids;
  }
  void end_all(ExitStatus status) {
    for (const pid_t pid : running()) processes_.end(pid, status);
  }
  [[nodiscard]] bool was_sent(pid_t pid, int signal) const {
    return std::ranges::count(processes_.sent, Sent{pid, signal, false}) > 0;
  }
  // Of the worker that was started as the `index`-th; "" = it has no such variable.
  [[nodiscard]] std::string variable(size_t index, const std::string& name) const {
    for (const std::string& entry : processes_.spawned.at(index).environment) {
      if (entry.starts_with(name + "=")) return entry.substr(name.size() + 1);
    }
    return "";
  }

  muster::testing::FakeClock clock_;
  std::unique_ptr<Loop> loop_ = std::move(*Loop::create(clock_));
  muster::testing::FakeNetwork network_;
  muster::testing::FakeFiles files_;
  muster::testing::FakeProcessHost processes_;
  muster::testing::FakeResolver resolver_{*loop_};
  Console console_{*loop_};
  ProcessSetup setup_;
  Environment environment_;
  Options options_;
};

}  // namespace muster::launcher
