#include "launcher/status_port/status_port.h"

#include <algorithm>
#include <utility>

namespace muster::launcher {

namespace {

constexpr std::string_view kText = "text/plain; charset=utf-8";
constexpr std::string_view kPages =
    "/metrics  for Prometheus\n"
    "/status   the job as one JSON object\n"
    "/healthz  200 while this agent is at work\n"
    "/readyz   200 until it is told to go\n"
    "/events   server-sent events\n";
// How long a browser waits before it asks again.
constexpr std::string_view kRetry = "retry: 2000\n\n";

HttpReply text(int status, std::string_view body) {
  return {.status = status, .body = std::string(body), .content_type = kText};
}

}  // namespace

StatusPort::StatusPort(Loop& loop, Network& network, EventRing& events, StatusSources sources)
    : loop_(loop),
      events_(events),
      sources_(std::move(sources)),
      port_(loop, network, kMaxStatusClients,
            [this](const HttpCall& call) { return answer(call); }) {
  events_.on_event([this](std::string_view event) { push(event); });
}

StatusPort::~StatusPort() { events_.on_event({}); }

HttpReply StatusPort::answer(const HttpCall& call) {
  if (call.method != "GET" && call.method != "HEAD") {
    HttpReply refused = text(405, "read only: GET and HEAD\n");
    refused.headers = {{"Allow", "GET, HEAD"}};
    return refused;
  }
  HttpReply reply = page(call, std::string_view(call.path).substr(0, call.path.find('?')));
  reply.headers.push_back({"Cache-Control", "no-store"});
  return reply;
}

HttpReply StatusPort::page(const HttpCall& call, std::string_view path) {
  if (path == "/metrics") {
    const ExpositionFormat format = format_for(header_of(call.headers, "Accept"));
    return {.body = sources_.metrics(format), .content_type = content_type(format)};
  }
  if (path == "/status")
    return {.body = sources_.status() + "\n", .content_type = "application/json"};
  // An answer is all that says whether the loop turns.
  if (path == "/healthz") return text(200, "ok\n");
  // Not whether the other nodes are here: they may wait for this one to be ready.
  if (path == "/readyz")
    return sources_.is_stopping() ? text(503, "stopping\n") : text(200, "ready\n");
  if (path == "/events") return events(call);
  if (path == "/") return text(200, kPages);
  return text(404, kPages);
}

HttpReply StatusPort::events(const HttpCall& call) {
  HttpReply reply{.content_type = "text/event-stream"};
  if (call.method == "HEAD") return reply;
  if (readers_.size() >= kMaxEventReaders) {
    reply = text(503, "too many read events already\n");
    reply.headers = {{"Retry-After", "10"}};
    return reply;
  }
  reply.body = std::string(kRetry) + events_.since(header_of(call.headers, "Last-Event-ID"));
  reply.stream = true;
  readers_.push_back(call.client);
  arm_comment();
  return reply;
}

// Who is gone, or lags too far behind, is no reader any more.
void StatusPort::push(std::string_view event) {
  std::erase_if(readers_, [this, event](uint64_t client) { return !port_.push(client, event); });
}

void StatusPort::arm_comment() {
  if (comment_.is_active()) return;
  comment_ = loop_.after(kStreamComment, [this] {
    push(":\n\n");
    if (!readers_.empty()) arm_comment();
  });
}

}  // namespace muster::launcher
