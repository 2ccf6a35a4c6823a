#include "base/process/descriptor_budget.h"

#include <fmt/core.h>

#include "base/log.h"
#include "base/text.h"

namespace muster {

namespace {

unsigned long for_workers(int local_workers) {
  return kOwnDescriptors + kDescriptorsPerWorker * static_cast<unsigned long>(local_workers);
}

}  // namespace

Status check_descriptor_limit(unsigned long limit, int local_workers) {
  const unsigned long wanted = for_workers(local_workers);
  if (limit >= wanted) return {};
  return Error{
      Code::kConfig, 0,
      fmt::format("{} {} file descriptors, but the limit is {}: raise it "
                  "(ulimit -n, LimitNOFILE=)",
                  counted(static_cast<size_t>(local_workers), "worker needs", "workers need"),
                  wanted, limit)};
}

void warn_of_few_descriptors(unsigned long limit, int local_workers, int world_size) {
  const unsigned long wanted =
      for_workers(local_workers) + kConnectionsPerRank * static_cast<unsigned long>(world_size);
  if (limit >= wanted) return;
  log::warning("port.few_descriptors", {{"limit", limit},
                                        {"wanted", wanted},
                                        {"ranks", world_size},
                                        {"action",
                                         "raise it (ulimit -n, LimitNOFILE=), or ranks "
                                         "may wait for the job store in vain"}});
}

}  // namespace muster
