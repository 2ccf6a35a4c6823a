#include "rendezvous/wire/control_protocol.h"

#include <gtest/gtest.h>

#include "rendezvous/agreement/takeover.h"

namespace muster::rendezvous {
namespace {

std::string frame_of(const std::string& json) {
  std::string frame;
  for (const int shift : {24, 16, 8, 0}) frame.push_back(static_cast<char>(json.size() >> shift));
  return frame + json;
}

Failure failure() {
  Failure failure;
  failure.rank = 3;
  failure.node = "worker-1";
  failure.exit_code = 7;
  failure.reason = "exit code 7 (user error)";
  failure.age_ms = 12;
  return failure;
}

std::vector<Message> one_of_each() {
  Join join;
  join.identity = {"worker-1", 1, UINT64_MAX};
  join.host = "10.0.0.2";
  join.port = 29400;
  join.role = "trainer";
  join.last_round = RoundReport{};
  join.last_round->round = 4;
  join.last_round->decision = JobDecision{true, "the chief (rank 0) succeeded"};
  join.last_round->roster = {{{"worker-0", 0, 5}, "10.0.0.1", 29400}};
  join.failures = {failure()};
  join.size = SizeRequest{2, 4, 16};
  join.budget.restart_ages_ms = {1, 2};
  join.job = "job-0000000000a1";
  join.stop = "the end was asked for";
  Assign assign;
  assign.round = 9;
  assign.master_host = "::1";
  assign.confirmed = 8;
  assign.confirmed_term = 16;
  assign.ended = {{8, 16, {0, 2}}};
  assign.checks = HealthChecks::kPairs;
  assign.job = "job-0000000000a1";
  Finish finish;
  finish.exit_code = 7;
  finish.first = failure();
  return {Hello{kControlVersion,
                "job",
                true,
                3,
                Purpose::kObserver,
                1,
                "worker-1",
                {{"--nnodes", "2"}, {"--lease", "30s"}},
                4},
          join,
          Heartbeat{1, 2, -1},
          Started{1},
          Succeeded{1},
          Failed{1, {failure()}},
          Stopped{1},
          Leaving{"SIGTERM", 30000},
          Goodbye{"left"},
          Welcome{kControlVersion, "job", true, 16, "worker-0", 30000, 5, "a notice", 77,
                  "worker-0:29400,worker-1:29400"},
          Refuse{RefuseCode::kNotLeader, "does not lead", UINT64_MAX, {}},
          Ack{5, 1, false, 0, SizeRequest{1, 0, 32}},
          Waiting{true, {3, 16, 2, true, {}}, "spare"},
          assign,
          Stop{1, 2000, "a worker failed", true, true},
          Notice{1, "worker-3", 1000},
          finish,
          Handover{{33, 2}, {{1, 16, {0, 2}}, {2, 33, {1}}}, "leaves", true},
          StatusReply{"{}"},
          Contribution{1, 2, 0, std::string("\0\xff\n", 3), true},
          Exchanged{1, 2, 524288, "all", false, "too much"},
          RosterPart{1, 16, assign.roster},
          Decided{4, {true, "the chief (rank 0) succeeded"}},
          LoneFailure{4, 2, 3, "exit code 3"},
          MayRestart{4, 2, 3, true, 1500, "restart 1 of 3 in 1.5 s", join.budget},
          Quit{"the end was asked for by 'desk'"}};
}

TEST(ControlProtocol, EveryMessageSurvivesItsFrame) {
  const auto messages = one_of_each();
  ASSERT_EQ(messages.size(), std::variant_size_v<Message>);
  for (size_t i = 0; i < messages.size(); ++i) {
    ASSERT_EQ(messages[i].index(), i);
    const std::string frame = encode(messages[i]);
    const auto decoded = decode(frame);
    ASSERT_TRUE(decoded.has_value()) << decoded.error().text;
    EXPECT_EQ(decoded->consumed, frame.size());
    EXPECT_EQ(encode(*decoded->message), frame) << name_of(messages[i]);
  }
}

TEST(ControlProtocol, ACommandOfAnObserverKeepsItsKindAndReason) {
  for (const auto kind : {JobCommandKind::kRestart, JobCommandKind::kStop}) {
    Hello hello;
    hello.purpose = Purpose::kObserver;
    hello.command = JobCommand{kind, "new data"};
    const auto decoded = decode(encode(hello));
    ASSERT_TRUE(decoded.has_value()) << decoded.error().text;
    const auto& read = std::get<Hello>(*decoded->message);
    ASSERT_TRUE(read.command);
    EXPECT_EQ(read.command->kind, kind);
    EXPECT_EQ(read.command->reason, "new data");
  }
  const auto plain = decode(encode(Hello{}));
  ASSERT_TRUE(plain.has_value());
  EXPECT_FALSE(std::get<Hello>(*plain->message).command);
}

TEST(ControlProtocol, AJobsNameAndItsEndGoOutAndComeBack) {
  const auto messages = one_of_each();
  const auto join = decode(encode(messages[1]));
  const auto assign = decode(encode(messages[13]));
  ASSERT_TRUE(join.has_value() && assign.has_value());
  EXPECT_EQ(std::get<Join>(*join->message).job, "job-0000000000a1");
  EXPECT_EQ(std::get<Assign>(*assign->message).job, "job-0000000000a1");
  EXPECT_EQ(std::get<Join>(*join->message).stop, "the end was asked for");
}

TEST(ControlProtocol, FieldsKeepTheirValues) {
  const auto decoded = decode(encode(one_of_each()[1]));
  ASSERT_TRUE(decoded.has_value());
  const auto& join = std::get<Join>(*decoded->message);
  EXPECT_EQ(join.identity.incarnation, UINT64_MAX);
  EXPECT_EQ(join.last_round->roster.at(0).host, "10.0.0.1");
  EXPECT_EQ(join.failures.at(0).exit_code, 7);
  EXPECT_FALSE(join.node_rank.has_value());
}

TEST(ControlProtocol, ANodeAndAJobOfTheGreatestSizeFit) {
  auto join = std::get<Join>(one_of_each()[1]);
  join.local_world_size = kMaxWorkersPerNode;
  const auto largest = decode(encode(join));
  ASSERT_TRUE(largest.has_value()) << largest.error().text;
  EXPECT_EQ(std::get<Join>(*largest->message).local_world_size, 4096);
  ++join.local_world_size;
  EXPECT_FALSE(decode(encode(join)));
  Assign assign;
  assign.node_count = kMaxNodes;
  assign.world_size = kMaxNodes * kMaxWorkersPerNode;
  EXPECT_TRUE(decode(encode(assign)));
}

TEST(ControlProtocol, AnyPartOfAFrameNeedsMore) {
  const std::string frame = encode(Heartbeat{1, 2, 3});
  for (size_t size = 0; size < frame.size(); ++size) {
    const auto decoded = decode(std::string_view(frame).substr(0, size));
    ASSERT_TRUE(decoded.has_value());
    EXPECT_EQ(decoded->consumed, 0u);
  }
}

TEST(ControlProtocol, LengthsBeyondTheLimitAreRefusedByTheHeader) {
  const auto decoded = decode(std::string("\x00\x10\x00\x01", 4));
  ASSERT_FALSE(decoded.has_value());
  EXPECT_EQ(decoded.error().code, Code::kLimit);
}

TEST(ControlProtocol, NonsenseNamesTheField) {
  const auto problem = [](const std::string& json) {
    const auto decoded = decode(frame_of(json));
    return decoded ? "" : decoded.error().text;
  };
  EXPECT_EQ(problem(R"({"type":"ack","confirmed":0})"), "control message 'ack': sequence: missing");
  EXPECT_NE(problem(R"({"type":"stop","round":1,"grace_ms":-5})"), "");
  EXPECT_NE(problem(R"({"type":"stop","round":-1,"grace_ms":5})"), "");
  EXPECT_NE(problem(R"({"type":"nothing"})"), "");
  EXPECT_NE(problem(R"([1])"), "");
  EXPECT_NE(problem("{"), "");
}

// The next term, attempt or number would begin anew; an exit code that no process has would be told
// to all nodes, which could not read it.
TEST(ControlProtocol, NumbersThatHaveNoSuccessorAreRefused) {
  const auto taken = [](const Message& message) { return decode(encode(message)).has_value(); };
  const auto term = static_cast<uint64_t>(kMaxTerm);
  EXPECT_TRUE(taken(Hello{kControlVersion, "job", false, term, {}, {}}));
  EXPECT_FALSE(taken(Hello{kControlVersion, "job", false, term + 1, {}, {}}));
  EXPECT_GT(next_term(term, 0, UINT64_MAX), term);
  EXPECT_FALSE(taken(Ack{5, 1, false, 0, SizeRequest{UINT64_MAX, 0, 32}}));
  Failure record = failure();
  record.exit_code = 256;
  EXPECT_FALSE(taken(Failed{1, {record}}));
  record.exit_code = 0;
  record.signal = 128;
  EXPECT_FALSE(taken(Failed{1, {record}}));
}

TEST(ControlProtocol, NumbersWithTheirUsualValueAreLeftOut) {
  Heartbeat beat{.sequence = 3, .round = 2};
  EXPECT_EQ(encode(beat).find("step"), std::string::npos);
  EXPECT_EQ(std::get<Heartbeat>(*decode(encode(beat))->message).step, -1);
  beat.step = 0;  // the first one
  EXPECT_EQ(std::get<Heartbeat>(*decode(encode(beat))->message).step, 0);
  const auto decoded =
      decode(frame_of(R"({"type":"heartbeat","sequence":1,"round":0,"step":"first","echo_ms":0})"));
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().text, "control message 'heartbeat': step: not a number");
}

TEST(ControlProtocol, UnknownFieldsAreIgnored) {
  EXPECT_TRUE(decode(frame_of(R"({"type":"started","round":1,"later":[1]})")).has_value());
}

TEST(ControlProtocol, AMessageThatWouldBeTooLongGoesWithoutItsRoster) {
  Join join;
  const RosterEntry entry{{std::string(kMaxNameBytes, 'a'), 1, 1}, std::string(255, 'b'), 1};
  join.last_round.emplace().roster.assign(kMaxRoster, entry);
  const auto decoded = decode(encode(join));
  ASSERT_TRUE(decoded.has_value());
  EXPECT_TRUE(std::get<Join>(*decoded->message).last_round->roster.empty());
}

TEST(ControlProtocol, APartOfARosterFitsAFrameWhateverTheNamesAre) {
  const std::string worst(kMaxNameBytes, '\x01');
  RosterEntry entry{{worst, kMaxNodes - 1, UINT64_MAX}, worst, 65535};
  entry.note.assign(kMaxPeerNoteBytes, '\x01');
  const RosterPart part{1, 1, std::vector<RosterEntry>(kMaxRosterPart, entry)};
  Assign assign;
  assign.roster = part.nodes;
  assign.budget.last_failure.assign(kMaxTextBytes, '\x01');
  Assign longer = assign;
  longer.ended.assign(kMaxEndedRounds, {1, 1, std::vector<int>(kMaxNodes, kMaxNodes - 1)});
  EXPECT_EQ(encode(longer), encode(assign));
  for (const Message& message : {Message(part), Message(assign)}) {
    const std::string frame = encode(message);
    EXPECT_LE(frame.size(), kMaxFrameBytes);
    const auto decoded = decode(frame);
    ASSERT_TRUE(decoded.has_value());
    const std::string cleaned = encode(*decoded->message);  // nothing grew beyond its limit
    EXPECT_LE(cleaned.size(), kMaxFrameBytes);
    const auto again = decode(cleaned);
    ASSERT_TRUE(again.has_value());
    EXPECT_TRUE(encode(*again->message) == cleaned);
    const auto* parts = std::get_if<RosterPart>(&*again->message);
    EXPECT_TRUE(parts == nullptr || parts->nodes.size() == kMaxRosterPart);
  }
}

TEST(ControlProtocol, WhoSpeaksAnotherVersionIsUnderstoodSoFar) {
  const auto decode_text = [](const std::string& text) {
    std::string frame(kFrameHeaderBytes, '\0');
    frame.back() = static_cast<char>(text.size());
    return decode(frame + text);
  };
  const auto later = decode_text(R"({"type":"hello","version":2,"purpose":["?"]})");
  ASSERT_TRUE(later);
  EXPECT_EQ(std::get<Hello>(*later->message).version, 2);
  EXPECT_FALSE(decode_text(R"({"type":"hello","version":1})"));
  EXPECT_FALSE(decode_text(R"({"type":"hello","version":"2"})"));
  const auto refuse = decode_text(R"({"type":"refuse","code":0,"text":"we speak 2","last":[2]})");
  ASSERT_TRUE(refuse);
  EXPECT_EQ(std::get<Refuse>(*refuse->message).text, "we speak 2");
  EXPECT_FALSE(decode_text(R"({"type":"refuse","code":1,"text":"another job","last":[2]})"));
  EXPECT_FALSE(decode_text(R"({"type":"refuse","text":"no code"})"));
}

template <typename T>
T decoded_as(const std::string& json) {
  auto decoded = decode(frame_of(json));
  EXPECT_TRUE(decoded && decoded->message) << json;
  return std::get<T>(*decoded->message);
}

TEST(ControlProtocol, WordsOfOthersAreOneLineThatIsShown) {
  const auto refuse =
      decoded_as<Refuse>(R"({"type":"refuse","code":2,"leader":0,"last":{"term":0,"budget":{}},)"
                         R"("text":"\u001b[2Jgone\njob train: Running","leaders":"a\u202eb"})");
  EXPECT_EQ(refuse.text, "\\x1b[2Jgone\\njob train: Running");
  EXPECT_EQ(refuse.leaders, "a\\u202eb");
  const auto hello = decoded_as<Hello>(
      "{\"type\":\"hello\",\"version\":1,\"term\":0,\"agent\":0,\"run_id\":\"a\x7f\","
      "\"node\":\"n\u009b\",\"settings\":[{\"flag\":\"--x\\r\",\"value\":\"\\t\"}]}");
  EXPECT_EQ(hello.run_id, "a\\x7f");
  EXPECT_EQ(hello.node, "n\\x9b");
  EXPECT_EQ(hello.settings.at(0).flag, "--x\\r");
  EXPECT_EQ(hello.settings.at(0).value, "\\t");
}

TEST(ControlProtocol, CleanedWordsKeepTheirLimit) {
  const std::string longest(kMaxNameBytes, '\x7f');
  const auto hello = decoded_as<Hello>(
      R"({"type":"hello","version":1,"term":0,"agent":0,"node":")" + longest + "\"}");
  EXPECT_EQ(hello.node.size(), kMaxNameBytes);
  EXPECT_TRUE(hello.node.starts_with("\\x7f\\x7f"));
}

TEST(ControlProtocol, WhatAWorkerPrintedLastKeepsItsLines) {
  Failed failed{1, {failure()}};
  failed.failures[0].last_lines = "\ta\n\x1b[31mb";
  failed.failures[0].message = "m\nn\u009b";
  const auto decoded = decode(encode(failed));
  ASSERT_TRUE(decoded);
  const auto& told = std::get<Failed>(*decoded->message).failures.at(0);
  EXPECT_EQ(told.last_lines, "\ta\n\\x1b[31mb");
  EXPECT_EQ(told.message, "m\nn\\x9b");
}

TEST(ControlProtocol, WhichNodeIsNotFit) {
  Failed failed{1, {failure()}};
  EXPECT_EQ(encode(failed).find("unfit"), std::string::npos);
  failed.failures[0].unfit_node = 0;
  const auto decoded = decode(encode(failed));
  ASSERT_TRUE(decoded);
  EXPECT_EQ(std::get<Failed>(*decoded->message).failures.at(0).unfit_node, 0);
}

TEST(ControlProtocol, AStatusIsWrittenAnew) {
  const auto reply = decoded_as<StatusReply>(
      R"({"type":"status_reply","json":" {\"state\" : \"\\u001b]0;x\\u0007\"}\n"})");
  EXPECT_EQ(reply.json, R"({"state":"\\x1b]0;x\\x07"})");
  for (const char* no_json : {"\\u001b[2J{}", "{} and more", "[1,"}) {
    const auto decoded =
        decode(frame_of(R"({"type":"status_reply","json":")" + std::string(no_json) + "\"}"));
    EXPECT_FALSE(decoded) << no_json;
  }
}

}  // namespace
}  // namespace muster::rendezvous
