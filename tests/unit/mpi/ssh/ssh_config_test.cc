#include "mpi/ssh/ssh_config.h"

#include <gtest/gtest.h>

#include <string>

#include "mpi/ssh/ssh_account.h"

namespace muster::mpi {
namespace {

std::string key(char fill) {
  return std::string(kEd25519Begin) + std::string(kEd25519Digits, fill);
}

SshPeer peer(const std::string& name, const std::string& host, int port, char fill) {
  return {name, host, {port, key(fill)}};
}

TEST(SshCard, ThereAndBack) {
  for (const SshCard& card : {SshCard{1, key('a')}, SshCard{65535, key('a'), key('b')}}) {
    const std::string text = write_ssh_card(card);
    EXPECT_LE(text.size(), 98U);
    const auto read = parse_ssh_card(text);
    ASSERT_TRUE(read) << text;
    EXPECT_EQ(read->port, card.port);
    EXPECT_EQ(read->host_key, card.host_key);
    EXPECT_EQ(read->user_key, card.user_key);
  }
}

TEST(SshCard, WhatIsNoneIsRefused) {
  const std::string good = write_ssh_card({22, key('a'), key('b')});
  const auto problem = [](const std::string& text) {
    const auto card = parse_ssh_card(text);
    return card ? "accepted" : card.error().text;
  };
  EXPECT_EQ(problem(good), "accepted");
  EXPECT_EQ(problem(""), "card of SSH: not of this version");
  EXPECT_EQ(problem("ssh1" + good.substr(4)), "card of SSH: not of this version");
  EXPECT_EQ(problem(good + " more"), "card of SSH: not of this version");
  EXPECT_EQ(problem("ssh2 0" + good.substr(7)), "card of SSH: no port");
  EXPECT_EQ(problem("ssh2 65536" + good.substr(7)), "card of SSH: no port");
  EXPECT_EQ(problem("ssh2 22 AAAA"), "card of SSH: no host key");
  EXPECT_EQ(problem(good.substr(0, good.size() - 4)), "card of SSH: no user key");
}

TEST(SshConfig, NobodyButThePeersIsKnown) {
  const auto text = ssh_config("/run/x", {peer("Host-1.a.svc", "10.0.0.1", 2222, 'a'),
                                          peer("host-2", "fd00::2", 40000, 'b')});
  ASSERT_TRUE(text);
  EXPECT_TRUE(
      text->starts_with("Host Host-1.a.svc Host-1\n"
                        "  HostName 10.0.0.1\n"
                        "  Port 2222\n"
                        "  HostKeyAlias host-1.a.svc\n"
                        "Host host-2\n"
                        "  HostName fd00::2\n"
                        "  Port 40000\n"
                        "  HostKeyAlias host-2\n"
                        "Host *\n"
                        "  User muster\n"
                        "  IdentityFile /run/x/user_key\n"
                        "  UserKnownHostsFile /run/x/known_hosts\n"))
      << *text;
  for (const char* option :
       {"  StrictHostKeyChecking yes\n", "  BatchMode yes\n", "  UpdateHostKeys no\n",
        "  GlobalKnownHostsFile /dev/null\n", "  IdentitiesOnly yes\n"})
    EXPECT_NE(text->find(option), std::string::npos) << option;
}

TEST(SshConfig, AFirstLabelThatTwoHaveMeansNeither) {
  const auto text =
      ssh_config("/x", {peer("a.b", "10.0.0.1", 1, 'a'), peer("a.c", "10.0.0.2", 1, 'b')});
  ASSERT_TRUE(text);
  EXPECT_NE(text->find("Host a.b\n"), std::string::npos);
  EXPECT_NE(text->find("Host a.c\n"), std::string::npos);
}

TEST(SshConfig, ANameCannotAddALine) {
  for (const char* name :
       {"a\nProxyCommand sh", "a b", "", "*", "-oProxyCommand=sh", "me@there", "a\"b", "%h"}) {
    const auto text = ssh_config("/x", {peer(name, "10.0.0.1", 1, 'a')});
    ASSERT_FALSE(text) << name;
    EXPECT_EQ(text.error().code, Code::kConfig);
    EXPECT_TRUE(text.error().text.starts_with("name of a node ")) << text.error().text;
  }
  EXPECT_FALSE(ssh_config("/x", {peer("a", "10.0.0.1\nUser root", 1, 'a')}));
  EXPECT_FALSE(ssh_config("/x y", {}));
  EXPECT_FALSE(ssh_config("/x%h", {}));
}

TEST(SshConfig, TheServerRunsOneCommandForAll) {
  const auto text = sshd_config("/run/x", "exec /m rsh a -- \"$SSH_ORIGINAL_COMMAND\"",
                                {{"A", "127.0.0.1:29400"}, {"B", "/run/secret"}});
  ASSERT_TRUE(text);
  EXPECT_TRUE(
      text->starts_with("HostKey /run/x/host_key\n"
                        "AuthorizedKeysFile /run/x/authorized_keys\n"
                        "AllowUsers muster\n"
                        "ForceCommand exec /m rsh a -- \"$SSH_ORIGINAL_COMMAND\"\n"));
  EXPECT_TRUE(text->ends_with("SetEnv A=127.0.0.1:29400 B=/run/secret\n")) << *text;
  for (const char* option : {"PasswordAuthentication no\n", "KbdInteractiveAuthentication no\n",
                             "AuthenticationMethods publickey\n", "DisableForwarding yes\n"})
    EXPECT_NE(text->find(option), std::string::npos) << option;
  // OpenSSH before 9.8 does not start with it, and one without PAM complains of that.
  EXPECT_EQ(text->find("PerSourcePenalties"), std::string::npos);
  EXPECT_EQ(text->find("UsePAM"), std::string::npos);
  const auto spaced = sshd_config("/run/x", "c", {{"B", "/my secret"}});
  ASSERT_FALSE(spaced);
  EXPECT_EQ(
      spaced.error().text,
      "B \"/my secret\": only letters, digits and ._-/+,@ can be written into the files of SSH");
  EXPECT_FALSE(sshd_config("/run x", "c", {}));
}

TEST(SshConfig, KnownHostsHaveTheNamesThatTheConfigurationGives) {
  EXPECT_EQ(known_hosts({peer("Host-1", "10.0.0.1", 1, 'a'), peer("b", "10.0.0.2", 1, 'b')}),
            "host-1 " + key('a') + "\nb " + key('b') + "\n");
}

TEST(SshConfig, ThePeersKeysAndTheMountedOnesAreAuthorized) {
  const std::vector<SshPeer> peers = {{"a", "10.0.0.1", {1, key('a'), key('c')}},
                                      peer("b", "10.0.0.2", 1, 'b')};
  EXPECT_EQ(authorized_keys(peers, ""), key('c') + "\n");
  EXPECT_EQ(authorized_keys(peers, "no-pty ssh-rsa AAAA\n"), key('c') + "\nno-pty ssh-rsa AAAA\n");
}

TEST(SshAccount, TheLibraryIsASharedObjectThatNeedsNoOther) {
  const std::string_view library = ssh_account_library();
  ASSERT_TRUE(
      library.starts_with("\x7f"
                          "ELF"));
  for (const char* name : {"getpwuid", "getpwnam", "geteuid", "getuid"})
    EXPECT_NE(library.find(name), std::string_view::npos) << name;
  for (const char* other : {"libc.so", "GLIBC_"})
    EXPECT_EQ(library.find(other), std::string_view::npos) << other;
  EXPECT_LT(library.size(), 16U << 10);
}

TEST(ForeignSshConfig, AHostIsCalledByItsOwnNameAndCheckedUnlessSomebodySaidOtherwise) {
  const auto config = foreign_ssh_config("/x", "mpiuser", 2222, true, std::chrono::seconds(30));
  ASSERT_TRUE(config);
  EXPECT_TRUE(
      config->starts_with("Host *\n  User mpiuser\n  Port 2222\n  IdentityFile /x/user_key\n"
                          "  UserKnownHostsFile /x/known_hosts\n"))
      << *config;
  EXPECT_EQ(config->find("StrictHostKeyChecking no"), std::string::npos);
  const auto unverified = foreign_ssh_config("/x", "mpiuser", 22, false, std::chrono::seconds(2));
  ASSERT_TRUE(unverified);
  EXPECT_LT(unverified->find("StrictHostKeyChecking no"),
            unverified->find("StrictHostKeyChecking yes"));
  EXPECT_NE(unverified->find("UserKnownHostsFile /dev/null\n"), std::string::npos);
  // Of two lines for one option ssh takes the first.
  EXPECT_LT(config->find("ServerAliveInterval 7\n"), config->find("ServerAliveInterval 15\n"));
  EXPECT_NE(unverified->find("ServerAliveInterval 1\n"), std::string::npos);
  EXPECT_FALSE(foreign_ssh_config("/x y", "mpiuser", 22, true, {}));
  EXPECT_FALSE(foreign_ssh_config("/x", "a b", 22, true, {}));
}

}  // namespace
}  // namespace muster::mpi
