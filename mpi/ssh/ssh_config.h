// What the SSH programs of a job are told: the configuration of sshd and of ssh, known_hosts,
// authorized_keys, and what the nodes tell each other for that. Pure; who writes the files and
// starts the programs: launcher/frameworks/mpi/mpi_ssh.h. Every option here is in OpenSSH 8.7 and
// later; tried on 9.2p1, 10.0p2 and 10.5p1.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "mpi/ssh/ssh_keys.h"

namespace muster::mpi {

/// The only login name there is: ssh_account.h gives it to whatever uid the agent has.
inline constexpr std::string_view kSshUser = "muster";

/// What a node tells the others of its SSH server.
struct SshCard {
  int port = 0;               ///< 1..65535
  std::string host_key;       ///< of Ed25519 (is_ed25519_key()), as all that are made here
  std::string user_key = {};  ///< by which it logs in; "" = one that all have mounted
};
/// "ssh2 PORT HOST_KEY [USER_KEY]", each key without what all of Ed25519 begin with. At most 98
/// bytes: every node gets the cards of all.
[[nodiscard]] std::string write_ssh_card(const SshCard& card);
/// kProtocol: anything else.
Result<SshCard> parse_ssh_card(std::string_view text);

/// A node that can be called.
struct SshPeer {
  std::string name;  ///< as in the hostfile
  std::string host;  ///< numeric
  SshCard card;
};

/// Names of the files in the folder that both configurations speak of.
inline constexpr std::string_view kSshHostKeyFile = "host_key";
inline constexpr std::string_view kSshUserKeyFile = "user_key";
inline constexpr std::string_view kSshAuthorizedKeysFile = "authorized_keys";
inline constexpr std::string_view kSshKnownHostsFile = "known_hosts";
inline constexpr std::string_view kSshClientConfigFile = "ssh_config";
inline constexpr std::string_view kSshServerConfigFile = "sshd_config";

/// Letters, digits and "._-/+,@": neither ssh, nor sshd, nor a shell sees anything else in it.
[[nodiscard]] bool is_plain_for_ssh(std::string_view text);

/// For `sshd -i`. Every login runs `command`, which finds what was asked for in
/// SSH_ORIGINAL_COMMAND, with `variables` and little else. kConfig: the folder or a variable holds
/// characters that are not plain.
Result<std::string> sshd_config(const std::string& folder, const std::string& command,
                                const std::vector<std::pair<std::string, std::string>>& variables);

/// For `ssh -F`: each peer by its name, and by its first label where no other has the same, with
/// address and port; nobody else is known. kConfig: a name, an address or the folder is not plain.
Result<std::string> ssh_config(const std::string& folder, const std::vector<SshPeer>& peers);

/// For `ssh -F` where the servers are not ours: any host, by the name that it has, as `user` at
/// `port`. `verified`: by the host keys in known_hosts, else by none. A server that is silent for
/// `lease` (seconds, no less than 4) is lost. kConfig as ssh_config().
Result<std::string> foreign_ssh_config(const std::string& folder, const std::string& user, int port,
                                       bool verified, Duration lease);

/// The host keys under the names that ssh_config() gives them.
[[nodiscard]] std::string known_hosts(const std::vector<SshPeer>& peers);

/// The keys that the peers log in with, and `mounted`, lines of a file, as it is.
[[nodiscard]] std::string authorized_keys(const std::vector<SshPeer>& peers,
                                          std::string_view mounted);

}  // namespace muster::mpi
