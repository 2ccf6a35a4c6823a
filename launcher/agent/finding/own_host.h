// OwnHost: where other nodes reach this one, as far as it can tell. It is --local-addr, else where
// another node came to, else a guess from the own name and the interfaces. Who is told of it, and
// when, is candidate_links.h's; the rules are own_address.h's.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/loop.h"
#include "base/resolver.h"
#include "rendezvous/finding/host_list.h"

namespace muster::launcher {

class OwnHost {
 public:
  /// `address`: --local-addr as a number, `name`: as a name; "" = neither was given.
  OwnHost(Loop& loop, Resolver& resolver, std::string address, std::string name);

  /// A --local-addr that is a name must mean an address of this machine before anybody is told of
  /// it, unless one of `candidates` bears it, by which others find this node. `done` is called once
  /// that is known, also right away; until then the name is looked up again and again. A further
  /// call replaces the one before.
  void when_named(const std::vector<rendezvous::Candidate>& candidates, std::function<void()> done);
  /// What is wrong with that name; "" = nothing that is known.
  [[nodiscard]] const std::string& problem() const { return problem_; }
  /// This node is a candidate of that name. Until another node has come that gives a guess, and as
  /// long as only loopback is up it is made again. `done` as above.
  void guess(const std::string& candidate, std::function<void()> done);
  /// Another node came to this numeric address of ours. True: that is news, and counts.
  bool learn(const std::string& host);
  /// Waits for nothing more.
  void cancel();

  /// What the leader is told: `own_end`, this end of the link to it, unless --local-addr says
  /// otherwise. The address that the leader sees is the one under which its other nodes reach us.
  [[nodiscard]] const std::string& on_link(const std::string& own_end) const;
  /// The same, if this node leads; "" = not known.
  [[nodiscard]] const std::string& as_leader() const { return on_link(host_); }

 private:
  void look_up(bool listed, std::function<void()> done);
  [[nodiscard]] bool take(const LookupAnswer& answer, bool listed);
  [[nodiscard]] bool is_known() const;

  Loop& loop_;
  Resolver& resolver_;
  std::string address_;
  std::string name_;     // "" once it is known what it means
  std::string host_;     // where peers reach us; loopback = a guess, "" = not known
  std::string problem_;  // told already
  Lookup lookup_;
  Timer retry_;
};

}  // namespace muster::launcher
