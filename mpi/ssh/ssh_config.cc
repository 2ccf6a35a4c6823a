#include "mpi/ssh/ssh_config.h"

#include <algorithm>
#include <cctype>
#include <map>

#include "base/check.h"
#include "base/text.h"

namespace muster::mpi {

namespace {

constexpr std::string_view kCardMark = "ssh2";
constexpr int kMaxPort = 65535;

// StrictModes: the folder is ours alone, but what is above it may be /tmp or a mounted volume,
// whose modes sshd would refuse. ClientAlive: a caller that is cut off is given up after a minute.
// MaxStartups and PerSourcePenalties are the business of a listening sshd; each of these serves one
// connection, and the agent counts them.
constexpr std::string_view kServerOptions =
    "StrictModes no\n"
    "AuthenticationMethods publickey\n"
    "PasswordAuthentication no\n"
    "KbdInteractiveAuthentication no\n"
    "DisableForwarding yes\n"
    "PermitTTY no\n"
    "PermitUserRC no\n"
    "PrintMotd no\n"
    "UseDNS no\n"
    "PidFile none\n"
    "LoginGraceTime 30\n"
    "ClientAliveInterval 15\n"
    "ClientAliveCountMax 4\n"
    "LogLevel ERROR\n";

// Nothing is asked, nothing is learned: a host key that is not in the file ends the call.
constexpr std::string_view kClientOptions =
    "  PreferredAuthentications publickey\n"
    "  IdentitiesOnly yes\n"
    "  IdentityAgent none\n"
    "  GlobalKnownHostsFile /dev/null\n"
    "  StrictHostKeyChecking yes\n"
    "  UpdateHostKeys no\n"
    "  CheckHostIP no\n"
    "  BatchMode yes\n"
    "  RequestTTY no\n"
    "  EscapeChar none\n"
    "  ClearAllForwardings yes\n"
    "  ControlPath none\n"
    "  ConnectTimeout 10\n"
    "  ConnectionAttempts 3\n"
    "  ServerAliveInterval 15\n"
    "  ServerAliveCountMax 4\n"
    "  LogLevel ERROR\n";

Error not_plain(std::string_view what, std::string_view text) {
  return {Code::kConfig, 0,
          std::string(what) + " " + quote_if_needed(text) +
              ": only letters, digits and ._-/+,@ can be written into the files of SSH"};
}

std::string line(std::string_view option, std::string_view value) {
  return std::string(option) + " " + std::string(value) + "\n";
}

std::string path(const std::string& folder, std::string_view name) {
  return folder + "/" + std::string(name);
}

std::string in_card(const std::string& key) {
  MUSTER_CHECK(is_ed25519_key(key));
  return " " + key.substr(kEd25519Begin.size());
}

// "" = none.
std::string key_of(std::string_view digits) {
  std::string key = std::string(kEd25519Begin) + std::string(digits);
  return is_ed25519_key(key) ? key : "";
}

}  // namespace

std::string write_ssh_card(const SshCard& card) {
  std::string text = std::string(kCardMark) + " " + std::to_string(card.port);
  text += in_card(card.host_key);
  if (!card.user_key.empty()) text += in_card(card.user_key);
  return text;
}

Result<SshCard> parse_ssh_card(std::string_view text) {
  const auto broken = [](std::string_view what) {
    return Error{Code::kProtocol, 0, "card of SSH: " + std::string(what)};
  };
  const auto words = split(text, ' ');
  if (words[0] != kCardMark || (words.size() != 3 && words.size() != 4))
    return broken("not of this version");
  SshCard card;
  const auto port = parse_integer(words[1]);
  if (!port || *port < 1 || *port > kMaxPort) return broken("no port");
  card.port = static_cast<int>(*port);
  card.host_key = key_of(words[2]);
  if (card.host_key.empty()) return broken("no host key");
  if (words.size() == 3) return card;
  card.user_key = key_of(words[3]);
  if (card.user_key.empty()) return broken("no user key");
  return card;
}

bool is_plain_for_ssh(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("._-/+,@").find(c) != std::string_view::npos;
  });
}

Result<std::string> sshd_config(const std::string& folder, const std::string& command,
                                const std::vector<std::pair<std::string, std::string>>& variables) {
  if (!is_plain_for_ssh(folder)) return not_plain("folder", folder);
  std::string text = line("HostKey", path(folder, kSshHostKeyFile)) +
                     line("AuthorizedKeysFile", path(folder, kSshAuthorizedKeysFile)) +
                     line("AllowUsers", kSshUser) + line("ForceCommand", command);
  text += kServerOptions;
  if (!variables.empty()) text += "SetEnv";
  for (const auto& [name, value] : variables) {
    // An address and its port are the only thing that is not plain otherwise.
    std::string without_colons = value;
    std::erase_if(without_colons, [](char c) { return c == ':' || c == '[' || c == ']'; });
    if (!is_plain_for_ssh(without_colons)) return not_plain(name, value);
    text += " " + name + "=" + value;
  }
  if (!variables.empty()) text += "\n";
  return text;
}

Result<std::string> ssh_config(const std::string& folder, const std::vector<SshPeer>& peers) {
  if (!is_plain_for_ssh(folder)) return not_plain("folder", folder);
  std::map<std::string_view, int> labels;
  for (const SshPeer& peer : peers) ++labels[first_label(peer.name)];
  std::string text;
  for (const SshPeer& peer : peers) {
    std::string address = peer.host;
    std::erase(address, ':');
    if (!is_plain_for_ssh(address)) return not_plain("address of a node", peer.host);
    // '@' and a leading '-' mean something to ssh in a host's name.
    if (!is_plain_for_ssh(peer.name) || peer.name.front() == '-' ||
        peer.name.find('@') != std::string::npos)
      return not_plain("name of a node", peer.name);
    std::string names = peer.name;
    const auto label = first_label(peer.name);
    if (label != peer.name && labels.at(label) == 1) names += " " + std::string(label);
    text += line("Host", names) + line("  HostName", peer.host) +
            line("  Port", std::to_string(peer.card.port)) +
            line("  HostKeyAlias", to_lower(peer.name));
  }
  text += line("Host", "*") + line("  User", kSshUser) +
          line("  IdentityFile", path(folder, kSshUserKeyFile)) +
          line("  UserKnownHostsFile", path(folder, kSshKnownHostsFile));
  text += kClientOptions;
  return text;
}

// Of two lines for one option, ssh takes the first.
Result<std::string> foreign_ssh_config(const std::string& folder, const std::string& user, int port,
                                       bool verified, Duration lease) {
  if (!is_plain_for_ssh(folder)) return not_plain("folder", folder);
  if (!is_plain_for_ssh(user)) return not_plain("user", user);
  std::string text = line("Host", "*") + line("  User", user) +
                     line("  Port", std::to_string(port)) +
                     line("  IdentityFile", path(folder, kSshUserKeyFile)) +
                     line("  UserKnownHostsFile",
                          verified ? path(folder, kSshKnownHostsFile) : std::string("/dev/null"));
  if (!verified) text += line("  StrictHostKeyChecking", "no");
  // It asks after a silence of the interval, and again until as many stayed without an answer.
  const auto interval = std::max<int64_t>(1, static_cast<int64_t>(to_seconds(lease)) / 4);
  text += line("  ServerAliveInterval", std::to_string(interval));
  text += line("  ServerAliveCountMax", "3");
  text += kClientOptions;
  return text;
}

std::string known_hosts(const std::vector<SshPeer>& peers) {
  std::string text;
  for (const SshPeer& peer : peers) text += line(to_lower(peer.name), peer.card.host_key);
  return text;
}

std::string authorized_keys(const std::vector<SshPeer>& peers, std::string_view mounted) {
  std::string text;
  for (const SshPeer& peer : peers) {
    if (!peer.card.user_key.empty()) text += peer.card.user_key + "\n";
  }
  return text + std::string(mounted);
}

}  // namespace muster::mpi
