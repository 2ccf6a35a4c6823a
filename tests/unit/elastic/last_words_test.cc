// Who says that a peer was gone. The texts are from real runs where a comment names the version.
#include "elastic/last_words.h"

#include <gtest/gtest.h>

#include <string>

namespace muster::elastic {
namespace {

// PyTorch 1.13 over gloo, rank 0, when rank 1 had raised an exception.
constexpr std::string_view kGloo =
    "Traceback (most recent call last):\n"
    "  File \"train.py\", line 6, in <module>\n"
    "    dist.all_reduce(torch.ones(1))\n"
    "  File \"/usr/lib/python3/dist-packages/torch/distributed/distributed_c10d.py\", line 1541, "
    "in "
    "all_reduce\n"
    "    work.wait()\n"
    "RuntimeError: [./gloo/transport/tcp/pair.cc:598] Connection closed by peer [127.0.0.1]:54441";

constexpr std::string_view kValueError =
    "Traceback (most recent call last):\n"
    "  File \"train.py\", line 5, in <module>\n"
    "    raise ValueError(\"no such sample\")\n"
    "ValueError: no such sample";

std::string with_prefix(std::string_view prefix, std::string_view lines) {
  std::string result(prefix);
  for (const char c : lines) {
    result += c;
    if (c == '\n') result += prefix;
  }
  return result;
}

TEST(LastWords, EverySignatureIsFoundAndHasASource) {
  for (const auto& signature : lost_peer_signatures()) {
    const std::string line = "what(): " + std::string(signature.text) + ", rank 3";
    EXPECT_TRUE(tells_of_lost_peer({line, ""})) << line;
    EXPECT_TRUE(tells_of_lost_peer({"", line})) << line;
    EXPECT_FALSE(signature.source.empty()) << line;
  }
}

TEST(LastWords, APeersExceptionTellsOfTheLostPeer) {
  EXPECT_TRUE(tells_of_lost_peer({"", kGloo}));
  EXPECT_FALSE(tells_of_lost_peer({"", kValueError}));
}

TEST(LastWords, NoWordsTellNothing) {
  EXPECT_FALSE(tells_of_lost_peer({"", ""}));
  EXPECT_FALSE(tells_of_lost_peer({"", "exit 5"}));
}

TEST(LastWords, TheErrorFileCountsAlone) {
  EXPECT_FALSE(tells_of_lost_peer({"ValueError: no such sample", kGloo}));
  EXPECT_TRUE(tells_of_lost_peer({"RuntimeError: Broken pipe", kValueError}));
}

TEST(LastWords, OnlyTheLastExceptionCounts) {
  const std::string retried = std::string(kGloo) + "\ntrying again\n" + std::string(kValueError);
  EXPECT_FALSE(tells_of_lost_peer({"", retried}));
  const std::string warned = "warning: Connection reset by peer\n" + std::string(kValueError);
  EXPECT_FALSE(tells_of_lost_peer({"", warned}));
}

TEST(LastWords, AnExceptionOfSeveralLinesIsReadToItsEnd) {
  const std::string nccl =
      "Traceback (most recent call last):\n  File \"t.py\", line 1, in <module>\n"
      "torch.distributed.DistBackendError: NCCL error in: NCCLUtils.hpp:219\n"
      "ncclRemoteError: A call failed possibly due to a network error or a remote process exiting "
      "prematurely.\nLast error:\nsocketProgress: Connection closed by remote peer";
  EXPECT_TRUE(tells_of_lost_peer({"", nccl}));
}

// PyTorch 2.13 writes the traceback of an uncaught exception with its rank in front of each line.
TEST(LastWords, LinesMayHaveTheRankInFront) {
  EXPECT_TRUE(tells_of_lost_peer({"", with_prefix("[rank0]: ", kGloo)}));
  const std::string warned =
      "warning: Broken pipe\n" + with_prefix("[rank1]: ", kValueError) + "\n[rank1]:[W] bye";
  EXPECT_FALSE(tells_of_lost_peer({"", warned}));
}

TEST(LastWords, AStackThatWasCutOffIsReadAsLines) {
  EXPECT_TRUE(tells_of_lost_peer({"", "Broken pipe\nTraceback (most recent call last):\n  File"}));
  EXPECT_TRUE(tells_of_lost_peer({"", "Broken pipe\nTraceback (most recent call last):"}));
  // A line that is shorter than the prefix of the header.
  EXPECT_FALSE(tells_of_lost_peer({"", "[rank0]: Traceback (most recent call last):\nx\n"}));
}

TEST(LastWords, WhoWasNotToldToStopIsToBlameUnlessAPeerWasGone) {
  EXPECT_EQ(blame_of(false, {"", kValueError}), Blame::kOwn);
  EXPECT_EQ(blame_of(false, {"", "exit 5"}), Blame::kOwn);
  EXPECT_EQ(blame_of(false, {"", kGloo}), Blame::kLostPeer);
}

TEST(LastWords, WhoWasToldToStopIsToBlameOnlyForAnExceptionOfItsOwn) {
  EXPECT_EQ(blame_of(true, {"ValueError: no such sample", ""}), Blame::kOwnWhileEnding);
  EXPECT_EQ(blame_of(true, {"", kValueError}), Blame::kOwnWhileEnding);
  EXPECT_EQ(blame_of(true, {"", kGloo}), Blame::kBecauseStopped);
  EXPECT_EQ(blame_of(true, {"", "bye"}), Blame::kBecauseStopped);
}

TEST(LastWords, ThoseWithAnExceptionOfTheirOwnGoBeforeThoseWhoLostAPeer) {
  EXPECT_LT(Blame::kOwn, Blame::kOwnWhileEnding);
  EXPECT_LT(Blame::kOwnWhileEnding, Blame::kLostPeer);
  EXPECT_LT(Blame::kLostPeer, Blame::kBecauseStopped);
}

}  // namespace
}  // namespace muster::elastic
