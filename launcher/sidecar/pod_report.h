// PodReport: what this node does, as annotations of its own pod: a table of the page,
// "Annotations". It needs the right to patch pods (RBAC). Pure, but for the name of the namespace.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/environment.h"
#include "base/files.h"
#include "launcher/sidecar/http_caller.h"
#include "launcher/sidecar/state_report.h"

namespace muster::launcher {

/// Of one annotation: all of an object may have 256 KiB together.
inline constexpr size_t kMaxAnnotationBytes = 512;

class PodReport final : public StateReport {
 public:
  bool take(const JournalEvent& event) override;
  /// PATCH, application/merge-patch+json.
  [[nodiscard]] std::optional<HttpRequest> request() const override;
  StateVerdict judge(int status) override;
  [[nodiscard]] Duration deadline() const override { return std::chrono::seconds(10); }
  [[nodiscard]] Duration spacing() const override { return std::chrono::seconds(5); }

 private:
  bool set(const std::string& name, const std::string& value);

  std::map<std::string, std::string> annotations_;  // by name without the prefix
  int not_found_ = 0;
};

/// Where the pod is, and with what it is patched. Name: POD_NAME, else HOSTNAME; namespace:
/// POD_NAMESPACE, else what the service account says. kConfig: this is no pod, or without a service
/// account.
struct PodPlace {
  Url url;
  HttpCredentials credentials;
};
Result<PodPlace> find_pod(const Environment& environment, const Files& files);

}  // namespace muster::launcher
