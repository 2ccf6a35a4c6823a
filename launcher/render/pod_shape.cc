#include "launcher/render/pod_shape.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>

#include "base/json.h"
#include "launcher/manifest/field.h"
#include "launcher/options/choice.h"
#include "launcher/render/names.h"
#include "launcher/render/render_values.h"

namespace muster::launcher {

namespace {

using nlohmann::json;

enum class Type { kObject, kText, kWord, kNumber, kList, kName, kPort, kPortOrName, kHostFolder };

struct Shape {
  std::string_view path;  // "[]" = each item, "*" = each field
  Type type;
};
constexpr Shape kPod[] = {
    {"metadata", Type::kObject},
    {"metadata.labels", Type::kObject},
    {"metadata.annotations", Type::kObject},
    {"spec", Type::kObject},
    {"spec.securityContext", Type::kObject},
    {"spec.terminationGracePeriodSeconds", Type::kNumber},
    {"spec.volumes", Type::kList},
    {"spec.volumes.[]", Type::kObject},
    {"spec.volumes.[].name", Type::kName},
    {"spec.volumes.[].hostPath", Type::kObject},
    {"spec.volumes.[].hostPath.path", Type::kHostFolder},
};
constexpr Shape kContainer[] = {
    {"", Type::kObject},
    {"name", Type::kName},
    {"command", Type::kList},
    {"command.[]", Type::kWord},
    {"args", Type::kList},
    {"args.[]", Type::kWord},
    {"env", Type::kList},
    {"env.[]", Type::kObject},
    {"env.[].name", Type::kText},
    {"ports", Type::kList},
    {"ports.[]", Type::kObject},
    {"ports.[].containerPort", Type::kPort},
    {"ports.[].hostPort", Type::kPort},
    {"*.httpGet.port", Type::kPortOrName},  // of a probe
    {"*.tcpSocket.port", Type::kPortOrName},
    {"*.grpc.port", Type::kPort},
    {"lifecycle.*.httpGet.port", Type::kPortOrName},
    {"volumeMounts", Type::kList},
    {"volumeMounts.[]", Type::kObject},
    {"volumeMounts.[].name", Type::kText},
    {"volumeMounts.[].mountPath", Type::kText},
    {"resources", Type::kObject},
    {"resources.limits", Type::kObject},
    {"resources.requests", Type::kObject},
    {"securityContext", Type::kObject},
    {"securityContext.capabilities", Type::kObject},
    {"securityContext.capabilities.add", Type::kList},
    {"securityContext.capabilities.drop", Type::kList},
};

std::string_view name_of(Type type) {
  switch (type) {
    case Type::kObject:
      return "fields with values";
    case Type::kText:
    case Type::kWord:
      return "a text";
    case Type::kNumber:
      return "a whole number, without quotes";
    case Type::kList:
      return "a list";
    case Type::kName:
      return "at most 63 of a-z, 0-9 and '-', a letter or digit at both ends";
    case Type::kPort:
      return "a number from 1 to 65535, without quotes";
    case Type::kPortOrName:
      return "a port's name, or a number from 1 to 65535 without quotes";
    case Type::kHostFolder:
      return "an absolute path without '..'";
  }
  return "";
}

bool is_port(const json& value) {
  return value.is_number_integer() && value >= 1 && value <= UINT16_MAX;
}

bool is_of(const json& value, Type type) {
  switch (type) {
    case Type::kObject:
      return value.is_object();
    case Type::kText:
      return value.is_string();
    case Type::kWord:  // is made a text
      return value.is_primitive() && !value.is_null();
    case Type::kNumber:
      return value.is_number_integer();
    case Type::kList:
      return value.is_array();
    case Type::kName:
      return value.is_string() && as_dns_label(value.get_ref<const std::string&>());
    case Type::kPort:
      return is_port(value);
    case Type::kPortOrName:
      return is_port(value) ||
             (value.is_string() && as_port_name(value.get_ref<const std::string&>()));
    case Type::kHostFolder:
      return value.is_string() && is_absolute_path(value.get_ref<const std::string&>());
  }
  return false;
}

// What is not there is right.
Status check(const json& value, std::string_view rest, Type type, const std::string& path) {
  if (rest.empty())
    return is_of(value, type) ? Status() : Status(Field(&value, path).wrong(name_of(type)));
  const size_t dot = rest.find('.');
  const std::string word(rest.substr(0, dot));
  rest = dot == std::string_view::npos ? "" : rest.substr(dot + 1);
  if (word == "[]") {
    for (size_t i = 0; i < value.size() && value.is_array(); ++i)
      MUSTER_RETURN_IF_ERROR(check(value[i], rest, type, path + "[" + std::to_string(i) + "]"));
    return {};
  }
  if (word == "*") {
    for (auto field = value.begin(); field != value.end() && value.is_object(); ++field)
      MUSTER_RETURN_IF_ERROR(check(*field, rest, type, path + "." + field.key()));
    return {};
  }
  const auto field = value.is_object() ? value.find(word) : value.end();
  return field == value.end() ? Status() : check(*field, rest, type, path + "." + word);
}

// As deep as the YAML, whose reader has a limit.
void drop_nulls(json& value) {
  if (value.is_object())
    for (auto field = value.begin(); field != value.end();)
      field = field->is_null() ? value.erase(field) : std::next(field);
  if (value.is_structured())
    for (json& item : value) drop_nulls(item);
}

}  // namespace

// A number or a boolean without quotes, where Kubernetes wants a text.
void make_text(json& value) {
  if (value.is_primitive() && !value.is_string() && !value.is_null()) value = dump_json(value);
}

void make_texts(json& pod) {
  json& metadata = pod["metadata"];
  for (const char* const map : {"labels", "annotations"})
    if (metadata.is_object() && metadata.contains(map) && metadata[map].is_object())
      for (json& value : metadata[map]) make_text(value);
  if (metadata.is_null()) pod.erase("metadata");
  for (const char* const list : {"containers", "initContainers"}) {
    if (!pod["spec"].contains(list)) continue;
    for (json& container : pod["spec"][list]) {
      for (const char* const words : {"command", "args"})
        if (container.contains(words)) std::ranges::for_each(container[words], make_text);
      if (container.contains("env"))
        for (json& variable : container["env"])
          if (variable.contains("value")) make_text(variable["value"]);
    }
  }
}

Status check_pod(PodForm& pods) {
  drop_nulls(pods.pod);
  for (const Shape& shape : kPod)
    MUSTER_RETURN_IF_ERROR(check(pods.pod, shape.path, shape.type, pods.role));
  for (const std::string_view list : {"spec.containers", "spec.initContainers"}) {
    const std::string name(list);
    MUSTER_RETURN_IF_ERROR(check(pods.pod, name, Type::kList, pods.role));
    for (const Shape& shape : kContainer) {
      const std::string path = name + ".[]" + (shape.path.empty() ? "" : ".");
      MUSTER_RETURN_IF_ERROR(
          check(pods.pod, path + std::string(shape.path), shape.type, pods.role));
    }
  }
  const json spec = pods.pod.is_object() ? pods.pod.value("spec", json()) : json();
  if (!spec.is_object() || spec.value("containers", json()).empty())
    return wrong(pods.role + ".spec.containers: there must be one");
  const json grace = spec.value("terminationGracePeriodSeconds", json());
  if (grace.is_number() && grace < 0)
    return wrong(pods.role + ".spec.terminationGracePeriodSeconds: '" + dump_json(grace) +
                 "' must be 0 or more");
  make_texts(pods.pod);
  return check_labels(Field(&pods.pod, pods.role)["metadata"]);
}

}  // namespace muster::launcher
