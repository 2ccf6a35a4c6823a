#include "mpi/rsh/rsh_stream.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <utility>

namespace muster::mpi {

namespace {

constexpr int kReadsPerTurn = 4;  // of kMaxRshDataBytes each
// Credit goes back in pieces of this size, so that it costs one small message for many.
constexpr uint32_t kCreditStepBytes = kRshWindowBytes / 4;

}  // namespace

RshSource::RshSource(Loop& loop, RshStream stream, RshSend send)
    : loop_(loop), stream_(stream), send_(std::move(send)) {}

void RshSource::begin(UniqueFd fd, std::function<void()> ended) {
  fd_ = std::move(fd);
  ended_ = std::move(ended);
  arm();
}

// Not watched without credit: a hang-up is reported whatever one waits for, again and again.
void RshSource::arm() {
  if (ended_called_) return;  // after stop() the timer is for the word that it ended
  if (!fd_.is_open() || credit_ == 0) {
    watch_.reset();
    ready_.reset();
    return;
  }
  if (watch_.is_active()) return;
  if (!finishing_) {
    auto watch = loop_.watch(fd_.get(), Interest::kRead, [this](Ready) { on_readable(); });
    if (watch) watch_ = std::move(*watch);
  }
  // EPERM: a regular file or /dev/null. And what is in a pipe whose writers do not count any more.
  if (!watch_.is_active()) ready_ = loop_.soon([this] { on_readable(); });
}

void RshSource::on_readable() {
  std::array<char, kMaxRshDataBytes> buffer;
  for (int i = 0; i < kReadsPerTurn && credit_ > 0; ++i) {
    const size_t wanted = std::min<size_t>(buffer.size(), credit_);
    const ssize_t count = read(fd_.get(), buffer.data(), wanted);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) {
      if (finishing_) return end();
      break;
    }
    // An error (EIO of a terminal that is not ours) is the end, too: there will be no more.
    if (count <= 0) return end();
    const auto size = static_cast<size_t>(count);
    remember({buffer.data(), size});
    if (!discarding_) {
      credit_ -= static_cast<uint32_t>(size);
      send_(rsh::Data{stream_, std::string(buffer.data(), size)});
    }
    // A pipe that gave less is empty; asking again could wait, where O_NONBLOCK could not be set.
    if (size < wanted && !finishing_) break;
  }
  arm();
}

void RshSource::remember(std::string_view bytes) {
  last_words_ += bytes;
  if (last_words_.size() > kRshLastWordsBytes)
    last_words_.erase(0, last_words_.size() - kRshLastWordsBytes);
}

const std::string& RshSource::last_words() {
  if (fd_.is_open()) on_readable();
  return last_words_;
}

void RshSource::end() {
  watch_.reset();
  ready_.reset();
  fd_.reset();
  send_(rsh::End{stream_});
  ended_called_ = true;
  ended_();
}

void RshSource::credit(uint32_t bytes) {
  // A receiver that gives back more than it got is mistaken; the window bounds what we queue.
  credit_ = std::min(kRshWindowBytes, credit_ + std::min(bytes, kRshWindowBytes));
  arm();
}

void RshSource::stop() {
  watch_.reset();
  ready_.reset();
  fd_.reset();
  if (std::exchange(ended_called_, true) || !ended_) return;
  ready_ = loop_.soon([this] { ended_(); });
}

void RshSource::discard() {
  discarding_ = true;
  credit_ = kRshWindowBytes;
  arm();
}

void RshSource::finish() {
  finishing_ = true;
  watch_.reset();
  arm();
}

RshSink::RshSink(Loop& loop, RshStream stream, RshSend send)
    : loop_(loop), stream_(stream), send_(std::move(send)) {}

void RshSink::begin(RshTarget target) { target_ = std::move(target); }

Status RshSink::data(std::string_view bytes) {
  if (ending_) return Error{Code::kProtocol, 0, "data after the end of a stream"};
  if (waiting_.size() + owed_ + bytes.size() > kRshWindowBytes)
    return Error{Code::kProtocol, 0, "more data than there was credit for"};
  if (closed_) return {};  // the sender was told, but not in time
  waiting_ += bytes;
  if (!watch_.is_active()) write_some();
  return {};
}

void RshSink::end() {
  ending_ = true;
  if (waiting_.empty()) close();
}

void RshSink::write_some() {
  const auto written = target_.write(waiting_);
  waiting_.erase(0, written.bytes);
  give_credit(written.bytes);
  if (written.os_errno != 0 && written.os_errno != EAGAIN) {
    waiting_.clear();
    if (!ending_) send_(rsh::Gone{stream_});
    close();
  } else if (waiting_.empty()) {
    watch_.reset();
    if (ending_) close();
  } else if (!watch_.is_active()) {
    auto watch = loop_.watch(target_.fd, Interest::kWrite, [this](Ready) { write_some(); });
    if (watch) {
      watch_ = std::move(*watch);
    } else {
      waiting_.clear();
      if (!ending_) send_(rsh::Gone{stream_});
      close();
    }
  }
  if (waiting_.empty() && idle_) idle_();
}

void RshSink::give_credit(size_t bytes) {
  owed_ += static_cast<uint32_t>(bytes);
  if (owed_ < kCreditStepBytes || ending_) return;
  send_(rsh::Credit{stream_, std::exchange(owed_, 0)});
}

void RshSink::close() {
  if (std::exchange(closed_, true)) return;
  watch_.reset();
  target_.close();
}

RshTarget pipe_target(UniqueFd write_end) {
  // Two functions own it together, and std::function wants what can be copied.
  auto fd = std::make_shared<UniqueFd>(std::move(write_end));
  return {.fd = fd->get(),
          .write = [fd](std::string_view bytes) -> ConsoleFd::Written {
            for (;;) {
              const ssize_t taken = write(fd->get(), bytes.data(), bytes.size());
              if (taken < 0 && errno == EINTR) continue;
              if (taken < 0) return {0, errno};
              const auto size = static_cast<size_t>(taken);
              return {size, size < bytes.size() ? EAGAIN : 0};
            }
          },
          .close = [fd] { fd->reset(); }};
}

}  // namespace muster::mpi
