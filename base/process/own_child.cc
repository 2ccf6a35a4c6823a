#include "base/process/own_child.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "base/text.h"

namespace muster {

Status OwnChild::ask(const OwnCall& call, std::function<void(Result<std::string>)> done) {
  cancel();
  auto pipe = make_pipe();
  if (!pipe) return std::move(pipe).error();
  auto nothing = open_null_device(O_RDONLY);
  if (!nothing) return std::move(nothing).error();
  MUSTER_RETURN_IF_ERROR(set_nonblocking(pipe->read_end.get()));
  SpawnRequest request;
  request.program = call.binary;
  request.arguments = {"muster"};
  request.arguments.insert(request.arguments.end(), call.words.begin(), call.words.end());
  request.environment = call.environment.to_exec_strings();
  request.stdin_fd = nothing->get();
  request.stdout_fd = pipe->write_end.get();
  request.signal_mask = call.signal_mask;
  const auto pid = processes_.spawn(request);
  if (!pid) return Error(pid.error());
  pid_ = *pid;
  output_ = std::move(pipe->read_end);
  auto watch = loop_.watch(output_.get(), Interest::kRead, [this](Ready) { read(); });
  if (!watch) {
    cancel();
    return std::move(watch).error();
  }
  watch_ = std::move(*watch);
  done_ = std::move(done);
  limit_ = loop_.after(call.limit, [this, limit = call.limit] {
    end(Error{Code::kTimeout, 0, "no answer within " + format_duration(limit)});
  });
  return {};
}

void OwnChild::cancel() {
  limit_.reset();
  watch_.reset();
  output_.reset();
  printed_.clear();
  done_ = nullptr;
  // It may have ended already; then this reaches nobody.
  if (pid_ != 0) (void)processes_.signal_child(std::exchange(pid_, 0), SIGKILL);
}

void OwnChild::read() {
  std::array<char, 1 << 14> bytes;
  for (;;) {
    const ssize_t count = ::read(output_.get(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count < 0) return end(os_error("reading what a child printed", errno));
    if (count == 0) return end(std::move(printed_));
    printed_.append(bytes.data(), static_cast<size_t>(count));
    if (printed_.size() > kMaxChildAnswerBytes)
      return end(Error{Code::kLimit, 0, "it prints too much"});
  }
}

void OwnChild::end(Result<std::string> answer) {
  const auto done = std::exchange(done_, nullptr);
  cancel();
  done(std::move(answer));
}

}  // namespace muster
