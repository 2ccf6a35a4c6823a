#include "nccl/capture/redaction.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <vector>

#include "base/text.h"
#include "nccl/capture/capture.h"
#include "nccl/machine/amd_uuid.h"
#include "nccl/machine/kernel_state.h"

namespace muster::nccl {
namespace {

constexpr std::string_view kNoHalf = "0000:0000:0000:0001";

// Lines for which `wanted` is true, each with its end.
std::string lines_if(std::string_view text, const auto& wanted) {
  std::string kept;
  for (const std::string_view line : split(text, '\n')) {
    if (!line.empty() && wanted(line)) kept.append(line).append("\n");
  }
  return kept;
}

std::string keep_status(std::string_view text) {
  return lines_if(text, [](std::string_view line) {
    constexpr std::array<std::string_view, 7> kKeys = {"Uid:",
                                                       "Gid:",
                                                       "Cap",
                                                       "NoNewPrivs:",
                                                       "Seccomp:",
                                                       "Cpus_allowed_list:",
                                                       "Mems_allowed_list:"};
    return std::ranges::any_of(kKeys, [line](auto key) { return line.starts_with(key); });
  });
}

// A command line may hold addresses, passwords and keys of disks.
std::string keep_boot_words(std::string_view text) {
  std::vector<std::string> words;
  for (const std::string_view word : words_of(text)) {
    if (word.starts_with("iommu") || word.starts_with("intel_iommu=") ||
        word.starts_with("amd_iommu="))
      words.emplace_back(word);
  }
  return join(words, " ") + "\n";
}

// Tags that clouds give to all machines of theirs; others may be numbers of one machine.
std::string keep_asset_tag(std::string_view text) {
  constexpr std::array<std::string_view, 3> kKnown = {
      "OracleCloud.com", "7783-7084-3265-9085-8269-3286-77", "Amazon EC2"};
  const bool is_known = std::ranges::find(kKnown, trim(text)) != kKnown.end();
  return is_known ? std::string(text) : "";
}

std::string keep_sockets(std::string_view text) {
  return lines_if(
      text, [](std::string_view line) { return !listening_ports(line, mesh_ports()).empty(); });
}

// "fe80000000000000a288c2fffe3b506a 02 40 20 80 eth0".
std::string keep_inet6(std::string_view text) {
  constexpr size_t kHalf = 16;
  std::string kept;
  for (const std::string_view line : split(text, '\n')) {
    if (line.size() < 2 * kHalf) continue;
    std::string one(line);
    const std::string_view low = line.substr(kHalf, kHalf);
    if (line.starts_with("fe8") || low.substr(6, 4) == "fffe")
      one.replace(kHalf, kHalf, "0000000000000001");
    kept += one + "\n";
  }
  return kept;
}

bool is_word_of_a_uuid(std::string_view text) {
  return text.starts_with("GPU-") || text.starts_with("MIG-");
}

// systemd.net-naming-scheme(7) and rdma-core's rdma_rename: a prefix, "x", and a MAC address or a
// GUID. Where the digits of such a name begin.
std::optional<size_t> digits_of_name(std::string_view word) {
  constexpr std::array<std::string_view, 9> kPrefixes = {"enx", "ibx",   "slx",  "wlx", "wwx",
                                                         "iwx", "rocex", "opax", "unkx"};
  constexpr size_t kMacDigits = 12;
  constexpr size_t kGuidDigits = 16;
  for (const std::string_view prefix : kPrefixes) {
    if (!word.starts_with(prefix)) continue;
    const std::string_view digits = word.substr(prefix.size());
    const bool is_hex = digits.find_first_not_of("0123456789abcdef") == std::string_view::npos;
    const bool is_long = digits.size() == kMacDigits || digits.size() == kGuidDigits;
    if (is_hex && is_long) return prefix.size();
  }
  return std::nullopt;
}

bool is_of_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

std::string nvidia_name(size_t number) {
  return fmt::format("GPU-{:08}-0000-0000-0000-000000000000", number);
}

// In the form of what it stands for: AMD's has no dashes inside.
std::string gpu_name(std::string_view uuid, size_t number) {
  const bool is_amd = uuid.rfind('-') == uuid.find('-');
  return is_amd ? amd_uuid(std::to_string(number)) : nvidia_name(number);
}

}  // namespace

std::string keep_gid(std::string_view gid, bool is_infiniband) {
  constexpr size_t kGroups = 8;
  const auto groups = split(trim(gid), ':');
  if (groups.size() != kGroups) return std::string(gid);
  const std::string head(gid.substr(0, 19));
  const bool is_empty = std::ranges::all_of(groups, [](auto group) { return group == "0000"; });
  const bool is_ipv4 = head == "0000:0000:0000:0000" && groups[5] == "ffff";
  const bool is_made_of_mac = groups[5].ends_with("ff") && groups[6].starts_with("fe");
  if (is_empty || is_ipv4) return std::string(gid);
  if (!is_infiniband && !head.starts_with("fe80") && !is_made_of_mac) return std::string(gid);
  return head + ":" + std::string(kNoHalf) + "\n";
}

std::string keep_address(std::string_view address) {
  if (address.find(':') == std::string_view::npos) return std::string(address);
  if (to_lower(address).starts_with("fe80")) return "fe80::1";
  // ...:a288:c2ff:fe3b:506a
  const auto groups = split(address, ':');
  const size_t count = groups.size();
  const bool is_made_of_mac =
      count >= 4 && groups[count - 3].ends_with("ff") && groups[count - 2].starts_with("fe");
  if (!is_made_of_mac) return std::string(address);
  std::string kept;
  for (size_t i = 0; i + 4 < count; ++i) kept.append(groups[i]).append(":");
  return kept + (kept.ends_with("::") ? "1" : ":1");
}

std::string keep_mounts(std::string_view mountinfo) {
  std::string kept;
  for (const std::string_view line : split(mountinfo, '\n')) {
    const size_t separator = line.find(" - ");
    if (separator == std::string_view::npos) continue;
    const auto before = split(line.substr(0, separator), ' ');
    const auto after = split(line.substr(separator + 3), ' ');
    if (before.size() < 5 || after.empty()) continue;
    if (before[4] == "/dev/shm" || after[0] == "cgroup" || after[0] == "cgroup2") {
      kept.append(line).append("\n");
    } else if (before[4] == "/") {
      // Its options name folders of the host.
      kept += fmt::format("{} {} {} / / rw - {} {} rw\n", before[0], before[1], before[2], after[0],
                          after[0]);
    }
  }
  return kept;
}

std::string keep_settings(std::string_view text) {
  return lines_if(text, [](std::string_view line) {
    return !line.starts_with('#') && is_captured_variable(trim(line.substr(0, line.find('='))));
  });
}

size_t Redactor::number_of(std::string_view secret) {
  return numbers_.try_emplace(std::string(secret), numbers_.size() + 1).first->second;
}

std::string Redactor::keep_interfaces(std::string_view text) {
  std::string kept;
  size_t begin = 0;
  while (begin < text.size()) {
    size_t end = begin;
    while (end < text.size() && is_of_word(text[end])) ++end;
    const std::string_view word = text.substr(begin, end - begin);
    if (const auto digits = digits_of_name(word)) {
      kept += fmt::format("{}{:0{}}", word.substr(0, *digits), number_of(word.substr(*digits)),
                          word.size() - *digits);
    } else {
      kept += word;
    }
    if (end < text.size()) kept += text[end];
    begin = end + 1;
  }
  return kept;
}

std::string Redactor::keep_gpu(std::string_view information) {
  std::string kept;
  for (const std::string_view line : split(information, '\n')) {
    const size_t colon = line.find(':');
    const std::string_view key = line.substr(0, colon);
    if (colon == std::string_view::npos || key == "Video BIOS") continue;
    if (key != "GPU UUID") {
      kept.append(line).append("\n");
      continue;
    }
    const std::string_view uuid = trim(line.substr(colon + 1));
    const bool is_known = uuid.find('?') == std::string_view::npos;
    kept += fmt::format("GPU UUID: \t {}\n",
                        is_known ? nvidia_name(number_of(uuid)) : std::string(uuid));
  }
  return kept;
}

std::string Redactor::keep_kfd(std::string_view properties) {
  std::string kept;
  for (const std::string_view line : split(properties, '\n')) {
    const auto words = words_of(line);
    if (words.size() != 2) continue;
    const bool is_secret = (words[0] == "unique_id" || words[0] == "hive_id") && words[1] != "0";
    const std::string uuid = words[0] == "unique_id" ? amd_uuid(words[1]) : "";
    kept += is_secret ? fmt::format("{} {}\n", words[0], number_of(uuid.empty() ? words[1] : uuid))
                      : std::string(line) + "\n";
  }
  return kept;
}

std::string Redactor::keep(std::string_view path, std::string_view text, bool is_infiniband) {
  const std::string_view name = base_name(path);
  if (name == "sys_image_guid" || name == "node_guid")
    return fmt::format("0000:0000:0000:{:04x}\n", number_of(trim(text)) & 0xffff);
  if (path.find("/gids/") != std::string_view::npos) return keep_gid(text, is_infiniband);
  if (name == "information") return keep_gpu(text);
  if (name == "properties") return keep_kfd(text);
  if (name == "chassis_asset_tag") return keep_asset_tag(text);
  if (path == "/proc/self/status") return keep_status(text);
  if (path == "/proc/self/mountinfo") return keep_mounts(text);
  if (path == "/proc/cmdline") return keep_boot_words(text);
  if (path == "/proc/net/if_inet6") return keep_inet6(text);
  if (path == "/proc/net/tcp" || path == "/proc/net/tcp6") return keep_sockets(text);
  return std::string(text);
}

std::string Redactor::keep_value(std::string_view name, std::string_view value) const {
  // Their presence tells of the mesh; what they hold is its own business.
  if (name.starts_with("ISTIO_") || name.starts_with("LINKERD")) return "1";
  if (!name.ends_with("_VISIBLE_DEVICES")) return std::string(value);
  std::vector<std::string> words;
  for (const std::string_view word : split(value, ',')) {
    const auto found = numbers_.lower_bound(word);  // a beginning of the UUID is enough
    const bool is_known = found != numbers_.end() && found->first.starts_with(word);
    if (!is_word_of_a_uuid(word)) {
      words.emplace_back(word);
    } else {
      words.push_back(is_known ? gpu_name(found->first, found->second) : nvidia_name(0));
    }
  }
  return join(words, ",");
}

}  // namespace muster::nccl
