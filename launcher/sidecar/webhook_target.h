// WebhookTarget: every event to a URL, in order, until it is taken or refused for good
// (docs/observability.md, "The webhook").
#pragma once

#include <cstddef>
#include <string>

#include "base/http.h"
#include "launcher/sidecar/event_queue.h"
#include "launcher/sidecar/http_caller.h"
#include "launcher/sidecar/retry_timer.h"
#include "launcher/sidecar/sidecar_files.h"
#include "launcher/sidecar/target.h"

namespace muster::launcher {

/// A receiver that answers nothing for so long is asked again.
inline constexpr Duration kWebhookDeadline = std::chrono::seconds(30);
/// Smaller bodies are sent as they are: one packet either way.
inline constexpr size_t kCompressBytes = 4 * 1024;

inline constexpr std::string_view kEventDeadLetter = "sidecar.dead_letter";

class WebhookTarget final : public Target {
 public:
  /// `shown`: its name in the log.
  WebhookTarget(SidecarDoors doors, std::string shown, Url url, HttpCredentials credentials,
                DeadLetters dead_letters, Duration retry_max);

  void begin(const JournalMark& told, Settled settled) override;
  [[nodiscard]] bool needs_all() const override { return false; }
  [[nodiscard]] bool has_room() const override { return queue_.has_room(); }
  void take(JournalEvent event) override;
  void caught_up() override;
  [[nodiscard]] bool is_idle() const override { return queue_.is_empty(); }
  [[nodiscard]] size_t waiting() const override { return queue_.size(); }

 private:
  void send_next();
  HttpRequest make_request();
  void on_answer(const Result<HttpResponse>& answer);
  void again(const Result<HttpResponse>& answer);
  void settle();
  void bury(const HttpResponse& answer);

  SidecarDoors doors_;
  std::string shown_;
  HttpCaller caller_;
  RetryTimer retry_;
  DeadLetters dead_letters_;
  Settled settled_;
  EventQueue queue_;
  size_t limit_bytes_ = kMaxBodyBytes;  // halved when a body is refused, doubled when one is taken
  size_t body_bytes_ = 0;               // of the one under way, before it is compressed
  bool plain_ = false;                  // the receiver knows no gzip
  bool compressed_ = false;             // the body under way is
  bool buried_ = false;                 // a dead letter was told of
};

}  // namespace muster::launcher
