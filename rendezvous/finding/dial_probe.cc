#include "rendezvous/finding/dial_probe.h"

#include <cerrno>
#include <utility>

namespace muster::rendezvous {

namespace {

DialResult result_of(const Error& error) {
  return error.os_errno == ECONNREFUSED ? DialResult::kRefused : DialResult::kNoAnswer;
}

}  // namespace

DialProbe::DialProbe(Loop& loop, Network& network, const Address& address,
                     std::function<void(DialResult)> done)
    : loop_(loop), network_(network), address_(address), done_(std::move(done)) {
  begin();
}

void DialProbe::begin() {
  ++attempts_;
  if (auto begun = connect(); !begun) {
    const DialResult result = result_of(begun.error());
    timer_ = loop_.soon([this, result] { finish(result); });
    return;
  }
  timer_ = loop_.after(kProbeDeadline, [this] { finish(DialResult::kNoAnswer); });
}

Status DialProbe::connect() {
  auto fd = network_.connect(address_);
  if (!fd) return std::move(fd).error();
  fd_ = std::move(*fd);
  auto watched = loop_.watch(fd_.get(), Interest::kWrite, [this](Ready) { connected(); });
  if (!watched) return std::move(watched).error();
  watch_ = std::move(*watched);
  return {};
}

void DialProbe::connected() {
  const auto outcome = socket_error(fd_.get(), "probe");
  if (!outcome && outcome.error().os_errno == ECONNRESET)
    return dropped();  // it stood for a moment
  if (!outcome) return finish(result_of(outcome.error()));
  watch_.reset();
  // Nobody speaks first on a job port: whatever can be read is the end of the connection.
  auto watched = loop_.watch(fd_.get(), Interest::kRead, [this](Ready) { dropped(); });
  if (!watched) return finish(DialResult::kNoAnswer);
  watch_ = std::move(*watched);
  timer_ = loop_.after(kProbeSettle, [this] { finish(DialResult::kConnected); });
}

void DialProbe::dropped() {
  if (attempts_ == kProbeAttempts) return finish(DialResult::kConnected);
  watch_.reset();
  fd_.reset();
  begin();
}

void DialProbe::finish(DialResult result) {
  watch_.reset();
  fd_.reset();
  timer_.reset();
  done_(result);
}

}  // namespace muster::rendezvous
