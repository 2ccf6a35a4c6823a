#include "launcher/frameworks/mpi_ssh_keys.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>

#include "tests/support/fake_files.h"

namespace muster::launcher {
namespace {

using testing::FakeFiles;

const char* const kPem = "-----BEGIN EC PRIVATE KEY-----\nMHc\n-----END EC PRIVATE KEY-----";

mpi::SshKeyPair pair(unsigned char fill) {
  Ed25519KeyPair made;
  made.seed.fill(fill);
  made.public_key.fill(fill);
  return mpi::ssh_key_pair(made, 1, "");
}

std::string problem(const FakeFiles& files, const std::string& path = "/keys") {
  const auto keys = read_mounted_ssh_keys(files, path);
  return keys ? "accepted" : keys.error().text;
}

TEST(MountedSshKeys, AControllersFolder) {
  FakeFiles files;
  files.add_file("/keys/..data/id_rsa", kPem);
  files.add_link("/keys/id_rsa", "..data/id_rsa");
  files.add_file("/keys/id_rsa.pub", pair(1).public_key.text() + "\n");
  files.add_file("/keys/authorized_keys", pair(2).public_key.text() + "\n");
  const auto keys = read_mounted_ssh_keys(files, "/keys");
  ASSERT_TRUE(keys);
  EXPECT_EQ(keys->private_file, std::string(kPem) + "\n");
  ASSERT_EQ(keys->may_login.size(), 2U);
  EXPECT_EQ(keys->may_login[0], pair(1).public_key);
  EXPECT_EQ(keys->may_login[1], pair(2).public_key);
}

TEST(MountedSshKeys, APrivateKeyByItsPath) {
  FakeFiles files;
  files.add_file("/keys/mine", pair(1).private_file);
  auto keys = read_mounted_ssh_keys(files, "/keys/mine");
  ASSERT_TRUE(keys);
  ASSERT_EQ(keys->may_login.size(), 1U);
  EXPECT_EQ(keys->may_login[0], pair(1).public_key);
  files.add_file("/keys/mine", kPem);
  files.add_file("/keys/mine.pub", pair(2).public_key.text());
  keys = read_mounted_ssh_keys(files, "/keys/mine");
  ASSERT_TRUE(keys);
  EXPECT_EQ(keys->may_login.at(0), pair(2).public_key);
}

TEST(MountedSshKeys, EachProblemNamesItsFile) {
  FakeFiles files;
  EXPECT_EQ(problem(files), "--mpi-ssh-keys: open '/keys': No such file or directory");
  files.add_directory("/keys");
  EXPECT_EQ(
      problem(files),
      "--mpi-ssh-keys '/keys': no private key in it: looked for id_ed25519, id_ecdsa, id_rsa, "
      "ssh-privatekey");
  files.add_file("/keys/id_rsa", kPem);
  EXPECT_EQ(problem(files),
            "--mpi-ssh-keys: '/keys/id_rsa': its public part is not there (id_rsa.pub or "
            "authorized_keys); `ssh-keygen -y -f FILE` prints it");
  files.add_file("/keys/id_rsa.pub", kPem);
  EXPECT_EQ(problem(files), "--mpi-ssh-keys: '/keys/id_rsa.pub': it is no public key of SSH");
  files.add_file("/keys/id_rsa.pub", pair(1).public_key.text());
  files.add_file("/keys/authorized_keys", "ssh-rsa\n");
  EXPECT_EQ(problem(files),
            "--mpi-ssh-keys: '/keys/authorized_keys': line 1: it is no public key of SSH");
  files.add_file("/keys/id_rsa", "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMII\n");
  EXPECT_TRUE(problem(files).starts_with(
      "--mpi-ssh-keys: '/keys/id_rsa': it is protected by a passphrase"));
  files.add_file("/keys/id_rsa", std::string(mpi::kMaxSshKeyFileBytes + 1, 'x'));
  EXPECT_NE(problem(files), "accepted");
}

TEST(MountedSshKeys, AKeyThatMayNotBeReadSaysHowToMountIt) {
  FakeFiles files;
  files.add_file("/keys/id_rsa", kPem);
  files.fail_path("/keys/id_rsa", EACCES);
  const auto keys = read_mounted_ssh_keys(files, "/keys");
  ASSERT_FALSE(keys);
  EXPECT_EQ(keys.error().code, Code::kConfig);
  EXPECT_EQ(keys.error().text,
            "--mpi-ssh-keys: open '/keys/id_rsa': Permission denied; mount the Secret with "
            "`defaultMode: 0444`, or with 0440 and an fsGroup: this agent makes a copy for itself "
            "that nobody else can read");
}

}  // namespace
}  // namespace muster::launcher
