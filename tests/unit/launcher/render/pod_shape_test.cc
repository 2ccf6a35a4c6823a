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
            "worker.spec.containers[0].resources.limits: 'all' must be fields with values");
  EXPECT_EQ(problem("/spec/terminationGracePeriodSeconds", "30"),
            "worker.spec.terminationGracePeriodSeconds: '30' must be a whole number, without "
            "quotes");
  EXPECT_EQ(problem("/spec/terminationGracePeriodSeconds", -5),
            "worker.spec.terminationGracePeriodSeconds: '-5' must be 0 or more");
  EXPECT_EQ(problem("/spec/initContainers", json::array({"sync"})),
            "worker.spec.initContainers[0]: 'sync' must be fields with values");
  EXPECT_EQ(problem("/spec/containers", json::array()),
            "worker.spec.containers: there must be one");
  EXPECT_EQ(problem("/spec", 1), "worker.spec: '1' must be fields with values");
  EXPECT_EQ(problem("/spec", nullptr), "worker.spec.containers: there must be one");
}

TEST(PodShape, APortIsANumberWithinItsRange) {
  const std::string container = "worker.spec.containers[0].";
  const json ports[] = {0, 65536, -1, "8080", 1.5, true};
  for (const json& port : ports) {
    const json list = json::array({{{"containerPort", 80}}, {{"containerPort", port}}});
    const std::string said = problem("/spec/containers/0/ports", list);
    EXPECT_TRUE(said.starts_with(container + "ports[1].containerPort: ")) << said;
    EXPECT_TRUE(said.ends_with(" must be a number from 1 to 65535, without quotes")) << said;
  }
  for (const json& port : {json(1), json(65535), json("http"), json("http-2")})
    EXPECT_EQ(problem("/spec/containers/0/readinessProbe", {{"httpGet", {{"port", port}}}}), "");
  EXPECT_EQ(
      problem("/spec/containers/0/ports", json::array({{{"hostPort", 70000}}})),
      container + "ports[0].hostPort: '70000' must be a number from 1 to 65535, without quotes");
  EXPECT_EQ(problem("/spec/containers/0/livenessProbe", {{"httpGet", {{"port", "8080"}}}}),
            container +
                "livenessProbe.httpGet.port: '8080' must be a port's name, or a number from 1 to "
                "65535 without quotes");
  EXPECT_NE(problem("/spec/containers/0/startupProbe", {{"tcpSocket", {{"port", 0}}}}), "");
  EXPECT_NE(problem("/spec/containers/0/livenessProbe", {{"grpc", {{"port", "grpc"}}}}), "");
  EXPECT_NE(problem("/spec/containers/0/lifecycle", {{"preStop", {{"httpGet", {{"port", 0}}}}}}),
            "");
}

TEST(PodShape, NamesAndLabelsHaveAGrammar) {
  EXPECT_EQ(problem("/spec/containers/0/name", "My_Trainer"),
            "worker.spec.containers[0].name: 'My_Trainer' must be at most 63 of a-z, 0-9 and '-', "
            "a letter or digit at both ends");
  EXPECT_NE(problem("/spec/volumes", json::array({{{"name", "a.b"}}})), "");
  EXPECT_EQ(problem("/metadata", {{"labels", {{"a b", "c"}}}})
                .find("worker.metadata.labels: 'a b' "
                      "must be [DOMAIN/]NAME"),
            0);
}

TEST(PodShape, AFolderOfTheHostIsOnePlace) {
  const auto problem_of = [](const char* path) {
    return problem("/spec/volumes", json::array({{{"name", "a"}, {"hostPath", {{"path", path}}}}}));
  };
  EXPECT_EQ(problem_of("/mnt/a..b"), "");
  EXPECT_EQ(problem_of("/mnt/../etc"),
            "worker.spec.volumes[0].hostPath.path: '/mnt/../etc' must be an absolute path without "
            "'..'");
  EXPECT_NE(problem_of("mnt"), "");
  EXPECT_NE(problem_of("/mnt/.."), "");
}

TEST(PodShape, WhatMustBeATextIsMadeOne) {
  PodForm pods{"worker", 1, plain_pod()};
  pods.pod["metadata"] = {{"labels", {{"rank", 1}}}, {"annotations", {{"on", true}}}};
  pods.pod["spec"]["containers"][0]["env"] = json::array({{{"name", "A"}, {"value", 0.5}}});
  pods.pod["spec"]["containers"][0]["command"] = {"muster", "run", "--nproc-per-node", 2};
  pods.pod["spec"]["containers"][0]["args"] = {true, 1.5, "x"};
  EXPECT_TRUE(check_pod(pods));
  EXPECT_EQ(pods.pod["spec"]["containers"][0]["command"],
            nlohmann::json({"muster", "run", "--nproc-per-node", "2"}));
  EXPECT_EQ(pods.pod["spec"]["containers"][0]["args"], nlohmann::json({"true", "1.5", "x"}));
  EXPECT_EQ(pods.pod["metadata"]["labels"]["rank"], "1");
  EXPECT_EQ(pods.pod["metadata"]["annotations"]["on"], "true");
  EXPECT_EQ(pods.pod["spec"]["containers"][0]["env"][0]["value"], "0.5");
}

TEST(PodShape, AWordIsNothingElse) {
  EXPECT_EQ(problem("/spec/containers/0/args", {"a", nullptr}),
            "worker.spec.containers[0].args[1]: 'null' must be a text");
  EXPECT_EQ(problem("/spec/containers/0/command", {{{"a", "b"}}}),
            "worker.spec.containers[0].command[0]: a map must be a text");
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
