#include "elastic/root_cause.h"

#include <gtest/gtest.h>

#include <vector>

#include "rendezvous/wire/control_protocol.h"

namespace muster::elastic {
namespace {

using namespace std::chrono_literals;
using rendezvous::Failure;

const TimePoint kAttemptStart{1000s};

Failure user_error(Duration after) {
  Failure failure;
  failure.exit_code = 1;
  failure.failure_class = "user error";
  failure.happened = kAttemptStart + after;
  return failure;
}

FailureRecord record_of(int exit_code) {
  FailureRecord record;
  record.rank = 4;
  record.local_rank = 1;
  record.node = "worker-2";
  record.pid = 77;
  record.status.code = exit_code;
  record.reason = "exit code 3 (user error)";
  record.noticed = kAttemptStart;
  record.alive = 90s;
  record.attempt = 2;
  record.last_lines = {"a", "b"};
  record.told_to_stop = true;
  record.presumed = true;
  return record;
}

TEST(RootCause, TheEarliestFailureWins) {
  EXPECT_EQ(first_of_job(std::vector{user_error(1s), user_error(0s)}), 1u);
}

TEST(RootCause, WithinAMomentACauseGoesBeforeAnExitCode) {
  std::vector<Failure> failures = {user_error(0s), user_error(100ms)};
  failures[1].failure_class = "out of memory";
  EXPECT_EQ(first_of_job(failures), 1u);
  failures[1].happened = kAttemptStart + 1s;
  EXPECT_EQ(first_of_job(failures), 0u);
}

TEST(RootCause, OfTwoCausesInOneMomentTheEarlierWins) {
  std::vector<Failure> failures = {user_error(0s), user_error(150ms), user_error(50ms)};
  failures[1].failure_class = failures[2].failure_class = "crashed";
  EXPECT_EQ(first_of_job(failures), 2u);
}

TEST(RootCause, WithinAMomentALostPeerGoesAfterItsCause) {
  std::vector<Failure> failures = {user_error(0s), user_error(1ms)};
  failures[0].last_lines = "RuntimeError: Connection closed by peer [10.0.0.2]:4711";
  failures[1].message = "ValueError: no such sample";
  EXPECT_EQ(first_of_job(failures), 1u);
  failures[0].failure_class = "crashed";  // the watchdog of NCCL aborts
  EXPECT_EQ(first_of_job(failures), 1u);
  failures[1].happened = kAttemptStart + 1s;
  EXPECT_EQ(first_of_job(failures), 0u);
}

// Open MPI's ranks abort so when they miss one, which a crash may take longer to be seen of.
TEST(RootCause, WhyARankEndedCountsAmongItsLastWords) {
  std::vector<Failure> failures = {user_error(0s), user_error(30ms)};
  failures[0].reason = "MPI_Abort with code 14, as Open MPI does when it loses another rank";
  failures[1].reason = "MPI_Abort with code 7 (user error)";
  EXPECT_EQ(first_of_job(failures), 1u);
}

TEST(RootCause, OfTwoThatLostAPeerTheEarlierWins) {
  std::vector<Failure> failures = {user_error(2ms), user_error(1ms)};
  failures[0].message = failures[1].message = "RuntimeError: Broken pipe";
  EXPECT_EQ(first_of_job(failures), 1u);
}

TEST(RootCause, WhoFailedBecauseItWasToldToStopIsNotTheCause) {
  std::vector<Failure> failures = {user_error(0s), user_error(50ms)};
  failures[0].message = "ConnectionResetError: Connection reset by peer";
  failures[1].told_to_stop = true;
  EXPECT_EQ(first_of_job(failures), 0u);
  failures[1].failure_class = "crashed";
  EXPECT_EQ(first_of_job(failures), 0u);
}

// An MPI's daemon was killed: its node may see that later than the launcher's node that a rank's
// report broke off.
TEST(RootCause, WhatWasSeenToBeKilledExplainsWhatIsOnlyPresumedToBe) {
  std::vector<Failure> failures = {user_error(0s), user_error(12ms)};
  for (Failure& failure : failures) failure.failure_class = "killed";
  failures[0].presumed = true;
  EXPECT_EQ(first_of_job(failures), 1u);
  failures[1].failure_class = "user error";
  EXPECT_EQ(first_of_job(failures), 0u);
  failures[1].failure_class = "killed";
  failures[1].happened = kAttemptStart + 1s;
  EXPECT_EQ(first_of_job(failures), 0u);
}

TEST(RootCause, TheRecordTravelsWithItsAge) {
  const Failure failure = to_wire(record_of(3), kAttemptStart + 1500ms, true);
  EXPECT_EQ(failure.age_ms, 1500);
  EXPECT_EQ(failure.exit_code, 3);
  EXPECT_EQ(failure.last_lines, "a\nb");
  EXPECT_TRUE(failure.would_fail_again);
}

TEST(RootCause, ARecordFromTheFutureHasNoAge) {
  EXPECT_EQ(to_wire(record_of(3), kAttemptStart - 1s, false).age_ms, 0);
}

TEST(RootCause, ClocksOfTwoNodesNeedNotAgree) {
  FailureRecord record;
  record.noticed = kAttemptStart;
  record.noticed_wall = WallTime{};
  const Failure failure = to_wire(record, kAttemptStart + 1500ms, false);
  // There it is an hour later, by both clocks.
  const WallTime wall_there = WallTime{} + 1h;
  const FailureRecord there = from_wire(failure, kAttemptStart + 1h, wall_there);
  EXPECT_EQ(there.noticed, kAttemptStart + 1h - 1500ms);
  EXPECT_EQ(there.noticed_wall, wall_there - 1500ms);
}

TEST(RootCause, AnotherNodesRecordComesBackAsItWas) {
  FailureRecord record = record_of(3);
  record.failure_class = FailureClass::kCrashed;
  record.error_file.emplace();
  record.error_file->message = "ValueError: x";
  const FailureRecord back =
      from_wire(to_wire(record, kAttemptStart, false), kAttemptStart, WallTime{});
  EXPECT_EQ(back.rank, 4);
  EXPECT_EQ(back.local_rank, 1);
  EXPECT_EQ(back.node, "worker-2");
  EXPECT_EQ(back.pid, 77);
  EXPECT_EQ(back.status.code, 3);
  EXPECT_EQ(back.failure_class, FailureClass::kCrashed);
  EXPECT_EQ(back.reason, record.reason);
  EXPECT_EQ(back.alive, Duration(90s));
  EXPECT_EQ(back.attempt, 2);
  EXPECT_TRUE(back.told_to_stop);
  EXPECT_TRUE(back.presumed);
  EXPECT_EQ(back.last_lines, record.last_lines);
  ASSERT_TRUE(back.error_file.has_value());
  EXPECT_EQ(back.error_file->message, "ValueError: x");
}

TEST(RootCause, WithoutErrorFileOrLastLinesThereAreNone) {
  FailureRecord record;
  const FailureRecord back =
      from_wire(to_wire(record, kAttemptStart, false), kAttemptStart, WallTime{});
  EXPECT_FALSE(back.error_file.has_value());
  EXPECT_TRUE(back.last_lines.empty());
}

// An exception stands at the end; a victim that says less would be named instead.
TEST(RootCause, OfLongLastLinesTheEndTravels) {
  FailureRecord record = record_of(1);
  record.last_lines.assign(30, std::string(200, 'x'));
  record.last_lines.push_back("ValueError: no such sample");
  const Failure sent = to_wire(record, kAttemptStart, false);
  EXPECT_LE(sent.last_lines.size(), rendezvous::kMaxTextBytes);
  EXPECT_TRUE(sent.last_lines.starts_with(std::string(200, 'x') + "\n"));
  EXPECT_TRUE(sent.last_lines.ends_with("\nValueError: no such sample"));
}

TEST(RootCause, OfOneLineThatIsTooLongItsBeginningTravels) {
  FailureRecord record = record_of(1);
  record.last_lines = {"a", "ValueError: " + std::string(rendezvous::kMaxTextBytes, 'x')};
  const Failure sent = to_wire(record, kAttemptStart, false);
  EXPECT_EQ(sent.last_lines.size(), rendezvous::kMaxTextBytes);
  EXPECT_TRUE(sent.last_lines.starts_with("ValueError: x"));
  record.last_lines = {std::string(rendezvous::kMaxTextBytes, 'x')};
  EXPECT_EQ(to_wire(record, kAttemptStart, false).last_lines, record.last_lines[0]);
}

TEST(RootCause, AWordOfALaterVersionIsTheMostGeneralFailure) {
  Failure failure = user_error(0s);
  failure.failure_class = "cosmic ray";
  EXPECT_EQ(from_wire(failure, kAttemptStart, WallTime{}).failure_class, FailureClass::kUserError);
}

}  // namespace
}  // namespace muster::elastic
