// Forms of jobs as the tests of the writers need them.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "launcher/render/form_of_manifest.h"
#include "launcher/render/job_form.h"

namespace muster::launcher {

inline nlohmann::json plain_pod(const std::string& container = "trainer") {
  const nlohmann::json words = {"train.py"};
  return {
      {"spec", {{"containers", {{{"name", container}, {"image", "bert:1"}, {"args", words}}}}}}};
}

/// Of `pods` workers.
inline JobForm form_of_workers(int pods) {
  JobForm form;
  form.name = "bert";
  form.nodes = std::to_string(pods);
  form.pods.push_back({"worker", pods, plain_pod()});
  return form;
}

/// With a pod before them that has no ranks.
inline JobForm form_with_launcher(int workers) {
  JobForm form = form_of_workers(workers);
  form.framework = "mpi";
  form.launcher_has_ranks = false;
  form.pods.insert(form.pods.begin(), PodForm{"launcher", 1, plain_pod("mpi-launcher")});
  return form;
}

/// Value of a variable of the container that trains; "" = it has none.
inline std::string variable_of(const nlohmann::json& pod, const std::string& name) {
  for (const nlohmann::json& variable :
       pod["spec"]["containers"][0].value("env", nlohmann::json::array()))
    if (variable["name"] == name) return variable.value("value", "");
  return "";
}

/// "" = it is a form.
inline std::string problem_of(const std::string& manifest) {
  const auto form = form_of_manifest(manifest, "");
  return form ? "" : form.error().text;
}

/// What a JSON pointer leads to; null = nothing is there.
inline nlohmann::json at(const nlohmann::json& document, const std::string& pointer) {
  const nlohmann::json::json_pointer place(pointer);
  return document.is_object() && document.contains(place) ? document.at(place) : nlohmann::json();
}

}  // namespace muster::launcher
