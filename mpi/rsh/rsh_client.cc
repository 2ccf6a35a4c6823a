#include "mpi/rsh/rsh_client.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <utility>

namespace muster::mpi {

namespace {

constexpr std::array kForwarded = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
constexpr std::string_view kOwnAgent = "this node's agent: ";

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

void RshClient::start() {
  channel_ = RshChannel::over(
      setup_.loop, std::move(setup_.agent), "the agent",
      {.on_open = [this] { call(); },
       .on_message = [this](RshMessage message) { on_message(std::move(message)); },
       .on_closed = [this](const Error& error) { on_closed(error); }});
}

void RshClient::call() {
  channel_->send(rsh::Call{setup_.call.host, setup_.call.command, setup_.call.user});
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
    finish(refused->code, refused->reason);
  } else {
    fail("a message that only callers send");
  }
}

void RshClient::take_data(const rsh::Data& data) {
  if (data.stream == RshStream::kStdin) return fail("data for its own stdin");
  if (auto taken = sink(data.stream).data(data.bytes); !taken) fail(taken.error().text);
}

void RshClient::on_closed(const Error& error) {
  // After the exit code only our own reader is waited for.
  if (exit_code_) return;
  fail(error.text);
}

void RshClient::handle_signal(int signal) {
  if (std::find(kForwarded.begin(), kForwarded.end(), signal) == kForwarded.end()) return;
  // The command is over; only our own reader, who does not read, is still waited for.
  if (exit_code_) return finish(*exit_code_, "");
  channel_->send(rsh::Signal{static_cast<uint8_t>(signal)});
}

void RshClient::caller_gone() { finish(kRshFailed, ""); }

// ---- the end

void RshClient::finish_when_written() {
  if (exit_code_ && stdout_.is_idle() && stderr_.is_idle()) finish(*exit_code_, "");
}

void RshClient::fail(const std::string& why) { finish(kRshFailed, std::string(kOwnAgent) + why); }

// From a turn of its own, and once: the owner may destroy this.
void RshClient::finish(int exit_code, const std::string& why) {
  if (!done_) return;
  next_ =
      setup_.loop.soon([done = std::exchange(done_, {}), exit_code, why] { done(exit_code, why); });
}

}  // namespace muster::mpi
