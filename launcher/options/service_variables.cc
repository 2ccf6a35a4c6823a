#include "launcher/options/service_variables.h"

#include <string>

namespace muster::launcher {

bool is_of_service(std::string_view name, const Environment& environment) {
  for (const std::string_view part : {"_SERVICE_", "_PORT"}) {
    for (size_t at = name.find(part); at != std::string_view::npos; at = name.find(part, at + 1)) {
      if (environment.has(std::string(name.substr(0, at)) + "_SERVICE_HOST")) return true;
    }
  }
  return false;
}

bool is_set_by_service(std::string_view name, const Environment& environment) {
  const auto value = environment.get(name);
  return value && value->find("://") != std::string_view::npos && is_of_service(name, environment);
}

}  // namespace muster::launcher
