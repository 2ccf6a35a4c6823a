// What is asked of ssh-keygen, and what is made of its answers. A fake process in its place, which
// says nothing; real runs of it are in the integration tests.
#include "mpi/ssh/ssh_keyring.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <optional>
#include <string>

#include "mpi/ssh/ssh_config.h"
#include "mpi/ssh/ssh_keys.h"
#include "tests/support/fake_clock.h"
#include "tests/support/fake_files.h"
#include "tests/support/fake_process_host.h"

namespace muster::mpi {
namespace {

const char* const kPem = "-----BEGIN EC PRIVATE KEY-----\nMHc\n-----END EC PRIVATE KEY-----";

class SshKeyringTest : public ::testing::Test {
 protected:
  SshKeyringTest() {
    auto folder = TemporaryFolder::create(::testing::TempDir() + "muster-keyring-" +
                                          std::to_string(getpid()));
    EXPECT_TRUE(folder);
    folder_.emplace(std::move(*folder));
    keyring_ = std::make_unique<SshKeyring>(SshKeyringSetup{.loop = *loop_,
                                                            .processes = processes_,
                                                            .files = files_,
                                                            .folder = *folder_,
                                                            .program = "/usr/bin/ssh-keygen",
                                                            .environment = {}});
  }

  void begin(bool with_host_key) {
    keyring_->begin(with_host_key, [this](const Status& status) {
      answer_ = status ? "good" : status.error().text;
    });
    idle();
  }
  // Answers the ssh-keygen that runs.
  void end(const ExitStatus& status) {
    ASSERT_EQ(processes_.alive().size(), 1U);
    const pid_t pid = processes_.alive().begin()->first;
    processes_.end(pid, status);
    EXPECT_TRUE(keyring_->process_exited(*processes_.reap()));
    idle();
  }
  void idle() { ASSERT_TRUE(loop_->run_until_idle()); }
  // As the ssh-keygen leaves it.
  void put_public(std::string_view file, char fill) {
    files_.add_file(folder_->path() + "/" + std::string(file) + ".pub", key(fill) + " muster\n");
  }
  static std::string key(char fill) {
    return std::string(kEd25519Begin) + std::string(kEd25519Digits, fill);
  }
  std::string mount_problem(const std::string& path) {
    const Status mounted = keyring_->mount(path);
    return mounted ? "good" : mounted.error().text;
  }

  testing::FakeClock clock_;
  std::unique_ptr<Loop> loop_ = std::move(*Loop::create(clock_));
  testing::FakeProcessHost processes_;
  testing::FakeFiles files_;
  std::optional<TemporaryFolder> folder_;
  std::unique_ptr<SshKeyring> keyring_;
  std::string answer_;
};

TEST_F(SshKeyringTest, BothKeysAreMadeOneAfterTheOther) {
  put_public(kSshHostKeyFile, 'h');
  put_public(kSshUserKeyFile, 'u');
  begin(true);
  end({});
  EXPECT_EQ(answer_, "");
  end({});
  EXPECT_EQ(answer_, "good");
  EXPECT_EQ(keyring_->host_key(), key('h'));
  EXPECT_EQ(keyring_->made_user_key(), key('u'));
  EXPECT_EQ(keyring_->mounted_keys(), "");
  ASSERT_EQ(processes_.spawned.size(), 2U);
  EXPECT_EQ(processes_.spawned[0].arguments.back(), folder_->path() + "/host_key");
  EXPECT_EQ(processes_.spawned[1].arguments.back(), folder_->path() + "/user_key");
}

TEST_F(SshKeyringTest, AMountedKeyIsCopiedAndChecked) {
  files_.add_file("/keys/..data/id_rsa", kPem);
  files_.add_link("/keys/id_rsa", "..data/id_rsa");
  files_.add_file("/keys/authorized_keys", "restrict " + key('m') + "\n");
  EXPECT_EQ(mount_problem("/keys"), "good");
  EXPECT_EQ(RealFiles().read(folder_->path() + "/user_key").value(), std::string(kPem) + "\n");
  begin(false);
  ASSERT_EQ(processes_.spawned.size(), 1U);
  EXPECT_EQ(processes_.spawned[0].arguments[1], "-y");
  end({});  // without a word
  EXPECT_EQ(answer_, "--mpi-ssh-keys: '/keys/id_rsa': ssh-keygen says: it has given no public key");
}

TEST_F(SshKeyringTest, AKeyThatIsNoneEndsIt) {
  files_.add_file("/keys/mine", kPem);
  EXPECT_EQ(mount_problem("/keys/mine"), "good");
  put_public(kSshHostKeyFile, 'h');
  begin(true);
  end({});
  end({.code = 255});
  EXPECT_EQ(answer_, "--mpi-ssh-keys: '/keys/mine': ssh-keygen says: exit code 255");
}

TEST_F(SshKeyringTest, AnSshKeygenThatCannotStartOrHangs) {
  processes_.fail_next_spawn = ENOEXEC;
  begin(true);
  EXPECT_EQ(answer_, "exec '/usr/bin/ssh-keygen': Exec format error");
  begin(true);
  clock_.advance(kSshKeygenDeadline);
  idle();
  ASSERT_EQ(processes_.sent.size(), 1U);
  EXPECT_EQ(processes_.sent[0].signal, SIGKILL);
  end({.signal = SIGKILL});
  EXPECT_EQ(answer_, "ssh-keygen cannot make a key: SIGKILL");
}

TEST_F(SshKeyringTest, WhoeverStopsItHearsNothing) {
  begin(true);
  keyring_->stop();
  EXPECT_EQ(processes_.sent.size(), 1U);
  EXPECT_FALSE(keyring_->process_exited({.pid = processes_.alive().begin()->first, .status = {}}));
  idle();
  EXPECT_EQ(answer_, "");
}

TEST_F(SshKeyringTest, EachProblemNamesItsFile) {
  EXPECT_EQ(mount_problem("/keys"), "--mpi-ssh-keys: open '/keys': No such file or directory");
  files_.add_directory("/keys");
  EXPECT_EQ(
      mount_problem("/keys"),
      "--mpi-ssh-keys '/keys': no private key in it: looked for id_ed25519, id_ecdsa, id_rsa, "
      "ssh-privatekey");
  files_.add_file("/keys/id_rsa", std::string(kMaxSshKeyFileBytes + 1, 'x'));
  EXPECT_NE(mount_problem("/keys"), "good");
  files_.fail_path("/keys/id_rsa", EACCES);
  const Status refused = keyring_->mount("/keys");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kConfig);
  EXPECT_EQ(refused.error().text,
            "--mpi-ssh-keys: open '/keys/id_rsa': Permission denied; mount the Secret with "
            "`defaultMode: 0444`, or with 0440 and an fsGroup: this agent makes a copy for itself "
            "that nobody else can read");
}

}  // namespace
}  // namespace muster::mpi
