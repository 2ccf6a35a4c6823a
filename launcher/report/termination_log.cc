#include "launcher/report/termination_log.h"

#include "base/log.h"
#include "base/text.h"

namespace muster::launcher {

void write_termination_log(Files& files, const std::string& path, std::string_view message) {
  std::string target = path;
  if (target.empty()) {
    // Outside a pod nobody reads it, and a root user would leave a file in /dev.
    if (!files.exists(std::string(kDefaultTerminationLog))) return;
    target = kDefaultTerminationLog;
  }
  const std::string text = printable_utf8(message);
  if (auto written = files.write(target, clip_utf8(text, kMaxTerminationBytes)); !written) {
    log::warning("termination_log.failed",
                 {{"error", written.error().text}, {"instead", "the message is on stderr only"}});
  }
}

}  // namespace muster::launcher
