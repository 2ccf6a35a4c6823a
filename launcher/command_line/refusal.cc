#include "launcher/command_line/refusal.h"

#include <algorithm>

#include "base/exit_code.h"
#include "base/log.h"

namespace muster::launcher {

bool wants_json_log(const LogWords& given) {
  const auto& [words, environment] = given;
  const auto set = environment.get("MUSTER_LOG_FORMAT");
  bool json = (set && !set->empty() ? set : environment.get("LOG_FORMAT")) == "json";
  for (size_t i = 0; i < words.size() && words[i] != "--"; ++i) {
    std::string flag = words[i].substr(0, words[i].find('='));
    std::ranges::replace(flag, '_', '-');
    if (flag != "--log-format") continue;
    const bool glued = flag.size() < words[i].size();
    json = glued ? words[i].ends_with("=json") : i + 1 < words.size() && words[i + 1] == "json";
  }
  return json;
}

int refuse_to_start(const LogWords& words, std::string_view who, const Error& error, int exit_code,
                    std::FILE* errors) {
  if (!wants_json_log(words)) return complain(errors, who, error.text, exit_code);
  log::set_format(log::Format::kJson);
  log::set_level(log::Level::kError);
  log::error("job.refused", {{"error", error.text}, {"exit_code", exit_code}});
  return exit_code;
}

}  // namespace muster::launcher
