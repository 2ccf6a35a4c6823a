#include "rendezvous/finding/dial.h"

#include <cerrno>
#include <utility>

#include "base/check.h"
#include "base/text.h"

namespace muster::rendezvous {

namespace {

// This host has no address or route of that family: nothing was learned about the other side.
bool is_own_lack(int os_errno) {
  return os_errno == ENETUNREACH || os_errno == EADDRNOTAVAIL || os_errno == EAFNOSUPPORT;
}

}  // namespace

Reachability state_of_failed(LookupStatus status) {
  switch (status) {
    case LookupStatus::kNoName:
      return Reachability::kNoName;
    case LookupStatus::kNoAnswer:
      return Reachability::kDnsSilent;
    case LookupStatus::kServerFailed:
      return Reachability::kDnsFailed;
    case LookupStatus::kFound:
      break;
  }
  MUSTER_CHECK(false);
}

Reachability verdict_of(const std::vector<int>& errnos) {
  bool refused = false;
  for (const int os_errno : errnos) {
    if (os_errno == ECONNREFUSED) {
      refused = true;
    } else if (!is_own_lack(os_errno)) {
      return Reachability::kNoAnswer;
    }
  }
  if (refused) return Reachability::kRefused;
  return errnos.empty() ? Reachability::kNoAnswer : Reachability::kUnreachable;
}

Dial::Dial(Loop& loop, Resolver& resolver, Network& network, const Candidate& candidate,
           const DialTimeouts& timeouts, DialCallback done)
    : loop_(loop),
      network_(network),
      port_(candidate.port),
      timeouts_(timeouts),
      done_(std::move(done)) {
  lookup_ = resolver.resolve(candidate.host, timeouts.lookup,
                             [this](LookupAnswer answer) { on_addresses(std::move(answer)); });
}

void Dial::on_addresses(LookupAnswer answer) {
  if (answer.status != LookupStatus::kFound) {
    return finish(state_of_failed(answer.status), std::move(answer.reason));
  }
  hosts_ = std::move(answer.addresses);
  if (hosts_.size() > kMaxAddressesTried) hosts_.resize(kMaxAddressesTried);
  try_next();
}

void Dial::try_next() {
  while (next_host_ < hosts_.size()) {
    answer_.address = {hosts_[next_host_++], port_};
    auto socket = network_.connect(answer_.address);
    if (!socket) {
      on_failed_address(std::move(socket).error());
      continue;
    }
    auto watch = loop_.watch(socket->get(), Interest::kWrite, [this](Ready) { on_writable(); });
    if (!watch) {
      on_failed_address(std::move(watch).error());
      continue;
    }
    socket_ = std::move(*socket);
    watch_ = std::move(*watch);
    timer_ = loop_.after(timeouts_.connect, [this] {
      watch_.reset();
      on_failed_address(Error{Code::kTimeout, ETIMEDOUT,
                              "connect " + answer_.address.to_string() + ": no answer within " +
                                  format_duration(timeouts_.connect)});
      try_next();
    });
    return;
  }
  finish(verdict_of(errnos_), std::move(answer_.reason));
}

void Dial::on_writable() {
  watch_.reset();
  timer_.reset();
  const Status connected = socket_error(socket_.get(), answer_.address.to_string());
  if (connected) {
    answer_.socket = std::move(socket_);
    return finish(Reachability::kReached, "");
  }
  on_failed_address(connected.error());
  try_next();
}

// All reasons are told: on a host with two families the last one alone would mislead.
void Dial::on_failed_address(const Error& error) {
  socket_.reset();
  errnos_.push_back(error.os_errno);
  answer_.reason += (answer_.reason.empty() ? "" : "; ") + error.text;
}

// From a turn of its own: the callback may destroy this, and constructing may come to here.
void Dial::finish(Reachability state, std::string reason) {
  answer_.state = state;
  answer_.reason = std::move(reason);
  timer_ = loop_.soon([this] {
    const DialCallback done = std::move(done_);
    DialAnswer answer = std::move(answer_);
    done(std::move(answer));  // `this` may be gone from here on
  });
}

}  // namespace muster::rendezvous
