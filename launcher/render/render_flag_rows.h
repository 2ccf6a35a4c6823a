// How a row of the flags of `muster render` names the field that it fills, and the groups of rows,
// one for each subject. For render_flags*.cc alone.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "launcher/options/choice.h"
#include "launcher/render/render_flags.h"
#include "launcher/render/render_request.h"

namespace muster::launcher {

inline RenderRequest& part_with(RenderRequest& request, const RenderRequest*) { return request; }
inline JobFlags& part_with(RenderRequest& request, const JobFlags*) { return request.job; }
inline ContainerFlags& part_with(RenderRequest& request, const ContainerFlags*) {
  return request.container;
}
inline SizeFlags& part_with(RenderRequest& request, const SizeFlags*) { return request.size; }
inline ResourceFlags& part_with(RenderRequest& request, const ResourceFlags*) {
  return request.resources;
}
inline StorageFlags& part_with(RenderRequest& request, const StorageFlags*) {
  return request.storage;
}
inline SchedulingFlags& part_with(RenderRequest& request, const SchedulingFlags*) {
  return request.scheduling;
}
inline AccessFlags& part_with(RenderRequest& request, const AccessFlags*) { return request.access; }
inline DoorFlags& part_with(RenderRequest& request, const DoorFlags*) { return request.doors; }

template <typename Part, typename Value>
Value& field_in(RenderRequest& request, Value Part::*field) {
  return part_with(request, static_cast<const Part*>(nullptr)).*field;
}

/// `kParse`: (std::string_view) -> Result of the field's type.
template <auto kField, auto kParse>
Status set_field(RenderRequest& request, std::string_view text) {
  auto value = kParse(text);
  if (!value) return std::move(value).error();
  field_in(request, kField) = *std::move(value);
  return {};
}

/// For flags that may be given several times.
template <auto kField, auto kParse>
Status add_to_field(RenderRequest& request, std::string_view text) {
  auto value = kParse(text);
  if (!value) return std::move(value).error();
  field_in(request, kField).push_back(*std::move(value));
  return {};
}

inline Result<bool> as_switch(std::string_view text) {
  if (text != "true" && text != "false") return wrong("must be true or false");
  return text == "true";
}

Result<int> as_number(std::string_view text, int least, int most);
template <int kLeast, int kMost>
Result<int> as_number_within(std::string_view text) {
  return as_number(text, kLeast, kMost);
}

[[nodiscard]] std::span<const RenderFlag> job_rows();
[[nodiscard]] std::span<const RenderFlag> container_rows();
[[nodiscard]] std::span<const RenderFlag> size_rows();
[[nodiscard]] std::span<const RenderFlag> resource_rows();
[[nodiscard]] std::span<const RenderFlag> storage_rows();
[[nodiscard]] std::span<const RenderFlag> scheduling_rows();
[[nodiscard]] std::span<const RenderFlag> access_rows();
[[nodiscard]] std::span<const RenderFlag> door_rows();

}  // namespace muster::launcher
