#include "launcher/agent/finding/port_choice.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/log.h"

namespace muster::launcher {

namespace {

using rendezvous::Candidate;
using Candidates = std::vector<Candidate>;

bool is_local(const std::string& host) {
  return parse_numeric_host(host) && Address{host, 0}.is_loopback();
}

// With --local-addr the other addresses of this machine may be other nodes. Loopback when the job
// cannot reach further anyway.
std::string listen_host(const PortQuestion& question) {
  if (!question.own_address.empty()) return question.own_address;
  const std::string& first = question.candidates.front().host;
  return is_local(first) ? first : "::";
}

bool has_host_of(const Candidates& candidates, const Candidate& one) {
  return std::ranges::count(candidates, one.host, &Candidate::host) > 1;
}

bool has_port(const Candidates& candidates, uint16_t port) {
  return std::ranges::find(candidates, port, &Candidate::port) != candidates.end();
}

class Opener {
 public:
  Opener(Loop& loop, Network& network, const PortQuestion& question)
      : loop_(loop), network_(network), question_(question) {
    chosen_.listen_host = listen_host(question);
  }

  Result<ChosenPort> choose() {
    auto own = open_candidate();
    if (!own) return std::move(own).error();
    if (!*own) {
      MUSTER_RETURN_IF_ERROR(question_.known_nodes ? open_other_port() : open_usual_port());
    }
    return std::move(chosen_);
  }

 private:
  // True: this node has the port now. False: another process has it.
  Result<bool> open_at(const Address& address) {
    auto store = JobStore::listen_on(loop_, network_, address);
    if (!store && store.error().os_errno == EADDRINUSE) return false;
    if (!store) return std::move(store).error();
    chosen_.store = std::move(*store);
    return true;
  }

  // A candidate is who looks like it and gets its port; of several agents on one machine, the
  // first. With known nodes it is who was told to be it, whenever it starts. False: none.
  Result<bool> open_candidate() {
    for (size_t i = 0; i < question_.candidates.size(); ++i) {
      const Candidate& candidate = question_.candidates[i];
      if (question_.find_self(candidate.port) != static_cast<int>(i)) continue;
      auto opened = open_at(door_of(candidate, chosen_.listen_host));
      if (!opened) return opened;
      if (!*opened && question_.known_nodes) return taken(i);
      if (!*opened) continue;
      chosen_.candidate = static_cast<int>(i);
      chosen_.shares_machine = has_host_of(question_.candidates, candidate);
      return true;
    }
    return false;
  }

  [[nodiscard]] Error taken(size_t rank) const {
    return {Code::kOs, EADDRINUSE,
            "port " + std::to_string(question_.candidates[rank].port) +
                " of this node is taken by another process, and nodes look for node rank " +
                std::to_string(rank) + " there" + question_.rank_note};
  }

  // Any port but those of node ranks that may yet start on this machine, under whatever name.
  Status open_other_port() {
    std::vector<std::unique_ptr<JobStore>> unfit;  // held, so that the next one has another port
    do {
      if (chosen_.store) unfit.push_back(std::move(chosen_.store));
      auto opened = open_at({chosen_.listen_host, 0});
      if (!opened) return std::move(opened).error();
    } while (has_port(question_.candidates, chosen_.store->address().port));
    chosen_.shares_machine = question_.is_beside_us();
    return {};
  }

  // Peers are told the number, so any will do; the usual one is what firewalls let through.
  Status open_usual_port() {
    const uint16_t usual = question_.candidates.front().port;
    auto opened = open_at({chosen_.listen_host, usual});
    if (!opened) return std::move(opened).error();
    if (*opened) return {};
    opened = open_at({chosen_.listen_host, 0});
    if (!opened) return std::move(opened).error();
    const std::string port = std::to_string(chosen_.store->address().port);
    log::warning("job.port_taken", {{"port", usual}, {"action", "using port " + port}});
    chosen_.shares_machine = true;
    return {};
  }

  Loop& loop_;
  Network& network_;
  const PortQuestion& question_;
  ChosenPort chosen_;
};

}  // namespace

Address door_of(const Candidate& candidate, const std::string& listen_host) {
  return {is_local(candidate.host) ? candidate.host : listen_host, candidate.port};
}

Result<ChosenPort> choose_port(Loop& loop, Network& network, const PortQuestion& question) {
  return Opener(loop, network, question).choose();
}

}  // namespace muster::launcher
