#include "launcher/program/render_verb.h"

#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "base/exit_code.h"
#include "base/text.h"
#include "launcher/manifest/yaml_writer.h"
#include "launcher/render/render.h"
#include "launcher/render/render_flags.h"

namespace muster::launcher {

namespace {

constexpr const char* kName = "muster render";

Status print(const std::string& text, std::FILE* output) {
  const bool written = std::fwrite(text.data(), 1, text.size(), output) == text.size();
  return written && std::fflush(output) == 0 ? Status() : os_error("writing the manifests");
}

// Numbers in front keep the order in which they are applied.
Status write_files(const Documents& documents, const std::string& folder, Files& files) {
  MUSTER_RETURN_IF_ERROR(files.make_directories(folder));
  int number = 0;
  for (const nlohmann::json& document : documents) {
    const std::string name = to_lower(document["kind"].get<std::string>()) + "-" +
                             document["metadata"]["name"].get<std::string>();
    const std::string prefix = std::to_string(++number) + "-";
    const std::string path = folder + "/" + (number < 10 ? "0" : "") + prefix + name + ".yaml";
    MUSTER_RETURN_IF_ERROR(files.write(path, write_yaml(std::span(&document, 1))));
  }
  return {};
}

}  // namespace

int run_render_verb(const std::vector<std::string>& arguments, Files& files, std::FILE* output,
                    std::FILE* errors) {
  const auto request = parse_render_flags(arguments);
  if (!request) return complain(errors, kName, request.error().text, exit_code_of(request.error()));
  if (request->help) {
    (void)std::fputs(render_help().c_str(), output);  // nobody is left to tell
    return kExitSuccess;
  }
  const auto rendered = render(*request, files);
  if (!rendered)
    return complain(errors, kName, rendered.error().text, exit_code_of(rendered.error()));
  const auto written = request->output_dir.empty()
                           ? print(write_yaml(rendered->documents), output)
                           : write_files(rendered->documents, request->output_dir, files);
  if (!written) return complain(errors, kName, written.error().text, exit_code_of(written.error()));
  for (const std::string& remark : rendered->remarks)
    (void)complain(errors, kName, remark, kExitSuccess);
  return kExitSuccess;
}

}  // namespace muster::launcher
