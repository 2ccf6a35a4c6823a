// NameList: the lists of names by which NCCL_SOCKET_IFNAME and NCCL_IB_HCA choose interfaces and
// RDMA devices, read as NCCL reads them. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace muster::nccl {

inline constexpr size_t kMaxInterfaceNames = 16;  ///< of NCCL_SOCKET_IFNAME; NCCL drops the rest
inline constexpr size_t kMaxDeviceNames = 32;     ///< of NCCL_IB_HCA

/// Source: parseStringList() and matchIfList() (NCCL 2.30), compared with libnccl 2.32.
class NameList {
 public:
  /// "[^][=]name[:port],...": '^' excludes, '=' asks for whole names instead of beginnings, and
  /// both count for the whole list, in this order. Elements behind `limit` do not count.
  static NameList parse(std::string_view text, size_t limit);

  /// Whether `name` is chosen: matched, or with '^' not matched. A list without a name chooses
  /// everything, and with '^' nothing.
  [[nodiscard]] bool chooses(std::string_view name) const;
  [[nodiscard]] bool excludes() const { return excludes_; }
  [[nodiscard]] bool is_exact() const { return is_exact_; }
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  /// The elements that were dropped.
  [[nodiscard]] size_t dropped() const { return dropped_; }

 private:
  bool excludes_ = false;
  bool is_exact_ = false;
  std::vector<std::string> names_;
  size_t dropped_ = 0;
};

}  // namespace muster::nccl
