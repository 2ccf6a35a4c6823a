#include "mpi/rank/pmi_relay.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <vector>

#include "tests/support/fake_clock.h"

namespace muster::mpi {
namespace {

TEST(PmiWatch, ARankIsInsideFromInitToFinalize) {
  PmiWatch watch;
  EXPECT_FALSE(watch.is_inside());
  watch.see("cmd=init pmi_version=1 pmi_subversion=1\n");
  EXPECT_TRUE(watch.is_inside());
  watch.see("cmd=put kvsname=k key=finalize value=x\n");
  EXPECT_TRUE(watch.is_inside());
  watch.see("cmd=finalize\n");
  EXPECT_FALSE(watch.is_inside());
}

TEST(PmiWatch, WordsMayBeCutAnywhere) {
  PmiWatch watch;
  const std::string words = "     27cmd=fullinit;pmijobid=x;\ncmd=finalize\n";
  for (const char byte : words.substr(0, 30)) watch.see(std::string(1, byte));
  EXPECT_TRUE(watch.is_inside());
  for (const char byte : words.substr(30)) watch.see(std::string(1, byte));
  EXPECT_FALSE(watch.is_inside());
}

TEST(PmiWatch, ThatARankHasStartedOthers) {
  PmiWatch watch;
  watch.see("cmd=init pmi_version=1 pmi_subversion=1\ncmd=put kvsname=k key=spawn value=x\n");
  EXPECT_FALSE(watch.has_spawned());
  watch.see("mcmd=spawn\nnprocs=2\n");
  EXPECT_TRUE(watch.has_spawned());
}

TEST(PmiWatch, WhatARankGaveToAbort) {
  const std::string words = "cmd=init\ncmd=abort exitcode=806968079\n";
  PmiWatch whole, cut;
  whole.see(words);
  EXPECT_EQ(whole.aborted(), 806968079);
  for (const char byte : words) {
    EXPECT_FALSE(cut.aborted());
    cut.see(std::string(1, byte));
  }
  EXPECT_EQ(cut.aborted(), 806968079);
  PmiWatch none;
  none.see("cmd=abort exitcode=x\ncmd=abort\n");
  EXPECT_FALSE(none.aborted());
}

class PmiRelayTest : public ::testing::Test {
 protected:
  PmiRelayTest() {
    std::array<int, 2> pair{};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()), 0);
    daemon_ = UniqueFd(pair[0]);
    loop_ = std::move(*Loop::create(clock_));
    relay_ = std::move(*PmiRelay::create(*loop_, UniqueFd(pair[1])));
    rank_ = relay_->take_rank_end();
    EXPECT_TRUE(relay_->start([this] { ++begun_; }, [this](int code) { codes_.push_back(code); })
                    .has_value());
  }
  static std::string read_from(const UniqueFd& fd) {
    std::array<char, 4096> bytes{};
    const ssize_t got = recv(fd.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got < 0) return "nothing";
    return {bytes.data(), static_cast<size_t>(got)};
  }
  static void write_to(const UniqueFd& fd, std::string_view text) {
    EXPECT_EQ(send(fd.get(), text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
  }

  testing::FakeClock clock_;
  std::unique_ptr<Loop> loop_;
  UniqueFd daemon_;
  UniqueFd rank_;
  std::unique_ptr<PmiRelay> relay_;
  int begun_ = 0;
  std::vector<int> codes_;
};

TEST_F(PmiRelayTest, PassesEverythingOnInBothDirections) {
  write_to(rank_, "cmd=init pmi_version=1\n");
  ASSERT_TRUE(loop_->run_until_idle().has_value());
  EXPECT_EQ(read_from(daemon_), "cmd=init pmi_version=1\n");
  write_to(daemon_, "cmd=response_to_init rc=0\n");
  ASSERT_TRUE(loop_->run_until_idle().has_value());
  EXPECT_EQ(read_from(rank_), "cmd=response_to_init rc=0\n");
}

TEST_F(PmiRelayTest, AnAbortIsToldOnceAndBeforeTheDaemonHearsOfIt) {
  write_to(rank_, "cmd=init\ncmd=abort exitcode=7\ncmd=abort exitcode=8\n");
  ASSERT_TRUE(loop_->run_until_idle().has_value());
  EXPECT_EQ(codes_, std::vector<int>{7});
}

TEST_F(PmiRelayTest, ThatTheRankBeginsWithMpiIsToldOnce) {
  std::vector<int> begun;
  for (const std::string_view words : {"cmd=in", "it\n", "cmd=init\n"}) {
    write_to(rank_, words);
    ASSERT_TRUE(loop_->run_until_idle().has_value());
    begun.push_back(begun_);
  }
  EXPECT_EQ(begun, (std::vector<int>{0, 1, 1}));
}

TEST_F(PmiRelayTest, TheDaemonIsNotToldOfARankThatLeavesWithoutFinalize) {
  write_to(rank_, "cmd=init\n");
  rank_.reset();
  ASSERT_TRUE(loop_->run_until_idle().has_value());
  EXPECT_TRUE(relay_->is_inside());
  EXPECT_EQ(read_from(daemon_), "cmd=init\n");
  EXPECT_EQ(read_from(daemon_), "nothing");
  relay_.reset();
  EXPECT_EQ(read_from(daemon_), "");  // the end
}

TEST_F(PmiRelayTest, TheEndOfARankThatFinalizedIsPassedOn) {
  write_to(rank_, "cmd=init\ncmd=finalize\n");
  ASSERT_TRUE(loop_->run_until_idle().has_value());
  EXPECT_EQ(read_from(daemon_), "cmd=init\ncmd=finalize\n");
  rank_.reset();
  ASSERT_TRUE(loop_->run_until_idle().has_value());
  EXPECT_EQ(read_from(daemon_), "");
  EXPECT_FALSE(relay_->is_inside());
}

}  // namespace
}  // namespace muster::mpi
