#include "nccl/checks/network_checks.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "base/text.h"

namespace muster::nccl {
namespace {

bool is_loopback(const NetworkInterface& interface) {
  return interface.kind == InterfaceKind::kLoopback;
}

bool is_link_local(const std::string& address) {
  return address.starts_with("169.254.") || to_lower(address).starts_with("fe80");
}

Verdicts find_duplicates(const Machine& machine) {
  std::map<std::string, std::vector<std::string>> holders;
  for (const NetworkInterface& interface : machine.interfaces) {
    if (!interface.is_running || is_loopback(interface)) continue;
    for (const std::string& address : interface.addresses) {
      if (!is_link_local(address)) holders[address].push_back(interface.name);
    }
  }
  Verdicts verdicts;
  for (const auto& [address, names] : holders) {
    if (names.size() < 2) continue;
    verdicts.push_back({Severity::kWarning,
                        fmt::format("{} have the same address {}", join(names, " and "), address),
                        "give each interface its own"});
  }
  return verdicts;
}

// Every pod gets variables named after the services of its namespace, which may be a mesh's.
bool is_of_a_mesh(std::string_view name) {
  const bool is_service = name.find("_SERVICE_") != std::string_view::npos ||
                          name.find("_PORT") != std::string_view::npos;
  return (name.starts_with("ISTIO_") || name.starts_with("LINKERD")) && !is_service;
}

}  // namespace

Verdicts check_ifname_wrong(const CheckQuestion& question) {
  const auto& variables = question.plan.variables;
  const auto planned = std::ranges::find(variables, "NCCL_SOCKET_IFNAME", &PlannedVariable::name);
  if (planned == variables.end() || question.gpus == 0) return {};
  return {{Severity::kInfo,
           fmt::format("by itself NCCL would take {} for its sockets; muster run sets "
                       "NCCL_SOCKET_IFNAME={}",
                       join(default_socket_interfaces(question.machine()), ","),
                       planned->value.value_or("")),
           ""}};
}

Verdicts check_iface_down(const CheckQuestion& question) {
  const auto& interfaces = question.machine().interfaces;
  // Nothing is known of them, or nobody needs them.
  if (interfaces.empty() || !question.job.has_many_nodes) return {};
  Verdicts verdicts = find_duplicates(question.machine());
  const bool has_any = std::ranges::any_of(interfaces, [](const NetworkInterface& interface) {
    return !is_loopback(interface) && interface.is_running && !interface.addresses.empty();
  });
  if (has_any) return verdicts;
  std::vector<std::string> down;
  for (const NetworkInterface& interface : interfaces) {
    if (!is_loopback(interface)) down.push_back(interface.name);
  }
  verdicts.push_back(
      {down.empty() ? Severity::kWarning : Severity::kError,
       down.empty()
           ? "there is no network interface but loopback: no other node can be reached"
           : fmt::format("no network interface is up and has an address ({})", join(down, ", ")),
       "attach the container to a network"});
  return verdicts;
}

Verdicts check_dns_self(const CheckQuestion& question) {
  const auto& problem = question.probes.own_name_problem;
  if (!problem || problem->empty() || !question.job.has_many_nodes) return {};
  return {{Severity::kWarning,
           fmt::format("this node's name {} has no address: {}", question.machine().host_name,
                       *problem),
           "write it into /etc/hosts, or give the pod a headless service"}};
}

Verdicts check_ports(const CheckQuestion& question) {
  const auto& ports = question.node.kernel.ephemeral_ports;
  if (!ports || ports->count() >= kFewPorts) return {};
  return {{ports->count() < kLeastPorts ? Severity::kError : Severity::kWarning,
           fmt::format("{} ephemeral ports ({} to {}): NCCL and Gloo take some for each pair of "
                       "ranks",
                       ports->count(), ports->first, ports->last),
           "widen net.ipv4.ip_local_port_range (32768 60999 is usual)"}};
}

Verdicts check_conntrack(const CheckQuestion& question) {
  const KernelState& kernel = question.node.kernel;
  constexpr double kNearlyFull = 0.9;
  if (!kernel.tracked_connections || kernel.max_tracked_connections.value_or(0) == 0) return {};
  const double share = static_cast<double>(*kernel.tracked_connections) /
                       static_cast<double>(*kernel.max_tracked_connections);
  if (share < kNearlyFull) return {};
  return {{Severity::kWarning,
           fmt::format("the kernel tracks {} connections of at most {}: new ones will be dropped "
                       "at random",
                       *kernel.tracked_connections, *kernel.max_tracked_connections),
           "raise net.netfilter.nf_conntrack_max on the node"}};
}

Verdicts check_service_mesh(const CheckQuestion& question) {
  const KernelState& kernel = question.node.kernel;
  std::vector<std::string> signs;
  for (const auto& [name, setting] : question.node.fabric.settings.all()) {
    if (is_of_a_mesh(name)) {
      signs.push_back(name);
      break;
    }
  }
  if (kernel.has_mesh_files) signs.emplace_back("/etc/istio");
  for (const int port : kernel.mesh_ports)
    signs.push_back(fmt::format("a listener on port {}", port));
  // One port alone may be anybody's.
  const bool is_mesh = signs.size() > 1 || (signs.size() == 1 && kernel.mesh_ports.empty());
  if (!is_mesh) return {};
  return {{Severity::kError,
           fmt::format("a service mesh stands between the nodes ({}): it intercepts the "
                       "connections of NCCL, Gloo and MPI, and breaks them",
                       join(signs, ", ")),
           "disable injection for the pods of the job (sidecar.istio.io/inject: \"false\", "
           "linkerd.io/inject: disabled)"}};
}

}  // namespace muster::nccl
