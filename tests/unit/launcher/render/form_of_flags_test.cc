#include "launcher/render/form_of_flags.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <set>

#include "base/text.h"
#include "launcher/render/pod_parts.h"
#include "launcher/render/render_flags.h"

namespace muster::launcher {
namespace {

using nlohmann::json;
using Words = std::vector<std::string>;

// The form that flags make, as one document. Pods are there by role, documents by kind.
json form_with(Words words) {
  Words all = {"--name=job", "--image=img"};
  all.insert(all.end(), words.begin(), words.end());
  auto request = parse_render_flags(all);
  if (!request) return request.error().text;
  auto form = form_of_flags(*request);
  if (!form) return form.error().text;
  json made = {{"name", form->name},
               {"namespace", form->name_space},
               {"labels", form->labels},
               {"annotations", form->annotations},
               {"framework", form->framework},
               {"nodes", form->nodes},
               {"workers", form->workers},
               {"remarks", form->remarks},
               {"launcher_has_ranks", form->launcher_has_ranks}};
  if (form->backoff_limit) made["backoff"] = *form->backoff_limit;
  if (form->ttl_seconds) made["ttl"] = *form->ttl_seconds;
  if (form->runs) made["runs"] = {form->runs->count, form->runs->parallelism};
  for (const PodForm& alike : form->pods) {
    made["sizes"][alike.role] = alike.pods;
    made["pods"][alike.role] = alike.pod;
  }
  for (const json& document : form->beside)
    made["beside"][document["kind"].get<std::string>()] = document;
  return made;
}

struct Place {
  Words words;
  std::string pointer;   // with M for the first pods' template, C for its container
  const char* expected;  // JSON; "" = nothing is there
};

void expect_places(std::span<const Place> places) {
  for (const auto& [words, pointer, expected] : places) {
    const json form = form_with(words);
    ASSERT_TRUE(form.is_object()) << join(words, " ") << ": " << form;
    std::string path = pointer;
    if (path.starts_with("/C")) path = "/M/spec/containers/0" + path.substr(2);
    const std::string role = form["pods"].contains("master") ? "master" : "worker";
    if (path.starts_with("/M")) path = "/pods/" + role + path.substr(2);
    const json::json_pointer at(path);
    const json found = form.contains(at) ? form.at(at) : json();
    EXPECT_EQ(found, *expected == '\0' ? json() : json::parse(expected))
        << join(words, " ") << " at " << path;
  }
}

const std::vector<Place>& job_places() {
  static const std::vector<Place> places = {
      {{"--name", "bert"}, "/name", R"("bert")"},
      {{"--image", "a/b:1"}, "/C/image", R"("a/b:1")"},
      {{}, "/C/imagePullPolicy", R"("Always")"},
      {{"--image-pull-policy", "ifNotPresent"}, "/C/imagePullPolicy", R"("IfNotPresent")"},
      {{"--image-pull-policy", "never"}, "/C/imagePullPolicy", R"("Never")"},
      {{"--local-image"}, "/C/imagePullPolicy", R"("Never")"},
      {{"--local-image=false"}, "/C/imagePullPolicy", R"("Always")"},
      {{"--command", "--", "a", "$HOME"}, "/C/command", R"(["muster","run","--","a","$$HOME"])"},
      {{"--command", "--", "a"}, "/C/args", ""},
      {{"a", "$(B)"}, "/C/args", R"j(["a","$$(B)"])j"},
      {{"-e", "A=1,2", "--environment", "B=$A"},
       "/C/env",
       R"([{"name":"A","value":"1,2"},{"name":"B","value":"$$A"}])"},
      {{"-e", "A=1", "-e", "A="}, "/C/env", R"([{"name":"A","value":""}])"},
      {{"--env-secret", "A=s:k"},
       "/C/env",
       R"([{"name":"A","valueFrom":{"secretKeyRef":{"name":"s","key":"k"}}}])"},
      {{"--working-dir", "/w"}, "/C/workingDir", R"("/w")"},
      {{"--stdin"}, "/C/stdin", "true"},
      {{"--tty"}, "/C/tty", "true"},
      {{"--attach"}, "/C/stdin", "true"},
      {{"--attach"}, "/C/tty", "true"},
      {{"--attach", "--workers", "1"}, "/pods/worker/spec/containers/0/tty", ""},
      {{"--loglevel", "warn"}, "/C/env", R"([{"name":"MUSTER_LOG_LEVEL","value":"warning"}])"},
      {{"-e", "MUSTER_LOG_LEVEL=off", "--loglevel", "info"}, "/C/env/0/value", R"("off")"},
      {{"--framework", "tensorflow"}, "/framework", R"("tensorflow")"},
      {{"-p", "team"}, "/namespace", R"("runai-team")"},
      {{"--project", "team"}, "/labels", R"({"project":"team"})"},
      {{"--label", "a/b=c", "--label", "d="}, "/labels", R"({"a/b":"c","d":""})"},
      {{"--annotation", "a/b=c d=e"}, "/annotations", R"({"a/b":"c d=e"})"},
      {{"--interactive"}, "/backoff", "0"},
      {{"--interactive"}, "/labels", R"({"kai.scheduler/preemptibility":"non-preemptible"})"},
      {{"--backoff-limit", "100"}, "/backoff", "100"},
      {{"--ttl", "0s"}, "/ttl", "0"},
      {{"--ttl", "1h30m"}, "/ttl", "5400"},
      {{"--ttl", "30d"}, "/ttl", "2592000"},
      {{"--grace-period", "90"}, "/M/spec/terminationGracePeriodSeconds", "90"},
      {{"--grace-period", "5m"}, "/M/spec/terminationGracePeriodSeconds", "300"},
      {{"--grace-period=45s"}, "/M/spec/terminationGracePeriodSeconds", "45"},
      {{"--runs", "4"}, "/runs", "[4,1]"},
      {{"--runs", "4", "--parallelism", "2"}, "/runs", "[4,2]"},
      {{"--runs", "4"}, "/sizes", R"({"worker":1})"},
      {{"--runs", "4"}, "/nodes", R"("1")"},
  };
  return places;
}

const std::vector<Place>& size_places() {
  static const std::vector<Place> places = {
      {{}, "/sizes", R"({"worker":1})"},
      {{"--workers", "3"}, "/sizes", R"({"worker":4})"},
      {{"--workers", "3", "--to", "pytorchjob"}, "/sizes", R"({"master":1,"worker":3})"},
      {{"--workers", "3", "--tty"}, "/sizes", R"({"master":1,"worker":3})"},
      {{"--workers", "3", "--node-port", "80:30080"}, "/sizes", R"({"master":1,"worker":3})"},
      {{"--workers", "3", "--master", "different"}, "/sizes", R"({"master":1,"worker":3})"},
      {{"--workers", "3"}, "/nodes", R"("4")"},
      {{"--workers", "3"},
       "/pods/worker/metadata/labels",
       R"({"app.kubernetes.io/component":"worker"})"},
      {{"--workers", "3", "--to", "job"}, "/sizes", R"({"worker":4})"},
      {{"--workers", "3", "--to", "trainjob"}, "/nodes", R"("4")"},
      {{"--workers", "3", "--no-master"}, "/sizes", R"({"worker":3})"},
      {{"--workers", "3", "--no-master", "--to", "job"}, "/nodes", R"("3")"},
      {{"--workers", "2", "--framework", "mpi"}, "/sizes", R"({"launcher":1,"worker":2})"},
      {{"--workers", "2", "--framework", "mpi"}, "/nodes", R"("2")"},
      {{"--to", "mpijob"}, "/launcher_has_ranks", "false"},
      {{"--to", "mpijob"}, "/sizes", R"({"launcher":1,"worker":1})"},
      {{"--to", "mpijob", "--processes", "4"}, "/sizes", R"({"launcher":1,"worker":4})"},
      {{"--to", "mpijob", "--processes", "4"}, "/workers", R"("1")"},
      {{"--to", "jobset", "--framework", "mpi", "--no-master", "--workers", "2"},
       "/sizes",
       R"({"worker":2})"},
      {{"--to", "mpijob", "--gpu", "2"}, "/pods/launcher/spec/containers/0/resources", ""},
      {{"--to", "mpijob", "--gpu", "2"},
       "/pods/worker/spec/containers/0/resources",
       R"({"limits":{"nvidia.com/gpu":"2"},"requests":{"nvidia.com/gpu":"2"}})"},
      {{"--master", "different", "--master-cpu", "4", "--cpu", "2", "--workers", "1"},
       "/C/resources/requests/cpu",
       R"("4")"},
      {{"--master", "different", "--master-cpu", "4", "--cpu", "2", "--workers", "1"},
       "/pods/worker/spec/containers/0/resources/requests/cpu",
       R"("2")"},
      {{"--master=different", "--master-gpu=0", "-g2"}, "/C/resources", ""},
      {{"--master=different", "--master-gpu=1"},
       "/C/resources/limits",
       R"({"nvidia.com/gpu":"1"})"},
      {{"--master=different", "-e", "A=1", "--master-environment", "A=2"},
       "/C/env",
       R"([{"name":"A","value":"2"}])"},
      {{"--master=different", "--env-secret", "A=s:k", "--master-environment", "A=2"},
       "/C/env",
       R"([{"name":"A","value":"2"}])"},
  };
  return places;
}

const std::vector<Place>& resource_places() {
  static const std::vector<Place> places = {
      {{"--cpu", "0.5"}, "/C/resources", R"({"requests":{"cpu":"0.5"}})"},
      {{"--cpu-limit", "1500m"}, "/C/resources", R"({"limits":{"cpu":"1500m"}})"},
      {{"--memory", "64Gi"}, "/C/resources", R"({"requests":{"memory":"64Gi"}})"},
      {{"--memory-limit", "1e9"}, "/C/resources", R"({"limits":{"memory":"1e9"}})"},
      {{"--gpu", "8"},
       "/C/resources",
       R"({"limits":{"nvidia.com/gpu":"8"},"requests":{"nvidia.com/gpu":"8"}})"},
      {{"-g", "0.5"}, "/M/metadata/annotations", R"({"gpu-fraction":"0.5"})"},
      {{"-g", "0.5"}, "/C/resources", ""},
      {{"-g", "0.5"}, "/workers", R"("1")"},
      {{"--gpu-memory", "1G"}, "/M/metadata/annotations", R"({"gpu-memory":"954"})"},
      {{"--gpu-memory", "20M"}, "/M/metadata/annotations", R"({"gpu-memory":"20"})"},
      {{"--gpu-memory", "2Gi"}, "/M/metadata/annotations", R"({"gpu-memory":"2048"})"},
      {{"--gpu", "2", "--resource", "nvidia.com/gpu=02"},
       "/C/resources/limits",
       R"({"nvidia.com/gpu":"2"})"},
      {{"--framework", "mpi", "--resource", "rdma/hca=2"},
       "/pods/launcher/spec/containers/0/resources",
       ""},
      {{"--framework", "mpi", "--resource", "rdma/hca=2"},
       "/pods/worker/spec/containers/0/resources/limits",
       R"({"rdma/hca":"2"})"},
      {{"--resource", "rdma/hca=2"},
       "/C/resources",
       R"({"limits":{"rdma/hca":"2"},"requests":{"rdma/hca":"2"}})"},
      {{"--large-shm"}, "/M/spec/volumes", R"([{"name":"shm","emptyDir":{"medium":"Memory"}}])"},
      {{"--large-shm"}, "/C/volumeMounts", R"([{"name":"shm","mountPath":"/dev/shm"}])"},
  };
  return places;
}

const std::vector<Place>& storage_places() {
  static const std::vector<Place> places = {
      {{"--pvc", ":10Gi:/data"},
       "/beside/PersistentVolumeClaim/spec",
       R"({"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"10Gi"}},
           "volumeMode":"Filesystem"})"},
      {{"--pvc", "fast:10Gi:/data:ro"},
       "/beside/PersistentVolumeClaim/spec/storageClassName",
       R"("fast")"},
      {{"--pvc", "fast:10Gi:/data:ro"},
       "/C/volumeMounts",
       R"([{"name":"data-1","mountPath":"/data","readOnly":true}])"},
      {{"--pvc", ":1Gi:/data"},
       "/M/spec/volumes",
       R"([{"name":"data-1","persistentVolumeClaim":{"claimName":"job-data-1"}}])"},
      {{"--pvc", "mine:/data"},
       "/M/spec/volumes",
       R"([{"name":"volume-1","persistentVolumeClaim":{"claimName":"mine"}}])"},
      {{"--pvc", "mine:/data:ro"},
       "/C/volumeMounts",
       R"([{"name":"volume-1","mountPath":"/data","readOnly":true}])"},
      {{"-v", "/a:/b,/c:/d:ro"},
       "/M/spec/volumes",
       R"([{"name":"volume-1","hostPath":{"path":"/a"}},
           {"name":"volume-2","hostPath":{"path":"/c"}}])"},
      {{"-v", "/a:/b,/c:/d:ro"},
       "/C/volumeMounts",
       R"([{"name":"volume-1","mountPath":"/b"},
           {"name":"volume-2","mountPath":"/d","readOnly":true}])"},
      {{"--volume", "/a:/b:ro:nas"},
       "/M/spec/volumes/0/nfs",
       R"({"server":"nas","path":"/a","readOnly":true})"},
      {{"-v", "/a:/b", "-v/c:/d:other", "--nfs-server", "nas"},
       "/M/spec/volumes",
       R"([{"name":"volume-1","nfs":{"server":"nas","path":"/a"}},
           {"name":"volume-2","nfs":{"server":"other","path":"/c"}}])"},
      {{"--config-map", "scripts:/app"},
       "/M/spec/volumes/0",
       R"({"name":"volume-1","configMap":{"name":"scripts"}})"},
      {{"--config-map", "scripts:/app"}, "/C/volumeMounts/0/readOnly", "true"},
      {{"--secret", "keys:/keys"},
       "/M/spec/volumes/0",
       R"({"name":"volume-1","secret":{"secretName":"keys"}})"},
      {{"--storage", "class=fast,size=1Ti,access=rwx+rox,path=/d"},
       "/beside/PersistentVolumeClaim/spec",
       R"({"accessModes":["ReadWriteMany","ReadOnlyMany"],"storageClassName":"fast",
           "resources":{"requests":{"storage":"1Ti"}},"volumeMode":"Filesystem"})"},
      {{"--storage", "size=1Ti,path=/d,keep=no"}, "/beside", ""},
      {{"--storage", "size=1Ti,path=/d,keep=no"},
       "/M/spec/volumes/0/ephemeral/volumeClaimTemplate/spec",
       R"({"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Ti"}},
           "volumeMode":"Filesystem"})"},
      {{"--storage", "size=1Ti,path=/dev/d,mode=block"},
       "/C/volumeDevices",
       R"([{"name":"data-1","devicePath":"/dev/d"}])"},
      {{"--storage", "size=1Ti,path=/dev/d,mode=block"}, "/C/volumeMounts", ""},
      {{"--storage", "size=1Ti,path=/dev/d,mode=block"},
       "/beside/PersistentVolumeClaim/spec/volumeMode",
       R"("Block")"},
      {{"--git-sync", "source=https://h/a.git"},
       "/M/spec/initContainers/0/args",
       R"(["--repo=https://h/a.git","--root=/code","--one-time"])"},
      {{"--git-sync", "source=s,branch=b"}, "/M/spec/initContainers/0/args/3", R"("--ref=b")"},
      {{"--git-sync", "source=s,branch=b,rev=c,target=/t"},
       "/M/spec/initContainers/0/args",
       R"(["--repo=s","--root=/t","--one-time","--ref=c"])"},
      {{"--git-sync", "source=s,target=/t"},
       "/C/volumeMounts",
       R"([{"name":"git","mountPath":"/t"}])"},
      {{"--git-sync", "source=s,username=u,password=p"},
       "/beside/Secret/stringData",
       R"({"username":"u","password":"p"})"},
      {{"--git-sync", "source=s,username=u,password=p"},
       "/M/spec/initContainers/0/env",
       R"([{"name":"GITSYNC_USERNAME",
            "valueFrom":{"secretKeyRef":{"name":"job-git","key":"username"}}},
           {"name":"GITSYNC_PASSWORD",
            "valueFrom":{"secretKeyRef":{"name":"job-git","key":"password"}}}])"},
  };
  return places;
}

const std::vector<Place>& placement_places() {
  static const std::vector<Place> places = {
      {{"--node-type", "dgx"}, "/M/spec/nodeSelector", R"({"run.ai/type":"dgx"})"},
      {{"--node-pool", "a,b"},
       "/M/spec/affinity/nodeAffinity/preferredDuringSchedulingIgnoredDuringExecution",
       R"([{"weight":100,"preference":{"matchExpressions":
             [{"key":"kai.scheduler/node-pool","operator":"In","values":["a"]}]}},
           {"weight":50,"preference":{"matchExpressions":
             [{"key":"kai.scheduler/node-pool","operator":"In","values":["b"]}]}}])"},
      {{"--toleration", "a", "--toleration", "b/c=d:NoExecute", "--toleration", "e:NoSchedule"},
       "/M/spec/tolerations",
       R"([{"key":"a","operator":"Exists"},
           {"key":"b/c","operator":"Equal","value":"d","effect":"NoExecute"},
           {"key":"e","operator":"Exists","effect":"NoSchedule"}])"},
      {{"--topology", "rack=required", "--topology", "zone=preferred"},
       "/M/spec/affinity/podAffinity",
       R"({"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"rack",
             "labelSelector":{"matchLabels":{"app.kubernetes.io/instance":"job"}}}],
           "preferredDuringSchedulingIgnoredDuringExecution":[{"weight":100,"podAffinityTerm":
             {"topologyKey":"zone",
              "labelSelector":{"matchLabels":{"app.kubernetes.io/instance":"job"}}}}]})"},
      {{"--priority", "high"}, "/M/spec/priorityClassName", R"("high")"},
      {{"--uid", "1000", "--gid", "100", "--supplemental-groups", "1,2"},
       "/M/spec/securityContext",
       R"({"runAsUser":1000,"runAsGroup":100,"supplementalGroups":[1,2]})"},
      {{"--uid", "0"}, "/M/spec/securityContext", R"({"runAsUser":0,"runAsNonRoot":false})"},
      {{"--run-as-user=false"}, "/M/spec/securityContext", ""},
      {{"--run-as-user"}, "/C/env", R"([{"name":"HOME","value":"/muster-home"}])"},
      {{"--run-as-user", "--create-home-dir=false"}, "/C/env", ""},
      {{"--run-as-user", "-e", "HOME=/h"}, "/C/volumeMounts", ""},
      {{"--create-home-dir"}, "/M/spec/volumes", R"([{"name":"home","emptyDir":{}}])"},
      {{"--create-home-dir", "-e", "HOME=/h"},
       "/C/volumeMounts",
       R"([{"name":"home","mountPath":"/h"}])"},
      {{"--prevent-privilege-escalation"},
       "/C/securityContext",
       R"({"allowPrivilegeEscalation":false})"},
      {{"--prevent-privilege-escalation=false"},
       "/C/securityContext",
       R"({"allowPrivilegeEscalation":true})"},
      {{"--host-ipc"}, "/M/spec/hostIPC", "true"},
      {{"--host-network"}, "/M/spec/hostNetwork", "true"},
      {{"--host-network"}, "/M/spec/dnsPolicy", R"("ClusterFirstWithHostNet")"},
  };
  return places;
}

const std::vector<Place>& door_places() {
  static const std::vector<Place> places = {
      {{"--node-port", "8888:30000"},
       "/beside/Service/spec",
       R"({"type":"NodePort","selector":{"app.kubernetes.io/instance":"job",
             "app.kubernetes.io/component":"master"},
           "ports":[{"name":"port-8888","port":8888,"targetPort":8888,"nodePort":30000}]})"},
      {{"--workers", "2", "--to", "job", "--node-port", "8888:30000"},
       "/beside/Service/spec/selector",
       R"({"app.kubernetes.io/instance":"job","app.kubernetes.io/component":"worker",
           "batch.kubernetes.io/job-completion-index":"0"})"},
      {{"--external-url", "8888=https://a.example/x"},
       "/beside/Ingress/spec",
       R"({"rules":[{"host":"a.example","http":{"paths":[{"path":"/x","pathType":"Prefix",
             "backend":{"service":{"name":"job-tools","port":{"number":8888}}}}]}}],
           "tls":[{"hosts":["a.example"]}]})"},
      {{"--external-url", "8888=http://a"},
       "/beside/Service/spec/ports",
       R"([{"name":"port-8888","port":8888,"targetPort":8888}])"},
      {{"--external-url", "8888=http://a", "-p", "t"},
       "/beside/Ingress/metadata",
       R"({"name":"job-tools","namespace":"runai-t","labels":{"project":"t",
           "app.kubernetes.io/instance":"job"}})"},
      {{"--report", "stdout", "--report", "webhook=http://h/$a", "--loglevel=error"},
       "/M/spec/initContainers/0/command",
       R"(["muster","sidecar","--run-dir","/var/run/muster","--report","stdout","--report",
           "webhook=http://h/$$a","--log-level","error"])"},
      {{"--report", "stdout"}, "/M/spec/initContainers/0/restartPolicy", R"("Always")"},
      {{"--report", "stdout"},
       "/M/spec/initContainers/0/securityContext",
       R"({"allowPrivilegeEscalation":false,"readOnlyRootFilesystem":true,
           "capabilities":{"drop":["ALL"]}})"},
      {{"--report", "stdout"},
       "/C/env",
       R"([{"name":"MUSTER_RUN_DIR","value":"/var/run/muster"}])"},
      {{"--report", "stdout"},
       "/C/volumeMounts",
       R"([{"name":"muster-run","mountPath":"/var/run/muster"}])"},
      {{"--report", "stdout"},
       "/M/spec/initContainers/0/volumeMounts",
       R"([{"name":"muster-run","mountPath":"/var/run/muster"}])"},
      {{"--report=webhook=http://h", "--report-token", "s:k"},
       "/M/spec/volumes/1",
       R"({"name":"muster-token","secret":{"secretName":"s","items":[{"key":"k","path":"token"}]}})"},
      {{"--report=webhook=http://h", "--report-token", "s:k"},
       "/M/spec/initContainers/0/volumeMounts/1",
       R"({"name":"muster-token","mountPath":"/var/run/muster-token","readOnly":true})"},
      {{"--report=webhook=http://h", "--report-token", "s:k"},
       "/M/spec/initContainers/0/command/7",
       R"("/var/run/muster-token/token")"},
      {{"--report", "annotation"},
       "/beside/Role/rules",
       R"([{"apiGroups":[""],"resources":["pods"],"verbs":["get","patch"]}])"},
      {{"--report", "annotation"}, "/M/spec/serviceAccountName", R"("job-report")"},
      {{"--report", "annotation"},
       "/beside/RoleBinding/subjects",
       R"([{"kind":"ServiceAccount","name":"job-report"}])"},
      {{"--report", "annotation"},
       "/M/spec/volumes/1/projected/sources/0",
       R"({"serviceAccountToken":{"path":"token","expirationSeconds":3607}})"},
      {{"--report", "annotation"},
       "/M/spec/initContainers/0/volumeMounts/1/mountPath",
       R"("/var/run/secrets/kubernetes.io/serviceaccount")"},
      {{"--report", "stdout"}, "/beside", ""},
  };
  return places;
}

TEST(FormOfFlags, FlagsOfTheJobHaveTheirPlace) { expect_places(job_places()); }
TEST(FormOfFlags, SizesAreMastersAndWorkers) { expect_places(size_places()); }
TEST(FormOfFlags, ResourcesHaveTheirPlace) { expect_places(resource_places()); }
TEST(FormOfFlags, VolumesAndClaimsHaveTheirPlace) { expect_places(storage_places()); }
TEST(FormOfFlags, PlacementAndRightsHaveTheirPlace) { expect_places(placement_places()); }
TEST(FormOfFlags, ToolsAndReportsHaveTheirPlace) { expect_places(door_places()); }

TEST(FormOfFlags, TheCallersUserAndGroupsAreThePods) {
  const json context = form_with({"--run-as-user"})["pods"]["worker"]["spec"]["securityContext"];
  EXPECT_EQ(context["runAsUser"], getuid());
  EXPECT_EQ(context["runAsGroup"], getgid());
  EXPECT_EQ(context.value("supplementalGroups", json::array()).size(),
            static_cast<size_t>(getgroups(0, nullptr)));
}

// A line that begins so, of those for people.
bool has_remark(const Words& words, const std::string& part) {
  const json form = form_with(words);
  return form["remarks"].dump().find(part) != std::string::npos;
}

TEST(FormOfFlags, PeopleAreToldWhatTheyMustKnow) {
  EXPECT_TRUE(has_remark({}, "ENTRYPOINT must be: muster run --"));
  EXPECT_FALSE(has_remark({"--command", "a"}, "ENTRYPOINT"));
  EXPECT_TRUE(has_remark({"--attach", "-p", "t"},
                         "kubectl attach -it -n runai-t $(kubectl get pod "
                         "-n runai-t -o name -l "
                         "app.kubernetes.io/component=master,"
                         "app.kubernetes.io/instance=job)"));
  EXPECT_TRUE(has_remark({"--pvc", ":1Gi:/d", "--workers", "1"},
                         "--pvc: /d is ReadWriteOnce: all 2 pods must be on one node"));
  EXPECT_TRUE(has_remark({"--storage", "size=1Gi,path=/d", "--runs=3", "--parallelism=3"},
                         "--storage: /d is ReadWriteOnce: all 3 pods"));
  EXPECT_FALSE(has_remark({"--pvc", ":1Gi:/d"}, "ReadWriteOnce"));
  EXPECT_FALSE(
      has_remark({"--storage", "size=1Gi,path=/d,access=rwx", "--workers=1"}, "ReadWriteOnce"));
  EXPECT_FALSE(
      has_remark({"--storage", "size=1Gi,path=/d,keep=no", "--workers=1"}, "ReadWriteOnce"));
  EXPECT_TRUE(has_remark({"--git-sync", "source=s,username=u,password=p"}, "Secret job-git"));
  EXPECT_TRUE(has_remark({"--report", "trainjob"}, "KUBEFLOW_TRAINER_SERVER_"));
}

TEST(FormOfFlags, APasswordStandsInTheSecretAlone) {
  json form = form_with({"--git-sync", "source=s,username=u,password=pa55word"});
  form["beside"].erase("Secret");
  EXPECT_EQ(form.dump().find("pa55word"), std::string::npos);
}

// What no pod or document shows, or what another test is about.
TEST(FormOfFlags, EachFlagHasAPlaceHere) {
  std::set<std::string> tried = {"file", "to", "output", "help", "job-name-prefix"};
  for (const auto* places : {&job_places(), &size_places(), &resource_places(), &storage_places(),
                             &placement_places(), &door_places()}) {
    for (const Place& place : *places) {
      for (const std::string& word : place.words) {
        if (word.starts_with("--")) tried.insert(word.substr(2, word.find('=') - 2));
      }
    }
  }
  for (const RenderFlagGroup& group : render_flag_groups()) {
    for (const RenderFlag& row : group.rows)
      EXPECT_TRUE(tried.contains(std::string(row.name))) << row.name;
  }
}

}  // namespace
}  // namespace muster::launcher
