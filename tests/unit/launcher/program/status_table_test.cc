#include "launcher/program/status_table.h"

#include <gtest/gtest.h>

namespace muster::launcher {
namespace {

TEST(StatusTableTest, NodesComeInTheOrderOfTheirRanksAndSparesLast) {
  const auto table = status_table(R"({"job": "7", "leader": "b", "state": "Running", "round": 3,
      "round_nodes": 2, "min_nodes": 1, "max_nodes": 4, "restarts_used": 1, "max_restarts": 3,
      "last_stop": "a is gone", "reasons": {"round.grow": "1 spare, but not before 10 s"}, "node_total": 5,
      "nodes": [
        {"name": "spare", "host": "10.0.0.3", "port": 29400, "node_rank": -1, "first_rank": -1, "workers": 2,
         "state": "idle", "connected": true},
        {"name": "c", "host": "fd00::2", "port": 29400, "node_rank": 1, "first_rank": 2, "workers": 1,
         "state": "running", "connected": false, "suspect": true, "leaving": true, "silent_s": 4.25},
        {"name": "b", "host": "10.0.0.1", "port": 29400, "node_rank": 0, "first_rank": 0, "workers": 2,
         "state": "running", "connected": true}]})");
  ASSERT_TRUE(table) << table.error().text;
  EXPECT_EQ(*table,
            "job 7: Running, round 3 on 2 nodes, 1 to 4 wanted; 1 of 3 restarts used; b leads\n"
            "last stop: a is gone\n"
            "round.grow: 1 spare, but not before 10 s\n"
            "NODE   ADDRESS          NODE RANK  RANKS  STATE\n"
            "b      10.0.0.1:29400   0          0-1    running\n"
            "c      [fd00::2]:29400  1          2      running  suspect: silent for 4.2 s, told to "
            "go, not connected\n"
            "spare  10.0.0.3:29400   -          -      idle\n"
            "... and 2 more\n");
}

TEST(StatusTableTest, SizesBetweenWhichThereAreOthersAreListed) {
  EXPECT_EQ(status_table(R"({"min_nodes": 2, "max_nodes": 4, "sizes": "2 or 4 nodes",
                             "target_nodes": 2, "nodes": []})")
                ->substr(0, 32),
            "job : , 2 or 4 nodes wanted, now");
}

TEST(StatusTableTest, ProgressIsALineOfWhatIsKnown) {
  const auto line = [](const std::string& progress) {
    const std::string table = *status_table(R"({"nodes": [], "progress": )" + progress + "}");
    const size_t begin = table.find('\n') + 1;
    return table.substr(begin, table.find('\n', begin) - begin);
  };
  EXPECT_EQ(
      line(R"({"rank": 0, "step": 120, "total": 1000, "percent": 12.5, "epoch": 3, "rate": 2.5,
      "eta_s": 352.0, "metrics": {"loss": 0.31, "note": "x"}})"),
      "progress: step 120 of 1000, 12.5 %, epoch 3, 2.5 steps/s, 5 min 52 s left, loss 0.31");
  EXPECT_EQ(line(R"({"step": 7})"), "progress: step 7");
  for (const char* none : {"{}", "[]", "7", R"({"step": "7", "eta_s": 1e300, "metrics": [1]})"})
    EXPECT_EQ(line(none).find("progress"), std::string::npos) << none;
}

TEST(StatusTableTest, HostsAreThoseWithWorkersThatAreThere) {
  const std::string status = R"({"node_total": 6, "nodes": [
      {"name": "launcher", "node_rank": 0, "workers": 0, "connected": true},
      {"name": "w-1", "node_rank": 2, "workers": 2, "connected": true},
      {"name": "w-0", "node_rank": 1, "workers": 2, "connected": true},
      {"name": "spare", "node_rank": -1, "workers": 2, "connected": true},
      {"name": "silent", "node_rank": 3, "workers": 2, "connected": true, "suspect": true},
      {"name": "cut", "node_rank": 4, "workers": 2, "connected": false}]})";
  EXPECT_EQ(*status_hosts(status, {}), "w-0:2\nw-1:2\nspare:2\n");
  EXPECT_EQ(*status_hosts(status, {{.host = "w-1.job.ns.svc", .slots = 8}}),
            "w-0:2\nw-1:8\nspare:2\n");
}

TEST(StatusTableTest, ListsThatWouldBeWrongAreErrors) {
  const auto error = [](const std::string& status) {
    return status_hosts(status, {}).error().code;
  };
  EXPECT_EQ(error(R"({"job": "7", "node": "c"})"), Code::kPeer);
  EXPECT_EQ(error(R"({"node_total": 2, "nodes": []})"), Code::kLimit);
  EXPECT_EQ(error(R"({"nodes": [{"name": "vm:29401", "workers": 1, "connected": true}]})"),
            Code::kConfig);
  EXPECT_EQ(error("[]"), Code::kPeer);
  EXPECT_EQ(error(R"({"nodes": {}})"), Code::kProtocol);
}

TEST(StatusTableTest, AFollowerSaysWhatItKnows) {
  EXPECT_EQ(*status_table(R"({"job": "7", "node": "c", "leader_at": "10.0.0.1:29400", "round": 2,
                              "round_nodes": 3, "restarts_used": 1, "reason": "not the leader"})"),
            "job 7: c follows 10.0.0.1:29400; last known: round 2 on 3 nodes, 1 restart used\n"
            "reason: not the leader\n");
  EXPECT_EQ(*status_table(R"({"job": "7", "node": "c"})"), "job 7: c knows no leader\n");
}

TEST(StatusTableTest, WhatIsOfAnotherTypeIsLeftOut) {
  EXPECT_EQ(*status_table(R"({"run_id": 7, "round": "x", "nodes": [1, {"name": 5, "port": -1}]})"),
            "job : , 1 wanted; 0 of 0 restarts used;  leads\n"
            "NODE  ADDRESS  NODE RANK  RANKS  STATE\n"
            "      :65535   -          -             not connected\n");
  EXPECT_EQ(*status_table(R"({"nodes": {}})"), "job : , 1 wanted; 0 of 0 restarts used;  leads\n");
}

TEST(StatusTableTest, WhatATerminalWouldObeyIsWrittenOut) {
  EXPECT_EQ(*status_table("{\"job\": \"\\u001b[2J\", \"node\": \"c\"}"),
            "job \\x1b[2J: c knows no leader\n");
}

TEST(StatusTableTest, WhatIsNoObjectIsAnError) {
  EXPECT_EQ(status_table("{").error().code, Code::kProtocol);
  EXPECT_EQ(status_table("[]").error().code, Code::kProtocol);
}

}  // namespace
}  // namespace muster::launcher
