#include "base/socket_diag.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <unistd.h>

#include <cstring>

namespace muster {
namespace {

const Address kServerEnd{"127.0.0.1", 0x72d8};
const Address kCallerEnd{"127.0.0.1", 0xb26e};

inet_diag_msg connection() {
  inet_diag_msg body{};
  body.idiag_family = AF_INET;
  body.idiag_state = 1;
  body.id.idiag_sport = htons(kCallerEnd.port);
  body.id.idiag_dport = htons(kServerEnd.port);
  inet_pton(AF_INET, "127.0.0.1", body.id.idiag_src);
  inet_pton(AF_INET, "127.0.0.1", body.id.idiag_dst);
  body.idiag_uid = 1500;
  body.idiag_inode = 7;
  return body;
}

std::string answer_of(const inet_diag_msg& body) {
  nlmsghdr header{};
  header.nlmsg_len = sizeof header + sizeof body;
  header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
  return bytes.append(reinterpret_cast<const char*>(&body), sizeof body);
}

TEST(SocketDiag, TheOwnerOfTheConnectionThatWasAskedFor) {
  EXPECT_EQ(decode_diag_answer(answer_of(connection()), kCallerEnd, kServerEnd), 1500U);
  EXPECT_EQ(decode_diag_answer(answer_of(connection()), kServerEnd, kCallerEnd), std::nullopt);
}

TEST(SocketDiag, AListenerInItsPlaceAndAClosedSocketAreNobody) {
  inet_diag_msg body = connection();
  body.idiag_state = 10;
  EXPECT_EQ(decode_diag_answer(answer_of(body), kCallerEnd, kServerEnd), std::nullopt);
  body = connection();
  body.idiag_inode = body.idiag_uid = 0;
  EXPECT_EQ(decode_diag_answer(answer_of(body), kCallerEnd, kServerEnd), std::nullopt);
  body = connection();
  body.id.idiag_dport = 0;
  EXPECT_EQ(decode_diag_answer(answer_of(body), kCallerEnd, kServerEnd), std::nullopt);
}

TEST(SocketDiag, NoPartOfAnAnswerIsOne) {
  const std::string whole = answer_of(connection());
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_EQ(decode_diag_answer(std::string(whole, 0, size), kCallerEnd, kServerEnd),
              std::nullopt);
  std::string error = whole;
  nlmsghdr header{};
  std::memcpy(&header, error.data(), sizeof header);
  header.nlmsg_type = NLMSG_ERROR;
  std::memcpy(error.data(), &header, sizeof header);
  EXPECT_EQ(decode_diag_answer(error, kCallerEnd, kServerEnd), std::nullopt);
}

TEST(SocketDiag, OnlyNumericAddressesOfOneFamilyCanBeAskedFor) {
  EXPECT_FALSE(encode_diag_request(kCallerEnd, kServerEnd).empty());
  EXPECT_EQ(encode_diag_request({"::1", 1}, kServerEnd), "");
  EXPECT_EQ(encode_diag_request({"localhost", 1}, kServerEnd), "");
}

// Both families, on a real connection.
TEST(SocketDiag, TheKernelKnowsOurOwnConnections) {
  RealNetwork network;
  for (const char* host : {"127.0.0.1", "::1"}) {
    const auto listener = network.listen({host, 0});
    if (!listener) continue;  // no IPv6 in this container
    const auto address = network.local_address(listener->get());
    ASSERT_TRUE(address);
    const auto caller = network.connect(*address);
    ASSERT_TRUE(caller);
    const auto own = network.local_address(caller->get());
    ASSERT_TRUE(own);
    const auto owner = ask_socket_owner(*own, *address);
    if (owner) {
      EXPECT_EQ(*owner, geteuid());
    } else {
      EXPECT_EQ(owner.error().code, Code::kOs) << owner.error().text;  // netlink is refused here
    }
  }
}

}  // namespace
}  // namespace muster
