#include "launcher/frameworks/lightgbm_words.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "base/text.h"

namespace muster::launcher {

namespace {

using Parameters = std::map<std::string, std::string, std::less<>>;

constexpr size_t kMaxConfigBytes = 1 << 20;

// With their other names. Source: LightGBM 4.7.0, docs/Parameters.rst.
constexpr std::string_view kConfig[] = {"config", "config_file"};
constexpr std::string_view kNetwork[] = {
    "machines",          "workers",      "nodes", "machine_list_filename",
    "machine_list_file", "machine_list", "mlist", "num_machines",
    "num_machine",       "local_port",   "port",  "local_listen_port"};
constexpr std::string_view kLearner[] = {"tree_learner", "tree", "tree_type", "tree_learner_type"};

/// "key = value", without what follows a '#'. The first of two counts, as there.
void add(Parameters& parameters, std::string_view line) {
  line = line.substr(0, line.find('#'));
  const size_t sign = line.find('=');
  if (sign == std::string_view::npos) return;
  parameters.emplace(trim(line.substr(0, sign)), trim(line.substr(sign + 1)));
}

template <size_t N>
const std::string* find(const Parameters& parameters, const std::string_view (&names)[N]) {
  for (const std::string_view name : names) {
    const auto found = parameters.find(name);
    if (found != parameters.end()) return &found->second;
  }
  return nullptr;
}

Parameters all_parameters(const std::vector<std::string>& words, const Files& files) {
  Parameters parameters;
  for (const std::string& word : words) add(parameters, word);
  const std::string* const config = find(parameters, kConfig);
  if (config == nullptr) return parameters;
  // What is wrong with the file, LightGBM says.
  const auto text = files.read(*config, kMaxConfigBytes);
  if (!text) return parameters;
  for (const std::string_view line : split(*text, '\n')) add(parameters, line);
  return parameters;
}

}  // namespace

std::vector<std::string> lightgbm_words(const std::vector<std::string>& given, const Files& files,
                                        const std::vector<std::string>& machines, int port) {
  const Parameters parameters = all_parameters(given, files);
  if (machines.size() < 2 || find(parameters, kNetwork) != nullptr) return {};
  std::vector<std::string> words = {"machines=" + join(machines, ","),
                                    "num_machines=" + std::to_string(machines.size()),
                                    "local_listen_port=" + std::to_string(port)};
  const std::string* const learner = find(parameters, kLearner);
  if (learner == nullptr || *learner == "serial") words.emplace_back("tree_learner=data");
  return words;
}

}  // namespace muster::launcher
