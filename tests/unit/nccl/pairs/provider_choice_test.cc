#include "nccl/pairs/provider_choice.h"

#include <gtest/gtest.h>

namespace muster::nccl {
namespace {

NodeProviders having(std::vector<std::string> names) { return {true, std::move(names)}; }

TEST(ProviderChoice, WhatANodeTellsIsOneWord) {
  EXPECT_EQ(encode(NodeProviders{}), "-");
  EXPECT_EQ(encode(having({})), "+");
  EXPECT_EQ(encode(having({"tcp", "verbs;ofi_rxm"})), "+tcp,verbs;ofi_rxm");
  EXPECT_EQ(encode(having({"a b", "", "x,y", std::string(kMaxProviderBytes + 1, 'a'), "efa"})),
            "+efa");
  EXPECT_EQ(parse_providers(encode(having(std::vector<std::string>(40, "tcp"))))->names.size(),
            kMaxToldProviders);
}

TEST(ProviderChoice, WhatOthersTell) {
  EXPECT_FALSE(parse_providers("-")->has_probe);
  EXPECT_TRUE(parse_providers("+")->has_probe);
  EXPECT_TRUE(parse_providers("+")->names.empty());
  EXPECT_EQ(parse_providers("+tcp,verbs;ofi_rxm")->names,
            (std::vector<std::string>{"tcp", "verbs;ofi_rxm"}));
  for (const char* wrong : {"", "tcp", "-tcp", "+,", "+tcp,", "+a b"})
    EXPECT_FALSE(parse_providers(wrong)) << wrong;
  std::string many = "+tcp";
  for (size_t i = 0; i < kMaxToldProviders; ++i) many += ",tcp";
  EXPECT_FALSE(parse_providers(many));
}

TEST(ProviderChoice, OffersAsMusterProbeTakesIt) {
  EXPECT_TRUE(offers(having({"efa"}), "efa"));
  EXPECT_TRUE(offers(having({"verbs;ofi_rxm"}), "verbs"));
  EXPECT_TRUE(offers(having({"verbs;ofi_rxm"}), "verbs;ofi_rxm"));
  EXPECT_FALSE(offers(having({"verbs;ofi_rxd", "verbsx"}), "verbs"));
  EXPECT_FALSE(offers(having({"verbs"}), "verbs")) << "datagrams alone";
}

TEST(ProviderChoice, ByItselfOnlyWhatAllHaveAndNeverTcp) {
  EXPECT_EQ(choose_provider({having({"tcp", "efa"}), having({"efa"})}), "efa");
  EXPECT_EQ(choose_provider({having({"verbs;ofi_rxm", "cxi"}), having({"cxi", "verbs;ofi_rxm"})}),
            "cxi");
  EXPECT_EQ(choose_provider({having({"efa", "verbs;ofi_rxm"}), having({"verbs;ofi_rxm"})}),
            "verbs");
  EXPECT_EQ(choose_provider({having({"efa"}), {}}), "");
  EXPECT_EQ(choose_provider({having({"tcp"}), having({"tcp"})}), "");
  EXPECT_EQ(choose_provider({}), "");
}

TEST(ProviderChoice, WhoCannotTakePartIsNamed) {
  const std::vector<std::string> names = {"a", "b", "c"};
  EXPECT_TRUE(judge_providers("tcp", {having({"tcp"})}, {"a"}).empty());
  const auto findings = judge_providers("efa", {{}, having({"efa"}), having({"tcp"})}, names);
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_EQ(findings[0].id, "lib_missing");
  EXPECT_EQ(findings[0].severity, Severity::kError);
  EXPECT_EQ(findings[0].what, "c: libfabric offers no efa, so nothing was measured over it");
  EXPECT_EQ(findings[1].severity, Severity::kWarning);
  EXPECT_EQ(findings[1].what, "a: no muster-probe, so nothing was measured over efa");
}

TEST(ProviderChoice, ManyNodesAreOneFinding) {
  std::vector<std::string> names;
  for (int node = 0; node < 20; ++node) names.push_back("n" + std::to_string(node));
  const auto findings = judge_providers("efa", std::vector<NodeProviders>(20), names);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_TRUE(findings[0].what.starts_with("n0, n1, n2, n3, n4, n5, n6, n7 and 12 more: "))
      << findings[0].what;
}

}  // namespace
}  // namespace muster::nccl
