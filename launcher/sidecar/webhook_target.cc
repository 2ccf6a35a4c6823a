#include "launcher/sidecar/webhook_target.h"

#include <algorithm>
#include <utility>

#include "base/gzip.h"
#include "base/log.h"

namespace muster::launcher {

WebhookTarget::WebhookTarget(SidecarDoors doors, std::string shown, Url url,
                             HttpCredentials credentials, DeadLetters dead_letters,
                             Duration retry_max)
    : doors_(doors),
      shown_(std::move(shown)),
      caller_(doors, std::move(url), std::move(credentials)),
      retry_(doors, shown_, retry_max),
      dead_letters_(std::move(dead_letters)) {}

// The queue begins behind what was told before.
void WebhookTarget::begin(const JournalMark& /*told*/, Settled settled) {
  settled_ = std::move(settled);
}

void WebhookTarget::take(JournalEvent event) { queue_.push(std::move(event)); }

void WebhookTarget::caught_up() { send_next(); }

void WebhookTarget::send_next() {
  if (queue_.is_empty() || queue_.under_way() > 0 || retry_.is_waiting()) return;
  caller_.call(make_request(), kWebhookDeadline,
               [this](const Result<HttpResponse>& answer) { on_answer(answer); });
}

HttpRequest WebhookTarget::make_request() {
  HttpRequest request;
  request.body = queue_.take_body(limit_bytes_);
  body_bytes_ = request.body.size();
  request.headers = {{"Content-Type", "application/json"}};
  compressed_ = false;
  if (plain_ || request.body.size() < kCompressBytes) return request;
  // What cannot be compressed goes as it is.
  if (auto smaller = gzip(request.body); smaller) {
    request.body = *std::move(smaller);
    request.headers.push_back({"Content-Encoding", "gzip"});
    compressed_ = true;
  }
  return request;
}

void WebhookTarget::on_answer(const Result<HttpResponse>& answer) {
  if (!answer) return again(answer);
  const Verdict verdict = webhook_verdict(answer->status, queue_.under_way(), compressed_);
  if (verdict != Verdict::kAgain && verdict != Verdict::kAnew) retry_.succeeded();
  switch (verdict) {
    case Verdict::kTaken:
      limit_bytes_ = std::min(2 * limit_bytes_, kMaxBodyBytes);
      return settle();
    case Verdict::kAgain:
      return again(answer);
    case Verdict::kAnew:
      caller_.forget_connection();
      return again(answer);
    case Verdict::kLess:
      limit_bytes_ = body_bytes_ / 2;
      queue_.put_back();
      return send_next();
    case Verdict::kPlain:
      plain_ = true;
      queue_.put_back();
      return send_next();
    case Verdict::kDeadLetter:
      return bury(*answer);
  }
}

void WebhookTarget::again(const Result<HttpResponse>& answer) {
  queue_.put_back();
  retry_.wait(problem_of(answer),
              answer ? asked_wait(*answer, doors_.clock.wall_now()) : std::nullopt,
              [this] { send_next(); });
}

void WebhookTarget::settle() {
  const JournalMark last = queue_.pop().back().mark;
  settled_(last);
  send_next();
}

// Those behind it do not wait for it.
void WebhookTarget::bury(const HttpResponse& answer) {
  const auto events = queue_.pop();
  const Status kept = dead_letters_.add(events, answer.status, first_words(answer.body));
  if (!std::exchange(buried_, true) || !kept) {
    log::warning(kEventDeadLetter, {{"target", shown_},
                                    {"error", problem_of(answer)},
                                    {"events", events.size()},
                                    {"first_seq", events.front().mark.seq},
                                    {"file", kept ? dead_letters_.path() : ""},
                                    {"lost", kept ? "" : kept.error().text},
                                    {"action", "going on with those that follow"}});
  }
  settled_(events.back().mark);
  send_next();
}

}  // namespace muster::launcher
