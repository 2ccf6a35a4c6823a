#include "rendezvous/dial_probe.h"

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
    : done_(std::move(done)) {
  if (auto begun = begin(loop, network, address); !begun) {
    const DialResult result = result_of(begun.error());
    timer_ = loop.at(loop.now(), [this, result] { finish(result); });
    return;
  }
  timer_ = loop.after(kProbeDeadline, [this] { finish(DialResult::kNoAnswer); });
}

Status DialProbe::begin(Loop& loop, Network& network, const Address& address) {
  auto fd = network.connect(address);
  if (!fd) return std::move(fd).error();
  fd_ = std::move(*fd);
  auto watched = loop.watch(fd_.get(), Interest::kWrite, [this](Ready) {
    const auto connected = socket_error(fd_.get());
    finish(connected ? DialResult::kConnected : result_of(connected.error()));
  });
  if (!watched) return std::move(watched).error();
  watch_ = std::move(*watched);
  return {};
}

void DialProbe::finish(DialResult result) {
  watch_.reset();
  fd_.reset();
  timer_.reset();
  done_(result);
}

}  // namespace muster::rendezvous
