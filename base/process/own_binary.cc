#include "base/process/own_binary.h"

#include "base/text.h"

namespace muster {

Result<std::string> own_binary(const Files& files) { return files.link_target("/proc/self/exe"); }

std::string beside(const std::string& binary, std::string_view name) {
  return folder_of(binary) + "/" + std::string(name);
}

Result<std::string> find_or_make_link(const Files& files, const std::string& binary,
                                      std::string_view name, const TemporaryFolder& folder) {
  std::string link = beside(binary, name);
  if (files.exists(link)) return link;
  return folder.link(std::string(name), binary);
}

}  // namespace muster
