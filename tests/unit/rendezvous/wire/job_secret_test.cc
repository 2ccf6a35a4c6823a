#include "rendezvous/wire/job_secret.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "tests/support/fake_files.h"

namespace muster::rendezvous {
namespace {

constexpr char kPath[] = "/run/secrets/job";
constexpr std::string_view kSecret = "0123456789abcdef0123456789abcdef";

class JobSecretTest : public ::testing::Test {
 protected:
  JobSecretTest() { environment_.set(kJobSecretFileVariable, kPath); }

  TlsKey key_of(std::string_view content) {
    files_.add_file(kPath, content);
    auto key = read_job_secret(environment_, files_);
    EXPECT_TRUE(key && *key) << (key ? "" : key.error().text);
    return key && *key ? **key : TlsKey();
  }
  std::string problem() {
    auto key = read_job_secret(environment_, files_);
    EXPECT_FALSE(key);
    if (key) return "";
    EXPECT_EQ(key.error().code, Code::kConfig);
    return key.error().text;
  }

  Environment environment_;
  testing::FakeFiles files_;
};

TEST_F(JobSecretTest, NoneWhenTheVariableIsNotSet) {
  environment_.unset(kJobSecretFileVariable);
  auto key = read_job_secret(environment_, files_);
  ASSERT_TRUE(key);
  EXPECT_FALSE(key->has_value());
  EXPECT_EQ(files_.calls(), 0U);
}

TEST_F(JobSecretTest, ConnectionsAreProtectedWithItOrNotAtAll) {
  files_.add_file(kPath, kSecret);
  const auto tls = tls_from_secret(environment_, files_);
  ASSERT_TRUE(tls);
  EXPECT_NE(*tls, nullptr);
  files_.add_file(kPath, "short");
  const auto refused = tls_from_secret(environment_, files_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kConfig);
  environment_.unset(kJobSecretFileVariable);
  const auto open = tls_from_secret(environment_, files_);
  ASSERT_TRUE(open);
  EXPECT_EQ(*open, nullptr);
}

TEST_F(JobSecretTest, OneNewlineAtTheEndDoesNotCount) {
  const auto key = key_of(kSecret);
  EXPECT_EQ(key_of(std::string(kSecret) + "\n").bytes, key.bytes);
  EXPECT_NE(key_of(std::string(kSecret) + "\n\n").bytes, key.bytes);
}

TEST_F(JobSecretTest, ArbitraryBytesAreASecretToo) {
  EXPECT_NE(key_of(std::string(16, '\0')).bytes, key_of(std::string(17, '\0')).bytes);
}

TEST_F(JobSecretTest, AnEmptyVariableDoesNotSwitchProtectionOff) {
  environment_.set(kJobSecretFileVariable, "");
  EXPECT_EQ(problem(), "MUSTER_JOB_SECRET_FILE: set, but names no file");
}

TEST_F(JobSecretTest, AMissingFileIsNamed) {
  EXPECT_EQ(problem(),
            "MUSTER_JOB_SECRET_FILE: open '/run/secrets/job': No such file or directory");
}

TEST_F(JobSecretTest, AnUnreadableFileIsNamed) {
  files_.add_file(kPath, kSecret);
  files_.fail_path(kPath, EACCES);
  EXPECT_EQ(problem(), "MUSTER_JOB_SECRET_FILE: open '/run/secrets/job': Permission denied");
}

TEST_F(JobSecretTest, AnEmptyFileIsRefused) {
  for (const auto* content : {"", "\n"}) {
    files_.add_file(kPath, content);
    EXPECT_EQ(problem(), "MUSTER_JOB_SECRET_FILE: '/run/secrets/job' is empty");
  }
}

TEST_F(JobSecretTest, AShortSecretIsRefusedAndNotShown) {
  files_.add_file(kPath, "fifteen bytes..\n");
  EXPECT_EQ(problem(),
            "MUSTER_JOB_SECRET_FILE: '/run/secrets/job' holds 15 bytes, at least 16 are needed");
}

TEST_F(JobSecretTest, AFileThatIsTooLongIsRefused) {
  files_.add_file(kPath, std::string(kMaxJobSecretBytes + 1, 'x'));
  const auto text = problem();
  EXPECT_NE(text.find("4096"), std::string::npos) << text;
}

}  // namespace
}  // namespace muster::rendezvous
