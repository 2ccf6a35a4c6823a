#include "launcher/render/render_flags.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/text.h"
#include "launcher/options/verb_table.h"
#include "launcher/render/form_of_flags.h"

namespace muster::launcher {
namespace {

using Words = std::vector<std::string>;

// What is wrong with the flags, read and then taken together; "" = nothing.
std::string error_of(Words words) {
  auto request = parse_render_flags(words);
  if (!request) return request.error().text;
  if (request->file.empty()) {
    if (request->name.empty()) request->name = "job";
    if (request->container.image.empty()) request->container.image = "i";
    if (const auto form = form_of_flags(*request); !form) return form.error().text;
  }
  return "";
}

TEST(RenderFlags, AFlagAndItsValueAreWrittenInEachOfTheUsualWays) {
  for (const Words& words :
       {Words{"--image", "a=b"}, {"--image=a=b"}, {"-i", "a=b"}, {"-ia=b"}, {"-i=a=b"}}) {
    const auto request = parse_render_flags(words);
    ASSERT_TRUE(request) << request.error().text;
    EXPECT_EQ(request->container.image, "a=b") << words.front();
  }
  const auto switches = parse_render_flags(Words{"--stdin", "-t=false", "--command=true"});
  ASSERT_TRUE(switches);
  EXPECT_EQ(switches->container.standard_input, true);
  EXPECT_EQ(switches->container.terminal, false);
  EXPECT_TRUE(switches->container.replaces_entrypoint);
}

TEST(RenderFlags, WordsBehindTheFlagsAreThePrograms) {
  for (const Words& words : {Words{"--name", "a", "--", "train.py", "--name", "b"},
                             Words{"--name", "a", "train.py", "--name", "b"}}) {
    const auto request = parse_render_flags(words);
    ASSERT_TRUE(request);
    EXPECT_EQ(request->name, "a");
    EXPECT_EQ(request->words, (Words{"train.py", "--name", "b"}));
  }
}

TEST(RenderFlags, TheSameFlagsMakeTheSameNameOfAPrefixWhereverTheyAreWrittenTo) {
  const auto name_of = [](Words words) { return parse_render_flags(words)->name; };
  const std::string name = name_of({"--job-name-prefix", "bert", "-i", "a", "train.py"});
  EXPECT_TRUE(name.starts_with("bert-")) << name;
  EXPECT_EQ(name.size(), 13U);
  EXPECT_EQ(name_of({"--job-name-prefix=bert", "-o", "x", "--image=a", "train.py"}), name);
  EXPECT_NE(name_of({"--job-name-prefix=bert", "--image=b", "train.py"}), name);
  EXPECT_NE(name_of({"--job-name-prefix=bert", "--image=a", "test.py"}), name);
  EXPECT_EQ(error_of({"--job-name-prefix", "bert", "--name", "a"}),
            "--job-name-prefix: --name is given, too");
  EXPECT_EQ(error_of({"--job-name-prefix", std::string(60, 'a')}),
            "--job-name-prefix: '" + std::string(60, 'a') + "' must be at most 54 letters");
}

TEST(RenderFlags, BesideAManifestOnlyFewFlagsMayStand) {
  EXPECT_EQ(error_of({"-f", "a", "--to", "job", "-o", "d", "--name", "b", "-p", "c"}), "");
  EXPECT_EQ(error_of({"--gpu", "1", "-f", "a"}),
            "--gpu: beside --file there may only be --to, --output, --name and --project");
  EXPECT_EQ(error_of({"-f", "a", "train.py"}), "'train.py': --file says what the pods run");
}

struct Wrong {
  Words words;
  const char* said;  // a part of the line
};

void expect_refused(std::span<const Wrong> rows) {
  for (const auto& [words, said] : rows) {
    const std::string error = error_of(words);
    EXPECT_NE(error.find(said), std::string::npos) << join(words, " ") << " -> " << error;
    EXPECT_FALSE(error.empty()) << join(words, " ");
    EXPECT_EQ(error.find('\n'), std::string::npos) << error;
  }
}

TEST(RenderFlags, AWrongValueIsOneLineWithFlagValueAndRange) {
  const std::string long_name(64, 'a');
  const Wrong rows[] = {
      {{"--nmae", "a"}, "unknown flag '--nmae'"},
      {{"-x"}, "unknown flag '-x'"},
      {{"--e", "a=b"}, "unknown flag '--e'"},
      {{"--image"}, "--image needs a value"},
      {{"--image="}, "--image: '': must not be empty"},
      {{"--image", ""}, "--image: '': must not be empty"},
      {{"--image", "a b"}, "--image: 'a b': must have no spaces"},
      {{"-i", "\xff"}, "must be UTF-8"},
      {{"train.py", "a\xc3"}, "must be UTF-8"},
      {{"--to", "pod"}, "--to: 'pod': none of jobset, job"},
      {{"--name", "1a"}, "--name: '1a': must be at most 63"},
      {{"--name", long_name}, "at most 63"},
      {{"--name", "a\nb"}, "--name: 'a\\nb'"},
      {{"--project", std::string(58, 'a')}, "at most 57"},
      {{"--job-name-prefix", "A"}, "--job-name-prefix: 'A'"},
      {{"--framework", "caffe"}, "--framework: 'caffe': none of"},
      {{"--label", "a"}, "--label: 'a': must be KEY=VALUE"},
      {{"--label", "a=" + long_name}, "the value: must be at most 63"},
      {{"--label", "a/b/c=d"}, "the key: must be"},
      {{"--label", "app.kubernetes.io/instance=x"}, "must not be app.kubernetes.io/instance"},
      {{"--annotation", "a b=c"}, "the key"},
      {{"--runs", "0"}, "from 1 to 100000"},
      {{"--parallelism", "x"}, "from 1 to 100000"},
      {{"--backoff-limit", "101"}, "--backoff-limit: '101': must be a number from 0 to 100"},
      {{"--backoff-limit", "-1"}, "from 0 to 100"},
      {{"--grace-period", "6m"}, "from 0s to 300s"},
      {{"--grace-period", "1.5s"}, "from 0s to 300s"},
      {{"--grace-period", "-1"}, "from 0s to 300s"},
      {{"--ttl", "1h30"}, "--ttl: '1h30': must be a time"},
      {{"--ttl", "99999d"}, "must be a time"},
      {{"--ttl", "9999999999s"}, "must be a time"},
      {{"--interactive=maybe"}, "must be true or false"},
      {{"--image-pull-policy", "Always"}, "none of always, ifNotPresent, never"},
      {{"--local-image=1"}, "must be true or false"},
      {{"--command=yes"}, "must be true or false"},
      {{"-e", "A"}, "--environment: 'A': must be NAME=VALUE"},
      {{"-e", "1A=b"}, "must be NAME=VALUE"},
      {{"--env-secret", "A=b"}, "must be NAME=SECRET:KEY"},
      {{"--env-secret", "A=b:c/d"}, "must be NAME=SECRET:KEY"},
      {{"--working-dir", "a"}, "absolute path"},
      {{"--working-dir", "/a/../b"}, "absolute path without ':' and '..'"},
      {{"--stdin=a"}, "true or false"},
      {{"--tty=a"}, "true or false"},
      {{"--attach=a"}, "true or false"},
      {{"--loglevel", "warning"}, "none of debug, info, warn, error"},
      {{"--workers", "-1"}, "from 0 to 100000"},
      {{"--processes", "0"}, "from 1 to 100000"},
      {{"--master", "none"}, "none of same, different"},
      {{"--no-master=a"}, "true or false"},
      {{"--master-cpu", "a"}, "--master-cpu"},
      {{"--master-gpu", "1.5"}, "--master-gpu"},
      {{"--master-environment", "=a"}, "--master-environment"},
  };
  expect_refused(rows);
}

TEST(RenderFlags, AWrongResourcePlaceOrDoorIsOneLineToo) {
  const Wrong rows[] = {
      {{"--cpu", "0.0001"}, "--cpu: '0.0001': must be a number of CPUs from 1m"},
      {{"--cpu-limit", "-1"}, "number of CPUs"},
      {{"--memory", "1GB"}, "--memory: '1GB': must be a quantity"},
      {{"--memory-limit", "0"}, "above 0"},
      {{"--gpu", "1.5"}, "a whole number from 0 to 1024, or a share"},
      {{"--gpu", "-1"}, "a whole number from 0 to 1024"},
      {{"--gpu", "5e-1"}, "a share between 0 and 1"},
      {{"--gpu-memory", "G"}, "quantity of bytes"},
      {{"--resource", "rdma/hca"}, "--resource: 'rdma/hca': must be DOMAIN/NAME=N"},
      {{"--resource", "hca=1"}, "must be DOMAIN/NAME=N"},
      {{"--resource", "rdma/hca=0"}, "N more than 0"},
      {{"--large-shm=a"}, "true or false"},
      {{"--pvc", "a"}, "--pvc: 'a': must be [CLASS]:SIZE:PATH[:ro] or NAME:PATH[:ro]"},
      {{"--pvc", ":1Gi"}, "[CLASS]:SIZE:PATH[:ro]"},
      {{"--pvc", ":big:/a"}, "the size"},
      {{"--pvc", "A:1Gi:/a"}, "the class"},
      {{"--pvc", "a:/b:rw"}, "with :ro behind it"},
      {{"--pvc", "a:b"}, "the path: must be an absolute path"},
      {{"-v", "/a"}, "SOURCE:PATH[:ro][:nfs-host]"},
      {{"-v", "a:/b"}, "the source"},
      {{"-v", "/a/..:/b"}, "the source: must be an absolute path without ':' and '..'"},
      {{"-v", "/a:/b,"}, "SOURCE:PATH[:ro][:nfs-host]"},
      {{"-v", "/a:/b:ro:HOST"}, "the nfs-host"},
      {{"--nfs-server", "a_b"}, "--nfs-server"},
      {{"--storage", "size=1Gi"}, "must have size= and path="},
      {{"--storage", "size=1Gi,path=/a,colour=red"}, "the keys out of class"},
      {{"--storage", "size=1Gi,path=/a,size=2Gi"}, "size= must be there once"},
      {{"--storage", "size=1Gi,path=/a,access=rw"}, "access=: must be out of rwo, rox and rwx"},
      {{"--storage", "size=1Gi,path=/a,mode=raw"}, "mode=: none of filesystem, block"},
      {{"--storage", "size=1Gi,path=/a,keep=1"}, "keep=: none of yes, no"},
      {{"--config-map", "a"}, "must be NAME:PATH"},
      {{"--secret", "A:/b"}, "the name"},
      {{"--secret", "a:b"}, "the path"},
      {{"--git-sync", "branch=a"}, "must have source="},
      {{"--git-sync", "source=https://me:pw@h/a.git"}, "must have no user"},
      {{"--git-sync", "source=a,username=b"}, "username= and password= together"},
      {{"--git-sync", "source=a,target=b"}, "absolute path"},
      {{"--node-type", "a b"}, "--node-type"},
      {{"--node-pool", "a,,b"}, "must be names with ',' between"},
      {{"--toleration", "a:Never"}, "the effect: none of NoExecute, NoSchedule, PreferNoSchedule"},
      {{"--toleration", "=b"}, "the key"},
      {{"--toleration", "a=b c"}, "the value"},
      {{"--topology", "a"}, "KEY=required or KEY=preferred"},
      {{"--topology", "a=maybe"}, "KEY=required or KEY=preferred"},
      {{"--priority", "High"}, "--priority"},
      {{"--uid", "-1"}, "from 0 to 2147483647"},
      {{"--gid", "a"}, "from 0 to 2147483647"},
      {{"--supplemental-groups", "1,"}, "from 0 to 2147483647"},
      {{"--run-as-user=a"}, "true or false"},
      {{"--create-home-dir=a"}, "true or false"},
      {{"--prevent-privilege-escalation=a"}, "true or false"},
      {{"--host-ipc=a"}, "true or false"},
      {{"--host-network=a"}, "true or false"},
      {{"--node-port", "80"}, "must be PORT:NODEPORT"},
      {{"--node-port", "0:30000"}, "PORT: must be a number from 1 to 65535"},
      {{"--node-port", "80:29999"}, "NODEPORT: must be a number from 30000 to 32767"},
      {{"--node-port", "80:32768"}, "from 30000 to 32767"},
      {{"--external-url", "80"}, "must be PORT=URL"},
      {{"--external-url", "80=ftp://a"}, "--external-url"},
      {{"--external-url", "80=http://a:81"}, "without a port"},
      {{"--external-url", "65536=http://a"}, "PORT: must be a number from 1 to 65535"},
      {{"--external-url", "80=http://10.0.0.1"}, "HOST a name"},
      {{"--external-url", "80=http://[::1]"}, "HOST a name"},
      {{"--external-url", "80=http://a/?b"}, "PATH without"},
      {{"--external-url", "80=http://a//b"}, "PATH without '//'"},
      {{"--external-url", "80=http://a/./b"}, "PATH without"},
      {{"--external-url", "80=http://a/b/.."}, "PATH without"},
      {{"--external-url", "80=http://a/b%2Fc"}, "PATH without"},
      {{"--report", "mail"}, "--report: 'mail'"},
      {{"--report", "stdout trainjob"}, "must be one of"},
      {{"--report-token", "a"}, "must be SECRET:KEY"},
      {{"--help=a"}, "true or false"},
  };
  expect_refused(rows);
}

TEST(RenderFlags, FlagsThatContradictEachOtherAreOneLine) {
  const Wrong rows[] = {
      {{"--runs", "2", "--to", "jobset"}, "--runs: only --to job"},
      {{"--runs", "2", "--workers", "2"}, "--runs: each run is one pod"},
      {{"--runs", "2", "--no-master"}, "--runs: each run is one pod"},
      {{"--runs", "2", "--framework", "mpi"}, "--runs: an MPI job"},
      {{"--parallelism", "2"}, "--parallelism: there is no --runs"},
      {{"--runs", "2", "--parallelism", "3"},
       "--parallelism: '3': must be from 1 to --runs, which is 2"},
      {{"--master-cpu", "1"}, "need --master different"},
      {{"--master-gpu", "1", "--master", "same"}, "need --master different"},
      {{"--master-environment", "A=b"}, "need --master different"},
      {{"--no-master", "--master", "same"}, "--no-master: --master is given, too"},
      {{"--master", "different", "--to", "job"}, "are alike"},
      {{"--processes", "2"}, "--processes: needs --framework mpi"},
      {{"--processes", "2", "--workers", "2", "--framework", "mpi"}, "--processes: --workers"},
      {{"--workers", "0", "--to", "mpijob"}, "--workers: an MPI job needs one or more"},
      {{"--workers", "0", "--no-master"}, "leaves no pod"},
      {{"--no-master", "--framework", "mpi"}, "--no-master: an MPIJob has a launcher"},
      {{"--local-image", "--image-pull-policy", "always"}, "--local-image"},
      {{"--attach", "--tty=false"}, "--attach: needs --stdin and --tty"},
      {{"--node-port", "80:30080", "--runs", "2"}, "of --runs none is the first"},
      {{"--secret", "a:/etc/muster/"}, "'/etc/muster': this path is Muster's own"},
      {{"--secret", "a:/etc/podinfo/a"}, "'/etc/podinfo/a': this path is Muster's own"},
      {{"--gpu", "4", "--resource", "nvidia.com/gpu=2"},
       "--resource: 'nvidia.com/gpu=2': --gpu is '4'"},
      {{"--gpu", "0.5", "--resource", "nvidia.com/gpu=1"}, "--gpu is '0.5'"},
      {{"--gpu-memory", "1G", "--resource", "nvidia.com/gpu=1"}, "--gpu-memory is a share"},
      {{"--master", "different", "--master-gpu", "1", "--resource", "nvidia.com/gpu=2"},
       "--resource: 'nvidia.com/gpu=2': --master-gpu is '1'"},
      {{"--resource", "rdma/hca=1", "--resource", "rdma/hca=2"},
       "--resource: 'rdma/hca=2': it is '1' before"},
      {{"--secret", "a:/b/", "--config-map", "c:/b"}, "'/b': two volumes have this path"},
      {{"--stdin", "--runs", "2"}, "--runs are several programs"},
      {{"--interactive", "--runs", "2"}, "--interactive: --runs"},
      {{"--interactive", "--backoff-limit", "3"}, "--backoff-limit"},
      {{"--command"}, "--command: there are no words"},
      {{"--cpu", "2", "--cpu-limit", "1500m"}, "--cpu: must be at most --cpu-limit"},
      {{"--master", "different", "--master-cpu", "2", "--cpu-limit", "1"}, "--master-cpu: must be"},
      {{"--memory", "2Gi", "--memory-limit", "2G"}, "--memory: must be at most"},
      {{"--gpu", "1", "--gpu-memory", "1G"}, "--gpu-memory: --gpu is given, too"},
      {{"--run-as-user", "--gid", "1"}, "--run-as-user"},
      {{"--nfs-server", "a", "-v", "/a:/b:host"}, "--nfs-server: there is no --volume"},
      {{"--report-token", "a:b"}, "--report-token: there is no --report"},
      {{"-v", "/a:/d", "--pvc", "b:/d"}, "'/d': two volumes have this path"},
      {{"--node-port", "80:30000", "--node-port", "81:30000"}, "--node-port: 30000 is there twice"},
      {{"--node-port", "80:30000", "--node-port", "80:30001"}, "--node-port: 80 is there twice"},
      {{"--name", std::string(58, 'a'), "--node-port", "80:30000"}, "at most 57 letters"},
  };
  expect_refused(rows);
}

TEST(RenderFlags, NameAndImageAreNeeded) {
  EXPECT_EQ(form_of_flags(RenderRequest{}).error().text, "--name is needed");
  EXPECT_EQ(form_of_flags(RenderRequest{.name = "a"}).error().text, "--image is needed");
}

TEST(RenderFlags, HelpTellsAllOfThem) {
  const std::string help = render_help();
  for (const RenderFlagGroup& group : render_flag_groups()) {
    EXPECT_NE(help.find("\n" + std::string(group.title) + ":\n"), std::string::npos);
    for (const RenderFlag& row : group.rows)
      EXPECT_NE(help.find(" --" + std::string(row.name)), std::string::npos) << row.name;
  }
  EXPECT_TRUE(parse_render_flags(Words{"-h", "--nonsense"})->help);
}

TEST(RenderFlags, TheShellCompletesEachOfThem) {
  const auto verbs = verb_table();
  const auto verb = std::ranges::find(verbs, "render", &VerbRow::name);
  ASSERT_NE(verb, verbs.end());
  Words completed;
  for (const VerbFlag& flag : verb->flags)
    completed.push_back(std::string(flag.name) + (flag.takes_value ? " VALUE" : ""));
  Words rows;
  for (const RenderFlagGroup& group : render_flag_groups()) {
    for (const RenderFlag& row : group.rows) {
      if (row.name != "help")
        rows.push_back("--" + std::string(row.name) + (row.placeholder.empty() ? "" : " VALUE"));
    }
  }
  EXPECT_EQ(completed, rows);
}

}  // namespace
}  // namespace muster::launcher
