#include "nccl/pairs/node_traits.h"

#include <gtest/gtest.h>

namespace muster::nccl {
namespace {

const std::vector<std::string> kNames = {"host-1", "host-2", "host-3", "host-4"};

std::vector<NodeTraits> four_nodes() {
  NodeTraits node{.muster = "0.1.0",
                  .driver = "550.54.15",
                  .nccl = "2.28.9",
                  .libfabric = "1.17",
                  .settings = {{"NCCL_ALGO", "a"}}};
  return {node, node, node, node};
}

std::vector<std::string> texts_of(const std::vector<Finding>& findings) {
  std::vector<std::string> texts;
  for (const Finding& finding : findings) {
    texts.push_back(std::string(to_string(finding.severity)) + " " + finding.id + ": " +
                    finding.what);
  }
  return texts;
}

TEST(AgreedSettings, AreThoseThatTheJobWillHave) {
  Settings settings;
  settings.add("NCCL_ALGO", {"secret", "environment"});
  settings.add("NCCL_NET", {"IB", "/etc/nccl.conf"});
  settings.add("NCCL_SOCKET_IFNAME", {"eth0", "environment"});
  const std::vector<PlannedVariable> planned = {{"NCCL_NET", "AWS Libfabric", "", ""},
                                                {"NCCL_NET_GDR_LEVEL", "SYS", "", ""},
                                                {"GLOO_SOCKET_IFNAME", "eth0", "", ""}};
  const auto agreed = agreed_settings(settings, planned);
  ASSERT_EQ(agreed.size(), 3U) << "which interface a node takes is its own business";
  EXPECT_EQ(agreed.at("NCCL_ALGO").find("secret"), std::string::npos);
  Settings same;
  same.add("NCCL_NET_GDR_LEVEL", {"SYS", "environment"});
  same.add("NCCL_NET", {"AWS Libfabric", "environment"});
  const auto others = agreed_settings(same, {});
  EXPECT_EQ(agreed.at("NCCL_NET_GDR_LEVEL"), others.at("NCCL_NET_GDR_LEVEL"));
  EXPECT_NE(agreed.at("NCCL_NET"), others.at("NCCL_NET")) << "the file counts, not the plan";
}

TEST(NodeTraits, ArriveAsTheyWereTold) {
  const NodeTraits told = four_nodes().front();
  const auto read = parse_traits(encode(told));
  ASSERT_TRUE(read);
  EXPECT_EQ(encode(*read), encode(told));
  for (const char* text : {"", "{", "[]", "{}", R"({"settings": []})", R"({"settings": {"A": 1}})"})
    EXPECT_FALSE(parse_traits(text)) << text;
  EXPECT_EQ(parse_traits(std::string(kMaxTraitsBytes + 1, ' ')).error().code, Code::kLimit);
}

TEST(JudgeTraits, NodesThatAreAlikeAreNoFinding) {
  EXPECT_TRUE(judge_traits(four_nodes(), kNames).empty());
  auto nodes = four_nodes();
  nodes[1].nccl = nodes[2].driver = nodes[3].libfabric = "";
  EXPECT_TRUE(judge_traits(nodes, kNames).empty()) << "what is not known is not compared";
}

TEST(JudgeTraits, TheNodeThatIsNotLikeMostIsNamed) {
  auto nodes = four_nodes();
  nodes[2].settings = {{"NCCL_ALGO", "b"}, {"NCCL_PROTO", "c"}};
  nodes[3].nccl = "2.21.5";
  EXPECT_EQ(texts_of(judge_traits(nodes, kNames)),
            (std::vector<std::string>{
                "error env_conflict: host-3: not the same as on most nodes: NCCL_ALGO, NCCL_PROTO. "
                "All ranks must have the same, else a job may fail or hang",
                "error nccl_version: host-4: NCCL 2.21.5; 3 nodes: 2.28.9"}));
  nodes = four_nodes();
  nodes[0].settings.clear();
  nodes[1].driver = "535.129.03";
  nodes[1].muster = "0.2.0";
  nodes[1].libfabric = "2.0";
  EXPECT_EQ(texts_of(judge_traits(nodes, kNames)),
            (std::vector<std::string>{
                "error env_conflict: host-1: not the same as on most nodes: NCCL_ALGO. All ranks "
                "must have the same, else a job may fail or hang",
                "warning nccl_version: host-2: libfabric 2.0; 3 nodes: 1.17",
                "warning nccl_version: host-2: Muster 0.2.0; 3 nodes: 0.1.0",
                "warning cuda_driver: host-2: the GPU driver 535.129.03; 3 nodes: 550.54.15"}));
}

TEST(JudgeTraits, WithoutAMajorityNoneIsBlamed) {
  auto nodes = four_nodes();
  nodes[0].settings = nodes[1].settings = {};
  nodes[0].nccl = nodes[3].nccl = "2.21.5";
  const auto texts = texts_of(judge_traits(nodes, kNames));
  ASSERT_EQ(texts.size(), 2U);
  EXPECT_EQ(texts[0],
            "error env_conflict: not the same on all nodes, and no value is that of most: "
            "NCCL_ALGO. All ranks must have the same, else a job may fail or hang");
  EXPECT_EQ(texts[1],
            "error nccl_version: host-1, host-4: NCCL 2.21.5; host-2, host-3: NCCL 2.28.9");
}

}  // namespace
}  // namespace muster::nccl
