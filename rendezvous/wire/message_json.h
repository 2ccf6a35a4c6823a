// The control protocol's messages as JSON: one list of fields per message serves both directions.
// Frames around them, and the limits: control_protocol.h, whose source is the only user.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "rendezvous/messages/control_messages.h"

namespace muster::rendezvous {

/// Appends it as a JSON object. Texts and lists are cut to their limits.
void append_message(std::string& out, const Message& message);

/// kProtocol: not JSON, unknown type, a field missing, of another kind or out of range. Unknown
/// fields are ignored.
Result<Message> parse_message(std::string_view text);

}  // namespace muster::rendezvous
