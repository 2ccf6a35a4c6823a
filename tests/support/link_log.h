// LinkLog: what a Link told its owner, in order and as text.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "rendezvous/wire/control_protocol.h"
#include "rendezvous/wire/link.h"

namespace muster::testing {

struct LinkLog {
  std::vector<std::string> events;  // "open", "ack", "heartbeat 7", "closed: why"
  std::vector<rendezvous::Message> messages;
  Error error;  // of on_closed
  std::function<void()> on_open = [] {};
  std::function<void(const rendezvous::Message&)> on_message = [](const auto&) {};

  /// They refer to this log, which must outlive the link.
  rendezvous::LinkHandlers handlers() {
    return {[this] {
              events.emplace_back("open");
              on_open();
            },
            [this](rendezvous::Message message) {
              events.emplace_back(rendezvous::name_of(message));
              const auto* beat = std::get_if<rendezvous::Heartbeat>(&message);
              if (beat != nullptr) events.back() += " " + std::to_string(beat->sequence);
              messages.push_back(message);
              on_message(message);
            },
            [this](const Error& why) {
              events.push_back("closed: " + why.text);
              error = why;
            }};
  }
};

}  // namespace muster::testing
