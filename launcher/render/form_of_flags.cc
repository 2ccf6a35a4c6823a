#include "launcher/render/form_of_flags.h"

#include <utility>

#include "launcher/options/choice.h"

namespace muster::launcher {

namespace {

using nlohmann::json;

// Kubernetes makes one $ of two, and $(NAME) a variable: the program gets the words as they are.
std::string escaped(std::string_view word) {
  std::string text;
  for (const char letter : word) text += letter == '$' ? "$$" : std::string(1, letter);
  return text;
}

json container_for(const RenderRequest& request) {
  json words = json::array();
  if (request.replaces_entrypoint) words = {"muster", "run", "--"};
  for (const std::string& word : request.words) words.push_back(escaped(word));
  return {{"name", "trainer"},
          {"image", request.image},
          {request.replaces_entrypoint ? "command" : "args", std::move(words)}};
}

}  // namespace

Result<JobForm> form_of_flags(const RenderRequest& request) {
  if (request.name.empty()) return wrong("--name is needed");
  if (request.image.empty()) return wrong("--image is needed");
  JobForm form;
  form.name = request.name;
  form.framework = request.framework;
  const int pods = request.workers.value_or(1);
  json pod = {{"spec", {{"containers", json::array({container_for(request)})}}}};
  form.pods.push_back({"worker", pods, std::move(pod)});
  form.nodes = std::to_string(pods);
  if (!request.replaces_entrypoint)
    form.remarks.emplace_back("without --command the image's ENTRYPOINT must be: muster run --");
  return form;
}

}  // namespace muster::launcher
