// AmdUuid: the name of one AMD GPU, as ROCR_VISIBLE_DEVICES and rocminfo write it. The kernel tells
// the number that it is made of (accelerators.h reads it). Pure.
#pragma once

#include <string>
#include <string_view>

namespace muster::nccl {

/// "GPU-" and 16 hexadecimal digits of a decimal unique_id of /sys/class/kfd. "": a card without
/// one (0), or no number.
[[nodiscard]] std::string amd_uuid(std::string_view unique_id);

}  // namespace muster::nccl
