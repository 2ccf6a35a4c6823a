// EventFields: one event of a journal with its fields by name, whatever somebody put there. Pure.
// It keeps nlohmann::json out of those that only ask.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "launcher/dashboard/event_store.h"

namespace muster::launcher {

class EventFields {
 public:
  /// None: the body is no JSON object. `event` is borrowed.
  static std::optional<EventFields> read(const StoredEvent& event);
  EventFields(EventFields&& other) noexcept;
  EventFields& operator=(EventFields&& other) noexcept;
  ~EventFields();

  [[nodiscard]] const std::string& node() const { return event_->node; }
  [[nodiscard]] const std::string& name() const { return event_->name; }
  [[nodiscard]] int64_t time_ms() const { return event_->time_ms; }
  /// "" if it is not there or no text; at most kMaxShownText bytes.
  [[nodiscard]] std::string text(std::string_view key) const;
  [[nodiscard]] std::string level() const { return text("level"); }
  [[nodiscard]] std::optional<int64_t> number(std::string_view key) const;
  [[nodiscard]] std::optional<double> real(std::string_view key) const;
  /// False also if it is not there.
  [[nodiscard]] bool flag(std::string_view key) const;
  /// The last `most` of a list of texts.
  [[nodiscard]] std::vector<std::string> lines(std::string_view key, size_t most) const;
  /// The seconds of "phases" in the order of an interruption; others are left out.
  [[nodiscard]] std::vector<std::pair<std::string, double>> phases() const;
  /// In one line, if it is for people: what is a warning or worse, and what moved the job.
  [[nodiscard]] std::optional<std::string> moment_text() const;

 private:
  EventFields(const StoredEvent& event, std::unique_ptr<nlohmann::json> body);
  const StoredEvent* event_;
  std::unique_ptr<nlohmann::json> body_;
};

}  // namespace muster::launcher
