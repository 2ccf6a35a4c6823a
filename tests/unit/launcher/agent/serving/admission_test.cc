// Who may reach the store.
#include "launcher/agent/serving/admission.h"

#include <gtest/gtest.h>

#include "base/log.h"
#include "base/socket.h"
#include "tests/support/fake_clock.h"

namespace muster::launcher {
namespace {

using std::chrono::seconds;

class AdmissionTest : public ::testing::Test {
 protected:
  AdmissionTest() {
    log::set_sink([this](std::string_view line) { lines_.emplace_back(line); });
  }
  ~AdmissionTest() override { log::set_sink({}); }

  testing::FakeClock clock_;
  std::unique_ptr<Loop> loop_ = std::move(*Loop::create(clock_));
  Admission admission_{*loop_};
  std::vector<std::string> lines_;
};

TEST_F(AdmissionTest, MembersAndThisMachineOnly) {
  admission_.set_members({"10.0.0.1", "fd00::2"});
  for (const char* host : {"10.0.0.1", "fd00::2", "127.0.0.1", "127.0.1.9", "::1"})
    EXPECT_TRUE(admission_.admits(host)) << host;
  for (const char* host : {"10.0.0.2", "10.0.0.10", "fd00::1"})
    EXPECT_FALSE(admission_.admits(host)) << host;
}

TEST_F(AdmissionTest, NetworksThatTheUserNamedComeToo) {
  admission_.set_members({"10.0.0.1"});
  admission_.set_networks({*IpNetwork::parse("192.168.7.0/24")});
  EXPECT_TRUE(admission_.admits("192.168.7.9"));
  EXPECT_FALSE(admission_.admits("192.168.8.9"));
}

TEST_F(AdmissionTest, EverybodyBeforeTheFirstRound) { EXPECT_TRUE(admission_.admits("10.0.0.2")); }

TEST_F(AdmissionTest, NoStrangerToARoundWhoseNodesAreNotKnown) {
  admission_.set_members({});
  EXPECT_FALSE(admission_.admits("10.0.0.2"));
  EXPECT_TRUE(admission_.admits("127.0.0.1"));
}

TEST_F(AdmissionTest, AConnectionFromLoopbackIsNotTold) {
  admission_.set_members({"10.0.0.1"});
  RealNetwork network;
  auto listener = network.listen({"127.0.0.1", 0});
  ASSERT_TRUE(listener.has_value());
  auto client = network.connect(*network.local_address(listener->get()));
  ASSERT_TRUE(client.has_value());
  EXPECT_TRUE(admission_.admits(client->get()));
  EXPECT_TRUE(lines_.empty());
}

}  // namespace
}  // namespace muster::launcher
