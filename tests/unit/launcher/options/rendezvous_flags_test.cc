// From flags to Options: where the nodes meet. Standalone mode, static and elastic backends, etcd.
#include <gtest/gtest.h>

#include "launcher/options/job_setup.h"
#include "tests/support/resolved_options.h"

namespace muster::launcher {
namespace {

// Standalone mode

TEST(ResolveOptions, OneNodeWithoutEndpointIsStandalone) {
  for (const Personality personality : {Personality::kMuster, Personality::kTorchrun}) {
    const Options options = options_of(personality, {"--nproc-per-node=2"});
    EXPECT_TRUE(options.standalone);
    EXPECT_EQ(options.backend, RendezvousBackend::kC10d);
    EXPECT_EQ(options.rdzv_endpoint, "localhost:0");
    EXPECT_EQ(options.run_id, kRandomId);
    EXPECT_EQ(explained(options, "--standalone"), "true (one node)");
    EXPECT_EQ(explained(options, "--rdzv-backend"), "c10d (one node)");
    EXPECT_EQ(explained(options, "--rdzv-id"), std::string(kRandomId) + " (random, one node)");
    EXPECT_EQ(explained(options, "--nnodes"), "1:1 (default)");
  }
}

TEST(ResolveOptions, AnEndpointAPortOrAChosenBackendPreventsImpliedStandaloneMode) {
  EXPECT_FALSE(torchrun({"--master-port=29500"}).standalone);
  EXPECT_FALSE(torchrun({}, {{"PET_MASTER_PORT", "29500"}}).standalone);
  EXPECT_FALSE(torchrun({"--rdzv-endpoint=h:1"}).standalone);
  EXPECT_FALSE(torchrun({"--rdzv-backend=c10d"}).standalone);
  EXPECT_FALSE(torchrun({"--nnodes=1:2"}).standalone);
  EXPECT_TRUE(torchrun({"--master-addr=10.0.0.1"}).standalone);
  EXPECT_TRUE(torchrun({"--rdzv-backend=static"}).standalone);
  EXPECT_TRUE(muster({"--rdzv-backend=c10d"}).standalone);
  EXPECT_TRUE(muster({"--rdzv-backend=static"}).standalone);
  EXPECT_FALSE(muster({"--rdzv-backend=c10d", "--rdzv-endpoint=localhost:0"}).standalone);
}

TEST(ResolveOptions, AsTorchrunC10dAloneMeetsAtLocalhost) {
  const Options options = torchrun({"--rdzv-backend=c10d"});
  EXPECT_EQ(options.rdzv_endpoint, "localhost:29400");
  EXPECT_EQ(options.run_id, "none");
  EXPECT_EQ(explained(options, "--rdzv-endpoint"), "localhost:29400 (--rdzv-backend c10d)");
}

TEST(ResolveOptions, StandaloneIgnoresTheOtherRendezvousFlags) {
  const Options options = torchrun({"--standalone", "--nnodes=1:4", "--rdzv-backend=etcd"},
                                   {{"PET_RDZV_ENDPOINT", "h:1"},
                                    {"PET_MASTER_ADDR", "m"},
                                    {"PET_MASTER_PORT", "1"},
                                    {"PET_LOCAL_ADDR", "l"}});
  EXPECT_TRUE(options.standalone);
  EXPECT_EQ(options.backend, RendezvousBackend::kC10d);
  EXPECT_EQ(options.rdzv_endpoint, "localhost:0");
  EXPECT_EQ(options.max_nodes, 1);
  EXPECT_EQ(options.master_addr, "");
  EXPECT_EQ(options.master_port, std::nullopt);
  EXPECT_EQ(options.local_addr, "l");
  EXPECT_EQ(explained(options, "--standalone"), "true (--standalone)");
  EXPECT_EQ(explained(options, "--nnodes"), "1:1 (--standalone)");
  EXPECT_EQ(options.warnings, Lines{});
}

TEST(ResolveOptions, StandaloneFlagsThatContradictAreNamed) {
  EXPECT_EQ(refused({"--standalone", "--nnodes=2"}),
            "--standalone means one node, but --nnodes is '2'");
  EXPECT_EQ(refused({}, {{"PET_STANDALONE", ""}, {"PET_NNODES", "2:4"}}),
            "PET_STANDALONE means one node, but PET_NNODES is '2:4'");
  EXPECT_EQ(torchrun({"--standalone", "--master-port=1", "--rdzv-endpoint=h"}).warnings,
            (Lines{"--rdzv-endpoint has no effect with --standalone",
                   "--master-port has no effect with --standalone"}));
}

TEST(ResolveOptions, ALocalAddressMayBeAName) {
  const Options options =
      torchrun({"--nnodes=2", "--rdzv-backend=c10d", "--rdzv-endpoint=h", "--local-addr=l"});
  EXPECT_EQ(options.local_addr, "l");
  EXPECT_EQ(options.warnings, Lines{});
}

TEST(ResolveOptions, ANodeRankWithoutNodesIsWorthAWarning) {
  const Options options = torchrun({"--node-rank=3"});
  EXPECT_EQ(options.node_rank, std::nullopt);
  EXPECT_EQ(explained(options, "--node-rank"), "0 (one node)");
  EXPECT_EQ(options.warnings,
            Lines{"--node-rank 3 has no effect: with one node, this one is a job of its own (is "
                  "--nnodes missing?)"});
}

TEST(ResolveOptions, ASpareMakesAJobOfOneNodeOneOfMany) {
  const Options spares = muster({"--nnodes=1", "--spares=1", "--rdzv-endpoint=a,b"});
  EXPECT_FALSE(spares.standalone);
  EXPECT_TRUE(has_many_nodes(spares));
  EXPECT_EQ(spares.warnings, Lines{});
  EXPECT_FALSE(has_many_nodes(muster({"--nnodes=1", "--rdzv-endpoint=a,b"})));
  EXPECT_FALSE(has_many_nodes(muster({"--standalone", "--spares=1"})));
  EXPECT_FALSE(has_many_nodes(muster({"--spares=1", "--rdzv-backend=static"})));
}

TEST(ResolveOptions, CommandsOnOtherNodesNeedOtherNodes) {
  EXPECT_EQ(muster({"--rsh", "--nnodes=2", "--rdzv-endpoint=127.0.0.1"}).warnings, Lines{});
  EXPECT_EQ(muster({"--rsh"}).warnings, Lines{"--rsh has no effect: there is one node"});
}

TEST(ResolveOptions, OnlyTorchrunReplacesAGivenRunIdInStandaloneMode) {
  EXPECT_EQ(torchrun({"--rdzv-id=mine"}).run_id, kRandomId);
  EXPECT_EQ(muster({"--rdzv-id=mine"}).run_id, "mine");
  EXPECT_EQ(muster({"--rdzv-id=none"}).run_id, kRandomId);
  EXPECT_EQ(torchrun({"--nnodes=2", "--rdzv-id=mine"}).run_id, "mine");
}

TEST(ResolveOptions, AnEmptyRunIdIsRandomAndSaidSo) {
  const Options options = torchrun({"--rdzv-id=", "--nnodes=2"});
  EXPECT_EQ(options.run_id, kRandomId);
  EXPECT_EQ(explained(options, "--rdzv-id"), std::string(kRandomId) + " (random)");
  EXPECT_EQ(options.warnings, Lines{"--rdzv-id is empty, using a random id"});
}

// Several nodes

TEST(ResolveOptions, ANodeRankBeyondTheNodesIsWorthAWord) {
  EXPECT_EQ(muster({"--nnodes=2:4", "--node-rank=9", "--rdzv-endpoint=h:1"}).warnings,
            Lines{"--node-rank 9: --nnodes 2:4 has no such node rank; it only orders the nodes"});
  EXPECT_EQ(muster({"--nnodes=2:4", "--spares=1", "--node-rank=4", "--rdzv-endpoint=h:1"}).warnings,
            Lines{});
}

TEST(ResolveOptions, ATimeBelowZeroIsNoTime) {
  EXPECT_EQ(refused({"--replace-wait", "-1s"}, {}, Personality::kMuster),
            "--replace-wait '-1s': not a time (5, 1.5s, 500ms, 5m)");
}

TEST(ResolveOptions, TheStaticBackendIsChecked) {
  EXPECT_EQ(refused({"--nnodes=2", "--node-rank=2"}),
            "--node-rank '2': --nnodes is 2, so the largest is 1");
  EXPECT_EQ(refused({"--nnodes=1", "--master-port=1", "--node-rank=1"}),
            "--node-rank '1': --nnodes is 1, so the largest is 0");
  EXPECT_EQ(refused({"--nnodes=2", "--rdzv-endpoint=h"}),
            "--rdzv-endpoint 'h': the static backend needs HOST:PORT");
  EXPECT_EQ(
      refused({"--nnodes=2", "--rdzv-backend=static", "--master-addr=h"}, {}, Personality::kMuster),
      "the static backend with 2 nodes needs --node-rank on each: 0 leads, the others wait for "
      "it");
  EXPECT_EQ(torchrun({"--nnodes=2:4"}).warnings,
            Lines{"--nnodes 2:4: the static backend always waits for all 4 nodes"});
}

TEST(ResolveOptions, ElasticBackendsIgnoreTheNodeRank) {
  const Options options = torchrun({}, {{"PET_NNODES", "2:4"},
                                        {"PET_RDZV_BACKEND", "c10d"},
                                        {"PET_RDZV_ENDPOINT", "job-worker-0:23456"},
                                        {"PET_NODE_RANK", "7"}});
  EXPECT_EQ(options.node_rank, 7);
  EXPECT_EQ(options.rdzv_endpoint, "job-worker-0:23456");
  EXPECT_EQ(options.warnings, Lines{});
}

TEST(ResolveOptions, AFreePortIsRefusedWhereOtherNodesMustKnowIt) {
  EXPECT_EQ(refused({"--nnodes=2", "--master-port=0"}),
            "--master-port '0': port 0 is any free port, which other nodes cannot know");
  EXPECT_EQ(refused({"--nnodes=2", "--rdzv-backend=c10d", "--rdzv-endpoint=h:0"}),
            "--rdzv-endpoint 'h:0': port 0 is any free port, which other nodes cannot know");
  EXPECT_EQ(torchrun({"--master-port=0"}).master_port, 0);
  EXPECT_EQ(torchrun({"--rdzv-backend=c10d", "--rdzv-endpoint=localhost:0"}).rdzv_endpoint,
            "localhost:0");
}

TEST(ResolveOptions, EtcdNeedsAnEndpoint) {
  EXPECT_EQ(refused({"--rdzv-backend=etcd-v2", "--nnodes=2"}),
            "--rdzv-backend 'etcd-v2': --rdzv-endpoint HOST[:PORT],... must say where etcd is");
  EXPECT_EQ(torchrun({"--rdzv-backend=etcd", "--rdzv-endpoint=e:2379"}).backend,
            RendezvousBackend::kEtcd);
}

TEST(ResolveOptions, UnknownRendezvousSettingsAreSaidToHaveNoEffect) {
  EXPECT_EQ(torchrun({"--rdzv-conf=join_timout=5,use_libuv=0"}).warnings,
            Lines{"--rdzv-conf: key 'join_timout' is unknown and has no effect"});
  EXPECT_EQ(torchrun({"--rdzv-conf=timeout=5,read_timeout=9,last_call_timeout=2"}).warnings,
            Lines({"--rdzv-conf: key 'read_timeout' has no effect: who is silent is dialled anew "
                   "until join_timeout or --lease"}));
  EXPECT_EQ(
      torchrun({"--rdzv-backend=c10d", "--rdzv-endpoint=h", "--rdzv-conf=timeout=5"}).warnings,
      Lines({"--rdzv-conf: key 'timeout' has no effect with c10d, whose key is join_timeout"}));
}

}  // namespace
}  // namespace muster::launcher
