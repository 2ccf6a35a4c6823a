#include "base/process/own_binary.h"

#include "base/text.h"

namespace muster {

Result<std::string> own_binary(const Files& files) { return files.link_target("/proc/self/exe"); }

std::string beside(const std::string& binary, std::string_view name) {
  return folder_of(binary) + "/" + std::string(name);
}

std::string words_for(const std::string& binary, std::string_view name) {
  const bool is_verb = name == kRshLink && base_name(binary) == "muster" &&
                       binary.find_first_of(" \t\n:;") == std::string::npos;
  return is_verb ? binary + " rsh" : "";
}

Result<OwnLink> find_or_make_link(const Files& files, const std::string& binary,
                                  std::string_view name, const TemporaryFolder& folder) {
  std::string link = beside(binary, name);
  if (files.exists(link)) return OwnLink{std::move(link)};
  auto made = folder.link(std::string(name), binary);
  if (!made) return std::move(made).error();
  return OwnLink{*std::move(made), words_for(binary, name)};
}

}  // namespace muster
