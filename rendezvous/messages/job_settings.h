// What the nodes of a job were told about the job, compared when they meet. A node that counts on
// another size or another lease would break what the others rely on, so it is refused; where only
// the leader decides, its value counts and the node is told so. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace muster::rendezvous {

struct JobOptions;
struct Hello;
struct Refuse;

/// More than there are flags that all nodes share.
inline constexpr size_t kMaxSettings = 32;
/// Of a value; a longer list of sizes is compared by its beginning.
inline constexpr size_t kMaxSettingBytes = 1024;

/// One flag and its effective value, both as the user writes them: "--nnodes", "1:3". What has its
/// default value is not sent: a Hello of a large job is short.
struct Setting {
  std::string flag;
  std::string value;
  std::string fallback = {};  ///< the default, not on the wire; "" = always sent
  /// Another value which is the same to a node that was not told the sizes, and so starts nothing
  /// itself. Not on the wire; "" = none.
  std::string alike = {};
  friend bool operator==(const Setting&, const Setting&) = default;
};

/// The first of all settings are sizes, lease, backend, framework, who starts the ranks and who may
/// lead: all nodes must agree on them, or two parts of the job could run at once or wait for each
/// other. Of those who may lead only the order is compared: a host may have several names.
inline constexpr size_t kBindingSettings = 9;
/// These and what only the leader decides: see JobOptions::leader_settings.
[[nodiscard]] std::vector<Setting> all_settings(const JobOptions& options);
/// Those of them that a Hello says. Never empty; a Hello without any says nothing of them.
[[nodiscard]] std::vector<Setting> told_settings(const JobOptions& options);

/// Why a node with this Hello has no place in the job: another version, run id or secret, or
/// binding settings that differ; none = it has. One line that reads the same on both ends. An
/// observer is asked for no settings. `ours`: all_settings(options), for who is asked often.
[[nodiscard]] std::optional<Refuse> refusal(const JobOptions& options,
                                            std::span<const Setting> ours, const Hello& hello);
[[nodiscard]] std::optional<Refuse> refusal(const JobOptions& options, const Hello& hello);

/// Which of its other settings do not count while this node leads: "node-2 has --max-restarts 3,
/// the leader --max-restarts 0: the leader's counts"; "" = none. `ours`: all_settings().
[[nodiscard]] std::string settings_notice(std::span<const Setting> ours, const Hello& hello);

}  // namespace muster::rendezvous
