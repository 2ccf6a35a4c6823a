// Memory probes: whether memory can be locked, and whether a huge page can be had. A process that
// tries may be ended for it by a signal, so a child of ours does (launcher/doctor/probes.h).
#pragma once

#include <cstdint>

namespace muster {

/// Maps so much memory and locks it (mlock(2)), then gives it back. 0, or the errno. From then on
/// this process is the first that the OOM killer takes: if memory ends, it is no trainer's.
[[nodiscard]] int lock_memory(uint64_t bytes);

enum class HugePage { kTouched, kNotThere };
/// Maps one page of 2 MiB and writes to it. A page that was promised and is refused when it is
/// touched ends this process by SIGBUS.
[[nodiscard]] HugePage touch_huge_page();

}  // namespace muster
