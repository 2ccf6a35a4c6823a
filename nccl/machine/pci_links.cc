#include "nccl/machine/pci_links.h"

#include "base/text.h"
#include "nccl/machine/sysfs.h"

namespace muster::nccl {
namespace {

constexpr int kMostLanes = 32;  // of the standard; "unknown" is written as 63 or 255

int read_width(const Files& files, const std::string& path) {
  const auto width = read_integer(files, path);
  return width && *width > 0 && *width <= kMostLanes ? static_cast<int>(*width) : 0;
}

}  // namespace

double parse_link_speed(std::string_view text) {
  const auto words = words_of(text);
  if (words.size() < 2 || words[1] != "GT/s") return 0;
  const auto speed = parse_number(words[0]);
  return speed && *speed > 0 ? *speed : 0;
}

std::vector<PciLink> read_pci_links(const Files& files, const std::vector<std::string>& addresses) {
  std::vector<PciLink> links;
  for (const std::string& address : addresses) {
    const std::string folder = "/sys/bus/pci/devices/" + address + "/";
    const auto speed = [&](const char* name) {
      return parse_link_speed(read_attribute(files, folder + name).value_or(""));
    };
    links.push_back({address, speed("current_link_speed"), speed("max_link_speed"),
                     read_width(files, folder + "current_link_width"),
                     read_width(files, folder + "max_link_width")});
  }
  return links;
}

}  // namespace muster::nccl
