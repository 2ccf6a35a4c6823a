#include "launcher/frameworks/tensorflow.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/driver_rig.h"

namespace muster::launcher {
namespace {

class TensorflowTest : public DriverRig {
 protected:
  TensorflowDriver& make(Words words, int workers) {
    words.insert(words.end(),
                 {"--framework", "tensorflow", "--nproc-per-node", std::to_string(workers)});
    give(std::move(words));
    workers_ = workers;
    driver_.emplace(options_);
    EXPECT_TRUE(driver_->start(host()));
    return *driver_;
  }
  static nlohmann::json config(const FrameworkDriver& driver, const rendezvous::Assign& round,
                               int local_rank) {
    return nlohmann::json::parse(variable_of(driver, round, local_rank, "TF_CONFIG"));
  }
  std::optional<TensorflowDriver> driver_;
};

TEST_F(TensorflowTest, EachWorkerKnowsAllAddressesAndItsOwnPlace) {
  TensorflowDriver& driver = make({}, 2);
  const auto round = this->round({2});
  ASSERT_TRUE(driver.begin_attempt(round, 2));
  const auto first = config(driver, round, 0);
  const auto second = config(driver, round, 1);
  EXPECT_EQ(first["cluster"], second["cluster"]);
  EXPECT_EQ(first["cluster"]["worker"].size(), 2U);
  EXPECT_NE(first["cluster"]["worker"][0], first["cluster"]["worker"][1]);
  EXPECT_EQ(second["task"]["type"], "worker");
  EXPECT_EQ(second["task"]["index"], 1);
  EXPECT_TRUE(first["cluster"]["worker"][0].get<std::string>().starts_with("10.0.0.1:"));
}

TEST_F(TensorflowTest, RolesAreThoseOfTheFlagWithTheChiefFirst) {
  TensorflowDriver& driver = make({"--roles", "ps=1,worker=2,chief=1,evaluator=1"}, 5);
  const auto round = this->round({5});
  ASSERT_TRUE(driver.begin_attempt(round, 5));
  std::vector<std::string> types;
  for (int rank = 0; rank < 5; ++rank) types.push_back(config(driver, round, rank)["task"]["type"]);
  EXPECT_EQ(types, (std::vector<std::string>{"chief", "ps", "worker", "worker", "evaluator"}));
  EXPECT_FALSE(config(driver, round, 0)["cluster"].contains("evaluator"));
  EXPECT_EQ(config(driver, round, 4)["cluster"].size(), 1U) << "of the cluster it knows nothing";
}

TEST_F(TensorflowTest, WithoutRolesEachNodeSaysWhatItsWorkersAre) {
  TensorflowDriver& driver = make({"--role", "worker"}, 1);
  EXPECT_EQ(driver.card(), "worker");
  auto round = this->round({1, 1, 1}, 1);
  round.roster[0].note = "chief";
  round.roster[1].note = "worker";
  round.roster[2].note = "ps";
  int ready = 0;
  driver.prepare_round(round, [&ready] { ++ready; });
  ASSERT_EQ(given_.size(), 1U);
  EXPECT_EQ(ready, 0) << "the others' ports are not known yet";
  driver.exchanged(0, std::vector<std::string>{"4001", given_[0], "4003"});
  EXPECT_EQ(ready, 1);
  ASSERT_TRUE(driver.begin_attempt(round, 1));
  const auto own = config(driver, round, 0);
  EXPECT_EQ(own["cluster"]["chief"][0], "10.0.0.1:4001");
  EXPECT_EQ(own["cluster"]["ps"][0], "10.0.0.3:4003");
  EXPECT_EQ(own["task"]["type"], "worker");
  EXPECT_EQ(own["task"]["index"], 0);
}

TEST_F(TensorflowTest, WhatAnotherNodeTellsMustBePorts) {
  TensorflowDriver& driver = make({}, 1);
  const auto round = this->round({1, 1});
  driver.prepare_round(round, [] {});
  driver.exchanged(0, std::vector<std::string>{given_[0], "99999"});
  const auto begun = driver.begin_attempt(round, 1);
  ASSERT_FALSE(begun);
  EXPECT_NE(begun.error().text.find("99999"), std::string::npos);
}

TEST_F(TensorflowTest, TheChiefsSuccessEndsServersAndForgivesTheRest) {
  TensorflowDriver& driver = make({"--roles", "chief=1,worker=1,ps=1"}, 3);
  ASSERT_TRUE(driver.begin_attempt(round({3}), 3));
  EXPECT_FALSE(driver.ended(1, false)) << "before the chief's success it is a failure";
  EXPECT_FALSE(driver.succeeded(false));
  EXPECT_FALSE(driver.ended(0, true));
  ASSERT_EQ(decided_.size(), 1U);
  EXPECT_TRUE(decided_[0].stops);
  EXPECT_EQ(decided_[0].reason, "the chief (rank 0) succeeded");
  EXPECT_EQ(ended_, 0);
  idle();
  EXPECT_EQ(ended_, 1);
  const auto verdict = driver.ended(2, false);
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->exit_code, 0);
  EXPECT_TRUE(driver.succeeded(false));
}

TEST_F(TensorflowTest, WithoutServersTheOtherWorkersFinish) {
  TensorflowDriver& driver = make({}, 2);
  ASSERT_TRUE(driver.begin_attempt(round({2}), 2));
  EXPECT_FALSE(driver.ended(1, true));
  EXPECT_TRUE(decided_.empty()) << "worker 0 decides";
  EXPECT_FALSE(driver.ended(0, true));
  ASSERT_EQ(decided_.size(), 1U);
  EXPECT_FALSE(decided_[0].stops);
  idle();
  EXPECT_EQ(ended_, 0);
}

TEST_F(TensorflowTest, OnlyAWorkerBesideServersStartsAgainAlone) {
  TensorflowDriver& driver = make({"--roles", "chief=1,worker=1,ps=1", "--max-restarts", "1"}, 3);
  ASSERT_TRUE(driver.begin_attempt(round({3}), 3));
  ApartWorkers& apart = *driver.apart();
  const elastic::Classified failed{elastic::FailureClass::kUserError, "exit code 1"};
  EXPECT_EQ(apart.after(0, failed), WorkerEnd::kCounts) << "the chief";
  EXPECT_EQ(apart.after(2, failed), WorkerEnd::kCounts) << "a server";
  EXPECT_EQ(apart.after(1, failed), WorkerEnd::kAsks);
}

TEST_F(TensorflowTest, RolesMustBeAsManyAsWorkers) {
  TensorflowDriver& driver = make({"--roles", "chief=1,worker=1"}, 2);
  const auto begun = driver.begin_attempt(round({3}), 3);
  ASSERT_FALSE(begun);
}

}  // namespace
}  // namespace muster::launcher
