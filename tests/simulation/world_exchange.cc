// The simulator's exchanges: what workers that meet in barriers ask of leader and members.
#include <fmt/core.h>

#include "tests/simulation/world.h"

namespace muster::simulation {

using std::chrono::milliseconds;
using std::chrono::seconds;
using namespace rendezvous;

namespace {

constexpr uint64_t kExchanges = 3;                   // in a round
constexpr size_t kWordBytes = 20U << 10;             // of two nodes an answer has two parts
constexpr Duration kLongestPart = milliseconds(20);  // from one part of an answer to the next
constexpr Duration kLongestBarrier = seconds(2);     // from one exchange to the next
constexpr Duration kUntilLookedAgain = seconds(1);   // whether the last one is over

// What a node gives: no other one, in no other exchange, says the same.
std::string word_of(const Assign& assign, uint64_t sequence, int rank) {
  std::string word = fmt::format("term {} round {} exchange {} of node {} ", assign.term,
                                 assign.round, sequence, rank);
  word.resize(kWordBytes, '.');
  return word;
}

}  // namespace

void World::give(int index) {
  const Workers& workers = node(index).workers;
  if (!features_.exchanges || workers.exchanges == kExchanges) return;
  const uint64_t said = scenario_.bug == Bug::kOldWord ? 0 : workers.exchanges;
  node(index).member->on_contribution(now_, workers.assign.round, workers.exchanges,
                                      word_of(workers.assign, said, workers.assign.node_rank));
}

void World::take(int index, const member_output::ExchangeDone& done) {
  Workers& workers = node(index).workers;
  if (done.round != workers.assign.round || !workers.alive) return;
  std::vector<std::string> all;
  for (int rank = 0; rank < workers.assign.node_count; ++rank)
    all.push_back(word_of(workers.assign, workers.exchanges, rank));
  if (done.sequence != workers.exchanges || !done.contributions || *done.contributions != all)
    violate(fmt::format("{} gets from exchange {} what was not given to it", index, done.sequence));
  ++workers.exchanges;
  ++outcome_.exchanges;
  later_for_group(index, dice_.between(seconds(0), kLongestBarrier),
                  [this, index] { give(index); });
}

// Workers that wait for each other do not end.
void World::succeed(int index) {
  Workers& done = node(index).workers;
  if (done.state != WorkerState::kRunning) return;
  if (done.failed || (features_.exchanges && done.exchanges < kExchanges))
    return later_for_group(index, kUntilLookedAgain, [this, index] { succeed(index); });
  done.alive = false;
  done.state = WorkerState::kNone;
  ++done.serial;
  node(index).lived->go.insert(node(index).incarnation);
  node(index).member->on_succeeded(now_, done.assign.round);
}

// Each part when the one before has left; what else the leader says in between overtakes the rest.
void World::send_answer(int leader, uint64_t link, const ExchangeAnswer& answer, size_t part) {
  const bool lost = scenario_.bug == Bug::kLostPart && part > 0;
  if (!lost) send(link, false, answer->at(part));
  if (++part == answer->size()) return;
  after(dice_.between(seconds(0), kLongestPart), leader,
        [this, leader, link, answer, part] { send_answer(leader, link, answer, part); });
}

}  // namespace muster::simulation
