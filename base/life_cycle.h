// A life-cycle as one table: every state with every event, exactly once, so that what may happen
// can be read and a pair that was forgotten does not compile. Pure; what an action means is its
// owner's.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace muster {

/// One row. `why`: for rows that do nothing or cannot happen.
template <class State, class Event, class Action>
struct Transition {
  State state;
  Event event;
  State next;
  Action action;
  std::string_view why;
};

/// The words in which rows are written. `Action` has kNothing, and kBug for a pair that cannot
/// happen.
template <class State, class Event, class Action>
struct LifeCycle {
  using Row = Transition<State, Event, Action>;

  static constexpr Row go(State state, Event event, State next, Action action) {
    return {state, event, next, action, ""};
  }
  /// The state changes, but there is nothing to do.
  static constexpr Row note(State state, Event event, State next, std::string_view why) {
    return {state, event, next, Action::kNothing, why};
  }
  static constexpr Row ignore(State state, Event event, std::string_view why) {
    return {state, event, state, Action::kNothing, why};
  }
  static constexpr Row bug(State state, Event event, std::string_view why) {
    return {state, event, state, Action::kBug, why};
  }

  /// True when the rows are all pairs up to the last state and event, by state, then event.
  template <size_t kRows>
  static constexpr bool is_complete(const std::array<Row, kRows>& table, State last_state,
                                    Event last_event) {
    const size_t events = static_cast<size_t>(last_event) + 1;
    for (size_t i = 0; i < kRows; ++i) {
      if (place_of(table[i].state, table[i].event, events) != i) return false;
    }
    return kRows == (static_cast<size_t>(last_state) + 1) * events;
  }

  /// The row of a pair in a complete table. O(1).
  template <size_t kRows>
  static constexpr const Row& find(const std::array<Row, kRows>& table, State state, Event event) {
    const size_t events = static_cast<size_t>(table.back().event) + 1;
    return table[place_of(state, event, events)];
  }

 private:
  static constexpr size_t place_of(State state, Event event, size_t events) {
    return static_cast<size_t>(state) * events + static_cast<size_t>(event);
  }
};

}  // namespace muster
