#include "launcher/dashboard/dashboard_service.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/gzip.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "launcher/dashboard/curves.h"
#include "launcher/dashboard/job_json.h"
#include "launcher/dashboard/page_files.h"

namespace muster::launcher {

namespace {

constexpr std::string_view kJson = "application/json";
constexpr std::string_view kText = "text/plain; charset=utf-8";
constexpr std::string_view kJobs = "/api/jobs";
constexpr std::string_view kProgress = "/progress";

// The page is all of this origin, and what workers print must not become a part of it in any way.
HttpHeaders page_headers() {
  return {{"Content-Security-Policy",
           "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src "
           "'self' data:; "
           "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
          {"X-Content-Type-Options", "nosniff"},
          {"X-Frame-Options", "DENY"},
          {"Referrer-Policy", "no-referrer"},
          {"Cross-Origin-Resource-Policy", "same-origin"},
          {"Cache-Control", "no-cache"}};
}

HttpReply reply(int status, std::string body, std::string_view content_type) {
  return {.status = status,
          .body = std::move(body),
          .content_type = content_type,
          .headers = page_headers()};
}

HttpReply refuse(int status, std::string_view why) {
  return reply(status, one_line(why) + "\n", kText);
}

HttpReply not_there() { return refuse(404, "nothing is here"); }

HttpReply of_store(const Error& error) {
  return refuse(error.os_errno == ENOSPC ? 507 : 503, error.text);
}

HttpReply method_not_allowed(std::string_view allowed) {
  HttpReply answer = refuse(405, fmt::format("only {}", allowed));
  answer.headers.push_back({"Allow", std::string(allowed)});
  return answer;
}

// In a time that does not tell how much of it is right.
bool is_same(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (size_t i = 0; i < a.size(); ++i)
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  return difference == 0;
}

std::string_view media_type(std::string_view content_type) {
  return trim(content_type.substr(0, content_type.find(';')));
}

std::optional<unsigned> hex_digit(char c) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const size_t at = kDigits.find(to_lower(std::string_view(&c, 1)));
  return at == std::string_view::npos ? std::nullopt : std::optional(static_cast<unsigned>(at));
}

// What the list of jobs needs: there may be hundreds of them.
JobView without_details(JobView view) {
  view.rows.clear();
  view.moments.clear();
  view.failure.reset();
  view.restarts.clear();
  return view;
}

// "a b" of "a%20b". None: a '%' with no two digits behind it.
std::optional<std::string> unescaped(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      plain += text[i];
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    const auto high = hex_digit(text[i + 1]);
    const auto low = hex_digit(text[i + 2]);
    if (!high || !low) return std::nullopt;
    plain += static_cast<char>(*high << 4U | *low);
    i += 2;
  }
  return plain;
}

}  // namespace

DashboardService::DashboardService(EventStore& store, const Clock& clock, DashboardAccess access,
                                   Push push, Close close)
    : store_(store),
      clock_(clock),
      access_(std::move(access)),
      push_(std::move(push)),
      close_(std::move(close)) {}

int64_t DashboardService::now_ms() const {
  return std::chrono::duration_cast<std::chrono::milliseconds>(clock_.wall_now().time_since_epoch())
      .count();
}

HttpReply DashboardService::answer(const HttpCall& call) {
  const std::string_view path = std::string_view(call.path).substr(0, call.path.find('?'));
  if (const Status allowed = check_origin(call, access_); !allowed)
    return refuse(403, allowed.error().text);
  // A sidecar that was told the dashboard's address alone would else throw its events away at 405.
  if (call.method == "POST" && (path == "/" || path == "/webhook")) return take_post(call);
  if (path == "/webhook") return method_not_allowed("POST");
  if (call.method != "GET" && call.method != "HEAD") return method_not_allowed("GET, HEAD");
  if (path == "/api/stream")
    return call.method == "GET" ? open_stream(call.client) : method_not_allowed("GET");
  if (path.starts_with("/api/")) return read_api(path);
  for (const PageFile& file : page_files())
    if (file.path == path) return reply(200, std::string(file.text), file.content_type);
  return not_there();
}

HttpReply DashboardService::take_post(const HttpCall& call) {
  const std::string& token = access_.token;
  if (!token.empty() && !is_same(header_of(call.headers, "Authorization"), "Bearer " + token)) {
    HttpReply answer = refuse(401, "another bearer token, or none");
    answer.headers.push_back({"WWW-Authenticate", "Bearer"});
    return answer;
  }
  // A page of another site can post text from a browser on this machine, and no JSON.
  if (to_lower(media_type(header_of(call.headers, "Content-Type"))) != kJson)
    return refuse(415, "Content-Type is not application/json");
  const std::string encoding = to_lower(header_of(call.headers, "Content-Encoding"));
  if (encoding.empty() || encoding == "identity") return take_batch(call.body);
  if (encoding != "gzip") return refuse(415, "Content-Encoding is neither gzip nor identity");
  const auto body = gunzip(call.body, kMaxWebhookBytes);
  if (!body) return refuse(body.error().code == Code::kLimit ? 413 : 400, body.error().text);
  return take_batch(*body);
}

HttpReply DashboardService::take_batch(std::string_view body) {
  const auto batch = read_webhook(body);
  if (!batch) return refuse(400, batch.error().text);
  const auto added = store_.add(*batch, now_ms());
  if (!added) {
    log::warning("dashboard.store_failed", {{"job", batch->job}, {"error", added.error().text}});
    return of_store(added.error());
  }
  if (*added > 0) {
    note_news(*batch);
    changed_.insert(batch->job);
  }
  return reply(200, fmt::format("{{\"taken\":{},\"new\":{}}}\n", batch->events.size(), *added),
               kJson);
}

HttpReply DashboardService::read_api(std::string_view path) {
  if (path == kJobs) return list_jobs();
  if (!path.starts_with(kJobs) || path[kJobs.size()] != '/') return not_there();
  path.remove_prefix(kJobs.size() + 1);
  const bool progress = path.ends_with(kProgress);
  if (progress) path.remove_suffix(kProgress.size());
  const auto name = unescaped(path);
  if (!name || path.find('/') != std::string_view::npos) return not_there();
  const auto jobs = store_.jobs();
  if (!jobs) return of_store(jobs.error());
  const auto job = std::ranges::find(*jobs, *name, &StoredJob::name);
  if (job == jobs->end()) return not_there();
  return progress ? show_progress(*job) : show_job(*job);
}

// Progress alone changes nothing of what the events came to.
void DashboardService::note_news(const WebhookBatch& batch) {
  const bool events = std::ranges::any_of(
      batch.events, [](const WebhookEvent& event) { return event.name != kProgressEvent; });
  const auto note = [events](Seen& seen) {
    seen.progress_is_new = true;
    seen.events_are_new = seen.events_are_new || events;
  };
  if (const auto known = summaries_.find(batch.job); known != summaries_.end()) note(known->second);
  if (shown_ && shown_->first == batch.job) note(shown_->second);
}

Result<DashboardService::Seen> DashboardService::fold(const StoredJob& job) {
  const auto events = store_.events(job.name);
  if (!events) return Error(events.error());
  return Seen{view_of_job(*events, job.began_ms), clock_.now(), false, true};
}

Status DashboardService::refresh(Seen& seen, const StoredJob& job, bool details) {
  if (seen.events_are_new && clock_.now() - seen.folded_at >= kFoldEvery) {
    auto anew = fold(job);
    if (!anew) return std::move(anew).error();
    seen = *std::move(anew);
    if (!details) seen.view = without_details(std::move(seen.view));
  }
  // The page asks once more when it is told of the job again.
  if (seen.events_are_new) changed_.insert(job.name);
  if (!seen.progress_is_new) return {};
  const auto last = store_.last_progress(job.name);
  if (!last) return Error(last.error());
  add_progress(seen.view, *last);
  seen.progress_is_new = false;
  return {};
}

Result<const JobView*> DashboardService::view_of(const StoredJob& job) {
  if (!shown_ || shown_->first != job.name) {
    auto seen = fold(job);
    if (!seen) return std::move(seen).error();
    shown_.emplace(job.name, *std::move(seen));
  }
  MUSTER_RETURN_IF_ERROR(refresh(shown_->second, job, true));
  return &shown_->second.view;
}

Result<const JobView*> DashboardService::summary_of(const StoredJob& job) {
  auto known = summaries_.find(job.name);
  if (known == summaries_.end()) {
    auto seen = fold(job);
    if (!seen) return std::move(seen).error();
    seen->view = without_details(std::move(seen->view));
    known = summaries_.emplace(job.name, *std::move(seen)).first;
  }
  MUSTER_RETURN_IF_ERROR(refresh(known->second, job, false));
  return &known->second.view;
}

HttpReply DashboardService::list_jobs() {
  const auto jobs = store_.jobs();
  if (!jobs) return of_store(jobs.error());
  const auto is_dropped = [&jobs](const std::string& name) {
    return std::ranges::find(*jobs, name, &StoredJob::name) == jobs->end();
  };
  std::erase_if(summaries_, [&is_dropped](const auto& known) { return is_dropped(known.first); });
  if (shown_ && is_dropped(shown_->first)) shown_.reset();
  std::string list;
  for (const StoredJob& job : *jobs) {
    const auto view = summary_of(job);
    if (!view) return of_store(view.error());
    list += (list.empty() ? "" : ",") + summary_json(job, **view);
  }
  return reply(200, fmt::format("{{\"now_ms\":{},\"jobs\":[{}]}}\n", now_ms(), list), kJson);
}

HttpReply DashboardService::show_job(const StoredJob& job) {
  const auto view = view_of(job);
  if (!view) return of_store(view.error());
  return reply(200,
               fmt::format("{{\"now_ms\":{},\"job\":{}}}\n", now_ms(), detail_json(job, **view)),
               kJson);
}

HttpReply DashboardService::show_progress(const StoredJob& job) {
  const auto view = view_of(job);
  if (!view) return of_store(view.error());
  auto points = store_.progress(job.name);
  if (!points) return of_store(points.error());
  std::erase_if(*points, [began = (*view)->began_ms](const StoredProgress& point) {
    return point.time_ms < began;  // of an earlier run
  });
  return reply(200, curves_json(job.name, curves_of(*points)) + "\n", kJson);
}

HttpReply DashboardService::open_stream(uint64_t client) {
  if (streams_.size() >= kMaxStreams) {
    close_(streams_.front());
    streams_.erase(streams_.begin());
  }
  streams_.push_back(client);
  HttpReply answer = reply(200, "retry: 2000\n\n", "text/event-stream");
  answer.stream = true;
  return answer;
}

void DashboardService::tell_changes() {
  nlohmann::json names = nlohmann::json::array();
  for (const std::string& name : changed_) names.push_back(name);
  changed_.clear();
  push_all("event: changed\ndata: " + dump_json({{"jobs", names}}) + "\n\n");
}

void DashboardService::keep_streams() { push_all(": still here\n\n"); }

void DashboardService::push_all(std::string_view bytes) {
  std::erase_if(streams_, [this, bytes](uint64_t client) { return !push_(client, bytes); });
}

}  // namespace muster::launcher
