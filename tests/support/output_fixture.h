// What the tests of the output path share: pipes in place of a console, and the log as a list.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/log.h"

namespace muster::testing {

/// A pipe with a reader that reads only when told. SIGPIPE is ignored, as in the program.
class TestPipe {
 public:
  /// `capacity_bytes`: the kernel rounds up to a page; 0 = as it comes.
  explicit TestPipe(int capacity_bytes = 0) : pipe_(std::move(make_pipe().value())) {
    (void)signal(SIGPIPE, SIG_IGN);
    (void)set_nonblocking(pipe_.read_end.get());
    if (capacity_bytes > 0) (void)fcntl(pipe_.read_end.get(), F_SETPIPE_SZ, capacity_bytes);
  }
  [[nodiscard]] int write_fd() const { return pipe_.write_end.get(); }
  [[nodiscard]] int read_fd() const { return pipe_.read_end.get(); }
  [[nodiscard]] size_t capacity() const {
    return static_cast<size_t>(fcntl(pipe_.read_end.get(), F_GETPIPE_SZ));
  }
  /// What is there now, at most `limit_bytes`.
  std::string read(size_t limit_bytes = 1 << 20) {
    std::string text;
    char chunk[4096];
    while (text.size() < limit_bytes) {
      const size_t wanted = std::min(sizeof chunk, limit_bytes - text.size());
      const ssize_t got = ::read(pipe_.read_end.get(), chunk, wanted);
      if (got <= 0) break;
      text.append(chunk, static_cast<size_t>(got));
    }
    return text;
  }
  /// Writes from the other side of what is tested; false when the pipe takes no more.
  bool write(std::string_view text) {
    (void)fcntl(write_fd(), F_SETFL, O_NONBLOCK);
    const bool all =
        ::write(write_fd(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
    (void)fcntl(write_fd(), F_SETFL, 0);
    return all;
  }
  /// Until not one more byte fits. Returns how many fitted.
  size_t fill() {
    size_t count = 0;
    while (write("#")) ++count;
    return count;
  }
  void close_reader() { pipe_.read_end.reset(); }
  void close_writer() { pipe_.write_end.reset(); }

 private:
  Pipe pipe_;
};

/// The lines of the log as long as it lives; also passed on to `target`, when there is one.
class CapturedLog {
 public:
  explicit CapturedLog(std::function<void(std::string_view)> target = {}) {
    log::set_sink([this, passed_on = std::move(target)](std::string_view line) {
      lines_.emplace_back(line);
      if (passed_on) passed_on(line);
    });
  }
  CapturedLog(const CapturedLog&) = delete;
  CapturedLog& operator=(const CapturedLog&) = delete;
  ~CapturedLog() { log::set_sink({}); }

  [[nodiscard]] size_t count(std::string_view event) const {
    size_t found = 0;
    for (const std::string& line : lines_) found += line.find(event) != std::string::npos ? 1 : 0;
    return found;
  }
  [[nodiscard]] std::string text() const {
    std::string all;
    for (const std::string& line : lines_) all += line;
    return all;
  }

 private:
  std::vector<std::string> lines_;
};

/// A directory of the real file system that goes with the test.
class TempDir {
 public:
  TempDir() { path_ = mkdtemp(name_); }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  ~TempDir() { std::filesystem::remove_all(path_); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  char name_[32] = "/tmp/muster_test_XXXXXX";
  std::string path_;
};

inline std::string content_of(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace muster::testing
