#include "launcher/sidecar/pump.h"

#include <utility>

#include "base/log.h"

namespace muster::launcher {

Pump::Pump(Loop& loop, const std::string& folder, const std::string& name, std::string shown,
           std::unique_ptr<Target> target, std::function<void()> changed)
    : loop_(loop),
      shown_(std::move(shown)),
      cursor_(folder, name),
      told_(cursor_.read()),
      reader_(folder, target->needs_all() ? JournalMark() : told_.mark, told_.mark.seq),
      target_(std::move(target)),
      changed_(std::move(changed)),
      has_end_(told_.has_end) {
  target_->begin(told_.mark, [this](const JournalMark& mark) { keep(mark); });
}

// At once: whoever pokes because the agent has ended judges by what is there now.
void Pump::poke() {
  later_.reset();
  read();
}

// One piece of the journal in a turn. A target without room calls when it has some.
void Pump::read() {
  if (target_->has_room()) {
    for (JournalEvent& event : reader_.read()) take(std::move(event));
    tell_missed();
    if (!reader_.at_end()) later_ = loop_.soon([this] { read(); });
  }
  if (reader_.at_end() || !target_->has_room()) target_->caught_up();
}

void Pump::take(JournalEvent event) {
  ++read_;
  log::set_place({event.job, event.run_id, event.node});  // the sidecar's own lines say so as well
  if (event.name == "job.end") has_end_ = true;
  if (event.name == "job.start") has_end_ = false;
  if (event.mark.seq > told_.mark.seq) had_news_ = true;
  target_->take(std::move(event));
}

// From a turn of its own for all that follows from it: the target may be in the middle of
// something.
void Pump::keep(const JournalMark& mark) {
  had_news_ = true;  // also in another journal, with smaller numbers
  const Status written = cursor_.write({mark, has_end_});
  if (!written && !std::exchange(in_trouble_, true)) {
    log::warning(kEventSidecarTrouble,
                 {{"target", shown_},
                  {"error", written.error().text},
                  {"action", "going on; after a restart some events are told again"}});
  }
  if (written) in_trouble_ = false;
  settled_ = loop_.soon([this] {
    read();
    changed_();
  });
}

void Pump::tell_missed() {
  const uint64_t missed = reader_.take_missed();
  if (missed == 0) return;
  log::warning(kEventGap, {{"target", shown_},
                           {"events", missed},
                           {"action",
                            "they were thrown away before they were told; "
                            "journal.dropped says what they were"}});
}

}  // namespace muster::launcher
