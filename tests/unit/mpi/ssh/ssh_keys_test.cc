#include "mpi/ssh/ssh_keys.h"

#include <gtest/gtest.h>

#include <string>

namespace muster::mpi {
namespace {

const std::string kKey =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIMr6VRl73JNi90d7Kq/hERYboRiCGAq2X5q9GtEs/dLG";

TEST(SshPublicKey, IsALineWithoutItsComment) {
  EXPECT_EQ(public_key_of(kKey + " somebody@somewhere else\n"), kKey);
  EXPECT_EQ(public_key_of(kKey), kKey);
  EXPECT_EQ(public_key_of("ssh-rsa AAAAB3NzaC1yc2EAAAADAQAB=="),
            "ssh-rsa AAAAB3NzaC1yc2EAAAADAQAB==");
  for (const char* none : {"", "ssh-ed25519", "ssh-ed25519 AAA", "ssh-ed25519 AAAA!", "a line"})
    EXPECT_EQ(public_key_of(none), std::nullopt) << none;
}

TEST(SshPublicKey, OfEd25519HasOneLengthAndOneBeginning) {
  EXPECT_TRUE(is_ed25519_key(kKey));
  EXPECT_FALSE(is_ed25519_key(kKey + "A"));
  EXPECT_FALSE(is_ed25519_key(kKey.substr(0, kKey.size() - 1)));
  EXPECT_FALSE(is_ed25519_key(kKey.substr(0, kKey.size() - 1) + "\n"));
  EXPECT_FALSE(is_ed25519_key("ssh-rsa AAAAB3NzaC1yc2EAAAADAQAB=="));
  EXPECT_FALSE(is_ed25519_key(""));
}

TEST(SshKeyFiles, AreFoundAsControllersMountThem) {
  auto found = find_ssh_key_files({"id_rsa", "id_rsa.pub", "authorized_keys", "config"});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->private_key, "id_rsa");
  EXPECT_EQ(found->authorized_keys, "authorized_keys");
  found = find_ssh_key_files({"ssh-privatekey", "ssh-publickey"});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->private_key, "ssh-privatekey");
  EXPECT_EQ(found->authorized_keys, "");
  found = find_ssh_key_files({"config", "id_ecdsa", "id_ed25519", "id_rsa", "id_rsa.pub"});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->private_key, "id_ed25519");
  found = find_ssh_key_files({"id_rsa.pub"});
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, Code::kConfig);
  EXPECT_EQ(found.error().text,
            "no private key in it: looked for id_ed25519, id_ecdsa, id_rsa, ssh-privatekey");
}

}  // namespace
}  // namespace muster::mpi
