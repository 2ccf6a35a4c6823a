// PciLinks: how fast the PCI links of some functions run, and how fast they could. An idle GPU
// slows its link down, so its speed says nothing; its width does.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"

namespace muster::nccl {

struct PciLink {
  std::string address;
  double gigatransfers = 0;  ///< per second: 32 of "32.0 GT/s PCIe"; 0 = unknown
  double most_gigatransfers = 0;
  int width = 0;  ///< lanes; 0 = unknown
  int most_width = 0;
};

/// In the order of `addresses`; virtual functions have no link of their own and say nothing.
[[nodiscard]] std::vector<PciLink> read_pci_links(const Files& files,
                                                  const std::vector<std::string>& addresses);

/// "32.0 GT/s PCIe" -> 32. 0: anything else.
[[nodiscard]] double parse_link_speed(std::string_view text);

}  // namespace muster::nccl
