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
#include "launcher/dashboard/event_store.h"
#include "launcher/dashboard/job_view.h"

namespace muster::launcher {

/// Pages that are open at a time. Of more the oldest stream ends; its page asks again.
inline constexpr size_t kMaxStreams = 64;

class DashboardService {
 public:
  /// `store` and `clock` are borrowed. `token`: what posts must bear; "" = none. `push` sends more
  /// of a stream (HttpServer::push).
  using Push = std::function<bool(uint64_t client, std::string_view bytes)>;
  DashboardService(EventStore& store, const Clock& clock, std::string token, Push push);
  DashboardService(const DashboardService&) = delete;
  DashboardService& operator=(const DashboardService&) = delete;

  /// Never fails: what went wrong is a status with a line of text. Of a post: 400, 401, 413, 415
  /// for what is wrong with it; 503, and 507 for a disk that is full, where it may be sent again.
  HttpReply answer(const HttpCall& call);

  /// Tells the open pages which jobs have changed since the last call. To be called at most a few
  /// times a second.
  void tell_changes();
  [[nodiscard]] bool has_changes() const { return !changed_.empty(); }
  /// A sign of life on all streams, so that proxies keep them and those that are gone are noticed.
  void keep_streams();

 private:
  HttpReply take_post(const HttpCall& call);
  HttpReply take_batch(std::string_view body);
  HttpReply read_api(std::string_view path);
  HttpReply open_stream(uint64_t client);
  HttpReply list_jobs();
  HttpReply show_job(const std::string& name);
  HttpReply show_progress(const std::string& name);
  Result<JobView> fold(const std::string& name);
  Result<const JobView*> view_of(const std::string& name);
  Result<const JobView*> summary_of(const std::string& name);
  void forget(const std::string& name);
  void push_all(std::string_view bytes);
  [[nodiscard]] int64_t now_ms() const;

  EventStore& store_;
  const Clock& clock_;
  const std::string token_;
  const Push push_;
  std::map<std::string, JobView> summaries_;              // of jobs that have not changed since
  std::optional<std::pair<std::string, JobView>> shown_;  // the job that was asked for last
  std::set<std::string> changed_;                         // not told yet
  std::vector<uint64_t> streams_;                         // the oldest first
};

}  // namespace muster::launcher
