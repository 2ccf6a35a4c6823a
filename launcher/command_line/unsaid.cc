#include "launcher/command_line/unsaid.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/interfaces.h"
#include "base/text.h"
#include "launcher/options/job_setup.h"
#include "launcher/options/rendezvous_values.h"
#include "rendezvous/finding/host_list.h"
#include "rendezvous/finding/self_candidate.h"

namespace muster::launcher {

namespace {

using rendezvous::Candidate;

std::optional<Candidate> own_entry(const std::vector<Candidate>& hosts, const RawFlags& raw,
                                   const PodFacts& pod) {
  std::vector<rendezvous::ResolvedCandidate> known;
  for (const Candidate& host : hosts) known.push_back({host, {}});
  const auto interfaces = interface_addresses();
  const GivenValue* const local = raw.find(flag::kLocalAddr);
  const auto self = rendezvous::find_self(
      known, {.host_name = pod.host_name,
              .interfaces = interfaces ? *interfaces : std::vector<InterfaceAddress>{},
              .local_addr = local != nullptr ? local->text : ""});
  if (!self.candidate) return std::nullopt;
  return hosts[static_cast<size_t>(*self.candidate)];
}

// 0 = they differ, or one says nothing.
int slots_of_all(const std::vector<Candidate>& hosts) {
  const int first = hosts.front().slots;
  const bool same =
      std::ranges::all_of(hosts, [first](const auto& host) { return host.slots == first; });
  return same ? first : 0;
}

std::string names(const std::vector<Candidate>& hosts) {
  std::vector<std::string> words;
  for (const Candidate& host : hosts) words.push_back(host.host);
  return join(words, ", ");
}

}  // namespace

RawFlags with_host_slots(RawFlags raw, const PodFacts& pod) {
  const GivenValue* const list = raw.find(flag::kHosts);
  const bool is_file = list != nullptr && list->text.starts_with('@');
  if (!is_file || raw.find(flag::kNprocPerNode) != nullptr) return raw;
  const auto hosts = rendezvous::read_hosts(pod.files, list->text,
                                            {static_cast<uint16_t>(kDefaultRendezvousPort)});
  const auto has_slots = [](const Candidate& host) { return host.slots > 0; };
  if (!hosts || std::ranges::none_of(*hosts, has_slots)) return raw;
  const auto own = own_entry(*hosts, raw, pod);
  const int slots = own ? own->slots : slots_of_all(*hosts);
  if (slots > 0) {
    raw.given.try_emplace(
        flag::kNprocPerNode,
        GivenValue{std::to_string(slots), SourceKind::kContract,
                   "slots of " + (own ? own->host : "each host") + " in --hosts " + list->text});
  } else if (!own) {
    raw.warnings.push_back("--hosts " + list->text + " has slots for " + names(*hosts) +
                           ", none of which is known to be this node (" + pod.host_name +
                           "): one worker here; say --nproc-per-node");
  }
  return raw;
}

}  // namespace muster::launcher
