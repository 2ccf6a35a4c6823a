// What controllers say of a pod: their variables, files and names as they set them, and the flags
// that follow. Recorded from the controllers' sources: mpi-operator 0.8, Trainer 2.3, Volcano 1.12.
#include "launcher/contracts/read_contract.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "launcher/command_line/command_line.h"
#include "launcher/contracts/apply_contract.h"
#include "launcher/contracts/mounted_key.h"
#include "tests/support/fake_files.h"

namespace muster::launcher {
namespace {

using Names = std::vector<std::string>;
using Variables = std::vector<std::pair<std::string, std::string>>;
using Content = std::vector<std::pair<std::string, std::string>>;

constexpr const char* kSecretMount =
    "22 1 0:20 / / rw - overlay overlay rw\n"
    "31 22 0:44 / /dev/shm rw,nosuid - tmpfs shm rw\n"
    "36 22 0:31 / /root/.ssh ro,relatime - tmpfs tmpfs ro,size=128k\n";

// A pod: its host name, variables and files.
struct Pod {
  std::string host_name;
  Variables variables;
  Content files;
  bool has_key = true;  // mounted as a Secret
  std::string framework = {};
};

struct FakePod {
  explicit FakePod(const Pod& pod) : facts{environment, files, pod.host_name, pod.framework} {
    for (const auto& [name, value] : pod.variables) environment.set(name, value);
    for (const auto& [path, text] : pod.files) files.add_file(path, text);
    if (!pod.has_key) return;
    files.add_file("/proc/self/mountinfo", kSecretMount);
    for (const char* name : {"id_rsa", "id_rsa.pub", "authorized_keys"})
      files.add_file(std::string("/root/.ssh/") + name, "a key\n");
  }
  Environment environment;
  testing::FakeFiles files;
  PodFacts facts;
};

// "--nnodes 2 (mpi-operator: /etc/mpi/hostfile)", and what is missing.
Names said(const Pod& pod) {
  const FakePod fake(pod);
  const auto contract = *read_contract(fake.facts);
  if (!contract) return {"no contract"};
  Names said = {std::string(contract->controller)};
  for (const auto& [flag, text, source] : contract->values)
    said.push_back(long_name(row_of(flag)) + " " + text + " (" + source + ")");
  for (const auto& [flag, problem, always, give, rank] : contract->gaps)
    said.push_back(long_name(row_of(flag)) + " is missing: " + problem);
  if (!contract->secret_file.empty()) said.push_back("secret " + contract->secret_file);
  return said;
}

const Variables kOpenMpiLauncher = {{"K_MPI_JOB_ROLE", "launcher"},
                                    {"OMPI_MCA_orte_keep_fqdn_hostnames", "true"},
                                    {"OMPI_MCA_orte_default_hostfile", "/etc/mpi/hostfile"},
                                    {"OMPI_MCA_plm_rsh_args", "-o ConnectionAttempts=10"},
                                    {"OMPI_MCA_orte_set_default_slots", "2"},
                                    {"NVIDIA_VISIBLE_DEVICES", ""},
                                    {"NVIDIA_DRIVER_CAPABILITIES", ""}};
const std::string kTwoWorkers =
    "pi-worker-0.pi.default.svc slots=2\npi-worker-1.pi.default.svc slots=2\n";
const std::pair<std::string, std::string> kLauncherHosts = {
    "/etc/hosts", "10.0.0.9\tpi-launcher.pi.default.svc.cluster.local\tpi-launcher\n"};

TEST(Contract, LauncherOfTheMpiOperator) {
  const Pod pod{
      "pi-launcher", kOpenMpiLauncher, {{"/etc/mpi/hostfile", kTwoWorkers}, kLauncherHosts}};
  EXPECT_EQ(said(pod), (Names{"mpi-operator", "--framework mpi (mpi-operator: K_MPI_JOB_ROLE)",
                              "--mpi openmpi (mpi-operator: OMPI_MCA_orte_default_hostfile)",
                              "--mpi-role launcher (mpi-operator: /etc/mpi/hostfile)",
                              "--nnodes 2 (mpi-operator: /etc/mpi/hostfile)",
                              "--rdzv-endpoint pi-launcher.pi.default.svc.cluster.local (own name)",
                              "secret /root/.ssh/id_rsa"}));
}

TEST(Contract, LauncherThatIsAWorkerWithIntelMpi) {
  const Pod pod{
      "pi-launcher",
      {{"K_MPI_JOB_ROLE", "launcher"},
       {"I_MPI_HYDRA_HOST_FILE", "/etc/mpi/hostfile"},
       {"I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS", "-o ConnectionAttempts=10"},
       {"I_MPI_PERHOST", "4"}},
      {{"/etc/mpi/hostfile", "pi-launcher.pi.default.svc:4\npi-worker-0.pi.default.svc:4\n"}},
      false};
  EXPECT_EQ(said(pod), (Names{"mpi-operator", "--framework mpi (mpi-operator: K_MPI_JOB_ROLE)",
                              "--mpi intel (mpi-operator: I_MPI_HYDRA_HOST_FILE)",
                              "--mpi-role launcher-worker (mpi-operator: /etc/mpi/hostfile)",
                              "--nnodes 2 (mpi-operator: /etc/mpi/hostfile)",
                              "--nproc-per-node 4 (mpi-operator: /etc/mpi/hostfile)",
                              "--rdzv-endpoint pi-launcher (own name)"}));
  Pod on_host_network = pod;
  on_host_network.host_name = "gpu-9";
  EXPECT_EQ(said(on_host_network)[3], said(pod)[3]);
}

TEST(Contract, MpichIsToldByItsVariable) {
  const Pod pod{"pi-launcher",
                {{"K_MPI_JOB_ROLE", "launcher"}, {"HYDRA_HOST_FILE", "/etc/mpi/hostfile"}},
                {{"/etc/mpi/hostfile", "pi-worker-0.pi.default.svc:2\n"}}};
  EXPECT_EQ(said(pod).at(2), "--mpi mpich (mpi-operator: HYDRA_HOST_FILE)");
}

TEST(Contract, WorkerOfTheMpiOperatorKnowsItsLauncherByItsOwnName) {
  const std::string launcher = "my-worker-0-launcher.my-worker-0.ns.svc.cluster.local";
  const Pod pod{"my-worker-0-worker-12",
                {{"K_MPI_JOB_ROLE", "worker"}},
                {{"/etc/hosts",
                  "10.0.0.7\tmy-worker-0-worker-12.my-worker-0.ns.svc.cluster.local\t"
                  "my-worker-0-worker-12\n"}}};
  EXPECT_EQ(said(pod), (Names{"mpi-operator", "--framework mpi (mpi-operator: K_MPI_JOB_ROLE)",
                              "--mpi-role worker (mpi-operator: K_MPI_JOB_ROLE)",
                              "--rdzv-endpoint " + launcher + " (mpi-operator: own name)",
                              "secret /root/.ssh/id_rsa"}));
}

TEST(Contract, WhatTheOperatorsFilesLackIsSaidWithTheFlagThatHelps) {
  const auto problem = [](const std::string& hostfile) {
    Content files;
    if (!hostfile.empty()) files.emplace_back("/etc/mpi/hostfile", hostfile);
    const FakePod fake({"pi-launcher", kOpenMpiLauncher, files});
    const auto applied = apply_contract(RawFlags{}, **read_contract(fake.facts));
    if (applied) return std::string("no problem");
    EXPECT_EQ(applied.error().code, Code::kConfig);
    return applied.error().text;
  };
  EXPECT_EQ(problem(kTwoWorkers), "no problem");
  EXPECT_EQ(problem(""),
            "mpi-operator: open '/etc/mpi/hostfile': No such file or directory; give --nnodes");
  EXPECT_EQ(problem("#\n"),
            "mpi-operator: /etc/mpi/hostfile: line 2: no host in the whole file; give --nnodes");
  EXPECT_EQ(problem("a-0.x slots=1\na-0.y slots=1\n"),
            "mpi-operator: /etc/mpi/hostfile: host 'a-0.y': another host has the same first label "
            "'a-0', which Open MPI takes for the same host; give --nnodes");
}

TEST(Contract, ARoleThatNobodyKnowsAndANameThatTellsNothing) {
  EXPECT_EQ(said({"pi-launcher", {{"K_MPI_JOB_ROLE", "boss"}}, {}, false}).back(),
            "--mpi-role is missing: K_MPI_JOB_ROLE 'boss' is neither launcher nor worker");
  EXPECT_EQ(said({"ip-10-0-0-1", {{"K_MPI_JOB_ROLE", "worker"}}, {}, false}).back(),
            "--rdzv-endpoint is missing: the host name 'ip-10-0-0-1' is not JOB-worker-N, so the "
            "launcher's is not known");
}

TEST(Contract, TrainerHasALauncherWithAHostfileAndNodesWithAKey) {
  const Variables index = {{"JOB_COMPLETION_INDEX", "0"}};
  Variables launcher = index;
  launcher.insert(launcher.end(), kOpenMpiLauncher.begin() + 1, kOpenMpiLauncher.end());
  const Pod pod{"ds-launcher-0-0",
                launcher,
                {{"/etc/mpi/hostfile", "ds-node-0-0.ds slots=8\nds-node-0-1.ds slots=8\n"}}};
  EXPECT_EQ(said(pod).at(0), "Trainer");
  EXPECT_EQ(said(pod).at(3), "--mpi-role launcher (Trainer: /etc/mpi/hostfile)");
  EXPECT_EQ(said(pod).at(4), "--nnodes 2 (Trainer: /etc/mpi/hostfile)");
  EXPECT_EQ(
      said({"ds-node-0-1", index, {}}),
      (Names{"Trainer", "--framework mpi (Trainer: own name and /root/.ssh/id_rsa)",
             "--mpi-role worker (Trainer: own name and /root/.ssh/id_rsa)",
             "--rdzv-endpoint ds-launcher-0-0 (Trainer: own name)", "secret /root/.ssh/id_rsa"}));
  // A torch runtime, and one without a launcher: the same names.
  EXPECT_EQ(said({"ds-node-0-1", {{"JOB_COMPLETION_INDEX", "1"}, {"PET_NODE_RANK", "1"}}, {}}),
            Names{"no contract"});
  EXPECT_EQ(said({"ds-node-0-1", index, {}, false}), Names{"no contract"});
}

const Variables kVolcanoLists = {{"VC_TASK_INDEX", "0"},
                                 {"VC_MPIMASTER_HOSTS", "vj-mpimaster-0.vj"},
                                 {"VC_MPIMASTER_NUM", "1"},
                                 {"VC_MPIWORKER_HOSTS", "vj-mpiworker-0.vj,vj-mpiworker-1.vj"},
                                 {"VC_MPIWORKER_NUM", "2"}};

TEST(Contract, VolcanosTaskCalledMasterHasTheLauncher) {
  EXPECT_EQ(said({"vj-mpimaster-0", kVolcanoLists, {}}),
            (Names{"Volcano", "--framework mpi (Volcano: /root/.ssh/id_rsa)",
                   "--mpi-role launcher (Volcano: VC_MPIWORKER_HOSTS)",
                   "--rdzv-endpoint vj-mpimaster-0 (own name)",
                   "--nnodes 2 (Volcano: VC_MPIWORKER_HOSTS)", "secret /root/.ssh/id_rsa"}));
  EXPECT_EQ(said({"vj-mpiworker-1", kVolcanoLists, {}, false, "mpi"}),
            (Names{"Volcano", "--mpi-role worker (Volcano: VC_MPIMASTER_HOSTS)",
                   "--rdzv-endpoint vj-mpimaster-0.vj (Volcano: VC_MPIMASTER_HOSTS)"}));
}

TEST(Contract, VolcanosFilesSayItNowAndItsPluginSaysWhoTheWorkersAre) {
  const Content files = {{"/etc/volcano/head.host", "vj-head-0.vj"},
                         {"/etc/volcano/mpi_worker.host", "vj-mpi-worker-0.vj\nvj-mpi-worker-1.vj"},
                         {"/etc/volcano/VC_HEAD_HOSTS", "vj-head-0.vj"}};
  const Pod head{
      "vj-head-0", {{"MPI_HOST", "vj-mpi-worker-0.vj,vj-mpi-worker-1.vj"}}, files, false};
  EXPECT_EQ(said(head), (Names{"Volcano", "--framework mpi (Volcano: MPI_HOST)",
                               "--mpi-role launcher (Volcano: /etc/volcano/mpi_worker.host)",
                               "--rdzv-endpoint vj-head-0 (own name)",
                               "--nnodes 2 (Volcano: /etc/volcano/mpi_worker.host)"}));
  const FakePod fake(head);
  EXPECT_EQ((*read_contract(fake.facts))->hostfile, "/etc/volcano/mpi_worker.host");
  EXPECT_FALSE((*read_contract(fake.facts))->says_slots);
  EXPECT_EQ(said({"vj-mpi-worker-0", {}, files, false, "mpi"}).back(),
            "--mpi-role is missing: which of the tasks head, mpi_worker has the launcher is not "
            "known: none is called master");
  EXPECT_EQ(said({"node-7", {}, files, false, "mpi"}).back(),
            "--mpi-role is missing: the host name 'node-7' is in none of the lists");
}

TEST(Contract, OneTaskOfVolcanoHasNoRoles) {
  const std::string first = "vj-worker-0.vj,vj-worker-1.vj,vj-worker-2.vj";
  const Pod pod{
      "vj-worker-1",
      {{"VC_WORKER_HOSTS", "vj-worker-0.vj,vj-worker-1.vj,vj-worker-2.vj,vj-worker-3.vj"}},
      {},
      false,
      "mpi"};
  EXPECT_EQ(said(pod), (Names{"Volcano", "--nnodes 4 (Volcano: VC_WORKER_HOSTS)",
                              "--rdzv-endpoint " + first + " (Volcano: VC_WORKER_HOSTS)"}));
}

TEST(Contract, TheJobIsCalledAsItsControllerCallsIt) {
  const auto job_of = [](const Pod& pod) {
    const FakePod fake(pod);
    const auto contract = *read_contract(fake.facts);
    return contract ? contract->job : "no contract";
  };
  EXPECT_EQ(job_of({"pi-worker-1", {{"K_MPI_JOB_ROLE", "worker"}}, {}}), "pi");
  EXPECT_EQ(job_of({"pi-launcher", {{"K_MPI_JOB_ROLE", "launcher"}}, {}}), "pi");
  EXPECT_EQ(job_of({"bert-node-0-1", {{"JOB_COMPLETION_INDEX", "1"}}, {}}), "bert");
  EXPECT_EQ(job_of({"lm-worker-0", {{"VC_WORKER_HOSTS", "lm-worker-0.lm,lm-worker-1.lm"}}, {}}),
            "lm");
}

TEST(Contract, ARankThatInheritedItsPodsVariablesIsNoPod) {
  for (const char* rank : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"}) {
    const Pod pod{"pi-worker-0", {{"K_MPI_JOB_ROLE", "worker"}, {rank, "1"}}, {}};
    EXPECT_EQ(said(pod), Names{"no contract"}) << rank;
  }
  for (const char* setting : {"PMIX_INSTALL_PREFIX", "OMPI_MCA_pmix", "PMI_DEBUG"}) {
    const Pod pod{"pi-worker-0", {{"K_MPI_JOB_ROLE", "worker"}, {setting, "1"}}, {}};
    EXPECT_EQ(said(pod).front(), "mpi-operator") << setting;
  }
  EXPECT_EQ(said({"pc", {}, {}, false}), Names{"no contract"});
}

TEST(Contract, TheAgentSeesNothingThatLeadsAnMpirunElsewhere) {
  const FakePod fake({"pi-launcher", kOpenMpiLauncher, {{"/etc/mpi/hostfile", kTwoWorkers}}});
  const auto contract = *read_contract(fake.facts);
  Environment seen = contract_environment(*contract, fake.environment);
  EXPECT_EQ(seen.get("MUSTER_JOB_SECRET_FILE"), "/root/.ssh/id_rsa");
  for (const char* name : {"K_MPI_JOB_ROLE", "OMPI_MCA_orte_default_hostfile",
                           "NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES"})
    EXPECT_FALSE(seen.has(name)) << name;
  EXPECT_TRUE(seen.has("OMPI_MCA_plm_rsh_args"));
  seen.set("MUSTER_JOB_SECRET_FILE", "/etc/muster/secret");
  EXPECT_EQ(contract_environment(*contract, seen).get("MUSTER_JOB_SECRET_FILE"),
            "/etc/muster/secret");
}

TEST(MountedKey, CountsOnlyInAMountOfItsOwnInMemory) {
  const auto found = [](const std::string& mountinfo, const Names& files) {
    testing::FakeFiles fake;
    fake.add_file("/proc/self/mountinfo", mountinfo);
    for (const std::string& path : files) fake.add_file(path, "x");
    return find_mounted_key(fake);
  };
  const Names key = {"/opt/ssh-keys/id_rsa", "/opt/ssh-keys/id_rsa.pub",
                     "/opt/ssh-keys/authorized_keys"};
  const std::string mount = "36 22 0:31 / /opt/ssh-keys ro shared:5 master:1 - tmpfs tmpfs ro\n";
  EXPECT_EQ(found(mount, key), "/opt/ssh-keys/id_rsa");
  EXPECT_EQ(found("22 1 0:20 / / rw - overlay overlay rw\n", key), "");
  EXPECT_EQ(found("36 22 0:31 / /opt/ssh-keys ro - ext4 /dev/sda ro\n", key), "");
  EXPECT_EQ(found("36 22 0:31 /.ssh /opt/ssh-keys ro - tmpfs tmpfs ro\n", key), key[0]);  // subPath
  EXPECT_EQ(found("36 22 0:31 /k /opt/ssh-keys/id_rsa ro - tmpfs tmpfs ro\n", key), key[0]);
  EXPECT_EQ(found("36 22 0:31 /k /opt/ssh-keys/id_rsa.pub ro - tmpfs tmpfs ro\n", key), "");
  EXPECT_EQ(found(mount, {key[0], key[1]}), "");
  EXPECT_EQ(found("36 22 0:31 /\n\n- -\n36 22 0:31 / /x ro -\n", key), "");
  EXPECT_EQ(find_mounted_key(testing::FakeFiles()), "");
}

class ContractCommandLine : public ::testing::Test {
 protected:
  Result<CommandLine> read(Names words, const Pod& pod) {
    const FakePod fake(pod);
    return read_command_line({Personality::kMuster, "muster", std::move(words)}, fake.environment,
                             RandomBytes{}, &fake.facts);
  }
  const Pod launcher_{"pi-launcher", kOpenMpiLauncher, {{"/etc/mpi/hostfile", kTwoWorkers}}};
};

TEST_F(ContractCommandLine, AnMpiJobNeedsNoFlags) {
  for (const Names& words :
       {Names{"--framework", "mpi", "./a.out"}, Names{"mpirun", "-n", "4", "./a.out"}}) {
    const auto command_line = read(words, launcher_);
    ASSERT_TRUE(command_line) << command_line.error().text;
    const Options& options = command_line->options;
    EXPECT_TRUE(options.framework.uses_mpirun());
    EXPECT_EQ(options.framework.role, MpiRole::kLauncher);
    EXPECT_EQ(options.framework.mpi, mpi::Implementation::kOpenMpi);
    EXPECT_EQ(options.max_nodes, 2);
    EXPECT_TRUE(command_line->contract->says_slots);
    EXPECT_EQ(options.explained.back().flag, "MUSTER_JOB_SECRET_FILE");
  }
}

TEST_F(ContractCommandLine, ItSaysTheFramework) {
  const auto command_line = read({"train.py"}, launcher_);
  ASSERT_TRUE(command_line) << command_line.error().text;
  EXPECT_EQ(command_line->options.framework.role, MpiRole::kLauncher);
  EXPECT_EQ(command_line->contract->name, "mpi-operator");
}

TEST_F(ContractCommandLine, WhatIsNoMpiJobIsNotMeantByIt) {
  EXPECT_FALSE(read({"--contract=none", "--framework=mpi", "./a.out"}, launcher_)->contract);
  for (const Names& words : {Names{"torchrun", "x.py"}, Names{"--framework=pytorch", "mpirun"}}) {
    const auto command_line = read(words, launcher_);
    ASSERT_TRUE(command_line) << command_line.error().text;
    EXPECT_FALSE(command_line->contract);
    EXPECT_NE(join(command_line->options.warnings, "\n").find("one of an MPI job"),
              std::string::npos);
  }
}

TEST_F(ContractCommandLine, AControllerThatIsDemandedMustBeThere) {
  EXPECT_TRUE(read({"--contract=mpi-operator", "./a.out"}, launcher_)->contract);
  const auto other = read({"--contract=lws", "./a.out"}, launcher_);
  EXPECT_EQ(other.error().code, Code::kConfig);
  EXPECT_EQ(other.error().text,
            "--contract: this is no pod of lws: it has not LWS_LEADER_ADDRESS, LWS_GROUP_SIZE and "
            "LWS_WORKER_INDEX");
}

TEST_F(ContractCommandLine, FlagsAndVariablesBeatIt) {
  Pod pod = launcher_;
  pod.variables.emplace_back("MUSTER_NNODES", "1:2");
  const auto command_line =
      read({"--framework=mpi", "--mpi=mpich", "--nproc-per-node=3", "x"}, pod);
  ASSERT_TRUE(command_line) << command_line.error().text;
  EXPECT_EQ(command_line->options.min_nodes, 1);
  EXPECT_EQ(command_line->options.framework.mpi, mpi::Implementation::kMpich);
  EXPECT_FALSE(command_line->contract->says_slots);
  Pod none = launcher_;
  none.files.clear();
  EXPECT_TRUE(read({"--framework=mpi", "--nnodes=2", "x"}, none));
  EXPECT_EQ(read({"--framework=mpi", "x"}, none).error().code, Code::kConfig);
}

}  // namespace
}  // namespace muster::launcher
