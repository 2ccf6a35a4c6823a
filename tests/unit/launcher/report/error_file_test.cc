// Error files of torch's @record, as two versions of it wrote them, and what becomes of bad ones.
#include "launcher/report/error_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "tests/support/fake_files.h"

namespace muster::launcher {
namespace {

using elastic::ErrorFile;
using nlohmann::json;

constexpr const char* kPath = "/logs/1/error.json";
constexpr const char* kReply = "/reply.json";

std::string fixture(const std::string& name) {
  return RealFiles().read(std::string(MUSTER_TEST_DATA) + "/error_files/" + name).value();
}

int64_t seconds_of(const ErrorFile& file) {
  return file.written.value().time_since_epoch() / std::chrono::seconds(1);
}

elastic::FailureRecord killed() {
  elastic::FailureRecord record;
  record.status.signal = SIGKILL;
  record.reason = "SIGKILL (killed from outside)";
  record.noticed_wall = WallTime(std::chrono::milliseconds(1'795'000'000'900));
  return record;
}

class RecordedErrorFile : public ::testing::TestWithParam<const char*> {
 protected:
  ErrorFile parsed(const std::string& name) {
    return parse_error_file(kPath, fixture(std::string(GetParam()) + "/" + name));
  }
};

TEST_P(RecordedErrorFile, GivesMessageTracebackAndTime) {
  const ErrorFile file = parsed("value_error.json");
  EXPECT_EQ(file.problem, "");
  EXPECT_EQ(file.path, kPath);
  EXPECT_EQ(file.message,
            "ValueError: no shard at /data/shard-0003: gr\xc3\xb6\xc3\x9f"
            "e = 0 \xe2\x9c\x93");
  EXPECT_TRUE(file.traceback.starts_with("Traceback (most recent call last):\n"));
  EXPECT_TRUE(file.traceback.ends_with(file.message + "\n"));
  EXPECT_NEAR(static_cast<double>(seconds_of(file)), 1'795'273'000, 1000);
  EXPECT_EQ(file.written.value(), std::chrono::floor<std::chrono::seconds>(*file.written));
}

TEST_P(RecordedErrorFile, KeepsSeveralLinesAndChainedExceptions) {
  const ErrorFile file = parsed("chained.json");
  EXPECT_EQ(file.message, "RuntimeError: bad configuration\nsecond line of the message");
  EXPECT_NE(file.traceback.find("direct cause of the following exception"), std::string::npos);
}

TEST_P(RecordedErrorFile, TakesAnExceptionWithoutText) {
  EXPECT_EQ(parsed("empty_message.json").message, "AssertionError: ");
}

TEST_P(RecordedErrorFile, ReplacesThePartsOfFileNamesThatAreNoText) {
  // Python writes lone surrogates for them, which JSON parsers refuse.
  const ErrorFile file = parsed("surrogate.json");
  EXPECT_EQ(file.problem, "");
  EXPECT_EQ(file.message, "OSError: cannot open /data/\xef\xbf\xbd\xef\xbf\xbd");
}

INSTANTIATE_TEST_SUITE_P(Torch, RecordedErrorFile, ::testing::Values("1.13", "2.13"),
                         [](const auto& version) {
                           return version.param[0] == '1' ? std::string("V1_13")
                                                          : std::string("V2_13");
                         });

TEST(ParseErrorFile, TakesThePlainForm) {
  const ErrorFile file = parse_error_file(kPath, R"({"message": "boom", "timestamp": 1795272747})");
  EXPECT_EQ(file.message, "boom");
  EXPECT_EQ(file.traceback, "");
  EXPECT_EQ(seconds_of(file), 1'795'272'747);
  EXPECT_EQ(parse_error_file(kPath, R"({"message": "boom"})").written, std::nullopt);
}

TEST(ParseErrorFile, TakesAFractionOfASecond) {
  const ErrorFile file = parse_error_file(kPath, R"({"message": "x", "timestamp": "100.25"})");
  EXPECT_EQ(file.written.value().time_since_epoch(), std::chrono::milliseconds(100'250));
}

TEST(ParseErrorFile, IgnoresTimesThatAreNone) {
  for (const char* time : {"0", "-5", "1e300", "\"soon\"", "null", "[]", "\"\"", "9300000000"}) {
    const std::string text = std::string(R"({"message": "x", "timestamp": )") + time + "}";
    const ErrorFile file = parse_error_file(kPath, text);
    EXPECT_EQ(file.problem, "") << time;
    EXPECT_EQ(file.written, std::nullopt) << time;
  }
}

TEST(ParseErrorFile, KeepsPairsOfSurrogatesAndEscapedBackslashes) {
  EXPECT_EQ(parse_error_file(kPath, R"({"message": "\ud83d\udd25"})").message, "\xf0\x9f\x94\xa5");
  EXPECT_EQ(parse_error_file(kPath, R"({"message": "\\udcff \\\\"})").message, "\\udcff \\\\");
  EXPECT_EQ(parse_error_file(kPath, R"({"message": "\ud83d\ud83d\udd25"})").message,
            "\xef\xbf\xbd\xf0\x9f\x94\xa5");
  EXPECT_EQ(parse_error_file(kPath, R"({"message": "\uD83Dx"})").message, "\xef\xbf\xbdx");
}

TEST(ParseErrorFile, SaysWhatIsWrongWithABadFile) {
  EXPECT_EQ(parse_error_file(kPath, "").problem, "it is empty");
  EXPECT_EQ(parse_error_file(kPath, "{\"message\": {\"mess").problem, "not valid JSON");
  EXPECT_EQ(parse_error_file(kPath, "\xff\xfe garbage").problem, "not valid JSON");
  EXPECT_NE(parse_error_file(kPath, std::string(100, '[')).problem, "");
  for (const char* text : {"[]", "7", "null", "{}", R"({"message": 7})", R"({"message": {}})",
                           R"({"message": {"message": ["x"]}})"}) {
    const ErrorFile file = parse_error_file(kPath, text);
    EXPECT_EQ(file.problem, "it has no message") << text;
    EXPECT_EQ(file.path, kPath);
  }
}

TEST(ParseErrorFile, KeepsTheEndOfALongTracebackAndTheStartOfALongMessage) {
  const std::string filler(kMaxErrorTextBytes, 'x');
  const json document = {{"message",
                          {{"message", "Head" + filler},
                           {"extraInfo", {{"py_callstack", "\xc3\xb6" + filler + "ValueError"}}}}}};
  const ErrorFile file = parse_error_file(kPath, dump_json(document));
  EXPECT_EQ(file.message.size(), kMaxErrorTextBytes);
  EXPECT_TRUE(file.message.starts_with("Head"));
  EXPECT_EQ(file.traceback.size(), kMaxErrorTextBytes);
  EXPECT_TRUE(file.traceback.ends_with("ValueError"));
}

TEST(ReadErrorFile, IsNoneWithoutAFile) {
  const muster::testing::FakeFiles files;
  EXPECT_EQ(read_error_file(files, kPath), std::nullopt);
}

TEST(ReadErrorFile, UnreadableFileIsANote) {
  muster::testing::FakeFiles files;
  files.fail_path(kPath, EACCES);
  const auto file = read_error_file(files, kPath);
  ASSERT_TRUE(file);
  EXPECT_NE(file->problem.find("Permission denied"), std::string::npos) << file->problem;
}

TEST(ReadErrorFile, TooLargeAFileIsANote) {
  muster::testing::FakeFiles files;
  files.add_file(kPath, std::string(kMaxErrorFileBytes + 1, ' '));
  const auto file = read_error_file(files, kPath);
  ASSERT_TRUE(file);
  EXPECT_NE(file->problem, "");
}

class ReplyFileTest : public ::testing::Test {
 protected:
  // The reply to a first failure whose error file holds `original` ("" = it has none).
  json reply_to(elastic::FailureRecord first, const std::string& original) {
    if (!original.empty()) {
      files_.add_file(kPath, original);
      first.error_file = read_error_file(files_, kPath);
    }
    EXPECT_TRUE(write_reply_file(files_, kReply, first));
    return parse_json(files_.content(kReply)).value();
  }
  muster::testing::FakeFiles files_;
};

TEST_F(ReplyFileTest, IsWhatTorchrunWrites) {
  elastic::FailureRecord first;
  first.status.code = 1;
  EXPECT_EQ(reply_to(first, fixture("2.13/value_error.json")),
            parse_json(fixture("2.13/value_error.reply.json")).value());
}

TEST_F(ReplyFileTest, ReplacesWhatWasThere) {
  files_.add_file(kReply, std::string(5000, 'x'));
  EXPECT_EQ(reply_to(killed(), "")["message"]["errorCode"], -SIGKILL);
}

TEST_F(ReplyFileTest, KeepsWhatItDoesNotKnow) {
  const json reply = reply_to(
      killed(), R"({"message": {"message": "m", "extraInfo": {"gpu": 3}}, "errorTraits": [1]})");
  EXPECT_EQ(reply["message"]["extraInfo"]["gpu"], 3);
  EXPECT_EQ(reply["errorTraits"], json::array({1}));
  EXPECT_EQ(reply["message"]["errorCode"], -SIGKILL);
}

TEST_F(ReplyFileTest, LeavesThePlainFormUnchanged) {
  const std::string plain = R"({"message": "boom", "timestamp": 1795272747})";
  EXPECT_EQ(reply_to(killed(), plain), parse_json(plain).value());
}

TEST_F(ReplyFileTest, TellsASignalDeathInTheSameForm) {
  const json reply = reply_to(killed(), "");
  const json expected = {
      {"message",
       {{"message", "SIGKILL (killed from outside)"},
        {"extraInfo",
         {{"py_callstack", "SIGKILL (killed from outside)"}, {"timestamp", "1795000000"}}},
        {"errorCode", -SIGKILL}}}};
  EXPECT_EQ(reply, expected);
  const ErrorFile read_back = parse_error_file(kReply, files_.content(kReply));
  EXPECT_EQ(read_back.message, "SIGKILL (killed from outside)");
}

TEST_F(ReplyFileTest, PutsTheLastLinesWhereATracebackWouldBe) {
  elastic::FailureRecord first = killed();
  first.last_lines = {"step 12", "bus error \xff"};
  EXPECT_EQ(reply_to(first, "")["message"]["extraInfo"]["py_callstack"],
            "step 12\nbus error \xef\xbf\xbd");
}

TEST_F(ReplyFileTest, UsesOurWordsWhenTheErrorFileIsGarbageOrGone) {
  EXPECT_EQ(reply_to(killed(), "{garbage")["message"]["message"], "SIGKILL (killed from outside)");
  elastic::FailureRecord first = killed();
  first.error_file.emplace().path = "/gone.json";
  EXPECT_EQ(reply_to(first, "")["message"]["message"], "SIGKILL (killed from outside)");
}

TEST_F(ReplyFileTest, TellsAnErrorOfTheAgentItself) {
  const WallTime now{std::chrono::seconds(1'795'000'001)};
  ASSERT_TRUE(write_reply_file(files_, kReply, Error{Code::kPeer, 0, "no leader"}, 69, now));
  const json reply = parse_json(files_.content(kReply)).value();
  EXPECT_EQ(reply["message"]["message"], "no leader");
  EXPECT_EQ(reply["message"]["extraInfo"]["timestamp"], "1795000001");
  EXPECT_EQ(reply["message"]["errorCode"], 69);
}

TEST(ReadErrorFile, APipeByItsNameIsNotWaitedFor) {
  char folder[] = "/tmp/muster_error_file_test_XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string path = std::string(folder) + "/error.json";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const auto file = read_error_file(RealFiles(), path);
  std::filesystem::remove_all(folder);
  ASSERT_TRUE(file.has_value());
  EXPECT_EQ(file->problem, "it is no regular file");
}

// In a folder that all may write to, somebody else's file under the name of ours is no report.
TEST(ReadErrorFile, AForgedOneIsIgnoredAndToldOf) {
  // Only root can give files away; for everybody else the file stays their own.
  const bool is_root = geteuid() == 0;
  const uid_t stranger = is_root ? 12345 : geteuid();
  const std::string complaint = is_root ? "it belongs to uid 12345, not to 0" : "";
  char folder[] = "/tmp/muster_error_file_test_XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  ASSERT_EQ(chmod(folder, 01777), 0);
  const std::string path = std::string(folder) + "/error.json";
  RealFiles files;
  ASSERT_TRUE(files.write(path, R"({"message": "forged", "timestamp": 1795272747})"));
  ASSERT_EQ(chown(path.c_str(), stranger, getegid()), 0);
  const auto forged = read_error_file(files, path);
  // A file server that gives all files one owner gives it to the folder, too.
  ASSERT_EQ(chown(folder, stranger, getegid()), 0);
  const auto still_shared = read_error_file(files, path);
  ASSERT_EQ(chmod(folder, 0755), 0);
  const auto squashed = read_error_file(files, path);
  std::filesystem::remove_all(folder);
  ASSERT_TRUE(forged.has_value() && still_shared.has_value() && squashed.has_value());
  EXPECT_EQ(forged->problem, complaint);
  EXPECT_EQ(still_shared->problem, complaint);
  EXPECT_EQ(squashed->message, "forged");
}

TEST_F(ReplyFileTest, FailureToWriteIsReturned) {
  files_.fail_path(kReply, ENOSPC);
  const auto written = write_reply_file(files_, kReply, killed());
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().os_errno, ENOSPC);
}

TEST(ParseErrorFile, HoldsNothingThatATerminalObeys) {
  const auto file = parse_error_file(
      "/e",
      R"({"message":{"message":"a\u001b[2J\nb","extraInfo":{"py_callstack":"\tc\u009b\u202e"}}})");
  EXPECT_EQ(file.message, "a\\x1b[2J\nb");
  EXPECT_EQ(file.traceback, "\tc\\x9b\\u202e");
}

TEST_F(ReplyFileTest, HoldsNothingThatATerminalObeys) {
  elastic::FailureRecord first;
  first.status.code = 1;
  first.reason = "exit code 1";
  first.last_lines = {"a\x1b[2J"};
  EXPECT_EQ(reply_to(first, "")["message"]["extraInfo"]["py_callstack"], "a\\x1b[2J");
  const json reply = reply_to(first, R"({"message":{"message":"m\u009b","own\u001b":["\u202e"]}})");
  EXPECT_EQ(reply["message"]["message"], "m\\x9b");
  EXPECT_EQ(reply["message"]["own\\x1b"][0], "\\u202e");
}

}  // namespace
}  // namespace muster::launcher
