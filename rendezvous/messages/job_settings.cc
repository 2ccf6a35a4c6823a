#include "rendezvous/messages/job_settings.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "base/text.h"
#include "rendezvous/messages/control_messages.h"
#include "rendezvous/messages/job_options.h"

namespace muster::rendezvous {

namespace {

// Exact, as it is compared.
std::string text_of(Duration duration) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
  constexpr int kSecond = 1000;
  return ms % kSecond == 0 ? fmt::format("{}s", ms / kSecond) : fmt::format("{}ms", ms);
}

// Both sides' words about what they see differently; empty = nothing.
struct Difference {
  std::vector<std::string> theirs;
  std::vector<std::string> ours;
};

// What a node that was not told the sizes leaves out.
constexpr std::string_view kSizes = "--nnodes";
constexpr std::string_view kSpares = "--spares";
constexpr std::string_view kLease = "--lease";
// Which of the two is no difference: agents that elect through etcd meet nobody else.
constexpr std::string_view kStatic = "static";
constexpr std::string_view kElected = "c10d or etcd";
bool is_size(const Setting& setting) {
  return setting.flag.starts_with(kSizes) || setting.flag == kSpares;
}

constexpr std::string_view kLeaders = "--rdzv-endpoint";
bool is_own_host(std::string_view endpoint) {
  return endpoint.starts_with("localhost:") || endpoint.starts_with("127.0.0.1:") ||
         endpoint.starts_with("[::1]:");
}
// One of them has another place in the other list.
bool is_reordered(std::string_view ours, std::string_view theirs) {
  const auto first = split(ours, ','), second = split(theirs, ',');
  for (size_t i = 0; i < first.size(); ++i) {
    const auto found = std::ranges::find(second, first[i]);
    if (found != second.end() && !is_own_host(first[i]) &&
        found - second.begin() != static_cast<ptrdiff_t>(i))
      return true;
  }
  return false;
}

Difference difference(std::span<const Setting> ours, std::span<const Setting> theirs) {
  Difference difference;
  if (theirs.empty()) return difference;
  const bool sizes_told = std::ranges::find(theirs, kSizes, &Setting::flag) != theirs.end();
  for (const Setting& setting : ours) {
    if (is_size(setting) && !sizes_told) continue;
    const auto told = std::ranges::find(theirs, setting.flag, &Setting::flag);
    const std::string& value = told == theirs.end() ? setting.fallback : told->value;
    if (value == setting.value) continue;
    if (setting.flag == kLeaders && !is_reordered(setting.value, value)) continue;
    if (!sizes_told && !setting.alike.empty() && value == setting.alike) continue;
    difference.theirs.push_back(setting.flag + " " + value);
    difference.ours.push_back(setting.flag + " " + setting.value);
  }
  return difference;
}

std::string who(const Hello& hello) { return hello.node.empty() ? "who asks" : hello.node; }

Refuse refuse(RefuseCode code, std::string text) { return {code, std::move(text), {}, {}}; }

}  // namespace

std::vector<Setting> all_settings(const JobOptions& options) {
  const JobOptions defaults;
  // As the user writes them: without the launcher's node.
  const int apart = options.rule.has_apart() ? 1 : 0;
  std::vector<std::string> sizes;
  for (const int size : options.allowed_nodes) sizes.push_back(std::to_string(size - apart));
  const std::string range =
      options.min_nodes == options.max_nodes
          ? std::to_string(options.max_nodes - apart)
          : fmt::format("{}:{}", options.min_nodes - apart, options.max_nodes - apart);
  const std::string allowed = sizes.empty() ? "any" : join(sizes, ",");
  std::vector<std::string> leaders;
  for (size_t bytes = 0; const std::string& leader : options.leaders) {
    if ((bytes += leader.size() + 1) > kMaxSettingBytes) break;
    leaders.push_back(leader);
  }
  const std::array<Setting, kBindingSettings> binding = {{
      {"--nnodes", range},
      {"--nnodes-step", std::to_string(options.nodes_step), "1"},
      {"--nnodes-allowed", std::string(clip_utf8(allowed, kMaxSettingBytes)), "any"},
      {std::string(kSpares), std::to_string(options.spares), std::to_string(defaults.spares)},
      {"--rdzv-backend", std::string(options.known_nodes ? kStatic : kElected),
       std::string(kElected)},
      {"--framework", options.framework, defaults.framework},
      options.start,
      {std::string(kLease), text_of(options.lease), text_of(defaults.lease)},
      {std::string(kLeaders), join(leaders, ",")},
  }};
  std::vector<Setting> all(binding.begin(), binding.end());
  all.insert(all.end(),
             {{"--replace-wait", text_of(options.replace_wait), text_of(defaults.replace_wait)},
              {"last_call_timeout", text_of(options.last_call), text_of(defaults.last_call)},
              {"join_timeout", text_of(options.join_timeout), text_of(defaults.join_timeout)}});
  all.insert(all.end(), options.leader_settings.begin(), options.leader_settings.end());
  if (all.size() > kMaxSettings) all.resize(kMaxSettings);
  // As the others will read them.
  for (Setting& setting : all) setting.value = clip_utf8(one_line(setting.value), kMaxSettingBytes);
  return all;
}

std::vector<Setting> told_settings(const JobOptions& options) {
  std::vector<Setting> told = all_settings(options);
  std::erase_if(told, [&options](const Setting& setting) {
    // Something must be told, or nothing would be compared.
    if (!options.sizes_known && setting.flag == kLease) return false;
    return setting.value == setting.fallback || (!options.sizes_known && is_size(setting));
  });
  return told;
}

std::optional<Refuse> refusal(const JobOptions& options, const Hello& hello) {
  return refusal(options, all_settings(options), hello);
}

std::optional<Refuse> refusal(const JobOptions& options, std::span<const Setting> ours,
                              const Hello& hello) {
  if (hello.version != kControlVersion) {
    return refuse(RefuseCode::kVersion,
                  fmt::format("{} speaks version {} of the control protocol, the job at this "
                              "endpoint version {}: the nodes run different versions of muster",
                              who(hello), hello.version, kControlVersion));
  }
  if (hello.run_id != options.run_id) {
    return refuse(RefuseCode::kRunId,
                  fmt::format("{} has the run id '{}', the job at this endpoint '{}'", who(hello),
                              hello.run_id, options.run_id));
  }
  if (hello.secured != options.secured) {
    return refuse(RefuseCode::kSecret,
                  fmt::format("{} has {} job secret, the job at this endpoint has {}", who(hello),
                              hello.secured ? "a" : "no", options.secured ? "one" : "none"));
  }
  const Difference found = difference(ours.first(kBindingSettings), hello.settings);
  if (found.ours.empty() || hello.purpose == Purpose::kObserver) return std::nullopt;
  return refuse(RefuseCode::kSettings,
                fmt::format("{} has {}, the job at this endpoint {}", who(hello),
                            join(found.theirs, " "), join(found.ours, " ")));
}

std::string settings_notice(std::span<const Setting> ours, const Hello& hello) {
  const Difference found = difference(ours, hello.settings);
  if (found.ours.empty()) return "";
  return fmt::format("{} has {}, the leader {}: the leader's count", who(hello),
                     join(found.theirs, " "), join(found.ours, " "));
}

}  // namespace muster::rendezvous
