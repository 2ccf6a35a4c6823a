// LocalOutput: what the agents of `muster local` print, brought together line by line. The agents
// have marked their lines with the node's name; nothing is added here.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "launcher/output/console.h"
#include "launcher/output/fair_reader.h"
#include "launcher/output/worker_stream.h"

namespace muster::launcher {

/// How long the reader of our output may take at the end.
inline constexpr Duration kLastWords = std::chrono::seconds(10);

class LocalOutput {
 public:
  /// `on_line` gets every line of every agent, from the loop. All borrowed.
  LocalOutput(Loop& loop, Console& console, std::function<void(std::string_view line)> on_line);
  LocalOutput(const LocalOutput&) = delete;
  LocalOutput& operator=(const LocalOutput&) = delete;
  ~LocalOutput();

  /// The write ends for one agent's stdout and stderr.
  struct AgentStreams {
    UniqueFd out;
    UniqueFd err;
  };
  /// kOs: no descriptors left.
  Result<AgentStreams> open();
  /// A line of our own, without '\n'.
  void say(std::string_view line);
  /// Takes what is in the pipes, says `last` ("" = nothing), and calls `done` from the loop when
  /// all is shown or kLastWords have passed.
  void finish(std::string_view last, std::function<void()> done);

 private:
  Result<UniqueFd> open_stream(bool is_stderr);
  FairReader& reader_of(bool is_stderr);
  void on_sink_changed(bool is_stderr);

  Loop& loop_;
  Console& console_;
  std::function<void(std::string_view)> on_line_;
  std::unique_ptr<char[]> buffer_;
  FairReader out_reader_;
  FairReader err_reader_;
  struct Stream {
    bool is_stderr;
    std::unique_ptr<WorkerStream> stream;
  };
  std::vector<Stream> streams_;
  std::function<void()> done_;
  Timer end_;
};

}  // namespace muster::launcher
