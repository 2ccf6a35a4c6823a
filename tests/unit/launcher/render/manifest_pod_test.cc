#include "launcher/render/manifest_pod.h"

#include <gtest/gtest.h>

#include <string>

#include "launcher/render/form_of_manifest.h"
#include "tests/support/job_form_fixture.h"

namespace muster::launcher {
namespace {

// "" = it is read.
TEST(ManifestPod, WhereMusterMountsNothingElseMayBe) {
  const auto mounted = [](const std::string& path, const std::string& source,
                          const std::string& more = "") {
    return problem_of(
        "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec: {template: {spec: "
        "{containers: "
        "[{name: c, image: i, command: [x], volumeMounts: [{name: v, mountPath: " +
        path + "}]" + more + "}], volumes: [{name: v, " + source + ": {}}]}}}");
  };
  const std::string place = "spec.template.spec.containers[0].volumeMounts[0].mountPath: ";
  for (const std::string path : {"/etc/muster", "/etc/muster/", "/etc/muster/secret"})
    EXPECT_EQ(
        mounted(path, "emptyDir"),
        place + "'" + path +
            "' must be another path, unless MUSTER_JOB_SECRET_FILE is set: the job's secret is "
            "mounted there");
  EXPECT_EQ(mounted("/etc/podinfo", "emptyDir"),
            place + "'/etc/podinfo' must be another path: the pod's labels are mounted there");
  EXPECT_EQ(mounted("/etc/podinfo", "downwardAPI"), "");
  EXPECT_EQ(mounted("/etc/musters", "emptyDir"), "");
  EXPECT_EQ(mounted("/etc/muster", "secret",
                    ", env: [{name: MUSTER_JOB_SECRET_FILE, value: /etc/muster/mine}]"),
            "");
}

}  // namespace
}  // namespace muster::launcher
