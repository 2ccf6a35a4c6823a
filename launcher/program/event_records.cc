#include "launcher/program/event_records.h"

#include <utility>

#include "base/unguessable.h"

namespace muster::launcher {

namespace {

// Of an agent, in the ids of its events.
constexpr size_t kMarkBytes = 12;

}  // namespace

Result<std::unique_ptr<EventRecords>> EventRecords::create(const AgentDoors& doors,
                                                           const RecordedAgent& agent) {
  auto mark = unguessable_digits();
  if (!mark) return std::move(mark).error();
  mark->resize(kMarkBytes);
  auto folder = RunFolder::choose(agent.options, doors.files, agent.temp_dir);
  if (!folder) return std::move(folder).error();
  std::unique_ptr<EventRecords> records(new EventRecords(doors, agent.setup, *std::move(folder)));
  const std::string& path = records->folder();
  if (!path.empty()) {
    auto journal =
        Journal::create({.folder = path, .place = agent.place, .mark = *mark}, doors.clock);
    if (!journal) return std::move(journal).error();
    records->journal_ = *std::move(journal);
  }
  records->status_place_ = status_address(agent.options, agent.environment, agent.has_contract);
  if (records->status_place_) {
    records->status_ = std::make_unique<StatusService>(doors, agent.place, records->journal_.get(),
                                                       *std::move(mark));
  }
  records->sidecar_.start(agent.options, path, records->folder_->is_own(), agent.environment,
                          agent.setup);
  if (records->sidecar() != 0) records->folder_->hand_over();
  return records;
}

void EventRecords::set_place(const JournalPlace& place) {
  if (journal_) journal_->set_place(place);
  if (status_) status_->set_place(place);
}

std::unique_ptr<StatusPort> EventRecords::serve(const AgentContext& context,
                                                const std::function<NodeFacts()>& facts) {
  return status_ ? status_->serve(*status_place_, context, facts) : nullptr;
}

void EventRecords::finish() {
  status_.reset();
  journal_.reset();  // so that the sidecar sees the agent's end
  sidecar_.finish(setup_);
}

}  // namespace muster::launcher
