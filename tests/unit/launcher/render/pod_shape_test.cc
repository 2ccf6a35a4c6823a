#include "launcher/render/pod_shape.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/job_form_fixture.h"

namespace muster::launcher {
namespace {

using nlohmann::json;

std::string problem(const char* where, json value) {
  PodForm pods{"worker", 1, plain_pod()};
  pods.pod[json::json_pointer(where)] = std::move(value);
  const auto checked = check_pod(pods);
  return checked ? "" : checked.error().text;
}

TEST(PodShape, AWrongTypeIsNamedByItsPath) {
  EXPECT_EQ(problem("/spec/securityContext", 5),
            "worker.spec.securityContext: '5' must be fields with values");
  EXPECT_EQ(problem("/spec/containers/0/env", json::array({{{"name", 1}}})),
            "worker.spec.containers[0].env[0].name: '1' must be a text");
  EXPECT_EQ(problem("/spec/containers/0/resources", {{"limits", "all"}}),
            "worker.spec.containers[0].resources.limits: '\"all\"' must be fields with values");
  EXPECT_EQ(problem("/spec/terminationGracePeriodSeconds", "30s"),
            "worker.spec.terminationGracePeriodSeconds: '\"30s\"' must be a whole number");
  EXPECT_EQ(problem("/spec/terminationGracePeriodSeconds", -5),
            "worker.spec.terminationGracePeriodSeconds: '-5' must be 0 or more");
  EXPECT_EQ(problem("/spec/initContainers", json::array({"sync"})),
            "worker.spec.initContainers[0]: '\"sync\"' must be fields with values");
  EXPECT_EQ(problem("/spec/containers", json::array()),
            "worker.spec.containers: there must be one");
  EXPECT_EQ(problem("/spec", 1), "worker.spec: '1' must be fields with values");
  EXPECT_EQ(problem("/spec", nullptr), "worker.spec.containers: there must be one");
}

TEST(PodShape, WhatMustBeATextIsMadeOne) {
  PodForm pods{"worker", 1, plain_pod()};
  pods.pod["metadata"] = {{"labels", {{"rank", 1}}}, {"annotations", {{"on", true}}}};
  pods.pod["spec"]["containers"][0]["env"] = json::array({{{"name", "A"}, {"value", 0.5}}});
  EXPECT_TRUE(check_pod(pods));
  EXPECT_EQ(pods.pod["metadata"]["labels"]["rank"], "1");
  EXPECT_EQ(pods.pod["metadata"]["annotations"]["on"], "true");
  EXPECT_EQ(pods.pod["spec"]["containers"][0]["env"][0]["value"], "0.5");
}

TEST(PodShape, WhatIsNotThereIsRight) {
  EXPECT_EQ(problem("/metadata", json::object()), "");
  PodForm pods{"worker", 1, plain_pod()};
  pods.pod["spec"]["containers"][0]["env"] = nullptr;
  pods.pod["metadata"]["labels"] = nullptr;
  EXPECT_TRUE(check_pod(pods));
  EXPECT_FALSE(pods.pod["spec"]["containers"][0].contains("env"));
  EXPECT_FALSE(pods.pod["metadata"].contains("labels"));
}

}  // namespace
}  // namespace muster::launcher
