#include "launcher/rsh/rsh_client.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <utility>

namespace muster::launcher {

namespace {

constexpr std::array kForwarded = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
constexpr int kSignalBase = 128;

}  // namespace

RshClient::RshClient(RshClientSetup setup, Done done)
    : setup_(std::move(setup)),
      done_(std::move(done)),
      stdin_(setup_.loop, RshStream::kStdin,
             [this](const RshMessage& message) { channel_->send(message); }),
      stdout_(setup_.loop, RshStream::kStdout,
              [this](const RshMessage& message) { channel_->send(message); }),
      stderr_(setup_.loop, RshStream::kStderr,
              [this](const RshMessage& message) { channel_->send(message); }) {
  stdout_.begin(std::move(setup_.stdout_target));
  stderr_.begin(std::move(setup_.stderr_target));
  for (RshSink* sink : {&stdout_, &stderr_}) sink->on_idle([this] { finish_when_written(); });
}

void RshClient::start() { ask(); }

// ---- where is it?

void RshClient::ask() {
  asking_ = RshChannel::dial(setup_.loop, setup_.network, setup_.agent, setup_.tls,
                             {.on_open = [this] { asking_->send(rsh::Lookup{setup_.call.host}); },
                              .on_message = [this](const RshMessage& message) { answer(message); },
                              .on_closed =
                                  [this](const Error& error) {
                                    if (!asking_->is_finishing())
                                      fail("this node's agent: " + error.text);
                                  }});
}

void RshClient::answer(const RshMessage& message) {
  if (const auto* refused = std::get_if<rsh::Refused>(&message)) return fail(refused->reason);
  const auto* found = std::get_if<rsh::Found>(&message);
  if (found == nullptr) return fail("this node's agent: no answer but something else");
  if (!found->node.empty() && parse_numeric_host(found->host)) {
    asking_->finish();
    return call(*found);
  }
  fail("this node's agent: a node without an address");
}

// ---- the call

void RshClient::call(const rsh::Found& found) {
  found_ = found;
  channel_ = RshChannel::dial(
      setup_.loop, setup_.network, {found.host, found.port}, setup_.tls,
      {.on_open = [this] { run(); },
       .on_message = [this](RshMessage message) { on_message(std::move(message)); },
       .on_closed = [this](const Error& error) { on_closed(error); }});
}

void RshClient::run() {
  running_ = true;
  channel_->send(rsh::Run{found_.run_id, found_.caller, setup_.call.command});
  if (setup_.stdin_fd.is_open()) {
    stdin_.begin(std::move(setup_.stdin_fd), [] {});
  } else {
    channel_->send(rsh::End{RshStream::kStdin});
  }
}

void RshClient::on_message(RshMessage message) {
  if (const auto* data = std::get_if<rsh::Data>(&message)) {
    take_data(*data);
  } else if (const auto* end = std::get_if<rsh::End>(&message)) {
    sink(end->stream).end();
  } else if (const auto* credit = std::get_if<rsh::Credit>(&message)) {
    stdin_.credit(credit->bytes);
  } else if (std::holds_alternative<rsh::Gone>(message)) {
    stdin_.stop();
  } else if (const auto* exit = std::get_if<rsh::Exit>(&message)) {
    exit_code_ = exit->code;
    stdin_.stop();
    channel_->finish();
    finish_when_written();
  } else if (const auto* refused = std::get_if<rsh::Refused>(&message)) {
    fail(found_.node + ": " + refused->reason);
  } else {
    fail(found_.node + ": a message that only callers send");
  }
}

void RshClient::take_data(const rsh::Data& data) {
  if (data.stream == RshStream::kStdin) return fail(found_.node + ": data for its own stdin");
  if (auto taken = sink(data.stream).data(data.bytes); !taken)
    fail(found_.node + ": " + taken.error().text);
}

void RshClient::on_closed(const Error& error) {
  // After the exit code only our own reader is waited for.
  if (exit_code_) return;
  fail(found_.node + ": " + error.text);
}

void RshClient::handle_signal(int signal) {
  if (std::find(kForwarded.begin(), kForwarded.end(), signal) == kForwarded.end()) return;
  if (!running_) return finish(kSignalBase + signal, "");
  // The command is over; only our own reader, who does not read, is still waited for.
  if (exit_code_) return finish(*exit_code_, "");
  channel_->send(rsh::Signal{static_cast<uint8_t>(signal)});
}

void RshClient::caller_gone() { finish(kRshFailed, ""); }

// ---- the end

void RshClient::finish_when_written() {
  if (exit_code_ && stdout_.is_idle() && stderr_.is_idle()) finish(*exit_code_, "");
}

void RshClient::fail(const std::string& why) { finish(kRshFailed, why); }

// From a turn of its own, and once: the owner may destroy this.
void RshClient::finish(int exit_code, const std::string& why) {
  if (!done_) return;
  next_ = setup_.loop.at(setup_.loop.now(), [done = std::exchange(done_, {}), exit_code, why] {
    done(exit_code, why);
  });
}

}  // namespace muster::launcher
