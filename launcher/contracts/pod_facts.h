// PodFacts: what the readers of contracts look at, and the questions that most of them ask. Only a
// plain decimal is a number: Kubernetes sets NAME_PORT=tcp://10.0.0.1:80 for its Services.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/environment.h"
#include "base/files.h"
#include "launcher/options/contract_names.h"

namespace muster::launcher {

/// All borrowed.
struct PodFacts {
  const Environment& environment;
  const Files& files;
  std::string host_name;       ///< as gethostname() says
  std::string framework = {};  ///< of --framework, or what the program means; "" = nobody says it
  std::string_view wanted = kAutoContract;  ///< of --contract; read_contract() fills it in
};

/// The own name as /etc/hosts has it, in full where it does ("pi-worker-0.pi.default.svc").
[[nodiscard]] std::string own_full_name(const PodFacts& pod);
/// `full` with another first label: "pi-launcher.pi.default.svc".
[[nodiscard]] std::string sibling_of(std::string_view full, std::string_view label);

/// 0 … 999,999,999 in digits and nothing else; none: anything else.
[[nodiscard]] std::optional<int> plain_number(std::string_view text);
/// The variable's value; "" = not set.
[[nodiscard]] std::string text_of(const PodFacts& pod, std::string_view name);
/// Its value as a number of 0 … 999,999,999; none: not set, or anything else.
[[nodiscard]] std::optional<int> number_of(const PodFacts& pod, std::string_view name);
/// The same as a number of nodes that a job may have; none: not set, or anything else.
[[nodiscard]] std::optional<int> node_count_of(const PodFacts& pod, std::string_view name);

/// "HOST:PORT" or "HOST". `port` 0: there is none, or it is no plain number ("tcp://10.0.0.1:80").
struct HostPort {
  std::string host;
  int port = 0;
};
[[nodiscard]] HostPort split_host_port(std::string_view text);

/// A name with a number behind its last dash: "train-worker-12" is {"train-worker", 12}.
struct NumberedName {
  std::string stem;
  int number = 0;
};
/// None: `name` is not of that form.
[[nodiscard]] std::optional<NumberedName> numbered_name(std::string_view name);
/// Of JOB-TYPE-INDEX, as training-operator calls pods and Services: {"JOB", INDEX}. None: `name` is
/// not of that form, or of another type.
[[nodiscard]] std::optional<NumberedName> replica_name(std::string_view name,
                                                       std::string_view type);

/// Those of its items that are texts; empty: `list` is none.
[[nodiscard]] std::vector<std::string> texts_in(const nlohmann::json& list);

/// Its host name; "" on the host network, where that is the machine's and says nothing of the pod.
[[nodiscard]] std::string own_pod_name(const PodFacts& pod);

/// Kubernetes made this pod.
[[nodiscard]] bool in_kubernetes(const PodFacts& pod);

/// The folder of a downward-API volume, by which manifests tell pods their labels.
inline constexpr std::string_view kPodInfoFolder = "/etc/podinfo";
/// Of its files `labels` and `annotations` (lines KEY="VALUE"): the first wins. Empty: none is
/// there.
[[nodiscard]] std::map<std::string, std::string, std::less<>> pod_labels(const PodFacts& pod);

}  // namespace muster::launcher
