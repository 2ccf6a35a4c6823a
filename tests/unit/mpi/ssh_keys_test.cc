#include "mpi/ssh_keys.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace muster::mpi {
namespace {

// ssh-keygen of OpenSSH 9.2p1: -t ed25519 -N '' -C muster; made for this test alone.
constexpr uint32_t kCheck = 0x57aec036;
constexpr const char* kSeed = "c1b9ba77327d726c6ee0fc0cafc654b483d00a98ac34ebaf40df3553d976786c";
constexpr const char* kPublic = "cafa55197bdc9362f7477b2aafe111161ba11882180ab65f9abd1ad12cfdd2c6";
constexpr const char* kPublicText =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIMr6VRl73JNi90d7Kq/hERYboRiCGAq2X5q9GtEs/dLG";
constexpr const char* kPrivateFile =
    "-----BEGIN OPENSSH PRIVATE KEY-----\n"
    "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gtZW\n"
    "QyNTUxOQAAACDK+lUZe9yTYvdHeyqv4REWG6EYghgKtl+avRrRLP3SxgAAAJBXrsA2V67A\n"
    "NgAAAAtzc2gtZWQyNTUxOQAAACDK+lUZe9yTYvdHeyqv4REWG6EYghgKtl+avRrRLP3Sxg\n"
    "AAAEDBubp3Mn1ybG7g/AyvxlS0g9AKmKw0669A3zVT2XZ4bMr6VRl73JNi90d7Kq/hERYb\n"
    "oRiCGAq2X5q9GtEs/dLGAAAABm11c3RlcgECAwQFBgc=\n"
    "-----END OPENSSH PRIVATE KEY-----\n";
// The same with -N secret.
constexpr const char* kProtectedFile =
    "-----BEGIN OPENSSH PRIVATE KEY-----\n"
    "b3BlbnNzaC1rZXktdjEAAAAACmFlczI1Ni1jdHIAAAAGYmNyeXB0AAAAGAAAABB494Q7v8\n"
    "z6JSwNGooaXFhRAAAAEAAAAAEAAAAzAAAAC3NzaC1lZDI1NTE5AAAAIOdZFiJ4mxOHw3KT\n"
    "yYyfzzrAkZHduMQPJ9BFvQ/89/0zAAAAkACz1sv6nKv3hDdYd3l0XNGj5nsQQkfU4OR0Yj\n"
    "dk/nMk+KedCiiPjPg7RulaVSY3CotS/MazCXWeemUhg8WaYvF5uirqPPrY5E/edz3Luwt1\n"
    "Yf6aQxAh/lKvmpLom+ox74Z0Lzw+/QfxrwnMhgleJplnW7skP5TY71faa36QQBDxV9keVj\n"
    "O+vHJHpU4MthIJBw==\n"
    "-----END OPENSSH PRIVATE KEY-----\n";
// ecdsa, 521 bits, as mpi-operator makes them.
constexpr const char* kEcdsaText =
    "ecdsa-sha2-nistp521 "
    "AAAAE2VjZHNhLXNoYTItbmlzdHA1MjEAAAAIbmlzdHA1MjEAAACFBACLzNHfn+NcZCH1zHfqeuDmZ2NCgjJrw586QNlc"
    "ToYcQ9h7tAwmUL0wpBYEDggxVtsHFJSrSCsBsq15+jimadBoLAHIljy+JjCFBTxn/XHt4G/oxexhXJtEBb3cLNUlEgfk"
    "ByIXLu5WWHhlKS7y0E/rewSj7qd21/hVXQfCbsZNbOxz2Q==";

unsigned char digit(char c) {
  return static_cast<unsigned char>(c <= '9' ? c - '0' : c - 'a' + 10);
}

std::array<unsigned char, 32> bytes_of(std::string_view hex) {
  std::array<unsigned char, 32> bytes{};
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<unsigned char>(digit(hex[2 * i]) * 16 + digit(hex[2 * i + 1]));
  return bytes;
}

std::string problem(const Result<SshPrivateKey>& checked) {
  return checked ? "accepted" : checked.error().text;
}

TEST(SshKeys, AFileIsByteForByteWhatSshKeygenWrites) {
  Ed25519KeyPair pair;
  pair.seed = bytes_of(kSeed);
  pair.public_key = bytes_of(kPublic);
  const SshKeyPair made = ssh_key_pair(pair, kCheck, "muster");
  EXPECT_EQ(made.private_file, kPrivateFile);
  EXPECT_EQ(made.public_key.text(), kPublicText);
}

TEST(SshKeys, ThePaddingFillsABlockWhateverTheCommentsLength) {
  for (const char* comment : {"", "a", "ab", "abc", "abcd", "abcde", "abcdef", "abcdefg"}) {
    const SshKeyPair made = ssh_key_pair(Ed25519KeyPair(), kCheck, comment);
    const auto checked = check_ssh_private_key(made.private_file);
    ASSERT_TRUE(checked) << comment;
    EXPECT_EQ(checked->public_key, made.public_key);
  }
}

TEST(SshKeys, APublicKeyIsTakenWithAndWithoutAComment) {
  for (const std::string& line : {std::string(kPublicText), std::string(kPublicText) + " muster\n",
                                  "  " + std::string(kPublicText) + "\tme@host and more"}) {
    const auto key = parse_ssh_public_key(line);
    ASSERT_TRUE(key) << line;
    EXPECT_EQ(key->type, "ssh-ed25519");
    EXPECT_EQ(key->text(), kPublicText);
  }
  const auto ecdsa = parse_ssh_public_key(kEcdsaText);
  ASSERT_TRUE(ecdsa);
  EXPECT_EQ(ecdsa->type, "ecdsa-sha2-nistp521");
}

TEST(SshKeys, WhatIsNoPublicKeyIsNotRepeated) {
  const auto text = [](std::string_view line) {
    const auto key = parse_ssh_public_key(line);
    return key ? "accepted" : key.error().text;
  };
  EXPECT_EQ(text(""), "it is no public key of SSH");
  EXPECT_EQ(text("correct horse battery"), "it is no public key of SSH");
  EXPECT_EQ(text("ssh-ed25519"), "it is no public key of SSH");
  EXPECT_EQ(text("ssh-ed25519 AAAA!"), "its public key is damaged");
  EXPECT_EQ(text("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5"), "its public key is damaged");
  EXPECT_EQ(text("ssh-rsa AAAAC3NzaC1lZDI1NTE5AAAAIMr6VRl73JNi90d7Kq/hERYboRiCGAq2X5q9GtEs/dLG"),
            "it says ssh-rsa and holds ssh-ed25519");
}

TEST(SshKeys, AuthorizedKeysAreTakenWithoutTheirOptions) {
  const std::string text = "# of the job\n\n" + std::string(kPublicText) + " me\n" +
                           "command=\"echo \\\"a b\\\"\",no-pty " + kEcdsaText + " you\r\n";
  const auto keys = parse_ssh_authorized_keys(text);
  ASSERT_TRUE(keys);
  ASSERT_EQ(keys->size(), 2U);
  EXPECT_EQ((*keys)[0].text(), kPublicText);
  EXPECT_EQ((*keys)[1].text(), kEcdsaText);
}

TEST(SshKeys, AuthorizedKeysNameTheLineThatIsWrong) {
  const auto text = [](const std::string& content) {
    const auto keys = parse_ssh_authorized_keys(content);
    return keys ? "accepted" : keys.error().text;
  };
  EXPECT_EQ(text(std::string(kPublicText) + "\nnonsense\n"), "line 2: it is no public key of SSH");
  EXPECT_EQ(text("# nothing\n"), "it holds no key");
  std::string many;
  for (size_t i = 0; i <= kMaxSshAuthorizedKeys; ++i) many += std::string(kPublicText) + "\n";
  EXPECT_EQ(text(many), "more than 1024 authorized keys");
}

TEST(SshKeys, AKeyWithAPassphraseIsRefusedInEveryFormat) {
  for (const char* file : {kProtectedFile, "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIIF\n",
                           "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: "
                           "AES-128-CBC,E4A3\n\n"}) {
    const auto checked = check_ssh_private_key(file);
    ASSERT_FALSE(checked);
    EXPECT_EQ(checked.error().code, Code::kConfig);
    EXPECT_TRUE(checked.error().text.starts_with("it is protected by a passphrase"));
  }
}

TEST(SshKeys, APrivateKeyTellsItsPublicPartWhereItIsInTheClear) {
  const auto own = check_ssh_private_key(kPrivateFile);
  ASSERT_TRUE(own);
  EXPECT_EQ(own->public_key->text(), kPublicText);
  std::string with_blanks = "\n  " + std::string(kPrivateFile);
  with_blanks.insert(with_blanks.find('\n', 3), "\r");
  EXPECT_TRUE(check_ssh_private_key(with_blanks));
  const auto pem =
      check_ssh_private_key("-----BEGIN EC PRIVATE KEY-----\nMHc\n-----END EC PRIVATE KEY-----\n");
  ASSERT_TRUE(pem);
  EXPECT_FALSE(pem->public_key);
}

TEST(SshKeys, WhatIsNoPrivateKeyIsSaidToBe) {
  EXPECT_EQ(problem(check_ssh_private_key(" \n")), "it is empty");
  EXPECT_EQ(problem(check_ssh_private_key(kPublicText)),
            "it is a public key; the private one belongs there");
  EXPECT_EQ(problem(check_ssh_private_key("hello")),
            "it holds no private key that OpenSSH reads (OpenSSH's own format or PEM)");
  const std::string file = kPrivateFile;
  EXPECT_EQ(problem(check_ssh_private_key(file.substr(0, file.size() / 2))),
            "its end is missing: it was cut off");
  EXPECT_EQ(problem(check_ssh_private_key("-----BEGIN EC PRIVATE KEY-----\nMHc\n")),
            "its end is missing: it was cut off");
  std::string damaged = file;
  damaged[40] = '*';
  EXPECT_EQ(problem(check_ssh_private_key(damaged)),
            "it holds no private key that OpenSSH reads (OpenSSH's own format or PEM)");
}

TEST(SshKeys, TheKeysOfEd25519ComeApartAndTogether) {
  const auto key = parse_ssh_public_key(kPublicText);
  ASSERT_TRUE(key);
  const auto bytes = ed25519_bytes(*key);
  ASSERT_TRUE(bytes);
  EXPECT_EQ(bytes->size(), 32U);
  EXPECT_EQ(ed25519_public_key(*bytes), *key);
  const auto ecdsa = parse_ssh_public_key(kEcdsaText);
  ASSERT_TRUE(ecdsa);
  EXPECT_FALSE(ed25519_bytes(*ecdsa));
}

TEST(SshKeys, EveryControllersFolderIsRead) {
  // mpi-operator and Trainer: a mounted Secret has links to a folder of the day.
  auto found =
      find_ssh_key_files({"..2026_11_22", "..data", "authorized_keys", "id_rsa", "id_rsa.pub"});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->private_key, "id_rsa");
  EXPECT_EQ(found->public_key, "id_rsa.pub");
  EXPECT_EQ(found->authorized_keys, "authorized_keys");
  // The same Secret without the names of files.
  found = find_ssh_key_files({"ssh-privatekey", "ssh-publickey"});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->private_key, "ssh-privatekey");
  EXPECT_EQ(found->public_key, "ssh-publickey");
  EXPECT_EQ(found->authorized_keys, "");
  // The best of several; Volcano's config is nothing here.
  found = find_ssh_key_files({"config", "id_ecdsa", "id_ed25519", "id_rsa", "id_rsa.pub"});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->private_key, "id_ed25519");
  EXPECT_EQ(found->public_key, "");
  const auto none = find_ssh_key_files({"id_rsa.pub", "known_hosts"});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().text,
            "no private key in it: looked for id_ed25519, id_ecdsa, id_rsa, ssh-privatekey");
}

}  // namespace
}  // namespace muster::mpi
