// Every message of the control protocol (page: CONTROL_PROTOCOL.md; bytes: control_protocol.h).
#pragma once

#include <variant>

#include "rendezvous/messages/agent_messages.h"
#include "rendezvous/messages/exchange_messages.h"
#include "rendezvous/messages/leader_messages.h"

namespace muster::rendezvous {

using Message =
    std::variant<Hello, Join, Heartbeat, Started, Succeeded, Failed, Stopped, Leaving, Goodbye,
                 Welcome, Refuse, Ack, Waiting, Assign, Stop, Notice, Finish, Handover, StatusReply,
                 Contribution, Exchanged, RosterPart, Decided, LoneFailure, MayRestart, Quit>;

}  // namespace muster::rendezvous
