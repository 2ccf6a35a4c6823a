#include "base/reserved_port.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <set>

namespace muster {
namespace {

// Whether a server gets that port on all addresses of IPv6, and of IPv4 by it.
bool can_bind(int port, bool shares) {
  const UniqueFd fd(socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  if (shares) setsockopt(fd.get(), SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
  sockaddr_in6 any{};
  any.sin6_family = AF_INET6;
  any.sin6_port = htons(static_cast<uint16_t>(port));
  return bind(fd.get(), reinterpret_cast<const sockaddr*>(&any), sizeof any) == 0;
}

TEST(ReservedPort, IsForServersThatShareItUntilItIsReleased) {
  auto port = ReservedPort::take();
  ASSERT_TRUE(port) << port.error().text;
  EXPECT_GT(port->port(), 0);
  EXPECT_FALSE(can_bind(port->port(), false));
  EXPECT_TRUE(can_bind(port->port(), true));
  port->release();
  EXPECT_TRUE(can_bind(port->port(), false));
}

TEST(ReservedPort, NoTwoAreTheSame) {
  std::vector<ReservedPort> ports;
  std::set<int> numbers;
  for (int i = 0; i < 500; ++i) {
    auto port = ReservedPort::take();
    ASSERT_TRUE(port) << port.error().text;
    numbers.insert(port->port());
    ports.push_back(std::move(*port));
  }
  EXPECT_EQ(numbers.size(), ports.size());
}

}  // namespace
}  // namespace muster
