// DashboardService: what the dashboard answers to a request: the webhook, the page and the API
// behind it. It sees no socket; dashboard_verb has those. docs/dashboard.md is the contract of the
// API.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/http_call.h"
#include "launcher/dashboard/access.h"
#include "launcher/dashboard/event_store.h"
#include "launcher/dashboard/job_view.h"

namespace muster::launcher {

/// Pages that are open at a time. Of more the oldest stream ends; its page asks again.
inline constexpr size_t kMaxStreams = 64;

/// A job is looked at anew at most so often while it says more: of 10000 events that takes a while.
inline constexpr Duration kFoldEvery = std::chrono::seconds(2);

class DashboardService {
 public:
  /// `store` and `clock` are borrowed. `push` sends more
  /// of a stream (HttpServer::push).
  using Push = std::function<bool(uint64_t client, std::string_view bytes)>;
  /// `close` ends a stream (HttpServer::close).
  using Close = std::function<void(uint64_t client)>;
  DashboardService(EventStore& store, const Clock& clock, DashboardAccess access, Push push,
                   Close close);
  DashboardService(const DashboardService&) = delete;
  DashboardService& operator=(const DashboardService&) = delete;

  /// Never fails: what went wrong is a status with a line of text. 403: another site asks
  /// (access.h). Of a post: 400, 401, 413, 415 for what is wrong with it; 503, and 507 for a disk
  /// that is full, where it may be sent again.
  HttpReply answer(const HttpCall& call);

  /// Tells the open pages which jobs have changed since the last call. To be called at most a few
  /// times a second.
  void tell_changes();
  [[nodiscard]] bool has_changes() const { return !changed_.empty(); }
  /// A sign of life on all streams, so that proxies keep them and those that are gone are noticed.
  void keep_streams();

 private:
  /// What a job's events came to, and how far it is behind them.
  struct Seen {
    JobView view;
    TimePoint folded_at;
    bool events_are_new = false;
    bool progress_is_new = false;
  };

  HttpReply take_post(const HttpCall& call);
  HttpReply take_batch(std::string_view body);
  HttpReply read_api(std::string_view path);
  HttpReply open_stream(uint64_t client);
  HttpReply list_jobs();
  HttpReply show_job(const StoredJob& job);
  HttpReply show_progress(const StoredJob& job);
  Result<Seen> fold(const StoredJob& job);
  Status refresh(Seen& seen, const StoredJob& job, bool details);
  Result<const JobView*> view_of(const StoredJob& job);
  Result<const JobView*> summary_of(const StoredJob& job);
  void note_news(const WebhookBatch& batch);
  void push_all(std::string_view bytes);
  [[nodiscard]] int64_t now_ms() const;

  EventStore& store_;
  const Clock& clock_;
  const DashboardAccess access_;
  const Push push_;
  const Close close_;
  std::map<std::string, Seen> summaries_;              // of the jobs of the last list
  std::optional<std::pair<std::string, Seen>> shown_;  // the job that was asked for last
  std::set<std::string> changed_;                      // not told yet
  std::vector<uint64_t> streams_;                      // the oldest first
};

}  // namespace muster::launcher
