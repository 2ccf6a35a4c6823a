#include "nccl/probe/shared_library.h"

#include <dlfcn.h>
#include <link.h>

#include <cstdlib>

#include "base/text.h"

namespace muster::probe {

Result<SharedLibrary> SharedLibrary::load(
    std::span<const std::string> names,
    const std::vector<std::pair<std::string, std::string>>& variables) {
  for (const auto& [name, value] : variables) {
    if (setenv(name.c_str(), value.c_str(), 1) != 0) return os_error("setenv " + name);
  }
  std::string problem = "no name of a library";
  for (const std::string& name : names) {
    if (void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL); handle != nullptr)
      return SharedLibrary(handle);
    problem = one_line(dlerror());
  }
  return Error{Code::kConfig, 0, problem};
}

std::string SharedLibrary::path() const {
  link_map* map = nullptr;
  if (dlinfo(handle_, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr) return "";
  char* real = realpath(map->l_name, nullptr);
  std::string path(real != nullptr ? real : map->l_name);
  std::free(real);
  return path;
}

void* SharedLibrary::symbol(const char* name) const { return dlsym(handle_, name); }

}  // namespace muster::probe
