#include "launcher/frameworks/xgboost.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "tests/support/driver_rig.h"
#include "tests/support/tracker_wire.h"

namespace muster::launcher {
namespace {

namespace wire = muster::testing::tracker_wire;

class XgboostDriverTest : public DriverRig {
 protected:
  XgboostDriverTest() { give({"--framework", "xgboost", "--xgboost-hook", "off"}); }

  void start() {
    workers_ = 2;
    driver_ = std::make_unique<XgboostDriver>(options_);
    DriverHost doors = host();
    doors.serve_workers = [this](rendezvous::Protocol protocol, auto handler, auto /*clients*/) {
      EXPECT_EQ(protocol, rendezvous::Protocol::kXgboost);
      serve_ = std::move(handler);
    };
    doors.failed = [this](const elastic::FailureRecord& record) { failures_.push_back(record); };
    ASSERT_TRUE(driver_->start(doors));
  }
  // Two nodes with two workers each.
  rendezvous::Assign two_nodes(int node_rank) { return round({2, 2}, node_rank); }
  void begin(int node_rank) {
    bool ready = false;
    driver_->prepare_round(two_nodes(node_rank), [&ready] { ready = true; });
    driver_->exchanged(0, std::vector<std::string>{"40001 40002", "40003 40004"});
    EXPECT_TRUE(ready);
    ASSERT_TRUE(driver_->begin_attempt(two_nodes(node_rank), 2));
  }
  UniqueFd connect(std::string_view first_bytes) {
    int ends[2] = {-1, -1};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    serve_({UniqueFd(ends[1]), std::string(first_bytes)});
    idle();
    return UniqueFd(ends[0]);
  }
  static std::string read(const UniqueFd& client) {
    std::string buffer(4096, '\0');
    const ssize_t got = recv(client.get(), buffer.data(), buffer.size(), 0);
    buffer.resize(got < 0 ? 0 : static_cast<size_t>(got));
    return buffer;
  }
  std::string given(const std::string& name, int node_rank, int local_rank) {
    EnvironmentPlan plan;
    EXPECT_TRUE(driver_->add_variables(two_nodes(node_rank), local_rank, plan));
    return std::string(plan.merge(environment_).environment.get(name).value_or("(none)"));
  }

  std::unique_ptr<XgboostDriver> driver_;
  rendezvous::JobPort::Handler serve_;
  std::vector<elastic::FailureRecord> failures_;
};

TEST_F(XgboostDriverTest, WorkersFindTheTrackerOfTheRound) {
  environment_.set("DMLC_TASK_ID", "77");
  environment_.set("DMLC_NUM_ATTEMPT", "3");
  environment_.set("mapred_tip_id", "t");
  start();
  EXPECT_EQ(given("MASTER_PORT", 1, 0), "/made-at-start");
  begin(1);
  EXPECT_EQ(given("DMLC_TRACKER_URI", 1, 1), "10.0.0.1");
  EXPECT_EQ(given("DMLC_TRACKER_PORT", 1, 1), "29400");
  EXPECT_EQ(given("DMLC_TASK_ID", 1, 1), "3");
  EXPECT_EQ(given("DMLC_NUM_WORKER", 1, 1), "4");
  EXPECT_EQ(given("DMLC_ROLE", 1, 1), "worker");
  EXPECT_EQ(given("DMLC_NUM_ATTEMPT", 1, 1), "(none)");
  EXPECT_EQ(given("mapred_tip_id", 1, 1), "(none)");
  EXPECT_EQ(given("MASTER_PORT", 1, 1), "40001");
  EXPECT_EQ(given("PYTHONPATH", 1, 1), "(none)");
}

TEST_F(XgboostDriverTest, TheAddressOfALoopbackClientIsThatOfItsNode) {
  start();
  begin(0);
  // Socket pairs have no address, which is no loopback either; so real ones.
  RealNetwork real;
  const auto listener = real.listen({"127.0.0.1", 0});
  ASSERT_TRUE(listener);
  std::vector<UniqueFd> clients;
  for (int task = 0; task < 4; ++task) {
    auto client = real.connect(*real.local_address(listener->get()));
    ASSERT_TRUE(client);
    auto accepted = real.accept(listener->get());
    ASSERT_TRUE(accepted);
    serve_({std::move(*accepted), wire::json_start(std::to_string(task), 5000 + task, 0)});
    clients.push_back(std::move(*client));
  }
  idle();
  EXPECT_TRUE(read(clients[0]).ends_with(R"({"host":"10.0.0.1","port":5001,"rank":1})"));
  EXPECT_TRUE(read(clients[1]).ends_with(R"({"host":"10.0.0.2","port":5002,"rank":2})"));
}

TEST_F(XgboostDriverTest, AnotherNodeTellsTheTrackerHowItsWorkersEnd) {
  start();
  const auto tracker = network_.listen({"10.0.0.1", 29400});
  begin(1);
  EXPECT_FALSE(driver_->ended(1, false));
  idle();
  const auto connection = network_.accept(tracker->get());
  ASSERT_TRUE(connection);
  EXPECT_EQ(read(*connection), rendezvous::encode_ended(3, 4, false));
  EXPECT_FALSE(driver_->tell_ranks(15));
  EXPECT_FALSE(driver_->ended(0, false));  // it was told to
  idle();
  EXPECT_FALSE(network_.accept(tracker->get()));
}

TEST_F(XgboostDriverTest, OneThatEndsBeforeItJoinsHasFailed) {
  start();
  begin(0);
  EXPECT_FALSE(driver_->ended(0, true));  // nobody waits
  begin(0);
  const auto waiting = connect(wire::json_start("3", 5000, 0));
  EXPECT_FALSE(read(waiting).empty());
  const auto verdict = driver_->ended(1, true);
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->exit_code, 1);
  EXPECT_EQ(verdict->reason, "exit code 0, but task 3 waits for it to join the group of XGBoost");
  EXPECT_TRUE(failures_.empty());
}

TEST_F(XgboostDriverTest, AFailureOnAnotherNodeIsThatNodes) {
  start();
  begin(0);
  (void)connect(rendezvous::encode_ended(2, 4, true));
  const auto waiting = connect(wire::json_start("0", 5000, 0));
  ASSERT_EQ(failures_.size(), 1U);
  EXPECT_EQ(failures_[0].rank, 2);
  EXPECT_EQ(failures_[0].node, "pod_1");
  EXPECT_EQ(failures_[0].status.code, 1);
  EXPECT_EQ(ended_, 1);
}

TEST_F(XgboostDriverTest, BetweenRoundsThereIsNoTracker) {
  start();
  begin(0);
  const auto waiting = connect(wire::json_start("3", 5000, 0));
  EXPECT_FALSE(read(waiting).empty());
  driver_->round_over();
  char byte = 0;
  EXPECT_EQ(recv(waiting.get(), &byte, 1, 0), 0);
}

}  // namespace
}  // namespace muster::launcher
