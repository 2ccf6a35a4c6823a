// OutputTest: an Output between workers that are pipe ends and a console that is two pipes.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "launcher/output/output.h"
#include "tests/support/fake_clock.h"
#include "tests/support/fake_files.h"
#include "tests/support/output_fixture.h"

namespace muster::testing {

inline constexpr bool kOut = false;
inline constexpr bool kErr = true;

/// Ranks from 10, local ranks from 0.
inline std::vector<launcher::WorkerLabel> workers(int count) {
  std::vector<launcher::WorkerLabel> labels;
  for (int i = 0; i < count; ++i) labels.push_back({10 + i, i, "trainer", "pod"});
  return labels;
}

class OutputTest : public ::testing::Test {
 protected:
  explicit OutputTest(int capacity_bytes = 0) : out_(capacity_bytes), err_(capacity_bytes) {
    files_.add_directory("/tmp");
    options_.run_id = "job";
    options_.prefix_template = "[${rank}] ";
  }

  void open(int count, int attempt = 0) {
    if (!output_)
      output_ = std::move(*launcher::Output::create(*loop_, files_, console_, options_));
    const Status opened = output_->open_attempt(attempt, workers(count));
    ASSERT_TRUE(opened) << opened.error().text;
    for (int i = 0; i < count; ++i) start(i);
  }
  // Takes the child's ends, as a worker does that is started.
  void start(int local_rank) {
    const launcher::ChildStreams streams = output_->child_streams(local_rank);
    for (const bool is_stderr : {kOut, kErr}) {
      const int fd = is_stderr ? streams.stderr_fd : streams.stdout_fd;
      if (fd < 0) continue;
      UniqueFd& end = child_ends_[{local_rank, is_stderr}];
      end = UniqueFd(fcntl(fd, F_DUPFD_CLOEXEC, 0));
    }
    output_->child_started(local_rank);
  }
  // Prints as a worker does; false when its pipe takes no more.
  bool print(int local_rank, std::string_view text, bool is_stderr = kOut) {
    const int fd = child_ends_.at({local_rank, is_stderr}).get();
    (void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    return ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  }
  void end(int local_rank) {
    child_ends_.erase({local_rank, kOut});
    child_ends_.erase({local_rank, kErr});
  }
  // Everything that is due, also for streams that rest because they are read too often.
  void settle() {
    ASSERT_TRUE(loop_->run_until_idle());
    clock_.advance(launcher::kRest);
    ASSERT_TRUE(loop_->run_until_idle());
  }
  std::string shown(bool is_stderr = kOut) {
    std::string all;
    for (;;) {
      settle();
      const std::string part = (is_stderr ? err_ : out_).read();
      if (part.empty()) return all;
      all += part;
    }
  }
  // The one folder of this run.
  std::string run_dir(const std::string& root) { return root + "/" + files_.list(root)->front(); }

  FakeClock clock_;
  std::unique_ptr<Loop> loop_ = std::move(*Loop::create(clock_));
  TestPipe out_;
  TestPipe err_;
  launcher::Console console_{*loop_, out_.write_fd(), err_.write_fd()};
  FakeFiles files_;
  launcher::OutputOptions options_;
  CapturedLog log_;
  std::unique_ptr<launcher::Output> output_;
  std::map<std::pair<int, bool>, UniqueFd> child_ends_;
};

// Whoever reads the console has one page of room.
class SlowOutputTest : public OutputTest {
 protected:
  SlowOutputTest() : OutputTest(4096) {}
};

}  // namespace muster::testing
