// Events of a journal as a sidecar reads them, and the pod that they are of.
#pragma once

#include <string>
#include <vector>

#include "base/environment.h"
#include "launcher/sidecar/journal_event.h"

namespace muster::testing {

/// NAME=VALUE each.
inline Environment environment_of(const std::vector<std::string>& entries) {
  Environment environment;
  for (const std::string& entry : entries) environment.set_entry(entry);
  return environment;
}

/// `fields`: of the JSON object, without its braces; "" = no more than every event has.
inline launcher::JournalEvent event_with(const std::string& name, const std::string& fields) {
  launcher::JournalEvent made;
  made.name = name;
  made.line = R"({"id":"a-1","seq":1,"time":"2026-08-20T10:00:00.123Z","job":"bert","event":")" +
              name + "\"" + (fields.empty() ? "" : "," + fields) + "}";
  return made;
}

}  // namespace muster::testing
