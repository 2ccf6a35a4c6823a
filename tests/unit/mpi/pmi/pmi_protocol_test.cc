#include "mpi/pmi/pmi_protocol.h"

#include <gtest/gtest.h>

#include <vector>

namespace muster::mpi {
namespace {

// The whole of `bytes` as one request.
template <typename T>
T decoded(const std::string& bytes) {
  const auto result = decode_pmi(bytes);
  EXPECT_TRUE(result) << (result ? "" : result.error().text);
  if (!result || !result->request || !std::holds_alternative<T>(*result->request)) {
    ADD_FAILURE() << bytes;
    return {};
  }
  EXPECT_EQ(result->consumed, bytes.size());
  return std::get<T>(*result->request);
}

Error refused(const std::string& bytes) {
  const auto result = decode_pmi(bytes);
  EXPECT_FALSE(result) << bytes;
  return result ? Error{} : result.error();
}

// As MPICH 4.0.2 sends them.
TEST(PmiProtocol, EveryRequestIsRead) {
  EXPECT_EQ(decoded<PmiInit>("cmd=init pmi_version=1 pmi_subversion=1\n").subversion, 1);
  (void)decoded<PmiGetMaxes>("cmd=get_maxes\n");
  (void)decoded<PmiGetAppNumber>("cmd=get_appnum\n");
  (void)decoded<PmiGetKvsName>("cmd=get_my_kvsname\n");
  (void)decoded<PmiGetUniverseSize>("cmd=get_universe_size\n");
  (void)decoded<PmiBarrier>("cmd=barrier_in\n");
  (void)decoded<PmiFinalize>("cmd=finalize\n");
  const auto get = decoded<PmiGet>("cmd=get kvsname=k_1 key=PMI_process_mapping\n");
  EXPECT_EQ(get.kvs_name, "k_1");
  EXPECT_EQ(get.key, "PMI_process_mapping");
  EXPECT_EQ(decoded<PmiAbort>("cmd=abort exitcode=7\n").exit_code, 7);
  EXPECT_EQ(decoded<PmiAbort>("cmd=abort exitcode=-1 message=a = b\n").exit_code, -1);
  EXPECT_EQ(decoded<PmiAbort>("cmd=abort\n").exit_code, 1);
}

TEST(PmiProtocol, AValueIsTheRestOfTheLine) {
  const auto put = decoded<PmiPut>("cmd=put kvsname=k key=bc-0 value=mpi#02$ port=1 key=x \n");
  EXPECT_EQ(put.kvs_name, "k");
  EXPECT_EQ(put.key, "bc-0");
  EXPECT_EQ(put.value, "mpi#02$ port=1 key=x ");
  EXPECT_EQ(decoded<PmiPut>("cmd=put kvsname=k key=a value=\n").value, "");
}

TEST(PmiProtocol, RequestsAreTakenOneByOneAndPartsDecideNothing) {
  const std::string bytes = "cmd=get_appnum\ncmd=barrier_in\n";
  const auto first = decode_pmi(bytes);
  ASSERT_TRUE(first);
  EXPECT_TRUE(std::holds_alternative<PmiGetAppNumber>(*first->request));
  EXPECT_EQ(first->consumed, 15u);
  for (size_t length = 0; length < first->consumed; ++length) {
    const auto part = decode_pmi(std::string_view(bytes).substr(0, length));
    ASSERT_TRUE(part);
    EXPECT_EQ(part->consumed, 0u);
    EXPECT_FALSE(part->request);
  }
}

TEST(PmiProtocol, DynamicProcessesAreReadWholeAndKnowTheirRefusal) {
  EXPECT_EQ(decoded<PmiDynamic>("cmd=publish_name service=s port=p q\n").answer, "publish_result");
  EXPECT_EQ(decoded<PmiDynamic>("cmd=unpublish_name service=s\n").answer, "unpublish_result");
  EXPECT_EQ(decoded<PmiDynamic>("cmd=lookup_name service=s\n").answer, "lookup_result");
  const std::string spawn =
      "mcmd=spawn\nnprocs=2\nexecname=./a\ntotspawns=2\nspawnssofar=1\narg1=x "
      "y\nargcnt=1\nendcmd\n";
  EXPECT_EQ(decoded<PmiDynamic>(spawn).answer, "");
  std::string last = spawn;
  last.replace(last.find("sofar=1"), 7, "sofar=2");
  EXPECT_EQ(decoded<PmiDynamic>(last).answer, "spawn_result");
  EXPECT_EQ(decode_pmi(spawn.substr(0, spawn.size() - 1))->consumed, 0u);
}

TEST(PmiProtocol, WhatIsNoRequestIsNamed) {
  EXPECT_EQ(refused("GET / HTTP/1.1\n").code, Code::kProtocol);
  EXPECT_EQ(refused("cmd=dance\n").text, "PMI request: unknown command dance");
  EXPECT_EQ(refused("cmd=put kvsname=k key=a\n").text, "PMI request: 'value' is missing");
  EXPECT_EQ(refused("cmd=get key=a\n").text, "PMI request: 'kvsname' is missing");
  EXPECT_EQ(refused("cmd=init pmi_version=x pmi_subversion=1\n").code, Code::kProtocol);
  EXPECT_EQ(refused("cmd=abort exitcode=99999999999\n").code, Code::kProtocol);
  EXPECT_EQ(refused("cmd=barrier_in group=NODE\n").text, "PMI request: barrier of the group NODE");
  EXPECT_EQ(refused("\n").code, Code::kProtocol);
}

TEST(PmiProtocol, EveryLimitHolds) {
  const auto put = [](size_t kvs, size_t key, size_t value) {
    return "cmd=put kvsname=" + std::string(kvs, 'k') + " key=" + std::string(key, 'y') +
           " value=" + std::string(value, 'v') + "\n";
  };
  (void)decoded<PmiPut>(put(kMaxPmiKvsNameBytes, kMaxPmiKeyBytes, kMaxPmiValueBytes));
  EXPECT_EQ(refused(put(kMaxPmiKvsNameBytes + 1, 1, 1)).code, Code::kLimit);
  EXPECT_EQ(refused(put(1, kMaxPmiKeyBytes + 1, 1)).code, Code::kLimit);
  EXPECT_EQ(refused(put(1, 1, kMaxPmiValueBytes + 1)).text,
            "PMI value of 1025 bytes, at most 1024");
  EXPECT_EQ(refused(std::string(kMaxPmiLineBytes + 1, 'x')).code, Code::kLimit);
  EXPECT_EQ(decode_pmi(std::string(kMaxPmiLineBytes, 'x'))->consumed, 0u);
  std::string spawn = "mcmd=spawn\n";
  while (spawn.size() < kMaxPmiSpawnBytes) spawn += "arg=x\n";
  EXPECT_EQ(refused(spawn).code, Code::kLimit);
}

TEST(PmiProtocol, AnAnswerIsOneLine) {
  EXPECT_EQ(encode_pmi("get_result", {{"rc", "0"}, {"value", "a b"}}),
            "cmd=get_result rc=0 value=a b\n");
  EXPECT_EQ(encode_pmi("finalize_ack", {}), "cmd=finalize_ack\n");
}

TEST(PmiProtocol, TheMappingCountsNodesThatAreAlike) {
  EXPECT_EQ(process_mapping({4}), "(vector,(0,1,4))");
  EXPECT_EQ(process_mapping({2, 2, 3, 2}), "(vector,(0,2,2),(2,1,3),(3,1,2))");
  std::vector<int> motley;
  for (int node = 0; node < 300; ++node) motley.push_back(1 + node % 2);
  EXPECT_EQ(process_mapping(motley), "");
}

}  // namespace
}  // namespace muster::mpi
