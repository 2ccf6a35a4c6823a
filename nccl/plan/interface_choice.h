// InterfaceChoice: the interface for everything that libraries agree on beside the fast network:
// NCCL's bootstrap, Gloo, Horovod, UCX and Open MPI over TCP. One decision for all of them. And
// what NCCL would take if nobody told it. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "nccl/machine/machine.h"

namespace muster::nccl {

struct ControlInterface {
  std::string name;         ///< "" = nobody knows
  std::string reason;       ///< one clause: "the other nodes reach this one by it"
  std::string source;       ///< "route to node rank 0", "/etc/hosts", "default route"
  bool is_certain = false;  ///< it is known and not concluded
};

/// Before there is a round: the one that has the address of the own name in /etc/hosts, else the
/// default route's, else the only one that has an address. Never a loopback or a tunnel; a bridge
/// only with the default route.
[[nodiscard]] ControlInterface choose_control_interface(const Machine& machine);
/// In a round: the one by which the other nodes reach this one; "" = no name stands for it.
[[nodiscard]] ControlInterface reached_interface(std::string_view name);

/// Names of the interfaces that NCCL takes for its sockets without NCCL_SOCKET_IFNAME: those that
/// begin with "ib"; else all but docker*, lo* and virbr*; else these. Its bootstrap listens on the
/// first one alone. Source: ncclFindInterfaces() (NCCL 2.30).
[[nodiscard]] std::vector<std::string> default_socket_interfaces(const Machine& machine);

/// Names of those that it takes with this value of NCCL_SOCKET_IFNAME.
[[nodiscard]] std::vector<std::string> chosen_socket_interfaces(const Machine& machine,
                                                                std::string_view value);

/// Names of the interfaces that are up and have an address, for people: "eth0 10.0.1.2, net1".
[[nodiscard]] std::string describe_interfaces(const Machine& machine);

/// "127.0.1.1" and the like.
[[nodiscard]] bool is_loopback_text(std::string_view address);

}  // namespace muster::nccl
