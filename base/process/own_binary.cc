#include "base/process/own_binary.h"

#include "base/text.h"

namespace muster {

Result<std::string> own_binary(const Files& files) { return files.link_target("/proc/self/exe"); }

std::string beside(const std::string& binary, std::string_view name) {
  return folder_of(binary) + "/" + std::string(name);
}

Result<OwnLink> find_or_make_link(const Files& files, const std::string& binary,
                                  std::string_view name, const TemporaryFolder& folder) {
  std::string link = beside(binary, name);
  if (files.exists(link)) return OwnLink{std::move(link)};
  auto made = folder.link(std::string(name), binary);
  if (!made) return std::move(made).error();
  return OwnLink{*std::move(made), name == kRshLink ? binary + " rsh" : ""};
}

}  // namespace muster
