// Flags of where pods run, as whom, and who reaches them or hears of them.
#include <unistd.h>

#include <algorithm>

#include "base/socket.h"
#include "base/text.h"
#include "launcher/render/render_flag_rows.h"
#include "launcher/render/render_values.h"
#include "launcher/sidecar/report_target.h"
#include "launcher/sidecar/url.h"

namespace muster::launcher {

namespace {

Result<TolerationFlag> as_toleration(std::string_view text) {
  constexpr Choice<std::string_view> kEffects[] = {{"NoExecute", "NoExecute"},
                                                   {"NoSchedule", "NoSchedule"},
                                                   {"PreferNoSchedule", "PreferNoSchedule"}};
  TolerationFlag toleration;
  if (const size_t colon = text.rfind(':'); colon != std::string_view::npos) {
    const auto effect = choose(text.substr(colon + 1), kEffects);
    if (!effect) return Error(effect.error()).with_context("the effect");
    toleration.effect = *effect;
    text = text.substr(0, colon);
  }
  const size_t equals = text.find('=');
  auto key = as_label_key(text.substr(0, equals));
  if (!key) return std::move(key).error().with_context("the key");
  toleration.key = *std::move(key);
  if (equals == std::string_view::npos) return toleration;
  auto value = as_label_value(text.substr(equals + 1));
  if (!value) return std::move(value).error().with_context("the value");
  toleration.value = *std::move(value);
  return toleration;
}

Result<TopologyFlag> as_topology(std::string_view text) {
  const size_t equals = text.find('=');
  auto key = as_label_key(text.substr(0, equals));
  const std::string_view how =
      equals == std::string_view::npos ? std::string_view() : text.substr(equals + 1);
  if (!key) return std::move(key).error().with_context("the key");
  if (how != "required" && how != "preferred")
    return wrong("must be KEY=required or KEY=preferred");
  return TopologyFlag{*std::move(key), how == "required"};
}

// A node's affinity holds at most so many, each with a weight of its own.
constexpr size_t kMaxPools = 100;

Status add_pools(RenderRequest& request, std::string_view text) {
  std::vector<std::string>& pools = request.scheduling.node_pools;
  for (const std::string_view part : split(text, ',')) {
    if (part.empty()) return wrong("must be names with ',' between");
    auto name = as_label_value(part);
    if (!name) return std::move(name).error();
    pools.push_back(*std::move(name));
  }
  return pools.size() > kMaxPools ? wrong("must be at most 100 names") : Status();
}

// The user who calls, with the groups that the kernel knows: there is no NSS here.
Status set_caller(RenderRequest& request, std::string_view text) {
  const auto wanted = as_switch(text);
  if (!wanted) return Error(wanted.error());
  AccessFlags& access = request.access;
  access.as_caller = *wanted;
  if (!access.as_caller) return {};
  const int count = getgroups(0, nullptr);
  std::vector<gid_t> groups(static_cast<size_t>(std::max(count, 0)));
  if (count < 0 || getgroups(count, groups.data()) < 0) return os_error("getgroups()");
  access.caller_uid = getuid();
  access.caller_gid = getgid();
  access.caller_groups.assign(groups.begin(), groups.end());
  return {};
}

Result<int> as_port(std::string_view text) { return as_number(text, 1, 65535); }

Result<NodePortFlag> as_node_port(std::string_view text) {
  constexpr int kLeast = 30000;
  constexpr int kMost = 32767;
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos) return wrong("must be PORT:NODEPORT");
  auto port = as_port(text.substr(0, colon));
  auto node_port = as_number(text.substr(colon + 1), kLeast, kMost);
  if (!port) return std::move(port).error().with_context("PORT");
  if (!node_port) return std::move(node_port).error().with_context("NODEPORT");
  return NodePortFlag{*port, *node_port};
}

// Source: pkg/apis/networking/validation.
bool is_ingress_path(std::string_view path) {
  constexpr std::string_view kRefused[] = {"//", "/./", "/../", "%2f", "%2F", "?"};
  return !path.ends_with("/.") && !path.ends_with("/..") &&
         std::ranges::none_of(kRefused, [path](std::string_view part) {
           return path.find(part) != std::string_view::npos;
         });
}

// An Ingress listens on the usual ports alone, and knows hosts by their names.
Result<ExternalUrlFlag> as_external_url(std::string_view text) {
  constexpr uint16_t kPlainPort = 80;
  constexpr uint16_t kSecurePort = 443;
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos) return wrong("must be PORT=URL");
  auto port = as_port(text.substr(0, equals));
  if (!port) return std::move(port).error().with_context("PORT");
  const auto url = parse_url(text.substr(equals + 1));
  if (!url) return Error(url.error());
  if (!as_object_name(url->host) || parse_numeric_host(url->host) ||
      url->port != (url->secure ? kSecurePort : kPlainPort))
    return wrong("URL must be http(s)://HOST[/PATH], HOST a name in small letters without a port");
  if (!is_ingress_path(url->path))
    return wrong("URL must be http(s)://HOST[/PATH], PATH without '//', '.', '..', '%2f' and '?'");
  return ExternalUrlFlag{*port, url->host, url->path, url->secure};
}

Result<std::string> as_sink(std::string_view text) {
  const auto targets = parse_reports(text);
  if (!targets) return Error(targets.error());
  if (targets->size() != 1)
    return wrong("must be one of webhook=URL, trainjob, annotation, stdout");
  return targets->front().text;
}

Status set_token(RenderRequest& request, std::string_view text) {
  auto secret = as_secret_key(text);
  if (!secret) return std::move(secret).error();
  request.doors.token_secret = std::move(secret->first);
  request.doors.token_key = std::move(secret->second);
  return {};
}

constexpr RenderFlag kScheduling[] = {
    {"node-type", 0, "TYPE", set_field<&SchedulingFlags::node_type, as_label_value>,
     "only nodes with the label run.ai/type=TYPE"},
    {"node-pool", 0, "A,B", add_pools,
     "nodes with the label kai.scheduler/node-pool=A rather than B"},
    {"toleration", 0, "TAINT", add_to_field<&SchedulingFlags::tolerations, as_toleration>,
     "KEY[=VALUE][:EFFECT]; NoExecute, NoSchedule, PreferNoSchedule, none = any; again for each"},
    {"topology", 0, "KEY=HOW", add_to_field<&SchedulingFlags::topology, as_topology>,
     "required or preferred: all pods on nodes with one value of this label; again for each"},
    {"priority", 0, "NAME", set_field<&SchedulingFlags::priority, as_object_name>,
     "the pods' priority class"},
};

constexpr RenderFlag kAccess[] = {
    {"uid", 0, "N", set_field<&AccessFlags::uid, as_identity>, "user of the pods' processes"},
    {"gid", 0, "N", set_field<&AccessFlags::gid, as_identity>, "and their group"},
    {"supplemental-groups", 0, "1,2", set_field<&AccessFlags::groups, as_identities>,
     "and other groups"},
    {"run-as-user", 0, "", set_caller, "user and groups are those of whoever calls this"},
    {"create-home-dir", 0, "", set_field<&AccessFlags::home, as_switch>,
     "an empty HOME of the pod's own; true with --run-as-user"},
    {"prevent-privilege-escalation", 0, "", set_field<&AccessFlags::prevent_escalation, as_switch>,
     "allowPrivilegeEscalation: false; =false allows it"},
    {"host-ipc", 0, "", set_field<&AccessFlags::host_ipc, as_switch>, "the host's IPC namespace"},
    {"host-network", 0, "", set_field<&AccessFlags::host_network, as_switch>, "the host's network"},
};

constexpr RenderFlag kDoors[] = {
    {"node-port", 0, "PORT:NODEPORT", add_to_field<&DoorFlags::node_ports, as_node_port>,
     "PORT of the first pod on each node, 30000 to 32767; again for each"},
    {"external-url", 0, "PORT=URL", add_to_field<&DoorFlags::urls, as_external_url>,
     "PORT of the first pod behind an Ingress; again for each"},
    {"report", 0, "SINK", add_to_field<&DoorFlags::sinks, as_sink>,
     "whom a sidecar tells what happens: webhook=URL, trainjob, annotation, stdout; again for "
     "each"},
    {"report-token", 0, "SECRET:KEY", set_token, "bearer token of the webhooks"},
};

}  // namespace

std::span<const RenderFlag> scheduling_rows() { return kScheduling; }
std::span<const RenderFlag> access_rows() { return kAccess; }
std::span<const RenderFlag> door_rows() { return kDoors; }

}  // namespace muster::launcher
