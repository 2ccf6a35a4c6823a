#include "launcher/local/local_output.h"

#include <optional>
#include <string>
#include <utility>

#include "base/text.h"

namespace muster::launcher {

LocalOutput::LocalOutput(Loop& loop, Console& console,
                         std::function<void(std::string_view line)> on_line)
    : loop_(loop),
      console_(console),
      on_line_(std::move(on_line)),
      buffer_(std::make_unique_for_overwrite<char[]>(kReadBytes)),
      out_reader_(loop, console.out(), std::span(buffer_.get(), kReadBytes)),
      err_reader_(loop, console.err(), std::span(buffer_.get(), kReadBytes)) {
  console_.out().set_listener([this] { on_sink_changed(false); });
  if (&console_.err() != &console_.out())
    console_.err().set_listener([this] { on_sink_changed(true); });
}

LocalOutput::~LocalOutput() {
  console_.out().set_listener({});
  console_.err().set_listener({});
}

FairReader& LocalOutput::reader_of(bool is_stderr) {
  const bool is_shared = &console_.out() == &console_.err();
  return is_stderr && !is_shared ? err_reader_ : out_reader_;
}

Result<LocalOutput::AgentStreams> LocalOutput::open() {
  AgentStreams streams;
  auto out = open_stream(false);
  if (!out) return std::move(out).error();
  streams.out = std::move(*out);
  auto err = open_stream(true);
  if (!err) return std::move(err).error();
  streams.err = std::move(*err);
  return streams;
}

Result<UniqueFd> LocalOutput::open_stream(bool is_stderr) {
  auto pipe = make_pipe();
  if (!pipe) return std::move(pipe).error();
  MUSTER_RETURN_IF_ERROR(set_nonblocking(pipe->read_end.get()));
  Sink& sink = is_stderr ? console_.err() : console_.out();
  // Every agent's stream is a writer of its own: the number tells them apart.
  const Source source{static_cast<int>(streams_.size()), is_stderr, {}};
  auto stream = std::make_unique<WorkerStream>(source, &sink, std::move(pipe->read_end),
                                               std::nullopt, nullptr);
  stream->set_listener([this](std::string_view lines) {
    for (const std::string_view line : split(lines, '\n')) {
      if (!line.empty()) on_line_(line);
    }
  });
  FairReader& reader = reader_of(is_stderr);
  MUSTER_RETURN_IF_ERROR(
      stream->watch(loop_, [&reader, borrowed = stream.get()] { reader.on_readable(*borrowed); }));
  streams_.push_back({is_stderr, std::move(stream)});
  return std::move(pipe->write_end);
}

void LocalOutput::say(std::string_view line) {
  console_.write_agent_line("muster local: " + std::string(line) + "\n");
}

void LocalOutput::finish(std::string_view last, std::function<void()> done) {
  done_ = std::move(done);
  for (const Stream& each : streams_) {
    reader_of(each.is_stderr).drain(*each.stream);
    each.stream->close();
  }
  out_reader_.clear();
  err_reader_.clear();
  if (!last.empty()) say(last);
  const Duration wait = console_.is_drained() ? Duration::zero() : kLastWords;
  end_ = loop_.after(wait, [this] {
    console_.abandon();
    std::exchange(done_, {})();
  });
}

void LocalOutput::on_sink_changed(bool is_stderr) {
  reader_of(is_stderr).on_room();
  if (!done_ || !console_.is_drained()) return;
  end_ = loop_.soon([this] { std::exchange(done_, {})(); });
}

}  // namespace muster::launcher
