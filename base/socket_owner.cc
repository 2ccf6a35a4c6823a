#include "base/socket_owner.h"

#include <arpa/inet.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "base/socket_diag.h"
#include "base/text.h"

namespace muster {

namespace {

// As the kernel prints an address: every 32-bit word of it in the machine's own byte order, in
// hexadecimal capitals, then the port.
std::string kernel_text(const Address& address) {
  std::array<uint32_t, 4> words{};
  const bool v6 = address.host.find(':') != std::string::npos;
  if (inet_pton(v6 ? AF_INET6 : AF_INET, address.host.c_str(), words.data()) != 1) return "";
  std::string text;
  std::array<char, 16> hex{};
  for (size_t i = 0; i < (v6 ? 4U : 1U); ++i) {
    (void)std::snprintf(hex.data(), hex.size(), "%08X", words[i]);  // cannot be cut
    text += hex.data();
  }
  (void)std::snprintf(hex.data(), hex.size(), ":%04X", address.port);
  return text + hex.data();
}

std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> fields;
  for (const std::string_view field : split(line, ' ')) {
    if (!field.empty()) fields.push_back(field);
  }
  return fields;
}

}  // namespace

std::optional<uid_t> find_socket_owner(std::string_view table, const Address& own,
                                       const Address& peer) {
  // "  sl  local_address rem_address   st tx_queue:rx_queue tr:tm->when retrnsmt   uid ..."
  constexpr size_t kLocal = 1;
  constexpr size_t kRemote = 2;
  constexpr size_t kUid = 7;
  constexpr size_t kInode = 9;
  const std::string local = kernel_text(own);
  const std::string remote = kernel_text(peer);
  if (local.empty() || remote.empty()) return std::nullopt;
  for (const std::string_view line : split(table, '\n')) {
    if (line.find(local) == std::string_view::npos) continue;
    const auto fields = fields_of(line);
    if (fields.size() <= kInode || fields[kLocal] != local || fields[kRemote] != remote) continue;
    // A socket that was closed belongs to nobody, and the kernel writes uid 0: that is not root.
    if (fields[kInode] == "0") return std::nullopt;
    if (const auto uid = parse_integer(fields[kUid]); uid && *uid >= 0 && *uid <= UINT32_MAX)
      return static_cast<uid_t>(*uid);
  }
  return std::nullopt;
}

Result<uid_t> owner_of_peer(const Files& files, const Address& ours, const Address& theirs) {
  // Without inet_diag the kernel says the same as for a socket that is not there: then the table.
  if (const auto asked = ask_socket_owner(theirs, ours); asked && *asked) return **asked;
  const bool v6 = theirs.host.find(':') != std::string::npos;
  const char* const path = v6 ? "/proc/net/tcp6" : "/proc/net/tcp";
  auto table = files.read(path, kMaxSocketTableBytes);
  if (!table) return std::move(table).error();
  if (const auto owner = find_socket_owner(*table, theirs, ours)) return *owner;
  return Error{Code::kPeer, 0, theirs.to_string() + " is no socket of this machine"};
}

}  // namespace muster
