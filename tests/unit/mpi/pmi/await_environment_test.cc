#include "mpi/pmi/await_environment.h"

#include <gtest/gtest.h>

#include "launcher/report/exit_codes.h"

namespace muster::mpi {
namespace {

using namespace std::string_literals;

TEST(AwaitEnvironment, VariablesArriveAsTheyWereSent) {
  const std::vector<std::string> variables = {"A=1", "B=", "C=x=y\n"};
  const auto parsed = parse_environment_text(environment_text(variables));
  ASSERT_TRUE(parsed);
  EXPECT_EQ(*parsed, variables);
}

TEST(AwaitEnvironment, NothingMeansThatNobodyIsThere) {
  const auto parsed = parse_environment_text("");
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().code, Code::kPeer);
}

TEST(AwaitEnvironment, WhatIsNoVariableIsAnError) {
  for (const std::string& text : {"A=1"s, "A\0"s, "=1\0"s, "A=1\0B"s, "A=1\0\0"s}) {
    const auto parsed = parse_environment_text(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, Code::kProtocol);
  }
}

TEST(AwaitEnvironment, TheCommandFollowsItsPath) {
  EXPECT_EQ(await_words(5, "/bin/sh", {"sh", "-c", "true"}),
            (std::vector<std::string>{"muster", "await", "5", "/bin/sh", "sh", "-c", "true"}));
}

TEST(AwaitEnvironment, WordsThatMeanNothingAreUsage) {
  std::FILE* errors = std::tmpfile();
  ASSERT_NE(errors, nullptr);
  for (const std::vector<std::string>& words : {std::vector<std::string>{},
                                                {"5"},
                                                {"5", "/bin/sh"},
                                                {"1", "/bin/sh", "sh"},
                                                {"x", "a", "b"}})
    EXPECT_EQ(run_await_verb(words, {}, errors), kExitUsage);
  (void)std::fclose(errors);
}

}  // namespace
}  // namespace muster::mpi
