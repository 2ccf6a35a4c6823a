// FakeEtcd: a server on a FakeNetwork that answers each request with what the test says, in order.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <deque>
#include <string>
#include <vector>

#include "base/loop.h"
#include "tests/support/fake_network.h"

namespace muster::testing {

/// One connection at a time is enough for a client that has one.
class FakeEtcd {
 public:
  FakeEtcd(Loop& loop, FakeNetwork& network, const Address& address)
      : loop_(loop), network_(network), listener_(*network.listen(address)) {
    watch_ = *loop_.watch(listener_.get(), Interest::kRead, [this](Ready) { accept(); });
  }

  /// 200 with this body for the next request that was not promised an answer yet.
  void answer(const std::string& body) { answer_with(200, body); }
  void answer_with(int status, const std::string& body) {
    answers_.push_back("HTTP/1.1 " + std::to_string(status) +
                       " X\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
  }
  /// Requests as "PATH BODY", in order. One without an answer waits forever.
  [[nodiscard]] const std::vector<std::string>& requests() const { return requests_; }
  [[nodiscard]] int connections() const { return connections_; }
  void hang_up() {
    connection_watch_.reset();
    connection_.reset();
  }

 private:
  void accept() {
    auto accepted = network_.accept(listener_.get());
    if (!accepted) return;
    hang_up();
    ++connections_;
    connection_ = std::move(*accepted);
    connection_watch_ =
        *loop_.watch(connection_.get(), Interest::kRead, [this](Ready) { receive(); });
  }
  void receive() {
    std::array<char, 4096> bytes;
    const ssize_t count = recv(connection_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (count <= 0) return hang_up();
    // The client's requests are short: each comes in one piece.
    const std::string request(bytes.data(), static_cast<size_t>(count));
    const size_t path = request.find(' ') + 1;
    requests_.push_back(request.substr(path, request.find(' ', path) - path) + " " +
                        request.substr(request.find("\r\n\r\n") + 4));
    if (answers_.empty()) return;
    const std::string answer = answers_.front();
    answers_.pop_front();
    EXPECT_EQ(send(connection_.get(), answer.data(), answer.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(answer.size()));
  }

  Loop& loop_;
  FakeNetwork& network_;
  UniqueFd listener_;
  Watch watch_;
  UniqueFd connection_;
  Watch connection_watch_;
  std::deque<std::string> answers_;
  std::vector<std::string> requests_;
  int connections_ = 0;
};

}  // namespace muster::testing
