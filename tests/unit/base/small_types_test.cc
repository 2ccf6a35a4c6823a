// result, fd, environment, cpu_set, json, signals: the small types of base/.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/cpu_set.h"
#include "base/environment.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/result.h"
#include "base/signals.h"

namespace muster {
namespace {

Result<int> half(int number) {
  if (number % 2 != 0) return Error{Code::kConfig, 0, std::to_string(number) + " is odd"};
  return number / 2;
}

Status need_even(int number) {
  MUSTER_RETURN_IF_ERROR(half(number));
  return {};
}

TEST(Result, HoldsAValueOrAnErrorThatGathersContext) {
  EXPECT_EQ(half(4).value(), 2);
  auto odd = half(3);
  ASSERT_FALSE(odd);
  EXPECT_EQ(std::move(odd).error().with_context("halving").text, "halving: 3 is odd");
  EXPECT_TRUE(need_even(2));
  EXPECT_EQ(need_even(5).error().code, Code::kConfig);
}

TEST(Result, OsErrorsNameCallAndCause) {
  const Error error = os_error("open '/x'", ENOENT);
  EXPECT_EQ(error.text, "open '/x': No such file or directory");
  EXPECT_EQ(error.os_errno, ENOENT);
  EXPECT_EQ(errno_text(99999), "error 99999");
}

TEST(UniqueFd, ClosesAtTheEndOfItsScope) {
  int number;
  {
    const Pipe pipe = std::move(*make_pipe());
    number = pipe.read_end.get();
    EXPECT_EQ(fcntl(number, F_GETFD), FD_CLOEXEC);
  }
  EXPECT_EQ(fcntl(number, F_GETFD), -1);
}

TEST(UniqueFd, MovesOwnership) {
  Pipe pipe = std::move(*make_pipe());
  const int number = pipe.read_end.get();
  UniqueFd taken = std::move(pipe.read_end);
  EXPECT_EQ(taken.get(), number);
  taken = std::move(pipe.write_end);
  EXPECT_EQ(fcntl(number, F_GETFD), -1);
  close(taken.release());
  EXPECT_FALSE(taken.is_open());
}

TEST(EnvironmentTest, ProgramsAreLookedForOnPathOrWhereEveryImageHasThem) {
  Environment environment;
  EXPECT_EQ(search_path(environment), "/usr/local/bin:/usr/bin:/bin");
  environment.set("PATH", "/opt/bin");
  EXPECT_EQ(search_path(environment), "/opt/bin");
  environment.set("PATH", "");
  EXPECT_EQ(search_path(environment), "");
}

TEST(EnvironmentTest, FirstOfTwoEqualNamesWinsAndEmptyIsAValue) {
  const char* const environ_like[] = {"A=1", "B=", "A=2", "NOEQUALS", "C=x=y", nullptr};
  Environment environment = Environment::from_environ(environ_like);
  EXPECT_EQ(environment.get("A"), "1");
  EXPECT_EQ(environment.get("B"), "");
  EXPECT_EQ(environment.get("C"), "x=y");
  EXPECT_EQ(environment.get("NOEQUALS"), std::nullopt);
  environment.unset("A");
  environment.set("D", "4");
  EXPECT_EQ(environment.to_exec_strings(), (std::vector<std::string>{"B=", "C=x=y", "D=4"}));
}

TEST(EnvironmentTest, AnEntryIsSplitAtItsFirstEqualsSign) {
  EXPECT_EQ(split_entry("A=x=y"), std::pair(std::string_view("A"), std::string_view("x=y")));
  EXPECT_EQ(split_entry("A="), std::pair(std::string_view("A"), std::string_view("")));
  EXPECT_EQ(split_entry("=x"), std::pair(std::string_view(""), std::string_view("x")));
  EXPECT_EQ(split_entry("A"), std::nullopt);
  Environment environment;
  environment.set("A", "1");
  for (const char* entry : {"A=2", "B=", "C", ""}) environment.set_entry(entry);
  EXPECT_EQ(environment.to_exec_strings(), (std::vector<std::string>{"A=2", "B="}));
}

TEST(CpuSetTest, KernelListsAreReadAndWritten) {
  EXPECT_EQ(parse_cpu_list("0-2,8,4\n"), (CpuSet{0, 1, 2, 4, 8}));
  EXPECT_EQ(parse_cpu_list("\n"), CpuSet{});
  EXPECT_EQ(format_cpu_list({0, 1, 2, 4, 8, 9}), "0-2,4,8-9");
  EXPECT_EQ(intersect({0, 1, 2}, {1, 2, 3}), (CpuSet{1, 2}));
  for (const char* bad : {"a", "1-", "3-1", "-1", "1,,2", "0-99999999"})
    EXPECT_EQ(parse_cpu_list(bad), std::nullopt) << bad;
}

TEST(JsonTest, ParsingIsBoundedAndNeverThrows) {
  EXPECT_EQ(parse_json("{\"a\": [1, \"]\\\"[\"]}")->at("a").at(0), 1);
  EXPECT_EQ(parse_json("{").error().code, Code::kProtocol);
  EXPECT_EQ(parse_json(std::string(100, '[')).error().code, Code::kLimit);
  EXPECT_EQ(parse_json("[1,2,3]", 3).error().code, Code::kLimit);
  EXPECT_EQ(dump_json({{"text", "\xff"}}), "{\"text\":\"\xef\xbf\xbd\"}");
}

TEST(SignalsTest, NamesGoBothWays) {
  EXPECT_EQ(signal_name(SIGTERM), "SIGTERM");
  EXPECT_EQ(signal_name(SIGRTMIN + 3), "SIGRTMIN+3");
  EXPECT_EQ(parse_signal("SIGUSR1"), SIGUSR1);
  EXPECT_EQ(parse_signal("term"), SIGTERM);
  EXPECT_EQ(parse_signal("9"), 9);
  for (const char* bad : {"", "SIG", "SIGWHAT", "0", "999", "-1"})
    EXPECT_EQ(parse_signal(bad), std::nullopt) << bad;
}

TEST(SignalsTest, BlockedSignalsAreReadFromTheDescriptor) {
  const auto before = block_signals();
  ASSERT_TRUE(before);
  const auto fd = open_signal_fd();
  ASSERT_TRUE(fd);
  ASSERT_EQ(raise(SIGUSR1), 0);
  const auto received = read_signal(fd->get());
  ASSERT_TRUE(received && *received);
  EXPECT_EQ((*received)->number, SIGUSR1);
  EXPECT_EQ((*received)->sender, getpid());
  const auto nothing = read_signal(fd->get());
  ASSERT_TRUE(nothing);
  EXPECT_FALSE(*nothing);
  sigprocmask(SIG_SETMASK, &*before, nullptr);
}

}  // namespace
}  // namespace muster
