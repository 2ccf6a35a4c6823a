// What a leader says in more than a word: parts of its reasons. Pure; for its sources alone.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rendezvous/agreement/electorate.h"
#include "rendezvous/agreement/membership.h"
#include "rendezvous/leader/leader_ending.h"
#include "rendezvous/leader/node_table.h"

namespace muster::rendezvous {

/// Names in one reason; more end in "...".
inline constexpr size_t kNamesInReason = 8;

/// The same text, apart from digits and points: counts and seconds are no news.
[[nodiscard]] bool same_but_for_numbers(std::string_view left, std::string_view right);

/// "here: node-1, node-2; missing: node-3": who joined, and who of the last round did not come
/// back; before the first round, who of those `expected` did not come.
[[nodiscard]] std::string who_is_here(const NodeTable& nodes, const Electorate& last,
                                      const std::vector<std::string>& expected);

/// "round 1: 2 of 2 nodes, 4 workers; node-1, node-2; store 10.0.0.1:29400".
[[nodiscard]] std::string round_text(const Electorate& round, const RoundDecision& decision);

/// Why the workers of `report` are stopped when their node joins `leader`, which does not go on
/// with that round; `latest`: the newest round it knows of.
[[nodiscard]] std::string stop_text(const RoundReport& report, const Electorate& latest,
                                    const std::string& leader);
/// The nodes of a former leader's round that never came to this one and are not known to have
/// ended, by name; "" = none.
[[nodiscard]] std::string unmet_names(const Electorate& round);
/// Nodes that are lost or leave (`leaving`: how many) explain why others failed: which; "" = none.
/// The end of a former leader's round was not seen here (no cause): who is missing was lost in it,
/// unless its workers had succeeded. `text`: of the cause.
[[nodiscard]] std::string explanation(BreakCause cause, const std::string& text,
                                      const Electorate& round, int leaving, const NodeTable& nodes);
/// What is told of failures that are explained so.
[[nodiscard]] std::string excuse(const std::vector<Failure>& failures, const std::string& why);
/// "node-2 ended its workers", and why, if it was told to go.
[[nodiscard]] std::string end_text(const LeaderNode& node);
/// "node-2: got SIGTERM, 15 s to save and as long to stop".
[[nodiscard]] std::string leaving_text(const LeaderNode& node, const Leaving& leaving);
/// "node rank 0", ...: those of `count` that nobody has taken.
[[nodiscard]] std::vector<std::string> missing_ranks(const NodeTable& nodes, int count);
/// "; node-0 (10.0.0.1:29400) may run where it is not seen": whom of the last round nobody vouches
/// for; "" = none that is known.
[[nodiscard]] std::string who_may_live(const NodeTable& nodes, const Electorate& last);

/// "; node-1 is not fit, and out for 30 s more: memlock: ..." of those that are out at `now`; "" =
/// none.
[[nodiscard]] std::string unfit_text(const NodeTable& nodes, TimePoint now);
/// When the next of them may take part again; none = nobody is out.
[[nodiscard]] std::optional<TimePoint> next_fit(const NodeTable& nodes, TimePoint now);

/// What a leader says of its state when it begins, after that round of a former leader, which was
/// heard last at `heard`; 0 = there was none.
[[nodiscard]] leader_output::Entered first_state(TimePoint now, uint64_t round, TimePoint heard);

/// Two neighbours in `roster` that cannot be told apart by name or index, and what follows; "" =
/// there are none.
[[nodiscard]] std::string same_name_text(const std::vector<RosterEntry>& roster);

}  // namespace muster::rendezvous
