#include "launcher/render/dress.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/job_form_fixture.h"

namespace muster::launcher {
namespace {

using nlohmann::json;

/// The pod of a job of two workers, after `change` and the dress.
json dressed(const json& patch = json::object(), std::vector<std::string>* remarks = nullptr) {
  JobForm form = form_of_workers(2);
  form.labels = {{"team", "nlp"}};
  form.pods[0].pod.merge_patch(patch);
  dress_pods(form);
  if (remarks != nullptr) *remarks = form.remarks;
  return form.pods[0].pod;
}

json with_container(const json& fields) {
  json container = plain_pod()["spec"]["containers"][0];
  container.update(fields);
  return {{"spec", {{"containers", json::array({container})}}}};
}

TEST(Dress, APodIsSelectedByTheJobsName) {
  const json pod = dressed({{"metadata", {{"labels", {{"team", "mine"}}}}}});
  EXPECT_EQ(pod["metadata"]["labels"],
            json({{"app.kubernetes.io/instance", "bert"}, {"team", "mine"}}));
  EXPECT_EQ(dressed()["metadata"]["labels"]["team"], "nlp");
}

TEST(Dress, APodIsLockedDown) {
  const json pod = dressed();
  EXPECT_EQ(pod["spec"]["automountServiceAccountToken"], false);
  EXPECT_EQ(pod["spec"]["enableServiceLinks"], false);
  EXPECT_EQ(pod["spec"]["securityContext"],
            json({{"seccompProfile", {{"type", "RuntimeDefault"}}}}));
  EXPECT_EQ(pod["spec"]["containers"][0]["securityContext"],
            json({{"runAsNonRoot", true},
                  {"readOnlyRootFilesystem", true},
                  {"allowPrivilegeEscalation", false},
                  {"capabilities", {{"drop", {"ALL"}}}}}));
}

TEST(Dress, FieldsThatAreThereStay) {
  const json context = {{"readOnlyRootFilesystem", false},
                        {"capabilities", {{"add", {"IPC_LOCK"}}, {"drop", {"NET_RAW"}}}}};
  json pod = with_container({{"securityContext", context}, {"livenessProbe", {{"exec", "mine"}}}});
  pod["spec"]["automountServiceAccountToken"] = true;
  pod = dressed(pod);
  const json& container = pod["spec"]["containers"][0];
  EXPECT_EQ(container["securityContext"]["readOnlyRootFilesystem"], false);
  EXPECT_EQ(container["securityContext"]["capabilities"], context["capabilities"]);
  EXPECT_EQ(container["livenessProbe"], json({{"exec", "mine"}}));
  EXPECT_EQ(pod["spec"]["automountServiceAccountToken"], true);
}

TEST(Dress, RootIsRootWhereThePodSaysSo) {
  std::vector<std::string> remarks;
  const json pod = dressed({{"spec", {{"securityContext", {{"runAsUser", 0}}}}}}, &remarks);
  EXPECT_FALSE(pod["spec"]["containers"][0]["securityContext"].contains("runAsNonRoot"));
  EXPECT_TRUE(remarks.empty());
  (void)dressed(json::object(), &remarks);
  EXPECT_EQ(remarks.size(), 1);
}

TEST(Dress, WhatTheApiRefusesTogetherIsNotAdded) {
  const json privileged = dressed(with_container({{"securityContext", {{"privileged", true}}}}));
  EXPECT_FALSE(
      privileged["spec"]["containers"][0]["securityContext"].contains("allowPrivilegeEscalation"));
  const json admin = {{"capabilities", {{"add", {"SYS_ADMIN"}}}}};
  const json pod = dressed(with_container({{"securityContext", admin}}));
  EXPECT_FALSE(
      pod["spec"]["containers"][0]["securityContext"].contains("allowPrivilegeEscalation"));
}

TEST(Dress, HelpersAreLockedDownToo) {
  const json helper = {{"name", "sync"}, {"image", "git"}};
  const json pod = dressed({{"spec", {{"initContainers", json::array({helper})}}}});
  EXPECT_EQ(pod["spec"]["initContainers"][0]["securityContext"],
            pod["spec"]["containers"][0]["securityContext"]);
  EXPECT_FALSE(pod["spec"]["initContainers"][0].contains("livenessProbe"));
  EXPECT_EQ(pod["spec"]["initContainers"][0]["volumeMounts"],
            json::array({{{"name", "muster-tmp"}, {"mountPath", "/tmp"}}}));
}

TEST(Dress, WhoReportsAnnotationsKnowsItsName) {
  const json helper = {{"name", "sidecar"},
                       {"command", {"muster", "sidecar", "--report", "annotation"}}};
  const json pod = dressed({{"spec", {{"initContainers", json::array({helper})}}}});
  EXPECT_EQ(pod["spec"]["initContainers"][0]["env"].at(0)["name"], "POD_NAME");
}

TEST(Dress, RdmaLocksMemory) {
  for (const json& fields :
       {json({{"resources", {{"limits", {{"rdma/hca", 1}}}}}}),
        json({{"resources", {{"limits", {{"vpc.amazonaws.com/efa", 4}}}}}}),
        json({{"volumeMounts",
               json::array({{{"name", "ib"}, {"mountPath", "/dev/infiniband"}}})}})}) {
    const json pod = dressed(with_container(fields));
    EXPECT_EQ(pod["spec"]["containers"][0]["securityContext"]["capabilities"]["add"],
              json({"IPC_LOCK"}))
        << fields;
  }
}

TEST(Dress, MustersGracePeriodIsShorterThanThePods) {
  const std::pair<int, const char*> cases[] = {{0, "0s"},   {1, "0s"},   {5, "4s"},
                                               {30, "25s"}, {60, "50s"}, {300, "290s"}};
  for (const auto& [whole, muster] : cases) {
    const json pod = dressed({{"spec", {{"terminationGracePeriodSeconds", whole}}}});
    EXPECT_EQ(variable_of(pod, "MUSTER_GRACE_PERIOD"), muster) << whole;
    EXPECT_EQ(pod["spec"]["terminationGracePeriodSeconds"], whole);
  }
  EXPECT_EQ(dressed()["spec"]["terminationGracePeriodSeconds"], 30);
}

TEST(Dress, ProbesAskTheStatusPort) {
  const json pod = dressed();
  const json& container = pod["spec"]["containers"][0];
  EXPECT_EQ(container["livenessProbe"]["httpGet"], json({{"path", "/healthz"}, {"port", 8080}}));
  EXPECT_EQ(container["readinessProbe"]["httpGet"], json({{"path", "/readyz"}, {"port", 8080}}));
  EXPECT_EQ(container["ports"],
            json::array({{{"name", "muster-status"}, {"containerPort", 8080}}}));
}

TEST(Dress, APortOfTheProgramStaysTheProgramsOwn) {
  const json ports = json::array({{{"name", "notebook"}, {"containerPort", 8080}}});
  const json pod = dressed(with_container({{"ports", ports}}));
  EXPECT_EQ(variable_of(pod, "MUSTER_STATUS_PORT"), "8081");
  EXPECT_EQ(pod["spec"]["containers"][0]["livenessProbe"]["httpGet"]["port"], 8081);
  const json metrics = json::array({{{"name", "metrics"}, {"containerPort", 8080}}});
  const json same = dressed(with_container({{"ports", metrics}}));
  EXPECT_EQ(variable_of(same, "MUSTER_STATUS_PORT"), "");
  EXPECT_EQ(same["spec"]["containers"][0]["ports"], metrics);
}

TEST(Dress, APortOfAnotherContainerIsTaken) {
  const json other = {{"name", "web"}, {"ports", json::array({{{"containerPort", 8080}}})}};
  json pod = plain_pod();
  pod["spec"]["containers"].push_back(other);
  EXPECT_EQ(variable_of(dressed({{"spec", pod["spec"]}}), "MUSTER_STATUS_PORT"), "8081");
}

TEST(Dress, NoProbesWithoutAStatusPort) {
  const json env = json::array({{{"name", "MUSTER_STATUS_PORT"}, {"value", "0"}}});
  EXPECT_FALSE(dressed(with_container({{"env", env}}))["spec"]["containers"][0].contains("ports"));
  std::vector<std::string> remarks;
  const json host = dressed({{"spec", {{"hostNetwork", true}}}}, &remarks);
  EXPECT_EQ(remarks.size(), 2);
  EXPECT_FALSE(host["spec"]["containers"][0].contains("livenessProbe"));
}

}  // namespace
}  // namespace muster::launcher
