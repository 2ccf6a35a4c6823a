#include "launcher/render/form_of_manifest.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "launcher/render/pod_parts.h"

namespace muster::launcher {
namespace {

using nlohmann::json;

json as_json(const JobForm& form) {
  json pods = json::array();
  for (const PodForm& each : form.pods) {
    pods.push_back({{"role", each.role}, {"pods", each.pods}, {"pod", each.pod}});
    if (each.backoff_limit) pods.back()["backoff"] = *each.backoff_limit;
  }
  json all = {{"name", form.name},
              {"namespace", form.name_space},
              {"labels", form.labels},
              {"annotations", form.annotations},
              {"framework", form.framework},
              {"launcher ranks", form.launcher_has_ranks},
              {"nodes", form.nodes},
              {"workers", form.workers},
              {"mpi", form.mpi},
              {"ssh", form.ssh_path},
              {"gang", form.gang},
              {"metrics", form.metrics},
              {"pods", pods},
              {"left", form.left},
              {"remarks", form.remarks}};
  if (form.max_restarts) all["restarts"] = *form.max_restarts;
  if (form.backoff_limit) all["backoff"] = *form.backoff_limit;
  for (const CarriedField& field : form.carried) all["carried"][field.path] = field.value;
  return all;
}

json form_of(const std::string& text, const std::string& name = "") {
  const auto form = form_of_manifest(text, name);
  return form ? as_json(*form) : json(form.error().text);
}

// The value at each place; a place is a JSON pointer.
using Places = std::map<std::string, json>;

void expect_places(const json& form, const Places& places) {
  ASSERT_TRUE(form.is_object()) << form;
  for (const auto& [place, value] : places) {
    const json::json_pointer pointer(place);
    ASSERT_TRUE(form.contains(pointer)) << place << " in " << form.dump(1);
    EXPECT_EQ(form[pointer], value) << place;
  }
}

std::string runtime(const std::string& spec) {
  return "apiVersion: ome.io/v1beta1\nkind: TrainingRuntime\nmetadata: {name: r}\nspec: " + spec;
}

// One replicatedJob with this in its container, beside `more` of its pod.
std::string runtime_with(const std::string& container, const std::string& more = "",
                         const std::string& policy = "numNodes: 2") {
  return runtime("{mlPolicy: {" + policy +
                 "}, template: {spec: {replicatedJobs: [{name: worker, template: {spec: {template: "
                 "{spec: {containers: [{name: trainer, " +
                 container + "}]" + (more.empty() ? "" : ", " + more) + "}}}}}]}}}");
}

json container_of(const json& form) {
  return form.is_object() ? form["pods"][0]["pod"]["spec"]["containers"][0] : form;
}

constexpr const char* kPytorch = R"(
apiVersion: ome.io/v1beta1
kind: ClusterTrainingRuntime
metadata:
  name: llama
  namespace: research
  labels: {ome.io/optimization-level: high, ome.io/gpu-type: h100}
  annotations: {ome.io/metrics-enabled: "true", ome.io/profiling-enabled: "true"}
spec:
  mlPolicy:
    numNodes: 4
    torch: {numProcPerNode: auto}
  podGroupPolicy:
    coscheduling: {scheduleTimeoutSeconds: 300}
    volcano: {minMember: 4, queue: training-queue, priorityClassName: high-priority}
  template:
    metadata:
      labels: {training-framework: pytorch}
    spec:
      failurePolicy: {maxRestarts: 3}
      ttlSecondsAfterFinished: 60
      replicatedJobs:
      - name: worker
        template:
          spec:
            parallelism: 4
            completions: 4
            backoffLimit: 2
            template:
              metadata: {labels: {tier: gold}, annotations: {note: "1"}}
              spec:
                restartPolicy: OnFailure
                nodeSelector: {accelerator: nvidia-h100, network: infiniband}
                securityContext: {runAsNonRoot: true, runAsUser: 1000, fsGroup: 1000}
                initContainers: [{name: fetch, image: curl}]
                containers:
                - {name: proxy, image: envoy}
                - name: trainer
                  image: pytorch:2.0.1
                  command: [torchrun]
                  args: ["--nnodes=4", train.py]
                  env:
                  - {name: NCCL_DEBUG, value: INFO}
                  - {name: LOG_LEVEL, value: INFO}
                  - {name: LOG_FORMAT, value: json}
                  - {name: TOKEN, valueFrom: {secretKeyRef: {name: hub, key: token}}}
                  resources:
                    requests: {nvidia.com/gpu: 8, memory: 64Gi}
                    limits: {nvidia.com/gpu: 8, cpu: 16}
                  securityContext:
                    allowPrivilegeEscalation: false
                    readOnlyRootFilesystem: true
                    capabilities: {add: [IPC_LOCK], drop: [ALL]}
                  ports:
                  - {name: metrics, containerPort: 8090}
                  - {name: profiler, containerPort: 8081}
                  volumeMounts:
                  - {name: infiniband, mountPath: /dev/infiniband}
                  - {name: scripts, mountPath: /app}
                volumes:
                - {name: infiniband, hostPath: {path: /dev/infiniband}}
                - {name: scripts, configMap: {name: training-scripts}}
                - {name: data, persistentVolumeClaim: {claimName: training-data}}
                - {name: logs, emptyDir: {}}
)";

TEST(FormOfManifest, WhatARuntimeSaysOfTheJobHasItsPlace) {
  const json form = form_of(kPytorch);
  expect_places(form, {{"/name", "llama"},
                       {"/namespace", "research"},
                       {"/labels/ome.io~1optimization-level", "high"},
                       {"/labels/ome.io~1gpu-type", "h100"},
                       {"/labels/training-framework", "pytorch"},
                       {"/annotations/ome.io~1profiling-enabled", "true"},
                       {"/nodes", "4"},
                       {"/workers", "auto"},
                       {"/gang/coscheduling/scheduleTimeoutSeconds", 300},
                       {"/gang/volcano", json::parse(R"({"minMember": 4, "queue": "training-queue",
                                                   "priorityClassName": "high-priority"})")},
                       {"/backoff", 3},
                       {"/carried/spec.template.spec.ttlSecondsAfterFinished", 60},
                       {"/pods/0/role", "worker"},
                       {"/pods/0/pods", 4},
                       {"/pods/0/backoff", 2},
                       {"/left", json::array()},
                       {"/remarks", json::array()}});
}

TEST(FormOfManifest, WhatItSaysOfPodsStaysAsItIs) {
  const json form = form_of(kPytorch);
  const json pod = form["pods"][0]["pod"];
  expect_places(pod,
                {{"/metadata/labels/tier", "gold"},
                 {"/metadata/annotations/note", "1"},
                 {"/spec/restartPolicy", "OnFailure"},
                 {"/spec/nodeSelector/accelerator", "nvidia-h100"},
                 {"/spec/nodeSelector/network", "infiniband"},
                 {"/spec/securityContext",
                  json::parse(R"({"runAsNonRoot": true, "runAsUser": 1000, "fsGroup": 1000})")},
                 {"/spec/initContainers/0/name", "fetch"},
                 {"/spec/volumes/0/hostPath/path", "/dev/infiniband"},
                 {"/spec/volumes/1/configMap/name", "training-scripts"},
                 {"/spec/volumes/2/persistentVolumeClaim/claimName", "training-data"},
                 {"/spec/volumes/3/emptyDir", json::object()},
                 {"/spec/containers/0/name", "trainer"},
                 {"/spec/containers/0/image", "pytorch:2.0.1"},
                 {"/spec/containers/0/env/0/value", "INFO"},
                 {"/spec/containers/0/env/1/name", "LOG_LEVEL"},
                 {"/spec/containers/0/env/2/value", "json"},
                 {"/spec/containers/0/env/3/valueFrom/secretKeyRef/key", "token"},
                 {"/spec/containers/0/resources/requests/memory", "64Gi"},
                 {"/spec/containers/0/resources/limits/nvidia.com~1gpu", 8},
                 {"/spec/containers/0/securityContext/allowPrivilegeEscalation", false},
                 {"/spec/containers/0/securityContext/readOnlyRootFilesystem", true},
                 {"/spec/containers/0/securityContext/capabilities/add/0", "IPC_LOCK"},
                 {"/spec/containers/0/securityContext/capabilities/drop/0", "ALL"},
                 {"/spec/containers/0/ports/1/containerPort", 8081},
                 {"/spec/containers/0/volumeMounts/1/mountPath", "/app"},
                 {"/spec/containers/1/name", "proxy"}});
}

TEST(FormOfManifest, MetricsThatAreEnabledAreThoseOfTheStatusPort) {
  const json form = form_of(kPytorch);
  expect_places(form["pods"][0]["pod"]["metadata"]["annotations"],
                {{"/prometheus.io~1scrape", "true"},
                 {"/prometheus.io~1port", "8090"},
                 {"/prometheus.io~1path", "/metrics"}});
  const json variable = {{"name", "MUSTER_STATUS_PORT"}, {"value", "8090"}};
  EXPECT_EQ(container_of(form)["env"].back(), variable);
  const json without = form_of(runtime_with("image: i, command: [x]"));
  EXPECT_FALSE(without["pods"][0]["pod"].contains("metadata"));
}

TEST(FormOfManifest, AnElasticRuntimeCountsRestartsTwice) {
  const json form = form_of(runtime_with(
      "image: i, command: [x]", "",
      "torch: {numProcPerNode: 4, elasticPolicy: {minNodes: 2, maxNodes: 8, maxRestarts: 5, "
      "metrics: [{type: Resource, resource: {name: cpu}}]}}"));
  expect_places(form, {{"/nodes", "2:8"},
                       {"/pods/0/pods", 2},
                       {"/workers", "4"},
                       {"/restarts", 5},
                       {"/backoff", 5},
                       {"/metrics/0/resource/name", "cpu"},
                       {"/remarks/0",
                        "spec.mlPolicy.torch.elasticPolicy.maxRestarts: 5 restarts by Muster in "
                        "each of 6 attempts of the controller are 36 attempts in all"}});
}

std::string mpi_runtime(const std::string& policy, const std::string& worker) {
  return runtime(
      "{mlPolicy: {numNodes: 2, mpi: {" + policy +
      "}}, template: {spec: {replicatedJobs: [{name: launcher, template: {spec: "
      "{template: {spec: {containers: [{name: mpi-launcher, image: i, command: [mpirun], "
      "args: [-np, 4, --hostfile, /etc/mpi/hostfile, python, train.py]}]}}}}}, {name: "
      "worker, template: {spec: {parallelism: 2, template: {spec: {containers: [{name: "
      "mpi-worker, image: i" +
      worker + "}]}}}}}]}}}");
}

TEST(FormOfManifest, AnMpiRuntimesLauncherAndWorkersHaveTheSameWords) {
  const json words = {"mpirun", "-np", "4", "python", "train.py"};
  for (const char* const worker :
       {"", ", command: [/usr/sbin/sshd, -D], readinessProbe: {tcpSocket: {port: 22}}"}) {
    const json form = form_of(
        mpi_runtime("numProcPerNode: 2, mpiImplementation: Intel, sshAuthMountPath: /etc/keys, "
                    "runLauncherAsNode: false",
                    worker));
    expect_places(form, {{"/framework", "mpi"},
                         {"/launcher ranks", false},
                         {"/nodes", "2"},
                         {"/workers", "2"},
                         {"/mpi", "Intel"},
                         {"/ssh", "/etc/keys"},
                         {"/pods/0/role", "launcher"},
                         {"/pods/1/pods", 2},
                         {"/pods/0/pod/spec/containers/0/command", {"muster", "run", "--"}},
                         {"/pods/0/pod/spec/containers/0/args", words},
                         {"/pods/1/pod/spec/containers/0/command", {"muster", "run", "--"}},
                         {"/pods/1/pod/spec/containers/0/args", words}});
    EXPECT_FALSE(form["pods"][1]["pod"]["spec"]["containers"][0].contains("readinessProbe"));
  }
}

TEST(FormOfManifest, KeysThatRootAloneMayReadAreMountedElsewhere) {
  const auto job = [](const std::string& pod, JobKind kind) {
    auto form = form_of_manifest(
        "apiVersion: kubeflow.org/v2beta1\nkind: MPIJob\nmetadata: {name: m}\nspec: "
        "{sshAuthMountPath: /root/.ssh, mpiReplicaSpecs: {Launcher: {template: {spec: {" +
            pod + "containers: [{name: a, command: [mpirun, ring]}]}}}}}",
        "");
    settle_keys(*form, kind);
    return as_json(*form);
  };
  EXPECT_EQ(job("", JobKind::kMpiJob)["ssh"], "");
  EXPECT_EQ(job("", JobKind::kMpiJob)["remarks"].size(), 1);
  EXPECT_EQ(job("securityContext: {runAsUser: 0}, ", JobKind::kTrainJob)["ssh"], "/root/.ssh");
  EXPECT_EQ(job("", JobKind::kJobSet)["ssh"], "");
  EXPECT_EQ(job("", JobKind::kJobSet)["remarks"], json::array());
  EXPECT_EQ(job("", JobKind::kJobSet)["left"], json({"sshAuthMountPath"}));
}

TEST(FormOfManifest, ALauncherMayBeANode) {
  const std::string text = runtime(
      "{mlPolicy: {numNodes: 2, mpi: {numProcPerNode: 1, runLauncherAsNode: true}}, template: "
      "{spec: {replicatedJobs: [{name: launcher, template: {spec: {template: {spec: {containers: "
      "[{name: a, command: [mpirun, x]}]}}}}}, {name: worker, template: {spec: {template: {spec: "
      "{containers: [{name: b}]}}}}}]}}}");
  expect_places(form_of(text), {{"/launcher ranks", true}, {"/pods/1/pods", 1}});
}

// The program as Kubernetes gets it.
json words_of(const std::string& container, const std::string& policy = "numNodes: 2") {
  const json all = container_of(form_of(runtime_with("image: i, " + container, "", policy)));
  return all.value("command", json()) == json({"muster", "run", "--"}) ? all["args"] : all;
}

TEST(FormOfManifest, AnInnerLauncherNeedNotBeToldWhereNodesMeet) {
  EXPECT_EQ(words_of("command: [torchrun], args: ['--nnodes=${NUM_NODES}', --rdzv_backend=c10d, "
                     "'--rdzv_endpoint=$MASTER_ADDR:$MASTER_PORT', train.py]"),
            json({"torchrun", "--nnodes=2", "--rdzv_backend=c10d", "train.py"}));
  EXPECT_EQ(words_of("command: [torchrun], args: [--rdzv_endpoint=etcd:2379, train.py]"),
            json({"torchrun", "--rdzv_endpoint=etcd:2379", "train.py"}));
  EXPECT_EQ(words_of("command: [torchrun], args: ['--rdzv_endpoint=$MASTER_ADDR:1', train.py], "
                     "env: [{name: MASTER_ADDR, value: me}]"),
            json({"torchrun", "--rdzv_endpoint=$(MASTER_ADDR):1", "train.py"}));
}

TEST(FormOfManifest, NamesAreVariablesOfKubernetesButForAShell) {
  EXPECT_EQ(words_of("command: [python, t.py, '$MASTER_ADDR:${MASTER_PORT}', '$MASTER_ADDRESS', "
                     "'$HOME', '$(X)', '$$MASTER_ADDR', '$NUM_NODES']"),
            json({"python", "t.py", "$(MASTER_ADDR):$(MASTER_PORT)", "$MASTER_ADDRESS", "$HOME",
                  "$(X)", "$$MASTER_ADDR", "2"}));
  EXPECT_EQ(words_of("command: [/bin/bash, -c], args: ['echo $MASTER_ADDR $NUM_NODES $RANK']"),
            json({"/bin/bash", "-c", "echo $MASTER_ADDR 2 $RANK"}));
  EXPECT_EQ(words_of("command: [x, '$NUM_NODES'], workingDir: /w",
                     "torch: {elasticPolicy: {minNodes: 2, maxNodes: 3}}"),
            json({"x", "2:3"}));
}

TEST(FormOfManifest, AddressesAreThoseOfTheKindsFirstPod) {
  struct Row {
    JobKind kind;
    const char* host;
  };
  constexpr Row kRows[] = {{JobKind::kJobSet, "r-worker-0-0.r"},
                           {JobKind::kJob, "r-0.r"},
                           {JobKind::kMpiJob, "r-worker-0.r"},
                           {JobKind::kPytorchJob, "r-worker-0"},
                           {JobKind::kTrainJob, "r-node-0-0.r"}};
  for (const Row& row : kRows) {
    auto form =
        form_of_manifest(runtime_with("image: i, command: [x, '$MASTER_ADDR:$MASTER_PORT']"), "");
    ASSERT_TRUE(form);
    add_addresses(*form, row.kind);
    const json expected = {{{"name", "MASTER_ADDR"}, {"value", row.host}},
                           {{"name", "MASTER_PORT"}, {"value", "29500"}}};
    EXPECT_EQ(launcher::container_of(form->pods[0].pod)["env"], expected);
  }
}

TEST(FormOfManifest, WithoutACommandTheImageMustBeginWithMuster) {
  const json form = form_of(runtime_with("image: i, args: [train.py]"));
  expect_places(container_of(form), {{"/args", {"train.py"}}});
  EXPECT_FALSE(container_of(form).contains("command"));
  EXPECT_EQ(form["remarks"],
            json({"container 'trainer' has no command: the image's ENTRYPOINT must be: muster run "
                  "--"}));
}

TEST(FormOfManifest, ACommandThatIsMustersStays) {
  const json all = container_of(form_of(runtime_with("image: i, command: [muster, run, x]")));
  EXPECT_EQ(all["command"], json({"muster", "run", "x"}));
}

TEST(FormOfManifest, APytorchJobKeepsWhatItsOperatorReads) {
  const std::string pod =
      "template: {spec: {containers: [{name: pytorch, image: i, command: [x]}]}}";
  const json form = form_of(
      "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: p}\nspec: {"
      "nprocPerNode: gpu, runPolicy: {backoffLimit: 4, ttlSecondsAfterFinished: 9, "
      "cleanPodPolicy: All}, elasticPolicy: {minReplicas: 1, maxReplicas: 3, maxRestarts: "
      "2}, pytorchReplicaSpecs: {Master: {restartPolicy: ExitCode, " +
      pod + "}, Worker: {replicas: 2, restartPolicy: Never, " + pod + "}}}");
  EXPECT_EQ(form,
            "spec.nprocPerNode: 'gpu' must be auto, cpu or a number: the pod asks for no GPU");
  const std::string text =
      "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: p}\nspec: {runPolicy: "
      "{backoffLimit: 4, ttlSecondsAfterFinished: 9, cleanPodPolicy: All}, nprocPerNode: '2', "
      "pytorchReplicaSpecs: {Master: {restartPolicy: ExitCode, " +
      pod + "}, Worker: {replicas: 2, restartPolicy: Never, " + pod + "}}}";
  expect_places(form_of(text), {{"/nodes", "3"},
                                {"/workers", "2"},
                                {"/backoff", 4},
                                {"/carried/spec.runPolicy.ttlSecondsAfterFinished", 9},
                                {"/carried/spec.runPolicy.cleanPodPolicy", "All"},
                                {"/left", json::array()},
                                {"/pods/0/role", "master"},
                                {"/pods/1/pods", 2},
                                {"/pods/1/pod/spec/restartPolicy", "Never"},
                                {"/remarks",
                                 {"spec.pytorchReplicaSpecs.Master.restartPolicy: 'ExitCode' is "
                                  "left out: each failure of a pod counts, and nothing but "
                                  "failures"}}});
  EXPECT_FALSE(form_of(text)["pods"][0]["pod"]["spec"].contains("restartPolicy"));
}

TEST(FormOfManifest, AnMpiJobsWorkersNeedNoCommand) {
  const json form = form_of(
      "apiVersion: kubeflow.org/v2beta1\nkind: MPIJob\nmetadata: {name: m}\nspec: "
      "{slotsPerWorker: 2, mpiImplementation: MPICH, sshAuthMountPath: /keys, mpiReplicaSpecs: "
      "{Launcher: {template: {spec: {containers: [{name: a, command: [mpirun, ring]}]}}}, Worker: "
      "{replicas: 2, template: {spec: {containers: [{name: b}]}}}}}");
  expect_places(form, {{"/workers", "2"},
                       {"/mpi", "MPICH"},
                       {"/ssh", "/keys"},
                       {"/pods/1/pod/spec/containers/0/args", {"mpirun", "ring"}}});
}

TEST(FormOfManifest, ATrainJobIsItsTrainer) {
  const std::string head =
      "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: "
      "{name: t}\nspec: {runtimeRef: {name: torch}, labels: {a: b}, trainer: ";
  const json form = form_of(head +
                            "{numNodes: 3, numProcPerNode: 2, image: i, command: [x], env: "
                            "[{name: A, value: b}], resourcesPerNode: {limits: {cpu: 4}}}}");
  expect_places(form, {{"/nodes", "3"},
                       {"/workers", "2"},
                       {"/labels/a", "b"},
                       {"/pods/0/role", "node"},
                       {"/pods/0/pods", 3},
                       {"/pods/0/pod/spec/containers/0/image", "i"},
                       {"/pods/0/pod/spec/containers/0/env/0/value", "b"},
                       {"/pods/0/pod/spec/containers/0/resources/limits/cpu", 4},
                       {"/left", {"spec.runtimeRef"}}});
  EXPECT_EQ(form_of(head + "{command: [x]}}"),
            "spec.trainer.image: nothing must be an image: that of the runtime is in a cluster");
}

TEST(FormOfManifest, AJobIsItsPods) {
  const json form = form_of(
      "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec: {completions: 2, parallelism: "
      "2, "
      "backoffLimit: 7, suspend: true, template: {metadata: {labels: {own: pod}}, spec: "
      "{containers: [{name: c, image: i, command: [x]}]}}}\n---\nkind: Service\n");
  expect_places(
      form,
      {{"/labels", json::object()},
       {"/backoff", 7},
       {"/pods/0/role", "worker"},
       {"/pods/0/pod/metadata/labels/own", "pod"},
       {"/carried/spec.suspend", true},
       {"/remarks", {"of 2 documents only the job is written, with what Muster puts beside it"}}});
}

TEST(FormOfManifest, TheNameMayBeGiven) {
  EXPECT_EQ(form_of(kPytorch, "other")["name"], "other");
  EXPECT_EQ(form_of("apiVersion: batch/v1\nkind: Job\nspec: {template: {spec: {containers: [{name: "
                    "c}]}}}"),
            "metadata.name: nothing must be a name; or give --name");
}

TEST(FormOfManifest, APodsPartsAreWhatKubernetesTakesThemFor) {
  const std::string pod = "spec.template.spec.replicatedJobs[0].template.spec.template.spec.";
  struct Row {
    const char* container;
    const char* more;
    std::string error;
  };
  const Row rows[] = {
      {"command: [x], env: [{name: 5}]", "", pod + "containers[0].env[0].name: '5' must be a text"},
      {"command: [x], volumeMounts: [1]", "",
       pod + "containers[0].volumeMounts[0]: '1' must be fields with values"},
      {"command: [x], resources: {limits: 4}", "",
       pod + "containers[0].resources.limits: '4' must be fields with values"},
      {"command: [x]", "volumes: 1", pod + "volumes: '1' must be a list"},
      {"command: [x]", "securityContext: 2",
       pod + "securityContext: '2' must be fields with values"}};
  for (const Row& row : rows) EXPECT_EQ(form_of(runtime_with(row.container, row.more)), row.error);
  EXPECT_EQ(form_of("apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec: {template: {spec: "
                    "{containers: [{image: i}]}}}"),
            "spec.template.spec.containers[0].name: nothing must be a name");
  EXPECT_EQ(form_of("apiVersion: batch/v1\nkind: Job\nmetadata: {name: a, labels: [b]}\nspec: "
                    "{template: {spec: {containers: [{name: c}]}}}"),
            "metadata.labels: a list must be a map");
}

}  // namespace
}  // namespace muster::launcher
