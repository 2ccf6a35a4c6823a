#include "rendezvous/etcd/etcd_messages.h"

#include <gtest/gtest.h>

#include "base/base64.h"

namespace muster::rendezvous {
namespace {

using namespace std::chrono_literals;

constexpr const char* kHeaderField =
    R"("header":{"cluster_id":"3249","member_id":"33","revision":"7","raft_term":"2"})";

HttpResponse ok(const std::string& body) { return {200, body}; }
HttpResponse answer(const std::string& fields) {
  return ok("{" + std::string(kHeaderField) + fields + "}");
}
// "/muster/x/leader" with the value "hi".
constexpr const char* kEntries =
    R"("kvs":[{"key":"L211c3Rlci94L2xlYWRlcg==","create_revision":"2","mod_revision":"2",)"
    R"("version":"1","value":"aGk=","lease":"2324035525790549253"}],"count":"1")";

TEST(Base64, ThereAndBack) {
  const std::pair<std::string, std::string> cases[] = {{"", ""},
                                                       {"f", "Zg=="},
                                                       {"fo", "Zm8="},
                                                       {"foo", "Zm9v"},
                                                       {"foob", "Zm9vYg=="},
                                                       {"foobar", "Zm9vYmFy"},
                                                       {"\xff\xfe\xfd", "//79"},
                                                       {std::string("\0\1", 2), "AAE="}};
  for (const auto& [bytes, text] : cases) {
    EXPECT_EQ(to_base64(bytes), text);
    EXPECT_EQ(from_base64(text), bytes);
  }
  for (const char* wrong :
       {"Z", "Zg=", "Zg", "Z===", "Zh==", "Zm9=", "Zg==Zg==", "Z-==", "====", "Zm9v Zg="}) {
    EXPECT_EQ(from_base64(wrong), std::nullopt) << wrong;
  }
}

// Bodies as etcd 3.4.23 took them.
TEST(EtcdMessages, RequestsAsTheGatewayTakesThem) {
  EXPECT_EQ(range_call("/a").path, "/v3/kv/range");
  EXPECT_EQ(range_call("/a").body, R"({"key":"L2E="})");
  EXPECT_EQ(grant_call(2500ms).path, "/v3/lease/grant");
  EXPECT_EQ(grant_call(2500ms).body, R"({"TTL":"3"})");
  EXPECT_EQ(keep_alive_call(2324035525790549253).body, R"({"ID":"2324035525790549253"})");
  EXPECT_EQ(revoke_call(5).path, "/v3/lease/revoke");
  EXPECT_EQ(put_call("/a", "hi", 5).body, R"({"key":"L2E=","lease":"5","value":"aGk="})");
  const EtcdCall claim = claim_call("/a", "hi", 5, "/b");
  EXPECT_EQ(claim.path, "/v3/kv/txn");
  EXPECT_EQ(
      claim.body,
      R"({"compare":[{"create_revision":"0","key":"L2E=","result":"EQUAL","target":"CREATE"}],)"
      R"("failure":[{"request_range":{"key":"L2E="}}],)"
      R"("success":[{"request_put":{"key":"L2E=","lease":"5","value":"aGk="}},)"
      R"({"request_range":{"key":"L2I="}}]})");
}

TEST(EtcdMessages, ARangeHasOneEntryOrNone) {
  const auto there = read_range(answer("," + std::string(kEntries)));
  ASSERT_TRUE(there && *there);
  EXPECT_EQ((*there)->value, "hi");
  EXPECT_EQ((*there)->create_revision, 2);
  EXPECT_EQ((*there)->lease, 2324035525790549253);
  const auto none = read_range(answer(""));
  ASSERT_TRUE(none);
  EXPECT_FALSE(*none);
}

TEST(EtcdMessages, LeasesAreInSeconds) {
  const auto lease = read_grant(answer(R"(,"ID":"23","TTL":"3")"));
  ASSERT_TRUE(lease);
  EXPECT_EQ(lease->id, 23);
  EXPECT_EQ(lease->ttl, 3s);
  EXPECT_EQ(*read_keep_alive(
                ok(R"({"result":{)" + std::string(kHeaderField) + R"(,"ID":"2","TTL":"3"}})")),
            3s);
}

TEST(EtcdMessages, ALeaseThatIsGone) {
  EXPECT_EQ(*read_keep_alive(ok(R"({"result":{)" + std::string(kHeaderField) + R"(,"ID":"2"}})")),
            0s);
  const HttpResponse gone{404, R"({"error":"etcdserver: requested lease not found","code":5})"};
  EXPECT_EQ(*read_keep_alive(gone), 0s);
  EXPECT_TRUE(read_revoke(gone));
  EXPECT_TRUE(read_revoke(answer("")));
}

TEST(EtcdMessages, AClaimIsWonOrNamesTheHolder) {
  const auto won = read_claim(
      answer(R"(,"succeeded":true,"responses":[{"response_put":{}},{"response_range":{}}])"));
  ASSERT_TRUE(won);
  EXPECT_TRUE(won->won);
  EXPECT_EQ(won->revision, 7);
  EXPECT_FALSE(won->mark);
  const auto after = read_claim(
      answer(R"(,"succeeded":true,"responses":[{"response_put":{}},{"response_range":{)" +
             std::string(kEntries) + "}}]"));
  ASSERT_TRUE(after && after->mark);
  EXPECT_EQ(after->mark->lease, 2324035525790549253);
  const auto lost =
      read_claim(answer(R"(,"responses":[{"response_range":{)" + std::string(kEntries) + "}}]"));
  ASSERT_TRUE(lost);
  EXPECT_FALSE(lost->won);
  EXPECT_EQ(lost->holder->value, "hi");
}

TEST(EtcdMessages, EtcdsOwnErrorsAreQuoted) {
  const auto error = read_range({503, R"({"error":"etcdserver: no leader","code":14})"});
  ASSERT_FALSE(error);
  EXPECT_EQ(error.error().code, Code::kPeer);
  EXPECT_EQ(error.error().text, "HTTP 503: etcdserver: no leader");
  EXPECT_EQ(read_grant({404, "Not Found\n"}).error().text, "HTTP 404: Not Found");
  EXPECT_EQ(read_grant({501, "<html>\n\t<p>\x1b[1mNo\n"}).error().text,
            "HTTP 501: <html>  <p>\\x1b[1mNo");
}

TEST(EtcdMessages, OtherServersAreFoundOut) {
  for (const char* body : {"hello", "[]", "{}", R"({"header":3})", R"({"result":{}})"}) {
    EXPECT_EQ(read_range(ok(body)).error().code, Code::kProtocol) << body;
    EXPECT_EQ(read_keep_alive(ok(body)).error().code, Code::kProtocol) << body;
    EXPECT_EQ(read_claim(ok(body)).error().code, Code::kProtocol) << body;
  }
  for (const char* fields :
       {R"(,"kvs":[3])", R"(,"kvs":[{}])", R"(,"kvs":[{"value":"?","create_revision":"1"}])",
        R"(,"kvs":[{"value":"","create_revision":"0"}])",
        R"(,"kvs":[{"value":"","create_revision":"1","lease":"x"}])"}) {
    EXPECT_FALSE(read_range(answer(fields))) << fields;
  }
  for (const char* fields :
       {"", R"(,"ID":"1")", R"(,"ID":"0","TTL":"3")", R"(,"ID":"1","TTL":"-1")",
        R"(,"ID":"1","TTL":"99999999999")", R"(,"ID":[],"TTL":"3")"}) {
    EXPECT_FALSE(read_grant(answer(fields))) << fields;
  }
  for (const char* fields :
       {"", R"(,"responses":[])", R"(,"responses":[3])", R"(,"responses":[{"response_range":{}}])",
        R"(,"succeeded":true,"responses":[{"response_put":{}}])"}) {
    EXPECT_FALSE(read_claim(answer(fields))) << fields;
  }
}

TEST(EtcdMessages, ALeadersAddress) {
  const EtcdLeader leader{"node-1", {"10.0.0.1", 29400}};
  EXPECT_EQ(encode(leader), R"({"host":"10.0.0.1","node":"node-1","port":29400})");
  EXPECT_EQ(*decode_leader(encode(leader)), leader);
  for (const char* wrong :
       {"", "my notes", "{}", R"({"host":"worker-0","port":1})", R"({"host":"10.0.0.1","port":0})",
        R"({"host":"10.0.0.1"})", R"({"host":"10.0.0.1","port":65536})"}) {
    EXPECT_FALSE(decode_leader(wrong)) << wrong;
  }
}

TEST(EtcdMessages, WordsOfOthersAreOneLineThatIsShown) {
  EXPECT_EQ(read_range({503, R"({"error":"a\u001b[2J\nb\u202e"})"}).error().text,
            "HTTP 503: a\\x1b[2J b\\u202e");
  EXPECT_EQ(decode_leader(R"({"host":"10.0.0.1","node":"n\n\u009b","port":1})")->node, "n\\n\\x9b");
}

}  // namespace
}  // namespace muster::rendezvous
