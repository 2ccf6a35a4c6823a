#include "base/netlink.h"

#include <gtest/gtest.h>
#include <linux/netlink.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace muster {
namespace {

struct Body {
  uint16_t number = 7;
};

nlmsghdr header_of(const std::string& bytes) {
  nlmsghdr header{};
  std::memcpy(&header, bytes.data(), sizeof header);
  return header;
}

nlattr attribute_at(const std::string& bytes, size_t place) {
  nlattr attribute{};
  std::memcpy(&attribute, bytes.data() + place, sizeof attribute);
  return attribute;
}

std::string ack(int error) {
  nlmsghdr header{};
  header.nlmsg_type = NLMSG_ERROR;
  nlmsgerr body{};
  body.error = error;
  return std::string(NetlinkMessage::bytes_of(header)).append(NetlinkMessage::bytes_of(body));
}

TEST(Netlink, AMessageIsItsHeaderItsBodyAndItsAttributes) {
  NetlinkMessage message(100, NLM_F_ACK, Body{});
  message.add_text(3, "eth0");
  message.add_number(4, uint32_t{9});
  const std::string bytes = message.bytes();
  const nlmsghdr header = header_of(bytes);
  EXPECT_EQ(header.nlmsg_type, 100);
  EXPECT_EQ(header.nlmsg_flags, NLM_F_REQUEST | NLM_F_ACK);
  EXPECT_EQ(header.nlmsg_len, bytes.size());
  const size_t text = 16 + 4;  // the body is filled up
  EXPECT_EQ(attribute_at(bytes, text).nla_type, 3);
  EXPECT_EQ(attribute_at(bytes, text).nla_len, 4 + 5);
  EXPECT_STREQ(bytes.data() + text + 4, "eth0");
  EXPECT_EQ(attribute_at(bytes, text + 12).nla_type, 4);
  EXPECT_EQ(bytes.size(), text + 12 + 8);
}

TEST(Netlink, AttributesInsideOthersAreCounted) {
  NetlinkMessage message(100, 0, Body{});
  const size_t outer = message.begin(1);
  const size_t inner = message.begin(2, "head");
  message.add_text(3, "x");
  message.end(inner);
  message.end(outer);
  message.add(4, "");
  const std::string bytes = message.bytes();
  EXPECT_EQ(attribute_at(bytes, outer).nla_len, 4 + 8 + 8);
  EXPECT_EQ(attribute_at(bytes, inner).nla_len, 8 + 8);
  EXPECT_EQ(attribute_at(bytes, outer + 20).nla_type, 4);
  EXPECT_EQ(attribute_at(bytes, outer + 20).nla_len, 4);
}

TEST(Netlink, TheKernelsAnswerToAChange) {
  EXPECT_TRUE(decode_netlink_ack(ack(0)));
  const Status refused = decode_netlink_ack(ack(-EPERM));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().os_errno, EPERM);
  EXPECT_EQ(refused.error().text, "netlink: Operation not permitted");
}

TEST(Netlink, NoPartOfAnAnswerIsOne) {
  const std::string whole = ack(0);
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_EQ(decode_netlink_ack(std::string(whole, 0, size)).error().code, Code::kProtocol);
}

TEST(Netlink, TheKernelRefusesWhatItDoesNotKnow) {
  const auto socket = NetlinkSocket::connect(NETLINK_ROUTE);
  ASSERT_TRUE(socket);
  const Status done = socket->change({9999, NLM_F_ACK, Body{}}, "nonsense");
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().text, "nonsense: netlink: Operation not supported");
}

}  // namespace
}  // namespace muster
