#include "launcher/render/companions.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "launcher/render/dress.h"
#include "tests/support/job_form_fixture.h"

namespace muster::launcher {
namespace {

using nlohmann::json;

TEST(Companions, OthersReachTheStatusPortAndThoseOfServices) {
  JobForm form = form_of_workers(2);
  form.pods[0].pod["spec"]["containers"][0]["ports"] =
      json::array({{{"name", "muster"}, {"containerPort", 29400}},
                   {{"containerPort", 5000}, {"protocol", "UDP"}}});
  form.beside.push_back(
      {{"kind", "Service"}, {"spec", {{"ports", {{{"port", 80}, {"targetPort", 8888}}}}}}});
  form.beside.push_back({{"kind", "PersistentVolumeClaim"}});
  dress_pods(form);
  const json policy = network_policy(form);
  const json pods = {{"matchLabels", {{"app.kubernetes.io/instance", "bert"}}}};
  const json among = {{"from", json::array({{{"podSelector", pods}}})}};
  const json open = {
      {"ports",
       json::array({{{"port", 5000}, {"protocol", "UDP"}}, {{"port", 8080}}, {{"port", 8888}}})}};
  EXPECT_EQ(policy["spec"], json({{"podSelector", pods},
                                  {"policyTypes", {"Ingress"}},
                                  {"ingress", json::array({among, open})}}));
}

TEST(Companions, APodGroupHasAllPods) {
  JobForm form = form_with_launcher(4);
  form.gang = {{"coscheduling", {{"scheduleTimeoutSeconds", 300}}}};
  const auto groups = pod_groups(form);
  ASSERT_EQ(groups.size(), 1);
  EXPECT_EQ(groups[0]["apiVersion"], "scheduling.x-k8s.io/v1alpha1");
  EXPECT_EQ(groups[0]["spec"], json({{"minMember", 5}, {"scheduleTimeoutSeconds", 300}}));
  for (const PodForm& pods : form.pods)
    EXPECT_EQ(pods.pod["metadata"]["labels"]["scheduling.x-k8s.io/pod-group"], "bert");
  EXPECT_EQ(form.remarks.size(), 1);
}

TEST(Companions, AnElasticGangIsTheLeast) {
  JobForm form = form_with_launcher(4);
  form.nodes = "2:8";
  form.gang = {{"coscheduling", nullptr}};
  EXPECT_EQ(pod_groups(form).at(0)["spec"], json({{"minMember", 3}}));
}

TEST(Companions, VolcanosOwnFieldsStay) {
  JobForm form = form_of_workers(4);
  form.gang = {{"volcano", {{"minMember", 3}, {"queue", "q"}}}};
  const auto groups = pod_groups(form);
  EXPECT_EQ(groups.at(0)["apiVersion"], "scheduling.volcano.sh/v1beta1");
  EXPECT_EQ(groups.at(0)["spec"], json({{"minMember", 3}, {"queue", "q"}}));
  const json& pod = form.pods[0].pod;
  EXPECT_EQ(pod["spec"]["schedulerName"], "volcano");
  EXPECT_EQ(pod["metadata"]["annotations"]["scheduling.k8s.io/group-name"], "bert");
  EXPECT_EQ(scheduling_policy(form), json({{"minAvailable", 3}, {"queue", "q"}}));
}

TEST(Companions, APodGroupHasTheFieldsOfItsScheduler) {
  JobForm form = form_of_workers(4);
  form.gang = {{"volcano", {{"queue", "q"}, {"minResources", {{"cpu", 8}}}}},
               {"coscheduling", {{"scheduleTimeoutSeconds", 9}}}};
  EXPECT_EQ(pod_groups(form).at(0)["spec"],
            json({{"minMember", 4}, {"queue", "q"}, {"minResources", {{"cpu", 8}}}}));
  EXPECT_EQ(form.left, std::vector<std::string>{"coscheduling.scheduleTimeoutSeconds"});
  EXPECT_EQ(scheduling_policy(form), json({{"minAvailable", 4},
                                           {"queue", "q"},
                                           {"minResources", {{"cpu", 8}}},
                                           {"scheduleTimeoutSeconds", 9}}));
}

TEST(Companions, NoGangNoGroup) {
  JobForm form = form_of_workers(4);
  EXPECT_TRUE(pod_groups(form).empty());
  EXPECT_TRUE(scheduling_policy(form).is_null());
}

}  // namespace
}  // namespace muster::launcher
