#include "launcher/frameworks/horovod.h"

#include <gtest/gtest.h>

#include "launcher/frameworks/paddle.h"
#include "tests/support/driver_rig.h"

namespace muster::launcher {
namespace {

class HorovodTest : public DriverRig {
 protected:
  HorovodDriver& make() {
    give({"--framework", "horovod", "--nproc-per-node", "2"});
    driver_.emplace(options_);
    EXPECT_TRUE(driver_->start(host()));
    return *driver_;
  }
  std::optional<HorovodDriver> driver_;
};

TEST_F(HorovodTest, PlacesCountTheNodesThatHaveThatLocalRank) {
  HorovodDriver& driver = make();
  const auto round = this->round({2, 1, 2}, 2);
  driver.prepare_round(round, [] {});
  ASSERT_TRUE(driver.begin_attempt(round, 2));
  EXPECT_EQ(variable_of(driver, round, 1, "HOROVOD_RANK"), "4");
  EXPECT_EQ(variable_of(driver, round, 1, "HOROVOD_SIZE"), "5");
  EXPECT_EQ(variable_of(driver, round, 1, "HOROVOD_LOCAL_SIZE"), "2");
  EXPECT_EQ(variable_of(driver, round, 1, "HOROVOD_CROSS_RANK"), "1");
  EXPECT_EQ(variable_of(driver, round, 1, "HOROVOD_CROSS_SIZE"), "2");
  EXPECT_EQ(variable_of(driver, round, 0, "HOROVOD_CROSS_RANK"), "2");
  EXPECT_EQ(variable_of(driver, round, 0, "HOROVOD_CROSS_SIZE"), "3");
  EXPECT_EQ(variable_of(driver, round, 0, "HOROVOD_HOSTNAME"), "node2pod-2");
  EXPECT_EQ(variable_of(driver, round, 0, "HOROVOD_GLOO_RENDEZVOUS_ADDR"), "10.0.0.1");
  EXPECT_EQ(variable_of(driver, round, 0, "HOROVOD_GLOO_RENDEZVOUS_PORT"), "29400");
}

TEST_F(HorovodTest, TheRanksOfAnotherLauncherGiveWayAndSettingsStay) {
  HorovodDriver& driver = make();
  const auto round = this->round({1});
  ASSERT_TRUE(driver.begin_attempt(round, 1));
  Environment user;
  user.set("HOROVOD_RANK", "7");
  user.set("HOROVOD_GLOO_TIMEOUT_SECONDS", "60");
  EXPECT_EQ(variable_of(driver, round, 0, "HOROVOD_RANK", user), "0");
  EXPECT_EQ(variable_of(driver, round, 0, "HOROVOD_GLOO_TIMEOUT_SECONDS", user), "60");
}

TEST_F(HorovodTest, PaddleLearnsAllAddressesAndWhereRankZeroServes) {
  give({"--framework", "paddle"});
  PaddleDriver driver;
  workers_ = 1;
  const DriverHost host = this->host();
  ASSERT_TRUE(driver.start(host));
  const auto round = this->round({1, 1}, 1);
  driver.prepare_round(round, [] {});
  driver.exchanged(0, std::vector<std::string>{"4001", given_.at(0)});
  ASSERT_TRUE(driver.begin_attempt(round, 1));
  const std::string own = "10.0.0.2:" + given_[0];
  EXPECT_EQ(variable_of(driver, round, 0, "PADDLE_TRAINER_ID"), "1");
  EXPECT_EQ(variable_of(driver, round, 0, "PADDLE_TRAINERS_NUM"), "2");
  EXPECT_EQ(variable_of(driver, round, 0, "PADDLE_CURRENT_ENDPOINT"), own);
  EXPECT_EQ(variable_of(driver, round, 0, "PADDLE_TRAINER_ENDPOINTS"), "10.0.0.1:4001," + own);
  EXPECT_EQ(variable_of(driver, round, 0, "PADDLE_MASTER"), "10.0.0.1:4001");
  EXPECT_EQ(variable_of(driver, round, 0, "MASTER_PORT"), "4001") << "it counts more";
}

}  // namespace
}  // namespace muster::launcher
