#include "launcher/contracts/contract.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace muster::launcher {

std::string contract_source(const Contract& contract, std::string_view what) {
  return contract.controller + ": " + std::string(what);
}

void say(Contract& contract, Flag flag, std::string text, std::string_view what) {
  contract.values.push_back({flag, std::move(text), contract_source(contract, what)});
}

void lack(Contract& contract, Flag flag, std::string problem, std::string give) {
  contract.gaps.push_back({flag, std::move(problem), false, std::move(give)});
}

void contradict(Contract& contract, Flag flag, std::string problem) {
  contract.gaps.push_back({flag, std::move(problem), true});
}

void say_rank(Contract& contract, int rank, int nodes, std::string_view what) {
  say(contract, flag::kNodeRank, std::to_string(rank), what);
  if (rank < nodes) return;
  contradict(contract, flag::kNodeRank,
             std::string(what) + " is " + std::to_string(rank) + ", and there " +
                 (nodes == 1 ? "is " : "are ") +
                 counted(static_cast<size_t>(nodes), "node", "nodes"));
  contract.gaps.back().rank = rank;
}

std::string endpoint_of(const std::string& host, int port) {
  return port > 0 ? host + ":" + std::to_string(port) : host;
}

void say_hosts(Contract& contract, const std::vector<std::string>& hosts, int port,
               std::string_view what) {
  std::vector<std::string> leaders;
  contract.port = port;
  for (const std::string& host : hosts) {
    contract.hosts.push_back({.host = host, .slots = 1});
    if (leaders.size() < kMayLead) leaders.push_back(endpoint_of(host, port));
  }
  say(contract, flag::kNnodes, std::to_string(hosts.size()), what);
  say(contract, flag::kRdzvEndpoint, join(leaders, ","), what);
}

std::string said(const Contract& contract, Flag flag) {
  const auto value = std::ranges::find(contract.values, flag, &ContractValue::flag);
  return value == contract.values.end() ? "" : value->text;
}

}  // namespace muster::launcher
