// The other options: resolve_options_test.cc.
#include "launcher/options/mpi_flags.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "launcher/options/flag_search.h"
#include "launcher/options/resolve_options.h"

namespace muster::launcher {
namespace {

using Words = std::vector<std::string>;
using Lines = std::vector<std::string>;

Result<Options> resolved(Words words) {
  words.emplace_back("program");
  auto raw = scan_flags(Dialect::kMuster, words, Environment{});
  if (!raw) return std::move(raw).error();
  return resolve_options(*raw, Personality::kMuster, RandomBytes{});
}
Options muster(const Words& words) {
  auto options = resolved(words);
  EXPECT_TRUE(options) << (options ? "" : options.error().text);
  return options ? *std::move(options) : Options{};
}

TEST(FrameworkOptions, MpiBringsItsRemoteShell) {
  const Options mpi = muster({"--framework=mpi", "--mpi=mpich", "--nnodes=2"});
  EXPECT_TRUE(mpi.framework.is_mpi());
  EXPECT_EQ(mpi.framework.mpi, mpi::Implementation::kMpich);
  EXPECT_EQ(mpi.framework.mpi_launch, MpiLaunch::kMpirun);
  EXPECT_TRUE(mpi.nodes.rsh);
  EXPECT_EQ(mpi.warnings, Lines{});
  const Options plain = muster({"--mpi=openmpi", "--nnodes=2"});
  EXPECT_FALSE(plain.framework.is_mpi());
  EXPECT_FALSE(plain.nodes.rsh);
  EXPECT_EQ(plain.warnings, Lines{"--mpi has no effect without --framework mpi"});
  EXPECT_EQ(muster({"--framework=mpi"}).framework.mpi, std::nullopt);
}

TEST(FrameworkOptions, PlacementThatMpirunsRanksWouldNotHaveIsRefused) {
  for (const char* flag : {"--numa-binding=node", "--virtual-local-rank"}) {
    const auto refused = resolved({"--framework=mpi", flag});
    ASSERT_FALSE(refused) << flag;
    EXPECT_EQ(refused.error().code, Code::kUsage);
    EXPECT_NE(refused.error().text.find("mpirun starts the ranks"), std::string::npos)
        << refused.error().text;
    EXPECT_TRUE(resolved({"--framework=mpi", "--mpi-launch=pmi", flag})) << flag;
    EXPECT_TRUE(resolved({flag})) << flag;
  }
}

TEST(FrameworkOptions, TheCommandMayBeTheLauncher) {
  const Options elastic = muster({"--framework=mpi", "--mpi-launch=elastic", "--nnodes=1:3"});
  EXPECT_TRUE(elastic.framework.is_elastic());
  EXPECT_TRUE(elastic.framework.runs_command());
  EXPECT_TRUE(elastic.framework.starts_launcher());
  EXPECT_FALSE(elastic.framework.uses_mpirun());
  EXPECT_TRUE(elastic.nodes.rsh);
  const Options command = muster({"--framework=mpi", "--mpi-launch=command", "--mpi=mpich"});
  EXPECT_TRUE(command.framework.runs_command());
  EXPECT_FALSE(command.framework.is_elastic());
  EXPECT_EQ(command.warnings, Lines{"--mpi has no effect without --mpi-launch mpirun"});
  EXPECT_FALSE(muster({"--mpi-launch=elastic"}).framework.is_elastic());
}

TEST(FrameworkOptions, HorovodsLauncherIsKnownAndElasticWithADiscoveryScript) {
  EXPECT_EQ(implied_launch("/opt/bin/horovodrun", {"-np", "2"}), MpiLaunch::kCommand);
  EXPECT_EQ(implied_launch("horovodrun", {"--host-discovery-script=x"}), MpiLaunch::kElastic);
  EXPECT_EQ(implied_launch("mpirun", {"--host-discovery-script", "x"}), std::nullopt);
  EXPECT_EQ(implied_launch("horovodrun/a", {}), std::nullopt);
}

TEST(FrameworkOptions, RolesOfLauncherAndWorker) {
  EXPECT_EQ(muster({"--framework=mpi"}).framework.role, MpiRole::kAny);
  const Options launcher = muster({"--framework=mpi", "--mpi-role=launcher"});
  EXPECT_TRUE(launcher.framework.launches());
  EXPECT_FALSE(launcher.standalone);
  EXPECT_EQ(launcher.max_nodes, 1);
  EXPECT_TRUE(muster({"--framework=mpi", "--mpi-role=launcher-worker"}).standalone);
  const Options worker =
      muster({"--framework=mpi", "--mpi-role=worker", "--rdzv-endpoint=pi-launcher"});
  EXPECT_FALSE(worker.framework.launches());
  EXPECT_FALSE(worker.standalone);
  const Options plain = muster({"--mpi-role=launcher"});
  EXPECT_EQ(plain.framework.role, MpiRole::kAny);
  EXPECT_EQ(plain.warnings, Lines{"--mpi-role has no effect without --framework mpi"});
}

TEST(FrameworkOptions, ARoleThatCannotBe) {
  const auto problem = [](Words words) {
    words.insert(words.begin(), "--framework=mpi");
    const auto options = resolved(std::move(words));
    return options ? "accepted" : options.error().text;
  };
  EXPECT_EQ(problem({"--mpi-role=worker"}),
            "--mpi-role 'worker': where the launcher is is not known: give --rdzv-endpoint "
            "LAUNCHER");
  EXPECT_EQ(problem({"--mpi-role=launcher", "--standalone"}),
            "--mpi-role 'launcher': there is no other node with --standalone");
  EXPECT_EQ(problem({"--mpi-role=launcher", "--rdzv-backend=static", "--nnodes=2"}),
            "--mpi-role 'launcher': the launcher leads, so --rdzv-backend must be c10d");
  EXPECT_EQ(problem({"--framework=mpi", "--mpi-role=launcher", "--mpi-launch=pmi"}), "accepted");
  EXPECT_EQ(problem({"--mpi-role=both"}).substr(0, 19), "--mpi-role 'both': ");
  EXPECT_EQ(
      problem({"--contract=some"}),
      "--contract 'some': must be one of auto, none, mpi-operator, trainer, training-operator, "
      "jobset, lws, volcano, slurm, indexed-job, sagemaker, determined, dlrover");
}

TEST(FrameworkOptions, PmiNeedsNoRemoteShellAndNoOpenMpi) {
  const Options pmi = muster({"--framework=mpi", "--mpi-launch=pmi", "--nnodes=2"});
  EXPECT_TRUE(pmi.framework.uses_pmi());
  EXPECT_FALSE(pmi.framework.uses_mpirun());
  EXPECT_FALSE(pmi.nodes.rsh);
  EXPECT_TRUE(resolved({"--framework=mpi", "--mpi-launch=pmi", "--mpi=intel"}));
  const auto open_mpi = resolved({"--framework=mpi", "--mpi-launch=pmi", "--mpi=openmpi"});
  ASSERT_FALSE(open_mpi);
  EXPECT_EQ(open_mpi.error().text,
            "--mpi-launch 'pmi': --mpi openmpi speaks PMIx, not PMI 1: say pmix");
}

TEST(FrameworkOptions, PmixIsForOpenMpi) {
  const Options pmix = muster({"--framework=mpi", "--mpi-launch=pmix", "--mpi=openmpi"});
  EXPECT_TRUE(pmix.framework.uses_pmix());
  EXPECT_TRUE(pmix.framework.starts_ranks());
  EXPECT_FALSE(pmix.framework.uses_mpirun());
  EXPECT_TRUE(resolved({"--framework=mpi", "--mpi-launch=pmix"}));
  const auto mpich = resolved({"--framework=mpi", "--mpi-launch=pmix", "--mpi=mpich"});
  ASSERT_FALSE(mpich);
  EXPECT_EQ(mpich.error().text,
            "--mpi-launch 'pmix': that is for Open MPI; with --mpi mpich say pmi");
}

TEST(FrameworkOptions, TheStartHasADeadline) {
  EXPECT_EQ(muster({"--framework=mpi"}).framework.mpi_start_timeout, std::chrono::minutes(5));
  const Options hasty = muster({"--framework=mpi", "--mpi-start-timeout=20s"});
  EXPECT_EQ(hasty.framework.mpi_start_timeout, std::chrono::seconds(20));
  EXPECT_EQ(muster({"--mpi-start-timeout=20s"}).warnings,
            Lines{"--mpi-start-timeout has no effect without --framework mpi"});
  const auto warnings = [](const std::string& launch) {
    return muster({"--framework=mpi", "--mpi-launch=" + launch, "--mpi-start-timeout=20s"})
        .warnings;
  };
  const Lines idle{
      "--mpi-start-timeout has no effect without --mpi-launch mpirun, command or pmix"};
  EXPECT_EQ(warnings("pmi"), idle);
  EXPECT_EQ(warnings("elastic"), idle);
  for (const char* launch : {"mpirun", "command", "pmix"}) EXPECT_EQ(warnings(launch), Lines{});
}

TEST(FrameworkOptions, SshIsATransportOfMpirunAlone) {
  const Options ssh = muster({"--framework=mpi", "--mpi-transport=ssh", "--mpi-ssh-keys=/keys",
                              "--mpi-ssh-port=2222", "--nnodes=2"});
  EXPECT_TRUE(ssh.framework.uses_ssh());
  EXPECT_EQ(ssh.framework.mpi_ssh_keys, "/keys");
  EXPECT_EQ(ssh.framework.mpi_ssh_port, 2222);
  EXPECT_EQ(ssh.warnings, Lines{});
  EXPECT_FALSE(muster({"--framework=mpi"}).framework.uses_ssh());
  for (const char* launch : {"pmi", "pmix"}) {
    const auto options =
        resolved({"--framework=mpi", "--mpi-transport=ssh", std::string("--mpi-launch=") + launch});
    ASSERT_FALSE(options);
    EXPECT_EQ(options.error().text,
              std::string("--mpi-transport 'ssh': with --mpi-launch ") + launch +
                  " the agents start the ranks: only mpirun starts anything on other nodes");
  }
}

// What the controller's list says nobody else can: there is no agent on the nodes.
TEST(FrameworkOptions, WithSshdTheNodesAreThoseOfTheList) {
  const Words sshd = {"--framework=mpi", "--mpi-transport=sshd-unverified"};
  const auto with = [&sshd](const Words& more) {
    Words words = sshd;
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  const auto problem = [&with](const std::string& flag) {
    const auto options = resolved(with({flag}));
    return options ? "accepted" : options.error().text;
  };
  EXPECT_EQ(problem("--nnodes=2"),
            "--nnodes '2': with --mpi-transport sshd-unverified the nodes are all those of the "
            "controller's list: leave it out");
  EXPECT_EQ(problem("--nproc-per-node=auto"),
            "--nproc-per-node 'auto': with --mpi-transport sshd-unverified nobody on the nodes can "
            "count what they have: give a number, or none where the controller's list has slots");
  EXPECT_EQ(problem("--mpi-role=worker"),
            "--mpi-transport 'sshd-unverified': then workers run sshd and not Muster: --mpi-role "
            "worker cannot be");
  const Options fine = muster(with({"--nproc-per-node=2", "--mpi-role=launcher", "--hosts=a,b",
                                    "--spares=1", "--mpi-ssh-port=2222"}));
  EXPECT_TRUE(fine.standalone);
  EXPECT_EQ(fine.workers_per_node.number, 2);
  EXPECT_EQ(fine.warnings, (Lines{"--hosts has no effect with --mpi-transport sshd-unverified",
                                  "--spares has no effect with --mpi-transport sshd-unverified"}));
}

TEST(FrameworkOptions, WithSshdTheNumberOfNodesMayComeFromAContract) {
  auto raw = scan_flags(Dialect::kMuster, Words{"--framework=mpi", "--mpi-transport=sshd", "a.out"},
                        Environment{});
  ASSERT_TRUE(raw);
  raw->given[flag::kNnodes] = {"2", SourceKind::kContract, "mpi-operator: /etc/mpi/hostfile"};
  const auto options = resolve_options(*raw, Personality::kMuster, RandomBytes{});
  ASSERT_TRUE(options) << options.error().text;
  EXPECT_TRUE(options->standalone);
  EXPECT_EQ(options->max_nodes, 1);
}

TEST(FrameworkOptions, AValueOfAContractIsNamedWithWhereItSaysSo) {
  auto raw = scan_flags(Dialect::kMuster, Words{"--framework=mpi", "--mpi-launch=pmi", "a.out"},
                        Environment{});
  ASSERT_TRUE(raw);
  raw->given[flag::kMpi] = {"openmpi", SourceKind::kContract, "mpi-operator: X"};
  const auto options = resolve_options(*raw, Personality::kMuster, RandomBytes{});
  ASSERT_FALSE(options);
  EXPECT_EQ(options.error().text,
            "--mpi-launch 'pmi': --mpi (mpi-operator: X) openmpi speaks PMIx, not PMI 1: say pmix");
}

TEST(FrameworkOptions, AWrongValueIsNamedWithItsFlag) {
  const auto problem = [](const std::string& flag) {
    const auto options = resolved({flag});
    return options ? "accepted" : options.error().text;
  };
  EXPECT_EQ(problem("--framework=caffe"),
            "--framework 'caffe': none of auto, pytorch, mpi, xgboost, tensorflow, jax, horovod, "
            "lightgbm, paddle, plain");
  EXPECT_EQ(problem("--mpi=lam"), "--mpi 'lam': none of auto, openmpi, mpich, intel");
  EXPECT_EQ(problem("--mpi-start-timeout=900ms"),
            "--mpi-start-timeout '900ms': must be at least 1 s");
  EXPECT_EQ(problem("--mpi-launch=ssh"),
            "--mpi-launch 'ssh': none of mpirun, pmi, pmix, command, elastic");
}

}  // namespace
}  // namespace muster::launcher
