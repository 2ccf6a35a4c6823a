#include "rendezvous/finding/self_candidate.h"

#include <algorithm>

#include "base/socket.h"
#include "base/text.h"

namespace muster::rendezvous {

namespace {

// Without the dot that makes it absolute, in lower case.
std::string plain_name(std::string_view name) {
  if (name.ends_with('.')) name.remove_suffix(1);
  return to_lower(name);
}

// Equal, or one is the other cut at a dot.
bool same_name(const std::string& one, const std::string& other) {
  if (one.empty() || other.empty()) return false;
  const std::string& longer = one.size() > other.size() ? one : other;
  const std::string& shorter = one.size() > other.size() ? other : one;
  return longer.starts_with(shorter) &&
         (longer.size() == shorter.size() || longer[shorter.size()] == '.');
}

bool is_numeric(const std::string& host) { return parse_numeric_host(host).has_value(); }

bool has_address(const ResolvedCandidate& known, std::string_view host) {
  return known.candidate.host == host ||
         std::find(known.addresses.begin(), known.addresses.end(), host) != known.addresses.end();
}

// Each rule says why it fits; "" = it does not.

std::string fits_local_addr(const ResolvedCandidate& known, const SelfFacts& facts) {
  if (facts.local_addr.empty()) return "";
  const bool same = has_address(known, facts.local_addr) ||
                    plain_name(known.candidate.host) == plain_name(facts.local_addr);
  return same ? "--local-addr is " + facts.local_addr : "";
}

std::string fits_host_name(const ResolvedCandidate& known, const SelfFacts& facts) {
  if (is_numeric(known.candidate.host)) return "";
  const bool same = same_name(plain_name(known.candidate.host), plain_name(facts.host_name));
  return same ? "its host name is " + facts.host_name : "";
}

std::string fits_loopback(const ResolvedCandidate& known, const SelfFacts& facts) {
  if (!facts.local_addr.empty()) return "";
  const std::string& host = known.candidate.host;
  const bool is_loopback =
      plain_name(host) == "localhost" || (is_numeric(host) && Address{host, 0}.is_loopback());
  return is_loopback ? "a loopback address" : "";
}

// Resolved loopback addresses do not count: /etc/hosts of some images says 127.0.1.1 for names.
std::string fits_interface(const ResolvedCandidate& known, const SelfFacts& facts) {
  if (!facts.local_addr.empty()) return "";
  for (const InterfaceAddress& own : facts.interfaces) {
    if (own.is_loopback || own.is_link_local || !has_address(known, own.host)) continue;
    return own.interface + " has " + own.host;
  }
  return "";
}

struct Match {
  int index;
  std::string why;
};

SelfDecision decide(std::span<const ResolvedCandidate> candidates, std::vector<Match> matches,
                    uint16_t port) {
  if (matches.size() > 1) {
    const std::string first =
        candidates[static_cast<size_t>(matches[0].index)].candidate.to_string();
    const std::string second =
        candidates[static_cast<size_t>(matches[1].index)].candidate.to_string();
    std::erase_if(matches, [candidates, port](const Match& match) {
      return candidates[static_cast<size_t>(match.index)].candidate.port != port;
    });
    if (matches.size() != 1) {
      return {std::nullopt, first + " and " + second + " both look like this node"};
    }
  }
  const Match& match = matches.front();
  return {match.index, candidates[static_cast<size_t>(match.index)].candidate.host +
                           " is this node: " + match.why};
}

}  // namespace

SelfDecision find_self(std::span<const ResolvedCandidate> candidates, const SelfFacts& facts) {
  using Rule = std::string (*)(const ResolvedCandidate&, const SelfFacts&);
  constexpr Rule kRules[] = {fits_local_addr, fits_host_name, fits_loopback, fits_interface};
  for (const Rule rule : kRules) {
    std::vector<Match> matches;
    for (size_t i = 0; i < candidates.size(); ++i) {
      if (candidates[i].candidate.is_service) continue;
      std::string why = rule(candidates[i], facts);
      if (!why.empty()) matches.push_back({static_cast<int>(i), std::move(why)});
    }
    if (!matches.empty()) return decide(candidates, std::move(matches), facts.port);
  }
  return {std::nullopt, "no candidate has a name or an address of this node"};
}

}  // namespace muster::rendezvous
