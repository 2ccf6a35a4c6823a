#include "rendezvous/store/reply_buffer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>

namespace muster::rendezvous {
namespace {

class ReplyBufferTest : public ::testing::Test {
 protected:
  MemoryMeter meter_{1U << 30};

  // Reads the buffer in pieces of at most `step` bytes, as a slow socket would.
  static std::string drain(ReplyBuffer& reply, size_t step) {
    std::string bytes;
    while (!reply.empty()) {
      std::array<iovec, 3> pieces;
      const size_t used = reply.gather(pieces);
      size_t taken = 0;
      for (size_t i = 0; i < used && taken < step; ++i) {
        const size_t size = std::min(pieces[i].iov_len, step - taken);
        bytes.append(static_cast<const char*>(pieces[i].iov_base), size);
        taken += size;
      }
      EXPECT_GT(taken, 0U);
      if (taken == 0) break;
      reply.consume(taken);
    }
    return bytes;
  }
};

TEST_F(ReplyBufferTest, RepliesComeOutInOrderInWhateverPieces) {
  Value large = Value::of(std::string(kSharedValueBytes, 'L'), meter_);
  Value larger = Value::of(std::string(3 * kSharedValueBytes, 'M'), meter_);
  const auto fill = [&large, &larger](ReplyBuffer& reply) {
    reply.append_value(large);
    reply.append_u8(7);
    reply.append_value(larger);
    reply.append_value(large);
    reply.append_vector("tail");
    reply.append_u32(0x01020304);
  };
  ReplyBuffer whole(meter_);
  fill(whole);
  const size_t size = whole.pending_bytes();
  const std::string expected = drain(whole, size);
  EXPECT_EQ(expected.size(), size);
  EXPECT_EQ(expected.substr(8, 3), "LLL");
  EXPECT_EQ(expected.substr(size - 8, 8), "tail\x04\x03\x02\x01");
  for (const size_t step : {61U, 4096U, 20'000U, 60'000U}) {
    ReplyBuffer pieces(meter_);
    fill(pieces);
    EXPECT_EQ(drain(pieces, step), expected) << step;
  }
  large.reset(meter_);
  larger.reset(meter_);
  EXPECT_EQ(meter_.used_bytes(), 0U);
}

TEST_F(ReplyBufferTest, AReplyKeepsAValueAliveThatItsKeyNoLongerHas) {
  ReplyBuffer reply(meter_);
  Value value = Value::of(std::string(kSharedValueBytes, 'L'), meter_);
  reply.append_value(value);
  value.reset(meter_);
  EXPECT_GE(meter_.used_bytes(), kSharedValueBytes);
  reply.clear();
  EXPECT_EQ(meter_.used_bytes(), 0U);
}

}  // namespace
}  // namespace muster::rendezvous
