#include "mpi/rank/pmix_relay.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>

#include "tests/support/fake_clock.h"

namespace muster::mpi {
namespace {

Environment environment_of(const std::vector<std::string>& entries) {
  Environment environment;
  for (const std::string& entry : entries) {
    const size_t equals = entry.find('=');
    environment.set(entry.substr(0, equals), entry.substr(equals + 1));
  }
  return environment;
}

TEST(PmixServer, IsThatOfAllVariablesWhichGetAnotherAddress) {
  // As Open MPI 4.1.4 and 5.0.11 have them.
  Environment environment = environment_of(
      {"PMIX_SERVER_URI21=43450368.0;tcp4://127.0.0.1:49379",
       "PMIX_SERVER_URI4=prterun-vm-28282@0.0;tcp4://127.0.0.1:49379", "PMIX_RANK=0"});
  EXPECT_EQ(pmix_server(environment), (Address{"127.0.0.1", 49379}));
  set_pmix_server(environment, {"127.0.0.1", 7});
  EXPECT_EQ(environment.get("PMIX_SERVER_URI21"), "43450368.0;tcp4://127.0.0.1:7");
  EXPECT_EQ(environment.get("PMIX_SERVER_URI4"), "prterun-vm-28282@0.0;tcp4://127.0.0.1:7");
  EXPECT_FALSE(environment.get("PMIX_SERVER_URI3"));
  EXPECT_EQ(environment.get("PMIX_RANK"), "0");
}

TEST(PmixServer, WhatIsNoLoopbackAddressIsLeftAlone) {
  for (const char* uri : {"x;tcp4://10.0.0.1:49379", "x;tcp4://127.0.0.1", "x;tcp4://127.0.0.1:0",
                          "x;tcp4://127.0.0.1:70000", "x;usock:/tmp/x", "127.0.0.1:49379", ""}) {
    EXPECT_FALSE(pmix_server(environment_of({std::string("PMIX_SERVER_URI4=") + uri}))) << uri;
  }
  EXPECT_FALSE(pmix_server(environment_of({"PMIX_RANK=0"})));
  EXPECT_FALSE(pmix_server(environment_of(
      {"PMIX_SERVER_URI3=x;tcp4://127.0.0.1:1", "PMIX_SERVER_URI4=x;tcp4://127.0.0.1:2"})));
}

class PmixRelayTest : public ::testing::Test {
 protected:
  PmixRelayTest() {
    server_ = std::move(*network_.listen({"127.0.0.1", 0}));
    auto relay = PmixRelay::create(*loop_, network_, *network_.local_address(server_.get()),
                                   [this] { ++begun_; });
    EXPECT_TRUE(relay);
    relay_ = std::move(*relay);
  }
  void turn() { ASSERT_TRUE(loop_->run_until_idle()); }
  static void write_to(const UniqueFd& fd, std::string_view text) {
    EXPECT_EQ(send(fd.get(), text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
  }
  // Waits: what came over loopback may be in another thread's hands for a moment.
  static std::string read_from(const UniqueFd& fd) {
    std::array<char, 64> bytes{};
    for (int look = 0; look < 1'000'000; ++look) {
      const ssize_t got = recv(fd.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
      if (got >= 0) return {bytes.data(), static_cast<size_t>(got)};
    }
    return "nothing";
  }

  testing::FakeClock clock_;
  RealNetwork network_;
  std::unique_ptr<Loop> loop_ = std::move(*Loop::create(clock_));
  UniqueFd server_;
  std::unique_ptr<PmixRelay> relay_;
  int begun_ = 0;
};

TEST_F(PmixRelayTest, WhoConnectsHasBegunAndTalksToTheDaemon) {
  turn();
  EXPECT_FALSE(relay_->has_begun());
  const auto rank = network_.connect(relay_->address());
  ASSERT_TRUE(rank);
  turn();
  EXPECT_TRUE(relay_->has_begun());
  EXPECT_EQ(begun_, 1);
  const auto daemon = network_.accept(server_.get());
  ASSERT_TRUE(daemon);
  write_to(*rank, "hello");
  turn();
  EXPECT_EQ(read_from(*daemon), "hello");
  write_to(*daemon, "you are 0");
  turn();
  EXPECT_EQ(read_from(*rank), "you are 0");
  const auto child = network_.connect(relay_->address());
  turn();
  EXPECT_EQ(begun_, 1);
}

TEST_F(PmixRelayTest, WhatARankSaidLastComesAfterItsEnd) {
  auto rank = network_.connect(relay_->address());
  ASSERT_TRUE(rank);
  write_to(*rank, "bye");
  rank->reset();
  relay_->drain();
  EXPECT_TRUE(relay_->has_begun());
  const auto daemon = network_.accept(server_.get());
  ASSERT_TRUE(daemon);
  EXPECT_EQ(read_from(*daemon), "bye");
  EXPECT_EQ(read_from(*daemon), "");
}

TEST_F(PmixRelayTest, WithoutADaemonTheRankIsToldByTheEnd) {
  server_.reset();
  const auto rank = network_.connect(relay_->address());
  ASSERT_TRUE(rank);
  turn();
  turn();
  EXPECT_EQ(read_from(*rank), "");
}

}  // namespace
}  // namespace muster::mpi
