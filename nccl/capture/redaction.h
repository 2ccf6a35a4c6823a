// Redaction: what of a file of this machine goes into a capture. Pure but for the numbers that
// stand for UUIDs and GUIDs, which are given in the order in which they are met.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace muster::nccl {

class Redactor {
 public:
  /// What is kept of the file at `path`. `is_infiniband`: of the port whose GIDs these are, for
  /// they are made of its GUID.
  [[nodiscard]] std::string keep(std::string_view path, std::string_view text, bool is_infiniband);
  /// The value of a variable; a GPU that it names by its UUID is named as in the files.
  [[nodiscard]] std::string keep_value(std::string_view name, std::string_view value) const;
  /// A path or a text, with a number in every interface name that is made of a MAC address or a
  /// GUID: "enx000000000001".
  [[nodiscard]] std::string keep_interfaces(std::string_view text);

 private:
  [[nodiscard]] std::string keep_gpu(std::string_view information);
  [[nodiscard]] std::string keep_kfd(std::string_view properties);
  size_t number_of(std::string_view secret);

  std::map<std::string, size_t, std::less<>> numbers_;  // of UUIDs and GUIDs
};

/// A GID without the half that is made of a GUID or a MAC address: that of a link-local address, of
/// InfiniBand, and of an IPv6 address that was made of a MAC (EUI-64). Eight groups.
[[nodiscard]] std::string keep_gid(std::string_view gid, bool is_infiniband);
/// An IPv6 or IPv4 address; in place of a half that was made of a MAC address there is ::1.
[[nodiscard]] std::string keep_address(std::string_view address);
/// Lines of /proc/self/mountinfo that the readers look at; of the root only its type.
[[nodiscard]] std::string keep_mounts(std::string_view mountinfo);
/// Lines NAME=VALUE of libraries that move data (is_captured_variable()).
[[nodiscard]] std::string keep_settings(std::string_view text);

}  // namespace muster::nccl
