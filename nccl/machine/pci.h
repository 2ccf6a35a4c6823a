// PCI functions of this machine that move data of a job: network cards and accelerators, where they
// hang in the tree, and how far two of them are apart. sysfs shows the functions of the whole host,
// also to a pod that may use few of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/cpu_set.h"
#include "base/files.h"

namespace muster::nccl {

inline constexpr size_t kMaxPciFunctions = 4096;  ///< looked at; the largest nodes have some 2,000
inline constexpr size_t kMaxPciDepth = 32;        ///< bridges above a function; real ones: 8

namespace pci_vendor {
inline constexpr int kNvidia = 0x10de;
inline constexpr int kAmd = 0x1002;
inline constexpr int kMellanox = 0x15b3;
inline constexpr int kAmazon = 0x1d0f;
inline constexpr int kGoogle = 0x1ae0;
inline constexpr int kBroadcom = 0x14e4;
inline constexpr int kPensando = 0x1dd8;
}  // namespace pci_vendor

struct PciFunction {
  std::string address;  ///< "0000:1b:00.0", lower case
  int vendor = 0;       ///< 0x10de; 0 = unknown
  int device = 0;       ///< 0 = unknown
  std::optional<int> numa_node;
  /// What is above it, from the host bridge down: "pci0000:15", "0000:15:01.0", "0000:16:00.0".
  /// Empty = unknown.
  std::vector<std::string> above;
};

/// Of which make a card is.
struct PciModel {
  int vendor = 0;  ///< as in PciFunction
  int device = 0;
};

/// How far apart, in NCCL's words (nccl-env.html, NCCL_NET_GDR_LEVEL): the smaller, the nearer.
enum class PciDistance {
  kSameCard,    ///< functions of one card
  kPix,         ///< below one switch
  kPxb,         ///< several switches between
  kHostBridge,  ///< PHB: through the CPU, of one NUMA node
  kSystem,      ///< SYS: through the link between CPUs
};

/// The function at `address` (normalized), by its files below /sys/bus/pci/devices. None: there is
/// no such function.
[[nodiscard]] std::optional<PciFunction> read_pci_function(const Files& files,
                                                           const std::string& address);
/// Of the network cards (classes 02xxxx), by address.
[[nodiscard]] std::vector<PciModel> read_network_cards(const Files& files);

/// Pure. Without a known tree the NUMA nodes decide; without them, kSystem.
[[nodiscard]] PciDistance distance(const PciFunction& a, const PciFunction& b);

/// Whether the tree says nothing about distances: functions hang below their host bridge without a
/// bridge between, as hypervisors show them. Pure.
[[nodiscard]] bool is_flattened(const PciFunction& function);

/// The PCI address that the link `path` leads to: "0000:18:00.0" of "../../../0000:18:00.0". None:
/// no link, or to something else.
[[nodiscard]] std::optional<std::string> linked_pci_address(const Files& files,
                                                            const std::string& path);
/// The name that the link `path` leads to: "mlx5_core". "": no link.
[[nodiscard]] std::string linked_name(const Files& files, const std::string& path);

/// "0x15b3" -> 0x15b3. None: anything else, or more than 32 bits.
[[nodiscard]] std::optional<int64_t> parse_hexadecimal(std::string_view text);

}  // namespace muster::nccl
