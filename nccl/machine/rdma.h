// RDMA devices of this machine as /sys/class/infiniband shows them, and which of them this
// container may open. sysfs shows the devices of the whole host, unless each network namespace has
// its own (rdma system set netns exclusive).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "nccl/machine/pci.h"

namespace muster::nccl {

inline constexpr size_t kMaxRdmaDevices = 256;  ///< read; the largest nodes have 32
inline constexpr int kMaxRdmaPorts = 8;         ///< of a device
inline constexpr int kMaxGids = 256;            ///< of a port: the size of mlx5's table
/// The end of a table is taken for reached after so many empty entries, if there was one of this
/// network namespace: reading all of 16 tables of 256 costs 50 ms.
inline constexpr int kMaxEmptyGids = 32;
inline constexpr int kMaxPartitionKeys = 16;  ///< looked at in a table of 128

enum class LinkLayer {
  kInfiniBand,
  kEthernet,     ///< RoCE, iWARP
  kUnspecified,  ///< EFA
};

enum class RoceVersion {
  kV1,
  kV2,
  kUnreadable,  ///< EINVAL: its interface is in another network namespace, or there is none
};

struct Gid {
  int index = 0;
  std::array<uint8_t, 16> bytes{};
  RoceVersion version = RoceVersion::kUnreadable;
  std::string interface = {};  ///< by read_gid_interfaces(); "" = unknown
};
/// fe80::/10: means nothing beyond its link.
[[nodiscard]] bool is_link_local(const Gid& gid);
/// An IPv4 address as ::ffff:a.b.c.d.
[[nodiscard]] bool is_ipv4(const Gid& gid);
/// "10.200.1.10", or 8 groups.
[[nodiscard]] std::string to_string(const Gid& gid);
/// Eight groups as the kernel writes them. None: anything else.
[[nodiscard]] std::optional<std::array<uint8_t, 16>> parse_gid(std::string_view text);

struct RdmaPort {
  int number = 1;
  std::string state;           ///< "ACTIVE", "DOWN", "INIT"; "" = unknown
  std::string physical_state;  ///< "LinkUp", "Polling"
  LinkLayer link_layer = LinkLayer::kUnspecified;
  double gbits = 0;       ///< of its rate; 0 = unknown
  int lanes = 0;          ///< 4 of "(4X NDR)"; 0 = unknown
  std::vector<Gid> gids;  ///< those that are not all zeros
  /// An entry in front of the last one cannot be read, which NCCL 2.21 to 2.25 does not survive.
  bool has_hole = false;
  int partition_key = 0;  ///< of InfiniBand: the first that is not zero; 0 = unknown
  [[nodiscard]] bool is_active() const { return state == "ACTIVE"; }
};

struct RdmaDevice {
  std::string name;    ///< "mlx5_0"
  std::string driver;  ///< "mlx5_core", "efa", "bnxt_en"; "" = unknown
  std::optional<PciFunction> pci;
  std::string device_node;              ///< "/dev/infiniband/uverbs0"; "" = unknown
  bool has_device_node = false;         ///< it exists here, so this container was given the device
  std::vector<std::string> interfaces;  ///< of its function, in this network namespace
  std::vector<RdmaPort> ports;
  [[nodiscard]] bool is_efa() const { return driver == "efa"; }
};

/// By name, numbers in their order: "mlx5_2" before "mlx5_10". Empty: no RDMA here. What cannot be
/// read is left unknown.
/// Source: Documentation/ABI/stable/sysfs-class-infiniband (Linux 6.x).
[[nodiscard]] std::vector<RdmaDevice> read_rdma_devices(const Files& files);

/// Fills Gid::interface of the entries of this network namespace. A plan needs none of them.
void read_gid_interfaces(const Files& files, std::vector<RdmaDevice>& devices);

/// "400 Gb/sec (4X NDR)" -> 400 and 4. Zeros: anything else.
struct PortRate {
  double gbits = 0;
  int lanes = 0;
};
[[nodiscard]] PortRate parse_rate(std::string_view text);

/// a < b, with runs of digits compared as numbers.
[[nodiscard]] bool natural_less(std::string_view a, std::string_view b);

}  // namespace muster::nccl
