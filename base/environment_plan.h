// EnvironmentPlan: what a process that we start gets as its environment, and why. Whoever has a say
// adds the variables it wants, with a reason, to its layer; one merge decides. `muster env` prints
// the decisions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/environment.h"

namespace muster {

/// Who has a say about a variable, the weakest first. Two of one layer: the later one counts.
enum class EnvironmentLayer {
  kDefault,    ///< what suits most jobs
  kFabric,     ///< the network and the devices that were found
  kMpi,        ///< what launchers and ranks of an MPI need
  kFramework,  ///< what the framework of the job reads
  kContract,   ///< what the controller of the pod says
  kAgent,      ///< what agents need to find and to protect what is theirs
  kUser,       ///< the environment of the pod
};

/// "framework".
[[nodiscard]] std::string_view to_string(EnvironmentLayer layer);

/// How a variable stands against the user's own setting.
enum class Claim {
  kYields,     ///< the user's setting stays
  kOverrides,  ///< the user's setting is replaced, as that of a rank
};

/// How sure whoever plans a variable is of its value.
enum class Confidence {
  kCertain,
  kAssumed,  ///< concluded from what usually goes together, or as if a node had the place it says
  kAtStart,  ///< decided when the job starts; the value means nothing
};
/// "certain", "assumed", "at start".
[[nodiscard]] std::string_view to_string(Confidence confidence);

/// One variable that somebody wants, or does not want.
struct PlannedVariable {
  std::string name;
  /// None: the process must not have it, whatever the user says.
  std::optional<std::string> value;
  std::string reason;  ///< one clause: "workers of the job"
  std::string source;  ///< who says so: a flag, a file, the documentation or the test that found it
  /// A variable that excludes this one: if the user has set it, this one is left out.
  std::string rival = {};
  Claim claim = Claim::kYields;
  Confidence confidence = Confidence::kCertain;
};

/// What became of one variable.
struct VariableDecision {
  enum class Action {
    kSet,    ///< it is `value`
    kKeep,   ///< the user's `value` stands against another one of ours
    kUnset,  ///< it is taken away; `value` is empty, for it may be a secret
  };
  std::string name;
  Action action = Action::kSet;
  std::string value;
  EnvironmentLayer layer = EnvironmentLayer::kUser;  ///< whose word counts
  std::string reason;
  std::string source;
  Confidence confidence = Confidence::kCertain;
};

/// "set", "keep", "unset".
[[nodiscard]] std::string_view to_string(VariableDecision::Action action);

struct PlannedEnvironment {
  Environment environment;
  std::vector<VariableDecision> decisions;  ///< by name; what changes nothing is left out
};

class EnvironmentPlan {
 public:
  void add(EnvironmentLayer layer, PlannedVariable variable);
  void add(EnvironmentLayer layer, std::vector<PlannedVariable> variables);
  /// All that `other` has, after what is here.
  void add(const EnvironmentPlan& other);

  /// `user` with the variables of all layers. For each name the strongest layer that overrides or
  /// takes away counts, else the user, else the strongest layer. O(n log n).
  [[nodiscard]] PlannedEnvironment merge(const Environment& user) const;

 private:
  std::vector<std::pair<EnvironmentLayer, PlannedVariable>> variables_;
};

/// The names whose value of the user gives way to another one, or to none, for the log.
[[nodiscard]] std::vector<std::string> replaced_names(
    const std::vector<VariableDecision>& decisions, const Environment& user);
/// The names that the user has set against ours, for the log.
[[nodiscard]] std::vector<std::string> kept_names(const std::vector<VariableDecision>& decisions);

}  // namespace muster
