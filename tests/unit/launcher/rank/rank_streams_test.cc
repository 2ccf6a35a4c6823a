#include "launcher/rank/rank_streams.h"

#include <gtest/gtest.h>

namespace muster::launcher {
namespace {

RankStreams example() {
  RankStreams streams;
  streams.redirects.otherwise = {.out = true, .err = false};
  streams.redirects.by_local_rank[2] = {.out = false, .err = true};
  streams.tee.otherwise = {.out = true, .err = true};
  streams.shown = {0, 3};
  streams.role = "actor \"1\"";
  streams.prefix = "[${rank}]\n ";
  streams.prefix_tee_only = true;
  streams.prefix_several_only = true;
  return streams;
}

TEST(RankStreams, ArriveAsTheyWereSent) {
  const auto read = parse_rank_streams(encode(example()));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->redirects.of(0), (Streams{.out = true, .err = false}));
  EXPECT_EQ(read->redirects.of(2), (Streams{.out = false, .err = true}));
  EXPECT_EQ(read->tee.of(7), (Streams{.out = true, .err = true}));
  EXPECT_EQ(read->shown, (std::vector<int>{0, 3}));
  EXPECT_EQ(read->role, "actor \"1\"");
  EXPECT_EQ(read->prefix, "[${rank}]\n ");
  EXPECT_TRUE(read->prefix_tee_only);
  EXPECT_TRUE(read->prefix_several_only);
}

TEST(RankStreams, AnythingElseIsAnErrorThatNamesTheVariable) {
  for (const char* text : {"", "[]", "{}", R"({"redirects": 3})", "x"}) {
    const auto read = parse_rank_streams(text);
    ASSERT_FALSE(read.has_value()) << text;
    EXPECT_EQ(read.error().code, Code::kConfig);
    EXPECT_NE(read.error().text.find("MUSTER_RANK_STREAMS"), std::string::npos);
  }
}

TEST(RankStreams, EachFieldIsOfItsType) {
  const std::string fine = encode(example());
  const std::pair<const char*, const char*> changes[] = {
      {R"("tee":{)", R"("tee":[{)"},
      {R"("shown":[0,3])", R"("shown":["0"])"},
      {R"("role":"actor)", R"("rule":"actor)"},
      {R"("prefix":")", R"("prefixes":")"},
      {R"("prefix_tee_only":true)", R"("prefix_tee_only":1)"},
      {R"("prefix_several_only":true)", R"("prefix_several_only":"true")"}};
  for (const auto& [from, to] : changes) {
    std::string text = fine;
    const size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from << " in " << fine;
    text.replace(at, std::string_view(from).size(), to);
    if (std::string_view(from) == R"("tee":{)") text.replace(text.find('}', at), 1, "}]");
    EXPECT_FALSE(parse_rank_streams(text)) << text;
  }
}

TEST(RankStreams, ARankThatIsAloneHasAPrefixOnlyIfItWasAskedFor) {
  RankStreams streams = example();
  EXPECT_EQ(output_options(streams, 1, "").prefix_template, "");
  EXPECT_EQ(output_options(streams, 2, "").prefix_template, streams.prefix);
  streams.prefix_several_only = false;
  EXPECT_EQ(output_options(streams, 1, "").prefix_template, streams.prefix);
}

}  // namespace
}  // namespace muster::launcher
