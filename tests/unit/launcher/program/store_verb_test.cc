#include "launcher/program/store_verb.h"

#include <gtest/gtest.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "base/log.h"
#include "tests/support/fake_clock.h"
#include "tests/support/fake_network.h"

namespace muster::launcher {
namespace {

// A FILE that writes into memory.
class TextFile {
 public:
  TextFile() : file_(open_memstream(&text_, &size_)) {}
  ~TextFile() {
    (void)std::fclose(file_);
    std::free(text_);
  }
  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;
  [[nodiscard]] std::FILE* file() { return file_; }
  [[nodiscard]] std::string text() {
    (void)std::fflush(file_);
    return {text_, size_};
  }

 private:
  char* text_ = nullptr;
  size_t size_ = 0;
  std::FILE* file_;
};

class StoreVerbTest : public ::testing::Test {
 protected:
  StoreVerbTest() {
    log::set_level(log::Level::kOff);
    EXPECT_TRUE(set_nonblocking(signals_.read_end.get()));  // as a signalfd is
  }
  ~StoreVerbTest() override { log::set_level(log::Level::kInfo); }

  int run(const std::vector<std::string>& arguments) {
    return run_store_verb(arguments, *loop_, network_, signals_.read_end.get(), output_.file(),
                          errors_.file());
  }
  // What a signalfd would deliver.
  void send_signal(int number) {
    signalfd_siginfo info{};
    info.ssi_signo = static_cast<uint32_t>(number);
    ASSERT_EQ(write(signals_.write_end.get(), &info, sizeof info),
              static_cast<ssize_t>(sizeof info));
  }

  testing::FakeClock clock_;
  testing::FakeNetwork network_;
  std::unique_ptr<Loop> loop_ = std::move(*Loop::create(clock_));
  Pipe signals_ = std::move(*make_pipe());
  TextFile output_;
  TextFile errors_;
};

TEST_F(StoreVerbTest, ServesOnLoopbackUntilSigtermAndSucceeds) {
  send_signal(SIGTERM);
  EXPECT_EQ(run({}), 0);
  EXPECT_EQ(output_.text(), "listening on 127.0.0.1:29400\n");
  EXPECT_EQ(errors_.text(), "");
}

TEST_F(StoreVerbTest, PrintsThePortThatTheKernelChose) {
  send_signal(SIGINT);
  EXPECT_EQ(run({"--port=0", "--host", "::"}), 0);
  EXPECT_EQ(output_.text(), "listening on [::]:40000\n");
}

TEST_F(StoreVerbTest, OtherSignalsDoNotEndIt) {
  send_signal(SIGCHLD);
  send_signal(SIGUSR1);
  send_signal(SIGHUP);
  EXPECT_EQ(run({"--port", "1234"}), 0);
  char rest = 0;
  signals_.write_end.reset();
  EXPECT_EQ(read(signals_.read_end.get(), &rest, 1), 0);  // all three were read
}

TEST_F(StoreVerbTest, ATakenPortIsOneLineAndExitCode71) {
  const auto taken = network_.listen({"127.0.0.1", 29400});
  EXPECT_EQ(run({}), 71);
  EXPECT_EQ(errors_.text(), "muster store: bind 127.0.0.1:29400: Address already in use\n");
  EXPECT_EQ(output_.text(), "");
}

TEST_F(StoreVerbTest, AWrongCommandLineIsOneLineAndExitCode64) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> wrong = {
      {{"--port", "x"}, "muster store: --port: 'x' is not a port from 0 to 65535\n"},
      {{"--port=65536"}, "muster store: --port: '65536' is not a port from 0 to 65535\n"},
      {{"--port"}, "muster store: --port needs a value\n"},
      {{"--host=example"}, "muster store: --host: 'example' is not a numeric address\n"},
      {{"--verbose"}, "muster store: unknown argument '--verbose'\n"},
  };
  for (const auto& [arguments, message] : wrong) {
    const size_t before = errors_.text().size();
    EXPECT_EQ(run(arguments), 64);
    EXPECT_EQ(errors_.text().substr(before), message);
  }
}

TEST_F(StoreVerbTest, HelpGoesToTheOutput) {
  EXPECT_EQ(run({"--help"}), 0);
  EXPECT_TRUE(output_.text().starts_with("usage: muster store")) << output_.text();
}

}  // namespace
}  // namespace muster::launcher
