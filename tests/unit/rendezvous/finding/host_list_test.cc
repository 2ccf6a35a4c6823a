#include "rendezvous/finding/host_list.h"

#include <gtest/gtest.h>

#include "tests/support/fake_files.h"

namespace muster::rendezvous {
namespace {

constexpr HostListDefaults kDefaults{29400, 3};

// "a:1 b:2", or "error: ...".
std::string shown(const Result<std::vector<Candidate>>& parsed) {
  if (!parsed) return "error: " + parsed.error().text;
  std::string text;
  for (const Candidate& candidate : *parsed) {
    text += (text.empty() ? "" : " ") + candidate.to_string();
    if (candidate.slots > 0) text += "/" + std::to_string(candidate.slots);
  }
  return text;
}
std::string list(std::string_view text) { return shown(parse_host_list(text, kDefaults)); }
std::string file(std::string_view text) { return shown(parse_host_file(text, kDefaults)); }

TEST(HostList, TakesEveryFormOfAnEndpoint) {
  EXPECT_EQ(list("worker-0"), "worker-0:29400");
  EXPECT_EQ(list("worker-0:1234, worker-1.svc"), "worker-0:1234 worker-1.svc:29400");
  EXPECT_EQ(list("10.0.0.1:1"), "10.0.0.1:1");
  EXPECT_EQ(list("[fd00::1]:7"), "[fd00::1]:7");
  EXPECT_EQ(list("[fd00::1]"), "[fd00::1]:29400");
  EXPECT_EQ(list("fd00::1"), "[fd00::1]:29400");
  EXPECT_EQ(list("host_with_underscore,absolute.example."),
            "host_with_underscore:29400 absolute.example.:29400");
}

TEST(HostList, ExpandsPatterns) {
  EXPECT_EQ(list("worker-[0-2].svc:5"), "worker-0.svc:5 worker-1.svc:5 worker-2.svc:5");
  EXPECT_EQ(list("n[08-10,3],x"), "n08:29400 n09:29400 n10:29400 n3:29400 x:29400");
  EXPECT_EQ(list("worker-%d.svc"), "worker-0.svc:29400 worker-1.svc:29400 worker-2.svc:29400");
  EXPECT_EQ(list("[1-2].example"), "1.example:29400 2.example:29400");
}

TEST(HostList, MarksAHeadlessService) {
  const auto parsed = parse_host_list("dns:workers.jobs.svc:81", kDefaults);
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(*parsed, (std::vector<Candidate>{{"workers.jobs.svc", 81, 0, true}}));
  EXPECT_EQ(list("dns:workers"), "dns:workers:29400");
  EXPECT_FALSE((*parse_host_list("dns:81", kDefaults))[0].is_service) << "a host named dns";
}

TEST(HostList, EveryBadEntryHasItsOwnError) {
  EXPECT_EQ(list(""), "error: \"\": the host is missing");
  EXPECT_EQ(list("a,,b"), "error: \"\": the host is missing");
  EXPECT_EQ(list("a:0"), "error: a:0: port 0 is not 1 to 65535");
  EXPECT_EQ(list("a:70000"), "error: a:70000: port 70000 is not 1 to 65535");
  EXPECT_EQ(list("a:-1"), "error: a:-1: port -1 is not 1 to 65535");
  EXPECT_EQ(list("a:x"), "error: a:x: port x is not 1 to 65535");
  EXPECT_EQ(list(":80"), "error: :80: the host is missing");
  EXPECT_EQ(list("a/b"), "error: a/b: / cannot be in a host name");
  EXPECT_EQ(list("a..b"), "error: a..b: a part between the dots is empty");
  EXPECT_EQ(list("fd00::g"),
            "error: fd00::g: not an IPv6 address, and ':' cannot be in a host name");
  EXPECT_EQ(list("[fd00::1"), "error: [fd00::1: ']' is missing");
  EXPECT_EQ(list("[fd00::1]7"), "error: [fd00::1]7: only ':port' may follow ']'");
  EXPECT_EQ(list("w[0-"), "error: w[0-: ']' is missing");
  EXPECT_EQ(list("w[3-1]"), "error: w[3-1]: range 3-1 is not N or N-M with N <= M");
  EXPECT_EQ(list("w[a]"), "error: w[a]: range a is not N or N-M with N <= M");
  EXPECT_EQ(list("w[0-1]-[0-1]"), "error: w[0-1]-[0-1]: only one pattern may be in a host");
  EXPECT_EQ(list("root@a"),
            "error: root@a: a user name means nothing here, nodes are reached by their agents");
  EXPECT_EQ(list("dns:10.0.0.1"), "error: dns:10.0.0.1: dns: wants a name, not an address");
  EXPECT_EQ(list("a,A"), "error: A:29400 is listed twice");
  EXPECT_EQ(shown(parse_host_list("w-%d", {29400, 0})),
            "error: w-%d: %d needs the number of nodes (--nnodes)");
  EXPECT_EQ(list(std::string(64, 'x')).substr(66),
            "xxxxx: a part between the dots has 64 bytes, limit 63");
}

TEST(HostList, IsBounded) {
  EXPECT_EQ(list("w[0-16384]"), "error: w[0-16384]: 16385 hosts, limit 16384");
  EXPECT_EQ(list("w[0-999999999]"), "error: w[0-999999999]: 1000000000 hosts, limit 16384");
  EXPECT_EQ(list("w[0-16383],x"), "error: 16385 hosts, limit 16384");
  EXPECT_EQ(parse_host_list("w[0-16383]", kDefaults)->size(), kMaxHosts);
  EXPECT_EQ(file("a\n" + std::string(1025, 'x')), "error: line 2: 1025 bytes, limit 1024");
}

TEST(HostFile, ReadsOpenMpiLines) {
  EXPECT_EQ(file("# nodes\n\n  pi-worker-0.pi slots=2 # first\r\npi-worker-1.pi max_slots=4 "
                 "slots=3\npi-worker-2.pi\n"),
            "pi-worker-0.pi:29400/2 pi-worker-1.pi:29400/3 pi-worker-2.pi:29400");
}

TEST(HostFile, AddsUpTheSlotsOfARepeatedHost) {
  EXPECT_EQ(file("a slots=2\nb\na slots=3"), "a:29400/5 b:29400");
}

TEST(HostFile, NamesTheBadLine) {
  EXPECT_EQ(file("a\nb slots=x"), "error: line 2: \"slots=x\" is not 1 to 65536");
  EXPECT_EQ(file("a slots=0"), "error: line 1: \"slots=0\" is not 1 to 65536");
  EXPECT_EQ(file("a slots"), "error: line 1: slots is not 1 to 65536");
  EXPECT_EQ(file("a b"), "error: line 1: b is not slots=N or max_slots=N");
  EXPECT_EQ(file("a\n\nb:x"), "error: line 3: b:x: port x is not 1 to 65535");
  EXPECT_EQ(file("# nobody\n"), "error: no host in the file");
  EXPECT_EQ(file("a slots=65536\na slots=1"), "error: line 2: a has more than 65536 slots in all");
}

TEST(HostFile, IsReadThroughAnAtSign) {
  testing::FakeFiles files;
  files.add_file("/etc/hosts.txt", "a\nb:9\n");
  EXPECT_EQ(shown(read_hosts(files, "@/etc/hosts.txt", kDefaults)), "a:29400 b:9");
  EXPECT_EQ(shown(read_hosts(files, "c,d", kDefaults)), "c:29400 d:29400");
  files.add_file("/bad", "a b");
  EXPECT_EQ(shown(read_hosts(files, "@/bad", kDefaults)),
            "error: /bad: line 1: b is not slots=N or max_slots=N");
  const auto missing = read_hosts(files, "@/none", kDefaults);
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().code, Code::kConfig);
}

TEST(HostsByIndex, NamesAllNodesOfAnIndexedJob) {
  EXPECT_EQ(shown(hosts_by_index("job-worker-1", 3, 5)),
            "job-worker-0:5 job-worker-1:5 job-worker-2:5");
  EXPECT_EQ(shown(hosts_by_index("js-rj-0-1.js", 2, 5)), "js-rj-0-0.js:5 js-rj-0-1.js:5");
}

TEST(HostsByIndex, RefusesANameWithoutAnIndexOrOneBeyondTheJob) {
  EXPECT_EQ(shown(hosts_by_index("master", 3, 5)), "error: master does not end in a node's index");
  EXPECT_EQ(shown(hosts_by_index("17", 30, 5)), "error: 17 does not end in a node's index");
  EXPECT_EQ(shown(hosts_by_index("w-3.svc", 3, 5)),
            "error: index 3 of w-3.svc is not below the 3 nodes of the job");
  EXPECT_EQ(shown(hosts_by_index("w-0", 20000, 5)), "error: w-0: 20000 hosts, limit 16384");
}

}  // namespace
}  // namespace muster::rendezvous
